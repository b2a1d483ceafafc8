"""Published filter: conservation laws, standing, collisions, falls, the arm of the paper, invalid arguments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.filter.paper.bodies import flying, standing

import brachiate as br
from brachiate import manifold
from brachiate.errors import ArgumentError, StateError, UnknownName
from brachiate.filter.paper import PaperFilter, PaperSettings
from brachiate.filter.paper.arm import arm_example, draw_arm

# --- laws ---------------------------------------------------------------------------------------


def momenta(step: float, seconds: float = 0.4) -> tuple[float, float]:
    """Errors of momentum [N·s] and angular momentum [N·m·s] in flight, while all joints oscillate."""
    world = flying()
    paper_filter = PaperFilter(world, "man", PaperSettings(step=step))
    q, n = world.q.copy(), world.model.nv
    wave = np.random.default_rng(2).uniform(-0.5, 0.5, n)
    wave[:6] = 0.0
    before = world.totals("man")
    for k in range(round(seconds / step)):
        t, w = k * step, 8.0
        goal = manifold.integrate(world.data, q, wave * np.sin(w * t), 1.0)
        paper_filter.step(goal, w * wave * np.cos(w * t), -w * w * wave * np.sin(w * t))
    after = world.totals("man")
    assert np.abs(after.center - before.center).max() > 0.05
    fall = before.mass * world.gravity * seconds
    linear = np.abs(after.momentum - before.momentum - fall).max()
    return float(linear), float(np.abs(after.angular_momentum - before.angular_momentum).max())


def test_momentum_is_conserved_in_flight() -> None:
    """To first order in the step, as the integrator: a quarter of the step, a quarter of the error."""
    coarse, fine = momenta(0.002), momenta(0.0005)
    assert coarse[0] < 0.3  # of 70 kg at 2 m/s
    assert coarse[1] < 0.2
    for large, small in zip(coarse, fine, strict=True):
        assert small < 0.3 * large


def test_a_feasible_motion_is_unchanged() -> None:
    """Motion of an arm under known torques, by the same integrator, passes the filter unchanged."""
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
    paper_filter = PaperFilter(world, "arm", PaperSettings(sr_damping=1e-10))
    for k, (q, v, a) in enumerate(frames):
        assert np.abs(world.q - q).max() < 1e-7
        step = paper_filter.step(q, v, a)
        assert step.torque == pytest.approx((0.0, 2.0 * np.sin(0.01 * k)), abs=1e-6)


def test_the_energy_of_an_arm_changes_by_the_work_of_its_motors() -> None:
    """To first order in the step."""
    world = br.World()
    world.add(br.figures.arm2(), "arm")
    paper_filter = PaperFilter(world, "arm", PaperSettings(weights={"shoulder": 0.0}))
    before, work = world.totals().energy, 0.0
    for k in range(500):
        t = 0.002 * k
        v = world.v.copy()
        step = paper_filter.step((0.0, 0.5 - 0.5 * np.cos(4 * t)), (0.0, 2.0 * np.sin(4 * t)), (0.0, 8.0 * np.cos(4 * t)))
        work += 0.002 * float(step.torque @ (0.5 * (v + step.v)))
    gained = world.totals().energy - before
    assert abs(gained) > 0.2
    assert gained == pytest.approx(work, rel=0.03)


# --- contact ------------------------------------------------------------------------------------


@pytest.mark.parametrize("edges", [False, True])
def test_a_standing_figure_stays(edges: bool) -> None:
    world = standing()
    paper_filter = PaperFilter(world, "man", PaperSettings(tilt_about_edges=edges))
    q, zero = world.q.copy(), np.zeros(world.model.nv)
    feet = [world.position(f"man/{side}_sole") for side in ("left", "right")]
    for _ in range(1000):
        step = paper_filter.step(q, zero, zero)
        assert step.residual <= 1e-9
        assert step.solves == 1
        assert set(step.states.values()) == {"C0"}
        assert not step.sinks
    assert np.abs(manifold.difference(world.data, q, world.q.copy())).max() < 1e-3
    assert sum(c.force[2] for c in step.contacts) == pytest.approx(70 * 9.81, rel=1e-3)
    for side, place in zip(("left", "right"), feet, strict=True):
        assert np.abs(world.position(f"man/{side}_sole") - place).max() < 1e-5


@pytest.mark.parametrize("push", [(40.0, 0.0, 0.0), (-40.0, 0.0, 0.0), (0.0, 40.0, 0.0)])
def test_a_figure_recovers_from_a_small_push(push: tuple[float, float, float]) -> None:
    """A known force for a tenth of a second, and a sudden change of velocity."""
    world = standing()
    paper_filter = PaperFilter(world, "man")
    q, zero = world.q.copy(), np.zeros(world.model.nv)
    hand = world.apply_force("man/chest", force=push)
    for k in range(1000):
        if k == 50:
            world.remove(hand)
            world.v[world.model.joints["man/chest"].v] += 0.3
        paper_filter.step(q, zero, zero)
    assert np.abs(manifold.difference(world.data, q, world.q.copy())).max() < 0.02


def test_a_dropped_figure_lands_and_stands() -> None:
    """From two centimeters: the collision stops the feet at once and adds no energy."""
    world = standing()
    q, zero = world.q.copy(), np.zeros(world.model.nv)
    world.q[2] += 0.02
    paper_filter = PaperFilter(world, "man")
    hits = 0
    for _ in range(500):
        before = world.totals().energy
        step = paper_filter.step(q, zero, zero)
        assert step.residual <= 1e-9
        if step.hits:
            hits += 1
            assert world.totals().energy < before + 2.0
            assert np.abs(world.velocity("man/left_sole")[:3]).max() < 0.1
    assert 1 <= hits < 10
    assert abs(world.q[2] - q[2]) < 0.005


def test_arrays_grow_with_the_number_of_contacts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays that start with a single contact give the same result as large ones."""
    done = []
    for pairs in (1, 8):
        monkeypatch.setattr("brachiate.filter.paper.filter.INITIAL_PAIRS", pairs)
        world = standing()
        zero = np.zeros(world.model.nv)
        done.append(PaperFilter(world, "man").step(world.q.copy(), zero, zero))
    assert np.array_equal(done[0].a, done[1].a)
    assert len(done[0].contacts) == 2


def test_a_falling_figure_has_many_contacts() -> None:
    """Equations hold in every step, and normal forces push. Contacts may sink: this is reported, not corrected."""
    world = standing()
    world.figure("man").place((0, 0, 0.25), (np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0))
    paper_filter = PaperFilter(world, "man")
    q, zero = world.q.copy(), np.zeros(world.model.nv)
    q[2] -= 0.2
    largest = 0
    for _ in range(150):
        step = paper_filter.step(q, zero, zero)
        assert step.residual <= 1e-9
        largest = max(largest, len(step.contacts))
        assert all(contact.wrench[2] >= -1e-6 for contact in step.contacts)
    assert largest > 3


def test_contacts_by_name() -> None:
    world = standing()
    paper_filter = PaperFilter(world, "man", PaperSettings(friction=0.3))
    zero = np.zeros(world.model.nv)
    step = paper_filter.step(world.q.copy(), zero, zero)
    assert step.states == {"man/right_foot on ground/ground": "C0", "man/left_foot on ground/ground": "C0"}
    left = step.contacts[1]
    assert left.link == "man/left_foot"
    assert left.area.shape == (4, 3)
    assert np.allclose(left.area[:, 2], 0, atol=1e-9)
    assert np.allclose(paper_filter.problem.friction[:2], 0.3)
    assert step.time == world.time == 0.002
    assert paper_filter.unactuated == ("root.x", "root.y", "root.z", "root.rx", "root.ry", "root.rz")


# --- arm ----------------------------------------------------------------------------------------


def test_the_arm_of_the_paper(tmp_path: Path) -> None:
    """The elbow tracks within 0.002 rad; the shoulder, which has no motor, does not."""
    done = arm_example(2.0)
    off = np.abs(done.output - done.reference).max(axis=0)
    assert off[1] < 2e-3
    assert off[0] > 0.2
    assert (done.torque[:, 0] == 0).all()
    assert np.abs(done.torque[:, 1]).max() > 0.5
    for path in draw_arm(done, tmp_path):
        assert path.stat().st_size > 5000


def test_weights_choose_the_joint_that_is_tracked() -> None:
    """With a weight on the shoulder, the elbow is tracked less closely."""
    free, kept = arm_example(1.0), arm_example(1.0, PaperSettings())
    assert np.abs(kept.output - kept.reference)[:, 1].max() > 10 * np.abs(free.output - free.reference)[:, 1].max()


def test_unactuated_joints_by_name() -> None:
    """With motors at both joints the reference is feasible."""
    done = arm_example(1.0, PaperSettings(unactuated=(), sr_damping=1e-9))
    assert np.abs(done.output - done.reference).max() < 2e-3
    assert np.abs(done.torque[:, 0]).max() > 1.0


# --- invalid arguments --------------------------------------------------------------------------


def test_a_reference_that_is_not_finite_is_named() -> None:
    world = flying()
    paper_filter = PaperFilter(world, "man")
    q, zero = world.q.copy(), np.zeros(world.model.nv)
    paper_filter.step(q, zero, zero)
    bad, before = q.copy(), world.q.copy()
    bad[world.model.joints["man/left_knee"].q] = np.nan
    with pytest.raises(StateError, match=r"Reference of step 1: q\[\d+\] is nan \(joint 'man/left_knee'\)"):
        paper_filter.step(bad, zero, zero)
    wild = zero.copy()
    wild[3] = np.inf
    with pytest.raises(StateError, match=r"Reference of step 1: a\[3\] is inf \(coordinate 'man/root.rx'\)"):
        paper_filter.step(q, zero, wild)
    bad[3:7] = 0.0
    with pytest.raises(StateError, match="Reference of step 1"):
        paper_filter.step(np.where(np.isnan(bad), 0.0, bad), zero, zero)
    assert np.array_equal(world.q, before)


def test_a_reference_of_the_wrong_size_is_refused() -> None:
    paper_filter = PaperFilter(flying(), "man")
    with pytest.raises(ArgumentError, match="v: expected 34 numbers"):
        paper_filter.step(paper_filter.world.q.copy(), np.zeros(35), np.zeros(34))


def test_a_step_that_fails_changes_nothing() -> None:
    world = standing()
    world.q[2] += 0.001
    paper_filter = PaperFilter(world, "man")
    q, zero = world.q.copy(), np.zeros(world.model.nv)
    world.v[2], world.v[20] = -1.0, 1e160
    v = world.v.copy()
    with pytest.raises(StateError, match="not finite"):
        paper_filter.step(q, zero, zero)
    assert np.array_equal(world.q, q)
    assert np.array_equal(world.v, v)
    assert world.time == 0


def test_a_floating_base_is_unactuated_whatever_its_effort() -> None:
    b = br.ModelBuilder("puck")
    b.link("puck", joint=br.Free(effort=100.0), joint_name="root", mass=1.0, inertia=(0.1, 0.1, 0.1))
    world = br.World()
    world.add(b.build(), "puck")
    paper_filter = PaperFilter(world, "puck")
    assert len(paper_filter.unactuated) == 6
    step = paper_filter.step(world.q.copy(), np.zeros(6), np.zeros(6))
    assert step.a == pytest.approx((0, 0, -9.81, 0, 0, 0), abs=1e-9)


def test_unknown_names_are_refused() -> None:
    world = flying()
    with pytest.raises(UnknownName, match=r"'chst' is not a link or site of figure 'man'\. Did you mean 'chest'"):
        PaperFilter(world, "man", PaperSettings(point="chst"))
    with pytest.raises(UnknownName, match=r"'left_kne' is not a joint or coordinate of figure 'man' \(unactuated\)"):
        PaperFilter(world, "man", PaperSettings(unactuated=("left_kne",)))
    with pytest.raises(UnknownName, match=r"\(weights\)"):
        PaperFilter(world, "man", PaperSettings(weights={"tail": 1.0}))
    with pytest.raises(UnknownName, match="is not a figure"):
        PaperFilter(world, "woman")
    with pytest.raises(ArgumentError, match="several names"):
        PaperFilter(world, "man", PaperSettings(unactuated="root"))  # type: ignore[arg-type]


def test_invalid_settings_are_refused() -> None:
    for wrong in (
        {"step": 0.0},
        {"sr_damping": 0.0},
        {"stiffness": -1.0},
        {"friction": np.nan},
        {"costs": (1.0, 0.0, 1.0)},
        {"point_offset": (1.0,)},
    ):
        with pytest.raises(ArgumentError):
            PaperSettings(**wrong)  # type: ignore[arg-type]
    with pytest.warns(DeprecationWarning, match="argument 'give' of PaperSettings is deprecated.*'contact_compliance'"):
        assert PaperSettings(give=1e-7).contact_compliance == 1e-7
    with pytest.raises(ArgumentError, match="weights of 'root' must be at least 0"):
        PaperSettings(weights={"root": -1.0})


def test_unsuitable_worlds_are_refused() -> None:
    world = flying()
    paper_filter = PaperFilter(world, "man")
    q, zero = world.q.copy(), np.zeros(world.model.nv)
    world.add(br.figures.box(), at=(3, 0, 0))
    with pytest.raises(ArgumentError, match="moves as well"):
        PaperFilter(world, "man")
    with pytest.raises(ArgumentError, match="Make a new filter"):
        paper_filter.step(q, zero, zero)
    bound = flying()
    bound.connect("man/left_hand", "world")
    with pytest.raises(ArgumentError, match="there are connections"):
        PaperFilter(bound, "man")
    with pytest.raises(ArgumentError, match="expects a world"):
        PaperFilter("world", "man")  # type: ignore[arg-type]
