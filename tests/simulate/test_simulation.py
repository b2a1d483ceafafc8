"""Simulations: events located in time, motors with limits, recordings."""

import contextlib
import threading
import warnings
import zipfile

import numpy as np
import pytest

import brachiate as br
from brachiate.errors import ArgumentError, FileFormatError, StateError, UnknownName


def ball(height: float = 2.0) -> br.World:
    builder = br.ModelBuilder("ball")
    builder.link("ball", joint=br.Prismatic("z", effort=5.0), joint_name="height", mass=1.0)
    world = br.World()
    world.add(builder.build(), "ball")
    world["ball/height"] = height
    return world


@pytest.mark.parametrize("method", ["rk4", "rk8", "dormand-prince", "bulirsch-stoer"])
def test_an_event_is_located_in_time(method):
    world = ball()
    simulation = br.Simulation(world, dt=0.01, integrator=method)
    event = simulation.when(lambda w: w["ball/height"], lambda: world.v.__imul__(-0.8), rising=False, once=False)
    simulation.run(2.0)
    first = np.sqrt(2 * 2.0 / 9.81)
    assert event.times == pytest.approx([first, first * (1 + 1.6)], abs=1e-11)
    assert event.happened


def test_a_step_is_shortened_to_an_event_time():
    world = ball()
    heights = []
    simulation = br.Simulation(world, dt=0.01)
    simulation.at(0.1234567, lambda: heights.append(world["ball/height"]))
    run = simulation.run(0.5)
    assert heights == pytest.approx([2.0 - 9.81 / 2 * 0.1234567**2], abs=1e-14)
    assert len(run) == 51
    assert world.time == pytest.approx(0.5, abs=1e-15)


def test_events_happen_in_order_and_once():
    world, seen = ball(), []
    simulation = br.Simulation(world, dt=0.1)
    simulation.at(0.25, lambda: seen.append("b"))
    simulation.at(0.21, lambda: seen.append("a"))
    simulation.when(lambda w: w["ball/height"] - 1.7, lambda: seen.append("c"))
    simulation.when(lambda w: w["ball/height"] - 1.7, lambda: seen.append("never"), falling=False)
    simulation.run(0.4)
    assert seen == ["a", "c", "b"]  # the height of 1.7 m is passed at 0.247 s


def test_structure_changes_in_an_event():
    world = ball()
    simulation = br.Simulation(world, dt=0.01)
    simulation.at(0.1, lambda: world.add(br.figures.plate(), "plate"))
    run = simulation.run(0.15, progress=False)
    simulation.run(0.05, progress=False)
    assert run.q.shape == (16, world.model.nq)
    assert np.abs(run["plate/root"][:11] - run["plate/root"][10]).max() == 0  # at its initial pose before it is added
    assert world["ball/height"] == pytest.approx(2.0 - 9.81 / 2 * 0.04, abs=1e-13)


def test_torques_are_clamped_to_effort_limits():
    world = ball()
    simulation = br.Simulation(world, dt=0.01)
    simulation.control(lambda w: w.torque.__setitem__(0, 1000.0))
    run = simulation.run(0.2)
    assert (run.torque[1:] == 5.0).all()
    assert world["ball/height"] == pytest.approx(2.0 + (5.0 - 9.81) / 2 * 0.04, abs=1e-13)


def test_runs_are_independent_of_the_recording_interval():
    ends = []
    for every, parts in ((1, 1), (7, 1), (1, 4)):
        world = ball()
        simulation = br.Simulation(world, dt=0.001, every=every)
        runs = [simulation.run(0.4 / parts) for _ in range(parts)]
        ends.append((world.q[0], world.time))
        assert runs[-1].time[-1] == pytest.approx(0.4, abs=1e-14)
    assert ends[0] == pytest.approx(ends[1], abs=1e-14)
    assert ends[0] == pytest.approx(ends[2], abs=1e-14)


def test_the_last_step_may_be_shorter():
    world = ball()
    run = br.Simulation(world, dt=0.01, every=4).run(0.1234)
    assert run.time[-1] == pytest.approx(0.1234, abs=1e-15)
    assert (np.diff(run.time) > 0).all()
    assert world["ball/height"] == pytest.approx(2.0 - 9.81 / 2 * 0.1234**2, abs=1e-14)


def test_a_recording_is_saved_and_loaded(tmp_path):
    world = ball()
    run = br.Simulation(world, dt=0.01).run(0.3)
    run.save(tmp_path / "run.npz")
    back = br.Recording.load(tmp_path / "run.npz", world.model)
    assert (back["ball/height"] == run["ball/height"]).all()
    assert np.abs(back["energy"] - back["energy"][0]).max() < 1e-12
    assert back["momentum"].shape == (31, 3)
    path = back.plot("ball/height", "energy", "momentum", path=tmp_path / "plot.png")
    assert path.stat().st_size > 10_000


def _damage(path, how):
    if how == "empty":
        path.write_bytes(b"")
    elif how == "text":
        path.write_text("no archive")
    elif how == "truncated":
        path.write_bytes(path.read_bytes()[:200])
    else:
        with np.load(path) as file:
            content = dict(file)
        if how == "another kind":
            content["format"] = np.array("something else")
        elif how == "missing":
            del content["v"]
        elif how == "nan":
            content["q"][0, 0] = np.nan
        elif how == "shape":
            content["v"] = content["v"][:-1]
        elif how == "pickle":
            content["q"] = np.array([{"a": 1}], dtype=object)
        elif how == "another model":
            content["coordinates"] = np.array(["a"])
        np.savez(path, **content)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("empty", "not a recording, or it is damaged"), ("text", "not a recording"), ("truncated", "not a recording"),
        ("another kind", "its format is 'something else'"), ("missing", "lacks v"), ("nan", "q must be"), ("shape", "v must be"),
        ("pickle", "not a recording, or it is damaged"), ("another model", "recorded with another model"), ("absent", "There is no file"),
    ],
)  # fmt: skip
def test_damaged_files_raise(tmp_path, how, words):
    world, path = ball(), tmp_path / "run.npz"
    if how != "absent":
        br.Simulation(world, dt=0.01).run(0.05).save(path)
        _damage(path, how)
    with pytest.raises(FileFormatError, match=words):
        br.Recording.load(path, world.model)


def test_a_recording_is_a_numpy_archive(tmp_path):
    br.Simulation(ball(), dt=0.01).run(0.05).save(tmp_path / "run.npz")
    assert "q.npy" in zipfile.ZipFile(tmp_path / "run.npz").namelist()


def _watching(world, condition):
    simulation = br.Simulation(world)
    simulation.when(condition, print)
    return simulation


BAD = [
    (lambda w: br.Simulation("world"), ArgumentError, "expects a World"),
    (lambda w: br.Simulation(w, dt=0), ArgumentError, "dt must be more than 0"),
    (lambda w: br.Simulation(w, integrator="verlet"), ArgumentError, "is not one of: euler, rk4"),
    (lambda w: br.Simulation(w, tolerance=0), ArgumentError, "tolerance must be"),
    (lambda w: br.Simulation(w, every=0), ArgumentError, "every must be at least 1"),
    (lambda w: br.Simulation(w).run(-1), ArgumentError, "seconds must be at least 0"),
    (lambda w: br.Simulation(w).at(-1, print), ArgumentError, "is in the past"),
    (lambda w: br.Simulation(w).at(1, None), ArgumentError, "action of an event"),
    (lambda w: br.Simulation(w).when(3, print), ArgumentError, "condition of an event"),
    (lambda w: _watching(w, lambda w: None).step(), ArgumentError, "condition of an event: expected a number, got None"),
    (lambda w: _watching(w, lambda w: [1.0, 2.0]).step(), ArgumentError, "must be one number"),
    (lambda w: br.Simulation(w).control(None), ArgumentError, "controller must be a function"),
    (lambda w: br.Simulation(w).run(0.01).plot(), ArgumentError, "Name what to plot"),
    (lambda w: br.Simulation(w).run(0.01)["ball/heigt"], UnknownName, "Did you mean 'ball/height'?"),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_calls_raise(call, error, words):
    with pytest.raises(error) as raised:
        call(ball())
    assert words in str(raised.value)


def test_a_diverging_state_is_restored():
    builder = br.ModelBuilder("strong")
    builder.link("a", joint=br.Prismatic("z"), mass=1.0)
    world = br.World()
    world.add(builder.build(), "strong")
    world.torque[0] = 1e308
    before = world.save()
    with pytest.raises(StateError, match="diverged to infinity"):
        br.Simulation(world, dt=10.0).run(100.0)
    assert world.q[0] == before.q[0]


def test_a_condition_that_is_not_finite_raises():
    simulation = br.Simulation(ball())
    simulation.when(lambda w: float("nan"), print)
    with pytest.raises(StateError, match="condition of an event is nan"):
        simulation.run(0.1)


def test_an_unreachable_tolerance_raises():
    # The spring's period is 1e-18 s, so steps that resolve it are below the time resolution of a run of 1 s.
    builder = br.ModelBuilder("stiff")
    builder.link("a", joint=br.Prismatic("x", stiffness=1e30), mass=1e-6)
    world = br.World()
    world.add(builder.build(), "stiff")
    world["stiff/a"] = 1e-6
    with pytest.raises(StateError, match="cannot reach a tolerance"):
        br.Simulation(world, dt=1.0, integrator="dormand-prince", tolerance=1e-13).run(1.0)


@pytest.mark.parametrize("method", ["euler", "rk4", "dormand-prince", "bulirsch-stoer"])
def test_error_names_a_state_that_is_not_finite(method):
    world = ball()
    world.v[0] = np.nan
    with pytest.raises(StateError, match=r"v\[0\] is nan \(coordinate 'ball/height'\)"):
        br.Simulation(world, integrator=method).step()


def test_simultaneous_events_all_happen():
    # Fails if the root search for the second starts from the state left by the first.
    world, seen = ball(), []
    simulation = br.Simulation(world, dt=0.01)
    for n in range(6):
        simulation.when(lambda w: w.time - 0.305, lambda n=n: seen.append(n))
        simulation.when(lambda w: w["ball/height"] - 1.5, lambda n=n: seen.append(-n))
    simulation.run(0.5)
    assert sorted(seen) == sorted([*range(6), *range(0, -6, -1)])


def test_simultaneous_crossings_up_to_round_off_all_happen_once():
    # Fails if the stop at the first crossing is beyond the second, which is then missed.
    for k in range(25):
        world = br.World()
        world.add(br.figures.arm2(), "arm")
        world["arm/shoulder"] = 1.0
        simulation, level = br.Simulation(world, dt=0.01), 0.3 + 0.02 * k
        conditions = [
            lambda w, level=level: w["arm/shoulder"] - level,
            lambda w, level=level: (w["arm/shoulder"] - level) * 3.0 + 1e-16,
            lambda w, level=level: level - w["arm/shoulder"],
        ]
        events = [simulation.when(condition, lambda: None, once=False) for condition in conditions]
        simulation.run(0.45)
        assert [len(event.times) for event in events] == [1, 1, 1], level
        assert np.ptp([event.times[0] for event in events]) < 1e-12


def test_an_event_undone_by_a_simultaneous_one_still_happens():
    # Both cross at 1.5 m; the first throws the ball up again, which must not suppress the second.
    world = ball()
    simulation = br.Simulation(world, dt=0.01)
    simulation.when(lambda w: w["ball/height"] - 1.5, lambda: world.v.__imul__(-1.0), rising=False)
    second = simulation.when(lambda w: 2 * (w["ball/height"] - 1.5), lambda: None, rising=False)
    simulation.run(0.4)
    assert second.times == pytest.approx([np.sqrt(1 / 9.81)], abs=1e-11)


def test_torques_are_clamped_without_a_controller():
    world = ball()
    world.torque = {"ball/height": -100.0}
    run = br.Simulation(world, dt=0.01).run(0.1)
    assert (run.torque[-1] == -5.0).all()
    assert world.v[0] == pytest.approx((-5.0 - 9.81) * 0.1, abs=1e-13)


def test_plots_label_quaternions(monkeypatch):
    world = br.World()
    world.add(br.figures.human28(), "man")
    run = br.Simulation(world, dt=0.01).run(0.02)
    shown = {}
    monkeypatch.setattr("brachiate.simulate.recording.plots.plot_panels", lambda time, panels, path: shown.update(panels))
    run.plot("man/left_hip", "man/root", "momentum")
    assert list(shown["joints [rad or m]"]) == [
        "man/left_hip.w", "man/left_hip.x", "man/left_hip.y", "man/left_hip.z",
        "man/root.x", "man/root.y", "man/root.z", "man/root.qw", "man/root.qx", "man/root.qy", "man/root.qz",
    ]  # fmt: skip
    assert (shown["joints [rad or m]"]["man/left_hip.w"] == 1).all()
    assert list(shown["momentum [kg·m/s]"]) == ["momentum x", "momentum y", "momentum z"]


@pytest.mark.parametrize("method", ["euler", "rk4", "rk8", "dormand-prince", "bulirsch-stoer"])
def test_an_immobile_world_runs(method):
    world = br.World()
    world.add(br.figures.ground(), "ground")
    br.Simulation(world, integrator=method).run(0.1)
    assert world.time == pytest.approx(0.1)


def test_the_progress_bar_is_stopped_when_a_run_fails(monkeypatch):
    before = set(threading.enumerate())
    with monkeypatch.context() as patch:
        patch.setattr("brachiate.progress.DELAY", -1.0)
        simulation = br.Simulation(ball(), dt=0.01)
        seen: set[threading.Thread] = set()

        def control(world):
            seen.update(threading.enumerate())
            return 1 / (world.time < 6.0)

        simulation.control(control)
        with pytest.raises(ZeroDivisionError):
            simulation.run(12.0, progress=True)
        assert seen - before  # the bar was shown
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=10)  # a bar that was not stopped would refresh forever
        assert not thread.is_alive()


def test_a_run_ends_at_its_until_condition():
    world = ball()
    run = br.Simulation(world, dt=0.01, every=2).run(10.0, until=lambda w: w.time > 0.095)
    assert world.time == pytest.approx(0.1)
    assert len(run) == 6
    with pytest.raises(ArgumentError, match="until: expected a function of the world"):
        br.Simulation(ball()).run(1.0, until=3)  # type: ignore[arg-type]


def test_any_damaged_file_raises_the_same_error(tmp_path):
    world, path = ball(), tmp_path / "run.npz"
    br.Simulation(world, dt=0.01).run(0.05).save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(200):
        broken = bytearray(whole)
        for place in rng.integers(len(broken), size=3):
            broken[place] = rng.integers(256)
        path.write_bytes(bytes(broken))
        with contextlib.suppress(FileFormatError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            br.Recording.load(path, world.model)


def test_a_path_without_suffix_is_found_again(tmp_path):
    world = ball()
    br.Simulation(world, dt=0.01).run(0.05).save(tmp_path / "run")
    assert len(br.Recording.load(tmp_path / "run", world.model)) == 6


@pytest.mark.parametrize("side", [-np.inf, np.inf])
@pytest.mark.parametrize("start", [0.0, 300.0])
def test_an_event_between_two_steps_shortens_neither(start, side):
    # Fails if either step is shortened by the round-off between its end and the event.
    runs, at = [], float(np.nextafter(start + 0.7, side))
    for many in (0, 1):
        world = br.World()
        world.add(br.figures.arm2(), "arm")
        world.v[:] = (3.0, -2.0)
        world.time = start
        simulation = br.Simulation(world, dt=0.002)
        simulation.when(lambda w: 1.0, lambda: None)  # so that both run step by step
        events = [simulation.at(at, lambda: None) for _ in range(many)]
        runs.append(simulation.run(1.0, progress=False))
    assert events[0].times == [at]
    assert (runs[0].q == runs[1].q).all()


def test_a_world_is_advanced_by_one_thread_at_a_time():
    """Fails if both go on: compiled code runs without the lock of the interpreter, and both would write the same arrays."""
    world, entered, leave = ball(), threading.Event(), threading.Event()
    first, second = (br.Simulation(world, dt=0.01) for _ in range(2))

    def wait(_):
        entered.set()
        assert leave.wait(timeout=30)

    first.control(wait)
    thread = threading.Thread(target=first.step)
    thread.start()
    assert entered.wait(timeout=30)
    before = world.save()
    for advance in (second.step, lambda: second.run(0.01)):
        with pytest.raises(StateError, match=r"Another thread advances this world.*world\.copy\(\)"):
            advance()
    assert np.array_equal(world.q, before.q)
    br.Simulation(world.copy(), dt=0.01).step()
    leave.set()
    thread.join(timeout=30)
    second.step()  # it is free again
    assert world.time == pytest.approx(0.02)


def test_an_action_of_an_event_may_step_the_same_world():
    world = ball()
    outer, inner = (br.Simulation(world, dt=0.01) for _ in range(2))
    outer.at(0.004, inner.step)
    outer.step()
    assert world.time == pytest.approx(0.014)
    inner.step()
    assert world.time == pytest.approx(0.024)
