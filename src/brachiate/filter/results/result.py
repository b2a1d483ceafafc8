"""Result of the dynamics filter: motion, joint torques, contact forces, recording, deviations from the original, files."""

from __future__ import annotations

import tempfile
import weakref
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from brachiate.deprecation import renamed_attribute, renamed_method, warn_renamed
from brachiate.evaluation.check import check, check_summary
from brachiate.evaluation.report import CheckReport
from brachiate.filter.footsteps.recovery_step import RecoveryStep
from brachiate.filter.reference.reference import Reference, SourceCheck, SourceMotion
from brachiate.filter.results.attempts import Attempt
from brachiate.filter.results.contact_forces import contact_forces, contact_labels
from brachiate.filter.results.deviations import Deviation, find_deviations
from brachiate.filter.results.equations_of_motion import EquationsOfMotion, equations_of_motion
from brachiate.filter.results.html_report import PICTURES, html_report
from brachiate.filter.results.plots import comparison_panels, plot_comparison
from brachiate.filter.results.pose_strips import FILTERED, ORIGINAL, draw_pose_strips
from brachiate.filter.results.tables import save_forces, save_torques
from brachiate.filter.results.task_results import TaskResult, task_results
from brachiate.filter.tasks.function_tasks import TaskRecord
from brachiate.filter.tracking.fall_detection import Failure
from brachiate.filter.tracking.feasibility import Feasibility
from brachiate.filter.tracking.whole_body_controller import WholeBodyController
from brachiate.io.atomic import FileSet, replace_files, write_text
from brachiate.io.json_text import format_json
from brachiate.kinematics_batch import BatchKinematics
from brachiate.motion.motion import Motion
from brachiate.motion.spline import MotionSpline
from brachiate.show.html import picture
from brachiate.show.plots import is_available
from brachiate.show.svg import svg_panels
from brachiate.simulate.recording import Recording
from brachiate.validation import Array
from brachiate.world.figure import Figure
from brachiate.world.world import World

FORMAT = "brachiate filter 2"
FILES = ("motion.npz", "motion.bvh", "torques.csv", "forces.csv", "metrics.json", "plot.png", "poses.png", "report.html")  # of a result
MAX_KEPT_FRAMES = 20_000  # of a motion whose check report is kept: kilobytes a frame
TRACKING_CHUNK = 10_000  # frames whose tracking errors are computed together
SPLINE_OVERLAP = 64  # frames: a spline does not depend on frames farther away
BVH_RATE = 120.0  # [frames/s] of motion.bvh, where no source motion is known


class FigureView(NamedTuple):
    """A figure of a world and the indices of its coordinates in the world's, as a :class:`WholeBodyController` has them."""

    world: World
    figure: Figure
    q_at: Array | slice
    v_at: Array | slice


class FrameErrors(NamedTuple):
    """Comparison of the original and the result in f frames."""

    position: Array  # (f,) [m] mean over all joints
    aligned: Array  # (f,) [m] the same relative to the root position
    squared_angle: Array  # (f,) [rad²] mean over all joint coordinates
    drift: Array  # (f,) [m] horizontal distance of the root
    com: tuple[Array, Array]  # (f, 3) [m] CoM of the original, and of the result


class RunOutcome(NamedTuple):
    """How a filter run went, besides its recording.

    Args:
        failure: Time and reason of a fall; None if the motion was finished.
        feasibility: Of the reference, by a centroidal plan of the whole clip, if one was made.
        grip_forces: Force on each link that holds something, and its point of application: (f, 6) [N, m] each.
        recovery_steps: Footsteps that the reference does not have.
        tasks: What happened to the functions that were directed, by name.
        attempts: What was tried, if the first attempt fell.
    """

    failure: Failure | None = None
    feasibility: Feasibility | None = None
    grip_forces: Mapping[str, Array] = {}
    recovery_steps: Sequence[RecoveryStep] = ()
    tasks: Mapping[str, TaskRecord] = {}
    attempts: Sequence[Attempt] = ()


@dataclass(frozen=True, eq=False)
class FilterResult:
    """Physically consistent motion made by the filter.

    Args:
        reference: Reference that was tracked, with the original motion at its frames.
        motion: Filtered motion, one frame per simulation step, with contact labels and contact forces of the simulation.
        joint_torques: Torques by joint: (f, n) [N·m or N], each row of the step that led to its frame.
        recording: Recording of the whole world: contact forces, centers of pressure, plots.
        source: Motion that was filtered, with the contacts and the terrain that were given for it.
        failure: Time and reason of a fall; None if the motion was finished.
        feasibility: Feasibility of the reference by a centroidal plan of the whole clip, if one was made (mode ``"offline"``).
        figure_name: Name of the figure in the recording.
        recovery_steps: Footsteps that the reference does not have, taken to recover balance and to return from it.
        task_records: Values of the functions that were directed over the steps, by name of the task; see :attr:`tasks`.
        attempts: What was tried, in this order, and how it went, if the first attempt fell; otherwise empty.
    """

    reference: Reference
    motion: Motion
    joint_torques: Mapping[str, Array]
    recording: Recording
    source: SourceMotion = field(repr=False)
    failure: Failure | None = None
    feasibility: Feasibility | None = None
    figure_name: str = "man"
    recovery_steps: tuple[RecoveryStep, ...] = ()
    task_records: Mapping[str, TaskRecord] = field(default_factory=dict, repr=False)
    attempts: tuple[Attempt, ...] = ()

    @classmethod
    def from_recording(
        cls,
        body: WholeBodyController | FigureView,
        reference: Reference,
        recording: Recording,
        outcome: RunOutcome,
        source: SourceMotion | None = None,
    ) -> Self:
        """Take the coordinates of one figure out of a recording of the world; ``source``: default is the reference's."""
        source = source or reference.source or SourceMotion(reference.original, resampled=True)
        figure, name = reference.figure, body.figure.name
        times, q = reference.times[0] + recording.time, _columns(recording.q, body.q_at)
        q.flags.writeable = False  # then the motion shares it with the recording
        grips = dict(outcome.grip_forces)
        terrain = replace(reference.terrain, friction=body.world.contact_settings.material.friction)
        labels = contact_labels(figure, recording, name, q, times, terrain, grips)
        forces = contact_forces(recording, name, grips)
        motion = Motion(figure, times, q, reference.name, reference.assumptions, contacts=labels, forces=forces)
        torque = _columns(recording.torque, body.v_at)
        torques = {joint: torque[:, at.v] for joint, at in figure.joints.items() if not np.all(torque[:, at.v] == 0.0)}
        steps = tuple(outcome.recovery_steps)
        return cls(
            reference, motion, torques, recording, source, outcome.failure, outcome.feasibility, name, steps, dict(outcome.tasks),
            tuple(outcome.attempts),
        )  # fmt: skip

    @property
    def success(self) -> bool:
        """Whether the motion was finished without a fall."""
        return self.failure is None

    @property
    def contact_forces(self) -> Mapping[str, Array]:
        """Contact and grip force by link: (f, 6), force [N] and point of application [m], world axes."""
        return self.motion.forces

    @cached_property
    def frame_errors(self) -> FrameErrors:
        """Errors against the original, frame by frame."""
        kinematics, n = BatchKinematics(self.motion.figure), len(self.motion)
        parts = []  # of some frames at a time: poses of all would need gigabytes
        for k in range(0, n, TRACKING_CHUNK):
            frames = slice(k, min(k + TRACKING_CHUNK, n))
            q, original = self.motion.q[frames], self.reference.original_configurations(frames)
            poses = kinematics.poses(original), kinematics.poses(q)
            error, angles = poses[1].x - poses[0].x, kinematics.difference(original, q)[:, 6:]
            distances = (np.linalg.norm(x, axis=-1).mean(axis=0) for x in (error, error - error[:1]))
            com = (kinematics.center_of_mass(some) for some in poses)
            parts.append((*distances, np.square(angles).mean(axis=1), np.linalg.norm(error[0, :, :2], axis=1), *com))
        position, aligned, squared_angle, drift, original_com, com = (np.concatenate(part) for part in zip(*parts, strict=True))
        return FrameErrors(position, aligned, squared_angle, drift, (original_com, com))

    @cached_property
    def tracking(self) -> dict[str, float]:
        """Tracking errors against the original: joint positions [cm], joint angles [deg], horizontal root position [cm].

        ``mpjpe`` is the mean per-joint position error over all joints and frames; root-aligned: relative to the root position.
        """
        errors = self.frame_errors
        return {
            "mpjpe_global_cm": float(100.0 * errors.position.mean()),
            "mpjpe_root_aligned_cm": float(100.0 * errors.aligned.mean()),
            "joint_rms_deg": float(np.degrees(np.sqrt(errors.squared_angle.mean()))),
            "drift_max_cm": float(100.0 * errors.drift.max()),
        }

    @cached_property
    def peak_torques(self) -> dict[str, float]:
        """Largest torque of every joint [N·m or N]."""
        return {name: float(np.abs(values).max()) for name, values in self.joint_torques.items()}

    @cached_property
    def peak_torque_shares(self) -> dict[str, float]:
        """Largest torque of every joint that has a limit, relative to the figure's own limit, whatever ``torque_scale`` was."""
        limits, shares = self.reference.figure.effort, {}
        for name, values in self.joint_torques.items():
            limit = limits[self.reference.figure.joints[name].v]
            known = np.isfinite(limit) & (limit > 0.0)
            if known.any():
                shares[name] = float((np.abs(values[:, known]) / limit[known]).max())
        return shares

    @cached_property
    def torque_limits(self) -> Array:
        """Torque limits in the simulation by coordinate of the figure: (nv,) [N·m or N]."""
        model, limits = self.recording.model, np.zeros(self.motion.figure.nv)
        for name, joint in self.motion.figure.joints.items():
            limits[joint.v] = model.effort[model.joints[f"{self.figure_name}/{name}"].v]
        return limits

    @property
    def remark(self) -> str:
        """Remark about the method, for reports; empty for the filter's own modes."""
        return ""

    @cached_property
    def deviations(self) -> list[Deviation]:
        """Deviations from the original and their causes: limits reached, CoP at the support boundary, slip, displaced footholds."""
        return find_deviations(self)

    @cached_property
    def tasks(self) -> dict[str, TaskResult]:
        """What became of every task, by name: error over time, when it was reached, and why it was not met."""
        return task_results(self)

    @property
    def before(self) -> CheckReport:
        """Check report of the source motion, with the contacts and the source terrain that were given."""
        return self._kept("_before", lambda: check(self.source.motion, terrain=self.source.terrain, contacts=self.source.contacts))

    def _kept(self, name: str, make: Callable[[], CheckReport]) -> CheckReport:
        """Report that is made when first asked for; one of a long motion, which is large, is kept only while it is in use."""
        found = self.__dict__.get(name)
        report = found() if isinstance(found, weakref.ref) else found
        if report is None:
            report = make()
            self.__dict__[name] = report if len(report.times) <= MAX_KEPT_FRAMES else weakref.ref(report)
        return report

    @property
    def _source_check(self) -> SourceCheck:
        return SourceCheck.of(self.before) if self.source.checked is None else self.source.checked

    @cached_property
    def summaries(self) -> tuple[dict[str, float], dict[str, float]]:
        """Summaries of the check reports of the source motion and the filtered motion."""
        before = dict(self._source_check.summary)
        return before, check_summary(self.motion) if len(self.motion) > MAX_KEPT_FRAMES else self.check().summary

    def check(self) -> CheckReport:
        """Check report of the filtered motion, with the contacts of the simulation.

        It evaluates a smooth spline through the frames, not the simulation steps, so its root residual is small, not zero: largest where
        a foot lands within a step, and while a push acts, which the check does not know of. See :meth:`root_residual`.
        """
        return self._kept("_after", lambda: check(self.motion))

    @cached_property
    def _equations(self) -> EquationsOfMotion:
        return equations_of_motion(self)

    def equations_of_motion(self) -> EquationsOfMotion:
        """Discrete equations of motion of the simulation steps: ``result.equations_of_motion().save(path)`` writes them to a file."""
        return self._equations

    def root_residual(self) -> tuple[float, float]:
        """Largest root residual of the simulation steps: force [N] and moment [N·m] that are missing at the floating base."""
        return self._equations.root_residual()

    def at_source_frames(self, source: Motion | None = None) -> Motion:
        """Filtered motion at the frames and with the skeleton of the source motion, which keeps joints that the figure lacks (fingers)."""
        source = self.source.motion if source is None else source
        times = source.times[source.times <= self.motion.times[-1] + 1e-9]
        q = self._interpolated(np.clip(times, *self.motion.times[[0, -1]]))
        frames = source.frames(slice(0, len(times)))
        return replace(frames, q=q, assumptions=self.motion.assumptions, captured=False, contacts=self.motion.contacts, forces={})

    def _interpolated(self, times: Array) -> Array:
        """Configurations at times within the motion [s], increasing: (n, nq); of a long motion by splines of pieces that overlap."""
        motion, q = self.motion, np.zeros((len(times), self.motion.figure.nq))
        piece = len(motion) if len(motion) <= MAX_KEPT_FRAMES else TRACKING_CHUNK
        for k in range(0, len(motion), piece):
            end = min(k + piece, len(motion) - 1)
            rows = slice(*np.searchsorted(times, motion.times[[k, end]], side="left"))
            rows = slice(rows.start, len(times)) if end == len(motion) - 1 else rows
            frames = slice(max(k - SPLINE_OVERLAP, 0), end + 1 + SPLINE_OVERLAP)
            if rows.stop > rows.start:
                q[rows] = MotionSpline(motion.figure, motion.times[frames], motion.q[frames]).at(times[rows]).q
            if end == len(motion) - 1:
                break
        return q

    def plot(self, path: str | PathLike[str] | None = None) -> Any:
        """Plot CoM and ground reaction force of original and result over time; write the plot, or return the Matplotlib figure."""
        return plot_comparison(self._source_check, self.motion, self.frame_errors.com, path)

    def plot_poses(self, path: str | PathLike[str]) -> None:
        """Draw pose strips of the original and, below it, of the result at the same times."""
        draw_pose_strips({ORIGINAL: self.reference.original, FILTERED: self.motion}, path)

    def metrics(self) -> dict[str, Any]:
        """All metrics as plain values; units are in the names, which are those of :mod:`brachiate.evaluation.metric_names`."""
        return {
            "format": FORMAT,
            "name": self.motion.name,
            "figure": self.motion.figure.name,
            "mass_kg": self.motion.figure.mass,
            "success": self.success,
            "failure": str(self.failure or ""),
            "remark": self.remark,
            "duration_s": self.motion.duration,
            "reference_duration_s": float(self.reference.times[-1] - self.reference.times[0]),
            "tracking": self.tracking,
            "original": self.summaries[0],
            "filtered": self.summaries[1],
            "peak_torque_Nm": self.peak_torques,
            "peak_torque_share_of_limit": self.peak_torque_shares,
            "feasibility": None if self.feasibility is None else self.feasibility.summary,
            **({"tasks": [task.summary for task in self.tasks.values()]} if self.tasks else {}),
            **({"attempts": [attempt.summary for attempt in self.attempts]} if self.attempts else {}),
            "deviations": [deviation._asdict() for deviation in self.deviations],
            "assumptions": [assumption._asdict() for assumption in self.motion.assumptions],
        }

    def save(self, folder: str | PathLike[str], source: Motion | None = None) -> list[Path]:
        """Write the result into a folder; returns the files.

        ``motion.npz`` (frames, contacts, contact forces), ``motion.bvh`` (frames and skeleton of the source motion; of the figure's links
        at 120 frames/s if only a reference was given), ``torques.csv``, ``forces.csv``, ``metrics.json``, ``plot.png``, ``poses.png`` and
        ``report.html``, a page with the metrics and pictures. Without matplotlib, ``plot.png`` and ``poses.png`` are left out. The files
        appear together when all are complete, and replace those of an earlier result; other files in the folder are left alone.

        Args:
            folder: Made if it does not exist.
            source: Deprecated: the result knows its source motion.
        """
        if source is not None:
            warn_renamed("argument 'source' of FilterResult.save", "save(folder): the result knows its source motion")
        metrics = self.metrics()
        with replace_files(folder, "the results", FILES) as files:
            self.motion.save(files.path("motion.npz"))
            self._save_bvh(files.path("motion.bvh"), source)
            save_torques(files.path("torques.csv"), self.motion.times, self.joint_torques)
            save_forces(files.path("forces.csv"), self.motion.times, self.contact_forces)
            write_text(files.path("metrics.json"), format_json(metrics) + "\n", "the metrics")
            pictures = self._save_pictures(files)
            page = html_report(metrics, pictures, files.names)
            write_text(files.path("report.html"), page, "the report")
        return files.final_paths

    def _save_pictures(self, files: FileSet) -> dict[str, str]:
        """Write the pictures and return them as HTML elements; without matplotlib, only a plot for the page, as SVG."""
        if not is_available():
            svg = svg_panels(
                self.motion.times, comparison_panels(self._source_check, self.motion, self.frame_errors.com), PICTURES["plot.png"]
            )
            return {"plot.png": svg}
        elements = {}
        for name, draw in (("plot.png", self.plot), ("poses.png", self.plot_poses)):
            path = files.path(name)
            draw(path)
            elements[name] = picture(path, PICTURES[name])
        return elements

    def _save_bvh(self, path: Path, source: Motion | None) -> Path:
        if source is None and self.source.resampled:
            return self.motion.save(path, rate=BVH_RATE)
        return self.at_source_frames(source).save(path)

    def show(self) -> Path:
        """Write the result into a temporary folder and open its report in the browser; returns the report's path."""
        page = self.save(tempfile.mkdtemp(prefix=f"{self.motion.name}-"))[-1]
        webbrowser.open(page.resolve().as_uri())
        return page

    run = renamed_attribute("run", "recording")
    blame = renamed_attribute("blame", "failure")
    finished = renamed_attribute("finished", "success")
    reasons = renamed_attribute("reasons", "deviations")
    forecast = renamed_attribute("forecast", "feasibility")
    own_steps = renamed_attribute("own_steps", "recovery_steps")
    torques = renamed_attribute("torques", "joint_torques")
    effort = renamed_attribute("effort", "peak_torques")
    effort_share = renamed_attribute("effort_share", "peak_torque_shares")
    strength = renamed_attribute("strength", "torque_limits")
    whose = renamed_attribute("whose", "figure_name")
    like = renamed_method("like", "at_source_frames")
    picture = renamed_method("picture", "plot_poses")


def _columns(table: Array, at: Array | slice) -> Array:
    """Columns of a table; the table itself, not a copy, if these are all in order."""
    index = np.arange(table.shape[1])
    return table if np.array_equal(index[at], index) else table[:, at]
