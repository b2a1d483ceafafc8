"""Ground contacts that explain a motion as a whole: simulated motions, and motions that thresholds of height and speed get wrong."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact_estimation.jumps import END, TAKE_OFF, jump

import brachiate as br
from brachiate.contact_estimation.contact_costs import frame_weights, kinematic_cost
from brachiate.contact_estimation.cost_constants import END_SWITCH, SUPPORT_SWITCH
from brachiate.contact_estimation.foot_modes import foot_modes
from brachiate.contact_estimation.infer_contacts import infer_contacts
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.figures.poses import both_sides
from brachiate.motion.motion import Motion
from brachiate.motion.spline import MotionSpline
from brachiate.motion.terrain import Terrain

RATE = 100.0


def dynamics_of(motion: Motion, terrain: Terrain | None = None, cutoff: float | None = 10.0) -> MotionDynamics:
    states = MotionSpline(motion.figure, motion.times, motion.q, cutoff).at(motion.times)
    return MotionDynamics(motion.figure, states, terrain or Terrain())


def standing(seconds: float = 2.0, z=0.0) -> Motion:
    """Standing human28, lifted by z (f,) [m]."""
    figure = br.figures.human28()
    times = np.arange(round(seconds * RATE) + 1) / RATE
    q = np.repeat(figure.neutral[None], len(times), axis=0)
    q[:, 2] += z
    return Motion(figure, times, q, captured=True)


def foot_intervals(labels: br.ContactLabels, side: str) -> list[br.ContactInterval]:
    return [label for label in labels.contacts if label.part.startswith(side) and label.part.endswith(("heel", "toe"))]


def test_modes_of_two_feet_and_their_switching_costs():
    modes = foot_modes(dynamics_of(standing()))
    assert {foot.name for foot in modes.feet} == {"left foot", "right foot"}
    assert modes.contact.shape == (16, 4)
    none, flat = (int(np.flatnonzero((modes.contact == on).all(axis=1))[0]) for on in (False, True))
    assert modes.switch[none, flat] == modes.switch[flat, none] == 2 * SUPPORT_SWITCH + 4 * END_SWITCH
    assert np.array_equal(modes.switch, modes.switch.T)
    assert not modes.switch.diagonal().any()


def test_cost_of_a_part_grows_with_height_and_speed_and_not_with_the_frame_rate():
    zero = np.zeros(1)
    at_rest = kinematic_cost(zero, zero, zero, 0.01)
    assert at_rest < 0.0
    for more in (np.array([0.02]), zero, zero), (zero, np.array([0.5]), zero), (zero, zero, np.array([-0.5])):
        assert kinematic_cost(*more, 0.01) > at_rest
    assert kinematic_cost(np.array([-0.02]), zero, zero, 0.01) == at_rest  # the floor is uncertain
    for rate in (30.0, 120.0, 1000.0):
        assert frame_weights(np.arange(round(rate) + 1) / rate)[1:-1].sum() == pytest.approx(50.0, rel=0.08)


def test_standing_feet_are_flat_throughout_in_spite_of_noise():
    # Fails if heels and toes that tremble at the threshold come and go.
    motion = standing(3.0)
    rng, q = np.random.default_rng(1), motion.q.copy()
    wander = np.cumsum(rng.normal(size=(len(q), 2)), axis=0)
    q[:, 2] += 0.004 * rng.normal(size=len(q))
    for k, side in enumerate(("left", "right")):
        ankle = motion.figure.joints[f"{side}_ankle"].q.start
        q[:, ankle] += 0.06 * np.sin(np.arange(len(q)) / 25.0 + k) + 0.002 * wander[:, k]
    labels, _ = infer_contacts(dynamics_of(Motion(motion.figure, motion.times, q, captured=True)))
    for side in ("left", "right"):
        found = foot_intervals(labels, side)
        assert {label.part for label in found} == {f"{side}_heel", f"{side}_toe"}
        assert all((label.start, label.end) == (0.0, 3.0) for label in found)


def test_there_is_no_flight_in_which_nothing_falls():
    # The capture drifts up by 6 cm within a second: higher than any threshold of height, but the body stands on something.
    rise = np.interp(np.arange(301) / RATE, (1.0, 2.0), (0.0, 0.06))
    labels, _ = infer_contacts(dynamics_of(standing(3.0, rise)))
    times, feet = np.arange(301) / RATE, np.zeros(301, bool)
    for label in (*foot_intervals(labels, "left"), *foot_intervals(labels, "right")):
        feet |= (times >= label.start) & (times <= label.end)
    assert feet.all()
    assert all(label.kind == "support" and label.height is None for label in labels.contacts)


def test_flight_of_a_simulated_jump():
    motion = jump()
    labels, _ = infer_contacts(dynamics_of(motion, cutoff=None))
    ends = [label.end for side in ("left", "right") for label in foot_intervals(labels, side) if label.start < TAKE_OFF]
    assert max(ends) == pytest.approx(TAKE_OFF, abs=0.03)
    assert not any(label.start > TAKE_OFF + 0.05 and label.start < END - 0.05 for label in labels.contacts)


@pytest.mark.parametrize("offset", [-0.3, 0.05, 0.8])
def test_floor_is_found_where_feet_carry(offset):
    motion = standing(1.0, offset)
    labels, assumptions = infer_contacts(dynamics_of(motion))
    assert labels.terrain.height == pytest.approx(offset, abs=2e-3)
    assert any(a.quantity == "floor" and f"{offset:+.3f}"[:4] in a.value for a in assumptions)


def test_contacts_that_are_as_likely_as_not_are_told():
    # One foot is lifted slowly, and kept level; the other one carries the body. In between nothing tells contact from no contact.
    motion = standing(5.0)
    figure, times = motion.figure, motion.times
    bends = np.linspace(0.0, 40.0, 41)  # [deg] of the hip: the foot rises by 1 - cos of it, times the length of the leg
    poses = []
    for bend in bends:
        pose = both_sides(hip={"forward": bend}, knee=2.0 * bend, ankle={"forward": bend})
        poses.append(figure.configuration({name: angle for name, angle in pose.items() if name.startswith("left")}))
    bend = np.interp(times, (0.5, 1.0, 4.0, 4.5), (0.0, 19.0, 26.0, 40.0))
    q = np.stack([np.interp(bend, bends, column) for column in np.array(poses).T], axis=1)
    q[:, :7] = motion.q[:, :7]
    labels, assumptions = infer_contacts(dynamics_of(Motion(figure, times, q, captured=True)))
    told = next(a.value for a in assumptions if a.quantity == "uncertain contacts")
    start, end = (float(x) for x in told.removeprefix("left foot ").removesuffix(" s").split("-"))
    left = max(label.end for label in foot_intervals(labels, "left"))
    assert 0.5 < start < left < end < 4.5
    assert foot_intervals(labels, "right")
    assert not any(a.quantity == "uncertain contacts" for a in infer_contacts(dynamics_of(motion))[1])
