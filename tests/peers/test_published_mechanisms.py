"""Published benchmarks of closed mechanisms, against the published values and independent equations of motion.

- A02, the row of N four-bars, and A04, Bricard's ring: Library of computational benchmark problems, IFToMM Technical Committee for
  Multibody Dynamics, www.iftomm-multibody.org/benchmark; M. González, D. Dopico, U. Lugrís, J. Cuadrado: A benchmarking system for
  MBS simulation software: problem standardization and performance measurement. Multibody System Dynamics 16, 179-190, 2006. The row
  of two is by E. Bayo, A. Avello: Singularity-free augmented Lagrangian algorithms for constrained multibody dynamics. Nonlinear
  Dynamics 5, 209-231, 1994. The library requires 1e-3; more digits come from equations in this file, independent of the package.
- Andrews' squeezing mechanism, also A03: E. Hairer, G. Wanner: Solving ordinary differential equations II, VII.7, Springer, 1996. Its
  reference solution, of 15 digits, is that of F. Mazzia, C. Magherini: Test set for initial value problem solvers, release 2.4,
  University of Bari, 2008, by Radau IIA methods of up to order 13 with tolerances of 1e-14.

All tests fail if the mechanism leaves its branch in a singular posture, is locked by a redundant row, or a term of J̇v is missing.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests import maximal
from tests.constraint_checks import largest
from tests.constraints.closed_chain_equations import eliminate_links, loops_of

import brachiate as br
from brachiate.validation import Array

DOWN = (0.0, -9.81, 0.0)


def row_of_fourbars(n: int) -> br.World:
    """Initial state of the benchmark: cranks upright, the tip of the first at 1 m/s along x."""
    world = br.World(DOWN)
    world.add(br.figures.fourbar(n), "row")
    world.v = {f"row/crank{i}": -1.0 for i in range(n + 1)} | {f"row/coupler{i}": 1.0 for i in range(1, n + 1)}
    return world


def crank_angle(n: int, time: float) -> tuple[float, float]:
    """Angle of the cranks and its rate by the equation of one crank: couplers only translate, so all cranks rotate equally."""
    inertia, weight = n + (n + 1) / 3, (n + (n + 1) / 2) * 9.81
    path = solve_ivp(lambda _, y: (y[1], -weight / inertia * np.cos(y[0])), (0, time), (np.pi / 2, -1.0), "DOP853", rtol=1e-13, atol=1e-13)
    return float(path.y[0, -1]), float(path.y[1, -1])


# The cranks pass the singular posture, all rods in line, 20 times in 20 s. The error of order 8 at 10 ms is 1e-10; that of crossing
# singular postures is below 1e-9 for 40 loops.
@pytest.mark.parametrize(("n", "time", "angle"), [(2, 10, -30.1798008602), (40, 10, -30.0266374172), (40, 20, -61.6844990414)])
def test_a_row_of_fourbars_rotates_as_one_crank(n, time, angle):
    world = row_of_fourbars(n)
    br.Simulation(world, dt=0.01, integrator="rk8", every=1000).run(time, progress=False)
    exact, rate = crank_angle(n, time)
    assert abs(exact - angle) < 1e-9  # the equation reproduces the expected value
    assert abs(world.angle("row/crank0") - angle) < 1e-8
    assert largest(np.array([world.angle(f"row/crank{i}") for i in range(n + 1)]) - angle) < 1e-8
    assert abs(world.rate("row/crank0") - rate) < 1e-7
    assert world.constraint_set.max_residual() < 1e-12


def test_published_tip_position_of_two_fourbars():
    world = row_of_fourbars(2)
    assert world.velocity("row/B0")[:3] == pytest.approx((1.0, 0.0, 0.0), abs=1e-15)
    br.Simulation(world, dt=0.01, integrator="rk8", every=1000).run(10.0, progress=False)
    assert largest(world.position("row/B0") - (0.3284581115, 0.9445185382, 0.0)) < 1e-8
    assert largest(world.position("row/B0")[:2] - [np.cos(crank_angle(2, 10)[0]), np.sin(crank_angle(2, 10)[0])]) < 1e-8


ANGLES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
PUBLISHED_ANGLES = (
    15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805304, 0.5347301163226948,
    1.048080741042263,
)  # fmt: skip
PUBLISHED_RATES = (
    1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385, 0.5735699284790808, -19.29337464421385,
    0.3231791658026955,
)  # fmt: skip


def squeezing_mechanism() -> br.World:
    world = br.World(gravity=0)
    world.add(br.figures.andrews(), "squeezer")
    world.torque = {"squeezer/beta": 0.033}
    return world


def test_published_solution_of_andrews_squeezing_mechanism():
    # The crank reaches 1e3 rad/s after 2.5 revolutions: 10 µs are a hundredth of a radian, and the error of order 8 is round-off. Rates
    # are compared relative to the fastest.
    world = squeezing_mechanism()
    start = world.forward_dynamics()
    assert start["squeezer/beta"] == pytest.approx(14222.4439199541138705911625887, rel=1e-9)  # consistent initial values of the test set
    assert start["squeezer/theta"] == pytest.approx(-10666.8329399655854029433719415, rel=1e-9)
    br.Simulation(world, dt=1e-5, integrator="rk8", every=3000).run(0.03, progress=False)
    q = np.array([world.angle(f"squeezer/{name}") for name in ANGLES])
    rates = np.array([world.rate(f"squeezer/{name}") for name in ANGLES])
    assert largest(q - PUBLISHED_ANGLES) < 1e-8
    assert largest(rates - PUBLISHED_RATES) < 1e-8 * largest(rates)
    assert world.connections["squeezer/spring"].report.mobility[1] == 1


def test_published_solution_with_variable_steps():
    world = squeezing_mechanism()
    br.Simulation(world, dt=1e-4, integrator="dormand-prince", tolerance=1e-11).run(0.03, progress=False)
    q = np.array([world.angle(f"squeezer/{name}") for name in ANGLES])
    assert (
        largest(q - PUBLISHED_ANGLES) < 1e-6
    )  # tolerance of 1e-11 per step, about a thousand steps, and error growth over 2.5 revolutions


def bricard() -> br.World:
    world = br.World(DOWN)
    world.add(br.figures.bricard(), "ring")
    return world


def reference_ring(time: float) -> Array:
    """P3 by maximal coordinates and the ring's one degree of freedom: the other hinges are solved for in every derivative."""
    model = br.figures.bricard()
    loops, q = loops_of(model), np.zeros(5)
    first = np.eye(5)[:1]

    def posture(angle: float) -> Array:
        for _ in range(8):
            here = eliminate_links(model, q, np.zeros(5), loops)
            step = np.linalg.lstsq(np.concatenate([here.J, first]), np.append(-here.gap, angle - q[0]), rcond=1e-9)[0]
            q[:] += step
            if largest(step) < 1e-14:
                break
        return eliminate_links(model, q, np.zeros(5), loops).J

    def slope(_: float, y: Array) -> Array:
        J = posture(y[0])
        v = np.linalg.lstsq(np.concatenate([J, first]), np.append(np.zeros(len(J)), y[1]), rcond=1e-9)[0]
        a, _ = maximal.accelerations(model, q, v, np.zeros(5), np.array(DOWN), loops)
        return np.array([y[1], a[0]])

    path = solve_ivp(slope, (0, time), np.zeros(2), "DOP853", rtol=1e-11, atol=1e-11)
    posture(path.y[0, -1])
    poses, _ = maximal.bodies(model, q, np.zeros(5))
    site = model.sites["P3"]
    return poses[site.link].position + poses[site.link].rotation @ site.position


def test_bricards_ring_is_mobile_and_has_the_published_position():
    # By Grübler's formula it is immobile. Fails if its rows are taken for independent: locked, its energy would be constant.
    world = bricard()
    connection = world.connections["ring/P5"]
    assert connection.report.mobility == (5, 1)
    assert len(connection.report.redundant) == 1
    assert connection.report.redundant[0].startswith("ring/P5.")
    start = world.position("ring/P3")
    br.Simulation(world, dt=0.002, integrator="rk8", every=500).run(1.0, progress=False)
    assert largest(world.position("ring/P3") - start) > 0.5
    assert largest(world.position("ring/P3") - (0.51050146119, -1.64916759939, 0.14012311455)) < 1e-9
    assert world.constraint_set.max_residual() < 1e-12
    assert connection.alive


def test_bricards_ring_agrees_with_maximal_coordinates():
    assert largest(reference_ring(0.5) - ring_after(0.5)) < 1e-9


def ring_after(time: float) -> Array:
    world = bricard()
    br.Simulation(world, dt=0.002, integrator="rk8", every=500).run(time, progress=False)
    return world.position("ring/P3")


def test_energy_of_bricards_ring_is_conserved_for_ten_seconds():
    world = bricard()
    before = world.totals()
    run = br.Simulation(world, dt=0.005, integrator="rk8", every=20).run(10.0, progress=False)
    probe = br.Data(world.model, DOWN)
    kinetic, energies = [], []
    for q, v in zip(run.q, run.v, strict=True):
        probe.assign(q=q, v=v)
        totals = br.dynamics.totals(probe)
        kinetic.append(totals.kinetic)
        energies.append(totals.energy)
    assert max(kinetic) > 4.0
    assert largest(np.array(energies) - before.energy) < 1e-6 * max(kinetic)
