"""Simulation: run a world through time, with motors, pushes and events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from brachiate import kinematics, validation
from brachiate.errors import ArgumentError, StateError
from brachiate.kinematics import Pose
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.progress import Bar
from brachiate.simulate.constraint_forces import Forces, Stretch
from brachiate.simulate.contact_integrator import TouchingIntegrator
from brachiate.simulate.integrators import METHODS, Integrator
from brachiate.simulate.recording import Recording
from brachiate.validation import Array
from brachiate.world.contact_history import ContactHistory, Touched
from brachiate.world.state import State
from brachiate.world.world import World

_CHUNK = 500  # steps between two looks at the clock
_NO_TIME = 1e-12  # of a step
_LOCATE = 60  # halvings at most when an event is located in time


@dataclass(eq=False)
class Event:
    """Something to do at a time, or when a function of the world crosses zero."""

    action: Callable[[], Any]
    at: float = np.inf  # [s]
    function: Callable[[World], float] | None = None
    rising: bool = True
    falling: bool = True
    times: list[float] = field(default_factory=list)  #: when it happened [s]
    once: bool = True

    @property
    def happened(self) -> bool:
        """Whether it has happened yet."""
        return bool(self.times)


class Simulation:
    """Runs a world.

    Args:
        world: What to run; its state is the simulation's.
        dt: Length of a step [s]; torques and pushes are constant within one.
        integrator: ``euler`` (semi-implicit, damping implicit), ``rk4``, ``rk8``, ``dormand-prince`` or ``bulirsch-stoer``; where
            things touch (:meth:`World.touch`) always ``contact``. By default ``contact`` there, else ``rk4``.
        tolerance: Local error that the last two allow.
        every: Record the state after every so many steps.
        limits: Whether joints stop at their limits (without rebound), or go on as if there were none.
        settle: Whether states that are recorded are brought onto what is connected, by an impulse between steps. If not, steps are all
            there is: every change of velocity is one of their forces, and what is connected is open by the square of a step.
            Only where things touch.
    """

    def __init__(
        self,
        world: World,
        dt: float = 0.002,
        integrator: str | None = None,
        tolerance: float = 1e-9,
        every: int = 1,
        *,
        limits: bool = True,
        settle: bool = True,
    ) -> None:
        if not isinstance(world, World):
            raise ArgumentError(f"Simulation expects a world, got {world!r}.")
        self.world = world
        self.dt = validation.number(dt, "dt", above=0.0, most=1e3)
        self.every = validation.whole(every, "every", least=1)
        wanted = None if integrator is None else validation.one_of(integrator, (*METHODS, TouchingIntegrator.name), "integrator")
        self._wanted, self._tolerance = wanted, tolerance
        self._limits, self._settle = bool(limits), bool(settle)
        self._integrator = self._new_integrator()
        self._held: State | None = None  # what held when last looked at
        self._events: list[Event] = []
        self._edges = (-np.inf, np.inf)  # [s] beginning and end of the step that is being made
        self._controllers: list[Callable[[World], Any]] = []

    def at(self, time: float, action: Callable[[], Any]) -> Event:
        """Do something at a time [s]; the step before is shortened to meet it."""
        time = validation.number(time, "time of an event", most=1e12)
        if time < self.world.time:
            raise ArgumentError(f"time of an event: {time:g} s is past; the world is at {self.world.time:g} s.")
        return self._add(Event(action, at=time))

    def when(
        self, function: Callable[[World], float], action: Callable[[], Any], *, rising: bool = True, falling: bool = True, once: bool = True
    ) -> Event:
        """Do something when a function of the world crosses zero; the moment is located within the step.

        What crosses zero and back within one step is not seen.
        """
        if not callable(function):
            raise ArgumentError(f"The condition of an event must be a function of the world, got {function!r}.")
        return self._add(Event(action, function=function, rising=rising, falling=falling, once=once))

    def _add(self, event: Event) -> Event:
        if not callable(event.action):
            raise ArgumentError(f"The action of an event must be a function without arguments, got {event.action!r}.")
        self._events.append(event)
        return event

    def control(self, controller: Callable[[World], Any]) -> None:
        """Call a function before every step; it sets ``world.torque``, which motors then bring up to their limits."""
        if not callable(controller):
            raise ArgumentError(f"A controller must be a function of the world, got {controller!r}.")
        self._controllers.append(controller)

    def step(self) -> None:
        """Advance by dt, through every event on the way."""
        self._through(self.world.time + self.dt)

    @property
    def touched(self) -> Touched | None:
        """What touched in the last step, as logged: see :meth:`Contacts.of`; None before the first one."""
        return self._touched(1)[0]

    def run(self, seconds: float, progress: bool = True, *, until: Callable[[World], Any] | None = None) -> Recording:
        """Advance by some seconds and return what happened. On failure the world is as it was some steps before.

        ``until``: asked whenever the state has been recorded; if it says so, the run ends there.
        """
        seconds = validation.number(seconds, "seconds", least=0.0, most=1e9)
        if until is not None and not callable(until):
            raise ArgumentError(f"until: expected a function of the world, got {until!r}.")
        steps = int(np.ceil(seconds / self.dt - 1e-9))
        start, rows = self.world.time, [self._row()]
        with Bar("simulating", progress) as bar:
            self._run(start, seconds, steps, rows, bar, until)
        return self._recording(rows)

    def _run(self, start: float, seconds: float, steps: int, rows: list[Any], bar: Bar, until: Callable[[World], Any] | None) -> None:
        done = 0
        while done < steps:
            if self._watched(start + seconds) or until is not None:
                for _ in range(min(self.every - done % self.every, steps - done)):
                    done += 1
                    self._through(start + min(done * self.dt, seconds))
                rows.append(self._row())
                if until is not None and until(self.world):
                    return
            else:
                whole = int((seconds + 1e-9 * self.dt) // self.dt)  # a last step may be shorter
                count = min(_CHUNK * self.every, whole - done)
                if count <= 0:
                    self._through(start + seconds)
                    done = steps
                    rows.append(self._row())
                else:
                    rows += self._stretch(start, done, count)
                    done += count
            bar.show((self.world.time - start) / seconds)

    def _recording(self, rows: list[Any]) -> Recording:
        """Rows as arrays. Where a figure came in on the way, it is recorded as waiting where it came in."""
        model = self.world.model
        same = all(row[4] is model for row in rows)
        columns = _columns(rows if same else _widened(rows, model))
        stretches, start = [], 0
        for _, group in groupby(rows, key=lambda row: id(row[5])):
            part = list(group)
            end = start + len(part)
            arrays = [column[start:end] for column in columns] if same else _columns(part)
            stretches.append(Stretch(part[0][5], *arrays))
            start = end
        history = ContactHistory([row[6] for row in rows]) if any(row[6] for row in rows) else None
        return Recording(model, self.world.gravity, *columns, forces=Forces(self.world, stretches, self._limits), contacts=history)

    def _stretch(self, start: float, done: int, count: int) -> list[Any]:
        """Advance many steps in one go of compiled code."""
        self._saturate()
        held = self._holding()
        Q, V = self._ready().advance(self.dt, count, self.every, start + self.dt * done)
        times = start + self.dt * (done + self.every * np.arange(1, len(Q) + 1))
        self.world.time = start + self.dt * (done + count)
        torque = self.world.torque.copy()
        model = self.world.model
        touched = self._touched(len(Q))
        rows = [(t, q, v, torque, model, held, lines) for t, q, v, lines in zip(times, Q, V, touched, strict=True)]
        return rows if count % self.every == 0 else [*rows, self._row()]

    def _saturate(self) -> None:
        """Motors bring no more than their limit, whoever asks."""
        limit, torque = self.world.model.effort, self.world.torque
        np.minimum(torque, limit, out=torque)
        np.maximum(torque, -limit, out=torque)

    def _watched(self, until: float) -> bool:
        """Whether Python must look in between steps."""
        pending = [e for e in self._events if not (e.once and e.happened)]
        return not self._settle or bool(self._controllers) or any(e.function is not None or e.at <= until for e in pending)

    def _row(self) -> tuple[float, Array, Array, Array, Model, State, Touched | None]:
        w = self.world
        return w.time, w.q.copy(), w.v.copy(), w.torque.copy(), w.model, self._holding(), self._touched(1)[0]

    def _touched(self, rows: int) -> Sequence[Touched | None]:
        """What touched at the states last made; nothing is known before the first step."""
        found = self._integrator.lines if isinstance(self._integrator, TouchingIntegrator) else []
        pairs = self.world.surfaces.pairs
        return [None] * (rows - len(found)) + [(lines, pairs) for lines in found[-rows:]] if rows else []

    def _holding(self) -> State:
        """A snapshot of what holds now: the last one while nothing but the motion changes."""
        if self._held is None or not self.world.unchanged(self._held):
            self._held = self.world.save()
        return self._held

    def _ready(self) -> Integrator | TouchingIntegrator:
        """The integrator of the world's present data: adding a figure has given it another."""
        if not self._integrator.fits(self.world.data, self.world.held, self.world.surfaces.touches):
            self._integrator = self._new_integrator()
        return self._integrator

    def _new_integrator(self) -> Integrator | TouchingIntegrator:
        world, touches = self.world, self.world.surfaces.touches
        if touches is not None:
            if self._wanted not in (None, TouchingIntegrator.name):
                raise ArgumentError(f"Where things touch, the integrator is 'contact', not {self._wanted!r}: see World.touch.")
            return TouchingIntegrator(world.data, world.held, touches, limits=self._limits, settle=self._settle)
        if self._wanted == TouchingIntegrator.name:
            raise ArgumentError("The integrator 'contact' is for worlds in which things touch: call world.touch() first.")
        if not self._settle:
            raise ArgumentError("settle=False is for worlds in which things touch: call world.touch() first.")
        return Integrator(world.data, self._wanted or "rk4", self._tolerance, held=world.held, limits=self._limits)

    def _through(self, end: float) -> None:
        """Advance to a time, stopping at every event on the way."""
        world = self.world
        self._edges = (world.time, end)
        for controller in self._controllers:
            controller(world)
        if not self._events:
            self._go(end)
            return
        while True:
            self._fire_due()
            stop = min([end, *(e.at for e in self._events if e.function is None and not e.happened and e.at > world.time)])
            if stop > world.time:
                self._advance_watching(stop)
            if world.time >= end:
                self._fire_due()
                return

    def _fire_due(self) -> None:
        for event in [e for e in self._events if e.function is None and not e.happened and e.at <= self.world.time]:
            self._fire(event)

    def _fire(self, event: Event) -> None:
        event.times.append(self.world.time)
        event.action()
        self._ready().restart()

    def _advance_watching(self, stop: float) -> None:
        """Advance to ``stop``, or to the first zero crossing before it, and act there."""
        world = self.world
        watched = [e for e in self._events if e.function is not None and not (e.once and e.happened)]
        if not watched:
            self._go(stop)
            return
        start, before = world.save(), [_value(e, world) for e in watched]
        self._go(stop)
        crossed = [(e, b, a) for e, b in zip(watched, before, strict=True) if _crosses(e, b, a := _value(e, world))]
        if not crossed:
            return
        moments = [self._locate(e, b, a, start, stop) for e, b, a in crossed]
        first = min(moments)
        world.restore(start)
        self._go(first)
        # Two that cross in the same moment are located apart by round-off: what has crossed by now happens now.
        happening = [e for (e, b, _), moment in zip(crossed, moments, strict=True) if moment <= first or _crosses(e, b, _value(e, world))]
        for event in happening:
            self._fire(event)

    def _is_none(self, span: float) -> bool:
        """Whether a time is what round-off leaves of a step."""
        return span <= max(_NO_TIME * self.dt, 4.0 * float(np.spacing(self.world.time)))

    def _on_edge(self, time: float) -> float:
        """The beginning or the end of the step, if a time is that but for round-off: events there do not make steps shorter."""
        return next((edge for edge in self._edges if self._is_none(abs(edge - time))), time)

    def _go(self, stop: float) -> None:
        span = self._on_edge(stop) - self._on_edge(self.world.time)
        if not self._is_none(span):
            self._saturate()
            self._ready().advance(span, time=self.world.time)
        self.world.time = stop

    def _locate(self, event: Event, before: float, after: float, start: Any, stop: float) -> float:
        """Time of a crossing, just after it, by halving and the secant (Illinois); each try is one step from the start."""
        low, high, f_low, f_high = start.time, stop, before, after
        for n in range(_LOCATE):
            if high - low <= 1e-13 * max(1.0, abs(stop)) or f_high == 0:
                break
            middle = (low * f_high - high * f_low) / (f_high - f_low) if n % 3 else 0.5 * (low + high)
            if not low < middle < high:
                middle = 0.5 * (low + high)
            self.world.restore(start)
            self._go(middle)
            f = _value(event, self.world)
            if f * before > 0:
                low, f_low = middle, f
            else:
                high, f_high = middle, f
        return high


def _columns(rows: list[Any]) -> list[Array]:
    """Times, configurations, velocities and torques of rows."""
    return [np.array(column) for column in list(zip(*rows, strict=True))[:4]]


def _widened(rows: list[Any], model: Model) -> list[Any]:
    """Rows of worlds of another structure, as rows of the last one.

    A joint of a figure that was not there yet is where it was at first; the free joint of what was cut off later is where
    its link was.
    """
    q_first, wide, data = model.neutral.copy(), [], None
    for time, q, v, torque, was, held, lines in reversed(rows):
        Q, V, tau = q_first.copy(), np.zeros(model.nv), np.zeros(model.nv)
        if was is not model:
            data = Data(was) if data is None or data.model is not was else data
            data.q[:], data.v[:] = q, v
        for name, new in model.joints.items():
            if name in was.joints:
                old = was.joints[name]
                Q[new.q], V[new.v], tau[new.v] = q[old.q], v[old.v], torque[old.v]
            elif data is not None and new.link in was.links:
                Q[new.q], V[new.v] = _free_state(data, model, new.link)
        q_first = Q
        wide.append((time, Q, V, tau, model, held, lines))
    return wide[::-1]


def _free_state(data: Data, model: Model, link: str) -> tuple[list[float], list[float]]:
    """Coordinates and velocities of the free joint by which a link will move, from where it is in another structure."""
    frame, base = data.model.placements[link], model.links[link]
    velocity, _ = kinematics.frame_motion(data, frame)
    pose = kinematics.pose(data, frame)
    R = base.rotation.T @ pose.rotation
    position = base.rotation.T @ (pose.position - base.position)
    return [*position, *Pose(R, position).quaternion], [*(pose.rotation.T @ velocity[:3]), *(pose.rotation.T @ velocity[3:])]


def _crosses(event: Event, before: float, after: float) -> bool:
    """Whether a condition goes through zero, or to it, in a direction that counts."""
    return (after * before < 0 or (after == 0 and before != 0)) and (event.rising if before < 0 else event.falling)


def _value(event: Event, world: World) -> float:
    value = validation.reals(event.function(world), "condition of an event", "a number")  # type: ignore[misc]
    if value.shape != ():
        raise ArgumentError(f"The condition of an event must be one number, got an array of shape {value.shape}.")
    if not np.isfinite(value):
        raise StateError(f"The condition of an event is {value} at t = {world.time:g} s: it must be a finite number.")
    return float(value)
