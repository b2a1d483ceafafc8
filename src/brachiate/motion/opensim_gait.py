"""Motions in the coordinates of OpenSim's gait models: ``pelvis_tilt``, ``hip_flexion_r``, ``knee_angle_r``, ..., in a table."""

from __future__ import annotations

import numpy as np

from brachiate import rotations
from brachiate.assumptions import Guess
from brachiate.errors import MotionError
from brachiate.io.opensim import Plate, Table
from brachiate.model.model import Model
from brachiate.motion.motion import Motion
from brachiate.validation import Array

SIDES = {"right": "r", "left": "l"}
NEEDED = ("pelvis_tilt", "pelvis_list", "pelvis_rotation", "pelvis_tx", "pelvis_ty", "pelvis_tz", "hip_flexion_r", "knee_angle_r")
Z, X, Y = np.array((0.0, -1.0, 0.0)), np.array((1.0, 0.0, 0.0)), np.array((0.0, 0.0, 1.0))  # axes of the file, along ours


def is_gait(table: Table) -> bool:
    """Whether a table has the coordinates of a gait model."""
    return all(name in table.columns for name in NEEDED)


def along_ours(v: Array) -> Array:
    """Vectors (..., 3) of the file, x forward and y up, along our axes: x forward, z up."""
    return np.stack((v[..., 0], -v[..., 2], v[..., 1]), axis=-1)


def plate_along_ours(plate: Plate) -> Plate:
    """What a force plate measured, along our axes."""
    return Plate(plate.name, *(along_ours(v) for v in (plate.force, plate.point, plate.moment)))


def gait_motion(table: Table, figure: Model) -> Motion:
    """Motion of :func:`~brachiate.figures.gait23` from a table of angles. Coordinates that it lacks are zero; those beyond are told."""
    if not is_gait(table):
        missing = [name for name in NEEDED if name not in table.columns]
        raise MotionError(f"{table.name!r} is no motion of a gait model: it lacks {', '.join(missing)}.")
    table = table.radians()
    used: set[str] = set()

    def column(name: str) -> Array:
        if name not in table.columns:
            return np.zeros(len(table))
        used.add(name)
        return table[name]

    q = np.tile(figure.neutral, (len(table), 1))
    guesses = [Guess("axes", "x forward, y up", "as OpenSim's models have them")]
    place = along_ours(np.stack([column(f"pelvis_{name}") for name in ("tx", "ty", "tz")], axis=1))
    turn = _turned((Z, column("pelvis_tilt")), (X, column("pelvis_list")), (Y, column("pelvis_rotation")))
    q[:, figure.joints["root"].q] = np.concatenate((place - figure.links["pelvis"].position, rotations.steady(turn)), axis=1)
    back = _turned((Z, column("lumbar_extension")), (X, column("lumbar_bending")), (Y, column("lumbar_rotation")))
    q[:, figure.joints["back"].q] = rotations.steady(back)
    knees = np.concatenate([column(f"knee_angle_{letter}") for letter in SIDES.values()])
    bend = float(knees[np.argmax(np.abs(knees))])
    flexed = -1.0 if bend < 0 else 1.0
    guesses.append(Guess("knees", f"bent by {'negative' if bend < 0 else 'positive'} angles", f"up to {np.degrees(bend):.0f} degrees"))
    for side, letter in SIDES.items():
        s = 1.0 if side == "right" else -1.0
        hip = _turned(
            (Z, column(f"hip_flexion_{letter}")), (s * X, column(f"hip_adduction_{letter}")), (s * Y, column(f"hip_rotation_{letter}"))
        )
        q[:, figure.joints[f"{side}_hip"].q] = rotations.steady(hip)
        q[:, figure.joints[f"{side}_knee"].q] = flexed * column(f"knee_angle_{letter}")[:, None]
        for joint, name in (("ankle", "ankle_angle"), ("subtalar", "subtalar_angle"), ("toe", "mtp_angle")):
            q[:, figure.joints[f"{side}_{joint}"].q] = column(f"{name}_{letter}")[:, None]
    left = [name for name in table.columns if name not in used]
    if left:
        guesses.append(
            Guess("coordinates", f"without {', '.join(left[:8])}{', ...' if len(left) > 8 else ''}", "this figure has no such joint")
        )
    return Motion(figure, table.times, q, table.name, (*table.guesses, *guesses), captured=True)


def _turned(*steps: tuple[Array, Array]) -> Array:
    """Rotations about one axis after the other, each of them turned by those before."""
    total = rotations.from_vector(steps[0][1][:, None] * steps[0][0])
    for axis, angle in steps[1:]:
        total = rotations.product(total, rotations.from_vector(angle[:, None] * axis))
    return total
