"""How often trial and error over contact states [DF] leaves motion into the ground: ``python benchmarks/paper_states.py``.

A human figure in random postures hits the ground, with random velocities, with its 1 to 10 lowest shapes at once: soles as faces, limbs
and trunk as lines, or as points where they are steep. The impulses that stop it are one coupled problem for each fall. Solved once as
printed, once with our correction (to the edge over which the center of pressure leaves). Counted are corners that move into the ground
faster than 1 mm/s afterwards, which no check of forces detects.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import brachiate as br
from brachiate.compiled import ArrayHandle
from brachiate.contact.arrays import ContactProblem
from brachiate.contact.published.trial import new_trial
from brachiate.contact.published.trial_and_error import solve_by_trial
from brachiate.contact.solver.dense_problem import problem_from_dense
from brachiate.model.shapes import Box, Capsule, Shape
from brachiate.validation import Array
from brachiate.world.world import World

PAIRS = (1, 2, 3, 4, 6, 10)
INTO_GROUND = 1e-3  # [m/s]
FRICTION = 0.7
STEEP = 0.05  # [m] a limb whose other end is higher has a point contact
BENDS = ("right_knee", "right_elbow", "left_knee", "left_elbow")


class GroundContact(NamedTuple):
    """Contact of a link with the ground: corners in contact axes from a point, the axes as columns along world axes."""

    link: str
    height: float
    point: Array
    axes: Array
    corners: Array


def fall(rng: np.random.Generator, world: World) -> None:
    """Random posture and orientation of the figure, falling at about 1.5 m/s."""
    world.q = world.model.neutral
    bend = rng.normal(size=world.model.nv) * 0.4
    bend[:3], bend[3:6] = 0.0, rng.normal(size=3) * 2.0
    world.q = world.integrate(bend, 1.0)
    for name in BENDS:
        world[f"man/{name}"] = abs(rng.normal() * 0.5)
    velocity = rng.normal(size=world.model.nv) * 1.5
    velocity[:3] = rng.normal(size=3) * 0.7 - (0, 0, 1.5)
    world.v = velocity


def ground_contacts(world: World) -> list[GroundContact]:
    """Ground contacts of all shapes, the lowest first."""
    found = []
    for name, link in world.model.links.items():
        R, p = world.pose(name)
        found += [ground_contact(name, shape, R, p) for shape in link.shapes if shape.collides]
    return sorted(found, key=lambda t: t.height)


def ground_contact(link: str, shape: Shape, R: Array, p: Array) -> GroundContact:
    """Ground contact of one shape: the face of a box, the line or end of a capsule."""
    points = face_below(shape, R, p) if isinstance(shape, Box) else line_below(shape, R, p)
    along = points[1] - points[0] if len(points) > 1 else np.array((1.0, 0, 0))
    x = np.array((along[0], along[1], 0)) / np.hypot(along[0], along[1])
    axes = np.column_stack((x, np.cross((0, 0, 1), x), (0, 0, 1)))
    center = points.mean(axis=0)
    return GroundContact(link, points[:, 2].min(), center, axes, ((points - center) @ axes)[:, :2])


def face_below(shape: Box, R: Array, p: Array) -> Array:
    """Corners of the lowest face of a box, in the world, counter-clockwise seen from above."""
    turn = R @ shape.rotation
    axis = int(np.abs(turn[2]).argmax())
    one, other = (axis + 1) % 3, (axis + 2) % 3
    corners = np.zeros((4, 3))
    corners[:, axis] = -np.sign(turn[2, axis])
    corners[:, one], corners[:, other] = (-1, 1, 1, -1), (-1, -1, 1, 1)
    points = (corners * shape.size / 2) @ turn.T + R @ shape.position + p
    return points if turn[2, axis] > 0 else points[::-1]


def line_below(shape: Shape, R: Array, p: Array) -> Array:
    """The lowest line of a capsule, in the world, or its lowest point if it is steep."""
    assert isinstance(shape, Capsule)
    ends = np.array(((0, 0, -shape.length / 2), (0, 0, shape.length / 2)))
    points = (ends @ shape.rotation.T + shape.position) @ R.T + p - (0, 0, shape.radius)
    return points if abs(points[0, 2] - points[1, 2]) <= STEEP else points[[points[:, 2].argmin()]]


def problem_of(world: World, at: list[GroundContact]) -> ContactProblem:
    """Coupled contact problem: H A⁻¹ Hᵀ and the velocities before the impact."""
    rows = []
    for t in at:
        R, p = world.pose(t.link)
        J = world.jacobian(t.link, R.T @ (t.point - p))
        rows += [t.axes.T @ J[:3], t.axes.T @ J[3:]]
    H = np.vstack(rows)
    G = H @ np.linalg.solve(world.mass_matrix(), H.T)
    return problem_from_dense([t.corners for t in at], (G + G.T) / 2, H @ world.v, FRICTION)


def study(pairs: int, falls: int, seed: int) -> dict[str, float]:
    """Solve the falls with one number of contacts, as printed and by edges."""
    rng, world, trial = np.random.default_rng([seed, pairs]), World(), new_trial(pairs)
    world.add(br.figures.human28(), "man")
    into, solves, seconds = {False: [], True: []}, {False: [], True: []}, {False: 0.0, True: 0.0}
    for _ in range(falls):
        fall(rng, world)
        problem = problem_of(world, ground_contacts(world)[:pairs])
        handle = ArrayHandle(problem, trial)
        for edges in (False, True):
            begun = time.perf_counter()
            solves[edges].append(solve_by_trial(handle.key, True, True, edges))
            seconds[edges] += time.perf_counter() - begun
            into[edges].append(float(problem.residual[0]))
    result: dict[str, float] = {"pairs": pairs, "falls": falls}
    for edges, name in ((False, "printed"), (True, "by_edges")):
        speeds = np.array(into[edges])
        result[f"{name}_into_ground"] = float((speeds > INTO_GROUND).mean())
        result[f"{name}_median_speed"] = float(np.median(speeds))
        result[f"{name}_solves"] = float(np.mean(solves[edges]))
        result[f"{name}_us"] = 1e6 * seconds[edges] / falls
    return result


def show(found: list[dict[str, float]]) -> None:
    table = Table(title="Falls with motion into the ground after trial and error over contact states (> 1 mm/s)")
    table.add_column("pairs", justify="right")
    for name in ("as printed", "by edges"):
        for heading in (name, "median m/s", "solves", "µs"):
            table.add_column(heading, justify="right")
    for f in found:
        cells = []
        for name in ("printed", "by_edges"):
            share, speed, solves, us = (f[f"{name}_{what}"] for what in ("into_ground", "median_speed", "solves", "us"))
            cells += [f"{share:.0%}", f"{speed:.2g}", f"{solves:.1f}", f"{us:.0f}"]
        table.add_row(str(f["pairs"]), *cells)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--falls", type=int, default=1000, help="how many for each number of pairs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the results to this file")
    given = parser.parse_args()
    study(1, 1, given.seed)  # compiles
    found = [study(pairs, given.falls, given.seed) for pairs in PAIRS]
    show(found)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
