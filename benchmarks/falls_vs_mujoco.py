"""Falls compared with MuJoCo, with its stiffest contacts: ``python benchmarks/falls_vs_mujoco.py [--json FILE]``.

Only determinate quantities are compared. A dropped object that cannot roll comes to rest on a face; final positions differ by millimeters.
A stiff figure comes to stand. The fall of a limp figure is chaotic, and compared until shortly after the first contact. At rest the ground
reaction force is the weight in both, and brachiate's state at rest should be at rest in MuJoCo, too. Exit code 1 if a bound is exceeded.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
from rich.table import Table

import convert
from brachiate import Box, Capsule, Cylinder, Free, Model, ModelBuilder, Simulation, World, figures
from brachiate.model.shapes import Shape
from brachiate.validation import Array
from contact import FRICTION, add_contact_to_mujoco
from results import make_console

DT, DROP_HEIGHT = 0.001, 0.05  # [s], [m]
REST_BOUND = 1e-3  # of the ground reaction force, relative to the weight
GRAVITY = 9.81


class Comparison(NamedTuple):
    """Deviation of one quantity, and its bound."""

    case: str
    quantity: str
    deviation: float
    bound: float
    unit: str


class SimulationPair:
    """A world and its equivalent in MuJoCo, from the same state."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.table = convert.joint_table(world.model)
        spec = convert.to_mujoco(world.model)
        spec.option.timestep = DT
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        spec.option.impratio = 100.0  # friction as stiff as normal contact
        add_contact_to_mujoco(spec, world)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.simulation = Simulation(world, dt=DT, limits=False)
        self.copy_state()

    def copy_state(self) -> None:
        """Set the state of MuJoCo to that of the world."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = convert.to_mujoco_q(self.world.model, self.table, self.world.q)
        self.data.qvel[:] = convert.mujoco_basis(self.world.model, self.table, self.world.q) @ self.world.v

    def run(self, seconds: float) -> None:
        """Simulate both."""
        self.simulation.run(seconds, progress=False)
        mujoco.mj_step(self.model, self.data, round(seconds / DT))

    def centers(self) -> tuple[Array, Array]:
        """Centers of mass in brachiate and MuJoCo [m]."""
        mujoco.mj_forward(self.model, self.data)
        mass = self.model.body_mass
        return self.world.totals().center, (mass[:, None] * self.data.xipos).sum(axis=0) / mass.sum()

    def forces(self) -> tuple[float, float]:
        """Vertical ground reaction forces in brachiate and MuJoCo, after one more step [N]."""
        run = self.simulation.run(DT, progress=False)
        own = sum(float(c.force[2]) for c in run.contacts.at(-1) if c.on.startswith("floor/"))
        mujoco.mj_step(self.model, self.data)
        mujoco_force = 0.0
        for i in range(self.data.ncon):
            contact, f = self.data.contact[i], np.zeros(6)
            bodies = self.model.geom_bodyid[contact.geom1], self.model.geom_bodyid[contact.geom2]
            if 0 in bodies:
                mujoco.mj_contactForce(self.model, self.data, i, f)
                mujoco_force += abs(float((contact.frame.reshape(3, 3).T @ f[:3])[2]))
        return own, mujoco_force

    def tilt_difference(self) -> float:
        """Angle between the vertical in the frame of the first body, in brachiate and MuJoCo [rad]."""
        own = self.world.pose(next(name for name in self.world.model.links if name.startswith("figure/"))).rotation
        first = int(np.flatnonzero(self.model.body_mass > 0)[0])
        other = self.data.xmat[first].reshape(3, 3)
        return float(np.arccos(np.clip(own[2] @ other[2], -1, 1)))


def world_with(model: Model, height: float, rotation: Array | None = None) -> World:
    """A figure at a height above level ground [m]."""
    world = World()
    world.add(figures.ground(), "floor")
    figure = world.add(model, "figure")
    figure.place((0, 0, height), rotation)
    world.enable_contact(friction=FRICTION)
    return world


def free_body(shape: Shape, mass: float) -> Model:
    """A free body of one shape."""
    b = ModelBuilder("object")
    b.link("object", joint=Free(), joint_name="root", mass=mass, shapes=shape)
    return b.build()


def force_comparisons(case: str, pair: SimulationPair, mass: float) -> list[Comparison]:
    """Deviation of the ground reaction forces at rest from the weight, relative."""
    own, other = pair.forces()
    weight = mass * GRAVITY
    return [
        Comparison(case, "force at rest / weight, brachiate", abs(own / weight - 1), REST_BOUND, ""),
        Comparison(case, "force at rest / weight, MuJoCo", abs(other / weight - 1), REST_BOUND, ""),
    ]


def dropped_objects() -> list[Comparison]:
    """Objects dropped tilted, each of which comes to rest on a face."""
    found = []
    tilted = np.array((np.cos(0.12), 0.8 * np.sin(0.12), 0.6 * np.sin(0.12), 0.0))
    rolled = np.array((np.cos(0.1), np.sin(0.1), 0, 0))
    shapes: dict[str, tuple[Shape, float]] = {
        "box": (Box(size=(0.3, 0.2, 0.1)), 0.05),
        "cylinder": (Cylinder(radius=0.15, length=0.1), 0.05),
        "plank": (Box(size=(0.6, 0.1, 0.05)), 0.025),
        "log": (Capsule(radius=0.08, length=0.5, rotation=(np.sqrt(0.5), np.sqrt(0.5), 0, 0)), 0.08),
    }
    for name, (shape, half_height) in shapes.items():
        pair = SimulationPair(world_with(free_body(shape, 3.0), half_height + 0.12, rolled if name == "log" else tilted))
        pair.run(4.0)
        own, other = pair.centers()
        forces = force_comparisons(name, pair, 3.0)
        found += [
            Comparison(name, "height at rest", abs(own[2] - other[2]), 5e-4, "m"),
            Comparison(name, "horizontal position at rest", float(np.linalg.norm(own[:2] - other[:2])), 0.02, "m"),
            Comparison(name, "tilt at rest", pair.tilt_difference(), 5e-3, "rad"),
            *forces,
        ]
    return found


def figure_world(stiffness: float, damping: float) -> World:
    """human28 with springs in its joints [N·m/rad, N·m·s/rad], some centimeters above the ground."""
    world = World()
    world.add(figures.ground(), "floor")
    figure = world.add(figures.human28().with_springs(stiffness, "stand", damping), "figure")
    world.enable_contact(friction=FRICTION)
    figure.place(world.position("figure/pelvis") + np.array((0, 0, DROP_HEIGHT)))
    return world


def standing() -> list[Comparison]:
    """A stiff figure, dropped by some centimeters, comes to stand."""
    world = figure_world(600.0, 30.0)
    pair = SimulationPair(world)
    pair.run(3.0)
    own, other = pair.centers()
    difference = float(np.linalg.norm(own - other))
    forces = force_comparisons("standing", pair, world.totals().mass)
    return [Comparison("standing", "center of mass at rest", difference, 2e-3, "m"), *forces]


def limp_fall(seed: int) -> list[Comparison]:
    """A limp figure until shortly after the first contact, and whether brachiate's final state is at rest in MuJoCo."""
    rng, case = np.random.default_rng(seed), f"fall {seed}"
    world = figure_world(5.0, 1.5)
    v = np.zeros(world.model.nv)
    v[:6] = rng.normal(size=6) * 0.5
    world.v = v
    pair = SimulationPair(world)
    pair.run(0.2)  # the feet touch after 0.1 s
    own, other = pair.centers()
    found = [Comparison(case, "center of mass 0.1 s after contact", float(np.linalg.norm(own - other)), 5e-3, "m")]
    pair.run(12.0)
    at_rest, unbounded = force_comparisons(case, pair, world.totals().mass)
    found += [at_rest, unbounded._replace(quantity="force after 12 s / weight, MuJoCo", bound=np.inf)]
    pair.copy_state()
    start, _ = pair.centers()
    mujoco.mj_step(pair.model, pair.data, round(2.0 / DT))
    _, end = pair.centers()
    return [*found, Comparison(case, "drift of brachiate's rest state in MuJoCo", float(np.linalg.norm(end - start)), 0.02, "m")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the comparisons to this file")
    options = parser.parse_args()
    found = [*dropped_objects(), *standing(), *(c for seed in range(4) for c in limp_fall(seed))]
    table = Table(title="falls in brachiate and MuJoCo")
    for heading in ("case", "quantity", "deviation", "bound"):
        table.add_column(heading, justify="right" if heading in ("deviation", "bound") else "left")
    for c in found:
        color = "green" if c.deviation <= c.bound else "red"
        bound = f"{c.bound:.0e} {c.unit}" if c.bound < np.inf else ""
        table.add_row(c.case, c.quantity, f"[{color}]{c.deviation:.2g} {c.unit}[/]", bound)
    make_console().print(table)
    if options.json:
        options.json.write_text(json.dumps([c._asdict() for c in found], indent=0))
    sys.exit(int(any(c.deviation > c.bound for c in found)))


if __name__ == "__main__":
    main()
