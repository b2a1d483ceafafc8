"""Who takes part where loops are closed, and a judge who measures all of them alike.

A contestant takes steps of one mechanism from one state. What a library computes in different ways, with different results,
are different contestants.
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
from contestants import LOOP, MOST_PINOCCHIO_BYTES, STEP, TASKS
from race import Runner, fresh, repeated, timed

REFINED = 3  # times that the judge's accelerations are improved: each takes off most of what round-off left


class State(NamedTuple):
    """A configuration in which the loops are closed, and velocities that keep them closed."""

    q: Array
    v: Array


class Problem(NamedTuple):
    """What all are asked: steps of ``dt`` [s] of one mechanism from one state.

    A gap g of a loop is led back by g'' = -kp g - kd g', in MuJoCo and in Pinocchio alike.
    """

    model: Model
    state: State
    dt: float

    @property
    def careful(self) -> tuple[float, float]:
        """Gains as the guides teach: critically damped, a time constant of two steps, the shortest that MuJoCo takes (its refsafe)."""
        return 1 / (2 * self.dt) ** 2, 1 / self.dt

    @property
    def stiffest(self) -> tuple[float, float]:
        """Gains that leave nothing of a gap after a step of semi-implicit Euler, but for what is not linear: the best there are."""
        return 1 / self.dt**2, 1 / self.dt


class Contestant(Protocol):
    """What takes steps of a problem."""

    name: str  # of the peer
    agree: float  # how far its accelerations may be from the judge's

    def runners(self, way: str) -> dict[str, Runner]:
        """Ways to take so many steps from the start, by name; the fastest counts."""
        ...

    def path(self, n: int) -> list[State]:
        """States before, between and after n steps from the start, in our coordinates."""
        ...

    def accelerations(self) -> dict[str, Array]:
        """Accelerations at the start, in our coordinates, by every way of calling."""
        ...

    def close(self) -> None:
        """Free what is held."""
        ...


class Judge:
    """Gaps of the loops, energy, and accelerations by the plainest algebra there is: one dense system."""

    def __init__(self, model: Model) -> None:
        self.model, self.data = model, Data(model)
        unit = np.eye(3)
        self.ends = [(Placement(e.first_body, unit, e.first), Placement(e.second_body, unit, e.second)) for e in convert.loop_ends(model)]

    def gap(self, q: Array) -> float:
        """The largest distance of two points that should be one [m]."""
        self.data.assign(q=q)
        update_poses(self.data)
        return max(float(np.linalg.norm(pose(self.data, a).position - pose(self.data, b).position)) for a, b in self.ends)

    def energy(self, q: Array, v: Array) -> float:
        """Kinetic and potential energy [J]."""
        self.data.assign(q=q, v=v)
        return dynamics.totals(self.data).energy

    def jacobian(self, q: Array) -> Array:
        """J of the loops' J v = 0."""
        self.data.assign(q=q)
        return np.vstack([(jacobian(self.data, a) - jacobian(self.data, b))[:3] for a, b in self.ends])

    def accelerations(self, state: State) -> Array:
        """Those of M a + b = Jᵀλ and J a + γ = 0."""
        J, n = self.jacobian(state.q), self.model.nv
        self.data.assign(q=state.q, v=state.v, a=np.zeros(n))
        gamma = np.concatenate([(frame_motion(self.data, a)[1] - frame_motion(self.data, b)[1])[:3] for a, b in self.ends])
        bias, M = dynamics.bias(self.data, *state).copy(), dynamics.mass_matrix(self.data, state.q)
        K = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
        right = np.concatenate([-bias, -gamma])
        x = np.linalg.solve(K, right)
        for _ in range(REFINED):  # a long chain's M is badly conditioned: its torques are exact only link by link
            torque = dynamics.inverse_dynamics(self.data, *state, x[:n])
            x = x - np.linalg.solve(K, np.concatenate([torque - J.T @ x[n:], J @ x[:n] + gamma]))
        return x[:n]

    def after_impulse(self, state: State) -> Array:
        """Velocities once impulses have closed the loops: M (v⁺ - v) = Jᵀλ and J v⁺ = 0."""
        J, M = self.jacobian(state.q), dynamics.mass_matrix(self.data, state.q)
        Y = np.linalg.solve(M, J.T)
        return state.v - Y @ np.linalg.solve(J @ Y, J @ state.v)

    def disagreement(self, state: State, a: Array) -> float:
        """How far accelerations are from the right ones, by the torques they take, relative to the largest."""
        right, given = (dynamics.inverse_dynamics(self.data, *state, x).copy() for x in (self.accelerations(state), a))
        return float(np.abs(given - right).max() / np.abs(right).max())

    def verdict(self, path: list[State]) -> tuple[float, float] | None:
        """The largest gap [m], and the largest difference to the first energy [J], along a path; None if it left the finite."""
        if not np.isfinite(np.concatenate([x for state in path for x in state])).all():
            return None
        energies = np.array([self.energy(*state) for state in path])
        return max(self.gap(state.q) for state in path), float(np.abs(energies - energies[0]).max())


def start(model: Model, speed: float = 1.0, seed: int = 7) -> State:
    """The pose ``reference`` with random velocities up to a speed [m/s or rad/s], less what the loops do not allow."""
    q, v = model.poses["reference"].copy(), speed * np.random.default_rng(seed).uniform(-1, 1, model.nv)
    J = Judge(model).jacobian(q)
    return State(q, v - J.T @ np.linalg.solve(J @ J.T, J @ v))


class MuJoCo:
    """MuJoCo with its ``connect`` constraints and its Newton solver; everything that is not there is switched off.

    Its constraints give way: of impedances it takes 0.9999 at most, so that accelerations are off by some 1e-3. With no inequality
    Newton is done after one iteration wherever it starts, so a warm start would only cost.
    """

    agree = 1e-2

    def __init__(
        self, problem: Problem, library: ctypes.CDLL | None, name: str = "MuJoCo", gains: tuple[float, float] | None = None
    ) -> None:
        import mujoco  # noqa: PLC0415

        model, state, dt = problem
        solref = tuple(-gain for gain in gains) if gains else (2 * dt, 1.0)
        self.mj, self.ours, self.library, self.state, self.name = mujoco, model, library, state, name
        self.plan = convert.joints(model)
        spec = convert.to_mujoco(model)
        spec.option.timestep = dt
        stiff = mujoco.mjMAXIMP
        convert.close_mujoco(spec, model, solref, (stiff, stiff, 0.001, 0.5, 2.0))
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.q = convert.to_mujoco_q(model, self.plan, state.q)
        self.v = convert.mujoco_basis(model, self.plan, state.q) @ state.v

    def close(self) -> None:
        """Nothing to free."""

    def reset(self) -> None:
        """Put the state back."""
        self.mj.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = self.q, self.v

    def runners(self, way: str) -> dict[str, Runner]:
        """Ways to take so many steps from the start, by name."""
        mj, m, d = self.mj, self.model, self.data
        if way != LOOP:
            return {"mj_step": fresh(repeated(lambda: mj.mj_step(m, d)), self.reset)}
        if not self.library:
            return {"mj_step(nstep=n)": timed(lambda n: mj.mj_step(m, d, n), self.reset)}
        run, step = self.library.mujoco_run, TASKS.index(STEP)
        return {"C mj_step": fresh(lambda n: run(m._address, d._address, step, 1, n), self.reset)}

    def path(self, n: int) -> list[State]:
        """States before, between and after n steps from the start."""
        self.reset()
        found = [self.state]
        for _ in range(n):
            self.mj.mj_step(self.model, self.data)
            q = convert.from_mujoco_q(self.ours, self.plan, self.data.qpos)
            found.append(State(q, convert.mujoco_basis(self.ours, self.plan, q).T @ self.data.qvel))
        return found

    def accelerations(self) -> dict[str, Array]:
        """Accelerations at the start."""
        self.reset()
        self.mj.mj_forward(self.model, self.data)
        drift = convert.mujoco_drift(self.ours, self.plan, *self.state)
        return {"mj_forward": convert.mujoco_basis(self.ours, self.plan, self.state.q).T @ (self.data.qacc - drift)}


class Proximal(NamedTuple):
    """One of Pinocchio's algorithms, with its settings; ``agree``: how exact they make it."""

    call: str
    mu: float
    iterations: int
    agree: float


# No two rows of the loops say the same, so there is no need of a proximal term, and one solution of one factor is exact.
DENSE = Proximal("constraintDynamics", mu=0.0, iterations=1, agree=1e-9)
# Link by link. Its guide's mu of 1e-6 puts weights of 1e6 on light bodies, which makes accelerations wrong by 1e-3 to 1e-2; more
# than two iterations take time and give nothing here. It passes over Baumgarte's gains of points (Pinocchio 4.1).
LINKWISE = Proximal("lcaba", mu=1e-4, iterations=2, agree=1e-6)


def pinocchio_loop(model: Any, ends: convert.Ends) -> Any:
    """Pinocchio's constraint that keeps two points together; along world axes, as along those of the joint it is slower."""
    import pinocchio as pin  # noqa: PLC0415

    first, second = (pin.SE3(np.eye(3), at) for at in (ends.first, ends.second))
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    return pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, ends.first_body, first, ends.second_body, second, axes)


class Pinocchio:
    """Pinocchio's constrained dynamics and semi-implicit Euler; in C++ if that could be built."""

    def __init__(
        self, problem: Problem, library: ctypes.CDLL | None, name: str = "Pinocchio",
        algorithm: Proximal = DENSE, gains: tuple[float, float] = (0.0, 0.0),
    ) -> None:  # fmt: skip
        import pinocchio as pin  # noqa: PLC0415

        model, state, self.dt = problem
        self.pin, self.ours, self.library, self.name, self.algorithm = pin, model, library, name, algorithm
        self.agree = algorithm.agree
        self.plan = convert.joints(model)
        self.q, self.v = convert.to_pinocchio_q(model, self.plan, state.q), state.v[self.plan.v]
        self.tau = np.zeros(model.nv)
        self.ends = convert.pinocchio_ends(model, self.plan)
        self.handle = self._native(gains) if library else None
        self.now = self.q.copy(), self.v.copy(), np.zeros(model.nv)  # of the steps in C++
        self.step = self._python(gains) if 4 * 8 * model.nv**3 < MOST_PINOCCHIO_BYTES else None

    def _native(self, gains: tuple[float, float]) -> int:
        tree = convert.pinocchio_arrays(self.ours, self.plan)
        joints = np.array([(e.first_body, e.second_body) for e in self.ends], np.int32)
        points = np.array([(e.first, e.second) for e in self.ends])
        call, mu, iterations, _ = self.algorithm
        return self.library.pinocchio_constrained_new(
            len(self.plan.parent), *(x.ctypes.data for x in tree), len(joints), joints.ctypes.data, points.ctypes.data,
            *gains, 0.0, mu, iterations, int(call == LINKWISE.call),
        )  # fmt: skip

    def _python(self, gains: tuple[float, float]) -> Callable[[Array, Array], tuple[Array, Array, Array]]:
        """A step: from q and v to those after it, and the acceleration."""
        pin, tau, dt, (call, mu, iterations, _) = self.pin, self.tau, self.dt, self.algorithm
        model = convert.to_pinocchio(self.ours)
        data, loops, work = model.createData(), pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for ends in self.ends:
            loop = pinocchio_loop(model, ends)
            loop.m_baumgarte_parameters.Kp, loop.m_baumgarte_parameters.Kd = gains
            loops.append(loop)
            work.append(loop.createData())
        if call == LINKWISE.call:
            pin.computeJointMinimalOrdering(model, data, loops)
        else:
            pin.initConstraintDynamics(model, data, loops, work)
        settings, accelerations, integrate = pin.ProximalSettings(0.0, mu, iterations), getattr(pin, call), pin.integrate

        def step(q: Array, v: Array) -> tuple[Array, Array, Array]:
            a = accelerations(model, data, q, v, tau, loops, work, settings)
            v = v + dt * a
            return integrate(model, q, dt * v), v, a

        return step

    def close(self) -> None:
        """Free what C++ holds."""
        if self.handle:
            self.library.pinocchio_constrained_delete(self.handle)

    def reset(self) -> None:
        """Put the state back."""
        self.now[0][:], self.now[1][:] = self.q, self.v

    def runners(self, way: str) -> dict[str, Runner]:
        """Ways to take so many steps from the start, by name; none from Python if there is no room for it."""
        label = f"{self.algorithm.call} + integrate"
        if way == LOOP and self.handle:
            return {f"C++ {label}": fresh(self._steps, self.reset)}
        return {label: timed(self._walk, lambda: None)} if self.step else {}

    def _steps(self, n: int) -> float:
        q, v, a = (x.ctypes.data for x in self.now)
        return self.library.pinocchio_constrained_run(self.handle, n, q, v, self.dt, a)

    def _walk(self, n: int) -> None:
        q, v = self.q, self.v
        for _ in range(n):
            q, v, _ = self.step(q, v)

    def path(self, n: int) -> list[State]:
        """States before, between and after n steps from the start."""
        self.reset()
        q, v, _ = self.now
        found = [self._state(q, v)]
        for _ in range(n):
            if self.handle:
                self._steps(1)
            else:
                q, v, _ = self.step(q, v)
            found.append(self._state(q, v))
        return found

    def _state(self, q: Array, v: Array) -> State:
        return State(convert.from_pinocchio_q(self.ours, self.plan, q), self._own(v))

    def _own(self, v: Array) -> Array:
        result = np.empty(self.ours.nv)
        result[self.plan.v] = v
        return result

    def accelerations(self) -> dict[str, Array]:
        """Accelerations at the start, from C++ and from Python."""
        found, call = {}, self.algorithm.call
        if self.step:
            found[call] = self._own(self.step(self.q, self.v)[2])
        if self.handle:
            self.reset()
            self._steps(1)
            found[f"C++ {call}"] = self._own(self.now[2])
        return found


def peers(problem: Problem, libraries: dict[str, Any], gains: bool = True) -> list[Callable[[], Contestant]]:
    """Makers of every peer, each of which may find its library missing; ``gains``: also with other gains than the careful ones."""
    mujoco, pinocchio = libraries.get("mujoco"), libraries.get("pinocchio_constrained")
    usual: list[Callable[[], Contestant]] = [
        lambda: MuJoCo(problem, mujoco),
        lambda: Pinocchio(problem, pinocchio, "Pinocchio, Baumgarte", gains=problem.careful),
        lambda: Pinocchio(problem, pinocchio, "Pinocchio, lcaba", algorithm=LINKWISE),
    ]
    if not gains:
        return usual
    return [
        *usual,
        lambda: MuJoCo(problem, mujoco, "MuJoCo, stiffest", gains=problem.stiffest),
        lambda: Pinocchio(problem, pinocchio),
        lambda: Pinocchio(problem, pinocchio, "Pinocchio, stiffest", gains=problem.stiffest),
    ]
