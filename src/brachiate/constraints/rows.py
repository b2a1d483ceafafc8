"""Constraint rows J v = velocity target, J a + γ = 0 of all constraints: residuals, bias γ = J̇v and Jacobian, by kind."""

from __future__ import annotations

from brachiate.compiled import by_address, kernel, outlined
from brachiate.constraints.arrays import CONNECTION, CONSTRAINTS, CONTACTS, open_constraints
from brachiate.constraints.connection_rows import apply_joint_forces, connection_bias, connection_residuals, fill_chain_rows
from brachiate.constraints.coordinate_rows import coordinate_row, fill_coordinate_rows
from brachiate.constraints.limit_rows import loop_limit_row
from brachiate.constraints.sparsity import acts_between_bodies
from brachiate.dynamics.inverse import body_motion_and_force
from brachiate.kinematics import zero_motion
from brachiate.model.arrays import open_model
from brachiate.model.status import OK
from brachiate.spatial import vec3


@by_address
def update_residuals(key, constraint_key, x, n):
    """Residuals cons.c of all constraints at the current poses; the largest goes to cons.max_error."""
    T, W = open_model(key)
    (cons,) = open_constraints(constraint_key)
    largest = 0.0
    for a in range(cons.count[CONSTRAINTS]):
        i = cons.order[a]
        if cons.kind[i] == CONNECTION:
            connection_residuals(T, W, cons, i)
        elif cons.owner[i] >= 0:
            loop_limit_row(cons, i)
        else:
            coordinate_row(T, W, cons, i)
        for r in range(cons.row[i], cons.row[i] + cons.rows[i]):
            largest = max(largest, abs(cons.c[r]))
    cons.max_error[0] = largest
    return OK


@kernel
def connection_biases(T, W, cons):
    """γ of every connection and the forces of its joint; bodies' velocities W.V and accelerations W.A are up to date."""
    for a in range(cons.count[CONSTRAINTS]):
        i = cons.order[a]
        if acts_between_bodies(cons, i):
            connection_bias(T, W, cons, i)
            if cons.has_joint_forces[i]:
                apply_joint_forces(T, W, cons, i)


@outlined
def update_gamma(T, W, cons):
    """γ of every row at the current poses and the velocity W.v."""
    for i in range(T.parent.shape[0]):
        body_motion_and_force(T, W, i, zero_motion())
    connection_biases(T, W, cons)


@kernel
def fill_jacobian(T, W, cons):
    """Jacobian rows J of all constraints and contacts, from the motion subspaces W.S."""
    for a in range(cons.count[CONSTRAINTS] + cons.count[CONTACTS]):
        i = cons.order[a]
        if acts_between_bodies(cons, i):
            fill_chain_rows(T, W, cons, i, cons.tip_first[i], vec3(cons.P_first, i), 0, -1.0)
            fill_chain_rows(T, W, cons, i, cons.tip_second[i], vec3(cons.P_second, i), cons.y_second[i], 1.0)
        else:
            fill_coordinate_rows(T, W, cons, i)
