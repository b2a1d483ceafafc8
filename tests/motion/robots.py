"""A small robot with legs and a telescopic arm, and motions of it that are known functions of time."""

from __future__ import annotations

import numpy as np

import brachiate as br
from brachiate import rotations
from brachiate.motion.motion import Motion


def robot(anchored: bool = False) -> br.Model:
    """Branching legs, rotated and fixed links, a prismatic joint; ``anchored``: with a hinge off its link's origin."""
    b = br.ModelBuilder("robot")
    solid = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    b.link("base", joint=br.Free(), joint_name="root", shapes=[br.Box(size=(0.2, 0.3, 0.4))], **solid)
    for side, s in (("left", 1.0), ("right", -1.0)):
        b.link(
            f"{side}_thigh", parent="base", joint=br.Revolute("y"), joint_name=f"{side}_hip", at=(0, s * 0.1, -0.2),
            rotation=(np.cos(0.3), np.sin(0.3), 0, 0), center=(0, 0, -0.2), shapes=[br.Capsule(radius=0.05, length=0.3)], **solid,
        )  # fmt: skip
        b.link(f"{side}_shank", parent=f"{side}_thigh", joint=br.Revolute("y"), joint_name=f"{side}_knee", at=(0, 0, -0.4), **solid)
        b.link(f"{side}_sole", parent=f"{side}_shank", joint=br.Fixed(), at=(0.05, 0, -0.4), rotation=(0.8, 0, 0.6, 0))
    anchor = {"anchor": (0.0, 0.1, 0.0)} if anchored else {}
    b.link("arm", parent="base", joint=br.Revolute((1, 1, 0), **anchor), joint_name="shoulder", at=(0.1, 0, 0.3), **solid)
    b.link("rod", parent="arm", joint=br.Prismatic("x"), joint_name="reach", at=(0.3, 0, 0), center=(0.1, 0, 0), **solid)
    return b.build()


def at_times(model: br.Model, t: np.ndarray) -> np.ndarray:
    """Smooth configurations: each coordinate is a sine."""
    q = np.tile(model.neutral, (len(t), 1))
    columns = list(model.scalar_coordinates.values())
    q[:, columns] = 0.4 * np.sin(np.outer(t, 1.0 + 0.3 * np.arange(len(columns))) + np.arange(len(columns)))
    balls = [(link.joint_name, link.joint.nq) for link in model.links.values() if link.joint.nq in (4, 7)]
    for k, (name, width) in enumerate(balls):
        place = model.joints[name].q
        vector = np.stack([0.7 * np.sin((0.8 + 0.2 * k + 0.1 * c) * t + c) for c in range(3)], axis=1)
        q[:, place.stop - 4 : place.stop] = rotations.from_rotation_vector(vector)
        if width == 7:
            q[:, place.start : place.start + 3] = np.stack((0.5 * t, np.sin(t), 0.9 + 0.05 * np.cos(3 * t)), axis=1)
    return q


def moving(model: br.Model | None = None, rate: float = 60.0, seconds: float = 2.0) -> Motion:
    """Motion along these sines."""
    model = model or robot()
    t = np.arange(round(seconds * rate) + 1) / rate
    return Motion(model, t, at_times(model, t), "moving")


def swaying(model: br.Model, frames: int = 20) -> Motion:
    """Random motion about the neutral posture, at 30 Hz."""
    random = np.random.default_rng(0)
    q = np.tile(model.neutral, (frames, 1)) + 0.1 * random.normal(size=(frames, model.nq))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1)[:, None]
    return Motion(model, np.arange(frames) / 30, q, "sway")
