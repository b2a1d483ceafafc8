"""Arrays of the published filter [DF], besides those of the body, of the contacts and of trial and error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import Floats, Ints, Rows3, Rows33, array_fields, struct_opener
from brachiate.filter.whole_body.arrays import JOINT_DAMPING, JOINT_STIFFNESS

# Indices of PaperArrays.gain. The first two are those of the whole-body controller's PD law.
assert (JOINT_STIFFNESS, JOINT_DAMPING) == (0, 1)
POINT_STIFFNESS, POINT_DAMPING, SR_DAMPING, COST_A, COST_F, COST_T, TIME_STEP, STABILIZATION_RATE, FRICTION, COMPLIANCE = range(2, 12)

# Indices of PaperArrays.count.
NUM_SOLVES, NUM_COLLISION_SOLVES, WIDTH, TILT_ABOUT_EDGES = range(4)


class PaperArrays(NamedTuple):
    """Arrays of one step. Sizes: n velocities, p of them unactuated, m contact pairs, R = 6 m rows, K = p + 2 R unknowns.

    Rows of A, Q, H and ``constraint_rows`` have ``width`` numbers: n rounded up to a multiple of four, zero behind the last.
    """

    gain: Floats  # (12,) see above; friction is -1 for that of the contact
    count: Ints  # (4,) see above
    unactuated: Ints  # (p,) coordinates without a motor
    actuated: Floats  # (n,) 1 with a motor, 0 without
    weight: Floats  # (n,) of acceleration errors, eq. 45
    mobility: Floats  # (n,) weight with which a joint moves for the point P, eq. 42
    point_body: Ints  # (1,) body of P, -1 for none
    point_offset: Floats  # (3,) [m] P in body axes
    # feedback
    error: Floats  # (n,) position error; scratch afterwards
    desired: Floats  # (n,) desired accelerations
    J: Floats  # (6 n,) Jacobian of P
    point_matrix: Floats  # (36,) J N Jᵀ with N the mobilities
    point_error: Floats  # (6,) error of P's acceleration
    point_order: Ints  # (6,) pivoting
    point_factor: Floats  # (6,)
    # contacts
    area: Ints  # (m,) index of the contact area
    body: Ints  # (m,) body of the figure
    side: Floats  # (m,) 1 if the figure rests on the other body, -1 if it supports it
    point: Rows3  # (m, 3) [m] origin of the contact frame, world
    axes: Rows33  # (m, 3, 3) its axes as columns
    gap: Rows3  # (m, 3) [m, -, -] gap at its origin, and its slopes along the axes
    H: Floats  # (R width,) packed rows: relative velocities of pairs per unit of every velocity
    drift: Floats  # (R,) Ḣ v
    relative_velocity: Floats  # (R,) H v
    stabilization: Floats  # (R,) accelerations that correct drift
    sinking: Floats  # (m,) [m/s] speed of a corner into the ground after the step
    # equations
    A: Floats  # (n width,) mass matrix
    b: Floats  # (n,)
    Q: Floats  # (width width,) cost of accelerations, then its factor
    unconstrained_a: Floats  # (width,) optimal accelerations without constraints
    held_force: Floats  # (R width,) Ĥ_C: generalized force of every held direction
    constraint_rows: Floats  # (K width,) T
    response: Floats  # (width K',) Q⁻¹ Tᵀ, column by column; K' is K rounded up to a multiple of four
    M: Floats  # (K' K',) Schur complement
    unknowns: Floats  # (K',) τ_C, multipliers of unactuated rows, multipliers of held rows
    order: Ints  # (K',) pivoting
    scratch: Floats  # (width,)
    # results
    a: Floats  # (n,)
    tau: Floats  # (n,) generalized force of every row: motor torque where there is a motor, round-off elsewhere
    residual: Floats  # (1,) of unactuated rows, relative to the largest term in them
    impulse: Floats  # (R,) [N·s] of the collision, packed


open_paper = struct_opener(PaperArrays)


def allocate(n: int, unactuated: np.ndarray, pairs: int) -> PaperArrays:
    """Allocate the arrays for n velocities, their unactuated coordinates, and a maximum number of contact pairs."""
    width, rows = -(-n // 4) * 4, 6 * pairs
    unknowns = -(-(len(unactuated) + 2 * rows) // 4) * 4
    length: dict[str, int] = dict.fromkeys(("actuated", "weight", "mobility", "error", "desired", "b", "a", "tau"), n)
    length |= dict.fromkeys(("area", "body", "side", "point", "axes", "gap", "sinking"), pairs)
    length |= dict.fromkeys(("drift", "relative_velocity", "stabilization", "impulse"), rows)
    length |= dict.fromkeys(("unconstrained_a", "scratch"), width) | dict.fromkeys(("unknowns", "order"), unknowns)
    length |= {"M": unknowns**2, "response": width * unknowns, "constraint_rows": unknowns * width}
    length |= {"gain": 12, "count": 4, "unactuated": len(unactuated), "point_body": 1, "residual": 1, "point_offset": 3}
    length |= {"J": 6 * n, "point_matrix": 36} | dict.fromkeys(("point_error", "point_order", "point_factor"), 6)
    length |= {"H": rows * width, "held_force": rows * width, "A": n * width, "Q": width * width}
    sol = PaperArrays(**{name: np.zeros((length[name], *field.row), field.dtype) for name, field in array_fields(PaperArrays).items()})
    sol.count[WIDTH], sol.unactuated[:], sol.actuated[:], sol.point_body[0] = width, unactuated, 1.0, -1
    sol.actuated[unactuated] = 0.0
    sol.weight[:], sol.mobility[:] = 1.0, 1.0
    return sol
