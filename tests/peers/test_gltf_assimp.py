"""glTF files read by Assimp: joint positions of every frame are those of the clip, and the skin is bound to them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import brachiate as br
from brachiate import rotations

# installed with Pinocchio
PREFIX = next((Path(folder) / "cmeel.prefix" for folder in sys.path if (Path(folder) / "cmeel.prefix/bin/assimp").is_file()), None)
pytestmark = pytest.mark.skipif(PREFIX is None, reason="Assimp is not installed; the package pin brings it along")
CLOSE = 5e-6  # [m]: the dump has six digits


def dumped(path: Path) -> ElementTree.Element:
    """Complete dump of a file by Assimp."""
    assert PREFIX is not None
    out = path.with_suffix(".assxml")
    env = os.environ | {"LD_LIBRARY_PATH": str(PREFIX / "lib")}
    done = subprocess.run([PREFIX / "bin/assimp", "dump", path, out], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return ElementTree.fromstring(out.read_text())


def numbers(element):
    return np.array((element.text or "").split(), float)


def keys(channel, kind):
    rows = channel.findall(f"{kind}KeyList/{kind}Key")
    return np.array([float(row.get("time")) for row in rows]), np.array([numbers(row) for row in rows])


def joints(node, above, channels, frame, found):
    """World matrices of all nodes at a frame, by name."""
    name = node.get("name")
    local = numbers(node.find("Matrix4")).reshape(4, 4)
    if name in channels:
        _, positions = keys(channels[name], "Position")
        _, spins = keys(channels[name], "Rotation")
        local = np.eye(4)
        local[:3, 3] = positions[min(frame, len(positions) - 1)]
        # Its quaternions have w first in memory, and its dump writes x y z w.
        local[:3, :3] = rotations.to_matrix(np.roll(spins[min(frame, len(spins) - 1)], 1))
    found[name] = above @ local
    for child in node.findall("NodeList/Node"):
        joints(child, found[name], channels, frame, found)
    return found


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
@pytest.mark.parametrize("move", ["walk", "hang"])
def test_joint_positions_are_those_of_the_clip(tmp_path, move, suffix):
    motion = br.procedural.sample_motion(move, seconds=1.0, rate=30.0)
    clip = motion.clip
    assert clip is not None
    path = motion.save(tmp_path / f"{move}{suffix}")
    scene = dumped(path)
    (animation,) = scene.iter("Animation")
    assert float(animation.get("duration")) / float(animation.get("tick_cnt")) == pytest.approx(clip.duration, abs=1e-4)
    channels = {channel.get("node"): channel for channel in animation.iter("NodeAnim")}
    for frame in (0, 7, 30):
        found = joints(next(scene.iter("Node")), np.eye(4), channels, frame, {})
        for j, name in enumerate(clip.skeleton.names):
            x, y, z = clip.positions[frame, j]
            assert found[name][:3, 3] == pytest.approx((y, z, x), abs=CLOSE * len(clip.skeleton.chain(j)))  # y is up, z is forward
    (mesh,) = scene.iter("Mesh")
    bound = {bone.get("name") for bone in mesh.iter("Bone")}
    assert bound <= set(clip.skeleton.names)
    assert {"Hips", "Head", "LeftFoot", "RightHand"} <= bound
