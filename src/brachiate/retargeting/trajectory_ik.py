"""Configurations of all frames of a motion at once that bring points of a figure to where they are wanted, smoothly and within limits.

Levenberg and Marquardt's method, first for every frame by itself, so that no frame depends on another one's start; then for all frames
together with their accelerations, as one banded system. Hinges are held within their limits by an active set [Bertsekas 1982],
balls by a wall that begins at their cone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.ndimage import maximum_filter1d

from brachiate import rotations
from brachiate.kinematics_batch import Many, Points
from brachiate.model.joints import FLOAT
from brachiate.model.model import Model
from brachiate.validation import Array

CHUNK = 256  # frames that are looked at together: more do not fit into the processor's cache
ALONE = 30  # iterations at most
POSTURE = 3e-4  # weight of staying near the standing posture: enough to decide what nothing else does
QUIET = 1e-7  # [s²] weight of accelerations that changes no motion
FIRM = 2.5e-4  # [s²] one that passes what is slower than 10 Hz
STIFF = 1.5e-3  # [s²] one that passes what is slower than 4 Hz
BLINK = 1 / 30  # [s]
SUDDEN = (0.05, 0.15)  # [rad] joints that would turn so much farther and back in that time than goals do follow less and less
NEAR = 0.2  # [s] before and after that as well
WALL, BEFORE = 60.0, 2e-3  # weight of a cone's wall, and how far before the cone it begins [rad]
METRE = 2.5  # radians that a metre of the root counts as
DAMPING = 1e-3  # to begin with
DONE = 1e-9  # relative change of the sum of squares that ends it


class Goals(NamedTuple):
    """Where points, or the vectors between two of them, should be.

    ``second`` is -1 where a point itself is meant. ``floor`` are points that must not be below the ground at z = 0.
    """

    spots: Points
    first: Array  # (m,) number of a spot
    second: Array  # (m,)
    target: Array  # (f, m, 3) [m]
    weight: Array  # (f, m, 3) [1/m]
    floor: Array  # (k,) number of a spot
    sink: Array  # (k,) weight of how far it is below the ground [1/m]

    def frames(self, which: slice) -> Goals:
        """Those of some of the frames."""
        return self._replace(target=self.target[which], weight=self.weight[which])


class Normal(NamedTuple):
    """A sum of squares of each frame: its value, gradient and matrix."""

    cost: Array  # (f,)
    g: Array  # (f, n)
    H: Array  # (f, n, n)


@dataclass(frozen=True)
class Cones:
    """Limits of balls among the freedoms that are solved for.

    Args:
        at: Where the quaternions are in q: (c,).
        column: First of their three freedoms: (c,).
        axis: That is limited: (c, 3).
        swing: Its largest angle: (c,) [rad].
        twist: Lowest and highest: (c, 2) [rad].
    """

    at: Array
    column: Array
    axis: Array
    swing: Array
    twist: Array


class Fit:
    """One figure that is fitted to goals.

    Args:
        model: The figure.
        goals: Where its points should be.
        times: Of the frames [s]: (f,).
        stand: A posture to stay near where goals leave it open: (nq,), or one for each frame (f, nq).
        posture: How much that counts.
        limits: Lowest and highest value of every freedom, two (nv,); by default the figure's.
    """

    def __init__(
        self,
        model: Model,
        goals: Goals,
        times: Array,
        stand: Array,
        posture: float = POSTURE,
        limits: tuple[Array, Array] | None = None,
    ) -> None:
        self.model, self.goals, self.times, self.stand, self.posture = model, goals, times, stand, posture
        self.limits = model.limits if limits is None else limits
        self.many = Many(model)
        used = self.many.moves[np.unique(goals.spots.body)].any(axis=0)
        self.freedoms = np.flatnonzero(used)
        lower, upper = self.limits
        self.scalar = np.full(model.nv, -1)
        for name, place in model.scalar_coordinates.items():
            self.scalar[model.coordinate_index[name]] = place
        self.lower, self.upper = lower[self.freedoms], upper[self.freedoms]
        self.place = self.scalar[self.freedoms]
        self.cones = _cones(model, self.freedoms)
        self.unit = np.ones(len(self.freedoms))
        self.unit[self.many.slides[self.freedoms]] = METRE
        self.floats = np.zeros(len(self.freedoms), bool)
        for e, kind in enumerate(model.tree.kind):
            if kind == FLOAT:
                self.floats |= (self.freedoms >= model.tree.v_at[e]) & (self.freedoms < model.tree.v_at[e] + 6)

    def soft(self, most: float) -> Fit:
        """The same with no goal that counts more than this [1/m]."""
        goals = self.goals
        goals = goals._replace(weight=np.minimum(goals.weight, most), sink=np.minimum(goals.sink, most))
        return Fit(self.model, goals, self.times, self.stand, self.posture, self.limits)

    # --- sums of squares --------------------------------------------------------------------

    def normal(self, q: Array, which: Array | None = None) -> Normal:
        """Cost, gradient and matrix of frames, by themselves; ``which``: of these frames only."""
        which = np.arange(len(self.times)) if which is None else which
        parts = [self._normal(q[k : k + CHUNK], which[k : k + CHUNK]) for k in range(0, len(q), CHUNK)]
        return Normal(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _normal(self, q: Array, which: Array) -> Normal:
        f, n, goals = len(q), len(self.freedoms), self.goals
        at, J = self.many.follow(self.many.poses(q), goals.spots, self.freedoms)
        two = goals.second >= 0
        r, rows = at[:, goals.first] - goals.target[which], J[:, goals.first]
        r[:, two] -= at[:, goals.second[two]]
        rows[:, two] -= J[:, goals.second[two]]
        weight = goals.weight[which]
        r, rows = weight * r, weight[..., None] * rows
        depth = np.minimum(at[:, goals.floor, 2], 0.0)
        sunk = (goals.sink * (depth < 0))[..., None] * J[:, goals.floor, 2]
        r = np.concatenate((r.reshape(f, -1), goals.sink * depth), axis=1)
        rows = np.concatenate((rows.reshape(f, -1, n), sunk), axis=1)
        turned = rows.transpose(0, 2, 1)
        cost, g, H = np.einsum("fi,fi->f", r, r), (turned @ r[..., None])[..., 0], turned @ rows
        stand = self.stand[which] if self.stand.ndim > 1 else np.broadcast_to(self.stand, q.shape)
        away = self.posture * self.many.between(stand, q)[:, self.freedoms]
        away[:, self.floats] = 0.0
        cost += np.einsum("fi,fi->f", away, away)
        g += self.posture * away
        H[:, np.arange(n), np.arange(n)] += self.posture**2
        self._walls(q, cost, g, H)
        return Normal(cost, g, H)

    def _walls(self, q: Array, cost: Array, g: Array, H: Array) -> None:
        """Add what is beyond the cones of balls."""
        for at, column, axis, swing, twist in zip(*vars(self.cones).values(), strict=True):
            mine = slice(column, column + 3)
            for excess, slope in _beyond(q[:, at : at + 4], axis, swing, twist):
                cost += (WALL * excess) ** 2
                g[:, mine] += WALL**2 * excess[:, None] * slope
                H[:, mine, mine] += WALL**2 * (excess != 0)[:, None, None] * slope[:, :, None] * slope[:, None, :]

    def held(self, q: Array, g: Array) -> Array:
        """Hinges that are at a limit and would go on: (f, n)."""
        held = np.zeros(g.shape, bool)
        s = np.flatnonzero(self.place >= 0)
        value = q[:, self.place[s]]
        held[:, s] = ((value <= self.lower[s]) & (g[:, s] > 0)) | ((value >= self.upper[s]) & (g[:, s] < 0))
        return held | (self.lower == self.upper)

    def within(self, q: Array) -> Array:
        """Configurations with hinges brought back to their limits."""
        q = q.copy()
        for value, low, high in zip(self.scalar, *self.limits, strict=True):
            if value >= 0:
                q[:, value] = np.clip(q[:, value], low, high)
        return q

    def moved(self, q: Array, step: Array) -> Array:
        """Configurations after a step of the freedoms that are solved for, within the limits of hinges."""
        by = np.zeros((len(q), self.model.nv))
        by[:, self.freedoms] = step
        return self.within(self.many.moved(q, by))

    # --- frame by frame ---------------------------------------------------------------------

    def alone(self, q: Array, tell: Callable[[float], None]) -> Array:
        """Fit every frame by itself; those that got stuck try what their neighbours found."""
        q = self.within(q)
        cost = np.full(len(q), np.inf)
        todo = np.arange(len(q))
        for k in range(len(q)):  # what one frame has found goes on from neighbour to neighbour
            q[todo], cost[todo] = self._descend(q[todo], todo)
            tell(1.0 - 0.8 ** (k + 1))
            todo = self._from_neighbours(q, cost, todo)
            if not len(todo):
                break
        return q

    def _descend(self, q: Array, which: Array) -> tuple[Array, Array]:
        q, damping = q.copy(), np.full(len(q), 1e-2)
        now = self.normal(q, which)
        active = np.arange(len(q))
        for _ in range(ALONE):
            held = self.held(q[active], now.g[active])
            step = _solved(now.H[active], now.g[active], held, damping[active])
            tried = self.moved(q[active], step)
            then = self.normal(tried, which[active])
            good = then.cost < now.cost[active]
            won = active[good]
            settled = good & (now.cost[active] - then.cost < 1e-7 * now.cost[active])
            q[won] = tried[good]
            for mine, new in zip(now, then, strict=True):
                mine[won] = new[good]
            damping[won] *= 0.2
            damping[active[~good]] *= 8.0
            active = active[~settled & (damping[active] < 1e4)]
            if not len(active):
                break
        return q, now.cost

    def _from_neighbours(self, q: Array, cost: Array, new: Array) -> Array:
        """Frames that do better with the joints of a neighbour that is new; they get them. The root stays where it was."""
        found = np.zeros(len(q), bool)
        best = cost.copy()
        was = q.copy()
        for shift in (-1, 1):
            mine = new[(new - shift >= 0) & (new - shift < len(q))] - shift
            if not len(mine):
                continue
            tried = np.where(self._root_numbers(), was[mine], was[mine + shift])
            gained = self.normal(tried, mine).cost < 0.7 * best[mine] - 1e-12
            q[mine[gained]], best[mine[gained]] = tried[gained], 0.0
            found[mine[gained]] = True
        return np.flatnonzero(found)

    def _root_numbers(self) -> Array:
        numbers = np.zeros(self.model.nq, bool)
        for e, kind in enumerate(self.model.tree.kind):
            if kind == FLOAT:
                numbers[self.model.tree.q_at[e] : self.model.tree.q_at[e] + 7] = True
        return numbers

    # --- all together -----------------------------------------------------------------------

    def followed(self, q: Array, tell: Callable[[float], None]) -> Array:
        """Fit all frames to goals that can mostly be met: exactly where that is no sudden turn, and smoothly where it would be one."""
        if len(q) < 3:
            return q
        everywhere = np.ones((len(q), len(self.freedoms)))
        firm = self.together(q, FIRM * everywhere, None, 15, lambda share: tell(0.4 * share))
        exact = self.together(firm, QUIET * everywhere, None, 25, lambda share: tell(0.4 + 0.3 * share))
        added = self.many.between(firm, exact)[:, self.freedoms] * self.unit
        wanted = (self.goals.weight * self.goals.target).reshape(len(q), -1)
        beyond = _turns_back(added, self.times) - _turns_back(wanted, self.times).max(axis=1, keepdims=True)
        sudden = _spread(_smooth((beyond - SUDDEN[0]) / (SUDDEN[1] - SUDDEN[0])), self.times)
        if not sudden.any():
            return exact
        weight = np.sqrt(QUIET**2 + (STIFF * sudden) ** 2)
        return self.together(firm, weight, None, 25, lambda share: tell(0.7 + 0.3 * share))

    def together(self, q: Array, weight: Array, about: Array | None, most: int, tell: Callable[[float], None]) -> Array:
        """Fit all frames with their accelerations.

        Args:
            q: Where to start: (f, nq).
            weight: Of accelerations: (f, n) [s²].
            about: A motion (f, nq) of which the accelerations are not counted, only what is added to them.
            most: Iterations.
            tell: What to call with the share that is done.
        """
        if len(q) < 3:
            return q
        weight = weight * self.unit
        damping, now = np.full(len(q), DAMPING), self.normal(q)
        bend, pull = self._bent(q, weight, about)
        for k in range(most):
            tell(k / most)
            mine, g = now.cost + bend, now.g + pull
            step = self._stepped(now.H, g, self.held(q, g), weight, damping)
            if step is None:
                damping = np.maximum(10.0 * damping, DAMPING)
                continue
            tried = self.moved(q, step)
            then = self.normal(tried)
            new_bend, new_pull = self._bent(tried, weight, about)
            theirs = then.cost + new_bend
            gain = float((mine - theirs).sum())
            worse = maximum_filter1d(theirs > 1.001 * mine + 1e-9 * mine.sum(), 5)
            damping = np.where(worse, np.maximum(8.0 * damping, DAMPING), 0.25 * damping if gain > 0 else damping)
            if gain > 0:
                q, now, bend, pull = tried, then, new_bend, new_pull
            stuck = gain <= 0 and not worse.any()
            if stuck or np.abs(step).max() < 1e-9 or abs(gain) < DONE * mine.sum():
                break
        return q

    def _bent(self, q: Array, weight: Array, about: Array | None) -> tuple[Array, Array]:
        """Accelerations' sums of squares (f,), and their gradient (f, n)."""
        dt = np.diff(self.times)[:, None]
        if about is None:
            rate = self.many.between(q[:-1], q[1:])[:, self.freedoms] / dt
        else:
            rate = np.diff(self.many.between(about, q)[:, self.freedoms], axis=0) / dt
        mean = self._mean_steps()
        bend = weight[1:-1] * (rate[1:] - rate[:-1]) / mean
        pull = np.zeros((len(q), len(self.freedoms)))
        force = weight[1:-1] * bend / mean
        pull[2:] += force / dt[1:]
        pull[1:-1] -= force * (1 / dt[1:] + 1 / dt[:-1])
        pull[:-2] += force / dt[:-1]
        return np.pad((bend * bend).sum(axis=1), 1), pull

    def _mean_steps(self) -> Array:
        return 0.5 * (self.times[2:] - self.times[:-2])[:, None]

    def _stepped(self, H: Array, g: Array, held: Array, weight: Array, damping: Array) -> Array | None:
        """The step of all frames: blocks of frames on the diagonal, accelerations beside it."""
        f, n = g.shape
        dt, mean = np.diff(self.times)[:, None], self._mean_steps()
        w2 = (weight[1:-1] / mean) ** 2
        a, b, c = 1 / dt[:-1], -(1 / dt[1:] + 1 / dt[:-1]), 1 / dt[1:]
        own, next1, next2 = np.zeros((f, n)), np.zeros((f, n)), np.zeros((f, n))
        own[:-2] += w2 * a * a
        own[1:-1] += w2 * b * b
        own[2:] += w2 * c * c
        next1[:-2] += w2 * a * b
        next1[1:-1] += w2 * b * c
        next2[:-2] += w2 * a * c
        free = ~held
        H = H * (free[:, :, None] & free[:, None, :])
        diagonal = np.diagonal(H, axis1=1, axis2=2) + own
        H[:, np.arange(n), np.arange(n)] = np.where(free, diagonal + damping[:, None] * self.unit**2 + 1e-12, 1.0)
        next1[:-1] *= free[:-1] & free[1:]
        next2[:-2] *= free[:-2] & free[2:]
        return _five_diagonals(H, next1, next2, np.where(free, -g, 0.0))

    def finished(self, q: Array) -> Array:
        """Configurations exactly within all limits."""
        q = self.within(q)
        for at, _, axis, swing, twist in zip(*vars(self.cones).values(), strict=True):
            q[:, at : at + 4] = _inside(q[:, at : at + 4], axis, swing, twist)
        for coupling in self.model.couplings:  # what follows another coordinate and moves no landmark
            mine = self.model.coordinate_index[coupling.coordinate]
            if mine not in self.freedoms and coupling.of is not None:
                of = self.scalar[self.model.coordinate_index[coupling.of]]
                if self.scalar[mine] >= 0 and of >= 0:
                    q[:, self.scalar[mine]] = np.polynomial.Polynomial(coupling.coefficients)(q[:, of])
        return self.within(q)


def _five_diagonals(H: Array, next1: Array, next2: Array, b: Array) -> Array | None:
    """Solve for all frames: H (f, n, n) on the diagonal, and diagonal matrices to the next frame and the one after (f, n).

    Cholesky's factor by blocks of a frame. They are so small that the BLAS does not spread them over threads, which would wait for
    each other on a busy machine.
    """
    f, n = b.shape
    potrf, trtri, trtrs = get_lapack_funcs(("potrf", "trtri", "trtrs"), (H,))
    D, x = H.copy(), b.copy()
    E = np.zeros((f + 2, n, n))
    E[:f, np.arange(n), np.arange(n)] = next1
    factors = []
    for t in range(f):
        L, status = potrf(D[t], lower=1, clean=1)
        if status:
            return None
        x[t] = trtrs(L, x[t], lower=1)[0]
        inverse, _ = trtri(L, lower=1)
        one, two = E[t] @ inverse.T, next2[t][:, None] * inverse.T
        factors.append((L, one, two))
        if t + 1 < f:
            D[t + 1] -= one @ one.T
            E[t + 1] -= two @ one.T
            x[t + 1] -= one @ x[t]
        if t + 2 < f:
            D[t + 2] -= two @ two.T
            x[t + 2] -= two @ x[t]
    for t in range(f - 1, -1, -1):
        L, one, two = factors[t]
        if t + 1 < f:
            x[t] -= one.T @ x[t + 1]
        if t + 2 < f:
            x[t] -= two.T @ x[t + 2]
        x[t] = trtrs(L, x[t], lower=1, trans=1)[0]
    return x


def _solved(H: Array, g: Array, held: Array, damping: Array) -> Array:
    """Damped steps of many small systems."""
    n = g.shape[1]
    free = ~held
    H = H * (free[:, :, None] & free[:, None, :])
    diagonal = np.diagonal(H, axis1=1, axis2=2)
    H[:, np.arange(n), np.arange(n)] = np.where(free, diagonal + damping[:, None] * (diagonal + 1e-3) + 1e-12, 1.0)
    return np.linalg.solve(H, np.where(free, -g, 0.0)[..., None])[..., 0]


def _turns_back(x: Array, times: Array) -> Array:
    """How far columns (f, n) go off a straight line within a blink: (f, n)."""
    k = max(1, round(BLINK / float(np.median(np.diff(times)))))
    out = np.zeros_like(x)
    if len(x) > 2 * k:
        out[k:-k] = np.abs(x[2 * k :] - 2 * x[k:-k] + x[: -2 * k])
    return out


def _smooth(s: Array) -> Array:
    """From 0 to 1 as s does, without corners."""
    s = np.clip(s, 0.0, 1.0)
    return s * s * (3 - 2 * s)


def _spread(marks: Array, times: Array) -> Array:
    """Marks (f, n) with smooth shoulders before and after."""
    dt = float(np.median(np.diff(times)))
    reach = max(1, round(NEAR / dt))
    out = marks.copy()
    for k in range(1, reach + 1):
        share = np.cos(0.5 * np.pi * k / (reach + 1)) ** 2
        out[k:] = np.maximum(out[k:], share * marks[:-k])
        out[:-k] = np.maximum(out[:-k], share * marks[k:])
    return out


def _cones(model: Model, freedoms: Array) -> Cones:
    """Cones of the balls that are solved for."""
    rows = []
    for name, joined in model.joints.items():
        cone = model.links[model.joints[name].link].joint.cone
        if cone is not None and joined.v.start in freedoms:
            rows.append((joined.q.start, int(np.searchsorted(freedoms, joined.v.start)), cone.axis, cone.swing, cone.twist))
    at, column, axis, swing, twist = zip(*rows, strict=True) if rows else ((),) * 5
    ints = np.array(at, int), np.array(column, int)
    return Cones(*ints, np.array(axis).reshape(-1, 3), np.array(swing, float), np.array(twist, float).reshape(-1, 2))


def _beyond(q: Array, axis: Array, most: float, twist: Array) -> list[tuple[Array, Array]]:
    """How far rotations are beyond a cone, for swing and twist: excess (f,), and how it changes with a turn along their axes (f, 3).

    Where the axis points backwards twist means nothing; it counts by how much it is off that.
    """
    w, v = q[:, 0], q[:, 1:]
    along = v @ axis
    back = rotations.turned(rotations.inverse(q), axis)
    cosine = np.clip(back @ axis, -1.0, 1.0)
    sine = np.maximum(np.sqrt(1.0 - cosine**2), 1e-6)
    swing = np.arccos(cosine)
    slope = -np.cross(axis, back) / sine[:, None]
    over = np.where(swing > most - BEFORE, swing - (most - BEFORE), 0.0)
    size2 = np.maximum(w * w + along * along, 1e-9)
    angle = (2.0 * np.arctan2(along, w) + np.pi) % (2.0 * np.pi) - np.pi
    d_along = 0.5 * (w[:, None] * axis + np.cross(axis, v))
    bend = 2.0 * (w[:, None] * d_along + 0.5 * along[:, None] * v) / size2[:, None]
    past = np.where(
        angle > twist[1] - BEFORE, angle - (twist[1] - BEFORE), np.where(angle < twist[0] + BEFORE, angle - (twist[0] + BEFORE), 0)
    )
    share = np.sqrt(size2)
    d_share = (along[:, None] * d_along - 0.5 * w[:, None] * v) / share[:, None]
    return [(over, slope), (share * past, share[:, None] * bend + past[:, None] * d_share)]


def _inside(q: Array, axis: Array, most: float, twist: Array) -> Array:
    """Rotations within a cone: its axis swung back, the twist about it turned back; nothing else changes."""
    within = 1e-9
    along = q[:, 1:] @ axis
    size = np.hypot(q[:, 0], along)
    spin = np.where((size > 1e-9)[:, None], np.concatenate((q[:, :1], along[:, None] * axis), axis=1), rotations.NONE)
    spin = spin / np.linalg.norm(spin, axis=1, keepdims=True)
    swing = rotations.to_vector(rotations.product(q, rotations.inverse(spin)))
    angle = (2.0 * np.arctan2(spin[:, 1:] @ axis, spin[:, 0]) + np.pi) % (2.0 * np.pi) - np.pi
    tilt = np.linalg.norm(swing, axis=1)
    outside = (tilt > most) | (angle > twist[1]) | (angle < twist[0])
    swing = swing * np.minimum(1.0, (most - within) / np.maximum(tilt, 1e-12))[:, None]
    spin = rotations.from_vector(np.clip(angle, twist[0] + within, twist[1] - within)[:, None] * axis)
    return np.where(outside[:, None], rotations.product(rotations.from_vector(swing), spin), q)
