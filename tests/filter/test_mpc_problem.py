"""MPC problem: nodes at contact changes, support patches and landings of a hand-made window, capture point error."""

from __future__ import annotations

import numpy as np
import pytest
from tests.filter.synthetic_window import DT, FRAMES, HEIGHT, LEFT, RIGHT, feet_of, foot_corners, make_control, two_foot_window

from brachiate import figures, kinematics
from brachiate.centroidal.problem import FLIGHT, STANCE, PlanProblem, allocate_problem
from brachiate.filter.footsteps.mpc_problem import (
    MIN_INTERVAL,
    MIN_INTERVALS,
    build_problem,
    capture_point_error,
    place_nodes,
    set_landing_targets,
)
from brachiate.filter.schedule.arrays import FOOTHOLD_DECAY, MAX_CONTACT_POINTS, NEVER, STEP_REACH, FootState, ReferenceWindow
from brachiate.filter.whole_body.arrays import Control
from brachiate.model.data import Data
from brachiate.world.world import World

G, OMEGA = 9.81, np.sqrt(10.0)
EPS = 1e-12
WALK = ((0, 20, 0.0), (60, FRAMES, 0.6)), ((0, 70, 0.3), (95, FRAMES, 0.9))  # the left foot swings from frame 20 to 60
JUMP = ((0, 30, 0.0), (65, FRAMES, 0.0)), ((0, 30, 0.0), (65, FRAMES, 0.0))  # flight from frame 30 to 65
INTERVALS = np.full(10, 0.1)


def nodes(window: ReferenceWindow, k: int = 0, intervals: np.ndarray = INTERVALS, extrapolation_time: float = 0.0) -> np.ndarray:
    feet = feet_of(window, extrapolation_time)
    return feet.arrays.node_times[: place_nodes(window, feet.arrays, k, intervals) + 1].copy()


# --- nodes ----------------------------------------------------------------------------------------


def test_nodes_without_flight_are_evenly_spaced_up_to_the_last_frame():
    assert nodes(two_foot_window(WALK)) == pytest.approx(0.1 * np.arange(10))  # the window is 0.97 s long
    assert len(nodes(two_foot_window(WALK), k=50)) == 5


def test_the_nearest_nodes_are_moved_to_lift_off_and_touchdown():
    times = nodes(two_foot_window(JUMP), k=7)
    assert times[2] == pytest.approx(0.23, abs=EPS)
    assert times[6] == pytest.approx(0.58, abs=EPS)
    others = np.delete(times, (2, 6))
    assert others == pytest.approx(np.delete(0.1 * np.arange(len(times)), (2, 6)))


@pytest.mark.parametrize("lift_off", [28, 30])  # before and behind the nearest node
def test_a_change_next_to_another_one_does_not_make_an_interval_too_short(lift_off):
    # Fails if a second node is moved as well: intervals below MIN_INTERVAL make the plan stiff.
    stances = (0, lift_off, 0.0), (lift_off + 1, FRAMES, 0.0)
    window = two_foot_window((stances, stances))
    window.dt[0] = 0.3 * MIN_INTERVAL
    times = nodes(window, intervals=np.full(10, 0.01))
    assert np.diff(times).min() > MIN_INTERVAL
    assert np.abs(times - lift_off * window.dt[0]).min() < EPS


def test_the_end_of_a_clip_has_the_minimum_number_of_intervals():
    assert len(nodes(two_foot_window(WALK), k=FRAMES - 1)) == MIN_INTERVALS + 1


def test_plans_extend_beyond_the_known_frames():
    assert len(nodes(two_foot_window(WALK), k=FRAMES - 1, extrapolation_time=0.75)) == 8


# --- support patches and landings -----------------------------------------------------------------


class Setup:
    """Figure of two boxes as feet, at the footholds of the left and right foot, and an empty problem."""

    def __init__(self, window: ReferenceWindow, feet_x: tuple[float, float], k: int = 0) -> None:
        world = World()
        for n, (name, x) in enumerate(zip(("left", "right"), feet_x, strict=True)):
            world.add(figures.box(), name=name).place((x, 0.1 - 0.2 * n, 0.0))
        self.data: Data = world.data
        kinematics.update_poses(self.data)
        self.window, self.k = window, k
        self.feet: FootState = feet_of(window).arrays
        self.ctl: Control = make_control()
        self.ctl.supporting_corners[:] = self.feet.in_contact[:] = self.feet.landed[:] = window.in_contact.reshape(-1, 2)[k]
        self.feet.stance_index[:] = window.next_stance_index.reshape(-1, 2)[k] - 1 + self.feet.in_contact
        self.problem: PlanProblem = allocate_problem(len(INTERVALS), 6)

    def build(self) -> int:
        """Build the problem. Returns the number of landings."""
        self.intervals = place_nodes(self.window, self.feet, self.k, INTERVALS)
        tree, work = self.data.model.tree, self.data.work
        return build_problem(tree, work, self.ctl, self.window, self.feet, self.problem, self.k, self.intervals, 2)

    def patches(self, interval: int) -> dict[int, np.ndarray]:
        """Points of the patches of an interval by foot."""
        p = self.problem
        used = np.flatnonzero(p.patch_size[interval])
        return {int(p.patch_foot[interval, n]): p.patch_points[interval, n, : p.patch_size[interval, n]] for n in used}


def test_the_first_interval_has_the_measured_contact_points_less_the_foothold_offset():
    setup = Setup(two_foot_window(WALK), (0.05, 0.3))
    setup.feet.foothold_offset[LEFT] = 0.05, 0.0, 0.0
    measured = np.array([(0.2, 0.1, 0.0), (-0.05, 0.1, 0.0)])
    setup.ctl.supporting_corners[:] = 2, 0
    setup.feet.contact_points[MAX_CONTACT_POINTS * LEFT : MAX_CONTACT_POINTS * LEFT + 2] = measured
    setup.feet.contact_count[LEFT] = 2
    setup.build()
    patches = setup.patches(0)
    assert set(patches) == {LEFT}
    assert patches[LEFT] == pytest.approx(measured - (0.05, 0.0, 0.0))


@pytest.mark.parametrize(("known", "upcoming", "stays"), [(True, 0, True), (False, 1, True), (False, 0, False)])
def test_a_foot_that_landed_early_supports_until_its_landing(known, upcoming, stays):
    # The left foot is on the ground at frame 30, thirty frames before its landing; or it is not known when it lands.
    setup = Setup(two_foot_window(WALK), (0.4, 0.3), k=30)
    window, measured = setup.window, np.array([(0.55, 0.1, 0.0), (0.3, 0.1, 0.0)])
    if not known:
        window.time_to_landing.reshape(-1, 2)[30, LEFT] = NEVER
    window.upcoming_mask.reshape(-1, 2)[30, LEFT] = upcoming
    setup.feet.in_contact[LEFT], setup.ctl.supporting_corners[LEFT] = 1, 2
    setup.feet.contact_points[MAX_CONTACT_POINTS * LEFT : MAX_CONTACT_POINTS * LEFT + 2] = measured
    setup.feet.contact_count[LEFT] = 2
    setup.build()
    for interval in (1, 2):  # in the middle at frames 45 and 55
        patches = setup.patches(interval)
        assert (LEFT in patches) == stays
        if stays:
            assert patches[LEFT] == pytest.approx(measured)
        assert RIGHT in patches


def test_present_stances_have_measured_corners_and_future_ones_scheduled_corners():
    setup = Setup(two_foot_window(WALK), (0.0, 0.34))
    setup.ctl.supporting_corners[:] = 4
    setup.feet.foothold_offset[RIGHT] = 0.04, 0.0, 0.0
    offset = (0.02, -0.01, 0.0)  # by which a plan of the whole clip moved the next foothold of the left foot
    setup.window.foot_offset.reshape(-1, 2, 3)[40:, LEFT] = offset
    setup.build()
    middle = setup.feet.node_times[:-1] + 0.5 * np.diff(setup.feet.node_times)
    for j in range(1, setup.intervals):
        k, patches = round(middle[j] / DT), setup.patches(j)
        expected = {}
        if k < 20:
            expected[LEFT] = foot_corners(LEFT, 0.0)
        elif k >= 60:
            expected[LEFT] = foot_corners(LEFT, 0.6) + offset
        if k < 70:
            expected[RIGHT] = foot_corners(RIGHT, 0.34) - (0.04, 0.0, 0.0)
        elif k >= 95:
            expected[RIGHT] = foot_corners(RIGHT, 0.9)
        assert set(patches) == set(expected)
        for foot, corners in expected.items():
            assert patches[foot] == pytest.approx(corners, abs=EPS), (j, foot)
        assert setup.problem.contact_mode[j] == STANCE


def test_intervals_in_flight_have_no_support():
    setup = Setup(two_foot_window(JUMP), (0.0, 0.0))
    setup.ctl.supporting_corners[:] = 4
    setup.feet.contact_count[:] = 4
    setup.build()
    modes = setup.problem.contact_mode[: setup.intervals]
    middle = setup.feet.node_times[: setup.intervals] + 0.5 * setup.problem.dt[: setup.intervals]
    assert (modes == np.where((middle > 0.3) & (middle < 0.65), FLIGHT, STANCE)).all()
    assert all(not setup.patches(j) for j in np.flatnonzero(modes == FLIGHT))


def test_landings_have_the_times_of_the_window():
    setup = Setup(two_foot_window(WALK), (0.0, 0.3))
    count, p = setup.build(), setup.problem
    assert p.landing_foot.tolist() == [LEFT, *[-1] * 5]  # the right foot lands beyond the last node, at 0.95 s
    assert count == 1
    assert p.landing_start[0] == 4  # mid-swing, at 0.4 s
    assert p.landing_touchdown[0] == 6
    assert p.landing_time[0] == pytest.approx(0.6)
    assert p.landing_duration[0] == pytest.approx(0.38)
    assert setup.feet.landing_stance[0].tolist() == [LEFT, 1]


def test_both_feet_land_within_a_later_horizon():
    setup = Setup(two_foot_window(WALK), (0.3, 0.3), k=40)
    assert setup.build() == 1  # the right foot lands after the last node
    setup.window.stance_frames[3] = 85, FRAMES  # second stance of the right foot
    assert setup.build() == 2
    p = setup.problem
    assert p.landing_foot[:2].tolist() == [LEFT, RIGHT]
    assert p.landing_time[:2] == pytest.approx((0.2, 0.45))
    assert p.landing_start[:2].tolist() == [0, 4]
    assert p.landing_touchdown[:2].tolist() == [2, 5]


@pytest.mark.parametrize(
    ("k", "planned", "expected"),
    [(20, False, 0.01), (20, True, 0.02), (57, True, 0.03)],
    ids=["last foothold", "last plan", "frozen before landing"],
)
def test_landing_targets_start_from_the_last_plan(k, planned, expected):
    setup = Setup(two_foot_window(WALK), (0.0, 0.3), k)
    setup.feet.foothold_offset[LEFT, 0], setup.feet.planned_offset[1, 0], setup.feet.swing_offset[LEFT, 0] = 0.01, 0.02, 0.03
    setup.feet.is_planned[1] = planned
    setup.build()
    assert setup.problem.landing_foot[0] == LEFT
    assert setup.problem.landing_target[0, 0] == expected


def test_footholds_on_stairs_are_bounded_less_the_offset_of_the_clip_plan():
    window = two_foot_window(WALK)
    window.foothold_range[1] = -0.05, 0.08
    window.foot_offset.reshape(-1, 2, 3)[60:, LEFT, 0] = 0.02
    setup = Setup(window, (0.0, 0.3))
    setup.build()
    assert setup.problem.landing_direction[0].tolist() == [1.0, 0.0]
    assert (setup.problem.landing_min[0], setup.problem.landing_max[0]) == pytest.approx((-0.07, 0.06))


def test_the_reference_at_the_nodes_and_its_mean_rates():
    window = two_foot_window(WALK)
    t = DT * np.arange(FRAMES)
    window.com[:, 0], window.com_velocity[:, 0], window.com_acceleration[:, 0] = t**2, 2.0 * t, 2.0
    window.angular_momentum_rate[:, 2] = np.sin(40.0 * t)
    setup = Setup(window, (0.0, 0.3))
    setup.build()
    p, times = setup.problem, setup.feet.node_times[: setup.intervals + 1]
    assert p.com[: len(times), 0] == pytest.approx(times**2)
    assert p.com_velocity[: len(times), 0] == pytest.approx(2.0 * times)
    assert p.com_acceleration[: setup.intervals, 0] == pytest.approx(2.0)
    gained = -np.diff(np.cos(40.0 * times)) / 40.0  # fails if a single frame stands for an interval
    assert p.dt[: setup.intervals] * p.angular_momentum_rate[: setup.intervals, 2] == pytest.approx(gained, abs=1e-3)


# --- capture point --------------------------------------------------------------------------------


def displaced(position: tuple[float, float], velocity: tuple[float, float]) -> tuple[Control, ReferenceWindow, FootState]:
    """Figure whose CoM is displaced from the reference, which moves at 1 m/s along x and is shifted by 5 cm."""
    window, ctl = two_foot_window(WALK), make_control()
    window.com_velocity[:, 0], window.com[:, 0] = 1.0, DT * np.arange(FRAMES)
    feet = feet_of(window).arrays
    feet.reference_shift[:2] = 0.05, 0.0
    ctl.com[:] = 0.2 + 0.05 + position[0], position[1], HEIGHT, 1.0 + velocity[0], velocity[1], 0.0
    return ctl, window, feet


@pytest.mark.parametrize(("position", "velocity"), [((0.0, 0.0), (0.0, 0.0)), ((0.03, -0.02), (0.0, 0.0)), ((0.01, 0.02), (0.2, -0.1))])
def test_capture_point_error_of_the_linear_inverted_pendulum(position, velocity):
    expected = np.array(position) + np.array(velocity) / OMEGA
    assert capture_point_error(*displaced(position, velocity), 20, G) == pytest.approx(expected, abs=EPS)


def test_capture_point_error_is_limited_to_the_step_reach():
    ctl, window, feet = displaced((3.0, 4.0), (0.0, 0.0))
    reach = feet.gain[STEP_REACH]
    assert capture_point_error(ctl, window, feet, 20, G) == pytest.approx((0.6 * reach, 0.8 * reach))


def test_planned_landings_become_targets_of_the_swing_foot():
    ctl, window, feet = displaced((0.0, 0.0), (0.0, 0.0))
    feet.stance_index[:], feet.in_contact[:], feet.landing_stance[0] = (0, 0), (0, 1), (LEFT, 1)
    set_landing_targets(ctl, window, feet, 40, np.array([(0.07, -0.03)]), 1, G)
    assert feet.is_planned[1] == 1
    assert feet.landing_offset[LEFT, :2].tolist() == [0.07, -0.03]
    assert not feet.landing_offset[RIGHT].any()


def test_without_a_planned_landing_the_swing_foot_goes_to_the_capture_point():
    # Only where nothing is known ahead: with a known end of the motion the foot keeps its target.
    ctl, window, feet = displaced((0.02, 0.01), (0.1, 0.0))
    feet.stance_index[:], feet.in_contact[:] = (0, 0), (0, 1)
    k = 20
    set_landing_targets(ctl, window, feet, k, np.zeros((0, 2)), 0, G)
    assert not feet.landing_offset.any()
    online = feet_of(window, extrapolation_time=0.2).arrays
    online.stance_index[:], online.in_contact[:], online.reference_shift[:] = feet.stance_index, feet.in_contact, feet.reference_shift
    set_landing_targets(ctl, window, online, k, np.zeros((0, 2)), 0, G)
    expected = np.array((0.02 + 0.1 / OMEGA, 0.01)) + online.gain[FOOTHOLD_DECAY] * np.array((0.05, 0.0))
    assert online.landing_offset[LEFT, :2] == pytest.approx(expected, abs=EPS)
    assert not online.landing_offset[RIGHT].any()
