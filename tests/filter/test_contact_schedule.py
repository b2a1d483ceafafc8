"""Contact schedule of a synthetic reference with known contacts, and its use by swing feet, friction cones and plans."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import nnls

from brachiate import procedural
from brachiate.filter.footsteps.foot_state import FootStates
from brachiate.filter.footsteps.swing_foot import init_feet, record_contacts, update_phase
from brachiate.filter.offline import FIGURE
from brachiate.filter.offline_tracker import OfflineTracker
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference, Stance
from brachiate.filter.schedule.arrays import MAX_CORNERS, NEVER
from brachiate.filter.schedule.contact_schedule import ContactSchedule
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.centroidal_mpc import CLIP_INTERVAL
from brachiate.filter.tracking.simulation_world import simulation_world
from brachiate.filter.tracking.whole_body_controller import WholeBodyController
from brachiate.filter.whole_body.arrays import CONTACT_FORBIDDEN, CONTACT_REQUIRED
from brachiate.filter.whole_body.contact_constraints import add_cone_generators, friction_direction
from brachiate.filter.whole_body.qp import RAYS
from brachiate.kinematics import forward_kinematics
from brachiate.spatial import Quaternion, Vec3, rotation_of

DT = 0.002
LOOKAHEAD = 0.1  # [s]
HEELS, TOES, ALL = 0b0011, 0b1100, 0b1111


@pytest.fixture(scope="module")
def squat() -> Reference:
    return make_reference(procedural.sample_motion("squat", seconds=1.2), dt=DT)


def stance(reference: Reference, link: str, start: int, end: int, contacts: list[tuple[int, int]] | None = None) -> Stance:
    """A stance from frame to frame; ``contacts``: corners in contact, as bits, from a frame of the stance on."""
    like = next(s for s in reference.stances if s.link == link)
    bits = np.full(end - start, ALL)
    for frame, corners in contacts or []:
        bits[frame:] = corners
    return replace(like, start=start, end=end, corner_contact=(bits[:, None] >> np.arange(4)) & 1 == 1)


@pytest.fixture(scope="module")
def schedule(squat: Reference) -> ContactSchedule:
    """Left foot: stance until frame 100, on its heel from 300, flat from 330 to 500. Right foot: stance from 200 to 450."""
    made = (
        stance(squat, "left_foot", 0, 100),
        stance(squat, "right_foot", 200, 450),
        stance(squat, "left_foot", 300, 500, [(0, HEELS), (30, ALL)]),
    )
    return ContactSchedule(replace(squat, stances=made), LOOKAHEAD)


def test_contact_masks(schedule):
    left, right = (next(n for n, sole in enumerate(schedule.contact_links) if sole.link == link) for link in ("left_foot", "right_foot"))
    assert [schedule.contact_mask[k, left] for k in (0, 99, 100, 299, 300, 329, 330, 499, 500)] == [
        ALL,
        ALL,
        0,
        0,
        HEELS,
        HEELS,
        ALL,
        ALL,
        0,
    ]
    assert [schedule.contact_mask[k, right] for k in (199, 200, 449, 450)] == [0, ALL, ALL, 0]
    assert (schedule.in_contact[:, schedule.leg[left]] == (schedule.contact_mask[:, left] > 0)).all()


def test_upcoming_contacts_of_stance_feet(schedule):
    left = next(n for n, sole in enumerate(schedule.contact_links) if sole.link == "left_foot")
    assert schedule.upcoming_mask[300, left] == ALL  # toes 60 ms later
    assert schedule.upcoming_mask[299, left] == 0  # a swing foot has no upcoming contacts
    assert (schedule.upcoming_mask & schedule.contact_mask == schedule.contact_mask).all()


def test_contacts_beyond_the_lookahead_are_not_upcoming(squat):
    late = ContactSchedule(replace(squat, stances=(stance(squat, "left_foot", 0, 500, [(0, HEELS), (200, TOES)]),)), LOOKAHEAD)
    first = 200 - int(LOOKAHEAD / DT) + 1
    assert late.upcoming_mask[first - 1, 0] == HEELS
    assert late.upcoming_mask[first, 0] == ALL


def test_stance_indices(schedule):
    left = next(sole.leg for sole in schedule.contact_links if sole.link == "left_foot")
    right = 1 - left
    assert schedule.stance_frames[left] == [(0, 100), (300, 500)]
    assert schedule.stance_frames[right] == [(-1, 0), (200, 450)]  # a foot that starts in the air has an earlier stance
    # The first half of a swing belongs to the stance before it, the second to the one after; the next stance changes at liftoff.
    assert [schedule.stance_index[k, left] for k in (0, 99, 199, 200, 300, 599)] == [0, 0, 0, 1, 1, 1]
    assert [schedule.next_stance_index[k, left] for k in (0, 99, 100, 299, 300, 599)] == [0, 0, 1, 1, 1, 1]
    assert [schedule.next_stance_index[k, right] for k in (0, 199, 200, 599)] == [1, 1, 1, 1]


def test_time_to_landing(schedule):
    left = next(sole.leg for sole in schedule.contact_links if sole.link == "left_foot")
    assert schedule.time_to_landing[50, left] == 0.0
    assert schedule.time_to_landing[100, left] == pytest.approx(0.4)
    assert schedule.time_to_landing[299, left] == pytest.approx(DT)
    assert schedule.time_to_landing[520, left] == NEVER
    assert schedule.time_to_landing[0, 1 - left] == pytest.approx(0.4)


def test_load_shares(schedule):
    left = next(sole.leg for sole in schedule.contact_links if sole.link == "left_foot")
    assert schedule.load_share.sum(axis=1) == pytest.approx(1.0)
    assert schedule.load_share[20, left] > 0.95
    assert schedule.load_share[400] == pytest.approx((0.5, 0.5), abs=0.01)


def test_long_flights_are_marked(schedule):
    schedule.mark_long_flights(0.15)
    on = schedule.in_contact.any(axis=1)
    assert schedule.long_flight[100:200].all()  # 0.2 s
    assert not schedule.long_flight[on].any()
    schedule.mark_long_flights(0.25)
    assert not schedule.long_flight[100:200].any()


def test_centroidal_trajectory(squat):
    whole = ContactSchedule(squat, LOOKAHEAD)
    assert whole.mass == pytest.approx(squat.figure.mass)
    # CoM velocity against central differences over 2 ms
    assert np.gradient(whole.com, DT, axis=0)[1:-1] == pytest.approx(whole.com_velocity[1:-1], abs=5e-4)
    assert whole.locked_inertia == pytest.approx(np.swapaxes(whole.locked_inertia, 1, 2))
    assert (np.linalg.eigvalsh(whole.locked_inertia) > 0.1).all()


def test_late_liftoff_keeps_the_foothold_offset(schedule):
    # The next foothold is elsewhere: fails if the offset is measured from it.
    world = simulation_world(schedule.reference)
    body = WholeBodyController(world, FIGURE, schedule.contact_links, FilterSettings(), DT)
    q = world.q.copy()
    q[body.q_at] = schedule.reference.q[0]
    world.q = q
    S = schedule.window._replace(corner_positions=schedule.window.corner_positions.copy())
    S.corner_positions.reshape(len(schedule), len(schedule.contact_links), MAX_CORNERS, 3)[300:, 0, :, 0] += 0.3
    feet = FootStates(S, FilterSettings(), 0.01, 4, 4)
    T, W, K, G = world.model.tree, world.data.work, body.control, feet.arrays
    forward_kinematics(T, W)
    init_feet(T, W, K, S, G, 0)
    for k in (90, 120):  # scheduled liftoff: 100
        K.supporting_corners[:] = 4, 0
        record_contacts(T, W, K, S, G, k)
    assert np.abs(G.foothold_offset[0]).max() < 1e-9


def test_swing_feet_are_led_at_the_middle_of_their_soles(schedule):
    # The center of a rectangle is half-way between opposite corners.
    world = simulation_world(schedule.reference)
    control = WholeBodyController(world, FIGURE, schedule.contact_links, FilterSettings(), DT).control
    for n, contact in enumerate(schedule.contact_links):
        place = world.model.placements[f"{FIGURE}/{contact.link}"]
        corners = np.asarray(contact.corners)
        assert len(corners) == 4
        middle = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
        assert control.task_point[n] == pytest.approx(place.position + place.rotation @ middle, abs=1e-9)


@pytest.mark.parametrize(("k", "down"), [(280, False), (297, True)])
def test_swing_foot_may_land_just_before_its_time(schedule, k, down):
    # The left foot lands at frame 300. Fails if it has to wait: a foot that hits the ground bounces, and lands later still.
    world = simulation_world(schedule.reference)
    settings = FilterSettings()
    body = WholeBodyController(world, FIGURE, schedule.contact_links, settings, DT)
    feet = FootStates(schedule.window, settings, settings.plan.landing_freeze_time, 4, 4)
    K, G = body.control, feet.arrays
    left = next(n for n, sole in enumerate(schedule.contact_links) if sole.link == "left_foot")
    K.supporting_corners[:] = 4
    K.supporting_corners[left] = 0
    G.in_contact[:] = G.landed[:] = 1
    G.in_contact[schedule.leg[left]] = G.landed[schedule.leg[left]] = 0
    update_phase(K, schedule.window, G, k)
    corners = K.contact_mode[MAX_CORNERS * left : MAX_CORNERS * left + 4].tolist()
    assert corners == [CONTACT_REQUIRED if down else CONTACT_FORBIDDEN] * 2 + [CONTACT_FORBIDDEN] * 2  # by its heel, as scheduled


@pytest.mark.parametrize("slope", [0.0, 0.2])
def test_friction_pyramid_is_aligned_with_the_desired_force(schedule, slope):
    # Fails for another orientation of the pyramid, with 0.71 of the friction at its sides. Rotated by d it has 1 / (cos d + sin d) of it
    # along the desired force, and d is at most √2 SLIGHT over the tangential desired force: 0.027.
    world = simulation_world(schedule.reference)
    body = WholeBodyController(world, FIGURE, schedule.contact_links, FilterSettings(), DT)
    T, W, K, P = world.model.tree, world.data.work, body.control, body.qp
    forward_kinematics(T, W)
    R, mu = rotation_of(Quaternion(np.cos(0.5 * slope), 0.0, np.sin(0.5 * slope), 0.0)), 0.6
    for angle in np.linspace(0.0, 2.0 * np.pi, 13):
        tangent = np.cos(angle) * np.array(R.x) + np.sin(angle) * np.array(R.y)
        force = 9.0 * (np.array(R.z) + 0.97 * mu * tangent)
        K.com_acceleration[:] = force + W.gravity
        P.counts[RAYS] = 0
        add_cone_generators(T, W, K, P, 0, -1, 0, Vec3(0.0, 0.0, 0.0), R, friction_direction(W, K, R), mu)
        edges = K.ray_direction[:4].copy()
        assert nnls(edges.T, force)[1] < 1e-9
        across = edges - np.outer(edges @ np.array(R.z), np.array(R.z))
        assert np.linalg.norm(across, axis=1) == pytest.approx(mu)  # and no edge is outside of the cone


@pytest.fixture(scope="module")
def planned_jump() -> OfflineTracker:
    """A jump whose schedule has been replaced by the plan of the whole clip."""
    reference = make_reference(procedural.sample_motion("jump"), dt=DT)
    return OfflineTracker(simulation_world(reference, torque_scale=np.inf), FIGURE, reference, plan_whole_clip=True)


def test_angular_momentum_of_the_clip_plan_matches_its_rate(planned_jump):
    # Fails if oscillations of the reference between nodes remain in one of the two: in flight they are impossible.
    S = planned_jump.schedule
    planned = int((len(S) - 1) * DT / CLIP_INTERVAL) * CLIP_INTERVAL
    gained = np.diff(S.angular_momentum, axis=0) - DT * S.angular_momentum_rate[:-1]
    assert np.abs(gained[: round(planned / DT)]).max() < 1e-9
    assert np.abs(DT * S.angular_momentum_rate).max() > 0.1


@pytest.mark.parametrize("whole", [True, False])
def test_plan_intervals_have_the_mean_rates_of_the_reference(planned_jump, whole):
    # Fails if one frame represents an interval: in the middle of long ones the rate differs by 4.7 of 11.8 N·m·s.
    clip = (
        planned_jump
        if whole
        else OfflineTracker(
            simulation_world(planned_jump.reference, torque_scale=np.inf), FIGURE, planned_jump.reference, plan_whole_clip=False
        )
    )
    S, preview, k = clip.schedule, clip.tracker.mpc, 400
    preview.plan(k, -1.0)
    N, O = int(preview.feet.arrays.plan_size[0]), preview.planner.problem
    at = k + np.rint(preview.feet.arrays.node_times[: N + 1] / DT).astype(int)
    for gained, rate in (
        (np.diff(S.angular_momentum[at], axis=0), O.angular_momentum_rate),
        (np.diff(S.com_velocity[at], axis=0), O.com_acceleration),
    ):
        assert np.abs(gained - O.dt[:N, None] * rate[:N]).max() < 0.05 * np.abs(gained).max()
