"""What carries a motion beside the ground: where that cannot, something that stays in its place does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from brachiate import kinematics
from brachiate.contact_estimation.contact_confidence import bearing, lacking
from brachiate.contact_estimation.floor import NEAR, STILL
from brachiate.contact_estimation.motion_dynamics import Track
from brachiate.contact_estimation.parts import FEET, HANDS, SEAT, motion_of_part, parts_of, spells, with_hysteresis
from brachiate.contact_estimation.pivot import pivot_of
from brachiate.model.data import Data
from brachiate.motion.contact_labels import Label, Labels
from brachiate.motion.terrain import Ground
from brachiate.validation import Array

STAYING, FAST = 0.5, 1.0  # [m/s] what goes on to stay, and what may lean on the ground meanwhile
PLACE = 0.1  # [m] and how far it wanders meanwhile
PASSES = 4  # in which what carries is looked for: what one finds leaves less to the next
FLYING = 0.5  # of the weight: what needs less to carry it flies
OVERHEAD = 0.7  # of the highest joint: where hands hold rather than stand
LOW = 0.25  # [m] above the ground: what may lean on it, though it does not seem to
LACKING = 0.2  # of the weight: what is lacking if something else must carry
LASTING = 0.25  # [s] and for how long
AWHILE = 0.15  # [s] what stays at least as long
SWAYS = 0.05  # [m] how far the point wanders that something swings about, before it does and after
RESTS = 0.03  # [m] how far above or below its place something is that is sat by
RAISED = 0.77  # cosine: thighs that are farther from straight down than this are those of somebody who sits


class _Stay(NamedTuple):
    """A part that stays in its place for a while."""

    part: int
    start: int
    end: int
    height: float  # [m] of its lowest spot above the ground


def stays_of(track: Track, ground: Ground) -> list[_Stay]:
    """Everything that stays in its place for a while, on the ground or not."""
    found = []
    seat = parts_of(track, SEAT)
    for p in range(len(track.spots.parts)):
        mine = np.flatnonzero(track.spots.part == p)
        speed = np.linalg.norm(track.speed[:, mine], axis=2).min(axis=1)
        height, _, _ = motion_of_part(track, ground, p)
        place = track.place[:, mine].mean(axis=1)
        # Hands that lean on the ground seem to slide, as skeletons have no palms
        still = with_hysteresis(speed < STILL, speed < STAYING) | ((height < LOW) & (speed < FAST))
        for first, last in spells(track.times, still, AWHILE):
            span = slice(first, last + 1)
            near = np.linalg.norm(place[span] - np.median(place[span], axis=0), axis=1) < np.where(height[span] < LOW, 3.0, 1.0) * PLACE
            if p in seat:  # who is about to sit is slow, too
                near &= np.abs(height[span] - np.median(height[span])) < RESTS
            for start, end in spells(track.times[span], near, AWHILE):
                level = float(np.median(height[first + start : first + end + 1]))
                found.append(_Stay(p, first + start, first + end, level))
    return found


def elsewhere(track: Track, ground: Ground, contacts: Sequence[Label], near: float) -> list[Label]:
    """Contacts with what is not the ground, while that alone cannot carry the motion; ``near``: up to which height feet touch it [m]."""
    found: list[Label] = []
    stays: list[_Stay] | None = None
    tried: set[tuple[int, int]] = set()
    for _ in range(PASSES):
        track.carry(*bearing(track, Labels((*contacts, *found), ground), loosely=True))
        short = lacking(track)
        # What flies falls: nothing must carry it.
        pull = np.abs(track.needed[:, :3] @ ground.normal) / track.weight
        lasting = [span for span in spells(track.times, (short > LACKING) & (pull > FLYING), LASTING) if span not in tried]
        if not lasting:
            break
        if stays is None:
            feet = parts_of(track, FEET)
            stays = [stay for stay in stays_of(track, ground) if stay.height > (near if stay.part in feet else NEAR)]
        before = len(found)
        for start, end in lasting:
            tried.add((start, end))
            span = slice(start, end + 1)
            here = [stay for stay in stays if stay.start <= end and stay.end >= start]
            on = any(_shared(label, track.times[start], track.times[end]) > 0.5 for label in contacts)
            for choice in _choices(track, ground, here, span, hangs=not on):
                track.carry(*bearing(track, Labels((*contacts, *found, *choice), ground), span, loosely=True))
                if np.median(lacking(track, span)) < min(LACKING, 0.5 * float(np.median(short[span]))):
                    found += [rest for label in choice for rest in _apart(label, found)]
                    break
        if len(found) == before:
            break
    if stays is not None:
        track.carry(*bearing(track, Labels((*contacts, *found), ground)))
    return found


def _shared(label: Label, start: float, end: float) -> float:
    """For how much of a time something touches."""
    return (min(label.end, end) - max(label.start, start)) / max(end - start, 1e-9)


def _choices(track: Track, ground: Ground, stays: Sequence[_Stay], span: slice, *, hangs: bool) -> Iterator[list[Label]]:
    """What may carry a span of frames, likeliest first: parts of one kind that stay where they are; hands that swing if it ``hangs``."""
    floor = ground.height or 0.0
    top = float(track.joint[span, :, 2].max()) - floor
    middle = float(np.median(ground.above(track.centre[span])))  # what is above it does not stand on anything
    hands, feet, seat = (set(parts_of(track, words)) for words in (HANDS, FEET, SEAT))
    others = set(range(len(track.spots.parts))) - hands - feet - seat
    held, stood = (hands, "holds", -np.inf, np.inf), (feet, "stands", -np.inf, np.inf)
    # What can only push says more than what could pull as well: who sits need not hold
    sat = [[(seat, "stands", -np.inf, np.inf)]] if _sits(track, sorted(seat), span) else []
    swinging = list(_swinging(track, ground, sorted(hands), span, OVERHEAD * top)) if hangs else []
    through = any(stay.part in hands and stay.start <= span.start and stay.end >= span.stop - 1 for stay in stays)
    if swinging and not through and not any(stay.part in feet for stay in stays):
        yield swinging
    for kinds in (
        [(hands, "holds", OVERHEAD * top, np.inf)],
        *sat,
        [stood],
        [held, stood],
        [(hands | others, "stands", -np.inf, LOW)],
        [(hands, "stands", -np.inf, np.inf)],
        [held],
        [(others, "stands", -np.inf, middle)],
    ):
        chosen = [(stay, how) for kind, how, low, high in kinds for stay in stays if stay.part in kind and low <= stay.height <= high]
        if len({how for _, how in chosen}) == len({how for _, how, _, _ in kinds}):
            yield [
                Label(
                    track.spots.parts[stay.part],
                    float(track.times[stay.start]),
                    float(track.times[stay.end]),
                    how,
                    None if how == "holds" else stay.height + floor,
                )
                for stay, how in chosen
            ]
    if swinging:
        yield swinging


def _sits(track: Track, seat: Sequence[int], span: slice) -> bool:
    """Whether thighs are raised, all of them, for most of a span of frames."""
    bodies = dict.fromkeys(int(track.spots.body[track.spots.part == part][0]) for part in seat)
    parent = track.model.tree.parent
    thighs = [body for body in bodies if any(above in bodies for above in _ancestors(parent, body))]
    if not thighs:
        return False
    down = []
    for body in thighs:
        for knee in np.flatnonzero(parent == body):
            way = track.joint[span, knee] - track.joint[span, body]
            down.append(-way[:, 2] / np.maximum(np.linalg.norm(way, axis=1), 1e-9))
    return bool(down) and bool(np.median(down, axis=1).max() < RAISED)


def _ancestors(parent: Array, body: int) -> Iterator[int]:
    while (body := int(parent[body])) >= 0:
        yield body


def _swinging(track: Track, ground: Ground, hands: Sequence[int], span: slice, lowest: float) -> Iterator[Label]:
    """Hands above some height that hold what swings: a point beyond them stays, for as long as it does."""
    for part in hands:
        mine = np.flatnonzero(track.spots.part == part)
        body, at = int(track.spots.body[mine[0]]), track.spots.at[mine].mean(axis=0)
        x, R = _poses(track, body)
        pivot = pivot_of(x[span], R[span], at)
        if pivot is None or pivot.away.max() > PLACE or np.median(ground.above(x[span] + R[span] @ at)) < lowest:
            continue
        stays = np.linalg.norm(x + R @ pivot.at - pivot.place, axis=1) < SWAYS
        stays[span] = True
        start, end = next((a, b) for a, b in spells(track.times, stays, 0.0) if a <= span.start <= b)
        yield Label(track.spots.parts[part], float(track.times[start]), float(track.times[end]), "holds")


def _poses(track: Track, body: int) -> tuple[Array, Array]:
    """Where a body is, and how it is turned: (f, 3), (f, 3, 3)."""
    if ("poses", body) not in track.known:
        data, place = Data(track.model), next(place for place in track.model.placements.values() if place.body == body)
        found = []
        for q in track.moments.q:
            data.assign(q=q)
            kinematics.update_poses(data)
            pose = kinematics.pose(data, place)
            R = pose.rotation @ place.rotation.T
            found.append((pose.position - R @ place.position, R))
        track.known["poses", body] = tuple(np.array(each) for each in zip(*found, strict=True))
    return track.known["poses", body]


def _apart(label: Label, found: Sequence[Label]) -> Iterator[Label]:
    """What of a label is left beside others of the same part, which is in one place at a time, and takes a while to the next."""
    for other in found:
        if other.part == label.part and other.start < label.end and label.start < other.end:
            if other.start - label.start > 2.0 * AWHILE:
                yield from _apart(replace(label, end=other.start - AWHILE), found)
            if label.end - other.end > 2.0 * AWHILE:
                yield from _apart(replace(label, start=other.end + AWHILE), found)
            return
    yield label
