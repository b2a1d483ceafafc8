"""``brachiate filter``: before and after, files, exit codes."""

from __future__ import annotations

import json
import re
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console
from typer.testing import CliRunner

import brachiate as br
from brachiate import procedural
from brachiate.cli import app
from brachiate.cli.filter import torque_line
from brachiate.cli.options import MotionInput
from brachiate.io.bvh import write_bvh


@pytest.fixture(scope="module")
def squat(tmp_path_factory):
    path = tmp_path_factory.mktemp("clips") / "squat.bvh"
    write_bvh(procedural.make_clip("squat", seconds=1.2), path)
    return path


def run(*words):
    return CliRunner(env={"COLUMNS": "140"}).invoke(app, ["filter", *map(str, words)], catch_exceptions=False)


def test_it_tells_and_writes(squat, tmp_path):
    pytest.importorskip("matplotlib")
    result = run(squat, "--out", tmp_path / "out", "--mass", "60", "--mode", "preview", "--push", "spine2:20,0,0@0.5+0.1")
    assert result.exit_code == 0, result.output
    for words in ("assumed", "root residual force", "original", "filtered", "root-aligned", "Torque", "finished"):
        assert words in result.output
    names = ("motion.npz", "motion.bvh", "torques.csv", "forces.csv", "metrics.json", "plot.png", "poses.png", "report.html")
    for name in names:
        assert (tmp_path / "out" / name).stat().st_size > 500
        assert name in result.output
    told = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert told["format"] == "brachiate filter 2"
    assert told["mass_kg"] == pytest.approx(60.0)
    assert br.load_motion(tmp_path / "out" / "motion.bvh").duration == pytest.approx(1.2, abs=0.02)


def test_settings_pushes_and_loads_from_the_command_line(squat, tmp_path):
    pytest.importorskip("matplotlib")
    table, settings = tmp_path / "pushes.csv", tmp_path / "settings.json"
    table.write_text("link,x,y,z,start\nspine2,3000,0,0,0.3\n")
    br.FilterSettings(replan_interval=0.016).save(settings)
    words = ("--settings", settings, "--payload", "left_hand:2", "--payload", "right_hand:3")
    result = run(squat, *words, "--mass", "60", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "out" / "metrics.json").read_text())["mass_kg"] == pytest.approx(65.0)
    assert run(squat, "--pushes", table).exit_code == 3  # which fells it


def test_without_matplotlib_everything_but_the_pictures_is_written(squat, tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "plot.png").write_bytes(b"of an earlier run")
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # an import fails
    result = run(squat, "--out", tmp_path / "out", "--mode", "preview")
    assert result.exit_code == 0, result.output
    first = result.output.splitlines()[0]  # before the work
    assert "Pictures need matplotlib" in first
    assert "pip install matplotlib" in first
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"motion.npz", "motion.bvh", "torques.csv", "forces.csv", "metrics.json", "report.html"}
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "CoM z [m]" in page
    assert "nan" not in re.sub(r"data:[^\"]*", "", page).lower()
    assert "plot.png" not in page
    assert result.output.count("need matplotlib") == 1  # the paths below may have the word too
    words = run(squat, "--mode", "preview").output  # without files no pictures are wanted
    assert "need matplotlib" not in words


def test_ready_made_motions_have_names():
    result = run("squat", "--height", "1.5", "--torque-scale", "none", "--friction", "0.9")
    assert result.exit_code == 0, result.output
    assert "1.50 m" in result.output


def test_a_fall_is_told_and_what_came_before_is_kept(squat, tmp_path):
    pytest.importorskip("matplotlib")
    result = run(squat, "--push", "spine2:3000,0,0@0.3+0.2", "--out", tmp_path)
    assert result.exit_code == 3
    assert "fell at" in result.output
    told = json.loads((tmp_path / "metrics.json").read_text())
    assert not told["success"]
    assert 0.3 < told["duration_s"] < told["reference_duration_s"]


def test_the_papers_filter_falls_and_says_so(tmp_path):
    """Kicks on one leg are beyond it: it leans over the edge of the foot."""
    pytest.importorskip("matplotlib")
    result = run("kick", "--mode", "paper", "--out", tmp_path)
    assert result.exit_code == 3, result.output
    for words in ("fell at", "contact states tried", "joint and torque limits are not considered"):
        assert words in result.output
    told = json.loads((tmp_path / "metrics.json").read_text())
    assert told["mode"] == "paper"
    assert not told["success"]
    assert 0.5 < told["duration_s"] < told["reference_duration_s"]
    assert told["steps"]["solves_max"] > told["steps"]["solves_mean"] > 1.0
    kept = br.load_motion(tmp_path / "motion.npz", br.load_motion(tmp_path / "motion.bvh").figure)
    assert kept.duration == pytest.approx(told["duration_s"])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "fell at" in page
    assert "paper" in page


def test_the_page_is_opened_where_there_is_a_screen(squat, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    seen = []
    monkeypatch.setattr("webbrowser.open", lambda address: not seen.append(address))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.chdir(tmp_path)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    result = run(squat, "--open", "--mode", "paper")
    assert result.exit_code == 0, result.output
    assert not seen
    assert "open squat-filtered/report.html in a browser" in " ".join(result.output.split())
    monkeypatch.setenv("DISPLAY", ":0")
    result = run(squat, "--open", "--mode", "paper", "--out", tmp_path / "there")
    assert seen == [(tmp_path / "there" / "report.html").as_uri()]
    assert "in a browser" not in result.output.replace("for a browser", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--mode", "live"), "offline, preview, online, sampling, paper"),
        (("--torque-scale", "much"), "none for no torque limits"),
        (("--push", "spine2:1@2"), "is not a push"),
        (("--push", "tail:1,0,0@0.1"), "tail"),
        (("--pushes", "nowhere.csv"), "no such file"),
        (("--settings", "nowhere.json"), "no such file"),
        (("--payload", "right_hand"), "is not a payload"),
        (("--payload", "tail:3"), "'tail' is not a link"),
        (("--torque-scale", "0"), "above 0"),
        (("--push", "spine2:1,0,0@9"), "would never act"),
        (("--terrain", "hill"), "not a terrain"),
        (("--contacts", "nowhere.txt"), "no such file"),
        (("--friction", "-1"), "friction"),
        (("--figure", "human28"), "contains a skeleton"),
    ],
)
def test_bad_options_are_refused(squat, words, message):
    with pytest.raises(br.BrachiateError, match=message):
        run(squat, *words)


def test_names_that_are_none_are_refused():
    with pytest.raises(br.BrachiateError, match="walk"):
        run("wlak")
    with pytest.raises(br.BrachiateError, match="figure of its own"):
        run("squat", "--figure", "human28")
    with pytest.raises(br.BrachiateError, match="'squat' is a sample motion: --unit is for files"):
        run("squat", "--unit", "cm")


def test_frames_of_a_sample_motion_are_selected():
    """Fails if --frames is ignored for sample motions."""
    options = MotionInput(frames="10:50")
    assert len(options.load_or_sample("squat", Console())) == 40
    with pytest.raises(br.BrachiateError, match=r"squat has \d+ frames, numbered 0 to \d+: none of them is in frames=slice\(90000, None"):
        MotionInput(frames="90000:").load_or_sample("squat", Console())


def test_a_folder_that_cannot_be_is_refused(squat, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(br.BrachiateError, match="cannot be written"):
        run(squat, "--out", tmp_path / "file" / "out")


def test_largest_shares_of_torque_limits_are_told_first():
    shares = {"left_knee": 0.3, "right_knee": 0.9, "left_hip": 0.1, "right_hip": 1.2, "left_ankle": 0.5, "neck": 0.05}
    result = SimpleNamespace(peak_torque_shares=shares, peak_torques={name: 100 * share for name, share in shares.items()})
    told = re.findall(r"(\w+) (\d+) N·m", torque_line(result))  # type: ignore[arg-type]
    assert told == [("right_hip", "120"), ("right_knee", "90"), ("left_ankle", "50"), ("left_knee", "30")]
