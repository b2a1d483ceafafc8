"""Functions over recordings and motions: against state by state, differences over time, and bad input."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import animation as an
from brachiate.functions.states import FunctionsOfStates, ModelState, States

FUNCTIONS = {
    "hand": an.position("man/left_hand"),
    "bend": lambda s: s.joint("man/left_elbow") ** 2 + s.time,
    "apart": an.distance("man/left_hand", "man/right_foot"),
    "spin": an.angular_momentum("man"),
    "seen": an.joint("man/left_elbow") - an.signal({0.0: 0.0, 1.0: 1.0}),
}


@pytest.fixture(scope="module")
def run() -> br.Recording:
    world = br.World()
    world.add(br.figures.human16(), "man")
    world.connect("man/left_hand", "world")
    world.v = 0.2 * np.random.default_rng(1).normal(size=world.model.nv) * (world.model.effort > 0)
    return br.Simulation(world, dt=0.005).run(0.3)


def test_values_of_a_recording_are_those_of_its_states(run):
    world = br.World()
    world.add(br.figures.human16(), "man")
    assert world.model.coordinates == run.model.coordinates
    space = an.FunctionSet(world, FUNCTIONS)
    values, rates = run.values(FUNCTIONS), run.values(FUNCTIONS, derivative=1)
    for n in (0, 7, len(run) - 1):
        world.q, world.v, world.time = run.q[n], run.v[n], run.time[n]
        expected, rate = space.value(), space.rate()
        for name, found in values.items():
            at = space.coordinates_of(name)
            assert np.allclose(found[n], expected[at], rtol=1e-13, atol=1e-13)
            if name != "spin":
                assert np.allclose(rates[name][n], rate[at], rtol=1e-12, atol=1e-12)
    assert values["hand"].shape == (len(run), 3)
    assert values["bend"].shape == (len(run),)


def test_rates_are_derivatives_over_time(run):
    values, rates = run.values(FUNCTIONS), run.values(FUNCTIONS, derivative=1)
    h = run.time[1] - run.time[0]
    for name, x in values.items():
        between = (x[:-4] - 8 * x[1:-3] + 8 * x[3:-1] - x[4:]) / (12 * h)
        size = max(1.0, abs(rates[name]).max())
        tolerance = 1e-2 if name == "spin" else 1e-4  # accelerations are differences of second order
        assert np.allclose(between, rates[name][2:-2], atol=tolerance * size), name


def test_functions_that_branch(run):
    def bent(s):
        elbow = s.joint("man/left_elbow")
        return elbow if elbow > 0.1 else 0.1

    found = run.values({"b": an.untraced(bent)})["b"]
    assert np.allclose(found, np.maximum(run["man/left_elbow"], 0.1))


def test_gradients_that_do_not_exist_are_zero_only_where_asked_for(run):
    elbow = run["man/left_elbow"]
    state = ModelState(run.model, run.gravity)
    evaluated = FunctionsOfStates(state, {"kink": abs(an.joint("man/left_elbow") - float(elbow[3])), "knee": an.joint("man/left_knee")})
    states = States(run.time, run.q, run.v, np.zeros_like(run.v))
    with pytest.raises(br.StateError, match=rf"'kink' is not finite or not differentiable at {run.time[3]:.4g} s: abs"):
        evaluated.evaluate(states, 1)
    found = evaluated.evaluate(states, 1, strict=False).gradients
    k = run.model.coordinate_index["man/left_elbow"]
    assert np.array_equal(found[:, 0, k], np.sign(elbow - elbow[3]))
    assert (found[:, 1].sum(axis=1) == 1.0).all()


def test_an_interrupted_recording_has_rates(run):
    # Two states of the same time, as a simulation that is run twice and joined has them.
    twice = [0, 1, 2, 2, 3, 4]
    joined = br.Recording(run.model, run.gravity, *(x[twice] for x in (run.time, run.q, run.v, run.torque)))
    found = joined.values({"p": an.momentum("man")}, derivative=1)["p"]
    assert np.isfinite(found).all()
    assert np.array_equal(found[2], found[3])


def test_values_of_a_motion():
    motion = br.sample_motion("walk")
    functions = {"hand": an.position("left_hand"), "com": an.center_of_mass(), "feet": an.position("left_foot", frame="right_foot")}
    found, rates = motion.values(functions), motion.values(functions, derivative=1)
    world = br.World()
    world.add(motion.figure, "man")
    for n in (0, len(motion) // 2):
        world.q = motion.q[n]
        assert np.allclose(found["hand"][n], world.position("man/left_hand"), atol=1e-9)
        assert np.allclose(found["com"][n], world.totals().center, atol=1e-9)
    t, h = np.array([0.5, 0.7]), 1e-3
    between = (motion.values(functions, times=t + h)["com"] - motion.values(functions, times=t - h)["com"]) / (2 * h)
    assert np.allclose(between, motion.values(functions, times=t, derivative=1)["com"], atol=1e-4)
    assert rates["feet"].shape == (len(motion), 3)
    first = motion.frames(slice(0, 1)).values(functions)
    assert np.allclose(first["com"][0], found["com"][0], atol=1e-9)
    force = motion.values({"f": an.external_force()})["f"]
    assert np.mean(force[:, 2]) == pytest.approx(motion.figure.mass * 9.81, rel=0.1)


def test_center_of_pressure_of_a_jump_is_unknown_in_flight():
    motion = br.sample_motion("jump")
    found = motion.values({"cop": an.center_of_pressure(), "force": an.external_force().z})
    flying = found["force"] < 1e-3 * 9.81 * motion.figure.mass
    assert flying.any()
    assert np.array_equal(np.isnan(found["cop"][:, 0]), flying)


@pytest.mark.parametrize(
    ("functions", "options", "words"),
    [
        ({"bad": an.position("man/no_hand")}, {}, r"Function 'bad\.x': 'man/no_hand' is not a link"),
        ({}, {}, "functions by name"),
        ([an.time()], {}, "functions by name"),
        ({"bad": lambda s: "high"}, {}, "'bad' must return a scalar or a vector"),
        ({"bad": an.sqrt(-1.0 - an.joint("man/left_elbow") ** 2)}, {}, r"'bad' is not finite or not differentiable at 0 s: sqrt"),
        ({"bad": an.center_of_pressure("man")}, {"derivative": 1}, "'bad' depends on accelerations: its rate is not known"),
        ({"good": an.momentum("man")}, {"derivative": 2}, "derivative"),
    ],
)  # fmt: skip
def test_bad_functions_of_recordings(run, functions, options, words):
    with pytest.raises(br.BrachiateError, match=words):
        run.values(functions, **options)


def test_plots_name_functions(run):
    picture = run.plot("energy", {"hand": an.position("man/left_hand"), "bend": an.joint("man/left_elbow")}, an.joint("man/right_elbow"))
    labels = [axis.get_ylabel() for axis in picture.axes]
    assert labels == ["energy [J]", "functions [SI units]", "joint(man/right_elbow)"]
    assert [line.get_label() for line in picture.axes[1].lines] == ["hand.x", "hand.y", "hand.z", "bend"]
    with pytest.raises(br.ArgumentError, match="functions by name"):
        run.plot(lambda s: s.time)
