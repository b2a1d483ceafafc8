"""Connecting and cutting while time runs [SVC] 4: transactions that leave nothing half done."""

from __future__ import annotations

import contextlib
import fnmatch
import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import kinematics, validation
from brachiate.constraints.arrays import DROPPED, HOLDING, REDUNDANT, REGULAR, ROWS
from brachiate.constraints.second_order import SecondOrder
from brachiate.errors import ArgumentError, AssemblyError, ModelError, OverconstrainedError, StateError, UnknownName
from brachiate.kinematics import Pose
from brachiate.model.flatten import Placement
from brachiate.model.joints import BALL, FLOAT, Fixed, Free, Joint
from brachiate.model.link import Link, check_loop_joint
from brachiate.model.model import Model
from brachiate.validation import Array
from brachiate.world.assembly import assemble
from brachiate.world.connections import Bond, Connection, Follow, Lock, Report, Soft

if TYPE_CHECKING:
    from brachiate.world.world import World

_UNTURNED, _NOWHERE = validation.frozen(np.eye(3)), validation.frozen(np.zeros(3))
_CONTRADICTION = 1e-7  # [m/s or rad/s] of what rows ask and no velocity can bring


def connect(
    world: World,
    link: str,
    to: str,
    joint: Joint | None,
    at: ArrayLike | None,
    to_at: ArrayLike | None,
    allow: str | Iterable[str] | None,
    name: str | None,
    redundant: bool,
    soft: Soft | None,
) -> Connection:
    """See :meth:`World.connect`."""
    joint = Fixed() if joint is None else joint
    check_loop_joint(joint, f"connection of {link!r} to {to!r}")
    name = _free_name(world, link, to) if name is None else _given_name(world, name)
    a, b = _frame(world, link), _frame(world, to)
    point = _NOWHERE if at is None else validation.vector(at, f"point of {link!r}")
    to_point = _NOWHERE if to_at is None else validation.vector(to_at, f"point of {to!r}")
    if world.placement(a.link).body == world.placement(b.link).body:
        same = "is one piece with" if a.link != b.link else "is"
        raise ArgumentError(
            f"{link!r} {same} {to!r}: a link cannot be connected to itself. Name two links that can move against each other."
        )
    place = a.position if at is None else a.position + a.rotation @ point
    if allow is None:
        frame, to_frame = _meeting(world, a.link, place, b.link, b.rotation)
    else:
        frame, to_frame = Placement(-1, a.rotation, place), Placement(-1, b.rotation, b.position + b.rotation @ to_point)
    if soft is not None and not isinstance(soft, Soft):
        raise ArgumentError(f"soft: expected Soft(stiffness=..., damping=...), got {validation.shown(soft)}.")
    connection = Connection(world, name, a.link, b.link, joint, frame, to_frame, soft)
    return _join(world, connection, allow, redundant)


def _join(world: World, bond: Any, allow: str | Iterable[str] | None, redundant: bool) -> Any:
    """Let a bond hold: assemble, impulse, report; on failure everything is as before."""
    held, data = world.held, world.data
    q, v, loops = data.q.copy(), data.v.copy(), held.room.q.copy()
    counts = _counts(world)
    bond.enter(held, world.model)
    world.bonds.append(bond)
    try:
        held.arrange()
        if allow is not None:
            assemble(world, bond, allow)
        held.room.clock[0] = world.time
        world.surfaces.take_hold()
        rows = held.rows_of(bond.place)
        if not redundant and held.room.count[DROPPED] and _counts(world)[1] == counts[1]:
            raise OverconstrainedError(
                f"{bond.name!r} would hold nothing that is not held already: all its {rows.stop - rows.start} rows are redundant. "
                "Pass redundant=True if it is meant so; the forces are then not unique."
            )
        _agree(world, bond, v)
        shaky = _shaky(world, bond)
    except Exception:
        world.bonds.remove(bond)
        held.remove(bond.place)
        bond.place = -1
        held.arrange()
        world.surfaces.exclude()
        data.q[:], data.v[:], held.room.q[: len(loops)] = q, v, loops
        with contextlib.suppress(StateError):  # what was wrong before is wrong again: the first error says so
            world.decide()
        raise
    bond.report = _report(world, bond, "connected", counts, v, rows.stop - rows.start, shaky)
    world.changed()
    return bond


def _agree(world: World, bond: Bond, v: Array) -> None:
    """Refuse a bond if no velocity brings all that is asked of it now."""
    worst = world.held.worst_rate()
    if worst > _CONTRADICTION and worst > _CONTRADICTION * np.abs(v).max():
        raise OverconstrainedError(
            f"{bond.name!r} contradicts what is held already: {worst:.3g} m/s or rad/s are asked for that no motion of the world has."
        )


def _shaky(world: World, bond: Bond) -> tuple[str, ...]:
    """Rows that seem redundant but hold to second order. Those that are redundant must also agree in what they accelerate."""
    if not world.held.room.count[DROPPED]:
        return ()
    v, state = world.data.v, world.held.room.state[: world.held.room.count[ROWS]]
    second = SecondOrder(world.held, np.flatnonzero(state == REDUNDANT).tolist(), np.flatnonzero(state == REGULAR).tolist())
    curved = second.curved()
    truly = np.array([row not in curved for row in second.rows])
    size = 1.0 + np.abs(v).max(initial=0.0) ** 2
    worst = max(np.abs(second.at(0.0 * v)).max(), np.abs(second.at(v)[truly]).max(initial=0.0))
    if worst > _CONTRADICTION * size:
        raise OverconstrainedError(
            f"{bond.name!r} contradicts what is held already: {worst:.3g} m/s² or rad/s² are asked for that no motion of the world has."
        )
    names = world.row_names()
    return tuple(names[row] for row in curved)


def lock(world: World, name: str, course: ArrayLike | None, over: float | None, redundant: bool) -> list[Lock]:
    """See :meth:`World.lock` and :meth:`World.prescribe`. Everything is looked at before anything is held."""
    model = world.model
    if not isinstance(name, str) or (name not in model.joints and name not in model.coordinate_index):
        raise UnknownName("joint or coordinate", name, dict.fromkeys([*model.joints, *model.coordinates]), "this world")
    until = np.inf if over is None else world.time + validation.number(over, "over", above=0.0)
    owner = name if name in model.joints else _owner(model, name)
    kinds = [e.kind for e in model.links[model.joints[owner].link].joint.elements]
    if FLOAT in kinds:
        raise ArgumentError(
            f"{owner!r} is a free joint. Hold its link to the world instead: world.connect({model.joints[owner].link!r}, 'world')."
        )
    if kinds == [BALL] and name == owner:
        if course is not None:
            raise ArgumentError(f"{name!r} is a ball joint: it can be locked, but a course is a polynomial of one coordinate.")
        locks = [Lock(world, name, np.zeros(1), world.time, np.inf, world[name])]
    else:
        names = list(model.coordinates[model.joints[name].v]) if name in model.joints else [name]
        if course is not None and len(names) > 1:
            raise ArgumentError(f"A course is of one coordinate, and {name!r} has {len(names)}: {', '.join(names)}.")
        for coordinate in names:
            _unlocked(world, coordinate)
        for coordinate in names:
            if coordinate not in model.scalar_coordinates:
                raise ArgumentError(f"{coordinate!r} is a part of a ball joint. Lock the whole joint.")
        courses = [np.array([world.angle(c)]) if course is None else _course(course, c, world.angle(c)) for c in names]
        locks = [Lock(world, c, polynomial, world.time, until) for c, polynomial in zip(names, courses, strict=True)]
    for made in locks:
        _unlocked(world, made.name)
    q, v, version = world.data.q.copy(), world.data.v.copy(), world._version
    try:
        for made in locks:
            _join(world, made, None, redundant)
    except Exception:
        for made in locks:
            if made.alive:
                cut(world, made, None)
        world.data.q[:], world.data.v[:], world._version = q, v, version
        raise
    return locks


def _owner(model: Model, coordinate: str) -> str:
    """The joint a coordinate belongs to."""
    k = model.coordinate_index[coordinate]
    return next(joint for joint, place in model.joints.items() if place.v.start <= k < place.v.stop)


def _unlocked(world: World, name: str) -> None:
    if any(isinstance(bond, Lock) and bond.name == name for bond in world.bonds):
        raise ArgumentError(f"{name!r} is locked or moved already. Release it first: world.release({name!r}).")


def _course(course: ArrayLike, name: str, now: float) -> Array:
    given = np.atleast_1d(validation.reals(course, f"course of {name!r}", "coefficients of a polynomial of time"))
    if given.ndim != 1 or not 1 <= len(given) <= 6 or not np.isfinite(given).all():
        raise ArgumentError(f"course of {name!r}: expected one to six finite coefficients, constant first, got {validation.shown(course)}.")
    if abs(given[0] - now) > 1e-6:
        raise ArgumentError(f"course of {name!r}: it must begin where the coordinate is ({now:.9g}), not at {given[0]:.9g}.")
    return given


def cut(world: World, what: Bond | str, impulse: ArrayLike | None) -> Report:
    """See :meth:`World.cut`."""
    counts, before = _counts(world), world.data.v.copy()
    named = {**world.connections, **world.couplings} if isinstance(what, str) else {}
    if isinstance(what, str) and what not in named:
        return _cut_joint(world, what, counts, world.save(), impulse)
    bond: Bond = named[what] if isinstance(what, str) else what
    if not isinstance(bond, Bond) or bond.world is not world:
        raise ArgumentError(f"cut expects a connection or coupling of this world, or the name of a joint, got {validation.shown(what)}.")
    if not bond.alive:
        raise ArgumentError(f"{bond.name!r} is cut already.")
    push = None
    if impulse is not None:
        if not isinstance(bond, Connection):
            raise ArgumentError(f"{bond.name!r} is no connection: only those can be cut with an impulse.")
        push = _separation(world, bond, validation.vector(impulse, "impulse"))
    held = world.held
    rows = held.rows_of(bond.place)
    if isinstance(bond, Connection):
        bond.kept = bond.keep()
    world.bonds.remove(bond)
    held.remove(bond.place)
    bond.place = -1
    held.arrange()
    if push is not None:
        world.data.v[:] += push
        world.surfaces.take_hold()
    else:
        world.decide()
    report = _report(world, bond, "cut", counts, before, rows.stop - rows.start)
    world.changed()
    return report


def _separation(world: World, bond: Connection, impulse: Array) -> Array:
    """Change of velocity that equal and opposite impulses [N·s] on the two links make, were nothing held."""
    at = bond.wrench.at
    force = np.zeros(world.model.nv)
    for link, sign in ((bond.link, 1.0), (bond.to, -1.0)):
        if world.placement(link).body >= 0:
            pose = world.pose(link)
            J = world.jacobian(link, pose.rotation.T @ (at - pose.position))
            force += sign * J[:3].T @ impulse
    return world.solve_mass(force)


def _cut_joint(world: World, name: str, counts: Any, before: Any, impulse: ArrayLike | None) -> Report:
    """Cut a joint of the tree: what it carries gets a free joint, its pose and velocity unchanged."""
    model = world.model
    by_joint = {link.joint_name: link for link in model.links.values() if link.parent is not None}
    link = by_joint.get(name)
    if link is None:
        free = {link.joint_name for link in model.links.values()} - set(by_joint)
        if name in free:
            raise ArgumentError(f"{name!r} carries the root of a figure: there is nothing it could be cut from.")
        raise UnknownName("connection, coupling or joint", name, [*world.connections, *world.couplings, *by_joint], "this world")
    if impulse is not None:
        raise ArgumentError("Only a connection can be cut with an impulse. Push the links apart with world.push instead.")
    pose, velocity = world.pose(link.name), world.velocity(link.name)
    figure, _, local = link.name.partition("/")
    part, at, rotation = world.parts[figure]
    try:
        world.parts[figure] = _without(part, local), at, rotation
        world.rebuild(before)
        root, base = world.model.joints[f"{figure}/{_free_joint(local)}"], world.model.links[link.name]
        R = base.rotation.T @ pose.rotation
        world.data.q[root.q] = [*(base.rotation.T @ (pose.position - base.position)), *Pose(R, np.zeros(3)).quaternion]
        world.data.v[root.v] = [*(pose.rotation.T @ velocity[:3]), *(pose.rotation.T @ velocity[3:])]
        world.decide()
    except Exception:
        world.parts[figure] = part, at, rotation
        world.bonds = list(before.bonds)
        world.rebuild()
        world.restore(before)
        raise
    world.figures[figure].model = world.parts[figure][0]
    after = world.data.v.copy()
    variables, mobility = _counts(world)
    return Report(
        f"{name!r} cut", (counts[0], variables), (counts[1], mobility), 0, _redundant(world), 0.0, 0.0,
        world.model, world.gravity, world.data.q.copy(), (after, after),
    )  # fmt: skip


def _free_joint(link: str) -> str:
    return f"{link}.free"


def _without(model: Model, link: str) -> Model:
    """The model with a link's joint cut: the link is a root that moves freely."""
    links, sites, loops, couplings, actuators, poses = model._parts()
    gone = set(model.links[link].joint.coordinate_names(model.links[link].joint_name)) if model.links[link].joint.nv else set()
    loose = replace(
        model.links[link], parent=None, joint=Free(effort=0.0), joint_name=_free_joint(link), position=np.zeros(3), rotation=np.eye(3)
    )
    kept: list[Link] = [loose if part.name == link else part for part in links]
    couplings = [c for c in couplings if c.coordinate not in gone and c.of not in gone]
    actuators = [a for a in actuators if a.coordinate not in gone]
    poses = {pose: {j: q for j, q in values.items() if j != model.links[link].joint_name} for pose, values in poses.items()}
    return Model(model.name, kept, sites, loops, couplings, actuators, poses)


class _Frame:
    """A frame in a link: of the link itself, of a site, or of the world."""

    def __init__(self, link: str, rotation: Array, position: Array) -> None:
        self.link, self.rotation, self.position = link, rotation, position


def _frame(world: World, name: str) -> _Frame:
    model = world.model
    if name == "world" or (isinstance(name, str) and name in model.links):
        return _Frame(name, _UNTURNED, _NOWHERE)
    if not isinstance(name, str) or name not in model.sites:
        raise UnknownName("link or site", name, [*model.links, *model.sites, "world"], "this world")
    site = model.sites[name]
    return _Frame(site.link, site.rotation, site.position)


def _meeting(world: World, link: str, point: Array, to: str, axes: Array) -> tuple[Placement, Placement]:
    """The frame at a link's point as it is now, its axes given in another link: as seen in the one and in the other."""
    kinematics.update_poses(world.data)
    (R, p), (R_to, p_to) = _known_pose(world, link), _known_pose(world, to)
    P = p + R.dot(point)  # of matrices so small, twice as fast as @
    turn = R.T.dot(R_to) if axes is _UNTURNED else R.T.dot(R_to).dot(axes)
    return Placement(-1, turn, point), Placement(-1, axes, R_to.T.dot(P - p_to))


def _known_pose(world: World, link: str) -> tuple[Array, Array]:
    """Rotation and position of a link, from poses already computed."""
    at = world.placement(link)
    if at.body < 0:
        return at.rotation, at.position
    work, model = world.data.work, world.model
    R, p = work.R[at.body], work.origin[model.tree.root[at.body]] + work.x[at.body]
    return (R, p) if model.links[link].joint.nv else (R.dot(at.rotation), p + R.dot(at.position))  # with a joint, it is the body


def _given_name(world: World, name: str) -> str:
    """The name a connection is to have, which must be free."""
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"{name!r} cannot name a connection: a name is a text that is not empty.")
    what = "connection or coupling" if any(bond.name == name for bond in world.bonds) else "joint" if _moves(world, name) else ""
    if what:
        raise ModelError(f"A {what} named {name!r} is there already. Give this connection another name.")
    return name


def _free_name(world: World, link: str, to: str) -> str:
    """A name that neither a bond nor a joint has: the link's, or who is connected to whom, or that with a number."""
    wanted = f"{link} to {to}" if _moves(world, link) else link
    taken = {bond.name for bond in world.bonds}
    return next(name for name in chain([wanted], (f"{wanted} {n}" for n in count(2))) if name not in taken)


def _moves(world: World, name: str) -> bool:
    """Whether a joint or coordinate that can be locked, or cut, has this name."""
    return name in world.model.joints or name in world.model.coordinate_index


def _counts(world: World) -> tuple[int, int]:
    """Joint variables and mobility. Limits that happen to be pressed against take no freedom away."""
    held = world.held
    pressed = sum(int(held.room.state[held.room.row[place]] == REGULAR) for place in held.limits)
    variables = world.model.nv + sum([bond.joint.nv for bond in world.bonds if isinstance(bond, Connection)])
    return variables, world.model.nv - int(held.room.count[HOLDING]) + pressed


def _redundant(world: World) -> tuple[str, ...]:
    if not world.held.room.count[DROPPED]:
        return ()
    state = world.held.room.state
    return tuple(name for n, name in enumerate(world.row_names()) if state[n] == REDUNDANT)


def _report(world: World, bond: Bond, what: str, counts: tuple[int, int], v: Array, rows: int, shaky: tuple[str, ...] = ()) -> Report:
    held = world.held
    variables, mobility = _counts(world)
    force = moment = 0.0
    if bond.alive:
        mine = held.rows_of(bond.place)
        if isinstance(bond, Connection):
            six = held.room.force[mine].dot(held.room.T[mine]).tolist()
            moment, force = math.hypot(*six[:3]), math.hypot(*six[3:])
        else:
            moment = float(np.abs(held.room.force[mine]).max())
    return Report(
        f"{bond.name!r} {what}", (counts[0], variables), (counts[1], mobility), rows, _redundant(world), force, moment,
        world.model, world._gravity, world.data.q.copy(), (v, world.data.v.copy()), shaky,
    )  # fmt: skip


def close_loops(world: World, figure: str, model: Model) -> None:
    """Close the loops and couplings of a model that has just been added, moving its joints as little as that takes."""
    joined: list[Any] = []
    for loop in model.loops:
        ends = [end if end == "world" else f"{figure}/{end}" for end in (loop.first, loop.second)]
        whole = next(part for part in world.model.loops if part.name == f"{figure}/{loop.name}")
        frame = Placement(-1, whole.second_rotation, whole.second_position)
        to_frame = Placement(-1, whole.first_rotation, whole.first_position)
        joined.append(Connection(world, f"{figure}/{loop.name}", ends[1], ends[0], loop.joint, frame, to_frame))
    for coupling in model.couplings:
        of = None if coupling.of is None else f"{figure}/{coupling.of}"
        joined.append(Follow(world, f"{figure}/{coupling.name}", f"{figure}/{coupling.coordinate}", of, np.array(coupling.coefficients)))
    counts, before = _counts(world), world.save()
    for bond in joined:
        bond.enter(world.held, world.model)
        world.bonds.append(bond)
    world.held.arrange()
    assemble(world, joined, f"{figure}/*")
    world.held.take_hold()
    shaky = _shaky(world, joined[-1]) if joined else ()
    for bond in joined:
        bond.report = _report(world, bond, "closed", counts, before.v, 0, shaky)
    world.changed()


def matching(model: Model, allow: str | Iterable[str]) -> Array:
    """Flags of the velocities that patterns such as ``man/*`` name (nv,); ``all`` names every one."""
    if not isinstance(allow, Iterable):
        raise ArgumentError(f"allow: expected names of joints such as 'man/*', got {validation.shown(allow)}.")
    patterns = [allow] if isinstance(allow, str) else list(allow)
    flags = np.zeros(model.nv, bool)
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise ArgumentError(f"allow: expected names of joints such as 'man/*', got {validation.shown(pattern)}.")
        found = [joint for joint in model.joints if pattern == "all" or fnmatch.fnmatchcase(joint, pattern)]
        if not found:
            raise UnknownName("joint (or pattern of joints)", pattern, model.joints, "this world")
        for joint in found:
            flags[model.joints[joint].v] = True
    return flags


__all__ = ["AssemblyError", "StateError", "close_loops", "connect", "cut", "lock", "matching"]
