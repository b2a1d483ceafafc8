"""Steps of a scene as seen from their middles, where velocities change: what the laws of motion say of each, written down once more."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from tests.contact.checks import mean_length

from brachiate import dynamics, kinematics, manifold
from brachiate.compiled import entry
from brachiate.contact.arrays import FROZEN, open_problem
from brachiate.contact.collision import narrow_phase
from brachiate.contact.collision.collision_shapes import geometry, rooms
from brachiate.contact.solver.contact_law import NO_LENGTH, residual
from brachiate.contact.stepping.contact_rows import SLACK
from brachiate.model.data import Data
from brachiate.model.joints import Free
from brachiate.model.model import Model
from brachiate.scenes import Scene
from brachiate.validation import Array
from brachiate.world.contacts import Contact, Contacts
from brachiate.world.pushes import Push
from brachiate.world.world import World


@entry
def violation_of_law(key):
    """How far the forces of a problem are from holding the law of contact at their own centres of pressure, as a speed [m/s]."""
    (P,) = open_problem(key)
    P.count[FROZEN] = 0
    return residual(P)


class Step(NamedTuple):
    """One step. Velocities are those along the axes of its middle."""

    row: int  # of the recording: the state at its end
    dt: float
    q: Array  # in its middle
    before: Array
    expected: tuple[Array, Array]  # by forces that grow with velocities: before and after, or the mean of both for each
    after: Array
    contacts: Contacts
    pushes: tuple[Push, ...]
    held: bool  # whether something is connected, and the state was brought back onto that at its end
    touchable: Array  # pairs of shapes that may touch
    violation: float  # [m/s] of the law of contact; NaN where things were pushed out of each other, which leaves nothing to look at


class Watched:
    """A scene that was run step by step."""

    def __init__(self, scene: Scene, seconds: float | None = None) -> None:
        self.scene, self.world, self._seen = scene, scene.world, []
        scene.simulation.control(self._look)  # before every step: what is known of the one before
        self.run = scene.run(seconds)
        self._look(self.world)
        self.model = self.run.model
        self.data = Data(self.model, self.run.gravity)
        self.roots = _roots(self.model)
        self.mass = {figure: self.world.totals(figure).mass for figure in self.roots}
        self._finder = rooms(geometry(self.model))
        self.steps = list(self._steps())

    def _look(self, world: World) -> None:
        touches = world.surfaces.touches
        assert touches is not None
        S, off = touches.touch, 0.0
        if S.old_count[0] > 0:
            off = violation_of_law(touches.problem_key) if S.depth[0] <= SLACK else np.nan
        expected = S.middle - S.half, S.middle + S.half
        self._seen.append((expected, world.pushes, bool(world.connections), touches.geometry.pair_on.copy(), off))

    def _steps(self) -> Iterator[Step]:
        run, changed = self.run, [happening.time for happening in self.scene.happened]
        for row in range(1, len(run)):
            dt = float(run.time[row] - run.time[row - 1])
            if any(run.time[row - 1] < time <= run.time[row] for time in changed):
                continue  # two steps, or more, and an impulse in between
            expected, _, held, touchable, off = self._seen[row]
            q, before = self.coasted(run.q[row - 1], run.v[row - 1], dt / 2)
            # What is pushed out of something is moved after its velocity is known, so the middle is that of the way to it.
            _, after = self.coasted(run.q[row], run.v[row], -dt / 2)
            yield Step(row, dt, q, before, expected, after, run.contacts.at(row), self._seen[row - 1][1], held, touchable, off)

    def coasted(self, q: Array, v: Array, dt: float) -> tuple[Array, Array]:
        """Where constant velocities lead: places of floating roots go straight on while their axes turn."""
        turning, v = v.copy(), v.copy()
        for root in self.roots.values():
            turning[root.v][:3] = 0.0
        end = manifold.integrated(self.data, q, turning, dt)
        for root in self.roots.values():
            start, stop = quaternion_matrix(q[root.q][3:]), quaternion_matrix(end[root.q][3:])
            along = start @ v[root.v][:3]
            end[root.q][:3] = q[root.q][:3] + dt * along
            v[root.v][:3] = stop.T @ along
        return end, v

    def missing(self, step: Step) -> dict[str, Array]:
        """By figure: force and moment about its root that its motion takes, less gravity and all that acts on it by the recording.

        The root of a figure has no motor: what the law of motion asks of its six coordinates is what everything outside does.
        """
        tau = np.zeros(self.model.nv)
        for expected in step.expected:  # for half of the step each
            a = (step.after - step.before) / step.dt
            for root in self.roots.values():  # their velocities are seen from axes that turn
                v, w = np.split(expected[root.v], 2)
                a[root.v][:3] -= _cross(w, v)
            tau += 0.5 * dynamics.inverse_dynamics(self.data, step.q, expected, a)
        found, place = {}, {}
        for figure, root in self.roots.items():
            R, place[figure] = kinematics.pose(self.data, self.model.placements[root.link])
            found[figure] = np.concatenate([R @ tau[root.v][:3], R @ tau[root.v][3:]])
        for push in step.pushes:
            figure = push.link.partition("/")[0]
            R, x = kinematics.pose(self.data, self.model.placements[push.link])
            found[figure] -= _wrench(push.force, push.moment, x + R @ push.at - place[figure])
        for contact in step.contacts:
            for link, sign in ((contact.link, 1.0), (contact.on, -1.0)):
                figure = link.partition("/")[0]
                if figure in found:
                    moment = contact.axes @ contact.wrench[3:]
                    found[figure] -= sign * _wrench(contact.force, moment, contact.point - place[figure])
        return found

    def twists(self, step: Step) -> list[Array]:
        """How each contact's link moves against what it touches after the step's impulse, along contact axes at its point."""
        self.data.q[:], self.data.v[:] = step.q, step.after
        kinematics.update_motion(self.data)
        found = []
        for c in step.contacts:
            against = self._velocity(c.link, c.point) - self._velocity(c.on, c.point)
            found.append(np.concatenate([c.axes.T @ against[:3], c.axes.T @ against[3:]]))
        return found

    def _velocity(self, link: str, point: Array) -> Array:
        """Of a point in the world that goes along with a link (6,), from motions already computed."""
        body, work = self.model.placements[link].body, self.data.work
        if body < 0:
            return np.zeros(6)
        w, v = np.split(work.V[body], 2)
        return np.concatenate([v + _cross(w, point - work.origin[self.model.tree.root[body]]), w])

    def answer(self, step: Step) -> float:
        """fᵀ A⁻¹ f [N²/kg] of all contact forces: what they do to velocities, were there nothing else."""
        self.data.q[:] = step.q
        kinematics.update_poses(self.data)
        f = np.zeros(self.model.nv)
        for c in step.contacts:
            for link, sign in ((c.link, 1.0), (c.on, -1.0)):
                placement = self.model.placements[link]
                R, x = kinematics.pose(self.data, placement)
                at = placement._replace(position=placement.position + placement.rotation @ (R.T @ (c.point - x)))
                f += sign * kinematics.jacobian(self.data, at).T @ np.concatenate([c.force, c.axes @ c.wrench[3:]])
        damped = dynamics.mass_matrix(self.data, step.q) + step.dt * np.diag(self.model.tree.damping)  # dampers are implicit
        return float(f @ np.linalg.solve(damped, f))

    def depth(self, row: int, touchable: Array) -> float:
        """How deep shapes are inside each other at a recorded state [m]."""
        self.data.q[:] = self.run.q[row]
        kinematics.update_poses(self.data)
        shapes, areas, _ = self._finder.rooms
        shapes.pair_on[:] = touchable
        n = narrow_phase.find(self.data, self._finder, 0.0)
        gaps = areas.gap[:n, :1] + areas.V[:n, :, 0] * areas.gap[:n, 1:2] + areas.V[:n, :, 1] * areas.gap[:n, 2:]
        there = np.arange(areas.V.shape[1]) < areas.corners[:n, None]
        return -float(np.where(there, gaps, np.inf).min(initial=0.0))

    def friction(self, contact: Contact) -> float:
        """The coefficient of its pair of shapes; lanes of a slope are as rough as what is on them."""
        grips = self._grips[contact.on, contact.link]
        if len(grips) == 1:
            return min(grips)
        (shape,) = self.model.links[contact.link].shapes
        assert shape.material is not None
        return shape.material.friction

    @cached_property
    def _grips(self) -> dict[tuple[str, str], set[float]]:
        """By links: those of all their shapes."""
        touches, found = self.world.surfaces.touches, {}
        assert touches is not None
        for links, grip in zip(self.world.surfaces.pairs, touches.touch.grip, strict=True):
            found.setdefault(links, set()).add(float(grip))
        return found


class Root(NamedTuple):
    """The free joint of a figure."""

    link: str
    q: slice
    v: slice


def _roots(model: Model) -> dict[str, Root]:
    """By figure."""
    free = {j.link: j for j in model.joints.values() if model.links[j.link].parent is None and isinstance(model.links[j.link].joint, Free)}
    return {link.partition("/")[0]: Root(link, joint.q, joint.v) for link, joint in free.items()}


def quaternion_matrix(q: Array) -> Array:
    """Rotation (3, 3) of a unit quaternion (w, x, y, z)."""
    w, x, y, z = q.tolist()
    return np.array([
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    ])  # fmt: skip


def _wrench(force: Array, moment: Array, arm: Array) -> Array:
    return np.concatenate([force, moment + _cross(arm, force)])


def _cross(a: Array, b: Array) -> Array:
    """A × b; numpy's own takes ten times as long."""
    (a_x, a_y, a_z), (b_x, b_y, b_z) = a.tolist(), b.tolist()
    return np.array([a_y * b_z - a_z * b_y, a_z * b_x - a_x * b_z, a_x * b_y - a_y * b_x])


# --- one contact ----------------------------------------------------------------------------------


def corners(contact: Contact) -> Array:
    """Of its area, along contact axes from its point (k, 2)."""
    return (contact.area - contact.point) @ contact.axes[:, :2]


def centre(contact: Contact) -> Array:
    """Of pressure, likewise (2,)."""
    return (contact.cop - contact.point) @ contact.axes[:, :2]


def outside(contact: Contact) -> float:
    """How far its centre of pressure is outside of its area [m]."""
    area, c = corners(contact), centre(contact)
    if len(area) == 1:
        return float(np.linalg.norm(c - area[0]))
    edge, to = np.roll(area, -1, axis=0) - area, c - area
    if len(area) > 2 and (edge[:, 0] * to[:, 1] - edge[:, 1] * to[:, 0] >= 0).all():
        return 0.0
    t = np.clip((edge * to).sum(axis=1) / (edge * edge).sum(axis=1), 0.0, 1.0)
    return float(np.linalg.norm(to - t[:, None] * edge, axis=1).min())


def rubbing(contact: Contact) -> float:
    """Size of friction over normal force: that of (f_x, f_y, m / l), as the law of contact has it."""
    f_x, f_y, f_z = contact.wrench[:3]
    moment, length = contact.moment @ contact.normal, mean_length(corners(contact), centre(contact), 1.0)
    if length > NO_LENGTH:
        return float(np.linalg.norm([f_x, f_y, moment / length]) / f_z)
    return float(np.hypot(f_x, f_y) / f_z) if abs(moment) < 1e-9 * f_z else np.inf
