"""IK targets of retargeting: limb directions, part orientations and contacts of the source for the target figure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from scipy.ndimage import gaussian_filter1d

from brachiate import rotations, validation
from brachiate.anatomy.landmarks import BodyPoint, Landmarks, body_vertices
from brachiate.assumptions import Assumption
from brachiate.clip.joint_roles import SIDES
from brachiate.errors import MotionError
from brachiate.foot_locking.foot_trajectories import PoseTrajectory
from brachiate.foot_locking.nearest_contact import time_to_nearest
from brachiate.intervals import true_intervals
from brachiate.kinematics_batch import BatchKinematics, Poses
from brachiate.model.joints import Free
from brachiate.motion.motion import Motion
from brachiate.retargeting import source_contacts
from brachiate.retargeting.extreme_vertices import extreme_vertices
from brachiate.retargeting.hand_contacts import find_grips_and_steps
from brachiate.retargeting.locked_feet import FootMotion, LockedFoot, lock_feet
from brachiate.retargeting.target_rows import TargetRow, TargetRows
from brachiate.retargeting.trajectory_ik import IkTargets, contact_weights
from brachiate.validation import Array

#: Limbs whose directions are kept: first point, second point, weight.
LIMBS: Mapping[str, tuple[str, str, float]] = {
    "thigh": ("hip", "knee", 1.0), "shank": ("knee", "ankle", 1.0), "upper_arm": ("shoulder", "elbow", 1.0),
    "forearm": ("elbow", "wrist", 1.0), "hand": ("wrist", "hand", 0.3),
}  # fmt: skip
#: Parts whose orientation is kept, and its weight.
ORIENTED_PARTS: Mapping[str, float] = {"pelvis": 1.0, "chest": 1.0, "head": 0.6, "left_toe": 0.3, "right_toe": 0.3}
SHOULDERS = ("left_shoulder", "right_shoulder")
TRUNK_WEIGHT = 0.4  # of the vectors from the pelvis to the shoulders
PELVIS_WEIGHT = 3.0  # [1/m] of the pelvis position
SWING_WEIGHT, STANCE_WEIGHT = 4.0, 120.0  # [1/m] of the corners of a sole
HAND_WEIGHT, HAND_RELEASE_WEIGHT = 60.0, 0.05  # [1/m] of a palm in contact, and at the end of its release
FOOT_PENETRATION_WEIGHT, HAND_PENETRATION_WEIGHT = 120.0, 15.0  # [1/m] of penetration of feet and hands
MAX_GROUND_SHARE = 0.15  # of leg length: soles that are always higher than this do not stand on the ground
MAX_LEG_EXTENSION = 0.998  # of leg length: largest extension of a stance leg, unless it is larger in the pose
MIN_STAIR_HEIGHT = 0.06  # [m] above the ground: higher footholds are on a stair
GRIP_RELEASE_TIME = 0.2  # [s] over which the pelvis correction of a grip decays
PELVIS_SMOOTHING = 0.06  # [s] smoothing of the pelvis correction


class RetargetTargets:
    """IK targets of a target figure from a motion of a source figure."""

    def __init__(
        self,
        motion: Motion,
        source: Landmarks,
        target: Landmarks,
        contacts: Mapping[str, Array] | None,
        scale: float | None,
        ground_height: float | None,
    ) -> None:
        self.motion, self.source, self.target = motion, source, target
        self.times, self.frame_count = motion.times, len(motion)
        self.poses = BatchKinematics(source.model).poses_of_bodies(motion.q, source.all_bodies)
        self.source_rest, self.target_rest = (BatchKinematics(marks.model).poses(marks.standing_q[None]) for marks in (source, target))
        self.leg_length, target_leg = self._leg_length(source, self.source_rest), self._leg_length(target, self.target_rest)
        self.scale = target_leg / self.leg_length if scale is None else scale
        self.assumptions = [*target.assumptions, *(assumption for assumption in source.assumptions[1:])]
        why = "given" if scale is not None else f"leg length {target_leg:.3f} m over {self.leg_length:.3f} m"
        self.assumptions.append(Assumption("scale of the pelvis path", f"{self.scale:.3f}", why, "scale"))
        self.ground_height = self._estimate_ground() if ground_height is None else validation.number(ground_height, "ground_height")
        self.contacts = self._contacts(contacts)
        self.pelvis, self.part_orientations = self._part_orientations()
        self.pelvis = self.pelvis + self._grip_correction()
        self.feet = self._lock_feet()

    def _estimate_ground(self) -> float:
        """Ground height of the source from its soles, 0 if they are too high to be on the ground."""
        found = source_contacts.estimate_ground_height(self.source, self.poses, self.times)
        if found > MAX_GROUND_SHARE * self.leg_length:
            why = f"soles are never lower than {found:.2f} m: the figure may hang or be in flight"
            self.assumptions.append(Assumption("ground height of the source", "0 m", why, "ground_height"))
            return 0.0
        if abs(found) > 0.01:
            self.assumptions.append(
                Assumption("ground height of the source", f"{found:+.3f} m", "height of its stance feet; 0 in the result", "ground_height")
            )
        return found

    def _leg_length(self, marks: Landmarks, poses: Poses) -> float:
        """Leg length including ankle height, mean of both sides [m]."""
        lengths = []
        for side in SIDES:
            sole = marks.soles[side]
            ankle = float((marks.points[f"{side}_ankle"].position - sole.toe) @ sole.axes[:, 2])
            lengths.append(sum(marks.length(f"{side}_{a}", f"{side}_{b}", poses) for a, b in (("hip", "knee"), ("knee", "ankle"))) + ankle)
        return float(np.mean(lengths))

    def _contacts(self, flags: Mapping[str, Array] | None) -> dict[str, Array]:
        if flags is None:
            found = source_contacts.detect_contacts(self.source, self.poses, self.times, self.leg_length, self.ground_height)
            shares = ", ".join(f"{role} {label.mean():.0%}" for role, label in found.items() if label.any())
            self.assumptions.append(Assumption("ground contacts", shares or "none", "detected by height and speed", "contacts"))
            others = find_grips_and_steps(self.motion, np.any(list(found.values()), axis=0))
            if others:
                shares = ", ".join(f"{role.replace('grip', 'hand')} {label.mean():.0%}" for role, label in others.items())
                why = "ground contacts cannot provide the required force, and these parts are stationary"
                self.assumptions.append(Assumption("other contacts", shares, why, "contacts"))
            found |= {role: found.get(role, False) | label for role, label in others.items()}
        else:
            found, left_out = source_contacts.contact_flags(flags, self.frame_count)
            self.assumptions += left_out
        none = np.zeros(self.frame_count, bool)
        return {f"{side}_{part}": found.get(f"{side}_{part}", none) for side in SIDES for part in ("heel", "toe", "hand", "grip")}

    def _part_orientations(self) -> tuple[Array, dict[str, Array]]:
        """Path of the pelvis (f, 3), and orientations of parts (f, 3, 3) by role."""
        source, target = self.source, self.target
        path = self.scale * (self.poses.point(*source.points["pelvis"]) - (0.0, 0.0, self.ground_height))
        across = source.axes @ target.axes.T
        parts, missing = {}, []
        for role in ORIENTED_PARTS:
            if role not in target.bodies or (role != "pelvis" and self._is_pelvis(role)):
                continue
            if role not in source.bodies:
                missing.append(role)
                continue
            a, b = source.bodies[role], target.bodies[role]
            parts[role] = self.poses.R[a] @ self.source_rest.R[a, 0].T @ across @ self.target_rest.R[b, 0]
        if missing:
            self.assumptions.append(Assumption("missing in the source", ", ".join(missing), "kept near the standing posture"))
        unmatched = [role for role in source.bodies if role in ORIENTED_PARTS and role not in target.bodies]
        if unmatched:
            self.assumptions.append(Assumption("missing in the target", ", ".join(unmatched), f"{target.model.name} has no such joint"))
        return path, parts

    def _is_pelvis(self, role: str) -> bool:
        """Whether a part of the target is the pelvis body."""
        return self.target.bodies[role] == self.target.bodies["pelvis"]

    # --- feet -------------------------------------------------------------------------------

    def limb_vector(self, side: str, limb: str) -> Array:
        """Vector along a limb in the direction of the source with the length of the target: (f, 3) [m]."""
        a, b = (f"{side}_{end}" for end in LIMBS[limb][:2])
        vector = self.poses.point(*self.source.points[b]) - self.poses.point(*self.source.points[a])
        return self.limb_length(side, limb) / max(self.source.length(a, b, self.source_rest), 1e-3) * vector

    def limb_length(self, side: str, limb: str) -> float:
        """Limb length of the target [m]."""
        a, b, _ = LIMBS[limb]
        return self.target.length(f"{side}_{a}", f"{side}_{b}", self.target_rest)

    def pose_of_leg(self, side: str) -> dict[str, Array]:
        """Hip, knee, ankle and foot position with the limb directions of the source: (f, 3); foot orientation ``R`` (f, 3, 3)."""
        target = self.target
        pelvis, body = self.target_rest.point(*target.points["pelvis"])[0], target.bodies["pelvis"]
        hip = self.target_rest.R[body, 0].T @ (self.target_rest.point(*target.points[f"{side}_hip"])[0] - pelvis)
        hip = self.pelvis + self.part_orientations["pelvis"] @ hip
        knee = hip + self.limb_vector(side, "thigh")
        ankle = knee + self.limb_vector(side, "shank")
        axes = self.poses.R[self.source.bodies[f"{side}_foot"]] @ self.source.soles[side].axes
        R = axes @ target.soles[side].axes.T
        return {"hip": hip, "knee": knee, "ankle": ankle, "R": R, "x": ankle - R @ target.points[f"{side}_ankle"].position}

    def _lock_feet(self) -> dict[str, LockedFoot]:
        """Locked trajectories of both feet; the pelvis is raised so that its legs reach them."""
        posed = {side: self.pose_of_leg(side) for side in SIDES}
        levels = {side: self.ground_level(side) for side in SIDES}
        lift, count = np.zeros(self.frame_count), np.zeros(self.frame_count)
        for side in SIDES:
            sole, pose = self.target.soles[side], posed[side]
            for end in ("heel", "toe"):
                on = self.contacts[f"{side}_{end}"]
                height = (pose["x"] + pose["R"] @ getattr(sole, end))[:, 2]
                lift += np.where(on, levels[side] - height, 0.0)
                count += on
        rise = self._interpolate(lift / np.maximum(count, 1), count > 0)
        self.pelvis = self.pelvis + rise[:, None] * (0.0, 0.0, 1.0)
        motions = {}
        for side, pose in posed.items():
            path = PoseTrajectory(pose["R"], pose["x"] + rise[:, None] * (0.0, 0.0, 1.0))
            motions[side] = FootMotion(path, self.contacts[f"{side}_heel"], self.contacts[f"{side}_toe"], levels[side])
        hands = np.any([self.contacts[f"{side}_{part}"] for side in SIDES for part in ("hand", "grip")], axis=0)
        feet, moved = lock_feet(self.target, motions, hands, self.times)
        self.assumptions += moved
        self.contacts |= {f"{side}_{end}": getattr(foot, end) for side, foot in feet.items() for end in ("heel", "toe")}
        self.pelvis = self.pelvis + self._reach_correction(feet)
        return feet

    def _reach_correction(self, feet: Mapping[str, LockedFoot]) -> Array:
        """Pelvis shift such that legs reach stance feet without being straighter than in the pose: (f, 3) [m]."""
        shift = np.zeros((self.frame_count, 3))
        for _ in range(20):
            for side, foot in feet.items():
                posed = self.pose_of_leg(side)
                ankle = foot.x + foot.R @ self.target.points[f"{side}_ankle"].position
                span = ankle - posed["hip"] - shift
                distance = np.linalg.norm(span, axis=1)
                max_length = MAX_LEG_EXTENSION * (self.limb_length(side, "thigh") + self.limb_length(side, "shank"))
                max_length = np.maximum(max_length, np.linalg.norm(posed["ankle"] - posed["hip"], axis=1))
                excess = np.where(foot.in_stance, np.maximum(distance - max_length, 0.0), 0.0)
                shift += (excess / distance)[:, None] * span
        if self.frame_count < 3 or not shift.any():
            return shift
        return gaussian_filter1d(shift, PELVIS_SMOOTHING / float(np.median(np.diff(self.times))), axis=0, mode="nearest")

    def _interpolate(self, values: Array, available: Array) -> Array:
        """Interpolate values known at some frames to all frames, smoothed."""
        if not available.any():
            return np.zeros(self.frame_count)
        filled = np.interp(self.times, self.times[available], values[available])
        if self.frame_count < 3:
            return filled
        return gaussian_filter1d(filled, PELVIS_SMOOTHING / float(np.median(np.diff(self.times))), mode="nearest")

    def ground_level(self, side: str) -> Array:
        """Height of the ground, or stair, under a foot: (f,) [m]."""
        level = np.zeros(self.frame_count)
        on = {end: self.contacts[f"{side}_{end}"] for end in ("heel", "toe")}
        body, sole = self.source.bodies[f"{side}_foot"], self.source.soles[side]
        for a, b in true_intervals(on["heel"] | on["toe"]):
            heights = [self.poses.point(body, getattr(sole, end))[a:b][on[end][a:b], 2] for end in on]
            height = float(np.median(np.concatenate(heights))) - self.ground_height
            if abs(height) > MIN_STAIR_HEIGHT:
                level[a:b] = self.scale * height
                self.assumptions.append(Assumption("stair", f"{height:+.2f} m", f"{side} foot at {self.times[a]:.2f} s"))
        return level

    # --- targets ----------------------------------------------------------------------------

    def pose_targets(self) -> IkTargets:
        """Targets of the pose, without contacts, in all frames."""
        return self.pose_rows().frames(slice(None))

    def contact_targets(self) -> IkTargets:
        """Targets of the pose and of the contacts of feet and hands, in all frames."""
        return self.contact_rows().frames(slice(None))

    def pose_rows(self) -> TargetRows:
        """Targets of the pose, without contacts."""
        rows = list(self._common_rows)
        for side in SIDES:
            body = self.target.bodies[f"{side}_foot"]
            if body != self.target.points[f"{side}_knee"].body:
                rows += self._orientation_rows(body, self.pose_of_leg(side)["R"], 1.0)
        return TargetRows(rows, [])

    def contact_rows(self) -> TargetRows:
        """Targets of the pose and of the contacts of feet and hands."""
        return TargetRows([*self._common_rows, *self._sole_targets(), *self._hand_targets()], self._ground_points())

    def forget_rows(self) -> None:
        """Give up the memory of targets that are in no use any more."""
        self.__dict__.pop("_common_rows", None)

    @cached_property
    def _common_rows(self) -> list[TargetRow]:
        return [*self._limb_targets(), *self._trunk_targets(), *self._orientation_targets()]

    def _weights(self, weight: float | Array) -> Array:
        return np.broadcast_to(np.asarray(weight, float).reshape(-1, 1), (self.frame_count, 3))

    def _limb_targets(self) -> list[TargetRow]:
        rows, missing = [], []
        for side in SIDES:
            for limb, (a, b, weight) in LIMBS.items():
                end_roles = [f"{side}_{a}", f"{side}_{b}"]
                if not all(end in self.target.points for end in end_roles):
                    continue
                first, second = (self.target.points[end] for end in end_roles)
                if limb == "hand" and second.body == self.target.points[f"{side}_elbow"].body:
                    continue  # the hand is fixed to the forearm
                if not all(end in self.source.points for end in end_roles):
                    missing.append(f"{side} {limb}")
                    continue
                rows.append(TargetRow(second, first, self.limb_vector(side, limb), self._weights(weight / self.limb_length(side, limb))))
        if missing:
            self.assumptions.append(Assumption("limbs missing in the source", ", ".join(missing), "kept near the standing posture"))
        return rows

    def _trunk_targets(self) -> list[TargetRow]:
        """Shoulders relative to the pelvis: direction of the source's trunk, length and width of the target's."""
        spans = self._scaled_trunk_vectors()
        if spans is None or self._is_pelvis("chest"):
            return []
        along, across = spans
        start, each = (
            self.target.points["pelvis"],
            self._weights(TRUNK_WEIGHT / float(np.linalg.norm(self._trunk_vectors(self.target_rest, self.target)[0]))),
        )
        sides = zip(SHOULDERS, (1.0, -1.0), strict=True)
        return [TargetRow(self.target.points[end], start, along + side * across, each) for end, side in sides]

    def _scaled_trunk_vectors(self) -> tuple[Array, Array] | None:
        """Trunk vector and shoulder half-width vector of the source, scaled to the target: two (f, 3); None without shoulders."""
        if not all(end in marks.points for end in SHOULDERS for marks in (self.source, self.target)):
            return None
        (t_long, t_wide), (s_long, s_wide) = (
            [float(np.linalg.norm(v)) for v in self._trunk_vectors(poses, marks)]
            for poses, marks in ((self.target_rest, self.target), (self.source_rest, self.source))
        )
        if min(t_long, s_long) < 0.01:
            return None
        along, across = self._trunk_vectors(self.poses, self.source)
        return t_long / s_long * along, t_wide / max(s_wide, 1e-3) * across

    def _trunk_vectors(self, poses: Poses, marks: Landmarks) -> tuple[Array, Array]:
        """Vectors from the pelvis to the mid-shoulder point, and from there to the left shoulder: two (f, 3)."""
        left, right, pelvis = (poses.point(*marks.points[role]) for role in ("left_shoulder", "right_shoulder", "pelvis"))
        return 0.5 * (left + right) - pelvis, 0.5 * (left - right)

    def _orientation_targets(self) -> list[TargetRow]:
        rows = [TargetRow(self.target.points["pelvis"], None, self.pelvis, self._weights(PELVIS_WEIGHT))]
        for role, R in self.part_orientations.items():
            rows += self._orientation_rows(self.target.bodies[role], R, ORIENTED_PARTS[role])
        return rows

    def _orientation_rows(self, body: int, R: Array, weight: float) -> list[TargetRow]:
        """Orientation of a body as targets of its axes."""
        origin, each = BodyPoint(body, np.zeros(3)), self._weights(weight / np.sqrt(2.0))
        return [TargetRow(BodyPoint(body, axis), origin, R @ axis, each) for axis in np.eye(3)]

    def _sole_targets(self) -> list[TargetRow]:
        rows = []
        for side, foot in self.feet.items():
            body, sole = self.target.bodies[f"{side}_foot"], self.target.soles[side]
            if body == self.target.points[f"{side}_knee"].body:  # a foot without an ankle is inclined with the shank
                weight = 0.5 * contact_weights(foot.in_stance, self.times, STANCE_WEIGHT, SWING_WEIGHT)
                level = np.stack((weight, weight, np.minimum(weight, SWING_WEIGHT)), axis=1)
                rows += [TargetRow(BodyPoint(body, end), None, foot.x + foot.R @ end, level) for end in (sole.heel, sole.toe)]
                continue
            for corner, label in zip(sole.corners, (foot.heel, foot.heel, foot.toe, foot.toe), strict=True):
                weight = contact_weights(label, self.times, STANCE_WEIGHT, SWING_WEIGHT)
                rows.append(TargetRow(BodyPoint(body, corner), None, foot.x + foot.R @ corner, self._weights(0.5 * weight)))
        return rows

    def grip_positions(self) -> dict[str, Array]:
        """Grip positions, constant during each grip: (f, 3) [m] by side; NaN without a grip."""
        places = {}
        for side in SIDES:
            role, on = f"{side}_hand", self.contacts[f"{side}_grip"]
            if on.any() and all(role in marks.points for marks in (self.source, self.target)):
                path = self.scale * (self.poses.point(*self.source.points[role]) - (0.0, 0.0, self.ground_height))
                places[side] = np.full((self.frame_count, 3), np.nan)
                for a, b in true_intervals(on):
                    places[side][a:b] = path[a:b].mean(axis=0)
        return places

    def _grip_correction(self) -> Array:
        """Pelvis shift such that arms with the directions of the source reach the grips: (f, 3) [m]."""
        shift, count = np.zeros((self.frame_count, 3)), np.zeros(self.frame_count)
        spans = self._scaled_trunk_vectors()
        for side, place in self.grip_positions().items():
            if spans is None or f"{side}_wrist" not in self.target.points or f"{side}_wrist" not in self.source.points:
                continue
            along, across = spans
            hand = self.pelvis + along + (1.0 if side == "left" else -1.0) * across
            hand = hand + sum(self.limb_vector(side, limb) for limb in ("upper_arm", "forearm", "hand"))
            on = np.isfinite(place[:, 0])
            shift[on] += (place - hand)[on]
            count += on
        if not count.any():
            return shift
        available = count > 0
        mean = np.stack([self._interpolate(x / np.maximum(count, 1), available) for x in shift.T], axis=1)
        fade = np.clip(1.0 - self._time_to_contact(available) / GRIP_RELEASE_TIME, 0.0, 1.0)
        return (fade * fade * (3.0 - 2.0 * fade))[:, None] * mean

    def _hand_targets(self) -> list[TargetRow]:
        """Targets of palms in contact and of grips: one position for each contact."""
        rows, grips = [], self.grip_positions()
        for side in SIDES:
            role = f"{side}_hand"
            grip = self.contacts[f"{side}_grip"]
            on = self.contacts[role] | grip
            if not on.any() or role not in self.target.points or role not in self.source.points:
                continue
            path = self.scale * (self.poses.point(*self.source.points[role]) - (0.0, 0.0, self.ground_height))
            vertices = body_vertices(self.target.model, self.target.points[role].body) - self.target.points[role].position
            thickness = float(np.linalg.norm(vertices, axis=1).min()) if len(vertices) else 0.0
            weight, distance = contact_weights(on, self.times, HAND_WEIGHT, HAND_RELEASE_WEIGHT), self._time_to_contact(on)
            for a, b in true_intervals(on):
                place = np.nanmean(grips[side][a:b], axis=0) if grip[a:b].any() else np.array((*path[a:b, :2].mean(axis=0), thickness))
                middle = 0.5 * (self.times[a] + self.times[b - 1])
                # Before and after a contact the target is that of the nearest contact, with decaying weight
                is_nearest = np.abs(self.times - middle) - 0.5 * (self.times[b - 1] - self.times[a]) <= distance
                path[is_nearest] = place
            rows.append(
                TargetRow(self.target.points[role], None, path, self._weights(np.where(weight > 1.01 * HAND_RELEASE_WEIGHT, weight, 0.0)))
            )
        return rows

    def _time_to_contact(self, on: Array) -> Array:
        """Time to the nearest contact, plus an epsilon: (f,) [s]."""
        return time_to_nearest(self.times, on) + 1e-9

    def _ground_points(self) -> list[tuple[BodyPoint, float]]:
        """Points that must not penetrate the ground, and their weights: extreme points of feet, toes and hands."""
        found = []
        for side in SIDES:
            for role, weight in (
                (f"{side}_foot", FOOT_PENETRATION_WEIGHT),
                (f"{side}_toe", FOOT_PENETRATION_WEIGHT),
                (f"{side}_hand", HAND_PENETRATION_WEIGHT),
            ):
                if role in self.target.bodies:
                    body = self.target.bodies[role]
                    sole = self.target.soles[side]
                    below = (
                        extreme_vertices(sole.hull, sole.axes[:, 2])
                        if role.endswith("foot")
                        else extreme_vertices(body_vertices(self.target.model, body))
                    )
                    found += [(BodyPoint(body, at), weight) for at in below]
        return found

    def initial_guess(self) -> Array:
        """Initial configurations: standing posture with the target pelvis pose: (f, nq)."""
        model, pelvis = self.target.model, self.target.bodies["pelvis"]
        q = np.tile(self.target.standing_q, (self.frame_count, 1))
        root = next(link for link in model.links.values() if isinstance(link.joint, Free))
        place, body = model.joints[root.joint_name].q, model.placements[root.name].body
        if model.tree.parent[body] >= 0:
            raise MotionError(f"The free joint {root.joint_name!r} of {model.name!r} is not at its root: the figure has no floating base.")
        at = self.target.points["pelvis"].position
        R = self.part_orientations["pelvis"] @ self.target_rest.R[pelvis, 0].T @ self.target_rest.R[body, 0]
        away = self.target_rest.R[pelvis, 0].T @ (self.target_rest.x[body, 0] - self.target_rest.x[pelvis, 0]) - at
        x = self.pelvis + self.part_orientations["pelvis"] @ away
        R0, x0 = model.tree.R_parent_joint[body], model.tree.p_parent_joint[body]
        q[:, place] = np.concatenate(((x - x0) @ R0, rotations.unwrap(rotations.from_matrix(R0.T @ R))), axis=1)
        return q
