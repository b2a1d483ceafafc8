"""Particles coupled with rigid figures: momentum, energy, convergence to rigid chains, stability, events, bad input."""

import numpy as np
import pytest

import brachiate as br
from brachiate.errors import ArgumentError, StateError, UnknownName
from brachiate.model.builder import ModelBuilder

TILT, LENGTH, MASS, COUNT = 0.3, 2.0, 2.0, 4  # of the rope that human28 hangs from


def two_boxes(integrator: str, dt: float, damping: float = 20.0):
    """Two free boxes, tumbling, tied by a rope without gravity; nothing else acts on them."""
    world = br.World(gravity=0.0)
    world.add(br.figures.box(), "a")
    world.add(br.figures.box(), "b", at=(1.0, 0.2, 0.0))
    rng = np.random.default_rng(1)
    world.v[:] = 0.5 * rng.standard_normal(world.model.nv)
    rope = br.particles.ParticleSystem()
    rope.add_particles(np.linspace((0.05, 0.02, 0.2), (0.95, 0.1, 0.2), 6), 0.05, velocity=0.3 * rng.standard_normal((6, 3)))
    rope.add_links([(i, i + 1) for i in range(5)], stiffness=2e4, damping=damping)
    coupling = br.particles.Coupling(world, rope)
    coupling.attach("p1", "a/box")
    coupling.attach("p6", "b/box")
    simulation = br.Simulation(world, dt=dt, integrator=integrator)
    simulation.couple(coupling)
    return simulation, coupling


def test_linear_and_angular_momentum_of_the_whole_are_kept_to_round_off():
    simulation, _ = two_boxes("rk8", 1e-3)
    recorded = simulation.run(0.2).partner
    totals = recorded.totals
    assert np.abs(recorded.forces["p1 to a/box"]).max() > 20.0  # [N] the rope does act
    assert np.abs(totals.momentum - totals.momentum[0]).max() < 1e-12
    assert np.abs(totals.angular_momentum - totals.angular_momentum[0]).max() < 1e-12


def test_dampers_take_energy_and_nothing_adds_any():
    simulation, _ = two_boxes("rk8", 2e-3, damping=60.0)
    energy = simulation.run(0.3).partner.totals.energy
    assert energy[-1] < 0.99 * energy[0]
    assert np.diff(energy).max() < 1e-5 * energy[0]  # leapfrog steps of the springs


def rope_from(hand: np.ndarray, axial: float, damping_time: float = 0.0) -> br.particles.ParticleSystem:
    top = hand + LENGTH * np.array((np.sin(TILT), 0.0, np.cos(TILT)))
    return br.particles.rope(top, hand, COUNT, mass=MASS, stiffness=axial, damping_time=damping_time, slack=False)


def human_on_rope(axial: float, dt: float, seconds: float, substep: float | None = None):
    """Final position of the hand of human28 on a particle rope, without joint limits, and the energy over time."""
    world = br.World()
    world.add(br.figures.human28(), "man")
    coupling = br.particles.Coupling(world, rope_from(world.position("man/left_hand"), axial), dt=substep)
    coupling.attach(f"p{COUNT + 1}", "man/left_hand", damping=0.0)
    simulation = br.Simulation(world, dt=dt, limits=False, every=10)
    simulation.couple(coupling)
    run = simulation.run(seconds)
    return world.position("man/left_hand"), run.partner.totals.energy


def human_on_rigid_chain(dt: float, seconds: float) -> np.ndarray:
    """The same on rods without mass, with the masses of the particles at their ends."""
    world = br.World()
    world.add(br.figures.human28(), "man")
    hand = world.position("man/left_hand")
    c, s = np.cos(TILT), np.sin(TILT)
    builder = ModelBuilder("chain")
    builder.link("top", at=hand + LENGTH * np.array((s, 0.0, c)), rotation=np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]))
    parent, at, rod = "top", (0.0, 0.0, 0.0), (0.0, 0.0, -LENGTH / COUNT)
    for n in range(COUNT):
        mass = MASS / COUNT * (0.5 if n == COUNT - 1 else 1.0)
        builder.link(f"rod{n}", parent=parent, joint=br.Universal("x", "y"), at=at, mass=mass, center=rod, inertia=(0, 0, 0))
        parent, at = f"rod{n}", rod
    world.add(builder.build(), "chain")
    world.connect("man/left_hand", f"chain/{parent}", br.Spherical())
    br.Simulation(world, dt=dt, limits=False, every=100).run(seconds)
    return world.position("man/left_hand")


def test_human_on_a_particle_rope_swings_as_on_a_rigid_chain_in_the_limit_of_stiffness():
    rigid = human_on_rigid_chain(1e-3, 0.3)
    errors = [np.linalg.norm(human_on_rope(axial, 1e-3, 0.3)[0] - rigid) for axial in (4e5, 1.6e6, 6.4e6)]
    assert errors[0] < 0.02
    assert 0.15 < errors[1] / errors[0] < 0.35  # of first order in the compliance: a quarter
    assert 0.15 < errors[2] / errors[1] < 0.35


def test_motion_converges_with_the_step_at_least_quadratically_and_energy_is_kept():
    exact, _ = human_on_rope(1e5, 2.5e-4, 0.2, substep=2.5e-5)
    coarse, fine = (human_on_rope(1e5, dt, 0.2, substep=2.5e-5) for dt in (4e-3, 2e-3))
    errors = [np.linalg.norm(hand - exact) for hand, _ in (coarse, fine)]
    assert errors[1] < 1e-5
    assert errors[1] < errors[0] / 3.5
    assert np.abs(fine[1] - fine[1][0]).max() < 2e-4  # [J], of a figure of 70 kg that falls by 0.1 m


@pytest.mark.parametrize(("body", "mass", "axial"), [(10.0, 0.02, 1e6), (0.3, 0.02, 1e6), (0.3, 20.0, 1e4)])
def test_steps_of_two_milliseconds_are_stable(body, mass, axial):
    """A heavy body on a light stiff rope, a light one on it, and a light hand with a heavy bag."""
    world = br.World()
    world.add(br.figures.box((0.2, 0.2, 0.2), mass=body), "body")
    hand = np.array((0.0, 0.0, 0.2))
    if mass < 1.0:
        rope = br.particles.rope((0.5, 0.0, 1.0), hand, 8, mass=mass, stiffness=axial, damping_time=1e-5, slack=False)
        particle, options = "p9", {}
        system = rope
    else:
        system = br.particles.ParticleSystem()
        system.add_particle("bag", hand, mass)
        particle, options = "bag", {"stiffness": axial, "damping": 10.0}
    coupling = br.particles.Coupling(world, system)
    coupling.attach(particle, "body/box", **options)
    simulation = br.Simulation(world, dt=2e-3)
    simulation.couple(coupling)
    energy = simulation.run(1.0).partner.totals.energy
    scale = (body + mass) * 9.81
    assert energy[-1] <= energy[0] + 1e-3 * scale
    assert np.abs(world.v).max() < 20.0


def test_a_hanging_body_pulls_with_its_weight():
    world = br.World()
    world.add(br.figures.box((0.2, 0.2, 0.2), mass=5.0), "body")
    rope = br.particles.rope((0.0, 0.0, 1.2), (0.0, 0.0, 0.2), 5, mass=0.1, stiffness=1e4, damping_time=0.02)
    coupling = br.particles.Coupling(world, rope)
    grip = coupling.attach("p6", "body/box", damping=500.0)
    simulation = br.Simulation(world, dt=2e-3, every=10)
    simulation.couple(coupling)
    run = simulation.run(1.5)
    assert np.allclose(grip.force, (0.0, 0.0, 5.0 * 9.81), atol=0.05)
    assert np.allclose(run.partner.forces[grip.name][-1], grip.force)
    assert np.isclose(grip.gap * grip.stiffness, 5.0 * 9.81, rtol=2e-3)


def test_cut_at_run_time_changes_neither_velocities_nor_positions():
    simulation, coupling = two_boxes("rk4", 1e-3)
    grip = coupling.attachments["p1 to a/box"]
    assert "m/s apart" in str(grip.report)
    simulation.run(0.05)
    before = coupling.totals(), coupling.system.positions
    report = coupling.cut(grip)
    assert not grip.alive
    assert report.force > 0.0
    assert np.array_equal(coupling.totals().momentum, before[0].momentum)
    assert np.array_equal(coupling.system.positions, before[1])
    free = simulation.world.velocity("a/box")
    simulation.run(0.01)
    assert np.allclose(simulation.world.velocity("a/box")[3:], free[3:], atol=0.05)  # no force acts on the box any more
    assert np.array_equal(grip.force, np.zeros(3))


def test_events_are_located_with_the_particles():
    simulation, coupling = two_boxes("rk4", 2e-3)
    world, times = simulation.world, []
    level = world.position("a/box")[0] + 0.003
    simulation.when(lambda w: w.position("a/box")[0] - level, lambda: times.append((world.time, coupling.system.time)))
    simulation.run(0.1)
    assert times
    assert np.isclose(*times[0], atol=1e-12)
    assert np.isclose(world.time, coupling.system.time)


def test_results_do_not_depend_on_how_a_run_is_divided():
    first, a = two_boxes("rk4", 1e-3)
    second, b = two_boxes("rk4", 1e-3)
    first.run(0.04)
    for _ in range(4):
        second.run(0.01)
    assert np.allclose(first.world.q, second.world.q, atol=1e-14)
    assert np.allclose(a.system.positions, b.system.positions, atol=1e-14)


def test_a_step_that_is_not_stable_is_refused_and_changes_nothing():
    world = br.World()
    world.add(br.figures.box((0.2, 0.2, 0.2), mass=0.5), "body")
    system = br.particles.ParticleSystem()
    system.add_particle("bag", (0.0, 0.0, 0.2), 20.0)
    coupling = br.particles.Coupling(world, system, dt=1e-3)
    coupling.attach("bag", "body/box", stiffness=1e7)
    simulation = br.Simulation(world, dt=2e-3)
    simulation.couple(coupling)
    before = world.q.copy(), world.v.copy(), system.positions
    with pytest.raises(StateError, match=r"largest stable step is 0\.000\d+ s") as error:
        simulation.run(0.1)
    assert np.array_equal(world.q, before[0])
    assert np.array_equal(world.v, before[1])
    assert np.array_equal(system.positions, before[2])
    stable = coupling.largest_stable_step()
    assert f"{stable:.3g} s" in str(error.value)
    coupling.dt = 0.99 * stable
    energy = simulation.run(0.2).partner.totals.energy
    assert np.abs(energy - energy[0]).max() < 0.05 * 20.5 * 9.81


def test_bad_attachments_are_refused_and_change_nothing():
    world = br.World()
    world.add(br.figures.box(), "box")
    rope = br.particles.rope((0.0, 0.0, 1.0), (0.0, 0.0, 0.4), 4)
    rope.add_particle("bag", (1.0, 0.0, 0.0), 1.0)
    coupling = br.particles.Coupling(world, rope)
    grip = coupling.attach("p5", "box/box")
    with pytest.raises(UnknownName, match="p9"):
        coupling.attach("p9", "box/box")
    with pytest.raises(UnknownName, match="box/lid"):
        coupling.attach("p4", "box/lid")
    with pytest.raises(ArgumentError, match="'p5' is attached to 'box/box' already"):
        coupling.attach("p5", "box/top")
    with pytest.raises(ArgumentError, match=r"is \d+(\.\d+)? cm away from that point"):
        coupling.attach("p4", "box/box", (0.0, 0.0, 0.0))
    with pytest.raises(ArgumentError, match="'p1' is held in place"):
        coupling.attach("p1", "box/box")
    with pytest.raises(ArgumentError, match="has no links whose stiffness"):
        coupling.attach("bag", "box/box")
    with pytest.raises(ArgumentError, match="stiffness of an attachment"):
        coupling.attach("bag", "box/box", stiffness=-1.0)
    with pytest.raises(ArgumentError, match="already an attachment"):
        coupling.attach("p4", "box/box", name=grip.name)
    assert list(coupling.attachments.values()) == [grip]
    coupling.cut(grip)
    with pytest.raises(ArgumentError, match="is cut already"):
        coupling.cut(grip)
    with pytest.raises(UnknownName, match="attachment"):
        coupling.cut("p5 to box/box")


def test_a_coupling_needs_a_world_and_particles_of_its_own():
    world, rope = br.World(), br.particles.rope((0, 0, 1), (0, 0, 0), 3)
    with pytest.raises(ArgumentError, match="expected a World"):
        br.particles.Coupling(rope, rope)
    with pytest.raises(ArgumentError, match="expected a ParticleSystem"):
        br.particles.Coupling(world, world)
    with pytest.raises(ArgumentError, match="no particles"):
        br.particles.Coupling(world, br.particles.ParticleSystem())
    coupling = br.particles.Coupling(world, rope)
    assert np.array_equal(rope.gravity, world.gravity)
    with pytest.raises(ArgumentError, match="is with another world"):
        br.Simulation(br.World()).couple(coupling)
    with pytest.raises(ArgumentError, match="couple expects a coupling"):
        br.Simulation(world).couple(rope)
    with pytest.raises(ArgumentError, match="No particle has a radius"):
        coupling.enable_contact()
    with pytest.raises(UnknownName, match="nobody"):
        coupling.ignore_contact("nobody")
