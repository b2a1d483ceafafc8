"""The dynamics filter: any motion in, a physically consistent one out, with the torques and contact forces that carry it.

Step by step: the plan says how the body as a whole is to move, the controller what is wished of every part of it, the optimizer which of
all that physics allows comes nearest; and the torques of that drive the simulator, whose contacts are what they are. So the result is as
consistent as any simulation, whatever the reference was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike

import numpy as np

from brachiate import figures, rotations, validation
from brachiate.anatomy.figure_height import stature
from brachiate.assumptions import Guess
from brachiate.errors import ArgumentError
from brachiate.filter.online.dynamics_filter import DynamicsFilter
from brachiate.filter.paper.run_clip import PAPER, filter_clip
from brachiate.filter.paper.settings import Settings
from brachiate.filter.reference.payloads import carrying
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Moved, Reference
from brachiate.filter.reference.self_collision import let_pass
from brachiate.filter.reference.stair_footholds import stairs_under
from brachiate.filter.results.result import Filtered
from brachiate.filter.schedule.contact_schedule import Schedule
from brachiate.filter.schedule.inferred_surfaces import Ledges, put_ledges, told
from brachiate.filter.schedule.unanchored_contacts import circumstances
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.centroidal_mpc import plan_whole
from brachiate.filter.tracking.disturbances import Shove
from brachiate.filter.tracking.feasibility import Forecast
from brachiate.filter.tracking.grip_constraints import Grips
from brachiate.filter.tracking.tracker import Follower, place
from brachiate.filter.tracking.validation import check_given, check_pushes
from brachiate.filter.tracking.whole_body_controller import Body
from brachiate.motion.contact_labels import Labels
from brachiate.motion.motion import Motion
from brachiate.motion.spline import Course
from brachiate.motion.terrain import Ground
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

OURS = ("offline", "preview", "online")
MODES = (*OURS, PAPER)
FIGURE, FLOOR = "man", "floor"
HEARD = 0.1  # [s] of a motion that comes in frame by frame are looked at before it begins: whether parts are inside each other


def filter_motion(
    motion: Motion | Reference,
    *,
    ground: Ground | str | None = None,
    made_on: Ground | str | None = None,
    contacts: Labels | str | PathLike[str] | None = None,
    friction: float | None = None,
    strength: float = 1.0,
    pushes: Sequence[Shove] = (),
    load: Mapping[str, float] | None = None,
    keep: Mapping[str, float] | None = None,
    mode: str = "offline",
    settings: FilterSettings | Settings | None = None,
    dt: float = 0.002,
    progress: bool = True,
) -> Filtered:
    """Make a motion physically consistent.

    Args:
        motion: Any, or a reference already cleaned up.
        ground: To do it on, a :class:`Ground` or words such as ``"slope:10"`` or ``"steps:0.1:0.4:3"``; by default that it was made on.
        made_on: That it was made on: see :func:`brachiate.check`; by default level, and found.
        contacts: What touches, if that is known.
        friction: Of feet and ground; by default that of the ground.
        strength: Of the figure's motors, times what they have; infinite for no limit.
        pushes: Forces from outside, of which the filter knows nothing until they act.
        load: What the figure carries, by link [kg]: ``{"right_hand": 5.0}``.
        keep: Links whose place and orientation are to be those of the reference beside all joints, as the point P of [DF] eq. 40, and how
            much that counts beside 1 for a joint: ``{"right_hand": 100.0}``.
        mode: ``"offline"``: a plan of the whole clip comes first. ``"preview"``: plans know the reference for a while ahead. ``"online"``:
            frames come in one by one, as they are, and nothing is known of the next, see :class:`DynamicsFilter`. ``"paper"``: the filter
            as [DF] prints it, which knows no limits of motors and joints.
        settings: By default one set for all motions; of mode ``"paper"`` it is :class:`brachiate.filter.paper.Settings`.
        dt: Length of a step [s].
        progress: Whether to show a bar where it takes long.
    """
    validation.one_of(mode, MODES, "mode")
    if mode == "online":
        if not isinstance(motion, (Motion, Reference)):
            raise ArgumentError(f"motion: expected a Motion, as br.read_motion(path) gives, got {validation.shown(motion)}.")
        if ground is not None or made_on is not None or contacts is not None:
            raise ArgumentError(
                "On line nothing is known of the motion beforehand, and the ground is level: no ground, made_on or contacts."
            )
        return _filter_online(motion, friction, strength, load, keep, pushes, _ours(settings, mode), dt, progress)
    reference = motion if isinstance(motion, Reference) else clean(motion, ground=made_on, contacts=contacts, dt=dt)
    source = None
    if ground is not None:
        source = reference.original
        reference = clean(source, contacts=reference.labels, onto=ground, dt=reference.dt, **reference.made)
    if load:
        source, reference = source or reference.original, carrying(reference, load)
    check_pushes(pushes, reference)
    world = world_of(reference, friction, strength)
    check_given(world, FIGURE, reference, None)
    reference = replace(reference, guesses=(*reference.guesses, *told(reference), *let_pass(world, FIGURE, reference.q, reference.dt)))
    if mode == PAPER:
        if keep:
            raise ArgumentError(f"keep: mode={PAPER!r} keeps one point, by its settings: brachiate.filter.paper.Settings(point=...).")
        return filter_clip(world, FIGURE, reference, settings, pushes, source, progress)
    clip = Clip(world, FIGURE, reference, _ours(settings, mode), whole=mode == "offline", keep=keep)
    simulation = Simulation(world, dt=reference.dt, settle=False)
    simulation.control(clip.control)
    for shove in pushes:
        shove.put_on(simulation, FIGURE)
    seconds = (len(reference) - 1) * reference.dt
    run = simulation.run(seconds, progress, until=lambda _: clip.follower.blame is not None)
    clip.grips.note(clip.frame)
    held, own_steps = clip.grips.forces(len(run.time)), clip.follower.own_steps
    return Filtered.of(clip.body, reference, run, clip.follower.blame, clip.forecast, source, held, own_steps)


def _ours(settings: FilterSettings | Settings | None, mode: str) -> FilterSettings | None:
    if isinstance(settings, Settings):
        raise ArgumentError(f"settings of the paper's filter are for mode={PAPER!r}: mode={mode!r} takes FilterSettings(...).")
    return settings


class Clip:
    """A body that follows a whole reference.

    Args:
        world: In which things touch, with the figure in it.
        figure: Its name there.
        reference: Made by :func:`brachiate.filter.reference.preprocess.clean`.
        settings: By default one set for all motions, scaled by the body's height.
        whole: Whether a plan of the whole clip comes first; else plans know the reference for a while ahead.
        keep: Links whose place and orientation are kept, too, and how much that counts.
    """

    def __init__(
        self, world: World, figure: str, reference: Reference, settings: FilterSettings | None = None, *, whole: bool,
        keep: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        check_given(world, figure, reference, settings)
        if not reference.stances:
            raise ArgumentError("The reference never stands on anything, and holds nothing, so no force could carry it.")
        self.reference = reference
        height = stature(world.figure(figure).model)
        settings = (settings or FilterSettings()).scaled(height)
        self.schedule = Schedule(reference, settings.look, world.figure(figure).model.effort)
        self.schedule.mark_long_flights(settings.long_flight)
        self.body = Body(world, figure, self.schedule.soles, settings, reference.dt, self.schedule.grips, keep)
        self.grips = Grips(self.body, self.schedule.grips)
        place(world, self.body, reference.q[0], reference.v[0])
        self.grips.at(0)
        self.ledges = Ledges(world, figure, reference)
        self.ledges.at(0)
        #: Of the whole clip, if there is one: how far the reference is from what is possible.
        self.forecast: Forecast | None = plan_whole(self.schedule, self.body, settings, height) if whole else None
        self.follower = Follower(self.body, self.schedule.handle, settings, height, reference.dt)
        self.frame = 0

    def control(self, _: World | None = None) -> None:
        """Set the torques of the next step, and go on to the next frame of the reference."""
        k = min(self.frame, len(self.reference) - 1)
        self.grips.note(self.frame)
        self.grips.at(k)
        self.ledges.at(k)
        self.follower.control(k)
        self.frame += 1
        if (blame := self.follower.blame) is not None:
            missed = (*self.grips.missed(k), *circumstances(self.reference, {sole.link for sole in self.schedule.soles}, k))
            self.follower.blame = blame._replace(why="; ".join((blame.why, *missed)))


def _filter_online(
    motion: Motion | Reference, friction: float | None, strength: float, load: Mapping[str, float] | None,
    keep: Mapping[str, float] | None, pushes: Sequence[Shove], settings: FilterSettings | None, dt: float, progress: bool,
) -> Filtered:  # fmt: skip
    """Let the frames of a motion come in one by one; between those of a slower one, along a curve through them."""
    if isinstance(motion, Reference):
        motion, dt = motion.original, motion.dt
    count = int(motion.duration / dt + 1e-6) + 1
    times = motion.times[0] + dt * np.arange(count)
    moments = Course(motion.figure, motion.times, motion.q).at(times)
    labels = Labels((), Ground(0.0))
    still = Reference(
        motion.figure, labels.ground, times, moments.q, moments.v, moments.a, motion, (), labels, {}, Moved(0.0, 0.0, 0.0, "", 0.0)
    )
    if load:
        still = carrying(still, load)
    check_pushes(pushes, still)
    world = world_of(still, friction, strength)
    passing = let_pass(world, FIGURE, moments.q[: round(HEARD / dt)], dt)
    live = DynamicsFilter(world, FIGURE, settings, dt=dt, keep=keep)
    k = 0
    while not live.take(moments.q[k]):
        k += 1
        if k == count:
            raise ArgumentError(f"{motion.name} takes {motion.duration:.2f} s: no longer than the filter listens before it begins.")
    follower = live.follower
    assert follower is not None
    frames = iter(moments.q[k + 1 :])

    def control(_: World) -> None:
        live.control()
        if live.blame is None:
            live.take(next(frames, moments.q[-1]))

    simulation = live.simulation
    simulation.control(control)
    for shove in pushes:
        shove.put_on(simulation, FIGURE)
    seconds = (count - 1 - k) * dt
    run = simulation.run(seconds, progress, until=lambda _: live.blame is not None)
    floor = float(live.stream.senses.floor[0])
    q = moments.q[k:].copy()
    q[:, 2] -= floor
    listened = Guess("listened", f"{times[k] - times[0]:.2f} s", "on line the body begins when speeds are known", "settings")
    guesses = (*motion.guesses, *passing, Guess("floor", f"{floor:.3f} m", "where the lowest part of the feet came to rest"), listened)
    original = Motion(still.figure, times[k:], q, motion.name, guesses, captured=motion.captured)
    reference = replace(still, times=times[k:], q=q, v=moments.v[k:], a=moments.a[k:], original=original, guesses=guesses)
    return Filtered.of(follower.body, reference, run, live.blame, None, own_steps=follower.own_steps)


def world_of(reference: Reference, friction: float | None = None, strength: float = 1.0) -> World:
    """A world with the ground of a reference, ledges where it stands above that, and its figure, which touch."""
    g, strength = reference.ground, validation.number(strength, "strength", above=0.0, most=np.inf)
    world = World()
    if g.steps is None:
        world.add(figures.ground(), name=FLOOR, at=(0.0, 0.0, g.height or 0.0), rotation=rotations.matrix(g.tilt))
    else:
        floor, at, R = stairs_under(g, reference.q[:, :2])
        world.add(floor, name=FLOOR, at=at, rotation=R)
    world.add(reference.figure if strength == 1.0 else reference.figure.stronger(strength), name=FIGURE)
    world.touch(friction=g.friction if friction is None else validation.number(friction, "friction", above=0.0))
    put_ledges(world, FIGURE, reference)
    return world
