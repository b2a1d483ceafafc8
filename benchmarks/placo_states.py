"""States of a walk for placo: state, tasks and contacts of every control step, as placo's tasks and contacts take them."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import hinged
from brachiate import dynamics, kinematics
from brachiate.filter.reference.reference import Reference
from brachiate.filter.schedule.arrays import MAX_CONTACT_POINTS
from brachiate.model.data import Data
from brachiate.model.flatten import Placement
from brachiate.validation import Array

AIR, FLAT, TOE, HEEL = range(4)  # as in placo_peer.py
CORNERS = ("heel", "right"), ("heel", "left"), ("toe", "right"), ("toe", "left")  # in the order of a stance's
GRAVITY = 9.81
NONE = 1e-9  # of a weight


class States:
    """Collects them, one walk long."""

    def __init__(self, reference: Reference) -> None:
        self.reference, self.figure = reference, reference.figure
        self.data, self.taken = Data(self.figure), []
        self.step: Any = []  # which step each state is of
        self.settings: dict[str, Any] = {}
        self.frames: dict[str, Placement] = {}

    @contextmanager
    def noted(self, place: Any, method: str) -> Iterator[None]:
        """Take down every step that a filter decides about, as it is afterwards."""
        call: Callable[..., Any] = getattr(place, method)
        count = 0

        @functools.wraps(call)
        def run(tracker: Any, *given: Any) -> Any:
            nonlocal count
            result = call(tracker, *given)
            try:
                self._take(tracker, given[0], count)
            except AttributeError as gone:
                raise SystemExit(f"The filter has other names than placo_states.py knows ({gone}): say there what they are now.") from None
            count += 1
            return result

        setattr(place, method, run)
        try:
            yield
        finally:
            setattr(place, method, call)
            self.step = np.array(self.step)

    def _take(self, tracker: Any, frame: int, step: int) -> None:
        """One step, if tracker feet are in the air, flat, or on an edge, and nothing between."""
        body, K, feet = tracker.controller, tracker.controller.control, tracker.mpc.feet
        if not self.settings:
            self._describe(tracker)
        pattern = [self._stance(tracker, n) for n in range(len(K.contact_body))]
        if None in pattern or all(how == AIR for how in pattern):
            return
        before = [x.copy() for x in feet.arrays]
        body.apply_settings(replace(tracker.settings, angular_momentum_weight=NONE))  # as placo has no such task
        body.solve(tracker.window, feet, frame)
        world = body.world
        q, v, a = world.q[body.q_at], world.v[body.v_at], K.a[body.v_at].copy()
        aim = [x[at].copy() for x, at in zip((body.reference.q, body.reference.v, body.reference.a), (body.q_at, body.v_at, body.v_at))]
        here, there = hinged.hinged(self.figure, q, v, a), hinged.hinged(self.figure, *aim)
        state: dict[str, Any] = {"base": here.base, "angle": here.angle, "rate": here.rate, "acceleration": here.acceleration}
        state["load"] = here.turns.T @ dynamics.inverse_dynamics(self.data, q, v, a)
        state["tau"] = here.turns.T @ world.torque[body.v_at]
        state |= {"aim_angle": there.angle, "aim_rate": there.rate, "aim_acceleration": there.acceleration}
        state |= {
            "com_acceleration": K.com_acceleration.copy(),
            "achieved": K.achieved[:3].copy(),
            "pattern": np.array(pattern),
            "position_weight": K.position_weight.copy(),
            "orientation_weight": K.orientation_weight.copy(),
        }
        self.data.assign(q=aim[0], v=aim[1], a=aim[2])
        motions = [self._motion(Placement(0, np.eye(3), np.zeros(3)))] + [
            self._motion(self.frames[f"sole{n}"]) for n in range(len(pattern))
        ]
        (_, state["pelvis"], velocity, turning), *soles = motions
        state["pelvis_rate"], state["pelvis_turning"] = velocity[3:], turning[3:]
        state["foot"] = np.array([position + K.position_offset[n] for n, (position, *_) in enumerate(soles)])
        state["foot_turned"] = np.array([rotation for _, rotation, _, _ in soles])
        velocity, acceleration = (np.array([sole[i] for sole in soles]) for i in (2, 3))
        state |= {"foot_velocity": velocity[:, :3] + K.velocity_offset, "foot_rate": velocity[:, 3:]}
        state |= {"foot_acceleration": acceleration[:, :3] + K.acceleration_offset, "foot_turning": acceleration[:, 3:]}
        self.taken.append(state)
        self.step.append(step)
        body.apply_settings(tracker.settings)
        body.solve(tracker.window, feet, frame)
        for x, old in zip(feet.arrays, before, strict=True):
            x[:] = old

    def _describe(self, tracker: Any) -> None:
        """What is the same in all steps: frames of the feet, gains and weights."""
        body, K, s = tracker.controller, tracker.controller.control, tracker.settings
        corners = {stance.link: stance.corners for stance in self.reference.stances}
        links = {place.body: link for link in corners for place in [body.world.model.placements[f"{body.figure.name}/{link}"]]}
        for n, limb in enumerate(K.contact_body):
            link = links[int(limb)]
            place, middle = self.figure.placements[link], corners[link].mean(axis=0)
            away = corners[link] - middle
            inside = middle + away * (1.0 - s.support_margin / np.linalg.norm(away, axis=1, keepdims=True))
            self.frames[f"sole{n}"] = _at(place, middle)
            self.frames |= {f"{end}{n}_{side}": _at(place, x) for (end, side), x in zip(CORNERS, inside, strict=True)}
        weights = K.joint_weight[body.v_at][6:]
        friction = body.world.contact_settings.material.friction
        self.settings = {
            "dt": body.dt, "mu": s.friction_share * friction / np.sqrt(2.0), "sole": np.ptp(inside[:, :2], axis=0).tolist(),
            "com_weight": s.com_weight, "pelvis_weight": s.pelvis_orientation_weight, "stance_weight": s.contact_weight,
            "force_weight": float(body.qp.force_weight[0]), "joint_gains": (s.joint_stiffness, s.joint_damping),
            "foot_gains": (s.swing_foot_stiffness, s.swing_foot_damping), "stance_damping": s.contact_damping,
            "hinges": [(float(w), (6 + np.flatnonzero(weights == w)).tolist()) for w in np.unique(weights)],
        }  # fmt: skip

    def _stance(self, tracker: Any, n: int) -> int | None:
        """How a foot stands; None if otherwise than a peer knows, or just between."""
        K, body = tracker.controller.control, tracker.controller
        bearing = int(K.supporting_corners[n])
        if (bearing > 0) != (K.position_weight[n] == 0.0):
            return None
        if bearing in (0, 4):
            return FLAT if bearing else AIR
        if bearing != 2:
            return None
        G, here = tracker.mpc.feet.arrays, Placement(int(K.contact_body[n]), np.eye(3), np.zeros(3))
        pose, bears = (
            kinematics.pose(body.world.data, here),
            G.contact_points[MAX_CONTACT_POINTS * n : MAX_CONTACT_POINTS * n + G.contact_count[n]].mean(axis=0),
        )
        heel, toe = (pose.position + pose.rotation @ x for x in K.corner[8 * n : 8 * n + 4].reshape(2, 2, 3).mean(axis=1))
        return TOE if np.linalg.norm(bears - toe) < np.linalg.norm(bears - heel) else HEEL

    def _motion(self, frame: Placement) -> tuple[Array, Array, Array, Array]:
        """Position, rotation, velocity and acceleration of a frame in the reference."""
        velocity, acceleration = kinematics.frame_motion(self.data, frame)
        pose = kinematics.pose(self.data, frame)
        return pose.position, pose.rotation, velocity, acceleration

    def write(self, folder: Path) -> None:
        """Write what placo_peer.py reads."""
        (folder / "robot.urdf").write_text(hinged.urdf(self.figure, self.frames))
        (folder / "settings.json").write_text(json.dumps(self.settings))
        np.savez(folder / "states.npz", **self._arrays)

    @functools.cached_property
    def _arrays(self) -> dict[str, Array]:
        return {name: np.array([state[name] for state in self.taken]) for name in self.taken[0]}

    @property
    def load(self) -> float:
        """The largest force or torque of all states [N or N·m]."""
        return float(np.abs(self._arrays["load"]).max())

    @property
    def supports(self) -> dict[str, Array]:
        """Which states are of single support and which of double."""
        feet = (self._arrays["pattern"] != AIR).sum(axis=1)
        return {"single support": feet == 1, "double support": feet == 2}

    def agreement(self, theirs: dict[str, Array], these: Array) -> str:
        """How far results are apart, ours without the wish for angular momentum, in words: medians."""
        mine, mass = {name: x[these] for name, x in self._arrays.items()}, self.figure.mass
        weight = mass * GRAVITY
        forces = {"ours": mass * (mine["achieved"][:, 2] + GRAVITY), "theirs": theirs["force"][these][:, 2]}
        desired = mass * (mine["com_acceleration"][:, 2] + GRAVITY)
        off = {who: 100.0 * np.median(np.abs(force - desired)) / weight for who, force in forces.items()}
        torque = np.median(np.abs(theirs["tau"][these] - mine["tau"])[:, 6:].max(axis=1))
        return (
            f"vertical force off weight + m a as planned by {off['ours']:.2g} % of the weight (ours), {off['theirs']:.2g} % (placo's), "
            f"torques (ours without the wish for angular momentum) apart by {torque:.3g} N·m where most"
        )


def _at(place: Placement, point: Array) -> Placement:
    """A frame at a point of a link, along tracker axes."""
    return Placement(place.body, place.rotation, place.position + place.rotation @ point)
