"""Meshes of URDF files, located by their package:// and file:// addresses."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree.ElementTree import Element

import mujoco

from brachiate.errors import ModelFileError
from brachiate.io import limits, xml_checks
from brachiate.io.import_notes import ImportNotes
from brachiate.io.mujoco_source import MUJOCO_ERRORS
from brachiate.io.xml_checks import ModelFiles

_READABLE = (".stl", ".obj", ".msh")
_MISSING = "meshes (not found, shapes left out)"
_UNREADABLE = f"meshes (only {', '.join(_READABLE)} are read, shapes left out)"
_BROKEN = "meshes (MuJoCo cannot use them, shapes left out)"


class RobotMeshes:
    """Meshes of one robot, passed to MuJoCo as contents under unique names."""

    def __init__(self, robot: Element, files: ModelFiles, notes: ImportNotes) -> None:
        self._robot, self._files, self._notes = robot, files, notes
        compiler = robot.find("mujoco/compiler")
        self._meshdir = "" if compiler is None else compiler.get("meshdir", "")
        self.contents: dict[str, bytes] = {}
        self._addresses: dict[str, str] = {}  # by name in contents

    def rename(self) -> None:
        """Refer every <mesh> to its contents; remove shapes whose mesh is not available."""
        names: dict[str, str | None] = {}
        for link in self._robot.findall("link"):
            for shape in [*link.findall("visual"), *link.findall("collision")]:
                mesh = shape.find("geometry/mesh")
                if mesh is None:
                    continue
                address = mesh.get("filename", "")
                if address not in names:
                    names[address] = self._load(address, len(names))
                name = names[address]
                if name is None:
                    link.remove(shape)
                else:
                    mesh.set("filename", name)

    def _load(self, address: str, number: int) -> str | None:
        suffix = Path(address).suffix.lower()
        if suffix not in _READABLE:
            self._notes.add(_UNREADABLE, address)
            return None
        name = f"mesh{number}{suffix}"
        files = self._files
        if address in files.assets:
            self.contents[name] = files.assets[address]
        else:
            file = find_mesh(address, files.path, self._meshdir, files.roots)
            if file is None:
                self._notes.add(_MISSING, address)
                return None
            self.contents[name] = xml_checks.read_bytes(file, limits.MAX_ASSET_SIZE, "a mesh")
            if sum(map(len, self.contents.values())) > limits.MAX_ASSETS_SIZE:
                raise ModelFileError(f"{files.path}: its meshes have more than {limits.MAX_ASSETS_SIZE / limits.MB:.0f} MB in total.")
        self._addresses[name] = address
        return name

    def drop_broken(self, spec: Any) -> None:
        """Remove shapes whose mesh does not compile on its own; inertias do not depend on them."""
        for mesh in list(spec.meshes):
            name = mesh.file or ""
            if name in self.contents and not _compiles(name, self.contents[name]):
                self._notes.add(_BROKEN, self._addresses[name])
                for geom in [g for g in spec.geoms if g.meshname == mesh.name]:
                    spec.delete(geom)
                spec.delete(mesh)


def find_mesh(address: str, model: Path, meshdir: str = "", roots: tuple[Path, ...] | None = None) -> Path | None:
    """Locate a mesh by its address: in the folder of the model, or, for a package, in any folder above it.

    ``package://robot/meshes/foot.stl`` is ``meshes/foot.stl`` in a folder named ``robot``, which contains the model or is beside a folder
    that does. If no folder has the name of the package, any folder of the model's own package that contains the rest of the path is used.

    Args:
        address: Address in the file.
        model: The model file.
        meshdir: Folder of meshes that the file states.
        roots: Folders of the model's own package: see :func:`brachiate.io.limits.package_roots`.

    Raises:
        ModelFileError: There is such a file, but it is outside of the package.
    """
    model = model.absolute()
    roots = limits.package_roots(model) if roots is None else roots
    folders = [model.parent, *model.parent.parents]
    own = [f for f in folders if any(f.is_relative_to(root) for root in roots)]
    scheme, rest = address.split("://", 1) if "://" in address else ("", address)
    rest = unquote(rest) if scheme else rest
    if scheme in ("package", "model"):
        package, _, inside = rest.lstrip("/").partition("/")
        packages = [f for f in folders if f.name == package] + [f / package for f in folders]
        tries = [(f / inside, (f,)) for f in packages] + [(f / inside, roots) for f in own]
    elif scheme == "file":
        tries = [(Path(rest), roots), *((f / rest.lstrip("/"), roots) for f in own)]
    elif scheme:
        return None  # nothing is downloaded
    else:
        tries = [(model.parent / rest, roots), (model.parent / meshdir / rest, roots)]
    found = next(((file, allowed) for file, allowed in tries if _is_file(file)), None)
    if found is None:
        return None
    limits.check_model_part(found[0], (*found[1], *roots), model)
    return found[0]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # names too long, or with a zero byte
        return False


def _compiles(name: str, content: bytes) -> bool:
    spec = mujoco.MjSpec()
    spec.add_mesh(name="m", file=name)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="m", contype=1)
    spec.assets = {name: content}
    try:
        spec.compile()
    except MUJOCO_ERRORS:
        return False
    return True
