"""Postures of a motion and of what was made of it, at the same moments: a row for each, side by side or where they were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import IO, Any, NamedTuple

import numpy as np

from brachiate import rotations
from brachiate.anatomy.contact_points import spots_of
from brachiate.figures.things import plate
from brachiate.kinematics_batch import Many
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.motion.motion import Motion
from brachiate.motion.terrain import Ground, Steps
from brachiate.show.marks import LONGEST, Marks, drawn
from brachiate.show.page import Floor, Page, View
from brachiate.show.plots import pyplot, save
from brachiate.show.surface import Triangles, joined, lit, parts_of
from brachiate.validation import Array

ORIGINAL, RESULT = "original", "filtered"
POSES = 9  # in a row
APART = 0.25  # [m] between postures
RIM = 0.03  # [m] by which a ledge is drawn wider than what stands on it
THICK, DEEP = 0.02, 1.0  # [m] of the board that is the ground
PIECE = 0.75  # of the room for a posture is the piece of a slope under it
VIEW = View()
INCHES, MARGIN, DOTS = 12.0, 0.3, 120  # width of the picture, and of what is around it for words
INK, ALARM = "#595e66", "#b3263b"


class Posture(NamedTuple):
    """One posture of a row."""

    slot: int  # which moment
    frame: int
    q: Array


def draw_strips(
    rows: Mapping[str, Motion],
    path: str | PathLike[str] | IO[bytes],
    *,
    poses: int = POSES,
    in_place: bool = False,
    home: Motion | None = None,
    weight: float = 0.0,
    view: View = VIEW,
) -> None:
    """Draw motions of one figure below each other, by name.

    All that belongs to one moment is moved along the page by the same way, so drift is seen. One that ends before the others is shown
    once more where it ends.

    Args:
        rows: Motions with the same times, the last one on the ground that is drawn. All but the first may end before it does.
        path: Where to write the picture.
        poses: How many moments, first to last.
        in_place: Leave all postures where they were, as on steps they always are.
        home: Where things should be, and drift from; by default the first.
        weight: Length of an arrow [m] that is a force as large as the weight, for those forces that motions have; 0: none is drawn.
        view: From where.
    """
    motions = list(rows.values())
    first, ground = home or motions[0], _ground(motions[-1])
    in_place = in_place or ground.steps is not None  # there only they are what they are
    at = np.unique(np.linspace(0, max(len(motion) for motion in motions[1:] or motions) - 1, poses).astype(int))
    strips = [_postures(motion, at) for motion in motions]
    along, wide = _spread(first, strips, at, ground, view, in_place)
    for strip in strips:
        for posture in strip:
            posture.q[:3] += along[posture.slot]
    parts, data = parts_of(first.figure), Data(first.figure)
    boards = _boards(ground, strips, along, wide, view)
    moments = [
        joined([*boards, *_ledges(motion, strip), *(_lit(parts, data, posture.q) for posture in strip)])
        for motion, strip in zip(motions, strips, strict=True)
    ]
    over = [_marks(motion, strip, along) for motion, strip in zip(motions, strips, strict=True)] if weight else []
    scale, longest = weight / (first.figure.mass * 9.81), LONGEST * weight
    shown = np.concatenate([m.corners.reshape(-1, 3) for m in moments] + [marks.ends(scale, longest)[0] for marks in over])
    floor = Floor(shown.min(axis=0), shown.max(axis=0)) if in_place and not ground.slope and ground.steps is None else None
    page = Page(view, shown if floor is None else np.concatenate((shown, floor.corners)), int(INCHES * DOTS))
    arrows = [drawn(marks, page, scale, longest, 1.0) for marks in over]
    _compose(rows, strips, at, page, list(page.panels(moments, floor, arrows)), path)


def _postures(motion: Motion, at: Array) -> list[Posture]:
    """Those of a motion at some frames, and its last one if it ends before them."""
    found = [Posture(slot, int(k), motion.q[k].copy()) for slot, k in enumerate(at) if k < len(motion)]
    if len(found) < len(at) and found[-1].frame < len(motion) - 1:
        found.append(Posture(len(found), len(motion) - 1, motion.q[-1].copy()))
    return found


def _spread(first: Motion, strips: Iterable[list[Posture]], at: Array, ground: Ground, view: View, in_place: bool) -> tuple[Array, float]:
    """By how much what belongs to a moment is moved: (moments, 3) [m], the ground to height zero; and how wide the room of one is."""
    right, down = view.axes()[0], np.array((0.0, 0.0, -(ground.height or 0.0)))
    if in_place:
        return np.tile(down, (len(at), 1)), 0.0
    there = first.q[np.minimum(at, len(first) - 1), :2]
    back = np.concatenate((-there, -(there @ ground.gradient)[:, None]), axis=1) + down
    many = Many(first.figure)
    seen = [many.poses(posture.q[None]).x[:, 0] + back[posture.slot] for strip in strips for posture in strip]
    wide = float(np.ptp(np.concatenate(seen) @ right)) + APART
    return back + wide * np.arange(len(at))[:, None] * right, wide


def _lit(parts: dict[str, Triangles], data: Data, q: Array) -> Triangles:
    data.assign(q=q)
    return lit(parts, data)


def _boards(ground: Ground, strips: list[list[Posture]], along: Array, wide: float, view: View) -> list[Triangles]:
    """What is under the feet: one board, or on a slope a piece of it for each moment."""
    if not wide:
        places = np.array([posture.q[:2] for strip in strips for posture in strip])
        if ground.steps is not None:
            return _stairs_under(ground.steps, places)
        return [_slope_under(ground, places)] if ground.slope else []
    right = view.axes()[0]
    turn, middles = float(np.arctan2(right[1], right[0])), wide * np.arange(len(along))[:, None] * right
    if not ground.slope:
        return [_board((wide * len(along), DEEP), ground, middles.mean(axis=0), turn)]
    return [_board((PIECE * wide, DEEP), ground, middle, turn) for middle in middles]


def _ledges(motion: Motion, strip: list[Posture]) -> list[Triangles]:
    """What parts stand on that are above a level ground, by their labels."""
    if motion.contacts is None or motion.contacts.ground.steps is not None:
        return []
    spots, many, found = spots_of(motion.figure), Many(motion.figure), []
    for posture in strip:
        time, poses = motion.times[posture.frame], many.poses(posture.q[None])
        down = posture.q[2] - motion.q[posture.frame, 2]
        under: dict[tuple[str, float], list[Array]] = {}
        for label in motion.contacts.contacts:
            if label.height is not None and label.how == "stands" and label.start <= time <= label.end:
                mine = np.flatnonzero(spots.part == spots.parts.index(label.part))
                places = [poses.point(int(spots.body[k]), spots.at[k])[0] for k in mine]
                under.setdefault((label.part.partition("_")[0], round(label.height, 2)), []).extend(places)
        for (_, height), places in under.items():
            low, high = np.min(places, axis=0)[:2] - RIM, np.max(places, axis=0)[:2] + RIM
            found.append(
                _solid((*(high - low), THICK), np.array((*(0.5 * (low + high)), height + down - THICK)), np.array((1.0, 0.0, 0.0, 0.0)))
            )
    return found


def _slope_under(ground: Ground, places: Array) -> Triangles:
    """A board along a slope under some places (n, 2) [m]."""
    rise = float(np.hypot(*ground.gradient))
    up = ground.gradient / rise
    middle = 0.5 * (places.min(axis=0) + places.max(axis=0))
    long = (float(np.ptp(places @ up)) + 2.0 * DEEP) * float(np.hypot(1.0, rise))
    return _board((long, DEEP), ground, np.array((*middle, middle @ ground.gradient)), float(np.arctan2(up[1], up[0])))


def _stairs_under(steps: Steps, places: Array) -> list[Triangles]:
    """Steps under some places (n, 2) [m], every tread a solid box."""
    s, across = steps.along(places), np.array((-steps.way[1], steps.way[0]))
    first, last, aside = s.min() - DEEP, s.max() + DEEP, 0.5 * (np.min(places @ across) + np.max(places @ across))
    turn, low = rotations.about(2, np.array(np.arctan2(steps.way[1], steps.way[0]))), steps.levels.min() - THICK
    boxes = []
    for (begin, end), level in zip(np.clip(steps.bounds, first, last), steps.levels, strict=True):
        if end > begin:
            middle = np.array((*(0.5 * (begin + end) * steps.way + aside * across), low))
            boxes.append(_solid((end - begin, DEEP, level - low), middle, turn))
    return boxes


def _board(size: tuple[float, float], ground: Ground, at: Array, turn: float) -> Triangles:
    return _solid((*size, THICK), at - THICK * ground.normal, rotations.product(ground.tilt, rotations.about(2, np.array(turn))))


def _solid(size: tuple[float, float, float], at: Array, turn: Array) -> Triangles:
    model: Model = plate(size)  # whose origin is in the middle of its underside
    data = Data(model)
    data.assign(q=np.concatenate((at, turn)))
    return lit(parts_of(model), data)


def _marks(motion: Motion, strip: list[Posture], along: Array) -> Marks:
    """Forces of a row's postures."""
    at, force = [], []
    for values in motion.forces.values():
        for posture in strip:
            if values[posture.frame, :3].any():
                at.append(values[posture.frame, 3:] + along[posture.slot])
                force.append(values[posture.frame, :3])
    return Marks(np.array(at).reshape(-1, 3), np.array(force).reshape(-1, 3), [], 1.0)


def _ground(motion: Motion) -> Ground:
    return Ground(0.0) if motion.contacts is None else motion.contacts.ground


def _compose(rows: Mapping[str, Motion], strips: list[list[Posture]], at: Array, page: Page, panels: list[Array], path: Any) -> None:
    """Panels below each other with their names, and times below them."""
    side, high, wide = int(MARGIN * DOTS), sum(len(panel) for panel in panels), panels[0].shape[1]
    tall, broad = high + side, wide + side
    figure = pyplot().figure(figsize=(broad / DOTS, tall / DOTS), dpi=DOTS, facecolor=panels[0][0, 0])
    figure.figimage(np.concatenate(panels), side, side, origin="upper")
    longest = max(rows.values(), key=len)
    for n, (name, motion) in enumerate(rows.items()):
        bottom = side + page.high * (len(panels) - 1 - n)
        figure.text(0.5 * side / broad, (bottom + 0.5 * page.high) / tall, name, rotation=90, ha="center", va="center", color=INK)
        last = strips[n][-1]
        for posture in strips[n]:
            x = (side + (posture.q[:3] @ page.axes[0] - page.low[0]) / page.pixel) / broad
            if n + 1 == len(rows):
                figure.text(x, 0.5 * side / tall, _moment(longest, at[posture.slot]), ha="center", va="center", color=INK, fontsize=9)
            if posture is last and last.frame != at[last.slot]:
                figure.text(
                    x, (bottom + 2) / tall, f"ends at {_moment(motion, last.frame)}", ha="center", va="bottom", color=ALARM, fontsize=9
                )
    save(figure, path, dpi=DOTS, facecolor=panels[0][0, 0])


def _moment(motion: Motion, frame: int) -> str:
    return f"{motion.times[frame]:.2f} s"
