"""Buffer of reference frames that arrive one by one, with contacts estimated and motion predicted from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.anatomy.feet import find_feet, to_link_frame
from brachiate.anatomy.landmarks import find_landmarks
from brachiate.centroidal.problem import MAX_MOTORS
from brachiate.compiled import ArrayHandle, array_fields
from brachiate.errors import ArgumentError, StateError
from brachiate.filter.online.contact_estimator import EstimatorArrays, process_frame
from brachiate.filter.online.contact_modes import MAX_LEGS, MODES
from brachiate.filter.online.motion_prediction import predict_from_history
from brachiate.filter.schedule.arrays import MAX_CORNERS, FootState, ReferenceWindow
from brachiate.filter.schedule.contact_schedule import ContactLink, has_torque_limits, make_leg_actuators, make_window
from brachiate.filter.settings import FilterSettings
from brachiate.kinematics_batch import BatchKinematics
from brachiate.model.data import Data
from brachiate.model.joints import BALL
from brachiate.model.model import Model

MEMORY, MEMORY_MAX_FRAMES = 4.0, 4000  # [s], [frames] of the past that are kept
MAX_DELAY = 40_000  # [frames] of latency
MAX_FLIGHT_BOUNDARIES = 8  # ahead of the present frame, at which plans place nodes
MAX_STANCES = 256  # of a leg, that are kept
#: Arrays of the window with a row per frame, and what each row has: see ReferenceStream._width.
PER_FRAME = {"q": "nq", "v": "nv", "a": "nv", "contact_mask": "soles", "upcoming_mask": "soles", "corner_positions": "corners"}
PER_FRAME |= dict.fromkeys(
    ("in_contact", "stance_index", "next_stance_index", "time_to_landing", "load_share", "foot_offset", "foot_offset_rate"), "legs"
)
PER_FRAME |= {"max_vertical_force": "limited", "motor_point": "limited", "motor_rows": "motors"}
PER_FRAME |= dict.fromkeys(
    (
        "long_flight", "height_slack", "com", "com_velocity", "com_acceleration", "angular_momentum", "angular_momentum_rate",
        "orientation_offset", "locked_inertia",
    ),
    "one",
)  # fmt: skip


def foot_soles(model: Model) -> tuple[ContactLink, ...]:
    """Soles of a figure: feet, and toes that bend."""
    found: list[ContactLink] = []
    for leg, foot in enumerate(find_feet(find_landmarks(model))):
        found.append(ContactLink(foot.link, leg, to_link_frame(model, foot.link, foot.corners), True))
        if foot.toes is not None:
            found.append(ContactLink(foot.toes.link, leg, to_link_frame(model, foot.toes.link, foot.toes.corners), False))
    return tuple(found)


class ReferenceStream:
    """Buffer of incoming reference frames.

    Args:
        model: Model of the figure.
        settings: Settings for this body.
        dt: Frame interval [s].
        latency: Time between the arrival of a frame and its tracking [s].
        ground_height: Height of the ground in the simulation [m].
    """

    def __init__(self, model: Model, settings: FilterSettings, dt: float, latency: float, ground_height: float) -> None:
        self.model, self.settings, self.dt = model, settings, dt
        self.soles = foot_soles(model)
        self.memory, delay = min(int(MEMORY / dt), MEMORY_MAX_FRAMES), int(latency / dt)  #: frames of the past that are kept
        self._max_predicted = int(settings.horizon / dt) + 1
        self.capacity = 2 * self.memory + delay + int(settings.startup_time / dt) + self._max_predicted + 8
        if delay > MAX_DELAY or self.capacity > 3 * MAX_DELAY:
            raise ArgumentError(
                f"latency, startup_time and horizon need a buffer of {self.capacity} frames of {1000 * dt:g} ms; at most {3 * MAX_DELAY} "
                "are kept. Choose shorter times or a longer dt."
            )
        legs, limited = 1 + max(sole.leg for sole in self.soles), has_torque_limits(model.effort)
        self._width = {
            "nq": model.nq,
            "nv": model.nv,
            "soles": len(self.soles),
            "corners": MAX_CORNERS * len(self.soles),
            "legs": legs,
            "limited": legs if limited else 0,
            "motors": MAX_MOTORS * legs if limited else 0,
            "one": 1,
        }
        self._actuators = ArrayHandle(make_leg_actuators(model, self.soles, model.effort))
        self.window = self._allocate_window(legs)
        self.handle = ArrayHandle(self.window)
        self._data = Data(model)
        self.estimator = _make_estimator(model, self.soles, settings, dt, self.capacity)
        self.estimator.ground_height[0] = ground_height
        self._estimator_handle = ArrayHandle(self.estimator)
        self._names = [name for name, joint in model.joints.items() for _ in range(joint.q.stop - joint.q.start)]
        self._names_v = [name for name, joint in model.joints.items() for _ in range(joint.v.stop - joint.v.start)]

    def _allocate_window(self, legs: int) -> ReferenceWindow:
        sizes = {name: self.capacity * self._width[kind] for name, kind in PER_FRAME.items()}
        sizes |= {"stance_frames": legs * MAX_STANCES, "stance_count": legs, "flight_boundaries": MAX_FLIGHT_BOUNDARIES}
        fields = array_fields(ReferenceWindow)
        arrays: dict[str, ArrayLike] = {name: np.zeros((size, *fields[name].row)) for name, size in sizes.items()}
        arrays |= {
            "frame_count": [0],
            "dt": [self.dt],
            "terrain_gradient": [0.0, 0.0],
            "stair_direction": [0.0, 0.0],
            "leg": [sole.leg for sole in self.soles],
            "swings": [sole.swings for sole in self.soles],
            "corner_count": [len(sole.corners) for sole in self.soles],
            "foothold_range": np.tile((-np.inf, np.inf), (legs * MAX_STANCES, 1)),
        }
        return make_window(arrays)

    def __len__(self) -> int:
        """Return the number of received frames that are kept."""
        return int(self.estimator.known_frames[0])

    @property
    def full(self) -> bool:
        """Whether frames must be dropped before the next one is taken in."""
        return len(self) + self._max_predicted >= self.capacity

    def predict(self, k: int) -> bool:
        """Extend the window beyond the last frame by a prediction from history; returns whether there is one. Frame k is tracked next."""
        max_frames, lookahead = int(self.settings.horizon / self.dt), int(self.settings.stance_lookahead / self.dt)
        return predict_from_history(self.handle.key, self._estimator_handle.key, k, max_frames, lookahead) >= 0

    def take(self, frame: ArrayLike, fixed: int | None = None) -> None:
        """Take in the next frame, a configuration of the figure; contacts of frames before ``fixed`` (default: this one) stay."""
        q = validation.reals(frame, "frame", f"{self.model.nq} numbers")
        if q.shape != (self.model.nq,):
            raise ArgumentError(f"frame: expected {self.model.nq} numbers, the coordinates of {self.model.name!r}, got {q.shape}.")
        if not np.isfinite(q).all():
            n = int(np.flatnonzero(~np.isfinite(q))[0])
            raise ArgumentError(f"frame: {self._names[n]!r} is {q[n]}, not a number. Leave such frames out, or repeat the last one.")
        if len(self) >= self.capacity:
            raise StateError(f"The buffer of {self.capacity} frames is full: call drop_frames first.")
        self.estimator.frame[:] = q
        lookahead = int(self.settings.stance_lookahead / self.dt)
        status = process_frame(
            self._data.key,
            self.handle.key,
            self._estimator_handle.key,
            self._actuators.key,
            lookahead,
            len(self) if fixed is None else fixed,
        )
        if status:
            self._data.raise_status(status)
        k = int(self.estimator.jump_coordinate[0])
        if k >= 0:
            raise ArgumentError(
                f"frame: {self._names_v[k]!r} jumps by {abs(self.estimator.error[k]):.2f} m or rad from its predicted value. The frame is "
                f"rejected: send frames every {1000 * self.dt:g} ms, or start again with a new filter."
            )

    def drop_frames(self, k: int, feet: FootState) -> None:
        """Drop frames before frame k, and stances that ended before it."""
        window, est, f = self.window, self.estimator, len(self)
        frames = int(window.frame_count[0])  # with predicted ones: times to landing of swing feet refer to them
        for name, kind in PER_FRAME.items():
            array, width = getattr(window, name), self._width[kind]
            array[: (frames - k) * width] = array[k * width : frames * width].copy()
        soles, legs = len(self.soles), self._width["legs"]
        corners = tuple((array, MAX_CORNERS * soles) for array in (est.corner_speed, est.corner_height))
        rows = ((est.feature, int(est.feature_size[0])), *corners, (est.end_height, 2 * soles))
        for array, width in (*rows, (est.frame_load, legs), (est.previous, len(est.least)), (est.mode, 1)):
            array[: (f - k) * width] = array[k * width : f * width].copy()
        window.frame_count[0], est.known_frames[0] = frames - k, f - k
        est.first_valid_frame[0] = max(est.first_valid_frame[0] - k, 0)
        window.stance_frames[:] -= k
        for leg in range(self._width["legs"]):
            self._drop_stances(leg, f - k, feet)

    def _drop_stances(self, leg: int, frames: int, feet: FootState) -> None:
        """Drop stances of a leg that ended before the first frame."""
        window, legs = self.window, self._width["legs"]
        own = slice(leg * MAX_STANCES, (leg + 1) * MAX_STANCES)
        count = int(window.stance_count[leg])
        ended = int((window.stance_frames[own][: min(count - 1, feet.stance_index[leg])][:, 1] <= 0).sum()) if count > 1 else 0
        for array in (window.stance_frames, feet.planned_offset, feet.is_planned):
            array[own] = np.roll(array[own], -ended, axis=0)
        feet.is_planned[own][MAX_STANCES - ended :] = 0
        window.stance_count[leg] -= ended
        self.estimator.known_stances[leg] -= ended
        feet.stance_index[leg] -= ended
        for array in (window.stance_index, window.next_stance_index):
            array[: frames * legs][leg::legs] -= ended


def _make_estimator(model: Model, soles: Sequence[ContactLink], settings: FilterSettings, dt: float, capacity: int) -> EstimatorArrays:
    """Allocate the arrays of the contact estimator, with gains and geometry of the soles."""
    m, legs, bodies = len(soles), 1 + max(sole.leg for sole in soles), len(model.tree.parent)
    if legs > MAX_LEGS:
        raise ArgumentError(f"Online, contacts of at most {MAX_LEGS} feet are estimated; {model.name!r} has {legs}.")
    modes = MODES**legs
    features = sum(4 if kind >= BALL else 1 for kind in model.tree.kind) + model.nv
    length = dict.fromkeys(("q", "frame", "predicted_q"), model.nq) | dict.fromkeys(("v", "a", "error"), model.nv)
    length |= dict.fromkeys(("gain", "last_com_velocity", "last_angular_momentum"), 3)
    length |= dict.fromkeys(("sole_body", "hip", "leg_length", "sole_height", "sole_velocity"), m)
    length |= dict.fromkeys(("corner", "rest_height", "rest_time", "foothold", "foothold_time"), MAX_CORNERS * m)
    length |= dict.fromkeys(("phase_time", "phase_changed", "known_stances", "saved_phase"), legs)
    length |= {"frame_load": capacity * legs, "end_height": capacity * 2 * m}
    length |= dict.fromkeys(("corner_speed", "corner_height"), capacity * MAX_CORNERS * m)
    length |= {
        "end_point": 2 * legs,
        "end_costs": 2 * legs,
        "required": 2,
        "stand_cost": 2**legs,
        "previous": capacity * modes,
        "mode": capacity,
    }
    length |= dict.fromkeys(("mode_cost", "least", "reached", "reached_from"), modes)
    length |= dict.fromkeys(("floor_height", "floor_time", "ground_height", "known_frames", "first_valid_frame", "feature_size"), 1)
    length |= {"jump_coordinate": 1, "mass": 1, "members": bodies, "feature": capacity * features}
    est = EstimatorArrays(**{name: np.zeros((length[name], *kind.row), kind.dtype) for name, kind in array_fields(EstimatorArrays).items()})
    decay = math.exp(-settings.stream_bandwidth * dt)
    # Fading-memory polynomial filter of second order: errors of earlier frames are discounted by ``decay`` per frame
    est.gain[:] = 1.0 - decay**3, 1.5 * (1.0 - decay) ** 2 * (1.0 + decay), (1.0 - decay) ** 3
    est.members[:], est.feature_size[0], est.mass[0] = 1, features, model.mass
    est.first_valid_frame[0] = round(settings.startup_time / dt)
    poses = BatchKinematics(model).poses(np.atleast_2d(model.poses.get("stand", model.neutral)))
    for n, sole in enumerate(soles):
        place = model.placements[sole.link]
        points = place.position + sole.corners @ place.rotation.T
        est.sole_body[n], est.hip[n] = place.body, -1
        est.corner[MAX_CORNERS * n : MAX_CORNERS * n + len(points)] = points
        if sole.swings:
            chain = [place.body]
            while model.tree.parent[chain[-1]] >= 0:
                chain.append(int(model.tree.parent[chain[-1]]))
            est.hip[n] = chain[-2] if len(chain) > 1 else chain[-1]
            est.leg_length[n] = sum(float(np.linalg.norm(poses.x[a, 0] - poses.x[b, 0])) for a, b in pairwise(chain[:-1]))
    return est
