"""SDF models of links and joints: rewritten as URDF, with the joints added to the MuJoCo specification.

Poses are those of SDF 1.5 and 1.6: of links in the model, of joints and shapes in their link; axes in the joint frame, or in the model
frame if the file says so. The first joint with a given child link is part of the tree; later ones close loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np

from brachiate.errors import ModelFileError
from brachiate.io.import_notes import ImportNotes
from brachiate.io.mujoco_source import MujocoSource
from brachiate.io.urdf import prepare_robot, rotation_from_rpy
from brachiate.io.xml_checks import ModelFiles
from brachiate.model.joints import Fixed, Spherical
from brachiate.validation import Array

_TYPES = {
    "revolute": mujoco.mjtJoint.mjJNT_HINGE,
    "continuous": mujoco.mjtJoint.mjJNT_HINGE,
    "prismatic": mujoco.mjtJoint.mjJNT_SLIDE,
    "ball": mujoco.mjtJoint.mjJNT_BALL,
    "fixed": None,
}
_TRUE = ("1", "true")
_ENDLESS = 1e10  # limits beyond mean no limit
_BITMASK = "collide_bitmask"


class _Pose(NamedTuple):
    R: Array
    p: Array

    def seen_from(self, other: _Pose) -> _Pose:
        """Return this pose in the coordinates of another."""
        return _Pose(other.R.T @ self.R, other.R.T @ (self.p - other.p))


def source(data: bytes, files: ModelFiles, notes: ImportNotes, fix_inertia: bool) -> MujocoSource:
    """Prepare an SDF model for MuJoCo's compiler."""
    path = files.path
    models = ElementTree.fromstring(data).findall("model")
    if len(models) != 1:
        raise ModelFileError(f"{path}: expected one <model> in the <sdf>, found {len(models)}.")
    model = models[0]
    _refuse_other_frames(model, path)
    poses = {link.get("name", ""): _pose(link, path) for link in model.findall("link")}
    tree_joints, loop_joints = _sort_joints(model, path, poses)
    robot = _robot(model, tree_joints, path)
    result = prepare_robot(robot, files, notes, fix_inertia)
    _set_collision_bits(robot, result.spec)
    for body in result.spec.bodies:
        if body.name in poses:
            tree_joint = tree_joints.get(body.name)
            parent = "world" if tree_joint is None else _text(tree_joint, "parent", "world")
            at = poses[body.name].seen_from(poses.get(parent, _Pose(np.eye(3), np.zeros(3))))
            body.pos, body.quat = at.p, _quaternion(at.R)
            if tree_joint is not None:
                _add_joint(body, tree_joint, poses[body.name], path, result.speeds)
            elif _text(model, "static", "0").lower() not in _TRUE:
                body.add_freejoint(name="root")
    for joint in loop_joints:
        _close(joint, poses, path, result)
    return result


def _refuse_other_frames(model: Element, path: Path) -> None:
    for element in model.iter():
        named = element.get("relative_to") or element.get("frame")
        if named or element.tag in ("include", "frame") or element.find("model") is not None:
            raise ModelFileError(
                f"{path}: <{element.tag}> uses other frames or models, which is not supported. "
                "Give poses of links in the model and of joints in their child, as SDF 1.6 does by default."
            )


def _sort_joints(model: Element, path: Path, poses: Mapping[str, _Pose]) -> tuple[dict[str, Element], list[Element]]:
    """Return the tree joint of each link, and the joints that close loops."""
    tree_joints: dict[str, Element] = {}
    loop_joints = []
    for joint in model.findall("joint"):
        name, kind, child = joint.get("name"), joint.get("type"), _text(joint, "child", "")
        if kind not in _TYPES:
            raise ModelFileError(f"{path}: joint {name!r} has the type {kind!r}. Valid: {', '.join(_TYPES)}.")
        for end in (child, _text(joint, "parent", "")):
            if end not in poses and end != "world":
                raise ModelFileError(f"{path}: joint {name!r} connects {end!r}, which is not a link. Valid: {', '.join(poses)}.")
        if child in tree_joints or child == "world":
            loop_joints.append(joint)
        else:
            tree_joints[child] = joint
    return tree_joints, loop_joints


def _robot(model: Element, tree_joints: Mapping[str, Element], path: Path) -> Element:
    """Return the links and joints as URDF, with all joints fixed."""
    robot = Element("robot", name=model.get("name", ""))
    for link in model.findall("link"):
        new = SubElement(robot, "link", name=link.get("name", ""))
        inertial = link.find("inertial")
        if inertial is not None:
            there = SubElement(new, "inertial")
            _origin(there, inertial, path)
            SubElement(there, "mass", value=_text(inertial, "mass", "1"))
            tensor = {
                key: _text(inertial, f"inertia/{key}", "1" if key[1] == key[2] else "0")
                for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
            }
            SubElement(there, "inertia", tensor)
        for shape in [s for s in link if s.tag in ("visual", "collision")]:
            geometry = _geometry(shape)
            if geometry is not None:
                there = SubElement(new, shape.tag, name=shape.get("name", ""))
                if shape.tag == "collision":
                    there.set(_BITMASK, _bitmask(shape, path))
                _origin(there, shape, path)
                SubElement(there, "geometry").append(geometry)
    if any(_text(joint, "parent", "") == "world" for joint in tree_joints.values()):
        SubElement(robot, "link", name="world")
    for child, joint in tree_joints.items():
        new = SubElement(robot, "joint", name=joint.get("name", ""), type="fixed")
        SubElement(new, "parent", link=_text(joint, "parent", ""))
        SubElement(new, "child", link=child)
    return robot


def _set_collision_bits(robot: Element, spec: Any) -> None:
    """Set the bits of the geoms: in SDF two shapes collide if their masks have a common bit."""
    for link in robot.findall("link"):
        masks = [int(shape.get(_BITMASK, "")) for shape in link.findall("collision")]
        geoms = [geom for geom in spec.body(link.get("name")).geoms if geom.contype or geom.conaffinity]
        for geom, mask in zip(geoms, masks, strict=True):
            geom.contype = geom.conaffinity = mask


def _bitmask(shape: Element, path: Path) -> str:
    text = _text(shape, f"surface/contact/{_BITMASK}", "65535")  # the default of SDF: it collides with all
    try:
        mask = int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        mask = -1
    if not 0 <= mask < 2**31:
        raise ModelFileError(f"{path}: {_BITMASK} of {shape.get('name')!r}: expected a whole number from 0 to 0x7fffffff, got {text!r}.")
    return str(mask)


def _geometry(shape: Element) -> Element | None:
    geometry = shape.find("geometry")
    solid = None if geometry is None else next(iter(geometry), None)
    if solid is None:
        return None
    values = {child.tag: " ".join((child.text or "").split()) for child in solid}
    if solid.tag == "mesh":
        return Element("mesh", filename=values.get("uri", ""), scale=values.get("scale", "1 1 1"))
    return Element(solid.tag, values) if solid.tag in ("box", "cylinder", "sphere") else None


def _add_joint(body: Any, joint: Element, link: _Pose, path: Path, speeds: dict[str, float]) -> None:
    type_ = _TYPES[joint.get("type", "")]
    if type_ is None:
        return
    frame = _pose(joint, path)
    where = f"{path}: joint {joint.get('name')!r}"

    def number(key: str, default: float) -> float:
        return float(_numbers(_text(joint, f"axis/{key}", str(default)), 1, where)[0])

    new: dict[str, Any] = {"name": joint.get("name"), "type": type_, "pos": frame.p}
    new["damping"] = number("dynamics/damping", 0.0)
    if joint.get("type") != "ball":
        of_model = _text(joint, "axis/use_parent_model_frame", "0").lower() in _TRUE
        new["axis"] = (link.R.T if of_model else frame.R) @ _numbers(_text(joint, "axis/xyz", "0 0 1"), 3, where)
        new |= {"frictionloss": number("dynamics/friction", 0.0), "stiffness": number("dynamics/spring_stiffness", 0.0)}
        new["springref"] = number("dynamics/spring_reference", 0.0)
        lower, upper, effort = number("limit/lower", -np.inf), number("limit/upper", np.inf), number("limit/effort", -1.0)
        if max(-lower, upper) < _ENDLESS and joint.get("type") != "continuous":
            new |= {"range": (lower, upper), "limited": True}
        if 0 < effort < _ENDLESS:
            new |= {"actfrcrange": (-effort, effort), "actfrclimited": True}
        if 0 < (speed := number("limit/velocity", -1.0)) < _ENDLESS:
            speeds[joint.get("name", "")] = speed
    body.add_joint(**new)


def _close(joint: Element, poses: Mapping[str, _Pose], path: Path, result: MujocoSource) -> None:
    """Add a loop closure: the joint frame in the child coincides with its pose in the parent in the reference configuration."""
    name, kind, first, second = joint.get("name", ""), joint.get("type"), _text(joint, "parent", ""), _text(joint, "child", "")
    if kind not in ("ball", "fixed"):
        result.notes.add("joints that close a loop and are neither ball nor fixed (left out)", name)
        return
    here, world = _pose(joint, path), _Pose(np.eye(3), np.zeros(3))
    child = poses.get(second, world)
    there = _Pose(child.R @ here.R, child.p + child.R @ here.p).seen_from(poses.get(first, world))
    result.loops.append(
        {"name": name, "joint": Spherical() if kind == "ball" else Fixed(), "first": first, "second": second, "first_at": there.p,
         "first_rotation": there.R, "second_at": here.p, "second_rotation": here.R}
    )  # fmt: skip


def _origin(new: Element, old: Element, path: Path) -> None:
    six = _numbers(_text(old, "pose", "0 0 0 0 0 0"), 6, f"{path}: a pose")
    SubElement(new, "origin", xyz=" ".join(map(repr, six[:3].tolist())), rpy=" ".join(map(repr, six[3:].tolist())))


def _pose(element: Element, path: Path) -> _Pose:
    six = _numbers(_text(element, "pose", "0 0 0 0 0 0"), 6, f"{path}: pose of {element.get('name')!r}")
    return _Pose(rotation_from_rpy(*six[3:]), six[:3])


def _numbers(text: str, count: int, where: str) -> Array:
    try:
        values = np.array([float(x) for x in text.split()])
    except ValueError:
        values = np.zeros(0)
    if values.shape != (count,) or np.isnan(values).any():
        raise ModelFileError(f"{where}: expected {count} number{'s' * (count > 1)}, got {text!r}.")
    return values


def _text(element: Element, tag: str, default: str) -> str:
    text = element.findtext(tag)
    return default if text is None else text.strip()


def _quaternion(R: Array) -> Array:
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(R).ravel())
    return quaternion
