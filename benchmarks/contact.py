"""Contact stepping against MuJoCo: a human figure that stands on two box feet, and one that lies after a fall; same shapes and pairs."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

import convert
import native
from brachiate import figures
from brachiate.contact.arrays import BOX, CAPSULE, CYLINDER, ELLIPSOID, PLANE, SPHERE
from brachiate.simulate.contact_integrator import ContactIntegrator
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World
from contestants import LOOP, STEP, TASKS
from loop_peers import State
from race import Runner, fresh, one_core, race, timed
from rows import Row, row

DT = 0.002  # [s]
FRICTION = 0.8
STEPS = 500  # of one turn
TENS = 10  # steps timed together for the tail
STAND, LIE = (600.0, 30.0), (5.0, 1.5)  # stiffness [N·m/rad] and damping [N·m·s/rad] of the joints
PUSH = 0.8  # [m/s] initial forward velocity of the falling figure
SETTLED = {"standing": 2.0, "lying": 20.0}  # [s] before timing
MORE = 10_000  # steps for MuJoCo to settle from our state
GOALS = {"standing": 3.0, "lying": 1.5}


class Case(NamedTuple):
    """A posture to start from."""

    name: str
    world: World
    state: State


def rows(quick: bool = False) -> list[Row]:
    """All rows; quick: without the tails."""
    libraries, notes = native.load(("mujoco",))
    for note in notes:
        print(note, file=sys.stderr)
    one_core()
    return [line for name in SETTLED for line in compare(case(name), libraries.get("mujoco"), tails=not quick)]


def case(name: str) -> Case:
    """Let a figure settle in standing, or fall and settle in lying."""
    world = World()
    world.add(figures.ground(), "floor")
    stiffness, damping = STAND if name == "standing" else LIE
    world.add(figures.human28().with_springs(stiffness, "stand", damping), "man")
    world.enable_contact(friction=FRICTION)
    if name == "lying":
        world.v[0] = PUSH
    Simulation(world, dt=DT, limits=False).run(SETTLED[name], progress=False)
    return Case(name, world, State(world.q.copy(), world.v.copy()))


class Ours:
    """Brachiate's contact stepping."""

    def __init__(self, case: Case) -> None:
        world = case.world
        contact_state = world.contact_settings.contact_state
        assert contact_state is not None
        self.state, self.world, self.contact_state = case.state, world, contact_state
        self.integrator = ContactIntegrator(world.data, world.constraint_set, contact_state, limits=False)
        self.memory = contact_state.save_memory()

    def reset(self) -> None:
        """Restore the state, and the contact memory of the step before."""
        self.world.data.q[:], self.world.data.v[:] = self.state
        self.contact_state.restore_memory(self.memory)

    def run(self, n: int) -> None:
        """Make n steps."""
        self.integrator.advance(DT, n, n)

    def runner(self) -> Runner:
        """Steps from the start, timed."""
        return timed(self.run, self.reset)

    def force(self) -> float:
        """Vertical force on the figure at the end of a turn [N]."""
        self.reset()
        run = Simulation(self.world, dt=DT, limits=False).run(STEPS * DT, progress=False)
        return float(run.contacts.at(-1).reaction("man").force[2])

    def contacts(self) -> int:
        """Number of contact patches."""
        self.reset()
        return len(self.world.contacts)


class MuJoCo:
    """MuJoCo with stiff contacts, its Newton solver, and one of its two friction cones."""

    def __init__(self, case: Case, cone: str, library: Any) -> None:
        import mujoco  # noqa: PLC0415

        self.mj, self.library, self.cone = mujoco, library, cone
        model = case.world.model
        plan = convert.joints(model)
        spec = convert.to_mujoco(model)
        spec.option.timestep = DT
        spec.option.cone = getattr(mujoco.mjtCone, f"mjCONE_{cone.upper()}")
        add_contact_to_mujoco(spec, case.world)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.q = convert.to_mujoco_q(model, plan, case.state.q)
        self.v = convert.mujoco_basis(model, plan, case.state.q) @ case.state.v
        self.settle()

    def settle(self) -> None:
        """Let it settle on its soft floor, and start from there."""
        self.reset()
        self.mj.mj_step(self.model, self.data, MORE)
        self.q, self.v = self.data.qpos.copy(), self.data.qvel.copy()
        self.warm = self.data.qacc_warmstart.copy()

    def reset(self) -> None:
        """Restore the state and the warm start."""
        self.mj.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = self.q, self.v
        if hasattr(self, "warm"):
            self.data.qacc_warmstart[:] = self.warm

    def run(self, n: int) -> None:
        """Make n steps."""
        self.mj.mj_step(self.model, self.data, n)

    def runner(self) -> Runner:
        """Steps from the start, timed."""
        if not self.library:
            return timed(self.run, self.reset)
        run, step = self.library.mujoco_run, TASKS.index(STEP)
        return fresh(lambda n: run(self.model._address, self.data._address, step, 1, n), self.reset)

    def force(self) -> float:
        """Vertical force on the figure at the end of a turn [N]."""
        self.reset()
        self.run(STEPS)
        total = np.zeros(3)
        for i in range(self.data.ncon):
            contact, f = self.data.contact[i], np.zeros(6)
            if 0 in (self.model.geom_bodyid[contact.geom1], self.model.geom_bodyid[contact.geom2]):
                self.mj.mj_contactForce(self.model, self.data, i, f)
                total += contact.frame.reshape(3, 3).T @ f[:3]
        return float(abs(total[2]))

    def contacts(self) -> int:
        """Number of contact points."""
        self.reset()
        self.mj.mj_forward(self.model, self.data)
        return int(self.data.ncon)


def add_contact_to_mujoco(spec: Any, world: World) -> None:
    """Give a spec the world's shapes, pairs, springs and dampers, with stiff contacts and Coulomb friction."""
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
        carrier = spec.worldbody if shapes.body[g] < 0 else spec.body(f"body{shapes.body[g]}")
        size = np.array([5.0, 5.0, 0.1]) if kind == PLANE else shapes.size[g]
        carrier.add_geom(
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


def compare(case: Case, library: Any, tails: bool) -> list[Row]:
    """Ours against both friction cones of MuJoCo."""
    ours, peers = Ours(case), [MuJoCo(case, cone, library) for cone in ("elliptic", "pyramidal")]
    weight = case.world.totals().mass * 9.81
    runners = {"ours": ours.runner()} | {peer.cone: peer.runner() for peer in peers}
    times = race(runners, STEPS)
    found = []
    for peer in peers:
        more = {
            "ours_contacts": ours.contacts(), "peer_contacts": peer.contacts(), "ours_weight": ours.force() / weight,
            "peer_weight": peer.force() / weight, "goal": GOALS[case.name], "counters": ours.contact_state.problem.counters.tolist(),
        }  # fmt: skip
        more["note"] = (
            f"{case.name}: {more['ours_contacts']} patches, {peer.cone} {more['peer_contacts']} points; contact force / weight "
            f"{more['ours_weight']:.6f}, {more['peer_weight']:.6f}; the goal is {GOALS[case.name]}x"
        )
        found.append(row(f"step, {LOOP}", case.name, times["ours"], f"MuJoCo, {peer.cone}", times[peer.cone], **more))
    if tails:
        slow = {name: tail(one) for name, one in (("ours", ours), *((peer.cone, peer) for peer in peers))}
        found += [row("step, 99 of 100 are faster", case.name, slow["ours"], f"MuJoCo, {p.cone}", slow[p.cone]) for p in peers]
    return found


def tail(one: Ours | MuJoCo) -> float:
    """99th percentile of the time of ten consecutive steps, per step [s]."""
    import time  # noqa: PLC0415

    one.reset()
    found: list[float] = []
    for _ in range(STEPS):
        start = time.perf_counter()
        one.run(TENS)
        found.append((time.perf_counter() - start) / TENS)
    return float(np.percentile(found, 99))
