"""Laws of particle systems: momentum, energy, analytic motions, convergence to rigid links."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import brachiate as br
from brachiate.particles import implicit
from brachiate.particles.explicit import run_explicit

G = 9.80665


def zigzag(planes="momentum", damping=1.0, **joint):
    """Five particles in space with planar joints that are bent out of their plane, and a spherical one; everything internal acts."""
    system = br.particles.ParticleSystem(gravity=0.0, planes=planes)
    rng = np.random.default_rng(3)
    x = np.array([(0, 0, 0), (1, 0, 0.1), (2, 0.0, 0), (2.5, 0, 1.0), (3.4, 0.0, 1.2)]) + 0.05 * rng.normal(size=(5, 3))
    system.add_particles(x, [1.0, 2.0, 1.5, 0.7, 0.4], velocity=rng.normal(size=(5, 3)))
    system.add_links([(i, i + 1) for i in range(4)], stiffness=2e3, damping=damping, slack=[False, False, False, True])
    if joint:
        system.add_joint("a", "p1", "p2", "p3", axis="y", torque=1.0, **joint)
        system.add_joint("b", "p2", "p3", "p4", axis="y", torque=-2.0, **joint)
        system.add_joint("c", "p3", "p4", "p5", **joint)
        system.set_servo("a", 0.3, proportional=5.0, derivative=0.1)
    return system


ALL = {"friction": 0.2, "limits": (-0.3, 0.6), "limit_stiffness": 20.0, "limit_damping": 0.1}


def momenta(system):
    C = system.arrays
    return np.concatenate([C.mass @ C.v, C.mass @ np.cross(C.x, C.v)])


@pytest.mark.parametrize(("integrator", "dt"), [("explicit", 5e-4), ("leapfrog", 5e-4), ("implicit", 5e-4), ("implicit", 5e-3)])
def test_internal_forces_keep_linear_and_angular_momentum(integrator, dt):
    # Fails if a torque has no reaction at the middle particle, or a plane pushes without one: errors are then of order 0.01.
    system = zigzag(**ALL)
    before = momenta(system)
    br.particles.Stepper(system, integrator=integrator, dt=dt).step(round(1.0 / dt))
    assert np.abs(momenta(system) - before).max() < 1e-12


def test_the_published_projection_of_planes_does_not_keep_momentum():
    # The number in docs/particles.md.
    system = zigzag("published", **ALL)
    before = momenta(system)
    br.particles.Stepper(system, dt=5e-4).step(2000)
    change = np.abs(momenta(system) - before)
    assert change[:3].max() > 0.01
    assert change[3:].max() > 0.1


def test_planes_hold_joints_in_a_plane_that_turns_freely():
    system = zigzag(damping=5.0, friction=0.1)
    stepper = br.particles.Stepper(system, dt=5e-4)
    start = system.plane_arrays.normal[0].copy()
    stepper.step(4000)
    n, x = system.plane_arrays.normal[0], system.positions[:4]
    deviation = (x - x.mean(axis=0)) @ n
    assert np.ptp(deviation) < 1e-2  # 0.1 at the start
    assert n @ start < 0.999  # published planes cannot turn at all


def test_energy_is_kept_without_dampers_and_lost_with_them():
    system = zigzag(damping=0.0)
    stepper = br.particles.Stepper(system, integrator="implicit", dt=2e-3)
    start = system.totals().energy
    stepper.step(1000)
    assert abs(system.totals().energy - start) < 1e-10 * start
    damped = zigzag(damping=3.0)
    run = br.particles.simulate(damped, 0.5, integrator="implicit", dt=2e-3, rate=500.0)
    assert np.diff(run["energy"]).max() < 1e-12 * start
    assert run["energy"][-1] < 0.9 * start


def test_leapfrog_is_of_second_order_and_explicit_steps_of_first():
    ends = {}
    for integrator in ("explicit", "leapfrog"):
        for dt in (4e-4, 2e-4, 5e-5):
            system = br.particles.chain(3, 0.9, mass=1.0, stiffness=300.0, damping_time=0.0)
            br.particles.Stepper(system, integrator=integrator, dt=dt).step(round(0.4 / dt))
            ends[integrator, dt] = system.positions
    fine = ends["leapfrog", 5e-5]
    first = [np.abs(ends["explicit", dt] - fine).max() for dt in (4e-4, 2e-4)]
    second = [np.abs(ends["leapfrog", dt] - fine).max() for dt in (4e-4, 2e-4)]
    assert 1.7 < first[0] / first[1] < 2.4
    assert 3.5 < second[0] / second[1] < 4.8


def test_torque_and_friction_of_two_links_are_analytic():
    # Middle particle held: relative rate ω = τ/D (1 - exp(-D t (1/I₁ + 1/I₂))), from I₁ ω₁' = τ - Dω = -I₂ ω₂'.
    torque, D, m, l, t = 0.4, 0.5, (0.5, 0.8), (1.0, 0.7), 0.4
    for axis in ("y", (0, -1, 0)):
        system = br.particles.ParticleSystem(gravity=0.0)
        system.add_particles([(l[0], 0, 0), (0, 0, 0), (0, 0, -l[1])], [m[0], 1.0, m[1]], fixed=[False, True, False])
        system.add_links([(0, 1), (1, 2)], stiffness=1e6)
        system.add_joint("joint", 0, 1, 2, axis=axis, torque=torque, friction=D)
        start = system.angle("joint")
        br.particles.Stepper(system, integrator="leapfrog", dt=1e-4).step(round(t / 1e-4))
        inertia = m[0] * l[0] ** 2, m[1] * l[1] ** 2
        rate = D * (1 / inertia[0] + 1 / inertia[1])
        turned = torque / D * (t - (1 - np.exp(-rate * t)) / rate)
        # Errors: the strain by the centrifugal force, m ω²/k = 1e-7; friction at the velocity of half a step before, dt D/I/2 = 1e-4.
        assert abs(system.angle("joint") - start - turned) < 2e-4 * turned
        v = system.velocities
        spins = [inertia[k] * np.cross(x, v[i])[1] / (x @ x) for k, i, x in ((0, 0, system["p1"]), (1, 2, system["p3"]))]
        assert abs(spins[0] + spins[1]) < 1e-8


def test_limits_stop_a_joint():
    system = br.particles.ParticleSystem(gravity=0.0)
    system.add_particles([(-1, 0, 0), (0, 0, 0), (1, 0, 0)], 1.0, fixed=[False, True, True])
    system.add_links([(0, 1), (1, 2)], stiffness=1e5)
    system.add_joint("joint", 0, 1, 2, axis="y", torque=1.0, limits=(-0.5, 0.5), limit_stiffness=100.0, limit_damping=10.0)
    br.particles.Stepper(system, dt=1e-3).step(8000)
    assert abs(system.angle("joint") - 0.51) < 1e-6  # the limit, and torque over stiffness


# --- rigid links --------------------------------------------------------------------------------------


def particle_pendulum(links, stiffness, seconds, dt=1e-4):
    """Particles of 1 kg on rods of 0.5 m that start level; positions after some time."""
    system = br.particles.ParticleSystem(gravity=G)
    system.add_particles([(0.5 * n, 0, 0) for n in range(links + 1)], 1.0, fixed=[True] + links * [False])
    system.add_links([(n, n + 1) for n in range(links)], stiffness=stiffness, damping=0.5 * np.sqrt(stiffness))
    br.particles.Stepper(system, integrator="implicit", dt=dt).step(round(seconds / dt))
    return system.positions[1:]


def rigid_pendulum(links, seconds):
    """The same with massless rods, by the rigid-body core."""
    builder = br.ModelBuilder("pendulum")
    for n in range(links):
        builder.link(f"rod{n}", parent=f"rod{n - 1}" if n else None, joint=br.Revolute("y"), joint_name=f"hinge{n}",
                     at=(0.5, 0, 0) if n else (0, 0, 0), mass=1.0, center=(0.5, 0, 0), inertia=(0, 0, 0))  # fmt: skip
        builder.site(f"end{n}", f"rod{n}", (0.5, 0, 0))
    world = br.World(gravity=G)
    world.add(builder.build(), name="it")
    br.Simulation(world, dt=1e-3, integrator="rk4").run(seconds)
    return np.array([world.position(f"it/end{n}") for n in range(links)])


@pytest.mark.parametrize(("links", "seconds"), [(1, 1.0), (2, 0.6)])
def test_pendulums_converge_to_rigid_links_as_stiffness_grows(links, seconds):
    rigid = rigid_pendulum(links, seconds)
    errors = [np.abs(particle_pendulum(links, k, seconds) - rigid).max() for k in (1e4, 1e5)]
    assert errors[1] < 2e-3
    assert 6.0 < errors[0] / errors[1] < 16.0  # of first order in the compliance


def test_closed_four_bar_converges_to_the_rigid_one():
    seconds, ground = 0.5, 1.0
    builder = br.ModelBuilder("fourbar")
    hinge = {"joint": br.Revolute("y")}
    builder.link("crank", joint_name="a", mass=0.5, center=(0, 0, -0.5), inertia=(0, 0, 0), **hinge)
    # The coupler has 0.5 kg at either end.
    inertia = 0.25 * (0.5 * ground) ** 2 * 4
    builder.link("coupler", parent="crank", joint_name="b", at=(0, 0, -0.5), mass=1.0, center=(0.5 * ground, 0, 0),
                 inertia=(0, inertia, inertia), **hinge)  # fmt: skip
    builder.link("rocker", joint_name="c", at=(ground, 0, 0), mass=0.5, center=(0, 0, -0.5), inertia=(0, 0, 0), **hinge)
    builder.site("coupler_end", "coupler", (ground, 0, 0))
    builder.site("rocker_end", "rocker", (0, 0, -0.5))
    world = br.World(gravity=(3.0, 0, -G))
    world.add(builder.build(), name="it")
    world.connect("it/coupler_end", "it/rocker_end", br.Revolute("y"))
    br.Simulation(world, dt=1e-3, integrator="rk4").run(seconds)
    rigid = np.array([world.position("it/coupler_end"), world.position("it/rocker_end")])
    errors = []
    for k in (1e4, 1e5):
        system = br.particles.ParticleSystem(gravity=(3.0, 0, -G))
        system.add_particles([(0, 0, 0), (0, 0, -0.5), (ground, 0, -0.5), (ground, 0, 0)], 1.0, fixed=[True, False, False, True])
        system.add_links([(0, 1), (1, 2), (2, 3)], stiffness=k, damping=0.5 * np.sqrt(k))
        br.particles.Stepper(system, integrator="implicit", dt=1e-4).step(round(seconds / 1e-4))
        errors.append(np.abs(system.positions[2] - rigid).max())
    assert errors[1] < 1e-3
    assert 6.0 < errors[0] / errors[1] < 16.0


def test_implicit_steps_are_stable_far_beyond_explicit_ones():
    system = br.particles.chain(10, 1.0, mass=1.0, stiffness=1e7, damping_time=1e-4)
    limit = br.particles.largest_stable_step(system).seconds
    stepper = br.particles.Stepper(system, integrator="implicit", dt=5e-3)
    assert stepper.dt > 1000 * limit
    stepper.step(200)
    lengths = np.linalg.norm(np.diff(system.positions, axis=0), axis=1)
    assert np.abs(lengths - 0.1).max() < 1e-3


def test_conjugate_gradients_solve_the_same_steps_as_the_banded_factor(monkeypatch):
    ends = []
    for band in (implicit.MAX_BAND, 0):
        monkeypatch.setattr(implicit, "MAX_BAND", band)
        system = zigzag(**ALL)
        system.hold("p1")
        stepper = br.particles.Stepper(system, integrator="implicit", dt=2e-3)
        assert (stepper._solver.arrays.size[0] < 0) == (band == 0)
        stepper.step(100)
        ends.append(system.positions)
    assert np.abs(ends[0] - ends[1]).max() < 1e-10


def test_a_net_of_many_ropes_sags_until_the_frame_carries_it():
    net = br.particles.net(16, 16, mass=3.0, damping_time=0.02)
    stepper = br.particles.Stepper(net, integrator="implicit", dt=5e-3)
    assert stepper._solver.arrays.size[0] < 0  # conjugate gradients
    for _ in range(150):
        stepper.step()
        net.velocities = 0.8 * net.velocities
    C = net.arrays
    held, free = C.inverse_mass == 0, C.inverse_mass > 0
    # Ropes in the frame are slack; the rest of the weight is carried by the ends of those inside.
    assert abs(C.force[held].sum(axis=0)[2] + C.mass[free].sum() * G) < 0.01 * C.mass.sum() * G
    assert C.x[free, 2].min() < 0.99


def test_a_hanging_chain_is_a_catenary_to_second_order():
    # Exact: z = a cosh(x/a), span and length of the chain give a.
    span, length = 1.0, 1.3
    a = 0.5 * span / solve_catenary(span, length)
    sag = a * (np.cosh(0.5 * span / a) - 1.0)
    errors = []
    for n in (10, 20):
        system = br.particles.rope((0, 0, 1), (span, 0, 1), n, length, stiffness=1e6, slack=False)
        system.hold("p1", f"p{n + 1}")
        stepper = br.particles.Stepper(system, integrator="implicit", dt=0.02)
        for _ in range(400):  # at rest: velocities are taken away after each step
            stepper.step()
            system.velocities = 0.0 * system.velocities
        errors.append(1.0 - system[f"p{n // 2 + 1}"][2] - sag)
    assert abs(errors[1]) < 2e-3 * sag
    assert 3.5 < errors[0] / errors[1] < 4.5


def solve_catenary(span, length):
    u = 1.0
    for _ in range(50):  # Newton: sinh(u)/u = length/span
        u -= (np.sinh(u) - u * length / span) / (np.cosh(u) - length / span)
    return u


# --- air, heat, held particles ----------------------------------------------------------------------------


def test_drag_leads_to_the_terminal_velocity_in_moving_air():
    system = br.particles.ParticleSystem(wind=(3.0, 0, 0))
    system.add_particle("drop", (0, 0, 0), 0.1, drag=0.02)
    br.particles.Stepper(system, dt=1e-3).step(10000)
    assert np.allclose(system.velocities[0], (3.0, 0, -np.sqrt(0.1 * G / 0.02)), atol=1e-3)
    path = solve_ivp(lambda _, y: (y[1], -G + 0.2 * y[1] ** 2), (0, 0.5), (0, 0), rtol=1e-10).y[0, -1]
    still = br.particles.ParticleSystem()
    still.add_particle("drop", (0, 0, 0), 0.1, drag=0.02)
    br.particles.Stepper(still, integrator="leapfrog", dt=1e-4).step(5000)
    assert abs(still["drop"][2] - path) < 1e-4


def test_links_change_their_length_by_heat_and_by_command():
    system = br.particles.ParticleSystem(gravity=0.0)
    system.add_particles([(0, 0, 0), (1, 0, 0), (2, 0, 0)], 1.0, fixed=[True, False, False])
    system.add_links([(0, 1), (1, 2)], stiffness=1e4, damping=100.0, expansion=1e-4)
    system.set_temperature(100.0)
    system.set_length("link2", 0.8)
    br.particles.Stepper(system, dt=1e-4).step(20000)
    assert np.allclose(system.positions[:, 0], (0.0, 1.01, 1.81), atol=1e-9)


@pytest.mark.parametrize("integrator", ["explicit", "implicit"])
def test_forces_on_held_particles_are_read_back(integrator):
    system = br.particles.chain(4, 1.0, direction="-z", mass=2.0, stiffness=1e4, damping_time=5e-3)
    stepper = br.particles.Stepper(system, integrator=integrator, dt=2e-4)
    stepper.step(20000)
    assert np.allclose(system.arrays.force[0], (0, 0, -1.75 * G), atol=1e-6)  # without the held half link
    system.arrays.impulse[:] = 0.0
    stepper.step(100)
    assert np.allclose(system.arrays.impulse[0], (0, 0, -1.75 * G * 0.02), atol=1e-8)


def test_driven_particles_move_as_prescribed_and_pull_the_others():
    system = br.particles.chain(4, 1.0, gravity=0.0, mass=2.0, damping_time=5e-3)
    system.hold("p1", velocity=(-0.5, 0, 0))
    stepper = br.particles.Stepper(system, dt=1e-4)
    stepper.step(30000)
    assert np.allclose(system["p1"], (-1.5, 0, 1), atol=1e-9)
    assert np.allclose(system.velocities[:, 0], -0.5, atol=1e-3)


def test_results_do_not_depend_on_the_number_of_threads():
    ends = []
    for threads in (1, 2, 3):
        system = br.particles.net(9, 9)
        br.particles.Stepper(system, br.particles.Floor(height=0.999, stiffness=1e4, friction=0.3), dt=1e-5, threads=threads).step(300)
        ends.append(system.positions)
    assert (ends[0] == ends[1]).all()
    assert (ends[0] == ends[2]).all()


def test_the_largest_stable_step_of_a_uniform_chain_is_sharp():
    for share, stable in ((0.98, True), (1.05, False)):
        system = br.particles.along_curve([(0, 0, 0), (6, 0, 0)], 60, mass=1.0, stiffness=100.0, damping_time=0.0, gravity=0.0)
        system.velocities = 1e-6 * np.random.default_rng(0).normal(size=(61, 3)) * (1, 0, 0)
        limit = br.particles.largest_stable_step(system).seconds
        # 2 sqrt(m/4k) inside of a chain; its ends have half the mass, and one link
        assert abs(limit / np.sqrt((1.0 / 60) / (100.0 / 0.1)) - 1.0) < 0.16
        run_explicit(system.handle().key, share * limit if stable else 1.16 * share * limit, 3000, False)
        assert (np.abs(system.velocities).max() < 1e-4) == stable
