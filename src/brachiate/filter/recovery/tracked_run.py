"""Runs of the tracking controller over a whole reference: world, tracker and recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from brachiate.filter.offline_tracker import OfflineTracker
from brachiate.filter.reference.payloads import add_payload
from brachiate.filter.reference.reference import Reference
from brachiate.filter.reference.self_collision import ignore_self_collisions
from brachiate.filter.schedule.inferred_surfaces import surface_assumptions
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.fall_detection import Failure
from brachiate.filter.tracking.simulation_world import FIGURE, SimulationOptions, simulation_world
from brachiate.filter.tracking.validation import check_arguments, check_made_partner, check_pushes
from brachiate.kinematics_batch import BatchKinematics
from brachiate.simulate.partner import Partner
from brachiate.simulate.recording import Recording
from brachiate.world.world import World


class TrackedRun(NamedTuple):
    """Run of the tracking controller."""

    tracker: OfflineTracker
    recording: Recording

    @property
    def last_frame(self) -> int:
        """Frame of its last state."""
        return self.tracker.frame

    @property
    def failure(self) -> Failure | None:
        """Its fall."""
        return self.tracker.tracker.failure


def prepare_world(reference: Reference, options: SimulationOptions, *, surfaces: bool = True) -> tuple[World, Reference]:
    """World of a run, and the reference with payloads and with the assumptions that its world makes."""
    if options.payloads:
        reference = add_payload(reference, options.payloads)
    check_pushes(options.pushes, reference)
    world = simulation_world(reference, options.friction, options.torque_scale, surfaces=surfaces)
    check_arguments(world, FIGURE, reference, None)
    ignored = ignore_self_collisions(world, FIGURE, reference.q, reference.dt)
    return world, reference.changed(assumptions=(*reference.assumptions, *surface_assumptions(reference), *ignored))


def track(
    world: World, reference: Reference, options: SimulationOptions, settings: FilterSettings | None, *, plan_whole_clip: bool
) -> TrackedRun:  # fmt: skip
    """Track a reference in its world from the first frame on."""
    partner = None if options.partner is None else _make_partner(options.partner, world, reference)
    tracker = OfflineTracker(
        world, FIGURE, reference, settings, plan_whole_clip=plan_whole_clip, tracked_links=options.tracked_links, tasks=options.tasks
    )
    return TrackedRun(tracker, tracker.simulate(options.pushes, options.progress, partner))


def _make_partner(make: Callable[[World], Partner], world: World, reference: Reference) -> Partner:
    """What the simulation is coupled with, made in the first frame."""
    first, model = reference.states(slice(0, 1)), world.model
    world.q, world.v = first.q[0], first.v[0]
    partner = make(world)
    check_made_partner(partner, world, model)
    return partner


def mpjpe_cm(reference: Reference, recording: Recording, start: int = 0) -> float:
    """Mean joint position error of a recording against the original motion from a frame on [cm]."""
    kinematics, n = BatchKinematics(reference.figure), min(len(recording), len(reference) - start)
    q, original = recording.q[:n, : reference.figure.nq], reference.original_configurations(slice(start, start + n))
    return float(100.0 * np.linalg.norm(kinematics.poses(q).x - kinematics.poses(original).x, axis=-1).mean())
