"""Contact scenes: falling, standing, sliding, rocking, and known formulas."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from brachiate import scenes
from brachiate.errors import ArgumentError
from brachiate.rotations import rotate
from brachiate.scenes.top_precession import precession

G = 9.81
INSIDE = 1e-4  # [m] penetration tolerance of the depenetration
#: Scenes without energy input, and their duration [s].
PASSIVE = {"fall": 3.0, "stairs-tumble": 4.0, "dominoes": 3.0, "box-slope": 1.6, "rocking-block": 4.0, "stack": 1.0, "spinning-top": 4.2}


@cache
def ran(name, seconds=None, **parameters):
    scene = scenes.make(name, **parameters)
    return scene, scene.run(seconds)


@pytest.mark.parametrize(("name", "seconds"), PASSIVE.items())
def test_energy_never_increases(name, seconds):
    scene, run = ran(name, seconds)
    energy = run["energy"]
    assert np.isfinite(run.q).all()
    # Depenetration lifts bodies by its depth at most. Integration errors are of second order in the rotation per step; their factor is
    # measured, and matters only for the top, which rotates by 0.24 rad per step.
    lifted = scene.world.totals().mass * G * INSIDE
    fastest = np.abs(run.v).max() * scene.simulation.dt
    assert (energy - np.minimum.accumulate(energy)).max() < lifted + 1e-3 * fastest**2 * run["kinetic energy"].max()


@pytest.mark.parametrize("name", ["fall", "stairs-tumble"])
def test_a_fallen_figure_rests_on_the_ground(name):
    scene, run = ran(name, PASSIVE[name])
    weight = scene.world.totals("man").mass * G
    last = run.time > run.time[-1] - 0.2
    assert run["kinetic energy"][last].max() < 1e-2  # [J], of 700 and more
    force = run.contacts["man"].force[last].mean(axis=0)  # nearly at rest: the ground reaction force is the weight
    np.testing.assert_allclose(force, (0, 0, weight), atol=1e-3 * weight)
    assert run["center of mass"][-1, 2] < run["center of mass"][0, 2] - 0.5


def test_stairs_tumble_reaches_the_ground():
    _, run = ran("stairs-tumble", PASSIVE["stairs-tumble"])
    center = run["center of mass"]
    assert center[-1, 0] - center[0, 0] > 1.0
    touched = {c.link for row in range(0, len(run), 5) for c in run.contacts.at(row) if c.on == "stairs/stairs"}
    assert len(touched) >= 4


def test_standing_figure_withstands_a_push():
    scene, run = ran("stand")
    sway = np.linalg.norm((run["center of mass"] - run["center of mass"][0])[:, :2], axis=1)
    assert run.time[-1] >= 5.0
    assert 0.02 < sway.max() < 0.05
    assert sway[-1] < 0.005
    feet = run.contacts["man"]
    weight = scene.world.totals("man").mass * G
    np.testing.assert_allclose(feet.force[-1], (0, 0, weight), atol=1e-3 * weight)
    assert {c.link for row in range(1, len(run), 10) for c in run.contacts.at(row)} == {"man/left_foot", "man/right_foot"}
    # It never tips: the center of pressure stays between heels and toes.
    heel, toe = (scene.world.position(f"man/left_{end}")[0] for end in ("heel", "toe"))
    assert heel - 1e-3 < np.nanmin(feet.cop[:, 0]) < np.nanmax(feet.cop[:, 0]) < toe + 1e-3
    assert np.abs(run.torque).max() <= run.model.effort[np.isfinite(run.model.effort)].max()


def test_catch_bar_jump_swing_and_landing():
    scene, run = ran("catch-bar")
    caught, _, cut, _ = (h.time for h in scene.changes)
    assert [h.report.event for h in scene.changes] == [
        "'left hand' connected", "'right hand' connected", "'left hand' cut", "'right hand' cut"
    ]  # fmt: skip
    assert 0.2 < caught < 0.6
    assert cut == 1.25
    assert all(h.report.energy_lost > 0 for h in scene.changes[:2])
    load = run.contacts["man"].force[:, 2]
    assert load[run.time < 0.1].max() > 1.5 * 70 * G  # it jumps off
    hanging = (run.time > caught + 0.01) & (run.time < cut)
    assert np.abs(load[hanging]).max() == 0
    held = run["left hand.force"][hanging] + run["right hand.force"][hanging]
    np.testing.assert_allclose(held[:, 2].mean(), 70 * G, rtol=0.25)
    landed = run.time[(run.time > cut) & (load > 0)][0]
    assert 0.2 < landed - cut < 0.5
    assert any(c.link == "man/left_foot" for c in run.contacts.at(int(np.searchsorted(run.time, landed))))
    assert scene.max_gap <= 1e-8


def test_catch_bar_needs_the_hands_within_reach():
    scene, _ = ran("catch-bar", 0.7, reach=0.001)
    assert scene.changes == []


@pytest.mark.parametrize("count", [5, 12])
def test_all_dominoes_fall(count):
    scene, run = ran("dominoes", PASSIVE["dominoes"], **({} if count == 12 else {"count": count}))
    for k in range(1, count + 1):
        up = scene.world.pose(f"domino{k}/block").rotation[2, 2]
        assert up < np.cos(np.radians(60)), k
    first = [run.time[np.argmax(np.abs(run[f"domino{k}/root"][:, 5]) > 0.05)] for k in range(1, count + 1)]
    assert (np.diff(first) > 0).all()  # one after the other


@pytest.mark.parametrize("degrees", [12.0, 20.0])
def test_boxes_slide_below_the_friction_threshold(degrees):
    friction = (0.1, 0.2, 0.3, 0.4, 0.5)
    _, run = ran("box-slope", 0.5, degrees=degrees)
    a = np.radians(degrees)
    for k, f in enumerate(friction, 1):
        way = np.linalg.norm((run[f"box{k}/root"][-1] - run[f"box{k}/root"][0])[:3])
        pull = G * (np.sin(a) - f * np.cos(a))
        assert way == pytest.approx(max(0.0, pull) * 0.5**2 / 2, rel=1e-6, abs=1e-6)


def rocking(run):
    """Angle of the block, and when it is upright."""
    angle = 2 * np.arctan2(run["tower/root"][:, 5], run["tower/root"][:, 3])
    i = np.flatnonzero(angle[:-1] * angle[1:] < 0)
    return angle, run.time[i] + np.diff(run.time)[i] * angle[i] / (angle[i] - angle[i + 1])


def test_rocking_block_follows_housner():
    # G. W. Housner 1963: T = 4/p acosh(1/(1 - θ/α)), p² = 3g/(4R), of slender blocks; angular momentum about the new edge is conserved.
    _, run = ran("rocking-block", dt=0.0005)  # dissipation of impacts increases slightly with the step
    angle, upright = rocking(run)
    alpha, R = np.arctan2(0.1, 0.4), np.hypot(0.1, 0.4)
    p = np.sqrt(3 * G / (4 * R))
    kept = (1 - 1.5 * np.sin(alpha) ** 2) ** 2  # of the energy in every impact
    amplitude = np.radians(8.0)
    assert upright[0] == pytest.approx(np.arccosh(1 / (1 - amplitude / alpha)) / p, rel=0.02)
    for start, end in pairwise(upright[:5]):
        largest = np.abs(angle[(run.time > start) & (run.time < end)]).max()
        assert end - start == pytest.approx(2 / p * np.arccosh(1 / (1 - largest / alpha)), rel=0.02)
        expected = alpha * (1 - np.sqrt(1 - kept * (1 - (1 - amplitude / alpha) ** 2)))
        assert largest == pytest.approx(expected, rel=0.03)
        amplitude = largest
    assert np.abs(ran("rocking-block", PASSIVE["rocking-block"])[1].v[-1]).max() < 1e-6  # at rest in the end


def test_stack_stays_at_rest():
    _, run = ran("stack", 1.0)
    masses = 100.0 ** (np.arange(12) / 11)
    for k in range(1, 13):
        moved = np.linalg.norm((run[f"box{k}/root"] - run[f"box{k}/root"][0])[:, :3], axis=1)
        assert moved.max() < 2e-4
    last = run.contacts.at(len(run) - 1)
    assert len(last) == 12
    for k in range(1, 13):  # the forces from above and below balance the weight of each box
        assert last.reaction(f"box{k}").force[2] == pytest.approx(masses[k - 1] * G, rel=1e-3)


def test_top_precession():
    scene, run = ran("spinning-top", PASSIVE["spinning-top"], dt=0.0005)
    link = scene.world.model.links["top/top"]
    fast = link.mass * G * link.center[2] / (link.inertia[2, 2] * 120.0)
    axis = np.array([rotate(q[3:], (0, 0, 1)) for q in run["top/root"]])
    around = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))
    rate = (around[-1] - around[0]) / run.time[-1]
    assert rate == pytest.approx(fast, rel=0.04)
    # The error is of second order in the rotation of one step, 0.06 rad.
    assert rate == pytest.approx(precession(scene.world, 120.0, 18.0), rel=3e-3)
    assert np.ptp(np.arccos(axis[:, 2])) < np.radians(0.5)  # steady precession
    assert np.ptp(run["top/root"][:, :3], axis=0).max() < 1e-5  # friction holds its tip


def test_a_slow_top_raises():
    with pytest.raises(ArgumentError, match="spin"):
        scenes.make("spinning-top", spin=20.0)
