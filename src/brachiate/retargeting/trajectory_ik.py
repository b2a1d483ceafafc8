"""Trajectory inverse kinematics: configurations of all frames that bring points of a figure to targets, smoothly and within joint limits.

Levenberg-Marquardt, first for every frame independently, so that no frame depends on the start of another; then for all frames together
with an acceleration cost, by a banded (block-pentadiagonal) Cholesky factor. Limits of scalar joints are enforced by an active set
(projected Newton) [Bertsekas 1982], cones of spherical joints by a penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.ndimage import maximum_filter1d

from brachiate.dynamics.point_targets import point_normal_equations, point_targets
from brachiate.foot_locking.nearest_contact import time_to_nearest
from brachiate.kinematics_batch import BatchKinematics, BodyPoints
from brachiate.model.data import Data
from brachiate.model.joints import FLOAT
from brachiate.model.model import Model
from brachiate.retargeting.cone_limits import cone_excess, find_cones, project_into_cone
from brachiate.retargeting.pentadiagonal import pentadiagonal_rows, solve_block_pentadiagonal
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.retargeting.goals import GoalRows

CHUNK = 512  # frames whose costs are added together: more do not fit into the processor's cache
MAX_FRAME_ITERATIONS = 30
POSTURE_WEIGHT = 3e-4  # of the rest posture: resolves redundancy without affecting the targets
NEGLIGIBLE_SMOOTHING = 1e-7  # [s²] weight of accelerations that changes no motion
SMOOTHING_10HZ = 2.5e-4  # [s²] weight of accelerations that passes frequencies below 10 Hz
SMOOTHING_4HZ = 1.5e-3  # [s²] weight of accelerations that passes frequencies below 4 Hz
FLIP_TIME = 1 / 30  # [s] half width of the second difference that detects flips
FLIP_THRESHOLDS = (0.05, 0.15)  # [rad] second difference of a joint beyond that of the targets: smoothing from none to full
FLIP_NEIGHBORHOOD = 0.2  # [s] before and after a flip that is smoothed, too
CONE_WEIGHT = 60.0  # of the penalty of cone limits
RADIANS_PER_METER = 2.5  # scale of root translation relative to joint angles
INITIAL_DAMPING = 1e-3
GOAL_ITERATIONS = 3  # times as many with goals: heavy rows that act along many joints at once converge more slowly
COST_TOLERANCE = 1e-9  # relative change of the cost at convergence


class IkTargets(NamedTuple):
    """Targets of inverse kinematics: positions of points, or vectors between two points.

    ``second`` is -1 for the position of a point. ``ground_points`` must not penetrate the ground at z = 0.
    """

    points: BodyPoints
    first: Array  # (m,) index of a point
    second: Array  # (m,) index of the point from which the vector starts, or -1
    target: Array  # (f, m, 3) [m]
    weight: Array  # (f, m, 3) [1/m]
    ground_points: Array  # (k,) indices of points
    ground_weight: Array  # (k,) weight of penetration [1/m]

    def frames(self, which: slice) -> IkTargets:
        """Targets of some of the frames."""
        return self._replace(target=self.target[which], weight=self.weight[which])


class NormalEquations(NamedTuple):
    """Gauss-Newton normal equations of each frame: cost, gradient and Hessian."""

    cost: Array  # (f,)
    g: Array  # (f, n)
    H: Array  # (f, n, n)

    def frames(self, which: slice) -> NormalEquations:
        """Those of some frames: views."""
        return NormalEquations(*(values[which] for values in self))


class TrajectoryIk:
    """Inverse kinematics of a figure over a trajectory.

    Args:
        model: The figure.
        targets: Of its points.
        times: Of the frames [s]: (f,).
        rest_posture: Posture that resolves redundancy: (nq,), or one for each frame (f, nq).
        posture_weight: Of the distance from it.
        limits: Lower and upper limits of the degrees of freedom, two (nv,). Default: those of the figure.
        goals: Functions of the configuration that follow targets.
    """

    def __init__(
        self,
        model: Model,
        targets: IkTargets,
        times: Array,
        rest_posture: Array,
        posture_weight: float = POSTURE_WEIGHT,
        limits: tuple[Array, Array] | None = None,
        goals: GoalRows | None = None,
    ) -> None:
        self.model, self.targets, self.times = model, targets, times
        self.rest_posture, self.posture_weight, self.goals = rest_posture, posture_weight, goals
        self.limits = model.limits if limits is None else limits
        self.kinematics = BatchKinematics(model)
        used = self.kinematics.moves_body[np.unique(targets.points.body)].any(axis=0)
        if goals is not None:
            used = used | goals.moved_by()
        self.dofs = np.flatnonzero(used)
        self._data = Data(model)
        ground = targets.ground_points, targets.ground_weight
        self._points = point_targets(self.kinematics, targets.points, targets.first, targets.second, ground, self.dofs)
        lower, upper = self.limits
        self.scalar_index = np.full(model.nv, -1)
        for name, place in model.scalar_coordinates.items():
            self.scalar_index[model.coordinate_index[name]] = place
        self.lower, self.upper = lower[self.dofs], upper[self.dofs]
        self.q_index = self.scalar_index[self.dofs]
        self.cones = find_cones(model, self.dofs)
        self.dof_scale = np.ones(len(self.dofs))
        self.dof_scale[self.kinematics.is_translation[self.dofs]] = RADIANS_PER_METER
        self.is_root = np.zeros(len(self.dofs), bool)
        for e, kind in enumerate(model.tree.kind):
            if kind == FLOAT:
                self.is_root |= (self.dofs >= model.tree.v_at[e]) & (self.dofs < model.tree.v_at[e] + 6)

    def with_max_weight(self, max_weight: float) -> TrajectoryIk:
        """The same problem with target weights limited to this [1/m]."""
        weight, ground_weight = np.minimum(self.targets.weight, max_weight), np.minimum(self.targets.ground_weight, max_weight)
        targets = self.targets._replace(weight=weight, ground_weight=ground_weight)
        goals = None if self.goals is None else self.goals.with_max_weight(max_weight)
        return TrajectoryIk(self.model, targets, self.times, self.rest_posture, self.posture_weight, self.limits, goals)

    # --- cost -------------------------------------------------------------------------------

    def normal_equations(self, q: Array, which: Array | None = None) -> NormalEquations:
        """Normal equations of frames without accelerations; ``which``: only of these frames."""
        equations = self._target_equations(q, which)
        for k in range(0, len(q), CHUNK):
            some = slice(k, k + CHUNK)
            self._add_posture_and_goals(q[some], np.arange(len(self.times))[some] if which is None else which[some], equations.frames(some))
        return equations

    def _target_equations(self, q: Array, which: Array | None) -> NormalEquations:
        """Normal equations of the targets."""
        f, n, targets = len(q), len(self.dofs), self.targets
        target, weight = (x if which is None else x[which] for x in (targets.target, targets.weight))
        equations = NormalEquations(np.empty(f), np.empty((f, n)), np.empty((f, n, n)))
        target, weight = (np.ascontiguousarray(x, dtype=float).reshape(f, -1) for x in (target, weight))
        H, q = equations.H.reshape(f * n, n), np.ascontiguousarray(q)
        point_normal_equations(self._data.key, self._points.key, q, target, weight, equations.cost, equations.g, H)
        return equations

    def _add_posture_and_goals(self, q: Array, which: Array, equations: NormalEquations) -> None:
        """Add the distance from the rest posture, goals and cone limits to the normal equations of some frames."""
        cost, g, H = equations
        if self.goals is not None:
            r, rows = self.goals.rows(q, which, self.dofs)
            transposed = rows.transpose(0, 2, 1)
            cost += np.einsum("fi,fi->f", r, r)
            g += (transposed @ r[..., None])[..., 0]
            H += transposed @ rows
        rest = self.rest_posture[which] if self.rest_posture.ndim > 1 else np.broadcast_to(self.rest_posture, q.shape)
        posture_error = self.posture_weight * self.kinematics.difference(rest, q)[:, self.dofs]
        posture_error[:, self.is_root] = 0.0
        cost += np.einsum("fi,fi->f", posture_error, posture_error)
        g += self.posture_weight * posture_error
        n = len(self.dofs)
        H[:, np.arange(n), np.arange(n)] += self.posture_weight**2
        self._add_cone_penalty(q, cost, g, H)

    def _add_cone_penalty(self, q: Array, cost: Array, g: Array, H: Array) -> None:
        """Add the penalty of cone limits."""
        for at, column, axis, swing, twist in zip(*vars(self.cones).values(), strict=True):
            columns = slice(column, column + 3)
            for excess, slope in cone_excess(q[:, at : at + 4], axis, swing, twist):
                cost += (CONE_WEIGHT * excess) ** 2
                g[:, columns] += CONE_WEIGHT**2 * excess[:, None] * slope
                H[:, columns, columns] += CONE_WEIGHT**2 * (excess != 0)[:, None, None] * slope[:, :, None] * slope[:, None, :]

    def at_limits(self, q: Array, g: Array) -> Array:
        """Active set: scalar joints at a limit whose gradient points outward: (f, n)."""
        clamped = np.zeros(g.shape, bool)
        s = np.flatnonzero(self.q_index >= 0)
        value = q[:, self.q_index[s]]
        clamped[:, s] = ((value <= self.lower[s]) & (g[:, s] > 0)) | ((value >= self.upper[s]) & (g[:, s] < 0))
        return clamped | (self.lower == self.upper)

    def clamp(self, q: Array) -> Array:
        """Configurations with scalar joints clamped to their limits."""
        q = q.copy()
        for value, low, high in zip(self.scalar_index, *self.limits, strict=True):
            if value >= 0:
                q[:, value] = np.clip(q[:, value], low, high)
        return q

    def apply_step(self, q: Array, step: Array) -> Array:
        """Configurations after a step of the solved degrees of freedom, clamped to limits."""
        tangent = np.zeros((len(q), self.model.nv))
        tangent[:, self.dofs] = step
        return self.clamp(self.kinematics.integrate(q, tangent))

    # --- frame by frame ---------------------------------------------------------------------

    def solve_frames(self, q: Array, report: Callable[[float], None]) -> Array:
        """Solve every frame independently; frames in a worse local minimum restart from their neighbors."""
        q = self.clamp(q)
        cost = np.full(len(q), np.inf)
        todo = np.arange(len(q))
        for k in range(len(q)):  # a better minimum propagates from neighbor to neighbor
            q[todo], cost[todo] = self._minimize_frames(q[todo], todo)
            report(1.0 - 0.8 ** (k + 1))
            todo = self._try_neighbors(q, cost, todo)
            if not len(todo):
                break
        return q

    def _minimize_frames(self, q: Array, which: Array) -> tuple[Array, Array]:
        q, damping = q.copy(), np.full(len(q), 1e-2)
        current = self.normal_equations(q, which)
        active = np.arange(len(q))
        for _ in range(MAX_FRAME_ITERATIONS):
            clamped = self.at_limits(q[active], current.g[active])
            step = _damped_steps(current.H[active], current.g[active], clamped, damping[active])
            tried = self.apply_step(q[active], step)
            new = self.normal_equations(tried, which[active])
            good = new.cost < current.cost[active]
            accepted = active[good]
            converged = good & (current.cost[active] - new.cost < 1e-7 * current.cost[active])
            q[accepted] = tried[good]
            for values, new_values in zip(current, new, strict=True):
                values[accepted] = new_values[good]
            damping[accepted] *= 0.2
            damping[active[~good]] *= 8.0
            active = active[~converged & (damping[active] < 1e4)]
            if not len(active):
                break
        return q, current.cost

    def _try_neighbors(self, q: Array, cost: Array, updated: Array) -> Array:
        """Frames with a lower cost at the joint angles of an updated neighbor, which they take over; the root is kept."""
        improved = np.zeros(len(q), bool)
        best = cost.copy()
        previous = q.copy()
        for shift in (-1, 1):
            frames = updated[(updated - shift >= 0) & (updated - shift < len(q))] - shift
            if not len(frames):
                continue
            tried = np.where(self._root_mask(), previous[frames], previous[frames + shift])
            better = self.normal_equations(tried, frames).cost < 0.7 * best[frames] - 1e-12
            q[frames[better]], best[frames[better]] = tried[better], 0.0
            improved[frames[better]] = True
        return np.flatnonzero(improved)

    def _root_mask(self) -> Array:
        """Entries of q that belong to the floating base: (nq,)."""
        mask = np.zeros(self.model.nq, bool)
        for e, kind in enumerate(self.model.tree.kind):
            if kind == FLOAT:
                mask[self.model.tree.q_at[e] : self.model.tree.q_at[e] + 7] = True
        return mask

    # --- trajectory -------------------------------------------------------------------------

    def solve_smooth(self, q: Array, report: Callable[[float], None]) -> Array:
        """Solve all frames: exactly where the joints follow the targets, smoothed where they would flip."""
        if len(q) < 3:
            return q
        everywhere = np.ones((len(q), len(self.dofs)))
        smooth = self.solve_trajectory(q, SMOOTHING_10HZ * everywhere, None, 15, lambda share: report(0.4 * share))
        exact = self.solve_trajectory(smooth, NEGLIGIBLE_SMOOTHING * everywhere, None, 25, lambda share: report(0.4 + 0.3 * share))
        added = self.kinematics.difference(smooth, exact)[:, self.dofs] * self.dof_scale
        target_motion = (self.targets.weight * self.targets.target).reshape(len(q), -1)
        excess_motion = _second_difference(added, self.times) - _second_difference(target_motion, self.times).max(axis=1, keepdims=True)
        flip = _widen(_smoothstep((excess_motion - FLIP_THRESHOLDS[0]) / (FLIP_THRESHOLDS[1] - FLIP_THRESHOLDS[0])), self.times)
        if not flip.any():
            return exact
        weight = np.sqrt(NEGLIGIBLE_SMOOTHING**2 + (SMOOTHING_4HZ * flip) ** 2)
        return self.solve_trajectory(smooth, weight, None, 25, lambda share: report(0.7 + 0.3 * share))

    def solve_trajectory(self, q: Array, weight: Array, about: Array | None, max_iterations: int, report: Callable[[float], None]) -> Array:
        """Solve all frames together with an acceleration cost.

        Args:
            q: Initial configurations: (f, nq).
            weight: Of accelerations: (f, n) [s²].
            about: A motion (f, nq) relative to which accelerations count.
            max_iterations: Of Levenberg-Marquardt.
            report: Called with the share that is done.
        """
        if len(q) < 3:
            return q
        weight = weight * self.dof_scale
        damping, current = np.full(len(q), INITIAL_DAMPING), self.normal_equations(q)
        acceleration_cost, acceleration_gradient = self._acceleration_cost(q, weight, about)
        if self.goals is not None:
            max_iterations *= GOAL_ITERATIONS
        for k in range(max_iterations):
            report(k / max_iterations)
            cost, g = current.cost + acceleration_cost, current.g + acceleration_gradient
            step = self._trajectory_step(current.H, g, self.at_limits(q, g), weight, damping)
            if step is None:
                damping = np.maximum(10.0 * damping, INITIAL_DAMPING)
                continue
            tried = self.apply_step(q, step)
            new = self.normal_equations(tried)
            new_acceleration_cost, new_acceleration_gradient = self._acceleration_cost(tried, weight, about)
            new_cost = new.cost + new_acceleration_cost
            gain = float((cost - new_cost).sum())
            worse = maximum_filter1d(new_cost > 1.001 * cost + 1e-9 * cost.sum(), 5)
            damping = np.where(worse, np.maximum(8.0 * damping, INITIAL_DAMPING), 0.25 * damping if gain > 0 else damping)
            if gain > 0:
                q, current, acceleration_cost, acceleration_gradient = tried, new, new_acceleration_cost, new_acceleration_gradient
            stuck = gain <= 0 and not worse.any()
            if stuck or np.abs(step).max() < 1e-9 or abs(gain) < COST_TOLERANCE * cost.sum():
                break
        return q

    def _acceleration_cost(self, q: Array, weight: Array, about: Array | None) -> tuple[Array, Array]:
        """Acceleration cost (f,) and its gradient (f, n)."""
        dt = np.diff(self.times)[:, None]
        if about is None:
            rate = self.kinematics.difference(q[:-1], q[1:])[:, self.dofs] / dt
        else:
            rate = np.diff(self.kinematics.difference(about, q)[:, self.dofs], axis=0) / dt
        mean = self._mean_time_steps()
        acceleration = weight[1:-1] * (rate[1:] - rate[:-1]) / mean
        acceleration_gradient = np.zeros((len(q), len(self.dofs)))
        force = weight[1:-1] * acceleration / mean
        acceleration_gradient[2:] += force / dt[1:]
        acceleration_gradient[1:-1] -= force * (1 / dt[1:] + 1 / dt[:-1])
        acceleration_gradient[:-2] += force / dt[:-1]
        return np.pad((acceleration * acceleration).sum(axis=1), 1), acceleration_gradient

    def _mean_time_steps(self) -> Array:
        return 0.5 * (self.times[2:] - self.times[:-2])[:, None]

    def _trajectory_step(self, H: Array, g: Array, clamped: Array, weight: Array, damping: Array) -> Array | None:
        """Damped Gauss-Newton step of all frames; the acceleration cost couples neighboring frames."""
        f, n = g.shape
        dt, mean = np.diff(self.times)[:, None], self._mean_time_steps()
        w2 = (weight[1:-1] / mean) ** 2
        a, b, c = 1 / dt[:-1], -(1 / dt[1:] + 1 / dt[:-1]), 1 / dt[1:]
        own, coupling1, coupling2 = np.zeros((f, n)), np.zeros((f, n)), np.zeros((f, n))
        own[:-2] += w2 * a * a
        own[1:-1] += w2 * b * b
        own[2:] += w2 * c * c
        coupling1[:-2] += w2 * a * b
        coupling1[1:-1] += w2 * b * c
        coupling2[:-2] += w2 * a * c
        free, rows = ~clamped, pentadiagonal_rows(f, n)
        blocks = np.multiply(H, free[:, :, None] & free[:, None, :], out=rows[:, :n, :n])
        diagonal = np.diagonal(H, axis1=1, axis2=2) + own
        blocks[:, np.arange(n), np.arange(n)] = np.where(free, diagonal + damping[:, None] * self.dof_scale**2 + 1e-12, 1.0)
        coupling1[:-1] *= free[:-1] & free[1:]
        coupling2[:-2] *= free[:-2] & free[2:]
        return solve_block_pentadiagonal(rows, coupling1, coupling2, np.where(free, -g, 0.0))

    def enforce_limits(self, q: Array) -> Array:
        """Configurations exactly within all limits; coupled coordinates follow."""
        q = self.clamp(q)
        for at, _, axis, swing, twist in zip(*vars(self.cones).values(), strict=True):
            q[:, at : at + 4] = project_into_cone(q[:, at : at + 4], axis, swing, twist)
        for coupling in self.model.couplings:  # coupled coordinates that move no target point
            k = self.model.coordinate_index[coupling.coordinate]
            if k not in self.dofs and coupling.of is not None:
                of = self.scalar_index[self.model.coordinate_index[coupling.of]]
                if self.scalar_index[k] >= 0 and of >= 0:
                    q[:, self.scalar_index[k]] = np.polynomial.Polynomial(coupling.coefficients)(q[:, of])
        return self.clamp(q)


def _damped_steps(H: Array, g: Array, clamped: Array, damping: Array) -> Array:
    """Damped steps of independent frames; overwrites H."""
    n = g.shape[1]
    free = ~clamped
    H *= free[:, :, None] & free[:, None, :]
    diagonal = np.diagonal(H, axis1=1, axis2=2)
    H[:, np.arange(n), np.arange(n)] = np.where(free, diagonal + damping[:, None] * (diagonal + 1e-3) + 1e-12, 1.0)
    return np.linalg.solve(H, np.where(free, -g, 0.0)[..., None])[..., 0]


def _second_difference(x: Array, times: Array) -> Array:
    """Magnitude of second differences of columns over FLIP_TIME: (f, n)."""
    k = max(1, round(FLIP_TIME / float(np.median(np.diff(times)))))
    out = np.zeros_like(x)
    if len(x) > 2 * k:
        out[k:-k] = np.abs(x[2 * k :] - 2 * x[k:-k] + x[: -2 * k])
    return out


def _smoothstep(s: Array) -> Array:
    """Smoothstep from 0 to 1."""
    s = np.clip(s, 0.0, 1.0)
    return s * s * (3 - 2 * s)


def _widen(marks: Array, times: Array) -> Array:
    """Widen marks (f, n) smoothly in time by FLIP_NEIGHBORHOOD."""
    dt = float(np.median(np.diff(times)))
    reach = max(1, round(FLIP_NEIGHBORHOOD / dt))
    out = marks.copy()
    for k in range(1, reach + 1):
        share = np.cos(0.5 * np.pi * k / (reach + 1)) ** 2
        out[k:] = np.maximum(out[k:], share * marks[:-k])
        out[:-k] = np.maximum(out[:-k], share * marks[k:])
    return out


def contact_weights(on: Array, times: Array, contact: float, otherwise: float, over: float = 0.08) -> Array:
    """Target weights that blend smoothly (logarithmically) between contact and non-contact: (f,)."""
    if not on.any():
        return np.full(len(times), otherwise)
    s = np.clip(time_to_nearest(times, on) / over, 0.0, 1.0)
    s = s * s * (3 - 2 * s)
    return np.exp(np.log(contact) * (1 - s) + np.log(otherwise) * s)
