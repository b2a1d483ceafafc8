"""World: names, state, applied forces, kinematics and dynamics queries, bad input."""

import copy
import gc
import pickle

import numpy as np
import pytest

import brachiate as br
from brachiate.errors import ArgumentError, ModelError, StateError, UnknownName


def small() -> br.Model:
    builder = br.ModelBuilder("small")
    builder.link("base", joint=br.Free(), joint_name="root", mass=2.0, inertia=(0.1, 0.2, 0.25))
    builder.link(
        "arm", parent="base", joint=br.Spherical(cone=br.cone_limit("z", 0.5, (-1, 1))), joint_name="shoulder", at=(0.1, 0, 0.2), mass=1.0,
        center=(0, 0, 0.3), inertia=(0.05, 0.05, 0.01),
    )  # fmt: skip
    builder.link(
        "tip", parent="arm", joint=br.Revolute("y", limits=(-0.1, 0.1)), joint_name="wrist", at=(0.1, 0, 0.5), mass=1.0,
        center=(0, 0.1, 0.3), inertia=(0.05, 0.05, 0.01),
    )  # fmt: skip
    builder.link("nail", parent="tip", at=(0, 0, 0.4), rotation=(1, 1, 0, 0), mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
    builder.site("point", "nail", (0, 0, 0.1))
    builder.pose("bent", {"wrist": 0.05, "shoulder": (1, 0.1, 0, 0)})
    return builder.build()


@pytest.fixture
def world() -> br.World:
    world = br.World()
    world.add(small(), "man")
    world.add(small(), "girl", at=(1, 0, 0), rotation=(1, 0, 0, 1))
    rng = np.random.default_rng(0)
    world.q = world.integrate(0.4 * rng.normal(size=world.model.nv), 1.0)
    world.v = rng.normal(size=world.model.nv)
    return world


def test_access_by_name(world):
    world["man/wrist"] = 0.05
    world.figure("girl")["wrist"] = -0.05
    assert world.angle("man/wrist") == 0.05
    assert world["girl/wrist"] == -0.05
    assert world.rate("man/root").shape == (6,)
    assert world.pose("man/point").position.shape == (3,)
    assert list(world.figures) == ["man", "girl"]
    assert "man, girl" in repr(world)


def test_adding_a_figure_leaves_the_others_unchanged(world):
    q, v, where = world.q.copy(), world.v.copy(), world.position("girl/point")
    world.torque = {"man/wrist": 3.0}
    world.apply_force("man/tip", (1, 2, 3))
    world.add(br.figures.bar(), "bar")
    assert (world.q[: len(q)] == q).all()
    assert (world.v[: len(v)] == v).all()
    assert (world.position("girl/point") == where).all()
    assert world.torque[world.model.coordinate_index["man/wrist"]] == 3.0
    assert len(world.applied_forces) == 1


def test_separate_figures_do_not_interact(world):
    alone = br.World()
    alone.add(small(), "man")
    alone.q, alone.v = world.q[:12], world.v[:10]
    assert np.abs(alone.forward_dynamics() - world.forward_dynamics()[:10]).max() < 1e-12
    matrix = world.mass_matrix()
    assert (matrix[:10, 10:] == 0).all()


def test_dynamics_do_not_depend_on_the_base_pose(world):
    # Gravity is rotated as well: accelerations in child axes are the same.
    plain, rotated = br.World(gravity=(0, 0, -9.81)), br.World(gravity=(9.81, 0, 0))
    plain.add(small(), "man")
    rotated.add(small(), "man", at=(1e3, -20, 5), rotation=(np.sqrt(0.5), 0, -np.sqrt(0.5), 0))
    for w in (plain, rotated):
        w.q, w.v = world.q[:12], world.v[:10]
    assert np.abs(plain.forward_dynamics() - rotated.forward_dynamics()).max() < 1e-11


def test_save_restore_copy(world):
    force = world.apply_force("man/tip", (10, 0, 0), at=(0, 0, 0.1))
    state, acceleration = world.save(), world.forward_dynamics()
    other = world.copy()
    br.Simulation(world).run(0.05)
    world.remove(force)
    assert np.abs(world.q - state.q).max() > 0
    assert (other.q == state.q).all()
    assert (other.forward_dynamics() == acceleration).all()
    world.restore(state)
    assert world.time == 0.0
    assert (world.forward_dynamics() == acceleration).all()


@pytest.mark.parametrize("axes", ["world", "link"])
@pytest.mark.parametrize("link", ["man/tip", "man/nail"])
def test_applied_force_acts_by_the_jacobian(world, axes, link):
    a = np.random.default_rng(1).normal(size=world.model.nv)
    before = np.asarray(world.inverse_dynamics(a))
    force, moment, at = np.array([3.0, -2, 5]), np.array([0.3, 0.1, -0.7]), (0.02, 0.1, -0.05)
    world.apply_force(link, force, moment=moment, at=at, axes=axes)
    turn = world.pose(link).rotation if axes == "link" else np.eye(3)
    expected = world.jacobian(link, at).T @ np.concatenate([turn @ force, turn @ moment])
    assert np.abs(before - np.asarray(world.inverse_dynamics(a)) - expected).max() < 1e-12


def test_many_applied_forces_add_up(world):
    a = np.zeros(world.model.nv)
    before = np.asarray(world.inverse_dynamics(a))
    forces = [world.apply_force("girl/base", (1, 0, 0)) for _ in range(30)]
    changed = before - np.asarray(world.inverse_dynamics(a))
    assert np.abs(changed - world.jacobian("girl/base").T[:, 0] * 30).max() < 1e-11
    for force in forces:
        world.remove(force)
    assert (np.asarray(world.inverse_dynamics(a)) == before).all()


def test_jacobian_and_its_rate(world):
    frame, at = "girl/point", (0.1, 0.2, -0.3)
    assert np.abs(world.jacobian(frame, at) @ world.v - world.velocity(frame, at)).max() < 1e-14
    h = 1e-6

    def velocity(t):
        moved = world.copy()
        moved.q = world.integrate(world.v, t)
        return moved.velocity(frame, at)

    # v constant in child axes is zero acceleration of every coordinate
    difference = (velocity(h) - velocity(-h)) / (2 * h)
    assert np.abs(world.jacobian_rate(frame, at) - difference).max() < 1e-7


def test_inverse_dynamics_inverts_forward_dynamics(world):
    torque = np.random.default_rng(5).normal(size=world.model.nv)
    world.torque = torque
    acceleration = world.forward_dynamics()
    assert np.abs(np.asarray(world.inverse_dynamics(acceleration)) - torque).max() < 1e-11
    assert (world.torque == torque).all()
    assert acceleration["man/wrist"] == acceleration[world.model.coordinate_index["man/wrist"]]
    assert set(acceleration.as_dict()) == set(world.model.coordinates)


def test_totals_of_figures_add_up(world):
    man, girl, both = world.totals("man"), world.totals("girl"), world.totals()
    assert abs(man.mass + girl.mass - both.mass) < 1e-12
    assert np.abs(man.momentum + girl.momentum - both.momentum).max() < 1e-12
    assert abs(man.energy + girl.energy - both.energy) < 1e-11
    matrix = world.centroidal_momentum_matrix("man")
    assert np.abs(matrix @ world.v - np.concatenate([man.momentum, man.angular_momentum])).max() < 1e-12
    assert (world.figure("man").totals().center == man.center).all()


def test_set_pose_and_place(world):
    man, girl = world.figure("man"), world.figure("girl")
    girl.place((3, 4, 5), (1, 0, 0, 0))
    assert np.abs(world.position("girl/base") - [3, 4, 5]).max() < 1e-14
    assert np.abs(world.pose("girl/base").rotation - np.eye(3)).max() < 1e-14
    where = world.position("man/base")
    man.set_pose("bent")
    assert world.angle("man/wrist") == 0.05
    assert (world.position("man/base") == where).all()
    man.set_pose({"wrist": 0.02})
    assert world.angle("man/wrist") == 0.02


def test_set_pose_with_the_root():
    world = br.World()
    man = world.add(br.figures.human16(), "man")
    root = man["root"]
    man.set_pose("hang")
    assert (man["root"] == root).all()
    man.set_pose("hang", root=True)
    assert (man["root"] == man.model.poses["hang"][man.model.joints["root"].q]).all()
    assert (man["left_shoulder"] == man.model.poses["hang"][man.model.joints["left_shoulder"].q]).all()


def test_set_velocity_leaves_other_velocities_unchanged(world):
    before = world.v.copy()
    world.set_velocity({"man/wrist": 0.5, "girl/root.x": -1.0})
    changed = [world.model.coordinate_index[name] for name in ("man/wrist", "girl/root.x")]
    assert world.v[changed].tolist() == [0.5, -1.0]
    others = np.delete(np.arange(world.model.nv), changed)
    assert (world.v[others] == before[others]).all()
    world.figure("girl").set_velocity({"shoulder": (1, 2, 3)})
    assert world.rate("girl/shoulder").tolist() == [1, 2, 3]
    assert world.rate("girl/root")[0] == -1.0
    before = world.v.copy()
    with pytest.raises(UnknownName, match="is not a coordinate"):
        world.set_velocity({"man/wrist": 1.0, "man/wrst": 2.0})
    with pytest.raises(ArgumentError, match="expects velocities by name"):
        world.set_velocity(np.zeros(3))
    assert (world.v == before).all()
    world.v = {"man/wrist": 0.5}  # assigning sets the others to zero
    assert np.count_nonzero(world.v) == 1


def test_deprecated_names(world):
    with pytest.warns(DeprecationWarning, match=r"World\.push is deprecated .* World\.apply_force"):
        force = world.push("man/tip", (1, 2, 3))
    with pytest.warns(DeprecationWarning, match="applied_forces"):
        assert world.pushes == (force,)
    with pytest.warns(DeprecationWarning, match="enable_contact"):
        world.touch(friction=0.5)
    with pytest.warns(DeprecationWarning, match="ignore_contact"):
        world.pass_through("man/tip", "girl/tip")
    with pytest.warns(DeprecationWarning, match="allow_contact"):
        world.meet("man/tip", "girl/tip")
    with pytest.warns(DeprecationWarning, match="disable_contact"):
        world.pass_through()
    with pytest.warns(DeprecationWarning, match=r"Figure\.set_pose"):
        world.figure("man").pose("bent")
    assert world.angle("man/wrist") == 0.05
    with pytest.warns(DeprecationWarning, match="'objective'"):
        world.inverse_dynamics(np.zeros(world.model.nv), share="least-norm")
    with pytest.warns(DeprecationWarning, match="'duration'"):
        world.prescribe("man/wrist", [0.05, 0.1], over=1.0)


def test_joint_limit_violations_by_name(world):
    for figure in world.figures.values():
        figure.set_pose({})
    assert world.beyond_limits() == {}
    world["man/wrist"] = 0.3
    world["girl/shoulder"] = [np.cos(0.4), np.sin(0.4), 0, 0]  # a swing of 0.8
    world["man/shoulder"] = [np.cos(0.6), 0, 0, -np.sin(0.6)]  # a twist of -1.2
    assert world.beyond_limits() == pytest.approx({"man/wrist": 0.2, "girl/shoulder.swing": 0.3, "man/shoulder.twist": 0.2})


BAD = [
    (lambda w: w.angle("man/wrst"), UnknownName, "Did you mean 'man/wrist'?"),
    (lambda w: w.angle("man/shoulder"), ArgumentError, "several numbers (4)"),
    (lambda w: w.pose("man/lefthand"), UnknownName, "is not a link or site of this world"),
    (lambda w: w.figure("boy"), UnknownName, "Valid: man, girl"),
    (lambda w: w.figure("man").set_pose("hung"), UnknownName, "is not a pose of figure 'man'"),
    (lambda w: w.figure("man")["nope"], UnknownName, "Valid: root, shoulder, wrist"),
    (lambda w: w.add(small(), "man"), ModelError, "A figure named 'man' exists already"),
    (lambda w: w.add(small(), "a/b"), ModelError, "cannot name a figure"),
    (lambda w: w.add("human28"), ArgumentError, "expects a model"),
    (lambda w: w.add(small(), "x", at=(1, 2)), ArgumentError, "position of 'x': expected 3 numbers"),
    (lambda w: w.apply_force("man/nose"), UnknownName, "is not a link of this world"),
    (lambda w: w.apply_force("man/tip", (1, float("nan"), 0)), ArgumentError, "force: every number must be finite"),
    (lambda w: w.apply_force("man/tip", axes="body"), ArgumentError, "'body' is not one of: world, link"),
    (lambda w: w.remove(w.copy().apply_force("man/tip")), ArgumentError, "not applied to any link of this world"),
    (lambda w: setattr(w, "q", w.q[:-1]), ArgumentError, "world.q: expected 24 numbers"),
    (lambda w: setattr(w, "q", np.zeros(24)), ArgumentError, "a zero quaternion is not a rotation"),
    (lambda w: setattr(w, "v", {"man/wrist": [1, 2]}), ArgumentError, "world.v['man/wrist']: expected a number"),
    (lambda w: setattr(w, "v", {"man/root": 5.0}), ArgumentError, "world.v['man/root']: expected 6 numbers"),
    (lambda w: setattr(w, "v", {"man/wrist": "3.0"}), ArgumentError, "got '3.0'"),
    (lambda w: w.restore(5), ArgumentError, "restore expects a state that world.save() returned"),
    (lambda w: w.acceleration("man/typo", np.ones(20)), UnknownName, "is not a link or site"),
    (lambda w: setattr(w, "torque", {"man/elbow": 1.0}), UnknownName, "is not a coordinate of this world"),
    (lambda w: setattr(w, "gravity", (1, 2)), ArgumentError, "gravity: expected 3 numbers"),
    (lambda w: w.inverse_dynamics(np.zeros(3)), ArgumentError, "acceleration: expected 20 numbers"),
    (lambda w: w.forward_dynamics({"man/wrist": float("inf")}), ArgumentError, "torque['man/wrist']: every number must be finite"),
    (lambda w: w.totals("boy"), UnknownName, "is not a figure of this world"),
    (lambda w: w.restore(br.World().save()), ArgumentError, "saved from another world"),
    (lambda w: br.World(gravity=-1), ArgumentError, "gravity must be at least 0"),
    (lambda w: w.__setitem__("man/wrist", float("nan")), ArgumentError, "must be finite"),
    (lambda w: w.__setitem__("man/shoulder", (0, 0, 0, 0)), ArgumentError, "zero quaternion"),
    (lambda w: w.integrate(w.v, float("nan")), ArgumentError, "dt: expected a number, got NaN"),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_calls_raise_and_change_nothing(world, call, error, words):
    before = world.save()
    with pytest.raises(error) as raised:
        call(world)
    assert words in str(raised.value)
    after = world.save()
    assert (after.q == before.q).all()
    assert (after.v == before.v).all()
    assert (after.torque == before.torque).all()
    assert after.applied_forces == before.applied_forces
    assert after.coordinates == before.coordinates


def test_error_names_a_state_that_is_not_finite(world):
    world.v[3] = np.nan
    with pytest.raises(StateError, match=r"v\[3\] is nan \(coordinate 'man/root.rx'\)"):
        world.forward_dynamics()
    world.v[3] = 0
    world.q[8] = np.inf
    with pytest.raises(StateError, match=r"q\[8\] is inf \(joint 'man/shoulder'\)"):
        world.pose("man/tip")


def test_a_fixed_object_cannot_be_placed(world):
    bar = world.add(br.figures.bar(), "bar")
    with pytest.raises(ArgumentError, match="'bar' cannot be placed"):
        bar.place((0, 0, 0))
    assert (world.velocity("bar/rod") == 0).all()
    assert (world.jacobian("bar/rod") == 0).all()


def test_empty_world():
    world = br.World()
    assert world.totals().mass == 0
    assert world.mass_matrix().shape == (0, 0)
    assert len(world.forward_dynamics()) == 0
    br.Simulation(world).run(0.01)


def test_a_model_from_a_file_starts_in_its_reference_pose(tmp_path):
    path = tmp_path / "ball.xml"
    path.write_text(
        '<mujoco><worldbody><body name="ball" pos="1 2 3"><freejoint name="root"/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    world = br.World()
    world.add(br.load_model(path), "thing")
    assert world.position("thing/ball").tolist() == [1, 2, 3]


def test_springs_hold_a_posture():
    # Springs have no torque at their rest pose, and a restoring torque away from it.
    model = br.figures.human28().with_springs(50.0, "tumble")
    world = br.World(gravity=0)
    man = world.add(model, "man")
    man.set_pose("tumble")
    assert np.abs(world.bias()).max() < 1e-10
    assert abs(world.totals().potential) < 1e-12
    man["left_knee"] += 0.1
    assert world.bias()["man/left_knee"] == pytest.approx(5.0)
    assert world.totals().potential == pytest.approx(0.5 * 50.0 * 0.01)
    with pytest.raises(UnknownName, match="is not a pose"):
        model.with_springs(1.0, "nap")


def test_loops_of_a_model_are_closed():
    world = br.World()
    world.add(br.figures.swing(), "swing")
    assert list(world.connections) == ["swing/seat"]
    assert world.connections["swing/seat"].report.mobility == (3, 2)


def test_a_free_joint_below_the_root_is_not_the_root():
    builder = br.ModelBuilder("hung")
    builder.link("arm", joint=br.Revolute("y"), at=(0, 0, 5), mass=1.0, inertia=(1, 1, 1))
    builder.link("thing", parent="arm", joint=br.Free(), mass=1.0, inertia=(1, 1, 1))
    world = br.World()
    with pytest.raises(ArgumentError, match="its root has no free joint"):
        world.add(builder.build(), "hung").place((1, 2, 3))


def test_copies_and_pickles_are_independent(world):
    # Fails (or crashes) if the compiled code of a copy still uses the arrays of the original.
    world.apply_force("man/tip", (1, 2, 3))
    expected = np.asarray(world.forward_dynamics())
    others = [pickle.loads(pickle.dumps(world)), copy.deepcopy(world)]
    data = pickle.loads(pickle.dumps(world.data))
    world.q[:], world.v[:] = 0.5, 7.0
    del world
    gc.collect()
    for other in others:
        assert (np.asarray(other.forward_dynamics()) == expected).all()
        assert other.figure("man").mass == pytest.approx(4.1)
    assert (br.dynamics.forward_dynamics(data, data.q, data.v, data.tau) == expected).all()


def test_arrays_of_the_workspace_may_be_arguments(world):
    data = world.data
    v, a = data.v.copy(), np.arange(20.0)
    data.a[:] = a
    expected = br.dynamics.inverse_dynamics(br.Data(world.model), data.q, a, v).copy()
    assert np.abs(br.dynamics.inverse_dynamics(data, data.q, data.a, data.v) - expected).max() < 1e-9 * np.abs(expected).max()
    with pytest.raises(AttributeError):
        data.q = np.zeros(3)


def test_nan_is_detected(world):
    world.v[3] = np.nan
    assert np.isfinite(world.mass_matrix()).all()  # does not depend on velocities
    world.q[11] = np.nan
    with pytest.raises(StateError, match=r"q\[11\] is nan"):
        world.beyond_limits()
    world["man/wrist"] = 0.02  # setting a value by name replaces the NaN
    assert world.angle("man/wrist") == 0.02
