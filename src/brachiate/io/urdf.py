"""URDF: its tree, inertias and mimics are read here; frames, limits and meshes by MuJoCo's compiler.

MuJoCo refuses links without mass, takes missing inertias from the shapes, and knows meshes by their bare file name. URDF
says otherwise: what has no <inertial> has no mass, and meshes are files of packages. So inertias come from the file
itself (MuJoCo gets placeholders), and meshes are looked up here and handed over under names of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import mujoco
import numpy as np

from brachiate.errors import ModelFileError, choices
from brachiate.io.inertia import NOTHING, Inertial, repaired
from brachiate.io.meshes import Meshes
from brachiate.io.notes import Notes
from brachiate.io.source import TROUBLE, Mimic, Source, refused
from brachiate.validation import Array

_KEPT = ("link", "joint", "material")
_DUST = 1e-15  # [m²] inertia per mass that is left of zero by the program that wrote the file, as in iCub's
_NO_LIMIT = ("inf", "+inf", "infinity", "")
_SCALAR = ("revolute", "continuous", "prismatic")
_JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


def source(data: bytes, path: Path, assets: Mapping[str, bytes], notes: Notes, fix_inertia: bool) -> Source:
    """Prepare a URDF for MuJoCo's compiler."""
    return prepared(ElementTree.fromstring(data), path, assets, notes, fix_inertia)


def prepared(robot: Element, path: Path, assets: Mapping[str, bytes], notes: Notes, fix_inertia: bool) -> Source:
    """Prepare a <robot> for MuJoCo's compiler; it is changed on the way."""
    meshes = Meshes(robot, path, assets, notes)
    _check_tree(robot, path)
    inertials = {_name(link): _inertial(link, path) for link in robot.findall("link")}
    if fix_inertia:
        for link, inertial in inertials.items():
            better = repaired(inertial)
            if better is not None:
                notes.add("inertias (no solid has them; the nearest that one has was taken)", link)
                inertials[link] = better
    mimics = _take_mimics(robot, path, notes)
    speeds = _speeds(robot, path)
    _take_empty_limits(robot, notes)
    meshes.rename()
    _simplify(robot)
    try:
        spec = mujoco.MjSpec.from_string(ElementTree.tostring(robot, "unicode"), assets=meshes.contents)
    except TROUBLE as error:
        raise refused(path, error) from None
    for body in spec.bodies:
        if body.name != "world":
            body.explicitinertial = True
            body.mass, body.inertia, body.ipos, body.iquat = 1.0, (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
            body.fullinertia = np.full(6, np.nan)
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    result = Source(path, spec, notes, robot.get("name", ""), inertials, mimics, speeds)
    result.without_broken_meshes = lambda: meshes.drop_broken(spec)
    return result


def _name(element: Element) -> str:
    return element.get("name", "")


def _simplify(robot: Element) -> None:
    """Leave only what describes the robot, and set MuJoCo's switches: links are not to be fused or stripped."""
    taken: set[str] = set()
    for child in list(robot):
        if child.tag not in _KEPT:
            robot.remove(child)
    for link in robot.findall("link"):
        for inertial in link.findall("inertial"):
            link.remove(inertial)
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            if _name(shape) and _name(shape) in taken:
                del shape.attrib["name"]  # MuJoCo needs them unique, URDF does not
            taken.add(_name(shape))
    switches = ElementTree.SubElement(robot, "mujoco")
    ElementTree.SubElement(switches, "compiler", fusestatic="false", strippath="false", discardvisual="false")


def _check_tree(robot: Element, path: Path) -> None:
    """Say by name what keeps the links from being one tree; MuJoCo would only say that something does."""
    links = [_name(link) for link in robot.findall("link")]
    joints = robot.findall("joint")
    if not links:
        raise ModelFileError(f"{path}: the robot has no <link>.")
    for kind, names in (("links", links), ("joints", [_name(j) for j in joints])):
        if "" in names:
            raise ModelFileError(f"{path}: one of the {kind} has no name. URDF needs one for each.")
        twice = next((n for i, n in enumerate(names) if n in names[:i]), None)
        if twice is not None:
            raise ModelFileError(f"{path}: two {kind} are named {twice!r}. Names must be unique.")
    above: dict[str, str] = {}
    for joint in joints:
        if joint.get("type") not in _JOINT_TYPES:
            raise ModelFileError(f"{path}: joint {_name(joint)!r} has the type {joint.get('type')!r}. Valid: {', '.join(_JOINT_TYPES)}.")
        parent, child = (_end(joint, tag, links, path) for tag in ("parent", "child"))
        if child in above:
            raise ModelFileError(
                f"{path}: link {child!r} hangs on two joints, under {above[child]!r} and {parent!r}. URDF is a tree; "
                "leave one joint out, and hold the two links together by connecting them in a world."
            )
        above[child] = parent
    for link in links:
        seen = [link]
        while seen[-1] in above:
            seen.append(above[seen[-1]])
            if seen[-1] == link:
                raise ModelFileError(f"{path}: these links hang on each other in a circle: {' → '.join(reversed(seen))}.")
            if len(seen) > len(links):
                break  # it leads into a circle that another link of it reports
    roots = [link for link in links if link not in above]
    if len(roots) > 1:
        raise ModelFileError(
            f"{path}: {len(roots)} links have no parent: {', '.join(roots[:8])}. URDF is one tree: add the joints that connect them."
        )


def _end(joint: Element, tag: str, links: list[str], path: Path) -> str:
    element = joint.find(tag)
    link = None if element is None else element.get("link")
    if link not in links:
        raise ModelFileError(f"{path}: the {tag} of joint {_name(joint)!r} is {link!r}, which is no link. {choices('link', links)}")
    return link


def _inertial(link: Element, path: Path) -> Inertial:
    """Mass, centre and inertia of a link; a link without <inertial> has none."""
    inertial = link.find("inertial")
    if inertial is None:
        return NOTHING
    where = f"{path}: link {_name(link)!r}"
    mass, tensor = inertial.find("mass"), inertial.find("inertia")
    if mass is None:
        raise ModelFileError(f"{where}: its <inertial> has no <mass>.")
    origin = inertial.find("origin")
    center = numbers(origin, "xyz", "0 0 0", 3, where)
    R = from_rpy(*numbers(origin, "rpy", "0 0 0", 3, where))
    xx, xy, xz, yy, yz, zz = (numbers(tensor, key, "0", 1, where)[0] for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    about = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    kilos = float(numbers(mass, "value", "", 1, where)[0])
    if np.abs(about).max() <= _DUST * kilos:
        about = np.zeros((3, 3))
    return Inertial(kilos, center, about)


def numbers(element: Element | None, key: str, default: str, count: int, where: str) -> Array:
    """Return the finite numbers of an attribute."""
    text = default if element is None else element.get(key, default)
    try:
        values = np.array([float(x) for x in text.split()])
    except ValueError:
        values = np.zeros(0)
    if values.shape != (count,) or not np.isfinite(values).all():
        tag = "element" if element is None else f"<{element.tag}>"
        raise ModelFileError(f"{where}: attribute {key!r} of {tag} must be {count} finite number{'s' * (count > 1)}, got {text!r}.")
    return values


def from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Rotation about the fixed axes x, then y, then z."""
    (a, b, c), (s, t, u) = np.cos((roll, pitch, yaw)), np.sin((roll, pitch, yaw))
    return np.array([[c * b, c * t * s - u * a, c * t * a + u * s], [u * b, u * t * s + c * a, u * t * a - c * s], [-t, b * s, b * a]])


def _take_mimics(robot: Element, path: Path, notes: Notes) -> list[Mimic]:
    """Take <mimic> out of the joints: MuJoCo would make equations of them, or complain in a log file."""
    mimics = []
    types = {_name(j): j.get("type") for j in robot.findall("joint")}
    for joint in robot.findall("joint"):
        mimic = joint.find("mimic")
        if mimic is None:
            continue
        joint.remove(mimic)
        name, of, where = _name(joint), mimic.get("joint", ""), f"{path}: joint {_name(joint)!r}"
        if types[name] == "fixed":
            continue  # it moves with nothing, whatever it is told to follow
        if types[name] not in _SCALAR or types.get(of) not in (*_SCALAR, "fixed"):
            notes.add("mimics of joints that are not there or not one number (left out)", f"{name} of {of}")
            continue
        multiplier, offset = (float(numbers(mimic, k, d, 1, where)[0]) for k, d in (("multiplier", "1"), ("offset", "0")))
        mimics.append(Mimic(name, of if types[of] != "fixed" else None, multiplier, offset))
    return mimics


def _speeds(robot: Element, path: Path) -> dict[str, float]:
    """Of motors of joints that are one number; files have 0 where nobody filled it in."""
    speeds = {}
    for joint in robot.findall("joint"):
        limit = joint.find("limit")
        if limit is not None and joint.get("type") in _SCALAR and limit.get("velocity", "inf").strip().lower() not in _NO_LIMIT:
            speed = float(numbers(limit, "velocity", "", 1, f"{path}: joint {_name(joint)!r}")[0])
            if speed > 0.0:
                speeds[_name(joint)] = speed
    return speeds


def _take_empty_limits(robot: Element, notes: Notes) -> None:
    """Take out limits that leave no room: files have 0 and 0 where nobody filled them in, and MuJoCo ignores them too."""
    for joint in robot.findall("joint"):
        limit = joint.find("limit")
        if limit is not None and joint.get("type") in _SCALAR and limit.get("lower", "0") == limit.get("upper", "0"):
            if joint.get("type") != "continuous":
                notes.add("limits with lower = upper (left out)", _name(joint))
            for key in ("lower", "upper"):
                limit.attrib.pop(key, None)
