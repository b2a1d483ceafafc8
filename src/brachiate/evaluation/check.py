"""Check: how far a motion is from what a body can do."""

from __future__ import annotations

from os import PathLike

import numpy as np

from brachiate import validation
from brachiate.anatomy.contact_points import spots_of
from brachiate.assumptions import Guess
from brachiate.contact_estimation.contact_confidence import bearing
from brachiate.contact_estimation.infer_contacts import infer
from brachiate.contact_estimation.motion_dynamics import Track
from brachiate.errors import ArgumentError, MotionError
from brachiate.evaluation.metrics import metrics_of
from brachiate.evaluation.report import Report
from brachiate.motion.contact_labels import Labels, load_labels
from brachiate.motion.edit import resampled
from brachiate.motion.motion import Motion
from brachiate.motion.spline import EVEN, Course
from brachiate.motion.terrain import Ground, ground_of

CUTOFF = 10.0  # [Hz] of captured motion: people hardly move faster, and markers shake


def check(
    motion: Motion,
    *,
    ground: Ground | str | None = None,
    contacts: Labels | str | PathLike[str] | None = None,
    supports: bool | None = None,
    cutoff: float | str | None = "auto",
) -> Report:
    """Tell what a body would need to make a motion: forces that nobody brings, feet that slide, torques beyond its strength.

    Args:
        motion: Of a figure with a free root.
        ground: A :class:`Ground`, or its words (``"flat:0.02"``, ``"slope:10"``); by default level, where a captured motion stands on it,
            or at height 0.
        contacts: What touches, and on which ground: labels or a file of them; by default what the motion has, else it is found. If a
            ground is given, it is found on that.
        supports: Whether something beside the ground may carry it: steps, a seat, a bar, found where parts stay; by default only
            if the ground is not given either.
        cutoff: Frequency above which the motion is taken for noise [Hz]; ``None``: not at all; ``"auto"``: 10 for captured motion.
    """
    if len(motion) < 3:
        raise MotionError(f"{motion.name} has {len(motion)} frames: three at least say how it accelerates.")
    guesses: list[Guess] = []
    captured = motion.captured
    if isinstance(cutoff, str):
        validation.one_of(cutoff, ("auto",), "cutoff")
        cutoff = CUTOFF if captured else None
        why = "captured motion has noise, which accelerations magnify" if captured else "it was not captured"
        guesses.append(Guess("smoothing", f"below {CUTOFF:g} Hz" if captured else "none", why, "cutoff"))
    if ground is not None and contacts is not None:
        raise ArgumentError("Contacts say what ground they are on: give them, or a ground, not both.")
    if contacts is None and ground is None:
        contacts = motion.contacts
    if isinstance(ground, str):
        ground = ground_of(ground)
    if ground is None:
        ground = Ground(None if captured else 0.0)
    steps = np.diff(motion.times)
    if cutoff is not None and np.ptp(steps) > EVEN * steps.mean():
        rate = 1.0 / float(np.median(steps))
        motion = resampled(motion, rate)
        guesses.append(Guess("frames", f"{rate:.4g} a second", "they are not evenly apart, so they were taken anew from a smooth curve"))
    moments = Course(motion.figure, motion.times, motion.q, cutoff).at(motion.times)
    if isinstance(contacts, (str, PathLike)):
        contacts = load_labels(contacts, spots_of(motion.figure).parts)
    track = Track(motion.figure, moments, contacts.ground if contacts is not None else ground)
    if contacts is None:
        contacts, found = infer(track, supports)
        guesses += found
    else:
        track.carry(*bearing(track, contacts))
    frames, names = metrics_of(track, contacts)
    return Report(motion, track, contacts, frames, names, (*motion.guesses, *guesses), cutoff)
