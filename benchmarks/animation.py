"""Speed of animation space: values, gradients and Hessians of six functions of human28, against JAX and CasADi.

``python benchmarks/run.py animation [--quick] [--json FILE]``

The peers evaluate the same functions at the same state, in an environment of their own (animation_peers.py), by turns. Results are
compared before anything is timed. Rows without a peer: the first evaluation of a new function (of the peers: their compilation), one
step of inverse dynamics of the inchworm scene (against the three seconds of [EGC] 5.2), and growth with the number of links, dense tensors
[EGC] eq. 26 against the recursive way.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import native
from brachiate import animation as an
from brachiate import figures, manifold, scenes
from brachiate.animation.closed_form import joint_space_dynamics
from brachiate.animation.direct import Controller
from brachiate.world.world import World
from results import Row, time_row
from timing import best_times, pin_to_one_core, time_calls

PEERS = {"jax": "JAX (jit, hessian)", "casadi": "CasADi (virtual machine)", "casadi-code": "CasADi (generated C code)"}
PACKAGES = ["jax==0.10.2", "casadi==3.8.2"]
TARGET = (0.4, -0.2, 1.1)
MAX_DIFFERENCE = 1e-9
PAPER_STEP = 3.0  # [s] on an IBM RS/6000 320 [EGC] 5.2


def human() -> World:
    """human28 in a random posture."""
    world, rng = World(), np.random.default_rng(0)
    world.add(figures.human28(), "man")
    world.data.q[:] = manifold.integrate(world.data, world.q, 0.4 * rng.normal(size=world.model.nv), 1.0)
    return world


def functions() -> dict[str, Any]:
    """The six functions."""
    return {
        "hand": an.position("man/right_hand").z,
        "distance": an.distance("man/left_hand", "man/right_foot"),
        "gaze": an.angle(an.axis("man/head", "x"), an.direction("man/head", to=TARGET)),
        "elbow": lambda s: (s.joint("man/right_elbow") - 0.4) ** 2,
        "com": an.center_of_mass("man").x,
        "product": lambda s: s.position("man/right_hand", frame="man/pelvis").x * an.sin(s.joint("man/left_knee")),
    }


def exported(world: World) -> dict[str, Any]:
    """The model and its state for the peers."""
    tree, bodies = world.model.tree, []
    for i in range(len(tree.parent)):
        elements = [
            {
                "kind": int(tree.kind[e]), "q": int(tree.q_at[e]), "v": int(tree.v_at[e]), "axis": tree.axis[e].tolist(),
                "anchor": tree.anchor[e].tolist(),
            }
            for e in range(tree.element[i], tree.element[i + 1])
        ]  # fmt: skip
        bodies.append({
            "parent": int(tree.parent[i]), "position": tree.p_parent_joint[i].tolist(), "elements": elements,
            "quaternion": quaternion(tree.R_parent_joint[i]), "mass": float(tree.inertia[i, 0]), "center": tree.inertia[i, 1:4].tolist(),
        })  # fmt: skip
    links = {}
    for name in ("right_hand", "left_hand", "right_foot", "head", "pelvis"):
        frame = world.frame(f"man/{name}")
        links[name] = {"body": frame.body, "position": frame.position.tolist(), "rotation": frame.rotation.tolist()}
    joints = {
        name: {"q": world.model.scalar_coordinates[f"man/{name}"], "v": world.model.coordinate_index[f"man/{name}"]}
        for name in ("right_elbow", "left_knee")
    }
    return {"bodies": bodies, "links": links, "joints": joints, "q": world.q.tolist(), "nv": world.model.nv, "target": TARGET}


def quaternion(R: np.ndarray) -> list[float]:
    """Quaternion (w, x, y, z) of a rotation matrix."""
    from scipy.spatial.transform import Rotation  # noqa: PLC0415

    x, y, z, w = Rotation.from_matrix(R).as_quat()
    return [float(w), float(x), float(y), float(z)]


class Peer:
    """A process that evaluates the functions."""

    def __init__(self, python: Path, folder: Path, name: str) -> None:
        command = [str(python), str(Path(__file__).with_name("animation_peers.py")), str(folder), name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise native.MissingDependency(f"{name}: its process ended")
        self.found = json.loads(line)

    def run(self, n: int) -> float:
        """Time of n evaluations [s]."""
        self.process.stdin.write(f"{n}\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]
        return float(self.process.stdout.readline())  # type: ignore[union-attr]

    def check(self, space: an.AnimationSpace) -> None:
        """Raise an error if the results differ."""
        for what, mine in (("u", space.value()), ("G", space.gradient()), ("H", space.hessian())):
            difference = float(np.abs(np.array(self.found[what]) - mine).max())
            if difference > MAX_DIFFERENCE:
                raise AssertionError(f"{what} differs by {difference:.1e}")


def peer_rows(quick: bool) -> list[Row]:
    """Six functions of human28 against the peers."""
    world = human()
    space = an.AnimationSpace(world, functions())
    space.update()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model.json").write_text(json.dumps(exported(world)))
        peers: dict[str, Peer] = {}
        for peer, words in PEERS.items():
            try:
                peers[peer] = Peer(native.peer_python("jax-casadi", PACKAGES, 900), folder, peer)
                peers[peer].check(space)
            except (native.MissingDependency, OSError, subprocess.SubprocessError) as problem:
                print(f"{words} omitted: {problem}", file=sys.stderr)
        pin_to_one_core()
        times = best_times({"ours": time_calls(space.update), **{name: peer.run for name, peer in peers.items()}})
        first = min(first_evaluation(world) for _ in range(5))
        for peer, process in peers.items():
            rows.append(time_row("u, G, H of 6 functions", "human28", times["ours"], PEERS[peer], times[peer]))
            rows.append(
                time_row("first evaluation of new functions", "human28", first, f"{PEERS[peer]}: compilation", process.found["first"])
            )
            process.process.kill()
        if not peers:
            rows.append(time_row("u, G, H of 6 functions", "human28", times["ours"], "none", None))
    return rows


def first_evaluation(world: World) -> float:
    """Time to trace and evaluate six functions that were never seen before [s]."""
    began = time.perf_counter()
    an.AnimationSpace(world, functions()).update()
    return time.perf_counter() - began


def worm_rows() -> list[Row]:
    """One step of inverse dynamics of the inchworm: functions, joint accelerations, torques; and of a chain that grows."""
    found = []
    scene = scenes.make("inchworm")
    for what in ("head reaches, open chain", "rear slides, closed chain"):
        phase = next(scene.phases)  # type: ignore[attr-defined]
        controller = Controller(phase.space, phase.targets, **phase.options)
        times = best_times({"step": time_calls(controller.torques_now)})
        found.append(time_row("inverse dynamics step", f"inchworm: {what}", times["step"], "[EGC], IBM RS/6000 320", PAPER_STEP))
        phase.space.direct(phase.targets, phase.seconds, dt=0.01, **phase.options)
    return found


def worm_controller(segments: int) -> Controller:
    """Worm that grasps the ground with its tail and reaches forward with its head."""
    world = World()
    world.add(figures.inchworm(segments), "worm").set_pose("arch")
    world.connect("worm/segment1", "world")
    head, ahead = an.position("worm/head_sole"), world.position("worm/head_sole") + np.array((0.002, 0.0, 0.001))
    return Controller(an.AnimationSpace(world, {"head": head}), {"head": an.reach(ahead, by=1.0)})


def growth_rows(quick: bool) -> list[Row]:
    """Torques of a chain by dense tensors and by the recursive way."""
    rows = []
    for links in (10, 32) if quick else (10, 32, 100):
        world = World()
        world.add(figures.chain(links), "chain")
        rng = np.random.default_rng(1)
        world.q, world.v = rng.normal(size=links), rng.normal(size=links)
        a = rng.normal(size=links)
        dense, recursive = joint_space_dynamics(world).torques(world.v, a), np.asarray(world.inverse_dynamics(a))
        if not np.allclose(dense, recursive, rtol=1e-9, atol=1e-9 * np.abs(recursive).max()):
            raise AssertionError(f"torques of {links} links differ")
        times = best_times({
            "recursive": time_calls(lambda world=world, a=a: world.inverse_dynamics(a)),
            "dense": time_calls(lambda world=world, a=a: joint_space_dynamics(world).torques(world.v, a)),
        })  # fmt: skip
        controller = worm_controller(links)
        step = best_times({"step": time_calls(controller.torques_now)})
        rows.append(time_row("inverse dynamics step", f"worm of {links} one-axis segments", step["step"], "none", None))
        rows.append(
            time_row("inverse dynamics, recursive", f"chain of {links}", times["recursive"], "dense tensors I*, P*", times["dense"])
        )
    return rows


def rows(quick: bool) -> list[Row]:
    """All rows."""
    return [*peer_rows(quick), *worm_rows(), *growth_rows(quick)]
