"""Command ``brachiate model``: links, joints, limits and masses."""

from __future__ import annotations

import re

from typer.testing import CliRunner

import brachiate as br
from brachiate.cli import app


def rows(name: str) -> dict[str, str]:
    """Lines of the table by link."""
    result = CliRunner(env={"COLUMNS": "160"}).invoke(app, ["model", name], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return {line.split()[0]: line for line in result.output.splitlines() if line.strip()}


def test_limits_are_in_degrees_and_masses_in_kilograms():
    model, found = br.figures.human16(), rows("human16")
    assert "-5 to 150" in found["left_shank"]  # of the knee
    assert "revolute" in found["left_shank"]
    assert set(model.links) <= set(found)
    total = sum(float(re.search(r"([\d.]+)\s*$", found[link])[1]) for link in model.links)
    assert abs(total - model.mass) < 1e-3 * len(model.links)
