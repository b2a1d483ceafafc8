"""Safety checks of XML model files, before they are passed to a parser that trusts its input.

Refused: files that are too large or not regular, document types and entities (which can expand to gigabytes), nesting that would exhaust
the stack of a parser, excessive replication, and NaN. Nothing in a model file is executed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from brachiate.errors import ModelFileError
from brachiate.io import file_access

MAX_XML_SIZE = 64 * 2**20  # [bytes]
MAX_ASSET_SIZE = 512 * 2**20  # [bytes] of one mesh
MAX_NESTING = 400  # MuJoCo's own parser stops at 500
MAX_COPIES = 20_000
_REPLICATING_TAGS = ("replicate", "composite", "flexcomp")
_INCLUDING_TAGS = ("include", "model")


@dataclass
class Scan:
    """Result of the scan of an XML file."""

    root: str = ""
    files: list[str] = field(default_factory=list)  # other XML files it includes


def read_bytes(path: Path, max_size: int = MAX_XML_SIZE, what: str = "a model file") -> bytes:
    """Return the content of a model file."""
    return file_access.read_bytes(path, max_size, what, ModelFileError)


def scan(data: bytes, where: str) -> Scan:
    """Scan XML: refuse harmful content, return its root element and the XML files it includes."""
    if not data.strip():
        raise ModelFileError(f"{where} is empty. Expected an MJCF or URDF model.")
    found, copies = Scan(), [1.0]

    def refuse(message: str) -> NoReturn:
        raise ModelFileError(f"{where}, line {parser.CurrentLineNumber}: {message}")

    def start(tag: str, attributes: dict[str, str]) -> None:
        found.root = found.root or tag
        if len(copies) > MAX_NESTING:
            refuse(f"elements are nested more than {MAX_NESTING} deep.")
        copies.append(copies[-1] * (_count(attributes.get("count", "1")) if tag in _REPLICATING_TAGS else 1.0))
        if copies[-1] > MAX_COPIES:
            refuse(f"<{tag}> requests {copies[-1]:g} copies; at most {MAX_COPIES} are allowed.")
        for name, value in attributes.items():
            if name != "name" and "nan" in value.lower().split():
                refuse(f"attribute {name!r} of <{tag}> is NaN ({value!r}). Every number must be finite.")
        if tag in _INCLUDING_TAGS and "file" in attributes:
            found.files.append(attributes["file"])

    def text(content: str) -> None:
        if "nan" in content.lower().split():
            refuse("a number is NaN. Every number must be finite.")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.CharacterDataHandler = text
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _tag: copies.pop()
    parser.StartDoctypeDeclHandler = lambda *_: refuse("a document type (<!DOCTYPE, <!ENTITY) is not allowed in a model. Remove it.")
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{where} is not well-formed XML, or was cut short: {error}.") from None
    return found


def scan_all(data: bytes, path: Path, assets: Mapping[str, bytes]) -> Scan:
    """Scan a file and all XML files it includes; return the scan of the first."""
    first = scan(data, str(path))
    seen: set[Path] = set()
    todo = [path.parent / file for file in first.files]
    while todo:
        file = todo.pop()
        if file in seen:
            continue
        seen.add(file)
        found = [scan(content, name) for name, content in assets.items() if path.parent / name == file]
        if not found and file.exists():  # missing files are reported by MuJoCo
            found = [scan(read_bytes(file), str(file))]
        # Names are relative to the first file or to the including one: both are scanned.
        todo += [folder / name for inner in found for name in inner.files for folder in (path.parent, file.parent)]
    return first


def check_asset(path: Path) -> None:
    """Refuse a mesh or image that is a device, a pipe or too large; missing files are reported by MuJoCo."""
    if path.exists():
        if not path.is_file():
            raise ModelFileError(f"{path} is not a regular file.")
        if path.stat().st_size > MAX_ASSET_SIZE:
            raise ModelFileError(f"{path} is larger than a mesh may be ({MAX_ASSET_SIZE / 2**20:.0f} MB).")


def _count(text: str) -> float:
    try:
        return max(1.0, math.prod(float(x) for x in text.split()))
    except ValueError:
        return 1.0  # not a number: reported by MuJoCo
