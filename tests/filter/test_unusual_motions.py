"""Motions that are unusual but valid: identical frames, few frames, far away, fast and slow; results or clear errors, and valid JSON."""

from __future__ import annotations

import json
import math
from functools import cached_property

import numpy as np
import pytest

import brachiate as br
from brachiate.filter.results.result import FilterResult
from brachiate.io.json_text import format_json


def repeated(count: int, dt: float, frame: int = 0, name: str = "squat") -> br.Motion:
    """Motion of identical frames."""
    source = br.sample_motion(name)
    return br.Motion(source.figure, dt * np.arange(count), np.repeat(source.q[frame : frame + 1], count, axis=0), "still")


def moved(offset: float) -> br.Motion:
    """Walk far from the origin [m]."""
    walk = br.sample_motion("walk").frames(slice(0, 150))
    q = walk.q.copy()
    q[:, 0] += offset
    return br.Motion(walk.figure, walk.times, q, "far")


def gliding(speed: float) -> br.Motion:
    """Standing figure that moves at a constant velocity [m/s]."""
    still = repeated(90, 1 / 60)
    q = still.q.copy()
    q[:, 0] += speed * still.times
    return br.Motion(still.figure, still.times, q, "gliding")


def numbers(content) -> list[float]:
    if isinstance(content, dict):
        return [x for value in content.values() for x in numbers(value)]
    if isinstance(content, list | tuple):
        return [x for value in content for x in numbers(value)]
    return [content] if isinstance(content, float) else []


def read_strictly(path):
    """Content of a JSON file, which must not contain NaN or Infinity."""
    return json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda word: pytest.fail(f"{word} in {path.name}"))


MOTIONS = {
    "identical frames": lambda: repeated(60, 1 / 60),
    "identical frames of a walk": lambda: repeated(120, 1 / 120, 50, "walk"),
    "identical frames in flight": lambda: repeated(40, 1 / 30, 70, "jump"),
    "four frames": lambda: repeated(4, 0.05),
    "0.1 ms apart": lambda: repeated(1500, 1e-4),
    "1000 km away": lambda: moved(1e6),
    "gliding slowly": lambda: gliding(0.05),
    "one frame a second": lambda: br.Motion(br.sample_motion("squat").figure, np.arange(4.0), br.sample_motion("squat").q[:4]),
}


@pytest.mark.parametrize("name", MOTIONS)
def test_unusual_motions_give_finite_results(name, tmp_path):
    motion = MOTIONS[name]()
    report = br.check(motion)
    assert all(map(math.isfinite, numbers([report.summary, report.scores, report.published_metrics])))
    report.save(tmp_path / "report.json")
    read_strictly(tmp_path / "report.json")
    result = br.filter_motion(motion, retries=0)
    assert all(map(math.isfinite, numbers(result.metrics())))
    written = result.save(tmp_path / "out")
    assert {path.name for path in written} >= {"motion.npz", "motion.bvh", "torques.csv", "forces.csv", "metrics.json", "report.html"}
    assert all(path.stat().st_size for path in written)
    read_strictly(tmp_path / "out" / "metrics.json")


@pytest.mark.parametrize("count", [3, 4, 5])
def test_a_check_of_few_frames_has_published_metrics(count):
    # Fails if the moving average of the skating ratio is longer than the motion (a raw ValueError).
    for dt in (0.04, 0.05, 0.1):
        assert all(map(math.isfinite, br.check(repeated(count, dt)).published_metrics.values()))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_too_few_frames_are_refused_in_words(count):
    motion = repeated(count, 0.1)
    with pytest.raises(br.MotionError, match=r"at least four frames and 0\.1 s are needed"):
        br.filter_motion(motion)
    if count < 3:
        with pytest.raises(br.MotionError, match="at least three are needed"):
            br.check(motion)
    assert np.isfinite(br.retarget(motion, br.figures.human28()).motion.q).all()


def test_times_that_do_not_increase_and_motions_without_contact_are_refused_in_words():
    still = repeated(10, 0.1)
    for times in (np.zeros(10), np.repeat(np.arange(5.0), 2), -np.arange(10.0)):
        with pytest.raises(br.MotionError, match="Times must increase"):
            br.Motion(still.figure, times, still.q)
    with pytest.raises(br.MotionError, match="No contact was found"):
        br.make_reference(gliding(10.0))
    with pytest.raises(br.MotionError, match=r"400 frames over 0\.0399 s"):
        br.make_reference(repeated(400, 1e-4))


def test_a_metric_that_is_not_a_number_is_null_in_the_file(tmp_path, monkeypatch):
    # Fails if one number makes all of save() fail, after some of the files have been written.
    result = br.filter_motion(repeated(30, 1 / 60), retries=0)
    first, *others = result.tracking
    replaced = cached_property(lambda self: {first: math.nan, **dict.fromkeys(others, np.float64(np.inf))})
    replaced.__set_name__(FilterResult, "tracking")
    monkeypatch.setattr(FilterResult, "tracking", replaced)
    vars(result).pop("tracking")
    result.save(tmp_path)
    assert set(read_strictly(tmp_path / "metrics.json")["tracking"].values()) == {None}


def test_json_of_numbers_of_numpy():
    content = {"a": np.float64(1.5), "b": [np.int64(3), np.nan, (True, None, "x")], "c": np.float32(np.inf)}
    assert json.loads(format_json(content)) == {"a": 1.5, "b": [3.0, None, [True, None, "x"]], "c": None}
