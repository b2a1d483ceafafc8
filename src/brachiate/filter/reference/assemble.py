"""What a clean-up has come to: stances with frames of the reference, labels that go with them, and how far joints were moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from brachiate import validation
from brachiate.anatomy.contact_points import Spots
from brachiate.anatomy.feet import Foot, in_link
from brachiate.assumptions import Guess
from brachiate.filter.reference.fixed_contacts import Stay
from brachiate.filter.reference.foot_trajectories import Steps
from brachiate.filter.reference.reference import Moved, Stance
from brachiate.filter.reference.resampling import Grid, Level
from brachiate.filter.reference.seat_contacts import settled
from brachiate.filter.reference.stair_footholds import toes_of
from brachiate.filter.reference.stance_detection import Standing
from brachiate.intervals import runs
from brachiate.kinematics_batch import Many, Poses
from brachiate.model.model import Model
from brachiate.motion.contact_labels import Label, Labels
from brachiate.validation import Array

LOOSE = 0.002  # [m] a point that is kept in its place is no farther from it
BRIEF = 0.05  # [s] for which a part of a foot bears at least


def kept(stays: list[Stay], poses: Poses, times: Array) -> tuple[list[Stay], list[Guess]]:
    """What could be kept in its place, and what could not: arms and trunk cannot follow everything that lies on the ground."""
    kept, lost = [], []
    for stay in stays:
        off = [np.linalg.norm(poses.point(*pin.point) - pin.place, axis=1)[pin.on].max(initial=0.0) for pin in stay.pins]
        away, stay = max(off, default=0.0), stay if stay.seat is None else settled(stay, stay.seat, poses, times)
        (kept if away < LOOSE else lost).append(stay)
    parts = ", ".join(f"{stay.label.part} ({stay.label.start:.2f}-{stay.label.end:.2f} s)" for stay in lost)
    return kept, [
        Guess("no stance", parts, "it cannot be kept in one place with all the rest: kept as a label", "contacts")
    ] if lost else []


def moved_by(model: Model, many: Many, own: Array, q: Array, times: Array) -> Moved:
    """How far joints are from where they were."""
    away = 100.0 * np.linalg.norm(many.poses(q).x - many.poses(own).x, axis=2)
    body, k = np.unravel_index(int(np.argmax(away)), away.shape)
    names = {place.body: name for name, place in reversed(list(model.placements.items()))}
    return Moved(float(np.sqrt((away**2).mean())), float(away.mean()), float(away.max()), names[int(body)], float(times[k]))


def stances_of(
    model: Model, feet: tuple[Foot, ...], standing: list[list[Standing]], steps: list[Steps], stays: list[Stay], grid: Grid, frame: Level
) -> tuple[Stance, ...]:
    """Stances with frames of the reference."""
    found: list[Stance] = []
    for foot, stances, path in zip(feet, standing, steps, strict=True):
        for stance in stances:
            parts = [(foot.link, foot.corners, stance.R, stance.x, path.bears)]
            if foot.toes is not None:
                toes = foot.toes
                R, x = toes_of(foot, stance.R, stance.x)
                parts.append((toes.link, toes.corners, R, x, np.repeat(path.toes_bear[:, None], len(toes.corners), axis=1)))
            span = slice(stance.start, stance.end)
            for link, corners, R, x, bears in parts:
                others = np.any([part[4][span].any(axis=1) for part in parts if part[0] != link], axis=0)
                for a, b in runs(np.asarray(np.any(bears[span], axis=1))):
                    # What a foot touches in passing, as it rolls, does not stand there
                    if (b - a) * grid.stride * grid.dt < BRIEF and len(parts) > 1 and others[a:b].all():
                        continue
                    frames = stance.start + a, stance.start + b
                    found.append(_stance(model, grid, frame, link, frames, corners, bears, R, x, "stands", stance.level))
    for stay in stays:
        level = float((stay.x + stay.corners @ stay.R.T)[:, 2].mean())
        for a, b in runs(np.asarray(stay.bears.any(axis=1))):
            found.append(_stance(model, grid, frame, stay.link, (a, b), stay.corners, stay.bears, stay.R, stay.x, stay.label.how, level))
    return tuple(sorted(found, key=lambda stance: (stance.start, stance.link)))


def _stance(
    model: Model, grid: Grid, frame: Level, link: str, span: tuple[int, int], corners: Array, bears: Array, R: Array, x: Array, how: str,
    level: float,
) -> Stance:  # fmt: skip
    place = model.placements[link]
    a, b = span
    start, end = a * grid.stride, (b - 1) * grid.stride + 1
    before = np.arange(start, end) // grid.stride
    after = np.minimum(before + (np.arange(start, end) % grid.stride > 0), b - 1)
    both = bears[before] & bears[after]
    both = np.where(np.any(both, axis=1, keepdims=True), both, bears[before])
    return Stance(
        link, start, end, validation.frozen(in_link(model, link, corners)), validation.frozen(both), frame.point(x + R @ place.position),
        frame.turn(R @ place.rotation), how, level + float(frame.up[2]),
    )  # fmt: skip


def labels_of(stances: tuple[Stance, ...], labels: Labels, spots: Spots, lies: Mapping[int, Array], grid: Grid, frame: Level) -> Labels:
    """What touches: parts of feet as their corners bear, all else as it was; ``lies``: when feet do, (f,) of each of their bodies."""
    found: list[Label] = []
    shift = float(frame.up[2]) - (labels.ground.height or 0.0)
    for part, link in zip(spots.parts, spots.links, strict=True):
        body = int(spots.body[spots.part == spots.parts.index(part)][0])
        for label in labels.of(part):
            label = replace(label, height=None if label.height is None else label.height + shift)
            if body not in lies:
                found.append(label)
                continue
            mine = (grid.knots >= label.start - 1e-9) & (grid.knots <= label.end + 1e-9) & lies[body]
            found += [replace(label, start=float(grid.knots[a]), end=float(grid.knots[b - 1])) for a, b in runs(mine)]
        if body in lies:
            found += [label for stance in stances if stance.link == link for label in _borne(stance, part, grid, frame)]
    return Labels(tuple(sorted(found, key=lambda c: (c.start, c.part))), frame.ground)


def _borne(stance: Stance, part: str, grid: Grid, frame: Level) -> Iterator[Label]:
    """When a part of a foot bears in a stance."""
    k = len(stance.corners)
    which = slice(0, k // 2) if part.endswith("heel") else slice(k // 2, k) if part.endswith(("toe", "ball")) else slice(0, k)
    steps = frame.ground.steps
    floor = float(frame.up[2]) + (0.0 if steps is None else float(steps.level(stance.places.mean(axis=0))))
    level = None if abs(stance.height - floor) < 1e-9 else stance.height
    for a, b in runs(np.asarray(np.any(stance.bears[:, which], axis=1))):
        first, last = grid.times[stance.start + a], grid.times[stance.start + b - 1]
        yield Label(part, float(first), float(last), "stands", level)
