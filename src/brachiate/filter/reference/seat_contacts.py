"""Seats: what is sat on, by an area of pelvis and thighs.

Who sits on something does so by several points, of pelvis and thighs together, which are about where they are in one posture: that in which
he rests. Nobody knows the shape of a seat, and flesh gives way where shapes of a figure do not. So each point has a pad of its own, that
touches the shape there: level under a pelvis, and aslope under thighs that are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from brachiate.anatomy.contact_points import Spots
from brachiate.anatomy.landmarks import Point
from brachiate.contact_estimation.parts import SEAT
from brachiate.filter.reference.fixed_contacts import SHORTEST, STILL, Bearer, Seat, Stay
from brachiate.filter.reference.posture_ik import Pin
from brachiate.intervals import runs
from brachiate.kinematics_batch import Poses
from brachiate.model.model import Model
from brachiate.model.shapes import Capsule
from brachiate.motion.contact_labels import Label
from brachiate.validation import Array

KERB = 0.08  # [m] what is lower is the ground
NEAR = 0.03  # [m] what is no farther above or below its place bears
TOUCHES = 0.01  # [m] and so near to what it is on
COMES = 0.15  # [m/s] up or down: what is faster comes, or leaves
STRAYS = 0.06  # [m] and no farther from it along the ground
REACH = 0.1  # [m] by which a seat is larger than what rests on it: who sits comes and goes along it
UPRIGHT = 0.87  # cosine: what is no farther from upright bears by its end, not by its side
SAME = 1e-3  # [m]
UP = np.array((0.0, 0.0, 1.0))


def is_seat(part: str, link: str) -> bool:
    """Whether a part of the body is what people sit by."""
    return any(word in f"{part} {link}".lower() for word in SEAT)


def grouped(labels: Sequence[Label]) -> Iterator[list[Label]]:
    """Labels of parts that sit at the same time, as they do on one seat."""
    group: list[Label] = []
    for label in sorted(labels, key=lambda label: label.start):
        if group and label.start > max(each.end for each in group):
            yield group
            group = []
        group.append(label)
    if group:
        yield group


def seat_of(model: Model, group: Sequence[Label], spots: Spots, poses: Poses, times: Array, floor: float) -> list[Stay]:
    """What sits, part by part, and where; in poses the ground is at z = 0.

    Hips stay: the pelvis tilts about them, and thighs swing.
    """
    span = slice(*np.searchsorted(times, (min(c.start for c in group) - 1e-9, max(c.end for c in group) + 1e-9)))
    mine = {label.part: np.flatnonzero(spots.part == spots.parts.index(label.part)) for label in group}
    body = {part: int(spots.body[each[0]]) for part, each in mine.items()}
    paths = np.concatenate([_paths(spots, each, poses, span) for each in mine.values()])
    rest = span.start + _at_rest(paths, times[span])
    lowest = float((paths[:, rest - span.start, 2] - spots.radius[np.concatenate(list(mine.values()))]).min())
    level = min(0.0 if label.height is None else label.height - floor for label in group)
    up, stays, sat = (level - lowest) * UP, [], np.zeros(len(times), bool)
    carried = {above for part in body.values() for above in _above(model, part)}
    for label in group:
        first, last = (int(k) for k in np.searchsorted(times, (label.start - 1e-9, label.end + 1e-9)))
        whose = body[label.part]
        R, x = poses.R[whose][rest], poses.x[whose][rest] + up
        bearers = bearers_of(model, spots, mine[label.part], R, level < KERB)
        hips = [b for b in bearers if _is_spot(spots, mine[label.part], b)]
        if level < KERB:  # what is above the ground has nothing under it
            bearers = [b for b in bearers if (x + R @ b.center)[2] - b.radius < NEAR]
        elif any(above in body.values() for above in _above(model, whose)):  # where it begins what carries it bears
            bearers = [b for b in bearers if not _is_spot(spots, mine[label.part], b)] or bearers
        if not bearers:
            continue
        pins = []
        for hip in hips if whose not in carried else []:
            path, place, on = poses.point(whose, hip.center), x + R @ hip.center, np.zeros(len(times), bool)
            on[first:last] = _near(path[first:last], place, times[first:last])
            pins.append(Pin(Point(whose, hip.center), on, place))
            sat |= on
        corners = np.array([b.center - b.radius * R.T @ b.normal for b in bearers])
        bears = np.zeros((len(times), len(bearers)), bool)
        link = spots.links[spots.parts.index(label.part)]
        seat = Seat(rest, sat, tuple(bearers), level < KERB)
        stays.append(Stay(label, link, whose, first, last, corners, bears, R, x, tuple(pins), seat))
    return stays if sat.any() else []


def settled(stay: Stay, seat: Seat, poses: Poses, times: Array) -> Stay:
    """The same in a motion that is fitted to it: a seat is where what sits is when it rests, and what is there bears."""
    R, x = poses.R[stay.body][seat.rest], poses.x[stay.body][seat.rest]
    bears, span = np.zeros_like(stay.bears), slice(stay.start, stay.end)
    for k, bearer in enumerate(seat.bearers):
        away = poses.point(stay.body, bearer.center)[span] - x - R @ bearer.center
        high = poses.point(stay.body, bearer.center)[span, 2] - bearer.radius if seat.ground else away @ bearer.normal
        near = (np.abs(high) < TOUCHES) & (np.linalg.norm(away, axis=1) < REACH)
        bears[span, k] = _lasting(near & seat.sat[span], times[span])
    return stay._replace(R=R, x=x, bears=bears)


def _near(path: Array, place: Array, times: Array) -> Array:
    """When a point is about in its place; without the ends, in which it comes or goes."""
    away = path - place
    on = _lasting((np.abs(away[:, 2]) < NEAR) & (np.linalg.norm(away[:, :2], axis=1) < STRAYS), times)
    quick = np.abs(np.gradient(path[:, 2], times)) > COMES if len(times) > 1 else np.zeros(len(times), bool)
    for a, b in runs(on):
        slow = a + np.flatnonzero(~quick[a:b])
        on[a : slow[0] if len(slow) else b] = False
        on[slow[-1] + 1 if len(slow) else a : b] = False
    return on


def _above(model: Model, body: int) -> Iterator[int]:
    """Bodies that a body hangs on."""
    while (body := int(model.tree.parent[body])) >= 0:
        yield body


def _is_spot(spots: Spots, mine: Array, bearer: Bearer) -> bool:
    return bool((np.linalg.norm(spots.at[mine] - bearer.center, axis=1) < SAME).any())


def _paths(spots: Spots, mine: Array, poses: Poses, span: slice) -> Array:
    """Where centres of spots are: (s, f, 3) [m]."""
    return np.stack([poses.x[spots.body[k]][span] + poses.R[spots.body[k]][span] @ spots.at[k] for k in mine])


def _at_rest(paths: Array, times: Array) -> int:
    """The frame in which points (s, f, 3) are most as they are while they rest."""
    speed = np.linalg.norm(np.gradient(paths, times, axis=1), axis=2).mean(axis=0)
    weight = 1.0 / (STILL + speed) ** 2
    usual = np.einsum("f,sfi->si", weight / weight.sum(), paths)
    return int(np.argmin(np.square(paths - usual[:, None]).sum(axis=(0, 2))))


def _lasting(on: Array, times: Array) -> Array:
    """The same without short pauses, and without what is short."""
    on = on.copy()
    for wanted in (False, True):
        for a, b in runs(on == wanted):
            if times[b - 1] - times[a] < SHORTEST and (wanted or (a > 0 and b < len(on))):
                on[a:b] = not wanted
    return on


def bearers_of(model: Model, spots: Spots, mine: Array, R: Array, level: bool) -> list[Bearer]:
    """By which points a part bears whose body is turned like this; ``level``: on level ground, else on what is as it is.

    A capsule that is not upright bears along its side: by its ends, or half-way where the next limb begins.
    """
    link = spots.links[int(spots.part[mine[0]])]
    place = model.placements[link]
    low = mine[int(np.argmin((spots.at[mine] @ R.T)[:, 2] - spots.radius[mine]))]
    for shape in model.links[link].shapes:
        if not isinstance(shape, Capsule) or not shape.collides:
            continue
        middle, half = (place.position + place.rotation @ shape.position), 0.5 * shape.length * (place.rotation @ shape.rotation[:, 2])
        ends = [middle - half, middle + half]
        axis = R @ half / np.linalg.norm(half)
        if min(np.linalg.norm(end - spots.at[low]) for end in ends) > SAME or abs(axis[2]) > UPRIGHT:
            continue
        free = [bool((np.linalg.norm(spots.at[mine] - end, axis=1) < SAME).any()) for end in ends]
        centers = [end if own else middle for end, own in zip(ends, free, strict=True)]
        normal = UP if level else (UP - axis[2] * axis) / np.linalg.norm(UP - axis[2] * axis)
        return [Bearer(center, shape.radius, normal) for center in centers]
    heights = (spots.at[mine] @ R.T)[:, 2] - spots.radius[mine]
    return [Bearer(spots.at[k], float(spots.radius[k]), UP) for k in mine[heights < heights.min() + NEAR][:4]]
