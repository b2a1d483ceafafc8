"""Contact of particles with the shapes of links: friction, momentum, every kind of shape, a net."""

import numpy as np
import pytest

import brachiate as br
from brachiate.model.builder import ModelBuilder
from brachiate.model.shapes import Box, Capsule, Cylinder, Ellipsoid, HeightField, Hull, Plane, Sphere


def on_ground(slope: float, friction: float, velocity=(0.0, 0.0, 0.0)):
    """A particle of 1 kg and 2 cm on a fixed box that is inclined about y [rad]."""
    builder = ModelBuilder("ramp")
    c, s = np.cos(slope), np.sin(slope)
    builder.link("top", shapes=Box(size=np.array((40.0, 2.0, 0.2))), rotation=np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]))
    world = br.World()
    world.add(builder.build(), "ramp")
    normal = np.array((s, 0.0, c))
    system = br.particles.ParticleSystem()
    system.add_particle("p", (0.1 + 0.02) * normal, 1.0, radius=0.02, velocity=velocity)
    coupling = br.particles.Coupling(world, system)
    coupling.enable_contact(friction=friction, stiffness=1e5, damping_ratio=0.5)
    simulation = br.Simulation(world, dt=2e-3, every=5)
    simulation.couple(coupling)
    return simulation, coupling


def test_friction_holds_on_a_slope_below_its_angle():
    simulation, coupling = on_ground(0.4, 0.5)
    simulation.run(0.2)
    start = coupling.system["p"]
    simulation.run(0.5)
    assert np.linalg.norm(coupling.system["p"] - start) < 1e-7
    assert np.allclose(coupling.contact_force("ramp/top"), (0.0, 0.0, -9.81), atol=1e-5)


def test_a_particle_slides_down_a_slope_with_the_acceleration_of_coulombs_law():
    simulation, coupling = on_ground(0.4, 0.2)
    simulation.run(0.2)
    v = np.linalg.norm(coupling.system.velocities)
    simulation.run(0.5)
    gained = np.linalg.norm(coupling.system.velocities) - v
    assert np.isclose(gained / 0.5, 9.81 * (np.sin(0.4) - 0.2 * np.cos(0.4)), rtol=1e-6)


def test_a_sliding_particle_stops_after_its_stopping_distance():
    simulation, coupling = on_ground(0.0, 0.3, velocity=(2.0, 0.0, 0.0))
    simulation.run(1.0)
    # It meets the friction of its weight from the start, but for the time in which the contact is loaded, some milliseconds.
    assert abs(coupling.system["p"][0] - 2.0**2 / (2 * 0.3 * 9.81)) < 2.0 * 5e-3
    assert np.abs(coupling.system.velocities).max() < 1e-6


def test_a_particle_that_hits_a_free_body_gives_it_the_momentum_it_loses():
    world = br.World(gravity=0.0)
    world.add(br.figures.box(), "box")
    world.v = {"box/root": (0.1, 0.0, 0.2, 0.3, 0.4, 0.5)}
    system = br.particles.ParticleSystem()
    system.add_particle("ball", (1.0, 0.12, 0.25), 2.0, radius=0.03, velocity=(-5.0, 0.2, 0.0))
    coupling = br.particles.Coupling(world, system)
    coupling.enable_contact(friction=0.6, stiffness=2e5, damping_ratio=0.1)
    simulation = br.Simulation(world, dt=1e-3, integrator="rk8")
    simulation.couple(coupling)
    totals = simulation.run(0.3).partner.totals
    assert coupling.system.velocities[0, 0] > -3.0  # it bounced off
    assert np.abs(totals.momentum - totals.momentum[0]).max() < 1e-12
    assert np.abs(totals.angular_momentum - totals.angular_momentum[0]).max() < 1e-12
    assert totals.energy[-1] < totals.energy[0]


CORNERS = np.array([[x, y, z] for x in (-0.3, 0.3) for y in (-0.2, 0.2) for z in (-0.25, 0.25)])
SHAPES = {
    "sphere": Sphere(radius=0.25), "capsule": Capsule(radius=0.25, length=0.4), "cylinder": Cylinder(radius=0.3, length=0.5),
    "ellipsoid": Ellipsoid(radii=np.array((0.3, 0.2, 0.25))), "box": Box(size=np.array((0.6, 0.4, 0.5))), "hull": Hull(vertices=CORNERS),
    "plane": Plane(), "field": HeightField(heights=np.zeros((5, 5)), spacing=(1.0, 1.0)),
}  # fmt: skip
TOPS = {"capsule": 0.45, "plane": 0.0, "field": 0.0}


@pytest.mark.parametrize("name", SHAPES)
def test_particles_rest_on_every_kind_of_shape(name):
    builder = ModelBuilder("thing")
    builder.link("body", shapes=SHAPES[name])
    world = br.World()
    world.add(builder.build(), "thing", at=(0.3, -0.2, 0.1))
    top = TOPS.get(name, 0.25)
    system = br.particles.ParticleSystem()
    system.add_particle("p", (0.3, -0.2, 0.1 + top + 0.05), 0.5, radius=0.02)
    coupling = br.particles.Coupling(world, system)
    coupling.enable_contact(friction=1.0, stiffness=1e5, damping_ratio=0.7)
    simulation = br.Simulation(world, dt=2e-3)
    simulation.couple(coupling)
    simulation.run(0.5)
    compression = 0.5 * 9.81 / 1e5
    assert np.allclose(system["p"], (0.3, -0.2, 0.12 + top - compression), atol=2e-6)
    coupling.ignore_contact("thing/body")
    simulation.run(0.2)
    assert system["p"][2] < 0.1 + top - 0.1  # it falls through


def test_a_net_catches_a_ball():
    builder = ModelBuilder("ball")
    builder.link("ball", joint=br.Free(), at=(0.0, 0.0, 1.7), mass=10.0, inertia=(0.1, 0.1, 0.1), shapes=Sphere(radius=0.15))
    world = br.World()
    world.add(builder.build(), "ball")
    net = br.particles.net(11, 11, 0.1, 1.0, mass=2.0, stiffness=3e3, damping_time=2e-3)
    net.arrays.radius[:] = 0.02
    coupling = br.particles.Coupling(world, net)
    coupling.enable_contact()
    simulation = br.Simulation(world, dt=2e-3, every=5)
    simulation.couple(coupling)
    run = simulation.run(1.0)
    z = run["ball/ball"][:, 2]
    assert -1.3 < z.min() < -0.7  # it started 0.7 m above the net, and is below it by the stretch of its ropes
    assert z[-1] > z.min() + 0.1
    assert np.diff(run.partner.totals.energy).max() < 0.02 * 10.0 * 9.81


@pytest.mark.parametrize("axial", [1e4, 1e6])
def test_a_standing_box_on_a_tight_rope_rests_and_the_ground_bears_what_is_left(axial):
    """Closed contacts hold in the response: without them a stiff rope would see a free box, and shake it."""
    world = br.World()
    world.add(br.figures.box(), "box")
    world.add(br.figures.ground(), "ground")
    world.enable_contact(friction=0.7)
    rope, n, tension = br.particles.ParticleSystem(), 5, 40.0
    rope.add_particles(np.linspace((0.0, 0.0, 0.4), (0.0, 0.0, 1.4), n + 1), 0.02)
    k = axial * n
    rope.add_links([(i, i + 1) for i in range(n)], stiffness=k, damping=1e-3 * k, length=(1.0 - tension / axial) / n)
    rope.hold(f"p{n + 1}")
    coupling = br.particles.Coupling(world, rope)
    grip = coupling.attach("p1", "box/box")
    simulation = br.Simulation(world, dt=2e-3)
    simulation.couple(coupling)
    run = simulation.run(0.5)
    assert np.abs(world.v).max() < 1e-9
    # Five links and the attachment share the stretch; the weight of five particles hangs on both ends.
    assert np.isclose(grip.force[2], tension * n / (n + 1), atol=0.02 * 5 * 9.81)
    assert np.isclose(run["box/box on ground/ground.reaction"][-1, 2] + grip.force[2], world.totals().mass * 9.81, atol=1e-3)
