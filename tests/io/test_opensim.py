"""OpenSim tables: header variants, exact round trips, force plates, malformed files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.io.mutations import damaged

from brachiate.errors import ArgumentError, BrachiateError, MotionError, MotionFileError, UnknownName
from brachiate.io.opensim import Table, force_plates, format_table, parse_table, read_table, write_table

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "opensim" / "gait2354"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"recordings to try on are not there: {DATA}")
PLAIN = "walk\nversion=1\nnRows=3\nnColumns=4\ninDegrees=yes\n\nAngles are in degrees.\nendheader\ntime\thip\tpelvis_tx\tpelvis_tilt\n"
ROWS = "0.0\t90\t1.5\t180\n0.1\t45\t1.6\t-90\n0.2\t0\t1.7\t1e-3\n"


def table(text):
    return parse_table(text, "walk.mot")


def made(name, times, columns, values, degrees=False):
    """Table from lists or arrays."""
    return Table(name, times, columns, values, degrees)


def plates_table(columns, rows=2):
    values = np.arange(rows * len(columns), dtype=float).reshape(rows, -1)
    return made("grf", np.arange(rows), columns, values)


# --- reading ------------------------------------------------------------------------------------


def test_simple_table():
    t = table(PLAIN + ROWS)
    assert t.name == "walk"
    assert t.columns == ("hip", "pelvis_tx", "pelvis_tilt")
    assert t.times == pytest.approx([0, 0.1, 0.2])
    assert t["pelvis_tilt"] == pytest.approx([180, -90, 1e-3])
    assert t.degrees
    assert t.assumptions == ()
    assert len(t) == 3


@pytest.mark.parametrize(
    ("text", "name", "degrees", "assumptions"),
    [
        ("a b c\nnRows=1\nnColumns=3\ninDegrees=no\nend header\ntime a b\n0 1 2\n", "a b c", False, 0),  # blanks between labels
        (
            "x\t\t\nnRows=1\t\t\nnColumns=3\t\t\ninDegrees=no\t\t\nendheader\t\t\ntime\ta\tb\n0\t1\t2\n",
            "x",
            False,
            0,
        ),  # written by a spreadsheet
        (
            "inDegrees=yes\nDataType=double\nversion=3\nOpenSimVersion=4.1\nendheader\ntime\ta\tb\n0\t1\t2\n",
            "walk",
            True,
            0,
        ),  # of OpenSim 4
        ("name old\ndatacolumns 3\ndatarows 1\notherdata 1\nrange 0.0 1.0\nendheader\n\ntime\ta\tb\n0 1 2\n", "old", True, 1),  # of SIMM
        ("x\r\nnRows=1\r\nNCOLUMNS = 3\r\nindegrees=NO\r\nEndHeader\r\nTime\ta\tb\r\n0\t1\t2\r\n", "x", False, 0),
        ("x\nendheader\n\ntime a b\n\n  0.0   1.0\t2.0 \n\n", "x", False, 1),
    ],
)
def test_header_formats(text, name, degrees, assumptions):
    t = table(text)
    assert (t.name, t.columns, t.degrees, len(t.assumptions)) == (name, ("a", "b"), degrees, assumptions)
    assert t.values.tolist() == [[1.0, 2.0]]
    if assumptions:
        assert t.assumptions[0].argument == "degrees"


def test_column_names_with_blanks():
    assert table("x\nnColumns=3\ninDegrees=no\nendheader\ntime\tleft hip\tb\n0\t1\t2\n").columns == ("left hip", "b")


def test_arguments_override_the_file():
    assert not parse_table(PLAIN + ROWS, "walk.mot", degrees=False).degrees


def test_rows_of_a_truncated_file():
    cut = (PLAIN + ROWS)[:-5]
    t = parse_table(cut, "walk.mot", frames=slice(0, 2))
    assert len(t) == 2
    assert parse_table(PLAIN + ROWS, "walk.mot", frames=slice(None, None, 2)).times == pytest.approx([0, 0.2])


def test_radians():
    t = table(PLAIN + ROWS)
    r = t.radians()
    assert not r.degrees
    assert r["hip"] == pytest.approx(np.radians([90, 45, 0]))
    assert r["pelvis_tilt"] == pytest.approx(np.radians([180, -90, 1e-3]))  # begins like the name of a translation
    assert (r["pelvis_tx"] == t["pelvis_tx"]).all()
    assert r.radians() is r
    assert (t.radians(["hip"])["hip"] == t["hip"]).all()
    assert (t.radians(lambda name: name == "pelvis_tilt")["pelvis_tilt"] == t["pelvis_tilt"]).all()
    assert t.radians([])["pelvis_tx"] == pytest.approx(np.radians(t["pelvis_tx"]))
    long = made("s", [0], ("/jointset/hip/flexion/value", "/jointset/p/pelvis_tx/value", "tz", "ground_force_vx"), [[180] * 4], True)
    assert long.radians().values == pytest.approx(np.array([[np.pi, 180, 180, 180]]))
    with pytest.raises(UnknownName, match=r"'hop' is not a column of the table 'walk'. Did you mean 'hip'"):
        t.radians(["hop"])


def test_round_trips_are_exact(tmp_path):
    random_ = np.random.default_rng(1)
    for degrees in (False, True):
        values = random_.normal(size=(20, 5)) * 10.0 ** random_.integers(-200, 200, size=(20, 5))
        t = made("some name", np.cumsum(random_.random(20)), (*"abcd", "left hip"), values, degrees)
        write_table(t, tmp_path / "t.sto")
        back = read_table(tmp_path / "t.sto")
        assert (back.name, back.columns, back.degrees, back.assumptions) == (t.name, t.columns, t.degrees, ())
        assert (back.values == t.values).all()
        assert (back.times == t.times).all()


# --- force plates -------------------------------------------------------------------------------

AXES = "xyz"


@pytest.mark.parametrize(
    ("force", "torque", "name"),
    [
        ("ground_force_", "ground_torque_", "ground_force"),
        ("1_ground_force_", "1_ground_torque_", "1_ground_force"),
        ("ground_force_1_", "ground_torque_1_", "ground_force_1"),
        ("ground_force_r_", "ground_moment_r_m", "ground_force_r"),
        ("R_ground_force_", "R_ground_moment_", "r_ground_force"),
    ],
)
def test_plates_are_identified_by_name(force, torque, name):
    t = plates_table([f"{force}v{x}" for x in AXES] + [f"{torque}{x}" for x in AXES] + [f"{force}p{x}" for x in AXES] + ["other"])
    (plate,) = force_plates(t)
    assert plate.name == name
    assert plate.force[0].tolist() == [0, 1, 2]
    assert plate.moment[0].tolist() == [3, 4, 5]
    assert plate.point[0].tolist() == [6, 7, 8]
    ours = plate.z_up()
    assert ours.force[0].tolist() == [2, 0, 1]  # y of the file is up
    assert ours.point[0].tolist() == [8, 6, 7]


def test_two_plates_and_one_without_torques():
    names = [f"{k}ground_force_{part}{x}" for k in ("", "1_") for part in "vp" for x in AXES]
    one, two = force_plates(plates_table([*names, *(f"1_ground_torque_{x}" for x in AXES)]))
    assert (one.name, two.name) == ("ground_force", "1_ground_force")
    assert not one.moment.any()
    assert two.moment[0].tolist() == [12, 13, 14]


def test_incomplete_plates():
    with pytest.raises(MotionError, match="lacks y of its point"):
        force_plates(plates_table([f"f_force_v{x}" for x in AXES] + ["f_force_px", "f_force_pz"]))
    with pytest.raises(MotionError, match="lacks x, y, z of its point"):
        force_plates(plates_table([f"f_force_v{x}" for x in AXES]))
    with pytest.raises(MotionError, match="belong to no force"):
        force_plates(plates_table([f"ground_torque_{x}" for x in AXES]))
    with pytest.raises(MotionError, match=r"has no force plates: columns such as ground_force_vx, .* found a, b"):
        force_plates(plates_table(["a", "b"]))
    with pytest.raises(MotionError, match="are the same part of one plate"):
        force_plates(plates_table(["Force_vx", "force_vx"]))


# --- malformed files ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nRows=3", "nRows=4", r"walk.mot line 3: 4 rows are announced, the file has 3: .* frames=slice\(0, 3\)"),
        ("nRows=3", "nRows=2", "line 3: 2 rows are announced, the file has 3"),
        ("nRows=3", "nRows=many", "line 3: a whole number was expected, not 'many'"),
        ("nRows=3", "nRows=-3", "line 3: a whole number was expected, not '-3'"),
        ("nColumns=4", "nColumns=5", "line 9: 5 columns are announced in line 4, 4 are named"),
        ("inDegrees=yes", "inDegrees=maybe", "line 5: inDegrees=yes or inDegrees=no was expected, not 'maybe'"),
        ("version=1", "DataType=Vec3", "line 2: columns of DataType=Vec3 are not read"),
        ("endheader\n", "", "has no line 'endheader': the file was cut short"),
        ("time\thip", "hip\ttime", "line 9: the first column must be 'time', not 'hip'"),
        ("hip\tpelvis_tx", "hip\t", "line 9: column 3 has no name"),
        ("pelvis_tilt", "hip", "line 9: two columns are named 'hip'"),
        ("45", "nan", "line 11, column 'hip': 'nan' is not finite"),
        ("1.6", "-Inf", "line 11, column 'pelvis_tx': '-Inf' is not finite"),
        ("1e-3", "1e999", "line 12, column 'pelvis_tilt': '1e999' is not finite"),
        ("45", "4,5", "line 11, column 'hip': '4,5' is not a number"),
        ("\t-90", "", "line 11: 4 numbers expected, as there are columns, 3 found"),
        ("\t-90", "\t-90\t7", "line 11: 4 numbers expected, as there are columns, 5 found"),
        ("0.1\t", "0.3\t", r"line 12: the time 0.2 s follows 0.3 s. .* frames=slice\(0, 2\)"),
        ("0.1\t", "0.0\t", "line 11: the time 0 s occurs twice"),
        (ROWS, "", "line 3: 3 rows are announced, the file has 0"),
        ("nRows=3\n", "nRows=0\n", "line 3: 0 rows are announced, the file has 3"),
    ],
)
def test_errors_name_the_line(old, new, message):
    assert old in PLAIN + ROWS
    with pytest.raises(MotionFileError, match=message):
        table((PLAIN + ROWS).replace(old, new, 1))


def test_misplaced_number_is_detected():
    with pytest.raises(MotionFileError, match="line 10: 4 numbers expected"):
        table(PLAIN + "0.0 90 1.5\n180 0.1 45 1.6 -90\n0.2 0 1.7 1e-3\n")


def test_empty_tables(tmp_path):
    with pytest.raises(MotionFileError, match="there is no such file"):
        read_table(tmp_path / "none.mot")
    with pytest.raises(MotionFileError, match="ends after its header"):
        table("x\nendheader\n\n")
    with pytest.raises(MotionFileError, match="has no rows"):
        table("x\nendheader\ntime\ta\n")
    with pytest.raises(MotionFileError, match=r"has \d+ rows, numbered 0 to \d+: none of them is in the selected range"):
        parse_table(PLAIN + ROWS, "walk.mot", frames=slice(7, 9))


def test_invalid_tables():
    with pytest.raises(MotionError, match="Times must increase from row to row; row 1 does not"):
        made("t", [0, 0], ("a",), [[1], [2]])
    with pytest.raises(MotionError, match="Two columns are named 'a'"):
        made("t", [0], ("a", "a"), [[1, 2]])
    with pytest.raises(ArgumentError, match="values: every number must be finite"):
        made("t", [0], ("a",), [[np.nan]])
    with pytest.raises(ArgumentError, match="values: expected an array of shape"):
        made("t", [0], ("a",), [[1, 2]])
    with pytest.raises(UnknownName, match="'b' is not a column of the table 't'"):
        made("t", [0], ("a",), [[1]])["b"]
    with pytest.raises(MotionError, match=r"A column named 'a\\tb' cannot be written"):
        format_table(made("t", [0], ("a\tb",), [[1]]))
    for name in ("", "nRows=4", "endheader", "a\nb"):
        with pytest.raises(MotionError, match="cannot be written: its name must be one line"):
            format_table(made(name, [0], ("a",), [[1]]))


def test_damaged_files_never_crash():
    refused = 0
    for text in damaged(PLAIN + ROWS, 9):
        try:
            t = table(text)
        except BrachiateError:
            refused += 1
        else:
            assert np.isfinite(t.values).all()
            assert t.values.shape == (len(t.times), len(t.columns))
    assert 500 < refused < 1450  # both outcomes occur


# --- recordings ---------------------------------------------------------------------------------


@needs_data
def test_recordings_are_read_and_written_back_exactly(tmp_path):
    files = [*DATA.glob("*.mot"), *DATA.glob("*.sto")]
    assert len(files) >= 5
    for file in files:
        t = read_table(file)
        assert t.assumptions == ()
        write_table(t, tmp_path / file.name)
        back = read_table(tmp_path / file.name)
        assert (back.values == t.values).all()
        reference = np.loadtxt(file.read_text().lower().partition("endheader")[2].splitlines()[2:])
        assert (np.column_stack((t.times, t.values)) == reference).all()


@needs_data
def test_plates_support_the_body_weight():
    t = read_table(DATA / "subject01_walk1_grf.mot")
    one, two = (plate.z_up() for plate in force_plates(t))
    both = one.force + two.force
    assert 700 < both[:, 2].mean() < 730  # [N] of 72.6 kg: the mean over whole steps is about the weight
    assert np.abs(both[:, :2].mean(axis=0)).max() < 10
    angles = read_table(DATA / "subject01_walk1_ik.mot").radians()
    assert np.abs(angles["knee_angle_r"]).max() < 1.4
    assert 0.9 < angles["pelvis_ty"].mean() < 1.1
