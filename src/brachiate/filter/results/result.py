"""What comes out of the filter: the motion, the torques and forces that carry it, and how far it is from what went in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from brachiate.errors import ArgumentError
from brachiate.evaluation.check import check
from brachiate.evaluation.report import Report
from brachiate.filter.footsteps.recovery_step import Step
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.contact_forces import forces_on, labels_of
from brachiate.filter.results.deviations import Reason, reasons_of
from brachiate.filter.results.html_report import page_of
from brachiate.filter.results.plots import plot_both
from brachiate.filter.results.pose_strips import ORIGINAL, RESULT, draw_strips
from brachiate.filter.tracking.fall_detection import Blame
from brachiate.filter.tracking.feasibility import Forecast
from brachiate.filter.tracking.whole_body_controller import Body
from brachiate.kinematics_batch import Many
from brachiate.motion.motion import Motion
from brachiate.motion.spline import Course
from brachiate.simulate.recording import Recording
from brachiate.validation import Array
from brachiate.world.figure import Figure
from brachiate.world.world import World

FORMAT = "brachiate filter 1"
RATE = 120.0  # [frames/s] of a BVH file, where the original does not say it


class Whose(NamedTuple):
    """A figure of a world, and where its numbers are among the world's, as a :class:`Body` has them."""

    world: World
    figure: Figure
    q_at: Array | slice
    v_at: Array | slice


@dataclass(frozen=True, eq=False)
class Filtered:
    """A motion that a body can make.

    Args:
        reference: What was followed, and the original.
        motion: What came out: one frame a step, with what touched and the forces of the ground, as they were in the simulation.
        torques: Of every joint by name: (f, n) [N·m or N], each of the step that led to its frame.
        run: The recording, of the whole world: forces of contact, centres of pressure, plots.
        blame: When and why it gave up; None if it did not.
        forecast: How far the reference is from what the body as a whole can do, by a plan of the whole clip; if one was made.
        source: The original on the ground it was made on, if that was another one.
        whose: Name of the figure in the recording.
        own_steps: That the reference does not have, made to catch the body, and to come back.
    """

    reference: Reference
    motion: Motion
    torques: Mapping[str, Array]
    run: Recording
    blame: Blame | None
    forecast: Forecast | None
    source: Motion | None = None
    whose: str = "man"
    own_steps: tuple[Step, ...] = ()

    @classmethod
    def of(
        cls,
        body: Body | Whose,
        reference: Reference,
        run: Recording,
        blame: Blame | None,
        forecast: Forecast | None,
        source: Motion | None = None,
        held: Mapping[str, Array] | None = None,
        own_steps: Sequence[Step] = (),
    ) -> Self:
        """Take what belongs to the figure out of a recording; ``held``: forces on links that hold, and where: (f, 6) each."""
        figure, name = reference.figure, body.figure.name
        times, q = reference.times[0] + run.time, run.q[:, body.q_at]
        held = dict(held or {})
        labels = labels_of(figure, run, name, q, times, replace(reference.ground, friction=body.world.surfaces.material.friction), held)
        motion = Motion(figure, times, q, reference.original.name, reference.guesses, contacts=labels, forces=forces_on(run, name, held))
        torque = run.torque[:, body.v_at]
        torques = {name: torque[:, joint.v] for name, joint in figure.joints.items() if not np.all(torque[:, joint.v] == 0.0)}
        return cls(reference, motion, torques, run, blame, forecast, source, body.figure.name, tuple(own_steps))

    @property
    def finished(self) -> bool:
        """Whether it came to the end."""
        return self.blame is None

    @cached_property
    def tracking(self) -> dict[str, float]:
        """How far it is from the original, as far as it went: joints' places [cm], their angles [deg], the root along the ground [cm].

        ``mpjpe`` is the mean distance of joints from where they were, over all joints and frames; root-aligned: with the root in its place.
        """
        many, n = Many(self.motion.figure), len(self.motion)
        here, there = many.poses(self.motion.q).x, many.poses(self.reference.original.q[:n]).x
        off = here - there
        root = off - off[:1]
        angles = many.between(self.reference.original.q[:n], self.motion.q)[:, 6:]
        return {
            "mpjpe_global_cm": float(100.0 * np.linalg.norm(off, axis=-1).mean()),
            "mpjpe_root_aligned_cm": float(100.0 * np.linalg.norm(root, axis=-1).mean()),
            "joint_rms_deg": float(np.degrees(np.sqrt(np.square(angles).mean()))),
            "drift_max_cm": float(100.0 * np.linalg.norm(off[0, :, :2], axis=1).max()),
        }

    @cached_property
    def effort(self) -> dict[str, float]:
        """The largest torque of every joint [N·m or N]."""
        return {name: float(np.abs(values).max()) for name, values in self.torques.items()}

    @cached_property
    def effort_share(self) -> dict[str, float]:
        """The same against what the figure's own motors bring, whatever strength they were given; of joints that have a limit."""
        limit = self.reference.figure.effort
        found = {}
        for name, values in self.torques.items():
            most = limit[self.reference.figure.joints[name].v]
            known = np.isfinite(most) & (most > 0.0)
            if known.any():
                found[name] = float((np.abs(values[:, known]) / most[known]).max())
        return found

    @property
    def remark(self) -> str:
        """What else is to be told of how it was made."""
        return ""

    @cached_property
    def strength(self) -> Array:
        """What the motors had, of every coordinate of the figure: (nv,) [N·m or N]."""
        model, most = self.run.model, np.zeros(self.motion.figure.nv)
        for name, joint in self.motion.figure.joints.items():
            most[joint.v] = model.effort[model.joints[f"{self.whose}/{name}"].v]
        return most

    @cached_property
    def reasons(self) -> list[Reason]:
        """What kept it from being the original: motors and joints at their limits, pressure at the edge, what slid, steps elsewhere."""
        return reasons_of(self)

    @cached_property
    def before(self) -> Report:
        """What :func:`brachiate.check` says of the original, at the frames of the reference."""
        return check(self.source or self.reference.original)

    def check(self) -> Report:
        """What :func:`brachiate.check` says of the result, told what touched.

        It looks at a smooth curve through the frames, not at the steps of the simulation, so what is left to the root is little, not
        nothing: most where a foot comes down within a step, and while somebody pushes, of which it knows nothing.
        """
        return check(self.motion)

    def like(self, source: Motion) -> Motion:
        """The result with the frames and the skeleton of the motion it was made from; what only that has, such as fingers, is kept."""
        times = source.times[source.times <= self.motion.times[-1] + 1e-9]
        q = Course(self.motion.figure, self.motion.times, self.motion.q).at(np.clip(times, *self.motion.times[[0, -1]])).q
        frames = source.frames(slice(0, len(times)))
        return replace(frames, q=q, guesses=self.motion.guesses, captured=False, contacts=self.motion.contacts, forces={})

    def plot(self, path: str | PathLike[str] | None = None) -> Any:
        """Draw centre of mass and force of the ground over time, of the original and of the result; write it, or return the figure."""
        return plot_both(self.before, self.reference.original, self.motion, path)

    def picture(self, path: str | PathLike[str]) -> None:
        """Draw postures of the original, and below them those of the result at the same moments."""
        draw_strips({ORIGINAL: self.reference.original, RESULT: self.motion}, path)

    def metrics(self) -> dict[str, Any]:
        """All figures of merit, as plain values; units are in the names."""
        return {
            "format": FORMAT,
            "name": self.motion.name,
            "figure": self.motion.figure.name,
            "mass_kg": self.motion.figure.mass,
            "finished": self.finished,
            "why": str(self.blame or ""),
            "remark": self.remark,
            "seconds": self.motion.duration,
            "seconds_of_reference": float(self.reference.times[-1] - self.reference.times[0]),
            "tracking": self.tracking,
            "before": self.before.summary,
            "after": self.check().summary,
            "peak_torque_Nm": self.effort,
            "peak_torque_share_of_limit": self.effort_share,
            "forecast": None if self.forecast is None else self.forecast.summary,
            "reasons": [reason._asdict() for reason in self.reasons],
            "assumed": [guess._asdict() for guess in self.motion.guesses],
        }

    def save(self, folder: str | PathLike[str], source: Motion | None = None) -> list[Path]:
        """Write all of it into a folder; returns the files.

        ``motion.npz`` (frames, contacts, forces of the ground), ``motion.bvh`` (frames and skeleton as ``source`` has them, or 120 frames a
        second of the figure's links), ``torques.csv``, ``forces.csv``, ``metrics.json``, ``plot.png``, ``poses.png``, and ``report.html``,
        a page with the numbers and pictures in it.
        """
        folder, metrics = Path(folder), self.metrics()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            files = [self.motion.save(folder / "motion.npz")]
            if source is not None:
                files.append(self.like(source).save(folder / "motion.bvh"))
            else:
                files.append(self.motion.save(folder / "motion.bvh", rate=RATE))
            files.append(self._save_torques(folder / "torques.csv"))
            files.append(self._save_forces(folder / "forces.csv"))
            files.append(folder / "metrics.json")
            files[-1].write_text(json.dumps(metrics, indent=1, allow_nan=False, default=float) + "\n", encoding="utf-8")
        except OSError as problem:
            raise ArgumentError(f"{folder}: the results cannot be written ({problem.strerror}). Choose another folder.") from None
        for name, draw in (("plot.png", self.plot), ("poses.png", self.picture)):
            files.append(folder / name)
            draw(files[-1])
        page = folder / "report.html"
        page.write_text(page_of(metrics, folder, [file.name for file in files]), encoding="utf-8")
        return [*files, page]

    def _save_torques(self, path: Path) -> Path:
        heads, columns = ["time [s]"], [self.motion.times]
        for name, values in self.torques.items():
            axes = [""] if values.shape[1] == 1 else [f".{axis}" for axis in "xyz"][: values.shape[1]]
            heads += [f"{name}{axis} [N·m]" for axis in axes]
            columns += list(values.T)
        return _table(path, heads, columns)

    def _save_forces(self, path: Path) -> Path:
        """Force on every link that touches the ground or holds something, and where it acts, along world axes; zeros in the air."""
        heads, columns = ["time [s]"], [self.motion.times]
        for link, values in self.motion.forces.items():
            heads += [f"{link}.{what}.{axis} [{unit}]" for what, unit in (("force", "N"), ("cop", "m")) for axis in "xyz"]
            columns += list(values.T)
        return _table(path, heads, columns)


def _table(path: Path, heads: list[str], columns: list[Array]) -> Path:
    rows = np.stack(columns, axis=1)
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(heads) + "\n")
        for row in rows:
            file.write(",".join(f"{x:.9g}" for x in row) + "\n")
    return path
