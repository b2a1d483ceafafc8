"""Long-run accuracy of closed loops: ``python benchmarks/studies.py [--steps N] [--json FILE]``.

The monkey swing for a million steps of 1 ms (RK4), hands connected to the bar by ball joints, or by hinges along the bar: loop gap [m] and
misalignment of hinge axes [rad], and energy drift over the first ten seconds [J].
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brachiate import dynamics
from brachiate.kinematics import Pose
from brachiate.model.joints import Joint, Revolute, Spherical
from brachiate.simulate.integrators import Integrator
from brachiate.validation import Array
from brachiate.world.world import World
from loop_adapters import consistent_start
from mechanisms import monkey_swing_model

DT, STEPS = 1e-3, 1_000_000
ENERGY_STEPS = 10_000  # ten seconds
CHUNK = 5_000  # steps between two evaluations of the loop gaps
GRIP_JOINTS: dict[str, Joint] = {"ball joints": Spherical(), "hinges": Revolute("y")}
MAX_GAP, MAX_DRIFT = 1e-12, 1e-4  # [m and rad], [J]: bounds that must hold
BAR_AXIS = np.array((0.0, 1.0, 0.0))


class PointPair(NamedTuple):
    """Coincident points of two links, with a common axis for hinges; evaluated from link poses, independently of the constraint rows."""

    link: str
    at: Array
    axis: Array
    to: str
    to_at: Array
    to_axis: Array
    hinge: bool

    def gap(self, world: World) -> Array:
        """Distance of the points [m], and angle between the axes of a hinge [rad]."""
        (R, p), (S, s) = _pose(world, self.link), _pose(world, self.to)
        angle = np.linalg.norm(np.cross(R @ self.axis, S @ self.to_axis)) if self.hinge else 0.0
        return np.array((np.linalg.norm(p + R @ self.at - s - S @ self.to_at), angle))


def coincident_points(world: World, link: str, at: Array, to: str, joint: Joint) -> PointPair:
    """The points that coincide in the present pose."""
    (R, p), (S, s) = _pose(world, link), _pose(world, to)
    return PointPair(link, at, R.T @ S @ BAR_AXIS, to, S.T @ (p + R @ at - s), BAR_AXIS, joint.type == "revolute")


def _pose(world: World, link: str) -> Pose:
    return Pose(np.eye(3), np.zeros(3)) if link == "world" else world.pose(link)


def monkey_swing(joint: Joint) -> tuple[World, list[PointPair]]:
    """The moving swing with both hands connected to the bar by a joint, and the points that must stay coincident."""
    model, world = monkey_swing_model(held=()), World()
    world.add(model, "swing")
    world.data.v[:] = consistent_start(model).v
    (top,) = model.loops
    pairs = [coincident_points(world, f"swing/{top.second}", top.second_position, "world", top.joint)]
    for side in ("left", "right"):
        grip = model.sites[f"monkey/{side}_grip"]
        pairs.append(coincident_points(world, f"swing/{grip.link}", grip.position, "swing/bar", joint))
        world.connect(f"swing/monkey/{side}_grip", "swing/bar", joint)
    return world, pairs


def study(name: str, steps: int) -> dict[str, Any]:
    """Simulate the swing; loop gaps at the end and their maximum over the run, and energy drift."""
    world, pairs = monkey_swing(GRIP_JOINTS[name])
    integrator = Integrator(world.data, "rk4", constraint_set=world.constraint_set)
    energy, drift, start = dynamics.totals(world.data).energy, 0.0, time.perf_counter()
    gap = largest = np.zeros(2)
    for done in range(0, steps, CHUNK):
        count = min(CHUNK, steps - done)
        Q, V = integrator.advance(DT, count, time=done * DT)
        if done < ENERGY_STEPS:
            drift = max(drift, *(abs(_energy(world, q, v) - energy) for q, v in zip(Q, V)))
        gap = np.max([pair.gap(world) for pair in pairs], axis=0)
        largest = np.maximum(largest, gap)
        _print_progress(name, done + count, steps, largest, time.perf_counter() - start)
    return {
        "grip_joint": name, "steps": steps, "loop_gap_m": gap[0], "axis_misalignment_rad": gap[1],
        "loop_gap_max_m": largest[0], "axis_misalignment_max_rad": largest[1],
        "energy_drift_10s_J": drift, "energy_J": energy, "elapsed_s": time.perf_counter() - start,
    }  # fmt: skip


def _energy(world: World, q: Array, v: Array) -> float:
    """Energy of a given state; the present state is restored."""
    present = world.data.q.copy(), world.data.v.copy()
    world.data.q[:], world.data.v[:] = q, v
    found = dynamics.totals(world.data).energy
    world.data.q[:], world.data.v[:] = present
    return found


def _print_progress(name: str, done: int, steps: int, largest: Array, seconds: float) -> None:
    text = f"{name}: {done:,} of {steps:,} steps, largest gap {largest[0]:.1e} m, {largest[1]:.1e} rad, {seconds:.0f} s"
    if sys.stderr.isatty():
        print(f"\r{text}", end="" if done < steps else "\n", file=sys.stderr, flush=True)
    elif done == steps:
        print(text, file=sys.stderr, flush=True)


def print_result(result: dict[str, Any]) -> None:
    gap, drift = max(result["loop_gap_m"], result["axis_misalignment_rad"]), result["energy_drift_10s_J"]
    print(f"hands connected by {result['grip_joint']}, {result['steps']:,} steps of {DT * 1e3:g} ms:")
    print(
        f"  loop gap at the end    {result['loop_gap_m']:.1e} m, {result['axis_misalignment_rad']:.1e} rad   "
        f"(max {result['loop_gap_max_m']:.1e} m, {result['axis_misalignment_max_rad']:.1e} rad; bound {MAX_GAP:g})"
    )
    print(f"  energy drift in 10 s   {drift:.1e} J max   (bound {MAX_DRIFT:g} J)")
    print(f"  {'within bounds' if gap <= MAX_GAP and drift <= MAX_DRIFT else 'OUT OF BOUNDS'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=STEPS, help="number of steps of 1 ms")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    results = [study(name, options.steps) for name in GRIP_JOINTS]
    for result in results:
        print_result(result)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
