"""Status codes that kernels return; 0 is success. :mod:`brachiate.model.data` and the integrators turn them into errors.

The centroidal planner's least-squares solver has its own codes, ordered by severity
(:data:`brachiate.centroidal.staged_least_squares.STATUS`).
"""

OK = 0  # success
NOT_FINITE = 1  # an argument is NaN or infinite, or a quaternion is zero
OVERFLOW = 2  # a result is not finite
SINGULAR = 3  # the mass matrix is singular; Work.status names the coordinate
NOT_CONVERGED = 4  # an iteration did not converge: implicit integration step, whole-body QP
LOOP_OPEN = 10  # the constraints cannot be closed from this configuration
LIMIT_PASSED = 12  # a joint limit was passed within the step; LimitArrays.count says which, and after how many steps
TOO_MANY_CONTACTS = 13  # more contacts than the arrays hold; ContactPatches.count says how many
LOG_FULL = 14  # the contact log is full; ContactLogArrays.count says after how many steps
CANNOT_SEPARATE = 15  # joints hold shapes inside each other; ContactArrays.stuck_pair says which
