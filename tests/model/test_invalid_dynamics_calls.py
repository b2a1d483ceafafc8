"""Invalid calls of dynamics functions: refused with an error that names the coordinate, data unchanged; singular mass matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.model.invalid_input import BODY, INF, NAN, raises_error

from brachiate import BrachiateError, Data, Free, Model, ModelBuilder, Prismatic, Revolute, Spherical, dynamics, kinematics
from brachiate.errors import ArgumentError, ModelError, StateError, UnknownName
from brachiate.model import flatten

# --- arguments --------------------------------------------------------------------------------------


def figure() -> Model:
    b = ModelBuilder("figure")
    b.link("trunk", joint=Free(), joint_name="root", **BODY)
    b.link("arm", parent="trunk", joint=Spherical(), joint_name="shoulder", at=(0, 0.2, 0.4), **BODY)
    b.link("hand", parent="arm", joint=Revolute("y"), joint_name="wrist", at=(0, 0, -0.3), **BODY)
    return b.build()


MODEL = figure()
Q, V = MODEL.neutral.copy(), np.zeros(10)


def changed(x: np.ndarray, at: int, value: float) -> np.ndarray:
    x = x.copy()
    x[at] = value
    return x


ZERO_SHOULDER = Q.copy()
ZERO_SHOULDER[7:11] = 0
ZERO_ROOT = Q.copy()
ZERO_ROOT[3:7] = 0

CALLS: list[tuple[str, Callable[[Data], Any], type[BrachiateError], str]] = [
    ("q too short", lambda d: dynamics.mass_matrix(d, Q[:-1]), ArgumentError, "q: expected 12 numbers"),
    ("q of size nv", lambda d: dynamics.mass_matrix(d, V), ArgumentError, "(one for each of the model's configuration coordinates)"),
    ("q a column", lambda d: dynamics.mass_matrix(d, Q[:, None]), ArgumentError, "got shape (12, 1)"),
    ("q one number", lambda d: dynamics.mass_matrix(d, 0.0), ArgumentError, "q: expected 12 numbers"),
    ("q None", lambda d: dynamics.mass_matrix(d, None), ArgumentError, "q: expected"),
    ("q as text", lambda d: dynamics.mass_matrix(d, "neutral"), ArgumentError, "q: expected numbers, got 'neutral'"),
    ("q array of texts", lambda d: dynamics.mass_matrix(d, np.array(["a"] * 12)), ArgumentError, "q: expected numbers"),
    ("q complex", lambda d: dynamics.mass_matrix(d, Q + 1j), ArgumentError, "q: expected numbers"),
    ("q ragged", lambda d: dynamics.mass_matrix(d, [[1], [1, 2]]), ArgumentError, "q: expected numbers"),
    ("v too long", lambda d: dynamics.bias(d, Q, Q), ArgumentError, "v: expected 10 numbers (one for each of the model's velocities)"),
    ("a of wrong size", lambda d: dynamics.inverse_dynamics(d, Q, V, V[:3]), ArgumentError, "a: expected 10 numbers"),
    ("tau of wrong size", lambda d: dynamics.forward_dynamics(d, Q, V, V[:3]), ArgumentError, "tau: expected 10 numbers"),
    ("q NaN", lambda d: dynamics.mass_matrix(d, changed(Q, 11, NAN)), StateError, "q[11] is nan (joint 'wrist'): every number must"),
    ("q infinite", lambda d: dynamics.mass_matrix(d, changed(Q, 0, INF)), StateError, "q[0] is inf (joint 'root')"),
    ("v infinite", lambda d: dynamics.bias(d, Q, changed(V, 9, INF)), StateError, "v[9] is inf (coordinate 'wrist')"),
    ("v NaN", lambda d: dynamics.forward_dynamics(d, Q, changed(V, 6, NAN), V), StateError, "v[6] is nan (coordinate 'shoulder.x')"),
    ("a NaN", lambda d: dynamics.inverse_dynamics(d, Q, V, changed(V, 0, NAN)), StateError, "a[0] is nan (coordinate 'root.x')"),
    ("tau NaN", lambda d: dynamics.forward_dynamics(d, Q, V, changed(V, 9, NAN)), StateError, "tau[9] is nan (coordinate 'wrist')"),
    ("zero quaternion", lambda d: dynamics.mass_matrix(d, ZERO_SHOULDER), StateError, "A quaternion in q is zero"),
    ("zero root quaternion", lambda d: dynamics.bias(d, ZERO_ROOT, V), StateError, "Start from model.neutral, or set joints by name"),
    ("all zeros", lambda d: dynamics.forward_dynamics(d, 0 * Q, V, V), StateError, "A quaternion in q is zero"),
    ("x of wrong size", lambda d: dynamics.solve_mass(d, Q, V[:3]), ArgumentError, "x: expected 10 numbers, got shape (3,)"),
    ("x NaN", lambda d: dynamics.solve_mass(d, Q, V + NAN), ArgumentError, "x: every number must be finite"),
    ("solve with zero quaternion", lambda d: dynamics.solve_mass(d, ZERO_SHOULDER, V), StateError, "A quaternion in q is zero"),
    ("members of wrong size", lambda d: dynamics.totals(d, np.ones(2, np.int64)), ArgumentError, "members"),
    ("members too many", lambda d: dynamics.centroidal_momentum_matrix(d, np.ones(9, np.int64)), ArgumentError, "members"),
    (
        "frame of unknown body",
        lambda d: kinematics.jacobian(d, kinematics.Placement(99, np.eye(3), np.zeros(3))), ArgumentError, "this model has no body 99",
    ),
    ("members by name", lambda d: dynamics.totals(d, ["trunk"]), ArgumentError, "members"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), [row[1:] for row in CALLS], ids=[row[0] for row in CALLS])
def test_dynamics_rejects_bad_input(call, error, message):
    raises_error(lambda: call(Data(MODEL)), error, message)


@pytest.mark.parametrize(("at", "joint"), [(0, "root"), (8, "shoulder"), (11, "wrist")])
def test_limits_of_a_posture_that_is_not_finite_are_refused(at, joint):
    # Fails if one number among finite ones counts as within its limits.
    data = Data(MODEL)
    data.q[at] = NAN
    raises_error(lambda: kinematics.beyond_limits(data), StateError, f"q[{at}] is nan (joint '{joint}')")


def unchanged_by(call: Callable[[Data], Any]) -> bool:
    data = Data(MODEL)
    rng = np.random.default_rng(0)
    data.assign(q=MODEL.configuration({"wrist": 0.3}), v=rng.normal(size=10), a=rng.normal(size=10), tau=rng.normal(size=10))
    before = {name: getattr(data, name).copy() for name in ("q", "v", "a", "tau")}
    with pytest.raises(BrachiateError):
        call(data)
    return all(np.array_equal(getattr(data, name), x) for name, x in before.items())


WRONG_SIZES = [row[:2] for row in CALLS if row[2] is ArgumentError]
INVALID_VALUES = [row[:2] for row in CALLS if row[2] is StateError]


@pytest.mark.parametrize("call", [call for _, call in WRONG_SIZES], ids=[name for name, _ in WRONG_SIZES])
def test_a_call_with_wrong_sizes_does_not_change_the_data(call):
    # Fails if some arguments are stored before the others are checked.
    assert unchanged_by(call)


@pytest.mark.parametrize("call", [call for _, call in INVALID_VALUES], ids=[name for name, _ in INVALID_VALUES])
def test_a_call_with_invalid_values_does_not_change_the_data(call):
    # Fails if a NaN remains in the data.
    assert unchanged_by(call)


# Finite input whose result overflows: 1e200 squared.

OVERFLOWS: list[tuple[str, Callable[[Data], Any]]] = [
    ("inverse dynamics", lambda d: dynamics.inverse_dynamics(d, Q, V + 1e200, V)),
    ("bias", lambda d: dynamics.bias(d, Q, V + 1e200)),
    ("forward dynamics", lambda d: dynamics.forward_dynamics(d, Q, V + 1e200, V)),
]


@pytest.mark.parametrize("call", [call for _, call in OVERFLOWS], ids=[name for name, _ in OVERFLOWS])
def test_overflow_raises_an_error(call):
    raises_error(lambda: call(Data(MODEL)), StateError, "finite")


def wide_slide() -> Model:
    b = ModelBuilder("wide")
    b.link("rail", joint=Revolute("z"), **BODY)
    b.link("car", parent="rail", joint=Prismatic("x"), **BODY)
    return b.build()


def test_mass_matrix_that_overflows_raises_an_error():
    raises_error(lambda: dynamics.mass_matrix(Data(wide_slide()), (0, 1e200)), StateError, "finite")


def test_energy_that_overflows_raises_an_error():
    data = Data(wide_slide())
    data.assign(v=(1e200, 0))
    raises_error(lambda: dynamics.totals(data), StateError, "finite")


def test_a_refused_call_does_not_affect_the_next():
    # The mass matrix depends on q only: fails if the infinite v of the call before is checked again.
    data = Data(MODEL)
    raises_error(lambda: dynamics.bias(data, Q, V + INF), StateError, "v[0] is inf")
    assert np.isfinite(dynamics.mass_matrix(data, Q)).all()


def test_the_message_is_about_the_present_call():
    # forward_dynamics leaves non-finite accelerations; the error of the next call is its zero quaternion.
    data = Data(MODEL)
    with pytest.raises(StateError):
        dynamics.forward_dynamics(data, Q, V + 1e200, V)
    raises_error(lambda: dynamics.forward_dynamics(data, ZERO_SHOULDER, V, V), StateError, "A quaternion in q is zero")


@pytest.mark.parametrize(
    "gravity", [(0, -9.81), -9.81, (0, 0, 0, -9.81), (0, 0, NAN), (0, 0, -INF), "down", None], ids=str
)  # fmt: skip
def test_gravity_is_three_finite_numbers(gravity):
    # Compiled code would read three numbers from an array of two.
    raises_error(lambda: Data(MODEL, gravity=gravity), ArgumentError, "gravity")


def test_number_of_pushes_is_not_negative():
    raises_error(lambda: Data(MODEL, pushes=-1), ArgumentError, "pushes")


def test_assign_refuses_unknown_arrays():
    raises_error(lambda: Data(MODEL).assign(torque=V), ArgumentError, "torque")


# --- singular and large mass matrices ---------------------------------------------------------------


def point_mass_on_axis(axis, rotation=None) -> Model:
    """A point mass on its own axis of rotation: zero inertia about it."""
    b = ModelBuilder("needle")
    b.link("base", joint=Prismatic("x"), rotation=rotation, **BODY)
    b.link("needle", parent="base", joint=Revolute(axis), mass=1.0, center=np.array(axis, float))
    return b.build()


@pytest.mark.parametrize(
    ("axis", "rotation"),
    [((0, 0, 1), None), ((1, 2, 3), None), ((1, 2, 3), (0.3, -0.4, 0.5, 0.7)), ((-3, 7, 2), (9, 1, 2, 3)), ((5, 1, 1), (1, 1, 1, 0))],
)  # fmt: skip
@pytest.mark.parametrize("angle", [0.0, 0.4, 2.1])
def test_singular_mass_matrix_raises_an_error_despite_round_off(axis, rotation, angle):
    # For an oblique axis round-off makes the inertia 1e-17 instead of 0. Fails if accelerations of 1e17 are returned.
    data = Data(point_mass_on_axis(axis, rotation))
    message = "The mass matrix is singular at coordinate 'needle': in this posture it has no inertia."
    raises_error(lambda: dynamics.forward_dynamics(data, [0.1, angle], [0, 0], [0, 1]), StateError, message)
    raises_error(lambda: dynamics.solve_mass(data, [0.1, angle], [0, 1]), StateError, message)


def test_two_spherical_joints_about_one_point_raise_an_error():
    b = ModelBuilder("two balls")
    b.link("a", joint=Spherical())
    b.link("b", parent="a", joint=Spherical(), **BODY)
    model = b.build()
    rng = np.random.default_rng(1)
    for _ in range(10):
        q = rng.normal(size=8)
        raises_error(lambda q=q: dynamics.forward_dynamics(Data(model), q, np.zeros(6), np.ones(6)), StateError, "mass matrix is singular")


def test_a_mass_matrix_too_large_to_store_does_not_prevent_dynamics(monkeypatch):
    # As for a chain of more than about 5,000 links: here the limit is lowered.
    monkeypatch.setattr(flatten, "MAX_PACKED_SIZE", 20)
    b = ModelBuilder("long")
    for i in range(10):
        b.link(f"l{i}", parent=f"l{i - 1}" if i else None, joint=Revolute("xyz"[i % 3]), at=(0, 0, 0.1), **BODY)
    model = b.build()
    data = Data(model)
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 10))
    raises_error(lambda: dynamics.mass_matrix(data, q), ArgumentError, "The mass matrix of 10 coordinates would fill")
    tau = dynamics.inverse_dynamics(data, q, v, a).copy()
    assert np.allclose(dynamics.forward_dynamics(data, q, v, tau), a, rtol=0, atol=1e-11)


def test_singular_free_joint_in_a_chain_is_named():
    # Fails if the error names a wrong coordinate within the free joint.
    b = ModelBuilder("nested")
    b.link("a", joint=Revolute("y"), **BODY)
    b.link("b", parent="a", joint=Free(), mass=1.0, inertia=(0, 0, 0))
    model = b.build()
    message = "The mass matrix is singular at coordinate 'b.r"
    raises_error(lambda: dynamics.forward_dynamics(Data(model), model.neutral, np.zeros(7), np.ones(7)), StateError, message)


# --- names in messages ------------------------------------------------------------------------------


def test_unknown_names_list_the_valid_ones():
    with pytest.raises(UnknownName) as caught:
        MODEL.configuration({"sholder": (1, 0, 0, 0)})
    assert str(caught.value) == (
        "'sholder' is not a joint of model 'figure'. Did you mean 'shoulder'? Valid: root, shoulder, wrist."
    )  # fmt: skip
    assert isinstance(caught.value, KeyError)
    assert (caught.value.name, caught.value.valid) == ("sholder", ["root", "shoulder", "wrist"])


def test_long_lists_of_names_are_truncated():
    b = ModelBuilder("many")
    for i in range(40):
        b.link(f"l{i}", **BODY)
    b.site("tip", "zebra")
    with pytest.raises(UnknownName, match=r"l23, \.\.\. \(40 in all\)\."):
        b.build()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MODEL.configuration({"wrist": "bent"}), "value of 'wrist': expected 1 numbers, got 'bent'"),
        (lambda: MODEL.configuration({"wrist": 1.0}, base=np.zeros(3)), "base: expected 12 numbers"),
        (lambda: MODEL.configuration({"root": (0, 0, 0)}), "value of 'root': expected 7 numbers, got shape (3,)"),
    ],
)
def test_configuration_rejects_bad_input(call, message):
    raises_error(call, ArgumentError, message)


def test_errors_are_brachiate_errors_and_python_errors():
    for error, kind in ((ArgumentError, ValueError), (ModelError, ValueError), (UnknownName, KeyError), (StateError, ArithmeticError)):
        assert issubclass(error, BrachiateError)
        assert issubclass(error, kind)
