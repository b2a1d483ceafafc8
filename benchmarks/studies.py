"""Long runs that show what stays: ``python benchmarks/studies.py``.

The monkey swing for a million steps of 1 ms (RK4), once held by balls, once by hinges along the bar: how far the loops have come
open [m] and turned out of line [rad], and how far the energy is off in the first ten seconds [J].
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from brachiate import dynamics
from brachiate.kinematics import Pose
from brachiate.model.joints import Joint, Revolute, Spherical
from brachiate.simulate.integrators import Integrator
from brachiate.validation import Array
from brachiate.world.world import World
from loop_peers import start
from mechanisms import monkey_swing_model

DT, STEPS = 1e-3, 1_000_000
ENERGY_STEPS = 10_000  # ten seconds
CHUNK = 5_000  # steps between two looks at the loops
HOLDS: dict[str, Joint] = {"balls": Spherical(), "hinges": Revolute("y")}
MOST_GAP, MOST_DRIFT = 1e-12, 1e-4  # [m and rad], [J]: what is claimed
ALONG = np.array((0.0, 1.0, 0.0))  # the bar


class Pair(NamedTuple):
    """A point of a link and one of another that stay together, perhaps an axis too: by plain poses, not by the rows that hold them."""

    link: str
    at: Array
    axis: Array
    to: str
    to_at: Array
    to_axis: Array
    hinge: bool

    def open(self, world: World) -> Array:
        """Distance of the points [m], and angle between the axes of a hinge [rad]."""
        (R, p), (S, s) = _pose(world, self.link), _pose(world, self.to)
        angle = np.linalg.norm(np.cross(R @ self.axis, S @ self.to_axis)) if self.hinge else 0.0
        return np.array((np.linalg.norm(p + R @ self.at - s - S @ self.to_at), angle))


def pair(world: World, link: str, at: Array, to: str, joint: Joint) -> Pair:
    """What is together now."""
    (R, p), (S, s) = _pose(world, link), _pose(world, to)
    return Pair(link, at, R.T @ S @ ALONG, to, S.T @ (p + R @ at - s), ALONG, joint.type == "revolute")


def _pose(world: World, link: str) -> Pose:
    return Pose(np.eye(3), np.zeros(3)) if link == "world" else world.pose(link)


def swing(joint: Joint) -> tuple[World, list[Pair]]:
    """The swing in motion, both hands on the bar by a joint; and what should stay together."""
    model, world = monkey_swing_model(held=()), World()
    world.add(model, "it")
    world.data.v[:] = start(model).v
    (top,) = model.loops
    pairs = [pair(world, f"it/{top.second}", top.second_position, "world", top.joint)]
    for side in ("left", "right"):
        grip = model.sites[f"monkey/{side}_grip"]
        pairs.append(pair(world, f"it/{grip.link}", grip.position, "it/bar", joint))
        world.connect(f"it/monkey/{side}_grip", "it/bar", joint)
    return world, pairs


def study(name: str, steps: int) -> dict[str, float | str]:
    """Run the swing and measure: at the end, and the worst of all looks on the way."""
    world, pairs = swing(HOLDS[name])
    integrator = Integrator(world.data, "rk4", constraint_set=world.constraint_set)
    energy, drift, worst, begun = dynamics.totals(world.data).energy, 0.0, np.zeros(2), time.perf_counter()
    now = np.zeros(2)
    for done in range(0, steps, CHUNK):
        count = min(CHUNK, steps - done)
        Q, V = integrator.advance(DT, count, time=done * DT)
        if done < ENERGY_STEPS:
            drift = max(drift, *(abs(_energy(world, q, v) - energy) for q, v in zip(Q, V)))
        now = np.max([pair.open(world) for pair in pairs], axis=0)
        worst = np.maximum(worst, now)
        _progress(name, done + count, steps, worst, time.perf_counter() - begun)
    return {
        "held by": name, "steps": steps, "gap_m": now[0], "turn_rad": now[1], "worst_gap_m": worst[0], "worst_turn_rad": worst[1],
        "drift_10s_j": drift, "energy_j": energy, "seconds": time.perf_counter() - begun,
    }  # fmt: skip


def _energy(world: World, q: Array, v: Array) -> float:
    """Energy of a state that was passed through; the present one stays."""
    present = world.data.q.copy(), world.data.v.copy()
    world.data.q[:], world.data.v[:] = q, v
    found = dynamics.totals(world.data).energy
    world.data.q[:], world.data.v[:] = present
    return found


def _progress(name: str, done: int, steps: int, worst: Array, seconds: float) -> None:
    text = f"{name}: {done:,} of {steps:,} steps, worst gap {worst[0]:.1e} m, {worst[1]:.1e} rad, {seconds:.0f} s"
    if sys.stderr.isatty():
        print(f"\r{text}", end="" if done < steps else "\n", file=sys.stderr, flush=True)
    elif done == steps:
        print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS, help="how many, fewer to try it out")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    given = parser.parse_args()
    found = [study(name, given.steps) for name in HOLDS]
    for f in found:
        right = max(f["gap_m"], f["turn_rad"]) <= MOST_GAP and f["drift_10s_j"] <= MOST_DRIFT
        print(f"held by {f['held by']}, after {f['steps']:,} steps of {DT * 1e3:g} ms:")
        print(f"  loops open by {f['gap_m']:.1e} m and {f['turn_rad']:.1e} rad", end="")
        print(f" (worst of all looks: {f['worst_gap_m']:.1e} m and {f['worst_turn_rad']:.1e} rad; claimed: {MOST_GAP:g})")
        print(f"  energy off by at most {f['drift_10s_j']:.1e} J in the first 10 s (claimed: {MOST_DRIFT:g})")
        print("  as claimed" if right else "  NOT as claimed")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
