"""Time steps of a scene at their midpoints, where velocities change, and the laws of motion for each, implemented a second time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from tests.contact.checks import torsion_length_by_angles

from brachiate import dynamics, kinematics, manifold
from brachiate.compiled import entry
from brachiate.contact.arrays import FROZEN, open_problem
from brachiate.contact.collision import narrow_phase
from brachiate.contact.collision.collision_shapes import collision_geometry, collision_handle
from brachiate.contact.solver.contact_law import MIN_TORSION_LENGTH, residual
from brachiate.contact.stepping.contact_rows import PENETRATION_SLACK
from brachiate.model.data import Data
from brachiate.model.joints import Free
from brachiate.model.model import Model
from brachiate.scenes import Scene
from brachiate.validation import Array
from brachiate.world.applied_forces import AppliedForce
from brachiate.world.contacts import Contact, Contacts
from brachiate.world.world import World


@entry
def violation_of_law(key):
    """Residual of the contact law of a problem's forces, at their own centers of pressure [m/s]."""
    (P,) = open_problem(key)
    P.count[FROZEN] = 0
    return residual(P)


class Step(NamedTuple):
    """One time step. Velocities are in the axes of its midpoint."""

    row: int  # row of the recording: the state at its end
    dt: float
    q: Array  # at its midpoint
    before: Array
    expected: tuple[Array, Array]  # velocities for the velocity-dependent forces: before and after the impulse, or the mean for both
    after: Array
    contacts: Contacts
    pushes: tuple[AppliedForce, ...]
    has_connections: bool  # whether there are connections, and the state was projected onto them at the end
    may_collide: Array  # pairs of shapes that may collide
    violation: float  # [m/s] of the contact law; NaN in steps with depenetration


class SteppedScene:
    """A scene that was run step by step."""

    def __init__(self, scene: Scene, seconds: float | None = None) -> None:
        self.scene, self.world, self._seen = scene, scene.world, []
        scene.simulation.control(self._record)  # called before every step: records the previous one
        self.run = scene.run(seconds)
        self._record(self.world)
        self.model = self.run.model
        self.data = Data(self.model, self.run.gravity)
        self.roots = _roots(self.model)
        self.mass = {figure: self.world.totals(figure).mass for figure in self.roots}
        self._finder = collision_handle(collision_geometry(self.model))
        self.steps = list(self._steps())

    def _record(self, world: World) -> None:
        contact_state = world.contact_settings.contact_state
        assert contact_state is not None
        contact, violation = contact_state.arrays, 0.0
        if contact.old_count[0] > 0:
            violation = violation_of_law(contact_state.problem_key) if contact.penetration[0] <= PENETRATION_SLACK else np.nan
        expected = contact.v_mid - contact.half_jump, contact.v_mid + contact.half_jump
        self._seen.append((expected, world.applied_forces, bool(world.connections), contact_state.geometry.pair_enabled.copy(), violation))

    def _steps(self) -> Iterator[Step]:
        run, changed = self.run, [change.time for change in self.scene.changes]
        for row in range(1, len(run)):
            dt = float(run.time[row] - run.time[row - 1])
            if any(run.time[row - 1] < time <= run.time[row] for time in changed):
                continue  # several steps with an impulse in between
            expected, _, has_connections, may_collide, violation = self._seen[row]
            q, before = self.at_constant_velocity(run.q[row - 1], run.v[row - 1], dt / 2)
            # Depenetration moves bodies after the velocity is known, so the midpoint is that of the motion before it.
            _, after = self.at_constant_velocity(run.q[row], run.v[row], -dt / 2)
            yield Step(
                row, dt, q, before, expected, after, run.contacts.at(row), self._seen[row - 1][1], has_connections, may_collide, violation
            )

    def at_constant_velocity(self, q: Array, v: Array, dt: float) -> tuple[Array, Array]:
        """Motion at constant velocity: floating roots move on a straight line while their axes rotate."""
        angular_only, v = v.copy(), v.copy()
        for root in self.roots.values():
            angular_only[root.v][:3] = 0.0
        end = manifold.integrate(self.data, q, angular_only, dt)
        for root in self.roots.values():
            start, stop = quaternion_matrix(q[root.q][3:]), quaternion_matrix(end[root.q][3:])
            along = start @ v[root.v][:3]
            end[root.q][:3] = q[root.q][:3] + dt * along
            v[root.v][:3] = stop.T @ along
        return end, v

    def root_residual(self, step: Step) -> dict[str, Array]:
        """Root residual by figure: force and moment about its root that its motion requires, minus gravity and all recorded forces on it.

        The root of a figure has no motor: the generalized force of its six coordinates is the sum of all external forces.
        """
        tau = np.zeros(self.model.nv)
        for expected in step.expected:  # each for half of the step
            a = (step.after - step.before) / step.dt
            for root in self.roots.values():  # velocities are in rotating axes
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
        """Relative twist of each contact after the step's impulse, along contact axes at its point."""
        self.data.q[:], self.data.v[:] = step.q, step.after
        kinematics.update_motion(self.data)
        found = []
        for c in step.contacts:
            against = self._velocity(c.link, c.point) - self._velocity(c.on, c.point)
            found.append(np.concatenate([c.axes.T @ against[:3], c.axes.T @ against[3:]]))
        return found

    def _velocity(self, link: str, point: Array) -> Array:
        """Velocity (6,) of a world point that moves with a link, from motions already computed."""
        body, work = self.model.placements[link].body, self.data.work
        if body < 0:
            return np.zeros(6)
        w, v = np.split(work.V[body], 2)
        return np.concatenate([v + _cross(w, point - work.origin[self.model.tree.root[body]]), w])

    def response(self, step: Step) -> float:
        """fᵀ A⁻¹ f [N²/kg] of all contact forces."""
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

    def max_penetration(self, row: int, may_collide: Array) -> float:
        """Largest penetration at a recorded state [m]."""
        self.data.q[:] = self.run.q[row]
        kinematics.update_poses(self.data)
        shapes, patches, _ = self._finder.structs
        shapes.pair_enabled[:] = may_collide
        n = narrow_phase.find_contacts(self.data, self._finder, 0.0)
        gaps = patches.gap[:n, :1] + patches.V[:n, :, 0] * patches.gap[:n, 1:2] + patches.V[:n, :, 1] * patches.gap[:n, 2:]
        there = np.arange(patches.V.shape[1]) < patches.corners[:n, None]
        return -float(np.where(there, gaps, np.inf).min(initial=0.0))

    def friction(self, contact: Contact) -> float:
        """Friction coefficient of the contact's pair of shapes; lanes of a slope have that of the shape on them."""
        coefficients = self._friction_coefficients[contact.on, contact.link]
        if len(coefficients) == 1:
            return min(coefficients)
        (shape,) = self.model.links[contact.link].shapes
        assert shape.material is not None
        return shape.material.friction

    @cached_property
    def _friction_coefficients(self) -> dict[tuple[str, str], set[float]]:
        """Friction coefficients of all shapes, by link."""
        contact_state, found = self.world.contact_settings.contact_state, {}
        assert contact_state is not None
        for links, coefficient in zip(self.world.contact_settings.link_pairs, contact_state.arrays.static_friction, strict=True):
            found.setdefault(links, set()).add(float(coefficient))
        return found


class Root(NamedTuple):
    """The free joint of a figure."""

    link: str
    q: slice
    v: slice


def _roots(model: Model) -> dict[str, Root]:
    """Free joints by figure."""
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
    """A × b, ten times as fast as np.cross."""
    (a_x, a_y, a_z), (b_x, b_y, b_z) = a.tolist(), b.tolist()
    return np.array([a_y * b_z - a_z * b_y, a_z * b_x - a_x * b_z, a_x * b_y - a_y * b_x])


# --- one contact ----------------------------------------------------------------------------------


def corners(contact: Contact) -> Array:
    """Corners of the patch in contact axes from the contact point (k, 2)."""
    return (contact.area - contact.point) @ contact.axes[:, :2]


def center_of_pressure(contact: Contact) -> Array:
    """Center of pressure in contact axes from the contact point (2,)."""
    return (contact.cop - contact.point) @ contact.axes[:, :2]


def distance_outside_patch(contact: Contact) -> float:
    """Distance of the center of pressure from the patch [m]; 0 inside."""
    area, c = corners(contact), center_of_pressure(contact)
    if len(area) == 1:
        return float(np.linalg.norm(c - area[0]))
    edge, to = np.roll(area, -1, axis=0) - area, c - area
    if len(area) > 2 and (edge[:, 0] * to[:, 1] - edge[:, 1] * to[:, 0] >= 0).all():
        return 0.0
    t = np.clip((edge * to).sum(axis=1) / (edge * edge).sum(axis=1), 0.0, 1.0)
    return float(np.linalg.norm(to - t[:, None] * edge, axis=1).min())


def friction_ratio(contact: Contact) -> float:
    """Norm of (f_x, f_y, m / l) over the normal force, as in the contact law."""
    f_x, f_y, f_z = contact.wrench[:3]
    moment, length = contact.moment @ contact.normal, torsion_length_by_angles(corners(contact), center_of_pressure(contact), 1.0)
    if length > MIN_TORSION_LENGTH:
        return float(np.linalg.norm([f_x, f_y, moment / length]) / f_z)
    return float(np.hypot(f_x, f_y) / f_z) if abs(moment) < 1e-9 * f_z else np.inf
