"""Safety checks of XML model files, before they are passed to a parser that trusts its input.

Refused: files that are too large or not regular, or outside of the package of the model; document types and entities (which can expand to
gigabytes); nesting that would exhaust the stack of a parser; more bodies, shapes or copies than can be compiled in seconds; and NaN.
Nothing in a model file is executed. The numbers are in :mod:`brachiate.io.limits`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from brachiate.errors import ModelFileError
from brachiate.io import file_access, limits

_REPLICATING_TAGS = ("replicate", "composite", "flexcomp")
_INCLUDING_TAGS = ("include", "model")
_ASSET_TAGS = ("mesh", "hfield", "flexcomp")  # textures and skins are never opened
_FOLDERS = ("meshdir", "assetdir", "texturedir")


class XmlReference(NamedTuple):
    """Another XML file that a file includes or attaches: how often, and how deep in its elements."""

    file: str
    copies: float
    depth: int


@dataclass
class Scan:
    """Result of the scan of an XML file."""

    root: str = ""
    elements: int = 0
    nesting: int = 0
    counts: Counter[str] = field(default_factory=Counter)  # of bodies, shapes, joints, ..., with their copies
    includes: list[XmlReference] = field(default_factory=list)
    models: dict[str, str] = field(default_factory=dict)  # files of models to attach, by name
    attached: list[XmlReference] = field(default_factory=list)  # by name of the model
    assets: list[tuple[str, str]] = field(default_factory=list)  # element and file
    folders: set[str] = field(default_factory=set)  # in which assets are searched for

    def references(self) -> Iterator[XmlReference]:
        """Files that become part of this one; an attached model as often as it is attached, at least once, as it is parsed."""
        yield from self.includes
        for name, file in self.models.items():
            found = [ref for ref in self.attached if ref.file == name]
            yield XmlReference(file, max(1.0, sum(ref.copies for ref in found)), max((ref.depth for ref in found), default=0))


def read_bytes(path: Path, max_size: int = limits.MAX_XML_SIZE, what: str = "a model file") -> bytes:
    """Return the content of a model file."""
    return file_access.read_bytes(path, max_size, what, ModelFileError)


def scan(data: bytes, where: str) -> Scan:
    """Scan XML: refuse harmful content, return its root element, counts, and the files it refers to."""
    if not data.strip():
        raise ModelFileError(f"{where} is empty. Expected an MJCF or URDF model.")
    scanner = _Scanner(where)
    scanner.parse(data)
    return scanner.found


class _Scanner:
    """Parser of one file, which keeps the number of copies of each open element."""

    def __init__(self, where: str) -> None:
        self.where, self.found, self.copies = where, Scan(), [1.0]
        self.parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.CharacterDataHandler = self.text
        parser.StartElementHandler = self.start
        parser.EndElementHandler = lambda _tag: self.copies.pop()
        parser.StartDoctypeDeclHandler = lambda *_: self.refuse(
            "a document type (<!DOCTYPE, <!ENTITY) is not allowed in a model. Remove it."
        )

    def parse(self, data: bytes) -> None:
        try:
            self.parser.Parse(data, True)
        except (expat.ExpatError, ValueError, LookupError) as error:
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(f"{self.where} is not well-formed XML, or was cut short: {error}.") from None

    def refuse(self, message: str) -> NoReturn:
        raise ModelFileError(f"{self.where}, line {self.parser.CurrentLineNumber}: {message}")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        found = self.found
        found.root = found.root or tag
        found.elements += 1
        if len(self.copies) > limits.MAX_NESTING:
            self.refuse(f"elements are nested more than {limits.MAX_NESTING} deep.")
        found.nesting = max(found.nesting, len(self.copies))
        self.copies.append(self.copies[-1] * (_count(attributes.get("count", "1")) if tag in _REPLICATING_TAGS else 1.0))
        if self.copies[-1] > limits.MAX_COPIES:
            self.refuse(f"<{tag}> requests {self.copies[-1]:g} copies; at most {limits.MAX_COPIES} are allowed.")
        self.check_numbers(tag, attributes)
        if tag in limits.MAX_COUNTS:
            found.counts[tag] += self.copies[-1]  # type: ignore[assignment]
        self.collect(tag, attributes)

    def check_numbers(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Refuse NaN, and attributes by which too much memory would be allocated."""
        for name, value in attributes.items():
            if name != "name" and "nan" in value.lower().split():
                self.refuse(f"attribute {name!r} of <{tag}> is NaN ({value!r}). Every number must be finite.")
        for name, largest in limits.MAX_ATTRIBUTES.get(tag, {}).items():
            if _count(attributes.get(name, "0")) > largest:
                self.refuse(f"attribute {name!r} of <{tag}> is {attributes[name]}; at most {largest:g} is allowed.")

    def collect(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Collect references to other files."""
        found, file, reference = self.found, attributes.get("file"), (self.copies[-1], len(self.copies))
        if tag == "include" and file:
            found.includes.append(XmlReference(file, *reference))
        elif tag == "model" and file:
            found.models[attributes.get("name", file)] = file
        elif tag == "attach" and "model" in attributes:
            found.attached.append(XmlReference(attributes["model"], *reference))
        elif tag in _ASSET_TAGS and file:
            found.assets.append((tag, file))
        elif tag == "compiler":
            found.folders |= {attributes[name] for name in _FOLDERS if name in attributes}

    def text(self, content: str) -> None:
        if "nan" in content.lower().split():
            self.refuse("a number is NaN. Every number must be finite.")


class ElementTotals(NamedTuple):
    """Elements and nesting of a file with everything it includes and attaches, and counts with copies."""

    elements: float
    nesting: int
    counts: Counter[str]


class ModelFiles:
    """All XML files of a model, scanned, with the files they refer to.

    Args:
        data: Content of the model file.
        path: The model file.
        assets: Contents by file name, instead of files on disk.
        package_root: Folder that all files must be in; see :func:`brachiate.io.limits.package_roots`.
    """

    def __init__(self, data: bytes, path: Path, assets: Mapping[str, bytes], package_root: str | PathLike[str] | None = None) -> None:
        self.path, self.assets = path, assets
        self.roots = limits.package_roots(path, package_root)
        self.scans: dict[Path, Scan] = {path: scan(data, str(path))}
        self._totals: dict[Path, ElementTotals] = {}
        todo = self._targets(path)
        while todo:
            file = todo.pop()
            if file not in self.scans:
                self.scans[file] = scan(self._read(file), str(file))
                todo += self._targets(file)
                if len(self.scans) > limits.MAX_XML_FILES:
                    raise ModelFileError(f"{path} includes more than {limits.MAX_XML_FILES} files.")

    @property
    def root(self) -> str:
        """Root element of the model file."""
        return self.scans[self.path].root

    def check(self) -> None:
        """Refuse a model with too many parts, and assets that are not regular files of its package."""
        total = self._total(self.path, ())
        if total.elements > limits.MAX_ELEMENTS:
            raise ModelFileError(f"{self.path}: {total.elements:g} XML elements; at most {limits.MAX_ELEMENTS} are allowed.")
        if total.nesting > limits.MAX_NESTING:
            raise ModelFileError(f"{self.path}: with its includes, elements are nested more than {limits.MAX_NESTING} deep.")
        for tag, count in total.counts.items():
            if count > limits.MAX_COUNTS[tag]:
                raise ModelFileError(
                    f"{self.path}: {count:g} <{tag}> elements, copies included; at most {limits.MAX_COUNTS[tag]} are allowed."
                )
        if self.root in ("mujoco", "mujocoinclude"):  # meshes of URDF and SDF are located and read by this package
            self._check_assets()

    def _targets(self, file: Path) -> list[Path]:
        return [target for ref in self.scans[file].references() for target in self._find(ref.file, file)]

    def _find(self, name: str, source: Path) -> list[Path]:
        """Existing files of a name, relative to the model file or to the including one; missing files are reported by MuJoCo."""
        tries = dict.fromkeys(folder / name for folder in (self.path.parent, source.parent))
        return [file for file in tries if self._asset(file) is not None or _exists(file)]

    def _asset(self, file: Path) -> bytes | None:
        return next((content for name, content in self.assets.items() if self.path.parent / name == file), None)

    def _read(self, file: Path) -> bytes:
        content = self._asset(file)
        if content is None:
            limits.check_model_part(file, self.roots, self.path, limits.MAX_XML_SIZE)
            content = read_bytes(file)
        return content

    def _total(self, file: Path, above: tuple[Path, ...]) -> ElementTotals:
        if file in self._totals:
            return self._totals[file]
        found = self.scans[file]
        elements, nesting, counts = float(found.elements), found.nesting, Counter(found.counts)
        for ref in found.references():
            for target in self._find(ref.file, file):
                if target in (*above, file):
                    raise ModelFileError(f"{file} includes itself: {' → '.join(p.name for p in (*above, file, target))}.")
                inner = self._total(target, (*above, file))
                elements, nesting = elements + ref.copies * inner.elements, max(nesting, ref.depth + inner.nesting)
                for tag, count in inner.counts.items():
                    counts[tag] += ref.copies * count  # type: ignore[assignment]
        self._totals[file] = ElementTotals(elements, nesting, counts)
        return self._totals[file]

    def _check_assets(self) -> None:
        folders = {"", *(folder for found in self.scans.values() for folder in found.folders)}
        sizes: dict[Path, int] = {}
        for source, found in self.scans.items():
            for tag, name in found.assets:
                if name in self.assets:
                    continue
                max_size = limits.MAX_FLEX_FILE_SIZE if tag == "flexcomp" else limits.MAX_ASSET_SIZE
                for file in {base / folder / name for base in (self.path.parent, source.parent) for folder in folders}:
                    if file not in sizes and _exists(file):
                        sizes[file] = limits.check_model_part(file, self.roots, self.path, max_size)
        if sum(sizes.values()) > limits.MAX_ASSETS_SIZE:
            raise ModelFileError(f"{self.path}: its meshes have more than {limits.MAX_ASSETS_SIZE / limits.MB:.0f} MB in total.")


def _exists(file: Path) -> bool:
    try:
        return file.exists()
    except (OSError, ValueError):  # names too long, or with a zero byte
        return False


def _count(text: str) -> float:
    try:
        return max(1.0, math.prod(abs(float(x)) for x in text.split()))
    except ValueError:
        return 1.0  # not a number: reported by MuJoCo
