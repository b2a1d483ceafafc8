"""C3D files: markers, channels, force plates of every type against statics and ezc3d; inconsistent and damaged files."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import pytest
from tests.io.c3d_files import c3d_file as file

from brachiate.errors import BrachiateError, MotionError, MotionFileError
from brachiate.io.c3d import parse_c3d, read_c3d

try:
    import c3d
except ImportError:
    c3d = None
needs_library = pytest.mark.skipif(c3d is None, reason="the package c3d is not installed: pip install 'brachiate[c3d]'")

#: Corners of a plate of 600 by 400 mm whose x axis is the world's -y, its y axis the world's -x, and its z axis down.
CORNERS = np.array([(100, 50, 0), (100, 650, 0), (500, 650, 0), (500, 50, 0)], float)
MIDDLE = CORNERS.mean(axis=0) / 1000
DOWN = np.array([(0, -1, 0), (-1, 0, 0), (0, 0, -1)], float).T  # its axes, in columns


def platform(kind, channels, origin, **more):
    of_plate = {"USED": [1], "TYPE": [kind], "ZERO": [1, 0], "CORNERS": CORNERS.T.reshape(3, 4, 1)}
    return of_plate | {"ORIGIN": np.reshape(np.array(origin, float), (3, 1)), "CHANNEL": np.arange(1, channels + 1).reshape(-1, 1), **more}


def points(f=6, m=3, seed=0):
    return np.random.default_rng(seed).normal(size=(f, m, 3)).astype(np.float32).astype(float) * 500


def of_units(kind):
    return {"UNITS": ["N"] * 8 if kind == 3 else ["N", "N", "N", "Nmm", "Nmm", "Nmm"]}


def plate_file(kind, *, seed: int = 0, origin=(3.0, -2.0, -40.0), **more: Any):
    """File with a loaded plate, and its channels (rows, n)."""
    random_ = np.random.default_rng(seed)
    channels = 8 if kind == 3 else 6
    samples = random_.normal(size=(6, 4, channels)) * 30
    if kind == 3:
        samples[..., 4:] -= 200
    else:
        samples[..., 2] -= 700
        samples[..., 3:] *= 100
    samples = samples.astype(np.float32).astype(float)
    return file(points(), samples, plates=platform(kind, channels, origin, **more), analog=of_units(kind)), samples.reshape(-1, channels)


# --- markers and channels -----------------------------------------------------------------------


@needs_library
def test_markers(tmp_path):
    given = points()
    given[2, 1] = np.nan
    path = tmp_path / "walk.c3d"
    path.write_bytes(file(given, first=11))
    found = read_c3d(path)
    assert found.markers is not None
    assert found.markers.names == ("M0", "M1", "M2")
    assert found.markers.name == "walk"
    assert found.markers.times == pytest.approx(0.1 + np.arange(6) / 100)
    assert found.markers.positions == pytest.approx(given / 1000, nan_ok=True)
    assert [gap[:3] for gap in found.markers.gaps()] == [("M1", 2, 3)]
    assert found.analog is None
    assert found.plates == ()
    assert [assumption.argument for assumption in found.assumptions] == ["up"]


@needs_library
def test_units_and_axes():
    given = points()

    def first(data, **more):
        found = parse_c3d(data, "a.c3d", **more)
        assert found.markers is not None
        return found.markers.positions[0, 0], found.assumptions

    x, y, z = given[0, 0]
    point, assumptions = first(file(given, units=("m",), X_SCREEN=["+X"], Y_SCREEN=["+Y"]))
    assert point == pytest.approx([z, x, y])
    assert assumptions == ()
    assert first(file(given, units=("cm",), Y_SCREEN=["+Z"]))[0] == pytest.approx(given[0, 0] / 100)
    assert first(file(given, units=("",)), unit="m", up="y")[0] == pytest.approx([z, x, y])
    with pytest.raises(MotionFileError, match=r"POINT:UNITS is ''; known are m, .* unit='mm'"):
        parse_c3d(file(given, units=("",)), "a.c3d")
    with pytest.raises(MotionError, match="unit='mile' is not one of"):
        parse_c3d(file(given), "a.c3d", unit="mile")
    with pytest.raises(MotionError, match="up='w' is not one of"):
        parse_c3d(file(given), "a.c3d", up="w")


@needs_library
def test_missing_and_duplicate_names():
    found = parse_c3d(file(points(m=4), LABELS=["a", "", "a"]), "a.c3d")
    assert found.markers is not None
    assert found.markers.names == ("a", "point2", "a'", "point4")


@needs_library
def test_channels_are_scaled():
    samples = np.arange(6 * 4 * 2, dtype=float).reshape(6, 4, 2)
    assumptions = {"GEN_SCALE": [2.0], "SCALE": [1.0, 10.0], "OFFSET": np.array([0, 3])}
    found = parse_c3d(file(points(), samples, analog=assumptions), "a.c3d")
    assert found.analog is not None
    assert found.analog.times == pytest.approx(np.arange(24) / 400)
    assert found.analog["c0"] == pytest.approx(2 * samples[..., 0].ravel())
    assert found.analog["c1"] == pytest.approx(20 * (samples[..., 1].ravel() - 3))


# --- force plates -------------------------------------------------------------------------------


def statics(plate, point):
    """Moment of a plate's force and torque about a point."""
    return plate.moment + np.cross(plate.point - point, plate.force)


@needs_library
def test_weight_on_a_plate():
    """700 N at the world's (0.25, 0.45): the plate, 40 mm below its surface, measures the reaction in its own axes."""
    point, force = np.array([0.25, 0.45, 0.0]), np.array([20.0, -30.0, 700.0])
    below = MIDDLE + np.array([0, 0, -0.04])
    torque = np.cross(point - below, force) + np.array([0, 0, 5.0])
    raw = np.concatenate((DOWN.T @ force, 1000 * DOWN.T @ torque))
    data = file(points(), np.broadcast_to(raw, (6, 4, 6)), plates=platform(2, 6, (0, 0, -40)), analog=of_units(2))
    (plate,) = parse_c3d(data, "a.c3d").plates
    assert plate.force == pytest.approx(np.broadcast_to(force, (24, 3)), rel=1e-6)
    assert plate.point == pytest.approx(np.broadcast_to(point, (24, 3)), abs=1e-6)
    assert plate.moment == pytest.approx(np.broadcast_to((0, 0, 5.0), (24, 3)), abs=1e-4)
    y_up = parse_c3d(data, "a.c3d", up="y").plates[0]
    assert y_up.force[0] == pytest.approx(force[[2, 0, 1]], rel=1e-6)


@needs_library
def test_unloaded_plate():
    raw = np.array([1.0, 2.0, -3.0, 400.0, 500.0, 600.0])  # too small for a center of pressure
    data = file(points(), np.broadcast_to(raw, (6, 4, 6)), plates=platform(2, 6, (0, 0, 0)), analog=of_units(2))
    (plate,) = parse_c3d(data, "a.c3d").plates
    assert plate.point[0] == pytest.approx(MIDDLE)
    assert plate.moment[0] == pytest.approx(DOWN @ (0.4, 0.5, 0.6))


@needs_library
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_moment_of_plates_of_every_type(kind):
    calibration = np.eye(6) + np.random.default_rng(9).normal(size=(6, 6)) * 1e-3
    more: dict[str, Any] = {"CAL_MATRIX": calibration.reshape(6, 6, 1)} if kind == 4 else {}
    origin = (120.0, 200.0, -40.0) if kind == 3 else (3.0, -2.0, -40.0)
    data, raw = plate_file(kind, origin=origin, **more)
    found = parse_c3d(data, "a.c3d")
    (plate,) = found.plates
    assert len(found.assumptions) == 1  # only the up axis
    if kind == 1:
        assert plate.force == pytest.approx(raw[:, :3] @ DOWN.T)
        assert plate.point == pytest.approx(MIDDLE + np.column_stack((raw[:, 3:5] / 1000, np.zeros(24))) @ DOWN.T)
        assert plate.moment[:, 2] == pytest.approx(-raw[:, 5] / 1000)
        return
    if kind == 3:  # four sensors, each with its own force
        a, b, depth = np.array(origin) / 1000
        corners = np.array([(a, b, -depth), (-a, b, -depth), (-a, -b, -depth), (a, -b, -depth)])
        x12, x34, y14, y23 = raw[:, :4].T
        at_sensor = np.zeros((24, 4, 3))
        at_sensor[:, :, 0] = np.stack((x12 / 2, x12 / 2, x34 / 2, x34 / 2), axis=1)
        at_sensor[:, :, 1] = np.stack((y14 / 2, y23 / 2, y23 / 2, y14 / 2), axis=1)
        at_sensor[:, :, 2] = raw[:, 4:]
        force, torque = at_sensor.sum(axis=1), np.cross(corners, at_sensor).sum(axis=1)
    else:
        wrench = raw @ (calibration if kind == 4 else np.eye(6)).astype(np.float32).T
        force, torque = wrench[:, :3], wrench[:, 3:] / 1000 - np.cross(np.array(origin) / 1000, wrench[:, :3])
    assert plate.force == pytest.approx(force @ DOWN.T)
    assert statics(plate, MIDDLE) == pytest.approx(torque @ DOWN.T, abs=1e-9)
    assert plate.point[:, 2] == pytest.approx(np.zeros(24))  # on the surface
    assert plate.moment[:, :2] == pytest.approx(np.zeros((24, 2)), abs=1e-9)


@needs_library
@pytest.mark.parametrize("kind", [2, 3, 4])
def test_plates_agree_with_ezc3d(tmp_path, kind):
    ezc3d = pytest.importorskip("ezc3d", reason="a peer that is not installed: pip install ezc3d")
    more = {"CAL_MATRIX": np.diag((1, 2, 3, 1, 2, 3.0)).reshape(6, 6, 1)} if kind == 4 else {}
    data, _ = plate_file(kind, seed=kind, origin=(120.0, 200.0, -40.0) if kind == 3 else (3.0, -2.0, -40.0), **more)
    path = tmp_path / "a.c3d"
    path.write_bytes(data)
    peer = ezc3d.c3d(str(path), extract_forceplat_data=True)["data"]["platform"][0]
    (plate,) = read_c3d(path).plates
    assert plate.force == pytest.approx(peer["force"].T, abs=1e-9)
    assert plate.point == pytest.approx(peer["center_of_pressure"].T / 1000, abs=1e-9)
    assert plate.moment == pytest.approx(peer["Tz"].T / 1000, abs=1e-9)


@needs_library
def test_assumptions_about_plates():
    def assumptions(data):
        return [str(assumption) for assumption in parse_c3d(data, "a.c3d", up="z").assumptions]

    assert assumptions(plate_file(2)[0]) == []
    (assumption,) = assumptions(plate_file(2, ZERO=[1, 5])[0])
    assert "asks to take off that of frames 1-5" in assumption
    (assumption,) = assumptions(file(points(), np.ones((6, 4, 6)), plates=platform(7, 6, (0, 0, 0)), analog=of_units(2)))
    assert "plates of type 7 are not read" in assumption
    (assumption,) = assumptions(file(points(), np.ones((6, 4, 6)), plates=platform(2, 6, (0, 0, 0)), analog={"UNITS": ["V"] * 6}))
    assert "their unit is 'v'" in assumption
    (assumption,) = assumptions(file(points(), np.full((6, 4, 6), 50.0), plates=platform(2, 6, (0, 0, 0)), analog=of_units(2)))
    assert "pulls the body down" in assumption
    samples = np.zeros((6, 4, 6))
    samples[2:4, :, 2] = 50.0  # loaded for a part of the time
    (assumption,) = assumptions(file(points(), samples, plates=platform(2, 6, (0, 0, 0)), analog=of_units(2)))
    assert "pulls the body down" in assumption


@needs_library
@pytest.mark.parametrize(
    "wrong",
    [
        {"CHANNEL": np.arange(2, 8).reshape(6, 1)},
        {"CHANNEL": np.arange(1, 4).reshape(3, 1)},
        {"TYPE": np.zeros(0, int)},
        {"USED": [2]},
        {"CORNERS": np.zeros((3, 2, 1))},
        {"TYPE": [4]},
    ],
)
def test_inconsistent_plates(wrong):
    with pytest.raises(MotionFileError, match=r"a.c3d: TYPE, CHANNEL, .* of force plate [12] is missing or does not fit"):
        parse_c3d(plate_file(2, **wrong)[0], "a.c3d")


@needs_library
def test_plate_corners_must_be_a_rectangle():
    with pytest.raises(MotionFileError, match="corners of plate1 are not a rectangle"):
        parse_c3d(plate_file(2, CORNERS=np.zeros((3, 4, 1)))[0], "a.c3d")


# --- malformed files ----------------------------------------------------------------------------


def test_missing_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "c3d", None)
    with pytest.raises(BrachiateError, match=r"C3D files need the package c3d, .* pip install 'brachiate\[c3d\]'"):
        parse_c3d(file(points()), "a.c3d")


def test_not_a_c3d_file(tmp_path):
    good = file(points())

    def with_byte(at, value):
        return good[:at] + bytes((value,)) + good[at + 1 :]

    for data, message in (
        (b"", "a.c3d is not a C3D file"),
        (b"HIERARCHY" * 300, "a.c3d is not a C3D file: at least two blocks of 512 bytes were expected"),
        (with_byte(1, 81), "a.c3d is not a C3D file"),
        (with_byte(0, 200), "its parameters should be in block 200, which does not exist"),
        (with_byte(0, 0), "its parameters should be in block 0"),
        (with_byte(515, 83), r"the processor type is 83; 84 \(Intel\), 85 \(DEC\) or 86 \(MIPS\) was expected"),
        (good[:2] + bytes(4) + good[6:], "has neither markers nor channels"),
    ):
        with pytest.raises(MotionFileError, match=message):
            parse_c3d(data, "a.c3d")
    with pytest.raises(MotionFileError, match="there is no such file"):
        read_c3d(tmp_path / "none.c3d")


@needs_library
def test_inconsistent_files():
    good = file(points(f=40), np.ones((40, 4, 2)))
    with pytest.raises(MotionFileError, match=r"40 frames are announced, there is room for [0-9]+. The file was cut short"):
        parse_c3d(good[:-1024], "a.c3d")
    with pytest.raises(
        MotionFileError, match=r"a.c3d cannot be read: inconsistent point count! 4 header != 3 POINT:USED. The file is damaged"
    ):
        parse_c3d(good[:2] + b"\4" + good[3:], "a.c3d")
    with pytest.raises(MotionFileError, match="channels have values that are not finite"):
        parse_c3d(file(points(), np.full((6, 4, 2), np.inf)), "a.c3d")
    with pytest.raises(MotionFileError, match="frames per second"):
        parse_c3d(file(points(), rate=-100.0), "a.c3d")


@needs_library
def test_damaged_files_never_crash():
    source, _ = plate_file(2)
    refused = 0
    for seed in range(1000):
        rng = random.Random(seed)
        data = bytearray(source)
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(rng.choice((30, 1600, 1600, len(data))))
            data[at] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
        if seed % 6 == 0:
            del data[rng.randrange(len(data)) :]
        try:
            found = parse_c3d(bytes(data), "a.c3d")
        except BrachiateError:
            refused += 1
        else:
            assert all(np.isfinite(plate.point).all() for plate in found.plates)
    assert 200 < refused < 980
