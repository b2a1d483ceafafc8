"""What comes out of the filter: the motion, the torques and forces that carry it, and how far it is from what went in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from brachiate.doors import Array
from brachiate.filter.body import Body
from brachiate.filter.reference import Reference
from brachiate.motion.motion import Motion
from brachiate.plan.centroidal import Plan
from brachiate.simulate.recording import Recording
from brachiate.transfer.many import Many


class Blame(NamedTuple):
    """When and why the filter gave up."""

    time: float  # [s]
    why: str

    def __str__(self) -> str:
        """Return one line."""
        return f"it fell at {self.time:.2f} s: {self.why}"


@dataclass(frozen=True, eq=False)
class Filtered:
    """A motion that a body can make.

    Args:
        reference: What was followed, and the original.
        motion: What came out: one frame a step.
        torques: Of every joint by name: (f, n) [N·m or N], from each frame to the next.
        run: The recording, of the whole world: forces of contact, centres of pressure, plots.
        blame: When and why it gave up; None if it did not.
        forecast: The plan of the whole clip, if one was made.
    """

    reference: Reference
    motion: Motion
    torques: Mapping[str, Array]
    run: Recording
    blame: Blame | None
    forecast: Plan | None

    @classmethod
    def of(cls, body: Body, reference: Reference, run: Recording, blame: Blame | None, forecast: Plan | None) -> Filtered:
        """Take what belongs to the figure out of a recording."""
        motion = Motion(reference.figure, run.time, run.q[:, body.q_at], reference.original.name, reference.guesses)
        joints = reference.figure.joints
        torque = run.torque[:, body.v_at]
        torques = {name: torque[:, joint.v] for name, joint in joints.items() if not np.all(torque[:, joint.v] == 0.0)}
        return cls(reference, motion, torques, run, blame, forecast)

    @property
    def finished(self) -> bool:
        """Whether it came to the end."""
        return self.blame is None

    @cached_property
    def tracking(self) -> dict[str, float]:
        """How far it is from the original: see PRODUCT metrics; positions in cm, angles in degrees."""
        many, n = Many(self.motion.figure), len(self.motion)
        here, there = many.poses(self.motion.q).x, many.poses(self.reference.original.q[:n]).x
        off = here - there
        root = off - off[:1]
        angles = many.between(self.reference.original.q[:n], self.motion.q)[:, 6:]
        return {
            "mpjpe_global_cm": float(100.0 * np.linalg.norm(off, axis=-1).mean()),
            "mpjpe_root_aligned_cm": float(100.0 * np.linalg.norm(root, axis=-1).mean()),
            "joint_rms_deg": float(np.degrees(np.sqrt(np.square(angles).mean()))),
            "drift_max_cm": float(100.0 * np.linalg.norm((self.motion.q - self.reference.original.q[:n])[:, :2], axis=1).max()),
        }

    @cached_property
    def effort(self) -> dict[str, float]:
        """The largest torque of every joint [N·m or N]."""
        return {name: float(np.abs(values).max()) for name, values in self.torques.items()}

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write the motion, torques and forces, and the figures of merit; returns the files."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        files = [self.motion.save(folder / "motion.npz")]
        files.append(self._save_forces(folder / "forces.csv"))
        files.append(self._save_torques(folder / "torques.csv"))
        told = {**self.tracking, "finished": self.finished, "why": str(self.blame or ""), "peak_torque": self.effort}
        files.append(folder / "metrics.json")
        files[-1].write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
        return files

    def _save_torques(self, path: Path) -> Path:
        heads, columns = ["time [s]"], [self.motion.times]
        for name, values in self.torques.items():
            axes = [""] if values.shape[1] == 1 else [f".{axis}" for axis in "xyz"][: values.shape[1]]
            heads += [f"{name}{axis} [N·m]" for axis in axes]
            columns += list(values.T)
        return _table(path, heads, columns)

    def _save_forces(self, path: Path) -> Path:
        """Force and centre of pressure of every link that touches, in world axes."""
        heads, columns = ["time [s]"], [self.motion.times]
        links = sorted({c.link for touched in self.run.contacts for c in touched})
        for link in links:
            short = link.rpartition("/")[2]
            for what, unit in (("reaction", "N"), ("cop", "m")):
                heads += [f"{short}.{what}.{axis} [{unit}]" for axis in "xyz"]
                columns += list(self.run[f"{link}.{what}"].T)
        return _table(path, heads, columns)


def _table(path: Path, heads: list[str], columns: list[Array]) -> Path:
    rows = np.stack(columns, axis=1)
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(heads) + "\n")
        for row in rows:
            file.write(",".join(f"{x:.9g}" for x in row) + "\n")
    return path
