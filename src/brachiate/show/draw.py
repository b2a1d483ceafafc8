"""Pictures of figures, drawn with matplotlib.

Bodies are opaque triangles in one collection, so that matplotlib sorts them all from back to front; pale postures are
mixed with the paper rather than transparent, which would show every seam.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brachiate import doors
from brachiate.doors import Array
from brachiate.errors import ArgumentError
from brachiate.kinematics import Pose, link_poses
from brachiate.model.data import Data
from brachiate.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Plane, Shape, Sphere
from brachiate.show.plots import pyplot, save

PAPER = np.array((0.985, 0.985, 0.98))
_LINES = np.array((0.84, 0.85, 0.86))
_SHADOW = np.array((0.90, 0.90, 0.905))
_PLAIN = (0.60, 0.64, 0.70, 1.0)  # a shape without a colour of its own
_LIGHT = np.array((0.35, -0.45, 0.82)) / np.linalg.norm((0.35, -0.45, 0.82))  # towards the light, world axes
_AMBIENT = 0.52
_DETAILS = 130  # edges of triangles go at least so often into the figure's size, or twice as often into the picture's
_DEEP = 0.96  # how deep in another solid a triangle must be to be left out, as a part of its radius: at seams both are needed


@dataclass(frozen=True)
class View:
    """From where a picture is taken [deg]: ``around`` counts from the front (x) towards the left (y)."""

    around: float = -60.0
    above: float = 12.0

    def direction(self) -> Array:
        """Unit vector from what is seen to the eye."""
        a, h = np.radians((self.around, self.above))
        return np.array((np.cos(h) * np.cos(a), np.cos(h) * np.sin(a), np.sin(h)))


@dataclass(frozen=True)
class Skin:
    """Triangles of a figure in one posture, with the colour the light gives them."""

    corners: Array  # (n, 3, 3) [m]
    colors: Array  # (n, 3)
    normals: Array  # (n, 3)


class _Solid(NamedTuple):
    shape: Shape
    rotation: Array
    position: Array
    reach: float  # of its farthest point from its position [m]


def draw_figure(ax: Any, data: Data, alpha: float = 1.0) -> Any:
    """Draw every link of a figure at ``data.q`` into three-dimensional axes.

    Args:
        ax: Axes made with ``projection="3d"``.
        data: The figure and its posture.
        alpha: 1 is full colour, towards 0 the figure fades into the paper.

    Returns:
        The collection that was added.
    """
    if not hasattr(ax, "add_collection3d"):
        raise ArgumentError('ax: expected three-dimensional axes, made with projection="3d".')
    return _add(ax, _faded(skin(data), doors.number(alpha, "alpha", least=0.0, most=1.0)))


def picture(
    frames: Iterable[tuple[Data, ArrayLike]],
    path: str | PathLike[str],
    *,
    view: View | None = None,
    title: str = "",
    width: float = 9.0,
    pixels_per_inch: int = 200,
    ground: bool = True,
    palest: float = 0.35,
) -> None:
    """Draw postures into one picture, the earlier the paler, and write it to a file.

    Args:
        frames: (data, q) in the order of time; things that do not move need one entry only.
        path: Where to write; the ending says the format (.png, .svg, .pdf).
        view: From where it is seen.
        title: A line above.
        width: Of the picture [inch]; its height is what the content needs.
        pixels_per_inch: Of the picture.
        ground: Whether to draw a grid at z = 0 and shadows on it.
        palest: Strength of the first posture, between 0 and 1; the last one has 1.
    """
    frames = list(frames)
    if not frames:
        raise ArgumentError("frames: expected at least one (data, q), got none.")
    view = view if view is not None else View()
    first = doors.number(palest, "palest", least=0.0, most=1.0)
    states = [(data, data.q.copy()) for data, _ in frames]
    try:
        longest = _size([corner for data, q in frames for corner in _box(data, q)]) / (2 * _DETAILS)
        skins = []
        for i, (data, q) in enumerate(frames):
            data.assign(q=q)
            skins.append(_faded(skin(data, longest), 1.0 if len(frames) == 1 else first + (1 - first) * i / (len(frames) - 1)))
    finally:
        for data, q in reversed(states):
            data.q[:] = q  # looking changes nothing
    whole = _joined(skins)
    if not len(whole.corners):
        raise ArgumentError("frames: none of these models has a shape that can be drawn. Give their links shapes=...")
    figure, ax = _empty_axes(view)
    low, high = whole.corners.reshape(-1, 3).min(axis=0), whole.corners.reshape(-1, 3).max(axis=0)
    if ground:
        low, high = _draw_ground(ax, whole, low, high)
    _add(ax, _facing(whole, view.direction()))
    crop = _fit(figure, ax, low, high, whole.corners.reshape(-1, 3), doors.number(width, "width", above=0.0), title)
    save(figure, path, dpi=pixels_per_inch, facecolor=PAPER, bbox_inches=crop)


def skin(data: Data, longest: float = 0.0) -> Skin:
    """Return the shaded surface of every shape at ``data.q``; planes, which have no end, are left out.

    Args:
        data: The figure and its posture.
        longest: Edges of triangles need not be shorter than this [m].
    """
    shapes = _placed(data)
    longest = max(longest, _size(_box(data, data.q)) / _DETAILS)
    corners, normals, colors, solids = [], [], [], []
    for shape, pose in shapes:
        vertices, triangles = shape.surface(_fineness(shape, longest))
        pieces = _cut((vertices @ pose.rotation.T + pose.position)[triangles], longest)
        center = pose.position + pose.rotation @ shape.position
        solid = _Solid(shape, pose.rotation @ shape.rotation, center, float(np.linalg.norm(pieces - center, axis=2).max()))
        corners.append(pieces)
        normals.append(_normals(solid, pieces))
        colors.append(np.tile(np.array(shape.color or _PLAIN)[:3], (len(pieces), 1)))
        solids.append(solid)
    if not corners:
        return Skin(np.zeros((0, 3, 3)), np.zeros((0, 3)), np.zeros((0, 3)))
    T, N, C = np.concatenate(corners), np.concatenate(normals), np.concatenate(colors)
    showing = _showing(T, np.repeat(np.arange(len(corners)), [len(c) for c in corners]), solids)
    # Lambert's law, wrapped around a little: a hard terminator makes round bodies look flat.
    bright = np.clip((N @ _LIGHT + 0.35) / 1.35, 0.0, 1.0)
    shade = _AMBIENT + (1.08 - _AMBIENT) * bright
    return Skin(T[showing], np.clip(C * shade[:, None], 0.0, 1.0)[showing], N[showing])


def _normals(solid: _Solid, triangles: Array) -> Array:
    """Unit normals: those of the true surface where it is round, so that no facets show."""
    x = (triangles.mean(axis=1) - solid.position) @ solid.rotation
    match solid.shape:
        case Ellipsoid():
            n = x / solid.shape.radii**2
        case Sphere():
            n = x
        case Capsule():
            half = solid.shape.length / 2
            n = x - np.clip(x[:, 2:], -half, half) * (0.0, 0.0, 1.0)
        case _:
            n = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]) @ solid.rotation
    return (n / np.linalg.norm(n, axis=1, keepdims=True)) @ solid.rotation.T


def _placed(data: Data) -> list[tuple[Shape, Pose]]:
    """Every shape that has an end, and the pose of its link."""
    poses = link_poses(data)
    return [(shape, poses[name]) for name, link in data.model.links.items() for shape in link.shapes if not isinstance(shape, Plane)]


def _box(data: Data, q: ArrayLike) -> list[Array]:
    """Lowest and highest corner of the box around a figure: nothing if it has no shapes."""
    data.assign(q=q)
    points = [shape.surface(4)[0] @ pose.rotation.T + pose.position for shape, pose in _placed(data)]
    return [np.concatenate(points).min(axis=0), np.concatenate(points).max(axis=0)] if points else []


def _size(points: Sequence[Array]) -> float:
    """Diagonal of the box around points [m]."""
    return float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0


def _fineness(shape: Shape, longest: float) -> int:
    """How finely to cut round shapes, so that edges around them are about as long as wanted."""
    match shape:
        case Ellipsoid():
            radius = float(np.sort(shape.radii)[1])
        case Sphere() | Capsule() | Cylinder():
            radius = shape.radius
        case _:
            return 4
    return int(np.clip(np.pi * radius / longest, 6, 24))


def _cut(triangles: Array, longest: float) -> Array:
    """Halve triangles across their longest edge until none is longer: large ones cannot be sorted from back to front."""
    # Meshes from files may have triangles without area, hence without a normal.
    area = np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)
    triangles = triangles[area > 1e-9 * area.max()]
    done = []
    while len(triangles):
        edges = np.linalg.norm(np.roll(triangles, -1, axis=1) - triangles, axis=2)  # edge k goes from corner k to the next
        worst = edges.argmax(axis=1)
        good = edges.max(axis=1) <= longest
        done.append(triangles[good])
        rest, k = triangles[~good], worst[~good]
        rows = np.arange(len(rest))
        a, b, c = (rest[rows, (k + i) % 3] for i in range(3))
        middle = (a + b) / 2
        triangles = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
    return np.concatenate(done)


def _showing(triangles: Array, owner: NDArray[np.int64], solids: Sequence[_Solid]) -> NDArray[np.bool_]:
    """Which triangles are not wholly inside another solid: what is hidden in flesh would only disturb the order of the rest."""
    showing = np.ones(len(triangles), bool)
    first = triangles[:, 0]
    for i, solid in enumerate(solids):
        near = np.einsum("ij,ij->i", first - solid.position, first - solid.position) < solid.reach**2
        others = np.flatnonzero(showing & near & (owner != i))
        corners = (triangles[others].reshape(-1, 3) - solid.position) @ solid.rotation
        showing[others[_within(solid.shape, corners).reshape(-1, 3).all(axis=1)]] = False
    return showing


def _within(shape: Shape, x: Array) -> NDArray[np.bool_]:
    """Which points, in the shape's own axes, are deep inside it; none for surfaces of triangles."""
    match shape:
        case Ellipsoid():
            return ((x / shape.radii) ** 2).sum(axis=1) < _DEEP**2
        case Sphere():
            return (x**2).sum(axis=1) < (_DEEP * shape.radius) ** 2
        case Capsule():
            beyond = np.maximum(np.abs(x[:, 2]) - shape.length / 2, 0.0)
            return x[:, 0] ** 2 + x[:, 1] ** 2 + beyond**2 < (_DEEP * shape.radius) ** 2
        case Cylinder():
            return (x[:, 0] ** 2 + x[:, 1] ** 2 < (_DEEP * shape.radius) ** 2) & (np.abs(x[:, 2]) < _DEEP * shape.length / 2)
        case Box():
            return np.all(np.abs(x) < _DEEP * shape.size / 2, axis=1)
        case _:
            return np.zeros(len(x), bool)


def _faded(skin: Skin, strength: float) -> Skin:
    return Skin(skin.corners, PAPER + strength * (skin.colors - PAPER), skin.normals)


def _facing(skin: Skin, towards: Array) -> Skin:
    """Leave out triangles that look away: half of them, never seen on closed bodies."""
    seen = skin.normals @ towards > -0.15
    return Skin(skin.corners[seen], skin.colors[seen], skin.normals[seen])


def _joined(skins: Sequence[Skin]) -> Skin:
    return Skin(*(np.concatenate([getattr(s, what) for s in skins]) for what in ("corners", "colors", "normals")))


def _add(ax: Any, skin: Skin) -> Any:
    pyplot()
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # noqa: PLC0415  (matplotlib is optional)

    return ax.add_collection3d(Poly3DCollection(skin.corners, facecolors=skin.colors, edgecolors=skin.colors, linewidths=0.25, zorder=3))


def _empty_axes(view: View) -> tuple[Any, Any]:
    figure = pyplot().figure(facecolor=PAPER)
    ax = figure.add_axes((0, 0, 1, 1), projection="3d", computed_zorder=False)
    ax.set_axis_off()
    ax.set_proj_type("persp", focal_length=1.8)
    ax.view_init(elev=view.above, azim=view.around)
    return figure, ax


def _draw_ground(ax: Any, whole: Skin, low: Array, high: Array) -> tuple[Array, Array]:
    """Draw a grid of half metres (finer for small things) and the shadows; return the corners of what is then to be seen."""
    from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection  # noqa: PLC0415  (matplotlib is optional)

    step = min(0.5, 0.5 * 10 ** np.floor(np.log10(max(high - low))))
    a, b = np.floor(low[:2] / step - 0.5) * step, np.ceil(high[:2] / step + 0.5) * step
    lines = [((x, a[1], 0), (x, b[1], 0)) for x in np.arange(a[0], b[0] + step / 2, step)]
    lines += [((a[0], y, 0), (b[0], y, 0)) for y in np.arange(a[1], b[1] + step / 2, step)]
    # Light from straight above: the shadow then tells where in the plane a body is, and lies within the grid.
    fallen = whole.corners[whole.normals[:, 2] > 0] * (1.0, 1.0, 0.0)
    ax.add_collection3d(Poly3DCollection(fallen, facecolors=_SHADOW, edgecolors=_SHADOW, linewidths=0.3, zorder=1))
    ax.add_collection3d(Line3DCollection(lines, colors=_LINES, linewidths=0.6, zorder=2))
    return np.array((*a, min(0.0, low[2]))), np.array((*b, max(0.0, high[2])))


def _fit(figure: Any, ax: Any, low: Array, high: Array, points: Array, width: float, title: str) -> Any:
    """Show a box of the world with one scale for all axes; return the part of the page that is then not empty [inch]."""
    from matplotlib.transforms import Bbox  # noqa: PLC0415  (matplotlib is optional)
    from mpl_toolkits.mplot3d.proj3d import proj_transform  # noqa: PLC0415

    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    ax.set_box_aspect(high - low)
    floor = [(x, y, low[2]) for x in (low[0], high[0]) for y in (low[1], high[1])]
    x, y, z = np.concatenate([points, floor]).T
    seen = np.array(proj_transform(x, y, z, ax.get_proj())[:2])
    left, right = seen.min(axis=1), seen.max(axis=1)
    margin = 0.03 * max(right - left)
    left, right = left - margin, right + margin + (0.0, 2 * margin if title else 0.0)
    # matplotlib keeps the page of such axes square: make it the larger side, and cut it to the content afterwards.
    side = max(right - left)
    ax.viewLim.intervalx = (left[0], left[0] + side)
    ax.viewLim.intervaly = (left[1], left[1] + side)
    inches = width * side / (right - left)[0]
    figure.set_size_inches(inches, inches)
    part = (right - left) / side
    if title:
        figure.text(part[0] / 2, part[1] - 0.01, title, ha="center", va="top", color=(0.25, 0.27, 0.3), fontsize=1.4 * width)
    return Bbox.from_bounds(0, 0, *(part * inches))
