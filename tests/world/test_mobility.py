"""Mobility reports: degrees of freedom, actuation, redundant rows and singular postures, by name.

Rows and matrices are checked by their own laws (J W = 0, a redundant row is the stated linear combination), not by the code under test.
Round-off is about ε times the condition of the rows, which is below 1e4 here: 1e-10 leaves a factor of a hundred.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from tests.random_mechanisms import random_mechanism
from tests.world.closed_chains import as_vector, high_bar, largest, world_of

import brachiate as br
from brachiate.constraints.arrays import INDEPENDENT, UNCLASSIFIED
from brachiate.constraints.coordinates import choose_coordinates
from brachiate.errors import ArgumentError, StateError, UnknownName
from brachiate.world.coordinates import NamedCoordinates

MOTORS = [
    f"man/{side}_{joint}"
    for side in ("right", "left")
    for joint in ("hip.x", "hip.y", "hip.z", "knee", "shoulder.x", "shoulder.y", "shoulder.z", "elbow")
]


# --- the high bar ---------------------------------------------------------------------------------


def test_the_high_bar_has_12_degrees_of_freedom_and_17_with_one_hand():
    world = high_bar()
    m = world.mobility()
    assert (m.dof, m.variables, len(m.rows)) == (12, 24, 10)
    assert len(m.generalized) == 12
    assert sorted([*m.generalized, *m.dependent]) == sorted(world.model.coordinates)
    assert m.actuated == tuple(name for name in world.model.coordinates if name in MOTORS)
    assert len(m.actuated) == 16
    assert m.actuation_rank == 11
    assert not m.redundant
    (passive,) = m.passive
    assert passive.description == "man turns about y through (0, 0, 2.6)"
    assert set(passive.velocities) == {"man/root.x", "man/root.z", "man/root.ry"}
    world.cut("man/right_grip")
    m = world.mobility()
    assert (m.dof, m.variables, m.actuation_rank) == (17, 23, 16)
    assert [d.description for d in m.passive] == ["man turns about y through (0, 0, 2.6)"]
    world.cut("man/left_grip")
    m = world.mobility()
    assert (m.dof, m.variables, m.actuation_rank, m.dependent) == (22, 22, 16, ())
    assert [list(d.velocities) for d in m.passive] == [[f"man/root.{c}"] for c in ("x", "y", "z", "rx", "ry", "rz")]
    assert m.passive[2].description == "man moves along z"


def test_report_text():
    text = str(high_bar().mobility()).splitlines()
    assert text[0] == "12 degrees of freedom of 24 joint variables, 10 constraint rows"
    assert text[1].startswith("generalized: man/root.")
    assert "motors: 16 drive 11 of 12 degrees of freedom" in text
    assert any(line.startswith("passive: man turns about y through (0, 0, 2.6) (man/root.x 1, man/root.ry ") for line in text)
    assert max(len(line) for line in text) < 160


def test_a_passive_motion_moves_no_motor_and_satisfies_all_rows():
    for seed in range(4):
        world = high_bar(seed=seed)
        c = world.coordinates()
        (passive,) = world.mobility().passive
        v = as_vector(world, passive)
        assert largest(v) >= 1.0
        assert largest(c.J @ v) < 1e-9
        assert largest(v[c.motors]) < 1e-9


def test_choosing_the_actuated_coordinates():
    world = high_bar(seed=1)
    whole = world.mobility()
    assert world.mobility("man/*").actuation_rank == whole.actuation_rank
    assert world.mobility(["man/*_knee"]).actuated == ("man/right_knee", "man/left_knee")
    legs = world.mobility(["man/*_hip", "man/*_knee"])
    assert (len(legs.actuated), legs.actuation_rank, len(legs.passive)) == (8, 8, 4)
    driven = world.mobility(["man/*", "man/root.ry"])  # named in full, a coordinate without a motor counts as actuated
    assert (len(driven.actuated), driven.actuation_rank, driven.passive) == (17, 12, ())
    assert world.coordinates("man/left_knee").actuated == ("man/left_knee",)


def test_descriptions_name_whole_figures_or_links():
    world = br.World()
    world.add(br.figures.box(), "crate")
    world.add(br.figures.fourbar(1), "four")
    words = [d.description for d in world.mobility("crate/root.x").passive]
    assert words[0] == "crate moves along y"
    assert len(words) == 6  # five of the crate, and that of the four-bar, whose rods do not move as one rigid body
    assert words[-1] == ""
    builder = br.ModelBuilder("screw")
    builder.link("nut", joint=br.Cylindrical("z", effort=0.0), joint_name="thread", mass=1.0, inertia=(1, 1, 1))
    builder.link("hand", parent="nut", joint=br.Revolute("x"), joint_name="hand", at=(1, 0, 0), mass=1.0, inertia=(1, 1, 1))
    turn, slide = builder.build().coordinates[:2]
    builder.couple("pitch", slide, turn, (0.0, 0.05))
    world = br.World()
    world.add(builder.build())
    (passive,) = world.mobility().passive
    assert passive.description == "screw turns about z through (0, 0, 0), 0.05 m along it for each rad"


# --- laws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [*range(1, 7), *range(8, 19)])
def test_coordinates_of_random_mechanisms(seed):
    m = random_mechanism(seed, 3 + seed % 7, 1 + seed % 3, passive=bool(seed % 2), redundant=seed % 3 == 0)
    world = world_of(m)
    c, M = world.coordinates(), world.mobility()
    names = {name: i for i, name in enumerate(world.model.coordinates)}
    generalized, dependent = [names[n] for n in c.generalized], [names[n] for n in c.dependent]
    assert (c.generalized, c.dependent, c.mobility) == (M.generalized, M.dependent, M.dof)
    assert sorted(generalized + dependent) == list(range(world.model.nv))
    # v = W v_G with v_G its generalized part, and W spans the null space of J
    assert (c.W[generalized] == np.eye(c.mobility)).all()
    assert (c.W[dependent] == c.H).all()
    assert (c.W[c.motors] == c.S).all()
    J = c.J / np.sqrt(np.diag(c.A))
    assert largest(c.J @ c.W) < 1e-10 * largest(c.J) * largest(c.W)
    assert c.mobility == world.model.nv - np.linalg.matrix_rank(J, tol=1e-8 * np.linalg.norm(J, 2))
    assert c.mobility == world.model.nv - len(c.rows) + len(M.redundant)
    # velocities satisfy the rows, and so do accelerations at zero generalized accelerations
    assert largest(c.J @ world.v) < 1e-10 * max(1.0, largest(c.J) * largest(world.v))
    w = c.drift()
    assert largest(w[generalized]) == 0
    assert largest(c.J @ w + c.gamma) < 1e-9 * max(1.0, largest(c.gamma), largest(w))
    assert np.allclose(c.inertia(), c.W.T @ world.mass_matrix() @ c.W, rtol=1e-12, atol=1e-12)
    assert np.linalg.eigvalsh(c.inertia()).min(initial=1.0) > 0
    # a redundant row is the stated linear combination
    row = dict(zip(c.rows, c.J, strict=True))
    for name, others in M.redundant.items():
        total = sum((factor * row[other] for other, factor in others.items()), np.zeros(world.model.nv))
        assert largest(row[name] - total) < 1e-5 * largest(c.J)  # small contributions are not named
    # forces of a connection are unique if no null vector of the transposed rows involves them
    U, s, _ = np.linalg.svd(J)
    idle = U[:, (s > 1e-8 * s[0]).sum() :]
    for constraint in world.connections.values():
        assert constraint.unique == (largest(idle[world.constraint_set.row_slice(constraint.index)]) < 1e-6)


def test_the_drift_follows_a_prescribed_polynomial():
    world = high_bar(("left",), seed=3)
    angle, rate = world.angle("man/right_knee"), world.rate("man/right_knee")
    world.prescribe("man/right_knee", [angle, rate, 0.0, 1.0])
    i = world.model.coordinate_index["man/right_knee"]
    world.time = 0.5
    world["man/right_knee"], world.v[i] = angle + 0.5 * rate + 0.125, rate + 0.75
    c = world.coordinates()
    assert "man/right_knee" in c.dependent
    assert "man/right_knee locked" in c.rows
    assert np.isclose(c.drift()[i], 3.0, rtol=1e-12)  # 6 t


def test_connection_reports_have_the_same_mobility():
    world = high_bar(seed=2)
    for constraint in world.connections.values():
        assert constraint.report.mobility[1] in (17, 12)
    twice = world.connect("man/left_hand", "bar/rod", br.Fixed(), redundant=True)
    assert twice.report.mobility[1] == world.mobility().dof == 11


# --- redundant rows, uniqueness -------------------------------------------------------------------


def test_redundant_rows_of_a_planar_mechanism():
    world = br.World()
    world.add(br.figures.fourbar(2), "four")
    m = world.mobility()
    assert m.dof == 1
    assert set(m.redundant) == {f"four/pin{i}.{row}" for i in (1, 2) for row in ("z", "across 1", "across 2")}
    assert all(not others for others in m.redundant.values())
    assert "redundant, as nothing moves there: four/pin1.z" in str(m)
    assert "motors: none" in str(m)
    assert not world.connections["four/pin1"].unique


def test_redundant_rows_of_a_door_on_two_hinges():
    builder = br.ModelBuilder("door")
    builder.link("leaf", joint=br.Free(effort=0.0), joint_name="root", mass=20.0, center=(0.4, 0, 1), inertia=(2, 3, 1))
    world = br.World()
    world.add(builder.build())
    low = world.connect("door/leaf", "world", br.Revolute("z"), name="low")
    assert low.unique
    high = world.connect("door/leaf", "world", br.Revolute("z"), at=(0, 0, 2), name="high", redundant=True)
    m = world.mobility()
    assert m.dof == 1
    # both hinges constrain both axes and the height; x and y of the upper one depend on those of the lower one and its tilts
    assert set(m.redundant) == {"high.x", "high.y", "high.z", "high.across 1", "high.across 2"}
    assert list(m.redundant["high.z"]) == ["low.z"]
    assert np.isclose(m.redundant["high.z"]["low.z"], 1.0)
    assert {"low.x", "low.y"} & set(m.redundant["high.x"])
    assert "redundant: high.z depends on: low.z" in str(m)
    assert not low.unique
    assert not high.unique
    world.cut(high)
    assert low.unique
    assert np.allclose(low.force, [0, 0, 20 * 9.81])


@pytest.mark.parametrize("gap", [0.0, 1e-10, 1e-8, 1e-7])
def test_redundancy_does_not_depend_on_small_gaps(gap):
    # A plate on three parallel cranks has one degree of freedom, by their lengths: rows of pins that are open by a gap are off by as much.
    builder = br.ModelBuilder("table")
    part = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    for i in range(3):
        builder.link(f"crank{i}", joint=br.Revolute("y"), at=(i, 0, 0), **part)
    builder.link("plate", parent="crank0", joint=br.Revolute("y"), at=(0, 0, 1), **part)
    for i in (1, 2):
        builder.loop(f"pin{i}", br.Revolute("y"), "plate", f"crank{i}", first_at=(i, 0, 0), second_at=(0, 0, 1))
    world = br.World()
    world.add(builder.build(), "it")
    angles = {f"it/crank{i}": 0.5 for i in range(3)} | {"it/plate": -0.5}
    world.q = world.model.configuration(angles | {"it/crank1": 0.5 + gap})
    world.constraint_set.arrays.state[: len(world.row_names())] = UNCLASSIFIED
    world.update_redundancy()
    assert (world.constraint_set.row_states() == INDEPENDENT).sum() == world.model.nv - 1
    assert world.mobility().dof == 1


def test_redundant_locks():
    world = br.World()
    world.add(br.figures.fourbar(1), "four")
    (one,) = world.lock("four/crank0")
    assert one.unique
    (other,) = world.lock("four/crank1", redundant=True)
    m = world.mobility()
    assert m.dof == 0
    assert "four/crank1 locked" in m.redundant
    assert "four/crank0 locked" in m.redundant["four/crank1 locked"]
    assert not one.unique
    assert not other.unique
    world.release("four/crank1")
    assert one.unique


# --- singular postures ----------------------------------------------------------------------------


def parallelogram(angle: float) -> br.World:
    world = br.World((0, -9.81, 0))
    world.add(br.figures.fourbar(1), "four")
    world.q = world.model.configuration({"four/crank0": angle, "four/coupler1": -angle, "four/crank1": angle})
    return world


def test_near_singular_postures_are_reported():
    assert not parallelogram(1.0).mobility().near_singular
    sigmas = []
    for angle in (4e-3, 2e-3):
        m = parallelogram(angle).mobility()
        assert m.dof == 1
        (near,) = m.near_singular
        sigmas.append(near.sigma)
        assert "near singular: σ" in str(m)
    assert np.isclose(sigmas[0] / sigmas[1], 2.0, rtol=1e-3)  # proportional to the remaining angle
    # In line, the hardly constrained direction is free: it is the second degree of freedom.
    world = parallelogram(0.0)
    m = world.mobility()
    assert (m.dof, m.near_singular) == (2, ())
    near = parallelogram(1e-4).mobility().near_singular[0].direction
    J = world.coordinates().J
    assert largest(J @ as_vector(world, near)) < 1e-3 * largest(J)


# --- choice of coordinates ------------------------------------------------------------------------


def wander(seed: int, steps: int = 100) -> Iterator[tuple[br.World, NamedCoordinates, tuple[str, ...]]]:
    """Move a gymnast in small steps: the world, its coordinates, and the choice made without a previous one."""
    world = high_bar(seed=seed)
    world.v = np.zeros(world.model.nv)
    rng, drift = np.random.default_rng(seed), np.zeros(world.model.nv)
    for _ in range(steps):
        W = world.coordinates().W
        drift = 0.95 * drift + 0.3 * rng.normal(size=world.model.nv)
        v = W @ np.linalg.lstsq(W, drift, rcond=None)[0]
        world.q = world.integrate(0.03 * v / largest(v), 1.0)
        world.constraint_set.project_state()
        c = world.coordinates()
        yield world, c, tuple(world.model.coordinates[i] for i in choose_coordinates(c.J, np.diag(c.A)).generalized)


def changes(names: list[tuple[str, ...]]) -> int:
    return sum(a != b for a, b in pairwise(names))


@pytest.mark.parametrize("seed", range(3))
def test_the_choice_is_kept_while_well_conditioned(seed):
    kept, anew = [], []
    for _, c, fresh in wander(seed):
        kept.append(c.generalized)
        anew.append(fresh)
        measured = c.chosen.measure[c.chosen.dependent, None] * c.H / c.chosen.measure[c.chosen.generalized]
        assert largest(measured) <= 5.0
        assert largest(c.J @ c.W) < 1e-10
    assert changes(kept) < changes(anew)


def test_another_structure_gets_another_choice():
    world, fresh = next((world, fresh) for world, c, fresh in wander(2) if c.generalized != fresh)
    kept = world.mobility().generalized
    assert kept != fresh
    assert world.copy().mobility().generalized == fresh  # a copy has no previous choice
    world.cut("man/right_grip")  # nor has a new connection, though it is the same joint
    world.connect("man/right_grip", "bar/rod", br.Revolute("y"))
    assert world.mobility().generalized == fresh
    world.lock("man/left_knee")
    assert "man/left_knee" in world.mobility().dependent


# --- forces in either frame -----------------------------------------------------------------------


def test_wrenches_are_given_in_either_frame():
    world = high_bar(seed=5)
    world.torque = {"man/left_elbow": 7.0}
    constraint = world.connections["man/left_grip"]
    wrench = constraint.wrench
    for frame, name in (("link", "man/left_hand"), ("to", "bar/rod"), ("man/chest", "man/chest"), ("world", None), ("man/left_grip", None)):
        seen = constraint.wrench_in(frame)
        pose = world.pose(name or frame) if frame != "world" else br.kinematics.Pose(np.eye(3), np.zeros(3))
        R, p = pose
        assert np.allclose(R @ seen.force, wrench.force, atol=1e-9)
        assert np.allclose(R @ seen.moment, wrench.moment, atol=1e-9)
        assert np.allclose(p + R @ seen.at, wrench.at, atol=1e-12)
    assert np.allclose(constraint.wrench_in("man/left_grip").at, 0, atol=1e-12)  # the joint was made in the grip
    assert abs(constraint.wrench_in("to").moment[1]) < 1e-9  # a hinge about y has no moment about y
    with pytest.raises(UnknownName, match="'man/palm' is not a link or site"):
        constraint.wrench_in("man/palm")
    world.cut(constraint)
    with pytest.raises(ArgumentError, match="it was cut"):
        constraint.wrench_in("link")
    with pytest.raises(ArgumentError, match="it was cut"):
        _ = constraint.unique


# --- interface ------------------------------------------------------------------------------------


def test_queries_change_nothing():
    world = high_bar(seed=4)
    world.torque = {"man/left_elbow": 7.0}
    before = world.save()
    world.mobility()
    world.coordinates()
    _ = world.connections["man/left_grip"].unique
    str(world)
    after = world.save()
    for name in ("time", "version"):
        assert getattr(before, name) == getattr(after, name)
    for name in ("q", "v", "torque"):
        assert (getattr(before, name) == getattr(after, name)).all()


def test_reports_can_be_pickled():
    world = high_bar()
    m = pickle.loads(pickle.dumps(world.mobility()))
    assert m.dof == 12
    assert str(m) == str(world.mobility())
    assert pickle.loads(pickle.dumps(world.coordinates())).generalized == m.generalized


def test_empty_and_immobile_worlds():
    world = br.World()
    assert (world.mobility().dof, world.coordinates().W.shape) == (0, (0, 0))
    world.add(br.figures.box(), "crate")
    world.connect(next(iter(world.links)), "world")
    m, c = world.mobility(), world.coordinates()
    assert (m.dof, m.generalized, m.passive, m.actuation_rank) == (0, (), (), 0)
    assert (c.W.shape, c.H.shape, c.S.shape, c.inertia().shape) == ((6, 0), (6, 0), (0, 0), (0, 0))
    assert str(m).startswith("0 degrees of freedom of 6 joint variables, 6 constraint rows")


def test_bad_actuated_names_and_massless_joints_raise():
    world = high_bar()
    for ask in (world.mobility, world.coordinates):
        with pytest.raises(UnknownName, match="'men/\\*' is not a joint or coordinate"):
            ask("men/*")
        with pytest.raises(ArgumentError, match="nothing that 'man/root\\*' matches has a motor"):
            ask("man/root*")
        with pytest.raises(ArgumentError, match="actuated: expected names of joints or coordinates, such as 'man/\\*', got 3"):
            ask([3])
    builder = br.ModelBuilder("empty")
    builder.link("needle", joint=br.Revolute("x"), joint_name="spin", mass=1.0, center=(1, 0, 0))
    world = br.World()
    world.add(builder.build())
    with pytest.raises(StateError, match="'empty/spin' moves no mass"):
        world.mobility()
