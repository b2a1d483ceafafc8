"""Start-up cost of human28: compile time with an empty cache, time to the first step, and peak memory, each in a process of its own."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import convert
from brachiate import figures
from results import Row, memory_row, time_row

# Prints the peak memory of this program [kB]. Not by ru_maxrss on Linux, which starts at the size of the parent process.
PRINT_PEAK_MEMORY = """
import os, resource
if os.path.exists("/proc/self/status"):
    print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""

FIRST_STEP = """
import numpy as np
from brachiate import figures
from brachiate.model.data import Data
from brachiate.simulate.integrators import Integrator
data = Data(figures.human28())
data.v[:] = np.linspace(-1, 1, data.model.nv)
Integrator(data, "euler").advance(1e-3)
"""
DEMO = """
import sys
from brachiate.cli import app
app(["demo", "--out", sys.argv[1]], standalone_mode=False)
"""
MUJOCO_FIRST_STEP = """
import sys, mujoco
model = mujoco.MjModel.from_xml_path(sys.argv[1])
data = mujoco.MjData(model)
mujoco.mj_step(model, data)
"""
PINOCCHIO_FIRST_STEP = """
import sys, pinocchio as pin, numpy as np
model = pin.Model()
model.loadFromText(sys.argv[1])
data = model.createData()
q, v = pin.neutral(model), np.zeros(model.nv)
v = v + 1e-3 * pin.aba(model, data, q, v, v)
q = pin.integrate(model, q, 1e-3 * v)
"""
COLD_STEP_TARGET, COLD_DEMO_TARGET, WARM_STEP_TARGET = 30.0, 240.0, 1.5  # [s]
REPETITIONS = 5  # of warm starts; the fastest counts


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return [*_cold_rows(Path(folder)), *_warm_rows(Path(folder))]


def _cold_rows(folder: Path) -> list[Row]:
    """Elapsed and CPU time with an empty cache of compiled code: of a first step, and of the command ``brachiate demo``."""
    result = []
    for task, model, script, target in (
        ("cold start: import, compile, first step", "human28", FIRST_STEP, COLD_STEP_TARGET),
        ("cold start: brachiate demo", "sample walk", DEMO, COLD_DEMO_TARGET),
    ):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds, _ = _run(script, _environment(folder / f"empty-cache-{len(result)}"), str(folder / "demo-output"))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        result.append(time_row(task, model, seconds, "target", target, brachiate_cpu_s=cpu))
    return result


def _warm_rows(folder: Path) -> list[Row]:
    """Elapsed time and peak memory of import, model and first step with compiled code in the cache, against peers."""
    task, environment = "warm start: import, build, first step", _environment(folder / "cache")
    _run(FIRST_STEP, environment)  # fills the cache
    own_seconds, own_memory = _best(FIRST_STEP, environment)
    times, memories = [time_row(task, "human28", own_seconds, "target", WARM_STEP_TARGET)], []
    peers = [("MuJoCo", MUJOCO_FIRST_STEP, _mujoco_file), ("Pinocchio", PINOCCHIO_FIRST_STEP, _pinocchio_file)]
    for peer, script, write in peers:
        try:
            seconds, memory = _best(script, {}, str(write(folder)))
        except (ImportError, subprocess.CalledProcessError) as problem:
            print(f"{peer} omitted from start-up and memory: {problem}", file=sys.stderr)
            continue
        times.append(time_row(task, "human28", own_seconds, peer, seconds))
        memories.append(memory_row("peak memory: import, build, first step", "human28", own_memory, peer, memory))
    return times + memories


def _environment(cache: Path) -> dict[str, str]:
    return {"BRACHIATE_CACHE": str(cache), "BRACHIATE_QUIET": "1"}


def _best(script: str, environment: dict[str, str], *arguments: str) -> tuple[float, float]:
    runs = [_run(script, environment, *arguments) for _ in range(REPETITIONS)]
    return min(seconds for seconds, _ in runs), min(memory for _, memory in runs)


def _run(script: str, environment: dict[str, str], *arguments: str) -> tuple[float, float]:
    """Elapsed time of a process [s], and its peak memory [MB]."""
    command = [sys.executable, "-c", script + PRINT_PEAK_MEMORY, *arguments]
    start = time.perf_counter()
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return time.perf_counter() - start, int(done.stdout.split()[-1]) / 1024


def _mujoco_file(folder: Path) -> Path:
    path = folder / "human28.xml"
    path.write_text(convert.mjcf(figures.human28()))
    return path


def _pinocchio_file(folder: Path) -> Path:
    path = folder / "human28.txt"
    convert.to_pinocchio(figures.human28()).saveToText(str(path))
    return path
