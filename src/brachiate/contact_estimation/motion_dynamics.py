"""Inverse dynamics of a motion with contacts: kinematics of contact points, ground reaction forces, joint torques, root residual."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from brachiate.anatomy.contact_points import find_contact_points
from brachiate.compiled import ArrayHandle, array_fields
from brachiate.contact_estimation.contact_set_residuals import residuals_of_contact_sets
from brachiate.contact_estimation.ground_reaction import (
    GRIP,
    NO_CONTACT,
    SUPPORT,
    GroundReactionArrays,
    compute_point_kinematics,
    estimate_contact_forces,
)
from brachiate.contact_estimation.point_columns import PointColumns
from brachiate.errors import MotionError
from brachiate.model.data import Data
from brachiate.model.joints import FLOAT
from brachiate.model.model import Model
from brachiate.motion.spline import MotionStates
from brachiate.motion.terrain import Terrain
from brachiate.validation import Array

# Frames evaluated together, ten seconds at 120 frames/s: kinematics of contact points, kilobytes a frame, are kept of one block only
BLOCK = 1280


class FrameBlock(NamedTuple):
    """Kinematics of consecutive frames; the next block overwrites the arrays. Sizes: n frames, s contact points, nb bodies."""

    frames: slice
    point_position: Array  # (n, s, 3) [m] lowest point of every contact sphere
    point_velocity: Array  # (n, s, 3) [m/s] its velocity relative to the ground
    body_position: Array  # (n, nb, 3) [m] body origins
    body_acceleration: Array  # (n, nb, 3) [m/s²] their accelerations


class MotionDynamics:
    """Inverse dynamics of a motion, frame by frame.

    Results are kept of all frames, contact modes and forces of points that are ever in contact. Kinematics of points and bodies are
    evaluated when they are asked for, in blocks: see :meth:`blocks`.

    Args:
        model: The figure, with a floating base.
        states: Configuration, velocity and acceleration in every frame.
        terrain: The ground.
        external_links: Links on which known external forces act.
        external_wrench: Force [N] and moment about the world origin [N·m] on each of them in every frame: (f, e, 6).
    """

    def __init__(
        self,
        model: Model,
        states: MotionStates,
        terrain: Terrain,
        external_links: tuple[str, ...] = (),
        external_wrench: Array | None = None,
    ) -> None:
        _check_root(model)
        self.model, self.states, self.terrain = model, states, terrain
        self.times = states.times
        self.cache: dict[Any, Any] = {}  #: Results that depend on the terrain, by key; cleared by ``set_terrain``.
        self.contact_points = find_contact_points(model)
        f, e = len(self.times), len(external_links)
        self._external_body = np.array([model.placements[name].body for name in external_links], np.int64)
        self._external_wrench = np.zeros((f, 0, 6)) if external_wrench is None else np.asarray(external_wrench, float).reshape(f, e, 6)
        #: Joint torques: (f, nv) [N·m or N]; at the root the residual.
        self.tau = np.zeros((f, model.nv))
        #: Center of mass: (f, 3) [m].
        self.com = np.zeros((f, 3))
        #: External force [N] and moment about the CoM [N·m] that the motion requires: (f, 6).
        self.required_wrench = np.zeros((f, 6))
        #: Part of the required wrench that contacts cannot provide: (f, 6).
        self.root_residual = np.zeros((f, 6))
        #: Number of frames in which the force estimation did not converge.
        self.unconverged_frames = 0
        self._contacts = PointColumns(f, len(self.contact_points))
        self._data = Data(model)
        self._arrays = self._make_arrays(min(BLOCK, f))
        self._handle = ArrayHandle(model.tree, self._data.work, self._arrays)
        self._loaded: tuple[int, bool] = -1, False  # first frame of the block in the arrays, and whether its kinematics are evaluated
        self._belt, self._belt_changes = np.zeros(3), list[Array]()
        for _ in self.blocks():  # the states are valid
            pass
        self.set_terrain(terrain)

    def _make_arrays(self, f: int) -> GroundReactionArrays:
        """Arrays of the kernels for f frames."""
        model, points = self.model, self.contact_points
        s, nb = len(points), len(model.tree.parent)
        inputs = {
            "point_body": points.body,
            "point_center": points.position,
            "point_radius": points.radius,
            "normal": self.terrain.normal,
            "friction": np.array([self.terrain.friction]),
            "external_body": self._external_body,
        }
        rows = dict.fromkeys(("point_position", "point_velocity", "contact_mode", "confidence", "contact_force"), f * s)
        rows |= dict.fromkeys(("body_position", "body_acceleration"), f * nb) | dict.fromkeys(
            ("com", "required_wrench", "root_residual"), f
        )
        rows |= dict.fromkeys(("active", "arm", "bias_force"), s) | dict.fromkeys(("M", "H"), 36) | dict.fromkeys(("x", "g", "d"), 6)
        rows |= {"q": f * model.nq, "external_wrench": f * len(self._external_body), "unconverged": 1, "frame_range": 2}
        rows |= dict.fromkeys(("v", "a", "tau"), f * model.nv)
        return GroundReactionArrays(*(
            np.ascontiguousarray(inputs[name]) if name in inputs else np.zeros((rows[name], *kind.row), kind.dtype)
            for name, kind in array_fields(GroundReactionArrays).items()
        ))  # fmt: skip

    def set_terrain(self, terrain: Terrain) -> None:
        """Change height, stairs or treadmill velocity of the ground; its plane (normal, friction) must be the same."""
        change = self._belt - terrain.velocity
        self._belt_changes.append(change)
        if self._loaded[1]:
            self._arrays.point_velocity[:] += change
        self.terrain, self._belt = terrain, terrain.velocity
        self.cache.clear()

    def _run(self, kernel: object, *arguments: Array) -> None:
        status = kernel(self._handle.key, *arguments)  # type: ignore[operator]
        if status:
            self._data.raise_status(status)

    def _load(self, start: int, *, kinematics: bool) -> None:
        """Copy the states of a block into the arrays of the kernels, and evaluate the kinematics of its points and bodies."""
        size, loaded = len(self._arrays.com), self._loaded
        if loaded[0] != start:
            frames = np.minimum(np.arange(start, start + size), len(self) - 1)  # beyond the end the last frame is repeated
            for name in ("q", "v", "a"):
                getattr(self._arrays, name)[:] = getattr(self.states, name)[frames].ravel()
            self._arrays.external_wrench[:] = self._external_wrench[frames].reshape(-1, 6)
            loaded = start, False
        self._loaded = -1, False
        if kinematics and not loaded[1]:
            self._run(compute_point_kinematics)
            for change in self._belt_changes:
                self._arrays.point_velocity[:] += change
        self._loaded = start, loaded[1] or kinematics

    def _spans(self, span: slice) -> Iterator[tuple[int, slice]]:
        """First frame of each block that has frames of a span, and these frames."""
        first, last, _ = span.indices(len(self))
        size = len(self._arrays.com)
        for start in range(first // size * size, last, size):
            yield start, slice(max(first, start), min(last, start + size))

    def blocks(self, span: slice = slice(None)) -> Iterator[FrameBlock]:
        """Kinematics of contact points and bodies in a span of frames, block by block."""
        for start, frames in self._spans(span):
            self._load(start, kinematics=True)
            rows = slice(frames.start - start, frames.stop - start)
            yield FrameBlock(frames, *(self._rows(name)[rows] for name in FrameBlock._fields[1:]))

    def _rows(self, name: str) -> Array:
        """Array of the kernels by frame of the block."""
        array = getattr(self._arrays, name)
        return array.reshape(len(self._arrays.com), -1, *array.shape[1:])

    def _collect(self, name: str, span: slice = slice(None)) -> Array:
        return np.concatenate([getattr(block, name).copy() for block in self.blocks(span)])

    def __len__(self) -> int:
        return len(self.times)

    @property
    def weight(self) -> float:
        """Weight of the figure [N]."""
        return self.model.mass * float(np.linalg.norm(self._data.work.gravity))

    @property
    def point_position(self) -> Array:
        """Lowest point of every contact sphere: (f, s, 3) [m]. Evaluated for all frames: see :meth:`blocks` for long motions."""
        return self._collect("point_position")

    @property
    def point_velocity(self) -> Array:
        """Velocity of that point relative to the ground: (f, s, 3) [m/s]; likewise."""
        return self._collect("point_velocity")

    def body_positions(self, span: slice = slice(None)) -> Array:
        """Body origins in a span of frames: (n, nb, 3) [m]."""
        return self._collect("body_position", span)

    @property
    def body_position(self) -> Array:
        """Body origins: (f, nb, 3) [m]."""
        return self.body_positions()

    @property
    def body_acceleration(self) -> Array:
        """Accelerations of the body origins: (f, nb, 3) [m/s²]."""
        return self._collect("body_acceleration")

    def contacts(self, frames: slice = slice(None)) -> tuple[Array, Array, Array]:
        """Contact modes (n, s), confidences (n, s) and contact forces (n, s, 3) [N] of all points in some frames."""
        return self._contacts.mode(frames), self._contacts.confidence(frames), self._contacts.force(frames)

    @property
    def contact_mode(self) -> Array:
        """Contact mode of every point: NO_CONTACT, SUPPORT or GRIP (f, s)."""
        return self._contacts.mode(slice(None))

    @property
    def confidence(self) -> Array:
        """Confidence that a point carries load, up to 1 (f, s)."""
        return self._contacts.confidence(slice(None))

    @property
    def contact_force(self) -> Array:
        """Contact forces at the points: (f, s, 3) [N]."""
        return self._contacts.force(slice(None))

    @property
    def in_contact(self) -> Array:
        """Whether any point is in contact: (f,)."""
        return self._contacts.in_contact()

    def points_with(self, mode: int) -> Array:
        """Points that ever have a contact mode, in increasing order."""
        return self._contacts.points_with(mode)

    def residuals_of_sets(self, sets: Array, count: int, points: Array, grips: Sequence[int] = (), span: slice = slice(None)) -> Array:
        """Root residual, force [N] and moment about the CoM [N·m], for several sets of parts in contact: (n, count, 6).

        Args:
            sets: Bit j of a part in a frame of the span: whether the part is in contact in set j (n, p).
            count: Number of sets.
            points: Whether each contact point of a support may be in contact (s,).
            grips: Parts whose contact is a grip, at one point; all others are supports.
            span: Frames.
        """
        first, part = span.indices(len(self))[0], self.contact_points.part
        found, start = np.zeros((len(sets), count, 6)), np.zeros((count, 6))
        bits, residual = np.zeros((len(self._arrays.com), len(part)), np.int64), np.zeros((len(self._arrays.com) * count, 6))
        at = points.copy()
        for grip in grips:
            of_grip = np.flatnonzero(part == grip)
            at[of_grip] = of_grip == of_grip[0]
        mode = np.where(np.isin(part, grips), GRIP, SUPPORT)
        for block, frames in self._spans(span):
            self._load(block, kinematics=False)
            rows, given = slice(frames.start - block, frames.stop - block), slice(frames.start - first, frames.stop - first)
            bits[rows] = sets[given][:, part] * at
            self._rows("contact_mode")[rows] = np.where(bits[rows] != 0, mode, NO_CONTACT)
            self._rows("confidence")[rows] = 1.0
            self._arrays.frame_range[:] = rows.start, rows.stop
            self._run(residuals_of_contact_sets, bits.ravel(), start, residual)
            for name in ("com", "required_wrench"):
                getattr(self, name)[frames] = getattr(self._arrays, name)[rows]
            found[given] = residual.reshape(-1, count, 6)[rows]
        return found

    def estimate_forces(self, contact_mode: Array, confidence: Array, span: slice = slice(None)) -> None:
        """Estimate contact forces, joint torques and root residual for these contacts in a span of frames."""
        self.estimate_forces_in_parts([(contact_mode, confidence, span)])

    def estimate_forces_in_parts(self, parts: Iterable[tuple[Array, Array, slice]]) -> None:
        """The same for consecutive spans of frames, each with its contact modes and confidences (n, s)."""
        self._arrays.x[:], self._arrays.unconverged[:] = 0.0, 0
        for contact_mode, confidence, span in parts:
            first = span.indices(len(self))[0]
            for start, frames in self._spans(span):
                self._load(start, kinematics=False)
                rows, given = slice(frames.start - start, frames.stop - start), slice(frames.start - first, frames.stop - first)
                self._rows("contact_mode")[rows], self._rows("confidence")[rows] = contact_mode[given], confidence[given]
                self._arrays.frame_range[:] = rows.start, rows.stop
                self._run(estimate_contact_forces)
                for name in ("com", "required_wrench", "root_residual"):
                    getattr(self, name)[frames] = getattr(self._arrays, name)[rows]
                self.tau[frames] = self._rows("tau")[rows]
                self._contacts.store(frames, *(self._rows(name)[rows] for name in ("contact_mode", "confidence", "contact_force")))
        self.unconverged_frames = int(self._arrays.unconverged[0])


def _check_root(model: Model) -> None:
    roots = [link for link in model.links.values() if link.parent is None]
    if len(roots) != 1 or [e.kind for e in roots[0].joint.elements] != [FLOAT]:
        raise MotionError(
            f"Figure {model.name!r} has no floating base, so its motion does not determine the external forces. "
            "Load a robot with floating_base=True."
        )
