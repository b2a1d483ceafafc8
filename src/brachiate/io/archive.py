"""NumPy archives of ours: read with limits, without running anything that is in them."""

from __future__ import annotations

import zipfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from brachiate.errors import FileFormatError

MOST_BYTES = 4 * 2**30


def with_suffix(path: str | PathLike[str]) -> Path:
    """The path, with ``.npz`` behind it if it has it not."""
    path = Path(path)
    return path if path.suffix == ".npz" else path.with_name(path.name + ".npz")


def read_archive(path: str | PathLike[str], form: str, what: str) -> dict[str, Any]:
    """All arrays of an archive whose ``format`` is this one, by name; ``what`` it should be, for messages."""
    path = Path(path) if Path(path).exists() else with_suffix(path)
    try:
        if sum(entry.file_size for entry in zipfile.ZipFile(path).infolist()) > MOST_BYTES:
            raise FileFormatError(f"{path} unpacks to more than {MOST_BYTES // 2**30} GB: it is not read.")
        with np.load(path, allow_pickle=False) as file:
            content = {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise FileFormatError(f"There is no file {path}.") from None
    except FileFormatError:
        raise
    except Exception as problem:  # a damaged archive can fail in any of its readers
        raise FileFormatError(f"{path} is not {what}, or it is damaged ({problem}).") from None
    if str(content.get("format", "")) != form:
        raise FileFormatError(f"{path} is not a {form!r} file; it says {str(content.get('format', 'nothing'))!r}.")
    return content
