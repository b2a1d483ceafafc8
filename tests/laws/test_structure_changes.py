"""Structure changes in random order: connect, cut, lock, prescribe, release, save, restore, copy, run; all checked after every event.

The test keeps its own record of the active constraints, from the arguments of each call and the poses at that time, so a handle to the
wrong row, a frame taken at the wrong time or a joint lost in a rebuild is an error of the size of the accelerations (tests/maximal).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from tests import maximal
from tests.constraint_checks import GRAVITY, expected_connection, largest, link_states, state_difference
from tests.maximal import RANK, Connection, System
from tests.random_mechanisms import LOOP_KINDS
from tests.random_models import KINDS, random_joint, random_model, random_state

import brachiate as br
from brachiate import Free, Model
from brachiate.errors import ArgumentError, OverconstrainedError
from brachiate.model.joints import BALL
from brachiate.world.connections import ConnectionReport

EVENTS = (*["connect"] * 4, "cut", "cut", "cut_joint", "lock", "prescribe", "release", "save", "save", "restore", "copy", "run")
HINGED = ("revolute", "universal", "cylindrical", "planar", "spherical", "compound")
CLEAR = 1e-2  # relative: postures with smaller singular values are too near a singular one for these tolerances


@dataclass
class ActiveConstraints:
    """Constraints that must be active."""

    connections: dict[str, tuple[Connection, Any]] = field(default_factory=dict)  # expected connection, and its handle
    locks: dict[str, tuple[tuple[str, ...], float, Any]] = field(default_factory=dict)  # velocities, their acceleration, handle

    def copied(self) -> ActiveConstraints:
        return ActiveConstraints(dict(self.connections), dict(self.locks))

    @property
    def prescribed(self) -> dict[str, float]:
        return {name: acceleration for names, acceleration, _ in self.locks.values() for name in names}


def random_world(rng: np.random.Generator, afloat: bool) -> br.World:
    """Two to four random models at random states; if afloat, all have free roots."""
    world = br.World(GRAVITY)
    for n in range(int(rng.integers(2, 5))):
        links, kinds = (3, HINGED) if n == 0 else (int(rng.integers(1, 4)), KINDS)
        model = random_model(rng, links, kinds=kinds, passive=bool(rng.integers(2)), massless=False)
        if afloat:
            model = Model(model.name, [replace(l, joint=Free()) if l.parent is None else l for l in model.links.values()])
        world.add(model, f"m{n}", at=rng.normal(size=3), rotation=rng.normal(size=4))
    q, v, _ = random_state(world.model, rng)
    world.q, world.v = q, v
    world.torque = rng.normal(size=world.model.nv)
    return world


class EventSequence:
    """A world, its expected constraints, and its saved states."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.afloat = seed % 3 > 0
        self.world = random_world(self.rng, self.afloat)
        self.active = ActiveConstraints()
        self.saved: list[tuple[Any, ActiveConstraints, Any]] = []
        self.originals: list[tuple[br.World, Any, Any]] = []  # copied worlds, and their states
        self.removed: list[Any] = []

    # --- expected values by maximal coordinates -------------------------------------------------

    @property
    def state(self) -> tuple[Model, Any, Any]:
        return self.world.model, self.world.q, self.world.v

    def expected_connections(self) -> list[Connection]:
        """Connections with present joint coordinates as initial guess, since angles are unique up to full turns."""
        return [c._replace(start=np.atleast_1d(constraint.value)) for c, constraint in self.active.connections.values()]

    def mobility(self, connections: list[Connection], prescribed: Any, rank: float = RANK) -> int:
        return maximal.mobility(self.world.model, self.world.q, connections, prescribed, rank)

    def accelerations(self) -> Any:
        return maximal.accelerations(*self.state, self.world.torque, GRAVITY, self.expected_connections(), self.active.prescribed)

    def check(self) -> None:
        """Check constraints, velocities, accelerations and wrenches; called after every event."""
        w, active = self.world, self.active
        assert np.isfinite(w.q).all()
        assert np.isfinite(w.v).all()
        assert list(w.connections) == list(active.connections)
        assert set(w.locks) == set(active.locks)
        for name, (_, constraint) in active.connections.items():
            assert constraint.alive
            assert w.connections[name] is constraint
        for constraint in self.removed:
            assert constraint.alive == (constraint in w.connections.values() or constraint in w.locks.values())
        connections = self.expected_connections()
        speed = 1 + largest(w.v)
        for name in active.prescribed:
            assert abs(w.v[w.model.coordinate_index[name]]) < 1e-11 * speed
        for joint, (_, constraint) in zip(System(*self.state, connections).connections, active.connections.values(), strict=True):
            assert largest(joint.gap) < 1e-11
            assert largest(joint.drift) < 1e-11 * speed
            assert largest(np.abs(np.atleast_1d(constraint.value)) - np.abs(joint.q)) < 1e-10  # quaternions up to their sign
            assert largest(np.atleast_1d(constraint.rate) - joint.rates) < 1e-10 * speed
        before = w.save()
        a, forces = self.accelerations()
        found = w.forward_dynamics()
        assert largest(found - a) < 1e-9 * (1 + largest(a))
        determined = maximal.determined(w.model, w.q, connections, active.prescribed)
        poses = maximal.bodies(*self.state)[0] | {"world": (np.eye(3), np.zeros(3))}
        for name, c, known, six in zip(active.connections, connections, determined, forces, strict=True):
            wrench = found.connection_wrenches[name]
            R, p = poses[c.second]
            assert largest(wrench.at - p - R @ c.second_position) < 1e-11 * (1 + largest(wrench.at))
            if known:
                assert largest(np.concatenate([wrench.force, wrench.moment]) - six) < 1e-8 * (1 + largest(forces))
        assert (w.q == before.q).all()  # queries change nothing
        assert (w.v == before.v).all()

    # --- laws of events -------------------------------------------------------------------------

    def check_impulse(self, report: ConnectionReport, before_states: Any, mobility: tuple[int, int]) -> None:
        """Connection impulse: positions unchanged, momentum conserved, energy lost by the change of velocities."""
        assert report.mobility == mobility
        now = link_states(self.world)
        assert largest(np.array([now[n][1] - before_states[n][1] for n in now])) == 0.0
        # The difference is impulses times the residual of J v: ε times the condition number of J A⁻¹ Jᵀ (1e4 by CLEAR), times 100.
        kinetic = maximal.energy(*self.state, GRAVITY)[0]
        assert abs(report.energy_lost - report.energy_of_change) < 1e-10 * (kinetic + report.energy_of_change)
        assert report.energy_of_change >= 0.0

    def check_momentum(self, report: ConnectionReport, before: Any) -> None:
        after = maximal.momentum(*self.state)
        size = sum(link.mass * (1 + largest(x[1])) * (1 + largest(x[2])) for link, x in self.links_with_states(before[2]))
        for one, other in zip(before[:2], after, strict=True):
            assert largest(one - other) < 1e-12 * size
        assert largest(report.momentum_change) < 1e-12 * size
        assert largest(report.angular_momentum_change) < 1e-12 * size

    def links_with_states(self, moving: Any) -> list[Any]:
        return [(self.world.model.links[name], x) for name, x in moving.items()]

    def check_rejected(self, action: Any) -> None:
        """A redundant connection raises an error, and the world is unchanged."""
        w = self.world
        before, connections, locks = w.save(), list(w.connections.items()), list(w.locks.items())
        with pytest.raises(OverconstrainedError, match="redundant"):
            action()
        assert (w.q == before.q).all()
        assert (w.v == before.v).all()
        assert w.save().version == before.version
        assert list(w.connections.items()) == connections
        assert list(w.locks.items()) == locks

    # --- events ---------------------------------------------------------------------------------

    def connect(self) -> bool:
        w, rng = self.world, self.rng
        links = list(w.model.links) if self.afloat else ["world", *w.model.links]
        link, to = map(str, rng.choice(links, 2, replace=False))
        if w.placement(link).body == w.placement(to).body:
            return False
        joint = random_joint(rng, str(rng.choice(LOOP_KINDS)), f"c{rng.integers(10**6)}", passive=bool(rng.integers(2)))
        at = rng.normal(0.0, 0.3, 3)
        new = expected_connection(w, link, to, joint, at)
        old, prescribed = self.expected_connections(), list(self.active.prescribed)
        before = self.mobility(old, prescribed)
        after = {self.mobility([*old, new], prescribed, rank) for rank in (RANK, CLEAR)}
        if len(after) > 1 or min(after) == 0:
            return False  # too near a singular posture, or immobile
        if any(self.active.prescribed.values()) and before - min(after) < 6 - joint.nv:
            return False  # a prescribed coordinate might be constrained by the connection
        if after == {before}:
            self.check_rejected(lambda: w.connect(link, to, joint, at=at))
            return True
        before_states, momentum = link_states(w), maximal.momentum(*self.state)
        constraint = w.connect(link, to, joint, at=at)
        self.active.connections[constraint.name] = new, constraint
        self.check_impulse(constraint.report, before_states, (before, *after))
        if self.afloat:
            self.check_momentum(constraint.report, (*momentum, before_states))
        return True

    def cut(self) -> bool:
        if not self.active.connections:
            return False
        name = str(self.rng.choice(list(self.active.connections)))
        _, constraint = self.active.connections.pop(name)
        before_states = link_states(self.world)
        report = self.world.cut(name if self.rng.random() < 0.5 else constraint)
        assert state_difference(before_states, link_states(self.world)) == 0.0
        assert not constraint.alive
        with pytest.raises(ArgumentError, match="cut already"):
            self.world.cut(constraint)
        with pytest.raises(ArgumentError, match="is no longer active"):
            _ = constraint.force
        assert report.energy_lost == 0.0
        assert report.mobility[1] == self.mobility(self.expected_connections(), self.active.prescribed)
        self.removed.append(constraint)
        return True

    def cut_joint(self) -> bool:
        w = self.world
        inner = [link for link in w.model.links.values() if link.parent is not None]
        if not inner:
            return False
        link = inner[int(self.rng.integers(len(inner)))]
        cut_names = set(link.joint.coordinate_names(link.joint_name)) | {link.joint_name}
        for name in [name for name in self.active.locks if name in cut_names]:
            self.removed.append(self.active.locks.pop(name)[2])
        before_states = link_states(w)
        report = w.cut(link.joint_name)
        now = link_states(w)
        assert state_difference(before_states, now) < 1e-13 * (1 + max(largest(x) for parts in before_states.values() for x in parts))
        assert report.mobility[1] == self.mobility(self.expected_connections(), self.active.prescribed)
        assert w.model.links[link.name].parent is None
        assert w.figures[link.name.split("/")[0]].model.links[link.name.split("/")[1]].parent is None
        return True

    def lock(self, prescribed_motion: bool = False) -> bool:
        w, rng = self.world, self.rng
        model = w.model
        balls = [name for name, place in model.joints.items() if [e.kind for e in model.links[place.link].joint.elements] == [BALL]]
        free = [name for name in [*model.scalar_coordinates, *([] if prescribed_motion else balls)] if name not in self.active.locks]
        if not free:
            return False
        name = str(rng.choice(free))
        names = tuple(model.coordinates[model.joints[name].v]) if name in balls else (name,)
        prescribed, old = self.active.prescribed, self.expected_connections()
        before = self.mobility(old, prescribed)
        after = {self.mobility(old, [*prescribed, *names], rank) for rank in (RANK, CLEAR)}
        if len(after) > 1 or min(after) == 0:
            return False
        acceleration = float(rng.normal()) if prescribed_motion else 0.0

        def action() -> Any:
            return w.prescribe(name, [w.angle(name), 0.0, acceleration / 2]) if prescribed_motion else w.lock(name)[0]

        if after == {before}:
            self.check_rejected(action)
            return True
        before_states, momentum = link_states(w), maximal.momentum(*self.state)
        constraint = action()
        self.active.locks[name] = names, acceleration, constraint
        self.check_impulse(constraint.report, before_states, (before, *after))
        if self.afloat:
            self.check_momentum(constraint.report, (*momentum, before_states))
        return True

    def prescribe(self) -> bool:
        return self.lock(prescribed_motion=True)

    def release(self) -> bool:
        if not self.active.locks:
            self.lock()
            return False  # retried later
        name = str(self.rng.choice(list(self.active.locks)))
        before_states = link_states(self.world)
        self.removed.append(self.active.locks.pop(name)[2])
        self.world.release(name)
        assert state_difference(before_states, link_states(self.world)) == 0.0
        return True

    def save(self) -> bool:
        self.saved.append((self.world.save(), self.active.copied(), np.array(self.world.forward_dynamics())))
        return True

    def restore(self) -> bool:
        if not self.saved:
            self.save()
            return False
        state, active, a = self.saved[int(self.rng.integers(len(self.saved)))]
        for bonds in (self.active.connections.values(), self.active.locks.values()):
            self.removed += [parts[-1] for parts in bonds]
        self.world.restore(state)
        self.active = active.copied()
        assert (self.world.q == state.q).all()
        assert (self.world.v == state.v).all()
        assert (self.world.torque == state.torque).all()
        assert self.world.time == state.time
        assert largest(self.world.forward_dynamics() - a) < 1e-10 * (1 + largest(a))
        return True

    def copy(self) -> bool:
        old = self.world
        self.world = old.copy()
        assert largest(self.world.forward_dynamics() - old.forward_dynamics()) <= 1e-10 * (1 + largest(old.forward_dynamics()))
        self.originals.append((old, old.save(), np.array(old.forward_dynamics())))
        new = self.world
        self.active = ActiveConstraints(
            {name: (c, new.connections[name]) for name, (c, _) in self.active.connections.items()},
            {name: (names, a, new.locks[name]) for name, (names, a, _) in self.active.locks.items()},
        )
        self.saved, self.removed = [], []  # states and handles belong to the old world
        return True

    def run(self) -> bool:
        for name in [name for name, (_, acceleration, _) in self.active.locks.items() if acceleration]:
            self.world.release(name)  # prescribed coordinates would have a velocity after the run
            self.removed.append(self.active.locks.pop(name)[2])
        start = self.world.time
        br.Simulation(self.world, dt=5e-4).run(2e-3, progress=False)
        assert self.world.time == pytest.approx(start + 2e-3)
        return True

    def finish(self) -> None:
        for world, state, a in self.originals:  # changes of a copy do not affect the original
            assert (world.q == state.q).all()
            assert (world.v == state.v).all()
            assert tuple(world.constraints) == state.constraints
            assert largest(world.forward_dynamics() - a) < 1e-12 * (1 + largest(a))


def run_events(seed: int) -> EventSequence:
    """Run all events in random order; an event that is not possible yet is postponed."""
    sequence = EventSequence(seed)
    done: list[str] = []
    event = "start"
    try:
        sequence.check()
        pending = list(sequence.rng.permutation(EVENTS))
        for _ in range(40 * len(EVENTS)):
            if not pending:
                break
            event = str(pending.pop(0))
            if getattr(sequence, event)():
                done.append(event)
                sequence.check()
            else:
                pending.append(event)
        sequence.finish()
    except Exception as error:
        error.add_note(f"seed {seed}: {', '.join(done)}, then {event}")
        raise
    assert not pending, f"never possible: {pending}"
    return sequence


@pytest.mark.parametrize("seed", [seed for seed in range(24) if seed not in (4, 19)])  # no scalar coordinates to prescribe
def test_dynamics_are_correct_after_every_structure_change(seed):
    run_events(seed)
