"""Figures other than humans, objects, and checks of all figures."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate import Data, figures
from brachiate.dynamics import forward_dynamics, mass_matrix, totals
from brachiate.errors import ArgumentError, UnknownName
from brachiate.figures import FIGURES, arm2, bar, box, chain, ground, human16, inchworm, monkey16, plate, slope, stairs, swing, terrain
from brachiate.kinematics import link_poses
from brachiate.model.joints import BALL
from brachiate.model.model import Model
from brachiate.model.shapes import Plane


def made(name: str) -> Model:
    return FIGURES[name](4) if name == "chain" else FIGURES[name]()


def swing_and_twist(quaternion, axis):
    """Swing and twist angle of a rotation about an axis."""
    along = quaternion[1:] @ axis
    return 2 * np.arctan2(np.linalg.norm(quaternion[1:] - along * axis), np.hypot(quaternion[0], along)), 2 * np.arctan2(
        along, quaternion[0]
    )


def outside_limits(model: Model, q) -> list[str]:
    bad = []
    for name, place in model.joints.items():
        joint, value = model.links[place.link].joint, q[place.q]
        if joint.cone is not None:
            swing_angle, twist = swing_and_twist(value, joint.cone.axis)
            twist = (twist + np.pi) % (2 * np.pi) - np.pi
            if swing_angle > joint.cone.swing + 1e-9 or not joint.cone.twist[0] <= twist <= joint.cone.twist[1]:
                bad.append(name)
        elif all(e.kind < BALL for e in joint.elements) and ((value < joint.lower) | (value > joint.upper)).any():
            bad.append(name)
    return bad


def lowest(data: Data) -> float:
    poses = link_poses(data)
    return min(
        float((shape.surface(24)[0] @ poses[name].rotation.T + poses[name].position)[:, 2].min())
        for name, link in data.model.links.items() for shape in link.shapes
    )  # fmt: skip


@pytest.mark.parametrize("name", figures.names)
def test_every_pose_is_within_the_limits(name):
    model = made(name)
    assert outside_limits(model, model.neutral) == []
    for pose, q in model.poses.items():
        assert outside_limits(model, q) == [], pose


# Bricard's mechanism has the pose of its benchmark and falls along -y: z = 0 is not its ground.
@pytest.mark.parametrize("name", [name for name in figures.names if name != "bricard"])
def test_no_figure_starts_below_the_ground(name):
    assert lowest(Data(made(name))) >= -1e-12


@pytest.mark.parametrize("name", ["human16", "human28", "human40", "monkey16", "inchworm", "plate", "box"])
def test_standing_figures_touch_the_ground(name):
    assert lowest(Data(made(name))) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", figures.names)
def test_every_figure_is_listed_and_exported(name):
    assert getattr(figures, name) is FIGURES[name]
    assert name in figures.__all__
    assert FIGURES[name].__doc__


def test_monkey():
    model = monkey16()
    assert (model.nq, model.nv) == (27, 22)
    assert model.mass == pytest.approx(6.0)
    assert list(model.joints) == list(dict.fromkeys(model.joints))
    assert lowest(Data(monkey16(1.2, 20))) == pytest.approx(0.0, abs=1e-12)
    data = Data(model)
    poses = link_poses(data)
    top = max(float((s.surface(24)[0] @ poses["head"].rotation.T + poses["head"].position)[:, 2].max()) for s in model.links["head"].shapes)
    assert top == pytest.approx(0.6, abs=1e-9)


def test_acrobot_is_the_textbook_double_pendulum():
    # M = m l² [[1/3 + 1/3 + 1 + cos, 1/3 + cos/2], [., 1/3]] for two uniform rods.
    data = Data(arm2(length=0.8, mass=2.5))
    unit, c = 2.5 * 0.8**2, np.cos(0.7)
    expected = unit * np.array([[5 / 3 + c, 1 / 3 + c / 2], [1 / 3 + c / 2, 1 / 3]])
    assert mass_matrix(data, [0.3, 0.7]) == pytest.approx(expected)
    assert list(data.model.effort > 0) == [False, True]


@pytest.mark.parametrize(("joint", "nq", "nv"), [("hinge", 5, 5), ("alternating", 5, 5), ("ball", 20, 15)])
def test_chain(joint, nq, nv):
    model = chain(5, length=2.0, mass=3.0, joint=joint)
    assert (model.nq, model.nv) == (nq, nv)
    assert model.mass == pytest.approx(3.0)
    poses = link_poses(Data(model))
    assert poses["link1"].position[2] - poses["link5"].position[2] == pytest.approx(1.6)
    assert not model.effort.any()


def test_inchworm_arches_between_level_ends():
    model = inchworm(9)
    assert (model.nq, model.nv) == (7 + 8, 6 + 8)
    data = Data(model)
    data.assign(q=model.poses["arch"])
    poses = link_poses(data)
    assert poses["segment9"].position[2] == pytest.approx(poses["segment1"].position[2])
    assert poses["segment9"].rotation == pytest.approx(np.eye(3), abs=1e-12)
    assert poses["segment5"].position[2] > poses["segment1"].position[2] + 0.005
    assert lowest(data) == pytest.approx(0.0, abs=1e-12)


def test_bar_lies_along_y():
    model = bar(height=2.0, length=3.0)
    vertices, _ = model.links["rod"].shapes[0].surface()
    assert np.ptp(vertices, axis=0) == pytest.approx((0.028, 3.0, 0.028), abs=1e-3)
    assert model.links["rod"].position == pytest.approx((0, 0, 2.0))
    assert model.nv == 0


def test_swing_hangs_closed():
    model = swing()
    assert list(model.links) == ["beam", "left_rope", "plate", "right_rope"]
    (loop,) = model.loops
    for angle in (0.0, 0.4):  # equal angles of both ropes: the loop stays closed
        data = Data(model)
        data.assign(q=model.configuration({"left_rope": angle, "right_rope": angle}))
        poses = link_poses(data)
        ends = [
            poses[link].position + poses[link].rotation @ at
            for link, at in ((loop.first, loop.first_position), (loop.second, loop.second_position))
        ]
        assert ends[0] == pytest.approx(ends[1])
    assert not model.effort.any()


def test_objects():
    assert box((1, 2, 3), 4.0).mass == pytest.approx(4.0)
    assert plate().links["plate"].position[2] == pytest.approx(0.02)
    assert isinstance(ground().links["ground"].shapes[0], Plane)
    surface = slope(30.0, 2.0).links["slope"].shapes[0]
    assert np.degrees(np.arccos(surface.rotation[2, 2])) == pytest.approx(30.0)
    corners = surface.surface()[0]
    assert corners[:, 0] == pytest.approx([0, 3**0.5, 3**0.5, 0], abs=1e-12)
    assert corners[:, 2] == pytest.approx([0, 1, 1, 0], abs=1e-12)
    flight = stairs(3, rise=0.2, tread=0.3, width=1.0)
    assert [shape.surface()[0][:, 2].max() for shape in flight.links["stairs"].shapes] == pytest.approx([0.2, 0.4, 0.6])
    assert flight.sites["top"].position == pytest.approx([0.75, 0, 0.6])
    hill = terrain([[0, 1], [2, 3], [4, 5]], spacing=(0.5, 2.0)).links["terrain"].shapes[0]
    assert hill.surface()[0][:, 0] == pytest.approx([-0.25, 0.25] * 3)
    assert hill.surface()[0][:, 1] == pytest.approx([-2, -2, 0, 0, 2, 2])
    assert hill.surface()[0][:, 2] == pytest.approx(np.arange(6))


def test_every_moving_figure_can_fall():
    # Free fall from rest: every free root accelerates by gravity and no joint does. Fails on a singular mass matrix too.
    for name in ("human16", "human28", "human40", "monkey16", "inchworm", "box"):
        data = Data(made(name))
        a = forward_dynamics(data, data.q, data.v, data.tau)
        assert a[2] == pytest.approx(-9.81, rel=1e-6), name
        assert np.delete(a, 2) == pytest.approx(np.zeros(len(a) - 1), abs=1e-5), name


def test_springs_towards_a_pose():
    # The energy of the springs is zero at their rest pose, and ½ k φ² away from it.
    model = human16()
    for pose in ("sit", {"left_knee": 0.5, "left_hip": model.poses["sit"][model.joints["left_hip"].q]}):
        soft = model.with_springs(10.0, pose, damping=2.0)
        data = Data(soft, gravity=(0, 0, 0))
        data.assign(q=soft.poses["sit"] if isinstance(pose, str) else soft.configuration(pose))
        assert totals(data).potential == pytest.approx(0, abs=1e-12)
        data.q[soft.q_slice("left_knee")] += 0.3
        assert totals(data).potential == pytest.approx(0.5 * 10 * 0.3**2)
        joints = [link.joint for link in soft.links.values() if link.joint.nv]
        assert [set(joint.damping) for joint in joints] == [{0.0}] + [{2.0}] * (len(joints) - 1)  # but for the free root
        assert not any(link.joint.damping.any() for link in soft.with_springs(1.0, "sit", damping=0.0).links.values())
    with pytest.raises(UnknownName, match="'sitting' is not a pose of model 'human16'"):
        model.with_springs(10.0, "sitting")
    with pytest.raises(ArgumentError, match="damping must be at least 0"):
        model.with_springs(10.0, "sit", damping=-1.0)


def test_bad_arguments_raise():
    with pytest.raises(ArgumentError, match=r"n: expected a whole number of links from 1 to 100000, got 2.5"):
        chain(2.5)
    with pytest.raises(ArgumentError, match=r"joint of the chain: 'rope' is not one of: hinge, alternating, ball"):
        chain(3, joint="rope")
    with pytest.raises(ArgumentError, match=r"from 3 to"):
        inchworm(2)
    with pytest.raises(ArgumentError, match=r"The ropes \(3 m\) reach the ground under a beam at 2.3 m. Shorten rope="):
        swing(rope=3.0)
    with pytest.raises(ArgumentError, match=r"height of the bar must be more than 0 and at most 10000, got -1"):
        bar(height=-1)
    with pytest.raises(ArgumentError, match=r"size of the box: every edge must be longer than 0 m"):
        box((1, 0, 1))
    with pytest.raises(ArgumentError, match=r"degrees of the slope must be at least 0 and at most 89.9, got 90"):
        slope(90)
    with pytest.raises(ArgumentError, match=r"count of the steps must be at least 1 and at most 100, got 0"):
        stairs(0)
    with pytest.raises(ArgumentError, match=r"rise of the steps must be more than 0 and at most 10000, got 0"):
        stairs(rise=0.0)
    with pytest.raises(ArgumentError, match=r"heights of a height field: expected at least 2 rows of .*, got shape \(3,\)"):
        terrain([1, 2, 3])
    with pytest.raises(ArgumentError, match=r"height of the monkey must be at least 0.1 and at most 3, got 60"):
        monkey16(height=60)
