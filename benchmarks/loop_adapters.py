"""Library adapters for closed loops: steps of one mechanism by MuJoCo and Pinocchio, and a reference solution by dense linear algebra.

Different algorithms and stabilization gains of a library give different results, and so are adapters of their own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

import convert
from brachiate import dynamics
from brachiate.kinematics import frame_motion, jacobian, pose, update_poses
from brachiate.model.data import Data
from brachiate.model.flatten import Placement
from brachiate.model.model import Model
from brachiate.validation import Array
from timing import Runner, time_batch, time_calls, with_reset
from tree_adapters import COMPILED_LOOP, MAX_PINOCCHIO_BYTES, STEP, TASKS

REFINEMENTS = 3  # iterative refinement steps of the reference accelerations


class State(NamedTuple):
    """A configuration in which the loops are closed, and velocities that satisfy the constraints."""

    q: Array
    v: Array


class Problem(NamedTuple):
    """Steps of ``dt`` [s] of one mechanism from one state.

    MuJoCo and Pinocchio stabilize a loop gap g by g̈ = -kp g - kd ġ, with gains (kp, kd).
    """

    model: Model
    state: State
    dt: float

    @property
    def recommended_gains(self) -> tuple[float, float]:
        """Critically damped, time constant of two steps: MuJoCo's recommendation and lower bound (refsafe)."""
        return 1 / (2 * self.dt) ** 2, 1 / self.dt

    @property
    def deadbeat_gains(self) -> tuple[float, float]:
        """Cancel a gap within one step of semi-implicit Euler, to first order."""
        return 1 / self.dt**2, 1 / self.dt


class LoopAdapter(Protocol):
    """Steps of a problem by one algorithm."""

    name: str  # of library and algorithm
    tolerance: float  # of its accelerations: see ReferenceSolution.acceleration_error

    def runners(self, style: str) -> dict[str, Runner]:
        """Runners of n steps from the start, by name of the call; the fastest counts."""
        ...

    def trajectory(self, n: int) -> list[State]:
        """The start and the states after each of n steps, in brachiate's coordinates."""
        ...

    def accelerations(self) -> dict[str, Array]:
        """Accelerations at the start in brachiate's coordinates, by name of the call."""
        ...

    def close(self) -> None:
        """Free native memory."""
        ...


class ReferenceSolution:
    """Loop gaps, energy, and accelerations from one dense system of constrained dynamics (KKT matrix)."""

    def __init__(self, model: Model) -> None:
        self.model, self.data = model, Data(model)
        unit = np.eye(3)
        self.points = [
            (Placement(p.first_body, unit, p.first), Placement(p.second_body, unit, p.second)) for p in convert.loop_points(model)
        ]

    def gap(self, q: Array) -> float:
        """Largest distance of two points that should coincide [m]."""
        self.data.assign(q=q)
        update_poses(self.data)
        return max(float(np.linalg.norm(pose(self.data, a).position - pose(self.data, b).position)) for a, b in self.points)

    def energy(self, q: Array, v: Array) -> float:
        """Kinetic and potential energy [J]."""
        self.data.assign(q=q, v=v)
        return dynamics.totals(self.data).energy

    def jacobian(self, q: Array) -> Array:
        """Constraint Jacobian J of J v = 0."""
        self.data.assign(q=q)
        return np.vstack([(jacobian(self.data, a) - jacobian(self.data, b))[:3] for a, b in self.points])

    def accelerations(self, state: State) -> Array:
        """Accelerations a of M a + b = Jᵀλ, J a + γ = 0."""
        J, n = self.jacobian(state.q), self.model.nv
        self.data.assign(q=state.q, v=state.v, a=np.zeros(n))
        gamma = np.concatenate([(frame_motion(self.data, a)[1] - frame_motion(self.data, b)[1])[:3] for a, b in self.points])
        bias, M = dynamics.bias(self.data, *state).copy(), dynamics.mass_matrix(self.data, state.q)
        K = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
        right = np.concatenate([-bias, -gamma])
        x = np.linalg.solve(K, right)
        for _ in range(REFINEMENTS):  # M of a long chain is ill-conditioned; recursive inverse dynamics gives an accurate residual
            torque = dynamics.inverse_dynamics(self.data, *state, x[:n])
            x = x - np.linalg.solve(K, np.concatenate([torque - J.T @ x[n:], J @ x[:n] + gamma]))
        return x[:n]

    def after_impulse(self, state: State) -> Array:
        """Velocities v⁺ after the connection impulse: M (v⁺ - v) = Jᵀλ, J v⁺ = 0."""
        J, M = self.jacobian(state.q), dynamics.mass_matrix(self.data, state.q)
        Y = np.linalg.solve(M, J.T)
        return state.v - Y @ np.linalg.solve(J @ Y, J @ state.v)

    def acceleration_error(self, state: State, a: Array) -> float:
        """Error of accelerations, as the torques that cause them, relative to the largest torque."""
        expected, found = (dynamics.inverse_dynamics(self.data, *state, x).copy() for x in (self.accelerations(state), a))
        return float(np.abs(found - expected).max() / np.abs(expected).max())

    def gap_and_drift(self, trajectory: list[State]) -> tuple[float, float] | None:
        """Largest loop gap [m] and largest energy drift [J] along a trajectory; None if it diverged."""
        if not np.isfinite(np.concatenate([x for state in trajectory for x in state])).all():
            return None
        energies = np.array([self.energy(*state) for state in trajectory])
        return max(self.gap(state.q) for state in trajectory), float(np.abs(energies - energies[0]).max())


def consistent_start(model: Model, speed: float = 1.0, seed: int = 7) -> State:
    """The pose ``reference`` with random velocities up to a speed [m/s or rad/s], projected onto the constraints."""
    q, v = model.poses["reference"].copy(), speed * np.random.default_rng(seed).uniform(-1, 1, model.nv)
    J = ReferenceSolution(model).jacobian(q)
    return State(q, v - J.T @ np.linalg.solve(J @ J.T, J @ v))


class MuJoCo:
    """MuJoCo with ``connect`` constraints and its Newton solver, other stages disabled.

    Its constraints are soft: impedances are limited to 0.9999, so that accelerations differ by about 1e-3. Without inequalities Newton
    converges in one iteration, so the warm start is disabled. From 60 velocities the constraint Jacobian is forced to be dense
    (:func:`convert.jacobian_label`), and the name says so.
    """

    tolerance = 1e-2

    def __init__(
        self, problem: Problem, library: ctypes.CDLL | None, name: str = "MuJoCo", gains: tuple[float, float] | None = None
    ) -> None:
        import mujoco  # noqa: PLC0415

        model, state, dt = problem
        solref = tuple(-gain for gain in gains) if gains else (2 * dt, 1.0)
        self.mj, self.source, self.library, self.state = mujoco, model, library, state
        self.name = name + convert.jacobian_label(model)
        self.table = convert.joint_table(model)
        spec = convert.to_mujoco(model)
        spec.option.timestep = dt
        impedance = mujoco.mjMAXIMP
        convert.close_mujoco(spec, model, solref, (impedance, impedance, 0.001, 0.5, 2.0))
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.q = convert.to_mujoco_q(model, self.table, state.q)
        self.v = convert.mujoco_basis(model, self.table, state.q) @ state.v

    def close(self) -> None:
        """Nothing to free."""

    def reset(self) -> None:
        """Restore the initial state."""
        self.mj.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = self.q, self.v

    def runners(self, style: str) -> dict[str, Runner]:
        """Runners of n steps from the start, by name of the call."""
        mj, m, d = self.mj, self.model, self.data
        if style != COMPILED_LOOP:
            return {"mj_step": with_reset(time_calls(lambda: mj.mj_step(m, d)), self.reset)}
        if not self.library:
            return {"mj_step(nstep=n)": time_batch(lambda n: mj.mj_step(m, d, n), self.reset)}
        run, step = self.library.mujoco_run, TASKS.index(STEP)
        return {"C mj_step": with_reset(lambda n: run(m._address, d._address, step, 1, n), self.reset)}

    def trajectory(self, n: int) -> list[State]:
        """The start and the states after each of n steps."""
        self.reset()
        found = [self.state]
        for _ in range(n):
            self.mj.mj_step(self.model, self.data)
            q = convert.from_mujoco_q(self.source, self.table, self.data.qpos)
            found.append(State(q, convert.mujoco_basis(self.source, self.table, q).T @ self.data.qvel))
        return found

    def accelerations(self) -> dict[str, Array]:
        """Accelerations at the start."""
        self.reset()
        self.mj.mj_forward(self.model, self.data)
        bias = convert.mujoco_bias_acceleration(self.source, self.table, *self.state)
        return {"mj_forward": convert.mujoco_basis(self.source, self.table, self.state.q).T @ (self.data.qacc - bias)}


class ProximalAlgorithm(NamedTuple):
    """Algorithm of Pinocchio with its proximal settings; ``tolerance``: relative error of accelerations with them."""

    call: str
    mu: float
    iterations: int
    tolerance: float


# The constraint rows are independent: no proximal term is needed, and a single solve is exact.
CONSTRAINT_DYNAMICS = ProximalAlgorithm("constraintDynamics", mu=0.0, iterations=1, tolerance=1e-9)
# Loop-constrained ABA. The documented mu of 1e-6 weights light bodies by 1e6, with errors of accelerations of 1e-3 to 1e-2; more than
# two iterations do not improve them. It ignores the Baumgarte gains of point constraints (Pinocchio 4.1).
LCABA = ProximalAlgorithm("lcaba", mu=1e-4, iterations=2, tolerance=1e-6)


def pinocchio_constraint(model: Any, points: convert.LoopPoints) -> Any:
    """Pinocchio's point constraint, along world axes, which is faster than along those of the joint."""
    import pinocchio as pin  # noqa: PLC0415

    first, second = (pin.SE3(np.eye(3), at) for at in (points.first, points.second))
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    return pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, points.first_body, first, points.second_body, second, axes)


class Pinocchio:
    """Pinocchio's constrained dynamics with semi-implicit Euler; in C++ if it could be built."""

    def __init__(
        self, problem: Problem, library: ctypes.CDLL | None, name: str = "Pinocchio",
        algorithm: ProximalAlgorithm = CONSTRAINT_DYNAMICS, gains: tuple[float, float] = (0.0, 0.0),
    ) -> None:  # fmt: skip
        import pinocchio as pin  # noqa: PLC0415

        model, state, self.dt = problem
        self.pin, self.source, self.library, self.name, self.algorithm = pin, model, library, name, algorithm
        self.tolerance = algorithm.tolerance
        self.table = convert.joint_table(model)
        self.q, self.v = convert.to_pinocchio_q(model, self.table, state.q), state.v[self.table.v_index]
        self.tau = np.zeros(model.nv)
        self.points = convert.pinocchio_loop_points(model, self.table)
        self.handle = self._native(gains) if library else None
        self.current = self.q.copy(), self.v.copy(), np.zeros(model.nv)  # q, v, a of the steps in C++
        self.step = self._python(gains) if 4 * 8 * model.nv**3 < MAX_PINOCCHIO_BYTES else None

    def _native(self, gains: tuple[float, float]) -> int:
        tree = convert.pinocchio_arrays(self.source, self.table)
        joints = np.array([(p.first_body, p.second_body) for p in self.points], np.int32)
        points = np.array([(p.first, p.second) for p in self.points])
        call, mu, iterations, _ = self.algorithm
        return self.library.pinocchio_constrained_new(
            len(self.table.parent), *(x.ctypes.data for x in tree), len(joints), joints.ctypes.data, points.ctypes.data,
            *gains, 0.0, mu, iterations, int(call == LCABA.call),
        )  # fmt: skip

    def _python(self, gains: tuple[float, float]) -> Callable[[Array, Array], tuple[Array, Array, Array]]:
        """Function of one step: (q, v) → (q, v, a)."""
        pin, tau, dt, (call, mu, iterations, _) = self.pin, self.tau, self.dt, self.algorithm
        model = convert.to_pinocchio(self.source)
        data = model.createData()
        constraints, constraint_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for points in self.points:
            constraint = pinocchio_constraint(model, points)
            constraint.m_baumgarte_parameters.Kp, constraint.m_baumgarte_parameters.Kd = gains
            constraints.append(constraint)
            constraint_data.append(constraint.createData())
        if call == LCABA.call:
            pin.computeJointMinimalOrdering(model, data, constraints)
        else:
            pin.initConstraintDynamics(model, data, constraints, constraint_data)
        settings, accelerations, integrate = pin.ProximalSettings(0.0, mu, iterations), getattr(pin, call), pin.integrate

        def step(q: Array, v: Array) -> tuple[Array, Array, Array]:
            a = accelerations(model, data, q, v, tau, constraints, constraint_data, settings)
            v = v + dt * a
            return integrate(model, q, dt * v), v, a

        return step

    def close(self) -> None:
        """Free the C++ instance."""
        if self.handle:
            self.library.pinocchio_constrained_delete(self.handle)

    def reset(self) -> None:
        """Restore the initial state."""
        self.current[0][:], self.current[1][:] = self.q, self.v

    def runners(self, style: str) -> dict[str, Runner]:
        """Runners of n steps from the start, by name of the call; none from Python if Pinocchio's Data would be too large."""
        label = f"{self.algorithm.call} + integrate"
        if style == COMPILED_LOOP and self.handle:
            return {f"C++ {label}": with_reset(self._native_steps, self.reset)}
        return {label: time_batch(self._python_steps, lambda: None)} if self.step else {}

    def _native_steps(self, n: int) -> float:
        q, v, a = (x.ctypes.data for x in self.current)
        return self.library.pinocchio_constrained_run(self.handle, n, q, v, self.dt, a)

    def _python_steps(self, n: int) -> None:
        q, v = self.q, self.v
        for _ in range(n):
            q, v, _ = self.step(q, v)

    def trajectory(self, n: int) -> list[State]:
        """The start and the states after each of n steps."""
        self.reset()
        q, v, _ = self.current
        found = [self._state(q, v)]
        for _ in range(n):
            if self.handle:
                self._native_steps(1)
            else:
                q, v, _ = self.step(q, v)
            found.append(self._state(q, v))
        return found

    def _state(self, q: Array, v: Array) -> State:
        return State(convert.from_pinocchio_q(self.source, self.table, q), self._own_order(v))

    def _own_order(self, v: Array) -> Array:
        result = np.empty(self.source.nv)
        result[self.table.v_index] = v
        return result

    def accelerations(self) -> dict[str, Array]:
        """Accelerations at the start, from C++ and from Python."""
        found, call = {}, self.algorithm.call
        if self.step:
            found[call] = self._own_order(self.step(self.q, self.v)[2])
        if self.handle:
            self.reset()
            self._native_steps(1)
            found[f"C++ {call}"] = self._own_order(self.current[2])
        return found


def peer_factories(problem: Problem, libraries: dict[str, Any], all_gains: bool = True) -> list[Callable[[], LoopAdapter]]:
    """Factories of all peers, which raise ImportError if a library is missing; ``all_gains``: also with other than recommended gains."""
    mujoco, pinocchio = libraries.get("mujoco"), libraries.get("pinocchio_constrained")
    recommended: list[Callable[[], LoopAdapter]] = [
        lambda: MuJoCo(problem, mujoco),
        lambda: Pinocchio(problem, pinocchio, "Pinocchio, Baumgarte", gains=problem.recommended_gains),
        lambda: Pinocchio(problem, pinocchio, "Pinocchio, lcaba", algorithm=LCABA),
    ]
    if not all_gains:
        return recommended
    return [
        *recommended,
        lambda: MuJoCo(problem, mujoco, "MuJoCo, deadbeat gains", gains=problem.deadbeat_gains),
        lambda: Pinocchio(problem, pinocchio, "Pinocchio, no stabilization"),
        lambda: Pinocchio(problem, pinocchio, "Pinocchio, deadbeat gains", gains=problem.deadbeat_gains),
    ]
