"""Conversion of models to Pinocchio, for comparison."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate import Model
from brachiate.model.joints import BALL, FLOAT, SLIDE, TURN
from brachiate.model.link import Link
from brachiate.validation import Array

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed (pip install brachiate[peers])")

GRAVITY = np.array([0.7, -1.3, -9.0])  # oblique, so that a missing component shows


class Peer:
    """The same model in Pinocchio, and the indices of our coordinates there.

    A joint of several elements becomes several joints with massless bodies between. Pinocchio requires the joints of a subtree to be
    consecutive (else its mass matrix is silently wrong), so links are added depth first, which is not our order.
    """

    def __init__(self, model: Model) -> None:
        self.model = pin.Model()
        self.model.gravity.linear = GRAVITY
        self.v_at = np.zeros(model.nv, int)
        self._quaternions: list[tuple[int, int]] = []
        self._numbers: list[tuple[int, int]] = []
        self.frames: dict[str, int] = {}
        children: dict[str | None, list[Link]] = {}
        for link in model.links.values():
            children.setdefault(link.parent, []).append(link)
        waiting = [(link, 0, pin.SE3.Identity()) for link in reversed(children.get(None, []))]
        while waiting:
            link, joint, place = waiting.pop()
            joint, place = self._add(model, link, joint, place)
            waiting += [(child, joint, place) for child in reversed(children.get(link.name, []))]
        self.data = self.model.createData()

    def _add(self, model: Model, link: Link, joint: int, place: pin.SE3) -> tuple[int, pin.SE3]:
        """Add a link; return its joint and the pose of the link in that joint's frame."""
        place = place * pin.SE3(link.rotation, link.position)
        if link.joint.nv:
            joined = model.joints[link.joint_name]
            q, v = joined.q.start, joined.v.start
            for n, e in enumerate(link.joint.elements):
                kind = {
                    TURN: lambda e=e: pin.JointModelRevoluteUnaligned(e.axis),
                    SLIDE: lambda e=e: pin.JointModelPrismaticUnaligned(e.axis),
                    BALL: pin.JointModelSpherical,
                    FLOAT: pin.JointModelFreeFlyer,
                }[e.kind]()
                joint = self.model.addJoint(joint, kind, place * pin.SE3(np.eye(3), e.anchor), f"{link.name}.{n}")
                place = pin.SE3(np.eye(3), -e.anchor)
                q, v = self._number(joint, e.kind, q, v, link.joint.armature[v - joined.v.start :])
        self.model.appendBodyToJoint(joint, pin.Inertia(link.mass, link.center, link.inertia), place)
        self.frames[link.name] = self.model.addFrame(pin.Frame(link.name, joint, 0, place, pin.FrameType.OP_FRAME))
        return joint, place

    def _number(self, joint: int, kind: int, q: int, v: int, armature: Array) -> tuple[int, int]:
        theirs = self.model.joints[joint]
        self.v_at[v : v + theirs.nv] = range(theirs.idx_v, theirs.idx_v + theirs.nv)
        changed = self.model.armature.copy()
        changed[theirs.idx_v : theirs.idx_v + theirs.nv] = armature[: theirs.nv]
        self.model.armature = changed
        position = 3 if kind == FLOAT else 1 if kind in (TURN, SLIDE) else 0
        self._numbers += [(q + i, theirs.idx_q + i) for i in range(position)]
        if kind in (BALL, FLOAT):
            self._quaternions.append((q + position, theirs.idx_q + position))
        return q + theirs.nq, v + theirs.nv

    def q(self, ours: Array) -> Array:
        result = np.zeros(self.model.nq)
        for at, to in self._numbers:
            result[to] = ours[at]
        for at, to in self._quaternions:
            result[to : to + 4] = np.roll(ours[at : at + 4], -1)  # theirs: x, y, z, w
        return result

    def v(self, ours: Array) -> Array:
        result = np.zeros(self.model.nv)
        result[self.v_at] = ours
        return result
