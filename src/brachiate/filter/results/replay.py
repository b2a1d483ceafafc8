"""Steps of a recording made once more, to learn what a recording does not tell.

A run keeps states and what touched. It does not keep at which velocity the simulator took Coriolis and centrifugal forces, what stops
of joints brought, nor what connections did on the average of a step. The same step, made once more from the recorded state, tells;
and it must lead to the recorded state again.

Where something is connected, taking hold is an impulse between steps, by which velocities jump. Steps must be all there is:
``Simulation(settle=False)``. Others bring states onto what holds whenever somebody looks, by an impulse that is no part of a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from brachiate.constraints.arrays import LIMIT
from brachiate.contact.stepping.contact_state import Touches
from brachiate.errors import ArgumentError, StateError
from brachiate.simulate.constraint_forces import Forces
from brachiate.simulate.contact_integrator import TouchingIntegrator
from brachiate.simulate.recording import Recording
from brachiate.validation import Array
from brachiate.world.connections import Bond, Connection
from brachiate.world.pushes import Push
from brachiate.world.state import State
from brachiate.world.world import World

SAME = 1e-9  # of a state made once more; where it is the same arithmetic there is no difference at all


class Pull(NamedTuple):
    """What a connection does to its link, on the average of a step."""

    link: str
    to: str
    point: Array  # (3,) [m] world axes
    force: Array  # (3,) [N]
    moment: Array  # (3,) [N·m] about the point


class Again(NamedTuple):
    """What a recording does not tell of a step."""

    middle: Array  # (nv,) velocities expected in its middle
    jump: Array  # (nv,) half of that by which they jump there
    stop: Array  # (nv,) torques of limits of joints
    start: Array  # (nv,) velocities at its start, after what took hold then
    pushes: tuple[Push, ...]  # that acted
    pulls: tuple[Pull, ...]  # of connections


def made_again(run: Recording) -> Iterator[Again]:
    """Make every step once more, in a copy of the world as it was at first."""
    forces = run.forces
    if not isinstance(forces, Forces):
        raise ArgumentError("Equations are those of a run that has just been made: a file does not tell what the world was like.")
    held = [stretch.held for stretch in forces._stretches for _ in range(len(stretch))]
    if any(state.coordinates != run.model.coordinates for state in held):
        raise ArgumentError("Equations are those of worlds to which nothing is added on the way.")
    if strange := [bond for state in held for bond in state.bonds if not _plain(bond)]:
        raise ArgumentError(
            f"Equations know connections in which nothing acts: no springs, motors, friction or limits, as {strange[0]} has."
        )
    world = forces._world.copy(held[0])
    world.gravity = run.gravity
    touches = world.surfaces.touches
    if touches is None:
        raise ArgumentError("Equations are those of steps with contact: call world.touch() before the run.")
    integrator = TouchingIntegrator(world.data, world.held, touches, limits=forces._limits, settle=False)
    bonds = dict(zip(held[0].bonds, world.connections.values(), strict=True))
    for k, (here, there) in enumerate(pairwise(held)):
        world.data.q[:], world.data.v[:], world.time = run.q[k], run.v[k], float(run.time[k])
        _restructure(world, bonds, there)
        before, h = world.save(), float(run.time[k + 1] - run.time[k])
        # What was pushed from within the step on, or where room for contacts was made, is tried after the plain case
        for pushes, forget in product(dict.fromkeys((here.pushes, there.pushes)), (False, True)):
            own = replace(before, torque=run.torque[k + 1], pushes=pushes)
            world.restore(own)
            if forget:
                integrator.touches.forget()
            integrator.advance(h, time=own.time)
            if max(np.abs(world.q - run.q[k + 1]).max(), np.abs(world.v - run.v[k + 1]).max()) < SAME:
                break
        else:
            raise StateError(
                f"The step at {run.time[k]:.4f} s leads elsewhere when it is made once more. Was something changed within it? "
                "Let events happen between steps, and record every one of them; where something is connected, use Simulation(settle=False)."
            )
        S = integrator.touches.touch
        pulls = tuple(_pull(bond) for bond in bonds.values())
        yield Again(S.middle.copy(), S.half.copy(), _stopped(integrator.touches), before.v, pushes, pulls)


def _plain(bond: Bond) -> bool:
    """Whether it is a connection that only holds."""
    return isinstance(bond, Connection) and bond.soft is None and not (bond.joint.acts or bond.joint.limited)


def _restructure(world: World, bonds: dict[Connection, Connection], there: State) -> None:
    """Cut and connect what was cut and connected before a step, and let meet what did; velocities jump as they did."""
    world.surfaces.say(there.between)
    for bond in [bond for bond in bonds if bond not in there.bonds]:
        world.cut(bonds.pop(bond))
    for bond in there.bonds:
        if bond not in bonds:
            bonds[bond] = world.connect(bond.link, bond.to, bond.joint, at=bond._frames[0].position, name=bond.name, redundant=True)


def _pull(bond: Connection) -> Pull:
    """What a connection did in the step just made."""
    wrench = bond.read_wrench()
    return Pull(bond.link, bond.to, wrench.at.copy(), wrench.force.copy(), wrench.moment.copy())


def _stopped(touches: Touches) -> Array:
    """Torques of limits in the step just made (nv,)."""
    S, L, B = touches.touch, touches.limits, touches.held.room
    torque = np.zeros(touches.data.model.nv)
    for a in np.flatnonzero(S.old_pair[: S.old_count[0]] < 0):
        n = -1 - S.old_pair[a]
        k, push = L.coordinate[n], L.side[n] * S.old_w[S.old_at[a]] / S.step[0]
        if L.kind[n] == LIMIT:
            torque[k] += push
        else:  # a cone's slope
            torque[k : k + 3] += push * B.T[B.row[len(B.kind) - len(S.stop) + a], :3]
    return torque
