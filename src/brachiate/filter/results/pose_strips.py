"""Pose strips: poses of several motions at the same times, one row per motion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import IO, Any, NamedTuple

import numpy as np

from brachiate import rotations
from brachiate.anatomy.contact_points import find_contact_points
from brachiate.figures.objects import plate
from brachiate.kinematics_batch import BatchKinematics
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.motion.motion import Motion
from brachiate.motion.terrain import Stairs, Terrain
from brachiate.show.canvas import Camera, Canvas, GroundPlane
from brachiate.show.force_marks import MAX_ARROW_LENGTH, ForceMarks, draw_marks
from brachiate.show.page import Page
from brachiate.show.surface import Triangles, link_surfaces, merge_surfaces, shaded_surface
from brachiate.validation import Array

ORIGINAL, FILTERED = "original", "filtered"
POSES = 9  # in a row
POSE_SPACING = 0.25  # [m] between poses
SURFACE_RIM = 0.03  # [m] margin of a raised surface around the contact points on it
BOARD_THICKNESS, BOARD_DEPTH = 0.02, 1.0  # [m] of the board that shows the terrain
SLOPE_PIECE_SHARE = 0.75  # width of the piece of a slope under a pose, of the width of its slot
VIEW = Camera()
WIDTH_INCHES, TEXT_MARGIN, DPI = 12.0, 0.3, 120  # [inch] width of the picture and of the margin for text, resolution
NAME_SIZE, TIME_SIZE = 10.0, 9.0  # [pt]
TEXT_COLOR, FAILURE_COLOR = "#595e66", "#b3263b"


class StripPose(NamedTuple):
    """One pose of a row."""

    slot: int  # index of the time
    frame: int
    q: Array


def draw_pose_strips(
    rows: Mapping[str, Motion],
    path: str | PathLike[str] | IO[bytes],
    *,
    poses: int = POSES,
    in_place: bool = False,
    origin: Motion | None = None,
    weight_length: float = 0.0,
    view: Camera = VIEW,
) -> None:
    """Draw pose strips of motions of one figure, one below the other.

    All poses of one time are moved along the page by the same offset, so that drift is visible. A motion that ends before the others is
    shown once more at its end.

    Args:
        rows: Motions with the same times by name; the terrain of the last one is drawn. All but the first may end earlier.
        path: File of the picture.
        poses: Number of times, from first to last.
        in_place: Draw poses at their positions in the world; on stairs this is always so.
        origin: Motion whose root position defines the offsets. Default: the first row.
        weight_length: Length of the arrow [m] of a force as large as the body weight, for motions with forces; 0 for no arrows.
        view: Camera direction.
    """
    motions = list(rows.values())
    first, terrain = origin or motions[0], _terrain(motions[-1])
    in_place = in_place or terrain.stairs is not None
    at = np.unique(np.linspace(0, max(len(motion) for motion in motions[1:] or motions) - 1, poses).astype(int))
    strips = [_strip_poses(motion, at) for motion in motions]
    offsets, slot_width = _pose_offsets(first, strips, at, terrain, view, in_place)
    for strip in strips:
        for pose in strip:
            pose.q[:3] += offsets[pose.slot]
    parts, data = link_surfaces(first.figure), Data(first.figure)
    towards = None if in_place else view.axes()[2]  # surfaces that face away cast shadows on a floor
    boards = _ground_boards(terrain, strips, offsets, slot_width, view)
    scenes = [
        merge_surfaces([*boards, *_raised_surfaces(motion, strip), *(_posed_triangles(parts, data, pose.q, towards) for pose in strip)])
        for motion, strip in zip(motions, strips, strict=True)
    ]
    marks = [_force_marks(motion, strip, offsets) for motion, strip in zip(motions, strips, strict=True)] if weight_length else []
    scale, longest = weight_length / (first.figure.mass * 9.81), MAX_ARROW_LENGTH * weight_length
    shown = np.concatenate([m.corners.reshape(-1, 3) for m in scenes] + [m.ends(scale, longest)[0] for m in marks])
    floor = GroundPlane(shown.min(axis=0), shown.max(axis=0)) if in_place and not terrain.slope and terrain.stairs is None else None
    page = Canvas(view, shown if floor is None else np.concatenate((shown, floor.corners)), int(WIDTH_INCHES * DPI))
    arrows = [draw_marks(m, page, scale, longest, 1.0) for m in marks]
    _compose(rows, strips, at, page, list(page.panels(scenes, floor, arrows)), path)


def _strip_poses(motion: Motion, at: Array) -> list[StripPose]:
    """Poses of a motion at some frames, and its last pose if it ends before them."""
    found = [StripPose(slot, int(k), motion.q[k].copy()) for slot, k in enumerate(at) if k < len(motion)]
    if len(found) < len(at) and found[-1].frame < len(motion) - 1:
        found.append(StripPose(len(found), len(motion) - 1, motion.q[-1].copy()))
    return found


def _pose_offsets(
    first: Motion, strips: Iterable[list[StripPose]], at: Array, terrain: Terrain, view: Camera, in_place: bool
) -> tuple[Array, float]:
    """Offset of the poses of each time: (times, 3) [m], which moves the terrain to height zero; and the width of a slot [m]."""
    right, down = view.axes()[0], np.array((0.0, 0.0, -(terrain.height or 0.0)))
    if in_place:
        return np.tile(down, (len(at), 1)), 0.0
    root = first.q[np.minimum(at, len(first) - 1), :2]
    offset = np.concatenate((-root, -(root @ terrain.gradient)[:, None]), axis=1) + down
    poses = [pose for strip in strips for pose in strip]
    seen = BatchKinematics(first.figure).poses(np.array([pose.q for pose in poses])).x + offset[[pose.slot for pose in poses]]
    width = float(np.ptp(seen @ right)) + POSE_SPACING
    return offset + width * np.arange(len(at))[:, None] * right, width


def _posed_triangles(parts: dict[str, Triangles], data: Data, q: Array, towards: Array | None) -> Triangles:
    data.assign(q=q)
    return shaded_surface(parts, data, towards=towards)


def _ground_boards(terrain: Terrain, strips: list[list[StripPose]], offsets: Array, width: float, view: Camera) -> list[Triangles]:
    """Boards under the feet: one, or on a slope a piece for each time."""
    if not width:
        positions = np.array([pose.q[:2] for strip in strips for pose in strip])
        if terrain.stairs is not None:
            return _stair_boxes(terrain.stairs, positions)
        return [_slope_board(terrain, positions)] if terrain.slope else []
    right = view.axes()[0]
    turn, centers = float(np.arctan2(right[1], right[0])), width * np.arange(len(offsets))[:, None] * right
    if not terrain.slope:
        return [_board((width * len(offsets), BOARD_DEPTH), terrain, centers.mean(axis=0), turn)]
    return [_board((SLOPE_PIECE_SHARE * width, BOARD_DEPTH), terrain, center, turn) for center in centers]


def _raised_surfaces(motion: Motion, strip: list[StripPose]) -> list[Triangles]:
    """Boards under parts that stand above the level terrain, by their contact labels."""
    if motion.contacts is None or motion.contacts.terrain.stairs is not None:
        return []
    points, kinematics, found = find_contact_points(motion.figure), BatchKinematics(motion.figure), []
    for pose in strip:
        time, poses = motion.times[pose.frame], kinematics.poses(pose.q[None])
        offset = pose.q[2] - motion.q[pose.frame, 2]
        under: dict[tuple[str, float], list[Array]] = {}
        for label in motion.contacts.contacts:
            if label.height is not None and label.kind == "support" and label.start <= time <= label.end:
                own = np.flatnonzero(points.part == points.parts.index(label.part))
                positions = [poses.point(int(points.body[k]), points.position[k])[0] for k in own]
                under.setdefault((label.part.partition("_")[0], round(label.height, 2)), []).extend(positions)
        for (_, height), positions in under.items():
            low, high = np.min(positions, axis=0)[:2] - SURFACE_RIM, np.max(positions, axis=0)[:2] + SURFACE_RIM
            found.append(
                _box(
                    (*(high - low), BOARD_THICKNESS),
                    np.array((*(0.5 * (low + high)), height + offset - BOARD_THICKNESS)),
                    np.array((1.0, 0.0, 0.0, 0.0)),
                )
            )
    return found


def _slope_board(terrain: Terrain, positions: Array) -> Triangles:
    """Board along a slope under some positions (n, 2) [m]."""
    rise = float(np.hypot(*terrain.gradient))
    up = terrain.gradient / rise
    center = 0.5 * (positions.min(axis=0) + positions.max(axis=0))
    length = (float(np.ptp(positions @ up)) + 2.0 * BOARD_DEPTH) * float(np.hypot(1.0, rise))
    return _board((length, BOARD_DEPTH), terrain, np.array((*center, center @ terrain.gradient)), float(np.arctan2(up[1], up[0])))


def _stair_boxes(steps: Stairs, positions: Array) -> list[Triangles]:
    """Stairs under some positions (n, 2) [m], every tread a box."""
    s, across = steps.distance_along(positions), np.array((-steps.direction[1], steps.direction[0]))
    first, last, lateral = s.min() - BOARD_DEPTH, s.max() + BOARD_DEPTH, 0.5 * (np.min(positions @ across) + np.max(positions @ across))
    turn, low = rotations.about_axis(2, np.array(np.arctan2(steps.direction[1], steps.direction[0]))), steps.heights.min() - BOARD_THICKNESS
    boxes = []
    for (begin, end), level in zip(np.clip(steps.extents, first, last), steps.heights, strict=True):
        if end > begin:
            center = np.array((*(0.5 * (begin + end) * steps.direction + lateral * across), low))
            boxes.append(_box((end - begin, BOARD_DEPTH, level - low), center, turn))
    return boxes


def _board(size: tuple[float, float], terrain: Terrain, at: Array, turn: float) -> Triangles:
    return _box(
        (*size, BOARD_THICKNESS),
        at - BOARD_THICKNESS * terrain.normal,
        rotations.product(terrain.tilt, rotations.about_axis(2, np.array(turn))),
    )


def _box(size: tuple[float, float, float], at: Array, turn: Array) -> Triangles:
    model: Model = plate(size)  # origin in the center of its underside
    data = Data(model)
    data.assign(q=np.concatenate((at, turn)))
    return shaded_surface(link_surfaces(model), data)


def _force_marks(motion: Motion, strip: list[StripPose], offsets: Array) -> ForceMarks:
    """Forces on the poses of a row."""
    at, force = [], []
    for values in motion.forces.values():
        for pose in strip:
            if values[pose.frame, :3].any():
                at.append(values[pose.frame, 3:] + offsets[pose.slot])
                force.append(values[pose.frame, :3])
    return ForceMarks(np.array(at).reshape(-1, 3), np.array(force).reshape(-1, 3), [], 1.0)


def _terrain(motion: Motion) -> Terrain:
    return Terrain(0.0) if motion.contacts is None else motion.contacts.terrain


def _compose(rows: Mapping[str, Motion], strips: list[list[StripPose]], at: Array, page: Canvas, panels: list[Array], path: Any) -> None:
    """Stack the panels with their names, and the times below them."""
    side, high, width = int(TEXT_MARGIN * DPI), sum(len(panel) for panel in panels), panels[0].shape[1]
    height, total_width = high + side, width + side
    sheet = Page(total_width, height, DPI, panels[0][0, 0].tolist())
    sheet.image(side, side, (255.0 * np.concatenate(panels)).astype(np.uint8))
    longest = max(rows.values(), key=len)
    for n, (name, motion) in enumerate(rows.items()):
        bottom = side + page.height * (len(panels) - 1 - n)
        sheet.text(0.5 * side, bottom + 0.5 * page.height, name, NAME_SIZE, TEXT_COLOR, (0.5, 0.5), up=True)
        last = strips[n][-1]
        for pose in strips[n]:
            x = side + (pose.q[:3] @ page.axes[0] - page.low[0]) / page.pixel
            if n + 1 == len(rows):
                sheet.text(x, 0.5 * side, _time_text(longest, at[pose.slot]), TIME_SIZE, TEXT_COLOR, (0.5, 0.5))
            if pose is last and last.frame != at[last.slot]:
                sheet.text(x, bottom + 2, f"ends at {_time_text(motion, last.frame)}", TIME_SIZE, FAILURE_COLOR, (0.5, 0.0))
    sheet.save(path)


def _time_text(motion: Motion, frame: int) -> str:
    return f"{motion.times[frame]:.2f} s"
