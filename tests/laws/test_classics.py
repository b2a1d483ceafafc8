"""Classical motions with analytic solutions: pendulums, heavy top, intermediate-axis flip, damped, frictional and elastic joints."""

import math

import numpy as np
from scipy.special import ellipk

import brachiate as br
from brachiate import dynamics
from brachiate.simulate.integrators import Integrator


def body(joint: br.Joint, mass: float, center, inertia, gravity=(0, 0, -9.81)) -> br.Data:
    builder = br.ModelBuilder("body")
    builder.link("body", joint=joint, mass=mass, center=center, inertia=inertia)
    return br.Data(builder.build(), gravity)


def test_pendulum_has_the_period_of_the_elliptic_integral():
    length, amplitude = 0.7, 2.0
    data = body(br.Revolute("y"), 1.3, (0, 0, -length), (0, 0, 0))
    data.q[0] = amplitude
    period = 4 * math.sqrt(length / 9.81) * ellipk(math.sin(amplitude / 2) ** 2)
    Integrator(data, "rk8").advance(period / 1000, 1000, 1000)
    assert abs(data.q[0] - amplitude) < 1e-12
    assert abs(data.v[0]) < 1e-11


def test_spherical_pendulum_circles_at_its_analytic_rate():
    # A cone of half angle a: ω² = g / (l cos a), with the bob a point mass.
    length, a = 0.9, 0.6
    data = body(br.Spherical(armature=1e-9), 2.0, (0, 0, -length), (0, 0, 0))
    rate = math.sqrt(9.81 / (length * math.cos(a)))
    data.q[:] = [math.cos(a / 2), 0, -math.sin(a / 2), 0]  # swung towards +x
    c, s = math.cos(a), math.sin(a)
    world_from_body = np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
    # rotation about the string is free for a point mass; zero here
    vertical = np.array([0, 0, rate])
    string = world_from_body @ [0, 0, 1]
    data.v[:] = world_from_body.T @ (vertical - string * (string @ vertical))
    turn = 2 * math.pi / rate
    Q, _ = Integrator(data, "rk8").advance(turn / 2000, 2000, 500)
    heights = [(2 * (q[0] ** 2 + q[3] ** 2) - 1) for q in Q]  # cosine of the angle between body z and world z
    # The armature is 6e-10 of the inertia: the rate of a point mass is off by as much, and round-off is amplified by its inverse
    assert np.abs(np.array(heights) - math.cos(a)).max() < 4 * 1e-9 / (2.0 * length**2)


def test_heavy_top_precesses_at_the_analytic_rate():
    # Steady precession: (C ω_s) Ω sin a − A Ω² sin a cos a + C Ω² sin a cos a = m g l sin a, ω_s the relative spin.
    mass, length, A, C, tilt, spin = 1.0, 0.3, 0.12, 0.02, 0.5, 400.0
    data = body(br.Spherical(), mass, (0, 0, length), (A - mass * length**2, A - mass * length**2, C))
    a2, a1, a0 = (C - A) * math.cos(tilt), C * spin, -mass * 9.81 * length
    precession = (-a1 + math.sqrt(a1 * a1 - 4 * a2 * a0)) / (2 * a2)  # the slow solution
    data.q[:] = [math.cos(tilt / 2), 0, math.sin(tilt / 2), 0]
    data.v[:] = [-precession * math.sin(tilt), 0, precession * math.cos(tilt) + spin]
    seconds = 0.5
    Integrator(data, "rk8").advance(1e-4, int(seconds / 1e-4), 1)
    w, x, y, z = data.q
    axis = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
    assert abs(math.acos(axis[2]) - tilt) < 1e-9
    azimuth = math.atan2(axis[1], axis[0])
    assert abs((azimuth - precession * seconds + math.pi) % (2 * math.pi) - math.pi) < 1e-9


def test_rotation_about_the_intermediate_axis_is_unstable():
    # Dzhanibekov effect: the body flips while angular momentum and energy are conserved.
    data = body(br.Free(), 1.0, (0, 0, 0), (1.0, 2.0, 2.9), gravity=(0, 0, 0))
    data.v[3:] = [1e-3, 5.0, 0.0]
    before = dynamics.totals(data)
    _, V = Integrator(data, "rk8").advance(0.002, 10000)
    assert V[:, 4].min() < -4.9
    assert V[:, 4].max() > 4.9
    flips = int((np.diff(np.sign(V[:, 4])) != 0).sum())
    assert flips >= 3
    after = dynamics.totals(data)
    assert np.abs(after.angular_momentum - before.angular_momentum).max() < 1e-11 * 10
    assert abs(after.kinetic - before.kinetic) < 1e-11 * before.kinetic


def test_flip_period_equals_that_of_jacobis_elliptic_functions():
    # Half the period of the middle component of Euler's equations, from Jacobi's elliptic functions [LL] §37.
    I1, I2, I3 = 1.0, 2.0, 2.9
    w = np.array([1e-3, 5.0, 0.0])
    data = body(br.Free(), 1.0, (0, 0, 0), (I1, I2, I3), gravity=(0, 0, 0))
    data.v[3:] = w
    E2, M2 = I1 * w[0] ** 2 + I2 * w[1] ** 2 + I3 * w[2] ** 2, (I1 * w[0]) ** 2 + (I2 * w[1]) ** 2 + (I3 * w[2]) ** 2
    if M2 > E2 * I2:
        k2 = (I2 - I1) * (E2 * I3 - M2) / ((I3 - I2) * (M2 - E2 * I1))
        rate = math.sqrt((I3 - I2) * (M2 - E2 * I1) / (I1 * I2 * I3))
    else:
        k2 = (I2 - I3) * (E2 * I1 - M2) / ((I1 - I2) * (M2 - E2 * I3))
        rate = math.sqrt((I1 - I2) * (M2 - E2 * I3) / (I1 * I2 * I3))
    period = 4 * ellipk(k2) / rate
    data_v = data.v.copy()
    Integrator(data, "rk8").advance(period / 20000, 20000, 20000)
    # near the separatrix errors grow by e^(rate·period), about 1e7: round-off becomes 1e-9
    assert np.abs(data.v[3:] - data_v[3:]).max() < 1e-7


def test_stiff_damping_is_stable_at_any_step():
    # Implicit damping: time constant 1e-6 s, step 1e-2 s. Fails (diverges) if damping is explicit.
    data = body(br.Prismatic("x", damping=1e6), 1.0, (0, 0, 0), (0, 0, 0))
    data.v[0] = 1.0
    Integrator(data, "euler").advance(0.01, 1)
    assert 0 <= data.v[0] <= 1.0 / (1 + 1e4)


def test_dry_friction_stops_a_block_and_holds_it():
    # 2 N of friction against a push of 1 N: the block stops; the regularized law lets it creep slowly.
    data = body(br.Prismatic("x", friction=2.0), 1.0, (0, 0, 0), (0, 0, 0))
    data.v[0], data.tau[0] = 0.5, 1.0
    Integrator(data, "euler").advance(0.001, 2000)
    stopped_at = data.q[0]
    # it decelerates at 1 m/s² for 0.5 s
    assert abs(stopped_at - 0.125) < 2e-3
    assert 0 <= data.v[0] < 1e-3


def test_spring_oscillates_at_its_frequency():
    data = body(br.Revolute("z", stiffness=50.0, rest=0.2), 1.0, (0, 0, 0), (0.3, 0.3, 0.5))
    data.q[0] = 0.5
    Integrator(data, "rk8").advance(2 * math.pi * math.sqrt(0.5 / 50.0) / 100, 100)
    assert abs(data.q[0] - 0.5) < 1e-12
    assert abs(dynamics.totals(data).energy - 0.5 * 50.0 * 0.3**2) < 1e-12
