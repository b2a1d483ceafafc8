"""Contact against closed-form mechanics: rocking block, falling rods, line contact, spinning disc, bounces, collisions.

Where a closed form holds for every step, the tolerance is round-off; elsewhere it is proportional to the step.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.contact.bodies import G, body, downhill, on_slope, place, tilted
from tests.contact.checks import torsion_length_by_angles

import brachiate as br
from brachiate import compiled, figures
from brachiate.contact.stepping.contact_rows import PENETRATION_SLACK, REST_ACCELERATION
from brachiate.figures import objects
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Free
from brachiate.model.shapes import Box, Capsule, Cylinder, Sphere
from brachiate.rotations import rotate
from brachiate.validation import Array

FAST = compiled.MODE == "fast"


# --- rocking block ----------------------------------------------------------------------------------

WIDE, TALL = 0.2, 0.8
ALPHA, RADIUS = np.arctan2(WIDE, TALL), np.hypot(WIDE, TALL) / 2
P_SQUARED = 3 * G / (4 * RADIUS)


def released_at(tilt: float, dt: float, seconds: float) -> br.Recording:
    """A block of 1 kg, released on one of its lower edges at a tilt [rad]."""
    world = br.World(G)
    world.add(objects.ground(), "floor")
    world.add(body(Box(size=(WIDE, 0.2, TALL))), "block")
    turn = tilted(float(np.degrees(tilt)))
    place(world, "block", (WIDE / 2, 0, 0) + turn @ (-WIDE / 2, 0, TALL / 2), turn)
    world.enable_contact(friction=1.0)
    return br.Simulation(world, dt=dt).run(seconds, progress=False)


def upright(run: br.Recording) -> tuple[int, float]:
    """Row before the block is first upright, and the time of that."""
    angle = 2 * np.arctan2(run.q[:, 5], run.q[:, 3])
    i = int(np.argmax(angle[:-1] * angle[1:] <= 0))
    return i, float(run.time[i] + np.diff(run.time)[i] * angle[i] / (angle[i] - angle[i + 1]))


def quarter(tilt: float) -> float:
    """Time until a block of any width is upright, by θ'' = -p² sin(α - θ)."""

    def level(_, state):
        return state[0]

    level.terminal = True
    found = solve_ivp(lambda _, s: (s[1], -P_SQUARED * np.sin(ALPHA - s[0])), (0, 9), (tilt, 0), events=level, rtol=1e-12, atol=1e-14)
    return float(found.t_events[0][0])


@pytest.mark.parametrize("degrees", [3.0, 8.0, 12.0])
def test_rocking_block_has_housners_quarter_period(degrees):
    tilt = np.radians(degrees)
    exact = quarter(tilt)
    housner = np.arccosh(1 / (1 - tilt / ALPHA)) / np.sqrt(P_SQUARED)
    assert housner == pytest.approx(exact, rel=ALPHA**2 / 6)  # Housner's block is slender: sin(α - θ) ≈ α - θ, with an error of (α - θ)²/6
    for dt in (0.002, 0.001, 0.0005):
        _, time = upright(released_at(tilt, dt, 1.2 * exact))
        assert abs(time - exact) < dt / 4  # first order; measured: 0.05 dt at 8 degrees


@pytest.mark.parametrize("dt", [0.002, 0.001, 0.0005])
def test_rocking_block_loses_housners_energy_at_impact(dt):
    # Angular momentum about the new edge is conserved: r = (1 - 3/2 sin² α)². An edge that lands within a step is first stopped at the
    # surface, and the block rotates about it from the next step on, which dissipates more: depending on the time within the step, and
    # proportional to the step. Measured: 0.016 to 0.045 of the energy at 2 ms, 0.008 to 0.020 at 1 ms, 0.004 to 0.011 at 0.5 ms.
    kept = (1 - 1.5 * np.sin(ALPHA) ** 2) ** 2
    for tilt in np.radians(np.linspace(7.5, 8.5, 12 if FAST else 4)):
        run = released_at(tilt, dt, 0.5)
        energy, (i, _) = run["energy"] - G * TALL / 2, upright(run)
        assert 0 < kept - energy[i + 10] / energy[i - 2] < 25 * dt


# --- rod falling on its end -------------------------------------------------------------------------

ROD_LENGTH, ROD_RADIUS, MASS = 1.0, 0.01, 2.0
ROD_INERTIA = MASS * ROD_LENGTH**2 / 12


def rod(degrees: float, friction: float, gap: float, gravity: float = 0.0) -> br.World:
    """A slender rod at an angle above the horizontal, its lower end towards -x and at a gap above the ground."""
    b = ModelBuilder("rod")
    inertia = np.diag([ROD_INERTIA, ROD_INERTIA, 1e-3 * ROD_INERTIA])
    b.link("rod", joint=Free(), joint_name="root", mass=MASS, inertia=inertia, shapes=Capsule(radius=ROD_RADIUS, length=ROD_LENGTH))
    world = br.World(gravity)
    world.add(objects.ground(), "floor")
    world.add(b.build(), "rod")
    place(world, "rod", (0, 0, ROD_LENGTH / 2 * np.sin(np.radians(degrees)) + ROD_RADIUS + gap), tilted(90 - degrees))
    world.enable_contact(friction=friction)
    return world


def impulse(degrees: float, friction: float, speed: float) -> Array:
    """Impulse on the end of a rod that falls vertically: (x, z) [N·s]."""
    arm = end_arm(degrees)
    across = np.array([arm[1], -arm[0]])  # velocity of the end per angular velocity
    K = np.eye(2) / MASS + np.outer(across, across) / ROD_INERTIA
    J = np.linalg.solve(K, (0, speed))
    if abs(J[0]) > friction * J[1]:  # slip: friction opposes it
        along = np.array([np.sign(J[0]) * friction, 1.0])
        J = speed / (K[1] @ along) * along
    return J


def end_arm(degrees: float) -> Array:
    """Vector from the center to the contact point of the end (x, z) [m]."""
    a = np.radians(degrees)
    return np.array([-ROD_LENGTH / 2 * np.cos(a), -ROD_LENGTH / 2 * np.sin(a) - ROD_RADIUS])


@pytest.mark.parametrize("friction", [0.0, 0.1, 5.0])
@pytest.mark.parametrize("degrees", [20.0, 45.0, 70.0])
def test_rod_landing_on_its_end_has_rigid_body_impulse(degrees, friction):
    dt, speed = 0.001, 3.0
    world = rod(degrees, friction, gap=speed * dt / 2)  # contact at the midpoint of one step: no other step is involved
    world.v[:3] = tilted(90 - degrees).T @ (0, 0, -speed)
    run = br.Simulation(world, dt=dt).run(dt, progress=False)
    J, arm = impulse(degrees, friction, speed), end_arm(degrees)
    if friction == 0:
        assert J[1] == pytest.approx(MASS * speed / (1 + 3 * np.cos(np.radians(degrees)) ** 2))
    np.testing.assert_allclose(dt * run.contacts.at(1).force, (J[0], 0, J[1]), atol=1e-12)
    turn = (arm[1] * J[0] - arm[0] * J[1]) / ROD_INERTIA
    np.testing.assert_allclose(world.velocity("rod/rod"), (J[0] / MASS, 0, J[1] / MASS - speed, 0, turn, 0), atol=1e-11)


@pytest.mark.parametrize(("friction", "gap"), [(0.0, 0.01), (5.0, 0.3)])
def test_end_of_falling_rod_stays_on_ground(friction, gap):
    # Without friction the drop is low: if ω² L/2 sin θ > g after landing, the rod leaves the ground.
    for dt in (0.002, 0.001):
        world = rod(45.0, friction, gap, G)
        run = br.Simulation(world, dt=dt).run(1.2, progress=False)
        half = np.array([rotate(q[3:], (0, 0, ROD_LENGTH / 2))[2] for q in run.q])
        low, high = run.q[:, 2] - ROD_RADIUS - np.abs(half), run.q[:, 2] - ROD_RADIUS + np.abs(half)
        load = -run.contacts["floor"].force[:, 2]
        landed = int(np.argmax(load > 0)) + 2  # stopped at the surface in one step, at rest after the next
        flat = int(np.argmax(high < 5e-3))
        assert flat > landed + 50
        assert (load[landed:flat] > 0).all()
        # Gaps are closed at midpoints of steps; at their ends the gap is ½ ω² L/2 (dt/2)², with ω that
        # of the fall, (3 g / L)^½, and 2 rad/s of the impact. Measured: 4.7e-6 m at 2 ms, of 1.4e-5.
        assert np.abs(low[landed:flat]).max() < (np.sqrt(3 * G / ROD_LENGTH) + 2.0) ** 2 * ROD_LENGTH / 4 * dt**2 / 4
        assert max(abs(low[-1]), abs(high[-1])) < PENETRATION_SLACK  # it lies flat


# --- lying cylinder ---------------------------------------------------------------------------------

ACROSS = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])  # along y
ALONG = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])  # along x


def test_lying_cylinder_has_line_contact():
    world = on_slope(Cylinder(radius=0.1, length=0.3, rotation=ACROSS), 0.1, 0.0, 0.5)
    br.Simulation(world, dt=0.002).run(0.1, progress=False)
    (line,) = world.contacts
    assert line.state == "C1"
    np.testing.assert_allclose(sorted(line.area.tolist()), [(0, -0.15, 0), (0, 0.15, 0)], atol=1e-12)
    np.testing.assert_allclose(line.force, (0, 0, G), atol=1e-9)
    np.testing.assert_allclose(line.cop, (0, 0, 0), atol=1e-12)
    push = world.apply_force("thing/body", (0, 0, -2.0), at=(0, 0.12, 0))  # along the line, the center of pressure follows the load
    (line,) = world.contacts
    np.testing.assert_allclose(line.cop, (0, 0.12 * 2.0 / (G + 2.0), 0), atol=1e-12)
    world.remove(push)


def test_rolling_cylinder_sticks():
    world = on_slope(Cylinder(radius=0.1, length=0.3, rotation=ACROSS), 0.1, 20.0, 0.8)
    run = br.Simulation(world, dt=0.002).run(0.5, progress=False)
    assert {state for states in run.contacts["thing"].states for state in states} == {"C1"}
    assert run.contacts["thing"].slip.max() < 1e-11
    friction = run.contacts["thing"].force[1:] @ tilted(20.0)[:, 0]
    expected = -G * np.sin(np.radians(20.0)) / 3  # a third of the downhill force accelerates the rotation
    np.testing.assert_allclose(friction, expected, rtol=1e-9)


@pytest.mark.parametrize(("factor", "state"), [(1 + 1e-9, "C1"), (1 - 1e-9, "C5"), (0.5, "C5")])
def test_cylinder_along_slope_slides_if_friction_is_below_tangent(factor, state):
    friction = factor * np.tan(np.radians(20.0))
    world = on_slope(Cylinder(radius=0.1, length=0.3, rotation=ALONG), 0.1, 20.0, friction)
    run = br.Simulation(world, dt=0.002).run(0.3, progress=False)
    pull = max(0.0, G * (np.sin(np.radians(20.0)) - friction * np.cos(np.radians(20.0))))
    assert downhill(world, 20.0) == pytest.approx(0.3 * pull, rel=1e-9, abs=1e-11)
    assert {s for states in run.contacts["thing"].states for s in states} == {state}
    # The load is larger towards the lower end of the line: friction acts 0.1 m below the center.
    coefficient = min(friction, np.tan(np.radians(20.0)))
    assert run.contacts.at(1)[0].cop @ tilted(20.0)[:, 0] == pytest.approx(0.1 * coefficient, rel=1e-6)


# --- spinning disc ----------------------------------------------------------------------------------

DISC, DISC_HEIGHT, DISC_FRICTION = 0.15, 0.04, 0.3  # radius [m], height [m], friction
SPIN, SLIDE_SPEED = 20.0, 2.0  # [rad/s], [m/s]


def disc() -> br.World:
    return on_slope(Cylinder(radius=DISC, length=DISC_HEIGHT), DISC_HEIGHT / 2, 0.0, DISC_FRICTION)


def test_spinning_disc_stops_by_torsional_friction():
    # The mean distance of the corners of its octagon from the center is its radius: M = μ N R, so ω' = -μ m g R / (m R² / 2).
    world = disc()
    world.v[5] = SPIN
    slowing = 2 * DISC_FRICTION * G / DISC
    run = br.Simulation(world, dt=0.002).run(1.2 * SPIN / slowing, progress=False)
    np.testing.assert_allclose(run.v[:, 5], np.maximum(SPIN - slowing * run.time, 0.0), atol=1e-9 * SPIN)
    assert np.abs(run.q[:, :2]).max() < 1e-12
    # A disc under uniform pressure has a moment of 2/3 μ N R: this one has 1.5 times that, as the load is at the corners.
    braking = np.linalg.norm(run.contacts.at(5)[0].moment)
    assert braking / (2 / 3 * DISC_FRICTION * G * DISC) == pytest.approx(1.5, rel=1e-9)


def friction_per_weight(v: Array, spin: float, angle: float) -> tuple[Array, float]:
    """Tangential force and moment of friction per weight on the disc, by the contact law.

    Friction loads the front edge: at the center of pressure the moments of all forces about the center of mass vanish.
    """
    around = angle + np.pi / 4 * np.arange(8)
    area = DISC * np.stack([np.cos(around), np.sin(around)], axis=1)
    f = -DISC_FRICTION * v / np.linalg.norm(v)
    for _ in range(100):
        centre = -DISC_HEIGHT / 2 * f
        length = torsion_length_by_angles(area, centre, 1.0)
        slip = np.array([v[0] - spin * centre[1], v[1] + spin * centre[0], length * spin])
        before, f = f, -DISC_FRICTION * slip[:2] / np.linalg.norm(slip)
        if np.abs(f - before).max() < 1e-15:
            break
    return f, -DISC_FRICTION * length * slip[2] / np.linalg.norm(slip)


def rates(_, state: Array) -> Array:
    f, moment = friction_per_weight(state[:2], state[2], state[3])
    return np.array([G * f[0], G * f[1], G * moment / (DISC**2 / 2), state[2]])


def test_spinning_disc_slides_by_combined_friction():
    seconds = 0.4
    start = np.array([SLIDE_SPEED, 0.0, SPIN, 0.0])
    end = solve_ivp(rates, (0, seconds), start, rtol=1e-9, atol=1e-10, max_step=0.01).y[:, -1]
    off = []
    for dt in (0.002, 0.001, 0.0005):
        world = disc()
        world.v[0], world.v[5] = SLIDE_SPEED, SPIN
        run = br.Simulation(world, dt=dt).run(seconds, progress=False)
        assert {s for states in run.contacts["thing"].states for s in states} == {"C4"}
        off.append(np.abs(world.velocity("thing/body")[[0, 1, 5]] - end[:3]))
        # Friction is evaluated at the end of each step: the error is half of its change, times the step.
        assert (off[-1] < dt * np.abs(rates(0, end) - rates(0, start))[:3] + 1e-9).all()
    assert (off[2] < 0.4 * off[0]).all()
    slower = disc()
    slower.v[0] = SLIDE_SPEED
    br.Simulation(slower, dt=0.002).run(seconds, progress=False)
    assert slower.v[0] == pytest.approx(SLIDE_SPEED - DISC_FRICTION * G * seconds, rel=1e-9)  # full sliding friction without spin
    assert SLIDE_SPEED - end[0] < 0.7 * (SLIDE_SPEED - slower.v[0])


# --- bouncing ball ----------------------------------------------------------------------------------


@pytest.mark.parametrize("e", [0.5, 0.8])
def test_bounces_end_after_sum_of_geometric_series(e):
    dt = 0.002
    world = on_slope(Sphere(radius=0.1), 1.1, 0.0, 0.5, e)
    total = np.sqrt(2 / G) * (1 + e) / (1 - e)
    run = br.Simulation(world, dt=dt).run(total + 0.3, progress=False)
    moving = run.time[np.abs(run.v).max(axis=1) > 1e-9][-1]
    # Bounces end when slower than twice gravity times the step; the remaining ones would take 2 v / (g (1 - e)), and the time of each
    # earlier one has an error of one step.
    bounces = np.log(REST_ACCELERATION * dt / np.sqrt(2 * G)) / np.log(e)
    assert abs(moving - total) < 2 * REST_ACCELERATION * dt / (G * (1 - e)) + bounces * dt
    assert (run.q[:, 2] > 0.1 - 1e-12).all()
    assert np.diff(run["energy"]).max() < 1e-13


# --- collisions in the air --------------------------------------------------------------------------


@pytest.mark.parametrize("other", [Sphere(radius=0.1), Box(size=(0.3, 0.3, 0.3))])
def test_isotropic_bodies_conserve_momentum_in_collision(other):
    world = br.World(0.0)
    world.add(body(Box(size=(0.2, 0.2, 0.2)), 2.0), "one")
    world.add(body(other, 1.0), "other")
    place(world, "other", (0.5, 0.05, 0.03))
    world.enable_contact(friction=0.4, restitution=0.3)
    world.v[6:12] = (-3.0, 0.2, 0.1, 1.0, 2.0, 3.0)
    before = world.totals()
    br.Simulation(world, dt=0.002).run(0.3, progress=False)
    after = world.totals()
    assert after.kinetic < before.kinetic - 1.0  # they collided
    for quantity in ("momentum", "angular_momentum"):
        initial = getattr(before, quantity)
        assert np.abs(getattr(after, quantity) - initial).max() < 1e-12 * np.linalg.norm(initial), quantity
    np.testing.assert_allclose(after.center, before.center + 0.3 * before.velocity, atol=1e-12)


def test_figures_nearly_conserve_momentum_in_collision():
    # Not to round-off: during a step limbs rotate for half of it with the velocities before an impact and for half with those after it.
    # The bias force is the mean of both; with that of the mean velocity, 3e-3 would be lost at 2 ms, and without it for small impacts
    # beside large ones, 5e-4 at any step.
    off = []
    for dt in (0.002, 0.0005):
        world = br.World(0.0)
        for name, at in (("one", (0, 0, 1.0)), ("other", (0.6, 0.1, 1.1))):
            world.add(figures.human28().with_springs(5.0, "stand", damping=1.5), name).place(at)
        world.enable_contact(friction=0.5)
        world.v = {"other/root": (-2.0, 0, 0, 0, 0.5, 0.3)}
        run = br.Simulation(world, dt=dt).run(0.6, progress=False)
        momentum, turning = run["momentum"], run["angular momentum"]
        first = next(row for row in range(len(run)) if len(run.contacts.at(row)))
        flight = momentum[: first - 1] - momentum[0]
        assert np.abs(flight).max() < 1e-8 * np.linalg.norm(momentum[0])  # measured: 7e-9 at 2 ms, of second order
        off.append([np.linalg.norm(x[-1] - x[0]) / np.linalg.norm(x[0]) for x in (momentum, turning)])
    # Measured: 1.9e-4 and 4.2e-4 at 2 ms, 1.9e-5 and 4.2e-5 at 0.5 ms.
    assert max(off[0]) < 1e-3
    assert max(off[1]) < 1e-4
