"""A body under control: its figure in a world, what is wished of it, and the torques that come of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from brachiate.compiled import Handle, fields_of
from brachiate.errors import ArgumentError, StateError
from brachiate.filter.footsteps.foot_state import Footwork
from brachiate.filter.schedule.contact_schedule import Grip, Sole
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.control_step import carry_out, decide, look_and_lead
from brachiate.filter.tracking.validation import kept_of
from brachiate.filter.whole_body import arrays as c
from brachiate.filter.whole_body.arrays import Control
from brachiate.filter.whole_body.qp import SOLVES, program_for
from brachiate.model.arrays import STALLED
from brachiate.model.data import Data
from brachiate.model.joints import Free
from brachiate.world.world import World

ROWS, FORCES = 200, 384  # of what touches in the program, at most
TOUCHES_AT = 1e-4  # [m] what is nearer than this after a step bears in it
LIGHTER = ("shoulder", "elbow", "wrist", "hand", "neck", "head", "arm")  # joints whose names say that they may give way first
REFERENCE_MASS = 65.0  # [kg] of a body to which FilterSettings.force_weight belongs


class Body:
    """Compiled rooms of the controller, by name."""

    def __init__(
        self, world: World, figure: str, soles: Sequence[Sole], settings: FilterSettings, dt: float, grips: Sequence[Grip] = (),
        keep: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        self.world, self.figure, self.dt = world, world.figure(figure), dt
        model, mine = world.model, self.figure.model
        self.reference = Data(model)
        self.soles = tuple(sole.link for sole in soles)  #: links that stand at times
        self.root = self._root(figure)
        self.q_at, self.v_at = np.empty(mine.nq, np.int64), np.empty(mine.nv, np.int64)
        for name, joint in mine.joints.items():
            there = model.joints[f"{figure}/{name}"]
            self.q_at[joint.q], self.v_at[joint.v] = np.arange(there.q.start, there.q.stop), np.arange(there.v.start, there.v.stop)
        # Half for what touches; the other for the body as a whole and the root, two limits each of a joint, its motor's torque and its
        # speed, limbs that are led, what holds and what is kept: nobody checks whether there is room when these rows are made
        keep = kept_of(mine, figure, keep)
        rest = 12 + 6 * model.nv + 6 * len(soles) + 4 * len(grips) + 6 * len(keep)
        self.program = program_for(model.nv, 2 * max(ROWS, rest), FORCES)
        self.control = self._room(model.nv, len(model.tree.parent), len(soles), len(grips), len(keep))
        self._program_handle, self._control_handle = Handle(self.program), Handle(self.control)
        self.key = self._control_handle.key
        self._describe(figure, soles)
        self._describe_grips(figure, grips)
        self._describe_kept(figure, keep)
        self.tune(settings)

    def _root(self, figure: str) -> slice:
        mine = self.figure.model
        free = [name for name, j in mine.joints.items() if mine.links[j.link].parent is None and isinstance(mine.links[j.link].joint, Free)]
        if not free:
            raise ArgumentError(f"The filter needs a figure that moves about: the root of {figure!r} does not hang by a free joint.")
        return self.world.model.joints[f"{figure}/{free[0]}"].v

    def _room(self, nv: int, bodies: int, soles: int, grips: int, kept: int) -> Control:
        length = dict.fromkeys(("limb", "point", "lead", "turn", "offset", "drift", "swerve", "stands", "touched", "height"), soles)
        length |= {"corner": 8 * soles, "may": 8 * soles, "gain": len(c.GAINS), "members": bodies, "limb_of": bodies}
        length |= dict.fromkeys(("centre", "spin", "momentum", "lean", "aimed_spin"), 3) | dict.fromkeys(("com", "got", "aimed"), 6)
        length |= {"q_at": len(self.q_at), "v_at": len(self.v_at), "mass": 1, "locked": 1, "A": nv * nv, "F": FORCES * nv}
        length |= dict.fromkeys(("ray_area", "at", "along"), FORCES)
        length |= dict.fromkeys(("kept", "kept_point", "kept_weight"), kept) | {"kept_offset": 3}
        length |= dict.fromkeys(("grip", "grip_body", "grip_point", "grip_span"), grips) | {"grip_lead": 1}
        return Control(**{name: np.zeros((length.get(name, nv), *kind.row), kind.dtype) for name, kind in fields_of(Control).items()})

    def _describe(self, figure: str, soles: Sequence[Sole]) -> None:
        """What does not change: which bodies are the figure's, its soles and limits."""
        K, model = self.control, self.world.model
        K.q_at[:], K.v_at[:] = self.q_at, self.v_at
        K.limb_of[:] = K.number[:] = K.may[:] = -1
        K.lower[:], K.upper[:] = -np.inf, np.inf
        for name, place in model.placements.items():
            if place.body >= 0 and name.startswith(f"{figure}/"):
                K.members[place.body] = 1
        K.effort[:], K.speed[:] = model.effort, model.speed
        K.passive[self.root] = 1
        lower, upper = model.limits
        for name, place in model.scalar_coordinates.items():
            k = model.coordinate_index[name]
            if np.isfinite(lower[k]) or np.isfinite(upper[k]):
                K.number[k], K.lower[k], K.upper[k] = place, lower[k], upper[k]
        for n, sole in enumerate(soles):
            place = model.placements[f"{figure}/{sole.link}"]
            points = place.position + sole.corners @ place.rotation.T
            if len(points) > 8:
                raise ArgumentError(f"The sole of {sole.link!r} has {len(points)} corners: eight at most can be told apart.")
            K.limb[n], K.limb_of[place.body] = place.body, n
            K.corner[8 * n : 8 * n + len(points)], K.may[8 * n : 8 * n + len(points)] = points, c.FREE
            K.point[n] = points.mean(axis=0)

    def _describe_grips(self, figure: str, grips: Sequence[Grip]) -> None:
        """Points that hold at times, and when they should."""
        for n, grip in enumerate(grips):
            place = self.world.model.placements[f"{figure}/{grip.link}"]
            self.control.grip_body[n], self.control.grip_span[n] = place.body, (grip.start, grip.end)
            self.control.grip_point[n] = place.position + place.rotation @ grip.point

    def _describe_kept(self, figure: str, keep: Mapping[str, float]) -> None:
        """Links whose place and orientation are kept as well, and how much that counts."""
        for n, (link, weight) in enumerate(keep.items()):
            place = self.world.model.placements[f"{figure}/{link}"]
            self.control.kept[n], self.control.kept_point[n], self.control.kept_weight[n] = place.body, place.position, weight

    def tune(self, settings: FilterSettings) -> None:
        """Take on settings."""
        K, s = self.control, settings
        gains = {
            "JOINT_STIFFNESS": s.joint_stiffness,
            "JOINT_DAMPING": s.joint_damping,
            "LIMB_STIFFNESS": s.foot_stiffness,
            "LIMB_DAMPING": s.foot_damping,
            "STANCE_DAMPING": s.stance_damping,
            "CENTRE_WEIGHT": s.centre_weight,
            "SPIN_WEIGHT": s.spin_weight,
            "CONE": s.cone,
            "INSET": s.inset,
            "NEAR": TOUCHES_AT,
            "AHEAD": s.ahead,
            "LIMIT_AHEAD": s.limit_ahead,
            "STEP": self.dt,
            "MARGIN": s.margin,
            "CLOSING": s.closing,
            "TOUCHDOWN": s.touchdown,
            "CLOSING_WEIGHT": s.closing_weight,
            "STANCE_WEIGHT": s.stance_weight,
        }
        K.grip_lead[0] = s.foot_weight
        K.gain[:] = [gains[name] for name in c.GAINS]
        K.weight[:] = 1.0
        for name, joint in self.world.model.joints.items():
            if any(word in name.lower() for word in LIGHTER):
                K.weight[joint.v] = s.arm_weight
        K.weight[self.root.start : self.root.start + 3] = s.place_weight
        K.weight[self.root.start + 3 : self.root.stop] = s.pelvis_weight
        self.program.light[0] = s.force_weight * (REFERENCE_MASS / self.figure.mass) ** 2

    def look_and_lead(self, ahead: Handle, feet: Footwork, k: int) -> None:
        """Look at the state and at frame k of the reference, and say of every foot what it is to do."""
        status = look_and_lead(self.world.data.key, self.reference.key, self.key, ahead.key, feet.key, k)
        if status:
            self.world.data.refuse(status)

    def decide(self, ahead: Handle, feet: Footwork, k: int) -> int:
        """Find torques; they are in ``world.torque`` then. Returns how many times the optimizer has solved."""
        touches, data = self.world.surfaces.touches, self.world.data
        if touches is None:
            raise ArgumentError("The filter needs a world in which things touch: call world.touch() first.")
        for _ in range(8):
            status = decide(data.key, self.reference.key, touches.key, self._program_handle.key, self.key, feet.key)
            if status != c.CROWDED:
                break
            touches.enlarge()
        else:
            raise StateError("More of the figure is near the ground than the filter has room for. Has it fallen?")
        if status == STALLED:
            raise StateError("Nothing that physics allows was found for the next step.")
        if status:
            data.refuse(status)
        carry_out(data.key, touches.key, self._program_handle.key, self.key, ahead.key, feet.key, k)
        return int(self.program.count[SOLVES])
