"""Library adapters for tree dynamics: the same tasks by brachiate, Pinocchio and MuJoCo, for one model at one state.

An adapter offers one or more runners for a task and a calling style: where a library has several functions for the same result, all are
timed and the fastest counts.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import compiled_loops
import convert
from brachiate import dynamics
from brachiate.manifold import integrate
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.simulate.integrators import METHODS, Integrator
from brachiate.validation import Array
from timing import Runner, time_batch, time_calls, with_reset

TASKS = ("inverse dynamics", "mass matrix", "forward dynamics", "free step")
INVERSE, MASS, FORWARD, STEP = TASKS
COMPILED_LOOP, PYTHON_CALL, PYTHON_IN_PLACE = "compiled loop", "Python call", "Python call, state in place"
CALLING_STYLES = (COMPILED_LOOP, PYTHON_CALL, PYTHON_IN_PLACE)
DT = 1e-5  # [s]: short, so that motion from a random state stays bounded for all timed steps

# Pinocchio's Data allocates four nv × nv × nv tensors; in C++ a header without them is used (native/header_overrides).
MAX_PINOCCHIO_BYTES = 2e9


class State(NamedTuple):
    """A random state without zero angles, for which sine and cosine are faster. ``tau`` are the torques that cause ``a``."""

    q: Array
    v: Array
    a: Array
    tau: Array


def random_state(model: Model, seed: int = 7) -> State:
    rng, data = np.random.default_rng(seed), Data(model)
    q = integrate(data, model.neutral, rng.uniform(0.1, 1.0, model.nv) * rng.choice([-1.0, 1.0], model.nv))
    v, a = rng.uniform(-1, 1, model.nv), rng.uniform(-1, 1, model.nv)
    return State(q, v, a, dynamics.inverse_dynamics(data, q, v, a).copy())


class Brachiate:
    """Brachiate: compiled loops over kernels, public functions, and compiled entry points."""

    def __init__(self, model: Model, state: State) -> None:
        self.data, self.state = Data(model), state
        self.integrator = Integrator(self.data, "euler")
        self.recorded = np.zeros((1, model.nq)), np.zeros((1, model.nv))
        self.reset()

    def reset(self) -> None:
        """Restore the initial state."""
        self.data.assign(q=self.state.q, v=self.state.v, a=self.state.a, tau=self.state.tau)

    def runners(self, task: str, style: str) -> dict[str, Runner]:
        """Implementations of a task, by name."""
        data, (q, v, a, tau) = self.data, self.state
        if style == COMPILED_LOOP:
            loop = {
                INVERSE: compiled_loops.inverse_dynamics,
                MASS: compiled_loops.mass_matrix,
                FORWARD: compiled_loops.forward_dynamics,
            }.get(task)
            if loop is None:
                return {"Integrator.advance, many steps": time_batch(lambda n: self.integrator.advance(DT, n, n), self.reset)}
            return {f"@entry loop over {loop.__name__}": time_batch(lambda n: loop(data.key, n), self.reset)}
        if style == PYTHON_CALL:
            name, call = {
                INVERSE: ("dynamics.inverse_dynamics", lambda: dynamics.inverse_dynamics(data, q, v, a)),
                MASS: ("dynamics.mass_matrix", lambda: dynamics.mass_matrix(data, q)),
                FORWARD: ("dynamics.forward_dynamics", lambda: dynamics.forward_dynamics(data, q, v, tau)),
                STEP: ("Integrator.advance, one step", lambda: self.integrator.advance(DT)),
            }[task]
            return {name: with_reset(time_calls(call), self.reset)}
        run, steps, (Q, V) = METHODS["euler"].run, self.integrator._scratch.key, self.recorded
        name, call = {
            INVERSE: ("an @entry of inverse.inverse_dynamics(key)", lambda: compiled_loops.inverse_dynamics(data.key, 1)),
            MASS: ("an @entry of mass.compute_mass_matrix(key)", lambda: compiled_loops.mass_matrix(data.key, 1)),
            FORWARD: ("an @entry of forward.forward_dynamics(key)", lambda: compiled_loops.forward_dynamics(data.key, 1)),
            STEP: ("the @entry of the euler method", lambda: run(data.key, None, None, steps, 0.0, DT, 1, 1, Q, V)),
        }[task]
        return {name: with_reset(time_calls(call), self.reset)}


class Pinocchio:
    """Pinocchio, with both conventions it offers; compiled loops in C++ if they could be built."""

    name = "Pinocchio"

    def __init__(self, model: Model, state: State, library: ctypes.CDLL | None) -> None:
        import pinocchio as pin  # noqa: PLC0415

        self.pin, self.source, self.library = pin, model, library
        self.table = convert.joint_table(model)
        self.q, self.v = convert.to_pinocchio_q(model, self.table, state.q), state.v[self.table.v_index]
        self.a, self.tau = state.a[self.table.v_index], state.tau[self.table.v_index]
        self.fits = 4 * 8 * model.nv**3 < MAX_PINOCCHIO_BYTES
        if self.fits:
            self.model = convert.to_pinocchio(model)
            self.data = self.model.createData()
        self.out = np.zeros(max(model.nv**2, model.nq + model.nv))
        self.handle = self._native() if library else None

    def _native(self) -> int:
        arrays = convert.pinocchio_arrays(self.source, self.table)
        return self.library.pinocchio_new(len(self.table.parent), *(x.ctypes.data for x in arrays))

    def close(self) -> None:
        """Free the C++ instance."""
        if self.handle:
            self.library.pinocchio_delete(self.handle)

    def runners(self, task: str, style: str) -> dict[str, Runner]:
        """Implementations of a task, by name; none if Pinocchio's Data would be too large."""
        name = {INVERSE: "rnea", MASS: "crba", FORWARD: "aba", STEP: "aba + integrate"}[task]
        conventions = ("",) if task == INVERSE else ("LOCAL", "WORLD")
        if style == COMPILED_LOOP and self.handle:
            return {f"C++ {name} {c}".strip(): self._native_runner(task, c == "WORLD") for c in conventions}
        if not self.fits:
            return {}
        return {f"{name} {c}".strip(): time_calls(self._call(task, c)) for c in conventions}

    def _native_runner(self, task: str, world_convention: bool) -> Runner:
        x = self.a if task == INVERSE else self.tau
        arrays = [y.ctypes.data for y in (self.q, self.v, x)]
        number, run, out = TASKS.index(task), self.library.pinocchio_run, self.out.ctypes.data
        return lambda n: run(self.handle, number, int(world_convention), n, *arrays, DT, out)

    def _call(self, task: str, convention: str) -> Callable[[], Any]:
        pin, model, data, q, v = self.pin, self.model, self.data, self.q, self.v
        if task == INVERSE:
            return lambda: pin.rnea(model, data, q, v, self.a)
        convention = getattr(pin.Convention, convention)
        if task == MASS:
            return lambda: pin.crba(model, data, q, convention)
        if task == FORWARD:
            return lambda: pin.aba(model, data, q, v, self.tau, convention)

        def step() -> None:
            velocity = v + DT * pin.aba(model, data, q, v, self.tau, convention)
            pin.integrate(model, q, DT * velocity)

        return step

    def results(self) -> dict[str, Array]:
        """Mass matrix, torques, accelerations and velocities after a step in brachiate's order, by every available runner."""
        styles = CALLING_STYLES if self.handle and self.fits else (COMPILED_LOOP,) if self.handle else (PYTHON_CALL,)
        found = {}
        for style in styles:
            for task in TASKS:
                for name, run in self.runners(task, style).items():
                    value = self._native_result(task, run) if style == COMPILED_LOOP and self.handle else self._python_result(task, run)
                    if value is not None:
                        found[f"{task}: {style}, {name}"] = value
        return found

    def _native_result(self, task: str, run: Runner) -> Array:
        nq, nv = self.source.nq, self.source.nv
        run(1)
        if task == MASS:
            return self._own_mass_matrix(self.out[: nv * nv].reshape(nv, nv))
        return self._own_order(self.out[nq : nq + nv] if task == STEP else self.out[:nv])

    def _python_result(self, task: str, run: Runner) -> Array | None:
        if task == STEP:
            return None
        run(1)
        if task == MASS:
            return self._own_mass_matrix(self.data.M.T)
        return self._own_order(self.data.tau if task == INVERSE else self.data.ddq)

    def _own_order(self, x: Array) -> Array:
        return np.asarray(x)[np.argsort(self.table.v_index)]

    def _own_mass_matrix(self, transposed: Array) -> Array:
        """Symmetric mass matrix in brachiate's order: Pinocchio fills only the upper triangle."""
        lower, order = np.tril(transposed), np.argsort(self.table.v_index)
        return (lower + np.tril(lower, -1).T)[np.ix_(order, order)]


class MuJoCo:
    """MuJoCo with only the tree enabled: by the functions of its full pipeline, or by only the stages that a task needs."""

    name = "MuJoCo"

    def __init__(self, model: Model, state: State, library: ctypes.CDLL | None) -> None:
        import mujoco  # noqa: PLC0415

        self.mj, self.library = mujoco, library
        self.table = convert.joint_table(model)
        spec = convert.to_mujoco(model)
        spec.option.timestep = DT
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.B = convert.mujoco_basis(model, self.table, state.q)
        self.bias_acceleration = convert.mujoco_bias_acceleration(model, self.table, state.q, state.v)
        self.q, self.v = convert.to_mujoco_q(model, self.table, state.q), self.B @ state.v
        self.a, self.tau = self.B @ state.a + self.bias_acceleration, self.B @ state.tau  # B is orthogonal
        self.full = np.zeros((model.nv, model.nv))
        self.zero = np.zeros(model.nv)

    def close(self) -> None:
        """Nothing to free."""

    def reset(self) -> None:
        """Restore the initial state."""
        d = self.data
        d.qpos[:], d.qvel[:], d.qacc[:], d.qfrc_applied[:], d.time = self.q, self.v, self.a, self.tau, 0.0

    def runners(self, task: str, style: str) -> dict[str, Runner]:
        """Implementations of a task, by name."""
        pipeline = {INVERSE: "mj_inverse", MASS: "mj_fwdPosition", FORWARD: "mj_forward", STEP: "mj_step"}[task]
        names = {"stages": 0, pipeline: 1} if task != STEP else {pipeline: 1}
        if style == COMPILED_LOOP and self.library:
            number, run = TASKS.index(task), self.library.mujoco_run
            m, d = self.model._address, self.data._address
            return {f"C {name}": self._from_start(lambda n, full=full: run(m, d, number, full, n)) for name, full in names.items()}
        if style == COMPILED_LOOP and task == STEP:
            return {"mj_step(nstep=n)": self._from_start(time_batch(lambda n: self.mj.mj_step(self.model, self.data, n), lambda: None))}
        copied = style == PYTHON_CALL
        return {name: self._from_start(time_calls(self._call(task, bool(full), copied))) for name, full in names.items()}

    def _from_start(self, run: Runner) -> Runner:
        return with_reset(run, self.reset)

    def _call(self, task: str, full_pipeline: bool, copied: bool) -> Callable[[], Any]:
        """One call from Python; ``copied``: q, v, ... are arguments, as of brachiate's public functions, and copied into MjData."""
        mj, m, d = self.mj, self.model, self.data
        qpos, qvel, qacc, applied, q, v, a, tau = d.qpos, d.qvel, d.qacc, d.qfrc_applied, self.q, self.v, self.a, self.tau
        bias, smooth, result, full = d.qfrc_bias, d.qfrc_smooth, d.qfrc_inverse, self.full
        solution, right_side = qacc[None], smooth[None]  # mj_solveM takes matrices

        def inverse() -> None:
            if copied:
                qpos[:], qvel[:], qacc[:] = q, v, a
            if full_pipeline:
                mj.mj_inverse(m, d)
                return
            mj.mj_kinematics(m, d)
            mj.mj_comPos(m, d)
            mj.mj_comVel(m, d)
            mj.mj_rne(m, d, 1, result)

        def mass() -> None:
            if copied:
                qpos[:] = q
            if full_pipeline:
                mj.mj_fwdPosition(m, d)
            else:
                mj.mj_kinematics(m, d)
                mj.mj_comPos(m, d)
                mj.mj_makeM(m, d)
            if copied:
                mj.mj_fullM(m, d, full)

        def forward() -> None:
            if copied:
                qpos[:], qvel[:], applied[:] = q, v, tau
            if full_pipeline:
                mj.mj_forward(m, d)
                return
            mj.mj_kinematics(m, d)
            mj.mj_comPos(m, d)
            mj.mj_makeM(m, d)
            mj.mj_factorM(m, d)
            mj.mj_comVel(m, d)
            mj.mj_rne(m, d, 0, bias)
            np.subtract(applied, bias, out=smooth)
            mj.mj_solveM(m, d, solution, right_side)

        return {INVERSE: inverse, MASS: mass, FORWARD: forward, STEP: lambda: mj.mj_step(m, d)}[task]

    def results(self) -> dict[str, Array]:
        """Mass matrix, torques and accelerations in brachiate's coordinates, by every available runner.

        Not the free step: MuJoCo integrates the linear velocity of a free joint along world axes, which is another discretization.
        """
        found = {}
        for style in CALLING_STYLES:
            for task in (INVERSE, MASS, FORWARD):
                for name, run in self.runners(task, style).items():
                    found[f"{task}: {style}, {name}"] = self._result(task, run)
        return found

    def _result(self, task: str, run: Runner) -> Array:
        self.data.qfrc_inverse[:] = 0.0
        a, self.a = self.a, self.a if task == INVERSE else self.zero  # so that no earlier result is left in qacc
        run(1)
        self.a = a
        if task == INVERSE:
            return self.B.T @ self.data.qfrc_inverse
        if task == MASS:
            self.mj.mj_fullM(self.model, self.data, self.full)
            return self.B.T @ self.full @ self.B
        return self.B.T @ (self.data.qacc - self.bias_acceleration)


def largest_difference(model: Model, state: State, results: dict[str, Array]) -> tuple[float, str]:
    """The largest difference of a peer's results from brachiate's, relative to the largest entry, and which result it is.

    Accelerations are compared by the torques that cause them, independently of the condition of the mass matrix.
    """
    data, worst = Data(model), (0.0, "")
    for name, value in results.items():
        task = name.partition(":")[0]
        if task == MASS:
            expected = dynamics.mass_matrix(data, state.q)
        elif task == STEP:
            own = Brachiate(model, state)
            own.integrator.advance(DT)
            expected = own.data.v.copy()
        else:
            expected = state.tau
            if task == FORWARD:
                value = dynamics.inverse_dynamics(data, state.q, state.v, value)
        error = float(np.abs(value - expected).max() / np.abs(expected).max())
        if not error <= worst[0]:
            worst = error, name
    return worst
