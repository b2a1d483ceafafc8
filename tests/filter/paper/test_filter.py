"""The paper's filter: flight, standing, falling, an arm, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.filter.paper.bodies import flying, standing

import brachiate as br
from brachiate import manifold
from brachiate.errors import ArgumentError, StateError, UnknownName
from brachiate.filter.paper import PaperFilter, Settings
from brachiate.filter.paper.arm import arm_example, draw_arm

# --- laws ---------------------------------------------------------------------------------------


def momenta(step: float, seconds: float = 0.4) -> tuple[float, float]:
    """How far momentum [N·s] and angular momentum [N·m·s] are from being kept in flight, while all joints wave about."""
    world = flying()
    one = PaperFilter(world, "man", Settings(step=step))
    q, n = world.q.copy(), world.model.nv
    wave = np.random.default_rng(2).uniform(-0.5, 0.5, n)
    wave[:6] = 0.0
    before = world.totals("man")
    for k in range(round(seconds / step)):
        t, w = k * step, 8.0
        goal = manifold.integrated(world.data, q, wave * np.sin(w * t), 1.0)
        one.step(goal, w * wave * np.cos(w * t), -w * w * wave * np.sin(w * t))
    after = world.totals("man")
    assert np.abs(after.center - before.center).max() > 0.05
    fall = before.mass * world.gravity * seconds
    linear = np.abs(after.momentum - before.momentum - fall).max()
    return float(linear), float(np.abs(after.angular_momentum - before.angular_momentum).max())


def test_momentum_is_kept_in_flight() -> None:
    """To first order in the step, as the integrator does it: a quarter of the step, a quarter of the error."""
    coarse, fine = momenta(0.002), momenta(0.0005)
    assert coarse[0] < 0.3  # of 70 kg at 2 m/s
    assert coarse[1] < 0.2
    for large, small in zip(coarse, fine, strict=True):
        assert small < 0.3 * large


def test_a_possible_motion_is_left_as_it_is() -> None:
    """An arm's motion under known torques, by the same integrator, goes through the filter unchanged."""
    dt, n = 0.002, 500
    world = br.World()
    world.add(br.figures.arm2(), "arm")
    q, v = np.array((0.4, 0.3)), np.zeros(2)
    frames = []
    for k in range(n):
        world.q, world.v = q, v
        a = np.array(world.forward_dynamics({"arm/elbow": 2.0 * np.sin(0.01 * k)}))
        frames.append((q, v, a))
        v = v + dt * a
        q = q + dt * v
    world.q, world.v = frames[0][:2]
    one = PaperFilter(world, "arm", Settings(robust=1e-10))
    for k, (q, v, a) in enumerate(frames):
        assert np.abs(world.q - q).max() < 1e-7
        step = one.step(q, v, a)
        assert step.torque == pytest.approx((0.0, 2.0 * np.sin(0.01 * k)), abs=1e-6)


def test_work_of_motors_is_all_the_energy_an_arm_gets() -> None:
    """To first order in the step."""
    world = br.World()
    world.add(br.figures.arm2(), "arm")
    one = PaperFilter(world, "arm", Settings(weights={"shoulder": 0.0}))
    before, work = world.totals().energy, 0.0
    for k in range(500):
        t = 0.002 * k
        v = world.v.copy()
        step = one.step((0.0, 0.5 - 0.5 * np.cos(4 * t)), (0.0, 2.0 * np.sin(4 * t)), (0.0, 8.0 * np.cos(4 * t)))
        work += 0.002 * float(step.torque @ (0.5 * (v + step.v)))
    gained = world.totals().energy - before
    assert abs(gained) > 0.2
    assert gained == pytest.approx(work, rel=0.03)


# --- people -------------------------------------------------------------------------------------


@pytest.mark.parametrize("edges", [False, True])
def test_who_stands_stays(edges: bool) -> None:
    world = standing()
    one = PaperFilter(world, "man", Settings(edges=edges))
    q, still = world.q.copy(), np.zeros(world.model.nv)
    feet = [world.position(f"man/{side}_sole") for side in ("left", "right")]
    for _ in range(1000):
        step = one.step(q, still, still)
        assert step.residual <= 1e-9
        assert step.solves == 1
        assert set(step.states.values()) == {"C0"}
        assert not step.sinks
    assert np.abs(manifold.subtracted(world.data, world.q.copy(), q)).max() < 1e-3
    assert sum(c.force[2] for c in step.contacts) == pytest.approx(70 * 9.81, rel=1e-3)
    for side, place in zip(("left", "right"), feet, strict=True):
        assert np.abs(world.position(f"man/{side}_sole") - place).max() < 1e-5


@pytest.mark.parametrize("push", [(40.0, 0.0, 0.0), (-40.0, 0.0, 0.0), (0.0, 40.0, 0.0)])
def test_who_is_pushed_a_little_stays(push: tuple[float, float, float]) -> None:
    """A known force for a tenth of a second, and a blow that only shows as a velocity."""
    world = standing()
    one = PaperFilter(world, "man")
    q, still = world.q.copy(), np.zeros(world.model.nv)
    hand = world.push("man/chest", force=push)
    for k in range(1000):
        if k == 50:
            world.remove(hand)
            world.v[world.model.joints["man/chest"].v] += 0.3
        one.step(q, still, still)
    assert np.abs(manifold.subtracted(world.data, world.q.copy(), q)).max() < 0.02


def test_who_drops_lands_and_stands() -> None:
    """From two centimetres: the collision takes the speed of the feet at once, never adds energy, and he stays up."""
    world = standing()
    q, still = world.q.copy(), np.zeros(world.model.nv)
    world.q[2] += 0.02
    one = PaperFilter(world, "man")
    hits = 0
    for _ in range(500):
        before = world.totals().energy
        step = one.step(q, still, still)
        assert step.residual <= 1e-9
        if step.hits:
            hits += 1
            assert world.totals().energy < before + 2.0
            assert np.abs(world.velocity("man/left_sole")[:3]).max() < 0.1
    assert 1 <= hits < 10
    assert abs(world.q[2] - q[2]) < 0.005


def test_room_is_made_for_contacts(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that begins with room for a single contact finds the same as one that has it from the start."""
    done = []
    for pairs in (1, 8):
        monkeypatch.setattr("brachiate.filter.paper.filter._PAIRS", pairs)
        world = standing()
        still = np.zeros(world.model.nv)
        done.append(PaperFilter(world, "man").step(world.q.copy(), still, still))
    assert np.array_equal(done[0].a, done[1].a)
    assert len(done[0].contacts) == 2


def test_who_falls_has_contacts_of_all_kinds() -> None:
    """Equations hold all the way, and every force pushes. Something may be left sinking: it is told, and nothing is done about it."""
    world = standing()
    world.figure("man").place((0, 0, 0.25), (np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0))
    one = PaperFilter(world, "man")
    q, still = world.q.copy(), np.zeros(world.model.nv)
    q[2] -= 0.2
    most = 0
    for _ in range(150):
        step = one.step(q, still, still)
        assert step.residual <= 1e-9
        most = max(most, len(step.contacts))
        assert all(contact.wrench[2] >= -1e-6 for contact in step.contacts)
    assert most > 3


def test_contacts_by_name() -> None:
    world = standing()
    one = PaperFilter(world, "man", Settings(friction=0.3))
    still = np.zeros(world.model.nv)
    step = one.step(world.q.copy(), still, still)
    assert step.states == {"man/right_foot on ground/ground": "C0", "man/left_foot on ground/ground": "C0"}
    left = step.contacts[1]
    assert left.link == "man/left_foot"
    assert left.area.shape == (4, 3)
    assert np.allclose(left.area[:, 2], 0, atol=1e-9)
    assert np.allclose(one.problem.friction[:2], 0.3)
    assert step.time == world.time == 0.002
    assert one.without_motor == ("root.x", "root.y", "root.z", "root.rx", "root.ry", "root.rz")


# --- the arm ------------------------------------------------------------------------------------


def test_the_arm_of_the_paper(tmp_path: Path) -> None:
    """Its elbow follows within 0.002 rad; its shoulder, which has no motor, goes elsewhere."""
    done = arm_example(2.0)
    off = np.abs(done.output - done.reference).max(axis=0)
    assert off[1] < 2e-3
    assert off[0] > 0.2
    assert (done.torque[:, 0] == 0).all()
    assert np.abs(done.torque[:, 1]).max() > 0.5
    for path in draw_arm(done, tmp_path):
        assert path.stat().st_size > 5000


def test_weights_choose_who_follows() -> None:
    """With the shoulder's error counted, the elbow gives way to it."""
    free, kept = arm_example(1.0), arm_example(1.0, Settings())
    assert np.abs(kept.output - kept.reference)[:, 1].max() > 10 * np.abs(free.output - free.reference)[:, 1].max()


def test_motors_by_name() -> None:
    """With motors at both joints the reference is possible."""
    done = arm_example(1.0, Settings(without_motor=(), robust=1e-9))
    assert np.abs(done.output - done.reference).max() < 2e-3
    assert np.abs(done.torque[:, 0]).max() > 1.0


# --- doors --------------------------------------------------------------------------------------


def test_a_reference_that_is_not_finite_is_named() -> None:
    world = flying()
    one = PaperFilter(world, "man")
    q, still = world.q.copy(), np.zeros(world.model.nv)
    one.step(q, still, still)
    bad, before = q.copy(), world.q.copy()
    bad[world.model.joints["man/left_knee"].q] = np.nan
    with pytest.raises(StateError, match=r"Reference of step 1: q\[\d+\] is nan \(joint 'man/left_knee'\)"):
        one.step(bad, still, still)
    wild = still.copy()
    wild[3] = np.inf
    with pytest.raises(StateError, match=r"Reference of step 1: a\[3\] is inf \(coordinate 'man/root.rx'\)"):
        one.step(q, still, wild)
    bad[3:7] = 0.0
    with pytest.raises(StateError, match="Reference of step 1"):
        one.step(np.where(np.isnan(bad), 0.0, bad), still, still)
    assert np.array_equal(world.q, before)


def test_a_reference_of_the_wrong_size_is_refused() -> None:
    one = PaperFilter(flying(), "man")
    with pytest.raises(ArgumentError, match="v: expected 34 numbers"):
        one.step(one.world.q.copy(), np.zeros(35), np.zeros(34))


def test_a_step_that_fails_changes_nothing() -> None:
    world = standing()
    world.q[2] += 0.001
    one = PaperFilter(world, "man")
    q, still = world.q.copy(), np.zeros(world.model.nv)
    world.v[2], world.v[20] = -1.0, 1e160
    v = world.v.copy()
    with pytest.raises(StateError, match="not finite"):
        one.step(q, still, still)
    assert np.array_equal(world.q, q)
    assert np.array_equal(world.v, v)
    assert world.time == 0


def test_a_free_root_has_no_motor_whatever_its_effort() -> None:
    b = br.ModelBuilder("puck")
    b.link("puck", joint=br.Free(effort=100.0), joint_name="root", mass=1.0, inertia=(0.1, 0.1, 0.1))
    world = br.World()
    world.add(b.build(), "puck")
    one = PaperFilter(world, "puck")
    assert len(one.without_motor) == 6
    step = one.step(world.q.copy(), np.zeros(6), np.zeros(6))
    assert step.a == pytest.approx((0, 0, -9.81, 0, 0, 0), abs=1e-9)


def test_names_that_nobody_has() -> None:
    world = flying()
    with pytest.raises(UnknownName, match=r"'chst' is not a link or site of figure 'man'\. Did you mean 'chest'"):
        PaperFilter(world, "man", Settings(point="chst"))
    with pytest.raises(UnknownName, match=r"'left_kne' is not a joint or coordinate of figure 'man' \(without_motor\)"):
        PaperFilter(world, "man", Settings(without_motor=("left_kne",)))
    with pytest.raises(UnknownName, match=r"\(weights\)"):
        PaperFilter(world, "man", Settings(weights={"tail": 1.0}))
    with pytest.raises(UnknownName, match="is not a figure"):
        PaperFilter(world, "woman")
    with pytest.raises(ArgumentError, match="several names"):
        PaperFilter(world, "man", Settings(without_motor="root"))  # type: ignore[arg-type]


def test_settings_that_mean_nothing() -> None:
    for wrong in ({"step": 0.0}, {"robust": 0.0}, {"stiffness": -1.0}, {"friction": np.nan}, {"costs": (1.0, 0.0, 1.0)}, {"at": (1.0,)}):
        with pytest.raises(ArgumentError):
            Settings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="weights of 'root' must be at least 0"):
        Settings(weights={"root": -1.0})


def test_worlds_that_it_is_not_made_for() -> None:
    world = flying()
    one = PaperFilter(world, "man")
    q, still = world.q.copy(), np.zeros(world.model.nv)
    world.add(br.figures.box(), at=(3, 0, 0))
    with pytest.raises(ArgumentError, match="moves as well"):
        PaperFilter(world, "man")
    with pytest.raises(ArgumentError, match="Make a new one"):
        one.step(q, still, still)
    bound = flying()
    bound.connect("man/left_hand", "world")
    with pytest.raises(ArgumentError, match="something holds it"):
        PaperFilter(bound, "man")
    with pytest.raises(ArgumentError, match="expects a world"):
        PaperFilter("world", "man")  # type: ignore[arg-type]
