"""Constraint forces of recordings: of the constraints that were active at each recorded state."""

import pickle

import numpy as np
import pytest

import brachiate as br
from brachiate.errors import FileFormatError, UnknownName

WEIGHT = 3.0 * 9.81


def hanging() -> tuple[br.World, br.Connection]:
    """A block of 3 kg that hangs from the world."""
    builder = br.ModelBuilder("block")
    builder.link("block", joint=br.Free(), joint_name="root", mass=3.0, inertia=(0.1, 0.1, 0.1))
    world = br.World()
    world.add(builder.build(), "it")
    return world, world.connect("it/block", "world", br.Revolute("y"), at=(0, 0, 0.2), name="hook")


def pendulum(**joint) -> br.World:
    builder = br.ModelBuilder("pendulum")
    builder.link("rod", joint=br.Revolute("y", **joint), joint_name="hinge", mass=1.0, center=(0, 0, -1), inertia=(0.01, 0.01, 0.01))
    world = br.World()
    world.add(builder.build(), "p")
    return world


def test_connection_force_is_the_weight_until_the_cut():
    world, hook = hanging()
    simulation = br.Simulation(world, dt=0.01)
    simulation.at(0.2, lambda: world.cut(hook))
    run = simulation.run(0.4)
    force, moment = run["hook.force"], run["hook.moment"]
    assert force.shape == moment.shape == (len(run), 3)
    before = run.time < 0.2 - 1e-9
    assert np.allclose(force[before], (0, 0, WEIGHT), atol=1e-11)
    assert np.allclose(moment[before], 0, atol=1e-11)
    assert np.isnan(force[~before]).all()  # at 0.2 s it is already cut
    assert np.isnan(moment[~before]).all()


def eventful(every: int) -> tuple[br.Simulation, br.Connection, br.World]:
    """A swinging block, a temporary push, a lock that is released."""
    world, hook = hanging()
    world.add(pendulum().parts["p"][0], "p", at=(2, 0, 0))
    world["p/hinge"] = 0.7
    world.v = {"it/root": [0.4, 0, 0, 0, 2.0, 0]}
    world.lock("p/hinge")
    simulation = br.Simulation(world, dt=0.004, every=every)
    simulation.at(0.1, lambda: world.apply_force("it/block", force=(5.0, 0, 0)))
    simulation.at(0.2, lambda: world.release("p/hinge"))
    simulation.at(0.3, lambda: world.remove(world.applied_forces[0]))
    return simulation, hook, world


@pytest.mark.parametrize("every", [1, 3])
def test_recorded_forces_equal_those_during_the_run(every):
    # Fails if the recording has other forces than the world had during the run.
    run = eventful(every)[0].run(0.48)
    simulation, hook, world = eventful(every)
    for row in range(1, len(run)):
        simulation.run(0.004 * every)
        assert run.time[row] == pytest.approx(world.time, abs=1e-12)
        assert np.allclose(run["hook.force"][row], hook.force, atol=1e-9)
        assert np.allclose(run["hook.moment"][row], hook.moment, atol=1e-9)
        locked = world.locks["p/hinge"].torque if world.locks else np.nan
        assert run["p/hinge.torque"][row] == pytest.approx(locked, abs=1e-9, nan_ok=True)
    assert np.ptp(run["hook.force"][:, 2]) > 0.1  # it swings


def test_reading_forces_changes_nothing():
    world, _ = hanging()
    world.v = {"it/root": [0, 0, 0, 0, 2.0, 0]}
    simulation = br.Simulation(world, dt=0.01)
    run = simulation.run(0.1)
    before = world.save()
    _ = run["hook.force"]
    assert (world.q == before.q).all()
    assert (world.v == before.v).all()
    world.gravity = (0, 0, 0)  # later changes have no effect either
    again = br.Simulation(hanging()[0], dt=0.01).run(0.1)
    world.cut("hook")
    assert np.allclose(again["hook.force"], (0, 0, WEIGHT))


def test_torque_of_a_prescribed_joint():
    # A pendulum of mass 1 kg at 1 m with constant angular acceleration: τ = (I + m l²) a + m g l sin θ.
    world = pendulum()
    world.prescribe("p/hinge", [0.0, 0.0, 0.5])
    run = br.Simulation(world, dt=0.01).run(1.0)
    assert np.allclose(run["p/hinge.torque"], 1.01 + 9.81 * np.sin(run["p/hinge"]), atol=1e-9)


def test_active_limits_carry_their_load():
    # A block hangs from the rod of a pendulum at rest on its limit: the connection force is the weight of the block.
    world = pendulum(limits=(-1.0, 1.0))
    builder = br.ModelBuilder("block")
    builder.link("block", joint=br.Free(), joint_name="root", mass=3.0, inertia=(0.1, 0.1, 0.1))
    world.add(builder.build(), "it")
    world["p/hinge"] = -0.9
    world.figure("it").place(world.position("p/rod", (0, 0, -1)))
    world.apply_force("p/rod", moment=(0, 100.0, 0))  # against the limit
    world.connect("it/block", "p/rod", br.Fixed(), name="glue")
    run = br.Simulation(world, dt=0.002).run(0.5)
    assert run["p/hinge"][-1] == pytest.approx(1.0, abs=1e-9)
    assert run.v[-1, 0] == pytest.approx(0.0, abs=1e-12)
    assert np.allclose(run["glue.force"][-1], (0, 0, WEIGHT), atol=1e-9)


def test_motors_of_connections_and_added_figures():
    world, hook = hanging()
    simulation = br.Simulation(world, dt=0.01)
    simulation.control(lambda w: setattr(hook, "torque", [w.time]))
    simulation.at(0.05, lambda: world.add(pendulum().parts["p"][0], "late"))
    simulation.at(0.1, lambda: world.lock("late/hinge"))
    run = simulation.run(0.15)
    assert run.q.shape[1] == world.model.nq
    # The motor acts on the block with τ; the bearing carries weight and centripetal force.
    assert np.allclose(run["hook.moment"][1:, 1], run.time[:-1], atol=1e-9)
    assert np.isnan(run["late/hinge.torque"][:10]).all()
    assert np.allclose(run["late/hinge.torque"][10:], 0, atol=1e-9)


def test_locked_ball_joints_have_three_torques():
    builder = br.ModelBuilder("ball")
    builder.link("rod", joint=br.Spherical(), joint_name="ball", mass=1.0, center=(1, 0, 0), inertia=(0.01, 0.01, 0.01))
    world = br.World()
    world.add(builder.build(), "b")
    world.lock("b/ball")
    run = br.Simulation(world, dt=0.01).run(0.05)
    assert np.allclose(run["b/ball.torque"], (0, -9.81, 0), atol=1e-9)


def test_forces_are_saved_and_loaded(tmp_path):
    world, hook = hanging()
    world.add(pendulum().parts["p"][0], "p", at=(2, 0, 0))
    world.lock("p/hinge")
    simulation = br.Simulation(world, dt=0.01)
    simulation.at(0.1, lambda: world.cut(hook))
    run = simulation.run(0.2)
    run.save(tmp_path / "run.npz")
    back = br.Recording.load(tmp_path / "run.npz", world.model)
    assert list(back.forces) == ["hook.force", "hook.moment", "p/hinge.torque"]
    for name in run.forces:
        assert np.array_equal(back[name], run[name], equal_nan=True)
    assert run.plot("energy", "hook.force", "p/hinge.torque", path=tmp_path / "plot.png").stat().st_size > 10_000


def test_plots_label_forces_with_units(monkeypatch):
    world, _ = hanging()
    shown = {}
    monkeypatch.setattr("brachiate.simulate.recording.plots.plot_panels", lambda time, panels, path: shown.update(panels))
    br.Simulation(world, dt=0.01).run(0.02).plot("hook.force", "hook.moment")
    assert list(shown["force [N]"]) == ["hook.force x", "hook.force y", "hook.force z"]
    assert list(shown["moment [N·m]"]) == ["hook.moment x", "hook.moment y", "hook.moment z"]


def test_an_unknown_force_raises_with_suggestions():
    world, _ = hanging()
    run = br.Simulation(world, dt=0.01).run(0.02)
    with pytest.raises(UnknownName, match=r"'hok.force' is not a quantity of this recording\. Did you mean 'hook.force'\?"):
        run["hok.force"]
    with pytest.raises(UnknownName, match=r"hook.force, hook.moment, it/root"):
        run.plot("nothing.force")


@pytest.mark.parametrize("how", ["rows", "columns", "infinite", "names", "missing"])
def test_damaged_forces_raise(tmp_path, how):
    world, _ = hanging()
    path = tmp_path / "run.npz"
    br.Simulation(world, dt=0.01).run(0.02).save(path)
    with np.load(path) as file:
        content = dict(file)
    if how == "rows":
        content["force"] = content["force"][1:]
    elif how == "columns":
        content["forces_at"] = content["forces_at"] + 1
    elif how == "infinite":
        content["force"][0, 0] = np.inf
    elif how == "names":
        content["forces"] = np.array(["hook.force", "hook.weight"])
    else:
        del content["force"]
    np.savez(path, **content)
    with pytest.raises(FileFormatError, match="forces, forces_at and force"):
        br.Recording.load(path, world.model)


def test_files_without_forces_are_loaded(tmp_path):
    world, _ = hanging()
    path = tmp_path / "run.npz"
    br.Simulation(world, dt=0.01).run(0.02).save(path)
    with np.load(path) as file:
        content = {name: file[name] for name in file.files if not name.startswith("force")}
    np.savez(path, **content)
    assert not br.Recording.load(path, world.model).forces


def test_forces_of_scenes_are_joined():
    scene = br.scenes.make("highbar", release=0.1, limits=False)
    run = scene.run(0.2)
    right = run["right hand.force"]
    assert right.shape == (len(run), 3)
    assert np.isfinite(right[run.time < 0.1 - 1e-9]).all()
    assert np.isnan(right[run.time >= 0.1]).all()
    # The forces of both hands are the external force on the center of mass minus gravity.
    held = run["left hand.force"] + np.nan_to_num(right)
    momentum = run["momentum"]
    rate = (momentum[2:] - momentum[:-2]) / (run.time[2:] - run.time[:-2])[:, None]
    weight = np.array((0, 0, scene.world.figure("man").mass * 9.81))
    smooth = np.abs(run.time[1:-1] - 0.1) > 0.005
    assert np.allclose(held[1:-1][smooth], (rate + weight)[smooth], atol=5e-3 * weight[2])


def test_a_recording_with_forces_can_be_pickled():
    world, _ = hanging()
    run = br.Simulation(world, dt=0.01).run(0.02)
    back = pickle.loads(pickle.dumps(run))
    assert np.allclose(back["hook.force"], run["hook.force"])
