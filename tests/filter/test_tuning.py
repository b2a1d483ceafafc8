"""Tuning: what counts, that the search finds it, and that the same comes out again."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace

import pytest

import brachiate as br
from brachiate import procedural
from brachiate.errors import ArgumentError, BrachiateError, MotionError
from brachiate.filter import tuning
from brachiate.filter.offline import filter_motion
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tuning import SEARCHED, Outcome, tune, value_of, with_values
from brachiate.motion.motion import motion_of

pytest.importorskip("optuna")
USUAL = FilterSettings()


@pytest.fixture(scope="module")
def squat():
    return clean(motion_of(procedural.make("squat", seconds=0.6)))


def outcome(off=2.0, finished=True, done=1.0, effort=0.5):
    return Outcome(finished, done, off, off, effort)


def away(settings, name, best):
    """How far a setting is from what is best, in doublings."""
    return abs(math.log2(value_of(settings, name) / best))


# --- what counts ----------------------------------------------------------------------------------


def test_finishing_counts_most_then_being_near_then_effort():
    order = [
        outcome(2.0, effort=0.4), outcome(2.0, effort=0.5), outcome(2.2, effort=0.1), outcome(60.0),
        outcome(1.0, finished=False, done=0.9), outcome(0.5, finished=False, done=0.5), outcome(math.nan, finished=False, done=0.0),
    ]  # fmt: skip
    costs = [each.cost for each in order]
    assert costs == sorted(costs)
    assert len(set(costs)) == len(costs)


def test_settings_by_name():
    made = with_values(USUAL, {"joint_stiffness": 4 * USUAL.joint_stiffness, "plan.centre": 0.1})
    assert (made.joint_stiffness, made.plan.centre) == (4 * USUAL.joint_stiffness, 0.1)
    assert made.joint_damping == 2 * USUAL.joint_damping  # as damped as it was
    assert with_values(USUAL, {name: value_of(USUAL, name) for name in SEARCHED}) == USUAL


# --- the search -----------------------------------------------------------------------------------


def test_it_finds_what_is_best_and_what_matters(squat, monkeypatch):
    def tried(reference, settings, strength, mode, first):
        return outcome(1.0 + away(settings, "plan.centre", 0.06) + 0.01 * away(settings, "plan.turn", 0.03))

    monkeypatch.setattr(tuning, "_tried", tried)
    found = tune(squat, trials=60, progress=False)
    assert found.better
    assert found.settings.plan.centre == pytest.approx(0.06, rel=0.2)
    assert max(found.matters, key=found.matters.get) == "plan.centre"
    assert sum(found.matters.values()) == pytest.approx(1.0)
    assert set(found.matters) == set(SEARCHED)
    for name in SEARCHED:
        assert 0.25 <= value_of(found.settings, name) / value_of(USUAL, name) <= 4.0


def test_where_nothing_is_better_the_defaults_are_kept(squat, monkeypatch, tmp_path):
    def tried(reference, settings, strength, mode, first):
        return outcome(2.0 + sum(away(settings, name, value_of(USUAL, name)) for name in SEARCHED))

    monkeypatch.setattr(tuning, "_tried", tried)
    found = tune(squat, trials=12, progress=False)
    assert not found.better
    assert found.settings == USUAL
    assert found.tuned == found.default
    found.save(tmp_path / "mine.json")
    assert json.loads((tmp_path / "mine.json").read_text())["settings"] == {}
    assert br.load_settings(tmp_path / "mine.json") == USUAL


def test_who_falls_with_the_defaults_is_helped_up(squat, monkeypatch):
    def tried(reference, settings, strength, mode, first):
        return outcome(5.0) if settings.joint_stiffness > 150.0 else outcome(1.0, finished=False, done=0.5)

    monkeypatch.setattr(tuning, "_tried", tried)
    found = tune([squat, squat], trials=20, progress=False)
    assert found.better
    assert list(found.default) == ["squat", "squat 2"]
    assert not found.default["squat"].finished
    assert all(each.finished for each in found.tuned.values())


def test_the_same_comes_out_again_beginning_with_the_defaults(squat):
    first, again = (tune(squat, trials=3, strength=math.inf, progress=False) for _ in range(2))
    assert first == again
    done = filter_motion(squat, strength=math.inf, progress=False)
    assert first.default["squat"].off == done.tracking["mpjpe_global_cm"]
    assert first.default["squat"].effort > 0.0
    assert first.matters == {}  # too few trials
    assert first.found["strength"] == "none"


def test_a_motion_is_cleaned_up_once(monkeypatch):
    cleaned = []
    monkeypatch.setattr(tuning, "clean", lambda motion: cleaned.append(motion) or clean(motion))
    monkeypatch.setattr(tuning, "_tried", lambda *_, **__: outcome())
    tune(motion_of(procedural.make("squat", seconds=0.6)), trials=5, progress=False)
    assert len(cleaned) == 1


def test_time_ends_it(squat, monkeypatch):
    monkeypatch.setattr(tuning, "_tried", lambda *_, **__: outcome())
    assert tune(squat, seconds=1e-9, progress=False).trials == 1


def test_a_file_says_how_it_was_found(squat, monkeypatch, tmp_path):
    monkeypatch.setattr(tuning, "_tried", lambda reference, settings, *_, **__: outcome(away(settings, "plan.centre", 0.06)))
    found = tune(squat, trials=12, mode="preview", progress=False)
    found.save(tmp_path / "mine.json")
    assert br.load_settings(tmp_path / "mine.json") == found.settings
    told = json.loads((tmp_path / "mine.json").read_text())["found"]
    assert "seed 0" in told["by"]
    assert (told["trials"], told["mode"], told["strength"]) == (12, "preview", 1.0)
    assert set(told["clips"]) == {"squat"}


# --- doors ----------------------------------------------------------------------------------------


def test_optuna_is_an_extra(squat, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(BrachiateError, match=r"pip install 'brachiate\[tune\]'"):
        tune(squat)


@pytest.mark.parametrize(
    ("given", "message"),
    [({"trials": 0}, "trials"), ({"seconds": 0.0}, "seconds"), ({"strength": 0.0}, "strength"), ({"mode": "x"}, "mode")],
)
def test_bad_options_are_refused(squat, given, message):
    with pytest.raises(ArgumentError, match=message):
        tune(squat, **given)


@pytest.mark.parametrize(
    ("motions", "message"), [([], "one at least"), ("walk", "expected a Motion"), ([3], "expected a Motion"), (3, "a Motion")]
)
def test_what_is_no_motion_is_refused(motions, message):
    with pytest.raises(ArgumentError, match=message):
        tune(motions)


def test_what_is_refused_with_the_defaults_is_no_matter_of_settings(squat):
    with pytest.raises(MotionError, match="squat cannot be filtered: The reference never stands"):
        tune(replace(squat, stances=()), progress=False)
