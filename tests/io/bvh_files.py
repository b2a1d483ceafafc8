"""BVH files for tests: text of a hierarchy with given channels and rows, and of a walking person."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from brachiate.clip.clip import Clip, Origin

ORDERS = ["".join(order) for order in permutations("xyz")]
CHANNEL = {**{x: f"{x}position" for x in "XYZ"}, **{x: f"{x.upper()}rotation" for x in "xyz"}}
#: A person of 1.75 m, y up, facing z: name, parent, offset [m]. Joints without children have a tip.
PERSON = (
    ("Hips", "", (0.0, 0.0, 0.0)),
    ("Spine", "Hips", (0.0, 0.11, 0.0)),
    ("Neck", "Spine", (0.0, 0.41, 0.0)),
    ("Head", "Neck", (0.0, 0.1, 0.01)),
    *((f"{side}{name}", f"{side}{parent}" if parent not in ("Hips", "Spine") else parent, (sign * x, y, z))
      for side, sign in (("Left", 1), ("Right", -1))
      for name, parent, (x, y, z) in (
          ("UpLeg", "Hips", (0.09, -0.03, 0.0)), ("Leg", "UpLeg", (0.0, -0.43, 0.0)), ("Foot", "Leg", (0.0, -0.42, 0.0)),
          ("ToeBase", "Foot", (0.0, -0.06, 0.13)), ("Arm", "Spine", (0.18, 0.36, 0.0)), ("ForeArm", "Arm", (0.28, 0.0, 0.0)),
          ("Hand", "ForeArm", (0.25, 0.0, 0.0)),
      )),
)  # fmt: skip


def origin(clip: Clip) -> Origin:
    """Conventions of the clip's file."""
    assert clip.origin is not None
    return clip.origin


def hierarchy(joints, channels, tip=(0.0, 0.1, 0.0)):
    """Lines of the hierarchy; ``channels`` by joint name, with the letters of this package."""

    def lines(name, offset, indent):
        children = [(n, x) for n, parent, x in joints if parent == name]
        yield f"{indent}{'JOINT' if indent else 'ROOT'} {name}"
        yield f"{indent}{{"
        yield f"{indent}  OFFSET " + " ".join(f"{x:.9g}" for x in offset)
        yield f"{indent}  CHANNELS {len(channels[name])} " + " ".join(CHANNEL[c] for c in channels[name])
        for child, at in children:
            yield from lines(child, at, indent + "  ")
        if not children:
            yield from (f"{indent}  End Site", f"{indent}  {{", f"{indent}    OFFSET " + " ".join(f"{x:.9g}" for x in tip), f"{indent}  }}")
        yield f"{indent}}}"

    name, _, offset = joints[0]
    return ["HIERARCHY", *lines(name, offset, "")]


def bvh(joints, channels, rows, dt=0.01, count=None):
    """Text of a file."""
    count = len(rows) if count is None else count
    numbers = [" ".join(f"{x:.15g}" for x in row) for row in rows]
    return "\n".join([*hierarchy(joints, channels), "MOTION", f"Frames: {count}", f"Frame Time: {dt}", *numbers]) + "\n"


def person(scale=1.0, up="y", frames=30, rest=False, swing=20.0):
    """File of a person walking on the spot, with or without a T-pose in the first frame."""
    axes = {"y": (0, 1, 2), "z": (2, 0, 1), "x": (1, 2, 0)}[up]
    joints = [(name, parent, scale * np.array(offset)[list(axes)]) for name, parent, offset in PERSON]
    channels = {name: "zxy" if parent else "XYZzxy" for name, parent, _ in PERSON}
    t = np.linspace(0.0, 2 * np.pi, frames)[:, None]
    phases = np.random.default_rng(5).uniform(0, 6, 3 * len(PERSON))
    rows = np.hstack((np.zeros((frames, 3)), swing * np.sin(t + phases)))
    rows[:, :3] = scale * np.array((0.0, 0.94, 0.0))[list(axes)]
    if rest:
        rows = np.vstack((np.hstack((rows[0, :3], np.zeros(rows.shape[1] - 3))), rows))
    return bvh(joints, channels, rows)


def two_joints(rows=((0,) * 9,), **more):
    """File of two joints."""
    return bvh([("a", "", (0, 0, 0)), ("b", "a", (0, 2, 0))], {"a": "XYZzxy", "b": "zxy"}, rows, **more)
