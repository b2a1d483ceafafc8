"""Files of settings: there and back, and what is wrong in them is named."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import brachiate as br
from brachiate.centroidal.settings import PlanSettings
from brachiate.errors import ArgumentError, FileFormatError, UnknownName
from brachiate.filter.settings import FORMAT, FilterSettings, load_settings

CHANGED = FilterSettings(joint_stiffness=200.0, cone=0.8, plan=PlanSettings(centre=0.05, least_push=-0.5))


def written(tmp_path, **parts):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"format": FORMAT, **parts}))
    return path


@pytest.mark.parametrize("settings", [FilterSettings(), CHANGED, replace(CHANGED, plan=PlanSettings())])
def test_there_and_back(settings, tmp_path):
    settings.save(tmp_path / "mine.json")
    assert br.load_settings(tmp_path / "mine.json") == settings


def test_only_what_is_changed_is_written_and_how_it_was_found(tmp_path):
    CHANGED.save(tmp_path / "mine.json", {"by": "hand"})
    told = json.loads((tmp_path / "mine.json").read_text())
    plan = {"centre": 0.05, "least_push": -0.5}
    assert told == {"format": FORMAT, "found": {"by": "hand"}, "settings": {"joint_stiffness": 200.0, "cone": 0.8, "plan": plan}}


def test_an_empty_one_is_the_default(tmp_path):
    assert load_settings(written(tmp_path)) == FilterSettings()
    assert load_settings(written(tmp_path, settings={"joint_stiffness": 200})).joint_stiffness == 200.0


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"joint_stifness": 1}, UnknownName, "'joint_stifness' is not a setting.*mine.json.*Did you mean 'joint_stiffness'"),
        ({"plan": {"center": 1}}, UnknownName, r"'plan.center' is not a setting of the plan.*Did you mean 'plan.centre'"),
        ({"cone": "wide"}, FileFormatError, "mine.json: cone: expected a number, got 'wide'"),
        ({"cone": True}, FileFormatError, "cone: expected a number, got True"),
        ({"cone": None}, FileFormatError, "cone: expected a number, got None"),
        ({"cone": [0.5]}, FileFormatError, "cone: expected a number"),
        ({"cone": 1.5}, FileFormatError, "mine.json: cone must be at most 1, got 1.5"),
        ({"cone": float("nan")}, FileFormatError, "cone: expected a number, got NaN"),
        ({"replan": float("inf")}, FileFormatError, "replan must be"),
        ({"replan": 10**400}, FileFormatError, "replan"),
        ({"joint_stiffness": -1}, FileFormatError, "joint_stiffness must be more than 0, got -1"),
        ({"plan": {"centre": 0}}, FileFormatError, "plan.centre must be more than 0, got 0"),
        ({"plan": {"least_push": 1}}, FileFormatError, "plan.least_push must be"),
        ({"plan": 3}, FileFormatError, "plan: expected numbers by name"),
        ([1], FileFormatError, "settings: expected numbers by name"),
    ],
)
def test_what_is_wrong_is_named(settings, error, message, tmp_path):
    with pytest.raises(error, match=message):
        load_settings(written(tmp_path, settings=settings))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": "brachiate settings 2"}', 'expected "format": "brachiate settings 1", found .brachiate settings 2'),
        ('{"joint_stiffness": 3}', "is no file of settings"),
        ("[]", "is no file of settings"),
        ('{\n"format": ', "line 2: this is no JSON"),
        ('{"cone": 1, "cone": 2}', "'cone' is there twice"),
        ("[" * 100_000, "nested too deep"),
        ("\xff", "no text"),
        ('{"format": "' + 5_000_000 * " " + '"}', "5 MB is more than a file of settings may have"),
    ],
)
def test_other_files_are_refused(text, message, tmp_path):
    path = tmp_path / "mine.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(FileFormatError, match=message):
        load_settings(path)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileFormatError, match="no such file"):
        load_settings(tmp_path / "mine.json")
    with pytest.raises(ArgumentError, match="the settings cannot be written"):
        CHANGED.save(tmp_path / "nowhere" / "mine.json")
    with pytest.raises(UnknownName, match=r"'setings' is not a part of a file of settings.*Did you mean 'settings'"):
        load_settings(written(tmp_path, setings={}))
