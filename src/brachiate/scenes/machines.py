"""Actuated mechanisms in motion: a Stewart platform, a scissor lift, a five-bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from brachiate import figures
from brachiate.figures.poses import axis_quaternion, quaternion_product
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Camera, ViewSettings
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array, rotation_matrix
from brachiate.world.world import World

STEWART = """\
All six leg lengths are prescribed: the platform has no degree of freedom left and moves up, to either side, around, and back. The leg
forces are the constraint forces: world.locks["stewart/length1"].torque."""
SCISSORS = """\
The slider is prescribed, and the lift follows: 8 joint variables, 7 rows in the plane, no degree of freedom left.
world.locks["lift/slider"].torque is the force of its motor."""
FIVEBAR = """\
Two motors draw a circle with the tip of a parallel robot: PD control of the crank angles from inverse kinematics. The tracking error is
the distance of the tip from the circle."""

LEGS = 6


def rest_to_rest(start: float, end: float, over: float) -> list[float]:
    """Coefficients of the quintic polynomial between two values with zero velocity and acceleration at both ends."""
    d = end - start
    return [start, 0.0, 0.0, 10 * d / over**3, -15 * d / over**4, 6 * d / over**5]


def _prescribe_stops(scene: Scene, stops: Sequence[Mapping[str, float]], over: float) -> None:
    """Prescribe coordinates through a sequence of stops."""
    world = scene.world

    def move(start: Mapping[str, float], end: Mapping[str, float]) -> None:
        for name in start:
            if name in world.locks:
                world.release(name)
        for name in start:
            world.prescribe(name, rest_to_rest(start[name], end[name], over), duration=over)

    for k, (start, end) in enumerate(pairwise(stops)):
        scene.simulation.at(k * over, lambda start=start, end=end: move(start, end))


def stewart(over: float = 0.6, seconds: float = 3.0, dt: float = 0.005, integrator: str = "rk4") -> Scene:
    """A Stewart platform is moved by its six legs.

    Args:
        over: Duration of each of the five moves [s].
        seconds: Duration [s].
        dt: Step length [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World()
    world.add(figures.stewart(), name="stewart")
    poses = [
        ((0, 0, 0), (1, 0, 0, 0)),
        ((0, 0, 0.09), (1, 0, 0, 0)),
        ((0.10, 0, 0.03), axis_quaternion((0, 1, 0), 14)),
        ((-0.08, 0.06, 0.03), axis_quaternion((1, 0, 0), 12)),
        ((0, 0, -0.02), quaternion_product(axis_quaternion((0, 0, 1), 20), axis_quaternion((0, 1, 0), -8))),
        ((0, 0, 0), (1, 0, 0, 0)),
    ]
    stops = [_legs(world, np.array(moved, float), rotation_matrix(turned, "pose")) for moved, turned in poses]
    look = ViewSettings(Camera(azimuth=-60, elevation=18), columns=6, times=tuple(over * k for k in range(6)))
    simulation = Simulation(world, dt=dt, integrator=integrator)
    scene = Scene("stewart", "A Stewart platform is moved by its legs", STEWART, world, simulation, seconds, look, conservative=False)
    _prescribe_stops(scene, stops, over)
    return scene


def _legs(world: World, moved: Array, turned: Array) -> dict[str, float]:
    """Inverse kinematics: leg lengths [m] for a pose of the platform relative to the present one."""
    platform = world.pose("stewart/platform")
    lengths = {}
    for i in range(1, LEGS + 1):
        low, high = world.position(f"stewart/barrel{i}"), world.position(f"stewart/piston{i}")
        new = platform.position + moved + turned @ (high - platform.position)
        lengths[f"stewart/length{i}"] = float(np.linalg.norm(new - low) - np.linalg.norm(high - low))
    return lengths


def scissor_lift(stages: int = 3, over: float = 1.5, seconds: float = 3.0, dt: float = 0.005, integrator: str = "rk4") -> Scene:
    """A scissor lift is raised and lowered by its slider.

    Args:
        stages: Number of pairs of bars.
        over: Duration of the ascent, and of the descent [s].
        seconds: Duration [s].
        dt: Step length [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World()
    model = figures.scissor_lift(stages, angle=15.0)
    world.add(model, name="lift")
    low, high = world.angle("lift/slider"), float(model.poses["up"][model.q_slice("slider")][0])
    look = ViewSettings(Camera(azimuth=-65, elevation=10), columns=6, times=tuple(over * k / 5 for k in range(6)))
    simulation = Simulation(world, dt=dt, integrator=integrator)
    scene = Scene("scissor-lift", "A scissor lift goes up and down", SCISSORS, world, simulation, seconds, look, conservative=False)
    _prescribe_stops(scene, [{"lift/slider": low}, {"lift/slider": high}, {"lift/slider": low}], over)
    return scene


def fivebar(radius: float = 0.06, turns: float = 1.0, seconds: float = 2.0, dt: float = 0.002, integrator: str = "rk4") -> Scene:
    """The motors of a five-bar draw a circle with its tip.

    Args:
        radius: Radius of the circle [m].
        turns: Revolutions per second.
        seconds: Duration [s].
        dt: Step length [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World()
    base, crank, rod = 0.16, 0.20, 0.30
    world.add(figures.fivebar(base=base, crank=crank, rod=rod), name="arm")
    center = world.position("arm/tip") - (radius, 0, 0)
    look = ViewSettings(Camera(azimuth=-90, elevation=65), columns=5, times=tuple(k / (5 * turns) for k in range(5)))
    simulation = Simulation(world, dt=dt, integrator=integrator)
    scene = Scene("fivebar", "A five-bar draws a circle", FIVEBAR, world, simulation, seconds, look, conservative=False)

    def angles(time: float) -> Array:
        """Inverse kinematics: angles of the left and right crank at a time."""
        phase = 2 * np.pi * turns * time
        tip = center[:2] + radius * np.array((np.cos(phase), np.sin(phase)))
        cranks = []
        for s in (1.0, -1.0):
            to_tip = tip - (0.0, s * base / 2)
            far = float(np.linalg.norm(to_tip))
            inside = np.arccos((crank**2 + far**2 - rod**2) / (2 * crank * far))
            cranks.append(np.arctan2(to_tip[1], to_tip[0]) + s * inside)
        return np.array(cranks)

    def motors(w: World) -> None:
        goal, rate = angles(w.time), (angles(w.time + 1e-4) - angles(w.time - 1e-4)) / 2e-4
        for name, angle, speed in zip(("arm/left_crank", "arm/right_crank"), goal, rate, strict=True):
            k = w.model.coordinate_index[name]
            w.torque[k] = 200.0 * (angle - w.angle(name)) + 2.0 * (speed - w.rate(name))

    simulation.control(motors)
    return scene
