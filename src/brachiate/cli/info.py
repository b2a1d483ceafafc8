"""``brachiate info``: contents of a motion file, and the assumptions made to read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape

from brachiate.cli.options import MotionInput
from brachiate.cli.tables import print_assumptions
from brachiate.clip.markers import Markers
from brachiate.errors import ArgumentError, MotionError
from brachiate.io.opensim import Plate, Table, force_plates, read_table
from brachiate.model.data import Data
from brachiate.motion.edit import root_coordinates
from brachiate.motion.motion import Motion
from brachiate.motion.opensim_gait import has_gait_coordinates
from brachiate.motion.read import MARKERS, TABLES
from brachiate.show.draw import picture
from brachiate.validation import Array

POSES = 8  # in a strip
APART = 0.55  # [m] poses that are closer together cover each other
ASIDE = np.array((0.8, 0.0))  # [m] from one to the next, if they are moved apart
PRESSED = 20.0  # [N] on a plate: loaded
SHOWN = 12  # names of columns or markers


def run(path: Path, motion_input: MotionInput, draw: Path | None, console: Console) -> None:
    """Print what a motion file holds, what was assumed, and the body that was built for it."""
    kind = path.suffix.lower()
    if kind in MARKERS or (kind in TABLES and motion_input.figure is None and not has_gait_coordinates(read_table(path))):
        if draw is not None:
            raise ArgumentError(f"{path}: a file without joints has no body to draw. Leave --draw out.")
        given = motion_input.reading()
        return _info_markers(path, given, console) if kind in MARKERS else _info_table(path, given, console)
    motion = motion_input.load(path, console)
    clip = motion.clip
    rate = (len(motion) - 1) / motion.duration if len(motion) > 1 else 0.0
    joints = f", {len(clip.skeleton)} joints" if clip is not None else ""
    form = clip.origin.format if clip is not None and clip.origin is not None else kind[1:].upper()
    _print_head(path, form, len(motion), rate, motion.duration, joints, console)
    print_assumptions(motion.assumptions, console)
    _print_body(motion, console)
    places = motion.q[:, root_coordinates(motion.figure)][:, :3]
    path_length = float(np.linalg.norm(np.diff(places[:, :2], axis=0), axis=1).sum())
    lowest = f"lowest joint or tip {_lowest(motion):+.3f} m; " if clip is not None else ""
    console.print(f"{lowest}the root travels {path_length:.2f} m, {path_length / max(motion.duration, 1e-9):.2f} m/s", highlight=False)
    if draw is not None:
        count, spread = draw_strip(motion, draw, POSES)
        console.print(f"{count} poses drawn to {escape(str(draw))}{', side by side' if spread else ''}", highlight=False, soft_wrap=True)
    return None


def draw_strip(motion: Motion, path: Path, poses: int) -> tuple[int, bool]:
    """Draw some poses into one picture; side by side if the figure stays in place. Returns their number, and whether they were moved."""
    data = Data(motion.figure)
    chosen = np.unique(np.linspace(0, len(motion) - 1, poses).astype(int))
    q = motion.q[chosen].copy()
    root = root_coordinates(motion.figure)
    ground = q[:, root][:, :2]
    far = np.linalg.norm(ground[:, None] - ground[None], axis=2) + 10.0 * np.eye(len(q))
    spread = bool(len(q) > 1 and np.median(far.min(axis=1)) < APART)
    if spread:
        q[:, root.start : root.start + 2] = np.arange(len(q))[:, None] * ASIDE
    picture([(data, row) for row in q], path, width=12.0)
    return len(q), spread


def _print_head(path: Path, form: str, frames: int, rate: float, seconds: float, more: str, console: Console) -> None:
    console.print(
        f"[bold]{escape(str(path))}[/]: {form}, {frames} frame{'s' if frames != 1 else ''}, {rate:.4g} frames/s, {seconds:.2f} s{more}",
        highlight=False,
        soft_wrap=True,
    )


def _lowest(motion: Motion) -> float:
    clip = motion.clip
    assert clip is not None
    return float(np.min([clip.positions[..., 2].min(), *([clip.tips[..., 2].min()] if clip.tips.size else [])]))


def _print_body(motion: Motion, console: Console) -> None:
    model = motion.figure
    kinds = [type(link.joint).__name__.lower() for link in model.links.values() if link.joint.nv]
    counted = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    console.print(f"body: {model.mass:.1f} kg, {model.nv} degrees of freedom ({counted})", highlight=False, soft_wrap=True)
    if motion.contacts is not None:
        console.print(f"contacts: {len(motion.contacts.contacts)}, of {_some({c.part for c in motion.contacts.contacts})}", highlight=False)
    if motion.forces:
        console.print(f"forces: on {_some(motion.forces)}", highlight=False)


def _info_markers(path: Path, given: dict[str, Any], console: Console) -> None:
    """What a file of markers holds."""
    from brachiate.io.c3d import read_c3d  # noqa: PLC0415  (an extra)
    from brachiate.io.trc import read_trc  # noqa: PLC0415

    known = {key: value for key, value in given.items() if key in ("unit", "up")}
    for key in given:
        if key not in known:
            raise MotionError(f"{path}: {key}= means nothing for markers. Leave it out.")
    if path.suffix.lower() == ".trc":
        markers: Markers | None = read_trc(path, **known)
        assumptions, plates, analog = markers.assumptions if markers is not None else (), (), None
    else:
        capture = read_c3d(path, **known)
        markers, assumptions, plates, analog = capture.markers, capture.assumptions, capture.plates, capture.analog
    if markers is not None:
        seconds = float(markers.times[-1] - markers.times[0])
        _print_head(path, path.suffix[1:].upper(), len(markers), markers.rate, seconds, f", {len(markers.names)} markers", console)
        gaps, heights = markers.gaps(), markers.positions[..., 2]
        lost = f"{len(gaps)} gaps, in {_some({gap.name for gap in gaps})}" if gaps else "no gaps"
        low, high = (float(f(heights)) for f in (np.nanmin, np.nanmax)) if markers.visible.any() else (np.nan, np.nan)
        console.print(f"{_some(markers.names)}; {lost}; from {low:.3f} to {high:.3f} m high", highlight=False, soft_wrap=True)
    print_assumptions(assumptions, console)
    if analog is not None:
        console.print(f"channels: {_some(analog.columns)}", highlight=False, soft_wrap=True)
    _print_plates(list(plates), 2, console)


def _info_table(path: Path, given: dict[str, Any], console: Console) -> None:
    """What a table holds that is no motion of a gait model."""
    table: Table = read_table(path)
    for key in given:
        raise MotionError(f"{path}: {key}= means nothing for this table. Leave it out.")
    seconds = float(table.times[-1] - table.times[0])
    rate = (len(table) - 1) / seconds if len(table) > 1 else 0.0
    _print_head(path, "table", len(table), rate, seconds, f", {len(table.columns)} columns", console)
    console.print(_some(table.columns), highlight=False, soft_wrap=True)
    print_assumptions(table.assumptions, console)
    try:
        _print_plates(force_plates(table), 1, console)
    except MotionError:
        console.print("These are coordinates of a figure: give it with --figure.", highlight=False)


def _print_plates(plates: list[Plate], up: int, console: Console) -> None:
    """Force plates: the largest upward force, and the share of rows with load."""
    for plate in plates:
        force: Array = plate.force[:, up]
        pressed = 100.0 * float(np.mean(force > PRESSED))
        text = f"plate {escape(plate.name)}: up to {force.max():.0f} N upwards, more than {PRESSED:g} N in {pressed:.0f} % of the rows"
        console.print(text, highlight=False, soft_wrap=True)


def _some(names: Any) -> str:
    names = list(names)
    return escape(", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""))
