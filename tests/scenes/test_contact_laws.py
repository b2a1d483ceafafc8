"""Laws of mechanics in every step of every contact scene, evaluated from its recording: Newton-Euler, friction, dissipation."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.steps import Step, SteppedScene, distance_outside_patch, friction_ratio

from brachiate import scenes
from brachiate.contact.solver.contact_law import MIN_TORSION_LENGTH, TOLERANCE

G = 9.81
#: Simulated seconds of each scene.
SCENES = {
    "fall": 3.0, "stairs-tumble": 4.0, "stand": 2.5, "dominoes": 2.0, "box-slope": 1.6, "rocking-block": 4.0, "spinning-top": 3.0,
    "stack": 0.5, "catch-bar": 2.5,
}  # fmt: skip
ROUND_OFF = 1e-9  # relative, of sums of thousands of terms with 1e-16 each; measured: 1e-11 at most


@pytest.fixture(scope="module", params=SCENES)
def stepped(request: pytest.FixtureRequest) -> SteppedScene:
    return SteppedScene(scenes.make(request.param), SCENES[request.param])


def figures(contact) -> tuple[str, str]:
    return contact.link.partition("/")[0], contact.on.partition("/")[0]


def loads(stepped: SteppedScene, step: Step) -> dict[str, float]:
    """Weight of every figure, plus the norms of its contact forces [N]."""
    sizes = {figure: mass * G for figure, mass in stepped.mass.items()}
    for contact in step.contacts:
        for figure in set(figures(contact)) & sizes.keys():
            sizes[figure] += float(np.linalg.norm(contact.force))
    return sizes


def test_recorded_forces_satisfy_newton_euler(stepped):
    # Newton-Euler for every figure: the rate of momentum is the sum of gravity, contact and applied forces.
    # Moments are about the root, and lever arms below 2 m.
    worst = 0.0
    for step in stepped.steps:
        if not step.has_connections:
            load = loads(stepped, step)
            worst = max(worst, *(np.abs(wrench).max() / load[figure] for figure, wrench in stepped.root_residual(step).items()))
    assert worst < ROUND_OFF


def test_normal_forces_are_positive(stepped):
    assert min(contact.wrench[2] for step in stepped.steps for contact in step.contacts) > 0


def test_centers_of_pressure_are_inside_patches(stepped):
    for step in stepped.steps:
        # Forces are known to round-off of the whole load; a smaller force has no center of pressure.
        known = 1e-15 * sum(loads(stepped, step).values())
        assert max((distance_outside_patch(c) for c in step.contacts if c.wrench[2] > known), default=0.0) < 1e-9, step.row


def test_friction_stays_in_its_cone(stepped):
    excess = np.array([friction_ratio(c) - stepped.friction(c) for step in stepped.steps for c in step.contacts])
    outside = excess > 1e-9
    assert not outside.any(), f"{outside.sum()} of {outside.size} contacts, by up to {excess.max():.1e}"


def test_penetration_is_small(stepped):
    depth = [stepped.max_penetration(step.row, step.may_collide) for step in stepped.steps]
    assert max(depth) < 1e-3  # at 2 ms; measured: 0.28 mm in the initial state on the stairs, 0.14 mm later


def test_contact_dissipates_energy(stepped):
    # Impulses w = dt f change the kinetic energy by w·(u + u⁺)/2 = w·u⁺ - ½ wᵀ G w, with u the velocities without them.
    for step in stepped.steps:
        power = 0.0
        for contact, twist in zip(step.contacts, stepped.twists(step), strict=True):
            # No contact does positive work, w·u⁺ ≤ 0, up to 2 r per newton for a residual r of the contact law: r normal and r tangential;
            # and up to the torsion of patches too small for torsional friction.
            tolerance = 2 * max(step.contacts.residual, 1e-12) + MIN_TORSION_LENGTH * np.linalg.norm(twist[3:])
            contact_power = float(contact.wrench @ twist)
            assert contact_power <= tolerance * contact.wrench[2], (
                step.row,
                str(contact),
                contact_power / contact.wrench[2],
                step.contacts.residual,
            )
            power += contact_power
        if power > 0:
            assert power < 0.5 * step.dt * stepped.response(step), step.row


def test_slip_equals_relative_velocity_of_links(stepped):
    # Tangential; round-off of velocities of about 10 m/s.
    for step in stepped.steps:
        for contact, twist in zip(step.contacts, stepped.twists(step), strict=True):
            assert np.abs(twist[:2] - contact.twist[:2]).max() < 1e-12, (step.row, str(contact))


def test_contact_law_is_satisfied(stepped):
    # By the recorded residual, and by evaluating the forces a second time.
    recorded = stepped.run.contacts.residual
    evaluated = np.array([step.violation for step in stepped.steps if not np.isnan(step.violation)])
    summary = " and ".join(
        f"{(r > TOLERANCE).mean():.2%} of steps by up to {r.max():.1e} m/s ({what})"
        for what, r in (("recorded", recorded), ("evaluated", evaluated))
    )
    assert max(recorded.max(), evaluated.max()) <= TOLERANCE, f"above the tolerance: {summary}"


def test_connection_forces_of_hands_on_bar_satisfy_newton():
    # Connection forces are those of a step of 1 ms from each recorded state; dampers of the light forearms change them by percents
    # within that time. Measured: 0.6 % of the weight in the median, 6 % at most, independent of the step of the run.
    scene = scenes.make("catch-bar")
    run = scene.run(1.24)
    weight = scene.world.totals("man").mass * G
    hand_force = run["left hand.force"] + run["right hand.force"]
    rows = np.flatnonzero(run.time > scene.changes[0].time + 0.004)[1:]
    needed = np.diff(run["momentum"], axis=0)[rows - 1] / 0.002 - weight / G * run.gravity
    error = np.abs(needed - 0.5 * (hand_force[rows] + hand_force[rows - 1])).max(axis=1) / weight
    assert np.median(error) < 0.01
    assert error.max() < 0.1
