"""What one figure does, as goals for another: where its limbs should point, how its parts should be turned, where its feet should stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d

from brachiate import rotations, validation
from brachiate.anatomy.landmarks import Landmarks, Point, vertices_of
from brachiate.assumptions import Guess
from brachiate.clip.joint_roles import SIDES
from brachiate.errors import MotionError
from brachiate.kinematics_batch import Many, Points, Poses
from brachiate.model.joints import Free
from brachiate.motion.motion import Motion
from brachiate.retargeting import foot_locking
from brachiate.retargeting.foot_locking import Foot
from brachiate.retargeting.hand_contacts import beside_ground
from brachiate.retargeting.trajectory_ik import Goals
from brachiate.validation import Array

#: Limbs whose directions are kept, from one point to another, and how much each counts.
LIMBS: Mapping[str, tuple[str, str, float]] = {
    "thigh": ("hip", "knee", 1.0), "shank": ("knee", "ankle", 1.0), "upper_arm": ("shoulder", "elbow", 1.0),
    "forearm": ("elbow", "wrist", 1.0), "hand": ("wrist", "hand", 0.3),
}  # fmt: skip
#: Parts whose orientation is kept, and how much it counts.
PARTS: Mapping[str, float] = {"pelvis": 1.0, "chest": 1.0, "head": 0.6, "left_toe": 0.3, "right_toe": 0.3}
SHOULDERS = ("left_shoulder", "right_shoulder")
TRUNK = 0.4  # weight of where the shoulders are from the pelvis
PELVIS = 3.0  # [1/m] weight of its place
SWING, STANCE = 4.0, 120.0  # [1/m] weight of the corners of a sole
HAND, NEAR_HAND = 60.0, 0.05  # [1/m] weight of a palm that touches, and at the end of letting go
SINK, HAND_SINK = 120.0, 15.0  # [1/m] weight of how far feet and hands are below the ground
HANGING = 0.15  # of a leg's length: soles that are always higher above the ground than this do not stand
DIRECTIONS = 48  # along which points are found that might touch the ground
STRAIGHT = 0.998  # of a leg's length: a leg that stands is no longer than this, if it is not in the pose
SUPPORT = 0.06  # [s] over which the pelvis is raised or lowered to where its legs reach the ground


class _Row(NamedTuple):
    """One goal: from a point to another, or of a point alone."""

    first: Point
    second: Point | None
    target: Array  # (f, 3)
    weight: Array  # (f, 3)


class Transfer:
    """What one figure does, as goals for another."""

    def __init__(
        self,
        motion: Motion,
        source: Landmarks,
        target: Landmarks,
        contacts: Mapping[str, Array] | None,
        scale: float | None,
        ground: float | None,
    ) -> None:
        self.motion, self.source, self.target = motion, source, target
        self.times, self.f = motion.times, len(motion)
        self.poses = Many(source.model).poses(motion.q)
        self.rest, self.stand = (Many(marks.model).poses(marks.stand[None]) for marks in (source, target))
        self.leg, leg = self._leg(source, self.rest), self._leg(target, self.stand)
        self.scale = leg / self.leg if scale is None else scale
        self.guesses = [*target.guesses, *(guess for guess in source.guesses[1:])]
        why = "given" if scale is not None else f"legs of {leg:.3f} m over {self.leg:.3f} m"
        self.guesses.append(Guess("scale of the path", f"{self.scale:.3f}", why, "scale"))
        self.ground = self._ground() if ground is None else validation.number(ground, "ground")
        self.contacts = self._contacts(contacts)
        self.pelvis, self.parts = self._parts()
        self.pelvis = self.pelvis + self._below_grips()
        self.feet = self._feet()

    def _ground(self) -> float:
        """Where soles stand, unless that is so high that they may not stand at all."""
        found = foot_locking.ground_of(self.source, self.poses, self.times)
        if found > HANGING * self.leg:
            why = f"soles are never lower than {found:.2f} m: it may hang or fly"
            self.guesses.append(Guess("ground of the source", "0 m", why, "ground"))
            return 0.0
        if abs(found) > 0.01:
            self.guesses.append(Guess("ground of the source", f"{found:+.3f} m", "its soles stand there; it becomes 0", "ground"))
        return found

    def _leg(self, marks: Landmarks, poses: Poses) -> float:
        """Length of the legs with the height of the ankles, of both sides on the average."""
        lengths = []
        for side in SIDES:
            sole = marks.soles[side]
            ankle = float((marks.points[f"{side}_ankle"].at - sole.toe) @ sole.axes[:, 2])
            lengths.append(sum(marks.length(f"{side}_{a}", f"{side}_{b}", poses) for a, b in (("hip", "knee"), ("knee", "ankle"))) + ankle)
        return float(np.mean(lengths))

    def _contacts(self, given: Mapping[str, Array] | None) -> dict[str, Array]:
        if given is None:
            found = foot_locking.touching(self.source, self.poses, self.times, self.leg, self.ground)
            told = ", ".join(f"{role} {label.mean():.0%}" for role, label in found.items() if label.any())
            self.guesses.append(Guess("on the ground", told or "nothing", "by height and speed", "contacts"))
            others = beside_ground(self.motion, np.any(list(found.values()), axis=0))
            if others:
                told = ", ".join(f"{role.replace('grip', 'hand')} {label.mean():.0%}" for role, label in others.items())
                why = "what touches the ground cannot carry the motion then, and these stay where they are"
                self.guesses.append(Guess("beside the ground", told, why, "contacts"))
            found |= {role: found.get(role, False) | label for role, label in others.items()}
        else:
            found, more = foot_locking.labels(given, self.f)
            self.guesses += more
        none = np.zeros(self.f, bool)
        return {f"{side}_{part}": found.get(f"{side}_{part}", none) for side in SIDES for part in ("heel", "toe", "hand", "grip")}

    def _parts(self) -> tuple[Array, dict[str, Array]]:
        """Path of the pelvis (f, 3), and orientations of bodies (f, 3, 3) by role."""
        source, target = self.source, self.target
        path = self.scale * (self.poses.point(*source.points["pelvis"]) - (0.0, 0.0, self.ground))
        across = source.axes @ target.axes.T
        parts, missing = {}, []
        for role in PARTS:
            if role not in target.bodies or (role != "pelvis" and self._goes_along(role)):
                continue
            if role not in source.bodies:
                missing.append(role)
                continue
            a, b = source.bodies[role], target.bodies[role]
            parts[role] = self.poses.R[a] @ self.rest.R[a, 0].T @ across @ self.stand.R[b, 0]
        if missing:
            self.guesses.append(Guess("not in the source", ", ".join(missing), "they stay near the standing posture"))
        lost = [role for role in source.bodies if role in PARTS and role not in target.bodies]
        if lost:
            self.guesses.append(Guess("not in the target", ", ".join(lost), f"{target.model.name} has no such joint"))
        return path, parts

    def _goes_along(self, role: str) -> bool:
        """Whether a part of the target is one with a part that has goals of its own."""
        return self.target.bodies[role] == self.target.bodies["pelvis"]

    # --- feet -------------------------------------------------------------------------------

    def along(self, side: str, limb: str) -> Array:
        """A limb of the source, from its one end to its other, as long as the target's: (f, 3) [m]."""
        a, b = (f"{side}_{end}" for end in LIMBS[limb][:2])
        vector = self.poses.point(*self.source.points[b]) - self.poses.point(*self.source.points[a])
        return self.long(side, limb) / max(self.source.length(a, b, self.rest), 1e-3) * vector

    def long(self, side: str, limb: str) -> float:
        """Length of a limb of the target [m]."""
        a, b, _ = LIMBS[limb]
        return self.target.length(f"{side}_{a}", f"{side}_{b}", self.stand)

    def posed(self, side: str) -> dict[str, Array]:
        """Where hip, knee, ankle and foot are if every limb points where the source's does: (f, 3); ``R`` of the foot (f, 3, 3)."""
        target = self.target
        pelvis, body = self.stand.point(*target.points["pelvis"])[0], target.bodies["pelvis"]
        hip = self.stand.R[body, 0].T @ (self.stand.point(*target.points[f"{side}_hip"])[0] - pelvis)
        hip = self.pelvis + self.parts["pelvis"] @ hip
        knee = hip + self.along(side, "thigh")
        ankle = knee + self.along(side, "shank")
        axes = self.poses.R[self.source.bodies[f"{side}_foot"]] @ self.source.soles[side].axes
        R = axes @ target.soles[side].axes.T
        return {"hip": hip, "knee": knee, "ankle": ankle, "R": R, "x": ankle - R @ target.points[f"{side}_ankle"].at}

    def _feet(self) -> dict[str, Foot]:
        """Paths of both feet; the pelvis is raised to where its legs reach them."""
        posed = {side: self.posed(side) for side in SIDES}
        levels = {side: self.level(side) for side in SIDES}
        lift, count = np.zeros(self.f), np.zeros(self.f)
        for side in SIDES:
            sole, pose = self.target.soles[side], posed[side]
            for end in ("heel", "toe"):
                on = self.contacts[f"{side}_{end}"]
                height = (pose["x"] + pose["R"] @ getattr(sole, end))[:, 2]
                lift += np.where(on, levels[side] - height, 0.0)
                count += on
        rise = self._between(lift / np.maximum(count, 1), count > 0)
        self.pelvis = self.pelvis + rise[:, None] * (0.0, 0.0, 1.0)
        feet = {}
        for side, pose in posed.items():
            heel, toe = (self.contacts[f"{side}_{end}"] for end in ("heel", "toe"))
            x = pose["x"] + rise[:, None] * (0.0, 0.0, 1.0)
            feet[side] = foot_locking.planted(pose["R"], x, self.target.soles[side], heel, toe, levels[side], self.times)
        self.pelvis = self.pelvis + self._within_reach(feet)
        return feet

    def _within_reach(self, feet: Mapping[str, Foot]) -> Array:
        """What the pelvis must be moved by for legs to reach feet that stand, without being straighter than in the pose: (f, 3) [m]."""
        shift = np.zeros((self.f, 3))
        for _ in range(20):
            for side, foot in feet.items():
                posed = self.posed(side)
                ankle = foot.x + foot.R @ self.target.points[f"{side}_ankle"].at
                span = ankle - posed["hip"] - shift
                far = np.linalg.norm(span, axis=1)
                most = STRAIGHT * (self.long(side, "thigh") + self.long(side, "shank"))
                most = np.maximum(most, np.linalg.norm(posed["ankle"] - posed["hip"], axis=1))
                over = np.where(foot.heel | foot.toe, np.maximum(far - most, 0.0), 0.0)
                shift += (over / far)[:, None] * span
        if self.f < 3 or not shift.any():
            return shift
        return gaussian_filter1d(shift, SUPPORT / float(np.median(np.diff(self.times))), axis=0, mode="nearest")

    def _between(self, values: Array, known: Array) -> Array:
        """Values that are known at some frames, at all, smoothly."""
        if not known.any():
            return np.zeros(self.f)
        filled = np.interp(self.times, self.times[known], values[known])
        if self.f < 3:
            return filled
        return gaussian_filter1d(filled, SUPPORT / float(np.median(np.diff(self.times))), mode="nearest")

    def level(self, side: str) -> Array:
        """Height of the ground under a foot: that of a stair, if it stands on one: (f,) [m]."""
        level = np.zeros(self.f)
        on = {end: self.contacts[f"{side}_{end}"] for end in ("heel", "toe")}
        body, sole = self.source.bodies[f"{side}_foot"], self.source.soles[side]
        for a, b in foot_locking.runs(on["heel"] | on["toe"]):
            heights = [self.poses.point(body, getattr(sole, end))[a:b][on[end][a:b], 2] for end in on]
            height = float(np.median(np.concatenate(heights))) - self.ground
            if abs(height) > foot_locking.STEP:
                level[a:b] = self.scale * height
                self.guesses.append(Guess("stands on", f"{height:+.2f} m", f"{side} foot at {self.times[a]:.2f} s"))
        return level

    # --- goals ------------------------------------------------------------------------------

    def pose_goals(self) -> Goals:
        """The pose alone, wherever the ground is."""
        rows = [*self._limbs(), *self._trunk(), *self._orientations()]
        for side in SIDES:
            body = self.target.bodies[f"{side}_foot"]
            if body != self.target.points[f"{side}_knee"].body:
                rows += self._turned(body, self.posed(side)["R"], 1.0)
        return self._gathered(rows, [])

    def goals(self) -> Goals:
        """The pose, and feet and hands where they stand."""
        return self._gathered([*self._limbs(), *self._trunk(), *self._orientations(), *self._soles(), *self._hands()], self._above_ground())

    def _gathered(self, rows: list[_Row], above: list[tuple[Point, float]]) -> Goals:
        points: dict[tuple[int, bytes], int] = {}
        spots: list[Point] = []

        def number(point: Point | None) -> int:
            if point is None:
                return -1
            key = (point.body, point.at.tobytes())
            if key not in points:
                points[key] = len(spots)
                spots.append(point)
            return points[key]

        first = np.array([number(row.first) for row in rows])
        second = np.array([number(row.second) for row in rows])
        floor, sink = np.array([number(point) for point, _ in above], int), np.array([weight for _, weight in above])
        where = Points(np.array([point.body for point in spots]), np.array([point.at for point in spots]))
        target, weight = (np.stack([getattr(row, what) for row in rows], axis=1) for what in ("target", "weight"))
        return Goals(where, first, second, target, weight, floor, sink)

    def _each(self, weight: float | Array) -> Array:
        return np.broadcast_to(np.asarray(weight, float).reshape(-1, 1), (self.f, 3))

    def _limbs(self) -> list[_Row]:
        rows, missing = [], []
        for side in SIDES:
            for limb, (a, b, weight) in LIMBS.items():
                ends = [f"{side}_{a}", f"{side}_{b}"]
                if not all(end in self.target.points for end in ends):
                    continue
                first, second = (self.target.points[end] for end in ends)
                if limb == "hand" and second.body == self.target.points[f"{side}_elbow"].body:
                    continue  # it goes with the forearm
                if not all(end in self.source.points for end in ends):
                    missing.append(f"{side} {limb}")
                    continue
                rows.append(_Row(second, first, self.along(side, limb), self._each(weight / self.long(side, limb))))
        if missing:
            self.guesses.append(Guess("limbs not in the source", ", ".join(missing), "they stay near the standing posture"))
        return rows

    def _trunk(self) -> list[_Row]:
        """Shoulders from the pelvis: along the source's trunk and across it, as long and as wide as the target is."""
        spans = self._trunk_spans()
        if spans is None or self._goes_along("chest"):
            return []
        along, across = spans
        start, each = self.target.points["pelvis"], self._each(TRUNK / float(np.linalg.norm(self._spans(self.stand, self.target)[0])))
        sides = zip(SHOULDERS, (1.0, -1.0), strict=True)
        return [_Row(self.target.points[end], start, along + side * across, each) for end, side in sides]

    def _trunk_spans(self) -> tuple[Array, Array] | None:
        """The source's trunk, and from its middle to the left shoulder, as long and as wide as the target's: two (f, 3); None without."""
        if not all(end in marks.points for end in SHOULDERS for marks in (self.source, self.target)):
            return None
        (t_long, t_wide), (s_long, s_wide) = (
            [float(np.linalg.norm(v)) for v in self._spans(poses, marks)]
            for poses, marks in ((self.stand, self.target), (self.rest, self.source))
        )
        if min(t_long, s_long) < 0.01:
            return None
        along, across = self._spans(self.poses, self.source)
        return t_long / s_long * along, t_wide / max(s_wide, 1e-3) * across

    def _spans(self, poses: Poses, marks: Landmarks) -> tuple[Array, Array]:
        """From the pelvis to between the shoulders, and from there to the left one: two (f, 3)."""
        left, right, pelvis = (poses.point(*marks.points[role]) for role in ("left_shoulder", "right_shoulder", "pelvis"))
        return 0.5 * (left + right) - pelvis, 0.5 * (left - right)

    def _orientations(self) -> list[_Row]:
        rows = [_Row(self.target.points["pelvis"], None, self.pelvis, self._each(PELVIS))]
        for role, R in self.parts.items():
            rows += self._turned(self.target.bodies[role], R, PARTS[role])
        return rows

    def _turned(self, body: int, R: Array, weight: float) -> list[_Row]:
        """An orientation: where the axes of a body point."""
        origin, each = Point(body, np.zeros(3)), self._each(weight / np.sqrt(2.0))
        return [_Row(Point(body, axis), origin, R @ axis, each) for axis in np.eye(3)]

    def _soles(self) -> list[_Row]:
        rows = []
        for side, foot in self.feet.items():
            body, sole = self.target.bodies[f"{side}_foot"], self.target.soles[side]
            if body == self.target.points[f"{side}_knee"].body:  # a foot without an ankle stands as the shank does
                weight = 0.5 * foot_locking.weights(foot.heel | foot.toe, self.times, STANCE, SWING)
                level = np.stack((weight, weight, np.minimum(weight, SWING)), axis=1)
                rows += [_Row(Point(body, end), None, foot.x + foot.R @ end, level) for end in (sole.heel, sole.toe)]
                continue
            for corner, label in zip(sole.corners, (foot.heel, foot.heel, foot.toe, foot.toe), strict=True):
                weight = foot_locking.weights(label, self.times, STANCE, SWING)
                rows.append(_Row(Point(body, corner), None, foot.x + foot.R @ corner, self._each(0.5 * weight)))
        return rows

    def grips(self) -> dict[str, Array]:
        """Where hands hold something, for all of that time: (f, 3) [m] by side; NaN while they do not."""
        places = {}
        for side in SIDES:
            role, on = f"{side}_hand", self.contacts[f"{side}_grip"]
            if on.any() and all(role in marks.points for marks in (self.source, self.target)):
                path = self.scale * (self.poses.point(*self.source.points[role]) - (0.0, 0.0, self.ground))
                places[side] = np.full((self.f, 3), np.nan)
                for a, b in foot_locking.runs(on):
                    places[side][a:b] = path[a:b].mean(axis=0)
        return places

    def _below_grips(self) -> Array:
        """What the pelvis must be moved by for arms to reach what hands hold, each part pointing where the source's does: (f, 3) [m]."""
        shift, count = np.zeros((self.f, 3)), np.zeros(self.f)
        spans = self._trunk_spans()
        for side, place in self.grips().items():
            if spans is None or f"{side}_wrist" not in self.target.points or f"{side}_wrist" not in self.source.points:
                continue
            along, across = spans
            hand = self.pelvis + along + (1.0 if side == "left" else -1.0) * across
            hand = hand + sum(self.along(side, limb) for limb in ("upper_arm", "forearm", "hand"))
            on = np.isfinite(place[:, 0])
            shift[on] += (place - hand)[on]
            count += on
        if not count.any():
            return shift
        known = count > 0
        mean = np.stack([self._between(x / np.maximum(count, 1), known) for x in shift.T], axis=1)
        fade = np.clip(1.0 - self._nearest(known) / foot_locking.LET_GO, 0.0, 1.0)
        return (fade * fade * (3.0 - 2.0 * fade))[:, None] * mean

    def _hands(self) -> list[_Row]:
        """Palms that touch, and hands that hold: one place for all of that time."""
        rows, grips = [], self.grips()
        for side in SIDES:
            role = f"{side}_hand"
            grip = self.contacts[f"{side}_grip"]
            on = self.contacts[role] | grip
            if not on.any() or role not in self.target.points or role not in self.source.points:
                continue
            path = self.scale * (self.poses.point(*self.source.points[role]) - (0.0, 0.0, self.ground))
            vertices = vertices_of(self.target.model, self.target.points[role].body) - self.target.points[role].at
            thick = float(np.linalg.norm(vertices, axis=1).min()) if len(vertices) else 0.0
            weight = foot_locking.weights(on, self.times, HAND, NEAR_HAND)
            for a, b in foot_locking.runs(on):
                place = np.nanmean(grips[side][a:b], axis=0) if grip[a:b].any() else np.array((*path[a:b, :2].mean(axis=0), thick))
                middle = 0.5 * (self.times[a] + self.times[b - 1])
                # Before and after, the place of the nearest contact is meant, ever less.
                nearer = np.abs(self.times - middle) - 0.5 * (self.times[b - 1] - self.times[a]) <= self._nearest(on)
                path[nearer] = place
            rows.append(_Row(self.target.points[role], None, path, self._each(np.where(weight > 1.01 * NEAR_HAND, weight, 0.0))))
        return rows

    def _nearest(self, on: Array) -> Array:
        """How far away in time the nearest contact is, and a little more: (f,)."""
        away = [np.maximum(np.maximum(self.times[a] - self.times, self.times - self.times[b - 1]), 0.0) for a, b in foot_locking.runs(on)]
        return np.min(away, axis=0) + 1e-9

    def _above_ground(self) -> list[tuple[Point, float]]:
        """Points that must not sink, and how much that counts: of feet, toes and hands the farthest ones along each direction."""
        found = []
        for side in SIDES:
            for role, weight in ((f"{side}_foot", SINK), (f"{side}_toe", SINK), (f"{side}_hand", HAND_SINK)):
                if role in self.target.bodies:
                    body = self.target.bodies[role]
                    sole = self.target.soles[side]
                    below = (
                        _extremes(sole.hull, sole.axes[:, 2]) if role.endswith("foot") else _extremes(vertices_of(self.target.model, body))
                    )
                    found += [(Point(body, at), weight) for at in below]
        return found

    def start(self) -> Array:
        """The standing posture in all frames, with the pelvis where it should be: (f, nq)."""
        model, pelvis = self.target.model, self.target.bodies["pelvis"]
        q = np.tile(self.target.stand, (self.f, 1))
        root = next(link for link in model.links.values() if isinstance(link.joint, Free))
        place, body = model.joints[root.joint_name].q, model.placements[root.name].body
        if model.tree.parent[body] >= 0:
            raise MotionError(f"The free joint {root.joint_name!r} of {model.name!r} is not at its root, so it cannot be moved as a whole.")
        at = self.target.points["pelvis"].at
        R = self.parts["pelvis"] @ self.stand.R[pelvis, 0].T @ self.stand.R[body, 0]
        away = self.stand.R[pelvis, 0].T @ (self.stand.x[body, 0] - self.stand.x[pelvis, 0]) - at
        x = self.pelvis + self.parts["pelvis"] @ away
        R0, x0 = model.tree.R_parent_joint[body], model.tree.p_parent_joint[body]
        q[:, place] = np.concatenate(((x - x0) @ R0, rotations.steady(rotations.from_matrix(R0.T @ R))), axis=1)
        return q


def _extremes(vertices: Array, up: Array | None = None) -> list[Array]:
    """The farthest vertices along many directions: all, or those below."""
    if not len(vertices):
        return []
    k = np.arange(DIRECTIONS) + 0.5  # on a spiral, evenly over the sphere
    turn, height = np.pi * (1.0 + np.sqrt(5.0)) * k, 1.0 - 2.0 * k / DIRECTIONS
    across = np.sqrt(1.0 - height**2)
    directions = np.stack((across * np.cos(turn), across * np.sin(turn), height), axis=1)
    if up is not None:
        directions = np.concatenate((directions[directions @ up < 0.0], [-up]))
    return [vertices[k] for k in np.unique(np.argmax(vertices @ directions.T, axis=0))]
