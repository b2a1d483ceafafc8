"""Model builder: order and names of links, read-only models, masses, fixed links, configurations, included models."""

from __future__ import annotations

import numpy as np
import pytest
from tests.random_models import random_body, random_model, random_rotation, random_state

from brachiate import (
    Box,
    Compound,
    Cylindrical,
    Data,
    Fixed,
    Free,
    Hull,
    Model,
    ModelBuilder,
    Planar,
    Plane,
    Prismatic,
    Revolute,
    Sphere,
    Spherical,
    dynamics,
)  # fmt: skip
from brachiate.errors import ModelError
from brachiate.kinematics import link_poses
from brachiate.model.builder import WATER

BODY = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}


def figure() -> ModelBuilder:
    b = ModelBuilder("figure")
    b.link("trunk", joint=Free(), joint_name="root", **BODY)
    b.link("arm", parent="trunk", joint=Spherical(), joint_name="shoulder", at=(0, 0.2, 0.4), **BODY)
    b.link("hand", parent="arm", joint=Revolute("y", limits=(-1, 2), effort=30), joint_name="wrist", at=(0, 0, -0.3), **BODY)
    b.link("nail", parent="hand", at=(0.01, 0, 0), mass=0.001)
    return b


# --- order and names ----------------------------------------------------------------------------


def test_links_are_sorted_stably_with_parents_before_children():
    b = ModelBuilder("shuffled")
    for name, parent in (("e", "c"), ("c", "a"), ("b", "a"), ("a", None), ("d", None)):
        b.link(name, parent=parent, joint=Revolute(), **BODY)
    assert list(b.build().links) == ["a", "c", "e", "b", "d"]


def test_q_and_v_have_the_order_of_the_links():
    model = figure().build()
    assert (model.nq, model.nv) == (12, 10)
    assert {name: (j.link, j.q, j.v) for name, j in model.joints.items()} == {
        "root": ("trunk", slice(0, 7), slice(0, 6)),
        "shoulder": ("arm", slice(7, 11), slice(6, 9)),
        "wrist": ("hand", slice(11, 12), slice(9, 10)),
    }
    assert model.coordinates[6:] == ("shoulder.x", "shoulder.y", "shoulder.z", "wrist")
    assert model.coordinate_index["wrist"] == 9
    assert model.neutral.tolist() == [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0]
    assert repr(model) == "<Model 'figure': 4 links, 3 joints, 10 dof, 3.001 kg>"


def test_limits_and_effort_have_the_order_of_v():
    model = figure().build()
    lower, upper = model.limits
    assert (lower[9], upper[9], model.effort[9]) == (-1, 2, 30)
    assert np.isinf(lower[:9]).all()
    assert np.isinf(model.effort[:9]).all()


def test_default_joint_name_is_that_of_the_link():
    b = ModelBuilder("one")
    b.link("rod", joint=Revolute(), **BODY)
    assert list(b.build().joints) == ["rod"]


def test_a_builder_can_be_continued_after_building():
    b = figure()
    first = b.build()
    b.link("ring", parent="nail", mass=0.1)
    second = b.build()
    assert len(first.links) == 4
    assert len(second.links) == 5


def test_empty_and_immobile_models():
    empty = ModelBuilder("empty").build()
    assert (empty.nq, empty.nv, empty.mass) == (0, 0, 0)
    b = ModelBuilder("rock")
    b.link("rock", mass=5.0)
    for model in (empty, b.build()):
        data = Data(model)
        assert dynamics.mass_matrix(data, []).shape == (0, 0)
        assert dynamics.forward_dynamics(data, [], [], []).shape == (0,)
        assert dynamics.inverse_dynamics(data, [], [], []).shape == (0,)
        assert dynamics.totals(data).mass == 0  # of moving bodies


# --- read-only models ---------------------------------------------------------------------------


def test_arrays_of_a_model_are_read_only():
    # Fails if an array of a shared model can be changed.
    b = figure()
    b.pose("wave", {"wrist": 1.0})
    model = b.build()
    shared = {f"tree.{name}": array for name, array in model.tree._asdict().items()}
    shared |= {
        "neutral": model.neutral,
        "effort": model.effort,
        "lower": model.limits[0],
        "upper": model.limits[1],
        "pose": model.poses["wave"],
    }
    assert [name for name, array in shared.items() if array.flags.writeable] == []


def test_tables_of_a_model_are_read_only():
    model = figure().build()
    for table in (model.links, model.sites, model.joints, model.poses, model.actuators, model.coordinate_index):
        with pytest.raises(TypeError):
            table["new"] = None  # type: ignore[index]


def test_the_callers_arrays_are_copied():
    at, inertia, center = np.zeros(3), np.array([1.0, 1.0, 1.0]), np.zeros(3)
    b = ModelBuilder("one")
    b.link("it", joint=Revolute(), at=at, mass=1.0, inertia=inertia, center=center)
    at[:] = inertia[:] = center[:] = 9
    link = b.build().links["it"]
    assert link.position.tolist() == [0, 0, 0]
    assert link.center.tolist() == [0, 0, 0]
    assert np.diag(link.inertia).tolist() == [1, 1, 1]


# --- mass ---------------------------------------------------------------------------------------


def test_mass_from_shapes_and_density():
    b = ModelBuilder("made of shapes")
    b.link("default", joint=Revolute(), shapes=Sphere(radius=0.1, position=(0, 0, 0.5)))
    b.link("oak", joint=Revolute(), shapes=[Box(size=(1, 1, 1))], density=700)
    links = b.build().links
    assert links["default"].mass == pytest.approx(WATER * 4 / 3 * np.pi * 1e-3, rel=1e-14)
    assert links["default"].center.tolist() == [0, 0, 0.5]
    assert links["oak"].mass == pytest.approx(700)
    assert np.allclose(links["oak"].inertia, 700 / 6 * np.eye(3), rtol=1e-14)


def test_mass_of_two_shapes_is_that_of_their_union():
    # Two half boxes are one box, by the parallel axis theorem.
    b = ModelBuilder("halves")
    b.link("halves", shapes=[Box(size=(1, 2, 3), position=(x, 0, 0)) for x in (-0.5, 0.5)])
    b.link("whole", shapes=Box(size=(2, 2, 3)))
    halves, whole = b.build().links.values()
    assert halves.mass == pytest.approx(whole.mass, rel=1e-14)
    assert np.allclose(halves.inertia, whole.inertia, rtol=1e-13)


def test_given_mass_scales_the_inertia_of_the_shapes():
    b = ModelBuilder("hollow")
    b.link("it", mass=2.0, shapes=Sphere(radius=0.5))
    link = b.build().links["it"]
    assert link.mass == 2.0
    assert np.allclose(link.inertia, 2.0 * 0.4 * 0.25 * np.eye(3), rtol=1e-14)


def test_given_inertia_and_center_with_mass_from_the_shapes():
    # Given values are kept, and the missing mass is computed from the shapes.
    b = ModelBuilder("mixed")
    b.link("it", inertia=(1, 1, 1), center=(0, 0, 0.1), shapes=Sphere(radius=0.5))
    link = b.build().links["it"]
    assert link.mass == pytest.approx(WATER * 4 / 3 * np.pi / 8, rel=1e-14)
    assert link.center.tolist() == [0, 0, 0.1]


def test_a_plane_adds_no_mass():
    b = ModelBuilder("floor")
    b.link("floor", shapes=Plane())
    assert b.build().links["floor"].mass == 0


def test_mass_of_fixed_links_is_added_to_their_body():
    # The same solid as one link, and as three links fixed to each other at angles.
    rng = np.random.default_rng(0)
    for _ in range(10):
        pieces = [(random_rotation(rng), rng.normal(size=3), random_body(rng)) for _ in range(2)]
        b = ModelBuilder("in pieces")
        core = random_body(rng)
        b.link("core", joint=Free(), **core)
        b.link("p0", parent="core", joint=Fixed(), at=pieces[0][1], rotation=pieces[0][0], **pieces[0][2])
        b.link("p1", parent="p0", at=pieces[1][1], rotation=pieces[1][0], **pieces[1][2])
        placed = [(np.eye(3), np.zeros(3), core), pieces[0]]
        placed.append((pieces[0][0] @ pieces[1][0], pieces[0][1] + pieces[0][0] @ pieces[1][1], pieces[1][2]))
        mass = sum(body["mass"] for *_, body in placed)
        center = sum(body["mass"] * (p + R @ body["center"]) for R, p, body in placed) / mass
        inertia = np.zeros((3, 3))
        for R, p, body in placed:
            d = p + R @ body["center"] - center
            inertia += R @ body["inertia"] @ R.T + body["mass"] * (d @ d * np.eye(3) - np.outer(d, d))
        found = b.build().tree.inertia
        assert len(found) == 1
        assert np.allclose(found[0], [mass, *center, *inertia[np.triu_indices(3)]], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("size", [(0.1, 0.3), (0.2, 0.7), (0.6, 0.7), (1.1, 1.3), (3e3, 0.7)])
def test_thin_plates_are_solids(size):
    # The moments about two axes in a plate add up to the third one, up to round-off.
    x, y = size
    b = ModelBuilder("plate")
    b.link("plate", joint=Revolute("z"), mass=3.0, inertia=(y * y / 4, x * x / 4, (x * x + y * y) / 4))
    assert b.build().mass == 3.0
    b.link("none", joint=Revolute("z"), mass=3.0, inertia=(y * y / 4, x * x / 4, (x * x + y * y) / 3.9))
    with pytest.raises(ModelError, match="must add up to at least the largest"):
        b.build()


def test_a_massless_link_may_have_children_or_a_rotor():
    b = ModelBuilder("gimbal")
    b.link("ring", joint=Revolute("x"))
    b.link("mass", parent="ring", joint=Revolute("y"), **BODY)
    b.link("motor", joint=Revolute("z", armature=0.1))
    assert b.build().nv == 3


# --- configurations -----------------------------------------------------------------------------


def test_configuration_by_joint_and_by_coordinate():
    b = ModelBuilder("mixed")
    b.link("a", joint=Planar(), **BODY)
    b.link("b", parent="a", joint=Compound({"c": Revolute("x"), "d": Spherical()}), joint_name="cd", **BODY)
    b.link("e", parent="b", joint=Cylindrical(), **BODY)
    model = b.build()
    q = model.configuration({"a": (1, 2, 3), "c": 0.5, "e.slide": 0.7})
    assert q.tolist() == [1, 2, 3, 0.5, 1, 0, 0, 0, 0, 0.7]
    q = model.configuration({"cd": (0.1, 0, 0, 2, 0), "a.angle": 9}, base=q)
    assert q.tolist() == [1, 2, 9, 0.1, 0, 0, 1, 0, 0, 0.7]  # the quaternion is normalized


def test_configuration_does_not_change_its_base():
    model = figure().build()
    base = model.neutral.copy()
    model.configuration({"wrist": 1.0}, base=base)
    assert base.tolist() == model.neutral.tolist()


def test_named_poses():
    b = figure()
    b.pose("wave", {"wrist": 1.0, "shoulder": (0, 2, 0, 0)})
    pose = b.build().poses["wave"]
    assert pose[-1] == 1.0
    assert pose[7:11].tolist() == [0, 1, 0, 0]


# --- included models ----------------------------------------------------------------------------


def test_include_moves_the_model_and_prefixes_its_names():
    rng = np.random.default_rng(5)
    part = random_model(rng, 12)
    R, p = random_rotation(rng), rng.normal(size=3)
    b = ModelBuilder("two")
    b.include("left", part)
    b.include("right", part, at=p, rotation=R)
    model = b.build()
    assert set(model.links) == {f"{side}/{name}" for side in ("left", "right") for name in part.links}
    assert model.coordinates == tuple(f"{side}/{c}" for side in ("left", "right") for c in part.coordinates)
    assert set(model.sites) == {f"{side}/{name}" for side in ("left", "right") for name in part.sites}
    q = random_state(part, rng).q
    alone, both = Data(part), Data(model)
    alone.assign(q=q)
    both.assign(q=np.concatenate([q, q]))
    here, there = link_poses(alone), link_poses(both)
    for name, pose in here.items():
        assert np.allclose(there[f"left/{name}"].position, pose.position, rtol=0, atol=1e-13)
        assert np.allclose(there[f"right/{name}"].position, p + R @ pose.position, rtol=0, atol=1e-12)
        assert np.allclose(there[f"right/{name}"].rotation, R @ pose.rotation, rtol=0, atol=1e-13)


def part_with_everything() -> Model:
    b = figure()
    b.site("tip", "hand", at=(0, 0, -0.1))
    b.loop("handcuff", Spherical(), "hand", "world", second_at=(1, 2, 3))
    b.couple("follow", "wrist", "shoulder.x", (0, 1))
    b.couple("hold", "shoulder.y", None, (0.3,))
    b.actuator("motor", "wrist", gear=2.0)
    b.pose("wave", {"wrist": 1.0})
    return b.build()


def test_include_adds_loops_couplings_actuators_and_poses():
    b = ModelBuilder("whole")
    b.include("man", part_with_everything())
    model = b.build()
    assert [(loop.name, loop.first, loop.second) for loop in model.loops] == [("man/handcuff", "man/hand", "world")]
    assert [(c.name, c.coordinate, c.of) for c in model.couplings] == [
        ("man/follow", "man/wrist", "man/shoulder.x"), ("man/hold", "man/shoulder.y", None),
    ]  # fmt: skip
    assert model.actuators["man/motor"].coordinate == "man/wrist"
    assert list(model.poses) == ["man/wave"]


def test_include_moves_world_frames_of_loops():
    # Fails if the frame of a loop in the world does not move with the model.
    b = ModelBuilder("whole")
    b.include("man", part_with_everything(), at=(10, 0, 0), rotation=(0, 0, 0, 1))
    (loop,) = b.build().loops
    assert np.allclose(loop.second_position, (9, -2, 3))
    assert np.allclose(loop.second_rotation, np.diag((-1, -1, 1)))


def test_shapes_and_sites_are_kept():
    b = ModelBuilder("seen")
    hull = Hull(vertices=np.random.default_rng(0).normal(size=(10, 3)))
    b.link("rail", joint=Prismatic("x"), shapes=[hull, Sphere(radius=0.1)])
    b.site("end", "rail", at=(1, 0, 0), rotation=(0, 1, 0, 0))
    model = b.build()
    assert model.links["rail"].shapes[0] is hull
    assert model.sites["end"].position.tolist() == [1, 0, 0]
    assert np.allclose(model.sites["end"].rotation, np.diag((1, -1, -1)))
