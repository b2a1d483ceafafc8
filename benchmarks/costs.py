"""What running us costs besides time in kernels: memory, compilation, start. Each measured in a process of its own."""

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
from rows import Row, memory_row, row

# Peak of this program alone [kB]. Not ru_maxrss on Linux: there it starts at the size of the process that started this one.
PEAK = """
import os, resource
if os.path.exists("/proc/self/status"):
    print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""

# The main job of `make demo`, and a free step: each with what it compiles.
DEMO = """
import brachiate as br
br.filter_motion(br.sample_motion("walk"))
"""
COLD_STEP = """
import numpy as np
from brachiate import figures
from brachiate.model.data import Data
from brachiate.simulate.integrators import Integrator
data = Data(figures.human28())
data.v[:] = np.linspace(-1, 1, data.model.nv)
Integrator(data, "euler").advance(1e-3)
"""
FIRST_STEP = """
from brachiate import figures
from brachiate.model.data import Data
from brachiate.simulate.integrators import Integrator
data = Data(figures.human28())
Integrator(data, "euler").advance(1e-3)
"""
MUJOCO = """
import sys, mujoco
model = mujoco.MjModel.from_xml_path(sys.argv[1])
data = mujoco.MjData(model)
mujoco.mj_step(model, data)
"""
PINOCCHIO = """
import sys, pinocchio as pin, numpy as np
model = pin.Model()
model.loadFromText(sys.argv[1])
data = model.createData()
q, v = pin.neutral(model), np.zeros(model.nv)
v = v + 1e-3 * pin.aba(model, data, q, v, v)
q = pin.integrate(model, q, 1e-3 * v)
"""
COLD_TARGET, DEMO_TARGET, WARM_TARGET = 30.0, 240.0, 1.5  # [s]
STARTS = 5


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return _rows(Path(folder))


def _rows(folder: Path) -> list[Row]:
    cache = {"BRACHIATE_CACHE": str(folder / "cache"), "BRACHIATE_QUIET": "1"}
    result = []
    for what, script, target in (("first step", COLD_STEP, COLD_TARGET), ("filter a walk, as the demo does", DEMO, DEMO_TARGET)):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        cold, _ = _run(script, {**cache, "BRACHIATE_CACHE": str(folder / f"cold-{len(result)}")})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        result.append(row(f"cold: import, compile, {what}", "human28", cold, "target", target, ours_cpu_s=cpu))
    _run(FIRST_STEP, cache)
    warm, memory = _best(FIRST_STEP, cache)
    result.append(row("warm: import, build, first step", "human28", warm, "target", WARM_TARGET))
    peers = [("MuJoCo", MUJOCO, _mujoco_file), ("Pinocchio", PINOCCHIO, _pinocchio_file)]
    memories = []
    for peer, script, write in peers:
        try:
            theirs, their_memory = _best(script, {}, str(write(folder)))
        except (ImportError, subprocess.CalledProcessError) as problem:
            print(f"{peer} is left out of start and memory: {problem}", file=sys.stderr)
            continue
        result.append(row("warm: import, build, first step", "human28", warm, peer, theirs))
        memories.append(memory_row("peak memory of import, build, first step", "human28", memory, peer, their_memory))
    return result + memories


def _best(script: str, environment: dict[str, str], *arguments: str) -> tuple[float, float]:
    runs = [_run(script, environment, *arguments) for _ in range(STARTS)]
    return min(seconds for seconds, _ in runs), min(memory for _, memory in runs)


def _run(script: str, environment: dict[str, str], *arguments: str) -> tuple[float, float]:
    """Seconds of a whole process, and its peak memory [MB]."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script + PEAK, *arguments], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return time.perf_counter() - start, int(done.stdout.split()[-1]) / 1024


def _mujoco_file(folder: Path) -> Path:
    path = folder / "human28.xml"
    path.write_text(convert.mjcf(figures.human28()))
    return path


def _pinocchio_file(folder: Path) -> Path:
    path = folder / "human28.txt"
    convert.to_pinocchio(figures.human28()).saveToText(str(path))
    return path
