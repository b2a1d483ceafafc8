"""Metrics of a motion, frame by frame: each with its unit, none depending on the frame rate.

Residual: what the root would need and nobody brings. Skate, depth, float: of what touches. Cone, pressure: whether what must carry the
motion could come from where it touches. Torque, limits: whether joints can. Flight: whether what flies falls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.contact_estimation.ground_reaction import HOLDS, NOTHING, STANDS
from brachiate.contact_estimation.motion_dynamics import Track
from brachiate.contact_estimation.parts import FEET, motion_of_part, parts_of, spells
from brachiate.model.model import Model
from brachiate.motion.contact_labels import Labels
from brachiate.validation import Array

BEARS = 0.3  # of how surely the surest spot bears: which spots' speeds count
BORNE = 0.02  # of the weight: what a part that is in contact bears at least; it comes near before it does
LOADED = 0.05  # of the weight: what presses
CARRIED = 0.5  # of the weight: what must be carried if it touches nothing
SLACK = 1e-6  # of the weight: what is round-off of a force
LEVEL = 0.1  # [m] contacts no farther apart in height are on one floor
FLIGHT = 0.08  # [s] the shortest flight
AROUND = 16  # directions in which an area is looked at


class Measures(NamedTuple):
    """Metrics of every frame. NaN where one does not apply."""

    residual: Array  # (f,) [N] force the root needs and does not have
    moment: Array  # (f,) [N·m] likewise, about the centre of mass
    skate: Array  # (f, p) [m/s] speed of a part's area along what it touches, while it bears
    depth: Array  # (f, p) [m] of a part below the ground; 0 above it
    float: Array  # (f, p) [m] above the ground, of a part that bears, or must
    slope: Array  # (f,) tangential over normal force that is needed; infinite if it must pull
    outside: Array  # (f,) [m] centre of pressure that is needed, outside the area; 0 inside
    torque: Array  # (f, nv) share of what its motor can bring
    limit: Array  # (f, c) [rad or m] beyond a limit
    flight: Array  # (f,) [m/s²] acceleration beside gravity of what flies
    spin: Array  # (f,) [N·m] moment that acts on it
    jerk: Array  # (f,) [m/s³] of bodies, root mean square over them


def metrics_of(track: Track, labels: Labels) -> tuple[Measures, tuple[str, ...]]:
    """All metrics, and the names of the limits."""
    area = (track.sure >= BEARS * track.sure.max(axis=1, keepdims=True)) & (track.how != NOTHING)
    skate, depth, floats = _of_parts(track, labels, area)
    slope, outside = _of_pressure(track, labels)
    limit, names = limits_of(track.model, track.moments.q)
    flight, spin = _of_flight(track)
    left = track.left
    return Measures(
        np.linalg.norm(left[:, :3], axis=1),
        np.linalg.norm(left[:, 3:], axis=1),
        skate,
        depth,
        floats,
        slope,
        outside,
        torque_of(track),
        limit,
        flight,
        spin,
        _jerk(track),
    ), names


def _of_parts(track: Track, labels: Labels, area: Array) -> tuple[Array, Array, Array]:
    """Skate, depth and float of every part."""
    ground, f, parts = labels.ground, len(track), track.spots.parts
    skate, depth, floats = (np.full((f, len(parts)), np.nan) for _ in range(3))
    n = ground.normal
    along = track.speed - (track.speed @ n)[..., None] * n
    speed = np.linalg.norm(along, axis=2)
    load = np.linalg.norm(track.force, axis=2)
    idle = ~(load > 0.0).any(axis=1) & (track.needed[:, :3] @ n > CARRIED * track.weight)
    feet = parts_of(track, FEET) or tuple(range(len(parts)))
    for p, part in enumerate(parts):
        height, _, _ = motion_of_part(track, ground, p)
        depth[:, p] = np.maximum(-height, 0.0)
        mine = track.spots.part == p
        bearing = load[:, mine].sum(axis=1) > BORNE * track.weight
        for label in labels.of(part):
            rows = bearing & (track.times >= label.start - 1e-9) & (track.times <= label.end + 1e-9)
            if label.how == "stands":
                level = (label.height - (ground.height or 0.0)) * n[2] if label.height is not None else 0.0
                floats[rows, p] = np.maximum(height[rows] - level, 0.0)
        bears = area[:, mine] & bearing[:, None] & (track.how[:, mine] == STANDS)  # what holds a bar turns about it
        count = bears.sum(axis=1)
        skate[count > 0, p] = (speed[:, mine] * bears).sum(axis=1)[count > 0] / count[count > 0]
    if idle.any() and len(feet):
        # Nothing touches, though something must carry: the lowest foot should.
        heights = np.stack([motion_of_part(track, ground, p)[0] for p in feet], axis=1)
        lowest = np.argmin(heights, axis=1)
        rows = np.flatnonzero(idle)
        floats[rows, np.array(feet)[lowest[rows]]] = np.maximum(heights[rows, lowest[rows]], 0.0)
    return skate, depth, floats


def _of_pressure(track: Track, labels: Labels) -> tuple[Array, Array]:
    """Slope of the force that is needed, and how far its centre of pressure is outside, while all that touches stands on one level."""
    f, n = len(track), labels.ground.normal
    slope, outside = np.full(f, np.nan), np.full(f, np.nan)
    stands, holds = track.how == STANDS, (track.how == HOLDS).any(axis=1)
    used = np.flatnonzero(stands.any(axis=0))
    if not len(used):
        return slope, outside
    stands, place = stands[:, used], track.place[:, used]
    height = place @ n
    low = np.where(stands, height, np.inf).min(axis=1)
    high = np.where(stands, height, -np.inf).max(axis=1)
    rows = np.flatnonzero(stands.any(axis=1) & ~holds & (high - low < LEVEL))
    force, moment = track.needed[rows, :3], track.needed[rows, 3:]
    up = force @ n
    along = np.linalg.norm(force - up[:, None] * n, axis=1)
    over = along - labels.ground.friction * np.maximum(up, 0.0) > SLACK * track.weight
    pulls = up < -SLACK * track.weight
    slope[rows] = np.where(pulls, np.inf, np.where(over | (up > LOADED * track.weight), along / np.maximum(up, 1e-9), 0.0))
    pressed = up > LOADED * track.weight
    rows, force, moment, up = rows[pressed], force[pressed], moment[pressed], up[pressed]
    # The point r of the plane at which n × (moment − r × force) vanishes
    level = np.where(stands[rows], height[rows], 0.0).sum(axis=1) / stands[rows].sum(axis=1) - track.centre[rows] @ n
    x = track.centre[rows] + (np.cross(n, moment) + level[:, None] * force) / up[:, None]
    e1 = np.cross(n, (0.0, 1.0, 0.0))
    e1 /= np.linalg.norm(e1)
    axes = np.stack((e1, np.cross(n, e1)), axis=1)
    angles = np.arange(AROUND) * 2.0 * np.pi / AROUND
    ways = axes @ np.stack((np.cos(angles), np.sin(angles)))
    reach = np.where(stands[rows][..., None], place[rows] @ ways, -np.inf).max(axis=1)
    outside[rows] = np.maximum((x @ ways - reach).max(axis=1), 0.0)
    return slope, outside


def torque_of(track: Track) -> Array:
    """Torque of every coordinate as a share of what its motor can bring; NaN where nothing is known about it: (f, nv)."""
    effort = track.model.effort
    known = np.isfinite(effort) & (effort > 0)
    share = np.full(track.tau.shape, np.nan)
    share[:, known] = np.abs(track.tau[:, known]) / effort[known]
    return share


def limits_of(model: Model, q: Array) -> tuple[Array, tuple[str, ...]]:
    """How far every limited coordinate is beyond its limits: (f, c) [rad or m], and their names."""
    lower, upper = model.limits
    columns, names = [], []
    for name, place in model.scalar_coordinates.items():
        k = model.coordinate_index[name]
        if np.isfinite(lower[k]) or np.isfinite(upper[k]):
            columns.append(np.maximum(np.maximum(lower[k] - q[:, place], q[:, place] - upper[k]), 0.0))
            names.append(name)
    for name, joined in model.joints.items():
        cone = model.links[joined.link].joint.cone
        if cone is None:
            continue
        x = q[:, joined.q]
        w, along = x[:, 0], x[:, 1:] @ cone.axis
        across = np.linalg.norm(x[:, 1:] - along[:, None] * cone.axis, axis=1)
        swing = 2.0 * np.arctan2(across, np.hypot(w, along))
        twist = (2.0 * np.arctan2(along, w) + np.pi) % (2.0 * np.pi) - np.pi
        columns += [np.maximum(swing - cone.swing, 0.0), np.maximum(np.maximum(cone.twist[0] - twist, twist - cone.twist[1]), 0.0)]
        names += [f"{name}.swing", f"{name}.twist"]
    return (np.stack(columns, axis=1) if columns else np.zeros((len(q), 0))), tuple(names)


def _of_flight(track: Track) -> tuple[Array, Array]:
    """Acceleration beside gravity, and moment, while nothing touches."""
    f = len(track)
    accelerates, spin = np.full(f, np.nan), np.full(f, np.nan)
    for start, end in spells(track.times, (track.how == NOTHING).all(axis=1), FLIGHT):
        span = slice(start, end + 1)
        accelerates[span] = np.linalg.norm(track.needed[span, :3], axis=1) / track.model.mass
        spin[span] = np.linalg.norm(track.needed[span, 3:], axis=1)
    return accelerates, spin


def _jerk(track: Track) -> Array:
    if len(track) < 3:
        return np.zeros(len(track))
    rate = np.gradient(track.jolt, track.times, axis=0)
    return np.sqrt(np.mean(np.sum(rate**2, axis=2), axis=1))
