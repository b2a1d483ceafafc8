"""Who takes part: ourselves, Pinocchio and MuJoCo, each with one model at one state.

Every contestant offers, for a task and a way of calling, one or more runners: where a library has several ways to the same
result, all are timed and the fastest counts.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import convert
import ours
from brachiate import dynamics
from brachiate.manifold import integrate
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.simulate.integrators import METHODS, Integrator
from brachiate.validation import Array
from race import Runner, fresh, repeated, timed

TASKS = ("inverse dynamics", "mass matrix", "forward dynamics", "free step")
INVERSE, MASS, FORWARD, STEP = TASKS
LOOP, CALL, BARE = "compiled loop", "Python call", "Python call, state in place"
WAYS = (LOOP, CALL, BARE)
DT = 1e-5  # [s]: short, so that a state of random velocities stays tame for as many steps as are timed

# Pinocchio's Data holds four cubes of nv numbers. From Python nothing can be done about it.
MOST_PINOCCHIO_BYTES = 2e9


class State(NamedTuple):
    """A random state: no angle is zero, where sine and cosine are faster than elsewhere. ``tau`` makes ``a``."""

    q: Array
    v: Array
    a: Array
    tau: Array


def random_state(model: Model, seed: int = 7) -> State:
    rng, data = np.random.default_rng(seed), Data(model)
    q = integrate(data, model.neutral, rng.uniform(0.1, 1.0, model.nv) * rng.choice([-1.0, 1.0], model.nv))
    v, a = rng.uniform(-1, 1, model.nv), rng.uniform(-1, 1, model.nv)
    return State(q, v, a, dynamics.inverse_dynamics(data, q, v, a).copy())


class Ours:
    """Brachiate."""

    def __init__(self, model: Model, state: State) -> None:
        self.data, self.state = Data(model), state
        self.integrator = Integrator(self.data, "euler")
        self.kept = np.zeros((1, model.nq)), np.zeros((1, model.nv))
        self.reset()

    def reset(self) -> None:
        """Put the state back."""
        self.data.assign(q=self.state.q, v=self.state.v, a=self.state.a, tau=self.state.tau)

    def runners(self, task: str, way: str) -> dict[str, Runner]:
        """Ways to do a task, by name."""
        data, (q, v, a, tau) = self.data, self.state
        if way == LOOP:
            loop = {INVERSE: ours.inverse_dynamics, MASS: ours.mass_matrix, FORWARD: ours.forward_dynamics}.get(task)
            if loop is None:
                return {"Integrator.advance, many steps": timed(lambda n: self.integrator.advance(DT, n, n), self.reset)}
            return {f"@entry loop over {loop.__name__}": timed(lambda n: loop(data.key, n), self.reset)}
        if way == CALL:
            name, call = {
                INVERSE: ("dynamics.inverse_dynamics", lambda: dynamics.inverse_dynamics(data, q, v, a)),
                MASS: ("dynamics.mass_matrix", lambda: dynamics.mass_matrix(data, q)),
                FORWARD: ("dynamics.forward_dynamics", lambda: dynamics.forward_dynamics(data, q, v, tau)),
                STEP: ("Integrator.advance, one step", lambda: self.integrator.advance(DT)),
            }[task]
            return {name: fresh(repeated(call), self.reset)}
        run, steps, (Q, V) = METHODS["euler"].run, self.integrator._scratch.key, self.kept
        name, call = {
            INVERSE: ("an @entry of inverse.inverse_dynamics(key)", lambda: ours.inverse_dynamics(data.key, 1)),
            MASS: ("an @entry of mass.mass_matrix_packed(key)", lambda: ours.mass_matrix(data.key, 1)),
            FORWARD: ("an @entry of forward.forward_dynamics(key)", lambda: ours.forward_dynamics(data.key, 1)),
            STEP: ("the @entry of the euler method", lambda: run(data.key, None, None, steps, 0.0, DT, 1, 1, Q, V)),
        }[task]
        return {name: fresh(repeated(call), self.reset)}


class Pinocchio:
    """Pinocchio, with each convention it offers; loops in C++ if they could be built."""

    name = "Pinocchio"

    def __init__(self, model: Model, state: State, library: ctypes.CDLL | None) -> None:
        import pinocchio as pin  # noqa: PLC0415

        self.pin, self.ours, self.library = pin, model, library
        self.plan = convert.joints(model)
        self.q, self.v = convert.to_pinocchio_q(model, self.plan, state.q), state.v[self.plan.v]
        self.a, self.tau = state.a[self.plan.v], state.tau[self.plan.v]
        self.fits = 4 * 8 * model.nv**3 < MOST_PINOCCHIO_BYTES
        if self.fits:
            self.model = convert.to_pinocchio(model)
            self.data = self.model.createData()
        self.out = np.zeros(max(model.nv**2, model.nq + model.nv))
        self.handle = self._native() if library else None

    def _native(self) -> int:
        kept = convert.pinocchio_arrays(self.ours, self.plan)
        return self.library.pinocchio_new(len(self.plan.parent), *(x.ctypes.data for x in kept))

    def close(self) -> None:
        """Free what C++ holds."""
        if self.handle:
            self.library.pinocchio_delete(self.handle)

    def runners(self, task: str, way: str) -> dict[str, Runner]:
        """Ways to do a task, by name; none if there is no room for it."""
        name = {INVERSE: "rnea", MASS: "crba", FORWARD: "aba", STEP: "aba + integrate"}[task]
        conventions = ("",) if task == INVERSE else ("LOCAL", "WORLD")
        if way == LOOP and self.handle:
            return {f"C++ {name} {c}".strip(): self._loop(task, c == "WORLD") for c in conventions}
        if not self.fits:
            return {}
        return {f"{name} {c}".strip(): repeated(self._call(task, c)) for c in conventions}

    def _loop(self, task: str, world: bool) -> Runner:
        x = self.a if task == INVERSE else self.tau
        arrays = [y.ctypes.data for y in (self.q, self.v, x)]
        number, run, out = TASKS.index(task), self.library.pinocchio_run, self.out.ctypes.data
        return lambda n: run(self.handle, number, int(world), n, *arrays, DT, out)

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
        """Mass matrix, torques, accelerations and the state after a step, as ours are, by every way there is."""
        found = {}
        at = np.argsort(self.plan.v)
        nq, nv = self.ours.nq, self.ours.nv
        for way in WAYS if self.handle and self.fits else (LOOP,) if self.handle else (CALL,):
            for task in TASKS:
                for name, run in self.runners(task, way).items():
                    if way == LOOP and self.handle:
                        run(1)
                        value = self.out.copy()
                    else:
                        value = {INVERSE: lambda: self.data.tau, MASS: lambda: self.data.M.T.ravel(), FORWARD: lambda: self.data.ddq}.get(
                            task
                        )
                        if value is None:
                            continue
                        run(1)
                        value = value()
                    if task == MASS:
                        M = value.reshape(-1)[: nv * nv].reshape(nv, nv)
                        M = np.tril(M)  # they fill the upper triangle, and count by columns
                        value = (M + np.tril(M, -1).T)[np.ix_(at, at)]
                    elif task == STEP:
                        value = value[nq : nq + nv][at]
                    else:
                        value = np.asarray(value)[:nv][at]
                    found[f"{task}: {way}, {name}"] = value
        return found


class MuJoCo:
    """MuJoCo, with everything off but the free tree; by its pipeline, or by the stages a task cannot do without."""

    name = "MuJoCo"

    def __init__(self, model: Model, state: State, library: ctypes.CDLL | None) -> None:
        import mujoco  # noqa: PLC0415

        self.mj, self.ours, self.library, self.state = mujoco, model, library, state
        self.plan = convert.joints(model)
        spec = convert.to_mujoco(model)
        spec.option.timestep = DT
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.B = convert.mujoco_basis(model, self.plan, state.q)
        self.drift = convert.mujoco_drift(model, self.plan, state.q, state.v)
        self.q, self.v = convert.to_mujoco_q(model, self.plan, state.q), self.B @ state.v
        self.a, self.tau = self.B @ state.a + self.drift, self.B @ state.tau  # B is orthogonal: its own inverse transpose
        self.full = np.zeros((model.nv, model.nv))
        self.rest = np.zeros(model.nv)

    def close(self) -> None:
        """Nothing to free."""

    def reset(self) -> None:
        """Put the state back."""
        d = self.data
        d.qpos[:], d.qvel[:], d.qacc[:], d.qfrc_applied[:], d.time = self.q, self.v, self.a, self.tau, 0.0

    def runners(self, task: str, way: str) -> dict[str, Runner]:
        """Ways to do a task, by name."""
        whole = {INVERSE: "mj_inverse", MASS: "mj_fwdPosition", FORWARD: "mj_forward", STEP: "mj_step"}[task]
        names = {"stages": 0, whole: 1} if task != STEP else {whole: 1}
        if way == LOOP and self.library:
            number, run = TASKS.index(task), self.library.mujoco_run
            m, d = self.model._address, self.data._address
            return {f"C {name}": self._fresh(lambda n, w=w: run(m, d, number, w, n)) for name, w in names.items()}
        if way == LOOP and task == STEP:
            return {"mj_step(nstep=n)": self._fresh(timed(lambda n: self.mj.mj_step(self.model, self.data, n), lambda: None))}
        copied = way == CALL
        return {name: self._fresh(repeated(self._call(task, bool(w), copied))) for name, w in names.items()}

    def _fresh(self, run: Runner) -> Runner:
        return fresh(run, self.reset)

    def _call(self, task: str, whole: bool, copied: bool) -> Callable[[], Any]:
        """One call from Python; ``copied``: with q, v, ... given, as our public functions take them."""
        mj, m, d = self.mj, self.model, self.data
        qpos, qvel, qacc, applied, q, v, a, tau = d.qpos, d.qvel, d.qacc, d.qfrc_applied, self.q, self.v, self.a, self.tau
        bias, smooth, result, full = d.qfrc_bias, d.qfrc_smooth, d.qfrc_inverse, self.full
        found, given = qacc[None], smooth[None]  # mj_solveM wants rows

        def inverse() -> None:
            if copied:
                qpos[:], qvel[:], qacc[:] = q, v, a
            if whole:
                mj.mj_inverse(m, d)
                return
            mj.mj_kinematics(m, d)
            mj.mj_comPos(m, d)
            mj.mj_comVel(m, d)
            mj.mj_rne(m, d, 1, result)

        def mass() -> None:
            if copied:
                qpos[:] = q
            if whole:
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
            if whole:
                mj.mj_forward(m, d)
                return
            mj.mj_kinematics(m, d)
            mj.mj_comPos(m, d)
            mj.mj_makeM(m, d)
            mj.mj_factorM(m, d)
            mj.mj_comVel(m, d)
            mj.mj_rne(m, d, 0, bias)
            np.subtract(applied, bias, out=smooth)
            mj.mj_solveM(m, d, found, given)

        return {INVERSE: inverse, MASS: mass, FORWARD: forward, STEP: lambda: mj.mj_step(m, d)}[task]

    def results(self) -> dict[str, Array]:
        """Mass matrix, torques and accelerations, as ours are, by every way there is."""
        found = {}
        for way in WAYS:
            for task in TASKS:
                for name, run in self.runners(task, way).items():
                    self.data.qfrc_inverse[:] = 0.0
                    kept, self.a = self.a, self.a if task == INVERSE else self.rest  # nothing of an earlier result is left
                    run(1)
                    self.a = kept
                    if task == INVERSE:
                        value = self.B.T @ self.data.qfrc_inverse
                    elif task == MASS:
                        self.mj.mj_fullM(self.model, self.data, self.full)
                        value = self.B.T @ self.full @ self.B
                    elif task == FORWARD:
                        value = self.B.T @ (self.data.qacc - self.drift)
                    else:
                        continue  # their free joint steps along world axes: it is not the same step
                    found[f"{task}: {way}, {name}"] = value
        return found


def disagreement(model: Model, state: State, results: dict[str, Array]) -> tuple[float, str]:
    """The largest difference of a peer's results to ours, relative to the largest entry, and where.

    Accelerations are compared by the torques they take, which does not depend on how well the mass matrix is conditioned.
    """
    data, worst = Data(model), (0.0, "")
    for what, value in results.items():
        task = what.partition(":")[0]
        if task == MASS:
            right = dynamics.mass_matrix(data, state.q)
        elif task == STEP:
            own = Ours(model, state)
            own.integrator.advance(DT)
            right = own.data.v.copy()
        else:
            right = state.tau
            if task == FORWARD:
                value = dynamics.inverse_dynamics(data, state.q, state.v, value)
        error = float(np.abs(value - right).max() / np.abs(right).max())
        if not error <= worst[0]:
            worst = error, what
    return worst
