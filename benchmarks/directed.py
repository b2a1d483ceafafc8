"""People on their feet, directed by functions and pushed: ``python benchmarks/directed.py [--push SPEED]``.

The scenes ``reach-cup`` and ``lift-barbell`` without a push, and pushed in eight directions at several times. Prints, for each scene, the
largest error of each task while its target should be had, the largest excess of a contact force over its friction cone, for how long a
foot carried nothing, and the number of falls and of recovery steps.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from brachiate import scenes
from results import make_console

HEADINGS = range(0, 360, 45)  # [degrees]
TIMES = {"reach-cup": (0.3, 0.6, 1.4, 2.0), "lift-barbell": (0.6, 1.2, 2.2)}  # [s] of the push
SECONDS = {"reach-cup": 3.0, "lift-barbell": 3.4}
ANGLES = ("gaze",)  # tasks in radians; others are in meters, or components of unit vectors


def pushes(name: str, speed: float) -> Iterator[dict[str, Any]]:
    """No push, and pushes in all directions at all times."""
    yield {}
    for at in TIMES[name]:
        for heading in HEADINGS:
            yield {"push": speed, "heading": float(heading), "at": at}


def study(name: str, speed: float) -> dict[str, float]:
    """Worst values of a scene over all pushes."""
    worst: dict[str, float] = {"runs": 0.0, "falls": 0.0, "recovery steps": 0.0, "foot in the air [s]": 0.0, "cone excess [N]": 0.0}
    for push in pushes(name, speed):
        scene = scenes.make(name, seconds=SECONDS[name], **push)
        result = scene.filtered(scene.run())  # type: ignore[attr-defined]
        friction, history = scene.world.contact_settings.material.friction, result.recording.contacts
        worst["runs"] += 1
        worst["falls"] += not result.success
        worst["recovery steps"] += len(result.recovery_steps)
        for pair in history.pairs:
            force = history[pair].force[1:]
            excess = float((np.linalg.norm(force[:, :2], axis=1) - friction * force[:, 2]).max())
            worst["cone excess [N]"] = max(worst["cone excess [N]"], excess)
            worst["foot in the air [s]"] = max(worst["foot in the air [s]"], scene.simulation.dt * float((force[:, 2] <= 0.0).sum()))
        for task in result.tasks.values():
            unit, scale = ("deg", np.degrees(1.0)) if task.name in ANGLES else ("mm", 1e3)
            key = f"{task.name} [{unit}]"
            worst[key] = max(worst.get(key, 0.0), scale * task.max_error)
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--push", type=float, default=0.2, help="velocity change of the whole body [m/s]")
    options = parser.parse_args()
    console = make_console()
    for name in TIMES:
        table = Table(title=f"{name}, pushed by {options.push:g} m/s", title_justify="left", show_header=False)
        for what, value in study(name, options.push).items():
            table.add_row(escape(what), f"{value:.3g}")
        console.print(table)


if __name__ == "__main__":
    main()
