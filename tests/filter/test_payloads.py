"""Loads: what they add to a figure, and that the ground carries them."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.errors import ArgumentError, UnknownName
from brachiate.filter.offline import filter_motion
from brachiate.filter.reference.payloads import load_of
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.results.equations_of_motion import equations
from brachiate.motion.motion import motion_of

G = 9.81


@pytest.fixture(scope="module")
def stand():
    """Somebody who hardly moves."""
    return clean(motion_of(procedural.make("squat", seconds=1.2, depth=0.02)))


@pytest.fixture(scope="module")
def carried(stand):
    return {mass: filter_motion(stand, load={"right_hand": mass} if mass else None, progress=False) for mass in (0.0, 5.0)}


def test_the_ground_carries_the_load(carried):
    up = {mass: sum(values[1:, 2] for values in done.motion.forces.values()).mean() for mass, done in carried.items()}
    # The centre of mass hardly rises: what is left of its momentum is small beside 49 N
    assert up[5.0] - up[0.0] == pytest.approx(5.0 * G, rel=0.02)
    assert carried[5.0].finished


def test_the_load_is_on_the_right(carried):
    def to_the_right(done):
        cop = [np.average(f[1:, 4], weights=f[1:, 2]) * f[1:, 2].sum() for f in done.motion.forces.values()]
        return -sum(cop) / sum(f[1:, 2].sum() for f in done.motion.forces.values())

    assert to_the_right(carried[5.0]) > to_the_right(carried[0.0]) + 0.005


def test_nobody_else_brings_anything(carried):
    assert max(equations(carried[5.0]).nobody_brings()) < 1e-9 * G * 75.0


def test_the_result_knows_its_load_and_the_original_does_not(stand, carried):
    done = carried[5.0]
    assert done.motion.figure.mass == pytest.approx(stand.figure.mass + 5.0)
    assert done.check().summary["residual_peak_N"] < 0.01  # measured: 0.001; without its load, 49
    assert done.source.figure is stand.figure


def test_a_loaded_figure_is_the_same_otherwise():
    model = br.figures.human28()
    heavy = br.figures.loaded(model, {"right_hand": 5.0, "left_foot": 1})
    assert heavy.mass == pytest.approx(model.mass + 6.0)
    assert (heavy.effort == model.effort).all()
    assert heavy.coordinates == model.coordinates
    assert heavy.poses.keys() == model.poses.keys()
    hand, same = heavy.links["right_hand"], model.links["right_hand"]
    assert hand.mass == same.mass + 5.0
    assert (hand.center == same.center).all()
    assert (hand.inertia == same.inertia).all()
    assert hand.shapes is same.shapes


def test_its_weight_acts_where_it_is():
    # The torque that holds an arm straight out grows by weight times lever
    def shoulder(model):
        world = br.World()
        man = world.add(model, name="man")
        man.pose("t-pose")
        lever = world.position("man/right_hand", at=model.links["right_hand"].center)[1] - world.position("man/right_upper_arm")[1]
        return np.abs(world.inverse_dynamics(np.zeros(world.model.nv))["man/right_shoulder"]).max(), abs(lever)

    model = br.figures.human28()
    (bare, lever), (heavy, _) = shoulder(model), shoulder(br.figures.loaded(model, {"right_hand": 5.0}))
    assert heavy - bare == pytest.approx(5.0 * G * lever, rel=1e-3)


def test_by_words():
    assert load_of(["right_hand:5", " spine2 : 2.5 ", "right_hand:1"]) == {"right_hand": 6.0, "spine2": 2.5}
    for text in ("right_hand", "right_hand:", "right_hand:much"):
        with pytest.raises(ArgumentError, match=r"is no load. Write link:mass"):
            load_of([text])


@pytest.mark.parametrize("mass", [np.nan, -1.0, np.inf, 1e9, "5", None])
def test_masses_that_are_none(mass):
    with pytest.raises(ArgumentError, match=r"load of 'right_hand'"):
        br.figures.loaded(br.figures.human28(), {"right_hand": mass})


def test_links_that_are_none():
    with pytest.raises(UnknownName, match=r"Did you mean 'right_hand'"):
        br.figures.loaded(br.figures.human28(), {"right_hnd": 5.0})
    with pytest.raises(ArgumentError, match=r"masses by link"):
        br.figures.loaded(br.figures.human28(), "right_hand:5")
