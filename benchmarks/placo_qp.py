"""Placo's whole-body QP on recorded states of a walk; run by filter.py in placo's own virtual environment.

``python placo_qp.py FOLDER``, where FOLDER contains ``robot.urdf``, ``settings.json`` and ``states.npz`` (see placo_states.py). Prints the
solutions in all states as one line of JSON; then, for every line of standard input, the times of kinematics and QP in all states [s]; both
by contact model.

The solver is set up as in placo's humanoid example: a hard task and a planar contact for each flat stance foot; soft tasks for the center
of mass, the pelvis, swing feet and posture; torque limits. A foot on its edge has two unilateral point contacts, soft as in placo's
quadruped example, since hard ones would be redundant. In the contact model "corner points" a flat foot has four point contacts, as in
brachiate; planar contacts have no limit of the yaw friction moment. Joint limits are omitted, in placo's favor, and so is its torque cost,
which brachiate's QP does not have.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import placo

AIR, FLAT, TOE, HEEL = range(4)
ENDS = {FLAT: ("heel", "toe"), TOE: ("toe",), HEEL: ("heel",)}  # supporting corners
PLANAR, POINTS = "planar contacts", "corner points"


class WholeBodyQp:
    """Solver with its tasks for one combination of foot contacts."""

    def __init__(self, robot: placo.RobotWrapper, settings: dict, feet: tuple[int, ...], contacts: str) -> None:
        self.solver = solver = placo.DynamicsSolver(robot)
        solver.dt, solver.torque_cost = settings["dt"], 0.0
        solver.enable_torque_limits(True)
        self.com = solver.add_com_task(np.zeros(3))
        self.com.configure("com", "soft", settings["com_weight"])
        self.com.kp = self.com.kd = 0.0
        self.pelvis = solver.add_orientation_task("row0", np.eye(3))
        self.pelvis.configure("pelvis", "soft", settings["pelvis_weight"])
        self.pelvis.kp, self.pelvis.kd = settings["joint_gains"]
        self.posture = []
        for weight, hinges in settings["hinges"]:
            task = solver.add_joints_task()
            task.configure(f"posture {weight:g}", "soft", weight)
            task.kp, task.kd = settings["joint_gains"]
            self.posture.append((task, hinges))
        self.foot_tasks = {}
        for foot, contact in enumerate(feet):
            if contact == FLAT and contacts == PLANAR:
                self._add_planar_contact(foot, settings)
                continue
            if contact != AIR:
                self._add_point_contacts(foot, settings, ENDS[contact])
            if contact == FLAT:
                continue
            orientation, position = solver.add_orientation_task(f"sole{foot}", np.eye(3)), None
            orientation.kp, orientation.kd = settings["foot_gains"]
            if contact == AIR:
                position = solver.add_position_task(f"sole{foot}", np.zeros(3))
                position.kp, position.kd = settings["foot_gains"]
            self.foot_tasks[foot] = position, orientation

    def _add_planar_contact(self, foot: int, settings: dict) -> None:
        task = self.solver.add_frame_task(f"sole{foot}", np.eye(4))
        task.configure(f"foot {foot}", "hard", 1.0, 1.0)
        for part in (task.position(), task.orientation()):
            part.kp, part.kd = 0.0, settings["stance_damping"]
        contact = self.solver.add_planar_contact(task)
        contact.length, contact.width = settings["sole_size"]
        contact.mu, contact.weight_forces, contact.weight_moments = settings["mu"], settings["force_weight"], settings["force_weight"]

    def _add_point_contacts(self, foot: int, settings: dict, ends: tuple[str, ...]) -> None:
        for name in (f"{end}{foot}_{side}" for end in ends for side in ("right", "left")):
            task = self.solver.add_position_task(name, np.zeros(3))
            task.configure(name, "soft", settings["stance_weight"] / (2 * len(ends)))
            task.kp, task.kd = 0.0, settings["stance_damping"]
            contact = self.solver.add_unilateral_point_contact(task)
            contact.mu, contact.weight_forces = settings["mu"], settings["force_weight"]

    def set_targets(self, s: dict) -> None:
        """Set the task targets of one state."""
        self.com.ddtarget_world = s["com_acceleration"]
        self.pelvis.R_world_frame, self.pelvis.omega_world = s["pelvis_rotation"], s["pelvis_angular_velocity"]
        self.pelvis.domega_world = s["pelvis_angular_acceleration"]
        for task, hinges in self.posture:
            for k in hinges:
                task.set_joint(f"v{k}", s["target_angle"][k], s["target_rate"][k], s["target_acceleration"][k])
        for foot, (position, orientation) in self.foot_tasks.items():
            if position is not None:
                position.configure(f"foot {foot}", "soft", max(s["position_weight"][foot], 1e-9))
                position.target_world, position.dtarget_world = s["foot_position"][foot], s["foot_velocity"][foot]
                position.ddtarget_world = s["foot_acceleration"][foot]
            orientation.configure(f"foot {foot} orientation", "soft", max(s["orientation_weight"][foot], 1e-9))
            orientation.R_world_frame, orientation.omega_world = s["foot_rotation"][foot], s["foot_angular_velocity"][foot]
            orientation.domega_world = s["foot_angular_acceleration"][foot]


class Walk:
    """All states of the walk, and one QP per combination of foot contacts."""

    def __init__(self, folder: Path) -> None:
        self.settings = json.loads((folder / "settings.json").read_text())
        states = dict(np.load(folder / "states.npz", allow_pickle=False))
        self.states = [{name: x[i] for name, x in states.items()} for i in range(len(states["base"]))]
        self.robot = placo.RobotWrapper(str(folder / "robot.urdf"))
        names = [f"v{k}" for k in range(6, states["rate"].shape[1])]
        self.q_at = np.array([self.robot.get_joint_offset(name) for name in names])
        self.v_at = np.array([*range(6), *(self.robot.get_joint_v_offset(name) for name in names)])
        self.qps: dict[tuple, WholeBodyQp] = {}

    def set_state(self, s: dict, contacts: str) -> WholeBodyQp:
        """Set the state of the robot and the task targets; returns the QP for its contacts."""
        robot, feet = self.robot, tuple(int(x) for x in s["contact"])
        q, v = robot.state.q.copy(), np.zeros(len(self.v_at))
        q[:7], q[self.q_at], v[self.v_at] = s["base"], s["angle"][6:], s["rate"]
        robot.state.q, robot.state.qd = q, v
        if (feet, contacts) not in self.qps:
            self.qps[feet, contacts] = WholeBodyQp(robot, self.settings, feet, contacts)
        qp = self.qps[feet, contacts]
        qp.set_targets(s)
        return qp

    def solutions(self, contacts: str) -> dict[str, object]:
        """Solutions in the order of brachiate's velocities; torque_difference: of inverse dynamics from brachiate's [N or N·m]."""
        found: dict[str, list] = {"solved": [], "force": [], "tau": [], "acceleration": [], "torque_difference": []}
        for s in self.states:
            qp = self.set_state(s, contacts)
            self.robot.update_kinematics()
            a = np.zeros(len(self.v_at))
            a[self.v_at] = s["acceleration"]
            difference = (self.robot.mass_matrix() @ a + self.robot.non_linear_effects())[self.v_at] - s["inverse_dynamics"]
            result = qp.solver.solve(False)
            found["torque_difference"].append(float(np.abs(difference).max()))
            found["solved"].append(bool(result.success))
            if result.success:
                force = self.robot.get_T_world_fbase()[:3, :3] @ result.tau_contacts[:3]
                solution = force, result.tau[self.v_at], result.qdd[self.v_at]
            else:
                solution = np.zeros(3), np.zeros(len(a)), np.zeros(len(a))
            for name, x in zip(("force", "tau", "acceleration"), solution):
                found[name].append(x.tolist())
        return found

    def times(self, contacts: str) -> list[float]:
        """Time of kinematics and QP in every state [s]."""
        found = []
        for s in self.states:
            qp = self.set_state(s, contacts)
            start = time.perf_counter()
            self.robot.update_kinematics()
            qp.solver.solve(False)
            found.append(time.perf_counter() - start)
        return found


def main() -> None:
    walk = Walk(Path(sys.argv[1]))
    print(json.dumps({contacts: walk.solutions(contacts) for contacts in (PLANAR, POINTS)}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({contacts: walk.times(contacts) for contacts in (PLANAR, POINTS)}), flush=True)


if __name__ == "__main__":
    main()
