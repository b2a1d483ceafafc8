"""Payloads: added mass of a figure, and the ground reaction forces that carry it."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.errors import ArgumentError, UnknownName
from brachiate.filter.offline import filter_motion
from brachiate.filter.reference.payloads import parse_payloads
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.results.equations_of_motion import equations_of_motion

G = 9.81


@pytest.fixture(scope="module")
def stand():
    """A nearly static motion."""
    return make_reference(procedural.sample_motion("squat", seconds=1.2, depth=0.02))


@pytest.fixture(scope="module")
def results(stand):
    return {mass: filter_motion(stand, payloads={"right_hand": mass} if mass else None, progress=False) for mass in (0.0, 5.0)}


def test_ground_reaction_force_carries_the_payload(results):
    up = {mass: sum(values[1:, 2] for values in result.motion.forces.values()).mean() for mass, result in results.items()}
    # The CoM hardly rises: the rate of its momentum is small compared with 49 N
    assert up[5.0] - up[0.0] == pytest.approx(5.0 * G, rel=0.02)
    assert results[5.0].success


def test_center_of_pressure_moves_towards_the_payload(results):
    def rightward_cop(result):
        cop = [np.average(f[1:, 4], weights=f[1:, 2]) * f[1:, 2].sum() for f in result.motion.forces.values()]
        return -sum(cop) / sum(f[1:, 2].sum() for f in result.motion.forces.values())

    assert rightward_cop(results[5.0]) > rightward_cop(results[0.0]) + 0.005


def test_root_residual_is_zero(results):
    assert max(equations_of_motion(results[5.0]).root_residual()) < 1e-9 * G * 75.0


def test_result_has_the_payload_and_the_source_has_not(stand, results):
    result = results[5.0]
    assert result.motion.figure.mass == pytest.approx(stand.figure.mass + 5.0)
    assert result.check().summary["root_residual_force_peak_N"] < 0.01  # measured: 0.001; without the payload, 49
    assert result.source.motion.figure is stand.figure


def test_payload_changes_only_the_mass():
    model = br.figures.human28()
    heavy = br.figures.with_payload(model, {"right_hand": 5.0, "left_foot": 1})
    assert heavy.mass == pytest.approx(model.mass + 6.0)
    assert (heavy.effort == model.effort).all()
    assert heavy.coordinates == model.coordinates
    assert heavy.poses.keys() == model.poses.keys()
    hand, same = heavy.links["right_hand"], model.links["right_hand"]
    assert hand.mass == same.mass + 5.0
    assert (hand.center == same.center).all()
    assert (hand.inertia == same.inertia).all()
    assert hand.shapes is same.shapes


def test_payload_acts_at_its_link():
    # The torque of an arm held straight out increases by weight times lever arm
    def shoulder(model):
        world = br.World()
        man = world.add(model, name="man")
        man.set_pose("t-pose")
        lever = world.position("man/right_hand", at=model.links["right_hand"].center)[1] - world.position("man/right_upper_arm")[1]
        return np.abs(world.inverse_dynamics(np.zeros(world.model.nv))["man/right_shoulder"]).max(), abs(lever)

    model = br.figures.human28()
    (bare, lever), (heavy, _) = shoulder(model), shoulder(br.figures.with_payload(model, {"right_hand": 5.0}))
    assert heavy - bare == pytest.approx(5.0 * G * lever, rel=1e-3)


def test_parse_payloads():
    assert parse_payloads(["right_hand:5", " spine2 : 2.5 ", "right_hand:1"]) == {"right_hand": 6.0, "spine2": 2.5}
    for text in ("right_hand", "right_hand:", "right_hand:much"):
        with pytest.raises(ArgumentError, match=r"is not a payload. Write link:mass"):
            parse_payloads([text])


@pytest.mark.parametrize("mass", [np.nan, -1.0, np.inf, 1e9, "5", None])
def test_invalid_masses_are_refused(mass):
    with pytest.raises(ArgumentError, match=r"load of 'right_hand'"):
        br.figures.with_payload(br.figures.human28(), {"right_hand": mass})


def test_unknown_links_are_refused():
    with pytest.raises(UnknownName, match=r"Did you mean 'right_hand'"):
        br.figures.with_payload(br.figures.human28(), {"right_hnd": 5.0})
    with pytest.raises(ArgumentError, match=r"masses by link"):
        br.figures.with_payload(br.figures.human28(), "right_hand:5")
