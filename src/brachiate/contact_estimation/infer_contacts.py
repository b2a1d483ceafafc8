"""Where a motion touches, from the motion alone.

First the ground: where feet stay for a while. Then every part that comes near it and does not rush past, with two thresholds each, so
that noise does not switch it. Then physics: where what touches the ground cannot carry the motion, something else must, and among
what stays in its place that is taken which carries it: hands at a bar above the head, feet on a step, the seat, hands, the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from brachiate.assumptions import Guess
from brachiate.contact_estimation.contact_confidence import bearing
from brachiate.contact_estimation.floor import NEAR, belt_of, floor_of
from brachiate.contact_estimation.motion_dynamics import Track
from brachiate.contact_estimation.other_supports import elsewhere
from brachiate.contact_estimation.parts import FEET, motion_of_part, parts_of, spells, with_hysteresis
from brachiate.motion.contact_labels import Label, Labels
from brachiate.motion.terrain import Ground

FAR = 0.025  # [m] above where it would touch: no more if higher
SLOW, FAST = 0.6, 1.0  # [m/s] along the ground: touches if slower than the first, no more if faster than the second
RISE = 0.5  # [m/s] away from it: what is faster does not touch


def infer(track: Track, supports: bool | None = None) -> tuple[Labels, tuple[Guess, ...]]:
    """Where a motion touches, and what was assumed to say so. The track is carried by it afterwards.

    ``supports``: whether to look for more than the ground: steps, seats, bars; by default if nothing is known about the ground either.
    """
    if supports is None:
        supports = track.ground.height is None
    guesses: list[Guess] = []
    ground, near = track.ground, NEAR
    if ground.height is None:
        belt = belt_of(track)
        if belt != (0.0, 0.0):
            track.stand_on(replace(ground, belt=belt))
            why = "the lowest foot always moves like this, and the body stays where it is"
            guesses.append(Guess("treadmill", f"{np.hypot(*belt):.2f} m/s", why, "ground"))
        floor = floor_of(track)
        ground, near = replace(track.ground, height=floor.height), floor.near
        track.stand_on(ground)
        guesses.append(Guess("floor", f"{floor.height:+.3f} m", floor.why, "ground"))
    contacts = list(on_ground(track, ground, near))
    more = elsewhere(track, ground, contacts, near) if supports else []
    if not supports:
        track.carry(*bearing(track, Labels(tuple(contacts), ground)))
    guesses += _told(more)
    return Labels(tuple(sorted((*contacts, *more), key=lambda c: (c.start, c.part))), ground), tuple(guesses)


def _told(found: Sequence[Label]) -> Iterator[Guess]:
    """What was found beside the ground, part by part."""
    for part, how in dict.fromkeys((label.part, label.how) for label in found):
        mine = sorted((label for label in found if (label.part, label.how) == (part, how)), key=lambda label: label.start)
        levels = sorted({f"{label.height:.2f} m" for label in mine if label.height is not None})
        times = ", ".join(f"{label.start:.2f}-{label.end:.2f}" for label in mine[:4]) + (", ..." if len(mine) > 4 else "")
        why = "what touches the ground cannot carry the motion then, and this stays where it is"
        yield Guess(part, f"{how}{' at ' if levels else ''}{', '.join(levels[:3])} ({times} s)", why, "contacts")


def on_ground(track: Track, ground: Ground, near: float = NEAR) -> Iterator[Label]:
    """Contacts of all parts with the ground; ``near``: up to which height feet touch it [m]."""
    feet = parts_of(track, FEET)
    for p, name in enumerate(track.spots.parts):
        height, along, away = motion_of_part(track, ground, p)
        reach = near if p in feet else NEAR  # shanks are close to the ground wherever feet are
        on = (height < reach) & (along < SLOW) & (np.abs(away) < RISE)
        stays = (height < reach + FAR) & (along < FAST) & (away < RISE)
        for start, end in spells(track.times, with_hysteresis(on, stays)):
            yield Label(name, float(track.times[start]), float(track.times[end]))
