"""The arrays that the paper's filter works on, beside those of the body, of what touches, and of trial and error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import Floats, Ints, Rows3, Rows33, fields_of, opener
from brachiate.filter.whole_body.arrays import JOINT_DAMPING, JOINT_STIFFNESS

# Places of Solution.gain. The first two are those that the local feedback asks for.
assert (JOINT_STIFFNESS, JOINT_DAMPING) == (0, 1)
POINT_STIFFNESS, POINT_DAMPING, ROBUST, COST_A, COST_F, COST_T, STEP, PULL, FRICTION, GIVE = range(2, 12)

# Places of Solution.count.
SOLVES, HITS, WIDTH, EDGES = range(4)


class Solution(NamedTuple):
    """Sizes: n velocities, p of them without motors, m pairs that touch, R = 6 m rows, K = p + 2 R unknowns.

    Rows of A, Q, H and ``along`` have ``width`` numbers: n rounded up to fours, zero behind the last.
    """

    gain: Floats  # (12,) see above; friction is -1 for that of what touches
    count: Ints  # (4,) solves of this step, solves of its collision, width, whether contacts turn about edges
    free: Ints  # (p,) coordinates without motors
    motor: Floats  # (n,) 1 with a motor, 0 without
    weight: Floats  # (n,) of the error of an acceleration
    share: Floats  # (n,) how readily a coordinate moves for the sake of P
    place: Ints  # (1,) body that P is of, -1 for none
    at: Floats  # (3,) [m] P in body axes
    # what is wished
    e: Floats  # (n,) how far the reference is off
    wanted: Floats  # (n,) accelerations
    J: Floats  # (6 n,) Jacobian of P
    hand: Floats  # (36,) J share Jᵀ
    open: Floats  # (6,) what P's acceleration lacks
    hand_order: Ints  # (6,)
    hand_factor: Floats  # (6,)
    # what touches
    area: Ints  # (m,) which of the areas
    body: Ints  # (m,) of the figure
    side: Floats  # (m,) 1 if it rests on what it touches, -1 if it carries it
    point: Rows3  # (m, 3) [m] origin of the contact frame, world
    axes: Rows33  # (m, 3, 3) its axes as columns
    gap: Rows3  # (m, 3) [m, -, -] at its origin, and slopes along its axes
    H: Floats  # (R width,) packed rows: velocities of pairs per unit of every velocity
    drift: Floats  # (R,) Ḣ v
    speed: Floats  # (R,) H v
    pull: Floats  # (R,) accelerations that bring back what has drifted
    sinking: Floats  # (m,) [m/s] how fast a corner goes into the ground after the step
    # the equations
    A: Floats  # (n width,) mass matrix
    b: Floats  # (n,)
    Q: Floats  # (width width,) what accelerations cost, then its factor
    bare: Floats  # (width,) accelerations if nothing were demanded
    force: Floats  # (R width,) Ĥ_C: generalized force of every held direction
    along: Floats  # (K width,) what demands act along
    answer: Floats  # (width K',) and how accelerations answer, column by column; K' is K rounded up to fours
    M: Floats  # (K' K',)
    x: Floats  # (K',) unknowns: τ_C, what rows without motors pull, what held rows pull
    order: Ints  # (K',)
    y: Floats  # (width,) scratch
    # what comes out
    a: Floats  # (n,)
    tau: Floats  # (n,) what every row needs: torques where there is a motor, round-off where there is none
    residual: Floats  # (1,) of rows without motors, as part of the largest term in them
    impulse: Floats  # (R,) [N·s] of the collision, packed


open_solution = opener(Solution)


def solution_for(n: int, free: np.ndarray, pairs: int) -> Solution:
    """Make the arrays for n velocities, those without motors, and so many pairs at most."""
    width, rows = -(-n // 4) * 4, 6 * pairs
    unknowns = -(-(len(free) + 2 * rows) // 4) * 4
    length: dict[str, int] = dict.fromkeys(("motor", "weight", "share", "e", "wanted", "b", "a", "tau"), n)
    length |= dict.fromkeys(("area", "body", "side", "point", "axes", "gap", "sinking"), pairs)
    length |= dict.fromkeys(("drift", "speed", "pull", "impulse"), rows) | dict.fromkeys(("bare", "y"), width)
    length |= dict.fromkeys(("x", "order"), unknowns) | {"M": unknowns**2, "answer": width * unknowns, "along": unknowns * width}
    length |= {"gain": 12, "count": 4, "free": len(free), "place": 1, "residual": 1, "at": 3, "J": 6 * n, "hand": 36}
    length |= dict.fromkeys(("open", "hand_order", "hand_factor"), 6)
    length |= {"H": rows * width, "force": rows * width, "A": n * width, "Q": width * width}
    room = Solution(**{name: np.zeros((length[name], *field.row), field.dtype) for name, field in fields_of(Solution).items()})
    room.count[WIDTH], room.free[:], room.motor[:], room.place[0] = width, free, 1.0, -1
    room.motor[free] = 0.0
    room.weight[:], room.share[:] = 1.0, 1.0
    return room
