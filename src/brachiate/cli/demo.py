"""The demo: a human figure thrown and tumbling in free flight."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import brachiate as br
from brachiate.errors import ArgumentError
from brachiate.show.draw import picture

DT = 0.002


def thrown_world() -> br.World:
    """A human28 thrown head over heels. Springs hold its posture; no force but gravity acts from outside."""
    world = br.World()
    man = world.add(br.figures.human28(height=1.75, mass=70.0).sprung(60.0, "tumble"), name="man")
    man.place((0.0, 0.0, 1.5))
    man.pose("tumble")
    world.v = {
        "man/root": [2.6, 0.0, 5.2, 0.0, 8.5, 0.0],
        "man/chest": [0.3, 0.8, 0.5],
        "man/left_shoulder": [1.0, -2.6, 0.0],
        "man/right_shoulder": [-1.0, 2.5, 0.0],
        "man/left_hip": [0.0, 2.5, 0.0],
        "man/right_hip": [0.0, -2.4, 0.0],
        "man/left_knee": 2.4,
        "man/right_knee": -2.3,
    }
    return world


def run(out: Path, seconds: float, console: Console) -> None:
    """Simulate, write a picture, a plot and the recording, and print what was conserved."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ArgumentError(f"{out} cannot be a folder for the results: {problem.strerror}. Choose another with --out.") from None
    world = thrown_world()
    start = world.save()
    simulation = br.Simulation(world, dt=DT, integrator="rk8", every=5, limits=False)  # a joint that stops would take energy
    simulation.step()  # compiles, the first time on a machine
    world.restore(start)
    began = time.perf_counter()
    run = simulation.run(seconds)
    took = time.perf_counter() - began
    console.print(conserved(run))
    console.print(f"{seconds:g} s of flight in {1000 * took:.0f} ms: {seconds / took:.0f} times as fast as it happens.")
    run.save(out / "flight.npz")
    with console.status("drawing ..."):
        _draw(world, run, out)
    for name, what in (("flight.png", "picture"), ("flight-plot.png", "energies and momentum"), ("flight.npz", "recording")):
        console.print(f"  {escape(str(out / name))}  [dim]{what}[/]")


def _draw(world: br.World, run: br.Recording, out: Path) -> None:
    run.plot("energy", "kinetic energy", "potential energy", "angular momentum", path=out / "flight-plot.png")
    frames = np.linspace(0, len(run) - 1, 7).round().astype(int)
    picture([(world.data, run.q[i]) for i in frames], out / "flight.png")


def conserved(run: br.Recording) -> Table:
    """How well the flight keeps what free flight must keep."""
    totals = list(run.totals())
    g, t = run.gravity, run.time
    momentum = np.array([x.momentum for x in totals]) - np.outer(t - t[0], totals[0].mass * g)
    spin = np.array([x.angular_momentum for x in totals])
    energy = np.array([x.energy for x in totals])
    parabola = totals[0].center + np.outer(t - t[0], totals[0].velocity) + 0.5 * np.outer((t - t[0]) ** 2, g)
    center = np.array([x.center for x in totals])
    table = Table(title="Free flight of a human figure, 34 degrees of freedom", title_justify="left", box=None, header_style="bold")
    for column, side in (("conserved", "left"), ("value", "right"), ("largest change", "right"), ("relative", "right")):
        table.add_column(column, justify=side)  # type: ignore[arg-type]
    rows = (
        ("momentum, less what gravity gave", momentum, "kg·m/s"),
        ("angular momentum about the centre of mass", spin, "kg·m²/s"),
        ("energy, that of the springs included", energy[:, None], "J"),
    )
    for name, values, unit in rows:
        size, change = float(np.linalg.norm(values[0])), float(np.linalg.norm(values - values[0], axis=1).max())
        table.add_row(name, f"{size:.4f} {unit}", f"{change:.1e} {unit}", f"{change / size:.1e}")
    off = float(np.linalg.norm(center - parabola, axis=1).max())
    table.add_row("centre of mass on its parabola", f"{center[:, 2].max():.4f} m high", f"{off:.1e} m", f"{off / center[:, 2].max():.1e}")
    return table
