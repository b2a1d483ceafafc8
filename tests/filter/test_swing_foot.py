"""The way of a foot through the air to where it is to land."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.compiled import MODE
from brachiate.filter.footsteps.foot_state import Footwork
from brachiate.filter.footsteps.swing_foot import bend
from brachiate.filter.offline import Clip, world_of
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.filter.schedule.arrays import STEER
from brachiate.filter.schedule.contact_schedule import Schedule
from brachiate.filter.settings import FilterSettings
from brachiate.motion.motion import motion_of

DT, SWING = 0.0005, 0.3


@cache
def walk() -> Reference:
    return clean(motion_of(procedural.make("walk", seconds=1.6)))


@pytest.fixture
def feet() -> Footwork:
    settings = FilterSettings()
    return Footwork(Schedule(walk(), settings.look).room, settings, settings.plan.freeze, 10, 4)


def led(feet: Footwork, aims: np.ndarray) -> np.ndarray:
    """Place, rate and change of the path along x, with one aim for each step."""
    room, rows = feet.room, []
    for k, aim in enumerate(aims):
        room.aim[0, 0] = aim
        bend(room, 0, SWING - k * DT, DT)
        rows.append((room.path[0, 0], room.path_rate[0, 0], room.path_change[0, 0]))
    return np.array(rows)


def test_it_is_the_curve_of_the_fifth_order(feet):
    path = led(feet, np.full(round(0.8 * SWING / DT), 0.1))
    x = DT * np.arange(1, len(path) + 1) / SWING
    assert path[:, 0] == pytest.approx(0.1 * x**3 * (10.0 - 15.0 * x + 6.0 * x**2), abs=20.0 * 0.1 * DT / SWING)  # by steps of Euler's kind
    assert path[:, 1] == pytest.approx(0.1 * 30.0 * x**2 * (1.0 - x) ** 2 / SWING, abs=20.0 * 0.1 * DT / SWING**2)


def test_it_comes_to_rest_where_it_lands(feet):
    path = led(feet, np.full(round(SWING / DT), 0.1))
    place, rate, _ = path[-1]
    assert place == pytest.approx(0.1, abs=5e-4)
    assert abs(rate) < 0.01 * path[:, 1].max()


def test_an_aim_that_jumps_does_not_make_the_foot_jump(feet):
    # Fails if the path takes on a part of the way to its aim in every step: then its rate jumps with that
    aims = np.where(np.arange(round(SWING / DT)) % 16 < 8, 0.10, 0.09)
    path = led(feet, aims)
    smooth = path[: round(0.8 * SWING / DT)]
    assert np.abs(np.diff(smooth[:, 1])).max() < DT * np.abs(smooth[:, 2]).max() * 1.1
    assert np.abs(smooth[:, 2]).max() < 1.5 * 10.0 / np.sqrt(3.0) * 0.1 / SWING**2  # hardly more than for one aim
    assert path[-1, 0] == pytest.approx(0.095, abs=0.005)


@pytest.mark.parametrize("dt", [0.0005, 0.002, 0.02])
def test_hasty_settings_and_long_steps_do_not_shake_it(feet, dt):
    # Fails if a curve is to end within four steps: then it grows without end
    room = feet.room
    room.gain[STEER], room.aim[0, 0] = 1e-4, 0.1
    for _ in range(100):
        bend(room, 0, 0.0, dt)
        assert abs(room.path[0, 0]) < 0.2
    assert room.path[0, 0] == pytest.approx(0.1, abs=1e-9)


@pytest.mark.skipif(MODE == "off", reason="many steps")
def test_feet_are_led_without_jumps():
    """Plans change where feet are to land, all the time: feet take that on smoothly."""
    world = world_of(walk())
    clip, rates = Clip(world, "man", walk(), whole=False), []
    run = br.Simulation(world, dt=walk().dt, settle=False)
    room, aims = clip.follower.preview.feet.room, []
    for k in range(len(walk()) - 1):
        if k == 300:
            push = world.push("man/spine2", (60.0, 40.0, 0.0))
        elif k == 350:
            world.remove(push)
        clip.control()
        rates.append(np.where(room.stands[:, None] == 0, room.path_rate, np.nan).copy())
        aims.append(room.aim.copy())
        run.step()
    jumps = np.abs(np.diff(rates, axis=0))
    assert np.nanmax(np.abs(np.diff(aims, axis=0))) > 0.005  # [m] they do
    assert np.nanmax(jumps) < 0.1  # [m/s]
