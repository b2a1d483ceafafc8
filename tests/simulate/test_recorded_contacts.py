"""Contacts of recordings: by name, over time, in plots, in pictures and in files."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import brachiate as br
from brachiate.errors import ArgumentError, FileFormatError, UnknownName
from brachiate.show.plots import StateStrips

WEIGHT = 2.0 * 9.81


def dropped() -> br.World:
    """A box that falls by 2 cm onto another one, which is off the middle of a third."""
    world = br.World()
    world.add(br.figures.ground(), "floor")
    for name, x, z in (("low", 0.0, 0.1), ("middle", 0.05, 0.3), ("high", 0.05, 0.52)):
        world.add(br.figures.box((0.4, 0.2, 0.2), 2.0), name).place((x, 0, z))
    world.enable_contact(friction=0.5)
    return world


@cache
def ran() -> br.Recording:
    return br.Simulation(dropped(), dt=0.002).run(0.3, progress=False)


def test_contact_quantities_of_a_figure_a_link_and_a_pair():
    run = ran()
    late = run.time > 0.25
    assert np.allclose(run["low.reaction"][late], (0, 0, WEIGHT), atol=1e-3)  # from below minus from above
    assert np.allclose(run["low/box on floor/ground.reaction"][late], (0, 0, 3 * WEIGHT), atol=1e-3)
    assert np.allclose(run["high/box.reaction"][late], (0, 0, WEIGHT), atol=1e-3)
    assert np.allclose(run["floor.reaction"][late], (0, 0, -3 * WEIGHT), atol=1e-3)
    assert np.allclose(run["low/box on floor/ground.cop"][-1], (0.05 * 2 / 3, 0, 0), atol=1e-4)
    assert np.allclose(run["low/box on floor/ground.free moment"][late], 0, atol=1e-6)
    assert run["middle/box on low/box.area"][-1] == pytest.approx(0.35 * 0.2, rel=1e-6)
    assert run["low.area"][-1] == pytest.approx((0.4 + 0.35) * 0.2, rel=1e-6)
    assert run["high.slip"][late].max() < 1e-9
    before = run.time < 0.05
    assert (run["high.state"][before] == 7).all()
    assert np.isnan(run["high.cop"][before]).all()
    assert np.isnan(run["high.zmp"][before]).all()
    assert (run["high.state"][late] == 0).all()
    assert run.contacts.pairs == ["high/box on middle/box", "low/box on floor/ground", "middle/box on low/box"]
    assert np.allclose(run.contacts["low"].moment[-1], (0, 0, 0), atol=1e-3)  # at rest, centered above the origin
    assert len(run.contacts["low/box on floor/ground"].support[-1]) == 4


@pytest.mark.parametrize("name", ["low", "middle/box", "floor", "middle/box on low/box"])
@pytest.mark.parametrize("chunk", [50_000, 7])
def test_time_series_are_those_of_each_state(monkeypatch, name, chunk):
    monkeypatch.setattr("brachiate.world.contact_history.CHUNK", chunk)
    history = ran().contacts[name]
    reactions = [ran().contacts.at(row).reaction(name) for row in range(len(ran()))]
    for series in ("force", "moment", "cop", "free_moment", "height"):
        expected = np.array([getattr(reaction, series) for reaction in reactions])
        assert getattr(history, series) == pytest.approx(expected, abs=1e-9, nan_ok=True)
    slips = [[float(np.linalg.norm(c.slip)) for c in ran().contacts.at(row)[name]] for row in range(len(ran()))]
    assert history.slip == pytest.approx([max(found, default=0.0) for found in slips], abs=1e-12)


def test_slip_of_a_figure_is_that_of_its_fastest_contact():
    # Without friction one box keeps its speed, another one stays at rest; the floor touches both.
    world = br.World()
    world.add(br.figures.ground(), "floor")
    for name, y in (("slow", 0.0), ("fast", 1.0), ("still", 2.0)):
        world.add(br.figures.box((0.4, 0.2, 0.2), 2.0), name).place((0, y, 0.1))
    world.v = {"slow/root": (0.2, 0, 0, 0, 0, 0), "fast/root": (1.5, 0, 0, 0, 0, 0)}
    world.enable_contact(friction=0.0)
    run = br.Simulation(world, dt=0.002).run(0.02, progress=False)
    for owner, speed in (("slow", 0.2), ("fast", 1.5), ("still", 0.0), ("floor", 1.5)):
        assert run[f"{owner}.slip"][1:] == pytest.approx(speed, abs=1e-9)


def test_contacts_of_long_recordings_are_made_when_asked_for(monkeypatch):
    run = ran()
    history = type(run.contacts)(run.contacts.records)
    monkeypatch.setattr("brachiate.world.contact_history.MAX_KEPT", 10)
    assert np.array_equal(history["low"].force, run.contacts["low"].force)
    assert len(history._samples) == len(history._samples[:]) == len(run)
    assert [c.link for c in history.at(-1)] == [c.link for c in run.contacts.at(-1)]
    assert history._samples[-2:][1].residual == run.contacts.at(-1).residual


def test_loaded_part_of_a_contact_area():
    # A block on its edge: the whole base is near the ground at first, but one edge carries the load.
    run = br.scenes.make("rocking-block", tilt=0.1).run(0.01)
    (contact,) = run.contacts.at(2)
    assert contact.state == "C1"
    assert contact.active_corners.shape == (2, 3)
    assert np.allclose(contact.active_corners[:, 0], 0.1, atol=1e-4)
    assert len(run.contacts["tower"].support[2]) == 2
    assert contact.size == pytest.approx(0.04, rel=1e-3)


def test_unknown_names_raise_with_suggestions():
    run = ran()
    with pytest.raises(UnknownName, match=r"Did you mean 'low\.reaction'"):
        run["low.raction"]
    with pytest.raises(UnknownName):
        run["floor.zmp"]  # fixed
    with pytest.raises(UnknownName):
        run["low/box.zmp"]  # for figures only
    with pytest.raises(UnknownName, match="Valid: floor, floor/ground"):
        run.contacts["lwo"]
    with pytest.raises(UnknownName):
        run.plot("lwo.contact")
    with pytest.raises(ArgumentError, match=r"Name what to plot: .*, contacts"):
        run.plot()
    with pytest.raises(UnknownName):
        br.Simulation(br.World()).run(0.01).plot("contacts")


def test_contact_plots_have_units(monkeypatch):
    shown = {}
    monkeypatch.setattr("brachiate.simulate.recording.plots.plot_panels", lambda time, panels, path: shown.update(panels))
    ran().plot("contacts", "low.reaction", "low.slip", "low.area", "low.zmp", "low.free moment")
    assert list(shown) == ["force [N]", "place [m]", "state", "slip [m/s]", "area [m²]", "moment [N·m]"]
    assert list(shown["force [N]"])[:3] == ["low.reaction x", "low.reaction y", "low.reaction z"]
    assert len(shown["force [N]"]) == 9  # of the boxes; the ground is fixed
    assert list(shown["place [m]"])[-3:] == ["low.zmp x", "low.zmp y", "low.zmp z"]
    assert isinstance(shown["state"], StateStrips)
    assert list(shown["state"].rows) == ["low/box.state", "middle/box.state", "high/box.state"]
    shown.clear()
    ran().plot("low/box on floor/ground.contact")
    assert list(shown["state"].rows) == ["low/box on floor/ground.state"]


def test_state_strips_show_durations():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    run = ran()
    figure = run.plot("high.state", "low.reaction")
    (strip,) = [axis for axis in figure.axes if axis.get_ylabel() == "state"]
    spans = [path.get_extents() for bar in strip.collections for path in bar.get_paths()]
    touched = run["high.state"] < 7
    assert min(s.x0 for s in spans) == pytest.approx(run.time[np.argmax(touched) - 1])
    assert sum(s.x1 - s.x0 for s in spans) == pytest.approx(0.002 * touched.sum())
    assert [text.get_text() for text in strip.get_yticklabels()] == ["high"]
    assert strip.get_legend().get_texts()[0].get_text() == "C0  face, sticking"
    pyplot.close(figure)


def test_contacts_are_plotted_into_a_file(tmp_path):
    assert ran().plot("contacts", path=tmp_path / "contacts.png").stat().st_size > 10_000


def same(one: br.Recording, other: br.Recording) -> None:
    for row in range(len(one)):
        ours, theirs = one.contacts.at(row), other.contacts.at(row)
        assert list(map(str, ours)) == list(map(str, theirs))
        for a, b in zip(ours, theirs, strict=True):
            assert all(np.array_equal(getattr(a, what), getattr(b, what)) for what in ("area", "active_corners", "wrench", "twist", "axes"))


def test_contacts_are_saved_and_loaded(tmp_path):
    run = ran()
    run.save(tmp_path / "run.npz")
    back = br.Recording.load(tmp_path / "run.npz", run.model)
    assert list(back.contacts) == list(run.contacts)
    assert back.contacts.pairs == run.contacts.pairs
    same(run, back)
    assert np.array_equal(back.contacts.residual, run.contacts.residual)
    for name in ("low.reaction", "low.cop", "low.zmp", "low/box on floor/ground.state"):
        assert np.array_equal(back[name], run[name], equal_nan=True)
    back.save(tmp_path / "again.npz")
    same(run, br.Recording.load(tmp_path / "again.npz", run.model))


def test_contacts_of_a_scene_are_saved_and_loaded(tmp_path):
    # Joined runs, a changing structure, an added figure: pairs are renumbered during the run.
    world = dropped()
    simulation = br.Simulation(world, dt=0.002)
    simulation.at(0.05, lambda: world.add(br.figures.box((0.1, 0.1, 0.1), 1.0), "late", at=(1.0, 0, 0.0)).place((1.0, 0, 0.05)))
    run = simulation.run(0.1, progress=False)
    assert run.contacts["late"].force[-1] == pytest.approx((0, 0, 9.81), abs=1e-3)
    run.save(tmp_path / "run.npz")
    same(run, br.Recording.load(tmp_path / "run.npz", world.model))


def test_runs_without_contacts_and_older_files_are_loaded(tmp_path):
    world = br.World()
    world.add(br.figures.box(), "box")
    br.Simulation(world).run(0.01).save(tmp_path / "air.npz")
    with np.load(tmp_path / "air.npz") as file:
        assert not [name for name in file.files if name.startswith("contacts")]
    assert not len(br.Recording.load(tmp_path / "air.npz", world.model).contacts)


def _damaged(content: dict[str, np.ndarray], how: str) -> None:
    if how == "another link":
        content["contacts"] = np.array(["floor/ground", "low/box", "middle/box", "nobody/box"])
    elif how == "names twice":
        content["contacts"] = np.array(["floor/ground", "low/box", "middle/box", "middle/box"])
    elif how == "names of another kind":
        content["contacts"] = np.arange(4)
    elif how == "missing":
        del content["contacts_wrench"]
    elif how == "lines":
        content["contacts_P"] = content["contacts_P"][1:]
    elif how == "rows":
        content["contacts_at"] = content["contacts_at"][1:]
    elif how == "backwards":
        content["contacts_at"][3] = content["contacts_at"][-1]
    elif how == "negative":
        content["contacts_at"][1] = -1
    elif how == "pair":
        content["contacts_pair"][0, 0] = 4
    elif how == "corners":
        content["contacts_corners"][0] = 9
    elif how == "state":
        content["contacts_area"][0] = 18
    elif how == "edge":
        content["contacts_area"][0] = 2 + content["contacts_corners"][0]
    elif how == "nan":
        content["contacts_wrench"][0, 0] = np.nan
    elif how == "kind":
        content["contacts_slip"] = content["contacts_slip"].astype(float)
    else:
        content["contacts_R"][0] *= 2


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("another link", "'nobody/box' is unknown"), ("names twice", "contacts must be distinct link names"),
        ("names of another kind", "contacts must be distinct link names"), ("missing", "contacts_wrench must be .*, but is missing"),
        ("lines", "contacts_P must be"), ("rows", "contacts_at must be"), ("backwards", "contacts_at must be non-decreasing line numbers"),
        ("negative", "contacts_at must be integers from 0"), ("pair", "contacts_pair must be integers from 0 to 3"),
        ("corners", "contacts_corners must be integers from 1 to 8"), ("state", "contacts_area must be integers"),
        ("edge", "contacts_area must be edges and corners that exist"), ("nan", "contacts_wrench must be finite"),
        ("kind", "contacts_slip must be .* int64, but is"), ("axes", "contacts_R must be orthonormal contact axes"),
    ],
)  # fmt: skip
def test_damaged_contacts_raise(tmp_path, how, words):
    path = tmp_path / "run.npz"
    ran().save(path)
    with np.load(path) as file:
        content = dict(file)
    _damaged(content, how)
    np.savez(path, **content)
    with pytest.raises(FileFormatError, match=words):
        br.Recording.load(path, ran().model)
