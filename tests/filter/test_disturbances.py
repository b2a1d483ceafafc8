"""Pushes: by words, what they do to what is pushed, and how the filter stands them."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.errors import ArgumentError, MotionFileError, UnknownName
from brachiate.filter.offline import filter_motion
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.filter.tracking.disturbances import MOST, Shove, load_pushes, shove_of
from brachiate.motion.motion import motion_of


@pytest.fixture(scope="module")
def stand() -> Reference:
    return clean(motion_of(procedural.make("squat", seconds=1.6, depth=0.05)))


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


# --- files ----------------------------------------------------------------------------------------

TABLE = "link,x,y,z,at,lasting,px,py,pz\nchest,80,0,-5,1.0,0.2,0,0,0.1\n\n pelvis , 0,1e2,0,2,,,,\n"
ROWS = """[{"link": "chest", "x": 80, "y": 0, "z": -5, "at": 1, "lasting": 0.2, "pz": 0.1},
           {"link": "pelvis", "x": 0, "y": 1e2, "z": 0, "at": 2}]"""


def wrote(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("name", "text"), [("a.csv", TABLE), ("a.CSV", "\ufeff" + TABLE.replace("\n", "\r\n")), ("a.json", ROWS)])
def test_from_a_file(name, text, tmp_path):
    pushes = br.load_pushes(wrote(tmp_path, name, text), ["pelvis", "chest"])
    assert pushes == [Shove("chest", (80.0, 0.0, -5.0), 1.0, 0.2, (0.0, 0.0, 0.1)), Shove("pelvis", (0.0, 100.0, 0.0), 2.0)]


def test_columns_may_be_in_any_order(tmp_path):
    assert load_pushes(wrote(tmp_path, "a.csv", "at,link,z,y,x\n1,chest,3,2,1\n")) == [Shove("chest", (1.0, 2.0, 3.0), 1.0)]


HEAD = "link,x,y,z,at,lasting\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "a.csv is empty"),
        ("a.csv", "link,x,y,z\nchest,1,2,3\n", "a.csv line 1: there is no column 'at'. The columns are link,x,y,z,at and"),
        ("a.csv", "link,x,y,z,at,x\n", "the column 'x' is there twice"),
        ("a.csv", "link,x,y,z,at,duration\n", "'duration' is not a column of a file of pushes .*a.csv line 1"),
        ("a.csv", "link;x;y;z;at\n", "is not a column"),
        ("a.csv", HEAD + "chest,1,2,3,1\n", r"a.csv line 2: 6 columns expected \(link,x,y,z,at,lasting\), 5 found"),
        ("a.csv", HEAD + "chest,1,2,3,1,0.1\n\nchest,1,much,3,1,0.1\n", "a.csv line 4, column y: 'much' is no number"),
        ("a.csv", HEAD + "chest,1,,3,1,0.1\n", "line 2, column y: '' is no number"),
        ("a.csv", HEAD + "chest,1,nan,3,1,0.1\n", "line 2, column y: expected a number, got NaN"),
        ("a.csv", HEAD + "chest,1,2,inf,1,0.1\n", "line 2, column z must be finite"),
        ("a.csv", HEAD + "chest,1,2,3,-1,0.1\n", "line 2, column at must be at least 0, got -1"),
        ("a.csv", HEAD + "chest,1,2,3,1,0\n", "line 2, column lasting must be more than 0, got 0"),
        ("a.csv", HEAD + ",1,2,3,1,0.1\n", "line 2, column link: expected the name of a link"),
        ("a.csv", HEAD + '"chest,1,2,3,1,0.1\n', "line 2: this is no CSV"),
        ("a.csv", HEAD + "chset,1,2,3,1,0.1\n", "'chset' is not a link of this figure .*a.csv line 2.*Did you mean 'chest'"),
        ("a.csv", HEAD + (MOST + 1) * "chest,1,2,3,1,0.1\n", "line 10002: there are more pushes than can be read"),
        ("a.json", "{}", "expected a list of pushes"),
        ("a.json", "[3]", "expected a list of pushes"),
        ("a.json", '[{"link": "chest", "x": 1, "y": 2, "z": 3}]', "a.json push 0: there is no column 'at'"),
        ("a.json", '[{"link": "chest", "x": 1, "y": 2, "z": true, "at": 1}]', "push 0, column z: True is no number"),
        ("a.json", '[{"link": "chest", "x": 1, "y": 2, "z": null, "at": 1}]', "push 0, column z: expected a number, got None"),
        ("a.json", '[{"link": 3, "x": 1, "y": 2, "z": 3, "at": 1}]', "push 0, column link: expected the name"),
        ("a.json", '[{"link": "chest", "x": 1' + 400 * "0" + ', "y": 2, "z": 3, "at": 1}]', "push 0, column x: 1000.* is no number"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_by_line_and_column(name, text, message, tmp_path):
    with pytest.raises((MotionFileError, UnknownName), match=message):
        load_pushes(wrote(tmp_path, name, text), ["chest"])


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(MotionFileError, match="no such file"):
        load_pushes(tmp_path / "a.csv")
