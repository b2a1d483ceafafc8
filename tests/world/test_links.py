"""Pointers parent, child, brother and real [SVC] 3: consistent after connects, cuts and restores; and the drawing of the tree."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate.errors import ArgumentError, UnknownName
from brachiate.world.links import LinkView


def gym() -> br.World:
    world = br.World()
    man = world.add(br.figures.human16(), "man")
    world.add(br.figures.bar(), "bar")
    man.set_pose("hang", root=True)
    return world


def walk(view: LinkView | None) -> list[LinkView]:
    """Every link below and beside a link, by child and brother alone, as in the recursions of the paper."""
    found: list[LinkView] = []
    stack = [view]
    while stack:
        link = stack.pop()
        if link is not None:
            assert link not in found, "pointers lead in a circle"
            found.append(link)
            stack += [link.brother, link.child]
    return found


def check_pointers(world: br.World) -> None:
    """Check the invariants of the pointers."""
    links = world.links
    found = walk(next(iter(links.values()), None))
    assert {link.name for link in found} == set(links)
    assert len(found) == len(links) == len(world.model.links) + len(world.connections)
    for name, link in links.items():
        assert link.name == name
        assert links[name] == link
        assert hash(links[name]) == hash(link)
        siblings = link.parent.children if link.parent else tuple(other for other in links.values() if other.parent is None)
        assert siblings.count(link) == 1
        after = siblings.index(link) + 1
        assert link.brother == (siblings[after] if after < len(siblings) else None)
        assert link.child == (link.children[0] if link.children else None)
        assert all(child.parent == link for child in link.children)
    for name, part in world.model.links.items():
        link = links[name]
        assert not link.is_virtual
        assert link.real is None
        assert link.connection is None
        assert link.joint is part.joint
        assert (link.parent.name if link.parent else None) == part.parent
    virtual = [link for link in links.values() if link.is_virtual]
    assert [link.connection for link in virtual] == list(world.connections.values())
    for link in virtual:
        constraint = link.connection
        assert constraint is not None
        assert link.joint is constraint.joint
        assert (link.parent.name if link.parent else "world") == constraint.to
        assert (link.real.name if link.real else "world") == constraint.link
        assert link.real is None or not link.real.is_virtual
        assert link.child is None


@pytest.mark.parametrize("seed", range(6))
def test_pointers_are_consistent_after_connects_cuts_and_restores(seed):
    rng = np.random.default_rng(seed)
    world = gym()
    world.add(br.figures.monkey16(), "monkey", at=(1, 0, 0))
    kept = {name: world.links[name] for name in world.links}
    saved = [world.save()]
    for _ in range(12):
        what = rng.choice(["connect", "connect", "connect", "cut", "cut joint", "save", "restore"])
        if what == "connect":
            link, to = rng.choice([*world.model.links, "world"], 2, replace=False)
            if world.placement(link).body != world.placement(to).body:
                world.connect(str(link), str(to), rng.choice([br.Spherical(), br.Revolute("x"), br.Fixed()]), redundant=True)
        elif what == "cut" and world.connections:
            world.cut(str(rng.choice(list(world.connections))))
        elif what == "cut joint":
            joints = [link.joint_name for link in world.model.links.values() if link.parent and link.joint.nv]
            world.cut(str(rng.choice(joints)))
        elif what == "save":
            saved.append(world.save())
        elif what == "restore":
            world.restore(saved[0])
        check_pointers(world)
    check_pointers(world.copy())
    # views made before the changes are still valid
    for name, view in kept.items():
        assert view == world.links[name]
        assert view.parent == world.links[name].parent
        assert view.children == world.links[name].children


def test_a_connection_adds_a_virtual_link_to_the_other_link():
    world = gym()
    assert world.links["man/left_hand"].parent.name == "man/left_forearm"
    rod = world.links["bar/rod"]
    assert rod.child is None
    left = world.connect("man/left_grip", "bar/rod", br.Revolute("y"))
    right = world.connect("man/right_hand", "bar/rod", br.Revolute("y"))
    assert [link.name for link in rod.children] == ["man/left_grip (virtual)", "man/right_hand (virtual)"]
    virtual = rod.child
    assert virtual.parent == rod
    assert virtual.real.name == "man/left_hand"
    assert virtual.brother.real == world.links["man/right_hand"]
    assert virtual.brother.brother is None
    assert virtual.connection is left
    # the rod's own brother is a link of the bar, as before
    assert rod.brother.name == "bar/posts"
    world.cut(left)
    assert rod.child.connection is right
    with pytest.raises(ArgumentError, match="'man/left_grip \\(virtual\\)' does not exist any more"):
        _ = virtual.parent
    assert "(cut)" in repr(virtual)


def test_a_view_of_a_virtual_link_is_valid_again_after_restoring():
    world = gym()
    grip = world.connect("man/left_hand", "bar/rod", br.Revolute("y"))
    view, state = world.links["man/left_hand (virtual)"], world.save()
    world.cut(grip)
    assert "man/left_hand (virtual)" not in world.links
    # another connection of the same name is another virtual link
    world.connect("man/left_hand", "bar/rod", br.Spherical())
    with pytest.raises(ArgumentError, match="does not exist any more"):
        _ = view.real
    world.restore(state)
    assert view.real.name == "man/left_hand"
    assert view == world.links["man/left_hand (virtual)"]


def test_cutting_a_joint_of_the_tree_makes_a_root():
    world = gym()
    foot, shank = world.links["man/left_foot"], world.links["man/left_shank"]
    state = world.save()
    world.cut("man/left_knee")
    assert shank.parent is None
    assert shank.joint.type == "free"
    assert foot.parent == shank
    world.restore(state)
    assert shank.parent.name == "man/left_thigh"


def test_either_end_may_be_the_inertial_frame():
    world = gym()
    world.connect("man/left_foot", "world", br.Spherical())
    world.connect("world", "man/right_foot", br.Spherical(), name="ground")
    foot, ground = world.links["man/left_foot (virtual)"], world.links["ground (virtual)"]
    assert foot.parent is None
    assert foot.real.name == "man/left_foot"
    assert ground.parent.name == "man/right_foot"
    assert ground.real is None
    assert ground.is_virtual
    check_pointers(world)


def test_names_of_virtual_links_are_unique():
    world = gym()
    for _ in range(2):
        world.connect("man/left_hand", "bar/rod", br.Revolute("y"), redundant=True)
    b = br.ModelBuilder("odd")
    b.link("hand", joint=br.Free(), joint_name="one", mass=1.0, inertia=(1, 1, 1))
    b.link("hand (virtual)", joint=br.Free(), joint_name="other", mass=1.0, inertia=(1, 1, 1))
    world.add(b.build(), "odd")
    world.connect("odd/hand", "bar/rod")
    assert {"man/left_hand (virtual)", "man/left_hand 2 (virtual)", "odd/hand (virtual)", "odd/hand (virtual)′"} < set(world.links)
    check_pointers(world)


def test_unknown_links_raise_with_suggestions():
    world = gym()
    with pytest.raises(UnknownName, match="Did you mean 'man/left_hand'"):
        _ = world.links["man/lefthand"]
    assert world.links.get("man/left_grip") is None  # a site is not a link
    assert "man/pelvis" in world.links


def test_links_of_copies_are_independent():
    world = gym()
    world.connect("man/left_hand", "bar/rod", br.Revolute("y"))
    other = world.copy()
    assert other.links["man/left_hand"] != world.links["man/left_hand"]
    other.cut("man/left_hand")
    assert "man/left_hand (virtual)" in world.links
    assert "man/left_hand (virtual)" not in other.links


# --- drawing ------------------------------------------------------------------------------------


def test_print_draws_figures_chains_and_virtual_links():
    world = gym()
    world.connect("man/left_grip", "bar/rod", br.Revolute("y"))
    world.connect("man/right_hand", "bar/rod", br.Revolute("y"))
    world.connect("man/left_foot", "world", br.Spherical())
    world.lock("man/right_knee")
    world.lock("man/right_hip")
    assert str(world).splitlines() == [
        "World of 2 figures: 27 joint variables, 5 degrees of freedom, t = 0 s",
        "man: human16",
        "└─ pelvis (free 6)",
        "   ├─ chest (fixed)",
        "   │  ├─ head (fixed)",
        "   │  ├─ right_upper_arm (spherical 3) ─ right_forearm (revolute 1) ─ right_hand (fixed)",
        "   │  └─ left_upper_arm (spherical 3) ─ left_forearm (revolute 1) ─ left_hand (fixed)",
        "   ├─ right_thigh (spherical 3, locked) ─ right_shank (revolute 1, locked) ─ right_foot (fixed)",
        "   └─ left_thigh (spherical 3) ─ left_shank (revolute 1) ─ left_foot (fixed)",
        "bar",
        "├─ rod (fixed)",
        "│  ├─ ⇢ man/left_hand by revolute 1 (man/left_grip)",
        "│  └─ ⇢ man/right_hand by revolute 1",
        "└─ posts (fixed)",
        "world",
        "└─ ⇢ man/left_foot by spherical 3",
    ]
    assert len(repr(world).splitlines()) == 1


def test_long_chains_are_abbreviated_and_long_lines_wrapped():
    world = br.World()
    world.add(br.figures.chain(300), "chain")
    assert "link1 (revolute 1) ─ link2 (revolute 1) ─ ⋯ 297 more (revolute 1) ⋯ ─ link300 (revolute 1)" in str(world)
    b = br.ModelBuilder("mixed")
    for i in range(40):
        joint = br.Revolute("y") if i % 2 else br.Prismatic("x")
        b.link(f"piece{i}", parent=f"piece{i - 1}" if i else None, joint=joint, mass=1.0, inertia=(1, 1, 1))
    world.add(b.build())
    text = str(world)
    assert all(f"piece{i} (" in text for i in range(40))
    assert max(len(line) for line in text.splitlines()) <= 110


def test_links_that_were_cut_off_are_drawn_with_their_figure():
    world = gym()
    world.cut("man/left_knee")
    lines = str(world).splitlines()
    assert "└─ left_shank (free 6) ─ left_foot (fixed)" in lines
    assert "│  └─ left_thigh (spherical 3)" in lines
    assert lines.index("└─ left_shank (free 6) ─ left_foot (fixed)") < lines.index("bar")


def test_drawing_counts_redundant_rows():
    world = br.World()
    world.add(br.figures.fourbar(1), "four")
    assert str(world).startswith("World of 1 figure: 4 joint variables, 1 degree of freedom,")
    world.add(br.figures.bar(), "bar")
    assert str(world).startswith("World of 2 figures: 4 joint variables, 1 degree of freedom,")


def test_an_empty_world_is_drawn():
    assert str(br.World()) == "World of 0 figures: 0 joint variables, 0 degrees of freedom, t = 0 s"
    assert len(br.World().links) == 0
