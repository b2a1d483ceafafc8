"""glTF files: read back by an independent reader of the specification that evaluates animation and skinning."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import numpy as np
import pytest

import brachiate as br
from brachiate import rotations
from brachiate.clip.clip import Clip
from brachiate.clip.skeleton import End, Skeleton
from brachiate.clip.units_and_axes import normalize_clip
from brachiate.errors import ArgumentError, MotionError, UnknownName
from brachiate.io.bvh import read_bvh
from brachiate.io.gltf import bones, write_gltf

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "cmu"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"recordings to try on are not there: {DATA}")
NUMBERS = {5121: np.dtype("u1"), 5123: np.dtype("<u2"), 5125: np.dtype("<u4"), 5126: np.dtype("<f4")}
SIZE = np.array([0.1, 0.2, 0.3])
WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}


def made(skeleton, times, q, positions, name="clip"):
    """Clip from lists or arrays."""
    return Clip(skeleton, times, q, positions, name)


class Scene:
    """glTF file, validated while it is read."""

    def __init__(self, path):
        if path.suffix == ".glb":
            data = path.read_bytes()
            magic, version, length = struct.unpack_from("<4sII", data)
            assert (magic, version, length) == (b"glTF", 2, len(data))
            size, kind = struct.unpack_from("<I4s", data, 12)
            assert (kind, size % 4) == (b"JSON", 0)
            self.tree = json.loads(data[20 : 20 + size])
            more, kind = struct.unpack_from("<I4s", data, 20 + size)
            assert (kind, more % 4, 28 + size + more) == (b"BIN\0", 0, len(data))
            self.bytes = data[28 + size :]
        else:
            self.tree = json.loads(path.read_text())
            head, _, text = self.tree["buffers"][0]["uri"].partition(",")
            assert head == "data:application/octet-stream;base64"
            self.bytes = base64.b64decode(text)
        assert self.tree["asset"]["version"] == "2.0"
        assert 0 <= len(self.bytes) - self.tree["buffers"][0]["byteLength"] < 4
        self.nodes = self.tree["nodes"]
        self.parents = {child: k for k, node in enumerate(self.nodes) for child in node.get("children", ())}

    def numbers(self, which):
        accessor = self.tree["accessors"][which]
        view = self.tree["bufferViews"][accessor["bufferView"]]
        kind, width = NUMBERS[accessor["componentType"]], WIDTHS[accessor["type"]]
        assert view["byteOffset"] % 4 == 0
        assert "byteStride" not in view
        assert accessor["count"] * width * kind.itemsize == view["byteLength"]
        rows = np.frombuffer(self.bytes, kind, accessor["count"] * width, view["byteOffset"]).reshape(-1, width)
        if "min" in accessor:
            assert accessor["min"] == rows.min(axis=0).tolist()
            assert accessor["max"] == rows.max(axis=0).tolist()
        return rows

    def local(self, node, values):
        """Local matrix of a node; ``values``: animated properties by path."""
        found = self.nodes[node]
        matrix = np.eye(4)
        x, y, z, w = values.get("rotation", found.get("rotation", (0, 0, 0, 1)))
        K = np.array([(0, -z, y), (z, 0, -x), (-y, x, 0)])
        assert x * x + y * y + z * z + w * w == pytest.approx(1, abs=1e-6)
        matrix[:3, :3] = np.eye(3) + 2 * w * K + 2 * K @ K
        matrix[:3, 3] = values.get("translation", found.get("translation", (0, 0, 0)))
        return matrix

    def play(self, time):
        """World matrices of all nodes at a time."""
        (animation,) = self.tree["animations"]
        values = {k: {} for k in range(len(self.nodes))}
        for channel in animation["channels"]:
            sampler = animation["samplers"][channel["sampler"]]
            clock, keys = self.numbers(sampler["input"])[:, 0], self.numbers(sampler["output"])
            assert sampler["interpolation"] == "LINEAR"
            k = int(np.clip(np.searchsorted(clock, time, side="right") - 1, 0, max(len(clock) - 2, 0)))
            share = np.clip((time - clock[k]) / (clock[k + 1] - clock[k]), 0, 1) if len(clock) > 1 else 0.0
            value = (1 - share) * keys[k].astype(float) + share * keys[min(k + 1, len(keys) - 1)]
            path = channel["target"]["path"]
            values[channel["target"]["node"]][path] = value / np.linalg.norm(value) if path == "rotation" else value
        return self.world(values)

    def world(self, values=None):
        found = {}

        def of(node):
            if node not in found:
                matrix = self.local(node, (values or {}).get(node, {}))
                found[node] = of(self.parents[node]) @ matrix if node in self.parents else matrix
            return found[node]

        return np.array([of(k) for k in range(len(self.nodes))])

    def skin(self, world):
        """Skinned vertices of the mesh in the world."""
        (skin,), (mesh,) = self.tree["skins"], self.tree["meshes"]
        (primitive,) = mesh["primitives"]
        part = {name: self.numbers(k) for name, k in primitive["attributes"].items()}
        inverse = self.numbers(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
        bent = world[skin["joints"]] @ inverse
        points = np.column_stack((part["POSITION"], np.ones(len(part["POSITION"]))))
        mixed = np.einsum("vk,vkij->vij", part["WEIGHTS_0"], bent[part["JOINTS_0"]])
        return np.einsum("vij,vj->vi", mixed, points)[:, :3]

    def surface(self):
        """Vertices, normals, joints and triangles of the mesh in the file."""
        primitive = self.tree["meshes"][0]["primitives"][0]
        part = {name: self.numbers(k) for name, k in primitive["attributes"].items()}
        return part["POSITION"], part["NORMAL"], part["JOINTS_0"], self.numbers(primitive["indices"]).reshape(-1, 3)


def upright(v):
    """Our vectors in glTF's axes: left is x, up is y, forward is z."""
    return np.stack((v[..., 1], v[..., 2], v[..., 0]), axis=-1)


def random_clip(seed=0, n=9, f=25, moving=True):
    random = np.random.default_rng(seed)
    parents = (-1, *(int(random.integers(k)) for k in range(1, n)))
    offsets = random.normal(size=(n, 3)) * 0.3
    skeleton = Skeleton(tuple(f"joint {k}" for k in range(n)), parents, offsets, (End(n - 1, np.array([0.1, 0.0, 0.0])),))
    steps = rotations.from_rotation_vector(random.normal(size=(f, n, 3)) * 0.3)
    q = [rotations.from_rotation_vector(random.normal(size=(n, 3)))]
    for step in steps[1:]:
        q.append(rotations.product(q[-1], step))
    q = np.array(q) * random.choice((-1, 1), size=(f, n, 1))  # signs of quaternions are arbitrary
    positions = np.broadcast_to(offsets, (f, n, 3)).copy()
    positions[:, 0] = np.cumsum(random.normal(size=(f, 3)) * 0.02, axis=0) + np.array([0, 0, 1])
    if moving:
        positions[:, n // 2] += random.normal(size=(f, 3)) * 0.01
    return made(skeleton, 3.0 + np.arange(f) / 60, q, positions, "random")


@pytest.fixture
def written(tmp_path):
    def written_(clip, suffix=".glb", **more):
        write_gltf(clip, tmp_path / f"a{suffix}", **more)
        return Scene(tmp_path / f"a{suffix}")

    return written_


# --- animation ----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
@pytest.mark.parametrize("seed", range(3))
def test_joint_positions_match_the_clip(written, seed, suffix):
    clip = random_clip(seed)
    scene = written(clip, suffix)
    assert [node["name"] for node in scene.nodes[: len(clip.skeleton)]] == list(clip.skeleton.names)
    for k in range(len(clip)):
        world = scene.play(clip.times[k] - clip.times[0])[: len(clip.skeleton)]
        assert world[:, :3, 3] == pytest.approx(upright(clip.positions[k]), abs=1e-5)
        R = rotations.to_matrix(clip.orientations[k])
        for i, axis in enumerate(np.eye(3)):
            assert np.einsum("jab,b->ja", world[:, :3, :3], axis) == pytest.approx(upright(R[..., i]), abs=1e-5)


def test_interpolation_takes_the_shortest_rotation(written):
    clip = random_clip(4, moving=False)
    scene = written(clip)
    rotations = [c for c in scene.tree["animations"][0]["channels"] if c["target"]["path"] == "rotation"]
    assert len(rotations) == len(clip.skeleton)
    for channel in rotations:
        keys = scene.numbers(scene.tree["animations"][0]["samplers"][channel["sampler"]]["output"])
        assert (np.einsum("ij,ij->i", keys[1:], keys[:-1]) > 0).all()
    middle = scene.play(0.5 / 60)[: len(clip.skeleton), :3, 3]
    ends = upright(clip.positions[:2])
    assert np.abs(middle - ends.mean(axis=0)).max() < np.abs(ends[1] - ends[0]).max()


def test_only_moving_translations_are_animated(written):
    clip = random_clip(5, moving=False)
    moved = [c["target"]["node"] for c in written(clip).tree["animations"][0]["channels"] if c["target"]["path"] == "translation"]
    assert moved == [0]
    clip = random_clip(5)
    moved = [c["target"]["node"] for c in written(clip).tree["animations"][0]["channels"] if c["target"]["path"] == "translation"]
    assert moved == [0, len(clip.skeleton) // 2]


def test_skin_follows_the_joints(written):
    clip = random_clip(6)
    shapes = [("joint 3", br.Box(size=SIZE, position=SIZE)), ("joint 8", br.Sphere(radius=0.1))]
    scene = written(clip, bodies=shapes)
    _, _, joints, _ = scene.surface()
    for k in (0, 7, 24):
        bent = scene.skin(scene.play(clip.times[k] - clip.times[0]))
        for name, shape in shapes:
            j = clip.skeleton.index(name)
            vertices, _ = shape.surface(6)
            expected = upright(clip.positions[k, j] + rotations.rotate(clip.orientations[k, j], vertices))
            vertices = bent[joints[:, 0] == j]
            away = np.linalg.norm(vertices[:, None] - expected, axis=-1)
            assert away.min(axis=1).max() < 1e-5  # every vertex is a vertex of the shape
            assert away.min(axis=0).max() < 1e-5  # and vice versa


def test_bind_pose_is_the_rest_pose(written):
    clip = random_clip(7)
    scene = written(clip)
    world = scene.world()
    rest = clip.translations[0, 0] + clip.skeleton.rest
    assert world[: len(clip.skeleton), :3, 3] == pytest.approx(upright(rest), abs=1e-6)
    assert scene.skin(world) == pytest.approx(scene.surface()[0], abs=1e-6)


# --- the mesh -----------------------------------------------------------------------------------


def volume(points, triangles):
    a, b, c = (points[triangles[:, k]].astype(float) for k in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6


@pytest.mark.parametrize(
    "shape",
    [br.Box(size=SIZE), br.Sphere(radius=0.1), br.Capsule(radius=0.1, length=0.3), br.Cylinder(radius=0.1, length=0.3)],
)
def test_normals_and_sharp_edges(written, shape):
    clip = random_clip(8, n=1)
    points, normals, joints, triangles = written(clip, bodies=[("joint 0", shape)]).surface()
    assert np.linalg.norm(normals, axis=1) == pytest.approx(np.ones(len(normals)), abs=1e-5)
    assert (joints == 0).all()
    vertices, faces = shape.surface(6)
    assert volume(points, triangles) == pytest.approx(volume(vertices, faces), rel=1e-4)
    assert volume(points, triangles) > 0
    a, b, c = (points[triangles[:, k]].astype(float) for k in range(3))
    across = np.cross(b - a, c - a)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    lean = np.einsum("ik,ijk->ij", across, normals[triangles])
    if shape.kind == "box":
        assert len(points) == 24
        assert lean == pytest.approx(np.ones_like(lean), abs=1e-5)
    elif shape.kind == "cylinder":
        assert lean.min() > 0.9  # rims are sharp
    else:
        assert len(points) == len(vertices)
        assert lean.min() > 0.85


def test_capsules_along_bones():
    skeleton = Skeleton(
        ("a", "b", "c", "d"), (-1, 0, 1, 1), np.array([(0, 0, 0), (0, 0, 1.0), (0, 0, 0), (0.01, 0, 0)]), (End(3, np.array([0, 0.2, 0])),)
    )
    found = bones(skeleton)
    assert [name for name, _ in found] == ["a", "b", "d"]  # none to c, which coincides with b
    shapes = [shape for _, shape in found if isinstance(shape, br.Capsule)]
    assert [shape.length for shape in shapes] == pytest.approx([1.0, 0.01, 0.2])
    assert [shape.radius for shape in shapes] == pytest.approx([0.06, 0.005, 0.03])
    assert shapes[2].position == pytest.approx([0, 0.1, 0])


def test_single_joint(written):
    clip = made(Skeleton(("a",), (-1,), np.zeros((1, 3))), [0.0], [[[1, 0, 0, 0]]], [[[1, 2, 3]]])
    scene = written(clip, name="ball")
    assert scene.play(0.0)[0, :3, 3] == pytest.approx([2, 3, 1])
    points = scene.surface()[0]
    assert points.mean(axis=0) == pytest.approx([2, 3, 1], abs=1e-5)
    assert scene.tree["scenes"][0]["name"] == "ball"


# --- invalid clips ------------------------------------------------------------------------------


def test_invalid_clips_are_refused(tmp_path):
    clip = random_clip(9)
    with pytest.raises(ArgumentError, match=r"a.obj: a file that ends in .glb or .gltf was expected"):
        write_gltf(clip, tmp_path / "a.obj")
    with pytest.raises(UnknownName, match=r"'joint 77' is not a joint of this skeleton. Did you mean 'joint 7'"):
        write_gltf(clip, tmp_path / "a.glb", bodies=[("joint 77", br.Sphere(radius=1))])
    with pytest.raises(ArgumentError, match="bodies: expected pairs of the name of a joint and a Shape"):
        write_gltf(clip, tmp_path / "a.glb", bodies=["joint 7"])  # pyright: ignore
    with pytest.raises(ArgumentError, match="bodies: one shape was expected at least"):
        write_gltf(clip, tmp_path / "a.glb", bodies=[])
    still = made(clip.skeleton, [0.0], np.zeros((1, 9, 4)), clip.translations[:1])
    with pytest.raises(MotionError, match="Joint 'joint 0' has a zero quaternion in frame 0"):
        write_gltf(still, tmp_path / "a.glb")
    dense = made(clip.skeleton, [0.0, 1e4, 1e4 + 1e-5], clip.rotations[:3], clip.translations[:3])
    with pytest.raises(MotionError, match="too close to each other"):
        write_gltf(dense, tmp_path / "a.glb")
    assert not (tmp_path / "a.glb").exists()


# --- recordings ---------------------------------------------------------------------------------


@needs_data
@pytest.mark.parametrize("name", ["07_01", "49_06"])
def test_recording_is_upright(written, name):
    clip = normalize_clip(read_bvh(DATA / f"{name}.bvh", frames=slice(0, 200)))
    scene = written(clip)
    for k in (0, len(clip) // 2, len(clip) - 1):
        world = scene.play(clip.times[k] - clip.times[0])
        assert world[: len(clip.skeleton), :3, 3] == pytest.approx(upright(clip.positions[k]), abs=1e-5)
    bent = scene.skin(scene.play(0.0))
    assert 1.3 < np.ptp(bent[:, 1]) < 2.0  # height of a person along y
