"""Simulation: advances a world in time, with controllers, applied forces and events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any

import numpy as np

from brachiate import validation
from brachiate.deprecation import renamed_arguments, renamed_attribute
from brachiate.errors import ArgumentError, StateError
from brachiate.functions.expressions import Expression, Vector
from brachiate.functions.tracing import Untraced
from brachiate.progress import ProgressBar
from brachiate.simulate.contact_integrator import ContactIntegrator
from brachiate.simulate.events import Event, crosses
from brachiate.simulate.initial_overlap import check_overlap
from brachiate.simulate.integrators import METHODS, Integrator
from brachiate.simulate.partner import Partner
from brachiate.simulate.recorded_states import RecordedState, RecordedStates
from brachiate.simulate.recording import Recording
from brachiate.simulate.stable_step import check_stable_step
from brachiate.world.contact_records import RecordedContacts
from brachiate.world.world import World
from brachiate.world.world_state import WorldState

_STABILITY_CALLS = 50  # calls of compiled code between checks of the stable step, which changes with the posture
_CHUNK_STEPS = 500  # recorded steps per call of compiled code, between updates of the progress bar
_ADVANCED_BY: dict[int, int] = {}  # thread that advances a world, by the world's identity: operations of a dict are atomic
_NEGLIGIBLE = 1e-12  # fraction of a step that is round-off
_MAX_ROOT_ITERATIONS = 60  # to locate an event in time


class Simulation:
    """Simulation of a world, whose state it advances.

    Args:
        world: World to simulate.
        dt: Step length [s]; torques and applied forces are constant within a step.
        integrator: ``euler`` (semi-implicit, damping implicit), ``rk4``, ``rk8``, ``dormand-prince`` or ``bulirsch-stoer``; with contact
            (:meth:`World.enable_contact`) always ``contact``. By default ``contact`` or ``rk4``.
        tolerance: Local error of the two adaptive methods.
        every: Number of steps between recorded states.
        limits: Whether joints stop at their limits (without rebound).
        project: With contact: whether recorded states are projected onto the constraints, by an impulse between steps. If not, every
            change of velocity is due to forces of a step, and constraint residuals are of second order in the step.
    """

    @renamed_arguments(settle="project")
    def __init__(
        self,
        world: World,
        dt: float = 0.002,
        integrator: str | None = None,
        tolerance: float = 1e-9,
        every: int = 1,
        *,
        limits: bool = True,
        project: bool = True,
    ) -> None:
        if not isinstance(world, World):
            raise ArgumentError(f"Simulation expects a World, got {world!r}.")
        self.world = world
        self.dt = validation.number(dt, "dt", above=0.0, maximum=1e3)
        self.every = validation.integer(every, "every", minimum=1)
        method = None if integrator is None else validation.one_of(integrator, (*METHODS, ContactIntegrator.name), "integrator")
        self._method, self._tolerance = method, tolerance
        self._limits, self._project = bool(limits), bool(project)
        self._integrator = self._new_integrator()
        self._overlap_checked = -1  # structure that was checked
        self._stability = -1, 0  # structure that was checked, and calls since
        self._last_structure: WorldState | None = None  # last snapshot: see _structure
        self._events: list[Event] = []
        self._step_bounds = (-np.inf, np.inf)  # [s] start and end of the present step
        self._controllers: list[Callable[[World], Any]] = []
        self._partner: Partner | None = None

    def couple(self, partner: Partner | None) -> None:
        """Advance something else together with the world, such as a :class:`~brachiate.particles.Coupling`; None: nothing any more.

        The recording of a run has its recording as ``run.partner``.
        """
        if partner is not None and not isinstance(partner, Partner):
            raise ArgumentError(f"couple expects a coupling of this world, such as br.particles.Coupling(world, rope), got {partner!r}.")
        if partner is not None and partner.world is not self.world:
            raise ArgumentError("This coupling is with another world: make it with the world of the simulation.")
        self._partner = partner

    def at(self, time: float, action: Callable[[], Any]) -> Event:
        """Call ``action`` at a time [s]; the step before is shortened to end there."""
        time = validation.number(time, "time of an event", maximum=1e12)
        if time < self.world.time:
            raise ArgumentError(f"time of an event: {time:g} s is in the past; the world is at {self.world.time:g} s.")
        return self._add(Event(action, at=time))

    def when(
        self,
        function: Any,
        action: Callable[[], Any],
        *,
        value: float = 0.0,
        rising: bool = True,
        falling: bool = True,
        once: bool = True,
    ) -> Event:
        """Call ``action`` when a function crosses a value; the time is located within the step.

        Two crossings within one step are not detected.

        Args:
            function: Of the world, ``lambda world: ...``, or of its motion: an expression such as ``an.position("man/hand").z``, or
                ``lambda s: s.joint("man/left_knee")`` (:mod:`brachiate.animation`).
            action: Called without arguments.
            value: That it crosses.
            rising: Whether to act when it rises through the value.
            falling: Whether to act when it falls through it.
            once: Whether to act only the first time.
        """
        if not (callable(function) or isinstance(function, Expression | Vector | Untraced)):
            raise ArgumentError(f"The condition of an event must be a function of the world or of its motion, got {function!r}.")
        level = validation.number(value, "value of an event")
        event = Event(action, function=function, rising=rising, falling=falling, once=once, value=level)
        event.bind(self.world)
        return self._add(event)

    def _add(self, event: Event) -> Event:
        if not callable(event.action):
            raise ArgumentError(f"The action of an event must be a function without arguments, got {event.action!r}.")
        self._events.append(event)
        return event

    def control(self, controller: Callable[[World], Any]) -> None:
        """Call a function before every step; it sets ``world.torque``, which is then clamped to the effort limits."""
        if not callable(controller):
            raise ArgumentError(f"A controller must be a function of the world, got {controller!r}.")
        self._controllers.append(controller)

    def step(self) -> None:
        """Advance by dt, with all events in between."""
        reserved = self._reserve()
        try:
            self._advance_to(self.world.time + self.dt)
        finally:
            self._release(reserved)

    def _reserve(self) -> bool:
        """Reserve the world for this thread; whether it was free.

        Raises:
            StateError: Another thread advances it.
        """
        thread, world = get_ident(), id(self.world)
        if _ADVANCED_BY.get(world) == thread:  # an action of an event, or a controller, steps a simulation of its own
            return False
        if _ADVANCED_BY.setdefault(world, thread) != thread:
            raise StateError("Another thread advances this world. Give every thread a world of its own: world.copy().")
        return True

    def _release(self, reserved: bool) -> None:
        """Release the world if this call has reserved it."""
        if reserved:
            del _ADVANCED_BY[id(self.world)]

    @property
    def last_contacts(self) -> RecordedContacts | None:
        """Logged contacts of the last step: see :meth:`Contacts.of`; None before the first step."""
        return self._contacts_of(1)[0]

    touched = renamed_attribute("touched", "last_contacts")

    def run(self, seconds: float, progress: bool = False, *, until: Callable[[World], Any] | None = None) -> Recording:
        """Advance by some seconds and return the recording. On failure the world is in the state of some steps before.

        Args:
            seconds: Simulated time [s].
            progress: Whether a progress bar is shown if it takes long.
            until: Called with the world whenever the state has been recorded; the run ends when it returns true.
        """
        seconds = validation.number(seconds, "seconds", minimum=0.0, maximum=1e9)
        if until is not None and not callable(until):
            raise ArgumentError(f"until: expected a function of the world, got {until!r}.")
        steps = int(np.ceil(seconds / self.dt - 1e-9))
        reserved = self._reserve()
        try:
            start, states = self.world.time, RecordedStates()
            if self._partner is not None:
                self._partner.begin_recording()
            states.add([self._row()])
            with ProgressBar("simulating", progress) as bar:
                self._run(start, seconds, steps, states, bar, until)
            recording = states.recording(self.world, self._limits)
            recording.partner = None if self._partner is None else self._partner.take_recording()
            return recording
        finally:
            self._release(reserved)

    def _run(
        self, start: float, seconds: float, steps: int, states: RecordedStates, bar: ProgressBar, until: Callable[[World], Any] | None
    ) -> None:
        done = 0
        while done < steps:
            if self._needs_python(start + seconds) or until is not None:
                for _ in range(min(self.every - done % self.every, steps - done)):
                    done += 1
                    self._advance_to(start + min(done * self.dt, seconds))
                states.add([self._row()])
                if until is not None and until(self.world):
                    return
            else:
                whole = int((seconds + 1e-9 * self.dt) // self.dt)  # the last step may be shorter
                count = min(_CHUNK_STEPS * self.every, whole - done)
                if count <= 0:
                    self._advance_to(start + seconds)
                    done = steps
                    states.add([self._row()])
                else:
                    states.add(self._advance_many(start, done, count))
                    done += count
            bar.show((self.world.time - start) / seconds)

    def _advance_many(self, start: float, done: int, count: int) -> list[RecordedState]:
        """Advance many steps in one call of compiled code."""
        self._saturate()
        state = self._structure()
        Q, V = self._current_integrator().advance(self.dt, count, self.every, start + self.dt * done)
        times = start + self.dt * (done + self.every * np.arange(1, len(Q) + 1))
        self.world.time = start + self.dt * (done + count)
        torque = self.world.torque.copy()
        model = self.world.model
        logged = self._contacts_of(len(Q))
        rows = [RecordedState(t, q, v, torque, model, state, contacts) for t, q, v, contacts in zip(times, Q, V, logged, strict=True)]
        return rows if count % self.every == 0 else [*rows, self._row()]

    def _saturate(self) -> None:
        """Clamp motor torques to the effort limits."""
        limit, torque = self.world.model.effort, self.world.torque
        np.minimum(torque, limit, out=torque)
        np.maximum(torque, -limit, out=torque)

    def _needs_python(self, until: float) -> bool:
        """Whether controllers or events require Python code between steps."""
        pending = [e for e in self._events if not (e.once and e.happened)]
        simple = self._project and self._partner is None and not self._controllers
        return not simple or any(e.function is not None or e.at <= until for e in pending)

    def _row(self) -> RecordedState:
        w = self.world
        if self._partner is not None:
            self._partner.record()
        return RecordedState(w.time, w.q.copy(), w.v.copy(), w.torque.copy(), w.model, self._structure(), self._contacts_of(1)[0])

    def _contacts_of(self, rows: int) -> Sequence[RecordedContacts | None]:
        """Logged contacts of the last states; None before the first step."""
        samples = self._integrator.samples if isinstance(self._integrator, ContactIntegrator) else []
        pairs = self.world.contact_settings.link_pairs
        return [None] * (rows - len(samples)) + [(sample, pairs) for sample in samples[-rows:]] if rows else []

    def _structure(self) -> WorldState:
        """Snapshot with the present structure: the last one while nothing but time and motion changes."""
        if self._last_structure is None or not self.world.same_structure(self._last_structure):
            self._last_structure = self.world.save()
        return self._last_structure

    def _current_integrator(self) -> Integrator | ContactIntegrator:
        """Integrator for the present data, constraints and contact of the world, which structure changes may replace."""
        self._check_stability()
        self._check_overlap()
        if not self._integrator.fits(self.world.data, self.world.constraint_set, self.world.contact_settings.contact_state):
            self._integrator = self._new_integrator()
        return self._integrator

    def _check_stability(self) -> None:
        """Refuse steps that spring-dampers of connections make unstable; checked after structure changes and every _STABILITY_CALLS calls.

        Raises:
            StateError: The step is too long.
        """
        world = self.world
        version = world.structure_version
        if self._stability[0] == version and self._stability[1] < _STABILITY_CALLS:
            self._stability = version, self._stability[1] + 1
            return
        self._stability = version, 0
        if getattr(self._integrator, "method", None) is not None and self._integrator.method.adaptive:  # type: ignore[union-attr]
            return
        try:
            check_stable_step(world, self.dt)
        except StateError:
            self._stability = -1, 0
            raise

    def _check_overlap(self) -> None:
        """Refuse to start while shapes overlap that cannot be separated gently; checked at the start and after structure changes.

        Raises:
            StateError: Two shapes overlap deeply, or joints and connections hold them inside each other.
        """
        version = self.world.structure_version
        if self._overlap_checked != version:
            check_overlap(self.world, start=self._overlap_checked < 0)
            self._overlap_checked = version

    def _new_integrator(self) -> Integrator | ContactIntegrator:
        world, contact_state = self.world, self.world.contact_settings.contact_state
        if contact_state is not None:
            if self._method not in (None, ContactIntegrator.name):
                raise ArgumentError(f"With contact enabled, the integrator is 'contact', not {self._method!r}: see World.enable_contact.")
            names = world.contact_settings.link_pairs
            return ContactIntegrator(
                world.data, world.constraint_set, contact_state, limits=self._limits, project=self._project, link_pairs=names
            )
        if self._method == ContactIntegrator.name:
            raise ArgumentError("The integrator 'contact' is for worlds with contact: call world.enable_contact() first.")
        if not self._project:
            raise ArgumentError("project=False is for worlds with contact: call world.enable_contact() first.")
        return Integrator(world.data, self._method or "rk4", self._tolerance, constraint_set=world.constraint_set, limits=self._limits)

    def _advance_to(self, end: float) -> None:
        """Advance to a time, stopping at every event in between."""
        world = self.world
        self._step_bounds = (world.time, end)
        for controller in self._controllers:
            controller(world)
        if not self._events:
            self._integrate_to(end)
            return
        while True:
            self._fire_due()
            stop = min([end, *(e.at for e in self._events if e.function is None and not e.happened and e.at > world.time)])
            if stop > world.time:
                self._advance_to_crossing(stop)
            if world.time >= end:
                self._fire_due()
                return

    def _fire_due(self) -> None:
        for event in [e for e in self._events if e.function is None and not e.happened and e.at <= self.world.time]:
            self._fire(event)

    def _fire(self, event: Event) -> None:
        event.times.append(self.world.time)
        event.action()
        self._current_integrator().restart()

    def _advance_to_crossing(self, stop: float) -> None:
        """Advance to ``stop``, or to the first zero crossing before it, and fire its event."""
        world = self.world
        watched = [e for e in self._events if e.function is not None and not (e.once and e.happened)]
        if not watched:
            self._integrate_to(stop)
            return
        start, before = self._save(), [e.offset(world) for e in watched]
        self._integrate_to(stop)
        crossed = [(e, b, a) for e, b in zip(watched, before, strict=True) if crosses(e, b, a := e.offset(world))]
        if not crossed:
            return
        moments = [self._locate(e, b, a, start, stop) for e, b, a in crossed]
        first = min(moments)
        self._restore(start)
        self._integrate_to(first)
        # Simultaneous crossings are located apart by round-off: all that have crossed by now are fired.
        fired = [e for (e, b, _), moment in zip(crossed, moments, strict=True) if moment <= first or crosses(e, b, e.offset(world))]
        for event in fired:
            self._fire(event)

    def _negligible(self, span: float) -> bool:
        """Whether a time span is round-off."""
        return span <= max(_NEGLIGIBLE * self.dt, 4.0 * float(np.spacing(self.world.time)))

    def _snap(self, time: float) -> float:
        """Start or end of the step if a time equals it up to round-off, so that events there do not shorten steps."""
        return next((bound for bound in self._step_bounds if self._negligible(abs(bound - time))), time)

    def _integrate_to(self, stop: float) -> None:
        now = self.world.time
        span = stop - now if (now, stop) == self._step_bounds else self._snap(stop) - self._snap(now)
        if not self._negligible(span):
            self._saturate()
            if self._partner is None:
                self._current_integrator().advance(span, time=self.world.time)
            else:
                self._advance_with_partner(self._partner, span)
        self.world.time = stop

    def _advance_with_partner(self, partner: Partner, span: float) -> None:
        """Advance by one step, with the forces of the partner, in parts if it asks for them. On failure nothing has changed."""
        start, before = self.world.time, (partner.save(), self.world.q.copy(), self.world.v.copy(), self.world.constraint_set.run_memory())
        parts = partner.count_parts(span)
        try:
            for n in range(parts):
                self.world.time = start + n * span / parts
                partner.begin_step(span / parts, self._current_integrator().name)
                self._current_integrator().advance(span / parts, time=self.world.time)
                partner.end_step()
        except StateError:
            partner.restore(before[0])
            self.world.q[:], self.world.v[:] = before[1:3]
            self.world.constraint_set.set_run_memory(before[3])
            raise
        finally:
            self.world.time = start

    def _save(self) -> tuple[WorldState, Any]:
        """Snapshot of the world and of the partner."""
        return self.world.save(), None if self._partner is None else self._partner.save()

    def _restore(self, state: tuple[WorldState, Any]) -> None:
        """Restore a snapshot."""
        self.world.restore(state[0])
        if self._partner is not None:
            self._partner.restore(state[1])

    def _locate(self, event: Event, before: float, after: float, start: Any, stop: float) -> float:
        """Time just after a zero crossing, by bisection and regula falsi; each evaluation integrates one step from the start."""
        low, high, f_low, f_high = start[0].time, stop, before, after
        for n in range(_MAX_ROOT_ITERATIONS):
            if high - low <= 1e-13 * max(1.0, abs(stop)) or f_high == 0:
                break
            middle = (low * f_high - high * f_low) / (f_high - f_low) if n % 3 else 0.5 * (low + high)
            if not low < middle < high:
                middle = 0.5 * (low + high)
            self._restore(start)
            self._integrate_to(middle)
            f = event.offset(self.world)
            if f * before > 0:
                low, f_low = middle, f
            else:
                high, f_high = middle, f
        return high
