"""Markers and TRC files: units, axes, gaps and their interpolation, round trips, malformed files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.io.mutations import damaged

from brachiate.clip.markers import Gap, Markers
from brachiate.errors import ArgumentError, BrachiateError, MotionError, MotionFileError, UnknownName
from brachiate.io.trc import format_trc, parse_trc, read_trc, write_trc

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "opensim" / "gait2354" / "subject01_walk1.trc"
needs_data = pytest.mark.skipif(not DATA.is_file(), reason=f"the recording to try on is not there: {DATA}")
HEAD = "PathFileType\t4\t(X/Y/Z)\tw.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\n100\t100\t3\t2\tmm\n"
NAMES = "Frame#\tTime\tR.Heel\t\t\tHead\t\t\t\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n\n"
ROWS = "1\t0.00\t1\t2\t3\t4\t5\t6\n2\t0.01\t\t\t\t40\t50\t60\n3\t0.02\t10\t20\t30\t\t\t\n"


def markers(text=HEAD + NAMES + ROWS, **more):
    return parse_trc(text, "w.trc", **more)


def made(names, times, positions):
    """Markers from lists or arrays."""
    return Markers(names, times, positions)


def curve(f=40, m=3, rate=100.0, degree=3, seed=0):
    """Markers along polynomials in time."""
    times = np.arange(f) / rate
    factors = np.random.default_rng(seed).normal(size=(degree + 1, m, 3))
    positions = sum(a * (10 * times[:, None, None]) ** k for k, a in enumerate(factors))
    return made(tuple(f"m{k}" for k in range(m)), times, positions)


def with_gaps(found, *gaps):
    positions = found.positions.copy()
    for m, first, end in gaps:
        positions[first:end, m] = np.nan
    return made(found.names, found.times, positions)


# --- markers ------------------------------------------------------------------------------------


def test_markers_by_name():
    found = curve()
    assert (found["m1"] == found.positions[:, 1]).all()
    some = found.select(["m2", "m0"])
    assert some.names == ("m2", "m0")
    assert (some["m0"] == found["m0"]).all()
    assert len(found.frames(slice(5, 9))) == 4
    assert found.rate == pytest.approx(100)
    with pytest.raises(UnknownName, match="'m9' is not a marker of this recording"):
        found["m9"]
    with pytest.raises(ArgumentError, match="expected several names"):
        found.select("m0")


def test_gaps():
    found = with_gaps(curve(), (0, 0, 4), (1, 10, 12), (1, 20, 30), (2, 35, 40))
    assert [gap[:3] for gap in found.gaps()] == [("m0", 0, 4), ("m1", 10, 12), ("m1", 20, 30), ("m2", 35, 40)]
    assert [gap.duration for gap in found.gaps()] == pytest.approx([np.inf, 0.03, 0.11, np.inf])
    assert curve().gaps() == []


def test_short_gaps_are_filled_by_cubics():
    whole = curve()
    found = with_gaps(whole, (0, 0, 4), (1, 10, 12), (1, 20, 30), (2, 5, 14), (2, 39, 40))
    filled = found.fill_gaps()
    assert filled.positions[10:12, 1] == pytest.approx(whole.positions[10:12, 1], abs=1e-12)
    assert filled.positions[5:14, 2] == pytest.approx(whole.positions[5:14, 2], abs=1e-12)
    assert filled.gaps() == [Gap("m0", 0, 4, np.inf), found.gaps()[2], Gap("m2", 39, 40, np.inf)]
    seen = found.visible
    assert (filled.positions[seen] == found.positions[seen]).all()
    assert filled.assumptions[-1].value == "2 filled"
    assert [gap.name for gap in found.fill_gaps(max_duration=1.0).gaps()] == ["m0", "m2"]
    assert found.fill_gaps(max_duration=0.0) is found
    with pytest.raises(ArgumentError, match="max_duration must be at least 0"):
        found.fill_gaps(max_duration=-1)


def test_gap_between_single_frames_is_filled_linearly():
    line = curve(f=5, m=1, degree=1)
    assert with_gaps(line, (0, 1, 4)).fill_gaps().positions == pytest.approx(line.positions)


def test_invalid_markers():
    with pytest.raises(MotionError, match="Two markers are named 'a'"):
        made(("a", "a"), [0], np.zeros((1, 2, 3)))
    with pytest.raises(MotionError, match="Times must increase"):
        made(("a",), [0, 0], np.zeros((2, 1, 3)))
    with pytest.raises(MotionError, match=r"Marker 'a' in frame 0 is at .*: expected three finite numbers, or three NaN"):
        made(("a",), [0], [[[1, np.nan, 2]]])
    with pytest.raises(MotionError, match="Marker 'a' in frame 0"):
        made(("a",), [0], [[[np.inf] * 3]])
    with pytest.raises(ArgumentError, match="positions: expected an array of shape"):
        made(("a",), [0], np.zeros((1, 2, 3)))
    with pytest.raises(MotionError, match="At least one frame and one marker"):
        made((), [0], np.zeros((1, 0, 3)))


# --- files --------------------------------------------------------------------------------------


def test_simple_file():
    found = markers()
    assert found.names == ("R.Heel", "Head")
    assert found.times == pytest.approx([0, 0.01, 0.02])
    assert found["R.Heel"][0] == pytest.approx([0.003, 0.001, 0.002])  # z, x, y of the file, in meters
    assert np.isnan(found["R.Heel"][1]).all()
    assert np.isnan(found["Head"][2]).all()
    assert [assumption.argument for assumption in found.assumptions] == ["up"]
    assert found.name == "w"


def test_units_and_axes():
    assert markers(up="z")["Head"][0] == pytest.approx([0.004, 0.005, 0.006])
    assert markers(up="z").assumptions == ()
    assert markers((HEAD + NAMES + ROWS).replace("mm", "m"), up="z")["Head"][0] == pytest.approx([4, 5, 6])
    assert markers((HEAD + NAMES + ROWS).replace("mm", "cm"), up="x")["Head"][0] == pytest.approx([0.05, 0.06, 0.04])
    assert markers(unit="m", up="z")["Head"][0] == pytest.approx([4, 5, 6])
    with pytest.raises(MotionError, match="unit='mile' is not one of m, cm"):
        markers(unit="mile")
    with pytest.raises(MotionError, match="up='w' is not one of"):
        markers(up="w")


def test_file_variants():
    whole = ROWS.replace("\t\t\t\t40", "\t7\t8\t9\t40").replace("30\t\t\t\n", "30\t7\t8\t9\n")
    blanks = (HEAD + NAMES + whole).replace("\t\t\t", "\t").replace("\t", "  ")
    assert (markers(blanks).positions == markers(HEAD + NAMES + whole).positions).all()
    assert markers((HEAD + NAMES + ROWS).replace("Heel\t\t\tHead\t\t\t", "Heel\tHead")).names == ("R.Heel", "Head")
    trimmed = HEAD + NAMES + ROWS.replace("30\t\t\t\n", "30\n")  # as text editors write it
    assert np.isnan(markers(trimmed)["Head"][2]).all()
    assert np.isnan(markers((HEAD + NAMES + ROWS).replace("\t\t\t\t40", "\tnan\tNaN\tnan\t40"))["R.Heel"][1]).all()
    assert len(markers((HEAD + NAMES + ROWS).replace("\n", "\r\n"))) == 3


def test_zeros_are_gaps_by_default():
    text = HEAD + NAMES + ROWS.replace("\t\t\t\t40", "\t0\t0.0\t-0\t40")
    found = markers(text)
    assert np.isnan(found["R.Heel"][1]).all()
    assert found.assumptions[0].argument == "zeros_are_gaps"
    assert markers(text, zeros_are_gaps=False)["R.Heel"][1].tolist() == [0, 0, 0]


def test_rounded_times_are_evenly_spaced():
    times = np.arange(200) / 60
    found = made(("a",), times, np.ones((200, 1, 3)))
    lines = format_trc(found).splitlines()
    for k in range(200):
        cells = lines[6 + k].split("\t")
        lines[6 + k] = "\t".join([cells[0], f"{times[k]:.3f}", *cells[2:]])
    back = markers("\n".join(lines) + "\n")
    assert back.times == pytest.approx(times, abs=1e-12)
    assert "60 frames/s" in back.assumptions[-1].value
    slow = "\n".join(lines).replace("60\t60", "50\t50", 1) + "\n"  # a contradicting rate is ignored
    assert markers(slow).times == pytest.approx(np.round(times, 3), abs=1e-12)


@pytest.mark.parametrize(("unit", "up"), [("mm", "y"), ("m", "z"), ("cm", "x")])
def test_round_trips(tmp_path, unit, up):
    found = with_gaps(curve(seed=3), (0, 0, 4), (1, 10, 12), (2, 0, 40))
    write_trc(found, tmp_path / "a.trc", unit=unit, up=up)
    back = read_trc(tmp_path / "a.trc", up=up)
    assert back.names == found.names
    assert back.times == pytest.approx(found.times, abs=1e-9)
    assert (back.visible == found.visible).all()
    assert back.positions[back.visible] == pytest.approx(found.positions[back.visible], rel=1e-8)


# --- malformed files ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("PathFileType", "Path", "w.trc line 1: 'PathFileType' was expected. Is it a TRC file"),
        ("\t3\t2\tmm", "\t4\t2\tmm", r"line 3: 4 frames are announced, the file has 3. .* frames=slice\(0, 3\)"),
        ("\t3\t2\tmm", "\t2\t2\tmm", "line 3: 2 frames are announced, the file has 3"),
        ("\t3\t2\tmm", "\t3\t3\tmm", "line 4: 3 markers are announced in line 3, 2 are named"),
        ("\t3\t2\tmm", "\t3\tx\tmm", "line 3: 'x' is not a number of markers"),
        ("\t3\t2\tmm", "\t-3\t2\tmm", "line 3: '-3' is not a number of frames"),
        ("\t3\t2\tmm", "\t3\t2", "line 3: 5 settings are named in line 2, 4 are there"),
        ("mm", "furlong", "line 3: Units are 'furlong'; known are m, cm, mm"),
        ("Units", "", r"line 2 has no Units. Give the unit: unit='mm'"),
        ("NumMarkers", "Markers", "line 2: NumMarkers was expected"),
        ("Frame#", "Frames", "line 4: 'Frame#', 'Time' and names of markers were expected"),
        ("Head", "R.Heel", "line 4: two markers are named 'R.Heel'"),
        ("R.Heel", "", "line 4: marker 1 has no name"),
        ("0.01\t\t", "0.01\t7\t", "line 8, marker 'R.Heel': .* is not a position"),
        ("40", "inf", "line 8, marker 'Head': .* is not a position"),
        ("40", "4O", "line 8, marker 'Head': '4O' is not a number"),
        ("0.01", "", "line 8: the time is missing"),
        ("0.01", "nan", "line 8: the time is missing or not finite"),
        ("0.01", "0.00", "line 8: the time 0 s follows 0 s. Times must increase"),
        ("60\n", "60\t7\n", r"line 8: 8 numbers expected \(2 markers\), 9 found"),
        ("\t60\n", "\n", r"line 8: 8 numbers expected \(2 markers\), 7 found"),
        (NAMES + ROWS, "", "has 3 lines: five of header were expected"),
    ],
)
def test_errors_name_the_line(old, new, message):
    assert old in HEAD + NAMES + ROWS
    with pytest.raises(MotionFileError, match=message):
        markers((HEAD + NAMES + ROWS).replace(old, new, 1))


def test_truncated_last_line():
    text = (HEAD + NAMES + ROWS).rstrip()  # ambiguous: an invisible marker, or a truncated line
    with pytest.raises(MotionFileError, match=r"line 9: the last line breaks off. .* frames=slice\(0, 2\)"):
        markers(text)
    assert len(markers(text, frames=slice(0, 2))) == 2


def test_invalid_names_are_refused():
    with pytest.raises(MotionError, match=r"A marker named 'a\\tb' cannot be written"):
        format_trc(made(("a\tb",), [0], np.zeros((1, 1, 3))))
    with pytest.raises(MotionError, match="unit='mile' is not one of"):
        format_trc(curve(), unit="mile")


def test_damaged_files_never_crash():
    refused = 0
    for text in damaged(HEAD + NAMES + ROWS, 5):
        try:
            found = markers(text)
        except BrachiateError:
            refused += 1
        else:
            assert found.positions.shape == (len(found.times), len(found.names), 3)
    assert 500 < refused < 1450  # both outcomes occur


@needs_data
def test_recorded_markers(tmp_path):
    found = read_trc(DATA)
    assert found.positions.shape == (151, 41, 3)
    assert found.rate == pytest.approx(60)
    assert 0.9 < found["R.ASIS"][:, 2].mean() < 1.2
    assert found.positions[..., 2].max() < 2.0
    write_trc(found, tmp_path / "a.trc")
    back = read_trc(tmp_path / "a.trc")
    assert back.positions == pytest.approx(found.positions, abs=1e-8)
    assert back.times == pytest.approx(found.times, abs=1e-8)
