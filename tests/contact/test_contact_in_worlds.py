"""Contact in worlds: materials, compliant surfaces, joint limits, connections with contact, invalid arguments."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.bodies import BOX, G, body, on_slope, place

import brachiate as br
from brachiate import scenes
from brachiate.constraints.arrays import INDEPENDENT, REDUNDANT, ROWS
from brachiate.errors import ArgumentError, UnknownName
from brachiate.figures import objects
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Free, Revolute, Spherical
from brachiate.model.shapes import Box, Sphere
from brachiate.model.status import NOT_FINITE


def test_compliant_surface_deflects_by_its_stiffness():
    world = on_slope(BOX, 0.1, 0.0, 0.5)
    world.enable_contact(material=br.Material(friction=0.5, stiffness=1e3, damping=50.0))
    br.Simulation(world, dt=0.002).run(2.0, progress=False)
    # Both surfaces are compliant: 500 N/m in series.
    assert world.q[2] == pytest.approx(0.1 - G / 500.0, abs=1e-6)
    assert np.abs(world.v).max() < 1e-6


def test_initial_penetration_is_corrected_slowly():
    world = on_slope(BOX, 0.05, 0.0, 0.5)  # 5 cm inside
    run = br.Simulation(world, dt=0.002).run(1.0, progress=False)
    assert np.abs(run.v).max() < 1e-6
    assert np.diff(run.q[:, 2]).max() <= 0.5 * 0.002 + 1e-9
    assert 0 <= 0.1 - world.q[2] < 1.1e-4


def test_pair_of_links_with_own_friction_or_ignored_contact():
    world = on_slope(BOX, 0.1, 20.0, 1.0)
    world.enable_contact("thing/body", "floor/ground", friction=0.1)
    br.Simulation(world, dt=0.002).run(0.1, progress=False)
    assert np.linalg.norm(world.v[:3]) > 0.1
    world.ignore_contact("thing/body", "floor/ground")
    br.Simulation(world, dt=0.002).run(0.5, progress=False)
    assert len(world.contacts) == 0
    assert np.linalg.norm(world.v[:3]) > 4.0  # it falls


def test_ignored_contact_can_be_allowed_again():
    world = on_slope(BOX, 0.1, 0.0, 0.5)
    before = world.save()
    world.ignore_contact("thing/body", ["floor/ground"])
    br.Simulation(world, dt=0.002).run(0.1, progress=False)
    assert world.q[2] == pytest.approx(0.1 - 0.5 * G * 0.1**2, rel=0.05)
    fallen = world.save()
    world.restore(before)  # contact with the ground again
    br.Simulation(world, dt=0.002).run(0.1, progress=False)
    assert world.q[2] == pytest.approx(0.1, abs=1e-6)
    world.restore(fallen)
    assert len(world.contacts) == 0
    world.allow_contact("thing/body", "floor/ground")
    assert len(world.contacts) == 1
    with pytest.raises(UnknownName, match="nothing"):
        world.allow_contact("thing/body", "nothing")


def test_steps_without_projection():
    arm, dt = np.array((0.0, 0.0, 0.4)), 0.002
    world = on_slope(BOX, 1.0, 0.0, 0.5)
    world.v = [0.0, 0.0, 0.0, 0.0, 2.0, 1.0]
    world.connect("thing/body", "world", Spherical(), at=arm)
    pose = world.pose("thing/body")
    pivot, gaps = pose.position + pose.rotation @ arm, {}
    for settle in (True, False):
        other = world.copy()
        run = br.Simulation(other, dt=dt, project=settle).run(0.2, progress=False)
        assert len(run.q) == 101
        pose = other.pose("thing/body")
        gaps[settle] = np.linalg.norm(pose.position + pose.rotation @ arm - pivot)
    assert gaps[True] < 1e-12
    assert 1e-9 < gaps[False] < dt**2 * 2.0**2 * 0.4  # centripetal acceleration over a step: second order
    bare = br.World()
    bare.add(body(BOX), "thing")
    with pytest.raises(ArgumentError, match="project"):
        br.Simulation(bare, project=False)


def test_joint_stops_at_limit_with_contact():
    b = ModelBuilder("arm")
    b.link("arm", joint=Revolute("y", limits=(-0.5, 0.5)), joint_name="hinge", mass=1.0, center=(0.3, 0, 0), inertia=0.01 * np.eye(3),
           shapes=Sphere(radius=0.05, position=(0.6, 0, 0)))  # fmt: skip
    world = br.World(G)
    world.add(objects.ground(), "floor")
    world.add(b.build(), "it", at=(0, 0, 5.0))
    world.enable_contact()
    run = br.Simulation(world, dt=0.002).run(2.0, progress=False)
    assert run["it/hinge"].max() < 0.5 + 1e-3
    assert world["it/hinge"] == pytest.approx(0.5, abs=1e-6)
    assert abs(world.v[0]) < 1e-9


def test_weight_is_shared_by_connection_and_contact():
    world = on_slope(BOX, 0.1, 0.0, 0.5)
    hold = world.connect("thing/body", "world", br.Spherical(), at=(0.2, 0, 0))
    br.Simulation(world, dt=0.002).run(0.2, progress=False)
    borne = world.contacts.reaction("thing").force + hold.force
    # The contact law holds to 1e-6 m/s, over the 1 ms of which forces are the mean.
    np.testing.assert_allclose(borne, (0, 0, G), atol=1e-3)


def test_contacts_have_links_state_and_center_of_pressure():
    world = on_slope(BOX, 0.1, 0.0, 0.5)
    br.Simulation(world, dt=0.002).run(0.1, progress=False)
    (contact,) = world.contacts
    assert (contact.link, contact.on, contact.state) == ("thing/body", "floor/ground", "C0")
    assert "face, sticking" in str(contact)
    assert len(contact.area) == 4
    np.testing.assert_allclose(contact.cop, (0, 0, 0), atol=1e-9)
    np.testing.assert_allclose(contact.force, (0, 0, G), atol=1e-6)
    reaction = world.contacts.reaction("thing")
    np.testing.assert_allclose(reaction.cop, (0, 0, 0), atol=1e-9)
    assert len(reaction.support) == 4
    assert reaction.free_moment == pytest.approx(0.0, abs=1e-9)


def test_restored_state_continues_bit_for_bit():
    def fallen():
        world = br.World(G)
        world.add(objects.ground(), "floor")
        world.add(body(Box(size=(0.1, 0.2, 0.3))), "thing")
        place(world, "thing", (0, 0, 0.4), None)
        world.v[3:6] = (3.0, 2.0, 1.0)
        world.enable_contact()
        return world

    world = fallen()
    simulation = br.Simulation(world, dt=0.002)
    simulation.run(0.25, progress=False)
    state = world.save()
    first = simulation.run(0.3, progress=False)
    world.restore(state)
    second = simulation.run(0.3, progress=False)
    assert np.array_equal(first.q, second.q)


@pytest.mark.parametrize(("given", "message"), [
    ({"friction": -0.1}, "friction of a material"),
    ({"restitution": 1.5}, "restitution of a material"),
    ({"friction": 0.5, "grip": 0.4}, "must be at least the kinetic one"),
    ({"damping": 3.0}, "only a compliant surface"),
    ({"stiffness": 0.0}, "stiffness of a material"),
    ({"friction": float("nan")}, "friction of a material"),
])  # fmt: skip
def test_invalid_materials(given, message):
    with pytest.raises(ArgumentError, match=message):
        br.Material(**given)


def test_invalid_arguments_of_enable_contact():
    world = on_slope(BOX, 0.1, 0.0, 0.5)
    with pytest.raises(ArgumentError, match="enable_contact: give two links"):
        world.enable_contact("thing/body")
    with pytest.raises(UnknownName, match="thing/bdy"):
        world.enable_contact("thing/bdy", "floor/ground", friction=0.1)
    with pytest.raises(ArgumentError, match="not both"):
        world.enable_contact(material=br.Material(), friction=0.1)
    with pytest.raises(ArgumentError, match="integrator is 'contact'"):
        br.Simulation(world, integrator="rk4")
    world.disable_contact()
    with pytest.raises(ArgumentError, match=r"call world\.enable_contact"):
        br.Simulation(world, integrator="contact")
    b = ModelBuilder("x")
    with pytest.raises(ArgumentError, match="material of a box"):
        b.link("x", joint=Free(), mass=1.0, inertia=np.eye(3), shapes=Box(size=(1, 1, 1), material=0.5))  # type: ignore[arg-type]


@pytest.mark.parametrize("joint", [br.Revolute("y", limits=(-0.5, 0.5)), br.Spherical(cone=br.cone_limit("z", 0.5))])
def test_loop_joints_stop_at_limits(joint):
    b = br.ModelBuilder("rod")
    b.link("rod", joint=br.Free(), joint_name="root", mass=1.0, shapes=br.Capsule(radius=0.03, length=1.0))
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    world.add(b.build(), name="rod").place((0, 0, 2.0))
    world.enable_contact()
    world.connect("rod/rod", "floor/ground", joint, name="hinge")
    world.v = {"rod/root": (0, 0, 0, 0, 3.0, 0)}
    simulation = br.Simulation(world, dt=0.002)
    run = simulation.run(0.4, progress=False)
    tilt = np.arccos(world.pose("rod/rod").rotation[2, 2])
    assert tilt == pytest.approx(0.5, abs=1e-6)
    assert abs(world.v).max() < 1e-6  # plastic stop, and no restoring moment about its center
    assert run.contacts.residual.max() <= 1e-6
    world.cut("hinge")
    simulation.run(0.1, progress=False)
    assert world.totals("rod").velocity[2] == pytest.approx(-9.81 * 0.1)  # it falls


def test_event_without_effect_keeps_contact_memory():
    forces = []
    for event in (False, True):
        scene = scenes.make("stand")
        if event:
            scene.simulation.at(1.3, lambda: None)
        run = scene.run(1.36)
        forces.append(run.contacts["man"].force[:, 2])
    assert np.ptp(forces[0][620:]) > 1.0  # it sways after the push
    assert np.abs(forces[1] - forces[0]).max() < 0.1  # [N] of 687; without the warm start the next step had 1249


def test_strong_dampers_dissipate():
    # Dampers so strong that relative motion stops within a step: a light link on a heavy one, in the air.
    b = ModelBuilder("pair")
    b.link("heavy", joint=Free(), joint_name="root", mass=10.0, shapes=Sphere(radius=0.2))
    b.link("light", parent="heavy", at=(0, 0, 0.2), joint=Revolute("y", damping=30.0), mass=0.5, shapes=Box(size=(0.1, 0.1, 0.2)))
    world = br.World(0.0)
    world.add(objects.ground(), "floor")
    world.add(b.build(), "pair").place((0, 0, 3.0))
    world.enable_contact()
    world.v = {"pair/light": 8.0}
    run = br.Simulation(world, dt=0.002).run(0.05, progress=False)
    assert np.diff(run["kinetic energy"]).max() < 1e-12
    assert abs(world.v[6]) < 1e-2


def test_cold_start_with_stiff_dampers_adds_no_energy():
    # Heavy arms on a light center with strong dampers: the initial acceleration of the center is thousands of rad/s², very briefly.
    # Fails if the step extrapolates that acceleration: 13 J were gained.
    b = br.ModelBuilder("mobile")
    b.link("center", joint=br.Free(), mass=0.8, inertia=(0.002, 0.002, 0.002))
    for side, s in (("left", 1), ("right", -1)):
        b.link(
            side,
            parent="center",
            joint=br.Spherical(damping=46.0),
            at=(0, 0.1 * s, 0),
            mass=40.0,
            center=(0, 0.4 * s, 0.1),
            inertia=(2.0, 0.5, 2.0),
        )
    world = br.World()
    world.add(br.figures.ground(), "floor")
    world.add(b.build(), "one").place((0, 0, 5))
    world.enable_contact()
    world.v = 3.0 * np.random.default_rng(1).normal(size=world.model.nv)
    assert np.diff(br.Simulation(world, dt=0.002).run(0.1, progress=False)["energy"]).max() < 0


def held_figure() -> br.World:
    """A figure that stands on the floor and is held at the pelvis and both hands: 15 of 18 rows are independent."""
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    world.add(br.figures.human28(), name="man")
    world.enable_contact()
    for link in ("pelvis", "left_hand", "right_hand"):
        world.connect(f"man/{link}", "world")
    return world


def test_rows_of_a_figure_at_rest_are_classified_once():
    """Fails if redundant rows are compared with the rows before them only: they were classified in every step, twice its time."""
    world = held_figure()
    simulation, cons = br.Simulation(world, dt=0.002, limits=False), world.constraint_set.arrays
    simulation.run(0.02)
    classified = cons.time[1]
    simulation.run(0.02)
    assert (cons.state[: cons.count[ROWS]] == REDUNDANT).sum() == 3
    assert cons.time[1] == classified


@pytest.mark.parametrize("row", [0, 7, 17])
def test_a_row_that_is_not_redundant_is_noticed(row):
    """Rows before and behind others: fails if the pivot of a redundant row is not tested."""
    world = held_figure()
    simulation, cons = br.Simulation(world, dt=0.002, limits=False), world.constraint_set.arrays
    simulation.run(0.02)
    assert cons.state[row] == INDEPENDENT
    cons.state[row], cons.pivot_scale[row] = REDUNDANT, 0.0
    simulation.step()
    assert (cons.state[: cons.count[ROWS]] == INDEPENDENT).sum() == 15


@pytest.mark.parametrize("speed", [1e3, 1.1e4, 1e5, 1e7])
def test_contacts_of_a_fast_figure(speed):
    """Momentum changes by weight and contact forces alone. Fails above 1e4 rad/s with steps of a millisecond: limbs turn by ten radians."""
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    world.add(br.figures.human16(), name="man").place((0.0, 0.0, 0.0))
    world.enable_contact(friction=0.5)
    world.v = {"man/root": [0.0, 0.0, 0.0, 0.0, 0.0, speed], "man/left_elbow": -speed}
    before, instant = world.totals().momentum, world.contact_settings.contact_state.evaluate_instant(0.0)
    assert speed * instant.seconds <= 0.25
    force = world.contacts.force
    assert force[2] > 0.0
    after = world.copy()
    after.data.assign(q=instant.q, v=instant.v)
    change = (after.totals().momentum - before) / instant.seconds
    weight = (0.0, 0.0, -G * world.totals().mass)
    # Steps are of second order: relative to the forces, at most the square of the angle of a step, over twelve
    assert np.abs(force + weight - change).max() < 0.25**2 / 12.0 * np.abs(force).max()


def test_a_state_that_is_finite_is_not_called_a_zero_quaternion():
    data = br.Data(br.figures.human16())
    with pytest.raises(br.StateError, match="velocities or forces are too large"):
        data.raise_status(NOT_FINITE)
