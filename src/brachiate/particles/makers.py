"""Ropes, chains, rings, nets and bridges of particles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.figures import ranges
from brachiate.particles.columns import points
from brachiate.particles.system import MIN_LENGTH, ParticleSystem
from brachiate.validation import Array

FINE = 4000  # points by which a curve given as a function is measured
MAX_LINKS = 10_000_000


def from_arrays(
    positions: ArrayLike,
    mass: ArrayLike,
    links: Any,
    *,
    stiffness: ArrayLike,
    damping: ArrayLike = 0.0,
    fixed: ArrayLike = False,
    **more: Any,
) -> ParticleSystem:
    """System of particles at positions (n, 3) [m] and links (m, 2) between them at rest.

    Args:
        positions: Positions [m].
        mass: Masses [kg], one for all or one for each.
        links: Numbers of the particles of each link.
        stiffness: Of links [N/m].
        damping: Of links [N·s/m].
        fixed: Which particles are fixed.
        more: Arguments of :class:`ParticleSystem`.
    """
    system = ParticleSystem(**more)
    system.add_particles(positions, mass, fixed=fixed)
    system.add_links(links, stiffness=stiffness, damping=damping)
    return system


def along_curve(
    curve: ArrayLike | Callable[[float], ArrayLike],
    count: int,
    *,
    mass: float = 1.0,
    stiffness: float = 1e4,
    damping_time: float = 1e-3,
    closed: bool = False,
    slack: bool = False,
    radius: float = 0.0,
    drag: float = 0.0,
    **more: Any,
) -> ParticleSystem:
    """Rope along a curve: ``count`` links of equal length, at rest; particles ``p1`` to ``p<n>``.

    Args:
        curve: Points of a polygonal line (k, 3) [m], or a function from [0, 1] to points.
        count: Number of links.
        mass: Of the whole rope [kg]; particles at its ends have half the mass of others.
        stiffness: Axial stiffness EA [N]: a link of length l has EA/l.
        damping_time: Ratio of damping to stiffness [s].
        closed: Whether the last point is linked to the first one.
        slack: Whether links only pull.
        radius: Of particles [m].
        drag: Of each particle [kg/m].
        more: Arguments of :class:`ParticleSystem`.
    """
    count = ranges.count(count, "count", MAX_LINKS)
    if not isinstance(closed, bool):
        raise ArgumentError(f"closed: expected True or False, got {validation.short_repr(closed)}.")
    if closed and count < 3:
        raise ArgumentError(f"count: a closed rope has at least 3 links, got {count}.")
    line = points(np.array([curve(t) for t in np.linspace(0.0, 1.0, FINE)], float) if callable(curve) else curve, "curve")
    line = np.concatenate([line, line[:1]]) if closed else line
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    if len(line) < 2 or along[-1] < count * MIN_LENGTH:
        raise ArgumentError("curve: it has no length. Give at least two points apart from each other.")
    places = np.linspace(0.0, along[-1], count + 1)[: count if closed else count + 1]
    x = np.stack([np.interp(places, along, column) for column in line.T], axis=1)
    masses = np.full(len(x), ranges.mass(mass, "mass") / count)
    if not closed:
        masses[[0, -1]] *= 0.5
    first = np.arange(count)
    ends = np.stack([first, (first + 1) % len(x)], axis=1)
    return _tied(x, masses, ends, stiffness, damping_time, slack, {"radius": radius, "drag": drag}, more)


def _tied(
    x: Array, mass: Array, ends: Array, stiffness: float, time: float, slack: Any, parts: dict[str, Any], more: Any
) -> ParticleSystem:
    """System of particles with links of axial stiffness EA [N] and a damping time [s]."""
    system = ParticleSystem(**more)
    fixed = parts.pop("fixed", False)
    system.add_particles(x, mass, fixed=fixed, **parts)
    length = np.linalg.norm(x[ends[:, 0]] - x[ends[:, 1]], axis=1)
    axial = validation.number(stiffness, "stiffness", above=0.0, maximum=ranges.MAX_STIFFNESS)
    k = axial / np.maximum(length, MIN_LENGTH)
    system.add_links(ends, stiffness=k, damping=k * validation.number(time, "damping_time", minimum=0.0, maximum=1e6), slack=slack)
    return system


def rope(start: ArrayLike, end: ArrayLike, count: int = 20, length: float | None = None, **options: Any) -> ParticleSystem:
    """Rope from a fixed start to a free end, whose links only pull.

    Args:
        start: Position of the fixed end [m].
        end: Position of the free end [m].
        count: Number of links.
        length: Length of the rope [m]; None: the distance. A longer rope hangs between its ends as a parabola.
        options: Of :func:`along_curve`.
    """
    a, b = ranges.vector(start, "start"), ranges.vector(end, "end")
    line = np.stack([a, b]) if length is None else _hanging(a, b, ranges.length(length, "length"))
    system = along_curve(line, count, **{"slack": True, **options})
    system.hold("p1")
    return system


def _hanging(a: Array, b: Array, length: float) -> Array:
    """Points of a parabola of a length between two points."""
    if length < np.linalg.norm(b - a):
        raise ArgumentError(f"length: {length:g} m is less than the distance of both ends, {np.linalg.norm(b - a):.4g} m.")
    t = np.linspace(0.0, 1.0, FINE)[:, None]
    low, high = 0.0, length
    for _ in range(60):
        sag = 0.5 * (low + high)
        line = a + t * (b - a) - 4.0 * sag * t * (1.0 - t) * (0.0, 0.0, 1.0)
        if np.linalg.norm(np.diff(line, axis=0), axis=1).sum() > length:
            high = sag
        else:
            low = sag
    return line


def chain(count: int = 10, length: float = 1.0, start: ArrayLike = (0.0, 0.0, 1.0), direction: Any = "x", **options: Any) -> ParticleSystem:
    """Straight chain of rods from a fixed particle ``p1``: links push and pull.

    Args:
        count: Number of links.
        length: Of the chain [m].
        start: Position of the fixed particle [m].
        direction: Axis along which it lies.
        options: Of :func:`along_curve`.
    """
    a = ranges.vector(start, "start")
    b = a + ranges.length(length, "length") * validation.axis(direction, "direction")
    system = along_curve([a, b], count, **options)
    system.hold("p1")
    return system


def ring(count: int = 40, radius: float = 0.5, center: ArrayLike = (0.0, 0.0, 1.0), axis: Any = "y", **options: Any) -> ParticleSystem:
    """Closed rope: a regular polygon about an axis.

    Args:
        count: Number of links.
        radius: Of the ring [m].
        center: Of the ring [m].
        axis: Normal of its plane.
        options: Of :func:`along_curve`; ``thickness`` is the radius of particles [m].
    """
    c, n = ranges.vector(center, "center"), validation.axis(axis, "axis")
    size = ranges.length(radius, "radius")
    u = np.cross(n, (1.0, 0.0, 0.0) if abs(n[0]) < 0.6 else (0.0, 0.0, 1.0))
    u /= np.linalg.norm(u)
    angle = 2.0 * np.pi * np.arange(ranges.count(count, "count", MAX_LINKS)) / count
    line = c + size * (np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * np.cross(n, u))
    options["radius"] = options.pop("thickness", 0.0)
    return along_curve(line, count, closed=True, **options)


def from_mesh(
    vertices: ArrayLike,
    triangles: ArrayLike,
    *,
    mass: float = 1.0,
    stiffness: float = 1e4,
    damping_time: float = 1e-3,
    slack: bool = False,
    fixed: str | ArrayLike = (),
    **more: Any,
) -> ParticleSystem:
    """Particles at the vertices of a triangle mesh, links along its edges.

    Args:
        vertices: Positions (n, 3) [m].
        triangles: Vertices of each triangle (t, 3).
        mass: Of the whole surface [kg], spread by area.
        stiffness: Axial stiffness EA of an edge [N].
        damping_time: Ratio of damping to stiffness [s].
        slack: Whether links only pull.
        fixed: Numbers of fixed vertices, or ``"boundary"``: those of edges with one triangle, as of a net in a frame.
        more: Arguments of :class:`ParticleSystem`.
    """
    x = points(vertices, "vertices")
    faces = np.asarray(triangles)
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu" or not len(faces) or faces.min() < 0 or faces.max() >= len(x):
        raise ArgumentError(f"triangles: expected rows of three vertices from 0 to {len(x) - 1}, got {validation.short_repr(triangles)}.")
    areas = 0.5 * np.linalg.norm(np.cross(x[faces[:, 1]] - x[faces[:, 0]], x[faces[:, 2]] - x[faces[:, 0]]), axis=1)
    weights = np.bincount(faces.reshape(-1), np.repeat(areas, 3), len(x))
    if (weights <= 0.0).any():
        raise ArgumentError(f"triangles: vertex {int(weights.argmin())} belongs to no triangle with an area, so it would have no mass.")
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    ends, uses = np.unique(edges, axis=0, return_counts=True)
    held = np.zeros(len(x), bool)
    if isinstance(fixed, str):
        validation.one_of(fixed, ("boundary",), "fixed")
        held[ends[uses == 1].reshape(-1)] = True
    elif np.size(fixed):
        rows = np.asarray(fixed)
        if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= len(x):
            raise ArgumentError(
                f"fixed: expected numbers of vertices from 0 to {len(x) - 1}, or 'boundary', got {validation.short_repr(fixed)}."
            )
        held[rows] = True
    masses = ranges.mass(mass, "mass") * weights / weights.sum()
    return _tied(x, masses, ends.astype(np.int64), stiffness, damping_time, slack, {"fixed": held}, more)


def net(rows: int = 12, columns: int = 12, mesh: float = 0.1, height: float = 1.0, *, mass: float = 2.0, stiffness: float = 2e4,
        damping_time: float = 2e-3, **more: Any) -> ParticleSystem:  # fmt: skip
    """Level square net of ropes in a fixed frame; particles ``p1``... row by row, links only pull.

    Args:
        rows: Particles along y.
        columns: Particles along x.
        mesh: Distance of neighbours [m].
        height: Of the net [m].
        mass: Of the net [kg].
        stiffness: Axial stiffness EA of the ropes [N].
        damping_time: Ratio of damping to stiffness [s].
        more: Arguments of :class:`ParticleSystem`.
    """
    ny, nx = (validation.integer(value, what, minimum=2, maximum=3000) for value, what in ((rows, "rows"), (columns, "columns")))
    step = ranges.length(mesh, "mesh")
    level = validation.number(height, "height", minimum=-ranges.MAX_POSITION, maximum=ranges.MAX_POSITION)
    j, i = np.divmod(np.arange(nx * ny), nx)
    x = np.stack([step * (i - 0.5 * (nx - 1)), step * (j - 0.5 * (ny - 1)), np.full(nx * ny, level)], axis=1)
    at = np.arange(nx * ny).reshape(ny, nx)
    ends = np.concatenate([np.stack([at[:, :-1], at[:, 1:]], -1).reshape(-1, 2), np.stack([at[:-1], at[1:]], -1).reshape(-1, 2)])
    frame = (i == 0) | (j == 0) | (i == nx - 1) | (j == ny - 1)
    masses = np.full(nx * ny, ranges.mass(mass, "mass") / (nx * ny))
    return _tied(x, masses, ends, stiffness, damping_time, True, {"fixed": frame}, more)


def bridge(sections: int = 100, span: float = 50.0, sag: float = 4.0, *, width: float = 1.2, mass: float = 2000.0, stiffness: float = 2e7,
           damping_time: float = 2e-3, **more: Any) -> ParticleSystem:  # fmt: skip
    """Rope bridge along x: a deck of five ropes with cross and diagonal ties, two hand ropes on hangers; both ends are fixed.

    About 21 links a section. Particles are numbered section by section: five of the deck, then the left and the right hand rope.

    Args:
        sections: Number of sections.
        span: Distance of the ends [m].
        sag: Of the deck in the middle [m].
        width: Of the deck [m].
        mass: Of the bridge [kg].
        stiffness: Axial stiffness EA of ropes and ties [N].
        damping_time: Ratio of damping to stiffness [s].
        more: Arguments of :class:`ParticleSystem`.
    """
    count = validation.integer(sections, "sections", minimum=2, maximum=1_000_000)
    span, wide = ranges.length(span, "span"), ranges.length(width, "width")
    sag = validation.number(sag, "sag", minimum=0.0, maximum=span)
    s = np.linspace(-0.5, 0.5, count + 1)
    across = np.array([-0.5, -0.25, 0.0, 0.25, 0.5, -0.5, 0.5]) * wide
    above = np.array([0.0] * 5 + [1.0, 1.0])
    x = np.stack(np.broadcast_arrays(span * s[:, None], across, sag * (4.0 * s[:, None] ** 2) + above), axis=-1)
    at = np.arange(7 * (count + 1)).reshape(-1, 7)
    pairs = [(at[:-1, k], at[1:, k]) for k in range(7)]
    pairs += [(at[1:, k], at[1:, k + 1]) for k in range(4)]
    pairs += [(at[:-1, k + a], at[1:, k + 1 - a]) for k in range(4) for a in (0, 1)]
    pairs += [(at[1:, 0], at[1:, 5]), (at[1:, 4], at[1:, 6])]
    ends = np.concatenate([np.stack(pair, axis=1) for pair in pairs])
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    fixed = np.zeros(len(at) * 7, bool)
    fixed[at[[0, -1]].reshape(-1)] = True
    masses = np.full(at.size, ranges.mass(mass, "mass") / at.size)
    return _tied(x.reshape(-1, 3), masses, ends, stiffness, damping_time, False, {"fixed": fixed}, more)
