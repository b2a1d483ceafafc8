"""Doubts about what the filter is given: what cannot be is refused, and what looks wrong is told, by frame, joint and part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from brachiate import doors
from brachiate.clip.clip import Guess
from brachiate.doors import Array
from brachiate.errors import ArgumentError
from brachiate.filter.pushes import Shove
from brachiate.filter.reference import Reference
from brachiate.filter.settings import FilterSettings
from brachiate.model.joints import Free, Prismatic
from brachiate.model.model import Model
from brachiate.motion.labels import Label, Labels
from brachiate.motion.motion import Motion
from brachiate.support.spots import spots_of
from brachiate.transfer.footing import runs
from brachiate.transfer.many import Many, Poses
from brachiate.world.world import World

LEAP = {"m": (0.15, 8.0), "rad": (0.5, 25.0)}  # from one frame to the next, and [1/s]: what is less may be done by somebody
SUDDEN, BACK = 3.0, 0.8  # times what it moves by in the frames before and after; who moves as far again jumps back
TOLD = 4  # jumps, labels
APART = 0.25  # [m] from what it stands on: floors of captured motions are off by centimetres
FLIGHT, FALLS, GRAVITY = 0.15, 0.5, 9.81  # [s] at least; in gravities; [m/s²]


# --- of a motion, and what is said to touch -------------------------------------------------------


def doubts_of(motion: Motion, labels: Labels | None) -> list[Guess]:
    """What looks wrong in a motion, and in what is said to touch in it."""
    found = _told("jump", [str(jump) for jump in jumps_of(motion)], "from one frame to the next: cut there, or badly recorded?")
    if labels is None or not labels.contacts:
        return found
    first, last = motion.times[[0, -1]]
    beyond = [label for label in labels.contacts if label.end < first or label.start > last]
    if len(beyond) == len(labels.contacts):
        raise ArgumentError(
            f"contacts: none is within {motion.name}, which goes from {first:g} to {last:g} s: {_when(beyond[0])}. Do times count from 0?"
        )
    found += _told("not in the motion", map(_when, beyond), f"it goes from {first:g} to {last:g} s", "contacts")
    many = Many(motion.figure)
    poses = many.poses(motion.q)
    found += _told("elsewhere", _far(motion, poses, labels), "so far from what it is said to stand on", "contacts")
    return found + _told("flight", _hovering(motion, many.centres(poses), labels), "nothing stands or holds by the contacts", "contacts")


def _told(what: str, values: Any, why: str, flag: str = "") -> list[Guess]:
    """One guess of all, as there may be many."""
    values = list(values)
    more = f" and {len(values) - TOLD} more" if len(values) > TOLD else ""
    return [Guess(what, ", ".join(values[:TOLD]) + more, why, flag)] if values else []


class Jump(NamedTuple):
    """A joint that is elsewhere in the next frame."""

    joint: str
    frame: int  # the first in which it is there
    time: float  # [s]
    by: float
    unit: str

    def __str__(self) -> str:
        """Return one line."""
        return f"{self.joint} by {self.by:.2g} {self.unit} at {self.time:.2f} s (frame {self.frame})"


def jumps_of(motion: Motion) -> list[Jump]:
    """Joints, and the root's place, that jump: far, faster than anybody moves, and than just before and after; largest first."""
    moves, seconds = Many(motion.figure).between(motion.q[:-1], motion.q[1:]), np.diff(motion.times)
    found = []
    for name, unit, which in _measures(motion):
        steps = np.linalg.norm(moves[:, which], axis=1)
        least, fastest = LEAP[unit]
        for k in np.flatnonzero((steps > least) & (steps > fastest * seconds)):
            beside = sorted((*steps[max(k - 1, 0) : k], *steps[k + 1 : k + 2]))
            if len(beside) == 2 and beside[1] > BACK * steps[k]:
                beside.pop()
            if beside and steps[k] > SUDDEN * beside[-1]:
                found.append(Jump(name, int(k) + 1, float(motion.times[k + 1]), float(steps[k]), unit))
    return sorted(found, key=lambda jump: -jump.by / LEAP[jump.unit][0])


def _measures(motion: Motion) -> Iterator[tuple[str, str, slice]]:
    """Every joint with its unit and its velocities; a free one's place and turn apart."""
    for name, joined in motion.figure.joints.items():
        joint, v = motion.figure.links[joined.link].joint, joined.v
        if isinstance(joint, Free):
            yield f"place of {name}", "m", slice(v.start, v.start + 3)
            yield name, "rad", slice(v.start + 3, v.stop)
        else:
            yield name, "m" if isinstance(joint, Prismatic) else "rad", v


def _when(label: Label) -> str:
    return f"{label.part} ({label.start:.2f}-{label.end:.2f} s)"


def _far(motion: Motion, poses: Poses, labels: Labels) -> Iterator[str]:
    """Parts that are far from what they are said to stand on."""
    spots = spots_of(motion.figure)
    for label in labels.contacts:
        now = (motion.times >= label.start - 1e-9) & (motion.times <= label.end + 1e-9)
        if label.how != "stands" or not now.any() or (label.height is None and labels.ground.height is None):
            continue
        mine = np.flatnonzero(spots.part == spots.parts.index(label.part))
        points = np.stack([poses.point(int(spots.body[s]), spots.at[s])[now] for s in mine])
        above = labels.ground.above(points) if label.height is None else points[..., 2] - label.height
        high = float(np.median((above - spots.radius[mine, None]).min(axis=0)))
        if abs(high) > APART:
            yield f"{_when(label)} {abs(high):.2f} m {'above' if high > 0.0 else 'below'}"


def _hovering(motion: Motion, centres: Array, labels: Labels) -> Iterator[str]:
    """When nothing touches, and the body does not fall as it should."""
    touching = np.any([labels.active(part, motion.times) for part in {label.part for label in labels.contacts}], axis=0)
    for a, b in runs(~touching):
        times = motion.times[a:b]
        if b - a >= 4 and times[-1] - times[0] > FLIGHT:
            falls = -2.0 * float(np.polyfit(times - times[0], centres[a:b, 2], 2)[0]) / GRAVITY
            if falls < FALLS:
                yield f"{times[0]:.2f}-{times[-1]:.2f} s, yet it falls by {falls:.1f} g only"


# --- of a reference, a world, settings and pushes -------------------------------------------------


def check_given(world: World, figure: str, reference: Reference, settings: FilterSettings | None) -> None:
    """Refuse what no filter could begin with."""
    if not isinstance(reference, Reference):
        raise ArgumentError(f"reference: expected a Reference, as br.clean(motion) gives, got {doors.shown(reference)}.")
    _check_finite(reference)
    _check_figure(world.figure(figure).model, reference.figure, figure)
    check_world(world, figure, settings)


def check_world(world: World, figure: str, settings: FilterSettings | None) -> None:
    """Refuse a world in which nobody could stand, and settings that are none."""
    if settings is not None and not isinstance(settings, FilterSettings):
        raise ArgumentError(f"settings: expected FilterSettings, or what br.load_settings(path) gives, got {doors.shown(settings)}.")
    surfaces = world.surfaces
    if surfaces.touches is None:
        raise ArgumentError("The filter needs a world in which things touch: call world.touch() first.")
    mine = f"{figure}/"
    if not any(one.startswith(mine) != other.startswith(mine) for one, other in surfaces.pairs):
        raise ArgumentError(f"There is nothing that {figure!r} could stand on: world.add(br.figures.ground(), name='floor').")
    if not surfaces.material.friction > 0.0:
        raise ArgumentError(f"friction must be more than 0, got {surfaces.material.friction:g}: without any nobody can walk.")


def kept_of(model: Model, figure: str, keep: Mapping[str, float] | None) -> dict[str, float]:
    """Return weights of links that are to be kept in their places, if all of them can be."""
    given = doors.table({} if keep is None else keep, "keep", "weights by the names of links")
    for link in given:
        doors.named(model.links, link, "link", repr(figure))
    return {link: doors.number(weight, f"keep: weight of {link!r}", above=0.0, most=1e6) for link, weight in given.items()}


def _check_figure(theirs: Model, ours: Model, figure: str) -> None:
    """A figure of the same joints in the same places; masses and motors may be others."""
    other = next((name for name in (*ours.joints, *theirs.joints) if (name in ours.joints) != (name in theirs.joints)), None)
    moved = [
        name for name, link in ours.links.items() if name in theirs.links and not np.allclose(link.position, theirs.links[name].position)
    ]
    if other is not None or list(ours.joints) != list(theirs.joints) or moved:
        what = (
            f"only one of them has the joint {other!r}"
            if other
            else f"{moved[0]!r} is elsewhere"
            if moved
            else "joints are in another order"
        )
        raise ArgumentError(
            f"Figure {figure!r} of the world, {theirs.name!r}, is not that of the reference, {ours.name!r}: {what}. "
            "Add reference.figure to the world, or retarget the motion."
        )


def _check_finite(reference: Reference) -> None:
    """Name the first frame and joint whose numbers are none."""
    for what, table, side in (("place", reference.q, "q"), ("velocity", reference.v, "v"), ("acceleration", reference.a, "v")):
        if not np.isfinite(table).all():
            frame, k = (int(i) for i in np.argwhere(~np.isfinite(table))[0])
            places = {name: getattr(joined, side) for name, joined in reference.figure.joints.items()}
            joint = next(name for name, at in places.items() if at.start <= k < at.stop)
            raise ArgumentError(
                f"reference: every number must be finite: the {what} of joint {joint!r} is {table[frame, k]:g} in frame {frame} "
                f"({reference.times[frame]:.3f} s)."
            )


def check_pushes(pushes: Sequence[Shove], reference: Reference) -> None:
    """Refuse pushes that could never act."""
    if not isinstance(pushes, Sequence) or not all(isinstance(push, Shove) for push in pushes):
        raise ArgumentError(f"pushes: expected a list of br.Shove, or what br.load_pushes(path) gives, got {doors.shown(pushes)}.")
    lasts = float(reference.times[-1] - reference.times[0])
    for push in pushes:
        doors.named(reference.figure.links, push.link, "link", f"figure {reference.figure.name!r}, which is to be pushed")
        if push.at >= lasts:
            raise ArgumentError(f"The push on {push.link!r} at {push.at:g} s would never act: the motion lasts {lasts:g} s.")
