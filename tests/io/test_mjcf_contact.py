"""Contact filters of MJCF and SDF: bits, excluded bodies and pairs of geoms.

Law: two geoms collide iff (contype1 & conaffinity2) || (contype2 & conaffinity1), unless a filter excludes them; pairs always collide.
Fails if bits are only compared with zero, if a filter is lost in a copy or a world, or if a pair has another friction than its own.
"""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest

import brachiate as br
from brachiate.contact.collision.collision_shapes import colliding_shapes, collision_geometry
from brachiate.errors import ArgumentError, ModelError, ModelFileError, UnknownName
from brachiate.model.shapes import ALL_BITS

BITS = ((0, 0), (1, 1), (1, 0), (0, 1), (2, 1), (2, 2), (4, 6), (-1, 0), (2**31 - 1, 8))


def pairs(model: br.Model) -> set[frozenset[str]]:
    """Pairs of shapes that may collide, by their names."""
    names = [f"{part.link.rpartition('/')[0]}{part.shape.name}" for part in colliding_shapes(model)]
    return {frozenset((names[a], names[b])) for a, b in collision_geometry(model).pair}


def named(*given: str) -> set[frozenset[str]]:
    """Pairs from texts such as 'a b'."""
    return {frozenset(text.split()) for text in given}


def ball(name: str, x: float, bits: str = "", inside: str = "<freejoint/>") -> str:
    return f'<body name="{name}" pos="{x} 0 1">{inside}<geom name="{name}" size="0.1" {bits}/></body>'


ROW = "".join(ball(name, x) for name, x in zip("abc", range(3), strict=True))
ARM = f"""<worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="a"><joint/><geom name="a" size="0.1"/><body name="b" pos="1 0 0"><joint/><geom name="b" size="0.1"/>
{ball("c", 1.0, inside="<joint/>")}</body></body></worldbody>"""


def test_bits(mjcf):
    text = "".join(ball(f"g{i}", i, f'contype="{t}" conaffinity="{f}"') for i, (t, f) in enumerate(BITS))
    expected = {
        frozenset((f"g{i}", f"g{j}"))
        for (i, (t1, f1)), (j, (t2, f2)) in itertools.combinations(enumerate(BITS), 2)
        if (t1 & f2) or (t2 & f1)
    }
    model = mjcf(f"<worldbody>{text}</worldbody>")
    assert 5 < len(expected) < 30
    assert pairs(model) == expected
    assert [link.shapes[0].collides for link in model.links.values()] == [t != 0 or f != 0 for t, f in BITS]


def test_bits_hold_across_figures_and_every_bit_meets_the_ground(mjcf):
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    for n, (contype, conaffinity) in enumerate(((2, 2), (2, 2), (1, 4), (8, 1))):
        bits = f'contype="{contype}" conaffinity="{conaffinity}"'
        world.add(mjcf(f"<worldbody>{ball('g', 0.0, bits)}</worldbody>"), name=f"figure{n}", at=(n, 0, 0))
    assert pairs(world.model) == named("figure0g figure1g", "figure2g figure3g", *(f"floor figure{n}g" for n in range(4)))


def test_excluded_bodies(mjcf):
    model = mjcf(f'<worldbody>{ROW}</worldbody><contact><exclude body1="a" body2="c"/><exclude body1="b" body2="b"/></contact>')
    assert pairs(model) == named("a b", "b c")
    assert model.ignored_contacts == (("a", "c"),)
    floor = mjcf(ARM + '<contact><exclude body1="world" body2="b"/></contact>')
    assert pairs(floor) == named("floor a", "floor c", "a c")


def test_pairs_collide_whatever_the_filters_say(mjcf):
    assert pairs(mjcf(ARM)) == named("floor a", "floor b", "floor c", "a c")
    more = '<pair geom1="a" geom2="b"/><exclude body1="a" body2="b"/><exclude body1="a" body2="c"/><pair geom1="c" geom2="a"/>'
    assert pairs(mjcf(f"{ARM}<contact>{more}</contact>")) == named("floor a", "floor b", "floor c", "a b", "a c")
    unfiltered = ARM.replace('size="0.1"', 'size="0.1" contype="0" conaffinity="0"').replace('pos="1 0 0"', 'pos="0.1 0 0"')
    overlapping = mjcf(unfiltered + '<contact><pair geom1="a" geom2="b"/></contact>')
    assert pairs(overlapping) == named("a b")
    assert [link.shapes[0].collides for link in overlapping.links.values()] == [True, True, True, False]


def test_a_pair_stops_a_joint(mjcf):
    """A pendulum that falls onto its parent, which only a pair lets it hit, comes to rest there: its floor is the parent's side."""
    text = """<worldbody><body name="post" pos="0 0 1"><joint axis="0 0 1"/><geom name="post" type="box" size="0.1 0.1 0.5" mass="1e3"/>
    <body name="arm" pos="0 0 0.6"><joint name="hinge" axis="0 1 0"/><geom name="arm" type="capsule" fromto="0 0 0 0.6 0 0" size="0.05"/>
    </body></body></worldbody><contact>{}</contact>"""
    angles = []
    for contact in ("", '<pair geom1="post" geom2="arm" friction="0.3"/>'):
        world = br.World()
        world.add(mjcf(text.format(contact)), name="it")
        world.enable_contact(friction=0.7)
        angles.append(br.Simulation(world, dt=0.002).run(1.0)["it/hinge"].max())
    assert angles[0] > np.pi / 2
    # The capsule rests on the edge of the box at a distance of its radius: edge at (0.1, -0.1) from the hinge.
    resting = np.pi / 4 - np.arcsin(0.05 / np.hypot(0.1, 0.1))
    assert angles[1] == pytest.approx(resting, abs=2e-3)


def materials(world: br.World) -> dict[frozenset[str], br.Material]:
    """Material of every pair of links."""
    state = world.contact_settings.contact_state
    assert state is not None
    return {frozenset(pair): material for pair, material in zip(world.contact_settings.link_pairs, state._materials, strict=True)}


def test_friction_of_pairs(mjcf):
    contact = '<pair geom1="a" geom2="b" friction="0.3"/><pair geom1="b" geom2="c"/><pair geom1="a" geom2="c" condim="1"/>'
    world = br.World()
    world.add(mjcf(f"<worldbody>{ROW}</worldbody><contact>{contact}</contact>"), name="it")
    world.enable_contact(friction=0.7, restitution=0.2)
    frictions = {tuple(sorted(pair)): (m.friction, m.restitution) for pair, m in materials(world).items()}
    # MuJoCo's default friction of a pair is 1; a pair of condim 1 has none.
    assert frictions == {("it/a", "it/b"): (0.3, 0.2), ("it/b", "it/c"): (1.0, 0.2), ("it/a", "it/c"): (0.0, 0.2)}
    world.enable_contact("it/a", "it/b", friction=0.1)
    assert materials(world)[frozenset(("it/a", "it/b"))].friction == 0.1
    world.ignore_contact("it/a", "it/b")
    assert world.contact_settings.contact_state.geometry.pair_enabled.tolist() == [0, 1, 1]


def test_filters_survive_copies(mjcf):
    text = ROW.replace('name="c" size', 'name="c" contype="2" conaffinity="2" size')
    model = mjcf(
        f'<worldbody>{text}</worldbody><contact><exclude body1="a" body2="b"/><pair geom1="a" geom2="c" friction="0.4"/></contact>'
    )
    expected = named("a c")
    assert pairs(model) == expected
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.with_springs(1.0, {}), model.with_scaled_effort(2.0)):
        assert pairs(other) == expected
        assert other.contact_pairs == model.contact_pairs
    world = br.World()
    world.add(model, name="one")
    world.add(model, name="two", at=(0, 5, 0))
    across = named("onea twoa", "onea twob", "oneb twoa", "oneb twob", "onec twoc")  # bits only: exclusions and pairs are within a figure
    assert pairs(world.model) == named("onea onec", "twoa twoc") | across
    world.enable_contact()
    for other in (world.copy(), copy.deepcopy(world), pickle.loads(pickle.dumps(world))):
        assert pairs(other.model) == pairs(world.model)
        assert materials(other)[frozenset(("one/a", "one/c"))].friction == 0.4


def test_filters_survive_a_cut(mjcf):
    world = br.World()
    arm = ARM.replace('name="c" size', 'name="c" contype="2" conaffinity="2" size')
    world.add(mjcf(arm + '<contact><pair geom1="a" geom2="b" friction="0.4"/></contact>'), name="it")
    assert pairs(world.model) == named("itfloor ita", "itfloor itb", "ita itb")
    world.cut("it/c")
    assert pairs(world.model) == named("itfloor ita", "itfloor itb", "ita itb")


def test_soles_that_only_a_pair_lets_touch_the_floor_stand_on_ours(mjcf, warned):
    """The floor of a floating figure is left out, but its soles stand on br.figures.ground(); its other shapes stay without contact."""
    zero = 'contype="0" conaffinity="0"'
    text = f"""<worldbody><geom name="floor" type="plane" size="1 1 1"/><body name="hip" pos="0 0 1"><freejoint/><geom size="0.1" {zero}/>
    <body name="foot" pos="0 0 -0.8"><joint/><geom name="sole" size="0.1" {zero}/></body></body></worldbody>
    <contact><pair geom1="sole" geom2="floor"/><exclude body1="world" body2="hip"/></contact>"""
    model, message = warned(mjcf, text)
    assert "contact pairs with the world (left out of a floating figure; these shapes collide with br.figures.ground()" in message
    assert "contact exclusions with the world (left out of a floating figure): hip" in message
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    world.add(model, name="it")
    assert pairs(world.model) == named("floor itsole")


def test_pairs_that_cannot_be_are_noted(mjcf, warned):
    text = """<asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset><worldbody><geom name="hills" type="hfield" hfield="h"/>
    <body name="a"><joint/><geom name="a1" size="0.1"/><geom name="a2" size="0.1"/></body></worldbody>
    <contact><pair geom1="a1" geom2="a2"/><pair geom1="hills" geom2="a1"/></contact>"""
    model, message = warned(mjcf, text)
    assert "contact pairs within one rigid body (left out): a1 and a2" in message
    assert "contact pairs with height fields and signed distance fields (left out): hills and a1" in message
    assert model.contact_pairs == ()


def test_unknown_parts_are_refused(mjcf):
    with pytest.raises(ModelFileError, match="MuJoCo cannot read it: Error: geom 'nothing' not found"):
        mjcf(f'<worldbody>{ROW}</worldbody><contact><pair geom1="a" geom2="nothing"/></contact>')
    with pytest.raises(ModelFileError, match="MuJoCo cannot read it: Error: body 'nothing' not found"):
        mjcf(f'<worldbody>{ROW}</worldbody><contact><exclude body1="a" body2="nothing"/></contact>')


def test_builder():
    def builder() -> br.ModelBuilder:
        b = br.ModelBuilder("row")
        for name, x in zip("abc", range(3), strict=True):
            b.link(name, joint=br.Free(), at=(x, 0, 0), shapes=br.Sphere(radius=0.1, name=f"{name}1", conaffinity=int(x < 2)))
        return b

    b = builder()
    b.ignore_contact("a", "b")
    b.contact_pair("c", "c1", "a", "a1", friction=0.2)
    assert pairs(b.build()) == named("a1 c1", "b1 c1")

    def built(add) -> br.Model:
        b = builder()
        add(b)
        return b.build()

    for bad, error, message in (
        (lambda b: b.contact_pair("a", "a2", "b", "b1"), UnknownName, "'a2'"),
        (lambda b: b.contact_pair("a", "a1", "d", "b1"), UnknownName, "'d'"),
        (lambda b: b.ignore_contact("a", "d"), UnknownName, "'d'"),
        (lambda b: b.contact_pair("a", "a1", "a", "a1"), ModelError, "shapes of one link do not collide"),
        (lambda b: b.contact_pair("a", "a1", "b", "b1", friction=-1.0), ArgumentError, "friction of the contact pair of 'a1' and 'b1'"),
    ):
        with pytest.raises(error, match=message):
            built(bad)
    b = builder()
    b.link("d", shapes=br.Sphere(radius=0.1, name="d1", collides=False))
    b.contact_pair("a", "a1", "d", "d1")
    with pytest.raises(ModelError, match="the shape 'd1' of 'd', which has collides=False"):
        b.build()
    for bits in (-1, 1.5, ALL_BITS + 1, "x"):
        with pytest.raises(ArgumentError, match="contype of a sphere"):
            br.Sphere(radius=0.1, contype=bits)


def test_bit_masks_of_sdf(sdf):
    def link(name: str, x: float, mask: str) -> str:
        surface = f"<surface><contact><collide_bitmask>{mask}</collide_bitmask></contact></surface>" if mask else ""
        geometry = "<geometry><sphere><radius>0.1</radius></sphere></geometry>"
        visual = f"<visual name='v'>{geometry}</visual>"
        inertia = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
        collision = f'<collision name="{name}">{geometry}{surface}</collision>'
        return f'<link name="{name}"><pose>{x} 0 0 0 0 0</pose>{inertia}{visual}{collision}</link>'

    def model(*masks: str) -> br.Model:
        joints = "".join(
            f'<joint name="j{n}" type="revolute"><parent>world</parent><child>{n}</child></joint>' for n in "abcd"[: len(masks)]
        )
        return sdf("".join(link(n, x, mask) for x, (n, mask) in enumerate(zip("abcd", masks, strict=False))) + joints)

    assert pairs(model("", "2", "0x3", "0")) == named("a b", "a c", "b c")
    assert pairs(model("1", "2", "", "4")) == named("a c", "b c", "c d")
    for wrong in ("-1", "many", "1.5", "0xffffffff"):
        with pytest.raises(ModelFileError, match="collide_bitmask of 'a': expected a whole number from 0 to 0x7fffffff"):
            model(wrong)
