"""What a world can do as it stands: freedoms, motors and who brings what force, everything by name [CKC] 2, 3."""

from __future__ import annotations

import fnmatch
import textwrap
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from brachiate import dynamics, validation
from brachiate.constraints.arrays import NEW, REDUNDANT, REGULAR
from brachiate.constraints.coordinates import Coordinates, _pivots, choose, unit_vector_accelerations
from brachiate.constraints.second_order import CURVED, SecondOrder
from brachiate.constraints.torque_distribution import share
from brachiate.errors import ArgumentError, StateError, UnknownName
from brachiate.model.model import Model
from brachiate.validation import Array
from brachiate.world.connections import Connection
from brachiate.world.links import degrees
from brachiate.world.named_values import Named, coordinate_place, coordinate_values

if TYPE_CHECKING:
    from brachiate.world.world import World

SHARES = ("least-norm", "least-effort")
_PART = 1e-6  # what moves less than this part of what moves most, measured by kinetic energy, is not named
_ONE_PIECE = 1e-6  # bodies whose velocities differ by less than this part move as one
_CONSISTENT = 1e-6  # accelerations that break what holds by less than this part are taken without a word
_SHOWN = 4  # names in a line
_WIDTH = 110


# --- words ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Direction:
    """A motion, as velocities of coordinates [rad/s or m/s]: what moves most (by kinetic energy) first, that which leads at 1.

    Attributes:
        parts: Velocity of every coordinate that moves, by name.
        words: What it looks like, if everything that moves does so as one rigid piece: ``man turns about y through (0, 0, 2.6)``.
    """

    parts: Mapping[str, float]
    words: str = ""

    def __str__(self) -> str:
        """Return it in one line."""
        shown = [f"{name} {value:.3g}" for name, value in list(self.parts.items())[:_SHOWN]]
        more = [f"{len(self.parts) - _SHOWN} more"] if len(self.parts) > _SHOWN else []
        parts = ", ".join(shown + more)
        return f"{self.words} ({parts})" if self.words else parts


class NearlyFree(NamedTuple):
    """A motion that is hardly held: in the singular posture close by, it is free."""

    sigma: float  #: singular value of the rows, as part of the largest
    direction: Direction


class Singular(NamedTuple):
    """A row that seems redundant but is so at this very posture only: it holds to second order.

    Where it is shaky, motions in any of the directions would break it: the world has so many freedoms less than counted.
    Otherwise several ways branch off here, each with fewer freedoms than counted.
    """

    row: str
    shaky: bool
    directions: tuple[Direction, ...]


@dataclass(frozen=True, eq=False)
class Mobility:
    """How a world can move in its present posture, and what its motors can do about it. ``print`` it.

    Attributes:
        dof: Degrees of freedom N_F [CKC] eq. 14.
        variables: Joint variables N_J: those of the tree and of the connections [SVC].
        rows: Names of the rows of all that holds. Limits of joints are none of it: they only push.
        generalized: Coordinates that describe every motion; the choice is kept while it is a good one.
        dependent: Coordinates that follow from them.
        actuated: Coordinates with motors.
        actuation_rank: How many of the freedoms motors can drive.
        passive: Motions that no motor can drive, ``dof - actuation_rank`` of them.
        redundant: Rows that say what others say, and which: for each, the rows it repeats with their factors. None are
            named if it holds what cannot move anyway.
        near_singular: Motions that are hardly held, the least held one last.
        singular: Rows that hold to second order only.
    """

    dof: int
    variables: int
    rows: tuple[str, ...]
    generalized: tuple[str, ...]
    dependent: tuple[str, ...]
    actuated: tuple[str, ...]
    actuation_rank: int
    passive: tuple[Direction, ...]
    redundant: Mapping[str, Mapping[str, float]]
    near_singular: tuple[NearlyFree, ...]
    singular: tuple[Singular, ...]

    def __str__(self) -> str:
        """Return everything in words."""
        of = f" of {self.variables} joint variables, held by {len(self.rows)} rows" if self.rows else ""
        lines = [f"{degrees(self.dof)}{of}"]
        if self.dependent:
            lines += [*_listed("generalized", self.generalized), *_listed("dependent", self.dependent)]
        if self.actuated:
            lines.append(f"motors: {len(self.actuated)} drive {self.actuation_rank} of {self.dof} freedoms")
            lines += [f"passive: {direction}" for direction in self.passive]
        else:
            lines.append("motors: none")
        idle = tuple(row for row, others in self.redundant.items() if not others)
        lines += _listed("redundant, as nothing moves there", idle)
        for row, others in self.redundant.items():
            lines += _listed(f"redundant: {row} repeats", tuple(others))
        lines += [f"near singular: σ {near.sigma:.2g}, {near.direction}" for near in self.near_singular]
        for row, shaky, directions in self.singular:
            what = "shaky, it breaks if any of these moves" if shaky else "ways branch off, not all of these move at will"
            lines += [f"singular: {row} holds to second order; {what}", *(f"  {direction}" for direction in directions)]
        return "\n".join(lines)


def _listed(what: str, names: tuple[str, ...]) -> list[str]:
    return textwrap.wrap(f"{what}: {', '.join(names)}", _WIDTH, subsequent_indent="  ", break_long_words=False) if names else []


@dataclass(frozen=True, eq=False)
class NamedCoordinates:
    """Generalized coordinates of a world at one state, with names [CKC] 2. Of n velocities, m rows, N_F freedoms; arrays are read-only.

    Attributes:
        names: (n,) of all velocities.
        rows: (m,) of what holds.
        chosen: The same by numbers.
        motors: (N_A,) which velocities have motors.
        J: (m, n) rows: J v is the rate that prescribed coordinates move at, and zero elsewhere.
        gamma: (m,) J̇v, less the rate of that: J a + γ = 0.
        A: (n, n) mass matrix of the tree.
    """

    names: tuple[str, ...]
    rows: tuple[str, ...]
    chosen: Coordinates
    motors: Array
    J: Array
    gamma: Array
    A: Array

    @property
    def generalized(self) -> tuple[str, ...]:
        """Names of the generalized coordinates, in order: columns of W, S and H."""
        return _named(self.names, self.chosen.generalized)

    @property
    def dependent(self) -> tuple[str, ...]:
        """Names of the coordinates that follow from them, in order: rows of H."""
        return _named(self.names, self.chosen.dependent)

    @property
    def actuated(self) -> tuple[str, ...]:
        """Names of the coordinates with motors, in order: rows of S."""
        return _named(self.names, self.motors)

    @property
    def mobility(self) -> int:
        """How many freedoms there are: N_F [CKC] eq. 14."""
        return self.chosen.mobility

    @property
    def W(self) -> Array:
        """All velocities from generalized ones: (n, N_F) [CKC] eq. 4."""
        return self.chosen.W

    @property
    def H(self) -> Array:
        """Dependent velocities from generalized ones: (rank, N_F) [CKC] eq. 17."""
        return self.chosen.H

    @property
    def S(self) -> Array:
        """Velocities with motors from generalized ones: (N_A, N_F) [CKC] fig. 6."""
        return self.chosen.S(self.motors)

    def inertia(self, A: ArrayLike | None = None) -> Array:
        """Mass matrix of the generalized coordinates, WᵀAW: (N_F, N_F). ``A`` is the tree's, by default at this state."""
        return self.chosen.inertia(self.A if A is None else A)

    def drift(self, gamma: ArrayLike | None = None) -> Array:
        """Accelerations (n,) while no generalized coordinate accelerates [CKC] eq. 22; γ by default that of this state."""
        return self.chosen.drift(self.gamma if gamma is None else gamma)


@dataclass(frozen=True, eq=False)
class Shared:
    """How well motors bring an acceleration.

    Attributes:
        realised: Whether they bring all of it.
        residual: What they leave of the generalized force, by generalized coordinate [N·m or N]. The least there can be.
        rank: How many of the freedoms they can drive.
        dof: How many freedoms there are.
        unique: Whether no other torques do the same.
        saturated: Coordinates whose motors are at their limits.
        passive: Motions that no motor can drive.
    """

    realised: bool
    residual: Mapping[str, float]
    rank: int
    dof: int
    unique: bool
    saturated: tuple[str, ...]
    passive: tuple[Direction, ...]

    def __str__(self) -> str:
        """Return it in words."""
        lines = [f"{'realised' if self.realised else 'not realised'}: motors drive {self.rank} of {self.dof} freedoms"]
        lines[0] += "" if self.unique else ", in more than one way"
        if not self.realised:
            worst = sorted(self.residual, key=lambda name: -abs(self.residual[name]))[:_SHOWN]
            lines.append("left over: " + ", ".join(f"{name} {self.residual[name]:.3g}" for name in worst))
        lines += _listed("at their limits", self.saturated)
        lines += [f"passive: {direction}" for direction in self.passive]
        return "\n".join(lines)


class Torques(Named):
    """Torques by name (nv,) [N·m or N], with what became of what was asked for."""

    sharing: Shared | None  #: how well the motors bring it; None for an open tree with a motor at every coordinate
    inconsistency: float  #: how far the acceleration asked for was from any that obeys what holds, as part of its size

    def __new__(cls, values: ArrayLike, model: Model) -> Torques:
        """Copy the values; the model knows their names."""
        return cast(Torques, super().__new__(cls, values, model))

    def __array_finalize__(self, other: Any) -> None:
        super().__array_finalize__(other)
        self.sharing = getattr(other, "sharing", None)
        self.inconsistency = getattr(other, "inconsistency", 0.0)


def _named(names: Sequence[str], places: Iterable[int]) -> tuple[str, ...]:
    return tuple(names[i] for i in places)


# --- what holds now -------------------------------------------------------------------------------


class _Now(NamedTuple):
    """The rows and forces of the present state."""

    rows: tuple[str, ...]
    J: Array
    gamma: Array
    loops: Array  # (n,) torques that springs, dampers, friction and motors of connections bring


def _now(world: World) -> _Now:
    """Rows, their bias, and what acts in connections."""
    data, held, n = world.data, world.held, world.model.nv
    if not world.bonds:
        return _Now((), np.zeros((0, n)), np.zeros(0), np.zeros(n))
    held.room.clock[0] = world.time
    held.accelerations()
    holding, loops = _holding(world), np.zeros(n)
    if any(isinstance(bond, Connection) for bond in world.bonds):
        bias = data.work.bias.copy()  # of the tree and of the connections
        loops = dynamics.bias(data, data.q, data.v) - bias
    return _Now(_named(world.row_names(), holding), held.jacobian()[holding], held.room.gamma[holding], loops)


def _rows(world: World) -> tuple[list[int], Array]:
    """Rows of the present posture, and where they are in the constraint set; velocities play no part."""
    if not world.bonds:
        return [], np.zeros((0, world.model.nv))
    world.held.room.clock[0] = world.time
    world.held.look()
    holding = _holding(world)
    return holding, world.held.jacobian()[holding]


def _holding(world: World) -> list[int]:
    """The rows that hold in either direction: not those of limits, which only push, nor of connections that are springs."""
    slices = [world.held.rows_of(bond.place) for bond in world.bonds]
    rows = [row for mine in slices for row in range(mine.start, mine.stop)]
    return sorted(row for row in rows if world.held.room.state[row] in (REGULAR, REDUNDANT, NEW))


def _chosen(world: World, J: Array, A: Array) -> Coordinates:
    """Generalized coordinates; those of the last time are kept while the structure is the same and they are good."""
    for i in np.flatnonzero(np.diag(A) <= 0):
        raise StateError(f"{world.model.coordinates[i]!r} moves no mass. Give what it moves mass, or its joint armature.")
    structure = (world.model, *world.bonds)
    before = world._chosen[1] if world._chosen is not None and world._chosen[0] == structure else None
    chosen = choose(J, np.diag(A), before)
    world._chosen = structure, chosen
    return chosen


def coordinates(world: World, actuated: str | Iterable[str] | None = None) -> NamedCoordinates:
    """See :meth:`World.coordinates`."""
    motors = _motors(world.model, actuated)
    return _coordinates(world, _now(world), motors)


def _coordinates(world: World, now: _Now, motors: Array) -> NamedCoordinates:
    A = world.mass_matrix()
    chosen = _chosen(world, now.J, A)
    arrays = (validation.frozen(x) for x in (motors, now.J, now.gamma, A))
    return NamedCoordinates(world.model.coordinates, now.rows, chosen, *arrays)


def mobility(world: World, actuated: str | Iterable[str] | None = None) -> Mobility:
    """See :meth:`World.mobility`."""
    model, motors = world.model, _motors(world.model, actuated)
    holding, J = _rows(world)
    chosen = _chosen(world, J, world.mass_matrix())
    rows, names = _named(world.row_names(), holding), model.coordinates
    sharing = share(chosen, np.zeros(model.nv), motors)
    redundant = {
        rows[i]: {rows[k]: factor for k, factor in sorted(others.items(), key=lambda pair: -abs(pair[1]))}
        for i, others in chosen.depends.items()
    }
    return Mobility(
        dof=chosen.mobility,
        variables=model.nv + sum(bond.joint.nv for bond in world.bonds if isinstance(bond, Connection)),
        rows=rows,
        generalized=_named(names, chosen.generalized),
        dependent=_named(names, chosen.dependent),
        actuated=_named(names, motors),
        actuation_rank=sharing.rank,
        passive=_passive(names, chosen.measure, sharing.passive, world),
        redundant=redundant,
        near_singular=tuple(
            NearlyFree(near.sigma, _direction(names, chosen.measure, near.direction, world)) for near in chosen.near_singular
        ),
        singular=_singular(world, chosen, holding) if chosen.depends else (),
    )


def _singular(world: World, chosen: Coordinates, holding: list[int]) -> tuple[Singular, ...]:
    """Redundant rows that hold to second order, and what they make of the motions that seem free."""
    redundant = [holding[i] for i in chosen.depends]
    second, names = SecondOrder(world.held, redundant, [row for row in holding if row not in redundant]), world.row_names()
    free = np.linalg.qr(chosen.W)[0]
    found = []
    for row, form in zip(second.rows, second.forms(free) if second.curved() else (), strict=False):
        bends, axes = np.linalg.eigh(form)
        curved = np.abs(bends) > CURVED
        if curved.any():
            directions = (_direction(world.model.coordinates, chosen.measure, free @ x, world) for x in axes[:, curved].T)
            shaky = bool((bends[curved] > 0).all() or (bends[curved] < 0).all())
            found.append(Singular(names[row], shaky, tuple(directions)))
    return tuple(found)


def is_unique(world: World, rows: slice) -> bool:
    """Whether the forces of these rows follow from the motion and the torques: no null vector of Jᵀ touches them."""
    holding, J = _rows(world)
    depends = _chosen(world, J, world.mass_matrix()).depends
    return not any(rows.start <= holding[row] < rows.stop for i, others in depends.items() for row in (i, *others))


# --- motors ---------------------------------------------------------------------------------------


def _motors(model: Model, actuated: str | Iterable[str] | None) -> Array:
    """Which velocities are driven: those with motors (all of them, or those that patterns match), and those named outright."""
    own = model.effort > 0
    if actuated is None:
        return np.flatnonzero(own)
    flags = np.zeros(model.nv, bool)
    for pattern in [actuated] if isinstance(actuated, str) else actuated:
        if not isinstance(pattern, str):
            raise ArgumentError(f"actuated: expected names of joints or coordinates, such as 'man/*', got {validation.shown(pattern)}.")
        if pattern in model.joints or pattern in model.coordinate_index:
            flags[coordinate_place(model, pattern)] = True
            continue
        found = np.zeros(model.nv, bool)
        for name in (*model.joints, *model.coordinates):
            if fnmatch.fnmatchcase(name, pattern):
                found[coordinate_place(model, name)] = True
        if not found.any():
            raise UnknownName("joint or coordinate (or pattern of them)", pattern, [*model.joints], "this world")
        if not (found & own).any():
            raise ArgumentError(f"actuated: nothing that {pattern!r} matches has a motor. Name joints in full to drive them all the same.")
        flags |= found & own
    return np.flatnonzero(flags)


def _weights(model: Model, motors: Array, how: str, weights: ArrayLike | Mapping[str, Any] | None) -> Array:
    """What a squared torque costs, motor by motor."""
    cost = np.ones(model.nv)
    if validation.one_of(how, SHARES, "share") == "least-effort":
        unlimited = [model.coordinates[i] for i in motors if not 0 < model.effort[i] < np.inf]
        if unlimited:
            raise ArgumentError(f'share="least-effort" compares torques with their limits, and {_some(unlimited)} has none. Use weights=.')
        cost[motors] = model.effort[motors] ** -2
    if isinstance(weights, Mapping):
        for name, value in weights.items():
            place = coordinate_place(model, name)
            cost[place] *= validation.number(value, f"weights[{name!r}]", above=0.0)
    elif weights is not None:
        cost *= validation.each(weights, (model.nv,), "weights", f"one number, {model.nv} of them, or values by name")
    return cost[motors]


def _some(names: list[str]) -> str:
    return repr(names[0]) if len(names) == 1 else f"{names[0]!r} (and {len(names) - 1} more)"


# --- dynamics -------------------------------------------------------------------------------------


def inverse_dynamics(
    world: World,
    acceleration: ArrayLike | Mapping[str, Any],
    actuated: str | Iterable[str] | None,
    how: str,
    weights: ArrayLike | Mapping[str, Any] | None,
    limits: bool,
) -> Torques:
    """See :meth:`World.inverse_dynamics`."""
    model = world.model
    a = coordinate_values(model, acceleration, "acceleration")
    open_tree = not world.bonds and actuated is None and weights is None and not limits
    if open_tree and validation.one_of(how, SHARES, "share") == "least-norm":
        return Torques(_tree_torques(world, a), model)
    motors = _motors(model, actuated)
    cost = _weights(model, motors, how, weights)
    now = _now(world)
    c = _coordinates(world, now, motors)
    a, away = _nearest(world, c, a, now)
    sharing = share(c.chosen, _tree_torques(world, a) - now.loops, motors, effort=model.effort[motors] if limits else None, weights=cost)
    torques = Torques(sharing.torque, model)
    torques.inconsistency = away
    torques.sharing = Shared(
        realised=sharing.realised,
        residual=dict(zip(c.generalized, map(float, sharing.residual), strict=True)),
        rank=sharing.rank,
        dof=c.mobility,
        unique=sharing.unique,
        saturated=_named(model.coordinates, sharing.saturated),
        passive=_passive(model.coordinates, c.chosen.measure, sharing.passive),
    )
    if away > _CONSISTENT:
        warnings.warn(
            f"No motion of what is connected has this acceleration: the nearest one differs by {away:.2g} of its size, and torques are "
            "for that. Accelerations of forward_dynamics obey what holds; world.coordinates() says which coordinates are free to choose.",
            stacklevel=3,
        )
    return torques


def unit_vector_dynamics(world: World, torque: Array) -> Named:
    """Accelerations of what is held by the unit vector method [CKC] 3.2, for reading and checking."""
    now = _now(world)
    c = _coordinates(world, now, np.zeros(0, int))
    return Named(unit_vector_accelerations(lambda a: _tree_torques(world, a) - now.loops, c.chosen, now.gamma, torque), world.model)


def _tree_torques(world: World, a: Array) -> Array:
    """Newton and Euler for the tree: a new (nv,)."""
    data = world.data
    own = data.tau.copy()
    try:
        return dynamics.inverse_dynamics(data, data.q, data.v, a).copy()
    finally:
        data.tau[:] = own  # the kernel's result has the place of the world's own torques


def _nearest(world: World, c: NamedCoordinates, a: Array, now: _Now) -> tuple[Array, float]:
    """The acceleration nearest to a in the mass metric that obeys every row, and how far away it is.

    Measured against a, and against what gravity and forces would do to the tree: so round-off at rest is no great part of nothing.
    """
    if not len(now.J):
        return a, 0.0
    w = c.drift()
    obeys = w + c.W @ np.linalg.solve(c.inertia(), c.W.T @ (c.A @ (a - w)))
    force = _tree_torques(world, np.zeros(len(a))) - now.loops
    size = np.sqrt(a @ c.A @ a + force @ world.solve_mass(force))
    away = np.sqrt((obeys - a) @ c.A @ (obeys - a))
    return obeys, float(away / size) if away else 0.0


# --- motions in words -----------------------------------------------------------------------------


def _passive(names: tuple[str, ...], measure: Array, motions: Array, world: World | None = None) -> tuple[Direction, ...]:
    """Motions that span the same space and are easy to read: each led by a coordinate that the others leave at rest."""
    if not motions.size:
        return ()
    measured = measure[:, None] * motions
    leaders = _pivots(measured.T)
    readable = motions @ np.linalg.inv(motions[leaders])
    return tuple(_direction(names, measure, readable[:, i], world) for i in np.argsort(leaders))


def _direction(names: tuple[str, ...], measure: Array, motion: Array, world: World | None = None) -> Direction:
    """A motion by names; in words as well, if a world to look at is given."""
    size = np.abs(measure * motion)
    order = [i for i in np.argsort(-size, kind="stable") if size[i] > _PART * size.max()]
    motion = motion / motion[order[0]]
    parts = {names[i]: float(motion[i]) for i in order}
    return Direction(parts, "" if world is None else _rigid_motion(world, motion))


def _rigid_motion(world: World, motion: Array) -> str:
    """What a motion is, if all that moves moves as one rigid piece; else nothing."""
    model = world.model
    bodies = [name for name, link in model.links.items() if link.joint.nv]
    twists = np.array([_twist(world, link, motion) for link in bodies])
    sizes = np.abs(twists).max(axis=1)
    moving = np.flatnonzero(sizes > _ONE_PIECE * sizes.max())
    twist = twists[moving[0]]
    if np.abs(twists[moving] - twist).max() > _ONE_PIECE * sizes.max():
        return ""
    who = _who(world, [bodies[i] for i in moving], bodies)
    v, w = twist[:3], twist[3:]
    rate = float(np.linalg.norm(w))
    if rate <= _ONE_PIECE * sizes.max():
        return f"{who} moves along {_axis(v)}"
    along = float(v @ w) / rate**2
    slides = f", {along:.3g} m along it for each rad" if abs(along) > _ONE_PIECE else ""
    return f"{who} turns about {_axis(w)} through {_point(np.cross(w, v) / rate**2)}{slides}"


def _twist(world: World, link: str, motion: Array) -> Array:
    """Velocity of a link where the world's origin is, and its angular velocity."""
    six = world.jacobian(link) @ motion
    return np.array([*(six[:3] - np.cross(six[3:], world.position(link))), *six[3:]])


def _who(world: World, moving: list[str], bodies: list[str]) -> str:
    """Names of figures that move as a whole, and of links else."""
    whole = {f for f in world.parts if all(b in moving for b in bodies if b.startswith(f"{f}/"))}
    names = list(dict.fromkeys(f if (f := link.partition("/")[0]) in whole else link for link in moving))
    return " and ".join(names) if len(names) < 3 else f"{names[0]}, {names[1]} and {len(names) - 2} more"


def _axis(direction: Array) -> str:
    unit = direction / np.linalg.norm(direction)
    i = int(np.argmax(np.abs(unit)))
    return "xyz"[i] if abs(unit[i]) > 1 - _ONE_PIECE else _point(unit * np.sign(unit[i]))


def _point(p: Array) -> str:
    return f"({', '.join(f'{x:.3g}' for x in np.round(p, 3) + 0.0)})"
