"""Physical plausibility check of a motion."""

from __future__ import annotations

from os import PathLike

import numpy as np

from brachiate import validation
from brachiate.assumptions import Assumption
from brachiate.compiled import prepare
from brachiate.contact_estimation.contact_confidence import estimate_forces_of_labels
from brachiate.contact_estimation.given_contacts import resolve_contacts
from brachiate.contact_estimation.infer_contacts import infer_contacts
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.deprecation import renamed_arguments
from brachiate.errors import MotionError
from brachiate.evaluation.metrics import compute_metrics
from brachiate.evaluation.report import CheckReport
from brachiate.motion.arguments import check_motion
from brachiate.motion.contact_labels import ContactLabels
from brachiate.motion.edit import resample
from brachiate.motion.motion import Motion
from brachiate.motion.spline import UNIFORM_SPACING_TOLERANCE, MotionSpline
from brachiate.motion.terrain import Terrain

CUTOFFS = (0.1, 1e4)  # [Hz] valid range
CUTOFF = 10.0  # [Hz] low-pass filter of captured motion: human motion is hardly faster, marker noise is


@renamed_arguments(ground="terrain")
def check(
    motion: Motion,
    terrain: Terrain | str | None = None,
    contacts: ContactLabels | str | PathLike[str] | None = None,
    *,
    supports: bool | None = None,
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
        supports: Whether to infer supports other than the ground (steps, seats, bars). Default: only if the terrain is not given.
        cutoff: Cutoff frequency of the low-pass filter [Hz]; None: no filter; ``"auto"``: 10 Hz for captured motion, else none.
    """
    if len(check_motion(motion)) < 3:
        raise MotionError(f"{motion.name} has {len(motion)} frames: at least three are needed for accelerations.")
    cutoff, assumptions = _resolve_cutoff(motion, cutoff)
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
    if contacts is None:
        contacts, inferred = infer_contacts(dynamics, supports)
        assumptions += inferred
    else:
        estimate_forces_of_labels(dynamics, contacts)
    frames, limit_names = compute_metrics(dynamics, contacts)
    dynamics.cache.clear()  # a report keeps results only
    return CheckReport(motion, dynamics, contacts, frames, limit_names, (*motion.assumptions, *assumptions), cutoff)


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
