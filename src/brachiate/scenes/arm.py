"""The arm of [DF] VII-D, whose root joint has no motor, moved by the filter as published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from brachiate import validation
from brachiate.figures.chains import arm2
from brachiate.filter.paper.arm import JOINTS, reference_at
from brachiate.filter.paper.filter import PaperFilter
from brachiate.filter.paper.settings import Settings
from brachiate.model.data import Data
from brachiate.scenes.scene import Scene
from brachiate.show.page import Page, View
from brachiate.show.plots import COLORS, plain, pyplot, save
from brachiate.show.surface import PAPER, Triangles, joined, lit, parts_of
from brachiate.simulate.recording import Recording
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array
from brachiate.world.world import World

ABOUT = """\
[DF, Fig. 5 and 6] Two rods, and a motor at the elbow alone. The reference moves both joints as it pleases, which no torque of the
elbow could do. The published filter keeps the elbow to it, and lets the shoulder go as it must."""

DOTS, ACROSS, PLOT = 120, 5.0, 2.7  # [dots/inch], and [inch] of a column and of the plots in it
MARGIN = 0.7  # [inch] beside a plot
POSES, PALEST = 13, 0.25
VIEW = View(around=-90.0, above=0.0)


class Arm(Scene):
    """Moved by steps of the paper's filter, not by those of its simulation."""

    def __init__(self, seconds: float, dt: float) -> None:
        world = World()
        world.add(arm2(), "arm")
        world.v = reference_at(0.0)[1]
        super().__init__("filter-arm", "An arm with one motor, filtered", ABOUT, world, Simulation(world, dt), seconds, passive=False)
        # The error of a joint that has no motor counts for nothing.
        self.filter = PaperFilter(world, "arm", Settings(step=dt, weights={"shoulder": 0.0}))

    def run(self, seconds: float | None = None) -> Recording:
        """Filter for some seconds."""
        seconds = self.seconds if seconds is None else validation.number(seconds, "seconds", above=0.0, most=1e6)
        world, dt, start = self.world, self.simulation.dt, self.world.time
        rows = [(world.q.copy(), world.v.copy(), np.zeros(world.model.nv))]
        for _ in range(max(1, round(seconds / dt))):
            step = self.filter.step(*reference_at(world.time))
            rows.append((step.q, step.v, step.torque))
        q, v, torque = (np.array(column) for column in zip(*rows, strict=True))
        return Recording(world.model, world.gravity, start + dt * np.arange(len(rows)), q, v, torque)

    def picture(self, run: Recording, path: str | Path, times: Any = None) -> None:
        """Draw the reference beside the output: postures, the later the darker, and angles over time."""
        angles = {"reference": np.array([reference_at(t)[0] for t in run.time]), "output of the filter": run.q}
        _draw(run, angles, path)


def filter_arm(seconds: float = 4.0, dt: float = 0.002) -> Scene:
    """An arm with a motor at the elbow alone follows what it can of a motion of both joints.

    Args:
        seconds: How long it is worth watching [s].
        dt: Length of a step [s].
    """
    return Arm(seconds, validation.number(dt, "dt", above=0.0, most=0.1))


def _draw(run: Recording, angles: dict[str, Array], path: str | Path) -> None:
    plt = pyplot()
    moments = [_postures(run, q) for q in angles.values()]
    page = Page(VIEW, np.concatenate([m.corners.reshape(-1, 3) for m in moments]), int(ACROSS * DOTS))
    wide, tall = len(angles) * ACROSS, page.high / DOTS + PLOT
    figure = plt.figure(figsize=(wide, tall), dpi=DOTS, facecolor=PAPER)
    low, high = (np.degrees(pick([pick(q) for q in angles.values()])) for pick in (np.min, np.max))
    for n, ((name, q), panel) in enumerate(zip(angles.items(), page.panels(moments, None), strict=True)):
        figure.figimage(panel, int(n * ACROSS * DOTS), int(PLOT * DOTS), origin="upper")
        box = ((n * ACROSS + MARGIN) / wide, 0.5 / tall, (ACROSS - 1.4 * MARGIN) / wide, (PLOT - 0.9) / tall)
        axis = figure.add_axes(box, facecolor=PAPER)
        for k, joint in enumerate(JOINTS):
            axis.plot(run.time, np.degrees(q[:, k]), label=joint, color=COLORS[k], linewidth=1.6)
        axis.set_title(name, fontsize=11)
        axis.set_xlabel("time [s]", fontsize=9)
        axis.set_ylabel("angle [°]", fontsize=9)
        axis.set_ylim(low - 5, high + 5)
        axis.tick_params(labelsize=8)
        plain(axis)
    figure.axes[0].legend(frameon=False, fontsize=8, ncols=2, loc="lower left")
    save(figure, path, dpi=DOTS, facecolor=PAPER)


def _postures(run: Recording, q: Array) -> Triangles:
    """Some postures, the later the darker, and the nearer to the eye."""
    rows, parts, data, found = np.linspace(0, len(q) - 1, POSES).astype(int), parts_of(run.model), Data(run.model), []
    for n, (row, strength) in enumerate(zip(rows, np.linspace(PALEST, 1.0, POSES), strict=True)):
        data.assign(q=q[row])
        one = lit(parts, data).faded(strength)
        found.append(one._replace(corners=one.corners + n * VIEW.axes()[2]))
    return joined(found)
