"""The same falls in MuJoCo, with contacts as stiff as possible: ``python benchmarks/fall_peers.py``.

Only determinate quantities are compared. An object that is dropped and cannot roll comes to rest on a face; its final position differs by
millimeters. A stiff figure that is dropped comes to stand. The fall of a limp figure is chaotic, so it is compared until shortly after the
first contact. At rest the ground reaction force is the weight in both, and our state at rest should be at rest in MuJoCo, too.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
from rich.console import Console
from rich.table import Table

import convert
from brachiate import Box, Capsule, Cylinder, Free, Model, ModelBuilder, Simulation, World, figures
from brachiate.model.shapes import Shape
from brachiate.validation import Array
from contact import FRICTION, add_contact_to_mujoco

STEP, DROP = 0.001, 0.05  # [s], [m]
GRAVITY = 9.81


class Found(NamedTuple):
    """One comparison: the deviation, and the allowed one."""

    case: str
    what: str
    off: float
    allowed: float
    unit: str


class Twin:
    """A world and its equivalent in MuJoCo, from the same state."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.plan = convert.joints(world.model)
        spec = convert.to_mujoco(world.model)
        spec.option.timestep = STEP
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        spec.option.impratio = 100.0  # friction as stiff as normal contact
        add_contact_to_mujoco(spec, world)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.simulation = Simulation(world, dt=STEP, limits=False)
        self.give()

    def give(self) -> None:
        """Give MuJoCo our state."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = convert.to_mujoco_q(self.world.model, self.plan, self.world.q)
        self.data.qvel[:] = convert.mujoco_basis(self.world.model, self.plan, self.world.q) @ self.world.v

    def run(self, seconds: float) -> None:
        """Simulate both."""
        self.simulation.run(seconds, progress=False)
        mujoco.mj_step(self.model, self.data, round(seconds / STEP))

    def centers(self) -> tuple[Array, Array]:
        """Centers of mass."""
        mujoco.mj_forward(self.model, self.data)
        mass = self.model.body_mass
        return self.world.totals().center, (mass[:, None] * self.data.xipos).sum(axis=0) / mass.sum()

    def forces(self) -> tuple[float, float]:
        """Vertical ground reaction forces [N]."""
        run = self.simulation.run(STEP, progress=False)
        ours = sum(float(c.force[2]) for c in run.contacts.at(-1) if c.on.startswith("floor/"))
        mujoco.mj_step(self.model, self.data)
        theirs = 0.0
        for i in range(self.data.ncon):
            contact, f = self.data.contact[i], np.zeros(6)
            bodies = self.model.geom_bodyid[contact.geom1], self.model.geom_bodyid[contact.geom2]
            if 0 in bodies:
                mujoco.mj_contactForce(self.model, self.data, i, f)
                theirs += abs(float((contact.frame.reshape(3, 3).T @ f[:3])[2]))
        return ours, theirs

    def orientation(self) -> float:
        """Angle between the vertical axes of both first bodies [rad]."""
        ours = self.world.pose(next(name for name in self.world.model.links if name.startswith("one/"))).rotation
        first = int(np.flatnonzero(self.model.body_mass > 0)[0])
        theirs = self.data.xmat[first].reshape(3, 3)
        return float(np.arccos(np.clip(ours[2] @ theirs[2], -1, 1)))


def world_of(model: Model, height: float, turn: Array | None = None) -> World:
    """A figure at a height above level ground."""
    world = World()
    world.add(figures.ground(), "floor")
    one = world.add(model, "one")
    one.place((0, 0, height), turn)
    world.enable_contact(friction=FRICTION)
    return world


def thing(shape: Shape, mass: float) -> Model:
    """A free body of one shape."""
    b = ModelBuilder("thing")
    b.link("thing", joint=Free(), joint_name="root", mass=mass, shapes=shape)
    return b.build()


def things() -> list[Found]:
    """Objects dropped tilted, each of which comes to rest on a face."""
    found = []
    turn = np.array((np.cos(0.12), 0.8 * np.sin(0.12), 0.6 * np.sin(0.12), 0.0))
    shapes: dict[str, tuple[Shape, float]] = {
        "box": (Box(size=(0.3, 0.2, 0.1)), 0.05),
        "cylinder": (Cylinder(radius=0.15, length=0.1), 0.05),
        "plank": (Box(size=(0.6, 0.1, 0.05)), 0.025),
        "log": (Capsule(radius=0.08, length=0.5, rotation=(np.sqrt(0.5), np.sqrt(0.5), 0, 0)), 0.08),
    }
    for name, (shape, half) in shapes.items():
        twin = Twin(world_of(thing(shape, 3.0), half + 0.12, turn if name != "log" else np.array((np.cos(0.1), np.sin(0.1), 0, 0))))
        twin.run(4.0)
        (x, y), (ours, theirs) = twin.centers(), twin.forces()
        found += [
            Found(name, "height at rest", abs(x[2] - y[2]), 5e-4, "m"),
            Found(name, "place at rest", float(np.linalg.norm(x[:2] - y[:2])), 0.02, "m"),
            Found(name, "tilt at rest", twin.orientation(), 5e-3, "rad"),
            Found(name, "force at rest, ours", abs(ours / (3.0 * GRAVITY) - 1), 1e-3, ""),
            Found(name, "force at rest, MuJoCo", abs(theirs / (3.0 * GRAVITY) - 1), 1e-3, ""),
        ]
    return found


def standing() -> list[Found]:
    """A stiff figure, dropped by some centimeters, comes to stand."""
    world = World()
    world.add(figures.ground(), "floor")
    man = world.add(figures.human28().with_springs(600.0, "stand", 30.0), "one")
    world.enable_contact(friction=FRICTION)
    man.place(world.position("one/pelvis") + np.array((0, 0, DROP)))
    twin = Twin(world)
    twin.run(3.0)
    weight = world.totals().mass * GRAVITY
    (x, y), (ours, theirs) = twin.centers(), twin.forces()
    return [
        Found("standing", "center of mass at rest", float(np.linalg.norm(x - y)), 2e-3, "m"),
        Found("standing", "force at rest, ours", abs(ours / weight - 1), 1e-3, ""),
        Found("standing", "force at rest, MuJoCo", abs(theirs / weight - 1), 1e-3, ""),
    ]


def limp(seed: int) -> list[Found]:
    """A falling figure until after the first impact, and whether our final posture is at rest in MuJoCo."""
    rng = np.random.default_rng(seed)
    world = World()
    world.add(figures.ground(), "floor")
    man = world.add(figures.human28().with_springs(5.0, "stand", 1.5), "one")
    world.enable_contact(friction=FRICTION)
    man.place(world.position("one/pelvis") + np.array((0, 0, DROP)))
    v = np.zeros(world.model.nv)
    v[:6] = rng.normal(size=6) * 0.5
    world.v = v
    twin, name = Twin(world), f"fall {seed}"
    twin.run(0.2)  # feet have met the ground after 0.1 s
    x, y = twin.centers()
    found = [Found(name, "center of mass 0.1 s after landing", float(np.linalg.norm(x - y)), 5e-3, "m")]
    twin.run(12.0)
    weight = world.totals().mass * GRAVITY
    ours, theirs = twin.forces()
    found += [
        Found(name, "force at rest, ours", abs(ours / weight - 1), 1e-3, ""),
        Found(name, "force after 12 s, MuJoCo", abs(theirs / weight - 1), np.inf, ""),
    ]
    twin.give()  # our final posture
    start, _ = twin.centers()
    mujoco.mj_step(twin.model, twin.data, round(2.0 / STEP))
    _, there = twin.centers()
    return [*found, Found(name, "our rest moves in MuJoCo by", float(np.linalg.norm(there - start)), 0.02, "m")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write what was found to this file")
    given = parser.parse_args()
    found = [*things(), *standing(), *(f for seed in range(4) for f in limp(seed))]
    table = Table(title="the same falls here and in MuJoCo")
    for column in ("case", "what", "off by", "allowed"):
        table.add_column(column, justify="right" if column in ("off by", "allowed") else "left")
    for f in found:
        color = "green" if f.off <= f.allowed else "red"
        table.add_row(f.case, f.what, f"[{color}]{f.off:.2g} {f.unit}[/]", f"{f.allowed:.0e} {f.unit}" if f.allowed < np.inf else "")
    Console().print(table)
    if given.json:
        given.json.write_text(json.dumps([f._asdict() for f in found], indent=0))
    sys.exit(int(any(f.off > f.allowed for f in found)))


if __name__ == "__main__":
    main()
