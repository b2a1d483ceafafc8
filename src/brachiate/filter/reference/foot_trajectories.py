"""Paths of feet: in place while they stand, over heel and toe as they roll, and clear of the ground from one place to the next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from brachiate import rotations
from brachiate.anatomy.feet import Foot, Toes
from brachiate.filter.reference.stance_detection import Sole, Standing, step
from brachiate.intervals import runs
from brachiate.kinematics_batch import Poses
from brachiate.motion import terrain
from brachiate.validation import Array

LET_GO = (0.05, 0.1)  # [s] in which a foot that comes to stand gives up its speed, or one that leaves takes it up
GIVES = 0.1  # [m] that speed over that time, between these
EDGE = 0.04  # [s] after it left, and before it comes down, a foot is clear of the ground
CLIMB = 0.1  # [s] the same on steps, over whose edges it has to get
BESIDE = 0.01  # [m] what is so near to a foot is under it
PACE = 0.15  # of the time from one tread to another: so much earlier or later a foot is on its way at most
LYING = 2e-4  # [m] corners that are raised less by rolling bear


class Path(NamedTuple):
    """Where a body should be, frame by frame."""

    R: Array  # (f, 3, 3)
    x: Array  # (f, 3) [m]


class Steps(NamedTuple):
    """The path of one foot, and what of it is on the ground."""

    foot: Path
    bears: Array  # (f, k) which corners do
    toes: Path | None
    toes_bear: Array  # (f,)


class Over(NamedTuple):
    """Steps that feet go over on their way."""

    steps: terrain.Steps
    clear: float  # [m] above their edges


def steps_of(sole: Sole, stances: Sequence[Standing], poses: Poses, clear: Array, over: Over | None = None) -> Steps:
    """The path of a foot through its stances, near to its own in between; ``clear``: how far above the ground then (f,) [m].

    ``over``: steps of the ground, if there are any.
    """
    foot, f = sole.foot, len(sole.times)
    center = 0.5 * (foot.sole.heel + foot.sole.toe)
    on, bears = np.zeros(f, bool), np.zeros((f, len(foot.corners)), bool)
    lift = np.sin(np.abs(sole.pitch)) * foot.length
    flat = lift < LYING
    for stance in stances:
        span = slice(stance.start, stance.end)
        on[span] = True
        back, front = flat[span] | (sole.pitch[span] < 0), flat[span] | ((sole.pitch[span] > 0) & (foot.toes is None))
        bears[span] = np.where(foot.heels, back[:, None], front[:, None])
    wanted = [_stood(sole, stance) for stance in stances]
    own = Path(sole.R, sole.x)
    levels = [0.0 if over is None else stance.level for stance in stances]
    path = _between(own, wanted, [(s.start, s.end) for s in stances], center, sole.times, levels)
    for (one, other), (low, high) in zip(pairwise(stances), pairwise(levels), strict=True):
        if low != high:
            _pace(path, center, sole.times, one.end - 1, other.start, high > low)
    toes = None
    toes_on = np.zeros(f, bool)
    if foot.toes is not None:
        own_toes = Path(poses.R[foot.toes.body], poses.x[foot.toes.body])
        toes_on = on & (flat | (sole.pitch > 0))
        toes = _toes(foot, foot.toes, own_toes, path, stances, toes_on, sole.times)
    points, floor = _points(foot, path, toes), np.zeros(f)
    if over is not None:
        floor, edge = _under(over, points)
        clear = np.where(edge, over.clear, clear)
    raised = _raised(points[..., 2].min(axis=1), on, stances, levels, sole.times, floor, clear, EDGE if over is None else CLIMB)
    path.x[:, 2] += raised
    if toes is not None:
        toes.x[:, 2] += raised
    return Steps(path, bears, toes, toes_on)


def _stood(sole: Sole, stance: Standing) -> Path:
    """Where the foot would be in all frames, if it rolled over the edges of this stance's place."""
    foot = sole.foot
    back = (sole.pitch < 0)[:, None]
    R = stance.R @ rotations.matrix(rotations.from_vector(sole.pitch[:, None] * np.where(back, foot.sole.axes[:, 1], foot.hinge)))
    pivot = np.where(back, foot.sole.heel, foot.tip)
    return Path(R, stance.x + pivot @ stance.R.T - np.einsum("fij,fj->fi", R, pivot))


def _between(
    own: Path, wanted: Sequence[Path], spans: Sequence[tuple[int, int]], center: Array, times: Array, levels: Sequence[float] = ()
) -> Path:
    """A path that is as wanted in spans of frames, and in between as it is itself, moved by what leads from one to the next.

    Where that goes up from one of ``levels`` to a higher one it does so in the first half of the way, and in the second where it goes down.
    """
    R, x = own.R.copy(), own.x.copy()
    if not spans:
        return Path(R, x)
    moves = [_moves(own, path, center) for path in wanted]
    moved = np.zeros((len(times), 6))
    first, last = spans[0][0], spans[-1][1]
    moved[:first] += _let_go(moves[0], first, times, times[:first], -1) + moves[0][first]
    moved[last:] += _let_go(moves[-1], last - 1, times, times[last:], 1) + moves[-1][last - 1]
    for k in range(len(spans) - 1):
        a, b = spans[k][1] - 1, spans[k + 1][0]
        t = times[a + 1 : b]
        s = step((t - times[a]) / (times[b] - times[a]))[:, None]
        gap = float(times[b] - times[a])
        moved[a + 1 : b] = (1 - s) * moves[k][a] + s * moves[k + 1][b]
        if levels and levels[k] != levels[k + 1]:
            half = step(2.0 * (t - times[a]) / (times[b] - times[a]) - (levels[k + 1] < levels[k]))
            moved[a + 1 : b, 2] = (1 - half) * moves[k][a, 2] + half * moves[k + 1][b, 2]
        moved[a + 1 : b] += _let_go(moves[k], a, times, t, 1, gap) + _let_go(moves[k + 1], b, times, t, -1, gap)
    off = np.ones(len(times), bool)
    for path, (a, b) in zip(wanted, spans, strict=True):
        R[a:b], x[a:b], off[a:b] = path.R[a:b], path.x[a:b], False
    R[off] = rotations.matrix(rotations.from_vector(moved[off, 3:])) @ own.R[off]
    x[off] = own.x[off] + own.R[off] @ center + moved[off, :3] - R[off] @ center
    return Path(R, x)


def _pace(path: Path, center: Array, times: Array, a: int, b: int, up: bool) -> None:
    """Let a foot be behind itself along the ground on its way from frame a up to frame b, and ahead on its way down: in place.

    So it is above an edge when it gets there, and beyond it when it comes down.
    """
    u = (times[a : b + 1] - times[a]) / (times[b] - times[a])
    early = 1.0 - u if up else u
    then = u + (-PACE if up else PACE) * early**3 * (1.0 - early) ** 2 / (0.6**3 * 0.4**2)
    middle = path.x[a : b + 1] + path.R[a : b + 1] @ center
    path.x[a : b + 1, :2] += CubicSpline(u, middle[:, :2])(then) - middle[:, :2]


def _moves(own: Path, wanted: Path, center: Array) -> Array:
    """Shift of the middle of the sole, and turn, from one path to another: (f, 6)."""
    shift = wanted.x + wanted.R @ center - own.x - own.R @ center
    return np.concatenate((shift, rotations.to_vector(rotations.from_matrix(wanted.R @ own.R.transpose(0, 2, 1)))), axis=1)


def _let_go(moves: Array, k: int, times: Array, t: Array, way: int, gap: float = np.inf) -> Array:
    """What is added for speed and acceleration to go on at frame k, fading away from it: (len(t), 6). ``way``: 1 later, -1 earlier."""
    if not 0 < k < len(times) - 1:
        return np.zeros((len(t), moves.shape[1]))
    dt = 0.5 * (times[k + 1] - times[k - 1])
    rate = way * (moves[k + 1] - moves[k - 1]) / (2 * dt)
    bend = (moves[k + 1] - 2 * moves[k] + moves[k - 1]) / dt**2
    # What falls fast is stopped soon: else legs would have to reach far ahead of where they were
    length = min(float(np.clip(GIVES / max(np.linalg.norm(rate[:3]), 1e-9), *LET_GO)), gap)
    s = np.clip(way * (t - times[k]) / length, 0.0, 1.0)[:, None]
    # Hermite's quintics that begin with slope 1, or curvature 1, and end with nothing
    return length * rate * s * (1 - s) ** 3 * (1 + 3 * s) + 0.5 * length**2 * bend * s**2 * (1 - s) ** 3


def _toes(foot: Foot, toes: Toes, own: Path, path: Path, stances: Sequence[Standing], on: Array, times: Array) -> Path:
    """Toes that lie flat where they bear, and turn as they do themselves elsewhere; they hang on the foot."""
    spans, wanted = [], []
    still = np.zeros((len(times), 3))
    for a, b in runs(on):
        for stance in stances:
            start, end = max(a, stance.start), min(b, stance.end)
            if start < end:
                R = stance.R @ foot.sole.axes @ toes.axes.T
                spans.append((start, end))
                wanted.append(Path(np.broadcast_to(R, (len(times), 3, 3)), still))
    turned = _between(Path(own.R, still), wanted, spans, np.zeros(3), times)
    return Path(turned.R, path.x + path.R @ toes.joint - turned.R @ toes.center)


def _points(foot: Foot, path: Path, toes: Path | None) -> Array:
    """Points of a foot by which it might touch something: (f, k, 3) [m]."""
    points = foot.sole.hull @ path.R.transpose(0, 2, 1) + path.x[:, None]
    if toes is not None and foot.toes is not None:
        points = np.concatenate((points, foot.toes.corners @ toes.R.transpose(0, 2, 1) + toes.x[:, None]), axis=1)
    return points


def _under(over: Over, points: Array) -> tuple[Array, Array]:
    """The highest of what is under a foot or next to it (f,) [m], and whether that is the edge of a step."""
    s = over.steps.along(points)
    first, last = s.min(axis=1) - BESIDE, s.max(axis=1) + BESIDE
    return over.steps.highest(first, last), over.steps.crossed(first, last)


def _raised(
    low: Array, on: Array, stances: Sequence[Standing], levels: Sequence[float], times: Array, floor: Array, clear: Array, ease: float
) -> Array:
    """How much a foot in the air must be raised to be clear of the floor: (f,) [m], smooth, and nothing where it stands.

    ``levels``: of what it stands on. ``ease``: time after it left, and before it comes down, in which it gets there [s].
    """
    away, level = np.full(len(times), np.inf), np.zeros(len(times))
    for stance, height in zip(stances, levels, strict=True):
        far = np.maximum(np.maximum(times[stance.start] - times, times - times[stance.end - 1]), 0.0)
        away, level = np.minimum(away, far), np.where(far < away, height, level)
    window = step(away / ease)
    lacks = np.where(on, 0.0, np.maximum(level + (floor - level + clear) * window - low, 0.0))
    if not lacks.any() or len(times) < 5:
        return lacks
    reach = ease / float(np.median(np.diff(times)))
    wide = maximum_filter1d(lacks, 2 * max(1, round(reach)) + 1)
    return window * gaussian_filter1d(wide, 0.4 * reach)
