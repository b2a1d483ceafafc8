"""Recorded motions (not part of this project): units, axes and statures are inferred, and feet stand on the floor."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import brachiate as br
from brachiate.contact_estimation.parts import FOOT_WORDS, part_motion, parts_matching
from brachiate.io.trc import read_trc
from brachiate.motion.motion import Motion

DATA = Path(__file__).parents[2].parent / "shared/data"
FILES = sorted((*DATA.glob("cmu/*.bvh"), *DATA.glob("asf_amc/*.bvh"), *DATA.glob("asf_amc/*.amc")))
pytestmark = pytest.mark.skipif(not FILES, reason=f"recorded motions are not there: {DATA}")
UNIT = 0.0254 / 0.45  # [m] of all of these
FLOOR_TOLERANCE = 0.03  # [m] of floors from the origin of the file, and of feet from the floor
#: Ankles are centimeters higher in these files than in others of the same person.
ELEVATED = {"01_01.bvh": 0.04, "01_01.amc": 0.04}


@cache
def read(path: Path) -> Motion:
    return br.load_motion(path)


def assumptions(motion: Motion) -> dict[str, br.assumptions.Assumption]:
    return {assumption.quantity: assumption for assumption in motion.assumptions}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_units_axes_and_stature(path):
    motion = read(path)
    assert motion.clip is not None
    assert motion.clip.origin is not None
    assert (motion.clip.origin.unit, motion.clip.origin.up) == (pytest.approx(UNIT), "y")
    assert ("first frame" in assumptions(motion)) == (path.suffix == ".bvh")  # these begin with a T-pose
    height = float(assumptions(motion)["height"].value.split()[0])
    assert 1.6 < height < 1.85
    # The BVH files lack the bone below the neck (about 12 cm), which the ASF skeletons have.
    assert ("trunk" in assumptions(motion)) == (path.suffix == ".bvh")
    if path.suffix == ".bvh":
        stands = float(assumptions(motion)["trunk"].value.split()[-3])
        assert stands == pytest.approx(height - 0.13, abs=0.03)
        assert "no bone leads to Neck" in assumptions(motion)["trunk"].reason


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_feet_stand_on_the_floor(path):
    report = br.check(read(path))
    dynamics, terrain = report.dynamics, report.contacts.terrain
    assert abs(terrain.height or 0.0) < ELEVATED.get(path.name, FLOOR_TOLERANCE)
    heights = []
    for p in parts_matching(dynamics, FOOT_WORDS):
        for label in report.contacts.of(dynamics.contact_points.parts[p]):
            if label.height is None:
                during = (dynamics.times >= label.start) & (dynamics.times <= label.end)
                heights.append(part_motion(dynamics, terrain, p)[0][during])
    above = np.concatenate(heights)
    assert abs(np.median(above)) < 0.01
    assert np.mean(np.abs(above) < FLOOR_TOLERANCE) > 0.8


def test_markers_have_the_height_of_the_subject():
    path = DATA / "opensim/gait2354/subject01_walk1.trc"
    if not path.is_file():
        pytest.skip(f"recorded markers are not there: {path}")
    markers = read_trc(path)
    assert markers["Top.Head"][:, 2].max() == pytest.approx(1.80, rel=0.01)
    heels = np.minimum(markers["R.Heel"][:, 2], markers["L.Heel"][:, 2])
    assert 0.0 < heels.min() < 0.06
