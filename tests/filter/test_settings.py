"""Settings files: written and read back, version 1 read by the old names, errors named."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest

import brachiate as br
from brachiate.centroidal.settings import RENAMED_SETTINGS as RENAMED_PLAN_SETTINGS
from brachiate.centroidal.settings import PlanSettings
from brachiate.errors import ArgumentError, FileFormatError, UnknownName
from brachiate.filter.settings import FORMAT, FORMAT_1, RENAMED_SETTINGS, FilterSettings, load_settings

CHANGED = FilterSettings(joint_stiffness=200.0, friction_share=0.8, plan=PlanSettings(com_position=0.05, min_vertical_acceleration=-0.5))


def written(tmp_path, version=FORMAT, **parts):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"format": version, **parts}))
    return path


@pytest.mark.parametrize("settings", [FilterSettings(), CHANGED, replace(CHANGED, plan=PlanSettings())])
def test_save_and_load(settings, tmp_path):
    settings.save(tmp_path / "mine.json")
    assert br.load_settings(tmp_path / "mine.json") == settings


def test_only_changed_values_and_their_provenance_are_written(tmp_path):
    CHANGED.save(tmp_path / "mine.json", {"by": "hand"})
    content = json.loads((tmp_path / "mine.json").read_text())
    plan = {"com_position": 0.05, "min_vertical_acceleration": -0.5}
    values = {"joint_stiffness": 200.0, "friction_share": 0.8, "plan": plan}
    assert content == {"format": "brachiate settings 2", "provenance": {"by": "hand"}, "settings": values}


def test_an_empty_file_has_the_defaults(tmp_path):
    assert load_settings(written(tmp_path)) == FilterSettings()
    assert load_settings(written(tmp_path, settings={"joint_stiffness": 200})).joint_stiffness == 200.0


def test_version_1_is_read_by_its_old_names(tmp_path):
    values = {"joint_stiffness": 200.0, "cone": 0.8, "plan": {"centre": 0.05, "least_push": -0.5}}
    assert load_settings(written(tmp_path, FORMAT_1, found={"by": "hand"}, settings=values)) == CHANGED


def test_every_old_name_is_read_as_the_new_one(tmp_path):
    for renamed, kind in ((RENAMED_SETTINGS, FilterSettings), (RENAMED_PLAN_SETTINGS, PlanSettings)):
        names = {field.name for field in fields(kind)}
        assert set(renamed.values()) <= names
        assert len(set(renamed.values())) == len(renamed)
        for old, new in renamed.items():
            value = 0.5 * getattr(kind(), new)
            values = {old: value} if kind is FilterSettings else {"plan": {old: value}}
            loaded = load_settings(written(tmp_path, FORMAT_1, settings=values))
            assert getattr(loaded if kind is FilterSettings else loaded.plan, new) == value
            with pytest.raises(UnknownName, match=old):
                load_settings(written(tmp_path, settings=values))


def test_a_setting_given_by_both_names_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match="friction_share is given twice, the second time as cone"):
        load_settings(written(tmp_path, FORMAT_1, settings={"friction_share": 0.8, "cone": 0.7}))


def test_old_names_in_python_are_deprecated(tmp_path):
    with pytest.warns(DeprecationWarning, match="argument 'cone' of FilterSettings is deprecated.*use 'friction_share'"):
        settings = FilterSettings(cone=0.8)
    assert settings.friction_share == 0.8
    with pytest.warns(DeprecationWarning, match=r"FilterSettings.cone is deprecated.*use FilterSettings.friction_share"):
        assert settings.cone == 0.8
    with pytest.warns(DeprecationWarning, match="'found' of save is deprecated.*use 'provenance'"):
        settings.save(tmp_path / "mine.json", found={"by": "hand"})
    with pytest.raises(ArgumentError, match="'cone' is the deprecated name of 'friction_share'"):
        FilterSettings(cone=0.8, friction_share=0.8)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"joint_stifness": 1}, UnknownName, "'joint_stifness' is not a setting.*mine.json.*Did you mean 'joint_stiffness'"),
        ({"plan": {"com_positon": 1}}, UnknownName, r"'plan.com_positon' is not a setting of the plan.*Did you mean 'plan.com_position'"),
        ({"friction_share": "wide"}, FileFormatError, "mine.json: friction_share: expected a number, got 'wide'"),
        ({"friction_share": True}, FileFormatError, "friction_share: expected a number, got True"),
        ({"friction_share": None}, FileFormatError, "friction_share: expected a number, got None"),
        ({"friction_share": [0.5]}, FileFormatError, "friction_share: expected a number"),
        ({"friction_share": 1.5}, FileFormatError, "mine.json: friction_share must be at most 1, got 1.5"),
        ({"friction_share": float("nan")}, FileFormatError, "friction_share: expected a number, got NaN"),
        ({"replan_interval": float("inf")}, FileFormatError, "replan_interval must be"),
        ({"replan_interval": 10**400}, FileFormatError, "replan_interval"),
        ({"joint_stiffness": -1}, FileFormatError, "joint_stiffness must be more than 0, got -1"),
        ({"plan": {"com_position": 0}}, FileFormatError, "plan.com_position must be more than 0, got 0"),
        ({"plan": {"min_vertical_acceleration": 1}}, FileFormatError, "plan.min_vertical_acceleration must be"),
        ({"plan": 3}, FileFormatError, "plan: expected numbers by name"),
        ([1], FileFormatError, "settings: expected numbers by name"),
    ],
)
def test_wrong_values_are_named(settings, error, message, tmp_path):
    with pytest.raises(error, match=message):
        load_settings(written(tmp_path, settings=settings))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": "brachiate settings 3"}', 'expected "format": "brachiate settings 2", found .brachiate settings 3'),
        ('{"joint_stiffness": 3}', "is not a settings file"),
        ('{"format": ["brachiate settings 2"]}', "is not a settings file"),
        ("[]", "is not a settings file"),
        ('{\n"format": ', "line 2: not valid JSON"),
        ('{"friction_share": 1, "friction_share": 2}', "'friction_share' occurs twice"),
        ("[" * 100_000, "nested too deep"),
        ("\xff", "is not text"),
        ('{"format": "' + 5_000_000 * " " + '"}', "5 MB is more than a settings file may have"),
    ],
)
def test_other_files_are_refused(text, message, tmp_path):
    path = tmp_path / "mine.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(FileFormatError, match=message):
        load_settings(path)


def test_missing_files_and_unknown_parts(tmp_path):
    with pytest.raises(FileFormatError, match="no such file"):
        load_settings(tmp_path / "mine.json")
    with pytest.raises(ArgumentError, match="the settings cannot be written"):
        CHANGED.save(tmp_path / "nowhere" / "mine.json")
    with pytest.raises(UnknownName, match=r"'setings' is not a part of a settings file.*Did you mean 'settings'"):
        load_settings(written(tmp_path, setings={}))
