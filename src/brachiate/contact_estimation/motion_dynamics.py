"""Track: a motion frame by frame, with what its spots do and what carries it, by compiled code over all frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from brachiate.anatomy.contact_points import spots_of
from brachiate.compiled import Handle, fields_of
from brachiate.contact_estimation.ground_reaction import Frames, carry, watch
from brachiate.errors import MotionError
from brachiate.model.data import Data
from brachiate.model.joints import FLOAT
from brachiate.model.model import Model
from brachiate.motion.spline import Moments
from brachiate.motion.terrain import Ground
from brachiate.validation import Array


class Track:
    """Frames of a figure's motion.

    Args:
        model: The figure; its root must be free.
        moments: State and acceleration in every frame.
        ground: What it is on.
        pushed: Links that others push, by known forces.
        push: Force [N] and moment about the world's origin [N·m] on each of them in every frame: (f, e, 6).
    """

    def __init__(self, model: Model, moments: Moments, ground: Ground, pushed: tuple[str, ...] = (), push: Array | None = None) -> None:
        _check_root(model)
        self.model, self.moments, self.ground = model, moments, ground
        self.times = moments.times
        self.known: dict[Any, Any] = {}  # what was asked for already, and will be again
        self.spots = spots_of(model)
        f, s, nb, nv = len(self.times), len(self.spots), len(model.tree.parent), model.nv
        given = {
            "q": moments.q.ravel(),
            "v": moments.v.ravel(),
            "a": moments.a.ravel(),
            "body": self.spots.body,
            "at": self.spots.at,
            "radius": self.spots.radius,
            "normal": ground.normal,
            "friction": np.array([ground.friction]),
            "pushed": np.array([model.placements[name].body for name in pushed], np.int64),
            "push": np.zeros((0, 6)) if push is None else np.ascontiguousarray(push, float).reshape(-1, 6),
        }
        rows = dict.fromkeys(("place", "speed", "how", "sure", "force"), f * s) | dict.fromkeys(("joint", "jolt"), f * nb)
        rows |= dict.fromkeys(("centre", "needed", "left"), f) | dict.fromkeys(("live", "arm", "lean"), s) | dict.fromkeys(("M", "H"), 36)
        rows |= dict.fromkeys(("x", "g", "d"), 6) | {"tau": f * nv, "missed": 1, "span": 2}
        self._frames = Frames(*(
            np.ascontiguousarray(given[name]) if name in given else np.zeros((rows[name], *kind.row), kind.dtype)
            for name, kind in fields_of(Frames).items()
        ))  # fmt: skip
        self._data = Data(model)
        self._handle = Handle(model.tree, self._data.work, self._frames)
        self._run(watch)
        self._belt = np.zeros(3)
        self.stand_on(ground)

    def stand_on(self, ground: Ground) -> None:
        """See spots from another ground; only the plane must be the same."""
        self._frames.speed[:] += self._belt - ground.velocity
        self.ground, self._belt = ground, ground.velocity
        self.known.clear()

    def _run(self, what: object) -> None:
        status = what(self._handle.key)  # type: ignore[operator]
        if status:
            self._data.refuse(status)

    def _rows(self, name: str) -> Array:
        array = getattr(self._frames, name)
        return array.reshape(len(self.times), -1, *array.shape[1:]) if array.ndim > 1 else array.reshape(len(self.times), -1)

    def __len__(self) -> int:
        return len(self.times)

    @property
    def weight(self) -> float:
        """Of the figure [N]."""
        return self.model.mass * float(np.linalg.norm(self._data.work.gravity))

    @property
    def place(self) -> Array:
        """The lowest point of every spot: (f, s, 3) [m]."""
        return self._rows("place")

    @property
    def speed(self) -> Array:
        """Velocity of that point, seen from the ground: (f, s, 3) [m/s]."""
        return self._rows("speed")

    @property
    def joint(self) -> Array:
        """Where bodies are: (f, nb, 3) [m]."""
        return self._rows("joint")

    @property
    def jolt(self) -> Array:
        """Accelerations of those points: (f, nb, 3) [m/s²]."""
        return self._rows("jolt")

    @property
    def how(self) -> Array:
        """What every spot does: NOTHING, STANDS or HOLDS (f, s)."""
        return self._rows("how")

    @property
    def sure(self) -> Array:
        """How surely it bears (f, s)."""
        return self._rows("sure")

    @property
    def force(self) -> Array:
        """Forces at spots: (f, s, 3) [N]."""
        return self._rows("force")

    @property
    def tau(self) -> Array:
        """Torques of joints: (f, nv) [N·m or N]; at the root what is left to it."""
        return self._rows("tau")

    @property
    def centre(self) -> Array:
        """Of mass: (f, 3) [m]."""
        return self._frames.centre

    @property
    def needed(self) -> Array:
        """Force [N] and moment about the centre of mass [N·m] that must come from outside: (f, 6)."""
        return self._frames.needed

    @property
    def left(self) -> Array:
        """What of it contacts cannot bring: (f, 6)."""
        return self._frames.left

    @property
    def missed(self) -> int:
        """Frames for which no forces were found to the last digit."""
        return int(self._frames.missed[0])

    def carry(self, how: Array, sure: Array, span: slice = slice(None)) -> None:
        """Find the forces of spots that do this, and all that follows, in a span of frames."""
        self.how[span], self.sure[span] = how, sure
        self._frames.span[:] = span.indices(len(self))[:2]
        self._run(carry)


def _check_root(model: Model) -> None:
    roots = [link for link in model.links.values() if link.parent is None]
    if len(roots) != 1 or [e.kind for e in roots[0].joint.elements] != [FLOAT]:
        raise MotionError(
            f"Figure {model.name!r} does not move freely in space: only then its motion says what must carry it. "
            "Read a robot with floating=True."
        )
