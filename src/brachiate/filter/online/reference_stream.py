"""Stream: a reference that comes in frame by frame, as much of it as is needed, and what is known of it."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.anatomy.feet import feet_of, in_link
from brachiate.anatomy.landmarks import landmarks_of
from brachiate.centroidal.problem import MOTORS
from brachiate.compiled import Handle, fields_of
from brachiate.errors import ArgumentError, StateError
from brachiate.filter.online.contact_estimator import Senses, sense
from brachiate.filter.online.motion_prediction import recall
from brachiate.filter.schedule.arrays import CORNERS, Ahead, Footing
from brachiate.filter.schedule.contact_schedule import Sole, ahead_of, limited, motors_of
from brachiate.filter.settings import FilterSettings
from brachiate.kinematics_batch import Many
from brachiate.model.data import Data
from brachiate.model.joints import BALL
from brachiate.model.model import Model

MEMORY, MOST = 4.0, 4000  # [s], and frames at most, that are remembered
LONGEST = 40_000  # frames that may wait
STANCES = 256  # of a leg, that are remembered
PER_FRAME = {"q": "nq", "v": "nv", "a": "nv", "bears": "soles", "soon": "soles", "places": "corners"}
PER_FRAME |= dict.fromkeys(("on", "stance", "coming", "until", "share", "moved", "moved_rate"), "legs")
PER_FRAME |= {"most": "limited", "spot": "limited", "motor": "motors"}
PER_FRAME |= dict.fromkeys(("long_flight", "slack", "centre", "speed", "acceleration", "spin", "turning", "turn", "inertia"), "one")


def soles_of(model: Model) -> tuple[Sole, ...]:
    """What of a figure stands: its feet, and toes that bend."""
    found: list[Sole] = []
    for leg, foot in enumerate(feet_of(landmarks_of(model))):
        found.append(Sole(foot.link, leg, in_link(model, foot.link, foot.corners), True))
        if foot.toes is not None:
            found.append(Sole(foot.toes.link, leg, in_link(model, foot.toes.link, foot.toes.corners), False))
    return tuple(found)


class Stream:
    """Takes in frames.

    Args:
        model: The figure's.
        settings: For this body.
        dt: From one frame to the next [s].
        preview: [s] for which frames wait before they are followed.
        ground: Height of what it is to stand on [m].
    """

    def __init__(self, model: Model, settings: FilterSettings, dt: float, preview: float, ground: float) -> None:
        self.model, self.settings, self.dt = model, settings, dt
        self.soles = soles_of(model)
        #: Frames of the past that are remembered, and those that may wait or be recalled.
        self.memory, waiting = min(int(MEMORY / dt), MOST), int(preview / dt)
        self._ahead_of_it = int(settings.preview / dt) + 1
        self.capacity = 2 * self.memory + waiting + int(settings.listen / dt) + self._ahead_of_it + 8
        if waiting > LONGEST or self.capacity > 3 * LONGEST:
            raise ArgumentError(
                f"preview and listen: {self.capacity} frames of {1000 * dt:g} ms would have to be kept. Choose less, or longer steps."
            )
        legs = 1 + max(sole.leg for sole in self.soles)
        self._width = {"nq": model.nq, "nv": model.nv, "soles": len(self.soles), "legs": legs, "one": 1}
        self._width["corners"] = CORNERS * len(self.soles)
        self._motors = Handle(motors_of(model, self.soles, model.effort))
        self._width["limited"] = legs if limited(model.effort) else 0
        self._width["motors"] = MOTORS * self._width["limited"]
        self.room = self._ahead(legs)
        self.handle = Handle(self.room)
        self._data = Data(model)
        self.senses = self._senses(legs, ground)
        self._senses_handle = Handle(self.senses)
        self._names = [name for name, joint in model.joints.items() for _ in range(joint.q.stop - joint.q.start)]
        self._names_v = [name for name, joint in model.joints.items() for _ in range(joint.v.stop - joint.v.start)]

    def _ahead(self, legs: int) -> Ahead:
        sizes = {name: self.capacity * self._width[kind] for name, kind in PER_FRAME.items()}
        sizes |= {"spans": legs * STANCES, "span_count": legs, "changes": 0}
        fields = fields_of(Ahead)
        arrays: dict[str, ArrayLike] = {name: np.zeros((size, *fields[name].row)) for name, size in sizes.items()}
        arrays |= {"frames": [0], "step": [self.dt], "gradient": [0.0, 0.0], "way": [0.0, 0.0], "leg": [sole.leg for sole in self.soles]}
        arrays |= {"leads": [sole.leads for sole in self.soles], "corners": [len(sole.corners) for sole in self.soles]}
        arrays["room"] = np.tile((-np.inf, np.inf), (legs * STANCES, 1))
        return ahead_of(arrays)

    def _senses(self, legs: int, ground: float) -> Senses:
        model, m = self.model, len(self.soles)
        length = {
            "gain": 3,
            "limb": m,
            "hip": m,
            "leg_length": m,
            "lowest": m,
            "falls": m,
            "since": legs,
            "load": legs,
            "doubt": legs,
            "changed": legs,
            "floor": 1,
            "ground": 1,
            "jumps": 1,
        }
        length |= dict.fromkeys(("corner", "down", "rest", "place", "weight"), CORNERS * m) | dict.fromkeys(("last_speed", "last_spin"), 3)
        size = sum(4 if kind >= BALL else 1 for kind in model.tree.kind) + model.nv
        length |= {"known": 1, "first": 1, "span_known": legs, "kept": 3 * legs, "feature": self.capacity * size, "feature_size": 1}
        length |= {"members": len(model.tree.parent), "seen": self.capacity * m} | dict.fromkeys(("q", "raw", "next"), model.nq)
        room = Senses(**{name: np.zeros((length.get(name, model.nv), *kind.row), kind.dtype) for name, kind in fields_of(Senses).items()})
        part = math.exp(-self.settings.sharp * self.dt)
        # A fading memory of a parabola: all errors of a step before count less by this part
        room.gain[:] = 1.0 - part**3, 1.5 * (1.0 - part) ** 2 * (1.0 + part), (1.0 - part) ** 3
        room.ground[0], room.members[:], room.feature_size[0] = ground, 1, size
        room.first[0] = round(self.settings.listen / self.dt)
        poses = Many(model).poses(np.atleast_2d(model.poses.get("stand", model.neutral)))
        for n, sole in enumerate(self.soles):
            place = model.placements[sole.link]
            points = place.position + sole.corners @ place.rotation.T
            room.limb[n], room.hip[n] = place.body, -1
            room.corner[CORNERS * n : CORNERS * n + len(points)] = points
            if sole.leads:
                chain = [place.body]
                while model.tree.parent[chain[-1]] >= 0:
                    chain.append(int(model.tree.parent[chain[-1]]))
                room.hip[n] = chain[-2] if len(chain) > 1 else chain[-1]
                room.leg_length[n] = sum(float(np.linalg.norm(poses.x[a, 0] - poses.x[b, 0])) for a, b in pairwise(chain[:-1]))
        return room

    def __len__(self) -> int:
        """How many frames have come in and are remembered."""
        return int(self.senses.known[0])

    @property
    def full(self) -> bool:
        """Whether something is to be forgotten before the next frame."""
        return len(self) + self._ahead_of_it >= self.capacity

    def recall(self) -> bool:
        """Go on from the last frame with what came after one like it, if there is one."""
        most, look = int(self.settings.preview / self.dt), int(self.settings.look / self.dt)
        return recall(self.handle.key, self._senses_handle.key, most, look) >= 0

    def take(self, frame: ArrayLike) -> None:
        """Take in the next frame: a configuration of the figure."""
        raw = validation.reals(frame, "frame", f"{self.model.nq} numbers")
        if raw.shape != (self.model.nq,):
            raise ArgumentError(f"frame: expected {self.model.nq} numbers, the coordinates of {self.model.name!r}, got {raw.shape}.")
        if not np.isfinite(raw).all():
            n = int(np.flatnonzero(~np.isfinite(raw))[0])
            raise ArgumentError(f"frame: {self._names[n]!r} is {raw[n]}, not a number. Leave such frames out, or repeat the last one.")
        if len(self) >= self.capacity:
            raise StateError(f"There is no room for more than {self.capacity} frames: forget some first.")
        self.senses.raw[:] = raw
        status = sense(self._data.key, self.handle.key, self._senses_handle.key, self._motors.key, int(self.settings.look / self.dt))
        if status:
            self._data.refuse(status)
        k = int(self.senses.jumps[0])
        if k >= 0:
            raise ArgumentError(
                f"frame: {self._names_v[k]!r} jumps by {abs(self.senses.e[k]):.2f} m or rad from where it was going. It was not taken: "
                f"send frames every {1000 * self.dt:g} ms, or begin anew with another filter."
            )

    def forget(self, k: int, footing: Footing) -> None:
        """Drop frames before frame k, and stances that have ended before it."""
        S, f = self.room, len(self)
        frames = int(S.frames[0])  # those that are recalled among them: feet in the air know by these when they land
        for name, kind in PER_FRAME.items():
            array, width = getattr(S, name), self._width[kind]
            array[: (frames - k) * width] = array[k * width : frames * width].copy()
        X, size = self.senses, int(self.senses.feature_size[0])
        X.feature[: (f - k) * size] = X.feature[k * size : f * size].copy()
        soles = len(self.soles)
        X.seen[: (f - k) * soles] = X.seen[k * soles : f * soles].copy()
        S.frames[0], X.known[0] = frames - k, f - k
        X.first[0] = max(X.first[0] - k, 0)
        legs = self._width["legs"]
        S.spans[:] -= k
        for leg in range(legs):
            mine = slice(leg * STANCES, (leg + 1) * STANCES)
            count = int(S.span_count[leg])
            ended = int((S.spans[mine][: min(count - 1, footing.stance[leg])][:, 1] <= 0).sum()) if count > 1 else 0
            for array in (S.spans, footing.aims, footing.aimed):
                array[mine] = np.roll(array[mine], -ended, axis=0)
            footing.aimed[mine][STANCES - ended :] = 0
            S.span_count[leg] -= ended
            X.span_known[leg] -= ended
            footing.stance[leg] -= ended
            for array in (S.stance, S.coming):
                array[: (f - k) * legs][leg::legs] -= ended
