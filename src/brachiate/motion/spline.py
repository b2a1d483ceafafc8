"""Quintic spline through the frames of a motion: configuration, velocity and acceleration at any time.

Every coordinate of q is interpolated by a spline of degree five whose third and fourth derivatives vanish at its ends. Quaternions are
normalized afterwards: p(t)/|p(t)| is smooth, and its angular velocity and acceleration follow exactly from p, p′ and p″, so they are the
derivatives of the curve, not differences of frames. Noise is removed by a zero-lag low-pass filter (Butterworth, forward and backward)
before interpolation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline, make_interp_spline
from scipy.linalg import get_lapack_funcs

from brachiate import rotations, validation
from brachiate.errors import MotionError
from brachiate.model.joints import BALL, ELEMENT_NQ, ELEMENT_NV, FLOAT
from brachiate.model.model import Model
from brachiate.validation import Array

FILTER_ORDER = 2  # in each direction; both together are as steep as a filter of fourth order
CHUNK = 4096  # frames evaluated together: their scratch memory does not grow with the motion
UNIFORM_SPACING_TOLERANCE = 1e-3  # deviation of frame intervals from their mean, relative to it, up to which frames are evenly spaced


class MotionStates(NamedTuple):
    """Configurations, velocities and accelerations at some times."""

    times: Array  # (f,) [s]
    q: Array  # (f, nq)
    v: Array  # (f, nv)
    a: Array  # (f, nv)


class MotionSpline:
    """Quintic spline through the frames of a motion, or through its low-pass filtered frames.

    Args:
        model: The figure.
        times: Times of the frames, increasing [s]: (f,).
        q: Configurations: (f, nq).
        cutoff: Cutoff frequency of the low-pass filter [Hz], for evenly spaced frames; None: no filter.
    """

    def __init__(self, model: Model, times: Array, q: Array, cutoff: float | None = None) -> None:
        if len(times) < 2:
            raise MotionError("A spline needs at least two frames: a single one has no velocity.")
        self.model, self.times, self.cutoff = model, times, cutoff
        values = np.array(q, float)
        for columns in _quaternions(model):
            values[:, columns] = rotations.unwrap(values[:, columns])
        if cutoff is not None:
            values = lowpass(times, values, cutoff)
        degree = min(5, len(times) - 1)
        degree -= 1 - degree % 2  # splines of even degree have no symmetric end conditions
        # Without end conditions the spline oscillates at its ends, the more the coarser the frames: keep accelerations constant.
        constant = [(3, np.zeros(values.shape[1])), (4, np.zeros(values.shape[1]))]
        self._p: BSpline = make_interp_spline(times, values, k=degree, bc_type=(constant, constant) if degree == 5 else None)

    def at(self, times: ArrayLike) -> MotionStates:
        """Configurations, velocities and accelerations at times within the motion [s]."""
        t, model = self._within(times), self.model
        q, v, a = np.zeros((len(t), model.nq)), np.zeros((len(t), model.nv)), np.zeros((len(t), model.nv))
        for k in range(0, len(t), CHUNK):
            frames = slice(k, k + CHUNK)
            self._evaluate(t[frames], q[frames], v[frames], a[frames])
        return MotionStates(t, q, v, a)

    def _piece(self, first: float, last: float) -> BSpline:
        """The same spline between two times [s]: its derivatives take no more memory than that."""
        knots, degree = self._p.t, self._p.k
        least = 2 * degree + 2  # knots of one polynomial
        start = max(min(int(np.searchsorted(knots, first, side="right")) - 1 - degree, len(knots) - least), 0)
        end = min(max(int(np.searchsorted(knots, last, side="left")) + 1 + degree, start + least), len(knots))
        return BSpline(knots[start:end], self._p.c[start : end - degree - 1], degree)

    def configurations(self, times: ArrayLike) -> Array:
        """Configurations at times within the motion [s]: (n, nq)."""
        q = self._p(self._within(times))
        for columns in _quaternions(self.model):
            q[:, columns] /= np.sqrt(np.einsum("ij,ij->i", q[:, columns], q[:, columns]))[:, None]
        return q

    def _within(self, times: ArrayLike) -> Array:
        """Times (n,) [s], which must be within the motion."""
        t = np.atleast_1d(validation.reals(times, "times", "times in seconds"))
        first, last = self.times[0], self.times[-1]
        if t.size and (t.min() < first - 1e-9 or t.max() > last + 1e-9):
            raise MotionError(f"Times must be within the motion, from {first:g} to {last:g} s; got {t.min():g} to {t.max():g} s.")
        return np.clip(t, first, last)

    def _evaluate(self, t: Array, q: Array, v: Array, a: Array) -> None:
        """Write configurations (n, nq), velocities and accelerations (n, nv) at times (n,)."""
        piece = self._piece(t.min(), t.max())
        p = piece(t)
        dp, ddp = (piece.derivative(k)(t) if k <= piece.k else np.zeros_like(p) for k in (1, 2))
        q[:] = p
        nq = nv = 0
        for link in self.model.links.values():
            for element in link.joint.elements:
                x, y = slice(nq, nq + ELEMENT_NQ[element.kind]), slice(nv, nv + ELEMENT_NV[element.kind])
                if element.kind == BALL:
                    q[:, x], v[:, y], a[:, y] = _ball_states(p[:, x], dp[:, x], ddp[:, x])
                elif element.kind == FLOAT:
                    q[:, x], v[:, y], a[:, y] = _free_states(p[:, x], dp[:, x], ddp[:, x])
                else:
                    v[:, y], a[:, y] = dp[:, x], ddp[:, x]
                nq, nv = x.stop, y.stop


def _quaternions(model: Model) -> list[slice]:
    """Positions of quaternions in q."""
    found, nq = [], 0
    for link in model.links.values():
        for element in link.joint.elements:
            size = ELEMENT_NQ[element.kind]
            if element.kind in (BALL, FLOAT):
                found.append(slice(nq + size - 4, nq + size))
            nq += size
    return found


def _ball_states(p: Array, dp: Array, ddp: Array) -> tuple[Array, Array, Array]:
    """Unit quaternion p/|p| and its angular velocity and acceleration in child axes."""
    size2 = np.einsum("ij,ij->i", p, p)[:, None]
    w = 2.0 * rotations.product(rotations.inverse(p), dp)[:, 1:] / size2
    growth = np.einsum("ij,ij->i", p, dp)[:, None] / size2
    # p⁻¹p′ = |p|′/|p| + ω/2 as a quaternion; its derivative by the product rule
    acceleration = 2.0 * rotations.product(rotations.inverse(p), ddp)[:, 1:] / size2 - 2.0 * growth * w
    return p / np.sqrt(size2), w, acceleration


def _free_states(p: Array, dp: Array, ddp: Array) -> tuple[Array, Array, Array]:
    """Position and unit quaternion, and their velocity and acceleration in child axes."""
    unit, w, angular = _ball_states(p[:, 3:], dp[:, 3:], ddp[:, 3:])
    back = rotations.inverse(unit)
    v = rotations.rotate(back, dp[:, :3])
    a = rotations.rotate(back, ddp[:, :3]) - np.cross(w, v)
    return np.concatenate((p[:, :3], unit), axis=1), np.concatenate((v, w), axis=1), np.concatenate((a, angular), axis=1)


def lowpass(times: Array, x: Array, cutoff: float) -> Array:
    """Low-pass filter of columns (f, n): Butterworth of second order, forward and backward, with a cutoff frequency [Hz]."""
    steps = np.diff(times)
    dt = float(steps.mean())
    if np.abs(steps - dt).max() > UNIFORM_SPACING_TOLERANCE * dt:
        raise MotionError("Frames that are not evenly spaced cannot be filtered. Resample the motion first.")
    cutoff = validation.number(cutoff, "cutoff", above=0.0)
    if cutoff >= 0.5 / dt:
        return x
    # Two passes: corrected such that both together halve the power at the cutoff frequency [Winter 2009]
    corrected = min(cutoff / (np.sqrt(2.0) - 1.0) ** (0.5 / FILTER_ORDER), 0.499 / dt)
    n = min(len(x) - 1, int(np.ceil(3.0 / (corrected * dt))))
    extended = np.concatenate((2.0 * x[0] - x[n:0:-1], x, 2.0 * x[-1] - x[-2 : -n - 2 : -1]))  # odd at both ends
    backward = _butterworth(_butterworth(extended, corrected * dt)[::-1], corrected * dt)
    return backward[::-1][n : n + len(x)]


def _butterworth(x: Array, frequency: float) -> Array:
    """Columns (f, n) after a Butterworth filter of second order, at rest before the first frame; cutoff frequency in cycles per frame.

    The recursion is a triangular system with three diagonals. (``scipy.signal`` takes a third of a second to import.)
    """
    k = np.tan(np.pi * frequency)
    a = np.array((1.0 + np.sqrt(2.0) * k + k * k, 2.0 * (k * k - 1.0), 1.0 - np.sqrt(2.0) * k + k * k))
    moved = np.concatenate((np.zeros((2, x.shape[1])), x - x[0]))
    (solve,) = get_lapack_funcs(("tbtrs",), (x,))
    y, _ = solve(np.repeat(a[:, None] / a[0], len(x), axis=1), k * k / a[0] * (moved[2:] + 2.0 * moved[1:-1] + moved[:-2]), uplo="L")
    return x[0] + y
