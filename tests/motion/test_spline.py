"""Quintic splines of motions: velocities and accelerations at any time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal
from tests.clip.people import stepping

import brachiate as br
from brachiate.errors import ArgumentError, MotionError
from brachiate.manifold import difference, integrate
from brachiate.motion.motion import Motion
from brachiate.motion.spline import MotionSpline, lowpass


@pytest.fixture(scope="module")
def motion():
    return Motion.from_clip(stepping(frames=120, rate=120.0))


def test_spline_interpolates_the_frames(motion):
    spline = MotionSpline(motion.figure, motion.times, motion.q)
    found = spline.at(motion.times)
    assert found.q == pytest.approx(motion.q, abs=1e-9)


def test_velocities_and_accelerations_are_derivatives_of_the_curve(motion):
    # Central differences on the manifold have an error of h²; third derivatives of the curve are a few hundred at most.
    spline, data, h = MotionSpline(motion.figure, motion.times, motion.q), br.Data(motion.figure), 1e-5
    for t in (0.21, 0.4777, 0.9):
        before, now, after = (spline.at(t + s) for s in (-h, 0, h))
        v = (difference(data, now.q[0], after.q[0]) - difference(data, now.q[0], before.q[0])) / (2 * h)
        assert now.v[0] == pytest.approx(v, abs=1e-6)
        assert now.a[0] == pytest.approx((after.v[0] - before.v[0]) / (2 * h), abs=1e-4)


def test_constant_screw_motion():
    # Constant velocities in child axes are recovered, up to the interpolation error of quintic splines for sines.
    b = br.ModelBuilder("top")
    b.link("top", joint=br.Free(), mass=1.0, inertia=(1, 1, 1))
    model = b.build()
    data = br.Data(model)
    v = np.array((0.3, -0.2, 0.5, 1.0, 2.0, -3.0))
    q0 = model.neutral
    times = np.arange(60) / 60
    q = np.array([integrate(data, q0, v, t) for t in times])
    found = MotionSpline(model, times, q).at(np.linspace(0.15, 0.8, 40))  # away from the ends, where accelerations are constant
    assert found.v == pytest.approx(np.tile(v, (40, 1)), abs=1e-6)
    assert found.a == pytest.approx(np.zeros((40, 6)), abs=1e-3)


def test_free_fall():
    # Velocities are in child axes: in the world, the acceleration is that of gravity.
    b = br.ModelBuilder("stone")
    b.link("stone", joint=br.Free(), mass=1.0, inertia=(1, 1, 1))
    model = b.build()
    times = np.linspace(0, 1, 100)
    q = np.tile(model.neutral, (100, 1))
    q[:, 0], q[:, 2] = 2 * times, 5 * times - 0.5 * 9.81 * times**2
    q[:, 3], q[:, 4] = np.cos(times), np.sin(times)
    found = MotionSpline(model, times, q).at(0.5)
    data = br.Data(model)
    data.assign(q=found.q[0], v=found.v[0])
    force = br.dynamics.inverse_dynamics(data, found.q[0], found.v[0], found.a[0])
    assert force[:3] == pytest.approx((0, 0, 0), abs=1e-6)


@pytest.mark.parametrize("cutoff", [5.0, 12.0])
def test_lowpass_halves_the_power_at_its_cutoff(cutoff):
    times = np.arange(4000) / 200
    for frequency, gain in ((0.2 * cutoff, 1.0), (cutoff, np.sqrt(0.5)), (5 * cutoff, 0.0)):
        x = np.sin(2 * np.pi * frequency * times)[:, None]
        y = lowpass(times, x, cutoff)[1000:3000]
        assert np.std(y) / np.std(x[1000:3000]) == pytest.approx(gain, abs=0.012)
        if gain == 1.0:
            assert y == pytest.approx(x[1000:3000], abs=0.02)  # and without lag


@pytest.mark.parametrize("frames", [2, 3, 5, 40, 1000])
@pytest.mark.parametrize(("rate", "cutoff"), [(120.0, 1.0), (60.0, 10.0), (30.0, 14.9)])
def test_lowpass_is_a_butterworth_filter_in_both_directions(frames, rate, cutoff):
    x = 100.0 + np.random.default_rng(frames).standard_normal((frames, 3)).cumsum(axis=0)
    corrected = min(cutoff / (np.sqrt(2.0) - 1.0) ** 0.25, 0.499 * rate)
    sections = signal.butter(2, corrected, fs=rate, output="sos")
    expected = signal.sosfiltfilt(sections, x, axis=0, padlen=min(frames - 1, int(np.ceil(3.0 * rate / corrected))))
    assert lowpass(np.arange(frames) / rate, x, cutoff) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("frames", [2, 3, 4, 5, 6])
def test_few_frames(motion, frames):
    found = MotionSpline(motion.figure, motion.times[:frames], motion.q[:frames]).at(motion.times[:frames])
    assert found.q == pytest.approx(motion.q[:frames], abs=1e-9)
    assert np.isfinite(found.a).all()


def test_invalid_arguments_are_refused(motion):
    with pytest.raises(MotionError, match=r"at least two frames"):
        MotionSpline(motion.figure, motion.times[:1], motion.q[:1])
    spline = MotionSpline(motion.figure, motion.times, motion.q)
    with pytest.raises(MotionError, match=r"within the motion, from 0 to 0.991667 s; got 2 to 2 s"):
        spline.at(2.0)
    uneven = motion.times.copy()
    uneven[5] += 0.003
    with pytest.raises(MotionError, match=r"not evenly spaced"):
        MotionSpline(motion.figure, uneven, motion.q, cutoff=6.0)
    with pytest.raises(ArgumentError, match=r"cutoff"):
        MotionSpline(motion.figure, motion.times, motion.q, cutoff=-1.0)
