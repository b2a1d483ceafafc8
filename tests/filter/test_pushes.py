"""Pushes: by words, what they do to what is pushed, and how the filter stands them."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import moves
from brachiate.errors import ArgumentError, UnknownName
from brachiate.filter.clean import clean
from brachiate.filter.filter import filter_motion
from brachiate.filter.pushes import Shove, shove_of
from brachiate.filter.reference import Reference
from brachiate.motion.motion import motion_of


@pytest.fixture(scope="module")
def stand() -> Reference:
    return clean(motion_of(moves.make("squat", seconds=1.6, depth=0.05)))


def test_a_push_brings_its_momentum():
    world = br.World(gravity=(0, 0, 0))
    world.add(br.figures.box(mass=4.0), name="man").place((0, 0, 1))
    simulation = br.Simulation(world, dt=0.002)
    Shove("box", (8.0, 0.0, -2.0), at=0.1, lasting=0.0503).put_on(simulation, "man")  # which is no whole number of steps
    run = simulation.run(0.3, progress=False)
    assert run["momentum"][-1] == pytest.approx((8.0 * 0.0503, 0.0, -2.0 * 0.0503), abs=1e-12)
    assert run["momentum"][49] == pytest.approx((0, 0, 0), abs=1e-12)


@pytest.mark.parametrize("force", [(80.0, 0.0, 0.0), (0.0, -60.0, 0.0)])
def test_a_pushed_body_gives_way_and_stays_up(stand, force):
    calm = filter_motion(stand, progress=False)
    pushed = filter_motion(stand, pushes=[Shove("spine2", force, at=0.6, lasting=0.1)], progress=False)
    assert pushed.finished, pushed.blame
    way = (pushed.motion.q - calm.motion.q)[:, :3] @ np.array(force) / np.linalg.norm(force)
    before, after = stand.times < 0.6 - 1e-9, stand.times > 0.7
    assert (way[before] == 0.0).all()  # nobody knows of it before
    assert way[after].max() > 0.002  # measured: 5 and 4 mm


def test_a_huge_push_is_given_up(stand):
    pushed = filter_motion(stand, pushes=[Shove("spine2", (3000.0, 0.0, 0.0), at=0.4, lasting=0.2)], progress=False)
    assert not pushed.finished
    assert pushed.blame.time > 0.4
    assert np.isfinite(pushed.motion.q).all()


def test_by_words():
    assert shove_of("chest:80,0,-5@1.0+0.2") == Shove("chest", (80.0, 0.0, -5.0), 1.0, 0.2)
    assert shove_of(" pelvis : 0,1e2,0 @ 2 ") == Shove("pelvis", (0.0, 100.0, 0.0), 2.0, 0.1)


@pytest.mark.parametrize(
    "text", ["", "chest", "chest:80@1", "chest:80,0@1", "chest:a,0,0@1", "chest:80,0,0", "chest:80,0,0@", "chest:1,2,3@x+1"]
)
def test_other_words_are_refused(text):
    with pytest.raises(ArgumentError, match="is no push"):
        shove_of(text)


@pytest.mark.parametrize("text", ["chest:nan,0,0@1", "chest:80,0,0@-1", "chest:80,0,0@1+0", "chest:80,0,0@1+inf"])
def test_numbers_that_make_no_push_are_refused(text):
    with pytest.raises(ArgumentError):
        shove_of(text)


def test_a_link_that_is_not_there_is_refused(stand):
    with pytest.raises(UnknownName, match="spine2"):
        filter_motion(stand, pushes=[Shove("tail", (1.0, 0.0, 0.0), 0.1)])
