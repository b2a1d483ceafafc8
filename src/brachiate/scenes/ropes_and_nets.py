"""Figures on ropes and in nets of particles: a swing on a rope that is let go, a trapeze on straps, a jump into a net."""

from __future__ import annotations

import numpy as np

from brachiate import figures
from brachiate.model.joints import Revolute
from brachiate.particles import Coupling, ParticleSystem, from_arrays
from brachiate.particles import net as make_net
from brachiate.scenes import props
from brachiate.scenes.placement import SIDES, place_at, rotation_about_y
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Camera, ViewSettings
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array
from brachiate.world.world import World

ROPE_ABOUT = """\
A figure holds both ends of a strap at the end of a rope of particles and swings. Each hand is attached to a particle; when both are cut,
the figure flies on and lands. Momentum of rope and figure together changes by gravity and by the forces of ceiling and ground only."""
TRAPEZE_ABOUT = """\
A bar hangs on two straps of particles, whose last ones are attached to it, and a figure hangs from the bar by hinges at both hands. When
one hand lets go, the bar tilts, and the strap on the other side bears about twice as much. No motor acts; springs and dampers keep
the posture."""
NET_ABOUT = """\
A figure falls into a net of particles, which collide with the shapes of its links. The net stretches, stops the figure and throws it up
again; its ropes and the contacts dissipate energy."""

CEILING = 6.0  # [m] height at which the rope is fixed
STRAP = 0.35  # [m] height of the strap above the hands
NET_RADIUS = 0.02  # [m] of the particles of a net
ROPE_STIFFNESS, ROPE_DAMPING_TIME = 1.5e5, 5e-4  # axial stiffness [N], damping over stiffness [s]


def rope_swing(
    angle: float = 50.0,
    release: float = 1.6,
    seconds: float = 2.6,
    length: float = 3.0,
    mass: float = 2.0,
    count: int = 20,
    stiffness: float = 60.0,
    damping: float = 4.0,
    dt: float = 0.002,
) -> Scene:
    """A figure swings on a rope of particles and lets go.

    Args:
        angle: Of the rope to the vertical at the start [deg].
        release: Time at which the hands let go [s].
        seconds: Duration [s].
        length: Of the rope [m].
        mass: Of the rope [kg].
        count: Number of its links.
        stiffness: Of the joints towards the hanging posture [N·m/rad].
        damping: Of the joints [N·m·s/rad].
        dt: Step length [s].
    """
    world = World()
    world.add(figures.ground(), name="floor")
    man = world.add(figures.human28().with_springs(stiffness, "hang", damping), name="man")
    man.set_pose("hang")
    R = rotation_about_y(angle)
    top = np.array((0.0, 0.0, CEILING))
    place_at(world, man, [f"{side}_grip" for side in SIDES], top - (length + STRAP) * R[:, 2], R)
    world.enable_contact(friction=0.8)
    hands = np.array([world.position(f"man/{side}_grip") for side in SIDES])
    rope = hanging_strap(top, top - length * R[:, 2], hands, mass, count)
    coupling = Coupling(world, rope)
    grips = [coupling.attach(side, f"man/{side}_grip") for side in SIDES]
    simulation = Simulation(world, dt=dt)
    simulation.couple(coupling)
    simulation.at(release, lambda: [coupling.cut(grip) for grip in grips])
    look = ViewSettings(
        Camera(azimuth=-75, elevation=6), times=(0, 0.6, 1.0, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4, seconds), columns=5, forces=False
    )
    title = "Swing on a rope of particles, let go"
    return Scene("rope-swing", title, ROPE_ABOUT, world, simulation, seconds, look, conservative=False)


def hanging_strap(top: Array, bottom: Array, hands: Array, mass: float, count: int) -> ParticleSystem:
    """Rope from a fixed point to a strap, whose ends are the particles ``left`` and ``right``."""
    line = np.linspace(top, bottom, count + 1)
    ends = [(i, i + 1) for i in range(count)]
    length = float(np.linalg.norm(bottom - top))
    k = np.full(count, ROPE_STIFFNESS * count / length)
    masses = np.full(count + 1, mass / count)
    rope = from_arrays(line, masses, ends, stiffness=k, damping=k * ROPE_DAMPING_TIME, fixed=np.arange(count + 1) == 0)
    rope.add_particles(hands, mass / count, names=list(SIDES))
    strap = np.linalg.norm(hands - bottom, axis=1)
    k = ROPE_STIFFNESS / strap
    rope.add_links(
        [(count, count + 1), (count, count + 2)], stiffness=k, damping=k * ROPE_DAMPING_TIME, names=["left strap", "right strap"]
    )
    return rope


def strap_trapeze(
    angle: float = 40.0,
    release: float = 1.5,
    seconds: float = 2.6,
    length: float = 2.2,
    count: int = 20,
    stiffness: float = 60.0,
    damping: float = 1.0,
    dt: float = 0.002,
    integrator: str = "rk4",
) -> Scene:
    """A figure swings on a trapeze that hangs on straps of particles, and lets go with one hand.

    Args:
        angle: Of the straps to the vertical at the start [deg].
        release: Time at which the right hand lets go [s].
        seconds: Duration [s].
        length: Of the straps [m].
        count: Number of links of each strap.
        stiffness: Of the joints towards the hanging posture [N·m/rad].
        damping: Of the joints [N·m·s/rad].
        dt: Step length [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World()
    man = world.add(figures.human28().with_springs(stiffness, "hang", damping), name="man")
    bar = world.add(props.trapeze_bar(), name="bar")
    man.set_pose("hang")
    R = rotation_about_y(angle)
    bar.place(np.array((0.0, 0.0, CEILING)) - length * R[:, 2], R)
    place_at(world, man, [f"{side}_grip" for side in SIDES], world.position("bar/rod"), R)
    ends = np.array([world.position(f"bar/{side}") for side in SIDES])
    coupling = Coupling(world, two_straps(ends + length * R[:, 2], ends, count))
    for n, side in enumerate(SIDES):
        coupling.attach(f"p{(n + 1) * (count + 1)}", f"bar/{side}", name=f"{side} strap")
    simulation = Simulation(world, dt=dt, integrator=integrator)
    simulation.couple(coupling)
    look = ViewSettings(Camera(azimuth=-50, elevation=8), ground=False, times=(0, 0.5, 1.0, 1.5, 1.8, 2.1, 2.4), columns=7)
    title = "Trapeze on straps of particles"
    scene = Scene("strap-trapeze", title, TRAPEZE_ABOUT, world, simulation, seconds, look, conservative=False)
    hands = [scene.connect(f"man/{side}_grip", "bar/rod", Revolute("y"), name=f"{side} hand") for side in SIDES]
    simulation.at(release, lambda: scene.cut(hands[1]))
    return scene


def two_straps(tops: Array, ends: Array, count: int, mass: float = 0.5) -> ParticleSystem:
    """Two straps of a mass [kg] each from fixed points (2, 3) to free ends (2, 3) [m]."""
    lines = np.concatenate([np.linspace(top, end, count + 1) for top, end in zip(tops, ends, strict=True)])
    links = [(i, i + 1) for first in (0, count + 1) for i in range(first, first + count)]
    k = ROPE_STIFFNESS * count / np.linalg.norm(tops[0] - ends[0])
    fixed = np.arange(len(lines)) % (count + 1) == 0
    return from_arrays(lines, np.full(len(lines), mass / count), links, stiffness=k, damping=k * ROPE_DAMPING_TIME, fixed=fixed)


def net(
    height: float = 2.0,
    drop: float = 1.6,
    mesh: float = 0.08,
    cells: int = 34,
    seconds: float = 1.8,
    stiffness: float = 40.0,
    damping: float = 4.0,
    dt: float = 0.002,
) -> Scene:
    """A figure is thrown into a net of particles.

    Args:
        height: Of the net [m].
        drop: Height of the figure above it [m].
        mesh: Distance of neighbouring particles [m].
        cells: Number of meshes along each side.
        seconds: Duration [s].
        stiffness: Of the joints towards the standing posture [N·m/rad].
        damping: Of the joints [N·m·s/rad].
        dt: Step length [s].
    """
    world = World()
    world.add(figures.ground(), name="floor")
    man = world.add(figures.human28().with_springs(stiffness, "stand", damping), name="man")
    place_at(world, man, ["pelvis"], (-0.5, 0.0, height + drop), rotation_about_y(70.0))
    world.set_velocity({"man/root": (0.3, 0.0, 0.6, 0.0, 0.6, 0.0)})
    world.enable_contact(friction=0.6)
    ropes = make_net(cells + 1, cells + 1, mesh, height, mass=10.0, stiffness=5e3, damping_time=2e-3)
    ropes.arrays.radius[:] = NET_RADIUS
    coupling = Coupling(world, ropes)
    coupling.enable_contact(friction=0.6)
    simulation = Simulation(world, dt=dt)
    simulation.couple(coupling)
    look = ViewSettings(
        Camera(azimuth=-70, elevation=14), times=(0, 0.4, 0.6, 0.8, 1.2, seconds), columns=3, pixels_per_inch=80, forces=False
    )
    return Scene("net", "A net of particles catches a figure", NET_ABOUT, world, simulation, seconds, look, conservative=False)
