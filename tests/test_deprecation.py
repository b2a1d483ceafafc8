"""Deprecated names of version 0.1: they warn, name their successor, and work."""

import sys

import pytest

import brachiate as br
from brachiate import cli
from brachiate.deprecation import module_getattr, renamed_arguments, renamed_attribute, renamed_method
from brachiate.errors import ArgumentError

OLD = {
    "Filtered": "FilterResult", "Ground": "Terrain", "Label": "ContactInterval", "Labels": "ContactLabels", "Moment": "FilterStep",
    "Report": "CheckReport", "Shove": "Push", "Soft": "SpringDamper", "Steps": "Stairs", "Tuned": "TuningResult",
    "clean": "make_reference", "cone": "cone_limit", "load_labels": "load_contact_labels", "read_model": "load_model",
    "read_motion": "load_motion",
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), OLD.items())
def test_public_names_are_forwarded(old, new):
    with pytest.warns(DeprecationWarning, match=rf"brachiate\.{old} is deprecated.*use {new}"):
        assert getattr(br, old) is getattr(br, new)
    assert old not in br.__all__


def test_every_public_name_exists():
    assert all(hasattr(br, name) for name in br.__all__)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'walk'"):
        _ = br.walk
    with pytest.raises(AttributeError):
        module_getattr("m", {})("x")


@renamed_arguments(ground="terrain")
def doubled(terrain=1):
    return 2 * terrain


class Thing:
    new = 3

    def act(self, x):
        return x + 1

    old = renamed_attribute("old", "new")
    do = renamed_method("do", "act")


def test_arguments_attributes_and_methods_are_forwarded():
    with pytest.warns(DeprecationWarning, match="'ground' of doubled is deprecated.*'terrain'"):
        assert doubled(ground=4) == 8
    with pytest.raises(ArgumentError, match="give only 'terrain'"):
        doubled(ground=4, terrain=5)
    with pytest.warns(DeprecationWarning, match=r"Thing\.old.*Thing\.new"):
        assert Thing().old == 3
    with pytest.warns(DeprecationWarning, match=r"Thing\.do.*Thing\.act"):
        assert Thing().do(1) == 2


def test_old_options_of_the_command_line_are_replaced_with_a_warning(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["brachiate", "filter", "walk", "--ground=hill", "--strength", "none"])
    with pytest.raises(SystemExit):
        cli.main()
    shown = capsys.readouterr().err
    assert "--ground is deprecated and will be removed in 0.3: use --terrain" in shown
    assert "--strength is deprecated" in shown
    assert "hill" in shown.split("ArgumentError")[1]


def test_old_options_have_new_ones():
    """Every replacement is an option of its command."""
    import typer  # noqa: PLC0415

    commands = typer.main.get_command(cli.app).commands
    for name, options in cli.RENAMED_OPTIONS.items():
        known = {option for parameter in commands[name].params for option in parameter.opts}
        assert set(options.values()) <= known
        assert not set(options) & known
