"""Motions in the coordinates of OpenSim gait models (``pelvis_tilt``, ``hip_flexion_r``, ``knee_angle_r``, ...), from tables."""

from __future__ import annotations

import numpy as np

from brachiate import rotations
from brachiate.assumptions import Assumption
from brachiate.errors import MotionError
from brachiate.io.opensim import Plate, Table
from brachiate.model.model import Model
from brachiate.motion.motion import Motion
from brachiate.validation import Array

SIDES = {"right": "r", "left": "l"}
REQUIRED = ("pelvis_tilt", "pelvis_list", "pelvis_rotation", "pelvis_tx", "pelvis_ty", "pelvis_tz", "hip_flexion_r", "knee_angle_r")
Z, X, Y = np.array((0.0, -1.0, 0.0)), np.array((1.0, 0.0, 0.0)), np.array((0.0, 0.0, 1.0))  # axes of the file, in z-up axes


def has_gait_coordinates(table: Table) -> bool:
    """Whether a table has the coordinates of a gait model."""
    return all(name in table.columns for name in REQUIRED)


def opensim_to_z_up(v: Array) -> Array:
    """Convert vectors (..., 3) from OpenSim axes (x forward, y up) to x forward, z up."""
    return np.stack((v[..., 0], -v[..., 2], v[..., 1]), axis=-1)


def plate_to_z_up(plate: Plate) -> Plate:
    """Convert the measurements of a force plate to z-up axes."""
    return Plate(plate.name, *(opensim_to_z_up(v) for v in (plate.force, plate.point, plate.moment)))


def gait_motion(table: Table, figure: Model) -> Motion:
    """Return the motion of :func:`~brachiate.figures.gait23` in a table of angles. Coordinates that the table lacks are zero."""
    if not has_gait_coordinates(table):
        missing = [name for name in REQUIRED if name not in table.columns]
        raise MotionError(f"{table.name!r} is not a motion of a gait model: it lacks {', '.join(missing)}.")
    table = table.radians()
    used: set[str] = set()

    def column(name: str) -> Array:
        if name not in table.columns:
            return np.zeros(len(table))
        used.add(name)
        return table[name]

    q = np.tile(figure.neutral, (len(table), 1))
    assumptions = [Assumption("axes", "x forward, y up", "as in OpenSim models")]
    position = opensim_to_z_up(np.stack([column(f"pelvis_{name}") for name in ("tx", "ty", "tz")], axis=1))
    pelvis = _rotation((Z, column("pelvis_tilt")), (X, column("pelvis_list")), (Y, column("pelvis_rotation")))
    q[:, figure.joints["root"].q] = np.concatenate((position - figure.links["pelvis"].position, rotations.unwrap(pelvis)), axis=1)
    lumbar = _rotation((Z, column("lumbar_extension")), (X, column("lumbar_bending")), (Y, column("lumbar_rotation")))
    q[:, figure.joints["back"].q] = rotations.unwrap(lumbar)
    knees = np.concatenate([column(f"knee_angle_{letter}") for letter in SIDES.values()])
    largest = float(knees[np.argmax(np.abs(knees))])
    flexion_sign = -1.0 if largest < 0 else 1.0
    assumptions.append(
        Assumption("knee flexion", f"by {'negative' if largest < 0 else 'positive'} angles", f"up to {np.degrees(largest):.0f} degrees")
    )
    for side, letter in SIDES.items():
        s = 1.0 if side == "right" else -1.0
        hip = _rotation(
            (Z, column(f"hip_flexion_{letter}")), (s * X, column(f"hip_adduction_{letter}")), (s * Y, column(f"hip_rotation_{letter}"))
        )
        q[:, figure.joints[f"{side}_hip"].q] = rotations.unwrap(hip)
        q[:, figure.joints[f"{side}_knee"].q] = flexion_sign * column(f"knee_angle_{letter}")[:, None]
        for joint, name in (("ankle", "ankle_angle"), ("subtalar", "subtalar_angle"), ("toe", "mtp_angle")):
            q[:, figure.joints[f"{side}_{joint}"].q] = column(f"{name}_{letter}")[:, None]
    unused = [name for name in table.columns if name not in used]
    if unused:
        assumptions.append(
            Assumption(
                "coordinates", f"without {', '.join(unused[:8])}{', ...' if len(unused) > 8 else ''}", "this figure has no such joint"
            )
        )
    return Motion(figure, table.times, q, table.name, (*table.assumptions, *assumptions), captured=True)


def _rotation(*steps: tuple[Array, Array]) -> Array:
    """Intrinsic rotations about one axis after the other (axis, angles): quaternions (f, 4)."""
    total = rotations.from_rotation_vector(steps[0][1][:, None] * steps[0][0])
    for axis, angle in steps[1:]:
        total = rotations.product(total, rotations.from_rotation_vector(angle[:, None] * axis))
    return total
