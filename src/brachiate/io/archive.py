"""NumPy archives (.npz), written atomically, read with size limits and without executing code."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Collection, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from brachiate.errors import FileFormatError
from brachiate.io import limits
from brachiate.io.atomic import replace_file
from brachiate.validation import Array

_MAX_HEADER_SIZE = 10_000  # bytes


def with_suffix(path: str | PathLike[str]) -> Path:
    """Return the path with the suffix ``.npz`` appended if it is missing."""
    path = Path(path)
    return path if path.suffix == ".npz" else path.with_name(path.name + ".npz")


def write_archive(path: str | PathLike[str], arrays: Mapping[str, Any], what: str) -> Path:
    """Write arrays by name, compressed; ``what`` they are, for messages. Returns the path, with its suffix ``.npz``."""
    path = with_suffix(path)
    with replace_file(path, what) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    return path


def read_archive(path: str | PathLike[str], form: str, what: str) -> dict[str, Any]:
    """Return all arrays of an archive of this ``format``, by name; ``what`` it should be, for messages."""
    path = Path(path) if Path(path).exists() else with_suffix(path)
    content = read_arrays(path, str(path), what)
    if str(content.get("format", "")) != form:
        raise FileFormatError(f"{path} is not a {form!r} file; its format is {str(content.get('format', 'nothing'))!r}.")
    return content


def array_names(file: Path | bytes, where: str, what: str) -> list[str]:
    """Return the names of the arrays of an archive, without unpacking it."""
    with _open_archive(file, where, what) as archive:
        return [_name(entry) for entry in archive.infolist()]


def read_arrays(
    file: Path | bytes, where: str, what: str, only: Collection[str] | None = None, max_size: int = limits.MAX_UNPACKED_SIZE
) -> dict[str, Array]:
    """Return arrays of an archive by name.

    The shape that an array claims is compared with the size of its entry before memory is allocated, and pickled objects, which could
    execute code, are refused.

    Args:
        file: The file, or its bytes.
        where: Name of the file, for messages.
        what: What it should be, for messages.
        only: Names of the arrays to read, as far as they exist; by default all.
        max_size: Largest total unpacked size [bytes].
    """
    with _open_archive(file, where, what) as archive:
        wanted = [entry for entry in archive.infolist() if only is None or _name(entry) in only]
        unpacked, packed = sum(entry.file_size for entry in wanted), sum(entry.compress_size for entry in wanted)
        if unpacked > max_size:
            raise FileFormatError(f"{where} unpacks to more than {max_size / 2**30:.3g} GB.")
        if unpacked > max(limits.MIN_BOMB_SIZE, limits.MAX_UNPACKED_RATIO * packed):
            raise FileFormatError(
                f"{where}: its {packed / limits.MB:.1f} MB unpack to {unpacked / limits.MB:.0f} MB, more than "
                f"{limits.MAX_UNPACKED_RATIO:g} times as much. It is damaged, or made to exhaust the memory."
            )
        return {_name(entry): _read_array(archive, entry, where, what) for entry in wanted}


def _open_archive(file: Path | bytes, where: str, what: str) -> zipfile.ZipFile:
    try:
        if isinstance(file, Path):
            limits.check_status(file.stat(), file, limits.MAX_UNPACKED_SIZE, what, FileFormatError)
        archive = zipfile.ZipFile(io.BytesIO(file) if isinstance(file, bytes) else file)
    except FileNotFoundError:
        raise FileFormatError(f"There is no file {where}.") from None
    except FileFormatError:
        raise
    except Exception as problem:  # a damaged archive can fail in any way
        raise FileFormatError(f"{where} is not {what}, or it is damaged ({str(problem)[:200]}).") from None
    count = len(archive.infolist())
    if count > limits.MAX_ARCHIVE_ENTRIES:
        archive.close()
        raise FileFormatError(f"{where} has {count} entries; at most {limits.MAX_ARCHIVE_ENTRIES} are read.")
    return archive


def _name(entry: zipfile.ZipInfo) -> str:
    return entry.filename.removesuffix(".npy")


def _read_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, where: str, what: str) -> Array:
    try:
        with archive.open(entry) as file:
            version = npy.read_magic(file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, dtype = read(file, max_header_size=_MAX_HEADER_SIZE)
        size = dtype.itemsize
        for n in shape:
            size *= int(n)
        if dtype.hasobject:
            raise ValueError(f"{_name(entry)!r} contains Python objects, which are not read: they could execute code")
        if any(n < 0 for n in shape) or size > entry.file_size:
            raise ValueError(f"{_name(entry)!r} claims the shape {shape}, for which {entry.file_size} bytes are too few")
        with archive.open(entry) as file:
            array = npy.read_array(file, allow_pickle=False, max_header_size=_MAX_HEADER_SIZE)
        if dtype.kind == "U" and np.frombuffer(array.tobytes(), dtype.byteorder + "u4").max(initial=0) > sys.maxunicode:
            raise ValueError(f"{_name(entry)!r} has invalid characters")
        return array
    except Exception as problem:  # a damaged archive can fail in any of its readers
        raise FileFormatError(f"{where} is not {what}, or it is damaged ({str(problem)[:200]}).") from None
