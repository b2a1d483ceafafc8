"""Contact steps against MuJoCo: a human figure standing on two box feet, and one lying after a fall; same shapes and pairs.

Figures that stand and are held at the pelvis or the hands are compared with one that stands free.

``python benchmarks/run.py contact [--quick] [--json FILE]``
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import convert
import native
from brachiate import figures
from brachiate.contact.arrays import BOX, CAPSULE, CYLINDER, ELLIPSOID, PLANE, SPHERE
from brachiate.simulate.contact_integrator import ContactIntegrator
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World
from loop_adapters import State
from results import Row, time_row
from timing import Runner, best_times, pin_to_one_core, time_batch, with_reset
from tree_adapters import COMPILED_LOOP, STEP, TASKS

DT = 0.002  # [s]
FRICTION = 0.8
STEPS = 500  # of one measurement
TAIL_STEPS = 10  # consecutive steps timed together for the 99th percentile
JOINT_SPRINGS = {"standing": (600.0, 30.0), "lying": (5.0, 1.5)}  # stiffness [N·m/rad] and damping [N·m·s/rad] of the joints
FALL_SPEED = 0.8  # [m/s] initial forward velocity of the falling figure
SETTLING_TIME = {"standing": 2.0, "lying": 20.0}  # [s] simulated before timing
MUJOCO_SETTLING_STEPS = 10_000  # from brachiate's state at rest
TARGETS = {"standing": 3.0, "lying": 1.5}  # ratio of times
HELD = {"pelvis": ("pelvis",), "hands": ("left_hand", "right_hand"), "pelvis and hands": ("pelvis", "left_hand", "right_hand")}
HELD_TARGET = 1 / 3  # ratio of times, standing free to held


class Case(NamedTuple):
    """A world at rest in a posture."""

    name: str
    world: World
    state: State


def rows(quick: bool = False) -> list[Row]:
    """All rows; ``quick``: without percentiles."""
    libraries, notes = native.load(("mujoco",))
    for note in notes:
        print(note, file=sys.stderr)
    pin_to_one_core()
    found = [row for name in SETTLING_TIME for row in compare(settle(name), libraries.get("mujoco"), percentiles=not quick)]
    return found + held_rows()


def held_rows() -> list[Row]:
    """Rows of figures that stand and are held, against one that stands free."""
    own = {"free": Brachiate(settle("standing"))} | {name: Brachiate(settle("standing", links)) for name, links in HELD.items()}
    times = best_times({name: stepper.runner() for name, stepper in own.items()})
    return [
        time_row(f"step, {COMPILED_LOOP}", f"standing, {name} held", times[name], "standing free", times["free"], target_ratio=HELD_TARGET)
        for name in HELD
    ]


def settle(name: str, held: Sequence[str] = ()) -> Case:
    """Simulate a figure until it stands, or has fallen and lies; then links may be held where they are."""
    world = World()
    world.add(figures.ground(), "floor")
    stiffness, damping = JOINT_SPRINGS[name]
    world.add(figures.human28().with_springs(stiffness, "stand", damping), "man")
    world.enable_contact(friction=FRICTION)
    if name == "lying":
        world.v[0] = FALL_SPEED
    Simulation(world, dt=DT, limits=False).run(SETTLING_TIME[name], progress=False)
    for link in held:
        world.connect(f"man/{link}", "world")
    if held:
        Simulation(world, dt=DT, limits=False).run(SETTLING_TIME[name], progress=False)
    return Case(name, world, State(world.q.copy(), world.v.copy()))


class Brachiate:
    """Brachiate's contact steps."""

    def __init__(self, case: Case) -> None:
        world = case.world
        contact_state = world.contact_settings.contact_state
        assert contact_state is not None
        self.state, self.world, self.contact_state = case.state, world, contact_state
        self.integrator = ContactIntegrator(world.data, world.constraint_set, contact_state, limits=False)
        self.memory = contact_state.save_memory()

    def reset(self) -> None:
        """Restore the state, and the contact memory for warm starts."""
        self.world.data.q[:], self.world.data.v[:] = self.state
        self.contact_state.restore_memory(self.memory)

    def run(self, n: int) -> None:
        """Run n steps."""
        self.integrator.advance(DT, n, n)

    def runner(self) -> Runner:
        """Runner of n steps from the start."""
        return time_batch(self.run, self.reset)

    def vertical_force(self) -> float:
        """Vertical ground reaction force after one measurement [N]."""
        self.reset()
        run = Simulation(self.world, dt=DT, limits=False).run(STEPS * DT, progress=False)
        return float(run.contacts.at(-1).reaction("man").force[2])

    def contact_count(self) -> int:
        """Number of contact patches."""
        self.reset()
        return len(self.world.contacts)


class MuJoCo:
    """MuJoCo with stiff contacts, its Newton solver, and one of its two friction cones."""

    def __init__(self, case: Case, cone: str, library: Any) -> None:
        import mujoco  # noqa: PLC0415

        self.mj, self.library, self.cone = mujoco, library, cone
        model = case.world.model
        table = convert.joint_table(model)
        spec = convert.to_mujoco(model)
        spec.option.timestep = DT
        spec.option.cone = getattr(mujoco.mjtCone, f"mjCONE_{cone.upper()}")
        add_contact_to_mujoco(spec, case.world)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.q = convert.to_mujoco_q(model, table, case.state.q)
        self.v = convert.mujoco_basis(model, table, case.state.q) @ case.state.v
        self.settle()

    def settle(self) -> None:
        """Settle on MuJoCo's soft contacts, and start from there."""
        self.reset()
        self.mj.mj_step(self.model, self.data, MUJOCO_SETTLING_STEPS)
        self.q, self.v = self.data.qpos.copy(), self.data.qvel.copy()
        self.warm_start = self.data.qacc_warmstart.copy()

    def reset(self) -> None:
        """Restore the state and the warm start."""
        self.mj.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = self.q, self.v
        if hasattr(self, "warm_start"):
            self.data.qacc_warmstart[:] = self.warm_start

    def run(self, n: int) -> None:
        """Run n steps."""
        self.mj.mj_step(self.model, self.data, n)

    def runner(self) -> Runner:
        """Runner of n steps from the start."""
        if not self.library:
            return time_batch(self.run, self.reset)
        run, step = self.library.mujoco_run, TASKS.index(STEP)
        return with_reset(lambda n: run(self.model._address, self.data._address, step, 1, n), self.reset)

    def vertical_force(self) -> float:
        """Vertical ground reaction force after one measurement [N]."""
        self.reset()
        self.run(STEPS)
        total = np.zeros(3)
        for i in range(self.data.ncon):
            contact, f = self.data.contact[i], np.zeros(6)
            if 0 in (self.model.geom_bodyid[contact.geom1], self.model.geom_bodyid[contact.geom2]):
                self.mj.mj_contactForce(self.model, self.data, i, f)
                total += contact.frame.reshape(3, 3).T @ f[:3]
        return float(abs(total[2]))

    def contact_count(self) -> int:
        """Number of contact points."""
        self.reset()
        self.mj.mj_forward(self.model, self.data)
        return int(self.data.ncon)


def add_contact_to_mujoco(spec: Any, world: World) -> None:
    """Add the world's shapes, pairs, springs and dampers to a spec, with stiff contacts and Coulomb friction."""
    import mujoco  # noqa: PLC0415

    contact_state = world.contact_settings.contact_state
    assert contact_state is not None
    shapes, tree = contact_state.geometry, world.model.tree
    spec.option.disableflags = 0
    kinds = {SPHERE: "SPHERE", CAPSULE: "CAPSULE", CYLINDER: "CYLINDER", ELLIPSOID: "ELLIPSOID", BOX: "BOX", PLANE: "PLANE"}
    for e in range(len(tree.kind)):
        k = tree.v_at[e]
        joint = next(j for j in spec.joints if j.name == f"joint{e}")
        joint.stiffness, joint.damping = np.array([tree.stiffness[k], 0.0, 0.0]), np.array([tree.damping[k], 0.0, 0.0])
    for g, kind in enumerate(shapes.kind):
        parent = spec.worldbody if shapes.body[g] < 0 else spec.body(f"body{shapes.body[g]}")
        size = np.array([5.0, 5.0, 0.1]) if kind == PLANE else shapes.size[g]
        parent.add_geom(
            name=f"shape{g}", type=getattr(mujoco.mjtGeom, f"mjGEOM_{kinds[int(kind)]}"),
            pos=shapes.p[g], quat=convert.quaternion(shapes.R[g]), size=size,
            friction=(FRICTION, 0.0, 0.0), condim=3, contype=0, conaffinity=0, mass=0.0, solref=(2 * DT, 1.0),
            solimp=(0.99, 0.999, 0.001, 0.5, 2.0),
        )  # fmt: skip
    for a, b in shapes.pair:
        spec.add_pair(
            geomname1=f"shape{a}", geomname2=f"shape{b}", condim=3, friction=(FRICTION, FRICTION, 0.0, 0.0, 0.0), solref=(2 * DT, 1.0),
            solimp=(0.99, 0.999, 0.001, 0.5, 2.0),
        )  # fmt: skip


def compare(case: Case, library: Any, percentiles: bool) -> list[Row]:
    """Rows against both friction cones of MuJoCo."""
    own, peers = Brachiate(case), [MuJoCo(case, cone, library) for cone in ("elliptic", "pyramidal")]
    weight = case.world.totals().mass * 9.81
    times = best_times({"brachiate": own.runner()} | {peer.cone: peer.runner() for peer in peers}, STEPS)
    target, found = TARGETS[case.name], []
    for peer in peers:
        more: dict[str, Any] = {
            "brachiate_contact_patches": own.contact_count(), "peer_contact_points": peer.contact_count(),
            "brachiate_force_over_weight": own.vertical_force() / weight, "peer_force_over_weight": peer.vertical_force() / weight,
            "target_ratio": target, "contact_solver_counters": own.contact_state.problem.counters.tolist(),
        }  # fmt: skip
        more["note"] = (
            f"{case.name}: {more['brachiate_contact_patches']} patches, MuJoCo ({peer.cone}) {more['peer_contact_points']} points; "
            f"ground reaction force / weight {more['brachiate_force_over_weight']:.6f}, {more['peer_force_over_weight']:.6f}; "
            f"target ratio {target}"
        )
        found.append(time_row(f"step, {COMPILED_LOOP}", case.name, times["brachiate"], f"MuJoCo, {peer.cone}", times[peer.cone], **more))
    if percentiles:
        slow = percentile99(own)
        found += [time_row("step, 99th percentile", case.name, slow, f"MuJoCo, {peer.cone}", percentile99(peer)) for peer in peers]
    return found


def percentile99(stepper: Brachiate | MuJoCo) -> float:
    """99th percentile of the time of ten consecutive steps, per step [s]."""
    stepper.reset()
    found: list[float] = []
    for _ in range(STEPS):
        start = time.perf_counter()
        stepper.run(TAIL_STEPS)
        found.append((time.perf_counter() - start) / TAIL_STEPS)
    return float(np.percentile(found, 99))
