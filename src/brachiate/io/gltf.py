"""glTF 2.0: a clip as nodes with their animation, and a skin of shapes along the bones."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from brachiate import rotations
from brachiate.clip.clip import Clip
from brachiate.clip.skeleton import Skeleton
from brachiate.clip.units_and_axes import from_z_up, to_z_up
from brachiate.errors import ArgumentError, MotionError
from brachiate.io.atomic import write_bytes, write_text
from brachiate.model.shapes import Capsule, Shape, Sphere
from brachiate.validation import Array

#: Rotation from our axes (x forward, z up) to those of glTF (z forward, y up), as (x, y, z, w).
UPRIGHT = (-0.5, -0.5, -0.5, 0.5)
SHARE, THINNEST, THICKEST = 0.15, 0.008, 0.06  # radius of a capsule relative to its length, and its range [m]
CREASE = 0.6  # cosine of the angle between faces beyond which their edge is sharp
FINENESS = 6
TRANSLATION_TOLERANCE = 1e-7  # [m] translations below are not animated
_FLOAT, _SHORT, _INT = 5126, 5123, 5125
_KINDS = {_FLOAT: "<f4", _SHORT: "<u2", _INT: "<u4"}
_VERTICES, _INDICES = 34962, 34963  # targets of buffer views


def write_gltf(
    clip: Clip, path: str | PathLike[str], *, bodies: Sequence[tuple[str, Shape]] | None = None, name: str | None = None
) -> None:
    """Write a clip as a ``.glb`` file, or as a self-contained ``.gltf`` file.

    Every joint is a node of its own name, in z-up axes below one node that rotates them to y up. The bind pose of the skin is the rest
    pose of the skeleton, at the position where the clip begins.

    Args:
        clip: The motion.
        path: The file; its suffix selects the format.
        bodies: Names of joints and shapes in joint axes; by default capsules along the bones.
        name: Name of the figure; by default that of the clip.
    """
    path = Path(path)
    if path.suffix.lower() not in (".glb", ".gltf"):
        raise ArgumentError(f"{path}: a file that ends in .glb or .gltf was expected.")
    tree, data = _document(clip, bodies, name or clip.name)
    if path.suffix.lower() == ".glb":
        write_bytes(path, _glb(tree, data), "the motion")
    else:
        tree["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
        write_text(path, json.dumps(tree, allow_nan=False), "the motion")


def bones(skeleton: Skeleton) -> list[tuple[str, Shape]]:
    """Capsules from every joint to its children and limb tips, with the name of the joint."""
    reaches = [(p, skeleton.offsets[j]) for j, p in enumerate(skeleton.parents) if p >= 0]
    reaches += [(end.joint, np.asarray(end.offset)) for end in skeleton.ends]
    found: list[tuple[str, Shape]] = []
    for joint, reach in reaches:
        length = float(np.linalg.norm(reach))
        if length > 1e-6:
            radius = min(max(SHARE * length, THINNEST), THICKEST, 0.5 * length)
            found.append((skeleton.names[joint], Capsule.between(np.zeros(3), reach, radius)))
    return found or [(skeleton.names[0], Sphere(radius=THICKEST))]


class _Buffer:
    """Binary buffer of a file: arrays aligned to four bytes, with their views and accessors."""

    def __init__(self) -> None:
        self.bytes = bytearray()
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []

    def put(self, array: Array, kind: int, target: int | None = None, *, bounds: bool = False) -> int:
        """Append an array; return the index of its accessor."""
        data = np.ascontiguousarray(array, _KINDS[kind])
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(self.bytes), "byteLength": data.nbytes}
        if target is not None:
            view["target"] = target
        width = data.size // len(data)
        accessor: dict[str, Any] = {"bufferView": len(self.views), "componentType": kind, "count": len(data)}
        accessor["type"] = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}[width]
        if bounds:
            rows = data.reshape(len(data), width)
            accessor |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        self.bytes += data.tobytes() + bytes(-data.nbytes % 4)
        self.views.append(view)
        self.accessors.append(accessor)
        return len(self.accessors) - 1


def _document(clip: Clip, bodies: Sequence[tuple[str, Shape]] | None, name: str) -> tuple[dict[str, Any], bytes]:
    """JSON document and binary buffer of a file.

    Nodes are the joints in their order, then the one that rotates them to y up, then the one with the skin: a root of the scene, as the
    transform of a skinned mesh is that of its joints.
    """
    skeleton, buffer = clip.skeleton, _Buffer()
    n = len(skeleton)
    offsets = skeleton.offsets.copy()
    offsets[0] = clip.translations[0, 0]
    nodes: list[dict[str, Any]] = []
    for j, joint in enumerate(skeleton.names):
        node: dict[str, Any] = {"name": joint, "translation": offsets[j].tolist()}
        if skeleton.children[j]:
            node["children"] = list(skeleton.children[j])
        nodes.append(node)
    nodes += [{"name": name, "rotation": list(UPRIGHT), "children": [0]}, {"name": f"{name} skin", "mesh": 0, "skin": 0}]
    rest = from_z_up(offsets[0] + skeleton.rest, "y")
    inverse = np.zeros((n, 4, 4))  # column-major
    inverse[:, :3, :3] = to_z_up(np.eye(3), "y")
    inverse[:, 3, :3] = -(offsets[0] + skeleton.rest)
    inverse[:, 3, 3] = 1.0
    skin = {"joints": list(range(n)), "skeleton": n, "inverseBindMatrices": buffer.put(inverse.reshape(n, 16), _FLOAT)}
    tree = {
        "asset": {"version": "2.0", "generator": "brachiate"},
        "scene": 0,
        "scenes": [{"name": name, "nodes": [n, n + 1]}],
        "nodes": nodes,
        "meshes": [{"name": name, "primitives": [_primitive(_checked(skeleton, bodies), rest, buffer)]}],
        "skins": [skin],
        "materials": [
            {
                "name": "plain",
                "pbrMetallicRoughness": {"baseColorFactor": [0.72, 0.74, 0.78, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.7},
            }
        ],
        "animations": [_animation(clip, offsets, buffer)],
    }
    tree |= {"accessors": buffer.accessors, "bufferViews": buffer.views, "buffers": [{"byteLength": len(buffer.bytes)}]}
    return tree, bytes(buffer.bytes)


def _checked(skeleton: Skeleton, bodies: Sequence[tuple[str, Shape]] | None) -> list[tuple[int, Shape]]:
    pairs = bones(skeleton) if bodies is None else list(bodies)
    if not pairs:
        raise ArgumentError("bodies: one shape was expected at least. Leave bodies out for capsules along the bones.")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[1], Shape):
            raise ArgumentError(f"bodies: expected pairs of the name of a joint and a Shape, got {pair!r}.")
    return [(skeleton.index(joint), shape) for joint, shape in pairs]


def _primitive(bodies: list[tuple[int, Shape]], rest: Array, buffer: _Buffer) -> dict[str, Any]:
    """Mesh of all shapes in the bind pose, y up: every vertex is bound to one joint."""
    points, normals, joints, triangles, count = [], [], [], [], 0
    for joint, shape in bodies:
        where, out, corners = _with_sharp_edges(*shape.surface(FINENESS))
        points.append(rest[joint] + from_z_up(where, "y"))
        normals.append(from_z_up(out, "y"))
        joints.append(np.full(len(where), joint))
        triangles.append(corners + count)
        count += len(where)
    if not count:
        raise ArgumentError("bodies: none of the shapes has a surface.")
    joined = np.zeros((count, 4))
    joined[:, 0] = np.concatenate(joints)
    attributes = {
        "POSITION": buffer.put(np.concatenate(points), _FLOAT, _VERTICES, bounds=True),
        "NORMAL": buffer.put(np.concatenate(normals), _FLOAT, _VERTICES),
        "JOINTS_0": buffer.put(joined, _SHORT, _VERTICES),
        "WEIGHTS_0": buffer.put(np.tile((1.0, 0.0, 0.0, 0.0), (count, 1)), _FLOAT, _VERTICES),
    }
    return {"attributes": attributes, "indices": buffer.put(np.concatenate(triangles).ravel(), _INT, _INDICES), "material": 0}


def _with_sharp_edges(vertices: Array, triangles: Array) -> tuple[Array, Array, Array]:
    """Vertices, normals and triangles of a surface; vertices at sharp edges are duplicated for separate normals."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    size = np.linalg.norm(across, axis=1)
    kept = size > 1e-12 * max(float(size.max(initial=0.0)), 1e-300)
    triangles, across, size = triangles[kept], across[kept], size[kept]
    if not len(triangles):
        return np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3), int)
    faces = across / size[:, None]
    vertex, face = triangles.ravel(), np.repeat(np.arange(len(triangles)), 3)  # of every corner
    order, counts = np.argsort(vertex, kind="stable"), np.bincount(vertex)
    start = np.cumsum(counts) - counts
    # pairs of corners at the same vertex
    one = np.repeat(np.arange(len(vertex)), counts[vertex])
    within = np.arange(len(one)) - np.repeat(np.cumsum(counts[vertex]) - counts[vertex], counts[vertex])
    two = order[start[vertex[one]] + within]
    smooth = np.einsum("ij,ij->i", faces[face[one]], faces[face[two]]) > CREASE
    one, two = one[smooth], two[smooth]
    normals = np.stack([np.bincount(one, across[face[two], k], len(vertex)) for k in range(3)], axis=1)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    _, first, place = np.unique(np.column_stack((vertex, np.round(normals, 6))), axis=0, return_index=True, return_inverse=True)
    return vertices[vertex[first]], normals[first], place.reshape(-1, 3)


def _animation(clip: Clip, offsets: Array, buffer: _Buffer) -> dict[str, Any]:
    """Animation of the rotations of all joints, and of the translations that are not constant."""
    times = (clip.times - clip.times[0]).astype(np.float32)
    if (np.diff(times) <= 0).any():
        raise MotionError("Frames of this clip are too close to each other for the 24-bit times of glTF. Write a part of it.")
    lengths = np.linalg.norm(clip.rotations, axis=-1, keepdims=True)
    if lengths.min() < 1e-6:
        frame, joint = np.argwhere(lengths[..., 0] < 1e-6)[0]
        raise MotionError(f"Joint {clip.skeleton.names[joint]!r} has a zero quaternion in frame {frame}.")
    q = np.roll(rotations.unwrap(clip.rotations / lengths), -1, axis=-1)
    clock = buffer.put(times, _FLOAT, bounds=True)
    samplers: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []

    def add(joint: int, what: str, values: Array) -> None:
        channels.append({"sampler": len(samplers), "target": {"node": joint, "path": what}})
        samplers.append({"input": clock, "output": buffer.put(values, _FLOAT), "interpolation": "LINEAR"})

    for j in range(len(clip.skeleton)):
        add(j, "rotation", q[:, j])
        if np.abs(clip.translations[:, j] - offsets[j]).max() > TRANSLATION_TOLERANCE:
            add(j, "translation", clip.translations[:, j])
    return {"name": clip.name, "samplers": samplers, "channels": channels}


def _glb(tree: dict[str, Any], data: bytes) -> bytes:
    """Binary glTF: a header, a JSON chunk padded with blanks, and a binary chunk padded with zeros."""
    text = json.dumps(tree, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    data += bytes(-len(data) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(data), 0x004E4942) + data
    return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks
