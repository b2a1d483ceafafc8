"""Contact state of one :class:`~brachiate.Data`: collision geometry, materials, and what is kept from step to step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from brachiate.compiled import ArrayHandle, array_fields
from brachiate.constraints.constraint_set import ConstraintSet
from brachiate.constraints.limits import limit_arrays
from brachiate.contact.arrays import FOUND, KEPT, PLANE, CollisionGeometry, CollisionScratch, ContactPatches
from brachiate.contact.collision.collision_shapes import collision_handle
from brachiate.contact.collision.narrow_phase import detect, find_contacts
from brachiate.contact.solver.solve import new_problem
from brachiate.contact.stepping.contact_log import ContactLog, ContactSample
from brachiate.contact.stepping.contact_rows import DETECT, ContactArrays
from brachiate.contact.stepping.impulses import apply_contact_impulses
from brachiate.contact.stepping.run import PART_ELAPSED, run_contact_steps
from brachiate.contact.stepping.step_control import CONSTANT_TORQUES
from brachiate.contact.stepping.time_of_impact import FAST_DISPLACEMENT, MAX_TURN
from brachiate.kinematics import update_motion, update_poses
from brachiate.model.data import Data
from brachiate.model.material import Material
from brachiate.model.status import OK, TOO_MANY_CONTACTS

DETECTION_MARGIN = 0.002  # [m] patches are detected up to this gap, and farther for fast shapes
TORSION_SCALE = 1.0  # torsional friction as if the load were at the corners
_INITIAL_PATCHES, MAX_PATCHES = 16, 512  # the dense problem of 512 patches takes about 400 MB

# Fields of ContactArrays by size, and those that the next step depends on.
_SCALARS = (
    "functions", "margin", "cold_start", "limits_enabled", "divided", "gap_time", "swept_time", "fast_speed", "restitution_scale",
    "rebounds", "last_dt", "old_count", "penetration", "stuck_pair", "stuck_depth", "stuck_travel", "max_penetration", "max_residual",
    "hardest_method", "twist_wanted",
)  # fmt: skip
_VELOCITIES = ("predicted_acceleration", "contact_acceleration", "v_mid", "v_start", "half_jump", "jump_bias", "v_free", "v_part")
_CONTACT_MEMORY = ("old_pair", "old_feature", "old_corners", "old_row_start", "old_normal_mode", "old_tangential_mode", "old_w")
_STEP_MEMORY = ("cold_start", "predicted_acceleration", "contact_acceleration", "last_dt", "old_count", "stuck_depth", "stuck_travel")
_MEMORY = (*_STEP_MEMORY, *_CONTACT_MEMORY)
_MEMORY_VALUES = tuple(name for name in _MEMORY if array_fields(ContactArrays)[name].dtype == "float64")
_MEMORY_NUMBERS = tuple(name for name in _MEMORY if name not in _MEMORY_VALUES)
_INTERRUPTED = ("part", "max_penetration", "max_residual", "hardest_method")  # memory of a divided step that is interrupted
_INSTANT = 1e-3  # [s] short enough for small motion, long enough for gaps of round-off size to be negligible


class ContactMemory(NamedTuple):
    """Copy of what the next step depends on besides the state: warm start and predictions."""

    lengths: Mapping[str, int]  # of the arrays of _MEMORY
    values: np.ndarray  # those of floats, one after the other
    numbers: np.ndarray  # those of integers
    faces: np.ndarray  # face on which boxes of every pair were


class InstantResult(NamedTuple):
    """Contacts and accelerations at an instant, by a very short step."""

    sample: ContactSample  # contacts
    acceleration: np.ndarray  # (nv,)
    q: np.ndarray  # (nq,) the state after the step
    v: np.ndarray  # (nv,)
    seconds: float  # length of the step


class Overlap(NamedTuple):
    """Two shapes that overlap."""

    pair: int
    depth: float  # [m]
    point: np.ndarray  # (3,) [m] deepest point, in the world
    normal: np.ndarray  # (3,) from the first shape to the second
    bounded: bool  # whether the first shape is bounded: out of planes and height fields the way is always up


class ContactState:
    """Owner of the contact arrays; ``contact_state.key`` is what compiled entry points take."""

    def __init__(self, data: Data, constraint_set: ConstraintSet, geometry: CollisionGeometry, materials: Sequence[Material]) -> None:
        self.data, self.constraint_set, self.geometry = data, constraint_set, geometry
        self._materials = list(materials)
        self._update_limits()
        self.limits_enabled = True  # whether joints stop at their limits
        self._divided = False  # whether steps with fast bodies are divided
        self._allocate(_INITIAL_PATCHES)

    def _allocate(self, patches: int) -> None:
        """Allocate the arrays for so many patches, and for all joint limits."""
        pairs, limits, nv = len(self.geometry.pair), len(self.limits.kind), self.data.model.nv
        rows = 6 * patches + limits
        length = dict.fromkeys(("friction", "static_friction", "restitution", "stiffness", "damping", "torsion_scale"), pairs)
        length |= dict.fromkeys(_SCALARS, 1)
        length |= dict.fromkeys(_VELOCITIES, nv) | {"old_w": rows, "twist": rows}
        length |= {"part": 4, "q_part": self.data.model.nq, "face_part": pairs}
        length |= {"kept_values": self.data.model.nq + 3 * nv + 5 + rows + len(self.constraint_set.arrays.q)}
        length |= {"kept_numbers": 3 + pairs + 6 * (patches + limits)}
        collision = collision_handle(self.geometry, patches)
        self.patches = cast(ContactPatches, collision.structs[1])
        self._scratch = cast(CollisionScratch, collision.structs[2])
        self.problem = new_problem(patches + limits)
        arrays = _arrays(ContactArrays, patches + limits, length)
        self._lengths = {name: len(arrays[name]) for name in _MEMORY}
        self._values = np.zeros(sum(self._lengths[name] for name in _MEMORY_VALUES))
        self._numbers = np.zeros(sum(self._lengths[name] for name in _MEMORY_NUMBERS), np.int64)
        self.arrays = contact = ContactArrays(**arrays | _memory_views(self._lengths, self._values, self._numbers))
        contact.functions[DETECT], contact.margin[0], contact.cold_start[0] = detect.address, DETECTION_MARGIN, 1
        contact.divided[0] = int(self._divided)
        contact.limits_enabled[0], contact.last_dt[0], contact.fast_speed[0] = int(self.limits_enabled), 1.0, np.inf
        contact.torsion_scale[:] = TORSION_SCALE
        for n, material in enumerate(self._materials):
            contact.friction[n], contact.static_friction[n], contact.restitution[n] = (
                material.friction,
                material.sticking,
                material.restitution,
            )
            contact.stiffness[n], contact.damping[n] = material.stiffness or 0.0, material.damping
        self.handle = ArrayHandle(*collision.structs, self.problem, self.arrays, self.limits)
        self._problem_handle = ArrayHandle(self.problem)
        self.constraint_set.reserve_contacts(patches + limits)

    @property
    def key(self) -> Any:
        """First argument of compiled entry points; a copy has its own."""
        return self.handle.key

    @property
    def problem_key(self) -> Any:
        """The same of the contact problem alone."""
        return self._problem_handle.key

    def __reduce__(self) -> Any:
        """Copy and pickle the values; addresses of arrays and functions are only valid in this process and for these arrays."""
        values = self._materials, self.limits_enabled, len(self.patches.pair), self.save_memory()
        return _restored, (self.data, self.constraint_set, self.geometry, *values)

    def _update_limits(self) -> None:
        """Update the joint limits: those of loop joints come and go with connections."""
        self._limited = dict(self.constraint_set.limited_joints)
        self.limits = limit_arrays(self.data.model, self.constraint_set)

    def enlarge(self) -> None:
        """Make room for more patches than fitted.

        Raises:
            StateError: There are more than MAX_PATCHES. Nothing has changed.
        """
        if not self.has_room:
            self.data.raise_status(TOO_MANY_CONTACTS)
        room, found = len(self.patches.pair), int(self.patches.count[FOUND])
        memory, before = self.save_memory(), self.arrays
        self._allocate(min(2 * max(room, found), MAX_PATCHES))
        self.restore_memory(memory)
        if before.part[PART_ELAPSED] > 0.0:
            for name in _INTERRUPTED:
                getattr(self.arrays, name)[:] = getattr(before, name)

    @property
    def has_room(self) -> bool:
        """Whether more patches than fitted would be at most MAX_PATCHES."""
        return max(len(self.patches.pair) + 1, int(self.patches.count[FOUND])) <= MAX_PATCHES

    @property
    def interrupted(self) -> bool:
        """Whether a divided step is interrupted in its midst, as its contacts do not fit."""
        return bool(self.arrays.part[PART_ELAPSED] > 0.0)

    @property
    def face_memory(self) -> np.ndarray:
        """Face on which boxes of every pair were last: part of the memory that every collision detection changes."""
        return self._scratch.last_face

    def save_memory(self) -> ContactMemory:
        """Copy of the memory of the step before."""
        return ContactMemory(self._lengths, self._values.copy(), self._numbers.copy(), self.face_memory.copy())

    def restore_memory(self, memory: ContactMemory | None) -> None:
        """Restore a copy of that memory, with room for the same or another number of patches; reset it if it is of another model."""
        if memory is None:
            self.reset_memory()
        elif memory.lengths == self._lengths and len(memory.faces) == len(self.face_memory):
            self._values[:], self._numbers[:], self.face_memory[:] = memory.values, memory.numbers, memory.faces
        else:
            self._restore_resized(memory)

    def _restore_resized(self, memory: ContactMemory) -> None:
        """Restore a memory of other arrays."""
        views = _memory_views(memory.lengths, memory.values, memory.numbers)
        if int(views["old_count"][0]) > len(self.arrays.old_pair):
            self._allocate(int(views["old_count"][0]))
        if len(memory.faces) != len(self.face_memory) or any(memory.lengths[name] != self._lengths[name] for name in _STEP_MEMORY):
            self.reset_memory()
            return
        self.face_memory[:] = memory.faces
        for name, values in views.items():
            mine = getattr(self.arrays, name)
            n = min(len(mine), len(values))  # of contacts that there are not, nothing is known
            mine[:n] = values[:n]

    def begin_run(self, *, divided: bool = False) -> None:
        """Begin a run: drop the old factorization, so that results depend only on the state and the memory of the step before.

        ``divided``: whether steps with fast bodies are divided.
        """
        if self.constraint_set.limited_joints != self._limited:
            memory = self.save_memory()
            self._update_limits()
            self._allocate(len(self.patches.pair))
            self.restore_memory(memory)
        self.problem.factor_key[0] = -1
        self._divided = divided
        self.arrays.divided[0] = int(divided)
        self.arrays.part[PART_ELAPSED] = 0.0

    def evaluate_instant(self, time: float) -> InstantResult:
        """Contacts and accelerations now, by a very short step that leaves the state unchanged.

        Constraint forces are left in ``constraint_set``.
        """
        self.begin_run()
        work, before = self.data.work, self.save_memory()
        q, v, a, rows = work.q.copy(), work.v.copy(), work.a.copy(), self.constraint_set.run_memory()
        log, seconds = ContactLog(1, 2 * len(self.patches.pair)), self._instant()
        self.reset_memory()
        try:
            keys = self.data.key, self.constraint_set.key, self.key, self.problem_key, log.key, CONSTANT_TORQUES.key
            status = run_contact_steps(*keys, time, seconds, 1, 1, 0, False, np.empty((1, len(q))), np.empty((1, len(v))))
            after = work.a.copy(), work.q.copy(), work.v.copy()
        finally:
            work.q[:], work.v[:], work.a[:] = q, v, a
            self.constraint_set.set_run_memory(rows)
            self.restore_memory(before)
        if status == TOO_MANY_CONTACTS:
            self.enlarge()
            return self.evaluate_instant(time)
        if status != OK:
            self.data.raise_status(status)
        return InstantResult(log.take_samples()[0], *after, seconds)

    def _instant(self) -> float:
        """Duration of a very short step from the present state [s]: no body turns or moves far in it, however fast it is."""
        update_motion(self.data)
        turn, speed = (float(np.linalg.norm(part, axis=1).max()) for part in (self.data.work.V[:, :3], self.data.work.V[:, 3:]))
        return min(_INSTANT, MAX_TURN / max(turn, 1.0), FAST_DISPLACEMENT / max(speed, 1.0))

    def apply_connection_impulse(self) -> None:
        """Project the velocity onto the constraints by an impulse that closed contacts respond to.

        Constraint impulses are left in ``constraint_set``.
        """
        self.begin_run()
        work, before = self.data.work, self.save_memory()
        v, status = work.v.copy(), TOO_MANY_CONTACTS
        try:
            while status == TOO_MANY_CONTACTS:
                work.v[:] = self.arrays.v_start[:] = v
                self.constraint_set.apply_connection_impulse()
                status = apply_contact_impulses(self.data.key, self.constraint_set.key, self.key, self.problem_key, _INSTANT)
                if status == TOO_MANY_CONTACTS:
                    self.enlarge()
        finally:
            self.restore_memory(before)
        if status != OK:
            self.data.raise_status(status)

    def overlaps(self) -> list[Overlap]:
        """Shapes that overlap at the present pose, the deepest first."""
        update_poses(self.data)
        while find_contacts(self.data, self.handle, 0.0) < self.patches.count[FOUND]:
            self.enlarge()
        patches, found = self.patches, []
        for a in range(int(patches.count[KEPT])):
            corners = patches.V[a, : patches.corners[a]]
            gaps = patches.gap[a, 0] + corners @ patches.gap[a, 1:]
            j, pair, R = int(gaps.argmin()), int(patches.pair[a]), patches.R[a]
            bounded = bool(self.geometry.kind[self.geometry.pair[pair, 0]] < PLANE)
            if gaps[j] < 0.0:
                found.append(Overlap(pair, -float(gaps[j]), patches.P[a] + R[:, :2] @ corners[j], R[:, 2].copy(), bounded))
        return sorted(found, key=lambda overlap: -overlap.depth)

    def enable_limits(self, enabled: bool) -> None:
        """Enable or disable stops at joint limits."""
        self.limits_enabled = enabled
        self.arrays.limits_enabled[0] = int(enabled)

    def reset_memory(self) -> None:
        """Reset the memory of the step before, as after a change of state."""
        self.arrays.cold_start[0] = 1


def _restored(
    data: Data,
    constraint_set: ConstraintSet,
    geometry: CollisionGeometry,
    materials: list[Material],
    limits_enabled: bool,
    patches: int,
    memory: ContactMemory,
) -> ContactState:
    """Return a contact state from its values."""
    restored = ContactState(data, constraint_set, geometry, materials)
    restored.limits_enabled = limits_enabled
    restored._allocate(patches)
    restored.restore_memory(memory)
    return restored


def _memory_views(lengths: Mapping[str, int], values: np.ndarray, numbers: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of a memory by name: views of its blocks."""
    views = {}
    for names, block in ((_MEMORY_VALUES, values), (_MEMORY_NUMBERS, numbers)):
        ends = np.cumsum([0, *(lengths[name] for name in names)]).tolist()
        views |= {name: block[start:end] for name, start, end in zip(names, ends[:-1], ends[1:], strict=True)}
    return views


def _arrays(struct: type, contacts: int, lengths: dict[str, int]) -> dict[str, np.ndarray]:
    """Arrays of a struct, one row for each contact where no other length is given."""
    return {name: np.zeros((lengths.get(name, contacts), *field.row), field.dtype) for name, field in array_fields(struct).items()}
