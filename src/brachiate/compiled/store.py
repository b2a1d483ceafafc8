"""Machine code on disk: the user's cache, and code that is shipped with the package.

A file holds the object code of one entry point, a header that says what it was made from and for (sources, mode, versions, processor),
and a checksum. A file that is damaged, or was made from or for something else, is never loaded.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import llvmlite.binding as ll

from brachiate.compiled.load_time import LOAD_TIME
from brachiate.compiled.marks import Signature
from brachiate.compiled.mode import MODE, MODES
from brachiate.errors import SettingError

MAGIC = b"brachiate machine code 1\n"
SUFFIX = ".code"
PACKAGE = Path(__file__).parent.parent
#: Machine code of a wheel that carries it: one folder for each level of the processor.
SHIPPED = PACKAGE / "_machine_code"
LEVELS = ("x86-64-v4", "x86-64-v3")
# Features of a level that code may use; the psABI of x86-64 lists them.
V3 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
FEATURES = {"x86-64-v3": V3, "x86-64-v4": (*V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")}

# Folders and files without compiled code that no compiled code uses: editing them needs no recompilation.
WITHOUT_KERNELS = (
    "anatomy", "cli", "clip", "evaluation", "figures", "foot_locking", "io", "motion", "procedural", "retargeting", "scenes", "world",
    "__init__.py", "__main__.py", "assumptions.py", "freed_memory.py", "growing_array.py", "kinematics_batch.py", "progress.py",
    "rotations.py",
    "compiled/__init__.py", "compiled/jobs.py", "compiled/load_time.py", "compiled/parallel.py", "compiled/ship.py", "compiled/store.py",
    "compiled/uncompiled.py", "compiled/worker.py", "simulate/contact_file.py", "simulate/contact_integrator.py",
    "simulate/contact_quantities.py", "simulate/events.py", "simulate/initial_overlap.py", "simulate/recorded_states.py",
    "simulate/recording.py", "simulate/simulation.py", "simulate/stable_step.py", "rollout/__init__.py", "rollout/controls.py",
    "rollout/simulate_many.py", "rollout/states.py", "rollout/worker.py",
    *(f"contact_estimation/{name}.py" for name in (
        "__init__", "contact_confidence", "contact_costs", "floor", "foot_modes", "given_contacts", "ground_contacts", "infer_contacts",
        "mode_costs", "motion_dynamics", "other_supports", "parts", "pivot", "point_columns", "raised_footholds", "support_candidates",
        "time_scale",
    )),
    *(f"filter/reference/{name}.py" for name in (
        "__init__", "assemble", "diagnostics", "first_frames", "fixed_contacts", "frames_on_demand", "limb_contacts", "payloads",
        "posture_ik", "preprocess", "reference", "resampling", "seat_contacts", "self_collision", "source_contacts", "stair_footholds",
    )),
    "filter/offline.py", "filter/offline_tracker.py", "filter/recovery/__init__.py", "filter/recovery/budget.py",
    "filter/recovery/found_contacts.py", "filter/recovery/recover.py", "filter/recovery/retiming.py",
    "filter/recovery/sampled_recovery.py", "filter/recovery/segments.py", "filter/recovery/tracked_run.py",
    "filter/recovery/window_simulations.py", "filter/results/__init__.py", "filter/results/attempts.py",
    "filter/results/contact_forces.py", "filter/results/deviations.py", "filter/results/equations_of_motion.py",
    "filter/results/html_report.py", "filter/results/plots.py", "filter/results/pose_strips.py", "filter/results/replay.py",
    "filter/results/result.py", "filter/results/tables.py", "filter/results/task_results.py", "filter/schedule/inferred_surfaces.py",
    "filter/tracking/capture_steps.py", "filter/tracking/centroidal_mpc.py", "filter/tracking/checkpoints.py",
    "filter/tracking/simulation_world.py", "filter/tracking/tracker.py", "filter/tracking/whole_body_controller.py", "show/__init__.py",
    "show/html.py", "show/page.py", "show/panel_page.py", "show/plots.py", "show/svg.py",
    "filter/tasks/__init__.py", "filter/tasks/figure_names.py", "filter/tasks/function_tasks.py",
    "filter/tasks/targets.py", "filter/tasks/task.py",
    "filter/sampling/__init__.py", "filter/sampling/cost.py", "filter/sampling/motor_gains.py", "filter/sampling/run_sampling.py",
    "filter/sampling/search.py", "filter/sampling/window_targets.py",
    "animation/__init__.py", "animation/closed_form.py", "animation/compiled_control.py", "animation/direct.py",
    "animation/integration.py", "animation/plan.py", "animation/resolve.py", "animation/space.py",
    "functions/__init__.py", "functions/expressions.py", "functions/function_set.py", "functions/motion_functions.py",
    "functions/program.py", "functions/tracing.py",
    "particles/__init__.py", "particles/columns.py", "particles/energy.py", "particles/floors.py", "particles/implicit.py",
    "particles/makers.py", "particles/picture.py",
    "particles/planes.py", "particles/recording.py", "particles/simulate.py", "particles/stable_step.py", "particles/stepper.py",
    "particles/system.py", "particles/walker.py", "particles/walking_plan.py",
)  # fmt: skip
# Folders whose compiled code only later ones of this list use: editing one recompiles only it and those.
ON_TOP = ("contact_estimation", "centroidal", "rollout", "filter", "show", "functions", "animation", "particles")


class MachineCode(NamedTuple):
    """Object code of one entry point."""

    data: bytes
    symbol: str  # of the function, called by address
    wrapper: str  # of the function called from Python


class Processor(NamedTuple):
    """Processor that code is made for: LLVM's name, and features besides those of the name."""

    name: str
    features: str


class CodeName(NamedTuple):
    """What identifies the code of an entry point among those of one version: module and name, and the types of its arguments."""

    name: str
    signature: Signature

    @property
    def file(self) -> str:
        """Name of its file."""
        return f"{self.name}-{hashlib.sha256(repr(self.signature).encode()).hexdigest()[:8]}{SUFFIX}"

    @property
    def part(self) -> str:
        """Folder of the package that it belongs to, if its code has a version of its own."""
        package, _, place = self.name.partition(".")
        folder = place.partition(".")[0]
        return (folder if folder in ON_TOP else "") if package == PACKAGE.name else ON_TOP[-1]


# --- what code is made from and for -----------------------------------------------------------------


@functools.cache
def source_hash(part: str = "") -> str:
    """Hash of all source files that compiled code of a folder may come from: an edited callee in another file counts, too."""
    unused = WITHOUT_KERNELS + ON_TOP[ON_TOP.index(part) + 1 if part in ON_TOP else 0 :]
    digest = hashlib.sha256()
    for place, content in _sources().items():
        if place.partition("/")[0] not in unused and place not in unused:
            digest.update(place.encode())
            digest.update(content)
    return digest.hexdigest()[:16]


@functools.cache
def _sources() -> dict[str, bytes]:
    """Source files with compiled code of the package, by their path in it."""
    paths = sorted(path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in WITHOUT_KERNELS)
    return {path.relative_to(PACKAGE).as_posix(): path.read_bytes() for path in paths}


def sources_were_edited() -> bool:
    """Whether a source with compiled code has changed since this process loaded the package: it may compile what the file no longer has."""
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE)
        if place.parts[0] not in WITHOUT_KERNELS and place.as_posix() not in WITHOUT_KERNELS:
            with contextlib.suppress(FileNotFoundError):
                state = path.stat()
                # A file that is replaced by an older one has a new change time; Windows has none.
                if (state.st_mtime if os.name == "nt" else state.st_ctime) > LOAD_TIME:
                    return True
    return False


@functools.cache
def processor() -> Processor:
    """Processor that code is compiled for: this one, or a level of x86-64 (``BRACHIATE_CPU``)."""
    level = os.environ.get("BRACHIATE_CPU", "host")
    if level != "host" and level not in supported_levels():
        raise SettingError(f"BRACHIATE_CPU={level!r} is not one of: {', '.join(('host', *supported_levels()))}.")
    return Processor(ll.get_host_cpu_name(), ll.get_host_cpu_features().flatten()) if level == "host" else Processor(level, "")


@functools.cache
def supported_levels() -> tuple[str, ...]:
    """Levels of x86-64 that this processor has, the highest first."""
    if not ll.get_process_triple().startswith("x86_64"):
        return ()
    features = ll.get_host_cpu_features()
    return tuple(level for level in LEVELS if all(features.get(name) for name in FEATURES[level]))


@functools.cache
def fingerprint(part: str = "", target: Processor | None = None) -> dict[str, str]:
    """What the code of a folder is made from and for. The path of the package is not part of it."""
    return {
        "sources": source_hash(part),
        "mode": MODE,
        "numba": version("numba"),
        "llvmlite": version("llvmlite"),
        "python": f"{sys.implementation.name}-{sys.version_info[0]}.{sys.version_info[1]}{getattr(sys, 'abiflags', '')}",
        "platform": ll.get_process_triple(),
        "processor": " ".join(target or processor()).strip(),
    }


# --- folders ----------------------------------------------------------------------------------------


def cache_root() -> Path:
    """Folder of all caches of compiled code."""
    base = os.environ.get("BRACHIATE_CACHE")
    return Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "brachiate"


@functools.cache
def cache_folder(part: str = "") -> Path:
    """Cache of the code of a folder: one for each version of the sources, of what compiles them, and of the processor."""
    digest = hashlib.sha256(json.dumps(fingerprint(part), sort_keys=True).encode()).hexdigest()[:16]
    return _writable_root() / f"{digest}-{MODE}"


@functools.cache
def _writable_root() -> Path:
    """The cache's root; a folder for this process alone where that is not writable."""
    root = cache_root()
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            return root
    except OSError as error:
        say(f"{root} is not writable ({error.strerror}), so compiled code is kept for this run only. BRACHIATE_CACHE names another folder.")
        folder = tempfile.TemporaryDirectory(prefix="brachiate-")
        _TEMPORARY.append(folder)
        return Path(folder.name)


_TEMPORARY: list[tempfile.TemporaryDirectory[str]] = []  # removed at the end of the process


def prune_cache(keep_days: float = 30.0) -> int:
    """Remove caches of other versions that were not used for ``keep_days``. Returns how many."""
    current = {cache_folder(part) for part in ("", *ON_TOP)}
    removed = 0
    if not cache_root().is_dir():
        return 0
    for folder in cache_root().iterdir():
        is_cache = folder.is_dir() and folder.name.endswith(tuple(f"-{mode}" for mode in MODES))
        if is_cache and folder not in current and time.time() - folder.stat().st_mtime > keep_days * 86400:
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed


def cache_file(name: CodeName) -> Path:
    """File of the code in the user's cache."""
    return cache_folder(name.part) / name.file


def shipped_files(name: CodeName) -> dict[Path, Processor]:
    """Files of the code in the package that this processor can run, and what they were made for; the best one first."""
    if not name.name.startswith(f"{PACKAGE.name}."):
        return {}
    return {SHIPPED / level / name.file: Processor(level, "") for level in supported_levels()}


# --- files ------------------------------------------------------------------------------------------


def find(name: CodeName, source: str = "") -> MachineCode | None:
    """Code of an entry point that was compiled before; ``source``: hash of its own file, if that is not part of the package."""
    for path, target in {cache_file(name): processor(), **shipped_files(name)}.items():
        try:
            return decode(path.read_bytes(), header(name, source, target))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            say(f"{path} cannot be used ({error}); it is compiled again.")
    return None


def exists(name: CodeName, shipped: bool = True) -> bool:
    """Whether there is a file with the code of an entry point, not whether it is sound; ``shipped``: in the cache or the package."""
    return cache_file(name).is_file() or (shipped and any(path.is_file() for path in shipped_files(name)))


def write(name: CodeName, code: MachineCode, source: str = "") -> None:
    """Write a file, whole or not at all; not if the sources were edited since they were loaded, as it is found by their hash."""
    if sources_were_edited():
        say("sources were edited while this program ran; what it compiles is not kept.")
        return
    path = cache_file(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        try:
            file.write(encode(code, header(name, source)))
            file.close()
            os.replace(file.name, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(file.name)
            raise


def header(name: CodeName, source: str = "", target: Processor | None = None) -> dict[str, object]:
    """First line of a file: what its code is, and what it was made from and for."""
    return {"name": name.name, "signature": list(name.signature), "source": source, **fingerprint(name.part, target or processor())}


def encode(code: MachineCode, head: dict[str, object]) -> bytes:
    """Contents of a file: kind of file, header, object code, checksum."""
    line = json.dumps({**head, "symbol": code.symbol, "wrapper": code.wrapper, "size": len(code.data)}, sort_keys=True).encode()
    body = MAGIC + line + b"\n" + code.data
    return body + hashlib.sha256(body).digest()


def decode(content: bytes, expected: dict[str, object]) -> MachineCode:
    """Code of a file; a ValueError if it is damaged, or made from or for something else."""
    body, checksum = content[:-32], content[-32:]
    if not body.startswith(MAGIC) or hashlib.sha256(body).digest() != checksum:
        raise ValueError("it is damaged")
    line, _, data = body[len(MAGIC) :].partition(b"\n")
    head = json.loads(line)
    different = [key for key, value in expected.items() if head.get(key) != value]
    if different:
        raise ValueError(f"it was made for another {', '.join(different)}")
    return MachineCode(data, head["symbol"], head["wrapper"])


@contextlib.contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Let one process at a time compile into a folder; others wait, then find what it has compiled."""
    try:
        import fcntl  # noqa: PLC0415

        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / ".lock", "w")  # noqa: SIM115
    except (ImportError, OSError):  # Windows, or no space: programs that start at once compile twice
        yield
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("waiting for another program that is compiling the same ...")
            with contextlib.suppress(OSError):  # file systems without locks
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


_SAID: set[str] = set()


def say(message: str) -> None:
    """Write a line to the terminal, once."""
    if message not in _SAID and os.environ.get("BRACHIATE_QUIET") != "1":
        _SAID.add(message)
        print(f"brachiate: {message}", file=sys.stderr, flush=True)
