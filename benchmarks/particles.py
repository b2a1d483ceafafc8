"""Speed of particle systems: time per particle and step from 10 to 10⁶ particles, against MuJoCo, Newton and our rigid-body core.

``python benchmarks/run.py particles [--quick] [--json FILE]``

The same chain everywhere: particles of 0.1 kg, 0.1 m apart, links of 10⁴ N/m, the first one fixed. MuJoCo: capsules with connect
constraints, a one-dimensional flex, and a serial chain of ball joints. Newton: XPBD on the CPU, in an environment of its own
(particles_peers.py), single precision. Rows "simulated second" compare with our rigid core at equal purpose: rigid links by steps of 1 ms;
links as particles so stiff that they stretch by a thousandth under the weight of the whole chain, at half the largest stable step, and by
implicit steps of 1 ms. Where they cross says which to use.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np

import brachiate as br
import native
from brachiate import figures
from brachiate.particles.arrays import no_floor
from brachiate.particles.explicit import force_pass, motion_pass, run_explicit, run_threads
from brachiate.particles.implicit import ImplicitSolver
from brachiate.particles.system import ParticleSystem
from results import Row, time_row
from timing import best_times, pin_to_one_core, with_reset

PACKAGES = ["newton==1.8.0", "warp-lang==1.19.0"]
SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
LENGTH, MASS, STIFFNESS, DT = 0.1, 0.1, 1e4, 1e-4
STRAIN = 1e-3  # of particle links under the weight of the whole chain, in rows that compare with rigid links
MAX_FLAT = 2.0


def chain(n: int, stiffness: float = STIFFNESS, damping: float = 0.1) -> ParticleSystem:
    """Chain of n particles along x."""
    x = np.zeros((n, 3))
    x[:, 0] = LENGTH * np.arange(n)
    system = ParticleSystem()
    system.add_particles(x, MASS, fixed=np.arange(n) == 0)
    system.add_links(np.stack([np.arange(n - 1), np.arange(1, n)], axis=1), stiffness=stiffness, damping=damping)
    return system


def explicit_runner(system: ParticleSystem, dt: float, threads: int = 1) -> Callable[[int], float]:
    """Time of n explicit steps [s]."""
    handle, counts = system.handle(), (len(system), len(system.links))  # the handle keeps the arrays

    def run(n: int) -> float:
        start = time.perf_counter()
        if threads == 1:
            run_explicit(handle.key, dt, n, False)
        else:
            run_threads(handle.key, counts, dt, n, False, threads)
        return time.perf_counter() - start

    return run


def implicit_runner(system: ParticleSystem, dt: float) -> Callable[[int], float]:
    """Time of n implicit steps [s]."""
    solver = ImplicitSolver(system, no_floor())

    def run(n: int) -> float:
        start = time.perf_counter()
        solver.run(dt, n)
        return time.perf_counter() - start

    return run


def per_particle(row: Row, n: int, own: float, peer: float | None = None) -> Row:
    """Row with the times per particle [ns]."""
    row["brachiate_ns_per_particle"] = 1e9 * own / n
    row["peer_ns_per_particle"] = None if peer is None else 1e9 * peer / n
    return row


def busiest_thread(system: ParticleSystem, steps: int) -> float:
    """CPU time of a step of the busier one of two threads [s]: what a step takes if both have a core to themselves, but for waiting."""
    handle, n, m = system.handle(), len(system), len(system.links)
    barrier, cpu = threading.Barrier(2), [0.0, 0.0]

    def work(t: int) -> None:
        start = time.thread_time()
        for _ in range(steps):
            force_pass(handle.key, m * t // 2, m * (t + 1) // 2, t == 0)
            barrier.wait()
            motion_pass(handle.key, DT, n * t // 2, n * (t + 1) // 2)
            barrier.wait()
        cpu[t] = time.thread_time() - start

    other = threading.Thread(target=work, args=(1,))
    other.start()
    work(0)
    other.join()
    return max(cpu) / steps


def one_thread(system: ParticleSystem, steps: int) -> float:
    """CPU time of a step [s]."""
    handle = system.handle()
    start = time.thread_time()
    run_explicit(handle.key, DT, steps, False)
    return (time.thread_time() - start) / steps


def size_rows(quick: bool) -> list[Row]:
    """Steps of chains of all sizes by one thread and by two, in CPU time: other load on the machine counts less."""
    sizes = SIZES[:-1] if quick else SIZES
    rows, alone = [], {}
    for n in sizes:
        system, steps = chain(n), max(6, 2_000_000 // n)
        one_thread(system, 2)
        rounds = [(one_thread(system, steps), busiest_thread(system, steps) if n >= 100_000 else 0.0) for _ in range(8)]
        seconds, busiest = (min(column) for column in zip(*rounds, strict=True))
        alone[n] = seconds / n
        rows.append(per_particle(time_row("explicit step", f"{n} particles", seconds, "none", None), n, seconds))
        if busiest:
            row = time_row("explicit step, two threads", f"{n} particles", busiest, "one thread", seconds)
            rows.append(per_particle(row, n, busiest, seconds))
            walls = best_times({k: explicit_runner(system, DT, k) for k in (1, 2)}, steps)
            row = time_row("the same, elapsed time", f"{n} particles", walls[2], "one thread", walls[1])
            rows.append(per_particle(row, n, walls[2], walls[1]))
    flat = max(alone.values()) / min(alone.values())
    note = (
        f"time per particle from {sizes[0]} to {sizes[-1]} particles: {1e9 * min(alone.values()):.1f} to {1e9 * max(alone.values()):.1f} ns"
    )
    growth = time_row("growth of the time per particle", f"{sizes[0]} to {sizes[-1]}", None, "none", None, growth=flat)
    return [*rows, {**growth, "note": f"{note}, a factor of {flat:.2f} (at most {MAX_FLAT:g} wanted)"}]


# --- MuJoCo -------------------------------------------------------------------------------------------


def mujoco_capsules(n: int) -> str:
    """n free capsules, connected end to end."""
    body = ('<body name="b{i}" pos="{x} 0 0"><freejoint/><geom type="capsule" fromto="-.05 0 0 .05 0 0" size=".01" mass="{m}" '
            'contype="0" conaffinity="0"/></body>')  # fmt: skip
    bodies = "".join(body.format(i=i, x=LENGTH * (i + 0.5), m=MASS) for i in range(n))
    pairs = "".join(f'<connect body1="b{i}" body2="b{i + 1}" anchor=".05 0 0"/>' for i in range(n - 1))
    return f'<mujoco>{_OPTION}<worldbody>{bodies}</worldbody><equality><connect body1="b0" anchor="-.05 0 0"/>{pairs}</equality></mujoco>'


def mujoco_flex(n: int) -> str:
    """One-dimensional flex of n + 1 vertices, of which the first is pinned."""
    return (
        f'<mujoco>{_OPTION}<worldbody><flexcomp name="f" type="grid" dim="1" count="{n + 1} 1 1" spacing="{LENGTH} 1 1" radius=".01" '
        f'mass="{MASS * n}"><contact selfcollide="none" contype="0" conaffinity="0"/><edge stiffness="1e4" damping=".1"/><pin id="0"/>'
        "</flexcomp></worldbody></mujoco>"
    )


def mujoco_balls(n: int) -> str:
    """Serial chain of n capsules with ball joints."""
    text = "<mujoco>" + _OPTION + "<worldbody>"
    for i in range(n):
        text += (f'<body pos="{LENGTH if i else 0} 0 0"><joint type="ball"/><geom type="capsule" fromto="0 0 0 .1 0 0" size=".01" '
                 f'mass="{MASS}" contype="0" conaffinity="0"/>')  # fmt: skip
    return text + n * "</body>" + "</worldbody></mujoco>"


_OPTION = '<option timestep="1e-4"/><size memory="2G"/>'
MUJOCO = {
    "MuJoCo: capsules with connect": mujoco_capsules,
    "MuJoCo: flex": mujoco_flex,
    "MuJoCo: ball joints": mujoco_balls,
}


def mujoco_runner(text: str) -> Callable[[int], float]:
    """Time of n steps from the initial state [s]."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)

    def run(n: int) -> float:
        mujoco.mj_resetData(model, data)
        start = time.perf_counter()
        for _ in range(n):
            mujoco.mj_step(model, data)
        return time.perf_counter() - start

    return run


def mujoco_rows(quick: bool) -> list[Row]:
    """One step against MuJoCo."""
    rows = []
    for n in (100,) if quick else (100, 1000):
        runners = {"explicit": explicit_runner(chain(n + 1), DT), "implicit": implicit_runner(chain(n + 1), DT)}
        peers = {}
        for name, text in MUJOCO.items():
            try:
                peers[name] = mujoco_runner(text(n))
            except (ValueError, mujoco.FatalError) as problem:
                print(f"{name}, {n} links, omitted: {str(problem)[:120]}", file=sys.stderr)
        for name, runner in peers.items():
            times = best_times({**runners, "peer": runner})
            for own in runners:
                row = time_row(f"{own} step", f"{n} links", times[own], name, times["peer"])
                rows.append(per_particle(row, n, times[own], times["peer"]))
    return rows


# --- Newton -------------------------------------------------------------------------------------------


class Newton:
    """Chain of particles in Newton: a process of its own."""

    def __init__(self, python: Path, solver: str, count: int) -> None:
        command = [str(python), str(Path(__file__).with_name("particles_peers.py")), solver, str(count)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:  # type: ignore[union-attr]
            if line.strip() == "ready":
                return
        raise native.MissingDependency("Newton: its process ended")

    def run(self, n: int) -> float:
        """Time of n steps [s]."""
        self.process.stdin.write(f"{n}\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]
        return float(self.process.stdout.readline())  # type: ignore[union-attr]


def newton_rows(quick: bool) -> list[Row]:
    """One step against Newton."""
    rows: list[Row] = []
    for solver, words in (("xpbd", "Newton: XPBD"), ("semi-implicit", "Newton: semi-implicit")):
        for n in (1000,) if quick else (1000, 10_000):
            try:
                peer = Newton(native.peer_python("newton", PACKAGES, 900), solver, n)
            except (native.MissingDependency, OSError, subprocess.SubprocessError) as problem:
                print(f"{words} omitted: {problem}", file=sys.stderr)
                continue
            runners = {"explicit": explicit_runner(chain(n), DT), "implicit": implicit_runner(chain(n), DT)}
            times = best_times({**runners, "peer": peer.run})
            peer.process.kill()
            for own in runners:
                row = time_row(f"{own} step", f"{n} particles", times[own], words, times["peer"])
                rows.append(per_particle(row, n, times[own], times["peer"]))
    return rows


# --- rigid links --------------------------------------------------------------------------------------


def rigid_rows(quick: bool) -> list[Row]:
    """One simulated second of a chain that swings down, against rigid links with ball joints."""
    rows: list[Row] = []
    for n in (10, 100) if quick else (10, 30, 100, 300, 1000, 3000):
        stiffness = n * MASS * 9.81 / (STRAIN * LENGTH)
        particles = chain(n + 1, stiffness, 0.0)
        dt = 0.5 * br.particles.largest_stable_step(particles).seconds
        start = particles.positions, particles.velocities

        def reset(particles: ParticleSystem = particles, start: tuple = start) -> None:
            particles.positions, particles.velocities = start

        world = br.World()
        world.add(figures.chain(n, LENGTH * n, MASS * n, "ball"), "chain")
        simulation = br.Simulation(world, dt=1e-3, integrator="euler")

        def rigid(steps: int, simulation: br.Simulation = simulation) -> float:
            began = time.perf_counter()
            simulation.run(1e-3 * steps, progress=False)
            return time.perf_counter() - began

        steps = max(2, 20_000 // n)
        times = best_times({
            "explicit": with_reset(explicit_runner(particles, dt), reset),
            "implicit": with_reset(implicit_runner(particles, 1e-3), reset),
            "rigid": rigid,
        }, steps)  # fmt: skip
        per_second = {"explicit": times["explicit"] / dt, "implicit": times["implicit"] / 1e-3, "rigid": times["rigid"] / 1e-3}
        rows += [
            time_row(f"simulated second, {own}", f"{n} links", per_second[own], "rigid links", per_second["rigid"], dt=dt)
            for own in ("explicit", "implicit")
        ]
    crossing = [row["model"] for row in rows if "explicit" in row["task"] and row["ratio"] and row["ratio"] < 1.0]
    note = (
        f"rigid links are faster than explicit particles from {crossing[0]} on"
        if crossing
        else "explicit particles are faster at all sizes"
    )
    rows.append({**time_row("crossover", "chain", None, "rigid links", None), "note": note})
    return rows


def rows(quick: bool) -> list[Row]:
    """All rows."""
    found = size_rows(quick)
    peers = newton_rows(quick)
    pin_to_one_core()
    return [*found, *mujoco_rows(quick), *peers, *rigid_rows(quick)]
