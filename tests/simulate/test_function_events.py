"""Events triggered by functions of the motion: times against functions of the world and closed forms, bad input."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import animation as an


def ball(height: float = 2.0) -> br.World:
    builder = br.ModelBuilder("ball")
    builder.link("body", joint=br.Prismatic("z"), joint_name="height", mass=1.0, inertia=(1, 1, 1))
    world = br.World()
    world.add(builder.build(), "ball")
    world["ball/height"] = height
    return world


@pytest.mark.parametrize(
    "function",
    [
        an.joint("ball/height"),
        an.position("ball/body").z,
        lambda s: s.position("ball/body").z,
        lambda s: s.joint("ball/height"),
        lambda world: world["ball/height"],
        an.untraced(lambda s: s.joint("ball/height") if s.joint("ball/height") > 0 else 0.0),
        an.distance_to_surface("ball/body", br.Plane()),
    ],
)
def test_a_crossing_is_located(function):
    world, fired = ball(), []
    simulation = br.Simulation(world, dt=0.01)
    event = simulation.when(function, lambda: fired.append(world.time), value=1.5)
    simulation.run(0.5)
    # Fails if the time is not located within the step, or the value is not 1.5 then.
    assert fired == event.times == pytest.approx([np.sqrt(2 * 0.5 / 9.81)], abs=1e-9)
    assert event.happened


def test_directions_and_repetition():
    world, down, up = ball(), [], []
    simulation = br.Simulation(world, dt=0.01)
    simulation.when(an.joint("ball/height"), lambda: world.v.__imul__(-1.0), rising=False, once=False)
    simulation.when(an.joint_rate("ball/height"), lambda: up.append(world.time), rising=False, value=0.5, once=False)
    simulation.when(an.time(), lambda: down.append(world["ball/height"]), value=0.3)
    simulation.run(1.5)
    fall = np.sqrt(2 * 2.0 / 9.81)
    assert up == pytest.approx([2 * fall - 0.5 / 9.81], abs=1e-8)
    assert down == pytest.approx([2.0 - 0.5 * 9.81 * 0.09], abs=1e-9)


def test_take_off_is_an_event_of_the_external_force():
    world = br.World()
    world.add(br.figures.human16(), "man", at=(0, 0, 3.0))
    world.add(br.figures.ground(), "floor")
    world.enable_contact()
    landed = []
    simulation = br.Simulation(world, dt=0.005)
    simulation.when(an.external_force("man").z, lambda: landed.append(world.position("man/left_foot")[2]), value=1.0, falling=False)
    simulation.run(1.2)
    assert len(landed) == 1
    assert landed[0] < 0.3


def test_bad_conditions_change_nothing():
    world = ball()
    simulation = br.Simulation(world, dt=0.01)
    for function, words in (
        (an.position("ball/body"), "must be one number, got a vector"),
        (an.joint("ball/width"), "'condition of an event': 'ball/width' is not a joint"),
        (3.0, "must be a function of the world or of its motion"),
    ):
        with pytest.raises(br.BrachiateError, match=words):
            simulation.when(function, lambda: None)
    with pytest.raises(br.BrachiateError, match="value of an event"):
        simulation.when(an.joint("ball/height"), lambda: None, value=float("nan"))
    simulation.run(0.1)
    assert world.time == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (lambda s: s.joint("ball/width"), br.UnknownName, "'ball/width' is not a joint"),
        (lambda s: s.position("ball/body"), br.ArgumentError, "one number, got"),
        (lambda s: 1.0 if s.joint("ball/height") > 1 else 2.0, br.BrachiateError, "a comparison of a value cannot be traced"),
        (lambda world: world.no_such_thing, AttributeError, "no_such_thing"),
        (lambda s: an.sqrt(s.joint("ball/height") - 5.0), br.StateError, "not finite"),
    ],
)  # fmt: skip
def test_functions_that_cannot_be_evaluated_are_named(function, error, words):
    world = ball()
    simulation = br.Simulation(world, dt=0.01)
    simulation.when(function, lambda: None)
    with pytest.raises(error, match=words):
        simulation.run(0.1)
    assert world.time == 0.0
