"""Tuning of settings: cost of an outcome, search, determinism, provenance."""

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
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tuning import SEARCHED_SETTINGS, ClipOutcome, setting_value, tune, with_settings

pytest.importorskip("optuna")
DEFAULTS = FilterSettings()


@pytest.fixture(scope="module")
def squat():
    return make_reference(procedural.sample_motion("squat", seconds=0.6))


def outcome(error=2.0, success=True, share_done=1.0, torque_share=0.5):
    return ClipOutcome(success, share_done, error, error, torque_share)


def distance(settings, name, best):
    """Distance of a setting from its best value, in powers of two."""
    return abs(math.log2(setting_value(settings, name) / best))


# --- cost -----------------------------------------------------------------------------------------


def test_cost_orders_by_success_then_error_then_torque():
    order = [
        outcome(2.0, torque_share=0.4), outcome(2.0, torque_share=0.5), outcome(2.2, torque_share=0.1), outcome(60.0),
        outcome(1.0, success=False, share_done=0.9), outcome(0.5, success=False, share_done=0.5),
        outcome(math.nan, success=False, share_done=0.0),
    ]  # fmt: skip
    costs = [each.cost for each in order]
    assert costs == sorted(costs)
    assert len(set(costs)) == len(costs)


def test_settings_by_name():
    made = with_settings(DEFAULTS, {"joint_stiffness": 4 * DEFAULTS.joint_stiffness, "plan.com_position": 0.1})
    assert (made.joint_stiffness, made.plan.com_position) == (4 * DEFAULTS.joint_stiffness, 0.1)
    assert made.joint_damping == 2 * DEFAULTS.joint_damping  # at the same damping ratio
    assert with_settings(DEFAULTS, {name: setting_value(DEFAULTS, name) for name in SEARCHED_SETTINGS}) == DEFAULTS


# --- search ---------------------------------------------------------------------------------------


def test_the_best_settings_and_their_importance_are_found(squat, monkeypatch):
    def evaluate(reference, settings, torque_scale, mode, first):
        return outcome(1.0 + distance(settings, "plan.com_position", 0.06) + 0.01 * distance(settings, "plan.orientation", 0.03))

    monkeypatch.setattr(tuning, "_evaluate", evaluate)
    found = tune(squat, trials=60, progress=False)
    assert found.improved
    assert found.settings.plan.com_position == pytest.approx(0.06, rel=0.2)
    assert max(found.importance, key=found.importance.get) == "plan.com_position"
    assert sum(found.importance.values()) == pytest.approx(1.0)
    assert set(found.importance) == set(SEARCHED_SETTINGS)
    for name in SEARCHED_SETTINGS:
        assert 0.25 <= setting_value(found.settings, name) / setting_value(DEFAULTS, name) <= 4.0


def test_defaults_are_kept_without_an_improvement(squat, monkeypatch, tmp_path):
    def evaluate(reference, settings, torque_scale, mode, first):
        return outcome(2.0 + sum(distance(settings, name, setting_value(DEFAULTS, name)) for name in SEARCHED_SETTINGS))

    monkeypatch.setattr(tuning, "_evaluate", evaluate)
    found = tune(squat, trials=12, progress=False)
    assert not found.improved
    assert found.settings == DEFAULTS
    assert found.tuned == found.default
    found.save(tmp_path / "mine.json")
    assert json.loads((tmp_path / "mine.json").read_text())["settings"] == {}
    assert br.load_settings(tmp_path / "mine.json") == DEFAULTS


def test_settings_that_prevent_a_fall_are_found(squat, monkeypatch):
    def evaluate(reference, settings, torque_scale, mode, first):
        return outcome(5.0) if settings.joint_stiffness > 150.0 else outcome(1.0, success=False, share_done=0.5)

    monkeypatch.setattr(tuning, "_evaluate", evaluate)
    found = tune([squat, squat], trials=20, progress=False)
    assert found.improved
    assert list(found.default) == ["squat", "squat 2"]
    assert not found.default["squat"].success
    assert all(each.success for each in found.tuned.values())


def test_the_search_is_deterministic_and_starts_with_the_defaults(squat):
    first, again = (tune(squat, trials=3, torque_scale=math.inf, progress=False) for _ in range(2))
    assert first == again
    result = filter_motion(squat, torque_scale=math.inf, progress=False)
    assert first.default["squat"].mpjpe == result.tracking["mpjpe_global_cm"]
    assert first.default["squat"].torque_share > 0.0
    assert first.importance == {}  # too few trials
    assert first.provenance["torque_scale"] == "none"


def test_the_reference_is_made_once(monkeypatch):
    made = []
    monkeypatch.setattr(tuning, "make_reference", lambda motion: made.append(motion) or make_reference(motion))
    monkeypatch.setattr(tuning, "_evaluate", lambda *_, **__: outcome())
    tune(procedural.sample_motion("squat", seconds=0.6), trials=5, progress=False)
    assert len(made) == 1


def test_a_time_limit_ends_the_search(squat, monkeypatch):
    monkeypatch.setattr(tuning, "_evaluate", lambda *_, **__: outcome())
    assert tune(squat, seconds=1e-9, progress=False).trials == 1


def test_a_file_has_the_provenance(squat, monkeypatch, tmp_path):
    monkeypatch.setattr(tuning, "_evaluate", lambda reference, settings, *_, **__: outcome(distance(settings, "plan.com_position", 0.06)))
    found = tune(squat, trials=12, mode="preview", progress=False)
    found.save(tmp_path / "mine.json")
    assert br.load_settings(tmp_path / "mine.json") == found.settings
    provenance = json.loads((tmp_path / "mine.json").read_text())["provenance"]
    assert "seed 0" in provenance["by"]
    assert (provenance["trials"], provenance["mode"], provenance["torque_scale"]) == (12, "preview", 1.0)
    assert set(provenance["clips"]) == {"squat"}


def test_the_old_argument_is_deprecated(squat, monkeypatch):
    monkeypatch.setattr(tuning, "_evaluate", lambda *_, **__: outcome())
    with pytest.warns(DeprecationWarning, match="'strength' of tune is deprecated.*use 'torque_scale'"):
        found = tune(squat, trials=1, strength=2.0)
    assert found.provenance["torque_scale"] == 2.0
    assert tune(squat, trials=1, torque_scale=None).provenance["torque_scale"] == "none"


# --- invalid arguments ----------------------------------------------------------------------------


def test_optuna_is_an_extra(squat, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(BrachiateError, match=r"pip install 'brachiate\[tune\]'"):
        tune(squat)


@pytest.mark.parametrize(
    ("given", "message"),
    [({"trials": 0}, "trials"), ({"seconds": 0.0}, "seconds"), ({"torque_scale": 0.0}, "torque_scale"), ({"mode": "x"}, "mode")],
)
def test_bad_options_are_refused(squat, given, message):
    with pytest.raises(ArgumentError, match=message):
        tune(squat, **given)


@pytest.mark.parametrize(
    ("motions", "message"), [([], "at least one"), ("walk", "expected a Motion"), ([3], "expected a Motion"), (3, "a Motion")]
)
def test_other_arguments_than_motions_are_refused(motions, message):
    with pytest.raises(ArgumentError, match=message):
        tune(motions)


def test_a_motion_refused_with_the_defaults_is_an_error(squat):
    with pytest.raises(MotionError, match="squat cannot be filtered: The reference has no stance"):
        tune(replace(squat, stances=()), progress=False)
