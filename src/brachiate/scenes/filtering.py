"""The examples of [DF] VII-D: motions that no body could make, made possible by the dynamics filter; as published, and by ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from brachiate import procedural, rotations, validation
from brachiate.filter.offline import FIGURE, Clip, world_of
from brachiate.filter.paper.run_clip import PaperFiltered, filter_clip
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.pose_strips import DOTS, INK, ORIGINAL, RESULT, draw_strips
from brachiate.filter.results.result import Filtered
from brachiate.filter.tracking.disturbances import Shove
from brachiate.kinematics_batch import Many
from brachiate.motion.edit import joined, moved
from brachiate.motion.motion import Motion, motion_of
from brachiate.motion.terrain import Ground, Steps
from brachiate.scenes.scene import Scene
from brachiate.show.page import View
from brachiate.show.plots import COLORS, plain, pyplot, save
from brachiate.simulate.recording import Recording
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array

PUBLISHED = "as published"
SIDE = View(around=-82.0, above=8.0)
BEFORE = 0.45  # [m] an arrow of a push begins so far from where it acts
PLOT = 2.9  # [inch] of plots below postures
RATE = 120.0  # [frames/s] of somebody who only stands

WALK = """\
[DF, Fig. 7 and 8] A walk drawn by joint angles: nobody asked what forces it would take. The filter moves the body as near to it as
torques and forces of the ground can. The picture has the original, what the published filter makes of it, and what ours does; and
below how the pelvis rolls, pitches and turns."""
KICK = """\
[DF, Fig. 9] A kick on one leg. As published, the filter leans over the edge of the foot, and falls; with a plan of where the
centre of mass has to go, the body is over the foot in time, and stays up."""
SLOPE = """\
[DF, Fig. 10] The same walk on other ground than it was made on: ten degrees downhill. Nobody has drawn that motion; feet stand on the
slope, and the plan finds how to stay up."""
STEPS = """\
The same walk up three steps that nobody thought of when it was made: 12 cm each, 40 cm deep. Every foot stands on one tread, strides
become as long as that takes, feet get over the edges, and the plan finds how to stay up."""
TURN = """\
[DF, Fig. 11] Two walks, joined: half-way the second half of a walk goes on in another direction, and for a moment one is blended into the
other. Nobody leans into the curve in the drawn motion, and a foot turns on the ground."""
PUSH = """\
[DF, Fig. 12] Somebody stands and is pushed in the back. The reference only stands still: all that is seen is what the filter finds to stay
near to it. As published it takes gentle pushes; with a plan it bends at the hips and takes harder ones. Then comes one from the front, too
hard for that: it makes a step back that the reference does not have, and when it is calm again the foot comes back."""


class Filtering(Scene):
    """A reference, and a body that follows it by the dynamics filter.

    Args:
        name: Of the scene.
        title: What it shows.
        about: What happens, and what to look at.
        reference: What to follow.
        seconds: How long.
        pushes: Forces from outside.
        names: Of the rows of its picture.
        shown: How its picture is drawn, in words of :func:`brachiate.filter.results.pose_strips.draw_strips`.
    """

    def __init__(
        self,
        name: str,
        title: str,
        about: str,
        reference: Reference,
        seconds: float,
        pushes: Sequence[Shove] = (),
        names: Sequence[str] = (ORIGINAL, PUBLISHED, RESULT),
        **shown: Any,
    ) -> None:
        world = world_of(reference)
        self.reference, self.pushes, self.names, self.shown = reference, pushes, names, shown
        self.clip = Clip(world, FIGURE, reference, whole=True)
        simulation = Simulation(world, dt=reference.dt)
        simulation.control(self.clip.control)
        for push in pushes:
            push.put_on(simulation, FIGURE)
        super().__init__(name, title, about, world, simulation, seconds, passive=False)

    @cached_property
    def published(self) -> PaperFiltered:
        """What the published filter makes of it, to the end or until it falls."""
        return filter_clip(world_of(self.reference), FIGURE, self.reference, pushes=self.pushes, progress=False)

    def filtered(self, run: Recording) -> Filtered:
        """What ours has made of it."""
        clip = self.clip
        return Filtered.of(clip.body, self.reference, run, clip.follower.blame, clip.forecast, own_steps=clip.follower.own_steps)

    def rows(self, run: Recording) -> dict[str, Motion]:
        """Motions to be seen below each other, with forces that act on them."""
        filtered = self.filtered(run).motion
        published = self.published.motion.frames(slice(0, len(filtered)))
        rows = {ORIGINAL: self.reference.original, PUBLISHED: published, RESULT: filtered}
        return {name: _with_pushes(rows[name], self.pushes) for name in self.names}

    def picture(self, run: Recording, path: str | Path, times: Any = None) -> None:
        """Draw postures of a run; ``times`` are evenly from first to last, whatever is asked for."""
        draw_strips(self.rows(run), path, **self.shown)


class Walking(Filtering):
    """With angles of the pelvis below the postures, as [DF] fig. 8 has them."""

    def picture(self, run: Recording, path: str | Path, times: Any = None) -> None:
        """Draw postures, and angles over time."""
        image, rows = BytesIO(), self.rows(run)
        draw_strips(rows, image, **self.shown)
        image.seek(0)
        _draw_angles(pyplot().imread(image, format="png"), rows, path)


def filter_walk(seconds: float = 6.0, speed: float = 1.3, dt: float = 0.002) -> Scene:
    """A walk that was only drawn becomes one that a body can walk.

    Args:
        seconds: How long it is worth watching [s].
        speed: Of the walk [m/s].
        dt: Length of a step [s].
    """
    reference = clean(motion_of(procedural.make("walk", seconds=seconds, speed=speed)), dt=dt)
    return Walking("filter-walk", "A walk, filtered", WALK, reference, _length(reference))


def filter_kick(seconds: float = 2.4, high: float = 0.9, dt: float = 0.002) -> Scene:
    """A kick that was only drawn becomes one that a body can do on one leg.

    Args:
        seconds: How long it is worth watching [s].
        high: Of the ankle at the farthest [m].
        dt: Length of a step [s].
    """
    reference = clean(motion_of(procedural.make("kick", high=high)), dt=dt)
    return Filtering("filter-kick", "A kick, filtered", KICK, reference, seconds)


def filter_slope(seconds: float = 4.0, slope: float = -10.0, dt: float = 0.002) -> Scene:
    """A walk on level ground becomes one down a slope.

    Args:
        seconds: How long it is worth watching [s].
        slope: By how much it rises [deg].
        dt: Length of a step [s].
    """
    level = clean(motion_of(procedural.make("walk", seconds=seconds)), dt=dt)
    reference = clean(level.original, contacts=level.labels, onto=f"slope:{validation.number(slope, 'slope')}", dt=dt)
    shown = {"in_place": True, "poses": 7, "view": SIDE, "weight": 0.5, "names": (PUBLISHED, RESULT)}
    return Filtering("filter-slope", "A walk down a slope, filtered", SLOPE, reference, _length(reference), **shown)


def filter_steps(seconds: float = 4.0, rise: float = 0.12, tread: float = 0.4, count: int = 3, dt: float = 0.002) -> Scene:
    """A walk on level ground becomes one up a flight of steps, or down.

    Args:
        seconds: How long it is worth watching [s].
        rise: Of one step [m]; negative for steps that go down.
        tread: Depth of one [m].
        count: How many.
        dt: Length of a step of the simulation [s].
    """
    level = clean(motion_of(procedural.make("walk", seconds=seconds)), dt=dt)
    reference = clean(level.original, contacts=level.labels, onto=Ground(0.0, steps=Steps(rise, tread, count)), dt=dt)
    shown = {"poses": 9, "view": SIDE, "weight": 0.5, "names": (ORIGINAL, RESULT)}
    return Filtering("filter-steps", "A walk up steps, filtered", STEPS, reference, _length(reference), **shown)


def filter_turn(seconds: float = 5.0, angle: float = 30.0, cut: float = 2.47, blend: float = 0.6, dt: float = 0.002) -> Scene:
    """Two walks that head elsewhere are joined, and become a turn that a body can make.

    Args:
        seconds: How long it is worth watching [s].
        angle: Of the turn, to the left [deg].
        cut: When the second walk goes on for the first [s].
        blend: How long one is blended into the other [s].
        dt: Length of a step [s].
    """
    walk = motion_of(procedural.make("walk", seconds=seconds))
    reference = clean(with_a_turn(walk, angle, cut, blend), dt=dt)
    shown = {"in_place": True, "poses": 8, "view": View(around=-75.0, above=26.0)}
    return Filtering("filter-turn", "Two walks, joined and filtered", TURN, reference, _length(reference), **shown)


def with_a_turn(walk: Motion, angle: float, cut: float, blend: float) -> Motion:
    """A walk whose second half is turned about an upright line through the pelvis [deg], and blended with the first [s]."""
    half, rate = 0.5 * validation.number(blend, "blend", above=0.0), (len(walk) - 1) / walk.duration
    cut = validation.number(cut, "cut", least=walk.times[0] + half, most=walk.times[-1] - half)
    first, last = (round((cut + side * half - walk.times[0]) * rate) for side in (-1, 1))
    middle = walk.q[(first + last) // 2, :2]
    then = moved(walk.frames(slice(first, None)), turned=np.radians(validation.number(angle, "angle")), about=middle)
    return joined([walk.frames(slice(0, last + 1)), then], (last - first) / rate, align=False)


def filter_push(
    seconds: float = 4.5,
    push: float = 200.0,
    at: float = 0.45,
    back: float = 260.0,
    then: float = 2.45,
    lasting: float = 0.15,
    dt: float = 0.002,
) -> Scene:
    """Somebody stands by the dynamics filter, is pushed, and pushed back harder.

    Args:
        seconds: How long it is worth watching [s].
        push: Force on the chest, from behind [N].
        at: When it is pushed [s].
        back: Force on the chest, from the front [N].
        then: When it is pushed back [s].
        lasting: For how long, each time [s].
        dt: Length of a step [s].
    """
    stands = motion_of(procedural.make("squat"))
    times = np.arange(round(validation.number(seconds, "seconds", above=0.1, most=60.0) * RATE) + 1) / RATE
    reference = clean(Motion(stands.figure, times, np.repeat(stands.q[:1], len(times), axis=0), "stand"), dt=dt)
    shoves = [Shove("spine2", (validation.number(push, "push"), 0.0, 0.0), at, lasting)]
    shoves.append(Shove("spine2", (-validation.number(back, "back"), 0.0, 0.0), then, lasting))
    shown = {"poses": 10, "home": reference.original, "view": SIDE, "weight": 1.2, "names": (PUBLISHED, RESULT)}
    return Filtering("filter-push", "Standing by the filter, and pushed", PUSH, reference, _length(reference), shoves, **shown)


def _length(reference: Reference) -> float:
    return float(reference.times[-1] - reference.times[0])


def _with_pushes(motion: Motion, pushes: Sequence[Shove]) -> Motion:
    """A motion whose forces have those of pushes too, each from behind what it pushes."""
    many, forces = Many(motion.figure).poses(motion.q), dict(motion.forces)
    for n, push in enumerate(pushes):
        place = motion.figure.placements[push.link]
        on = (motion.times >= push.at) & (motion.times < push.at + push.lasting)
        at = many.point(place.body, place.position + place.rotation @ push.point)
        back = BEFORE * np.array(push.force) / max(float(np.linalg.norm(push.force)), 1e-12)
        forces[f"push {n}"] = np.concatenate((on[:, None] * np.array(push.force), at - back), axis=1)
    return replace(motion, forces=forces)


def _draw_angles(postures: Array, rows: Mapping[str, Motion], path: str | Path) -> None:
    """Put angles of the root over time below a picture of postures."""
    plt = pyplot()
    high, wide = (size / DOTS for size in postures.shape[:2])
    figure = plt.figure(figsize=(wide, high + PLOT), dpi=DOTS, facecolor=postures[0, 0])
    figure.figimage(postures, 0, int(PLOT * DOTS), origin="upper")
    for n, name in enumerate(("roll", "pitch", "yaw")):
        box = ((0.6 + n * (wide - 0.6) / 3) / wide, 0.55 / (high + PLOT), ((wide - 0.6) / 3 - 0.7) / wide, (PLOT - 1.0) / (high + PLOT))
        axis = figure.add_axes(box, facecolor=postures[0, 0])
        for (row, motion), color in zip(rows.items(), COLORS, strict=False):
            axis.plot(motion.times, np.degrees(np.unwrap(_turned(motion)[n])), label=row, color=color, linewidth=1.4)
        axis.set_title(f"{name} of the pelvis [°]", fontsize=10, color=INK)
        axis.set_xlabel("time [s]", fontsize=9)
        axis.tick_params(labelsize=8)
        plain(axis)
    figure.axes[0].legend(frameon=False, fontsize=8, loc="best")
    save(figure, path, dpi=DOTS, facecolor=postures[0, 0])


def _turned(motion: Motion) -> tuple[Array, Array, Array]:
    """How the root rolls, pitches and is turned [rad]."""
    R = rotations.matrix(motion.q[:, 3:7])
    return np.arctan2(R[:, 2, 1], R[:, 2, 2]), -np.arcsin(np.clip(R[:, 2, 0], -1, 1)), np.arctan2(R[:, 1, 0], R[:, 0, 0])
