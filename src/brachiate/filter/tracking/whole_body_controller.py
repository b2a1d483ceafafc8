"""Whole-body controller: arrays of a figure in a world, its limits, contact links and gains, and the joint torques of every time step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from brachiate.compiled import ArrayHandle, array_fields
from brachiate.errors import ArgumentError, StateError
from brachiate.filter.footsteps.foot_state import FootStates
from brachiate.filter.schedule.arrays import MAX_CORNERS
from brachiate.filter.schedule.contact_schedule import ContactLink, GripInterval
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.closed_loops import closed_loops, loop_rows
from brachiate.filter.tracking.control_step import apply_torques, solve_qp, update_state
from brachiate.filter.tracking.validation import tracking_weights
from brachiate.filter.whole_body.arrays import COM_WEIGHT, CONTACT_FORBIDDEN, GAINS, Control
from brachiate.filter.whole_body.qp import SOLVES, allocate_qp
from brachiate.model.data import Data
from brachiate.model.joints import BALL, TURN, Free
from brachiate.model.status import NOT_CONVERGED, TOO_MANY_CONTACTS
from brachiate.validation import Array
from brachiate.world.world import World

CONTACT_ROWS, MAX_RAYS = 200, 384  # capacity of the QP for contacts
CONTACT_THRESHOLD = 1e-4  # [m] corners nearer than this to the ground after the step are in contact
MAX_ENLARGEMENTS = 8  # of the contact arrays in one step
ARM_AND_NECK = ("shoulder", "elbow", "wrist", "hand", "neck", "head", "arm")  # joints of FilterSettings.arm_weight, by their names
BALANCE_FACTOR = 10.0  # of the weight of the CoM while functions act, which must not tip the body over
# [rad/s] of any joint, as of the fastest people. Without a bound a body that stumbles would use its light limbs as reaction wheels: the
# tasks of its CoM and angular momentum outweigh those of the joints by far
MAX_TURNING_SPEED = 50.0
REFERENCE_MASS = 65.0  # [kg] of the figure for which FilterSettings.contact_force_weight is given


class WholeBodyController:
    """Owner of the arrays of the whole-body QP controller.

    Args:
        world: World with contact.
        figure: Name of the controlled figure.
        contact_links: Feet and other links that support the figure.
        settings: Of the filter, scaled to the figure.
        dt: Time step [s].
        grips: Hands that hold something, with their intervals.
        tracked_links: Links whose pose is tracked as well, with their weights.
        function_rows: Largest number of rows of functions of the motion.
    """

    def __init__(
        self,
        world: World,
        figure: str,
        contact_links: Sequence[ContactLink],
        settings: FilterSettings,
        dt: float,
        grips: Sequence[GripInterval] = (),
        tracked_links: Mapping[str, float] | None = None,
        function_rows: int = 0,
    ) -> None:
        self.world, self.figure, self.dt = world, world.figure(figure), dt
        model, own = world.model, self.figure.model
        self.reference = Data(model)
        self.contact_links = tuple(contact.link for contact in contact_links)  #: names of the supporting links
        self.root = self._floating_base(figure)
        self.q_at, self.v_at = np.empty(own.nq, np.int64), np.empty(own.nv, np.int64)
        for name, joint in own.joints.items():
            there = model.joints[f"{figure}/{name}"]
            self.q_at[joint.q], self.v_at[joint.v] = np.arange(there.q.start, there.q.stop), np.arange(there.v.start, there.v.stop)
        # Half of the rows for contacts; the other half for the centroidal task and the floating base, two limits each of position, torque
        # and speed of every joint, swing feet, grips, tracked links, functions and loops: kernels that add rows do not check it
        weights = tracking_weights(own, figure, tracked_links)
        self.loops = closed_loops(world, figure)
        loops = 6 * len(self.loops)
        rest = 12 + 6 * model.nv + 6 * len(contact_links) + 4 * len(grips) + 6 * len(weights) + function_rows + loops
        self.qp = allocate_qp(model.nv, 2 * max(CONTACT_ROWS, rest), MAX_RAYS)
        self.control = self._allocate(model.nv, len(model.tree.parent), len(contact_links), len(grips), len(weights), function_rows, loops)
        self._qp_handle, self._control_handle = ArrayHandle(self.qp), ArrayHandle(self.control)
        self._describe_figure(figure)
        self._describe_contact_links(figure, contact_links)
        self._describe_grips(figure, grips)
        self._describe_tracked_links(figure, weights)
        self.apply_settings(settings)

    @property
    def key(self) -> Any:
        """First argument of compiled entry points; a copy has its own."""
        return self._control_handle.key

    def _floating_base(self, figure: str) -> slice:
        """Velocity coordinates of the floating base."""
        model = self.figure.model
        free = [
            name for name, j in model.joints.items() if model.links[j.link].parent is None and isinstance(model.links[j.link].joint, Free)
        ]
        if not free:
            raise ArgumentError(f"The filter needs a figure with a floating base: the root of {figure!r} has no free joint.")
        return self.world.model.joints[f"{figure}/{free[0]}"].v

    def _allocate(self, nv: int, bodies: int, links: int, grips: int, tracked: int, functions: int, loops: int) -> Control:
        length = dict.fromkeys(("contact_body", "task_point", "position_weight", "orientation_weight", "sole_level"), links)
        length |= dict.fromkeys(("position_offset", "velocity_offset", "acceleration_offset"), links)
        length |= dict.fromkeys(("supporting_corners", "touching_corners", "clearance"), links)
        length |= {"corner": MAX_CORNERS * links, "contact_mode": MAX_CORNERS * links, "gain": len(GAINS), "members": bodies}
        length |= {"contact_link_of": bodies, "com": 6, "achieved": 6, "reference_com": 6}
        length |= dict.fromkeys(("com_acceleration", "angular_momentum_rate", "angular_momentum"), 3)
        length |= dict.fromkeys(("orientation_error", "reference_angular_momentum"), 3)
        length |= {"q_at": len(self.q_at), "v_at": len(self.v_at), "mass": 1, "locked_inertia": 1, "M": nv * nv}
        length |= dict.fromkeys(("ray_patch", "ray_point", "ray_direction"), MAX_RAYS) | {"ray_force": MAX_RAYS * nv}
        length |= dict.fromkeys(("tracked_body", "tracked_point", "tracked_weight"), tracked) | {"tracked_offset": 3}
        length |= {"com_shift": 2, "orientation_shift": 3}
        length |= {"loop_count": 1, "loop_gradient": loops * nv, "loop_rhs": loops}
        length |= {"function_count": 2, "function_gradient": functions * nv, "function_rhs": functions, "function_weight": functions}
        length |= dict.fromkeys(("grip_mode", "grip_body", "grip_point", "grip_frames"), grips) | {"grip_weight": 1}
        return Control(**{name: np.zeros((length.get(name, nv), *kind.row), kind.dtype) for name, kind in array_fields(Control).items()})

    def _describe_figure(self, figure: str) -> None:
        """Set the bodies, actuators and joint limits of the figure."""
        ctl, model = self.control, self.world.model
        ctl.q_at[:], ctl.v_at[:] = self.q_at, self.v_at
        ctl.contact_link_of[:] = ctl.limited_q_at[:] = ctl.contact_mode[:] = -1
        ctl.lower[:], ctl.upper[:] = -np.inf, np.inf
        for name, place in model.placements.items():
            if place.body >= 0 and name.startswith(f"{figure}/"):
                ctl.members[place.body] = 1
        ctl.effort[:], ctl.speed_limit[:] = model.effort, model.speed
        turning = self._turning_coordinates()
        ctl.speed_limit[turning] = np.minimum(ctl.speed_limit[turning], MAX_TURNING_SPEED)
        ctl.unactuated[self.root] = 1
        if self.loops:  # such as a bar in both hands: what no motor drives, the loops drive
            ctl.unactuated[self.v_at[model.effort[self.v_at] == 0.0]] = 1
        lower, upper = model.limits
        for name, place in model.scalar_coordinates.items():
            k = model.coordinate_index[name]
            if np.isfinite(lower[k]) or np.isfinite(upper[k]):
                ctl.limited_q_at[k], ctl.lower[k], ctl.upper[k] = place, lower[k], upper[k]

    def _turning_coordinates(self) -> Array:
        """Velocity coordinates of the figure's joints that turn."""
        tree, found = self.world.model.tree, [np.zeros(0, np.int64)]
        for kind, at in zip(tree.kind.tolist(), tree.v_at.tolist(), strict=True):
            found.append(np.arange(at, at + {TURN: 1, BALL: 3}.get(kind, 0)))
        return np.intersect1d(np.concatenate(found), self.v_at)

    def _describe_contact_links(self, figure: str, contact_links: Sequence[ContactLink]) -> None:
        """Set the bodies and corners of the contact links."""
        ctl = self.control
        for n, contact in enumerate(contact_links):
            place = self.world.model.placements[f"{figure}/{contact.link}"]
            points = place.position + contact.corners @ place.rotation.T
            if len(points) > MAX_CORNERS:
                raise ArgumentError(f"The sole of {contact.link!r} has {len(points)} corners: at most {MAX_CORNERS} are supported.")
            ctl.contact_body[n], ctl.contact_link_of[place.body] = place.body, n
            at = slice(MAX_CORNERS * n, MAX_CORNERS * n + len(points))
            ctl.corner[at], ctl.contact_mode[at] = points, CONTACT_FORBIDDEN
            ctl.task_point[n] = points.mean(axis=0)

    def _describe_grips(self, figure: str, grips: Sequence[GripInterval]) -> None:
        """Set the points and frames of the grips."""
        for n, grip in enumerate(grips):
            place = self.world.model.placements[f"{figure}/{grip.link}"]
            self.control.grip_body[n], self.control.grip_frames[n] = place.body, (grip.start, grip.end)
            self.control.grip_point[n] = place.position + place.rotation @ grip.point

    def _describe_tracked_links(self, figure: str, tracked_links: Mapping[str, float]) -> None:
        """Set the links whose pose is tracked as well, and their weights."""
        ctl = self.control
        for n, (link, weight) in enumerate(tracked_links.items()):
            place = self.world.model.placements[f"{figure}/{link}"]
            ctl.tracked_body[n], ctl.tracked_point[n], ctl.tracked_weight[n] = place.body, place.position, weight

    def apply_settings(self, settings: FilterSettings) -> None:
        """Set gains and weights."""
        self.settings = settings
        ctl, s = self.control, settings
        gains = {
            "JOINT_STIFFNESS": s.joint_stiffness,
            "JOINT_DAMPING": s.joint_damping,
            "FOOT_STIFFNESS": s.swing_foot_stiffness,
            "FOOT_DAMPING": s.swing_foot_damping,
            "STANCE_DAMPING": s.contact_damping,
            "COM_WEIGHT": s.com_weight,
            "ANGULAR_MOMENTUM_WEIGHT": s.angular_momentum_weight,
            "FRICTION_SHARE": s.friction_share,
            "SUPPORT_INSET": s.support_margin,
            "CONTACT_DISTANCE": CONTACT_THRESHOLD,
            "PENETRATION_HORIZON": s.penetration_horizon,
            "LIMIT_HORIZON": s.joint_limit_horizon,
            "TIME_STEP": self.dt,
            "DETECTION_MARGIN": s.contact_detection_distance,
            "TOUCHDOWN_TIME": s.touchdown_time,
            "TOUCHDOWN_SPEED": s.touchdown_speed,
            "TOUCHDOWN_WEIGHT": s.touchdown_weight,
            "STANCE_WEIGHT": s.contact_weight,
        }
        ctl.grip_weight[0] = s.swing_foot_weight
        ctl.gain[:] = [gains[name] for name in GAINS]
        ctl.joint_weight[:] = 1.0
        for name, joint in self.world.model.joints.items():
            if any(word in name.lower() for word in ARM_AND_NECK):
                ctl.joint_weight[joint.v] = s.arm_weight
        ctl.joint_weight[ctl.unactuated == 1] = s.pelvis_position_weight
        ctl.joint_weight[self.root.start + 3 : self.root.stop] = s.pelvis_orientation_weight
        self.qp.force_weight[0] = s.contact_force_weight * (REFERENCE_MASS / self.figure.mass) ** 2

    def set_function_rows(self, gradient: Array, rhs: Array, weights: Array) -> None:
        """Set rows G a = d of the next QP (m, nv), (m,) with their weights (m,), those of functions of the motion."""
        ctl, m = self.control, len(rhs)
        ctl.function_count[0] = m
        ctl.function_gradient[: gradient.size] = gradient.ravel()
        ctl.function_rhs[:m], ctl.function_weight[:m] = rhs, weights
        ctl.gain[COM_WEIGHT] = self.settings.com_weight * (BALANCE_FACTOR if m else 1.0)

    def function_multipliers(self) -> Array:
        """Multipliers of these rows in the last QP (m,): weight times what is missing of the acceleration."""
        m, first = self.control.function_count.tolist()
        return self.qp.multipliers[first : first + m]

    def update_state(self, window: ArrayHandle, feet: FootStates, k: int) -> None:
        """Evaluate the state and frame k of the reference, and update stance and swing of the feet."""
        if self.loops:
            J, rhs = loop_rows(self.world, self.loops)
            ctl = self.control
            ctl.loop_count[0], ctl.loop_gradient[: J.size], ctl.loop_rhs[: len(rhs)] = len(rhs), J.ravel(), rhs
        status = update_state(self.world.data.key, self.reference.key, self.key, window.key, feet.key, k)
        if status:
            self.world.data.raise_status(status)

    def solve(self, window: ArrayHandle, feet: FootStates, k: int) -> int:
        """Solve the whole-body QP and set the torques in ``world.torque``. Returns the number of linear solves.

        Raises:
            StateError: There are too many contacts, or the QP did not converge.
        """
        contact, data = self.world.contact_settings.contact_state, self.world.data
        if contact is None:
            raise ArgumentError("The filter needs a world with contact: call world.enable_contact() first.")
        faces = contact.face_memory.copy()
        for _ in range(MAX_ENLARGEMENTS):
            status = solve_qp(data.key, self.reference.key, contact.key, self._qp_handle.key, self.key, feet.key)
            if status != TOO_MANY_CONTACTS:
                break
            contact.enlarge()
        else:
            raise StateError("The figure has more contacts than the filter supports. Has it fallen?")
        contact.face_memory[:] = faces  # that of the simulator: its steps do not depend on what the controller detects
        if status == NOT_CONVERGED:
            raise StateError("The whole-body QP did not converge.")
        if status:
            data.raise_status(status)
        apply_torques(data.key, contact.key, self._qp_handle.key, self.key, window.key, feet.key, k)
        return int(self.qp.counts[SOLVES])
