"""Underactuated arm of [DF] VII-D, whose root joint has no motor, controlled by the published filter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from brachiate import validation
from brachiate.figures.chains import arm2
from brachiate.filter.paper.arm import JOINTS, reference_at
from brachiate.filter.paper.filter import PaperFilter
from brachiate.filter.paper.settings import PaperSettings
from brachiate.model.data import Data
from brachiate.scenes.scene import Scene
from brachiate.show.canvas import Camera, Canvas
from brachiate.show.plots import COLORS, import_pyplot, save_figure, style_axes
from brachiate.show.surface import BACKGROUND, Triangles, link_surfaces, merge_surfaces, shaded_surface
from brachiate.simulate.recording import Recording
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array
from brachiate.world.world import World

ABOUT = """\
[DF, Fig. 5 and 6] Two rods with a motor at the elbow only. The reference moves both joints independently, which no elbow torque can
realize. The published filter tracks the elbow, and the shoulder follows the dynamics."""

DPI, COLUMN_WIDTH, PLOT_HEIGHT = 120, 5.0, 2.7  # [dots/inch], [inch], [inch]
MARGIN = 0.7  # [inch] beside a plot
POSES, MIN_OPACITY = 13, 0.25
VIEW = Camera(azimuth=-90.0, elevation=0.0)


class PaperArmScene(Scene):
    """Scene advanced by the steps of the published filter, not by its simulation."""

    def __init__(self, seconds: float, dt: float) -> None:
        world = World()
        world.add(arm2(), "arm")
        world.v = reference_at(0.0)[1]
        super().__init__("filter-arm", "An arm with one motor, filtered", ABOUT, world, Simulation(world, dt), seconds, conservative=False)
        # The tracking error of the joint without a motor has no weight.
        self.filter = PaperFilter(world, "arm", PaperSettings(step=dt, weights={"shoulder": 0.0}))

    def run(self, seconds: float | None = None) -> Recording:
        """Run the filter for some seconds."""
        seconds = self.seconds if seconds is None else validation.number(seconds, "seconds", above=0.0, maximum=1e6)
        world, dt, start = self.world, self.simulation.dt, self.world.time
        rows = [(world.q.copy(), world.v.copy(), np.zeros(world.model.nv))]
        for _ in range(max(1, round(seconds / dt))):
            step = self.filter.step(*reference_at(world.time))
            rows.append((step.q, step.v, step.torque))
        q, v, torque = (np.array(column) for column in zip(*rows, strict=True))
        return Recording(world.model, world.gravity, start + dt * np.arange(len(rows)), q, v, torque)

    def picture(self, run: Recording, path: str | Path, times: Any = None) -> None:
        """Draw reference and output side by side: postures, later ones darker, and angles over time."""
        angles = {"reference": np.array([reference_at(t)[0] for t in run.time]), "output of the filter": run.q}
        _draw(run, angles, path)


def filter_arm(seconds: float = 4.0, dt: float = 0.002) -> Scene:
    """An arm with a motor at the elbow only tracks a motion of both joints as closely as it can.

    Args:
        seconds: Duration [s].
        dt: Step length [s].
    """
    return PaperArmScene(seconds, validation.number(dt, "dt", above=0.0, maximum=0.1))


def _draw(run: Recording, angles: dict[str, Array], path: str | Path) -> None:
    plt = import_pyplot()
    moments = [_postures(run, q) for q in angles.values()]
    page = Canvas(VIEW, np.concatenate([m.corners.reshape(-1, 3) for m in moments]), int(COLUMN_WIDTH * DPI))
    wide, tall = len(angles) * COLUMN_WIDTH, page.height / DPI + PLOT_HEIGHT
    figure = plt.figure(figsize=(wide, tall), dpi=DPI, facecolor=BACKGROUND)
    low, high = (np.degrees(pick([pick(q) for q in angles.values()])) for pick in (np.min, np.max))
    for n, ((name, q), panel) in enumerate(zip(angles.items(), page.panels(moments, None), strict=True)):
        figure.figimage(panel, int(n * COLUMN_WIDTH * DPI), int(PLOT_HEIGHT * DPI), origin="upper")
        box = ((n * COLUMN_WIDTH + MARGIN) / wide, 0.5 / tall, (COLUMN_WIDTH - 1.4 * MARGIN) / wide, (PLOT_HEIGHT - 0.9) / tall)
        axis = figure.add_axes(box, facecolor=BACKGROUND)
        for k, joint in enumerate(JOINTS):
            axis.plot(run.time, np.degrees(q[:, k]), label=joint, color=COLORS[k], linewidth=1.6)
        axis.set_title(name, fontsize=11)
        axis.set_xlabel("time [s]", fontsize=9)
        axis.set_ylabel("angle [°]", fontsize=9)
        axis.set_ylim(low - 5, high + 5)
        axis.tick_params(labelsize=8)
        style_axes(axis)
    figure.axes[0].legend(frameon=False, fontsize=8, ncols=2, loc="lower left")
    save_figure(figure, path, dpi=DPI, facecolor=BACKGROUND)


def _postures(run: Recording, q: Array) -> Triangles:
    """Some postures, later ones darker and nearer to the viewer."""
    rows, parts, data, found = np.linspace(0, len(q) - 1, POSES).astype(int), link_surfaces(run.model), Data(run.model), []
    for n, (row, strength) in enumerate(zip(rows, np.linspace(MIN_OPACITY, 1.0, POSES), strict=True)):
        data.assign(q=q[row])
        one = shaded_surface(parts, data).faded(strength)
        found.append(one._replace(corners=one.corners + n * VIEW.axes()[2]))
    return merge_surfaces(found)
