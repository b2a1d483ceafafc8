"""Clean: a captured or made-up motion as a reference for the filter, whose feet stand exactly where they stand.

Floors are off, feet skate, sink and tilt, labels of contacts break gravity, markers shake. Everything is looked for in the motion
smoothed a little; then every foot is put down flat at one place for each time it stands, rolls over heel and toe there, and goes on to
the next place clear of the ground. One fit of all frames brings legs and pelvis to that, and a smooth curve goes through the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from brachiate import validation
from brachiate.anatomy.contact_points import Spots, spots_of
from brachiate.anatomy.feet import Foot, feet_of
from brachiate.anatomy.figure_height import stature
from brachiate.anatomy.landmarks import landmarks_of
from brachiate.assumptions import Guess
from brachiate.contact_estimation.infer_contacts import infer
from brachiate.contact_estimation.motion_dynamics import Track
from brachiate.errors import ArgumentError, MotionError
from brachiate.filter.reference.assemble import kept, labels_of, moved_by, stances_of
from brachiate.filter.reference.diagnostics import doubts_of
from brachiate.filter.reference.foot_trajectories import Over, steps_of
from brachiate.filter.reference.limb_contacts import stays_of
from brachiate.filter.reference.posture_ik import posture
from brachiate.filter.reference.reference import Reference
from brachiate.filter.reference.resampling import Grid, Level, smoothed, steady
from brachiate.filter.reference.stair_footholds import carried_by, put_on
from brachiate.filter.reference.stance_detection import Sole, Standing, obey_gravity, stand_all, without_brief
from brachiate.kinematics_batch import Many, Poses
from brachiate.model.model import Model
from brachiate.motion.contact_labels import Labels, load_labels
from brachiate.motion.motion import Motion
from brachiate.motion.spline import Course
from brachiate.motion.terrain import Ground, ground_of
from brachiate.validation import Array

SEEN = 0.012  # [s] most smoothing of what is looked at: contacts begin and end faster than what people do otherwise
HUMAN = 400.0  # [rad/s²] joints that are accelerated more are at their limits, or badly recorded: what is left out there is not missed
NOISE = 2.0  # accelerations of what shakes are so many times those of the same smoothed
CLEAR = 0.02  # of a body's height: what feet in the air are above the edges of steps
KERB = 0.08  # [m] what is lower is the ground, on which captured feet are often centimetres apart
LEVEL = 0.04  # [m] by which things differ in height that are seen to
LASTING = 0.3  # [s] for which something beside the ground carries at least, if nobody said so
SHORTEST = 0.1  # [s] of a motion
GRAVITY = 9.81  # [m/s²]


class Style(NamedTuple):
    """One way to clean up."""

    quiet: float  # [s] width of smoothing of motions without noise
    noisy: float  # [s] and of those with
    dead: float  # [rad] by which a foot that lies flat may be tilted
    fastest: float  # [m/s] of what bears
    clear: float  # [m] above the ground in the air


STYLES = {
    "default": Style(0.012, 0.025, np.radians(2.0), 0.5, 0.012),
    "light": Style(0.008, 0.015, np.radians(1.0), 0.4, 0.006),
}


def clean(
    motion: Motion,
    *,
    ground: Ground | str | None = None,
    contacts: Labels | str | PathLike[str] | None = None,
    onto: Ground | str | None = None,
    dt: float = 0.002,
    smooth: float | None = None,
    hold: float = 0.0,
    style: str = "default",
    roles: Mapping[str, str] | None = None,
) -> Reference:
    """Make a motion ready for the filter: put its feet where they stand, keep everything else as it is.

    Args:
        motion: Of a figure with a free root and two feet.
        ground: A :class:`Ground`, or its words (``"flat:0.02"``); by default level, where the motion stands on it. A motion whose floor is
            found is moved to have it at height 0.
        contacts: What touches, and on which ground: labels or a file of them; by default what the motion has, else it is found.
        onto: The ground that it is to be done on, if that is another one: ``"slope:10"``, ``"steps:0.1:0.4:3"``. Feet stand, step
            and roll on it as they did; on steps each time on one tread.
        dt: Between frames of the reference [s].
        smooth: Width of the smoothing, its standard deviation [s]; by default 12 ms, or 25 ms for a motion that shakes.
        hold: The motion is slowed down to a stop at its end, which takes half a second, and its last posture held for so long [s].
        style: ``"default"``, or ``"light"``: less smoothing, stricter stances, smaller dead band; to see what depends on the clean-up.
        roles: Names of links by role, where names and places say the wrong thing: see :data:`brachiate.anatomy.landmarks.MAPPED`.
    """
    way, made = STYLES[validation.one_of(style, tuple(STYLES), "style")], {"smooth": smooth, "style": style, "roles": roles}
    dt, hold = validation.number(dt, "dt", least=1e-4, most=0.02), validation.number(hold, "hold", least=0.0, most=1e3)
    if not isinstance(motion, Motion):
        raise ArgumentError(f"motion: expected a Motion, as br.read_motion(path) gives, got {validation.shown(motion)}.")
    if len(motion) < 4 or motion.duration < SHORTEST:
        raise MotionError(
            f"{motion.name} has {len(motion)} frames over {motion.duration:g} s: four frames and {SHORTEST:g} s at least say what it does."
        )
    figure, marks, many = motion.figure, landmarks_of(motion.figure, roles), Many(motion.figure)
    given, ground = _told(motion, ground, contacts)
    doubts = doubts_of(motion, given)
    grid = Grid(motion, dt, hold)
    raw = Course(figure, motion.times, motion.q)
    own = steady(figure, raw.at(grid.own(grid.knots)).q)
    smooth, guesses = _smoothing(motion, own, grid, smooth, way)
    seen, q = (smoothed(figure, own, width / grid.knot) for width in (min(smooth, SEEN), smooth))
    labels, found = _found(motion, raw, grid, ground, min(smooth, SEEN)) if given is None else (given, [])
    labels = replace(labels, contacts=tuple(replace(c, start=grid.new(c.start), end=grid.new(c.end)) for c in labels.contacts))

    level = Level(figure, labels.ground, 0.0 if ground.height is None else ground.height, _other(onto))
    q, watched = level.there(q, grid.knots), many.poses(level.there(seen, grid.knots))
    level.lay_steps(q)
    poses, feet, spots = many.poses(q), feet_of(marks), spots_of(figure)
    bodies = {body for foot in feet for body in foot.bodies}
    stays, wander = stays_of(figure, labels, spots, bodies, watched, grid.knots)
    rise = np.gradient(level.point(_centre(figure, watched))[:, 2], grid.knots)
    stood = _stood(feet, labels, spots, bodies, watched, grid, rise, way, given is None)
    soles = [Sole(foot, poses, grid.knots) for foot in feet]
    for sole, on in zip(soles, stood.on, strict=True):
        sole.settle(on, way.dead)
    put, stepped = stood.stances, level.ground.steps is not None or labels.ground.steps is not None
    if stepped:
        put = put_on(level.ground, labels.ground, feet, put)
        level.carried = CubicSpline(grid.knots, carried_by(stood.stances, put, grid.knots))
    over = None if level.ground.steps is None else Over(level.ground.steps, CLEAR * stature(figure))
    steps = [
        steps_of(sole, stances, poses, np.where(lies, 0.0, way.clear), over)
        for sole, stances, lies in zip(soles, put, stood.lies, strict=True)
    ]
    if onto is not None and stays:
        held = ", ".join(dict.fromkeys(stay.label.part for stay in stays))
        raise ArgumentError(f"What is held stays where it is when the ground changes, and so does what lies on it: {held}.")
    if onto is not None or stepped:
        q = level.moved(q, grid.knots)
        poses = many.poses(q)
    q = posture(marks, grid.knots, q, poses, feet, steps, [pin for stay in stays for pin in stay.pins])
    stays, lost = kept(stays, many.poses(q), grid.knots)

    moved = moved_by(figure, many, level.moved(level.there(own, grid.knots), grid.knots), q, grid.knots)
    moments = Course(figure, grid.knots, level.back(steady(figure, q))).at(grid.times)
    shifted = level.back(level.moved(level.there(raw.at(grid.own(grid.times)).q, grid.times), grid.times))
    original = Motion(figure, grid.times, shifted, motion.name, motion.guesses, captured=motion.captured)
    lies = {body: lies for foot, lies in zip(feet, stood.lies, strict=True) for body in foot.bodies}
    stances = stances_of(figure, feet, put, steps, stays, grid, level)
    flags = {link: np.zeros(len(grid.times), bool) for link in dict.fromkeys(stance.link for stance in stances)}
    for stance in stances:
        flags[stance.link][stance.start : stance.end] = True
    return Reference(
        figure, level.ground, moments.times, moments.q, moments.v, moments.a, original, stances,
        labels_of(stances, labels, spots, lies, grid, level), flags, moved,
        (*motion.guesses, *doubts, *guesses, *found, *level.guesses, *wander, *lost, *stood.guesses), made,
    )  # fmt: skip


def _told(motion: Motion, ground: Ground | str | None, contacts: Labels | str | PathLike[str] | None) -> tuple[Labels | None, Ground]:
    """What is known of contacts and of the ground."""
    if ground is not None and contacts is not None:
        raise ArgumentError("Contacts say what ground they are on: give them, or a ground, not both.")
    if contacts is None and ground is None:
        contacts = motion.contacts
    if isinstance(ground, str):
        ground = ground_of(ground)
    if isinstance(contacts, (str, PathLike)):
        contacts = load_labels(contacts, spots_of(motion.figure).parts)
    if contacts is not None:
        if not isinstance(contacts, Labels):
            raise ArgumentError(f"contacts: expected Labels, or the path of a file of them, got {validation.shown(contacts)}.")
        parts = spots_of(motion.figure).parts
        for label in contacts.contacts:
            validation.named(dict.fromkeys(parts), label.part, "part", f"figure {motion.figure.name!r}")
        ground = contacts.ground
    elif ground is not None and not isinstance(ground, Ground):
        raise ArgumentError(f"ground: expected a Ground, or words such as 'flat:0.02', got {validation.shown(ground)}.")
    return contacts, Ground() if ground is None else ground


def _other(onto: Ground | str | None) -> Ground | None:
    """Ground to do it on."""
    if isinstance(onto, str):
        onto = ground_of(onto)
    if onto is not None and not isinstance(onto, Ground):
        raise ArgumentError(f"onto: expected a Ground, or words such as 'slope:10', got {validation.shown(onto)}.")
    return onto


def _smoothing(motion: Motion, own: Array, grid: Grid, given: float | None, way: Style) -> tuple[float, list[Guess]]:
    """Width of the smoothing [s]: as given, or as little as leaves accelerations that people have."""
    if given is not None:
        return validation.number(given, "smooth", least=0.0, most=1.0), []
    seen = smoothed(motion.figure, own, SEEN / grid.knot)
    shake = float(np.linalg.norm(np.diff(own, 2, axis=0)) / max(np.linalg.norm(np.diff(seen, 2, axis=0)), 1e-12))
    peak = float(np.abs(Course(motion.figure, grid.knots, seen).at(grid.knots).a[:, 6:]).max(initial=0.0))
    width = way.noisy if shake > NOISE or peak > HUMAN else way.quiet
    why = f"accelerations are {shake:.1f} times those of the motion smoothed by {1000 * SEEN:.0f} ms, up to {peak:.0f} rad/s² then"
    return width, [Guess("smoothing", f"{1000 * width:.0f} ms", why, "smooth")]


def _found(motion: Motion, raw: Course, grid: Grid, ground: Ground, width: float) -> tuple[Labels, list[Guess]]:
    """What touches, found from the motion; without what it is slowed down to, as a posture that is held need not be carried by anything."""
    plain = grid.knots[grid.knots <= grid.last + 1e-9]
    course = Course(motion.figure, plain, smoothed(motion.figure, raw.at(plain).q, width / grid.knot))
    labels, found = infer(Track(motion.figure, course.at(plain), ground))
    guesses = list(found)
    brief = [c for c in labels.contacts if (c.how == "holds" or c.height is not None) and c.end - c.start < LASTING]
    if brief:
        parts = ", ".join(dict.fromkeys(c.part for c in brief))
        why = "what holds, or stands higher than the ground, for so short a time carries nothing"
        guesses.append(Guess("left out", parts, why, "contacts"))
        labels = replace(labels, contacts=tuple(c for c in labels.contacts if c not in brief))
    labels = _levelled(labels)
    if not labels.contacts:
        part = spots_of(motion.figure).parts[0] if spots_of(motion.figure).parts else "left_foot"
        raise MotionError(
            f"Nothing of {motion.figure.name!r} ever touches anything in {motion.name}: no part comes to rest near a floor. "
            f"Say what does with contacts=br.Labels((br.Label({part!r}, 0.0, 0.5),), br.Ground(0.0)), or where the floor is with ground=."
        )
    return labels, guesses


def _levelled(labels: Labels) -> Labels:
    """Things that are about as high as each other are as high as the lowest of them: what seems higher is a heel that is raised."""
    levels: list[float] = []
    for height in sorted({c.height for c in labels.contacts if c.height is not None}):
        if not levels or height > levels[-1] + LEVEL:
            levels.append(height)
    return replace(
        labels,
        contacts=tuple(c if c.height is None else replace(c, height=max(x for x in levels if x <= c.height)) for c in labels.contacts),
    )


class _Stood(NamedTuple):
    """What feet do, foot by foot."""

    on: list[Array]  # (f,) whether each stands
    lies: list[Array]  # (f,) whether it touches with its back or its side
    stances: list[list[Standing]]
    guesses: list[Guess]


def _stood(
    feet: tuple[Foot, ...], labels: Labels, spots: Spots, bodies: set[int], poses: Poses, grid: Grid, rise: Array, way: Style, found: bool
) -> _Stood:
    """Stances of feet: by labels, in line with each other and with gravity."""
    soles = [Sole(foot, poses, grid.knots) for foot in feet]
    on, lies, levels = (list(each) for each in zip(*(_standing(sole, labels, spots, way, found) for sole in soles), strict=True))
    if grid.slow:  # what comes down in the last moment has not come to stand in the motion itself
        on = [flags | sole.rests(grid.last - grid.slow) for flags, sole in zip(on, soles, strict=True)]
    held = np.any(lies, axis=0)
    for part in dict.fromkeys(label.part for label in labels.contacts):
        if _body(spots, part) not in bodies:
            held |= labels.active(part, grid.knots)
    for k, sole in enumerate(soles):
        sole.settle(on[k], way.dead)
        on[k] = without_brief(sole, sole.trimmed(on[k]), levels[k])
    told = obey_gravity(soles, on, levels, held, rise, GRAVITY)
    for k, sole in enumerate(soles):
        on[k] = without_brief(sole, on[k], levels[k])
        sole.settle(on[k], way.dead)
    for k, sole in enumerate(soles):
        others = np.any([flags for j, flags in enumerate(on) if j != k], axis=0) | held
        on[k], slides = sole.split(on[k], others, levels[k])
        told += slides
    return _Stood(on, lies, [stand_all(*each) for each in zip(soles, on, levels, strict=True)], told)


def _centre(model: Model, poses: Poses) -> Array:
    """Centres of mass: (f, 3) [m]."""
    mass = model.tree.inertia[:, 0]
    places = poses.x + np.einsum("bfij,bj->bfi", poses.R, model.tree.inertia[:, 1:4])
    return np.einsum("b,bfi->fi", mass / mass.sum(), places)


def _body(spots: Spots, part: str) -> int:
    return int(spots.body[spots.part == spots.parts.index(part)][0])


def _standing(sole: Sole, labels: Labels, spots: Spots, way: Style, found: bool) -> tuple[Array, Array, Array]:
    """Whether a foot stands, by labels of its parts: (f,); whether it lies: (f,); the height of what is under it: (f,) [m].

    ``found``: whether labels were found rather than given; then what is little higher than the ground is on it.
    """
    level = np.full(len(sole.times), np.inf)
    floor, steps = labels.ground.height or 0.0, labels.ground.steps
    under = np.zeros(len(level)) if steps is None else steps.level(0.5 * (sole.heel + sole.toe))
    for label in labels.contacts:
        if _body(spots, label.part) in sole.foot.bodies:
            mine = (sole.times >= label.start - 1e-9) & (sole.times <= label.end + 1e-9)
            high = under[mine] if label.height is None else np.full(mine.sum(), label.height - floor)
            # The lowest part stands; a heel above it is only raised
            level[mine] = np.minimum(level[mine], np.where(found & (high - under[mine] < KERB), under[mine], high))
    touches = np.isfinite(level)
    return touches & sole.faces_down & (sole.slower < way.fastest), touches & ~sole.faces_down, np.where(touches, level, 0.0)
