"""Recorded motions: units, axes and statures are found, and feet stand on the floor. They are not part of this project."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import brachiate as br
from brachiate.contact_estimation.parts import FEET, motion_of_part, parts_of
from brachiate.io.trc import read_trc
from brachiate.motion.motion import Motion

DATA = Path(__file__).parents[2].parent / "shared/data"
FILES = sorted((*DATA.glob("cmu/*.bvh"), *DATA.glob("asf_amc/*.bvh"), *DATA.glob("asf_amc/*.amc")))
pytestmark = pytest.mark.skipif(not FILES, reason=f"recorded motions are not there: {DATA}")
UNIT = 0.0254 / 0.45  # [m] of all of these
OFF = 0.03  # [m] floors may be off the file's origin, and feet off the floor
#: Ankles stand centimetres higher above the origin of these files than in others of the same person.
HIGH = {"01_01.bvh": 0.04, "01_01.amc": 0.04}


@cache
def read(path: Path) -> Motion:
    return br.read_motion(path, quiet=True)


def told(motion: Motion) -> dict[str, br.clip.clip.Guess]:
    return {guess.what: guess for guess in motion.guesses}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_units_axes_and_stature(path):
    motion = read(path)
    assert motion.clip is not None
    assert motion.clip.origin is not None
    assert (motion.clip.origin.unit, motion.clip.origin.up) == (pytest.approx(UNIT), "y")
    assert ("first frame" in told(motion)) == (path.suffix == ".bvh")  # these begin with a T-pose
    height = float(told(motion)["height"].value.split()[0])
    assert 1.6 < height < 1.85
    # ASF skeletons are as tall as people with such legs. Their BVH files lack the bone below the neck: about 12 cm, and it is told.
    assert ("trunk" in told(motion)) == (path.suffix == ".bvh")
    if path.suffix == ".bvh":
        stands = float(told(motion)["trunk"].value.split()[-3])
        assert stands == pytest.approx(height - 0.13, abs=0.03)
        assert "none leads up to Neck" in told(motion)["trunk"].why


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_feet_stand_on_the_floor(path):
    report = br.check(read(path))
    track, ground = report.track, report.labels.ground
    assert abs(ground.height or 0.0) < HIGH.get(path.name, OFF)
    heights = []
    for p in parts_of(track, FEET):
        for label in report.labels.of(track.spots.parts[p]):
            if label.height is None:
                during = (track.times >= label.start) & (track.times <= label.end)
                heights.append(motion_of_part(track, ground, p)[0][during])
    above = np.concatenate(heights)
    assert abs(np.median(above)) < 0.01
    assert np.mean(np.abs(above) < OFF) > 0.8


def test_markers_are_as_high_as_the_subject():
    path = DATA / "opensim/gait2354/subject01_walk1.trc"
    if not path.is_file():
        pytest.skip(f"recorded markers are not there: {path}")
    markers = read_trc(path)
    assert markers["Top.Head"][:, 2].max() == pytest.approx(1.80, rel=0.01)
    heels = np.minimum(markers["R.Heel"][:, 2], markers["L.Heel"][:, 2])
    assert 0.0 < heels.min() < 0.06
