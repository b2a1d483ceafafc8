"""Plots and pictures of a motion before and after the filter."""

from __future__ import annotations

from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from brachiate.clip import turns
from brachiate.doors import Array
from brachiate.figures.things import plate
from brachiate.judge.report import Report
from brachiate.model.data import Data
from brachiate.motion.ground import Ground
from brachiate.motion.motion import Motion
from brachiate.show.draw import picture
from brachiate.show.page import View
from brachiate.show.plots import lines, pyplot, save
from brachiate.transfer.many import Many

ORIGINAL, RESULT = "original", "filtered"
POSES = 9  # in a strip
APART = 0.25  # [m] between postures, and between strips
THICK = 0.02  # [m] of the floor
PIECE = 0.75  # of the room for a posture is the piece of a slope under it
VIEW = View()
INCHES, MARGIN, DOTS = 12.0, 0.3, 120  # width of the picture, and of what is around it for words
INK = "#595e66"


def plot_both(before: Report, original: Motion, motion: Motion, path: str | PathLike[str] | None) -> Any:
    """Centre of mass and force of the ground over time; of the original it is the force it would need, on the ground it was made on."""
    n = len(motion)
    weight, needed = before.track.weight, before.track.needed[:n, :3]
    force = sum((values[:, :3] for values in motion.forces.values()), np.zeros((n, 3)))
    was, now = _centres(original)[:n], _centres(motion)
    panels = {f"centre of mass\n{axis} [m]": {ORIGINAL: was[:, k], RESULT: now[:, k]} for k, axis in enumerate("xyz")}
    for k, axis in ((2, "up"), (0, "x"), (1, "y")):
        panels[f"force of the ground\n{axis} [weight]"] = {f"{ORIGINAL}, needed": needed[:, k] / weight, RESULT: force[:, k] / weight}
    return lines(motion.times, panels, None if path is None else Path(path))


def _centres(motion: Motion) -> Array:
    """Centres of mass: (f, 3) [m]."""
    many = Many(motion.figure)
    return many.centres(many.poses(motion.q))


def draw_strips(before: Motion, after: Motion, path: str | PathLike[str]) -> None:
    """Postures at some moments, those before above those after.

    All that belongs to one moment is moved along the page by the same way, so drift is seen; each strip has the ground under it.
    """
    figure, many, n = before.figure, Many(before.figure), len(after)
    rows = np.unique(np.linspace(0, n - 1, POSES).astype(int))
    right, ground = VIEW.axes()[0], _ground(after)
    both = [motion.q[rows].copy() for motion in (before, after)]
    start = both[0][:, :2].copy()
    for q in both:
        q[:, :2] -= start
        q[:, 2] -= start @ ground.gradient  # on a slope, each stands on a piece of it
    seen = np.concatenate([many.poses(q).x for q in both], axis=1)  # (bodies, moments, 3)
    wide, tall = float(np.ptp(seen @ right)) + APART, float(np.ptp(seen[..., 2])) + 2.0 * APART
    along = wide * np.arange(len(rows))[:, None] * right
    for strip, q in enumerate(both):
        q[:, :3] += along
        q[:, 2] += tall * (1 - strip)
    frames = []
    for strip, q in enumerate(both):
        up = np.array((0.0, 0.0, (ground.height or 0.0) + tall * (1 - strip)))
        places = [along.mean(axis=0)] if not ground.slope else list(along)
        size = wide * len(rows) if not ground.slope else PIECE * wide
        frames += [(Data(plate((size, 2.0 * APART + 0.5, THICK))), _under(ground, place + up, right)) for place in places]
        frames += [(Data(figure), row) for row in q]
    image = BytesIO()
    picture(frames, image, view=VIEW, width=INCHES, pixels_per_inch=DOTS, ground=False, palest=1.0)  # type: ignore[arg-type]
    image.seek(0)
    _label(image, after.times[rows], path)


def _ground(motion: Motion) -> Ground:
    return Ground(0.0) if motion.contacts is None else motion.contacts.ground


def _under(ground: Ground, place: Array, right: Array) -> Array:
    """Where a plate is, by its numbers, whose upper face is on the ground there: (7,)."""
    turn = turns.product(ground.tilt, turns.about(2, np.arctan2(right[1], right[0])))
    return np.concatenate((place - 0.5 * THICK * ground.normal, turn))


def _label(image: BytesIO, times: Array, path: str | PathLike[str]) -> None:
    """Put words beside the strips and times below them."""
    plt = pyplot()
    pixels = plt.imread(image)
    side = int(MARGIN * DOTS)
    high, wide = pixels.shape[0] + side, pixels.shape[1] + side
    figure = plt.figure(figsize=(wide / DOTS, high / DOTS), dpi=DOTS, facecolor=pixels[0, 0])
    figure.figimage(pixels, side, side, origin="upper")
    for strip, word in enumerate((ORIGINAL, RESULT)):
        figure.text(
            0.5 * side / wide,
            (side + pixels.shape[0] * (0.75 - 0.5 * strip)) / high,
            word,
            rotation=90,
            ha="center",
            va="center",
            color=INK,
        )
    for k, time in enumerate(times):
        x = (side + (k + 0.5) / len(times) * pixels.shape[1]) / wide
        figure.text(x, 0.5 * side / high, f"{time:.2f} s", ha="center", va="center", color=INK, fontsize=9)
    save(figure, path, dpi=DOTS, facecolor=pixels[0, 0])
