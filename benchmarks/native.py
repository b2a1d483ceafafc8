"""Native timing loops: builds the C++ sources in ``native/`` against the headers and libraries of MuJoCo's and Pinocchio's wheels.

The shared libraries, and the headers of Eigen, which Pinocchio's wheel does not contain, are kept in ``benchmarks/.env``.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from rich.console import Console

HERE = Path(__file__).parent
ENV = HERE / ".env"
EIGEN = "cmeel-eigen==3.4.1"
COMMON_FLAGS = ("-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden")
PINOCCHIO_FLAGS = (
    # Pinocchio's Python bindings are loaded in the same process, built with other flags: share no symbols with them.
    "-fvisibility-inlines-hidden", "-fno-gnu-unique", "-Wl,-Bsymbolic",
    # As in Pinocchio's CMake target.
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)  # fmt: skip
BUILD_TIMEOUT = 900  # [s]


class MissingDependency(Exception):
    """A compiler, header, library or environment that a peer needs is not available."""


def load(peers: tuple[str, ...] = ("pinocchio", "mujoco")) -> tuple[dict[str, ctypes.CDLL], list[str]]:
    """Shared libraries of all peers that could be built, and notes on those that could not."""
    builds, notes, libraries = {}, [], {}
    for peer in peers:
        try:
            builds[peer] = _start_build(peer)
        except (MissingDependency, OSError, subprocess.SubprocessError, metadata.PackageNotFoundError) as problem:
            notes.append(f"{peer}: called from Python, no C++ loop ({problem})")
    for peer, (target, process) in builds.items():
        try:
            _finish_build(peer, target, process)
            libraries[peer] = _declare_signatures(peer, ctypes.CDLL(str(target)))
        except (MissingDependency, OSError) as problem:
            notes.append(f"{peer}: called from Python, no C++ loop ({problem})")
    return libraries, notes


def _start_build(peer: str) -> tuple[Path, subprocess.Popen | None]:
    """Path of the shared library, and the compiler process if it is not up to date."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        raise MissingDependency("no C++ compiler on this machine")
    source = HERE / "native" / f"{peer}_timing.cpp"
    command = [compiler, *COMMON_FLAGS, *(_mujoco_flags() if peer == "mujoco" else _pinocchio_flags())]
    sources = [source.read_text(), *(header.read_text() for header in sorted(source.parent.glob("*.hpp")))]
    digest = hashlib.sha256("\n".join([*command, *sources, _machine_description()]).encode()).hexdigest()[:12]
    target = ENV / f"{peer}-{digest}.so"
    if target.exists():
        return target, None
    ENV.mkdir(exist_ok=True)
    print(f"building {source.name} (once) ...", file=sys.stderr, flush=True)
    libraries = _mujoco_libraries() if peer == "mujoco" else []
    command += [str(source), *libraries, "-o", str(target.with_suffix(".part"))]
    return target, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _finish_build(peer: str, target: Path, process: subprocess.Popen | None) -> None:
    if process is None:
        return
    _, errors = process.communicate(timeout=BUILD_TIMEOUT)
    if process.returncode:
        first = next((line for line in errors.splitlines() if "error" in line), errors[-200:])
        raise MissingDependency(f"compiling {peer}_timing.cpp failed: {first[:200]}")
    target.with_suffix(".part").rename(target)


def _pinocchio_flags() -> list[str]:
    headers = Path(str(metadata.distribution("libpinocchio").locate_file("cmeel.prefix"))) / "include"
    if not (headers / "pinocchio").is_dir() or not (headers / "boost").is_dir():
        raise MissingDependency(f"no headers of Pinocchio and Boost in {headers}")
    eigen = ENV / "eigen" / "cmeel.prefix" / "include" / "eigen3"
    if not eigen.is_dir():
        ENV.mkdir(exist_ok=True)
        options = ("-q", "--no-deps", "--target", str(ENV / "eigen"), EIGEN)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *options]
        if subprocess.run(pip, capture_output=True, check=False).returncode or not eigen.is_dir():
            raise MissingDependency(f"pip could not install {EIGEN}")
    return [*PINOCCHIO_FLAGS, f"-I{HERE / 'native' / 'header_overrides'}", "-isystem", str(headers), "-isystem", str(eigen)]


def _mujoco_flags() -> list[str]:
    return [f"-I{_mujoco_folder() / 'include'}"]


def _mujoco_libraries() -> list[str]:
    library = next(iter(sorted(_mujoco_folder().glob("libmujoco.so.*"))), None)
    if library is None:
        raise MissingDependency(f"no libmujoco.so in {_mujoco_folder()}")
    return [str(library), f"-Wl,-rpath,{_mujoco_folder()}"]


def _mujoco_folder() -> Path:
    spec = importlib.util.find_spec("mujoco")
    if spec is None or not spec.origin:
        raise MissingDependency("MuJoCo is not installed")
    return Path(spec.origin).parent


def _machine_description() -> str:
    """CPU flags and versions of the wheels: what a build with -march=native depends on."""
    cpu = Path("/proc/cpuinfo")
    flags = next((line for line in cpu.read_text().splitlines() if line.startswith("flags")), "") if cpu.exists() else ""
    return "\n".join([flags, *(f"{p} {metadata.version(p)}" for p in ("libpinocchio", "mujoco"))])


def _declare_signatures(peer: str, library: ctypes.CDLL) -> ctypes.CDLL:
    pointer, number, integer = ctypes.c_void_p, ctypes.c_double, ctypes.c_int
    if peer == "pinocchio":
        library.pinocchio_new.restype = pointer
        library.pinocchio_new.argtypes = [integer, *[pointer] * 9]
        library.pinocchio_delete.argtypes = [pointer]
        library.pinocchio_run.restype = number
        library.pinocchio_run.argtypes = [pointer, integer, integer, ctypes.c_long, pointer, pointer, pointer, number, pointer]
    elif peer == "pinocchio_constrained":
        library.pinocchio_constrained_new.restype = pointer
        library.pinocchio_constrained_new.argtypes = [
            integer, *[pointer] * 9, integer, pointer, pointer, number, number, number, number, integer, integer,
        ]  # fmt: skip
        library.pinocchio_constrained_delete.argtypes = [pointer]
        library.pinocchio_constrained_run.restype = number
        library.pinocchio_constrained_run.argtypes = [pointer, ctypes.c_long, pointer, pointer, number, pointer]
    else:
        library.mujoco_run.restype = number
        library.mujoco_run.argtypes = [ctypes.c_size_t, ctypes.c_size_t, integer, integer, ctypes.c_long]
    return library


def peer_python(name: str, packages: list[str], megabytes: int) -> Path:
    """Python of a virtual environment with packages of a peer, created once: they need other versions than the project."""
    folder = ENV / name
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    ready = folder / "ready"
    if not ready.exists():
        install = [str(python), "-m", "pip", "--disable-pip-version-check", "-q", "install", *packages]
        with Console(stderr=True).status(f"creating a virtual environment with {', '.join(packages)}, once ({megabytes} MB)"):
            for command in ([sys.executable, "-m", "venv", "--clear", str(folder)], install):
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    message = (done.stderr or done.stdout).strip().splitlines()
                    raise MissingDependency(f"{' '.join(command[1:])}: {message[-1] if message else 'failed'}")
        ready.touch()
    return python
