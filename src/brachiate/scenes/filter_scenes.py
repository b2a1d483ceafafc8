"""Examples of [DF] VII-D: physically infeasible motions corrected by the dynamics filter, as published and with preview control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from brachiate import procedural, rotations, validation
from brachiate.filter.offline import FIGURE
from brachiate.filter.offline_tracker import OfflineTracker
from brachiate.filter.paper.run_clip import PaperFilterResult, run_paper_filter
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.pose_strips import DPI, FILTERED, ORIGINAL, TEXT_COLOR, draw_pose_strips
from brachiate.filter.results.result import FilterResult
from brachiate.filter.tracking.disturbances import Push
from brachiate.filter.tracking.simulation_world import simulation_world
from brachiate.kinematics_batch import BatchKinematics
from brachiate.motion.edit import join, move
from brachiate.motion.motion import Motion
from brachiate.motion.terrain import Stairs, Terrain
from brachiate.scenes.scene import Scene
from brachiate.show.canvas import Camera
from brachiate.show.plots import COLORS, import_pyplot, save_figure, style_axes
from brachiate.simulate.recording import Recording
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array

PUBLISHED = "as published"
SIDE = Camera(azimuth=-82.0, elevation=8.0)
ARROW_OFFSET = 0.45  # [m] distance of the tail of a push arrow from its point of application
PLOT_HEIGHT = 2.9  # [inch] of the plots below the postures
FRAME_RATE = 120.0  # [frames/s] of the standing reference

WALK = """\
[DF, Fig. 7 and 8] A walk made of joint angles, without regard to dynamics. The filter tracks it as closely as joint torques and ground
reaction forces allow. The picture shows the original, the result of the published filter, and ours; below, roll, pitch and yaw of the
pelvis."""
KICK = """\
[DF, Fig. 9] A kick on one leg. The published filter leans over the edge of the foot and falls; with a centroidal plan the center of
mass is above the stance foot in time, and the body stays balanced."""
SLOPE = """\
[DF, Fig. 10] The same walk on a terrain it was not made for: ten degrees downhill. Stance feet are placed on the slope, and the
centroidal plan keeps the balance."""
STEPS = """\
The same walk up three stairs it was not made for: 12 cm rise, 40 cm tread. Every foothold is on one tread, strides are adapted, swing
feet clear the edges, and the centroidal plan keeps the balance."""
TURN = """\
[DF, Fig. 11] Two walks, joined: the second half of a walk continues in another direction, with a short blend. The joined motion does not
lean into the turn, and a foot twists on the ground."""
PUSH = """\
[DF, Fig. 12] A standing figure is pushed in the back. The reference only stands still; the reaction is that of the filter. The published
filter withstands gentle pushes; with a centroidal plan it bends at the hips and withstands harder ones. A harder push from the front
requires a capture step backwards that the reference does not have; afterwards the foot returns."""


class FilterScene(Scene):
    """Figure that tracks a reference by the dynamics filter.

    Args:
        name: Name of the scene.
        title: Title of the scene.
        description: What happens.
        reference: Reference to track.
        seconds: Duration [s].
        pushes: External disturbances.
        names: Rows of its picture.
        options: Options of :func:`brachiate.filter.results.pose_strips.draw_pose_strips`.
    """

    def __init__(
        self,
        name: str,
        title: str,
        description: str,
        reference: Reference,
        seconds: float,
        pushes: Sequence[Push] = (),
        names: Sequence[str] = (ORIGINAL, PUBLISHED, FILTERED),
        **options: Any,
    ) -> None:
        world = simulation_world(reference)
        self.reference, self.pushes, self.names, self.options = reference, pushes, names, options
        self.tracker = OfflineTracker(world, FIGURE, reference, plan_whole_clip=True)
        simulation = Simulation(world, dt=reference.dt)
        simulation.control(self.tracker.control)
        for push in pushes:
            push.schedule(simulation, FIGURE)
        super().__init__(name, title, description, world, simulation, seconds, conservative=False)

    @cached_property
    def published(self) -> PaperFilterResult:
        """Result of the published filter, to the end or until it falls."""
        return run_paper_filter(simulation_world(self.reference), FIGURE, self.reference, pushes=self.pushes, progress=False)

    def filtered(self, run: Recording) -> FilterResult:
        """Result of the preview filter for a run of this scene."""
        return self.tracker.result(run)

    def rows(self, run: Recording) -> dict[str, Motion]:
        """Motions drawn below each other, with the forces that act on them."""
        filtered = self.filtered(run).motion
        published = self.published.motion.frames(slice(0, len(filtered)))
        rows = {ORIGINAL: self.reference.original, PUBLISHED: published, FILTERED: filtered}
        return {name: _with_pushes(rows[name], self.pushes) for name in self.names}

    def picture(self, run: Recording, path: str | Path, times: Any = None) -> None:
        """Draw postures of a run at equal intervals; ``times`` is ignored."""
        draw_pose_strips(self.rows(run), path, **self.options)


class FilterWalkScene(FilterScene):
    """Filter scene whose picture has the angles of the pelvis below the postures, as [DF] fig. 8."""

    def picture(self, run: Recording, path: str | Path, times: Any = None) -> None:
        """Draw postures, and pelvis angles over time."""
        image, rows = BytesIO(), self.rows(run)
        draw_pose_strips(rows, image, **self.options)
        image.seek(0)
        _draw_angles(import_pyplot().imread(image, format="png"), rows, path)


def filter_walk(seconds: float = 6.0, speed: float = 1.3, dt: float = 0.002) -> Scene:
    """A synthetic walk, made physically feasible.

    Args:
        seconds: Duration [s].
        speed: Walking speed [m/s].
        dt: Step length [s].
    """
    reference = make_reference(procedural.sample_motion("walk", seconds=seconds, speed=speed), dt=dt)
    return FilterWalkScene("filter-walk", "A walk, filtered", WALK, reference, _duration(reference))


def filter_kick(seconds: float = 2.4, high: float = 0.9, dt: float = 0.002) -> Scene:
    """A synthetic kick on one leg, made physically feasible.

    Args:
        seconds: Duration [s].
        high: Height of the ankle at the apex of the kick [m].
        dt: Step length [s].
    """
    reference = make_reference(procedural.sample_motion("kick", kick_height=high), dt=dt)
    return FilterScene("filter-kick", "A kick, filtered", KICK, reference, seconds)


def filter_slope(seconds: float = 4.0, slope: float = -10.0, dt: float = 0.002) -> Scene:
    """A walk on level ground, transferred to a slope.

    Args:
        seconds: Duration [s].
        slope: Inclination, positive uphill [deg].
        dt: Step length [s].
    """
    level = make_reference(procedural.sample_motion("walk", seconds=seconds), dt=dt)
    reference = make_reference(level.original, contacts=level.contacts, terrain=f"slope:{validation.number(slope, 'slope')}", dt=dt)
    options = {"in_place": True, "poses": 7, "view": SIDE, "weight_length": 0.5, "names": (PUBLISHED, FILTERED)}
    return FilterScene("filter-slope", "A walk down a slope, filtered", SLOPE, reference, _duration(reference), **options)


def filter_steps(seconds: float = 4.0, rise: float = 0.12, tread: float = 0.4, count: int = 3, dt: float = 0.002) -> Scene:
    """A walk on level ground, transferred to stairs, up or down.

    Args:
        seconds: Duration [s].
        rise: Height of a step [m]; negative for stairs that go down.
        tread: Depth of a step [m].
        count: Number of steps.
        dt: Step length of the simulation [s].
    """
    level = make_reference(procedural.sample_motion("walk", seconds=seconds), dt=dt)
    reference = make_reference(level.original, contacts=level.contacts, terrain=Terrain(0.0, stairs=Stairs(rise, tread, count)), dt=dt)
    options = {"poses": 9, "view": SIDE, "weight_length": 0.5, "names": (ORIGINAL, FILTERED)}
    return FilterScene("filter-steps", "A walk up steps, filtered", STEPS, reference, _duration(reference), **options)


def filter_turn(seconds: float = 5.0, angle: float = 30.0, cut: float = 2.47, blend: float = 0.6, dt: float = 0.002) -> Scene:
    """Two walks in different directions, joined and made a physically feasible turn.

    Args:
        seconds: Duration [s].
        angle: Angle of the turn, to the left [deg].
        cut: Time at which the second walk replaces the first [s].
        blend: Duration of the blend [s].
        dt: Step length [s].
    """
    walk = procedural.sample_motion("walk", seconds=seconds)
    reference = make_reference(with_a_turn(walk, angle, cut, blend), dt=dt)
    options = {"in_place": True, "poses": 8, "view": Camera(azimuth=-75.0, elevation=26.0)}
    return FilterScene("filter-turn", "Two walks, joined and filtered", TURN, reference, _duration(reference), **options)


def with_a_turn(walk: Motion, angle: float, cut: float, blend: float) -> Motion:
    """Walk whose second half is rotated about a vertical axis through the pelvis [deg] and blended with the first half [s]."""
    half, rate = 0.5 * validation.number(blend, "blend", above=0.0), (len(walk) - 1) / walk.duration
    cut = validation.number(cut, "cut", minimum=walk.times[0] + half, maximum=walk.times[-1] - half)
    first, last = (round((cut + side * half - walk.times[0]) * rate) for side in (-1, 1))
    middle = walk.q[(first + last) // 2, :2]
    then = move(walk.frames(slice(first, None)), angle=np.radians(validation.number(angle, "angle")), about=middle)
    return join([walk.frames(slice(0, last + 1)), then], (last - first) / rate, align=False)


def filter_push(
    seconds: float = 4.5,
    push: float = 200.0,
    at: float = 0.45,
    back: float = 260.0,
    then: float = 2.45,
    lasting: float = 0.15,
    dt: float = 0.002,
) -> Scene:
    """A figure standing by the dynamics filter is pushed from behind, then harder from the front.

    Args:
        seconds: Duration [s].
        push: Force on the chest, from behind [N].
        at: Time of the first push [s].
        back: Force on the chest, from the front [N].
        then: Time of the second push [s].
        lasting: Duration of each push [s].
        dt: Step length [s].
    """
    squat = procedural.sample_motion("squat")
    times = np.arange(round(validation.number(seconds, "seconds", above=0.1, maximum=60.0) * FRAME_RATE) + 1) / FRAME_RATE
    reference = make_reference(Motion(squat.figure, times, np.repeat(squat.q[:1], len(times), axis=0), "stand"), dt=dt)
    pushes = [Push("spine2", (validation.number(push, "push"), 0.0, 0.0), at, lasting)]
    pushes.append(Push("spine2", (-validation.number(back, "back"), 0.0, 0.0), then, lasting))
    options = {"poses": 10, "origin": reference.original, "view": SIDE, "weight_length": 1.2, "names": (PUBLISHED, FILTERED)}
    return FilterScene("filter-push", "Standing by the filter, and pushed", PUSH, reference, _duration(reference), pushes, **options)


def _duration(reference: Reference) -> float:
    return float(reference.times[-1] - reference.times[0])


def _with_pushes(motion: Motion, pushes: Sequence[Push]) -> Motion:
    """Motion with the forces of pushes added, each with its tail behind its point of application."""
    kinematics, forces = BatchKinematics(motion.figure).poses(motion.q), dict(motion.forces)
    for n, push in enumerate(pushes):
        place = motion.figure.placements[push.link]
        active = (motion.times >= push.start) & (motion.times < push.start + push.duration)
        at = kinematics.point(place.body, place.position + place.rotation @ push.point)
        back = ARROW_OFFSET * np.array(push.force) / max(float(np.linalg.norm(push.force)), 1e-12)
        forces[f"push {n}"] = np.concatenate((active[:, None] * np.array(push.force), at - back), axis=1)
    return replace(motion, forces=forces)


def _draw_angles(postures: Array, rows: Mapping[str, Motion], path: str | Path) -> None:
    """Draw roll, pitch and yaw of the root over time below a picture of postures."""
    plt = import_pyplot()
    high, wide = (size / DPI for size in postures.shape[:2])
    figure = plt.figure(figsize=(wide, high + PLOT_HEIGHT), dpi=DPI, facecolor=postures[0, 0])
    figure.figimage(postures, 0, int(PLOT_HEIGHT * DPI), origin="upper")
    for n, name in enumerate(("roll", "pitch", "yaw")):
        box = (
            (0.6 + n * (wide - 0.6) / 3) / wide,
            0.55 / (high + PLOT_HEIGHT),
            ((wide - 0.6) / 3 - 0.7) / wide,
            (PLOT_HEIGHT - 1.0) / (high + PLOT_HEIGHT),
        )
        axis = figure.add_axes(box, facecolor=postures[0, 0])
        for (row, motion), color in zip(rows.items(), COLORS, strict=False):
            axis.plot(motion.times, np.degrees(np.unwrap(_roll_pitch_yaw(motion)[n])), label=row, color=color, linewidth=1.4)
        axis.set_title(f"{name} of the pelvis [°]", fontsize=10, color=TEXT_COLOR)
        axis.set_xlabel("time [s]", fontsize=9)
        axis.tick_params(labelsize=8)
        style_axes(axis)
    figure.axes[0].legend(frameon=False, fontsize=8, loc="best")
    save_figure(figure, path, dpi=DPI, facecolor=postures[0, 0])


def _roll_pitch_yaw(motion: Motion) -> tuple[Array, Array, Array]:
    """Roll, pitch and yaw of the root [rad]."""
    R = rotations.to_matrix(motion.q[:, 3:7])
    return np.arctan2(R[:, 2, 1], R[:, 2, 2]), -np.arcsin(np.clip(R[:, 2, 0], -1, 1)), np.arctan2(R[:, 1, 0], R[:, 0, 0])
