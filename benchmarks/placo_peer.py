"""Placo's whole-body optimization on states that are handed over: run by filter.py with the Python of placo's own environment.

``python placo_peer.py FOLDER``, where FOLDER has ``robot.urdf``, ``settings.json`` and ``states.npz``. It prints what comes out in all
states, as a line of JSON; then, for every line that it reads, goes through them again and prints how long each took [s], kinematics and
solution; both by kind of contacts.

The solver is set up as in placo's example of a humanoid: a hard task for each foot that stands flat, with a planar contact; soft tasks of
the center of mass, the trunk, feet in the air and the posture; torques are limited. A foot on its edge has two unilateral points, soft as
in placo's example of a quadruped: hard ones would say the same thing twice. With points at corners a flat foot has four of them, which is
what ours has: planar contacts know no limit of friction about the vertical. Limits of joints are left out, in placo's favour, and so is its
cost of torques, which ours has not.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import placo

AIR, FLAT, TOE, HEEL = range(4)
ENDS = {FLAT: ("heel", "toe"), TOE: ("toe",), HEEL: ("heel",)}  # which corners bear
PLANAR, POINTS = "planar contacts", "points at corners"


class Feet:
    """A solver for one pattern of feet, and its tasks."""

    def __init__(self, robot: placo.RobotWrapper, settings: dict, pattern: tuple[int, ...], contacts: str) -> None:
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
        self.led = {}
        for foot, how in enumerate(pattern):
            if how == FLAT and contacts == PLANAR:
                self._planar(foot, settings)
                continue
            if how != AIR:
                self._points(foot, settings, ENDS[how])
            if how == FLAT:
                continue
            orientation, position = solver.add_orientation_task(f"sole{foot}", np.eye(3)), None
            orientation.kp, orientation.kd = settings["foot_gains"]
            if how == AIR:
                position = solver.add_position_task(f"sole{foot}", np.zeros(3))
                position.kp, position.kd = settings["foot_gains"]
            self.led[foot] = position, orientation

    def _planar(self, foot: int, settings: dict) -> None:
        task = self.solver.add_frame_task(f"sole{foot}", np.eye(4))
        task.configure(f"foot {foot}", "hard", 1.0, 1.0)
        for part in (task.position(), task.orientation()):
            part.kp, part.kd = 0.0, settings["stance_damping"]
        contact = self.solver.add_planar_contact(task)
        contact.length, contact.width = settings["sole"]
        contact.mu, contact.weight_forces, contact.weight_moments = settings["mu"], settings["force_weight"], settings["force_weight"]

    def _points(self, foot: int, settings: dict, ends: tuple[str, ...]) -> None:
        for name in (f"{end}{foot}_{side}" for end in ends for side in ("right", "left")):
            task = self.solver.add_position_task(name, np.zeros(3))
            task.configure(name, "soft", settings["stance_weight"] / (2 * len(ends)))
            task.kp, task.kd = 0.0, settings["stance_damping"]
            contact = self.solver.add_unilateral_point_contact(task)
            contact.mu, contact.weight_forces = settings["mu"], settings["force_weight"]

    def aim(self, s: dict) -> None:
        """Set the targets of the tasks in one state."""
        self.com.ddtarget_world = s["com_acceleration"]
        self.pelvis.R_world_frame, self.pelvis.omega_world, self.pelvis.domega_world = s["pelvis"], s["pelvis_rate"], s["pelvis_turning"]
        for task, hinges in self.posture:
            for k in hinges:
                task.set_joint(f"v{k}", s["aim_angle"][k], s["aim_rate"][k], s["aim_acceleration"][k])
        for foot, (position, orientation) in self.led.items():
            if position is not None:
                position.configure(f"foot {foot}", "soft", max(s["position_weight"][foot], 1e-9))
                position.target_world, position.dtarget_world = s["foot"][foot], s["foot_velocity"][foot]
                position.ddtarget_world = s["foot_acceleration"][foot]
            orientation.configure(f"foot {foot} turned", "soft", max(s["orientation_weight"][foot], 1e-9))
            orientation.R_world_frame, orientation.omega_world = s["foot_turned"][foot], s["foot_rate"][foot]
            orientation.domega_world = s["foot_turning"][foot]


class Walk:
    """All states, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.settings = json.loads((folder / "settings.json").read_text())
        states = dict(np.load(folder / "states.npz", allow_pickle=False))
        self.states = [{name: x[i] for name, x in states.items()} for i in range(len(states["base"]))]
        self.robot = placo.RobotWrapper(str(folder / "robot.urdf"))
        names = [f"v{k}" for k in range(6, states["rate"].shape[1])]
        self.q_at = np.array([self.robot.get_joint_offset(name) for name in names])
        self.v_at = np.array([*range(6), *(self.robot.get_joint_v_offset(name) for name in names)])
        self.feet: dict[tuple, Feet] = {}

    def put(self, s: dict, contacts: str) -> Feet:
        """Bring the robot into a state; returns who solves there."""
        robot, pattern = self.robot, tuple(int(x) for x in s["pattern"])
        q, v = robot.state.q.copy(), np.zeros(len(self.v_at))
        q[:7], q[self.q_at], v[self.v_at] = s["base"], s["angle"][6:], s["rate"]
        robot.state.q, robot.state.qd = q, v
        if (pattern, contacts) not in self.feet:
            self.feet[pattern, contacts] = Feet(robot, self.settings, pattern, contacts)
        feet = self.feet[pattern, contacts]
        feet.aim(s)
        return feet

    def results(self, contacts: str) -> dict[str, object]:
        """What comes out, by our numbers; and by how much the equation of motion differs from ours [N or N·m], which tells other bodies."""
        found: dict[str, list] = {"solved": [], "force": [], "tau": [], "acceleration": [], "differs": []}
        for s in self.states:
            feet = self.put(s, contacts)
            self.robot.update_kinematics()
            a = np.zeros(len(self.v_at))
            a[self.v_at] = s["acceleration"]
            differs = (self.robot.mass_matrix() @ a + self.robot.non_linear_effects())[self.v_at] - s["load"]
            result = feet.solver.solve(False)
            found["differs"].append(float(np.abs(differs).max()))
            found["solved"].append(bool(result.success))
            if result.success:
                force = self.robot.get_T_world_fbase()[:3, :3] @ result.tau_contacts[:3]
                rest = force, result.tau[self.v_at], result.qdd[self.v_at]
            else:
                rest = np.zeros(3), np.zeros(len(a)), np.zeros(len(a))
            for name, x in zip(("force", "tau", "acceleration"), rest):
                found[name].append(x.tolist())
        return found

    def times(self, contacts: str) -> list[float]:
        """Seconds of kinematics and solution in every state."""
        found = []
        for s in self.states:
            feet = self.put(s, contacts)
            start = time.perf_counter()
            self.robot.update_kinematics()
            feet.solver.solve(False)
            found.append(time.perf_counter() - start)
        return found


def main() -> None:
    walk = Walk(Path(sys.argv[1]))
    print(json.dumps({contacts: walk.results(contacts) for contacts in (PLANAR, POINTS)}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({contacts: walk.times(contacts) for contacts in (PLANAR, POINTS)}), flush=True)


if __name__ == "__main__":
    main()
