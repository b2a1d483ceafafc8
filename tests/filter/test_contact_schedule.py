"""The schedule: what of a reference stands when, on a made-up one whose answers are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import nnls

from brachiate import procedural
from brachiate.filter.footsteps.foot_state import Footwork
from brachiate.filter.footsteps.swing_foot import begin, lead, note
from brachiate.filter.offline import FIGURE, Clip, world_of
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference, Stance
from brachiate.filter.schedule.arrays import CORNERS, NEVER
from brachiate.filter.schedule.contact_schedule import Schedule
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.centroidal_mpc import STEP
from brachiate.filter.tracking.whole_body_controller import Body
from brachiate.filter.whole_body.arrays import FREE, SHOULD
from brachiate.filter.whole_body.contact_constraints import add_rays, along_ground
from brachiate.filter.whole_body.qp import RAYS
from brachiate.kinematics import poses
from brachiate.motion.motion import motion_of
from brachiate.spatial import Quaternion, Vec3, rotation_of

DT = 0.002
LOOK = 0.1  # [s]
HEELS, TOES, ALL = 0b0011, 0b1100, 0b1111


@pytest.fixture(scope="module")
def squat() -> Reference:
    return clean(motion_of(procedural.make("squat", seconds=1.2)), dt=DT)


def stance(reference: Reference, link: str, start: int, end: int, bears: list[tuple[int, int]] | None = None) -> Stance:
    """One from frame to frame; ``bears``: from which of its frames on which corners do."""
    like = next(s for s in reference.stances if s.link == link)
    bits = np.full(end - start, ALL)
    for frame, corners in bears or []:
        bits[frame:] = corners
    return replace(like, start=start, end=end, bears=(bits[:, None] >> np.arange(4)) & 1 == 1)


@pytest.fixture(scope="module")
def steps(squat: Reference) -> Schedule:
    """Left foot: on until frame 100, off, on its heels from 300 and flat from 330. Right: first comes down at 200, and leaves at 450."""
    made = (
        stance(squat, "left_foot", 0, 100),
        stance(squat, "right_foot", 200, 450),
        stance(squat, "left_foot", 300, 500, [(0, HEELS), (30, ALL)]),
    )
    return Schedule(replace(squat, stances=made), LOOK)


def test_corners_that_bear_are_bits(steps):
    left, right = (next(n for n, sole in enumerate(steps.soles) if sole.link == link) for link in ("left_foot", "right_foot"))
    assert [steps.bears[k, left] for k in (0, 99, 100, 299, 300, 329, 330, 499, 500)] == [ALL, ALL, 0, 0, HEELS, HEELS, ALL, ALL, 0]
    assert [steps.bears[k, right] for k in (199, 200, 449, 450)] == [0, ALL, ALL, 0]
    assert (steps.on[:, steps.leg[left]] == (steps.bears[:, left] > 0)).all()


def test_what_stands_knows_what_will_bear_soon(steps):
    left = next(n for n, sole in enumerate(steps.soles) if sole.link == "left_foot")
    assert steps.soon[300, left] == ALL  # toes 60 ms later
    assert steps.soon[299, left] == 0  # what is in the air does not stand, however soon it will
    assert (steps.soon & steps.bears == steps.bears).all()


def test_what_bears_later_than_it_looks_ahead_is_not_soon(squat):
    late = Schedule(replace(squat, stances=(stance(squat, "left_foot", 0, 500, [(0, HEELS), (200, TOES)]),)), LOOK)
    first = 200 - int(LOOK / DT) + 1
    assert late.soon[first - 1, 0] == HEELS
    assert late.soon[first, 0] == ALL


def test_stances_are_numbered(steps):
    left = next(sole.leg for sole in steps.soles if sole.link == "left_foot")
    right = 1 - left
    assert steps.spans[left] == [(0, 100), (300, 500)]
    assert steps.spans[right] == [(-1, 0), (200, 450)]  # a foot that begins in the air has stood before
    # The first half of a swing belongs to the stance before it, the second to the one after; what comes is the next at once.
    assert [steps.stance[k, left] for k in (0, 99, 199, 200, 300, 599)] == [0, 0, 0, 1, 1, 1]
    assert [steps.coming[k, left] for k in (0, 99, 100, 299, 300, 599)] == [0, 0, 1, 1, 1, 1]
    assert [steps.coming[k, right] for k in (0, 199, 200, 599)] == [1, 1, 1, 1]


def test_it_knows_when_feet_land(steps):
    left = next(sole.leg for sole in steps.soles if sole.link == "left_foot")
    assert steps.until[50, left] == 0.0
    assert steps.until[100, left] == pytest.approx(0.4)
    assert steps.until[299, left] == pytest.approx(DT)
    assert steps.until[520, left] == NEVER
    assert steps.until[0, 1 - left] == pytest.approx(0.4)


def test_legs_share_the_body(steps):
    left = next(sole.leg for sole in steps.soles if sole.link == "left_foot")
    assert steps.share.sum(axis=1) == pytest.approx(1.0)
    assert steps.share[20, left] > 0.95
    assert steps.share[400] == pytest.approx((0.5, 0.5), abs=0.01)


def test_long_flights_are_marked(steps):
    steps.mark_long_flights(0.15)
    on = steps.on.any(axis=1)
    assert steps.long_flight[100:200].all()  # 0.2 s
    assert not steps.long_flight[on].any()
    steps.mark_long_flights(0.25)
    assert not steps.long_flight[100:200].any()


def test_the_body_as_a_whole_is_the_references(squat):
    whole = Schedule(squat, LOOK)
    assert whole.mass == pytest.approx(squat.figure.mass)
    # The centre of mass moves as its velocity says: central differences of 2 ms of a smooth curve
    assert np.gradient(whole.centre, DT, axis=0)[1:-1] == pytest.approx(whole.speed[1:-1], abs=5e-4)
    assert whole.inertia == pytest.approx(np.swapaxes(whole.inertia, 1, 2))
    assert (np.linalg.eigvalsh(whole.inertia) > 0.1).all()


def test_a_foot_that_leaves_late_keeps_its_offset(steps):
    # Where it lands next is another place: fails if the offset of one is taken from the other.
    world = world_of(steps.reference)
    body = Body(world, FIGURE, steps.soles, FilterSettings(), DT)
    q = world.q.copy()
    q[body.q_at] = steps.reference.q[0]
    world.q = q
    S = steps.room._replace(places=steps.room.places.copy())
    S.places.reshape(len(steps), len(steps.soles), CORNERS, 3)[300:, 0, :, 0] += 0.3
    feet = Footwork(S, FilterSettings(), 0.01, 4, 4)
    T, W, K, G = world.model.tree, world.data.work, body.control, feet.room
    poses(T, W)
    begin(T, W, K, S, G, 0)
    for k in (90, 120):  # it should have left at 100
        K.stands[:] = 4, 0
        note(T, W, K, S, G, k)
    assert np.abs(G.offset[0]).max() < 1e-9


@pytest.mark.parametrize(("k", "down"), [(280, False), (297, True)])
def test_a_foot_comes_down_just_before_its_time(steps, k, down):
    # The left foot lands at frame 300. Fails if it has to wait: what hits the ground then bounces, and stands later still.
    world = world_of(steps.reference)
    settings = FilterSettings()
    body = Body(world, FIGURE, steps.soles, settings, DT)
    feet = Footwork(steps.room, settings, settings.plan.freeze, 4, 4)
    K, G = body.control, feet.room
    left = next(n for n, sole in enumerate(steps.soles) if sole.link == "left_foot")
    K.stands[:] = 4
    K.stands[left] = 0
    G.stands[:] = G.settled[:] = 1
    G.stands[steps.leg[left]] = G.settled[steps.leg[left]] = 0
    lead(K, steps.room, G, k)
    corners = K.may[CORNERS * left : CORNERS * left + 4].tolist()
    assert corners == [SHOULD if down else FREE] * 2 + [FREE] * 2  # by its heels, as it will


@pytest.mark.parametrize("slope", [0.0, 0.2])
def test_all_friction_can_be_used_the_way_it_is_to_push(steps, slope):
    # Fails for a pyramid that stands any other way: at its sides it has 0.71 of the friction. One turned by d has 1 / (cos d + sin d) of it
    # along the wish, and d is at most SLIGHT times the root of 2, over the wish along the ground: 0.027.
    world = world_of(steps.reference)
    body = Body(world, FIGURE, steps.soles, FilterSettings(), DT)
    T, W, K, P = world.model.tree, world.data.work, body.control, body.program
    poses(T, W)
    R, mu = rotation_of(Quaternion(np.cos(0.5 * slope), 0.0, np.sin(0.5 * slope), 0.0)), 0.6
    for angle in np.linspace(0.0, 2.0 * np.pi, 13):
        tangent = np.cos(angle) * np.array(R.x) + np.sin(angle) * np.array(R.y)
        force = 9.0 * (np.array(R.z) + 0.97 * mu * tangent)
        K.centre[:] = force + W.gravity
        P.count[RAYS] = 0
        add_rays(T, W, K, P, 0, -1, 0, Vec3(0.0, 0.0, 0.0), R, along_ground(W, K, R), mu)
        edges = K.along[:4].copy()
        assert nnls(edges.T, force)[1] < 1e-9
        across = edges - np.outer(edges @ np.array(R.z), np.array(R.z))
        assert np.linalg.norm(across, axis=1) == pytest.approx(mu)  # and no edge is outside of the cone


@pytest.fixture(scope="module")
def flown() -> Clip:
    """A jump, of which a plan of the whole has been taken on."""
    reference = clean(motion_of(procedural.make("jump")), dt=DT)
    return Clip(world_of(reference, strength=np.inf), FIGURE, reference, whole=True)


def test_angular_momentum_of_the_whole_plan_is_gained_at_the_rate_it_says(flown):
    # Fails if the reference's own swings between nodes are left in one of the two: in flight nothing could bring them.
    S = flown.schedule
    planned = int((len(S) - 1) * DT / STEP) * STEP
    gained = np.diff(S.spin, axis=0) - DT * S.turning[:-1]
    assert np.abs(gained[: round(planned / DT)]).max() < 1e-9
    assert np.abs(DT * S.turning).max() > 0.1


@pytest.mark.parametrize("whole", [True, False])
def test_plans_know_what_the_reference_gains_in_every_interval(flown, whole):
    # Fails if a single frame speaks for an interval: midway in long ones the reference turns another way, by 4.7 N·m·s of 11.8.
    clip = flown if whole else Clip(world_of(flown.reference, strength=np.inf), FIGURE, flown.reference, whole=False)
    S, preview, k = clip.schedule, clip.follower.preview, 400
    preview.plan(k, -1.0)
    N, O = int(preview.feet.room.planned[0]), preview.planner.outlook
    at = k + np.rint(preview.feet.room.nodes[: N + 1] / DT).astype(int)
    for gained, rate in ((np.diff(S.spin[at], axis=0), O.turning), (np.diff(S.speed[at], axis=0), O.acceleration)):
        assert np.abs(gained - O.h[:N, None] * rate[:N]).max() < 0.05 * np.abs(gained).max()
