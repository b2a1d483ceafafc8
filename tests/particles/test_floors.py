"""Floors under particles: analytic bounces, friction, sinking, slopes and height fields."""

import numpy as np
import pytest

import brachiate as br
from brachiate.errors import ArgumentError

G = 9.80665


def particle(height, velocity=(0, 0, 0), mass=1.0, x=0.0):
    system = br.particles.ParticleSystem(gravity=G)
    system.add_particle("p", (x, 0, height), mass, velocity=velocity)
    return system


@pytest.mark.parametrize("integrator", ["explicit", "leapfrog", "implicit"])
def test_restitution_apexes(integrator):
    # [NSP] eq. 30: every apex is 0.8² of the one before.
    dt = 1e-4
    run = br.particles.simulate(particle(1.0), 2.4, br.particles.Floor(restitution=0.8), integrator, dt, rate=2000.0)
    z = run["p"][:, 2]
    apexes = z[1:-1][(z[1:-1] > z[:-2]) & (z[1:-1] >= z[2:])]
    error = 4 * dt * np.sqrt(2 * G)  # a time of impact within a step, a position between two records
    assert len(apexes) >= 3
    for n, apex in enumerate(apexes[:3]):
        assert abs(apex - 0.64 ** (n + 1)) < (n + 1) * error
    assert z.min() > -1e-12


def test_a_particle_comes_to_rest_on_the_floor():
    system = particle(0.05)
    br.particles.Stepper(system, br.particles.Floor(restitution=0.5), dt=1e-3).step(2000)
    assert abs(system["p"][2]) < 1e-12
    assert abs(system.velocities).max() == 0.0
    assert np.allclose(system.arrays.floor_force[0], (0, 0, G))


@pytest.mark.parametrize("floor", [{}, {"stiffness": 1e4, "damping": 100.0}])
@pytest.mark.parametrize("integrator", ["explicit", "implicit"])
def test_friction_stops_after_the_analytic_distance(floor, integrator):
    dt, v, mu = 1e-4, 2.0, 0.4
    system = particle(0.0 if not floor else -G / 1e4, (v, 0, 0))
    br.particles.Stepper(system, br.particles.Floor(friction=mu, **floor), integrator, dt).step(10000)
    assert system.velocities[0, 0] == 0.0
    assert abs(system["p"][0] - v**2 / (2 * mu * G)) < 2 * v * dt


def test_published_friction_slows_down_exponentially():
    # [NSP] eq. 31 and 32: m v' = -γ v m g.
    system = particle(0.0, (2.0, 0, 0))
    br.particles.Stepper(system, br.particles.Floor(friction_drag=0.3), dt=1e-4).step(5000)
    assert abs(system.velocities[0, 0] - 2.0 * np.exp(-0.3 * G * 0.5)) < 1e-3


def test_slopes_are_held_below_the_friction_angle_and_slid_down_above_it():
    mu, t = 0.5, 0.5
    for slope in (20.0, 35.0):
        floor, a = br.particles.Floor(friction=mu, slope=slope, heading=90.0), np.radians(slope)
        system = particle(0.0)
        br.particles.Stepper(system, floor, dt=1e-4).step(5000)
        slid = 0.5 * max(0.0, G * (np.sin(a) - mu * np.cos(a))) * t**2
        along = -system["p"] @ (0, np.cos(a), np.sin(a))
        assert abs(along - slid) < 1e-3
        assert slid > 0 or along < 1e-12  # no creep
        assert abs(floor.gaps(system["p"])) < 1e-12


@pytest.mark.parametrize("integrator", ["explicit", "implicit"])
def test_spring_floors(integrator):
    k, dt = 1e4, 1e-4
    system = particle(0.5)
    stepper = br.particles.Stepper(system, br.particles.Floor(stiffness=k), integrator, dt)
    energy = 0.5 * G
    stepper.step(20000)
    depth = max(0.0, -system["p"][2])
    # Elastic: it comes back with its energy, but for the error of the step in which contact begins or ends.
    assert abs(system.totals().energy + 0.5 * k * depth**2 - energy) < 0.02 * energy
    damped = particle(0.5)
    br.particles.Stepper(damped, br.particles.Floor(stiffness=k, damping=100.0), integrator, dt).step(50000)
    assert abs(damped["p"][2] + G / k) < 1e-9


@pytest.mark.parametrize("integrator", ["explicit", "implicit"])
def test_plastic_floors_stay_deformed(integrator):
    # Load less yield force over hardening, plus elastic compression; the print remains, and the next particle falls into it.
    k, hardening, load, yields = 1e4, 2e3, 5 * G, 20.0
    floor = br.particles.Floor(stiffness=k, damping=500.0, yield_force=yields, hardening=hardening, cell=0.1)
    system = particle(-0.001, mass=5.0)
    stepper = br.particles.Stepper(system, floor, integrator, dt=1e-4)
    for share in np.linspace(0, 1, 2001):  # slowly loaded, without overshoot
        system.apply_force("p", (0, 0, (1 - share) * load))
        stepper.step(10)
    stepper.step(10000)
    sinkage = (load - yields) / hardening
    assert abs(system["p"][2] + sinkage + load / k) < 2e-4
    cells = stepper.floor_arrays.sinkage
    assert abs(cells.max() - sinkage) < 2e-4
    assert np.count_nonzero(cells) == 1
    for share in np.linspace(0, 0.99, 2001):  # unloaded: only the elastic part comes back
        system.apply_force("p", (0, 0, share * load))
        stepper.step(10)
    assert abs(system["p"][2] + sinkage) < 3e-4
    assert cells.max() < sinkage + 2e-4
    fresh = br.particles.Stepper(particle(0.0), floor, integrator, dt=1e-4)
    assert not fresh.floor_arrays.sinkage.any()


def test_an_impact_sinks_in_as_deep_with_any_integrator():
    # Fails if positions on the way to the solution of an implicit step deform the floor: the first one is 4 mm too deep.
    floor = br.particles.Floor(stiffness=5e4, yield_force=20.0, hardening=2e3)
    depths = []
    for integrator, dt in (("explicit", 1e-5), ("implicit", 1e-5), ("implicit", 2e-3)):
        stepper = br.particles.Stepper(particle(0.2), floor, integrator, dt)
        stepper.step(round(0.25 / dt))
        depths.append(stepper.floor_arrays.sinkage.max())
    exact = np.roots([1e3, 20.0 - G, -G * 0.2]).max()  # m g (h + s) = yield s + hardening s²/2, but for what is elastic
    assert abs(depths[0] - exact) < 0.05 * exact
    assert abs(depths[1] - depths[0]) < 0.01 * exact
    assert abs(depths[2] - depths[0]) < 0.1 * exact


def test_height_fields_are_planes_where_they_are_plane():
    x, y = np.meshgrid(np.linspace(-2, 2, 21), np.linspace(-2, 2, 21))
    field = br.HeightField(heights=0.1 * x + 0.2 * y, spacing=0.2)
    slope, heading = np.degrees(np.arctan(np.hypot(0.1, 0.2))), np.degrees(np.arctan2(0.2, 0.1))
    ends = []
    for floor in ({"heights": field}, {"slope": slope, "heading": heading}):
        system = particle(0.8, (0.3, -0.2, 0))
        br.particles.Stepper(system, br.particles.Floor(restitution=0.6, friction=0.3, **floor), dt=1e-3).step(900)
        ends.append(system.positions)
    assert np.allclose(*ends, atol=1e-10)


def test_there_is_no_floor_beside_a_height_field():
    floor = br.particles.Floor(heights=br.HeightField(heights=np.zeros((3, 3)), spacing=0.5))
    inside, beside = particle(0.1), particle(0.1, x=0.6)
    for system in (inside, beside):
        br.particles.Stepper(system, floor, dt=1e-3).step(1000)
    assert inside["p"][2] == 0.0
    assert beside["p"][2] < -4.0


def test_floors_follow_terrain():
    floor = br.particles.Floor.on(br.Terrain(height=0.2, slope=10.0, heading=90.0, friction=0.5), restitution=0.3)
    assert (floor.height, floor.slope, floor.heading, floor.friction, floor.restitution) == (0.2, 10.0, 90.0, 0.5, 0.3)
    with pytest.raises(ArgumentError, match="neither stairs nor belts"):
        br.particles.Floor.on(br.Terrain(belt=(1.0, 0.0)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"restitution": 1.5}, "restitution of the floor must be at least 0 and at most 1, got 1.5"),
        ({"friction": -1.0}, "friction of the floor must be at least 0"),
        ({"stiffness": 0.0}, "stiffness of the floor must be more than 0"),
        ({"damping": 1.0}, "needs a stiffness"),
        ({"stiffness": 1e4, "restitution": 0.5}, "either restitution or stiffness"),
        ({"heights": [[0.0]]}, r"expected br\.HeightField"),
        ({"extent": (1.0, 0.0, 0.0, 1.0)}, "in ascending order"),
        ({"cell": 1e-5}, "Use larger cells"),
        ({"slope": 90.0}, "slope of the floor must be at least -80 and at most 80"),
    ],
)
def test_bad_floors_are_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        br.particles.Floor(**arguments)
