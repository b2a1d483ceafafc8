"""Scenes of particles: they run, and what they show happens."""

import numpy as np
import pytest
from typer.testing import CliRunner

from brachiate import scenes
from brachiate.cli import app
from brachiate.errors import ArgumentError


def test_the_link_falls_bounces_and_shifts():
    # [NSP] Fig. 10: phase 1 falls, phase 2 the third particle bounces, phase 3 the others shift.
    run = scenes.make("particle-link").run()
    lowest = run.positions[..., 2].min(axis=1)
    touch = int((lowest < 1e-3).argmax())
    fall = 0.5 * 9.80665 * run.time[touch] ** 2
    assert abs(fall - 0.6) < 0.02
    assert run.positions[touch, :, 2].argmin() == 2
    assert run["p3.velocity"][touch + 1, 2] > 0
    assert np.abs(run["p2"][: touch - 1, 0]).max() < 1e-6
    assert abs(run["p2"][-1, 0]) > 0.02
    assert lowest.min() > -1e-9
    # In the air momentum changes by gravity alone; the joint has friction.
    assert np.ptp(run["momentum"][: touch - 1, 0]) < 1e-12


def test_the_walker_walks_and_tells(tmp_path):
    result = CliRunner().invoke(app, ["play", "particle-walker", "--seconds", "6", "--picture", str(tmp_path / "walker.png")])
    assert result.exit_code == 0, result.output
    assert "The walker stood all the time" in " ".join(result.output.split())
    assert (tmp_path / "walker.png").stat().st_size > 10_000
    with pytest.raises(ArgumentError, match="'mud' is not one of: firm, soft"):
        scenes.make("particle-walker", ground="mud")


def test_the_ring_collapses_on_the_floor():
    scene = scenes.make("rope-ring")
    run = scene.run()
    assert np.ptp(run.positions[0, :, 2]) > 0.75
    assert run.positions[-1, :, 2].max() < 0.15
    assert run.positions[..., 2].min() > 0.012 - 1e-9  # the radius of its particles
    length = np.linalg.norm(run.positions[-1, run.structure.ends[:, 0]] - run.positions[-1, run.structure.ends[:, 1]], axis=1).sum()
    assert abs(length / run.samples.length[0].sum() - 1.0) < 0.02


def test_a_weight_crosses_the_bridge():
    assert len(scenes.make("bridge").system.links) == 9996
    scene = scenes.make("bridge", sections=40, seconds=1.0)
    run = scene.run()
    assert scene.outcome.startswith("By its own weight")
    assert not (run.positions[:, [0, -1]] - run.positions[0, [0, -1]]).any()  # both ends are fixed
    assert scene.summary(run)["links"] == "840"


def test_one_strap_of_the_trapeze_bears_most_when_one_hand_has_let_go():
    scene = scenes.make("strap-trapeze")
    run = scene.run()
    left, right = (np.linalg.norm(run.partner.forces[f"{side} strap"], axis=1) for side in ("left", "right"))
    before, after = run.time < 1.49, run.time > 1.6
    assert np.abs(left - right)[before].max() < 1e-6 * left[before].max()  # nothing is asymmetric before
    assert left[after].mean() > 1.8 * right[after].mean()
    assert left[before].max() > 70.0 * 9.81 / 2 * 1.5  # of half the weight; at the bottom of the swing
    # Springs, dampers and limits of the joints, and dampers of the straps, take energy; steps are of fourth and second order.
    energy = run.partner.totals.energy
    assert np.diff(energy).max() < 1e-6 * energy[0]
    assert energy[-1] < energy[0] - 10.0
    assert [change.report.event for change in scene.changes][-1] == "'right hand' cut"
