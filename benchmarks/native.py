"""Peers in C++: build the loops of ``native/`` once against the headers and libraries of the installed wheels.

What is built, and Eigen, which Pinocchio's wheel lacks, is kept in ``benchmarks/.env``.
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

HERE = Path(__file__).parent
ENV = HERE / ".env"
EIGEN = "cmeel-eigen==3.4.1"
COMMON = ("-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden")
PINOCCHIO = (
    # The bindings of Pinocchio, built for another machine, are in this process too: share no symbol with them.
    "-fvisibility-inlines-hidden", "-fno-gnu-unique", "-Wl,-Bsymbolic",
    # As Pinocchio's own CMake target has them.
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)  # fmt: skip


class Missing(Exception):
    """Something to build the loops with is not there."""


def load(peers: tuple[str, ...] = ("pinocchio", "mujoco")) -> tuple[dict[str, ctypes.CDLL], list[str]]:
    """The compiled loops of every peer that could be built, and why any could not."""
    building, notes, loaded = {}, [], {}
    for peer in peers:
        try:
            building[peer] = _build(peer)
        except (Missing, OSError, subprocess.SubprocessError, metadata.PackageNotFoundError) as problem:
            notes.append(f"{peer}: not in C++, called from Python instead ({problem})")
    for peer, (target, process) in building.items():
        try:
            _finish(peer, target, process)
            loaded[peer] = _declared(peer, ctypes.CDLL(str(target)))
        except (Missing, OSError) as problem:
            notes.append(f"{peer}: not in C++, called from Python instead ({problem})")
    return loaded, notes


def _build(peer: str) -> tuple[Path, subprocess.Popen | None]:
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        raise Missing("no C++ compiler on this machine")
    source = HERE / "native" / f"{peer}_loops.cpp"
    command = [compiler, *COMMON, *(_mujoco_flags() if peer == "mujoco" else _pinocchio_flags())]
    sources = [source.read_text(), *(header.read_text() for header in sorted(source.parent.glob("*.hpp")))]
    digest = hashlib.sha256("\n".join([*command, *sources, _machine()]).encode()).hexdigest()[:12]
    target = ENV / f"{peer}-{digest}.so"
    if target.exists():
        return target, None
    ENV.mkdir(exist_ok=True)
    print(f"building {source.name} (once) ...", file=sys.stderr, flush=True)
    libraries = _mujoco_libraries() if peer == "mujoco" else []
    command += [str(source), *libraries, "-o", str(target.with_suffix(".part"))]
    return target, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _finish(peer: str, target: Path, process: subprocess.Popen | None) -> None:
    if process is None:
        return
    _, errors = process.communicate(timeout=900)
    if process.returncode:
        first = next((line for line in errors.splitlines() if "error" in line), errors[-200:])
        raise Missing(f"the compiler refused {peer}_loops.cpp: {first[:200]}")
    target.with_suffix(".part").rename(target)


def _pinocchio_flags() -> list[str]:
    headers = Path(str(metadata.distribution("libpinocchio").locate_file("cmeel.prefix"))) / "include"
    if not (headers / "pinocchio").is_dir() or not (headers / "boost").is_dir():
        raise Missing(f"no headers of Pinocchio and Boost in {headers}")
    eigen = ENV / "eigen" / "cmeel.prefix" / "include" / "eigen3"
    if not eigen.is_dir():
        ENV.mkdir(exist_ok=True)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "install",
            "-q",
            "--no-deps",
            "--target",
            str(ENV / "eigen"),
            EIGEN,
        ]
        if subprocess.run(pip, capture_output=True, check=False).returncode or not eigen.is_dir():
            raise Missing(f"pip could not get {EIGEN}")
    return [*PINOCCHIO, f"-I{HERE / 'native' / 'slim'}", "-isystem", str(headers), "-isystem", str(eigen)]


def _mujoco_flags() -> list[str]:
    return [f"-I{_mujoco() / 'include'}"]


def _mujoco_libraries() -> list[str]:
    library = next(iter(sorted(_mujoco().glob("libmujoco.so.*"))), None)
    if library is None:
        raise Missing(f"no libmujoco.so in {_mujoco()}")
    return [str(library), f"-Wl,-rpath,{_mujoco()}"]


def _mujoco() -> Path:
    spec = importlib.util.find_spec("mujoco")
    if spec is None or not spec.origin:
        raise Missing("MuJoCo is not installed")
    return Path(spec.origin).parent


def _machine() -> str:
    """What -march=native and the wheels depend on."""
    cpu = Path("/proc/cpuinfo")
    flags = next((line for line in cpu.read_text().splitlines() if line.startswith("flags")), "") if cpu.exists() else ""
    return "\n".join([flags, *(f"{p} {metadata.version(p)}" for p in ("libpinocchio", "mujoco"))])


def _declared(peer: str, library: ctypes.CDLL) -> ctypes.CDLL:
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
