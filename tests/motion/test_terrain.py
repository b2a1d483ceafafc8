"""Terrain: planes, slopes and stairs, their texts, their signed distance, and values that are refused."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import rotations
from brachiate.errors import ArgumentError
from brachiate.motion.contact_labels import parse_contact_labels
from brachiate.motion.terrain import Stairs, Terrain, parse_terrain


@pytest.mark.parametrize(
    ("text", "terrain"),
    [
        ("flat", Terrain(0.0)),
        ("flat:0.02", Terrain(0.02)),
        ("slope:10", Terrain(0.0, 10.0)),
        ("slope:10:90,friction=0.5", Terrain(0.0, 10.0, 90.0, 0.5)),
    ],
)
def test_text_of_planes(text, terrain):
    assert parse_terrain(text) == terrain


@pytest.mark.parametrize("text", ["", "hilly", "flat:high", "slope", "flat,mu=3", "slope:1:2:3", "flat:1:2"])
def test_unknown_text_is_refused(text):
    with pytest.raises(ArgumentError, match="flat"):
        parse_terrain(text)


def test_slope_rises_along_its_heading():
    terrain = Terrain(0.1, slope=30.0, heading=90.0)
    on = np.array((5.0, 2.0, 0.1 + 2.0 * np.tan(np.radians(30))))
    assert terrain.clearance(on) == pytest.approx(0.0, abs=1e-12)
    assert terrain.clearance(on + terrain.normal) == pytest.approx(1.0)


@pytest.mark.parametrize("heading", [0.0, 70.0, -135.0])
@pytest.mark.parametrize("slope", [-20.0, 0.0, 1e-9, 5.0, 45.0])
def test_tilt_turns_level_ground_into_the_plane(slope, heading):
    terrain = Terrain(0.0, slope=slope, heading=heading)
    assert rotations.rotate(terrain.tilt, np.array((0.0, 0.0, 1.0))) == pytest.approx(terrain.normal, abs=1e-15)
    vector = rotations.to_rotation_vector(terrain.tilt)
    assert vector[2] == pytest.approx(0.0, abs=1e-15)  # the shortest rotation has a level axis
    assert np.linalg.norm(vector) == pytest.approx(np.radians(abs(slope)), abs=1e-12)


def test_clearance_above_and_inside_stairs():
    terrain = br.Terrain(0.5, stairs=br.Stairs(0.1, 0.4, 2, start=1.0, heading=90.0))  # along y
    points = np.array([(9, 0, 0.6), (9, 1.2, 0.6), (9, 1.2, 0.65), (9, 5.0, 0.75), (9, 1.01, 0.55), (9, 1.41, 0.55), (9, 2.0, 0.4)])
    # One centimeter into the first riser; into the second, below the tread before it; far inside
    assert terrain.clearance(points) == pytest.approx([0.1, 0.0, 0.05, 0.05, -0.01, -np.hypot(0.01, 0.05), -0.3])
    down = br.Terrain(0.0, stairs=br.Stairs(-0.1, 0.4, 2, start=1.0))
    assert down.clearance(np.array([(0.9, 0, 0), (1.1, 0, 0), (2.0, 3, 0), (0.98, 0, -0.05)])) == pytest.approx([0.0, 0.1, 0.2, -0.02])


@pytest.mark.parametrize("kind", ["stairs", "steps"])
def test_text_of_stairs_and_their_lines_in_contact_files(kind):
    curb = parse_terrain(f"{kind}:0.1")
    assert curb.stairs == br.Stairs(0.1)
    assert curb.stairs.count == 1
    terrain = parse_terrain(f"{kind}:-0.15:0.45:3:1.25:30,friction=0.6")
    assert terrain == br.Terrain(0.0, friction=0.6, stairs=br.Stairs(-0.15, 0.45, 3, 1.25, 30.0))
    lines = br.ContactLabels((), terrain).lines()
    assert parse_contact_labels(lines, "here").terrain == terrain
    as_before = [line.replace("terrain ", "ground ").replace("stairs=", "steps=") for line in lines]  # as version 0.1 wrote them
    assert any("steps=" in line for line in as_before)
    assert parse_contact_labels(as_before, "here").terrain == terrain


@pytest.mark.parametrize("text", ["stairs", "stairs:up", "stairs:0.1:0.4:3:1:0:2", "staircase:0.1", "stairs:0.1,slope=3"])
def test_unknown_text_of_stairs_is_refused(text):
    with pytest.raises(ArgumentError, match=r"is not a terrain.*stairs:0\.1"):
        parse_terrain(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stairs:nan", "rise of stairs: expected a number, got NaN"),
        ("stairs:0.1:0", "tread of stairs"),
        ("stairs:0.1:0.4:2.5", "count of stairs: expected a whole number"),
        ("stairs:0.1:0.4:0", "count of stairs"),
        ("stairs:0.1:0.4:2:inf", "start of stairs"),
    ],
)
def test_invalid_stairs_are_refused(text, message):
    with pytest.raises(ArgumentError, match=message):
        parse_terrain(text)


def test_stairs_need_level_ground():
    with pytest.raises(ArgumentError, match="leave out the slope"):
        br.Terrain(0.0, 5.0, stairs=br.Stairs(0.1))
    with pytest.raises(ArgumentError, match=r"expected br\.Stairs"):
        br.Terrain(0.0, stairs=0.1)  # type: ignore[arg-type]


def test_stairs_are_placed_halfway_along_a_path():
    path = np.array([(0.0, 0.0), (0.0, 3.0)])
    assert Stairs(0.1, 0.4, 2).placed_along(path) == Stairs(0.1, 0.4, 2, start=1.3, heading=90.0)
    placed = Stairs(0.1, start=5.0)
    assert placed.placed_along(path) is placed
    with pytest.raises(ArgumentError, match=r"travels 0\.10 m in total"):
        Stairs(0.1).placed_along(np.array([(0.0, 0.0), (0.1, 0.0)]))


def test_deprecated_names_warn_and_work():
    terrain = br.Terrain(0.0, stairs=br.Stairs(0.1))
    with pytest.warns(DeprecationWarning, match="stairs"):
        assert terrain.steps is terrain.stairs
    with pytest.warns(DeprecationWarning, match="terrain"):
        assert br.ContactLabels((), terrain).ground is terrain
