"""Structure changes at run time [SVC] 4: connect and cut links, as transactions that either succeed or change nothing."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brachiate import kinematics, validation
from brachiate.constraints.arrays import INDEPENDENT, INDEPENDENT_ROWS, REDUNDANT, REDUNDANT_ROWS, ROWS
from brachiate.constraints.second_order import SecondOrder
from brachiate.errors import ArgumentError, ModelError, OverconstrainedError, StateError, UnknownName
from brachiate.figures import ranges
from brachiate.kinematics import Pose
from brachiate.model.flatten import Placement
from brachiate.model.joints import Fixed, Free, Joint
from brachiate.model.link import Link, check_loop_joint
from brachiate.model.model import Model
from brachiate.validation import Array
from brachiate.world.assembly import assemble
from brachiate.world.connections import Connection, ConnectionReport, Constraint, CouplingConstraint, SpringDamper

if TYPE_CHECKING:
    from brachiate.world.world import World
    from brachiate.world.world_state import WorldState

_IDENTITY, _ORIGIN = validation.frozen(np.eye(3)), validation.frozen(np.zeros(3))
_CONTRADICTION = 1e-7  # [m/s or rad/s] constraint violation after the impulse above which rows contradict each other


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
    compliance: SpringDamper | None,
) -> Connection:
    """See :meth:`World.connect`."""
    joint = Fixed() if joint is None else joint
    check_loop_joint(joint, f"connection of {link!r} to {to!r}")
    a, b = _frame(world, link), _frame(world, to)
    name = _default_name(world, link, to) if name is None else _checked_name(world, name)
    point = _ORIGIN if at is None else ranges.vector(at, f"point of {link!r}")
    to_point = _ORIGIN if to_at is None else ranges.vector(to_at, f"point of {to!r}")
    if world.placement(a.link).body == world.placement(b.link).body:
        same = "is rigidly attached to" if a.link != b.link else "is"
        raise ArgumentError(
            f"{link!r} {same} {to!r}: a link cannot be connected to itself. Name two links that can move relative to each other."
        )
    position = a.position if at is None else a.position + a.rotation @ point
    if allow is None:
        frames = _frames_at_present_pose(world, a.link, position, b.link, b.rotation)
    else:
        frames = Placement(-1, a.rotation, position), Placement(-1, b.rotation, b.position + b.rotation @ to_point)
    if compliance is not None and not isinstance(compliance, SpringDamper):
        raise ArgumentError(f"compliance: expected SpringDamper(stiffness=..., damping=...), got {validation.short_repr(compliance)}.")
    return activate(world, Connection(world, name, a.link, b.link, joint, frames, compliance), allow, redundant)


def activate(world: World, constraint: Any, allow: str | Iterable[str] | None, redundant: bool) -> Any:
    """Add a constraint: assemble, project velocities by an impulse, report; on failure everything is as before.

    Raises:
        OverconstrainedError: All its rows are redundant and ``redundant`` is false, or they contradict other constraints.
    """
    constraint_set, data = world.constraint_set, world.data
    q, v, loop_q = data.q.copy(), data.v.copy(), constraint_set.arrays.q.copy()
    counts = _counts(world)
    constraint.add_to(constraint_set, world.model)
    world.constraints.append(constraint)
    try:
        constraint_set.update_structure()
        if allow is not None:
            assemble(world, constraint, allow)
        constraint_set.arrays.time[0] = world.time
        world.contact_settings.apply_connection_impulse()
        rows = constraint_set.row_slice(constraint.index)
        rigid = not isinstance(constraint, Connection) or constraint.compliance is None
        if rigid and not redundant and constraint_set.arrays.count[REDUNDANT_ROWS] and _counts(world)[1] == counts[1]:
            raise OverconstrainedError(
                f"{constraint.name!r} would constrain nothing that is not constrained already: all its {rows.stop - rows.start} rows are "
                "redundant. Pass redundant=True if that is intended; the constraint forces are then not unique."
            )
        _check_velocity_consistency(world, constraint, v)
        shaky = _second_order_rows(world, constraint)
    except Exception:
        world.constraints.remove(constraint)
        constraint_set.remove(constraint.index)
        constraint.index = -1
        constraint_set.update_structure()
        world.contact_settings.update_pairs()
        data.q[:], data.v[:], constraint_set.arrays.q[: len(loop_q)] = q, v, loop_q
        with contextlib.suppress(StateError):  # an invalid state was invalid before: the first error says so
            world.update_redundancy()
        raise
    constraint.report = _report(world, constraint, "connected", counts, v, rows.stop - rows.start, shaky)
    world.mark_structure_changed()
    return constraint


def _check_velocity_consistency(world: World, constraint: Constraint, v: Array) -> None:
    """Reject a constraint if no velocity satisfies all constraints at the present state."""
    worst = world.constraint_set.velocity_error()
    if worst > _CONTRADICTION and worst > _CONTRADICTION * np.abs(v).max():
        raise OverconstrainedError(
            f"{constraint.name!r} contradicts the other constraints: "
            f"{worst:.3g} m/s or rad/s remain that no motion of the world can satisfy."
        )


def _second_order_rows(world: World, constraint: Constraint) -> tuple[str, ...]:
    """Names of rows that are redundant to first order only (shaky); truly redundant rows must agree in their accelerations."""
    if not world.constraint_set.arrays.count[REDUNDANT_ROWS]:
        return ()
    v, state = world.data.v, world.constraint_set.arrays.state[: world.constraint_set.arrays.count[ROWS]]
    second = SecondOrder(world.constraint_set, np.flatnonzero(state == REDUNDANT).tolist(), np.flatnonzero(state == INDEPENDENT).tolist())
    curved = second.curved()
    redundant = np.array([row not in curved for row in second.rows])
    scale = 1.0 + np.abs(v).max(initial=0.0) ** 2
    worst = max(np.abs(second.at(0.0 * v)).max(), np.abs(second.at(v)[redundant]).max(initial=0.0))
    if worst > _CONTRADICTION * scale:
        raise OverconstrainedError(
            f"{constraint.name!r} contradicts the other constraints: "
            f"{worst:.3g} m/s² or rad/s² remain that no motion of the world can satisfy."
        )
    names = world.row_names()
    return tuple(names[row] for row in curved)


def cut(world: World, what: Constraint | str, impulse: ArrayLike | None) -> ConnectionReport:
    """See :meth:`World.cut`."""
    counts, before = _counts(world), world.data.v.copy()
    named = {**world.connections, **world.couplings} if isinstance(what, str) else {}
    if isinstance(what, str) and what not in named:
        return _cut_joint(world, what, counts, world.save(), impulse)
    constraint: Constraint = named[what] if isinstance(what, str) else what
    if not isinstance(constraint, Constraint) or constraint.world is not world:
        raise ArgumentError(
            f"cut expects a connection or coupling of this world, or the name of a joint, got {validation.short_repr(what)}."
        )
    if not constraint.alive:
        raise ArgumentError(f"{constraint.name!r} is cut already.")
    velocity_change = None
    if impulse is not None:
        if not isinstance(constraint, Connection):
            raise ArgumentError(f"{constraint.name!r} is not a connection: only connections can be cut with an impulse.")
        velocity_change = _separation_velocity(world, constraint, ranges.vector(impulse, "impulse", ranges.MAX_FORCE))
    constraint_set = world.constraint_set
    rows = constraint_set.row_slice(constraint.index)
    if isinstance(constraint, Connection):
        constraint.initial_state = constraint.joint_state()
    world.constraints.remove(constraint)
    constraint_set.remove(constraint.index)
    constraint.index = -1
    constraint_set.update_structure()
    if velocity_change is not None:
        world.data.v[:] += velocity_change
        world.contact_settings.apply_connection_impulse()
    else:
        world.update_redundancy()
    report = _report(world, constraint, "cut", counts, before, rows.stop - rows.start)
    world.mark_structure_changed()
    return report


def _separation_velocity(world: World, connection: Connection, impulse: Array) -> Array:
    """Velocity change (nv,) of the unconstrained tree by equal and opposite impulses [N·s] on the two links."""
    at = connection.wrench.at
    force = np.zeros(world.model.nv)
    for link, sign in ((connection.link, 1.0), (connection.to, -1.0)):
        if world.placement(link).body >= 0:
            pose = world.pose(link)
            J = world.jacobian(link, pose.rotation.T @ (at - pose.position))
            force += sign * J[:3].T @ impulse
    return world.solve_mass(force)


def _cut_joint(world: World, name: str, counts: tuple[int, int], before: WorldState, impulse: ArrayLike | None) -> ConnectionReport:
    """Cut a joint of the tree: its child link gets a free joint, pose and velocity unchanged."""
    model = world.model
    by_joint = {link.joint_name: link for link in model.links.values() if link.parent is not None}
    link = by_joint.get(name)
    if link is None:
        roots = {link.joint_name for link in model.links.values()} - set(by_joint)
        if name in roots:
            raise ArgumentError(f"{name!r} is the root joint of a figure: there is no parent link to cut it from.")
        raise UnknownName("connection, coupling or joint", name, [*world.connections, *world.couplings, *by_joint], "this world")
    if impulse is not None:
        raise ArgumentError("Only a connection can be cut with an impulse. Push the links apart with world.apply_force instead.")
    pose, velocity = world.pose(link.name), world.velocity(link.name)
    figure, _, local = link.name.partition("/")
    part, at, rotation = world.parts[figure]
    try:
        world.parts[figure] = _with_free_link(part, local), at, rotation
        world.rebuild(before)
        root, base = world.model.joints[f"{figure}/{_free_joint_name(local)}"], world.model.links[link.name]
        R = base.rotation.T @ pose.rotation
        world.data.q[root.q] = [*(base.rotation.T @ (pose.position - base.position)), *Pose(R, np.zeros(3)).quaternion]
        world.data.v[root.v] = [*(pose.rotation.T @ velocity[:3]), *(pose.rotation.T @ velocity[3:])]
        world.update_redundancy()
    except Exception:
        world.parts[figure] = part, at, rotation
        world.constraints = list(before.constraints)
        world.rebuild()
        world.restore(before)
        raise
    world.figures[figure].model = world.parts[figure][0]
    after = world.data.v.copy()
    variables, mobility = _counts(world)
    return ConnectionReport(
        f"{name!r} cut", (counts[0], variables), (counts[1], mobility), 0, _redundant_rows(world), 0.0, 0.0,
        world.model, world.gravity, world.data.q.copy(), (after, after),
    )  # fmt: skip


def _free_joint_name(link: str) -> str:
    return f"{link}.free"


def _with_free_link(model: Model, link: str) -> Model:
    """The model with a link cut from its parent: the link becomes a root with a free joint."""
    links, sites, loops, couplings, actuators, poses, *contact = model._parts()
    removed = set(model.links[link].joint.coordinate_names(model.links[link].joint_name)) if model.links[link].joint.nv else set()
    root = replace(
        model.links[link], parent=None, joint=Free(effort=0.0), joint_name=_free_joint_name(link), position=np.zeros(3), rotation=np.eye(3)
    )
    new_links: list[Link] = [root if part.name == link else part for part in links]
    couplings = [c for c in couplings if c.coordinate not in removed and c.of not in removed]
    actuators = [a for a in actuators if a.coordinate not in removed]
    poses = {pose: {j: q for j, q in values.items() if j != model.links[link].joint_name} for pose, values in poses.items()}
    return Model(model.name, new_links, sites, loops, couplings, actuators, poses, *contact)


class _Frame(NamedTuple):
    """Frame in a link: that of the link itself, of a site, or of the world."""

    link: str
    rotation: Array
    position: Array


def _frame(world: World, name: str) -> _Frame:
    model = world.model
    if isinstance(name, str) and (name == "world" or name in model.links):
        return _Frame(name, _IDENTITY, _ORIGIN)
    if not isinstance(name, str) or name not in model.sites:
        raise UnknownName("link or site", name, [*model.links, *model.sites, "world"], "this world")
    site = model.sites[name]
    return _Frame(site.link, site.rotation, site.position)


def _frames_at_present_pose(world: World, link: str, point: Array, to: str, axes: Array) -> tuple[Placement, Placement]:
    """Joint frame at a point of ``link`` where it is now, with axes given in ``to``: expressed in ``link`` and in ``to``."""
    kinematics.update_poses(world.data)
    (R, p), (R_to, p_to) = _updated_pose(world, link), _updated_pose(world, to)
    P = p + R.dot(point)  # for such small matrices, dot is twice as fast as @
    R_link_joint = R.T.dot(R_to) if axes is _IDENTITY else R.T.dot(R_to).dot(axes)
    return Placement(-1, R_link_joint, point), Placement(-1, axes, R_to.T.dot(P - p_to))


def _updated_pose(world: World, link: str) -> tuple[Array, Array]:
    """Rotation and position of a link, from poses that are up to date."""
    at = world.placement(link)
    if at.body < 0:
        return at.rotation, at.position
    work, model = world.data.work, world.model
    R, p = work.R[at.body], work.origin[model.tree.root[at.body]] + work.x[at.body]
    return (R, p) if model.links[link].joint.nv else (R.dot(at.rotation), p + R.dot(at.position))  # with a joint, it is the body


def _checked_name(world: World, name: str) -> str:
    """Name of a new connection, which must be free."""
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"{name!r} cannot name a connection: a name is a non-empty text.")
    named = any(constraint.name == name for constraint in world.constraints)
    owner = "connection or coupling" if named else "joint" if _is_joint(world, name) else ""
    if owner:
        raise ModelError(f"A {owner} named {name!r} exists already. Give this connection another name.")
    return name


def _default_name(world: World, link: str, to: str) -> str:
    """Name that neither a constraint nor a joint has: that of the link, ``link to other``, or this with a number."""
    preferred = f"{link} to {to}" if _is_joint(world, link) else link
    taken = {constraint.name for constraint in world.constraints}
    return next(name for name in chain([preferred], (f"{preferred} {n}" for n in count(2))) if name not in taken)


def _is_joint(world: World, name: str) -> bool:
    """Whether a joint or coordinate has this name."""
    return name in world.model.joints or name in world.model.coordinate_index


def row_names(world: World) -> list[str]:
    """See :meth:`World.row_names`."""
    names = {c.index: c.row_names() for c in world.constraints}
    names |= {index: [name] for index, name in world.constraint_set.active_limits.items()}
    arrays = world.constraint_set.arrays
    return [name for i in arrays.order[: arrays.count[0]] for name in names[int(i)]]


def _counts(world: World) -> tuple[int, int]:
    """Number of joint variables, and mobility. Active joint limits are unilateral and remove no degree of freedom."""
    constraint_set = world.constraint_set
    arrays = constraint_set.arrays
    limits = sum(int(arrays.state[arrays.row[index]] == INDEPENDENT) for index in constraint_set.active_limits)
    variables = world.model.nv + sum([c.joint.nv for c in world.constraints if isinstance(c, Connection)])
    return variables, world.model.nv - int(arrays.count[INDEPENDENT_ROWS]) + limits


def _redundant_rows(world: World) -> tuple[str, ...]:
    if not world.constraint_set.arrays.count[REDUNDANT_ROWS]:
        return ()
    state = world.constraint_set.arrays.state
    return tuple(name for n, name in enumerate(world.row_names()) if state[n] == REDUNDANT)


def _report(
    world: World, constraint: Constraint, verb: str, counts: tuple[int, int], v: Array, rows: int, shaky: tuple[str, ...] = ()
) -> ConnectionReport:
    """Report of a change; ``counts`` and ``v`` are those before it."""
    constraint_set = world.constraint_set
    variables, mobility = _counts(world)
    force = moment = 0.0
    if constraint.alive:
        own = constraint_set.row_slice(constraint.index)
        if isinstance(constraint, Connection):
            six = constraint_set.arrays.force[own].dot(constraint_set.arrays.T[own]).tolist()
            moment, force = math.hypot(*six[:3]), math.hypot(*six[3:])
        else:
            moment = float(np.abs(constraint_set.arrays.force[own]).max())
    return ConnectionReport(
        f"{constraint.name!r} {verb}", (counts[0], variables), (counts[1], mobility), rows, _redundant_rows(world), force, moment,
        world.model, world.gravity, world.data.q.copy(), (v, world.data.v.copy()), shaky,
    )  # fmt: skip


def close_loops(world: World, figure: str, model: Model) -> None:
    """Close the loops and couplings of a model that has just been added, by the least motion of its joints."""
    added: list[Any] = []
    for loop in model.loops:
        ends = [end if end == "world" else f"{figure}/{end}" for end in (loop.first, loop.second)]
        placed = next(part for part in world.model.loops if part.name == f"{figure}/{loop.name}")
        frame = Placement(-1, placed.second_rotation, placed.second_position)
        to_frame = Placement(-1, placed.first_rotation, placed.first_position)
        added.append(Connection(world, f"{figure}/{loop.name}", ends[1], ends[0], loop.joint, (frame, to_frame)))
    for coupling in model.couplings:
        of = None if coupling.of is None else f"{figure}/{coupling.of}"
        name, coordinate = f"{figure}/{coupling.name}", f"{figure}/{coupling.coordinate}"
        added.append(CouplingConstraint(world, name, coordinate, of, np.array(coupling.coefficients)))
    counts, before = _counts(world), world.save()
    for constraint in added:
        constraint.add_to(world.constraint_set, world.model)
        world.constraints.append(constraint)
    world.constraint_set.update_structure()
    assemble(world, added, f"{figure}/*")
    world.constraint_set.apply_connection_impulse()
    shaky = _second_order_rows(world, added[-1]) if added else ()
    for constraint in added:
        constraint.report = _report(world, constraint, "closed", counts, before.v, 0, shaky)
    world.mark_structure_changed()
