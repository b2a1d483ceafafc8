"""Preprocessing of a motion into a tracking reference: smoothing, stance detection, foot locking, trajectory IK.

Captured motions have a floor at the wrong height, feet that skate, penetrate and tilt, inconsistent contacts, and noise. Contacts are
detected in a slightly smoothed motion. Every stance foot is locked flat at one foothold, rolls over heel and toes there, and swings to the
next foothold clear of the terrain. One trajectory IK of all frames brings legs and pelvis there, and a spline interpolates the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from brachiate import validation
from brachiate.anatomy.contact_points import find_contact_points
from brachiate.anatomy.feet import Foot, find_feet
from brachiate.anatomy.figure_height import figure_height
from brachiate.anatomy.landmarks import Landmarks, find_landmarks
from brachiate.assumptions import Assumption
from brachiate.contact_estimation.given_contacts import resolve_contacts, resolve_supports, resolve_terrain
from brachiate.contact_estimation.time_scale import at_real_speed
from brachiate.deprecation import renamed_arguments
from brachiate.errors import ArgumentError, MotionError
from brachiate.filter.reference.assemble import StanceAssembler, preprocess_displacement, split_fixed_contacts
from brachiate.filter.reference.diagnostics import diagnose
from brachiate.filter.reference.first_frames import leave_out_first_frames
from brachiate.filter.reference.fixed_contacts import FixedContact
from brachiate.filter.reference.frames_on_demand import (
    MAX_KEPT_FRAMES,
    Column,
    MotionOnDemand,
    MotionParts,
    OriginalFrames,
    SplineFrames,
)
from brachiate.filter.reference.limb_contacts import find_fixed_contacts
from brachiate.filter.reference.posture_ik import solve_posture
from brachiate.filter.reference.reference import PreprocessDisplacement, Reference, SourceMotion, Stance
from brachiate.filter.reference.resampling import GroundFrame, TimeGrid, smooth_configurations
from brachiate.filter.reference.source_contacts import infer_labels
from brachiate.filter.reference.stair_footholds import body_displacement, place_footholds
from brachiate.foot_locking.contact_tracks import ContactTracks
from brachiate.foot_locking.foot_track import Foothold, FootTrack
from brachiate.foot_locking.foot_trajectories import FootTrajectory, PoseTrajectory, StairClearance, make_foot_trajectory
from brachiate.foot_locking.stance_detection import StanceLimits, StancePhases, detect_stances
from brachiate.kinematics_batch import BatchKinematics, Poses, unwrap_quaternions
from brachiate.motion.contact_labels import ContactLabels
from brachiate.motion.motion import Motion
from brachiate.motion.spline import MotionSpline
from brachiate.motion.terrain import Terrain
from brachiate.validation import Array

DETECTION_SMOOTHING = 0.012  # [s] largest smoothing for contact detection: contacts change faster than the rest of a motion
MAX_HUMAN_ACCELERATION = 400.0  # [rad/s²] faster joints are at their limits or badly recorded, and are smoothed more
NOISE_RATIO = 2.0  # of the accelerations of a noisy motion to those of the same motion after smoothing
STAIR_CLEARANCE = 0.02  # of the height of the figure: clearance of swing feet above the edges of stairs
MIN_DURATION = 0.1  # [s] of a motion
CHUNK = 4096  # frames evaluated together: their scratch memory does not grow with the motion


class PreprocessStyle(NamedTuple):
    """Parameters of preprocessing."""

    clean_smoothing: float  # [s] standard deviation of the smoothing of motions without noise
    noisy_smoothing: float  # [s] and with noise
    dead_band: float  # [rad] pitch of a foot that is taken as flat
    max_stance_speed: float  # [m/s] of heel or toe in stance
    swing_clearance: float  # [m] of a swing foot above the ground


STYLES = {
    "default": PreprocessStyle(0.012, 0.025, np.radians(2.0), 0.5, 0.012),
    "light": PreprocessStyle(0.008, 0.015, np.radians(1.0), 0.4, 0.006),
}


@renamed_arguments(ground="source_terrain", onto="terrain")
def make_reference(
    motion: Motion,
    *,
    terrain: Terrain | str | None = None,
    source_terrain: Terrain | str | None = None,
    contacts: ContactLabels | str | PathLike[str] | None = None,
    dt: float = 0.002,
    smooth: float | None = None,
    hold: float = 0.0,
    style: str = "default",
    roles: Mapping[str, str] | None = None,
    supports: str = "auto",
    time_factor: float | None = None,
) -> Reference:
    """Make a tracking reference from a motion: lock stance feet at their footholds, change as little else as possible.

    Args:
        motion: Motion of a figure with a floating base and two feet.
        terrain: Terrain of the reference, if it is another one: ``"slope:10"``, ``"stairs:0.1:0.4:3"``. Stances, steps and foot roll stay
            as they are; on stairs every foothold is on one tread.
        source_terrain: Terrain of the motion: a :class:`Terrain` or a text (``"flat:0.02"``). Default: level ground, at the height where
            the motion stands, which becomes height 0 of the reference.
        contacts: Contact labels with their terrain, or a file of them. Default: those of the motion, else inferred.
        dt: Frame interval of the reference [s].
        smooth: Standard deviation of the smoothing [s]. Default: 12 ms, or 25 ms for a noisy motion.
        hold: Time for which the last posture is held, after a slowdown of half a second [s]. Default: none.
        style: ``"default"``, or ``"light"``: less smoothing, stricter stances, smaller dead band; to see the influence of preprocessing.
        roles: Names of links by role, where names and positions mislead: see :data:`brachiate.anatomy.landmarks.MAPPABLE_ROLES`.
        supports: Which supports are inferred, as in :func:`brachiate.check`.
        time_factor: Factor on the times of the motion, whose file plays too fast. Default: the whole number that makes its falls as fast as
            gravity does, if contacts are not given.
    """
    supports = resolve_supports(supports)
    options: dict[str, Any] = {"smooth": smooth, "style": style, "roles": roles, "supports": supports}
    parameters = STYLES[validation.one_of(style, tuple(STYLES), "style")]
    dt, hold = validation.number(dt, "dt", minimum=1e-4, maximum=0.02), validation.number(hold, "hold", minimum=0.0, maximum=1e3)
    _check_motion(motion)
    marks = find_landmarks(motion.figure, roles)
    target = resolve_terrain(terrain, "terrain")
    given, given_terrain = resolve_contacts(motion, source_terrain, contacts, "source_terrain")
    motion, retimed = at_real_speed(motion, 1.0 if time_factor is None and given is not None else time_factor)
    given_source = SourceMotion(motion, contacts, source_terrain)
    source_terrain = Terrain() if given_terrain is None else given_terrain
    diagnosis = [*retimed, *diagnose(motion, given)]

    source = _resample(motion, dt, hold)
    width, noise = _choose_smoothing(source, smooth, parameters)
    labels, inferred = _label_contacts(source, given, source_terrain, width, supports)
    if given is None:
        motion, left_out = leave_out_first_frames(motion, labels)
        if left_out:
            source = _resample(motion, dt, hold)
            labels, inferred = _label_contacts(source, None, source_terrain, width, supports)
            inferred = [*left_out, *inferred]
    frame = GroundFrame(motion.figure, labels.terrain, source_terrain.height or 0.0, target)
    posture = _lock_feet(source, frame, labels, marks, width, parameters, target, given is None)
    assumptions = (*diagnosis, *noise, *inferred, *posture.assumptions)
    original, displacement, grid = _original_at_frames(source, frame), _displacement(source, frame, posture), source.grid
    del source  # its spline is large
    return _assemble(original, grid, frame, posture, displacement, assumptions, options).changed(source=given_source)


class _Source(NamedTuple):
    """Source motion, resampled at the knots of the reference."""

    motion: Motion
    grid: TimeGrid
    spline: MotionSpline
    q: Array  # (knots, nq)


class _Scene(NamedTuple):
    """Smoothed motion in the ground frame."""

    frame: GroundFrame
    kinematics: BatchKinematics
    knots: Array  # (f,) [s]
    q: Array  # (f, nq)
    poses: Poses  # of q
    detection: ContactTracks  # of the less smoothed motion, in which contacts are detected


class _Posture(NamedTuple):
    """Solution of the foot locking in the ground frame."""

    q: Array  # (knots, nq)
    stances: tuple[Stance, ...]
    contacts: ContactLabels
    assumptions: tuple[Assumption, ...]


def _lock_feet(
    source: _Source,
    frame: GroundFrame,
    labels: ContactLabels,
    marks: Landmarks,
    width: float,
    style: PreprocessStyle,
    terrain: Terrain | None,
    inferred: bool,
) -> _Posture:
    """Detect stances in the smoothed motion, and lock the feet at their footholds on the target terrain.

    Args:
        source: Source motion.
        frame: Ground frame; stairs are placed in it, and the displacement of the body by moved footholds.
        labels: Contact labels.
        marks: Landmarks of the figure.
        width: Standard deviation of the smoothing [s].
        style: Parameters of preprocessing.
        terrain: Target terrain, if it is another one.
        inferred: Whether the labels were inferred from the motion.
    """
    figure, feet = source.motion.figure, find_feet(marks)
    scene = _smooth_in_ground_frame(source, labels, width, frame)
    fixed, loose = find_fixed_contacts(figure, labels, {body for foot in feet for body in foot.bodies}, scene.detection)
    phases = _detect_stances(source, scene, feet, labels, style, inferred)
    footholds = _place_footholds(scene, feet, phases.footholds)
    trajectories = _make_foot_trajectories(scene, feet, phases, footholds, style)
    q, poses = _move_to_terrain(scene, fixed, terrain)
    q = solve_posture(marks, scene.knots, q, poses, feet, trajectories, [point for contact in fixed for point in contact.targets])
    fixed, failed = split_fixed_contacts(fixed, scene.kinematics, q, scene.knots)
    assembler = StanceAssembler(figure, source.grid, frame)
    stances = assembler.assemble(feet, footholds, trajectories, fixed)
    lying = {body: flags for foot, flags in zip(feet, phases.lying, strict=True) for body in foot.bodies}
    contacts = assembler.contact_labels(stances, labels, scene.detection.points, lying)
    return _Posture(q, stances, contacts, (*frame.assumptions, *loose, *failed, *phases.assumptions))


def _check_motion(motion: Motion) -> None:
    if not isinstance(motion, Motion):
        raise ArgumentError(f"motion: expected a Motion, as br.load_motion(path) gives, got {validation.short_repr(motion)}.")
    if len(motion) < 4 or motion.duration < MIN_DURATION:
        raise MotionError(
            f"{motion.name} has {len(motion)} frames over {motion.duration:g} s: at least four frames and {MIN_DURATION:g} s are needed."
        )


def _resample(motion: Motion, dt: float, hold: float) -> _Source:
    """Source motion at the knots."""
    grid = TimeGrid(motion, dt, hold)
    spline = MotionSpline(motion.figure, motion.times, motion.q)
    return _Source(motion, grid, spline, unwrap_quaternions(motion.figure, spline.configurations(grid.source_times(grid.knots))))


def _choose_smoothing(source: _Source, given: float | None, style: PreprocessStyle) -> tuple[float, list[Assumption]]:
    """Standard deviation of the smoothing [s]: as given, or by the noise of the motion."""
    if given is not None:
        return validation.number(given, "smooth", minimum=0.0, maximum=1.0), []
    figure, knots = source.motion.figure, source.grid.knots
    smooth = smooth_configurations(figure, source.q, DETECTION_SMOOTHING / source.grid.knot_dt)
    ratio = float(np.linalg.norm(np.diff(source.q, 2, axis=0)) / max(np.linalg.norm(np.diff(smooth, 2, axis=0)), 1e-12))
    spline, chunks = MotionSpline(figure, knots, smooth), [knots[k : k + CHUNK] for k in range(0, len(knots), CHUNK)]
    peak = max(float(np.abs(spline.at(some).a[:, 6:]).max(initial=0.0)) for some in chunks)
    width = style.noisy_smoothing if ratio > NOISE_RATIO or peak > MAX_HUMAN_ACCELERATION else style.clean_smoothing
    reason = f"smoothing by {1000 * DETECTION_SMOOTHING:.0f} ms reduces accelerations {ratio:.1f} times, to a peak of {peak:.0f} rad/s²"
    return width, [Assumption("smoothing", f"{1000 * width:.0f} ms", reason, "smooth")]


def _label_contacts(
    source: _Source, given: ContactLabels | None, terrain: Terrain, width: float, supports: str
) -> tuple[ContactLabels, list[Assumption]]:
    """Contact labels, given or inferred, at times of the reference; the held posture at the end needs no support and is left out."""
    grid, labels, assumptions = source.grid, given, []
    if labels is None:
        times = grid.knots[grid.knots <= grid.last + 1e-9]
        smoothing = min(width, DETECTION_SMOOTHING) / grid.knot_dt
        smooth = smooth_configurations(source.motion.figure, source.spline.configurations(times), smoothing)
        states = MotionSpline(source.motion.figure, times, smooth).at(times)
        del smooth
        labels, assumptions = infer_labels(source.motion, states, terrain, supports)
    contacts = (replace(label, start=grid.reference_time(label.start), end=grid.reference_time(label.end)) for label in labels.contacts)
    return replace(labels, contacts=tuple(contacts)), assumptions


def _smooth_in_ground_frame(source: _Source, labels: ContactLabels, width: float, frame: GroundFrame) -> _Scene:
    """Smoothed motion in the ground frame, and a less smoothed one for contact detection; places stairs across its path."""
    figure, knots = source.motion.figure, source.grid.knots
    kinematics = BatchKinematics(figure)
    detection_q, q = (
        frame.from_source(smooth_configurations(figure, source.q, each / source.grid.knot_dt), knots)
        for each in (min(width, DETECTION_SMOOTHING), width)
    )
    frame.place_stairs(q)
    detection = ContactTracks(find_contact_points(figure), kinematics.poses(detection_q), knots, labels.terrain.height or 0.0)
    return _Scene(frame, kinematics, knots, q, kinematics.poses(q), detection)


def _detect_stances(
    source: _Source, scene: _Scene, feet: Sequence[Foot], labels: ContactLabels, style: PreprocessStyle, inferred: bool
) -> StancePhases:
    """Stance phases of the feet, and their footholds."""
    grid = source.grid
    com = scene.frame.point_to_world(scene.kinematics.center_of_mass(scene.detection.poses))
    # A foot that comes down as the motion is slowed down has not landed in the labels
    rest_since = grid.last - grid.slowdown if grid.slowdown else np.inf
    limits = StanceLimits(style.dead_band, style.max_stance_speed, inferred, rest_since)
    poses = scene.detection.poses
    tracks = [FootTrack(foot, poses.R[foot.body], poses.x[foot.body], scene.knots) for foot in feet]
    return detect_stances(tracks, labels, scene.detection, np.gradient(com[:, 2], scene.knots), limits)


def _place_footholds(scene: _Scene, feet: Sequence[Foot], footholds: list[list[Foothold]]) -> list[list[Foothold]]:
    """Footholds on the terrain of the reference; if either terrain has stairs, the body is displaced with them."""
    frame = scene.frame
    if frame.terrain.stairs is None and frame.source_terrain.stairs is None:
        return footholds
    placed = place_footholds(frame.terrain, frame.source_terrain, feet, footholds)
    frame.displacement = CubicSpline(scene.knots, body_displacement(footholds, placed, scene.knots))
    return placed


def _make_foot_trajectories(
    scene: _Scene, feet: Sequence[Foot], phases: StancePhases, footholds: Sequence[Sequence[Foothold]], style: PreprocessStyle
) -> list[FootTrajectory]:
    """Foot trajectories through the footholds, with foot roll and swing clearance."""
    stairs, trajectories = scene.frame.terrain.stairs, []
    over = None if stairs is None else StairClearance(stairs, STAIR_CLEARANCE * figure_height(scene.kinematics.model))
    for foot, in_stance, flat, lying, each in zip(feet, phases.in_stance, phases.flat, phases.lying, footholds, strict=True):
        track = FootTrack(foot, scene.poses.R[foot.body], scene.poses.x[foot.body], scene.knots)
        toes = None if foot.toes is None else PoseTrajectory(scene.poses.R[foot.toes.body], scene.poses.x[foot.toes.body])
        track.estimate_rest_pitch(in_stance, style.dead_band, flat)
        trajectories.append(make_foot_trajectory(track, each, toes, np.where(lying, 0.0, style.swing_clearance), over))
    return trajectories


def _move_to_terrain(scene: _Scene, fixed: Sequence[FixedContact], terrain: Terrain | None) -> tuple[Array, Poses]:
    """Configurations moved to the terrain of the reference, and their poses.

    Raises:
        ArgumentError: There are fixed contacts, which cannot be moved to another terrain.
    """
    if terrain is not None and fixed:
        parts = ", ".join(dict.fromkeys(contact.label.part for contact in fixed))
        raise ArgumentError(
            f"terrain: a motion with fixed contacts other than feet ({parts}) cannot be moved to another terrain. Leave terrain out."
        )
    if terrain is None and scene.frame.displacement is None:
        return scene.q, scene.poses
    q = scene.frame.to_terrain(scene.q, scene.knots)
    return q, scene.kinematics.poses(q)


def _original_at_frames(source: _Source, frame: GroundFrame) -> MotionOnDemand:
    """Source motion at the frames of the reference, moved onto its terrain."""
    motion, grid = source.motion, source.grid
    parts = MotionParts(motion.figure, motion.name, motion.assumptions, motion.captured)
    return MotionOnDemand(grid.times, Column(OriginalFrames(source.spline, grid, frame), 0), parts)


def _displacement(source: _Source, frame: GroundFrame, posture: _Posture) -> PreprocessDisplacement:
    """How far preprocessing displaces the figure."""
    knots = source.grid.knots
    q = frame.to_terrain(frame.from_source(source.q, knots), knots)
    return preprocess_displacement(BatchKinematics(source.motion.figure), q, posture.q, knots)


def _assemble(
    original: MotionOnDemand,
    grid: TimeGrid,
    frame: GroundFrame,
    posture: _Posture,
    displacement: PreprocessDisplacement,
    assumptions: tuple[Assumption, ...],
    options: Mapping[str, Any],
) -> Reference:
    """Reference at its frames, from configurations at the knots in the ground frame."""
    figure, stances, contacts = original.parts.figure, posture.stances, posture.contacts
    frames = SplineFrames(MotionSpline(figure, grid.knots, frame.to_world(unwrap_quaternions(figure, posture.q))), grid.times)
    values: list[Any] = [*(Column(frames, k) for k in range(3)), original]
    q, v, a, motion = [value.get() for value in values] if len(grid.times) <= MAX_KEPT_FRAMES else values
    in_stance = {link: np.zeros(len(grid.times), bool) for link in dict.fromkeys(stance.link for stance in stances)}
    for stance in stances:
        in_stance[stance.link][stance.start : stance.end] = True
    return Reference(
        figure, frame.terrain, grid.times, q, v, a, motion, stances, contacts, in_stance, displacement,
        (*original.parts.assumptions, *assumptions), options,
    )  # fmt: skip
