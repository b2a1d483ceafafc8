"""Assembly of the reference: stances and contact labels at its frames, and displacement of the joints from the original motion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from brachiate import validation
from brachiate.anatomy.contact_points import ContactPoints
from brachiate.anatomy.feet import Foot, to_link_frame
from brachiate.assumptions import Assumption
from brachiate.filter.reference.fixed_contacts import FixedContact
from brachiate.filter.reference.reference import PreprocessDisplacement, Stance
from brachiate.filter.reference.resampling import GroundFrame, TimeGrid
from brachiate.filter.reference.seat_contacts import refit_seat_contact
from brachiate.filter.reference.stair_footholds import toe_pose
from brachiate.foot_locking.foot_track import Foothold
from brachiate.foot_locking.foot_trajectories import FootTrajectory
from brachiate.intervals import true_intervals
from brachiate.kinematics_batch import BatchKinematics
from brachiate.model.model import Model
from brachiate.motion.contact_labels import ContactInterval, ContactLabels
from brachiate.validation import Array

FIXED_POINT_TOLERANCE = 0.002  # [m] largest distance of a fixed point from its position
CHUNK = 4096  # frames whose poses are evaluated together
PART_CONTACT_MIN_DURATION = 0.05  # [s] of one link of a foot, if its other link is in contact


def split_fixed_contacts(
    contacts: Sequence[FixedContact], kinematics: BatchKinematics, q: Array, times: Array
) -> tuple[list[FixedContact], list[Assumption]]:
    """Fixed contacts that configurations (f, nq) satisfy, and an assumption about the others: arms and trunk reach only so far."""
    if not contacts:
        return [], []
    satisfied, failed, poses = [], [], kinematics.poses(q)
    for contact in contacts:
        errors = [
            np.linalg.norm(poses.point(*target.point) - target.position, axis=1)[target.active].max(initial=0.0)
            for target in contact.targets
        ]
        refitted = contact if contact.seat is None else refit_seat_contact(contact, contact.seat, poses, times)
        (satisfied if max(errors, default=0.0) < FIXED_POINT_TOLERANCE else failed).append(refitted)
    parts = ", ".join(f"{contact.label.part} ({contact.label.start:.2f}-{contact.label.end:.2f} s)" for contact in failed)
    reason = "the IK cannot keep it at one position with all other targets: kept as a contact label only"
    return satisfied, [Assumption("no stance", parts, reason, "contacts")] if failed else []


def preprocess_displacement(kinematics: BatchKinematics, original: Array, q: Array, times: Array) -> PreprocessDisplacement:
    """Distance of the joints between original and new configurations (f, nq)."""
    chunks = [slice(k, k + CHUNK) for k in range(0, len(q), CHUNK)]
    distance = 100.0 * np.concatenate(
        [np.linalg.norm(kinematics.poses(q[some]).x - kinematics.poses(original[some]).x, axis=2) for some in chunks], axis=1
    )
    body, k = np.unravel_index(int(np.argmax(distance)), distance.shape)
    links = {place.body: name for name, place in reversed(list(kinematics.model.placements.items()))}
    rms, mean = float(np.sqrt((distance**2).mean())), float(distance.mean())
    return PreprocessDisplacement(rms, mean, float(distance.max()), links[int(body)], float(times[k]))


class StanceAssembler:
    """Converts footholds and fixed contacts at the knots, in the ground frame, to stances at the frames of the reference.

    Args:
        model: Model of the figure.
        grid: Time grid of the reference.
        frame: Ground frame.
    """

    def __init__(self, model: Model, grid: TimeGrid, frame: GroundFrame) -> None:
        self.model, self.grid, self.frame = model, grid, frame

    def assemble(
        self,
        feet: Sequence[Foot],
        footholds: Sequence[Sequence[Foothold]],
        trajectories: Sequence[FootTrajectory],
        contacts: Sequence[FixedContact],
    ) -> tuple[Stance, ...]:
        """Stances of feet, toes and fixed contacts, ordered by their start."""
        stances = [
            stance
            for foot, each, trajectory in zip(feet, footholds, trajectories, strict=True)
            for foothold in each
            for stance in self._foot_stances(foot, foothold, trajectory)
        ]
        for contact in contacts:
            height = float((contact.x + contact.corners @ contact.R.T)[:, 2].mean())
            for span in true_intervals(np.asarray(contact.corner_contact.any(axis=1))):
                pose = contact.R, contact.x
                stances.append(self._stance(contact.link, span, contact.corners, contact.corner_contact, pose, contact.label.kind, height))
        return tuple(sorted(stances, key=lambda stance: (stance.start, stance.link)))

    def _foot_stances(self, foot: Foot, foothold: Foothold, trajectory: FootTrajectory) -> Iterator[Stance]:
        """Stances of a foot and of its toes at one foothold."""
        parts = [(foot.link, foot.corners, (foothold.R, foothold.x), trajectory.corner_contact)]
        if foot.toes is not None:
            toes = foot.toes
            toe_contact = np.repeat(trajectory.toe_contact[:, None], len(toes.corners), axis=1)
            parts.append((toes.link, toes.corners, toe_pose(foot, foothold.R, foothold.x), toe_contact))
        frames = slice(foothold.start, foothold.end)
        for link, corners, pose, contact in parts:
            others = np.any([part[3][frames].any(axis=1) for part in parts if part[0] != link], axis=0)
            for a, b in true_intervals(np.asarray(np.any(contact[frames], axis=1))):
                # A link that touches briefly while the foot rolls over has no stance
                brief = (b - a) * self.grid.stride * self.grid.dt < PART_CONTACT_MIN_DURATION
                if brief and len(parts) > 1 and others[a:b].all():
                    continue
                span = foothold.start + a, foothold.start + b
                yield self._stance(link, span, corners, contact, pose, "support", foothold.height)

    def _stance(
        self,
        link: str,
        span: tuple[int, int],
        corners: Array,
        contact: Array,
        pose: tuple[Array, Array],
        kind: str,
        height: float,
    ) -> Stance:
        """Stance at the frames of the reference, from knots a to b - 1, with flags of the corners (knots, k) and a pose R, x."""
        place, stride, (a, b), (R, x) = self.model.placements[link], self.grid.stride, span, pose
        start, end = a * stride, (b - 1) * stride + 1
        before = np.arange(start, end) // stride
        after = np.minimum(before + (np.arange(start, end) % stride > 0), b - 1)
        both = contact[before] & contact[after]
        both = np.where(np.any(both, axis=1, keepdims=True), both, contact[before])
        return Stance(
            link, start, end, validation.frozen(to_link_frame(self.model, link, corners)), validation.frozen(both),
            self.frame.point_to_world(x + R @ place.position), self.frame.rotation_to_world(R @ place.rotation), kind,
            height + float(self.frame.origin[2]),
        )  # fmt: skip

    def contact_labels(
        self, stances: Sequence[Stance], labels: ContactLabels, points: ContactPoints, lying: Mapping[int, Array]
    ) -> ContactLabels:
        """Contact labels of the reference: parts of feet by their corners in contact, all others as they were.

        ``lying``: whether feet lie on their side or back, (knots,) for each of their bodies.
        """
        knots, contacts = self.grid.knots, []
        shift = float(self.frame.origin[2]) - (labels.terrain.height or 0.0)
        for part, link in zip(points.parts, points.links, strict=True):
            body = int(points.body[points.part == points.parts.index(part)][0])
            for label in labels.of(part):
                label = replace(label, height=None if label.height is None else label.height + shift)
                if body not in lying:
                    contacts.append(label)
                    continue
                span = slice(*np.searchsorted(knots, (label.start - 1e-9, label.end + 1e-9)))
                within = knots[span]
                contacts += [replace(label, start=float(within[a]), end=float(within[b - 1])) for a, b in true_intervals(lying[body][span])]
            if body in lying:
                contacts += [contact for stance in stances if stance.link == link for contact in self._part_contacts(stance, part)]
        return ContactLabels(tuple(sorted(contacts, key=lambda contact: (contact.start, contact.part))), self.frame.terrain)

    def _part_contacts(self, stance: Stance, part: str) -> Iterator[ContactInterval]:
        """Contact intervals of a part of a foot within a stance."""
        k, times = len(stance.corners), self.grid.times
        corners = slice(0, k // 2) if part.endswith("heel") else slice(k // 2, k) if part.endswith(("toe", "ball")) else slice(0, k)
        stairs = self.frame.terrain.stairs
        stair_height = 0.0 if stairs is None else float(stairs.height_at(stance.corner_positions.mean(axis=0)))
        ground = float(self.frame.origin[2]) + stair_height
        height = None if abs(stance.height - ground) < 1e-9 else stance.height
        for a, b in true_intervals(np.asarray(np.any(stance.corner_contact[:, corners], axis=1))):
            yield ContactInterval(part, float(times[stance.start + a]), float(times[stance.start + b - 1]), "support", height)
