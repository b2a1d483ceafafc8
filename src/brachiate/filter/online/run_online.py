"""Online filter applied to a whole motion: its frames are sent one by one, as a live source would send them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from brachiate import validation
from brachiate.assumptions import Assumption
from brachiate.errors import ArgumentError
from brachiate.filter.online.dynamics_filter import LATENCY, DynamicsFilter
from brachiate.filter.reference.payloads import add_payload
from brachiate.filter.reference.reference import PreprocessDisplacement, Reference, SourceMotion
from brachiate.filter.reference.self_collision import ignore_self_collisions
from brachiate.filter.results.result import FilterResult, RunOutcome
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.simulation_world import FIGURE, SimulationOptions, simulation_world
from brachiate.filter.tracking.validation import check_pushes
from brachiate.motion.contact_labels import ContactLabels
from brachiate.motion.motion import Motion
from brachiate.motion.spline import MotionSpline
from brachiate.motion.terrain import Terrain
from brachiate.simulate.recording import Recording
from brachiate.validation import Array
from brachiate.world.world import World

SELF_COLLISION_WINDOW = 0.1  # [s] first part of the motion that is searched for overlapping links, as nothing later is known yet


def run_online_filter(
    motion: Motion | Reference,
    options: SimulationOptions,
    settings: FilterSettings | None = None,
    dt: float = 0.002,
    latency: float = LATENCY,
) -> FilterResult:
    """Filter a motion frame by frame, on level ground; a motion with a lower frame rate is interpolated by a spline.

    Args:
        motion: Motion, or a reference, of which the original is filtered at its frames.
        options: Friction, torque limits, pushes, payloads.
        settings: Default: one set for all motions.
        dt: Length of a simulation step [s].
        latency: Delay of the body behind the frames [s].
    """
    if isinstance(motion, Reference):
        source, dt = motion.source or SourceMotion(motion.original, resampled=True), motion.dt
        motion = motion.original
    elif isinstance(motion, Motion):
        source = SourceMotion(motion)
    else:
        raise ArgumentError(f"motion: expected a Motion, as br.load_motion(path) gives, got {validation.short_repr(motion)}.")
    reference = _raw_reference(motion, dt)
    if options.payloads:
        reference = add_payload(reference, options.payloads)
    check_pushes(options.pushes, reference)
    world = simulation_world(reference, options.friction, options.torque_scale)
    ignored = ignore_self_collisions(world, FIGURE, reference.q[: round(SELF_COLLISION_WINDOW / dt)], dt)
    live = DynamicsFilter(world, FIGURE, settings, latency=latency, dt=dt, tracked_links=options.tracked_links, tasks=options.tasks)
    sent = _observe(live, motion, reference.q)
    first = live.frame
    recording = _simulate(live, iter(reference.q[sent:]), (len(reference) - 1 - first) * dt, options)
    tracked = _tracked_part(reference, first, float(live.floor_height), (*motion.assumptions, *ignored))
    tracker = live.tracker
    assert tracker is not None
    tasks = {} if live.tasks is None else live.tasks.records()
    outcome = RunOutcome(live.failure, recovery_steps=tracker.recovery_steps, tasks=tasks)
    return FilterResult.from_recording(tracker.controller, tracked, recording, outcome, source)


def _raw_reference(motion: Motion, dt: float) -> Reference:
    """The frames of a motion at intervals of dt, without preprocessing, stances and contact labels."""
    count = int(motion.duration / dt + 1e-6) + 1
    times = motion.times[0] + dt * np.arange(count)
    states = MotionSpline(motion.figure, motion.times, motion.q).at(times)
    contacts = ContactLabels((), Terrain(0.0))
    unmoved = PreprocessDisplacement(0.0, 0.0, 0.0, "", 0.0)
    return Reference(
        motion.figure, contacts.terrain, times, states.q, states.v, states.a, motion, (), contacts, {}, unmoved
    )  # fmt: skip


def _observe(live: DynamicsFilter, motion: Motion, frames: Array) -> int:
    """Send frames until the filter is ready, all of a motion that is shorter than the latency; returns their number."""
    for k, frame in enumerate(frames):
        if live.take(frame):
            return k + 1
    if not live.take(None):
        raise ArgumentError(
            f"{motion.name} lasts {motion.duration:.2f} s: not longer than the time for which the online filter observes a motion before "
            "it starts (FilterSettings.startup_time)."
        )
    return len(frames)


def _simulate(live: DynamicsFilter, frames: Iterator[Array], duration: float, options: SimulationOptions) -> Recording:
    """Simulate while frames arrive, and then those that wait."""

    def control(_: World) -> None:
        live.control()
        if live.failure is None:
            live.take(next(frames, None))

    live.simulation.control(control)
    for push in options.pushes:
        push.schedule(live.simulation, FIGURE)
    recording = live.simulation.run(duration, options.progress, until=lambda _: live.failure is not None)
    if live.tasks is not None and live.tracker is not None:
        live.tasks.finish(live.tracker.clip_time)
    return recording


def _tracked_part(reference: Reference, first: int, floor: float, assumptions: tuple[Assumption, ...]) -> Reference:
    """The frames that were tracked, from the first one on, with the estimated floor at height 0."""
    motion, times, q = reference.original, reference.times[first:], reference.q[first:].copy()
    q[:, 2] -= floor
    assumptions = (
        *assumptions,
        Assumption("floor", f"{floor:.3f} m", "height at which the lowest part of the feet came to rest"),
        Assumption("startup", f"{times[0] - reference.times[0]:.2f} s", "online, the body starts when velocities are known", "settings"),
    )
    original = Motion(reference.figure, times, q, motion.name, assumptions, captured=motion.captured)
    return replace(
        reference, times=times, q=q, v=reference.v[first:], a=reference.a[first:], original=original, assumptions=assumptions
    )  # fmt: skip
