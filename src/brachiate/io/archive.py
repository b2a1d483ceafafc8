"""NumPy archives: read with limits, without running anything that is in them."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Collection
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from brachiate.errors import FileFormatError
from brachiate.validation import Array

MOST_BYTES = 4 * 2**30
MOST_ENTRIES = 10_000
_LONGEST_HEADER = 10_000  # bytes


def with_suffix(path: str | PathLike[str]) -> Path:
    """The path, with ``.npz`` behind it if it has it not."""
    path = Path(path)
    return path if path.suffix == ".npz" else path.with_name(path.name + ".npz")


def read_archive(path: str | PathLike[str], form: str, what: str) -> dict[str, Any]:
    """All arrays of an archive whose ``format`` is this one, by name; ``what`` it should be, for messages."""
    path = Path(path) if Path(path).exists() else with_suffix(path)
    content = arrays(path, str(path), what)
    if str(content.get("format", "")) != form:
        raise FileFormatError(f"{path} is not a {form!r} file; it says {str(content.get('format', 'nothing'))!r}.")
    return content


def names_in(file: Path | bytes, where: str, what: str) -> list[str]:
    """Names of the arrays of an archive; nothing of them is unpacked."""
    with _opened(file, where, what) as archive:
        return [_name(entry) for entry in archive.infolist()]


def arrays(file: Path | bytes, where: str, what: str, only: Collection[str] | None = None, most: int = MOST_BYTES) -> dict[str, Array]:
    """Arrays of an archive by name.

    What an array claims to be is held against the room its file takes before memory is given to it, and objects, which only
    running code could read, are refused.

    Args:
        file: The file, or its bytes.
        where: Its name, for messages.
        what: What it should be, for messages.
        only: Names of those that are wanted, if they are there; others are not looked at. By default all.
        most: How many bytes they may unpack to, all together.
    """
    with _opened(file, where, what) as archive:
        wanted = [entry for entry in archive.infolist() if only is None or _name(entry) in only]
        if sum(entry.file_size for entry in wanted) > most:
            raise FileFormatError(f"{where} unpacks to more than {most / 2**30:.3g} GB: it is not read.")
        return {_name(entry): _array(archive, entry, where, what) for entry in wanted}


def _opened(file: Path | bytes, where: str, what: str) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(io.BytesIO(file) if isinstance(file, bytes) else file)
    except FileNotFoundError:
        raise FileFormatError(f"There is no file {where}.") from None
    except Exception as problem:  # a damaged archive can fail in any way
        raise FileFormatError(f"{where} is not {what}, or it is damaged ({str(problem)[:200]}).") from None
    count = len(archive.infolist())
    if count > MOST_ENTRIES:
        archive.close()
        raise FileFormatError(f"{where} has {count} entries; {MOST_ENTRIES} are the most that are looked at.")
    return archive


def _name(entry: zipfile.ZipInfo) -> str:
    return entry.filename.removesuffix(".npy")


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, where: str, what: str) -> Array:
    try:
        with archive.open(entry) as file:
            version = npy.read_magic(file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, dtype = read(file, max_header_size=_LONGEST_HEADER)
        size = dtype.itemsize
        for n in shape:
            size *= int(n)
        if dtype.hasobject:
            raise ValueError(f"{_name(entry)!r} holds objects of Python, which are not read: they could run code")
        if any(n < 0 for n in shape) or size > entry.file_size:
            raise ValueError(f"{_name(entry)!r} claims to have the shape {shape}, for which {entry.file_size} bytes are too few")
        with archive.open(entry) as file:
            array = npy.read_array(file, allow_pickle=False, max_header_size=_LONGEST_HEADER)
        if dtype.kind == "U" and np.frombuffer(array.tobytes(), dtype.byteorder + "u4").max(initial=0) > sys.maxunicode:
            raise ValueError(f"{_name(entry)!r} has letters that are none")
        return array
    except Exception as problem:  # a damaged archive can fail in any of its readers
        raise FileFormatError(f"{where} is not {what}, or it is damaged ({str(problem)[:200]}).") from None
