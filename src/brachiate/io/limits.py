"""Limits of all readers: sizes, counts and nesting of files; regular files only; and the folder that a model file may read from.

A file beyond a limit is refused with a message, before memory is allocated or a parser that trusts its input is called. The numbers are
several times those of the largest real files, and such that reading a file takes seconds and less than about a gigabyte.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from brachiate.errors import BrachiateError, ModelFileError

MB = 2**20

# --- motions ---
MAX_MOTION_SIZE = 256 * MB  # of a motion file
MAX_JSON_SIZE = 64 * MB  # of a motion in JSON, which takes ten times as much memory
MAX_NUMBERS = 50_000_000  # of a motion file
MAX_NAME_LENGTH = 200  # characters
MAX_JOINT_NESTING = 200
MAX_MAGNITUDE = 1e12  # of all numbers: results computed from them stay finite

# --- archives ---
MAX_UNPACKED_SIZE = 4 * 2**30  # of all arrays of an archive
MAX_ARCHIVE_ENTRIES = 10_000
MAX_UNPACKED_RATIO, MIN_BOMB_SIZE = 200.0, 256 * MB  # unpacked over packed size, of archives that unpack to more than this

# --- settings and other small files ---
MAX_SETTINGS_SIZE = 4 * MB

# --- models ---
MAX_XML_SIZE = 32 * MB  # of one XML file
MAX_XML_FILES = 500  # included by one model
MAX_ASSET_SIZE = 128 * MB  # of one mesh or height field
MAX_ASSETS_SIZE = 1024 * MB  # of all of them
MAX_FLEX_FILE_SIZE = MB // 2  # of the mesh of a flexcomp: each of its vertices can become a body
MAX_NESTING = 400  # of XML elements; MuJoCo's own parser stops at 500
MAX_DEPTH = 500  # of links below each other: the time to compile a chain grows with the square of its length
MAX_ELEMENTS = 300_000  # of all XML files of a model
MAX_COPIES = 5_000  # by <replicate>, <flexcomp>
MAX_COUNTS = {"body": 5_000, "link": 5_000, "geom": 20_000, "joint": 20_000, "site": 20_000}  # copies included
#: Largest values of attributes by which MuJoCo allocates memory, by element.
MAX_ATTRIBUTES = {
    "size": dict.fromkeys(("nkey", "nuserdata"), 10_000.0)
    | {f"nuser_{kind}": 1000.0 for kind in ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor")},
    "hfield": {"nrow": 5000.0, "ncol": 5000.0},
    "numeric": {"size": 10_000.0},
}


def read_regular(path: Path, max_size: int, what: str, error: type[BrachiateError], first: int = -1) -> bytes:
    """Return the content of a regular file, or its first bytes; see :func:`brachiate.io.file_access.read_bytes`.

    The file is opened without waiting and examined again after that, so a pipe or device is refused even if it replaces the file meanwhile.
    """
    check_status(path.stat(), path, max_size, what, error)
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        check_status(os.fstat(handle), path, max_size, what, error)
        content = file.read(max_size + 1 if first < 0 else first)
    if first < 0 and len(content) > max_size:  # files of /proc do not state their size
        raise error(f"{path}: it has more than {what} may have ({max_size / MB:.0f} MB). Is it the right file?")
    return content


def check_status(status: os.stat_result, path: Path, max_size: int, what: str, error: type[BrachiateError]) -> None:
    """Refuse pipes, devices, folders, and files that are too large."""
    if not stat.S_ISREG(status.st_mode):
        raise error(f"{path} is not a regular file. Give the path of {what}.")
    if status.st_size > max_size:
        size = f"{status.st_size / MB:.0f} MB is more than {what} may have ({max_size / MB:.3g} MB)"
        raise error(f"{path}: {size}. Is it the right file?")


# --- folders of models --------------------------------------------------------------------------

_PACKAGE_MARKS = ("package.xml", ".git", "pyproject.toml", "setup.py", "model.config")


def package_roots(model: Path, given: str | os.PathLike[str] | None = None) -> tuple[Path, ...]:
    """Folders that the files of a model must be in: that of its package, as the path says and with symbolic links resolved.

    The package is the nearest folder above the model that has a ``package.xml`` (ROS), ``model.config`` (Gazebo), ``pyproject.toml``,
    ``setup.py`` or ``.git``, or the outermost Python package (``__init__.py``) around it. Without one it is the folder above the model's,
    so that ``../meshes`` is found, but never the root of the file system or a home folder.

    Args:
        model: The model file.
        given: The folder, if the user gives it.
    """
    if given is not None:
        if not isinstance(given, str | os.PathLike):
            raise ModelFileError(f"package_root: expected the path of a folder, got {given!r}.")
        return (Path(given).absolute(), Path(given).resolve())
    return tuple(dict.fromkeys(_package_root(file.parent) for file in (model.absolute(), model.resolve())))


def _package_root(folder: Path) -> Path:
    usable = [f for f in (folder, *folder.parents) if f != Path(f.anchor) and f != Path.home()]
    for f in usable:
        if (f / "__init__.py").is_file():
            while (f.parent / "__init__.py").is_file():
                f = f.parent
            return f
        if any((f / mark).exists() for mark in _PACKAGE_MARKS):
            return f
    return usable[1] if len(usable) > 1 and usable[0] == folder and usable[1] == folder.parent else folder


def is_inside(file: Path, roots: Iterable[Path]) -> bool:
    """Whether a file, with all symbolic links and ``..`` resolved, is in one of the folders."""
    real = file.resolve()
    return any(real.is_relative_to(root.resolve()) for root in roots)


def check_model_part(file: Path, roots: tuple[Path, ...], model: Path, max_size: int = MAX_ASSET_SIZE) -> int:
    """Refuse a file of a model that is outside of its package, a device, a pipe, or too large; return its size [bytes]."""
    if not is_inside(file, roots):
        raise ModelFileError(
            f"{model} refers to {file}, which is outside of its package, {roots[0]}. Move the file there, or, if you trust the model, give "
            "the folder that may be read from: load_model(..., package_root=...)."
        )
    status = file.stat()
    check_status(status, file, max_size, "a file of a model", ModelFileError)
    return status.st_size
