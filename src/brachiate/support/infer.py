"""Where a motion touches, from the motion alone.

First the ground: where feet stay for a while. Then every part that comes near it and does not rush past, with two thresholds each, so
that noise does not switch it. Then physics: where what touches the ground cannot carry the motion, something else must, and among
what stays in its place that is taken which carries it: hands at a bar above the head, feet on a step, the seat, hands, the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from brachiate import doors
from brachiate.clip.clip import Guess
from brachiate.contact.carry import HOLDS, NOTHING, STANDS
from brachiate.doors import Array
from brachiate.motion.ground import Ground
from brachiate.motion.labels import Label, Labels
from brachiate.support.spots import BALL, HEEL, TOE
from brachiate.support.track import Track

NEAR, FAR = 0.025, 0.025  # [m] above the ground: touches below the first, no more if above it by the second
SLOW, FAST = 0.6, 1.0  # [m/s] along it: likewise
RISE = 0.5  # [m/s] away from it: likewise, for both
SHORTEST, GAP = 0.05, 0.05  # [s] contacts and pauses that are too short to be any
STILL, STAYING = 0.3, 0.5  # [m/s] what stays, and goes on to
SLOWEST_BELT, STEADY = 0.3, 0.3  # [m/s] of a treadmill, and by which share of it feet and body may be off
PASSES = 4  # in which what carries is looked for: what one finds leaves less to the next
PLACE = 0.1  # [m] and how far it wanders meanwhile
FLYING = 0.5  # of the weight: what needs less to carry it flies
OVERHEAD = 0.7  # of the highest joint: where hands hold rather than stand
LOW = 0.25  # [m] above the ground: what may lean on it, though it does not seem to
ONE_FLOOR = 0.06  # [m] levels that are no farther apart are one
LEVEL = 0.01  # [m] how sharp the level of a floor is
ENOUGH = 0.4  # of the time that feet stay on the level they stay on most, to be the floor below it
LACKING = 0.2  # of the weight: what is lacking if something else must carry
ARM = 0.5  # [m] by which moments count as forces
LASTING = 0.15  # [s] and for how long
SURE_HEIGHT, SURE_SPEED = 0.01, 0.25  # [m], [m/s] above the part's lowest spot, along the ground: what hardly bears
THICK = 0.03  # [m] what is higher than that above the lowest spot does not bear at all
EASE = 0.06  # [s] in which a part comes to bear, and ceases to
LEAST = 1e-3  # how surely what touches bears at least
FEET = (HEEL, TOE, BALL, "foot", "toes", "ankle", "sole")
SIDES = {"left": ("left", "l_", "_l", "_left"), "right": ("right", "r_", "_r", "_right")}
SEAT = ("pelvis", "thigh", "hip", "buttock")
HANDS = ("hand", "wrist", "palm", "finger")


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
        mine = [label for label in found if (label.part, label.how) == (part, how)]
        levels = sorted({f"{label.height:.2f} m" for label in mine if label.height is not None})
        times = ", ".join(f"{label.start:.2f}-{label.end:.2f}" for label in mine[:4]) + (", ..." if len(mine) > 4 else "")
        why = "what touches the ground cannot carry the motion then, and this stays where it is"
        yield Guess(part, f"{how}{' at ' if levels else ''}{', '.join(levels[:3])} ({times} s)", why, "contacts")


def belt_of(track: Track) -> tuple[float, float]:
    """Velocity of a treadmill's belt [m/s], if the body stays where it is, and its lowest foot always moves alike; else none."""
    mine = np.flatnonzero(np.isin(track.spots.part, parts_of(track, FEET)))
    if not len(mine):
        return 0.0, 0.0
    low = mine[np.argmin(track.place[:, mine] @ track.ground.normal, axis=1)]
    velocity = track.speed[np.arange(len(track)), low, :2]
    middle = np.median(velocity, axis=0)
    speed = float(np.hypot(*middle))
    drift = np.linalg.norm(track.joint[-1, 0, :2] - track.joint[0, 0, :2]) / max(track.times[-1] - track.times[0], 1e-9)
    steady = np.median(np.linalg.norm(velocity - middle, axis=1)) < STEADY * speed
    return (float(middle[0]), float(middle[1])) if speed > SLOWEST_BELT and steady and drift < STEADY * speed else (0.0, 0.0)


class Floor(NamedTuple):
    """The level that feet stay on, and up to which height above it they touch it [m]."""

    height: float
    near: float
    why: str


def floor_of(track: Track) -> Floor:
    """The lowest level on which feet stay for about as long as on any.

    Captured feet are often centimetres apart on one floor: levels as close as that are one, and what touches it may be as far off.
    """
    heights = _where_feet_stay(track)
    if len(heights) < 3:
        return Floor(0.0, NEAR, "no foot ever stays, so it is taken at the world's origin")
    bins = np.arange(heights.min() - 3 * LEVEL, heights.max() + 4 * LEVEL, LEVEL / 4)
    count = np.convolve(np.histogram(heights, bins)[0], np.ones(12), "same")  # within 1.5 levels
    # Feet that swing in the air stay for a moment as well, but then others, or they themselves, are lower at another time
    bottom = float(np.percentile(_lowest(track), 25))
    good = (count >= ENOUGH * count.max()) & (bins[:-1] < bottom + ONE_FLOOR)
    if not good.any():
        return Floor(0.0, NEAR, "no foot stays as low as the body comes, so it is taken at the world's origin")
    lowest = bins[int(np.argmax(good))]
    mine = heights[(heights > lowest - 1.5 * LEVEL) & (heights < lowest + ONE_FLOOR)]
    level = float(np.median(mine))
    near = float(np.clip(np.percentile(mine, 95) - level + LEVEL, NEAR, ONE_FLOOR))
    return Floor(level, near, f"where feet stay {100 * len(mine) / len(heights):.0f} % of the time they do")


def _lowest(track: Track) -> Array:
    """Height of the lowest spot of all (f,), of the plane through it at the origin."""
    n = track.ground.normal
    return (track.place @ n / n[2]).min(axis=1)


def _where_feet_stay(track: Track) -> Array:
    """Heights of the lowest spots of feet while they stay."""
    parts = parts_of(track, FEET) or tuple(range(len(track.spots.parts)))
    n, rows = track.ground.normal, np.arange(len(track))
    found = [np.zeros(0)]
    for p in parts:
        mine = np.flatnonzero(track.spots.part == p)
        heights = track.place[:, mine] @ n / n[2]  # at the origin, of the plane through each
        low = np.argmin(heights, axis=1)
        found.append(heights[rows, low][np.linalg.norm(track.speed[:, mine][rows, low], axis=1) < STILL])
    return np.concatenate(found)


def parts_of(track: Track, words: Sequence[str]) -> tuple[int, ...]:
    """Parts whose name, or link, has one of these words in it."""
    names = zip(track.spots.parts, track.spots.links, strict=True)
    return tuple(k for k, (part, link) in enumerate(names) if any(word in part.lower() or word in link.lower() for word in words))


def motion_of_part(track: Track, ground: Ground, part: int) -> tuple[Array, Array, Array]:
    """Of a part's lowest spot: its height above the ground [m], its speed along it, and away from it [m/s]: each (f,)."""
    known = track.known.get((ground, part))
    if known is None:
        known = track.known[ground, part] = _motion_of_part(track, ground, part)
    return known


def _motion_of_part(track: Track, ground: Ground, part: int) -> tuple[Array, Array, Array]:
    mine = np.flatnonzero(track.spots.part == part)
    height = ground.above(track.place[:, mine])
    low, rows = np.argmin(height, axis=1), np.arange(len(track))
    velocity = track.speed[:, mine][rows, low]
    away = velocity @ ground.normal
    return height[rows, low], np.linalg.norm(velocity - away[:, None] * ground.normal, axis=1), away


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


def with_hysteresis(on: Array, stays: Array) -> Array:
    """On where it is switched on, and from there both ways for as long as it stays."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], stays.astype(np.int8), [0]))))
    out = np.zeros(len(on), bool)
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        out[start:end] = on[start:end].any()
    return out


def spells(times: Array, on: Array, shortest: float = SHORTEST) -> list[tuple[int, int]]:
    """First and last frames of each time it is on: short pauses are overlooked, and then what is short."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], on.astype(np.int8), [0]))))
    found: list[tuple[int, int]] = []
    for start, end in zip(edges[::2], edges[1::2] - 1, strict=True):
        if found and times[start] - times[found[-1][1]] < GAP:
            found[-1] = (found[-1][0], int(end))
        else:
            found.append((int(start), int(end)))
    return [(start, end) for start, end in found if times[end] - times[start] >= shortest or (start == 0 and end == len(times) - 1)]


def bearing(track: Track, labels: Labels, span: slice = slice(None)) -> tuple[Array, Array, slice]:
    """What every spot does in a span of frames, and how surely: (f, s) each; and the span.

    Of a foot, or another part that touches, the spots bear that are low and at rest, and less so at the beginning and the end.
    """
    t, place, speed, n = track.times[span], track.place[span], track.speed[span], labels.ground.normal
    how, sure = np.zeros(place.shape[:2], np.int64), np.zeros(place.shape[:2])
    part_of = {part: k for k, part in enumerate(track.spots.parts)}
    standing: list[tuple[Label, Array, Array, Array]] = []
    lowest: dict[str, Array] = {}
    for label in labels.contacts:
        rows = np.flatnonzero((t >= label.start - 1e-9) & (t <= label.end + 1e-9))
        mine = np.flatnonzero(track.spots.part == doors.named(part_of, label.part, "part", f"figure {track.model.name!r}"))
        if not len(rows):
            continue
        if label.how == "holds":
            here = np.ix_(rows, mine)
            how[here], sure[here] = HOLDS, _ease(label, t[rows], track.times)[:, None]
            continue
        height = place[np.ix_(rows, mine)] @ n
        low = lowest.setdefault(_foot_of(label.part), np.full(len(t), np.inf))
        low[rows] = np.minimum(low[rows], height.min(axis=1))
        standing.append((label, rows, mine, height))
    for label, rows, mine, height in standing:
        here = np.ix_(rows, mine)
        velocity = speed[here]
        along = np.linalg.norm(velocity - (velocity @ n)[..., None] * n, axis=2)
        low = height - lowest[_foot_of(label.part)][rows][:, None]
        bears = np.exp(-((low / SURE_HEIGHT) ** 2)) / (1.0 + (along / SURE_SPEED) ** 2)
        how[here] = np.where(low < THICK, STANDS, NOTHING)
        sure[here] = np.maximum(bears * _ease(label, t[rows], track.times)[:, None], LEAST)
    return how, sure, span


@cache
def _foot_of(part: str) -> str:
    """What a part is low together with: heel, ball and toes of one foot; itself."""
    name = part.lower()
    if not any(word in name for word in FEET):
        return part
    side = next((side for side, words in SIDES.items() if name.startswith(words) or name.endswith(words[1:])), "")
    return f"{side} foot" if side else part


def _ease(label: Label, t: Array, times: Array) -> Array:
    """How far a part has come to bear: little when it has just touched, or is about to part; what the motion cuts off goes on."""
    since = np.inf if label.start <= times[0] + 1e-9 else t - label.start
    until = np.inf if label.end >= times[-1] - 1e-9 else label.end - t
    return np.clip(np.minimum(since, until) / EASE, LEAST, 1.0) * np.ones(len(t))


def lacking(track: Track, span: slice = slice(None)) -> Array:
    """What is left to the root, force and moment together, as a share of the weight: (f,)."""
    left = track.left[span]
    return np.sqrt(np.sum(left[:, :3] ** 2, axis=1) + np.sum((left[:, 3:] / ARM) ** 2, axis=1)) / track.weight


class _Stay(NamedTuple):
    """A part that stays in its place for a while."""

    part: int
    start: int
    end: int
    height: float  # [m] of its lowest spot above the ground


def stays_of(track: Track, ground: Ground) -> list[_Stay]:
    """Everything that stays in its place for a while, on the ground or not."""
    found = []
    for p in range(len(track.spots.parts)):
        mine = np.flatnonzero(track.spots.part == p)
        speed = np.linalg.norm(track.speed[:, mine], axis=2).min(axis=1)
        height, _, _ = motion_of_part(track, ground, p)
        place = track.place[:, mine].mean(axis=1)
        # Hands that lean on the ground seem to slide, as skeletons have no palms
        still = with_hysteresis(speed < STILL, speed < STAYING) | ((height < LOW) & (speed < FAST))
        for first, last in spells(track.times, still, LASTING):
            span = slice(first, last + 1)
            near = np.linalg.norm(place[span] - np.median(place[span], axis=0), axis=1) < np.where(height[span] < LOW, 3.0, 1.0) * PLACE
            for start, end in spells(track.times[span], near, LASTING):
                level = float(np.median(height[first + start : first + end + 1]))
                found.append(_Stay(p, first + start, first + end, level))
    return found


def elsewhere(track: Track, ground: Ground, contacts: Sequence[Label], near: float) -> list[Label]:
    """Contacts with what is not the ground, while that alone cannot carry the motion."""
    found: list[Label] = []
    stays: list[_Stay] | None = None
    tried: set[tuple[int, int]] = set()
    for _ in range(PASSES):
        track.carry(*bearing(track, Labels((*contacts, *found), ground)))
        short = lacking(track)
        # What flies falls: nothing must carry it.
        pull = np.abs(track.needed[:, :3] @ ground.normal) / track.weight
        lasting = [span for span in spells(track.times, (short > LACKING) & (pull > FLYING), LASTING) if span not in tried]
        if not lasting:
            break
        if stays is None:
            stays = [stay for stay in stays_of(track, ground) if stay.height > near]
        before = len(found)
        for start, end in lasting:
            tried.add((start, end))
            span = slice(start, end + 1)
            here = [stay for stay in stays if stay.start <= end and stay.end >= start]
            for choice in _choices(track, ground, here, span):
                track.carry(*bearing(track, Labels((*contacts, *found, *choice), ground), span))
                if np.median(lacking(track, span)) < min(LACKING, 0.5 * float(np.median(short[span]))):
                    found += [label for label in choice if label not in found]
                    break
        if len(found) == before:
            break
    if stays is not None:
        track.carry(*bearing(track, Labels((*contacts, *found), ground)))
    return found


def _choices(track: Track, ground: Ground, stays: Sequence[_Stay], span: slice) -> Iterator[list[Label]]:
    """What may carry a span of frames, likeliest first: parts of one kind that stay where they are."""
    floor = ground.height or 0.0
    top = float(track.joint[span, :, 2].max()) - floor
    middle = float(np.median(ground.above(track.centre[span])))  # what is above it does not stand on anything
    hands, feet, seat = (set(parts_of(track, words)) for words in (HANDS, FEET, SEAT))
    others = set(range(len(track.spots.parts))) - hands - feet - seat
    for kind, how, lowest, highest in (
        (hands, "holds", OVERHEAD * top, np.inf),
        (feet, "stands", -np.inf, np.inf),
        (hands | others, "stands", -np.inf, LOW),
        (seat, "stands", -np.inf, np.inf),
        (hands, "stands", -np.inf, np.inf),
        (hands, "holds", -np.inf, np.inf),
        (others, "stands", -np.inf, middle),
    ):
        chosen = [stay for stay in stays if stay.part in kind and lowest <= stay.height <= highest]
        if chosen:
            yield [
                Label(
                    track.spots.parts[stay.part],
                    float(track.times[stay.start]),
                    float(track.times[stay.end]),
                    how,
                    None if how == "holds" else stay.height + floor,
                )
                for stay in chosen
            ]
