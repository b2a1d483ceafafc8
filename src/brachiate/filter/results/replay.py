"""Replay of the steps of a recording, to recover quantities that a recording does not keep.

A recording keeps states and contacts. It keeps neither the velocity at which the simulator evaluated Coriolis and centrifugal forces,
nor the torques of joint limits, nor the mean forces of connections over a step. The same step, repeated from the recorded state, gives
them; it must reproduce the recorded state.

Where a connection is made, velocities jump by an impulse between two steps. No other impulse may act between steps:
``Simulation(project=False)``. Otherwise states are projected onto the constraints when they are read, by an impulse outside of all steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import product
from typing import NamedTuple

import numpy as np

from brachiate.compiled import ArrayHandle
from brachiate.constraints.arrays import JOINT_LIMIT
from brachiate.contact.stepping.contact_state import ContactState
from brachiate.contact.stepping.step_control import StepControl
from brachiate.errors import ArgumentError, StateError
from brachiate.filter.results.replay_kernels import ReplayArrays, replay_control
from brachiate.simulate.constraint_forces import ConstraintForces
from brachiate.simulate.contact_integrator import ContactIntegrator
from brachiate.simulate.recording import Recording
from brachiate.validation import Array
from brachiate.world.applied_forces import AppliedForce
from brachiate.world.connections import Connection, Constraint
from brachiate.world.world import World
from brachiate.world.world_state import WorldState

MAX_TOGETHER = 500  # steps of one compiled run
SAME_LENGTH = 1e-9  # relative difference of the lengths of its steps: round-off of recorded times
STATE_TOLERANCE = 1e-9  # of a reproduced state; the same arithmetic reproduces it exactly


class ConnectionWrench(NamedTuple):
    """Mean force and moment of a connection on its link over a step."""

    link: str
    to: str
    point: Array  # (3,) [m] world axes
    force: Array  # (3,) [N]
    moment: Array  # (3,) [N·m] about the point


class ReplayedStep(NamedTuple):
    """Quantities of a step that a recording does not keep."""

    v_mid: Array  # (nv,) velocity predicted for its middle
    half_jump: Array  # (nv,) half the velocity jump next_state at an impact
    limit_torque: Array  # (nv,) [N·m or N] torques of joint limits
    v_start: Array  # (nv,) velocity at its start, after impulses of new connections
    pushes: tuple[AppliedForce, ...]  # external forces that acted
    connection_wrenches: tuple[ConnectionWrench, ...]


def replay_steps(recording: Recording) -> Iterator[ReplayedStep]:
    """Repeat every step of a recording in a copy of the world as it was at its start.

    Raises:
        ArgumentError: The recording does not have the world, or has what cannot be replayed.
        StateError: A repeated step does not reproduce the recorded state.
    """
    forces = recording.forces
    if not isinstance(forces, ConstraintForces):
        raise ArgumentError(
            "Equations of motion need the world of the run, which a recording loaded from a file does not have: "
            "evaluate them right after Simulation.run()."
        )
    if recording.partner is not None:
        raise ArgumentError(
            "Equations of motion are not available for runs that were coupled with something else, whose forces change within a step: "
            "recording.partner has its forces, and those of particles the momentum of the whole (recording.partner.totals)."
        )
    states = [segment.state for segment in forces.segments for _ in range(len(segment))]
    world, connections = _initial_world(recording, forces, states)
    contact_state = world.contact_settings.contact_state
    if contact_state is None:
        raise ArgumentError("Equations of motion are available for runs with contact only: call world.enable_contact() before the run.")
    lengths = [segment.dt for segment in forces.segments for _ in range(len(segment))]
    integrator = ContactIntegrator(world.data, world.constraint_set, contact_state, limits=forces.limits, project=False)
    k = 0
    while k + 1 < len(states):
        end = _end_of_equal_steps(recording, states, lengths, k)
        steps = None if connections else _repeat_together(recording, slice(k, end), world, integrator, states[k], lengths[k + 1])
        for n in range(k, end) if steps is None else ():
            world.data.q[:], world.data.v[:], world.time = recording.q[n], recording.v[n], float(recording.time[n])
            _update_connections(world, connections, states[n + 1])
            v_start = world.data.v.copy()
            applied = _repeat_step(recording, n, world, integrator, (states[n], states[n + 1]), lengths[n + 1])
            arrays = integrator.contact_state.arrays
            wrenches = tuple(_mean_wrench(connection) for connection in connections.values())
            yield ReplayedStep(
                arrays.v_mid.copy(), arrays.half_jump.copy(), _limit_torques(integrator.contact_state), v_start, applied, wrenches
            )
        yield from steps or ()
        k = end


def _end_of_equal_steps(recording: Recording, states: Sequence[WorldState], lengths: Sequence[float | None], k: int) -> int:
    """End of the steps from step k on that have its length and structure; the step itself if the structure changes before it."""
    end, h = k + 1, recording.time[k + 1] - recording.time[k]
    if states[k] is states[k + 1]:
        while end + 1 < len(states) and end - k < MAX_TOGETHER and states[end + 1] is states[k] and lengths[end + 1] == lengths[k + 1]:
            if abs(recording.time[end + 1] - recording.time[end] - h) > SAME_LENGTH * h:
                break
            end += 1
    return end


def _repeat_together(
    recording: Recording, rows: slice, world: World, integrator: ContactIntegrator, state: WorldState, length: float | None
) -> list[ReplayedStep] | None:
    """Repeat steps of equal length and structure in one compiled run; None if one of them does not reproduce the recorded state."""
    states, contact_state = slice(rows.start, rows.stop + 1), integrator.contact_state
    n, nv = rows.stop - rows.start, recording.v.shape[1]
    h = float(recording.time[rows.start + 1] - recording.time[rows.start]) if length is None else length
    v_mid, half_jump, limit_torque, error = np.zeros((n, nv)), np.zeros((n, nv)), np.zeros((n, nv)), np.full(n, np.inf)
    q, v, torque = (np.ascontiguousarray(x[states]).reshape(-1) for x in (recording.q, recording.v, recording.torque))
    replay = ReplayArrays(q, v, torque, v_mid.reshape(-1), half_jump.reshape(-1), limit_torque.reshape(-1), error)
    before = world.constraint_set.run_memory(), contact_state.save_memory()
    # The same lengths to the last bit: hard contact problems tell the difference
    times = np.array(recording.time[states], float) if length is None else np.zeros(0)
    law = StepControl(np.array([replay_control.address]), np.zeros(1, np.int64), times)
    control = ArrayHandle(law, replay, contact_state.arrays, contact_state.limits, world.constraint_set.arrays)
    world.contact_settings.set_pair_materials(state.pair_materials)
    world.set_applied_forces(state.applied_forces)
    world.data.q[:], world.data.v[:], world.data.tau[:] = recording.q[rows.start], recording.v[rows.start], recording.torque[rows.start + 1]
    arrays = contact_state.arrays
    with suppress(StateError):
        integrator.advance(h, n, n, float(recording.time[rows.start]), control, contacts=False)
    # Arrays that were enlarged in the run are others than those of the law
    if contact_state.arrays is not arrays or not (error < STATE_TOLERANCE).all():
        world.constraint_set.set_run_memory(before[0])
        contact_state.restore_memory(before[1])
        return None
    columns = zip(v_mid, half_jump, limit_torque, recording.v[rows], strict=True)
    return [ReplayedStep(*values, state.applied_forces, ()) for values in columns]


def _initial_world(
    recording: Recording, forces: ConstraintForces, states: Sequence[WorldState]
) -> tuple[World, dict[Connection, Connection]]:  # fmt: skip
    """Copy of the world at the start of the run, and its connections by those of the run."""
    if any(state.coordinates != recording.model.coordinates for state in states):
        raise ArgumentError("Equations of motion are not available for runs in which figures are added to the world.")
    if unsupported := [constraint for state in states for constraint in state.constraints if not _is_rigid(constraint)]:
        raise ArgumentError(
            "Equations of motion are available for rigid connections only, without spring, motor, friction or limits: "
            f"{unsupported[0]} is not one."
        )
    world = forces.world.copy(states[0])
    world.gravity = recording.gravity
    return world, dict(zip(states[0].constraints, world.connections.values(), strict=True))


def _repeat_step(
    recording: Recording, k: int, world: World, integrator: ContactIntegrator, states: tuple[WorldState, WorldState], length: float | None
) -> tuple[AppliedForce, ...]:
    """Repeat step k, of a length if it is known, from the state before it; returns the external forces that reproduce the recorded state.

    After the usual case, external forces that changed within the step and a cold start are tried.
    """
    h = float(recording.time[k + 1] - recording.time[k]) if length is None else length
    q, v, worst = world.data.q.copy(), world.data.v.copy(), ""
    memory, contact_memory = world.constraint_set.run_memory(), integrator.contact_state.save_memory()
    for n, (applied, cold_start) in enumerate(product(dict.fromkeys(state.applied_forces for state in states), (False, True))):
        if n > 0:
            world.data.q[:], world.data.v[:] = q, v
            world.constraint_set.set_run_memory(memory)
            integrator.contact_state.restore_memory(contact_memory)
        world.data.tau[:] = recording.torque[k + 1]
        world.set_applied_forces(applied)
        if cold_start:
            integrator.contact_state.reset_memory()
        integrator.advance(h, time=world.time)
        q_error, v_error = np.abs(world.q - recording.q[k + 1]), np.abs(world.v - recording.v[k + 1])
        if max(q_error.max(), v_error.max()) < STATE_TOLERANCE:
            return applied
        worst = worst or f"the velocity of {world.model.coordinates[int(v_error.argmax())]} differs by {v_error.max():.1e}"
    raise StateError(
        f"Replaying the step at {recording.time[k]:.4f} s does not reproduce the recorded state ({worst}). Events must happen between "
        "steps, every step must be recorded, and runs with connections or fast bodies need Simulation(project=False). Otherwise please "
        "report this with the recording."
    )


def _is_rigid(constraint: Constraint) -> bool:
    """Whether a constraint is a connection without spring, motor, friction and limits."""
    return (
        isinstance(constraint, Connection)
        and constraint.compliance is None
        and not (constraint.joint.has_passive_forces or constraint.joint.has_limits)
    )


def _update_connections(world: World, connections: dict[Connection, Connection], next_state: WorldState) -> None:
    """Make the connections, cuts and contact settings that precede a step, with the velocity jumps of their impulses."""
    world.contact_settings.set_pair_materials(next_state.pair_materials)
    for connection in [connection for connection in connections if connection not in next_state.constraints]:
        world.cut(connections.pop(connection))
    for connection in next_state.constraints:
        if connection not in connections:
            connections[connection] = world.connect(
                connection.link, connection.to, connection.joint, at=connection.frames[0].position, name=connection.name, redundant=True
            )


def _mean_wrench(connection: Connection) -> ConnectionWrench:
    """Mean wrench of a connection over the last step."""
    wrench = connection.read_wrench()
    return ConnectionWrench(connection.link, connection.to, wrench.at.copy(), wrench.force.copy(), wrench.moment.copy())


def _limit_torques(contact_state: ContactState) -> Array:
    """Torques of joint limits over the last step (nv,) [N·m or N]."""
    S, L, B = contact_state.arrays, contact_state.limits, contact_state.constraint_set.arrays
    torque = np.zeros(contact_state.data.model.nv)
    for a in np.flatnonzero(S.old_pair[: S.old_count[0]] < 0):
        n = -1 - S.old_pair[a]
        k, force = L.v_index[n], L.side[n] * S.old_w[S.old_row_start[a]] / S.last_dt[0]
        if L.kind[n] == JOINT_LIMIT:
            torque[k] += force
        else:  # gradient of a swing cone
            torque[k : k + 3] += force * B.T[B.row[len(B.kind) - len(S.limit_index) + a], :3]
    return torque
