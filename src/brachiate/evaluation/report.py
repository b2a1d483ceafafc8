"""Result of a plausibility check: summary, criteria, verdict and violations, as text, JSON and plots."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brachiate.assumptions import Assumption
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.deprecation import renamed_attribute
from brachiate.evaluation.bounds import BOUNDS, NEARLY_PHYSICAL, NOT_PHYSICAL, PHYSICAL
from brachiate.evaluation.metric_names import label_of
from brachiate.evaluation.metrics import FrameMetrics
from brachiate.evaluation.published_metrics import published_metrics
from brachiate.evaluation.summary import metric_units, reduce_metrics, summarize
from brachiate.io.atomic import write_text
from brachiate.io.json_text import format_json
from brachiate.motion.contact_labels import ContactLabels
from brachiate.motion.motion import Motion
from brachiate.show.plots import StateStrips, plot_panels
from brachiate.validation import Array

FORMAT = "brachiate check 2"
MIN_SEPARATION = 0.25  # [s] between violations of the same family
#: Criteria that are mostly violated together.
FAMILY: Mapping[str, str] = dict.fromkeys(("root_residual_moment", "flight_acceleration", "flight_moment"), "root_residual_force")
CONTACT_COLORS: Mapping[int, tuple[str, str]] = {1: ("support", "#1f6f8b"), 2: ("grip", "#edae49")}


class Violation(NamedTuple):
    """Instant at which a criterion is violated.

    Attributes:
        time: [s]
        part: Body part, joint or root link.
        description: What is violated.
        ratio: Value over the bound that is physical.
        metric: Criterion, a key of ``BOUNDS``.
    """

    time: float
    part: str
    description: str
    ratio: float
    metric: str

    why = renamed_attribute("why", "description")
    times = renamed_attribute("times", "ratio")


@dataclass(frozen=True)
class CheckReport:
    """Physical plausibility of a motion.

    Args:
        motion: Motion that was checked.
        dynamics: Inverse dynamics, frame by frame: contact forces, joint torques, root residual.
        contacts: Contact labels, given or inferred.
        frames: Metrics, frame by frame.
        limit_names: Joint limits in the columns of ``frames.limit_violation``.
        assumptions: What was assumed.
        cutoff: Cutoff frequency of the low-pass filter [Hz]; None: not filtered.
    """

    motion: Motion
    dynamics: MotionDynamics = field(repr=False)
    contacts: ContactLabels = field(repr=False)
    frames: FrameMetrics = field(repr=False)
    limit_names: tuple[str, ...] = field(repr=False)
    assumptions: tuple[Assumption, ...] = field(repr=False)
    cutoff: float | None

    @property
    def times(self) -> Array:
        """Times of the frames [s]."""
        return self.dynamics.times

    @property
    def torques(self) -> Array:
        """Joint torques: (f, nv) [N·m or N]; at the root the residual."""
        return self.dynamics.tau

    @property
    def root_residual(self) -> Array:
        """Root residual, force [N] and moment about the center of mass [N·m]: (f, 6)."""
        return self.dynamics.root_residual

    def forces(self) -> dict[str, Array]:
        """Ground reaction force [N] and center of pressure [m] of parts in contact, by name: (f, 6) each."""
        dynamics = self.dynamics
        parts = {part: dynamics.contact_points.part == p for p, part in enumerate(dynamics.contact_points.parts) if self.contacts.of(part)}
        forces = {part: np.zeros((len(dynamics), 6)) for part in parts}
        for block in dynamics.blocks() if parts else ():
            all_forces = dynamics.contacts(block.frames)[2]
            for part, mine in parts.items():
                force, position = all_forces[:, mine], block.point_position[:, mine]
                load = np.linalg.norm(force, axis=2, keepdims=True)
                share = load / np.maximum(load.sum(axis=1, keepdims=True), 1e-9)
                forces[part][block.frames] = np.concatenate((force.sum(axis=1), (share * position).sum(axis=1)), axis=1)
        return forces

    def annotated(self) -> Motion:
        """The motion with its contacts and ground reaction forces."""
        return replace(self.motion, contacts=self.contacts, forces=self.forces())

    @cached_property
    def unit(self) -> tuple[float, float]:
        """Weight [N], and weight times median CoM height above the ground [N·m]."""
        return metric_units(self.dynamics.weight, self.contacts.terrain.clearance(self.dynamics.com))

    @cached_property
    def summary(self) -> dict[str, float]:
        """Metrics of the whole motion; keys with units as in :data:`brachiate.evaluation.metric_names.METRICS`."""
        metrics = reduce_metrics(self.frames, self.dynamics.in_contact)
        return summarize(metrics, self.unit, self.contacts.terrain.friction, self.dynamics.unconverged_frames)

    @cached_property
    def peak_torque_share(self) -> dict[str, float]:
        """Peak torque of every coordinate as a share of its limit, by name; only those with a limit."""
        share = self.frames.torque_share
        limited = np.flatnonzero(np.isfinite(share).any(axis=0))
        return {self.motion.figure.coordinates[k]: float(np.nanmax(share[:, k])) for k in limited}

    @cached_property
    def published_metrics(self) -> dict[str, float]:
        """Metrics as defined in publications, for comparison."""
        return published_metrics(self.dynamics, self.contacts)

    @cached_property
    def scores(self) -> dict[str, float]:
        """Value of every criterion of the verdict; see ``BOUNDS``."""
        s, m = self.summary, self.frames
        return {
            "root_residual_force": s["root_residual_force_rms_percent_weight"] / 100.0,
            "root_residual_moment": s["root_residual_moment_rms_percent_weight_height"] / 100.0,
            "foot_skate": s["foot_skate_mean_m_s"],
            "penetration": _percentile99(m.penetration.max(axis=1, initial=0.0)),
            "foot_float": _percentile99(m.foot_float[np.isfinite(m.foot_float)]),
            "friction_cone": s["friction_cone_violation_share"],
            "center_of_pressure": _percentile90(m.cop_outside[np.isfinite(m.cop_outside)]),
            "joint_torque": _percentile99(np.nan_to_num(m.torque_share).max(axis=1, initial=0.0)),
            "joint_limit": _percentile99(m.limit_violation.max(axis=1, initial=0.0)),
            "flight_acceleration": s["flight_acceleration_rms_m_s2"],
            "flight_moment": s["flight_moment_rms_percent_weight_height"] / 100.0,
        }

    @property
    def verdict(self) -> str:
        """``physical``, ``nearly physical`` or ``not physical``."""
        verdict = PHYSICAL
        for name, value in self.scores.items():
            bound = BOUNDS[name]
            if value > bound.nearly:
                return NOT_PHYSICAL
            if value > bound.physical:
                verdict = NEARLY_PHYSICAL
        return verdict

    @property
    def failed_metrics(self) -> tuple[str, ...]:
        """Criteria beyond what is physical, worst first."""
        ratio = {name: value / BOUNDS[name].physical for name, value in self.scores.items()}
        return tuple(sorted((name for name, x in ratio.items() if x > 1.0), key=lambda name: -ratio[name]))

    @cached_property
    def violations(self) -> tuple[Violation, ...]:
        """The three worst violations: of different families, if there are as many, and apart in time."""
        signals = self._signals()
        found: list[Violation] = []
        for distinct in (True, False):
            while len(found) < 3:
                seen = {FAMILY.get(violation.metric, violation.metric) for violation in found} if distinct else set()
                peaks = [self._peak(name, *signals[name], found) for name in signals if FAMILY.get(name, name) not in seen]
                violated = [violation for violation in peaks if violation.ratio > 1.0]
                if not violated:
                    break
                found.append(max(violated, key=lambda violation: violation.ratio))
        return tuple(sorted(found, key=lambda violation: -violation.ratio))

    def _peak(self, name: str, values: Array, parts: list[str], found: list[Violation]) -> Violation:
        """Worst instant of a criterion, apart from violations of the same family."""
        free = np.ones(len(self.times), bool)
        for violation in found:
            if FAMILY.get(violation.metric, violation.metric) == FAMILY.get(name, name):
                free &= np.abs(self.times - violation.time) > MIN_SEPARATION
        row = np.where(free, values, 0.0)
        k = int(np.argmax(row))
        return Violation(float(self.times[k]), parts[k], BOUNDS[name].description, float(row[k]), name)

    def _signals(self) -> dict[str, tuple[Array, list[str]]]:
        """Every criterion over time, relative to its bound, and the part it is about."""
        m, (weight, weight_height) = self.frames, self.unit
        parts, model = list(self.dynamics.contact_points.parts), self.motion.figure
        f = len(self.times)
        root = [next(iter(model.links))] * f
        touching = [_join([parts[p] for p in np.flatnonzero(np.isfinite(row))]) or root[0] for row in m.foot_skate]
        mu = self.contacts.terrain.friction

        def worst_column(table: Array, names: list[str]) -> tuple[Array, list[str]]:
            filled = np.nan_to_num(table, nan=0.0, posinf=1e9)
            if not filled.shape[1]:
                return np.zeros(f), root
            k = np.argmax(filled, axis=1)
            return filled[np.arange(f), k], [names[j] for j in k]

        skate, depth, floating = (worst_column(table, parts) for table in (m.foot_skate, m.penetration, m.foot_float))
        torque = worst_column(m.torque_share, list(model.coordinates))
        limit = worst_column(m.limit_violation, list(self.limit_names))
        ratio = np.nan_to_num(m.friction_ratio, nan=0.0, posinf=1e3) / max(mu, 1e-9)
        bound = {name: bound.physical for name, bound in BOUNDS.items()}
        return {
            "root_residual_force": (m.root_residual_force / (bound["root_residual_force"] * weight), root),
            "root_residual_moment": (m.root_residual_moment / (bound["root_residual_moment"] * weight_height), root),
            "foot_skate": (skate[0] / bound["foot_skate"], skate[1]),
            "penetration": (depth[0] / bound["penetration"], depth[1]),
            "foot_float": (floating[0] / bound["foot_float"], floating[1]),
            "friction_cone": (np.minimum(ratio, 10.0), touching),
            "center_of_pressure": (np.minimum(np.nan_to_num(m.cop_outside) / bound["center_of_pressure"], 30.0), touching),
            "joint_torque": (torque[0] / bound["joint_torque"], torque[1]),
            "joint_limit": (limit[0] / bound["joint_limit"], limit[1]),
            "flight_acceleration": (np.nan_to_num(m.flight_acceleration) / bound["flight_acceleration"] / 2.0, root),
            "flight_moment": (np.nan_to_num(m.flight_moment) / (bound["flight_moment"] * weight_height) / 2.0, root),
        }

    def lines(self) -> list[str]:
        """The report in a few lines."""
        s = self.summary
        reasons = f": {', '.join(label_of(name) for name in self.failed_metrics[:4])}" if self.failed_metrics else ""
        text = [
            f"root residual force {s['root_residual_force_rms_N']:.0f} N RMS "
            f"({s['root_residual_force_rms_percent_weight']:.1f} % of weight), "
            f"{s['root_residual_force_peak_N']:.0f} N peak; moment {s['root_residual_moment_rms_Nm']:.1f} N·m RMS, "
            f"{s['root_residual_moment_peak_Nm']:.0f} N·m peak",
            f"contact {100 * s['contact_share']:.0f} % of time; foot skate {s['foot_skate_mean_m_s']:.3f} m/s mean "
            f"({100 * s['foot_skate_share_above_0.05_m_s']:.0f} % above 0.05); penetration {s['penetration_max_mm']:.0f} mm max, "
            f"foot float {s['foot_float_max_mm']:.0f} mm max",
            f"required force outside friction cone {100 * s['friction_cone_violation_share']:.0f} % of time, CoP outside contact area "
            f"{100 * s['cop_outside_share']:.0f} % of time ({s['cop_outside_rms_mm']:.0f} mm RMS)",
            f"joint torque {100 * s['torque_peak_share_of_limit']:.0f} % of limit peak; joint limit violation "
            f"{s['joint_limit_violation_max_deg']:.1f} deg max",
            f"flight {100 * s['flight_share']:.0f} % of time, acceleration error {s['flight_acceleration_rms_m_s2']:.2f} m/s² and moment "
            f"{s['flight_moment_rms_Nm']:.1f} N·m RMS; jerk {s['jerk_rms_m_s3']:.0f} m/s³ RMS",
            f"verdict: {self.verdict}{reasons}",
        ]
        text += [f"{v.time:8.2f} s  {v.part}: {v.description} ({v.ratio:.1f} x bound)" for v in self.violations]
        return text

    def __str__(self) -> str:
        """Return the report in a few lines."""
        return "\n".join(self.lines())

    def by_frame(self) -> dict[str, Any]:
        """Metrics of every frame as plain values, units in the keys; None where a metric does not apply.

        Metrics of parts, joints and coordinates are by name; only those that are ever nonzero.
        """
        m, parts = self.frames, self.dynamics.contact_points.parts
        return {
            "time_s": _plain(self.times),
            "root_residual_force_N": _plain(m.root_residual_force),
            "root_residual_moment_Nm": _plain(m.root_residual_moment),
            "foot_skate_m_s": _named(m.foot_skate, parts),
            "penetration_mm": _named(1e3 * m.penetration, parts),
            "foot_float_mm": _named(1e3 * m.foot_float, parts),
            "tangential_over_normal_force": _plain(np.minimum(m.friction_ratio, 1e6)),
            "cop_outside_mm": _plain(1e3 * m.cop_outside),
            "torque_share_of_limit": _named(m.torque_share, list(self.motion.figure.coordinates)),
            "joint_limit_violation_rad_or_m": _named(m.limit_violation, self.limit_names),
            "flight_acceleration_m_s2": _plain(m.flight_acceleration),
            "flight_moment_Nm": _plain(m.flight_moment),
            "jerk_m_s3": _plain(m.jerk),
        }

    def as_dict(self) -> dict[str, Any]:
        """Everything but the metrics of frames, as plain values."""
        terrain = self.contacts.terrain
        return {
            "format": FORMAT,
            "name": self.motion.name,
            "figure": self.motion.figure.name,
            "mass_kg": self.motion.figure.mass,
            "frames": len(self.times),
            "seconds": float(self.times[-1] - self.times[0]),
            "cutoff_Hz": self.cutoff,
            "verdict": self.verdict,
            "failed_metrics": list(self.failed_metrics),
            "violations": [violation._asdict() for violation in self.violations],
            "summary": self.summary,
            "peak_torque_share_of_limit": self.peak_torque_share,
            "published_metrics": self.published_metrics,
            "bounds": {name: bound._asdict() for name, bound in BOUNDS.items()},
            "terrain": {
                "height_m": terrain.height,
                "slope_deg": terrain.slope,
                "heading_deg": terrain.heading,
                "friction": terrain.friction,
                "stairs": None if terrain.stairs is None else asdict(terrain.stairs),
            },
            "contacts": [
                {"part": c.part, "from_s": c.start, "to_s": c.end, "kind": c.kind, "height_m": c.height} for c in self.contacts.contacts
            ],
            "assumptions": [assumption._asdict() for assumption in self.assumptions],
        }

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything as JSON: the summary, and metrics of every frame under ``by_frame``."""
        head = format_json(self.as_dict())
        rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(values, allow_nan=False)}" for name, values in self.by_frame().items())
        write_text(path, f'{head[:-2]},\n "by_frame": {{\n{rows}\n }}\n}}\n', "the report")

    def plot(self, path: str | PathLike[str] | None = None) -> Any:
        """Plot forces, root residual, contacts, foot skate and torque over time; write the picture, or return the figure."""
        m, weight, parts = self.frames, self.dynamics.weight, self.dynamics.contact_points.parts
        force = self.dynamics.contact_force.sum(axis=1)
        required, n = self.dynamics.required_wrench, self.contacts.terrain.normal
        rows = {f"{part}.state": self._contact_states(part) for part in parts if self.contacts.of(part)}
        panels: dict[str, Mapping[str, Array] | StateStrips] = {
            "ground reaction\n[weight]": {"required": required[:, :3] @ n / weight, "estimated": force @ n / weight},
            "of parts\n[weight]": {part: values[:, :3] @ n / weight for part, values in self.forces().items()},
            "root residual force\n[% of weight]": {"force": 100.0 * m.root_residual_force / weight},
            "root residual\nmoment [N·m]": {"moment": m.root_residual_moment},
        }
        if rows:
            panels["contact"] = StateStrips(rows, CONTACT_COLORS)
            panels["foot skate [m/s]"] = {part: m.foot_skate[:, k] for k, part in enumerate(parts) if self.contacts.of(part)}
        if np.isfinite(m.torque_share).any():
            panels["joint torque\n[of limit]"] = {"largest": np.nan_to_num(m.torque_share).max(axis=1)}
        return plot_panels(self.times, panels, None if path is None else Path(path))

    def _contact_states(self, part: str) -> Array:
        """0 without contact, 1 support, 2 grip: (f,)."""
        values = np.zeros(len(self.times), np.int64)
        for label in self.contacts.of(part):
            span = slice(*np.searchsorted(self.times, (label.start - 1e-9, label.end + 1e-9)))
            values[span] = 1 if label.kind == "support" else 2
        return values

    track = renamed_attribute("track", "dynamics")
    labels = renamed_attribute("labels", "contacts")
    residual = renamed_attribute("residual", "root_residual")
    worst = renamed_attribute("worst", "violations")
    faults = renamed_attribute("faults", "failed_metrics")
    effort = renamed_attribute("effort", "peak_torque_share")
    legacy = renamed_attribute("legacy", "published_metrics")


def _join(names: list[str]) -> str:
    """The first two names, and the number of others."""
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _plain(x: Array) -> list[float | None]:
    """Numbers with six digits; None for NaN and infinity."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in x.tolist()]


def _named(table: Array, names: Sequence[str]) -> dict[str, list[float | None]]:
    """Columns by name: those that are ever nonzero."""
    return {name: _plain(column) for name, column in zip(names, table.T, strict=True) if np.nan_to_num(column).any()}


def _percentile90(x: Array) -> float:
    return float(np.percentile(x, 90)) if np.size(x) else 0.0


def _percentile99(x: Array) -> float:
    """99th percentile: a single frame does not decide the verdict."""
    return float(np.percentile(x, 99)) if np.size(x) else 0.0
