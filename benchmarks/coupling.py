"""Particles coupled with a figure: ``python benchmarks/coupling.py [--seconds S] [--json FILE]``.

human28 hangs by one hand from a rope of particles and swings, without damping and joint limits, posture held by springs: drift of the total
energy and of the angular momentum about the vertical through the rope's fixed end; convergence to the motion on rigid rods of the same
masses; time per step.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import brachiate as br
from brachiate.model.builder import ModelBuilder
from brachiate.particles.coupling import CoupledRecording
from brachiate.scenes.placement import place_at, rotation_about_y

TILT, LENGTH, MASS, COUNT, SPRING = 30.0, 2.0, 2.0, 10, 60.0  # [deg], [m], [kg], links, [N·m/rad]
STIFFNESSES = (4e5, 1.6e6, 6.4e6)  # axial [N]
CONVERGENCE_SECONDS = 0.5


def hanging_figure() -> tuple[br.World, np.ndarray, np.ndarray]:
    """World with a figure that hangs at an angle; top and bottom of the rope."""
    world = br.World()
    man = world.add(br.figures.human28().with_springs(SPRING, "hang", 0.0), "man")
    man.set_pose("hang")
    R = rotation_about_y(TILT)
    place_at(world, man, ["left_grip"], (0.0, 0.0, 2.0), R)
    hand = world.position("man/left_grip")
    return world, hand + LENGTH * R[:, 2], hand


def on_particles(axial: float, dt: float, every: int, damping: float | None = 0.0) -> tuple[br.Simulation, np.ndarray]:
    """Simulation of the figure on a rope of particles, and the rope's fixed end."""
    world, top, hand = hanging_figure()
    rope = br.particles.rope(top, hand, COUNT, mass=MASS, stiffness=axial, damping_time=0.0, slack=False)
    coupling = br.particles.Coupling(world, rope)
    coupling.attach(f"p{COUNT + 1}", "man/left_grip", damping=damping)
    simulation = br.Simulation(world, dt=dt, limits=False, every=every)
    simulation.couple(coupling)
    return simulation, top


def on_rods(dt: float, every: int) -> br.Simulation:
    """Simulation of the figure on rods without mass between the same masses."""
    world, top, _ = hanging_figure()
    builder = ModelBuilder("rods")
    builder.link("top", at=top, rotation=rotation_about_y(TILT))
    parent, at, rod = "top", (0.0, 0.0, 0.0), (0.0, 0.0, -LENGTH / COUNT)
    for n in range(COUNT):
        mass = MASS / COUNT * (0.5 if n == COUNT - 1 else 1.0)
        builder.link(f"rod{n}", parent=parent, joint=br.Universal("x", "y"), at=at, mass=mass, center=rod, inertia=(0, 0, 0))
        parent, at = f"rod{n}", rod
    world.add(builder.build(), "rods")
    world.connect("man/left_grip", f"rods/{parent}", br.Spherical())
    return br.Simulation(world, dt=dt, limits=False, every=every)


def drift(seconds: float, dt: float, damping: float | None = 0.0) -> dict[str, Any]:
    """Drift of energy and of angular momentum about the vertical, and time per step."""
    simulation, top = on_particles(1e5, dt, round(0.1 / dt), damping)
    simulation.run(2.0 * dt)
    start = time.process_time()
    run = simulation.run(seconds)
    elapsed = time.process_time() - start
    recorded = run.partner
    assert isinstance(recorded, CoupledRecording)
    totals = recorded.totals
    spin = totals.angular_momentum - np.cross(top, totals.momentum)
    change, tenth = totals.energy - totals.energy[0], max(len(run) // 10, 1)
    return {
        "seconds": seconds, "dt": dt, "damping of the attachment": damping,
        "largest kinetic energy [J]": float(run["kinetic energy"].max()),
        "largest change of energy [J]": float(np.abs(change).max()),
        "change of mean energy, last tenth against first [J]": float(change[-tenth:].mean() - change[:tenth].mean()),
        "largest change of vertical angular momentum [N·m·s]": float(np.abs(spin[:, 2] - spin[0, 2]).max()),
        "largest angular momentum [N·m·s]": float(np.linalg.norm(spin, axis=1).max()),
        "time per step [µs]": 1e6 * elapsed / (seconds / dt),
    }  # fmt: skip


def convergence(dt: float) -> dict[str, Any]:
    """Distance of the hand from where it is on rods after CONVERGENCE_SECONDS, by stiffness [m]."""
    hands = []
    for simulation in [on_rods(dt, 100), *(on_particles(axial, dt, 100)[0] for axial in STIFFNESSES)]:
        simulation.run(CONVERGENCE_SECONDS)
        hands.append(simulation.world.position("man/left_grip"))
    errors = [float(np.linalg.norm(hand - hands[0])) for hand in hands[1:]]
    return {
        "axial stiffness [N]": STIFFNESSES,
        "error [m]": errors,
        "orders": [float(np.log(a / b) / np.log(4)) for a, b in pairwise(errors)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    found = {
        "convergence": convergence(1e-3),
        "drift": [drift(options.seconds, *case) for case in ((2e-3, 0.0), (1e-3, 0.0), (5e-4, 0.0), (2e-3, None), (1e-3, None))],
    }
    text = json.dumps(found, indent=1, ensure_ascii=False)
    print(text)
    if options.json:
        options.json.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
