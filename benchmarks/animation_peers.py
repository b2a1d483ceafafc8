"""The six functions of animation.py in JAX and in CasADi; run by animation.py in an environment of its own.

``python animation_peers.py FOLDER jax|casadi|casadi-code``, where FOLDER contains ``model.json`` (bodies, joints, state). Prints one
line of JSON: u, G and H and the time of the first evaluation [s]; then, for every number n on standard input, the time of n evaluations
[s].

JAX: forward kinematics unrolled over the bodies, ``jacfwd`` and ``hessian`` of the same function by δ at q ⊕ δ, jit, float64, on the
CPU. CasADi: the same kinematics as SX expressions, gradient and Hessian by its own differentiation; by its virtual machine, or C code
compiled with -O3 -march=native, called by its buffer interface. (Packages of Pinocchio on PyPI have no ``pinocchio.casadi``.)
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

TURN, SLIDE, BALL, FLOAT = range(4)


def run_jax(model: dict) -> tuple[Callable[[], tuple], float]:
    """Compiled evaluation, and the time it took to compile."""
    import jax  # noqa: PLC0415
    import jax.numpy as jnp  # noqa: PLC0415

    jax.config.update("jax_enable_x64", True)

    def rotate(quaternion, v):
        turn = 2.0 * jnp.cross(quaternion[1:], v)
        return v + quaternion[0] * turn + jnp.cross(quaternion[1:], turn)

    def product(a, b):
        scalar = a[0] * b[0] - a[1:] @ b[1:]
        return jnp.concatenate([scalar[None], a[0] * b[1:] + b[0] * a[1:] + jnp.cross(a[1:], b[1:])])

    def exponential(w):
        # To second order, which is exact for derivatives at w = 0: the square root of the general form has none there.
        squared = w @ w
        return jnp.concatenate([(1.0 - squared / 8.0)[None], 0.5 * w])

    def axis_turn(axis, angle):
        return jnp.concatenate([jnp.cos(angle / 2.0)[None], jnp.sin(angle / 2.0) * axis])

    q0 = jnp.array(model["q"])
    identity = jnp.array([1.0, 0.0, 0.0, 0.0])

    def functions(delta):
        turns, places = [], []
        for body in model["bodies"]:
            if body["parent"] < 0:
                turn, place = identity, jnp.zeros(3)
            else:
                turn, place = turns[body["parent"]], places[body["parent"]]
            place = place + rotate(turn, jnp.array(body["position"]))
            turn = product(turn, jnp.array(body["quaternion"]))
            for element in body["elements"]:
                kind, at, k = element["kind"], element["q"], element["v"]
                axis, anchor = jnp.array(element["axis"]), jnp.array(element["anchor"])
                if kind == SLIDE:
                    place = place + rotate(turn, (q0[at] + delta[k]) * axis)
                    continue
                place = place + rotate(turn, anchor)
                if kind == TURN:
                    turn = product(turn, axis_turn(axis, q0[at] + delta[k]))
                elif kind == BALL:
                    turn = product(product(turn, q0[at : at + 4]), exponential(delta[k : k + 3]))
                else:
                    place = place + rotate(turn, q0[at : at + 3])
                    turn = product(turn, q0[at + 3 : at + 7])
                    linear, w = delta[k : k + 3], delta[k + 3 : k + 6]
                    place = place + rotate(turn, linear + 0.5 * jnp.cross(w, linear))
                    turn = product(turn, exponential(w))
                place = place - rotate(turn, anchor)
            turns.append(turn)
            places.append(place)

        def position(link):
            return places[link["body"]] + rotate(turns[link["body"]], jnp.array(link["position"]))

        def axis_of(link, v):
            return rotate(turns[link["body"]], jnp.array(link["rotation"]) @ jnp.array(v))

        links = model["links"]
        masses = jnp.array([body["mass"] for body in model["bodies"]])
        centers = jnp.stack([p + rotate(t, jnp.array(b["center"])) for p, t, b in zip(places, turns, model["bodies"], strict=True)])
        com = masses @ centers / masses.sum()
        hand, other, foot, head, pelvis = (position(links[name]) for name in ("right_hand", "left_hand", "right_foot", "head", "pelvis"))
        elbow, knee = (q0[model["joints"][n]["q"]] + delta[model["joints"][n]["v"]] for n in ("right_elbow", "left_knee"))
        gap, target = other - foot, jnp.array(model["target"]) - head
        gaze, to = axis_of(links["head"], (1.0, 0.0, 0.0)), target / jnp.sqrt(target @ target)
        across = jnp.cross(gaze, to)
        angle = jnp.arctan2(jnp.sqrt(across @ across), gaze @ to)
        relative = axis_of(links["pelvis"], (1.0, 0.0, 0.0)) @ (hand - pelvis)
        return jnp.stack([hand[2], jnp.sqrt(gap @ gap), angle, (elbow - 0.4) ** 2, com[0], relative * jnp.sin(knee)])

    def everything(delta):
        return functions(delta), jax.jacfwd(functions)(delta), jax.hessian(functions)(delta)

    compiled = jax.jit(everything)
    zero = jnp.zeros(model["nv"])
    began = time.perf_counter()
    jax.block_until_ready(compiled(zero))
    return lambda: jax.block_until_ready(compiled(zero)), time.perf_counter() - began


def run_casadi(model: dict, folder: Path, compile_code: bool) -> tuple[Callable[[], tuple], float]:
    """Evaluation, by generated C code or by CasADi's virtual machine, and the time it took to make it."""
    import casadi as ca  # noqa: PLC0415

    began = time.perf_counter()
    delta, q = ca.SX.sym("delta", model["nv"]), ca.SX.sym("q", len(model["q"]))

    def matrix(w, x, y, z):
        return ca.vertcat(
            ca.horzcat(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
            ca.horzcat(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
            ca.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
        )

    def exponential(w):
        # R to second order in w, which is exact for derivatives at w = 0.
        S = ca.skew(w)
        return ca.SX.eye(3) + S + S @ S / 2

    def axis_turn(axis, angle):
        S = ca.skew(ca.DM(axis))
        return ca.SX.eye(3) + ca.sin(angle) * S + (1 - ca.cos(angle)) * S @ S

    turns, places = [], []
    for body in model["bodies"]:
        R, p = (turns[body["parent"]], places[body["parent"]]) if body["parent"] >= 0 else (ca.SX.eye(3), ca.SX.zeros(3))
        p = p + R @ ca.DM(body["position"])
        R = R @ matrix(*body["quaternion"])
        for element in body["elements"]:
            kind, at, k, anchor = element["kind"], element["q"], element["v"], ca.DM(element["anchor"])
            if kind == SLIDE:
                p = p + R @ ca.DM(element["axis"]) * (q[at] + delta[k])
                continue
            p = p + R @ anchor
            if kind == TURN:
                R = R @ axis_turn(element["axis"], q[at] + delta[k])
            elif kind == BALL:
                R = R @ matrix(*ca.vertsplit(q[at : at + 4])) @ exponential(delta[k : k + 3])
            else:
                p = p + R @ q[at : at + 3]
                R = R @ matrix(*ca.vertsplit(q[at + 3 : at + 7]))
                linear, w = delta[k : k + 3], delta[k + 3 : k + 6]
                p = p + R @ (linear + ca.cross(w, linear) / 2)
                R = R @ exponential(w)
            p = p - R @ anchor
        turns.append(R)
        places.append(p)

    def frame(link):
        R = turns[link["body"]]
        return places[link["body"]] + R @ ca.DM(link["position"]), R @ ca.DM(link["rotation"])

    masses = [body["mass"] for body in model["bodies"]]
    com = sum(m * (p + R @ ca.DM(b["center"])) for m, p, R, b in zip(masses, places, turns, model["bodies"], strict=True)) / sum(masses)
    (hand, _), (other, _), (foot, _), (head, look), (pelvis, trunk) = (
        frame(model["links"][name]) for name in ("right_hand", "left_hand", "right_foot", "head", "pelvis")
    )
    elbow, knee = (q[model["joints"][n]["q"]] + delta[model["joints"][n]["v"]] for n in ("right_elbow", "left_knee"))
    target = ca.DM(list(model["target"])) - head
    gaze, to = look[:, 0], target / ca.norm_2(target)
    angle = ca.atan2(ca.norm_2(ca.cross(gaze, to)), ca.dot(gaze, to))
    u = [hand[2], ca.norm_2(other - foot), angle, (elbow - 0.4) ** 2, com[0], ca.dot(trunk[:, 0], hand - pelvis) * ca.sin(knee)]
    derivatives = [x for f in u for x in ca.hessian(f, delta)]
    outputs = [ca.substitute(x, delta, ca.SX.zeros(model["nv"])) for x in (ca.vertcat(*u), *derivatives)]
    function = ca.Function("f", [q], outputs)
    compiled = function
    if compile_code:
        generator = ca.CodeGenerator("f.c")
        generator.add(function)
        generator.generate(f"{folder}/")
        library = folder / "f.so"
        subprocess.run(["gcc", "-O3", "-march=native", "-fPIC", "-shared", "-o", str(library), str(folder / "f.c")], check=True)
        compiled = ca.external("f", str(library))
    buffer, call = compiled.buffer()
    state, arrays = np.array(model["q"]), [np.zeros(compiled.nnz_out(n)) for n in range(compiled.n_out())]
    buffer.set_arg(0, memoryview(state))
    for n, array in enumerate(arrays):
        buffer.set_res(n, memoryview(array))
    call()
    took = time.perf_counter() - began
    found = [x.full() for x in compiled(state)]
    results = found[0].reshape(-1), np.array([x.reshape(-1) for x in found[2::2]]), np.array(found[1::2])

    class Evaluation:
        """Evaluation that keeps the buffers, whose addresses CasADi has."""

        buffers = (buffer, state, arrays)

        def __call__(self) -> tuple:
            call()
            return results

    return Evaluation(), took


def main() -> None:
    folder, peer = Path(sys.argv[1]), sys.argv[2]
    model = json.loads((folder / "model.json").read_text())
    call, first = run_jax(model) if peer == "jax" else run_casadi(model, folder, peer == "casadi-code")
    u, G, H = (np.asarray(x) for x in call())
    print(json.dumps({"u": u.tolist(), "G": G.tolist(), "H": H.tolist(), "first": first}), flush=True)
    for line in sys.stdin:
        began = time.perf_counter()
        for _ in range(int(line)):
            call()
        print(time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    main()
