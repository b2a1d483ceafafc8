"""Report: what is wrong with a motion, in numbers, words and pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brachiate.assumptions import Guess
from brachiate.contact_estimation.ground_reaction import NOTHING
from brachiate.contact_estimation.motion_dynamics import Track
from brachiate.evaluation.metrics import Measures
from brachiate.evaluation.published_metrics import legacy_metrics
from brachiate.io.disk import write_text
from brachiate.motion.contact_labels import Labels
from brachiate.motion.motion import Motion
from brachiate.show.plots import Strips, lines
from brachiate.validation import Array

PHYSICAL, NEARLY, NOT = "physical", "nearly physical", "not physical"
APART = 0.25  # [s] between the worst moments
FAMILY: Mapping[str, str] = {"moment": "residual", "flight": "residual", "spin": "residual"}  # metrics that mostly go wrong together
SKATES = 0.05  # [m/s]
EXACT = 1e-6  # [m] what is round-off of a place
STRIPES: Mapping[int, tuple[str, str]] = {1: ("stands", "#1f6f8b"), 2: ("holds", "#edae49")}


class Bound(NamedTuple):
    """Up to which value a motion is physical in some respect, and up to which nearly so."""

    physical: float
    nearly: float
    why: str


# Residuals: what Hicks et al. 2015 ask of simulations of movement: forces within 5 % of what acts on the body, moments within 1 % of that
# times the height of the centre of mass. The rest: what noise of captures and of shapes does.
BOUNDS: Mapping[str, Bound] = {
    "residual": Bound(0.05, 0.15, "the root needs a force that nobody brings"),
    "moment": Bound(0.01, 0.05, "the root needs a moment that nobody brings"),
    "skate": Bound(0.05, 0.25, "slides while it touches"),
    "depth": Bound(0.010, 0.040, "is in the ground"),
    "float": Bound(0.015, 0.050, "should touch and does not"),
    "cone": Bound(0.02, 0.15, "friction cannot bring the force"),
    "cop": Bound(0.010, 0.050, "the centre of pressure would be outside what touches"),
    "torque": Bound(1.0, 1.5, "needs more torque than there is"),
    "limit": Bound(np.radians(2.0), np.radians(10.0), "is beyond its limit"),
    "flight": Bound(0.5, 2.0, "does not fall as what flies does"),
    "spin": Bound(0.01, 0.05, "spins faster or slower in the air, where nothing turns it"),
}


class Moment(NamedTuple):
    """A time at which something is wrong: where, what, and how many times what would be physical."""

    time: float
    part: str
    why: str
    times: float
    metric: str


@dataclass(frozen=True)
class Report:
    """What a body would need to move like this.

    Args:
        motion: That was looked at.
        track: Frame by frame: forces of contact, torques, what is left.
        labels: What touches.
        frames: Metrics, frame by frame.
        limit_names: Of ``frames.limit``.
        guesses: What was assumed.
        cutoff: Frequency above which the motion was taken for noise [Hz]; None: not at all.
    """

    motion: Motion
    track: Track = field(repr=False)
    labels: Labels = field(repr=False)
    frames: Measures = field(repr=False)
    limit_names: tuple[str, ...] = field(repr=False)
    guesses: tuple[Guess, ...] = field(repr=False)
    cutoff: float | None

    @property
    def times(self) -> Array:
        """Of the frames [s]."""
        return self.track.times

    @property
    def torques(self) -> Array:
        """Torques of joints: (f, nv) [N·m or N]; those of the root are what is left to it."""
        return self.track.tau

    @property
    def residual(self) -> Array:
        """Force [N] and moment about the centre of mass [N·m] that nobody brings: (f, 6)."""
        return self.track.left

    def forces(self) -> dict[str, Array]:
        """Forces on the parts that touch, by name: force [N], and its centre of pressure [m]: (f, 6) each."""
        found = {}
        for p, part in enumerate(self.track.spots.parts):
            if self.labels.of(part):
                mine = self.track.spots.part == p
                force, place = self.track.force[:, mine], self.track.place[:, mine]
                load = np.linalg.norm(force, axis=2, keepdims=True)
                share = load / np.maximum(load.sum(axis=1, keepdims=True), 1e-9)
                found[part] = np.concatenate((force.sum(axis=1), (share * place).sum(axis=1)), axis=1)
        return found

    def annotated(self) -> Motion:
        """The motion with its contacts and forces."""
        return replace(self.motion, contacts=self.labels, forces=self.forces())

    @cached_property
    def unit(self) -> tuple[float, float]:
        """Weight [N], and that times the height of the centre of mass over the ground [N·m]."""
        height = float(np.median(self.labels.ground.above(self.track.centre)))
        return self.track.weight, self.track.weight * max(height, 0.1)

    @cached_property
    def summary(self) -> dict[str, float]:
        """Metrics of the whole motion, by name; units are in the names."""
        m, (weight, lever) = self.frames, self.unit
        touching = np.isfinite(m.skate)
        feet_on = np.isfinite(m.float)
        in_contact = (self.track.how != NOTHING).any(axis=1)
        on_level = np.isfinite(m.slope)
        pressed = np.isfinite(m.outside)
        mu = self.labels.ground.friction
        return {
            "residual_rms_N": _rms(m.residual),
            "residual_peak_N": _most(m.residual),
            "residual_rms_percent_weight": 100.0 * _rms(m.residual) / weight,
            "residual_peak_percent_weight": 100.0 * _most(m.residual) / weight,
            "residual_moment_rms_Nm": _rms(m.moment),
            "residual_moment_peak_Nm": _most(m.moment),
            "residual_moment_rms_percent_weight_height": 100.0 * _rms(m.moment) / lever,
            "skate_mean_m_s": _mean(m.skate[touching]),
            "skate_share_above_0.05_m_s": _mean(m.skate[touching] > SKATES),
            "penetration_mean_mm": 1e3 * _mean(m.depth.max(axis=1, initial=0.0)),
            "penetration_max_mm": 1e3 * _most(m.depth),
            "float_mean_mm": 1e3 * _mean(m.float[feet_on]),
            "float_max_mm": 1e3 * _most(m.float[feet_on]),
            "cone_share": _mean(m.slope[on_level] > mu * (1 + 1e-9)),
            "cop_share": _mean(m.outside[pressed] > EXACT),
            "cop_outside_rms_mm": 1e3 * _rms(m.outside[pressed]),
            "cop_outside_max_mm": 1e3 * _most(m.outside[pressed]),
            "contact_share": _mean(in_contact),
            "torque_peak_share_of_limit": _most(m.torque),
            "limit_max_deg": float(np.degrees(_most(m.limit))),
            "limit_share": _mean((np.nan_to_num(m.limit) > np.radians(0.1)).any(axis=1)) if m.limit.size else 0.0,
            "flight_share": _mean(np.isfinite(m.flight)),
            "flight_acceleration_rms_m_s2": _rms(m.flight[np.isfinite(m.flight)]),
            "flight_moment_rms_Nm": _rms(m.spin[np.isfinite(m.spin)]),
            "flight_moment_rms_percent_weight_height": 100.0 * _rms(m.spin[np.isfinite(m.spin)]) / lever,
            "jerk_rms_m_s3": _rms(m.jerk),
            "frames_without_solution": float(self.track.missed),
        }

    @cached_property
    def effort(self) -> dict[str, float]:
        """Largest torque of every coordinate as a share of what its motor can bring, by name; none where that is not known."""
        share = self.frames.torque
        known = np.flatnonzero(np.isfinite(share).any(axis=0))
        return {self.motion.figure.coordinates[k]: float(np.nanmax(share[:, k])) for k in known}

    @cached_property
    def legacy(self) -> dict[str, float]:
        """Metrics as others have defined them."""
        return legacy_metrics(self.track, self.labels)

    @cached_property
    def scores(self) -> dict[str, float]:
        """The value of each metric that the verdict is about; see ``BOUNDS``."""
        s, m = self.summary, self.frames
        return {
            "residual": s["residual_rms_percent_weight"] / 100.0,
            "moment": s["residual_moment_rms_percent_weight_height"] / 100.0,
            "skate": s["skate_mean_m_s"],
            "depth": _high(m.depth.max(axis=1, initial=0.0)),
            "float": _high(m.float[np.isfinite(m.float)]),
            "cone": s["cone_share"],
            "cop": _often(m.outside[np.isfinite(m.outside)]),
            "torque": _high(np.nan_to_num(m.torque).max(axis=1, initial=0.0)),
            "limit": _high(m.limit.max(axis=1, initial=0.0)),
            "flight": s["flight_acceleration_rms_m_s2"],
            "spin": s["flight_moment_rms_percent_weight_height"] / 100.0,
        }

    @property
    def verdict(self) -> str:
        """``physical``, ``nearly physical`` or ``not physical``."""
        worst = PHYSICAL
        for name, value in self.scores.items():
            bound = BOUNDS[name]
            if value > bound.nearly:
                return NOT
            if value > bound.physical:
                worst = NEARLY
        return worst

    @property
    def faults(self) -> tuple[str, ...]:
        """Metrics that are beyond what is physical, worst first."""
        excess = {name: value / BOUNDS[name].physical for name, value in self.scores.items()}
        return tuple(sorted((name for name, x in excess.items() if x > 1.0), key=lambda name: -excess[name]))

    @cached_property
    def worst(self) -> tuple[Moment, ...]:
        """The three worst moments: for different reasons, if there are as many, and apart from each other."""
        signals = self._signals()
        found: list[Moment] = []
        for fresh in (True, False):
            while len(found) < 3:
                seen = {FAMILY.get(moment.metric, moment.metric) for moment in found} if fresh else set()
                chosen = [self._peak(name, *signals[name], found) for name in signals if FAMILY.get(name, name) not in seen]
                wrong = [moment for moment in chosen if moment.times > 1.0]
                if not wrong:
                    break
                found.append(max(wrong, key=lambda moment: moment.times))
        return tuple(sorted(found, key=lambda moment: -moment.times))

    def _peak(self, name: str, values: Array, parts: list[str], found: list[Moment]) -> Moment:
        """Where a metric is worst, apart from what was found for the same reason."""
        free = np.ones(len(self.times), bool)
        for moment in found:
            if FAMILY.get(moment.metric, moment.metric) == FAMILY.get(name, name):
                free &= np.abs(self.times - moment.time) > APART
        row = np.where(free, values, 0.0)
        k = int(np.argmax(row))
        return Moment(float(self.times[k]), parts[k], BOUNDS[name].why, float(row[k]), name)

    def _signals(self) -> dict[str, tuple[Array, list[str]]]:
        """Every metric over time, as multiples of what is physical, and whose it is."""
        m, (weight, lever) = self.frames, self.unit
        parts, model = list(self.track.spots.parts), self.motion.figure
        f = len(self.times)
        root = [next(iter(model.links))] * f
        touching = [_listed([parts[p] for p in np.flatnonzero(np.isfinite(row))]) or root[0] for row in m.skate]
        mu = self.labels.ground.friction

        def of(table: Array, names: list[str]) -> tuple[Array, list[str]]:
            filled = np.nan_to_num(table, nan=0.0, posinf=1e9)
            if not filled.shape[1]:
                return np.zeros(f), root
            k = np.argmax(filled, axis=1)
            return filled[np.arange(f), k], [names[j] for j in k]

        skate, depth, floats = (of(table, parts) for table in (m.skate, m.depth, m.float))
        torque = of(m.torque, list(model.coordinates))
        limit = of(m.limit, list(self.limit_names))
        slope = np.nan_to_num(m.slope, nan=0.0, posinf=1e3) / max(mu, 1e-9)
        return {
            "residual": (m.residual / (BOUNDS["residual"].physical * weight), root),
            "moment": (m.moment / (BOUNDS["moment"].physical * lever), root),
            "skate": (skate[0] / BOUNDS["skate"].physical, skate[1]),
            "depth": (depth[0] / BOUNDS["depth"].physical, depth[1]),
            "float": (floats[0] / BOUNDS["float"].physical, floats[1]),
            "cone": (np.minimum(slope, 10.0), touching),
            "cop": (np.minimum(np.nan_to_num(m.outside) / BOUNDS["cop"].physical, 30.0), touching),
            "torque": (torque[0] / BOUNDS["torque"].physical, torque[1]),
            "limit": (limit[0] / BOUNDS["limit"].physical, limit[1]),
            "flight": (np.nan_to_num(m.flight) / BOUNDS["flight"].physical / 2.0, root),
            "spin": (np.nan_to_num(m.spin) / (BOUNDS["spin"].physical * lever) / 2.0, root),
        }

    def lines(self) -> list[str]:
        """The report in a few lines."""
        s = self.summary
        reasons = f": {', '.join(self.faults[:4])}" if self.faults else ""
        text = [
            f"residual {s['residual_rms_N']:.0f} N ({s['residual_rms_percent_weight']:.1f} % of the weight) RMS, "
            f"{s['residual_peak_N']:.0f} N peak; moment {s['residual_moment_rms_Nm']:.1f} N·m RMS, {s['residual_moment_peak_Nm']:.0f} peak",
            f"contact {100 * s['contact_share']:.0f} % of the time; skate {s['skate_mean_m_s']:.3f} m/s "
            f"({100 * s['skate_share_above_0.05_m_s']:.0f} % above 0.05); in the ground {s['penetration_max_mm']:.0f} mm, "
            f"above it {s['float_max_mm']:.0f} mm at most",
            f"needed force outside the cone {100 * s['cone_share']:.0f} % of the time, its centre of pressure outside the area "
            f"{100 * s['cop_share']:.0f} % ({s['cop_outside_rms_mm']:.0f} mm RMS)",
            f"torque {100 * s['torque_peak_share_of_limit']:.0f} % of its limit at most; joints {s['limit_max_deg']:.1f} deg beyond theirs",
            f"flight {100 * s['flight_share']:.0f} % of the time, {s['flight_acceleration_rms_m_s2']:.2f} m/s² and "
            f"{s['flight_moment_rms_Nm']:.1f} N·m beside gravity; jerk {s['jerk_rms_m_s3']:.0f} m/s³",
            f"verdict: {self.verdict}{reasons}",
        ]
        text += [f"{w.time:8.2f} s  {w.part}: {w.why} ({w.times:.1f} x)" for w in self.worst]
        return text

    def __str__(self) -> str:
        """Return the report in a few lines."""
        return "\n".join(self.lines())

    def by_frame(self) -> dict[str, Any]:
        """Metrics of every frame, as plain values; units are in the names. ``None`` where one does not apply.

        Those of parts, joints and coordinates are by name, and only what is there at some time: what ever touches, sinks, or goes beyond
        a limit.
        """
        m, parts = self.frames, self.track.spots.parts
        needs = list(self.motion.figure.coordinates)
        return {
            "time_s": _plain(self.times),
            "residual_N": _plain(m.residual),
            "residual_moment_Nm": _plain(m.moment),
            "skate_m_s": _named(m.skate, parts),
            "penetration_mm": _named(1e3 * m.depth, parts),
            "float_mm": _named(1e3 * m.float, parts),
            "tangential_over_normal_force": _plain(np.minimum(m.slope, 1e6)),
            "cop_outside_mm": _plain(1e3 * m.outside),
            "torque_share_of_limit": _named(m.torque, needs),
            "limit_rad_or_m": _named(m.limit, self.limit_names),
            "flight_acceleration_m_s2": _plain(m.flight),
            "flight_moment_Nm": _plain(m.spin),
            "jerk_m_s3": _plain(m.jerk),
        }

    def as_dict(self) -> dict[str, Any]:
        """Everything but the frames, as plain values."""
        ground = self.labels.ground
        return {
            "format": "brachiate check 1",
            "name": self.motion.name,
            "figure": self.motion.figure.name,
            "mass_kg": self.motion.figure.mass,
            "frames": len(self.times),
            "seconds": float(self.times[-1] - self.times[0]),
            "cutoff_Hz": self.cutoff,
            "verdict": self.verdict,
            "faults": list(self.faults),
            "worst": [moment._asdict() for moment in self.worst],
            "summary": self.summary,
            "effort": self.effort,
            "legacy": self.legacy,
            "bounds": {name: bound._asdict() for name, bound in BOUNDS.items()},
            "ground": {
                "height_m": ground.height,
                "slope_deg": ground.slope,
                "heading_deg": ground.heading,
                "friction": ground.friction,
                "steps": None if ground.steps is None else asdict(ground.steps),
            },
            "contacts": [
                {"part": c.part, "from_s": c.start, "to_s": c.end, "how": c.how, "height_m": c.height} for c in self.labels.contacts
            ],
            "assumed": [guess._asdict() for guess in self.guesses],
        }

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything as JSON: the summary, and metrics of every frame under ``by_frame``."""
        told = json.dumps(self.as_dict(), indent=1, allow_nan=False, default=float)
        rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(values, allow_nan=False)}" for name, values in self.by_frame().items())
        write_text(Path(path), f'{told[:-2]},\n "by_frame": {{\n{rows}\n }}\n}}\n', "the report")

    def plot(self, path: str | PathLike[str] | None = None) -> Any:
        """Draw force, residual, contacts, skate and torque over time; write the picture, or return the figure."""
        m, weight = self.frames, self.track.weight
        force = self.track.force.sum(axis=1)
        needed, n = self.track.needed, self.labels.ground.normal
        rows = {f"{part}.state": self._strip(part) for part in self.track.spots.parts if self.labels.of(part)}
        panels: dict[str, Mapping[str, Array] | Strips] = {
            "ground force\n[weight]": {"needed": needed[:, :3] @ n / weight, "that contacts bring": force @ n / weight},
            "of parts\n[weight]": {part: values[:, :3] @ n / weight for part, values in self.forces().items()},
            "residual\n[% of weight]": {"force": 100.0 * m.residual / weight},
            "moment [N·m]": {"residual": m.moment},
        }
        if rows:
            panels["contact"] = Strips(rows, STRIPES)
            panels["skate [m/s]"] = {part: m.skate[:, k] for k, part in enumerate(self.track.spots.parts) if self.labels.of(part)}
        if np.isfinite(m.torque).any():
            panels["torque\n[of limit]"] = {"largest": np.nan_to_num(m.torque).max(axis=1)}
        return lines(self.times, panels, None if path is None else Path(path))

    def _strip(self, part: str) -> Array:
        values = np.zeros(len(self.times), np.int64)
        for label in self.labels.of(part):
            values[(self.times >= label.start - 1e-9) & (self.times <= label.end + 1e-9)] = 1 if label.how == "stands" else 2
        return values


def _listed(names: list[str]) -> str:
    """Names in a row, cut where it would get long."""
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _plain(x: Array) -> list[float | None]:
    """Numbers with six digits; what is none is left out."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in x.tolist()]


def _named(table: Array, names: Sequence[str]) -> dict[str, list[float | None]]:
    """Columns by name: those that are not zero, or none, all the time."""
    return {name: _plain(column) for name, column in zip(names, table.T, strict=True) if np.nan_to_num(column).any()}


def _mean(x: Array) -> float:
    return float(np.mean(x)) if np.size(x) else 0.0


def _rms(x: Array) -> float:
    return float(np.sqrt(np.mean(np.square(x)))) if np.size(x) else 0.0


def _most(x: Array) -> float:
    return float(np.nanmax(x)) if np.size(x) and np.isfinite(x).any() else 0.0


def _often(x: Array) -> float:
    """What is exceeded a tenth of the time."""
    return float(np.percentile(x, 90)) if np.size(x) else 0.0


def _high(x: Array) -> float:
    """What is exceeded a hundredth of the time: a single frame does not condemn."""
    return float(np.percentile(x, 99)) if np.size(x) else 0.0
