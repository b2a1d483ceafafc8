"""Supports above the ground: only where they explain what the ground cannot, at one level for each foothold, with the weight they carry."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import rotations
from brachiate.contact_estimation.infer_contacts import infer_contacts
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.contact_estimation.raised_footholds import find_raised_footholds, with_known_levels
from brachiate.errors import ArgumentError
from brachiate.figures.poses import both_sides
from brachiate.motion.motion import Motion
from brachiate.motion.spline import MotionSpline
from brachiate.motion.terrain import Terrain

RATE = 60.0
TIMES = np.arange(121) / RATE  # [s]


def leaning(angle: float, **pose: dict) -> Motion:
    """Human28 at rest that leans forward from level feet by an angle [deg]: its CoM may be before them."""
    figure = br.figures.human28()
    q = figure.configuration(both_sides(ankle={"forward": angle}, **pose))
    tilt = rotations.about_axis(1, np.array(np.radians(angle)))
    q[:3], q[3:7] = rotations.rotate(tilt, q[:3]), rotations.product(tilt, q[3:7])
    return Motion(figure, TIMES, np.tile(q, (len(TIMES), 1)), captured=True)


def infer(motion: Motion, supports: str = "auto"):
    states = MotionSpline(motion.figure, motion.times, motion.q, 10.0).at(motion.times)
    return infer_contacts(MotionDynamics(motion.figure, states, Terrain()), supports)


def raised(labels: br.ContactLabels) -> list[br.ContactInterval]:
    return [label for label in labels.contacts if label.kind == "grip" or label.height is not None]


def test_no_hand_or_shank_supports_a_body_that_is_a_little_out_of_balance():
    # Fails if any part that removes the residual, of 0.3 of the weight, is taken: shanks over standing feet, hands in the air.
    labels, _ = infer(leaning(30.0, shoulder={"forward": 80}))
    assert not raised(labels)
    assert labels.of("left_toe")


def test_hands_that_carry_much_are_found_and_their_share_is_told():
    motion = leaning(39.0, shoulder={"forward": 90})
    labels, assumptions = infer(motion)
    assert {label.part for label in raised(labels)} == {"left_hand", "right_hand"}
    (told,) = (a for a in assumptions if a.quantity == "left_hand")
    share = float(told.reason.split("carries ")[1].split("%")[0])
    assert 10.0 < share < 60.0
    assert not raised(infer(motion, "ground")[0])


def test_feet_on_a_step_are_at_one_level():
    # The right foot steps up by 20 cm and rests there while the body shifts over it; then the left one follows.
    figure = br.figures.human28()
    q = np.tile(figure.neutral, (240, 1))
    s = np.clip((np.arange(240) / RATE - 1.0) / 0.5, 0.0, 1.0)
    s = s * s * (3.0 - 2.0 * s)
    q[:, 0], q[:, 2] = 0.3 * s, q[:, 2] + 0.2 * s + 0.04 * np.sin(np.pi * s)
    labels, _ = infer(Motion(figure, np.arange(240) / RATE, q, captured=True))
    found = raised(labels)
    assert {label.part for label in found} == {f"{side}_{end}" for side in ("left", "right") for end in ("heel", "toe")}
    assert {label.height for label in found} == {found[0].height}
    assert found[0].height == pytest.approx(0.2, abs=0.01)


def test_raised_footholds_are_intervals_at_rest():
    times = np.arange(200) / 100.0
    height = np.interp(times, (0.5, 0.6, 1.2, 1.3), (0.0, 0.3, 0.3, 0.0))
    speed = np.abs(np.gradient(height, times))
    (foothold,) = find_raised_footholds(height[None], speed[None], 1, 0.0, times)
    assert (foothold.foot, foothold.level) == (1, pytest.approx(0.3))
    assert 58 <= foothold.start <= 61
    assert 119 <= foothold.end <= 122
    assert not list(find_raised_footholds(height[None], speed[None], 1, 0.25, times))  # 5 cm above the floor are on it
    sinking = np.stack((height - 0.1 * np.clip((times - 0.7) / 0.4, 0.0, 1.0), height))  # the heel sinks, the front stays in place
    (hanging,) = find_raised_footholds(sinking, np.abs(np.gradient(sinking, times, axis=1)), 1, 0.0, times)
    assert hanging.end == foothold.end
    one, other, far = (foothold._replace(level=level) for level in (0.3, 0.33, 0.5))
    assert [each.known for each in with_known_levels((one, other, far), (True, False, False))] == [True, True, False]


def test_supports_are_named():
    motion = leaning(0.0)
    with pytest.raises(ArgumentError, match="supports"):
        br.check(motion, supports="floor")
    with pytest.warns(DeprecationWarning, match="supports='ground'"):
        br.check(motion, supports=False)
