"""The six functions of animation.py in JAX, and in CasADi on Pinocchio's kinematics; run by animation.py in an environment of its own.

``python animation_peers.py FOLDER jax|casadi``, where FOLDER contains ``model.json`` (bodies, joints, state). Prints one line of JSON
with u, G and H and the time of the first evaluation [s]; then, for every number n on standard input, the time of n evaluations [s].

JAX: forward kinematics unrolled over the bodies, ``jacfwd`` and ``hessian`` of the same function by δ at q ⊕ δ, jit, float64, on the CPU.
CasADi: ``pinocchio.casadi`` kinematics, gradient and Hessian by its own differentiation, C code generated and compiled with -O3
-march=native.
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


def run_casadi(model: dict, folder: Path) -> tuple[Callable[[], tuple], float]:
    """Compiled evaluation, and the time it took to generate and compile it."""
    import casadi as ca  # noqa: PLC0415
    import pinocchio as pin  # noqa: PLC0415
    import pinocchio.casadi as cpin  # noqa: PLC0415

    began = time.perf_counter()
    robot, joint_of, q_at, v_at = pin.Model(), [], {}, {}
    for b, body in enumerate(model["bodies"]):
        parent, place = joint_of[body["parent"]] if body["parent"] >= 0 else (0, pin.SE3.Identity())
        w, x, y, z = body["quaternion"]
        place = place * pin.SE3(pin.Quaternion(w, x, y, z).matrix(), np.array(body["position"]))
        for n, element in enumerate(body["elements"]):
            kinds = {
                TURN: lambda e=element: pin.JointModelRevoluteUnaligned(np.array(e["axis"])),
                SLIDE: lambda e=element: pin.JointModelPrismaticUnaligned(np.array(e["axis"])),
                BALL: pin.JointModelSpherical,
                FLOAT: pin.JointModelFreeFlyer,
            }
            anchor = np.array(element["anchor"])
            parent = robot.addJoint(parent, kinds[element["kind"]](), place * pin.SE3(np.eye(3), anchor), f"{b}.{n}")
            place = pin.SE3(np.eye(3), -anchor)
            q_at[element["v"]], v_at[element["v"]] = (robot.joints[parent].idx_q, element), robot.joints[parent].idx_v
        robot.appendBodyToJoint(parent, pin.Inertia(body["mass"], np.array(body["center"]), np.zeros((3, 3))), place)
        joint_of.append((parent, place))
    q = np.zeros(robot.nq)
    columns = np.zeros(model["nv"], int)  # velocity of theirs for each of ours
    for k, (at, element) in q_at.items():
        mine, kind = element["q"], element["kind"]
        size = {TURN: 1, SLIDE: 1, BALL: 3, FLOAT: 6}[kind]
        columns[k : k + size] = v_at[k] + np.arange(size)
        if kind in (TURN, SLIDE):
            q[at] = model["q"][mine]
        else:
            start = mine + (3 if kind == FLOAT else 0)
            w, x, y, z = model["q"][start : start + 4]
            if kind == FLOAT:
                q[at : at + 3] = model["q"][mine : mine + 3]
            q[at + size - 3 : at + size + 1] = [x, y, z, w]
    symbolic = cpin.Model(robot)
    data = symbolic.createData()
    delta, start = ca.SX.sym("delta", robot.nv), ca.SX.sym("q", robot.nq)
    moved = cpin.integrate(symbolic, start, delta)
    cpin.centerOfMass(symbolic, data, moved)

    def frame(link):
        joint, place = joint_of[link["body"]]
        M = data.oMi[joint] * cpin.SE3(place)
        return M.translation + M.rotation @ np.array(link["position"]), M.rotation @ np.array(link["rotation"])

    links = model["links"]
    (hand, _), (other, _), (foot, _), (head, look), (pelvis, trunk) = (
        frame(links[name]) for name in ("right_hand", "left_hand", "right_foot", "head", "pelvis")
    )
    elbow, knee = (moved[q_at[model["joints"][n]["v"]][0]] for n in ("right_elbow", "left_knee"))
    target = np.array(model["target"]) - head
    gaze, to = look[:, 0], target / ca.norm_2(target)
    angle = ca.atan2(ca.norm_2(ca.cross(gaze, to)), ca.dot(gaze, to))
    u = [hand[2], ca.norm_2(other - foot), angle, (elbow - 0.4) ** 2, data.com[0][0], ca.dot(trunk[:, 0], hand - pelvis) * ca.sin(knee)]
    outputs = [ca.vertcat(*u)]
    hessians = [ca.hessian(f, delta) for f in u]
    zero = ca.SX.zeros(robot.nv)
    outputs = [ca.substitute(x, delta, zero) for x in (outputs[0], *(h for pair in hessians for h in pair))]
    function = ca.Function("f", [start], outputs)
    source, library = folder / "f.c", folder / "f.so"
    generator = ca.CodeGenerator("f.c")
    generator.add(function)
    generator.generate(f"{folder}/")
    subprocess.run(["gcc", "-O3", "-march=native", "-fPIC", "-shared", "-o", str(library), str(source)], check=True)
    compiled = ca.external("f", str(library))
    buffer, call = compiled.buffer()
    arrays = [np.zeros(compiled.nnz_out(n)) for n in range(compiled.n_out())]
    buffer.set_arg(0, memoryview(q))
    for n, array in enumerate(arrays):
        buffer.set_res(n, memoryview(array))

    def evaluate() -> tuple:
        call()
        return ()

    evaluate()
    took = time.perf_counter() - began

    def results() -> tuple:
        found = compiled(q)
        H = np.array([np.array(found[1 + 2 * n].full()) for n in range(6)])
        G = np.array([np.array(found[2 + 2 * n].full()).reshape(-1) for n in range(6)])
        return np.array(found[0].full()).reshape(-1), G[:, columns], H[:, columns][:, :, columns]

    evaluate.results = results  # type: ignore[attr-defined]
    return evaluate, took


def main() -> None:
    folder, peer = Path(sys.argv[1]), sys.argv[2]
    model = json.loads((folder / "model.json").read_text())
    call, first = run_jax(model) if peer == "jax" else run_casadi(model, folder)
    u, G, H = (np.asarray(x) for x in (call.results() if hasattr(call, "results") else call()))
    print(json.dumps({"u": u.tolist(), "G": G.tolist(), "H": H.tolist(), "first": first}), flush=True)
    for line in sys.stdin:
        began = time.perf_counter()
        for _ in range(int(line)):
            call()
        print(time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    main()
