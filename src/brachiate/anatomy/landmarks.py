"""Landmarks of a figure: which of its links are pelvis, thigh, foot, chest, hand, and where hips, knees, shoulders and soles are in them.

Links are found by the words in their names and in those of their joints (``left_hip_pitch_link``, ``l_upper_leg``, ``arm_left_4_joint``),
by how they hang on each other where names say nothing, or by a map of the user's own. Places of joints are where the axes of their
hinges meet, as origins of links may be anywhere along them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from brachiate import validation
from brachiate.anatomy.sole import Sole, sole_of
from brachiate.assumptions import Guess
from brachiate.clip.joint_roles import LIMBS, SIDES, WORDS, words_of
from brachiate.errors import MotionError
from brachiate.kinematics_batch import Many, Poses
from brachiate.model.joints import BALL, FLOAT, SLIDE, TURN, Free
from brachiate.model.link import Link
from brachiate.model.model import Model
from brachiate.validation import Array

LEG, ARM = ("hip", "knee", "ankle"), ("shoulder", "elbow", "wrist")
#: Roles a user may map to links: of a limb the link that its joint carries, of ``foot`` and ``hand`` the last one.
MAPPED = ("pelvis", "chest", "head", *(f"{side}_{part}" for side in SIDES for part in ("knee", "foot", "toe", "elbow", "hand")))
#: Words of robots' names that tell nothing about where in the body a link is.
EMPTY = {
    "link", "joint", "pitch", "roll", "yaw", "dh", "frame", "ft", "tool", "rubber", "base", "palm", "prosup", "motor", "body", "x", "y",
    "z", "fe", "aa", "ie", "pivot",
}  # fmt: skip
APART = 0.05  # [m] axes that pass each other farther away than this are not of one joint
SHORTEST = 0.02  # [m] of a limb


class Point(NamedTuple):
    """A point of a body: its number, and where in it [m]."""

    body: int
    at: Array


@dataclass(frozen=True)
class Landmarks:
    """Where the parts of a body are in a figure.

    Args:
        model: The figure.
        stand: The configuration in which it stands upright, as it is drawn.
        axes: Its forward, left and upward direction then, as columns.
        points: Joint centres and hands, by role.
        bodies: Bodies whose orientation means something: pelvis, chest, head, feet, toes; by role.
        soles: By side.
        links: Names of the links that were found, by role.
        guesses: What was found, and what was not.
    """

    model: Model
    stand: Array
    axes: Array
    points: Mapping[str, Point]
    bodies: Mapping[str, int]
    soles: Mapping[str, Sole]
    links: Mapping[str, str]
    guesses: tuple[Guess, ...] = field(default=(), compare=False)

    def length(self, first: str, second: str, poses: Poses) -> float:
        """Distance between two points as the figure stands [m]."""
        a, b = (poses.point(*self.points[role])[0] for role in (first, second))
        return float(np.linalg.norm(a - b))


class _Hinge(NamedTuple):
    """One elementary motion of a chain, as the figure stands."""

    link: str
    kind: int
    axis: Array
    anchor: Array


def landmarks_of(model: Model, given: Mapping[str, str] | None = None) -> Landmarks:
    """Find the landmarks of a figure.

    Args:
        model: The figure: with a free root, two legs, and as much of the rest as there is.
        given: Names of links by role, for those whose names and places say the wrong thing: see :data:`MAPPED`.
    """
    given = dict(given or {})
    for role, name in given.items():
        validation.one_of(role, MAPPED, "role")
        validation.named(model.links, name, "link", f"figure {model.name!r}")
    if not any(isinstance(link.joint, Free) for link in model.links.values()):
        raise MotionError(f"Figure {model.name!r} has no free root, so it cannot go anywhere. Read it with floating=True.")
    return _Search(model, given).found()


class _Search:
    """Looks for the parts of one figure."""

    def __init__(self, model: Model, given: Mapping[str, str]) -> None:
        self.model, self.given = model, given
        self.stand = np.array(model.poses.get("stand", model.poses.get("reference", model.neutral)))
        self.poses = Many(model).poses(self.stand[None])
        self.chains = {name: self._chain(name) for name in model.links}
        self.named = {name: _roles(link) for name, link in model.links.items()}
        self.body = {name: placement.body for name, placement in model.placements.items()}
        self.points: dict[str, Point] = {}
        self.bodies: dict[str, int] = {}
        self.links: dict[str, str] = {}
        self.guesses: list[Guess] = []

    def _chain(self, name: str) -> list[str]:
        """The links from the root to this one."""
        found = [name]
        while (above := self.model.links[found[-1]].parent) is not None:
            found.append(above)
        return found[::-1]

    def origin(self, name: str) -> Array:
        """Where a link is as the figure stands."""
        place = self.model.placements[name]
        return self.poses.point(place.body, place.position)[0] if place.body >= 0 else place.position

    def found(self) -> Landmarks:
        """Find everything."""
        feet = self._ends("leg", "foot")
        pelvis = self.given.get("pelvis") or self._common(*feet.values())
        self.put("pelvis", pelvis)
        for side, foot in feet.items():
            self._leg(side, foot, pelvis)
        axes = self._axes()
        self._arms(pelvis)
        self._head()
        soles = {side: self._sole(side, axes) for side in SIDES}
        middle = 0.5 * (self.at("left_hip") + self.at("right_hip"))
        self.mark("pelvis", pelvis, middle)
        told = ", ".join(f"{role} {link}" for role, link in self.links.items())
        self.guesses.insert(0, Guess(f"landmarks of {self.model.name}", told, "by names and places of links", "roles"))
        return Landmarks(self.model, self.stand, axes, self.points, self.bodies, soles, self.links, tuple(self.guesses))

    def put(self, role: str, link: str) -> None:
        """Note which link has a role."""
        self.links[role], self.bodies[role] = link, self.body[link]

    def mark(self, role: str, link: str, where: Array) -> None:
        """Note a point of a link, given as the figure stands."""
        body = self.body[link]
        self.points[role] = Point(body, self.poses.R[body, 0].T @ (where - self.poses.x[body, 0]))

    def at(self, role: str) -> Array:
        """Where a point is as the figure stands."""
        return self.poses.point(*self.points[role])[0]

    # --- limbs ------------------------------------------------------------------------------

    def _ends(self, limb: str, last: str) -> dict[str, str]:
        """The last link of a limb on each side: as given, by name, or by where it is."""
        roles = LEG if limb == "leg" else ARM
        ends: dict[str, str] = {}
        for side in SIDES:
            mapped = self.given.get(f"{side}_{last}")
            named = [name for name, found in self.named.items() for role in roles if f"{side}_{role}" in found]
            ahead = [name for name in named if f"{side}_{roles[-1]}" in self.named[name]] or named
            if mapped or ahead:
                ends[side] = mapped or max(ahead, key=lambda name: len(self.chains[name]))
        if len(ends) == 2 and ends["left"] != ends["right"]:
            return ends
        return self._hanging() if limb == "leg" else {}

    def _hanging(self) -> dict[str, str]:
        """Feet without names: of the links at which the tree ends, the two lowest ones that are mirror images."""
        moving = [name for name, link in self.model.links.items() if link.joint.nv and self.body[name] >= 0]
        above = {p for name in moving for p in self.chains[name][:-1]}
        tips = sorted((name for name in moving if name not in above), key=lambda name: float(self.origin(name)[2]))
        for k, one in enumerate(tips):
            for two in tips[k + 1 :]:
                a, b = self.origin(one), self.origin(two)
                alike = np.linalg.norm(a * (1, -1, 1) - b) < 0.2 * max(np.abs(a[1] - b[1]), 0.1)
                if alike and min(self._count(one, two), self._count(two, one)) >= 3 and abs(a[2] - b[2]) < 0.1:
                    left, right = (one, two) if a[1] > b[1] else (two, one)
                    self.guesses.append(Guess("legs", f"{left} and {right}", "the lowest ends of the tree, as mirror images", "roles"))
                    return {"left": left, "right": right}
        raise MotionError(
            f"Figure {self.model.name!r} has no two legs that can be found: no links are named after feet or ankles of both sides, and no "
            f"two chains of three joints or more end as mirror images of each other. Links: {_listed(self.model.links)}. "
            "Say which they are: roles={'left_foot': ..., 'right_foot': ...}."
        )

    def _count(self, name: str, other: str) -> int:
        """Freedoms of a chain below where it leaves another."""
        return sum(self.model.links[link].joint.nv for link in self.chains[name] if link not in self.chains[other])

    def _common(self, one: str, two: str) -> str:
        """The last link that two hang on."""
        shared = [link for link in self.chains[one] if link in self.chains[two]]
        if not shared:
            raise MotionError(f"{one!r} and {two!r} of figure {self.model.name!r} hang on nothing in common, so it has no pelvis.")
        return shared[-1]

    def _leg(self, side: str, foot: str, pelvis: str) -> None:
        limb = [link for link in self.chains[foot] if link not in self.chains[pelvis]]
        toes = [name for name in self.model.links if self._is(name, f"{side}_toe") and foot in self.chains[name][:-1]]
        knee = self._middle(limb, f"{side}_knee", foot)
        thigh = limb[: limb.index(knee)]
        if not thigh:
            raise MotionError(
                f"Figure {self.model.name!r}: there is no thigh between pelvis {pelvis!r} and {side} knee {knee!r}. "
                f"Say which is which: roles={{'pelvis': ..., '{side}_knee': ...}}."
            )
        self.put(f"{side}_thigh", thigh[-1])
        self.mark(f"{side}_hip", thigh[-1], self._joint(thigh))
        self.put(f"{side}_knee", knee)
        self.mark(f"{side}_knee", knee, self._joint([knee]))
        below = self._hinges([link for link in limb if limb.index(link) > limb.index(knee)])
        ankle = next((link for link in limb if self._is(link, f"{side}_ankle") and limb.index(link) > limb.index(knee)), foot)
        self.put(f"{side}_foot", foot)
        self.mark(f"{side}_ankle", foot, _center(below) if below else self.origin(ankle))
        if toes and self.body[toes[0]] != self.body[foot]:
            self.put(f"{side}_toe", toes[0])

    def _is(self, name: str, role: str) -> bool:
        return self.given.get(role) == name if role in self.given else role in self.named[name]

    def _middle(self, limb: Sequence[str], role: str, end: str) -> str:
        """Knee or elbow: as given, by name if names tell the joints of the limb apart, else the hinge half way along it."""
        if role in self.given:
            return self.given[role]
        told = {found for link in limb for found in self.named[link]}
        named = [link for link in limb if role in self.named[link]]
        if named and len(told) > 1:  # one that a motion never bends may be fixed
            return next((link for link in named if self.model.links[link].joint.nv), named[0])
        hinges = self._hinges(limb)
        places = np.array([hinge.anchor for hinge in hinges] + [self.origin(end)])
        along = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(places, axis=0), axis=1))))
        inner = [k for k in range(1, len(hinges)) if hinges[k].kind == TURN]
        if not inner or along[-1] < SHORTEST:
            raise MotionError(
                f"Figure {self.model.name!r}: no joint between {limb[0]!r} and {end!r} can be the {role.replace('_', ' ')}. "
                f"Say which link it carries: roles={{{role!r}: ...}}."
            )
        return hinges[min(inner, key=lambda k: abs(along[k] - 0.5 * along[-1]))].link

    def _joint(self, links: Sequence[str]) -> Array:
        """Where links in a row turn: the joint nearest to the last; where that link begins, if they are fixed."""
        hinges = self._hinges(links)
        return _center(hinges[::-1]) if hinges else self.origin(links[-1])

    def _hinges(self, links: Sequence[str]) -> list[_Hinge]:
        """Elementary motions of links in a row, as the figure stands."""
        tree, found = self.model.tree, []
        for link in links:
            if not self.model.links[link].joint.nv:
                continue
            b = self.body[link]
            for e in range(tree.element[b], tree.element[b + 1]):
                k = int(tree.v_at[e]) + (3 if tree.kind[e] == FLOAT else 0)
                if tree.kind[e] != SLIDE:
                    found.append(_Hinge(link, int(tree.kind[e]), self.poses.axis[k, 0], self.poses.anchor[k, 0]))
        return found

    def _axes(self) -> Array:
        """Forward, left and up, by where the hips are."""
        left = (self.at("left_hip") - self.at("right_hip")) * (1, 1, 0)
        if np.linalg.norm(left) < 1e-3:
            left = np.array((0.0, 1.0, 0.0))
        left = left / np.linalg.norm(left)
        if left[1] < 0.9:
            self.guesses.append(Guess("faces", f"{np.round(np.cross(left, (0, 0, 1)), 2)}", f"its left hip is towards {np.round(left, 2)}"))
        up = np.array((0.0, 0.0, 1.0))
        return np.stack((np.cross(left, up), left, up), axis=1)

    def _arms(self, pelvis: str) -> None:
        hands = self._ends("arm", "hand")
        if not hands:
            self.guesses.append(Guess("arms", "none", "no links are named after arms or hands of both sides", "roles"))
            return
        chest = self.given.get("chest") or self._common(*hands.values())
        self.put("chest", chest)
        if self.body[chest] == self.body[pelvis]:
            self.guesses.append(Guess("waist", "none", f"{chest} does not move against {pelvis}: the trunk goes as the pelvis does"))
        for side, hand in hands.items():
            self._arm(side, hand, [link for link in self.chains[hand] if link not in self.chains[chest]])

    def _arm(self, side: str, hand: str, limb: Sequence[str]) -> None:
        elbow = self._middle(limb, f"{side}_elbow", hand)
        upper = [link for link in limb if limb.index(link) < limb.index(elbow)]
        if not upper:
            self.guesses.append(Guess(f"{side} arm", "left out", f"there is nothing between chest and {elbow}", "roles"))
            return
        self.put(f"{side}_upper_arm", upper[-1])
        self.mark(f"{side}_shoulder", upper[-1], self._joint(upper))
        self.put(f"{side}_elbow", elbow)
        self.mark(f"{side}_elbow", elbow, self._joint([elbow]))
        self.put(f"{side}_hand", hand)
        below = [link for link in limb if limb.index(link) > limb.index(elbow)]
        self.mark(f"{side}_wrist", hand, self._wrist(side, elbow, below, hand))
        palm = self._palm(side, hand)
        if palm is not None:
            self.mark(f"{side}_hand", hand, palm)

    def _wrist(self, side: str, elbow: str, below: Sequence[str], hand: str) -> Array:
        """Where the axes of the wrist meet, or the hand begins, or the forearm ends."""
        start = self.at(f"{side}_elbow")
        hinges = self._hinges(below)
        if hinges:
            center = _center(hinges)
            forearm = center - start
            one_axis = len(hinges) == 1 and hinges[0].kind == TURN
            if not one_axis or abs(hinges[0].axis @ forearm) < 0.8 * np.linalg.norm(forearm):
                return center  # a single axis along the forearm does not say where it ends
        named = [link for link in below if f"{side}_wrist" in self.named[link]]
        for link in (*named, hand):
            if np.linalg.norm(self.origin(link) - start) > SHORTEST:
                return self.origin(link)
        corners = self._corners(self.body[elbow])
        if not len(corners):
            raise MotionError(f"Figure {self.model.name!r}: where the {side} forearm ends is not known. Say roles={{'{side}_hand': ...}}.")
        return start + 0.85 * (corners[np.argmax(np.linalg.norm(corners - start, axis=1))] - start)

    def _palm(self, side: str, hand: str) -> Array | None:
        """The middle of the hand, if it has a size."""
        site = self.model.sites.get(f"{side}_grip")
        wrist = self.at(f"{side}_wrist")
        if site is not None and self.body[site.link] == self.body[hand]:
            place = self.model.placements[site.link]
            where = self.poses.point(place.body, place.position + place.rotation @ site.position)[0]
        else:
            corners = self._corners(self.body[hand])
            if not len(corners):
                return None
            forearm = wrist - self.at(f"{side}_elbow")
            corners = corners[(corners - wrist) @ forearm > 0]
            where = corners.mean(axis=0) if len(corners) else wrist
        return where if np.linalg.norm(where - wrist) > SHORTEST else None

    def _head(self) -> None:
        named = [name for name in self.model.links if "head" in self.named[name]]
        head = self.given.get("head") or (max(named, key=lambda name: len(self.chains[name])) if named else None)
        chest = self.bodies.get("chest", self.bodies["pelvis"])
        if head is not None and self.body[head] != chest:
            self.put("head", head)
        else:
            self.guesses.append(Guess("neck", "none", "the head does not turn against the chest" if head else "no link is named head"))

    # --- shapes -----------------------------------------------------------------------------

    def _corners(self, body: int) -> Array:
        """Surface points of all that is fixed to a body, in the world as the figure stands: (n, 3)."""
        return self.poses.x[body, 0] + vertices_of(self.model, body) @ self.poses.R[body, 0].T

    def _sole(self, side: str, axes: Array) -> Sole:
        foot = self.links[f"{side}_foot"]
        body = self.body[foot]
        R, x = self.poses.R[body, 0], self.poses.x[body, 0]
        ends = [self._site(f"{side}_{end}", body) for end in ("heel", "toe")]
        forward = ends[1] - ends[0] if ends[0] is not None and ends[1] is not None else R.T @ axes[:, 0]
        below = [self.origin(name) for name in self.model.links if self.body[name] == body and "sole" in name.lower()]
        marked = min((float((R.T @ (place - x)) @ (R.T @ axes[:, 2])) for place in below), default=None)
        leg = np.linalg.norm(self.at(f"{side}_hip") - self.at(f"{side}_knee")) + np.linalg.norm(
            self.at(f"{side}_knee") - self.at(f"{side}_ankle")
        )
        ankle = self.points[f"{side}_ankle"].at
        sole, assumed = sole_of(vertices_of(self.model, body), forward, R.T @ axes[:, 2], ankle, float(leg), marked)
        if assumed:
            self.guesses.append(Guess(f"{side} sole", assumed, f"{foot} has no shapes"))
        return sole

    def _site(self, name: str, body: int) -> Array | None:
        site = self.model.sites.get(name)
        if site is None or self.body[site.link] != body:
            return None
        place = self.model.placements[site.link]
        return place.position + place.rotation @ site.position


def vertices_of(model: Model, body: int) -> Array:
    """Surface points of all that is fixed to a body, along its axes: of what touches, or, if nothing does, of all that is seen."""
    for touching in (True, False):
        found = [
            place.position + shape.surface()[0] @ place.rotation.T
            for name, place in model.placements.items()
            if place.body == body
            for shape in model.links[name].shapes
            if shape.collides or not touching
        ]
        if found:
            return np.concatenate(found)
    return np.zeros((0, 3))


def _roles(link: Link) -> set[str]:
    """Roles that the names of a link and its joint stand for."""
    return {role for name in ({link.name, link.joint_name} if link.joint.nv else {link.name}) for role in _role(name)}


def _role(name: str) -> list[str]:
    cut = re.sub(r"([A-Z])([A-Z][a-z])", r"\1_\2", re.sub(r"([a-z])([A-Z])", r"\1_\2", name))
    kept = [word for word in re.split(r"[\s_.\-]+", cut) if word and word.lower() not in EMPTY]
    side, word = words_of("_".join(kept))
    for role, words in WORDS.items():
        if word in words and (role in LIMBS) == bool(side):
            return [f"{side}_{role}" if side else role]
    return []


def _center(hinges: Sequence[_Hinge]) -> Array:
    """Where the axes of a joint's hinges meet, nearly; those far from the first are left out, as a collar bone's is."""
    balls = [hinge for hinge in hinges if hinge.kind in (BALL, FLOAT)]
    if balls:
        return balls[0].anchor
    for count in range(min(len(hinges), 3), 1, -1):
        chosen = hinges[:count]
        across = [np.eye(3) - np.outer(hinge.axis, hinge.axis) for hinge in chosen]
        anchors = [hinge.anchor for hinge in chosen]
        start = np.mean(anchors, axis=0)
        pull = sum((A @ (a - start) for A, a in zip(across, anchors, strict=True)), np.zeros(3))
        center = start + np.linalg.solve(sum(across, 1e-6 * np.eye(3)), pull)
        if max(float(np.linalg.norm(A @ (center - a))) for A, a in zip(across, anchors, strict=True)) < APART:
            return center
    return hinges[0].anchor


def _listed(names: Mapping[str, Link], most: int = 40) -> str:
    shown = list(names)[:most]
    return ", ".join(shown) + (f", ... ({len(names)} in all)" if len(names) > most else "")
