"""The dynamics filter: any motion in, a physically consistent one out, with the torques and contact forces that carry it.

Step by step: the plan says how the body as a whole is to move, the controller what is wished of every part of it, the optimizer which of
all that physics allows comes nearest; and the torques of that drive the simulator, whose contacts are what they are. So the result is as
consistent as any simulation, whatever the reference was.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from brachiate import doors, figures
from brachiate.clip import turns
from brachiate.errors import ArgumentError, StateError
from brachiate.filter.body import Body
from brachiate.filter.clean import clean
from brachiate.filter.fallen import why_fallen
from brachiate.filter.filtered import Blame, Filtered
from brachiate.filter.footwork import Footwork
from brachiate.filter.paper.clips import PAPER, filter_clip
from brachiate.filter.paper.settings import Settings
from brachiate.filter.preview import Preview, intervals_for, plan_whole
from brachiate.filter.pushes import Shove
from brachiate.filter.reference import Reference
from brachiate.filter.schedule import Schedule
from brachiate.filter.settings import FilterSettings
from brachiate.filter.stature import stature
from brachiate.motion.ground import Ground
from brachiate.motion.labels import Labels
from brachiate.motion.motion import Motion
from brachiate.plan.centroidal import Plan
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

MODES = ("preview", "offline")
FIGURE, FLOOR = "man", "floor"


class DynamicsFilter:
    """Follows a reference in a world, step by step.

    Args:
        world: In which things touch, with the figure in it.
        figure: Its name there.
        reference: Made by :func:`brachiate.filter.clean.clean`.
        settings: By default one set for all motions, scaled by the body's height.
        mode: ``"preview"``: plans know the reference for a while ahead; ``"offline"``: all of it, and a plan of the whole clip comes first.
    """

    def __init__(
        self, world: World, figure: str, reference: Reference, settings: FilterSettings | None = None, mode: str = "preview"
    ) -> None:
        self.mode = doors.one_of(mode, MODES, "mode")
        self.world, self.reference = world, reference
        held = sorted({stance.link for stance in reference.stances if stance.how != "stands"})
        if held:
            raise ArgumentError(f"The filter knows feet that stand, not yet what holds: {', '.join(held)}. Take these labels out.")
        if not any(stance.how == "stands" for stance in reference.stances):
            raise ArgumentError("The reference never stands on anything, so no force could carry it.")
        model = world.figure(figure).model
        self.height = stature(model)
        self.settings = (settings or FilterSettings()).scaled(self.height)
        self.schedule = Schedule(reference, self.settings.look)
        self.schedule.mark_long_flights(self.settings.long_flight)
        self.body = Body(world, figure, self.schedule.soles, self.settings, reference.dt)
        friction = world.surfaces.material.friction
        self._place(0)
        self.body.observe(reference.q[0], reference.v[0], reference.a[0])
        #: Of the whole clip, if there is one: how far the reference is from what is possible.
        self.forecast: Plan | None = (
            plan_whole(self.schedule, self.body, self.settings, self.height, friction) if mode == "offline" else None
        )
        self.feet = Footwork(self.schedule, self.body, self.settings)
        self._preview = Preview(self.schedule, self.body, self.settings, self.height, friction, intervals_for(self.settings.preview))
        self.plan: Plan | None = None
        self._planned, self._key = -1, self.feet.key
        self.frame = 0
        self.blame: Blame | None = None  #: why it gave up
        self.solves: list[int] = []

    def _place(self, k: int) -> None:
        r, world, body = self.reference, self.world, self.body
        q, v = world.q.copy(), world.v.copy()
        q[body.q_at], v[body.v_at] = r.q[k], r.v[k]
        world.q, world.v = q, v

    def control(self, _: World | None = None) -> None:
        """Set the torques of the next step, and go on to the next frame of the reference."""
        k, r, body = min(self.frame, len(self.reference) - 1), self.reference, self.body
        body.observe(r.q[k], r.v[k], r.a[k])
        K = body.control
        self.feet.lead(k)
        plan = self._planned_at(k)
        K.centre[:], K.spin[:] = plan.acceleration_at(K.com[:3]), plan.turning[0]
        try:
            self.solves.append(body.decide())
        except StateError as problem:
            self.blame = self.blame or Blame(float(self.world.time), str(problem))
            return
        self.feet.note(k)
        self.frame += 1
        self._look_whether_fallen()

    def _planned_at(self, k: int) -> Plan:
        """The plan in force: a new one if what stands has changed, or after a while."""
        since, key = (k - self._planned) * self.reference.dt, self.feet.key
        if self.plan is None or since >= self.settings.replan - 1e-9 or key != self._key:
            self.plan = self._preview.plan(k, self.feet, None if self.plan is None else since)
            self._planned, self._key = k, key
            self.feet.aim_at(k)
        return self.plan

    def _look_whether_fallen(self) -> None:
        k, body = min(self.frame, len(self.reference) - 1), self.body
        here, there = self.world.q[body.q_at], self.reference.q[k]
        moved = (self.schedule.share[k][:, None] * self.schedule.moved[k]).sum(axis=0)
        off = here[:3] - there[:3] - self.feet.on_ground(self.feet.shift + moved)
        why = why_fallen(here, there, off)
        if why is not None and self.blame is None:
            self.blame = Blame(float(self.world.time), why)


def filter_motion(
    motion: Motion | Reference,
    *,
    ground: Ground | str | None = None,
    made_on: Ground | str | None = None,
    contacts: Labels | str | PathLike[str] | None = None,
    friction: float | None = None,
    strength: float = 1.0,
    pushes: Sequence[Shove] = (),
    mode: str = "offline",
    settings: FilterSettings | Settings | None = None,
    dt: float = 0.002,
    progress: bool = True,
) -> Filtered:
    """Make a motion physically consistent.

    Args:
        motion: Any, or a reference already cleaned up.
        ground: To do it on, a :class:`Ground` or words such as ``"slope:10"``; by default that it was made on.
        made_on: That it was made on: see :func:`brachiate.check`; by default level, and found.
        contacts: What touches, if that is known.
        friction: Of feet and ground; by default that of the ground.
        strength: Of the figure's motors, times what they have; infinite for no limit.
        pushes: Forces from outside, of which the filter knows nothing until they act.
        mode: See :class:`DynamicsFilter`; ``"paper"``: the filter as [DF] prints it, which knows no limits of motors and joints.
        settings: By default one set for all motions; of mode ``"paper"`` it is :class:`brachiate.filter.paper.Settings`.
        dt: Length of a step [s].
        progress: Whether to show a bar where it takes long.
    """
    reference = motion if isinstance(motion, Reference) else clean(motion, ground=made_on, contacts=contacts, dt=dt)
    source = None
    if ground is not None:
        source = reference.original
        reference = clean(source, contacts=reference.labels, onto=ground, dt=reference.dt)
    world = world_of(reference, friction, strength)
    if doors.one_of(mode, (*MODES, PAPER), "mode") == PAPER:
        return filter_clip(world, FIGURE, reference, settings, pushes, source, progress)
    if isinstance(settings, Settings):
        raise ArgumentError(f"settings of the paper's filter are for mode={PAPER!r}: mode={mode!r} takes FilterSettings(...).")
    dynamics_filter = DynamicsFilter(world, FIGURE, reference, settings, mode)
    simulation = Simulation(world, dt=reference.dt)
    simulation.control(dynamics_filter.control)
    for shove in pushes:
        shove.put_on(simulation, FIGURE)
    seconds = (len(reference) - 1) * reference.dt
    run = simulation.run(seconds, progress, until=lambda _: dynamics_filter.blame is not None)
    return Filtered.of(dynamics_filter.body, reference, run, dynamics_filter.blame, dynamics_filter.forecast, source)


def world_of(reference: Reference, friction: float | None = None, strength: float = 1.0) -> World:
    """A world with the ground of a reference and its figure, which touch."""
    g = reference.ground
    world = World()
    world.add(figures.ground(), name=FLOOR, at=(0.0, 0.0, g.height or 0.0), rotation=turns.matrix(g.tilt))
    world.add(reference.figure if strength == 1.0 else reference.figure.stronger(strength), name=FIGURE)
    world.touch(friction=g.friction if friction is None else doors.number(friction, "friction", above=0.0))
    return world
