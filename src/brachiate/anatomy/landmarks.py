"""Anatomical landmarks of a figure: roles of links (pelvis, thigh, foot, chest, hand), joint centers of the limbs, and soles.

Roles follow from the words in the names of links and joints (``left_hip_pitch_link``, ``l_upper_leg``, ``arm_left_4_joint``), from the
kinematic tree where names say nothing, or from a map of the user. A joint center is where the axes of consecutive revolute joints
intersect, since link origins may be anywhere along them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from brachiate import validation
from brachiate.anatomy.sole import Sole, fit_sole
from brachiate.assumptions import Assumption
from brachiate.clip.joint_roles import LIMBS, SIDES, WORDS, split_name
from brachiate.errors import MotionError
from brachiate.kinematics_batch import BatchKinematics, Poses
from brachiate.model.joints import BALL, FLOAT, SLIDE, TURN, Free
from brachiate.model.link import Link
from brachiate.model.model import Model
from brachiate.validation import Array

LEG, ARM = ("hip", "knee", "ankle"), ("shoulder", "elbow", "wrist")
#: Roles that may be mapped to links: ``knee`` and ``elbow`` to the link below the joint, ``foot`` and ``hand`` to the last link.
MAPPABLE_ROLES = ("pelvis", "chest", "head", *(f"{side}_{part}" for side in SIDES for part in ("knee", "foot", "toe", "elbow", "hand")))
#: Words in names of robots that say nothing about the role of a link.
IGNORED_WORDS = {
    "link", "joint", "pitch", "roll", "yaw", "dh", "frame", "ft", "tool", "rubber", "base", "palm", "prosup", "motor", "body", "x", "y",
    "z", "fe", "aa", "ie", "pivot",
}  # fmt: skip
MAX_AXIS_DISTANCE = 0.05  # [m] of axes that belong to one joint, from their common center
MIN_LIMB_LENGTH = 0.02  # [m]


class BodyPoint(NamedTuple):
    """Point fixed to a body."""

    body: int  # body index
    position: Array  # (3,) [m] body axes


@dataclass(frozen=True)
class Landmarks:
    """Roles of links and landmarks of a figure.

    Args:
        model: Model of the figure.
        standing_q: Configuration of upright stance: (nq,).
        axes: Forward, left and upward direction in this configuration, as columns.
        points: Joint centers and hands, by role.
        bodies: Bodies with an anatomical orientation (pelvis, chest, head, feet, toes), by role.
        soles: Soles of the feet, by side.
        links: Names of links, by role.
        assumptions: Roles that were assumed, and parts that were not found.
    """

    model: Model
    standing_q: Array
    axes: Array
    points: Mapping[str, BodyPoint]
    bodies: Mapping[str, int]
    soles: Mapping[str, Sole]
    links: Mapping[str, str]
    assumptions: tuple[Assumption, ...] = field(default=(), compare=False)

    @property
    def all_bodies(self) -> set[int]:
        """Bodies that have landmarks."""
        return {point.body for point in self.points.values()} | set(self.bodies.values())

    def length(self, first: str, second: str, poses: Poses) -> float:
        """Distance between two landmarks in standing poses [m]."""
        a, b = (poses.point(*self.points[role])[0] for role in (first, second))
        return float(np.linalg.norm(a - b))


class _JointElement(NamedTuple):
    """Axis of one elementary joint of a chain, in the standing pose."""

    link: str
    kind: int
    axis: Array
    anchor: Array


def find_landmarks(model: Model, roles: Mapping[str, str] | None = None) -> Landmarks:
    """Find the landmarks of a figure.

    Args:
        model: Model with a floating base and two legs; arms and head are optional.
        roles: Names of links by role, where names and positions mislead: see :data:`MAPPABLE_ROLES`.

    Raises:
        MotionError: The figure has no floating base, or no legs were found.
    """
    roles = dict(roles or {})
    for role, name in roles.items():
        validation.one_of(role, MAPPABLE_ROLES, "role")
        validation.lookup(model.links, name, "link", f"figure {model.name!r}")
    if not any(isinstance(link.joint, Free) for link in model.links.values()):
        raise MotionError(f"Figure {model.name!r} has no floating base: it cannot move in space. Load it with floating_base=True.")
    return _LandmarkSearch(model, roles).find()


class _LandmarkSearch:
    """Search for the landmarks of one figure, in its standing pose."""

    def __init__(self, model: Model, roles: Mapping[str, str]) -> None:
        self.model, self.roles = model, roles
        self.standing_q = np.array(model.poses.get("stand", model.poses.get("reference", model.neutral)))
        self.poses = BatchKinematics(model).poses(self.standing_q[None], axes=True)
        self.chains = {name: self._chain(name) for name in model.links}
        self.roles_by_name = {name: _roles_of_link(link) for name, link in model.links.items()}
        self.body = {name: placement.body for name, placement in model.placements.items()}
        self.points: dict[str, BodyPoint] = {}
        self.bodies: dict[str, int] = {}
        self.links: dict[str, str] = {}
        self.assumptions: list[Assumption] = []

    def _chain(self, name: str) -> list[str]:
        """Links from the root to this one."""
        chain = [name]
        while (parent := self.model.links[chain[-1]].parent) is not None:
            chain.append(parent)
        return chain[::-1]

    def origin(self, name: str) -> Array:
        """Position of a link [m]."""
        place = self.model.placements[name]
        return self.poses.point(place.body, place.position)[0] if place.body >= 0 else place.position

    def find(self) -> Landmarks:
        """Find all landmarks."""
        feet = self._end_links("leg", "foot")
        pelvis = self.roles.get("pelvis") or self._common_ancestor(*feet.values())
        self.set_role("pelvis", pelvis)
        for side, foot in feet.items():
            self._leg(side, foot, pelvis)
        axes = self._axes()
        self._arms(pelvis)
        self._head()
        soles = {side: self._sole(side, axes) for side in SIDES}
        middle = 0.5 * (self.position("left_hip") + self.position("right_hip"))
        self.set_point("pelvis", pelvis, middle)
        found = ", ".join(f"{role} {link}" for role, link in self.links.items())
        self.assumptions.insert(0, Assumption(f"landmarks of {self.model.name}", found, "by names and positions of links", "roles"))
        return Landmarks(self.model, self.standing_q, axes, self.points, self.bodies, soles, self.links, tuple(self.assumptions))

    def set_role(self, role: str, link: str) -> None:
        """Record the link of a role."""
        self.links[role], self.bodies[role] = link, self.body[link]

    def set_point(self, role: str, link: str, position: Array) -> None:
        """Record a landmark of a link, given in world axes."""
        body = self.body[link]
        self.points[role] = BodyPoint(body, self.poses.R[body, 0].T @ (position - self.poses.x[body, 0]))

    def position(self, role: str) -> Array:
        """Position of a landmark [m]."""
        return self.poses.point(*self.points[role])[0]

    # --- limbs ------------------------------------------------------------------------------

    def _end_links(self, limb: str, last: str) -> dict[str, str]:
        """Last link of a limb on each side: as mapped, by name, or by position in the tree."""
        roles = LEG if limb == "leg" else ARM
        ends: dict[str, str] = {}
        for side in SIDES:
            mapped = self.roles.get(f"{side}_{last}")
            named = [name for name, found in self.roles_by_name.items() for role in roles if f"{side}_{role}" in found]
            candidates = [name for name in named if f"{side}_{roles[-1]}" in self.roles_by_name[name]] or named
            if mapped or candidates:
                ends[side] = mapped or max(candidates, key=lambda name: len(self.chains[name]))
        if len(ends) == 2 and ends["left"] != ends["right"]:
            return ends
        return self._unnamed_feet() if limb == "leg" else {}

    def _unnamed_feet(self) -> dict[str, str]:
        """Feet by position: of the leaves of the tree, the two lowest that are mirror images."""
        moving = [name for name, link in self.model.links.items() if link.joint.nv and self.body[name] >= 0]
        inner = {parent for name in moving for parent in self.chains[name][:-1]}
        leaves = sorted((name for name in moving if name not in inner), key=lambda name: float(self.origin(name)[2]))
        for k, one in enumerate(leaves):
            for two in leaves[k + 1 :]:
                a, b = self.origin(one), self.origin(two)
                mirrored = np.linalg.norm(a * (1, -1, 1) - b) < 0.2 * max(np.abs(a[1] - b[1]), 0.1)
                if mirrored and min(self._dof_count(one, two), self._dof_count(two, one)) >= 3 and abs(a[2] - b[2]) < 0.1:
                    left, right = (one, two) if a[1] > b[1] else (two, one)
                    reason = "lowest leaves of the kinematic tree that are mirror images"
                    self.assumptions.append(Assumption("legs", f"{left} and {right}", reason, "roles"))
                    return {"left": left, "right": right}
        raise MotionError(
            f"No two legs were found in figure {self.model.name!r}: no links are named after feet or ankles of both sides, and no two "
            f"chains of three joints or more end as mirror images of each other. Links: {_list_names(self.model.links)}. "
            "Give the feet: roles={'left_foot': ..., 'right_foot': ...}."
        )

    def _dof_count(self, name: str, other: str) -> int:
        """Degrees of freedom of a chain below its common ancestor with another."""
        return sum(self.model.links[link].joint.nv for link in self.chains[name] if link not in self.chains[other])

    def _common_ancestor(self, one: str, two: str) -> str:
        """Last common ancestor of two links."""
        shared = [link for link in self.chains[one] if link in self.chains[two]]
        if not shared:
            raise MotionError(f"Links {one!r} and {two!r} of figure {self.model.name!r} have no common ancestor, so there is no pelvis.")
        return shared[-1]

    def _leg(self, side: str, foot: str, pelvis: str) -> None:
        limb = [link for link in self.chains[foot] if link not in self.chains[pelvis]]
        toes = [name for name in self.model.links if self._has_role(name, f"{side}_toe") and foot in self.chains[name][:-1]]
        knee = self._middle_link(limb, f"{side}_knee", foot)
        thigh = limb[: limb.index(knee)]
        if not thigh:
            raise MotionError(
                f"Figure {self.model.name!r}: there is no thigh between pelvis {pelvis!r} and {side} knee {knee!r}. "
                f"Give both: roles={{'pelvis': ..., '{side}_knee': ...}}."
            )
        self.set_role(f"{side}_thigh", thigh[-1])
        self.set_point(f"{side}_hip", thigh[-1], self._center_of(thigh))
        self.set_role(f"{side}_knee", knee)
        self.set_point(f"{side}_knee", knee, self._center_of([knee]))
        below = self._joint_elements([link for link in limb if limb.index(link) > limb.index(knee)])
        ankle = next((link for link in limb if self._has_role(link, f"{side}_ankle") and limb.index(link) > limb.index(knee)), foot)
        self.set_role(f"{side}_foot", foot)
        self.set_point(f"{side}_ankle", foot, _joint_center(below) if below else self.origin(ankle))
        if toes and self.body[toes[0]] != self.body[foot]:
            self.set_role(f"{side}_toe", toes[0])

    def _has_role(self, name: str, role: str) -> bool:
        return self.roles.get(role) == name if role in self.roles else role in self.roles_by_name[name]

    def _middle_link(self, limb: Sequence[str], role: str, end: str) -> str:
        """Link below knee or elbow: as mapped, by name if names distinguish the joints of the limb, else that of the middle joint."""
        if role in self.roles:
            return self.roles[role]
        distinct = {found for link in limb for found in self.roles_by_name[link]}
        named = [link for link in limb if role in self.roles_by_name[link]]
        if named and len(distinct) > 1:  # a joint that no motion bends may be fixed
            return next((link for link in named if self.model.links[link].joint.nv), named[0])
        joints = self._joint_elements(limb)
        positions = np.array([joint.anchor for joint in joints] + [self.origin(end)])
        along = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(positions, axis=0), axis=1))))
        inner = [k for k in range(1, len(joints)) if joints[k].kind == TURN]
        if not inner or along[-1] < MIN_LIMB_LENGTH:
            raise MotionError(
                f"Figure {self.model.name!r}: no joint between {limb[0]!r} and {end!r} can be the {role.replace('_', ' ')}. "
                f"Give the link below it: roles={{{role!r}: ...}}."
            )
        return joints[min(inner, key=lambda k: abs(along[k] - 0.5 * along[-1]))].link

    def _center_of(self, links: Sequence[str]) -> Array:
        """Joint center of a chain of links, nearest to the last; the origin of the last link, if they are fixed."""
        joints = self._joint_elements(links)
        return _joint_center(joints[::-1]) if joints else self.origin(links[-1])

    def _joint_elements(self, links: Sequence[str]) -> list[_JointElement]:
        """Elementary joints of a chain of links, without prismatic ones."""
        tree, found = self.model.tree, []
        for link in links:
            if not self.model.links[link].joint.nv:
                continue
            b = self.body[link]
            for e in range(tree.element[b], tree.element[b + 1]):
                k = int(tree.v_at[e]) + (3 if tree.kind[e] == FLOAT else 0)
                if tree.kind[e] != SLIDE:
                    found.append(_JointElement(link, int(tree.kind[e]), self.poses.axis[k, 0], self.poses.anchor[k, 0]))
        return found

    def _axes(self) -> Array:
        """Forward, left and up, from the positions of the hips."""
        left = (self.position("left_hip") - self.position("right_hip")) * (1, 1, 0)
        if np.linalg.norm(left) < 1e-3:
            left = np.array((0.0, 1.0, 0.0))
        left = left / np.linalg.norm(left)
        if left[1] < 0.9:
            forward = f"{np.round(np.cross(left, (0, 0, 1)), 2)}"
            self.assumptions.append(Assumption("forward direction", forward, f"the left hip is towards {np.round(left, 2)}"))
        up = np.array((0.0, 0.0, 1.0))
        return np.stack((np.cross(left, up), left, up), axis=1)

    def _arms(self, pelvis: str) -> None:
        hands = self._end_links("arm", "hand")
        if not hands:
            self.assumptions.append(Assumption("arms", "none", "no links are named after arms or hands of both sides", "roles"))
            return
        chest = self.roles.get("chest") or self._common_ancestor(*hands.values())
        self.set_role("chest", chest)
        if self.body[chest] == self.body[pelvis]:
            self.assumptions.append(Assumption("waist", "none", f"{chest} is fixed to {pelvis}: the trunk moves with the pelvis"))
        for side, hand in hands.items():
            self._arm(side, hand, [link for link in self.chains[hand] if link not in self.chains[chest]])

    def _arm(self, side: str, hand: str, limb: Sequence[str]) -> None:
        elbow = self._middle_link(limb, f"{side}_elbow", hand)
        upper = [link for link in limb if limb.index(link) < limb.index(elbow)]
        if not upper:
            self.assumptions.append(Assumption(f"{side} arm", "ignored", f"there is no upper arm between chest and {elbow}", "roles"))
            return
        self.set_role(f"{side}_upper_arm", upper[-1])
        self.set_point(f"{side}_shoulder", upper[-1], self._center_of(upper))
        self.set_role(f"{side}_elbow", elbow)
        self.set_point(f"{side}_elbow", elbow, self._center_of([elbow]))
        self.set_role(f"{side}_hand", hand)
        below = [link for link in limb if limb.index(link) > limb.index(elbow)]
        self.set_point(f"{side}_wrist", hand, self._wrist(side, elbow, below, hand))
        palm = self._palm(side, hand)
        if palm is not None:
            self.set_point(f"{side}_hand", hand, palm)

    def _wrist(self, side: str, elbow: str, below: Sequence[str], hand: str) -> Array:
        """Wrist: intersection of its axes, else origin of the hand, else end of the forearm."""
        start = self.position(f"{side}_elbow")
        joints = self._joint_elements(below)
        if joints:
            center = _joint_center(joints)
            forearm = center - start
            one_axis = len(joints) == 1 and joints[0].kind == TURN
            if not one_axis or abs(joints[0].axis @ forearm) < 0.8 * np.linalg.norm(forearm):
                return center  # a single axis along the forearm (pronation) does not locate the wrist
        named = [link for link in below if f"{side}_wrist" in self.roles_by_name[link]]
        for link in (*named, hand):
            if np.linalg.norm(self.origin(link) - start) > MIN_LIMB_LENGTH:
                return self.origin(link)
        corners = self._surface_points(self.body[elbow])
        if not len(corners):
            raise MotionError(
                f"Figure {self.model.name!r}: the end of the {side} forearm was not found. Give roles={{'{side}_hand': ...}}."
            )
        return start + 0.85 * (corners[np.argmax(np.linalg.norm(corners - start, axis=1))] - start)

    def _palm(self, side: str, hand: str) -> Array | None:
        """Middle of the hand; None for a hand without extent."""
        site = self.model.sites.get(f"{side}_grip")
        wrist = self.position(f"{side}_wrist")
        if site is not None and self.body[site.link] == self.body[hand]:
            place = self.model.placements[site.link]
            where = self.poses.point(place.body, place.position + place.rotation @ site.position)[0]
        else:
            corners = self._surface_points(self.body[hand])
            if not len(corners):
                return None
            forearm = wrist - self.position(f"{side}_elbow")
            corners = corners[(corners - wrist) @ forearm > 0]
            where = corners.mean(axis=0) if len(corners) else wrist
        return where if np.linalg.norm(where - wrist) > MIN_LIMB_LENGTH else None

    def _head(self) -> None:
        named = [name for name in self.model.links if "head" in self.roles_by_name[name]]
        head = self.roles.get("head") or (max(named, key=lambda name: len(self.chains[name])) if named else None)
        chest = self.bodies.get("chest", self.bodies["pelvis"])
        if head is not None and self.body[head] != chest:
            self.set_role("head", head)
        else:
            self.assumptions.append(Assumption("neck", "none", "the head is fixed to the chest" if head else "no link is named head"))

    # --- shapes -----------------------------------------------------------------------------

    def _surface_points(self, body: int) -> Array:
        """Surface points of a body, world axes: (n, 3) [m]."""
        return self.poses.x[body, 0] + body_vertices(self.model, body) @ self.poses.R[body, 0].T

    def _sole(self, side: str, axes: Array) -> Sole:
        foot = self.links[f"{side}_foot"]
        body = self.body[foot]
        R, x = self.poses.R[body, 0], self.poses.x[body, 0]
        ends = [self._site(f"{side}_{end}", body) for end in ("heel", "toe")]
        forward = ends[1] - ends[0] if ends[0] is not None and ends[1] is not None else R.T @ axes[:, 0]
        below = [self.origin(name) for name in self.model.links if self.body[name] == body and "sole" in name.lower()]
        mark_height = min((float((R.T @ (place - x)) @ (R.T @ axes[:, 2])) for place in below), default=None)
        leg = np.linalg.norm(self.position(f"{side}_hip") - self.position(f"{side}_knee")) + np.linalg.norm(
            self.position(f"{side}_knee") - self.position(f"{side}_ankle")
        )
        ankle = self.points[f"{side}_ankle"].position
        sole, assumed = fit_sole(body_vertices(self.model, body), forward, R.T @ axes[:, 2], ankle, float(leg), mark_height)
        if assumed:
            self.assumptions.append(Assumption(f"{side} sole", assumed, f"link {foot} has no shapes"))
        return sole

    def _site(self, name: str, body: int) -> Array | None:
        site = self.model.sites.get(name)
        if site is None or self.body[site.link] != body:
            return None
        place = self.model.placements[site.link]
        return place.position + place.rotation @ site.position


def body_vertices(model: Model, body: int) -> Array:
    """Surface points of all links of a body, body axes: (n, 3) [m]; of collision shapes, or of all shapes if there are none."""
    for colliding in (True, False):
        found = [
            place.position + shape.surface()[0] @ place.rotation.T
            for name, place in model.placements.items()
            if place.body == body
            for shape in model.links[name].shapes
            if shape.collides or not colliding
        ]
        if found:
            return np.concatenate(found)
    return np.zeros((0, 3))


def _roles_of_link(link: Link) -> set[str]:
    """Roles by the names of a link and its joint."""
    return {role for name in ({link.name, link.joint_name} if link.joint.nv else {link.name}) for role in _roles_of_name(name)}


def _roles_of_name(name: str) -> list[str]:
    cut = re.sub(r"([A-Z])([A-Z][a-z])", r"\1_\2", re.sub(r"([a-z])([A-Z])", r"\1_\2", name))
    kept = [word for word in re.split(r"[\s_.\-]+", cut) if word and word.lower() not in IGNORED_WORDS]
    side, word = split_name("_".join(kept))
    for role, words in WORDS.items():
        if word in words and (role in LIMBS) == bool(side):
            return [f"{side}_{role}" if side else role]
    return []


def _joint_center(joints: Sequence[_JointElement]) -> Array:
    """Point nearest to the axes of consecutive joints; axes far from the first are left out, as that of a clavicle."""
    spherical = [joint for joint in joints if joint.kind in (BALL, FLOAT)]
    if spherical:
        return spherical[0].anchor
    for count in range(min(len(joints), 3), 1, -1):
        chosen = joints[:count]
        projections = [np.eye(3) - np.outer(joint.axis, joint.axis) for joint in chosen]
        anchors = [joint.anchor for joint in chosen]
        start = np.mean(anchors, axis=0)
        rhs = sum((P @ (a - start) for P, a in zip(projections, anchors, strict=True)), np.zeros(3))
        center = start + np.linalg.solve(sum(projections, 1e-6 * np.eye(3)), rhs)
        if max(float(np.linalg.norm(P @ (center - a))) for P, a in zip(projections, anchors, strict=True)) < MAX_AXIS_DISTANCE:
            return center
    return joints[0].anchor


def _list_names(names: Mapping[str, Link], maximum: int = 40) -> str:
    shown = list(names)[:maximum]
    return ", ".join(shown) + (f", ... ({len(names)} in all)" if len(names) > maximum else "")
