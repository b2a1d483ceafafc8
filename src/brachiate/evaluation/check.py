"""Physical plausibility check of a motion, and its summary alone, for long motions."""

from __future__ import annotations

from os import PathLike

import numpy as np

from brachiate import validation
from brachiate.assumptions import Assumption
from brachiate.compiled import prepare
from brachiate.contact_estimation.contact_confidence import estimate_forces_of_labels
from brachiate.contact_estimation.given_contacts import resolve_contacts, resolve_supports
from brachiate.contact_estimation.infer_contacts import infer_contacts
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.contact_estimation.time_scale import find_time_factor
from brachiate.deprecation import renamed_arguments
from brachiate.errors import MotionError
from brachiate.evaluation.metrics import FrameMetrics, compute_metrics
from brachiate.evaluation.report import CheckReport
from brachiate.evaluation.summary import ReducedMetrics, metric_units, reduce_metrics, summarize
from brachiate.motion.arguments import check_motion
from brachiate.motion.contact_labels import ContactLabels
from brachiate.motion.edit import resample
from brachiate.motion.motion import Motion
from brachiate.motion.spline import UNIFORM_SPACING_TOLERANCE, MotionSpline
from brachiate.motion.terrain import Terrain

CUTOFFS = (0.1, 1e4)  # [Hz] valid range
PIECE = 4096  # frames that are summarized together
OVERLAP, OVERLAP_FRAMES = 0.2, 64  # [s], and frames: longer than loading ramps and the shortest flight, and than a spline looks
CUTOFF = 10.0  # [Hz] low-pass filter of captured motion: human motion is hardly faster, marker noise is


@renamed_arguments(ground="terrain")
def check(
    motion: Motion,
    terrain: Terrain | str | None = None,
    contacts: ContactLabels | str | PathLike[str] | None = None,
    *,
    supports: str = "auto",
    cutoff: float | str | None = "auto",
) -> CheckReport:
    """Check the physical plausibility of a motion: root residual, foot skate, penetration, friction cones, CoP, joint torques, limits.

    Contacts are inferred unless given, ground reaction forces are estimated within friction cones, and the remaining root residual
    (force and moment at the floating base) measures how unphysical the motion is.

    Args:
        motion: Motion of a figure with a floating base.
        terrain: A :class:`Terrain` or a string (``"flat:0.02"``, ``"slope:10"``). Default: level ground, at the height of the stance feet
            for captured motion, else at height 0.
        contacts: Contact labels with their terrain, or a file of them. Default: those of the motion, else inferred. Cannot be combined
            with ``terrain``.
        supports: ``"find"``: infer supports other than the ground, too (steps, seats, bars); ``"ground"``: contacts with the ground only;
            ``"auto"``: find them if the terrain is not given.
        cutoff: Cutoff frequency of the low-pass filter [Hz]; None: no filter; ``"auto"``: 10 Hz for captured motion, else none.
    """
    if len(check_motion(motion)) < 3:
        raise MotionError(f"{motion.name} has {len(motion)} frames: at least three are needed for accelerations.")
    cutoff, assumptions = _resolve_cutoff(motion, cutoff)
    supports = resolve_supports(supports)
    prepare("check")
    contacts, terrain = resolve_contacts(motion, terrain, contacts)
    if terrain is None:
        terrain = Terrain(None if motion.captured else 0.0)
    steps = np.diff(motion.times)
    if cutoff is not None and np.ptp(steps) > UNIFORM_SPACING_TOLERANCE * steps.mean():
        rate = 1.0 / float(np.median(steps))
        motion = resample(motion, rate)
        assumptions.append(Assumption("frame rate", f"{rate:.4g} Hz", "unevenly spaced frames were resampled from a spline"))
    states = MotionSpline(motion.figure, motion.times, motion.q, cutoff).at(motion.times)
    dynamics = MotionDynamics(motion.figure, states, terrain)
    assumptions += find_time_factor(motion)[1]
    if contacts is None:
        contacts, inferred = infer_contacts(dynamics, supports)
        assumptions += inferred
    else:
        estimate_forces_of_labels(dynamics, contacts)
    frames, limit_names = compute_metrics(dynamics, contacts)
    dynamics.cache.clear()  # a report keeps results only
    return CheckReport(motion, dynamics, contacts, frames, limit_names, (*motion.assumptions, *assumptions), cutoff)


def check_summary(motion: Motion) -> dict[str, float]:
    """Summary of the check of a motion that is not captured and has contact labels, as :func:`check` gives it.

    It is computed in pieces that overlap, so memory hardly grows with the motion, while a report keeps kilobytes a frame. Metrics agree
    with those of the report to round-off, up to the tolerance of the force estimation at the start of a piece.
    """
    contacts, _ = resolve_contacts(motion, None, None)
    if contacts is None or motion.captured:
        raise MotionError(f"{motion.name} needs contact labels, and must not be captured, to be checked in pieces.")
    prepare("check")
    parts, heights, unconverged, weight = [], [], 0, 0.0
    for start in range(0, len(motion), PIECE):
        inner = slice(start, min(start + PIECE, len(motion)))
        dynamics, rows = _piece_dynamics(motion, contacts, inner)
        frames, _ = compute_metrics(dynamics, contacts)
        inner_frames = FrameMetrics(*(np.copy(values[rows]) for values in frames))
        parts.append(reduce_metrics(inner_frames, dynamics.in_contact[rows]))
        heights.append(contacts.terrain.clearance(dynamics.com[rows]))
        unconverged, weight = unconverged + dynamics.unconverged_frames, dynamics.weight
    unit = metric_units(weight, np.concatenate(heights))
    return summarize(ReducedMetrics.joined(parts), unit, contacts.terrain.friction, unconverged)


def _piece_dynamics(motion: Motion, contacts: ContactLabels, inner: slice) -> tuple[MotionDynamics, slice]:
    """Dynamics of some frames and of those before and after that have an influence on them; and which rows the frames are."""
    times = motion.times
    first, last = np.searchsorted(times, (times[inner.start] - OVERLAP, times[inner.stop - 1] + OVERLAP))
    outer = slice(max(min(int(first), inner.start - OVERLAP_FRAMES), 0), max(int(last), inner.stop + OVERLAP_FRAMES))
    spline = MotionSpline(motion.figure, times[outer], motion.q[outer])
    dynamics = MotionDynamics(motion.figure, spline.at(times[outer]), contacts.terrain)
    rows, n = slice(inner.start - outer.start, inner.stop - outer.start), len(dynamics)
    for span in (slice(0, rows.start), slice(rows.stop, n), rows):  # the last one counts the frames that did not converge
        if span.stop > span.start:
            estimate_forces_of_labels(dynamics, contacts, span)
    return dynamics, rows


def _resolve_cutoff(motion: Motion, cutoff: float | str | None) -> tuple[float | None, list[Assumption]]:
    """Cutoff frequency [Hz], and the assumption made for ``"auto"``."""
    if cutoff is None:
        return None, []
    if not isinstance(cutoff, str):
        return validation.number(cutoff, "cutoff", minimum=CUTOFFS[0], maximum=CUTOFFS[1]), []
    validation.one_of(cutoff, ("auto",), "cutoff")
    if motion.captured:
        why = "captured motion has noise, which differentiation amplifies"
        return CUTOFF, [Assumption("low-pass filter", f"{CUTOFF:g} Hz", why, "cutoff")]
    return None, [Assumption("low-pass filter", "none", "not captured motion", "cutoff")]
