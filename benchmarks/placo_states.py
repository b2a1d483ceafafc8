"""Recorded control steps of a walk for placo: states, task targets and contacts, in the coordinates of hinge_urdf.py."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import hinge_urdf
from brachiate import dynamics, kinematics
from brachiate.filter.reference.reference import Reference
from brachiate.filter.schedule.arrays import MAX_CONTACT_POINTS
from brachiate.model.data import Data
from brachiate.model.flatten import Placement
from brachiate.validation import Array

AIR, FLAT, TOE, HEEL = range(4)  # contact of a foot, as in placo_qp.py
CORNERS = ("heel", "right"), ("heel", "left"), ("toe", "right"), ("toe", "left")  # in the order of Stance.corners
GRAVITY = 9.81
NEGLIGIBLE_WEIGHT = 1e-9  # of a QP task


class WalkStates:
    """Control steps of one walk in which placo has the same contacts."""

    def __init__(self, reference: Reference) -> None:
        self.reference, self.figure = reference, reference.figure
        self.data, self.recorded = Data(self.figure), []
        self.step: Any = []  # control step of each recorded state
        self.settings: dict[str, Any] = {}
        self.frames: dict[str, Placement] = {}

    @contextmanager
    def record(self, cls: Any, method: str) -> Iterator[None]:
        """Record the state after every call of the filter's control method."""
        call: Callable[..., Any] = getattr(cls, method)
        count = 0

        @functools.wraps(call)
        def run(tracker: Any, *args: Any) -> Any:
            nonlocal count
            result = call(tracker, *args)
            try:
                self._record_step(tracker, args[0], count)
            except AttributeError as problem:
                raise SystemExit(f"An attribute of the filter was renamed ({problem}): update placo_states.py.") from None
            count += 1
            return result

        setattr(cls, method, run)
        try:
            yield
        finally:
            setattr(cls, method, call)
            self.step = np.array(self.step)

    def _record_step(self, tracker: Any, frame: int, step: int) -> None:
        """Record one step, if all feet are in the air, flat or on an edge; solves the QP without its angular momentum task."""
        controller, feet = tracker.controller, tracker.mpc.feet
        if not self.settings:
            self._record_settings(tracker)
        contacts = [self._foot_contact(tracker, n) for n in range(len(controller.control.contact_body))]
        if None in contacts or all(contact == AIR for contact in contacts):
            return
        before = [x.copy() for x in feet.arrays]
        controller.apply_settings(replace(tracker.settings, angular_momentum_weight=NEGLIGIBLE_WEIGHT))  # placo has no such task
        controller.solve(tracker.window, feet, frame)
        self.recorded.append({**self._solution(controller), **self._targets(controller), "contact": np.array(contacts)})
        self.step.append(step)
        controller.apply_settings(tracker.settings)
        controller.solve(tracker.window, feet, frame)
        for x, old in zip(feet.arrays, before, strict=True):
            x[:] = old

    def _solution(self, controller: Any) -> dict[str, Array]:
        """State, and solution of the QP: accelerations with their inverse dynamics (without contact forces), and joint torques."""
        world, ctl = controller.world, controller.control
        q, v, a = world.q[controller.q_at], world.v[controller.v_at], ctl.a[controller.v_at].copy()
        state = hinge_urdf.hinge_state(self.figure, q, v, a)
        return {
            "base": state.base, "angle": state.angle, "rate": state.rate, "acceleration": state.acceleration,
            "inverse_dynamics": state.jacobian.T @ dynamics.inverse_dynamics(self.data, q, v, a),
            "tau": state.jacobian.T @ world.torque[controller.v_at], "com_acceleration_achieved": ctl.achieved[:3].copy(),
        }  # fmt: skip

    def _targets(self, controller: Any) -> dict[str, Array]:
        """Targets and weights of all tasks."""
        ctl, reference = controller.control, controller.reference
        q, v, a = reference.q[controller.q_at].copy(), reference.v[controller.v_at].copy(), reference.a[controller.v_at].copy()
        target = hinge_urdf.hinge_state(self.figure, q, v, a)
        self.data.assign(q=q, v=v, a=a)
        _, rotation, velocity, acceleration = self._frame_motion(Placement(0, np.eye(3), np.zeros(3)))
        soles = [self._frame_motion(self.frames[f"sole{n}"]) for n in range(len(ctl.contact_body))]
        foot_position, foot_rotation, foot_velocity, foot_acceleration = (np.array([sole[i] for sole in soles]) for i in range(4))
        return {
            "target_angle": target.angle, "target_rate": target.rate, "target_acceleration": target.acceleration,
            "com_acceleration": ctl.com_acceleration.copy(),
            "pelvis_rotation": rotation, "pelvis_angular_velocity": velocity[3:], "pelvis_angular_acceleration": acceleration[3:],
            "foot_position": foot_position + ctl.position_offset, "foot_rotation": foot_rotation,
            "foot_velocity": foot_velocity[:, :3] + ctl.velocity_offset, "foot_angular_velocity": foot_velocity[:, 3:],
            "foot_acceleration": foot_acceleration[:, :3] + ctl.acceleration_offset, "foot_angular_acceleration": foot_acceleration[:, 3:],
            "position_weight": ctl.position_weight.copy(), "orientation_weight": ctl.orientation_weight.copy(),
        }  # fmt: skip

    def _record_settings(self, tracker: Any) -> None:
        """Record what is constant: frames of the feet, gains and weights."""
        controller, ctl, s = tracker.controller, tracker.controller.control, tracker.settings
        corners = {stance.link: stance.corners for stance in self.reference.stances}
        placements = controller.world.model.placements
        links = {placements[f"{controller.figure.name}/{link}"].body: link for link in corners}
        for n, body in enumerate(ctl.contact_body):
            link = links[int(body)]
            placement, center = self.figure.placements[link], corners[link].mean(axis=0)
            arm = corners[link] - center
            inside = center + arm * (1.0 - s.support_margin / np.linalg.norm(arm, axis=1, keepdims=True))
            self.frames[f"sole{n}"] = _frame_at(placement, center)
            self.frames |= {f"{end}{n}_{side}": _frame_at(placement, x) for (end, side), x in zip(CORNERS, inside, strict=True)}
        weights = ctl.joint_weight[controller.v_at][6:]
        friction = controller.world.contact_settings.material.friction
        self.settings = {
            "dt": controller.dt, "mu": s.friction_share * friction / np.sqrt(2.0), "sole_size": np.ptp(inside[:, :2], axis=0).tolist(),
            "com_weight": s.com_weight, "pelvis_weight": s.pelvis_orientation_weight, "stance_weight": s.contact_weight,
            "force_weight": float(controller.qp.force_weight[0]), "joint_gains": (s.joint_stiffness, s.joint_damping),
            "foot_gains": (s.swing_foot_stiffness, s.swing_foot_damping), "stance_damping": s.contact_damping,
            "hinges": [(float(w), (6 + np.flatnonzero(weights == w)).tolist()) for w in np.unique(weights)],
        }  # fmt: skip

    def _foot_contact(self, tracker: Any, n: int) -> int | None:
        """Contact of a foot: AIR, FLAT, TOE or HEEL; None for one that placo does not have, or while it changes."""
        controller, ctl = tracker.controller, tracker.controller.control
        corners = int(ctl.supporting_corners[n])
        if (corners > 0) != (ctl.position_weight[n] == 0.0):
            return None
        if corners in (0, 4):
            return FLAT if corners else AIR
        if corners != 2:
            return None
        feet, frame = tracker.mpc.feet.arrays, Placement(int(ctl.contact_body[n]), np.eye(3), np.zeros(3))
        pose, first = kinematics.pose(controller.world.data, frame), MAX_CONTACT_POINTS * n
        center = feet.contact_points[first : first + feet.contact_count[n]].mean(axis=0)
        heel, toe = (pose.position + pose.rotation @ x for x in ctl.corner[8 * n : 8 * n + 4].reshape(2, 2, 3).mean(axis=1))
        return TOE if np.linalg.norm(center - toe) < np.linalg.norm(center - heel) else HEEL

    def _frame_motion(self, frame: Placement) -> tuple[Array, Array, Array, Array]:
        """Position, rotation, velocity and acceleration of a frame in the reference."""
        velocity, acceleration = kinematics.frame_motion(self.data, frame)
        pose = kinematics.pose(self.data, frame)
        return pose.position, pose.rotation, velocity, acceleration

    def write(self, folder: Path) -> None:
        """Write the input of placo_qp.py."""
        (folder / "robot.urdf").write_text(hinge_urdf.urdf(self.figure, self.frames))
        (folder / "settings.json").write_text(json.dumps(self.settings))
        np.savez(folder / "states.npz", **self._arrays)

    @functools.cached_property
    def _arrays(self) -> dict[str, Array]:
        return {name: np.array([state[name] for state in self.recorded]) for name in self.recorded[0]}

    @property
    def max_torque(self) -> float:
        """The largest generalized force of inverse dynamics in all states [N or N·m]."""
        return float(np.abs(self._arrays["inverse_dynamics"]).max())

    @property
    def supports(self) -> dict[str, Array]:
        """Masks of the states in single and in double support."""
        feet = (self._arrays["contact"] != AIR).sum(axis=1)
        return {"single support": feet == 1, "double support": feet == 2}

    def agreement(self, placo: dict[str, Array], states: Array) -> str:
        """Median differences of the solutions, in words; brachiate's without the angular momentum task."""
        own, mass = {name: x[states] for name, x in self._arrays.items()}, self.figure.mass
        weight = mass * GRAVITY
        own_force, placo_force = mass * (own["com_acceleration_achieved"][:, 2] + GRAVITY), placo["force"][states][:, 2]
        planned = mass * (own["com_acceleration"][:, 2] + GRAVITY)
        own_error, placo_error = (100.0 * np.median(np.abs(force - planned)) / weight for force in (own_force, placo_force))
        torque = np.median(np.abs(placo["tau"][states] - own["tau"])[:, 6:].max(axis=1))
        return (
            f"vertical force differs from the plan by {own_error:.2g} % of the weight (placo {placo_error:.2g} %), largest difference of "
            f"joint torques {torque:.3g} N·m (medians, without the angular momentum task)"
        )


def _frame_at(placement: Placement, point: Array) -> Placement:
    """A frame at a point of a link, along the axes of the link."""
    return Placement(placement.body, placement.rotation, placement.position + placement.rotation @ point)
