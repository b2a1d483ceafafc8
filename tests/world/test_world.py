"""Worlds: names, state, pushes, and what is asked of them."""

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
        "arm", parent="base", joint=br.Spherical(cone=br.cone("z", 0.5, (-1, 1))), joint_name="shoulder", at=(0.1, 0, 0.2), mass=1.0,
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
    world.q = world.integrated(0.4 * rng.normal(size=world.model.nv), 1.0)
    world.v = rng.normal(size=world.model.nv)
    return world


def test_names_reach_everything(world):
    world["man/wrist"] = 0.05
    world.figure("girl")["wrist"] = -0.05
    assert world.angle("man/wrist") == 0.05
    assert world["girl/wrist"] == -0.05
    assert world.rate("man/root").shape == (6,)
    assert world.pose("man/point").position.shape == (3,)
    assert list(world.figures) == ["man", "girl"]
    assert "man, girl" in repr(world)


def test_a_figure_added_later_moves_nothing(world):
    q, v, where = world.q.copy(), world.v.copy(), world.position("girl/point")
    world.torque = {"man/wrist": 3.0}
    world.push("man/tip", (1, 2, 3))
    world.add(br.figures.bar(), "bar")
    assert (world.q[: len(q)] == q).all()
    assert (world.v[: len(v)] == v).all()
    assert (world.position("girl/point") == where).all()
    assert world.torque[world.model.coordinate_index["man/wrist"]] == 3.0
    assert len(world.pushes) == 1


def test_two_figures_do_not_feel_each_other(world):
    alone = br.World()
    alone.add(small(), "man")
    alone.q, alone.v = world.q[:12], world.v[:10]
    assert np.abs(alone.forward_dynamics() - world.forward_dynamics()[:10]).max() < 1e-12
    matrix = world.mass_matrix()
    assert (matrix[:10, 10:] == 0).all()


def test_moving_and_turning_a_whole_figure_changes_nothing_inside(world):
    # Gravity turned along: accelerations in child axes cannot tell.
    plain, turned = br.World(gravity=(0, 0, -9.81)), br.World(gravity=(9.81, 0, 0))
    plain.add(small(), "man")
    turned.add(small(), "man", at=(1e3, -20, 5), rotation=(np.sqrt(0.5), 0, -np.sqrt(0.5), 0))
    for w in (plain, turned):
        w.q, w.v = world.q[:12], world.v[:10]
    assert np.abs(plain.forward_dynamics() - turned.forward_dynamics()).max() < 1e-11


def test_save_restore_copy(world):
    push = world.push("man/tip", (10, 0, 0), at=(0, 0, 0.1))
    state, acceleration = world.save(), world.forward_dynamics()
    other = world.copy()
    br.Simulation(world).run(0.05)
    world.remove(push)
    assert np.abs(world.q - state.q).max() > 0
    assert (other.q == state.q).all()
    assert (other.forward_dynamics() == acceleration).all()
    world.restore(state)
    assert world.time == 0.0
    assert (world.forward_dynamics() == acceleration).all()


@pytest.mark.parametrize("axes", ["world", "link"])
@pytest.mark.parametrize("link", ["man/tip", "man/nail"])
def test_a_push_does_the_work_its_jacobian_says(world, axes, link):
    a = np.random.default_rng(1).normal(size=world.model.nv)
    before = np.asarray(world.inverse_dynamics(a))
    force, moment, at = np.array([3.0, -2, 5]), np.array([0.3, 0.1, -0.7]), (0.02, 0.1, -0.05)
    world.push(link, force, moment=moment, at=at, axes=axes)
    turn = world.pose(link).rotation if axes == "link" else np.eye(3)
    expected = world.jacobian(link, at).T @ np.concatenate([turn @ force, turn @ moment])
    assert np.abs(before - np.asarray(world.inverse_dynamics(a)) - expected).max() < 1e-12


def test_many_pushes_add_up(world):
    a = np.zeros(world.model.nv)
    before = np.asarray(world.inverse_dynamics(a))
    pushes = [world.push("girl/base", (1, 0, 0)) for _ in range(30)]
    changed = before - np.asarray(world.inverse_dynamics(a))
    assert np.abs(changed - world.jacobian("girl/base").T[:, 0] * 30).max() < 1e-11
    for push in pushes:
        world.remove(push)
    assert (np.asarray(world.inverse_dynamics(a)) == before).all()


def test_jacobian_and_its_rate(world):
    frame, at = "girl/point", (0.1, 0.2, -0.3)
    assert np.abs(world.jacobian(frame, at) @ world.v - world.velocity(frame, at)).max() < 1e-14
    h = 1e-6

    def velocity(t):
        moved = world.copy()
        moved.q = world.integrated(world.v, t)
        return moved.velocity(frame, at)

    # v constant in child axes is zero acceleration of every coordinate
    difference = (velocity(h) - velocity(-h)) / (2 * h)
    assert np.abs(world.jacobian_rate(frame, at) - difference).max() < 1e-7


def test_inverse_undoes_forward(world):
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


def test_postures_and_places(world):
    man, girl = world.figure("man"), world.figure("girl")
    girl.place((3, 4, 5), (1, 0, 0, 0))
    assert np.abs(world.position("girl/base") - [3, 4, 5]).max() < 1e-14
    assert np.abs(world.pose("girl/base").rotation - np.eye(3)).max() < 1e-14
    where = world.position("man/base")
    man.pose("bent")
    assert world.angle("man/wrist") == 0.05
    assert (world.position("man/base") == where).all()
    man.pose({"wrist": 0.02})
    assert world.angle("man/wrist") == 0.02


def test_limits_that_are_exceeded_are_named(world):
    for figure in world.figures.values():
        figure.pose({})
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
    (lambda w: w.figure("man").pose("hung"), UnknownName, "is not a pose of figure 'man'"),
    (lambda w: w.figure("man")["nope"], UnknownName, "Valid: root, shoulder, wrist"),
    (lambda w: w.add(small(), "man"), ModelError, "A figure named 'man' is there already"),
    (lambda w: w.add(small(), "a/b"), ModelError, "cannot name a figure"),
    (lambda w: w.add("human28"), ArgumentError, "expects a model"),
    (lambda w: w.add(small(), "x", at=(1, 2)), ArgumentError, "place of 'x': expected 3 numbers"),
    (lambda w: w.push("man/nose"), UnknownName, "is not a link of this world"),
    (lambda w: w.push("man/tip", (1, float("nan"), 0)), ArgumentError, "force: every number must be finite"),
    (lambda w: w.push("man/tip", axes="body"), ArgumentError, "'body' is not one of: world, link"),
    (lambda w: w.remove(w.copy().push("man/tip")), ArgumentError, "not on any link of this world"),
    (lambda w: setattr(w, "q", w.q[:-1]), ArgumentError, "world.q: expected 24 numbers"),
    (lambda w: setattr(w, "q", np.zeros(24)), ArgumentError, "a quaternion of zeros is no rotation"),
    (lambda w: setattr(w, "v", {"man/wrist": [1, 2]}), ArgumentError, "world.v['man/wrist']: expected a number"),
    (lambda w: setattr(w, "v", {"man/root": 5.0}), ArgumentError, "world.v['man/root']: expected 6 numbers"),
    (lambda w: setattr(w, "v", {"man/wrist": "3.0"}), ArgumentError, "got '3.0'"),
    (lambda w: w.restore(5), ArgumentError, "restore expects what save returned"),
    (lambda w: w.acceleration("man/typo", np.ones(20)), UnknownName, "is not a link or site"),
    (lambda w: setattr(w, "torque", {"man/elbow": 1.0}), UnknownName, "is not a coordinate of this world"),
    (lambda w: setattr(w, "gravity", (1, 2)), ArgumentError, "gravity: expected 3 numbers"),
    (lambda w: w.inverse_dynamics(np.zeros(3)), ArgumentError, "acceleration: expected 20 numbers"),
    (lambda w: w.forward_dynamics({"man/wrist": float("inf")}), ArgumentError, "torque['man/wrist']: every number must be finite"),
    (lambda w: w.totals("boy"), UnknownName, "is not a figure of this world"),
    (lambda w: w.restore(br.World().save()), ArgumentError, "saved from another world"),
    (lambda w: br.World(gravity=-1), ArgumentError, "gravity must be at least 0"),
    (lambda w: w.__setitem__("man/wrist", float("nan")), ArgumentError, "must be finite"),
    (lambda w: w.__setitem__("man/shoulder", (0, 0, 0, 0)), ArgumentError, "quaternion of zeros"),
    (lambda w: w.integrated(w.v, float("nan")), ArgumentError, "dt: expected a number, got NaN"),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_calls_say_why_and_change_nothing(world, call, error, words):
    before = world.save()
    with pytest.raises(error) as raised:
        call(world)
    assert words in str(raised.value)
    after = world.save()
    assert (after.q == before.q).all()
    assert (after.v == before.v).all()
    assert (after.torque == before.torque).all()
    assert after.pushes == before.pushes
    assert after.coordinates == before.coordinates


def test_a_state_that_is_not_finite_is_named(world):
    world.v[3] = np.nan
    with pytest.raises(StateError, match=r"v\[3\] is nan \(coordinate 'man/root.rx'\)"):
        world.forward_dynamics()
    world.v[3] = 0
    world.q[8] = np.inf
    with pytest.raises(StateError, match=r"q\[8\] is inf \(joint 'man/shoulder'\)"):
        world.pose("man/tip")


def test_a_fixed_thing_cannot_be_placed(world):
    bar = world.add(br.figures.bar(), "bar")
    with pytest.raises(ArgumentError, match="not free to be placed"):
        bar.place((0, 0, 0))
    assert (world.velocity("bar/rod") == 0).all()
    assert (world.jacobian("bar/rod") == 0).all()


def test_an_empty_world_is_a_world():
    world = br.World()
    assert world.totals().mass == 0
    assert world.mass_matrix().shape == (0, 0)
    assert len(world.forward_dynamics()) == 0
    br.Simulation(world).run(0.01)


def test_a_model_from_a_file_begins_where_the_file_draws_it(tmp_path):
    path = tmp_path / "ball.xml"
    path.write_text(
        '<mujoco><worldbody><body name="ball" pos="1 2 3"><freejoint name="root"/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    world = br.World()
    world.add(br.read_model(path), "thing")
    assert world.position("thing/ball").tolist() == [1, 2, 3]


def test_springs_hold_a_posture():
    # At the pose where they are slack, springs bring nothing; away from it, a torque back.
    model = br.figures.human28().sprung(50.0, "tumble")
    world = br.World(gravity=0)
    man = world.add(model, "man")
    man.pose("tumble")
    assert np.abs(world.bias()).max() < 1e-10
    assert abs(world.totals().potential) < 1e-12
    man["left_knee"] += 0.1
    assert world.bias()["man/left_knee"] == pytest.approx(5.0)
    assert world.totals().potential == pytest.approx(0.5 * 50.0 * 0.01)
    with pytest.raises(UnknownName, match="is not a pose"):
        model.sprung(1.0, "nap")


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
    with pytest.raises(ArgumentError, match="its root does not hang by a free joint"):
        world.add(builder.build(), "hung").place((1, 2, 3))


def test_copies_and_pickles_live_on_their_own(world):
    # Fails (or crashes) if a copy's compiled code still looks at the original's arrays.
    world.push("man/tip", (1, 2, 3))
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


def test_numbers_that_are_none_do_not_hide(world):
    world.v[3] = np.nan
    assert np.isfinite(world.mass_matrix()).all()  # velocities have no part in it
    world.q[11] = np.nan
    with pytest.raises(StateError, match=r"q\[11\] is nan"):
        world.beyond_limits()
    world["man/wrist"] = 0.02  # and what is set by name is set
    assert world.angle("man/wrist") == 0.02
