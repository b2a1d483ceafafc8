"""Course: a motion as a smooth curve, with velocities and accelerations at any time.

Every number of q gets a spline of degree five through its frames, at whose ends accelerations do not change. Quaternions are taken at
length one afterwards: p(t)/|p(t)| is smooth, and its angular velocity and acceleration follow from p, p′ and p″ exactly, so what is told
is the motion of the curve, not differences of frames. To take out noise, frames are first passed through a low-pass filter forwards and
backwards, which delays nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline, make_interp_spline
from scipy.signal import butter, sosfiltfilt

from brachiate import rotations, validation
from brachiate.errors import MotionError
from brachiate.model.joints import BALL, FLOAT, FREEDOMS, NUMBERS
from brachiate.model.model import Model
from brachiate.validation import Array

ORDER = 2  # of the filter, each way: together as steep as one of fourth order
EVEN = 1e-3  # frames whose times are apart as much as others, to this share


class Moments(NamedTuple):
    """State and acceleration at some times."""

    times: Array  # (f,) [s]
    q: Array  # (f, nq)
    v: Array  # (f, nv)
    a: Array  # (f, nv)


class Course:
    """A smooth curve through, or near, the frames of a motion.

    Args:
        model: Whose.
        times: Of the frames [s], growing: (f,).
        q: Configurations: (f, nq).
        cutoff: Frequency [Hz] above which the motion is taken for noise; None keeps it all. Frames must then be evenly apart.
    """

    def __init__(self, model: Model, times: Array, q: Array, cutoff: float | None = None) -> None:
        if len(times) < 2:
            raise MotionError("A course needs two frames at least: one says nothing about velocities.")
        self.model, self.times, self.cutoff = model, times, cutoff
        steady = np.array(q, float)
        for place in _quaternions(model):
            steady[:, place] = rotations.steady(steady[:, place])
        if cutoff is not None:
            steady = filtered(times, steady, cutoff)
        degree = min(5, len(times) - 1)
        degree -= 1 - degree % 2  # even degrees have no good ends
        # A curve that only goes through the frames swings at its ends, the more the farther they are apart: accelerations stay there.
        still = [(3, np.zeros(steady.shape[1])), (4, np.zeros(steady.shape[1]))]
        self._p: BSpline = make_interp_spline(times, steady, k=degree, bc_type=(still, still) if degree == 5 else None)
        self._rates = tuple(self._p.derivative(k) if k <= degree else None for k in (1, 2))

    def at(self, times: ArrayLike) -> Moments:
        """State and acceleration at times within the motion."""
        t = np.atleast_1d(validation.reals(times, "times", "times in seconds"))
        first, last = self.times[0], self.times[-1]
        if t.size and (t.min() < first - 1e-9 or t.max() > last + 1e-9):
            raise MotionError(f"Times must be within the motion, from {first:g} to {last:g} s; {t.min():g} to {t.max():g} were given.")
        t = np.clip(t, first, last)
        p = self._p(t)
        dp, ddp = (np.zeros_like(p) if rate is None else rate(t) for rate in self._rates)
        model = self.model
        q, v, a = p.copy(), np.zeros((len(t), model.nv)), np.zeros((len(t), model.nv))
        nq = nv = 0
        for link in model.links.values():
            for element in link.joint.elements:
                x, y = slice(nq, nq + NUMBERS[element.kind]), slice(nv, nv + FREEDOMS[element.kind])
                if element.kind == BALL:
                    q[:, x], v[:, y], a[:, y] = _spin(p[:, x], dp[:, x], ddp[:, x])
                elif element.kind == FLOAT:
                    q[:, x], v[:, y], a[:, y] = _float(p[:, x], dp[:, x], ddp[:, x])
                else:
                    v[:, y], a[:, y] = dp[:, x], ddp[:, x]
                nq, nv = x.stop, y.stop
        return Moments(t, q, v, a)


def _quaternions(model: Model) -> list[slice]:
    """Where quaternions are in q."""
    found, nq = [], 0
    for link in model.links.values():
        for element in link.joint.elements:
            size = NUMBERS[element.kind]
            if element.kind in (BALL, FLOAT):
                found.append(slice(nq + size - 4, nq + size))
            nq += size
    return found


def _spin(p: Array, dp: Array, ddp: Array) -> tuple[Array, Array, Array]:
    """Unit quaternion, and angular velocity and acceleration along the axes that turn, of p/|p|."""
    size2 = np.einsum("ij,ij->i", p, p)[:, None]
    w = 2.0 * rotations.product(rotations.inverse(p), dp)[:, 1:] / size2
    along = np.einsum("ij,ij->i", p, dp)[:, None] / size2
    # p⁻¹p′ = |p|′/|p| + ω/2 as a quaternion; once more by the product rule
    acceleration = 2.0 * rotations.product(rotations.inverse(p), ddp)[:, 1:] / size2 - 2.0 * along * w
    return p / np.sqrt(size2), w, acceleration


def _float(p: Array, dp: Array, ddp: Array) -> tuple[Array, Array, Array]:
    """Place and quaternion, and their velocity and acceleration along the axes that turn."""
    unit, w, spin = _spin(p[:, 3:], dp[:, 3:], ddp[:, 3:])
    back = rotations.inverse(unit)
    v = rotations.turned(back, dp[:, :3])
    a = rotations.turned(back, ddp[:, :3]) - np.cross(w, v)
    return np.concatenate((p[:, :3], unit), axis=1), np.concatenate((v, w), axis=1), np.concatenate((a, spin), axis=1)


def filtered(times: Array, x: Array, cutoff: float) -> Array:
    """Columns without what is faster than the cut-off [Hz]: Butterworth of second order, forwards and backwards."""
    steps = np.diff(times)
    dt = float(steps.mean())
    if np.abs(steps - dt).max() > EVEN * dt:
        raise MotionError("Frames are not evenly apart, so they cannot be filtered. Resample the motion first.")
    cutoff = validation.number(cutoff, "cutoff", above=0.0)
    if cutoff >= 0.5 / dt:
        return x
    # Twice through: the frequency at which both together halve the power is the one that was asked for [Winter 2009]
    corrected = min(cutoff / (np.sqrt(2.0) - 1.0) ** (0.5 / ORDER), 0.499 / dt)
    sections = butter(ORDER, corrected, fs=1.0 / dt, output="sos")
    room = min(len(x) - 1, int(np.ceil(3.0 / (corrected * dt))))
    return sosfiltfilt(sections, x, axis=0, padlen=room)
