"""Failure rate of trial and error over contact states [DF]: ``python benchmarks/trial_and_error.py [--falls N] [--json FILE]``.

A human figure in random postures hits the ground, with random velocities, with its 1 to 10 lowest shapes at once: soles as faces, limbs
and trunk as lines, or as points where they are steep. The impulses of a fall are one coupled contact problem, solved by the published
method, and by the corrected one (change to the edge that the center of pressure crosses). Counted are falls after which a contact corner
still moves into the ground faster than 1 mm/s, which the published force checks do not detect.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.markup import escape
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
from results import make_console

CONTACT_COUNTS = (1, 2, 3, 4, 6, 10)
MAX_PENETRATION_SPEED = 1e-3  # [m/s]
FRICTION = 0.7
METHODS = {"published": False, "corrected": True}  # whether states change to edges by the center of pressure
STEEP = 0.05  # [m] height difference of the ends of a limb from which its contact is a point
FLEXED_JOINTS = ("right_knee", "right_elbow", "left_knee", "left_elbow")


class GroundContact(NamedTuple):
    """Contact of a link with the ground: corners in contact axes from a point, the axes as columns along world axes."""

    link: str
    height: float
    point: Array
    axes: Array
    corners: Array


def set_random_state(rng: np.random.Generator, world: World) -> None:
    """Random posture and orientation of the figure, falling at about 1.5 m/s."""
    world.q = world.model.neutral
    change = rng.normal(size=world.model.nv) * 0.4
    change[:3], change[3:6] = 0.0, rng.normal(size=3) * 2.0
    world.q = world.integrate(change, 1.0)
    for name in FLEXED_JOINTS:
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
    return sorted(found, key=lambda contact: contact.height)


def ground_contact(link: str, shape: Shape, R: Array, p: Array) -> GroundContact:
    """Ground contact of one shape: the face of a box, the line or end of a capsule."""
    points = lowest_face(shape, R, p) if isinstance(shape, Box) else lowest_line(shape, R, p)
    along = points[1] - points[0] if len(points) > 1 else np.array((1.0, 0, 0))
    x = np.array((along[0], along[1], 0)) / np.hypot(along[0], along[1])
    axes = np.column_stack((x, np.cross((0, 0, 1), x), (0, 0, 1)))
    center = points.mean(axis=0)
    return GroundContact(link, points[:, 2].min(), center, axes, ((points - center) @ axes)[:, :2])


def lowest_face(shape: Box, R: Array, p: Array) -> Array:
    """Corners of the lowest face of a box, in the world, counter-clockwise seen from above."""
    rotation = R @ shape.rotation
    axis = int(np.abs(rotation[2]).argmax())
    one, other = (axis + 1) % 3, (axis + 2) % 3
    corners = np.zeros((4, 3))
    corners[:, axis] = -np.sign(rotation[2, axis])
    corners[:, one], corners[:, other] = (-1, 1, 1, -1), (-1, -1, 1, 1)
    points = (corners * shape.size / 2) @ rotation.T + R @ shape.position + p
    return points if rotation[2, axis] > 0 else points[::-1]


def lowest_line(shape: Shape, R: Array, p: Array) -> Array:
    """The lowest line of a capsule, in the world, or its lowest point if it is steep."""
    assert isinstance(shape, Capsule)
    ends = np.array(((0, 0, -shape.length / 2), (0, 0, shape.length / 2)))
    points = (ends @ shape.rotation.T + shape.position) @ R.T + p - (0, 0, shape.radius)
    return points if abs(points[0, 2] - points[1, 2]) <= STEEP else points[[points[:, 2].argmin()]]


def contact_problem(world: World, contacts: list[GroundContact]) -> ContactProblem:
    """Coupled contact problem: Delassus matrix H A⁻¹ Hᵀ and velocities before the impact."""
    rows = []
    for contact in contacts:
        R, p = world.pose(contact.link)
        J = world.jacobian(contact.link, R.T @ (contact.point - p))
        rows += [contact.axes.T @ J[:3], contact.axes.T @ J[3:]]
    H = np.vstack(rows)
    G = H @ np.linalg.solve(world.mass_matrix(), H.T)
    return problem_from_dense([contact.corners for contact in contacts], (G + G.T) / 2, H @ world.v, FRICTION)


def study(contacts: int, falls: int, seed: int) -> dict[str, float]:
    """Falls with one number of contacts, solved by the published and by the corrected method."""
    rng, world, trial = np.random.default_rng([seed, contacts]), World(), new_trial(contacts)
    world.add(br.figures.human28(), "man")
    speeds, solves, seconds = ({name: [] for name in METHODS} for _ in range(3))
    for _ in range(falls):
        set_random_state(rng, world)
        problem = contact_problem(world, ground_contacts(world)[:contacts])
        handle = ArrayHandle(problem, trial)
        for name, edges in METHODS.items():
            start = time.perf_counter()
            solves[name].append(solve_by_trial(handle.key, True, True, edges))
            seconds[name].append(time.perf_counter() - start)
            speeds[name].append(float(problem.residual[0]))
    result: dict[str, float] = {"contacts": contacts, "falls": falls}
    for name in METHODS:
        result[f"{name}_failure_share"] = float((np.array(speeds[name]) > MAX_PENETRATION_SPEED).mean())
        result[f"{name}_penetration_speed_median_m_s"] = float(np.median(speeds[name]))
        result[f"{name}_solves_mean"] = float(np.mean(solves[name]))
        result[f"{name}_time_mean_us"] = 1e6 * sum(seconds[name]) / falls
    return result


def print_table(results: list[dict[str, float]]) -> None:
    table = Table(title="Falls with motion into the ground above 1 mm/s after trial and error over contact states")
    for heading in ("contacts", "method", "failures", "median speed [m/s]", "solves", "time [µs]"):
        table.add_column(escape(heading), justify="left" if heading == "method" else "right")
    quantities = "failure_share", "penetration_speed_median_m_s", "solves_mean", "time_mean_us"
    for result in results:
        for name in METHODS:
            share, speed, solves, microseconds = (result[f"{name}_{quantity}"] for quantity in quantities)
            table.add_row(str(result["contacts"]), name, f"{share:.0%}", f"{speed:.2g}", f"{solves:.1f}", f"{microseconds:.0f}")
    make_console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--falls", type=int, default=1000, help="number of falls for each number of contacts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    study(1, 1, options.seed)  # compiles
    results = [study(contacts, options.falls, options.seed) for contacts in CONTACT_COUNTS]
    print_table(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
