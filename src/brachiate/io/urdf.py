"""URDF: tree, inertias and mimic joints are read here; frames, limits and meshes by MuJoCo's compiler.

MuJoCo refuses links without mass, computes missing inertias from the shapes, and identifies meshes by their bare file name. In URDF a link
without <inertial> has no mass, and meshes are files of packages. So inertias are read from the file (MuJoCo gets placeholders), and meshes
are located here and passed to MuJoCo under unique names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import mujoco
import numpy as np

from brachiate.errors import ModelFileError, choices
from brachiate.io.import_notes import ImportNotes
from brachiate.io.inertial import MASSLESS, Inertial, repair_inertial
from brachiate.io.limits import MAX_DEPTH
from brachiate.io.meshes import RobotMeshes
from brachiate.io.mujoco_source import MUJOCO_ERRORS, Mimic, MujocoSource, compiler_error
from brachiate.io.xml_checks import ModelFiles
from brachiate.validation import Array, first_duplicate

_KEPT_TAGS = ("link", "joint", "material")
_ROUNDING_INERTIA = 1e-15  # [m²] inertia per mass that is only rounding of zero, as in iCub's file
_NO_LIMIT = ("inf", "+inf", "infinity", "")
_SCALAR = ("revolute", "continuous", "prismatic")
_JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


def source(data: bytes, files: ModelFiles, notes: ImportNotes, fix_inertia: bool) -> MujocoSource:
    """Prepare a URDF for MuJoCo's compiler."""
    return prepare_robot(ElementTree.fromstring(data), files, notes, fix_inertia)


def prepare_robot(robot: Element, files: ModelFiles, notes: ImportNotes, fix_inertia: bool) -> MujocoSource:
    """Prepare a <robot> for MuJoCo's compiler; the element is modified."""
    path = files.path
    meshes = RobotMeshes(robot, files, notes)
    _check_tree(robot, path)
    inertials = {_name(link): _inertial(link, path) for link in robot.findall("link")}
    if fix_inertia:
        for link, inertial in inertials.items():
            better = repair_inertial(inertial)
            if better is not None:
                notes.add("inertias (physically impossible; replaced by the nearest possible ones)", link)
                inertials[link] = better
    mimics = _extract_mimics(robot, path, notes)
    speeds = _speeds(robot, path)
    _remove_empty_limits(robot, notes)
    meshes.rename()
    _simplify(robot)
    try:
        spec = mujoco.MjSpec.from_string(ElementTree.tostring(robot, "unicode"), assets=meshes.contents)
    except MUJOCO_ERRORS as error:
        raise compiler_error(path, error) from None
    for body in spec.bodies:
        if body.name != "world":
            body.explicitinertial = True
            body.mass, body.inertia, body.ipos, body.iquat = 1.0, (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
            body.fullinertia = np.full(6, np.nan)
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    result = MujocoSource(path, spec, notes, robot.get("name", ""), inertials, mimics, speeds)
    result.without_broken_meshes = lambda: meshes.drop_broken(spec)
    return result


def _name(element: Element) -> str:
    return element.get("name", "")


def _simplify(robot: Element) -> None:
    """Keep only the description of the robot, and set MuJoCo's compiler options: links are neither fused nor stripped."""
    taken: set[str] = set()
    for child in list(robot):
        if child.tag not in _KEPT_TAGS:
            robot.remove(child)
    for link in robot.findall("link"):
        for inertial in link.findall("inertial"):
            link.remove(inertial)
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            if _name(shape) and _name(shape) in taken:
                del shape.attrib["name"]  # unique in MuJoCo, not in URDF
            taken.add(_name(shape))
    switches = ElementTree.SubElement(robot, "mujoco")
    ElementTree.SubElement(switches, "compiler", fusestatic="false", strippath="false", discardvisual="false")


def _check_tree(robot: Element, path: Path) -> None:
    """Raise an error with names if the links are not one tree."""
    links = [_name(link) for link in robot.findall("link")]
    joints = robot.findall("joint")
    if not links:
        raise ModelFileError(f"{path}: the robot has no <link>.")
    for kind, names in (("links", links), ("joints", [_name(j) for j in joints])):
        if "" in names:
            raise ModelFileError(f"{path}: one of the {kind} has no name. URDF needs one for each.")
        twice = first_duplicate(names)
        if twice is not None:
            raise ModelFileError(f"{path}: two {kind} are named {twice!r}. Names must be unique.")
    known = dict.fromkeys(links)
    above: dict[str, str] = {}
    for joint in joints:
        if joint.get("type") not in _JOINT_TYPES:
            raise ModelFileError(f"{path}: joint {_name(joint)!r} has the type {joint.get('type')!r}. Valid: {', '.join(_JOINT_TYPES)}.")
        parent, child = (_end(joint, tag, known, path) for tag in ("parent", "child"))
        if child in above:
            raise ModelFileError(
                f"{path}: link {child!r} is the child of two joints, under {above[child]!r} and {parent!r}. URDF is a tree; "
                "remove one of the joints, and connect the two links in a world."
            )
        above[child] = parent
    _check_depth(links, above, path)
    roots = [link for link in links if link not in above]
    if len(roots) > 1:
        raise ModelFileError(
            f"{path}: {len(roots)} links have no parent: {', '.join(roots[:8])}. URDF is one tree: add the joints that connect them."
        )


def _check_depth(links: list[str], above: Mapping[str, str], path: Path) -> None:
    """Raise an error if links form a loop, or too long a chain."""
    depths: dict[str, int] = {}
    for link in links:
        chain: dict[str, None] = {}
        while link in above and link not in depths:
            chain[link] = None
            link = above[link]
            if link in chain:
                loop = list(chain)[list(chain).index(link) :]
                raise ModelFileError(f"{path}: these links form a loop: {' → '.join(reversed([*loop, link]))}.")
        depth = depths.setdefault(link, 1)
        for each in reversed(chain):
            depths[each] = depth = depth + 1
    if max(depths.values()) > MAX_DEPTH:
        raise ModelFileError(f"{path}: a chain of {max(depths.values())} links; at most {MAX_DEPTH} below each other are allowed.")


def _end(joint: Element, tag: str, links: Mapping[str, None], path: Path) -> str:
    element = joint.find(tag)
    link = None if element is None else element.get("link")
    if link is None or link not in links:
        raise ModelFileError(f"{path}: the {tag} of joint {_name(joint)!r} is {link!r}, which is not a link. {choices('link', links)}")
    return link


def _inertial(link: Element, path: Path) -> Inertial:
    """Inertial parameters of a link; a link without <inertial> is massless."""
    inertial = link.find("inertial")
    if inertial is None:
        return MASSLESS
    where = f"{path}: link {_name(link)!r}"
    mass, tensor = inertial.find("mass"), inertial.find("inertia")
    if mass is None:
        raise ModelFileError(f"{where}: its <inertial> has no <mass>.")
    origin = inertial.find("origin")
    center = numbers(origin, "xyz", "0 0 0", 3, where)
    R = rotation_from_rpy(*numbers(origin, "rpy", "0 0 0", 3, where))
    xx, xy, xz, yy, yz, zz = (numbers(tensor, key, "0", 1, where)[0] for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    inertia = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    kilograms = float(numbers(mass, "value", "", 1, where)[0])
    if np.abs(inertia).max() <= _ROUNDING_INERTIA * kilograms:
        inertia = np.zeros((3, 3))
    return Inertial(kilograms, center, inertia)


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


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Rotation matrix of extrinsic x-y-z (roll, pitch, yaw) angles [rad]."""
    (a, b, c), (s, t, u) = np.cos((roll, pitch, yaw)), np.sin((roll, pitch, yaw))
    return np.array([[c * b, c * t * s - u * a, c * t * a + u * s], [u * b, u * t * s + c * a, u * t * a - c * s], [-t, b * s, b * a]])


def _extract_mimics(robot: Element, path: Path, notes: ImportNotes) -> list[Mimic]:
    """Remove <mimic> from the joints: MuJoCo would convert them to equality constraints, or log an error."""
    mimics = []
    types = {_name(j): j.get("type") for j in robot.findall("joint")}
    for joint in robot.findall("joint"):
        mimic = joint.find("mimic")
        if mimic is None:
            continue
        joint.remove(mimic)
        name, of, where = _name(joint), mimic.get("joint", ""), f"{path}: joint {_name(joint)!r}"
        if types[name] == "fixed":
            continue  # a fixed joint follows nothing
        if types[name] not in _SCALAR or types.get(of) not in (*_SCALAR, "fixed"):
            notes.add("mimics of joints that are missing or not scalar (left out)", f"{name} of {of}")
            continue
        multiplier, offset = (float(numbers(mimic, k, d, 1, where)[0]) for k, d in (("multiplier", "1"), ("offset", "0")))
        mimics.append(Mimic(name, of if types[of] != "fixed" else None, multiplier, offset))
    return mimics


def _speeds(robot: Element, path: Path) -> dict[str, float]:
    """Velocity limits of scalar joints; 0 in a file means not set."""
    speeds = {}
    for joint in robot.findall("joint"):
        limit = joint.find("limit")
        if limit is not None and joint.get("type") in _SCALAR and limit.get("velocity", "inf").strip().lower() not in _NO_LIMIT:
            speed = float(numbers(limit, "velocity", "", 1, f"{path}: joint {_name(joint)!r}")[0])
            if speed > 0.0:
                speeds[_name(joint)] = speed
    return speeds


def _remove_empty_limits(robot: Element, notes: ImportNotes) -> None:
    """Remove limits with lower = upper, which in files means not set; MuJoCo ignores them too."""
    for joint in robot.findall("joint"):
        limit = joint.find("limit")
        if limit is not None and joint.get("type") in _SCALAR and limit.get("lower", "0") == limit.get("upper", "0"):
            if joint.get("type") != "continuous":
                notes.add("limits with lower = upper (left out)", _name(joint))
            for key in ("lower", "upper"):
                limit.attrib.pop(key, None)
