"""Time integration under constant torques, one method each, in compiled code.

The state is one row of numbers y = (q, v). Explicit methods add rates of change as plain numbers and bring quaternions
back to length one at the end of a step: the exact flow keeps their length, so that moves y by no more than the step's
own error and the order stays [HLW] IV.4. Semi-implicit Euler moves along the manifold itself [SVC] 5.1.

``held`` is the key of a constraint set, or None: compiled code then is that of a free tree. With one, accelerations keep
to what holds, and after every step the state is brought back onto it, position and velocity, in the mass metric. Euler's
steps do that as they go, to third order in the step; states that are seen are closed to round-off.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

from brachiate import validation
from brachiate.compiled import Floats, Handle, call_at, entry, kernel, opener, outlined
from brachiate.constraints.arrays import HOLD, open_bonds
from brachiate.constraints.constrained_dynamics import ACCELERATE, ACCELERATE_AND_DECIDE, NEEDS_CROSSING, OPEN, SETTLE, STEP
from brachiate.constraints.constraint_set import Held
from brachiate.constraints.limits import PASSED, Watch, passed
from brachiate.dynamics.forward import accelerate
from brachiate.errors import ArgumentError, StateError
from brachiate.kinematics import finite, sound
from brachiate.manifold import integrate, normalize, rates
from brachiate.model.arrays import NOT_FINITE, OK, STALLED, open_rooms
from brachiate.model.data import Data
from brachiate.simulate.butcher_tables import DORMAND_PRINCE, DORMAND_PRINCE_DENSE, DORMAND_PRINCE_ERROR, RK4, RK8, Table
from brachiate.validation import Array

_LANDING = 40  # at most so many tries to find the moment a limit is reached
MIDPOINTS = 8  # columns of the Bulirsch-Stoer scheme: 2, 4, ... 16 sub-steps


class Steps(NamedTuple):
    """Scratch of the integrators; n = nq + nv, s stages."""

    y: Floats  # (n,) state at the start of the step
    z: Floats  # (n,) trial state
    e: Floats  # (n,) error, or the state before the trial one
    f: Floats  # (n,) rates of change
    k: Floats  # (s·n,) rates of change of every stage
    stages: Floats  # (s·s,)
    nodes: Floats  # (s,) when in the step a stage is taken
    weights: Floats  # (s,)
    error: Floats  # (s,) weights of the error estimate
    dense: Floats  # (s,) weights of the dense output
    last: Floats  # (n,) state before the last step, for who watches
    control: Floats  # (2,) length of the next step (0: unknown), tolerance


open_steps = opener(Steps)


@outlined
def slope(key, held, t, y, dy, at):
    """dy[at:] = rate of change of the state y at the time t under the torques W.tau."""
    T, W = open_rooms(key)
    nq, nv = W.q.shape[0], W.v.shape[0]
    for i in range(nq):
        W.q[i] = y[i]
    for i in range(nv):
        W.v[i] = y[nq + i]
    status = accelerate(T, W, 0.0) if held is None else held_at(key, held, t, 0.0, ACCELERATE)
    d = dy[at : at + nq + nv]
    rates(T, W.q, W.v, d)
    for i in range(nv):
        d[nq + i] = W.a[i]
    return status


@kernel
def take(W, y):
    """y ← (q, v)."""
    nq = W.q.shape[0]
    for i in range(nq):
        y[i] = W.q[i]
    for i in range(W.v.shape[0]):
        y[nq + i] = W.v[i]


@kernel
def give(T, W, y):
    """(q, v) ← y, back on the manifold."""
    nq = W.q.shape[0]
    for i in range(nq):
        W.q[i] = y[i]
    for i in range(W.v.shape[0]):
        W.v[i] = y[nq + i]
    normalize(T, W.q)


@kernel
def euler_step(key, held, T, W, t, dt):
    """Semi-implicit Euler: new velocities first, damping at the step's end, then along them [SVC] 5.1."""
    status = accelerate(T, W, dt) if held is None else held_at(key, held, t, dt, STEP)
    for k in range(W.v.shape[0]):
        W.v[k] += dt * W.a[k]
    integrate(T, W.q, W.v, dt, W.q)
    return status


@kernel
def stage_state(X, i, dt, out):
    """State at which stage i of a Runge-Kutta step is taken."""
    n, s = X.y.shape[0], X.weights.shape[0]
    for c in range(n):
        out[c] = X.y[c]
    for j in range(i):
        a = dt * X.stages[i * s + j]
        if a != 0.0:
            for c in range(n):
                out[c] += a * X.k[j * n + c]


@kernel
def combine(X, weights, dt, out):
    """out ← out + dt Σ wᵢ kᵢ."""
    n = X.y.shape[0]
    for i in range(weights.shape[0]):
        w = dt * weights[i]
        if w != 0.0:
            for c in range(n):
                out[c] += w * X.k[i * n + c]


@kernel
def first_slope(key, held, X, T, W, t):
    """X.y ← the state, X.k ← its slope: the place to look which rows hold, and perhaps to bend v at a singular posture."""
    if held is not None:
        status = held_at(key, held, t, 0.0, ACCELERATE_AND_DECIDE)
        take(W, X.y)
        rates(T, W.q, W.v, X.k)
        nq = W.q.shape[0]
        for i in range(W.v.shape[0]):
            X.k[nq + i] = W.a[i]
        return status
    take(W, X.y)
    return slope(key, held, t, X.y, X.k, 0)


@kernel
def runge_kutta_step(key, held, X, T, W, t, dt):
    """One step of the method in X's table."""
    status = first_slope(key, held, X, T, W, t)
    for i in range(1, X.weights.shape[0]):
        stage_state(X, i, dt, X.z)
        status = max(status, slope(key, held, t + X.nodes[i] * dt, X.z, X.k, i * X.y.shape[0]))
    combine(X, X.weights, dt, X.y)
    give(T, W, X.y)
    return status


@kernel
def finish(key, held, t):
    """Bring the state at the end of a step back onto what holds."""
    return OK if held is None else held_at(key, held, t, 0.0, SETTLE)


@kernel
def held_at(key, held, t, x, what):
    """Ask the constraint set for something at the time t."""
    (B,) = open_bonds(held)
    B.clock[0] = t
    return call_at(B.far[HOLD], key, held, x, what)


@kernel
def remember(W, X, held):
    """Keep the state before a step, and which limits push, for whoever goes back."""
    take(W, X.last)
    if held is not None:
        (B,) = open_bonds(held)
        for i in range(B.sleeps.shape[0]):
            B.sleeps_last[i], B.bound_last[i] = B.sleeps[i], B.course[i, 0]


@kernel
def record(W, n, Q, V):
    """Keep the state as row n."""
    for i in range(W.q.shape[0]):
        Q[n, i] = W.q[i]
    for i in range(W.v.shape[0]):
        V[n, i] = W.v[i]


@kernel
def ready(T, W, held, dt):
    """Whether the state and the torques are numbers to start from; tells the constraint set how long steps are."""
    if held is not None:
        (B,) = open_bonds(held)
        B.step[0] = dt
    return sound(T, W.q, W.v) and finite(W.tau)


@entry
def _euler(key, held, limits, steps_key, t, dt, n, every, Q, V):
    T, W = open_rooms(key)
    if not ready(T, W, held, dt):
        return NOT_FINITE
    (X,) = open_steps(steps_key)
    for i in range(n):
        if limits is not None:
            remember(W, X, held)
        status = euler_step(key, held, T, W, t + i * dt, dt)
        if (i + 1) % every == 0 or i + 1 == n:  # in between, what a step leaves open the next one closes
            status = max(status, finish(key, held, t + (i + 1) * dt))
        if not finite(W.v):
            return NOT_FINITE
        if status != OK:
            return status
        if (i + 1) % every == 0:
            record(W, (i + 1) // every - 1, Q, V)
        if limits is not None and passed(key, held, limits, i + 1):
            return PASSED
    return OK


@entry
def _runge_kutta(key, held, limits, steps_key, t, dt, n, every, Q, V):
    T, W = open_rooms(key)
    (X,) = open_steps(steps_key)
    if not ready(T, W, held, dt):
        return NOT_FINITE
    for i in range(n):
        if limits is not None:
            remember(W, X, held)
        status = max(runge_kutta_step(key, held, X, T, W, t + i * dt, dt), finish(key, held, t + (i + 1) * dt))
        if not finite(W.v):
            return NOT_FINITE
        if status != OK:
            return status
        if (i + 1) % every == 0:
            record(W, (i + 1) // every - 1, Q, V)
        if limits is not None and passed(key, held, limits, i + 1):
            return PASSED
    return OK


@kernel
def excess(X, y, e):
    """Size of an error e against the tolerance at the state y: 1 is just allowed."""
    n, s = y.shape[0], 0.0
    for c in range(n):
        r = e[c] / (X.control[1] * (1.0 + abs(y[c])))
        s += r * r
    return (s / n) ** 0.5 if n else 0.0


@entry
def _dormand_prince(key, held, limits, steps_key, t, dt, n, every, Q, V):
    """Steps as long as the tolerance allows; states at the times asked for come from the dense output."""
    T, W = open_rooms(key)
    (X,) = open_steps(steps_key)
    if not ready(T, W, held, dt):
        return NOT_FINITE
    m, s = X.y.shape[0], X.weights.shape[0]
    begin, t, end, kept = t, 0.0, n * dt, 0
    h = X.control[0] if X.control[0] > 0.0 else dt
    status = first_slope(key, held, X, T, W, begin)
    while t < end:
        if h <= 1e-14 * end:
            return STALLED
        last = t + h >= end * (1.0 - 1e-14)
        if last:
            X.control[0], h = h, end - t
        for i in range(1, s):
            stage_state(X, i, h, X.z)  # the last stage is taken at the step's end
            status = max(status, slope(key, held, begin + t + X.nodes[i] * h, X.z, X.k, i * m))
        for c in range(m):
            X.e[c] = 0.0
        combine(X, X.error, h, X.e)
        error = excess(X, X.z, X.e)
        if error - error != 0.0:
            return NOT_FINITE
        if status != OK:
            return status
        factor = min(5.0, max(0.2, 0.9 * (error + 1e-10) ** -0.2))
        if error > 1.0:
            h *= min(1.0, factor)
            continue
        while (kept + 1) * every <= n and (kept + 1) * every * dt <= (t + h) * (1.0 + 1e-14):
            dense_output(X, h, ((kept + 1) * every * dt - t) / h, X.e)
            give(T, W, X.e)
            status = max(status, finish(key, held, begin + (kept + 1) * every * dt))
            record(W, kept, Q, V)
            kept += 1
        t = end if last else t + h
        for c in range(m):
            X.y[c], X.k[c] = X.z[c], X.k[(s - 1) * m + c]
        if held is not None:  # the state moves back onto what holds, and its slope with it
            give(T, W, X.y)
            status = max(status, finish(key, held, begin + t), first_slope(key, held, X, T, W, begin + t))
        if not last:
            h *= factor
            X.control[0] = h
    give(T, W, X.y)
    if limits is not None and status == OK and passed(key, held, limits, n):
        return PASSED
    return status


@kernel
def dense_output(X, h, x, out):
    """State at the fraction x of the step from X.y to X.z, to fourth order [HNW] II.6."""
    m, s = X.y.shape[0], X.weights.shape[0]
    for c in range(m):
        out[c] = 0.0
    combine(X, X.dense, h, out)
    for c in range(m):
        change = X.z[c] - X.y[c]
        bend = h * X.k[c] - change
        twist = change - h * X.k[(s - 1) * m + c] - bend
        out[c] = X.y[c] + x * (change + (1.0 - x) * (bend + x * (twist + (1.0 - x) * out[c])))


@kernel
def midpoint_steps(key, held, X, t, h, count, at):
    """Gragg's modified midpoint rule over a step h in ``count`` parts; the result goes to X.k[at:]."""
    m = X.y.shape[0]
    d = h / count
    status = slope(key, held, t, X.y, X.f, 0)
    for c in range(m):
        X.e[c] = X.y[c]
        X.z[c] = X.y[c] + d * X.f[c]
    for k in range(1, count):
        status = max(status, slope(key, held, t + k * d, X.z, X.f, 0))
        for c in range(m):
            X.e[c], X.z[c] = X.z[c], X.e[c] + 2.0 * d * X.f[c]
    status = max(status, slope(key, held, t + h, X.z, X.f, 0))
    for c in range(m):
        X.k[at + c] = 0.5 * (X.z[c] + X.e[c] + d * X.f[c])
    return status


@entry
def _bulirsch_stoer(key, held, limits, steps_key, t, dt, n, every, Q, V):
    """Midpoint rules of 2, 4, ... 16 parts extrapolated to none, until two columns agree [HNW] II.9, [EGC]."""
    T, W = open_rooms(key)
    (X,) = open_steps(steps_key)
    if not ready(T, W, held, dt):
        return NOT_FINITE
    m, begin = X.y.shape[0], t
    h = X.control[0] if X.control[0] > 0.0 else dt
    take(W, X.y)
    for kept in range(n // every + (n % every > 0)):
        start = begin + kept * every * dt
        t, end = 0.0, (every if (kept + 1) * every <= n else n % every) * dt
        while t < end:
            if h <= 1e-14 * end:
                return STALLED
            last = t + h >= end * (1.0 - 1e-14)
            step = end - t if last else h
            error, column = 2.0, 0
            for j in range(MIDPOINTS):
                status = midpoint_steps(key, held, X, start + t, step, 2 * (j + 1), j * m)
                if status != OK:
                    return status if finite(X.z) else NOT_FINITE
                for k in range(j - 1, -1, -1):  # Neville: column k becomes the extrapolation of k and k + 1
                    r = (j + 1.0) / (k + 1.0)
                    r = 1.0 / (r * r - 1.0)
                    for c in range(m):
                        X.e[c] = r * (X.k[(k + 1) * m + c] - X.k[k * m + c])
                        X.k[k * m + c] = X.k[(k + 1) * m + c] + X.e[c]
                if j > 0:
                    error, column = excess(X, X.y, X.e), j
                    if error <= 1.0:
                        break
            if error - error != 0.0:
                return NOT_FINITE
            factor = min(4.0, max(0.1, 0.9 * (error + 1e-12) ** (-1.0 / (2 * column + 1))))
            if error > 1.0:
                h = step * min(0.5, factor)
                continue
            for c in range(m):
                X.y[c] = X.k[c]
            t = end if last else t + step
            if held is not None:
                give(T, W, X.y)
                status = finish(key, held, start + t)
                if status != OK:
                    return status
                take(W, X.y)
            if not last:  # fewer columns than planned: a longer step would have done
                h = step * (min(factor, 1.0) if column >= MIDPOINTS - 2 else max(1.1, factor))
                X.control[0] = h
        give(T, W, X.y)
        if (kept + 1) * every <= n:
            record(W, kept, Q, V)
    if limits is not None and passed(key, held, limits, n):
        return PASSED
    return OK


class Method(NamedTuple):
    """An integrator: its compiled run, its order, and the table it steps by."""

    run: Any
    order: int
    table: Table | None
    adaptive: bool


#: Every integrator by name.
METHODS: dict[str, Method] = {
    "euler": Method(_euler, 1, None, False),
    "rk4": Method(_runge_kutta, RK4.order, RK4, False),
    "rk8": Method(_runge_kutta, RK8.order, RK8, False),
    "dormand-prince": Method(_dormand_prince, DORMAND_PRINCE.order, DORMAND_PRINCE, True),
    "bulirsch-stoer": Method(_bulirsch_stoer, 2 * MIDPOINTS, None, True),
}


class Integrator:
    """Advances the state of one :class:`~brachiate.Data` by one of the :data:`METHODS`.

    ``tolerance`` is the local error an adaptive method allows, relative and absolute; the others ignore it.
    """

    def __init__(
        self, data: Data, method: str = "euler", tolerance: float = 1e-9, held: Held | None = None, *, limits: bool = False
    ) -> None:
        self.data, self.held = data, Held(data) if held is None else held
        self._limits = limits
        self._watch = self._watching()
        self.name = validation.one_of(method, tuple(METHODS), "integrator")
        self.method = METHODS[self.name]
        self.tolerance = validation.number(tolerance, "tolerance", least=1e-14, most=1.0)
        n = data.model.nq + data.model.nv
        table = self.method.table
        s = len(table.weights) if table else MIDPOINTS
        paired = self.method.run is _dormand_prince
        self._control = np.array([0.0, self.tolerance])
        self._before = np.zeros(n)
        self._nothing = np.empty((0, data.model.nq)), np.empty((0, data.model.nv))
        self._steps = Handle(
            Steps(
                y=np.zeros(n), z=np.zeros(n), e=np.zeros(n), f=np.zeros(n), last=self._before, k=np.zeros(s * n),
                stages=table.stages.ravel().copy() if table else np.zeros(s * s),
                nodes=table.stages.sum(axis=1) if table else np.zeros(s),
                weights=table.weights.copy() if table else np.zeros(s),
                error=DORMAND_PRINCE_ERROR.copy() if paired else np.zeros(s),
                dense=DORMAND_PRINCE_DENSE.copy() if paired else np.zeros(s),
                control=self._control,
            )
        )  # fmt: skip

    def fits(self, data: Data, held: Held, touches: object) -> bool:
        """Whether it is the one for these."""
        return self.data is data and self.held is held and touches is None

    def _watching(self) -> Watch | None:
        """The limits there are: those of joints that close loops come and go."""
        watch = Watch(self.data.model, self.held) if self._limits else None
        return watch if watch and watch.names else None

    def advance(self, dt: float, steps: int = 1, every: int = 1, time: float = 0.0) -> tuple[Array, Array]:
        """Advance by ``steps`` times ``dt``, torques and pushes held; return q and v after every ``every`` steps.

        ``time`` [s] is when it starts, for what moves by the clock.

        On failure the state is as it was before the call.
        """
        if not (0.0 < dt < np.inf and steps >= 0 and every >= 1):
            raise ArgumentError(f"advance: expected dt > 0, steps >= 0 and every >= 1, got {dt}, {steps} and {every}.")
        if self._limits and self.held.limited != (self._watch.limited if self._watch else {}):
            self._watch = self._watching()
        work, rows = self.data.work, steps // every
        Q, V = np.empty((rows, len(work.q))), np.empty((rows, len(work.v)))
        if self._watch is None:
            self._run(dt, steps, every, time, Q, V)
            return Q, V
        q, v = work.q.copy(), work.v.copy()
        try:
            self._run_watched(self._watch, dt, steps, every, time, Q, V)
        except StateError:
            work.q[:], work.v[:] = q, v
            raise
        return Q, V

    def _run_watched(self, watch: Watch, dt: float, steps: int, every: int, time: float, Q: Array, V: Array) -> None:
        """Advance, stopping wherever a limit is passed to let it hold. Adaptive methods look after every dt."""
        watch.prune()
        done = 0
        while done < steps:
            row = done // every
            if done % every == 0 and not self.method.adaptive:
                stretch = steps - done
                status = self._run(dt, stretch, every, time + done * dt, Q[row:], V[row:])
            else:
                stretch = 1 if self.method.adaptive else min(every - done % every, steps - done)
                status = self._run(dt, stretch, stretch + 1, time + done * dt, Q, V)
            done += int(watch.room.count[0]) if status == PASSED else stretch
            if status == PASSED:
                self._land(watch, time + (done - 1) * dt, dt)
            if done % every == 0 and 0 < done // every <= len(Q):
                Q[done // every - 1], V[done // every - 1] = self.data.q, self.data.v
            watch.prune()

    def _land(self, watch: Watch, time: float, dt: float) -> None:
        """Go back to where the last step began, forward to where the limit is reached, let it hold there, and go on."""
        left = dt
        for _ in watch.names:  # each can be reached for the first time once
            n, before = int(watch.room.count[1]), self._before.copy()
            low, high, f_high = 0.0, left, watch.room_left(self.data, n)
            self._back(watch, before)
            f_low = watch.room_left(self.data, n)
            if not f_low > 0.0:  # it was there from the start
                high = 0.0
            for tries in range(_LANDING):
                if high - low <= 1e-12 * dt or f_high > -1e-13:
                    break
                middle = (low * f_high - high * f_low) / (f_high - f_low) if tries % 3 else 0.5 * (low + high)
                self._back(watch, before)
                self._run(middle, 1, 2, time, *self._nothing)
                f = watch.room_left(self.data, n)
                low, f_low, high, f_high = (middle, f, high, f_high) if f > 0.0 else (low, f_low, middle, f)
            self._back(watch, before)
            if high > 0.0:
                self._run(high, 1, 2, time, *self._nothing)
            watch.press(n)
            time, left = time + high, left - high
            if left <= 1e-12 * dt or self._run(left, 1, 2, time, *self._nothing) != PASSED:
                return

    def _back(self, watch: Watch, state: Array) -> None:
        """Put a state back, and with it the limits that were pressed against."""
        nq = self.data.model.nq
        self.data.q[:], self.data.v[:] = state[:nq], state[nq:]
        watch.back()

    def _run(self, dt: float, steps: int, every: int, time: float, Q: Array, V: Array) -> int:
        """Advance in one go of compiled code; again with what it takes to cross a singular posture, should one be met.

        On failure the state is as it was before.
        """
        data, held = self.data, self.held
        limits = None if self._watch is None else self._watch.key
        q, v, rows = data.work.q.copy(), data.work.v.copy(), held.room.state.copy()
        if self.method.adaptive and self._watch is not None:
            self._before[:] = np.concatenate([q, v])
            held.room.sleeps_last[:], held.room.bound_last[:] = held.room.sleeps, held.room.course[:, 0]
        key = held.key if held.count else None
        status = self.method.run(data.key, key, limits, self._steps.key, time, dt, steps, every, Q, V)
        if status == NEEDS_CROSSING:
            data.q[:], data.v[:] = q, v
            held.prepare_crossing(rows)
            status = self.method.run(data.key, held.key, limits, self._steps.key, time, dt, steps, every, Q, V)
        if status not in (OK, PASSED):
            held.decided(rows)
            data.q[:], data.v[:] = q, v  # so that what was wrong at the start can be named
            self._refuse(status, steps * dt)
        return status

    def _refuse(self, status: int, seconds: float) -> NoReturn:
        data = self.data
        if status == OPEN:
            raise StateError(f"The loops came open within {seconds:g} s and could not be closed. Use a shorter step.")
        if status == NOT_FINITE and all(np.isfinite(x).all() for x in (data.q, data.v, data.tau)):
            raise StateError(f"The state ran away to infinity within {seconds:g} s. Use a shorter step, or look at the torques.")
        if status == STALLED:
            raise StateError(f"{self.name} cannot reach a tolerance of {self.tolerance:g} with any step. Allow a larger tolerance.")
        data.refuse(status)

    def restart(self) -> None:
        """Forget the step length learnt so far: the state or the structure has changed."""
        self._control[0] = 0.0
