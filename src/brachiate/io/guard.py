"""The guard at the gate: XML is looked through before any parser that trusts it sees it.

Refused here: what is too large, what is no regular file, document types and entities (a few lines of which can unfold to
gigabytes), nesting that would exhaust a parser's stack, copies by the million, and NaN. Nothing in a model file is run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from brachiate.errors import ModelFileError
from brachiate.io import disk

MOST_XML = 64 * 2**20  # [bytes]
MOST_ASSET = 512 * 2**20  # [bytes] of one mesh
MOST_DEPTH = 400  # MuJoCo's own parser stops at 500
MOST_COPIES = 20_000
_COPIERS = ("replicate", "composite", "flexcomp")
_READS_XML = ("include", "model")


@dataclass
class Scan:
    """What one look through an XML file found."""

    root: str = ""
    files: list[str] = field(default_factory=list)  # other XML files it reads


def read_bytes(path: Path, most: int = MOST_XML, what: str = "a model file") -> bytes:
    """Return what a file of a model holds, or say why it cannot be read."""
    return disk.read_bytes(path, most, what, ModelFileError)


def scan(data: bytes, where: str) -> Scan:
    """Look through XML: refuse what could do harm, return its root element and the XML files it reads."""
    if not data.strip():
        raise ModelFileError(f"{where} is empty. Expected an MJCF or URDF model.")
    found, copies = Scan(), [1.0]

    def refuse(message: str) -> NoReturn:
        raise ModelFileError(f"{where}, line {parser.CurrentLineNumber}: {message}")

    def start(tag: str, attributes: dict[str, str]) -> None:
        found.root = found.root or tag
        if len(copies) > MOST_DEPTH:
            refuse(f"elements are nested more than {MOST_DEPTH} deep.")
        copies.append(copies[-1] * (_count(attributes.get("count", "1")) if tag in _COPIERS else 1.0))
        if copies[-1] > MOST_COPIES:
            refuse(f"<{tag}> asks for {copies[-1]:g} copies; at most {MOST_COPIES} are made.")
        for name, value in attributes.items():
            if name != "name" and "nan" in value.lower().split():
                refuse(f"attribute {name!r} of <{tag}> is NaN ({value!r}). Every number must be finite.")
        if tag in _READS_XML and "file" in attributes:
            found.files.append(attributes["file"])

    def text(content: str) -> None:
        if "nan" in content.lower().split():
            refuse("a number is NaN. Every number must be finite.")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.CharacterDataHandler = text
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _tag: copies.pop()
    parser.StartDoctypeDeclHandler = lambda *_: refuse("a document type (<!DOCTYPE, <!ENTITY) has no place in a model. Remove it.")
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{where} is not well-formed XML, or was cut short: {error}.") from None
    return found


def scan_all(data: bytes, path: Path, assets: Mapping[str, bytes]) -> Scan:
    """Look through a file and all the XML files it reads, wherever they are; return the scan of the first."""
    first = scan(data, str(path))
    seen: set[Path] = set()
    todo = [path.parent / file for file in first.files]
    while todo:
        file = todo.pop()
        if file in seen:
            continue
        seen.add(file)
        found = [scan(content, name) for name, content in assets.items() if path.parent / name == file]
        if not found and file.exists():  # what is missing, MuJoCo reports
            found = [scan(read_bytes(file), str(file))]
        # Names are relative to the first file, or to the one that reads them: both are looked at.
        todo += [folder / name for inner in found for name in inner.files for folder in (path.parent, file.parent)]
    return first


def check_asset(path: Path) -> None:
    """Refuse a mesh or image that is a device, a pipe or enormous; what is missing is left to MuJoCo to report."""
    if path.exists():
        if not path.is_file():
            raise ModelFileError(f"{path} is not a regular file.")
        if path.stat().st_size > MOST_ASSET:
            raise ModelFileError(f"{path} is larger than a mesh may be ({MOST_ASSET / 2**20:.0f} MB).")


def _count(text: str) -> float:
    try:
        return max(1.0, math.prod(float(x) for x in text.split()))
    except ValueError:
        return 1.0  # no number: MuJoCo says so
