"""Time from nothing to a result: fresh clone, wheel in a fresh venv, warm start, command line; each in a process of its own.

Everything runs with an empty cache of compiled code unless it says warm. Packages come from pip's index or its cache.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import convert
from brachiate import figures
from brachiate.compiled import parallel
from brachiate.compiled.jobs import code_names
from results import Row, memory_row, time_row

ROOT = Path(__file__).parent.parent
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
# Times in seconds, memory in megabytes.
CLONE_TARGET, WHEEL_TARGET, WARM_DEMO_TARGET, WARM_STEP_TARGET, HELP_TARGET, MEMORY_TARGET = 120.0, 15.0, 4.0, 0.8, 0.3, 140.0
ESTIMATED_CORES = 4
OWN_PACKAGES = {"PYTHONPATH": ""}  # of a virtual environment, not of this process
REPETITIONS = 5  # of warm starts; the fastest counts


def rows(quick: bool) -> list[Row]:
    """All rows; ``quick``: only warm starts, with the caches there are."""
    with tempfile.TemporaryDirectory() as folder:
        cold = [] if quick else [*_clone_rows(Path(folder)), *_wheel_rows(Path(folder))]
        return [*cold, *_command_rows(Path(folder)), *_first_step_rows(Path(folder))]


def row(name: str, seconds: float, target: float) -> Row:
    """Time against a target."""
    return time_row(name, "", seconds, "target", target, name=name, ours_s=seconds, target_s=target)


def _clone_rows(folder: Path) -> list[Row]:
    """``make demo`` in a fresh clone: virtual environment, packages, compilation, result; and an estimate for more cores."""
    clone, cores = folder / "clone", os.cpu_count() or 1
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    began = time.perf_counter()
    done = _run_command(["make", "demo"], folder / "clone-cache", clone, BRACHIATE_QUIET="0", **OWN_PACKAGES)
    seconds = time.perf_counter() - began
    found = re.search(r"functions in (\d+) s", done.stderr)
    if found is None:
        raise RuntimeError(f"make demo did not say how long the compilation took: {done.stderr[-2000:]}")
    compilation = float(found[1])
    names = list(code_names(["filter"]))
    faster = parallel.estimated_time(names, ESTIMATED_CORES) / parallel.estimated_time(names, cores)
    estimate = seconds - (1.0 - faster) * compilation
    return [
        row(f"make demo in a fresh clone, {cores} cores", seconds, CLONE_TARGET),
        row(f"of which compilation, {cores} processes", compilation, CLONE_TARGET),
        row(f"make demo in a fresh clone, estimate for {ESTIMATED_CORES} cores", estimate, CLONE_TARGET),
    ]


def _wheel_rows(folder: Path) -> list[Row]:
    """A wheel with machine code, built before, installed by pip and by uv: virtual environment, packages, ``brachiate demo``."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    subprocess.run(["make", "wheel"], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = (ROOT / "dist").glob("*-cp*.whl")
    uv = _install_uv(folder)
    with_pip = [[sys.executable, "-m", "venv", "VENV"], ["VENV/bin/pip", "install", "--quiet", str(wheel)]]
    with_uv = [
        [uv, "venv", "--quiet", "--python", sys.executable, "VENV"],
        [uv, "pip", "install", "--quiet", "--python", "VENV/bin/python", str(wheel)],
    ]
    return [*_installer_rows("pip", with_pip, folder), *_installer_rows("uv", with_uv, folder)]


def _install_uv(folder: Path) -> str:
    """The command uv, in an environment of its own; it is there before the clock starts, as pip is."""
    venv = folder / "uv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True, capture_output=True)
    subprocess.run([f"{venv}/bin/pip", "install", "--quiet", "uv"], check=True, capture_output=True)
    return f"{venv}/bin/uv"


def _installer_rows(installer: str, install: list[list[str]], folder: Path) -> list[Row]:
    """From nothing to the result with an installer. uv starts with an empty cache of packages, pip with the user's."""
    venv, cache = str(folder / f"venv-{installer}"), folder / f"code-{installer}"
    commands = [[word.replace("VENV", venv) for word in command] for command in install]
    commands.append([f"{venv}/bin/brachiate", "demo", "--out", str(folder / f"out-{installer}")])
    variables = {**OWN_PACKAGES, "UV_CACHE_DIR": str(folder / "uv-cache")}
    parts = [_timed(command, cache, folder, **variables) for command in commands]
    if compiled := list(cache.rglob("*.code")):
        raise RuntimeError(f"the wheel lacks code: {compiled}")
    names = ("virtual environment", "packages", "brachiate demo, first run")
    return [
        row(f"wheel in a fresh venv to the result of brachiate demo, by {installer}", sum(parts), WHEEL_TARGET),
        *(row(f"of which {name}, {installer}", seconds, WHEEL_TARGET) for name, seconds in zip(names, parts, strict=True)),
    ]


def _command_rows(folder: Path) -> list[Row]:
    command, cache = [sys.executable, "-m", "brachiate"], _warm_cache(folder)
    demo = [*command, "demo", "--out", str(folder / "demo")]
    _timed(demo, cache, folder)  # compiles what is missing
    return [
        row("warm brachiate demo", min(_timed(demo, cache, folder) for _ in range(REPETITIONS)), WARM_DEMO_TARGET),
        row("brachiate --help", min(_timed([*command, "--help"], cache, folder) for _ in range(REPETITIONS)), HELP_TARGET),
    ]


def _first_step_rows(folder: Path) -> list[Row]:
    """Elapsed time and peak memory of import, model and first step with compiled code in the cache, against peers."""
    task, environment = "warm start: import, build, first step", _environment(_warm_cache(folder))
    _run(FIRST_STEP, environment)  # fills the cache
    own_seconds, own_memory = _best(FIRST_STEP, environment)
    times = [row(task, own_seconds, WARM_STEP_TARGET)]
    memories = [memory_row("peak memory: import, build, first step", "human28", own_memory, "target", MEMORY_TARGET)]
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


def _warm_cache(folder: Path) -> Path:
    """The user's cache: what is missing is compiled by the first run."""
    return Path(os.environ.get("BRACHIATE_CACHE") or folder / "warm-cache")


def _timed(command: list[str], cache: Path, folder: Path, **variables: str) -> float:
    """Elapsed time of a command [s]."""
    start = time.perf_counter()
    _run_command(command, cache, folder, **variables)
    return time.perf_counter() - start


def _run_command(command: list[str], cache: Path, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **_environment(cache), **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return done


def _environment(cache: Path) -> dict[str, str]:
    """Variables as users have them: an empty PYTHONDONTWRITEBYTECODE lets Python keep bytecode."""
    return {"BRACHIATE_CACHE": str(cache), "BRACHIATE_QUIET": "1", "PYTHONDONTWRITEBYTECODE": ""}


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
