"""Pushes: from text and files, their impulse, and how the filter recovers."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.errors import ArgumentError, MotionFileError, UnknownName
from brachiate.filter.offline import filter_motion
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.tracking.disturbances import MAX_PUSHES, Push, load_pushes, parse_push


@pytest.fixture(scope="module")
def stand() -> Reference:
    return make_reference(procedural.sample_motion("squat", seconds=1.6, depth=0.05))


def test_a_push_changes_the_momentum_by_its_impulse():
    world = br.World(gravity=(0, 0, 0))
    world.add(br.figures.box(mass=4.0), name="man").place((0, 0, 1))
    simulation = br.Simulation(world, dt=0.002)
    Push("box", (8.0, 0.0, -2.0), start=0.1, duration=0.0503).schedule(simulation, "man")  # not a whole number of steps
    run = simulation.run(0.3, progress=False)
    assert run["momentum"][-1] == pytest.approx((8.0 * 0.0503, 0.0, -2.0 * 0.0503), abs=1e-12)
    assert run["momentum"][49] == pytest.approx((0, 0, 0), abs=1e-12)


@pytest.mark.parametrize("force", [(80.0, 0.0, 0.0), (0.0, -60.0, 0.0)])
def test_a_pushed_figure_gives_way_and_keeps_its_balance(stand, force):
    calm = filter_motion(stand, progress=False)
    pushed = filter_motion(stand, pushes=[Push("spine2", force, start=0.6, duration=0.1)], progress=False)
    assert pushed.success, pushed.failure
    displacement = (pushed.motion.q - calm.motion.q)[:, :3] @ np.array(force) / np.linalg.norm(force)
    before, after = stand.times < 0.6 - 1e-9, stand.times > 0.7
    assert (displacement[before] == 0.0).all()  # the filter does not know of it in advance
    assert displacement[after].max() > 0.002  # measured: 5 and 4 mm


def test_a_huge_push_makes_the_figure_fall(stand):
    pushed = filter_motion(stand, pushes=[Push("spine2", (3000.0, 0.0, 0.0), start=0.4, duration=0.2)], retries=0, progress=False)
    assert not pushed.success
    assert pushed.failure.time > 0.4
    assert np.isfinite(pushed.motion.q).all()


def test_pushes_from_text():
    assert parse_push("chest:80,0,-5@1.0+0.2") == Push("chest", (80.0, 0.0, -5.0), 1.0, 0.2)
    assert parse_push(" pelvis : 0,1e2,0 @ 2 ") == Push("pelvis", (0.0, 100.0, 0.0), 2.0, 0.1)


@pytest.mark.parametrize(
    "text", ["", "chest", "chest:80@1", "chest:80,0@1", "chest:a,0,0@1", "chest:80,0,0", "chest:80,0,0@", "chest:1,2,3@x+1"]
)
def test_invalid_text_raises_an_error(text):
    with pytest.raises(ArgumentError, match="is not a push"):
        parse_push(text)


@pytest.mark.parametrize("text", ["chest:nan,0,0@1", "chest:80,0,0@-1", "chest:80,0,0@1+0", "chest:80,0,0@1+inf"])
def test_invalid_numbers_raise_an_error(text):
    with pytest.raises(ArgumentError):
        parse_push(text)


def test_an_unknown_link_raises_an_error(stand):
    with pytest.raises(UnknownName, match="spine2"):
        filter_motion(stand, pushes=[Push("tail", (1.0, 0.0, 0.0), 0.1)])


# --- files ----------------------------------------------------------------------------------------

TABLE = "link,x,y,z,start,duration,px,py,pz\nchest,80,0,-5,1.0,0.2,0,0,0.1\n\n pelvis , 0,1e2,0,2,,,,\n"
ROWS = """[{"link": "chest", "x": 80, "y": 0, "z": -5, "start": 1, "duration": 0.2, "pz": 0.1},
           {"link": "pelvis", "x": 0, "y": 1e2, "z": 0, "start": 2}]"""


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("name", "text"), [("a.csv", TABLE), ("a.CSV", "\ufeff" + TABLE.replace("\n", "\r\n")), ("a.json", ROWS)])
def test_from_a_file(name, text, tmp_path):
    pushes = br.load_pushes(written(tmp_path, name, text), ["pelvis", "chest"])
    assert pushes == [Push("chest", (80.0, 0.0, -5.0), 1.0, 0.2, (0.0, 0.0, 0.1)), Push("pelvis", (0.0, 100.0, 0.0), 2.0)]


def test_columns_may_be_in_any_order(tmp_path):
    assert load_pushes(written(tmp_path, "a.csv", "start,link,z,y,x\n1,chest,3,2,1\n")) == [Push("chest", (1.0, 2.0, 3.0), 1.0)]


HEAD = "link,x,y,z,start,duration\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "a.csv is empty"),
        ("a.csv", "link,x,y,z\nchest,1,2,3\n", "a.csv line 1: the column 'start' is missing. The columns are link,x,y,z,start and"),
        ("a.csv", "link,x,y,z,start,x\n", "the column 'x' occurs twice"),
        ("a.csv", "link,x,y,z,start,length\n", "'length' is not a column of a file of pushes .*a.csv line 1"),
        ("a.csv", "link;x;y;z;start\n", "is not a column"),
        ("a.csv", HEAD + "chest,1,2,3,1\n", r"a.csv line 2: 6 columns expected \(link,x,y,z,start,duration\), 5 found"),
        ("a.csv", HEAD + "chest,1,2,3,1,0.1\n\nchest,1,much,3,1,0.1\n", "a.csv line 4, column y: 'much' is not a number"),
        ("a.csv", HEAD + "chest,1,,3,1,0.1\n", "line 2, column y: '' is not a number"),
        ("a.csv", HEAD + "chest,1,nan,3,1,0.1\n", "line 2, column y: expected a number, got NaN"),
        ("a.csv", HEAD + "chest,1,2,inf,1,0.1\n", "line 2, column z must be finite"),
        ("a.csv", HEAD + "chest,1,2,3,-1,0.1\n", "line 2, column start must be at least 0, got -1"),
        ("a.csv", HEAD + "chest,1,2,3,1,0\n", "line 2, column duration must be more than 0, got 0"),
        ("a.csv", HEAD + ",1,2,3,1,0.1\n", "line 2, column link: expected the name of a link"),
        ("a.csv", HEAD + '"chest,1,2,3,1,0.1\n', "line 2: not a valid CSV file"),
        ("a.csv", HEAD + "chset,1,2,3,1,0.1\n", "'chset' is not a link of this figure .*a.csv line 2.*Did you mean 'chest'"),
        ("a.csv", HEAD + (MAX_PUSHES + 1) * "chest,1,2,3,1,0.1\n", "line 10002: too many pushes; at most 10000"),
        ("a.json", "{}", "expected a list of pushes"),
        ("a.json", "[3]", "expected a list of pushes"),
        ("a.json", '[{"link": "chest", "x": 1, "y": 2, "z": 3}]', "a.json push 0: the column 'start' is missing"),
        ("a.json", '[{"link": "chest", "x": 1, "y": 2, "z": true, "start": 1}]', "push 0, column z: True is not a number"),
        ("a.json", '[{"link": "chest", "x": 1, "y": 2, "z": null, "start": 1}]', "push 0, column z: expected a number, got None"),
        ("a.json", '[{"link": 3, "x": 1, "y": 2, "z": 3, "start": 1}]', "push 0, column link: expected the name"),
        ("a.json", '[{"link": "chest", "x": 1' + 400 * "0" + ', "y": 2, "z": 3, "start": 1}]', "push 0, column x: 1000.* is not a number"),
    ],
)
def test_errors_of_a_file_name_line_and_column(name, text, message, tmp_path):
    with pytest.raises((MotionFileError, UnknownName), match=message):
        load_pushes(written(tmp_path, name, text), ["chest"])


def test_a_missing_file(tmp_path):
    with pytest.raises(MotionFileError, match="no such file"):
        load_pushes(tmp_path / "a.csv")


# --- deprecated names -----------------------------------------------------------------------------


def test_deprecated_arguments_and_columns_are_accepted(tmp_path):
    with pytest.warns(DeprecationWarning, match="argument 'at' of Push"):
        push = Push("chest", (1.0, 2.0, 3.0), at=1.0)  # type: ignore[call-arg]
    assert push == Push("chest", (1.0, 2.0, 3.0), start=1.0)
    with pytest.warns(DeprecationWarning, match="Push.lasting"):
        assert push.lasting == push.duration
    with pytest.warns(DeprecationWarning, match="column 'at' of a file of pushes"):
        assert load_pushes(written(tmp_path, "a.csv", "link,x,y,z,at\nchest,1,2,3,1\n")) == [push]
    path = written(tmp_path, "a.json", '[{"link": "chest", "x": 1, "y": 2, "z": 3, "start": 1, "lasting": 0.1}]')
    with pytest.warns(DeprecationWarning, match="column 'lasting'"):
        assert load_pushes(path) == [push]
