"""Structs of arrays of contact: ``CollisionGeometry``, ``ContactPatches``, ``CollisionScratch`` and ``ContactProblem``.

A contact *patch* is a point, a segment or a convex polygon in a plane, with a normal; contacts are never single unrelated points. It
lies between two shapes: the *first* supports, the *second* rests on it. The normal points from the first to the second; relative
velocities and forces are those of the second relative to the first, as of a virtual link [DF] IV.

Contact axes: z is the normal, x and y lie in the plane; x of a segment is along it. A wrench on a patch is
(f_x, f_y, f_z, n_x, n_y, n_z) about the point P of the patch, a twist (v_x, v_y, v_z, w_x, w_y, w_z). A segment has no n_x and w_x
(5 rows), a point has no moments (3 rows): rows are stored *packed* in this order.

A *contact* of a problem is a patch, or a joint limit (1 row).
"""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, IntRows2, Ints, Rows3, Rows6, Rows33, Rows82, struct_opener

CORNERS = 8  # largest number of corners of a patch

# Kinds of shapes. PLANE and HEIGHT_FIELD are unbounded below and can only support. The size of a height field is its grid spacing
# along x and y and its largest height.
SPHERE, CAPSULE, CYLINDER, ELLIPSOID, BOX, HULL, PLANE, HEIGHT_FIELD = range(8)

# Indices of ContactPatches.count.
KEPT, FOUND = range(2)

# Indices of ContactProblem.count.
NUM_CONTACTS, NUM_ROWS, STRIDE, FROZEN, METHOD = range(5)
WORK_DONE, WORK_LIMIT = range(2)  # indices of ContactProblem.work

# Indices of ContactProblem.counters: by which method solutions were found, from the easiest to the hardest, and how many iterations
# it took.
METHOD_WARM_START, METHOD_NEWTON, METHOD_GAUSS_SEIDEL, METHOD_DOUGLAS_RACHFORD, METHOD_CONTINUATION = range(5)
METHOD_FROZEN_CENTERS, METHOD_CONVEX, UNSOLVED = range(5, 8)
GAUSS_SEIDEL_SWEEPS, DOUGLAS_RACHFORD_STEPS, FACTORIZATIONS = range(8, 11)
METHODS = (
    "warm start", "newton", "gauss-seidel", "douglas-rachford", "continuation", "frozen centers", "convex relaxation", "unsolved",
)  # fmt: skip

# Indices of ContactProblem.functions.
NEWTON, GAUSS_SEIDEL, DOUGLAS_RACHFORD, SELECT_MODES, CONVEX_RELAXATION, CONTINUATION, SOLVE = range(7)

BLOCK_STRIDE, BLOCK_SIZE = 8, 48  # the matrices of one contact have six rows of BLOCK_STRIDE numbers

# Results of distance computations; UNDECIDED: another method must decide.
SEPARATED, NEAR, UNDECIDED = range(3)


class CollisionGeometry(NamedTuple):
    """Collision shapes and pairs. Sizes: ng shapes, nc vertices, nf faces, np pairs."""

    kind: Ints  # (ng,) SPHERE ...
    body: Ints  # (ng,) -1 for the inertial frame
    R: Rows33  # (ng, 3, 3) orientation in its body
    p: Rows3  # (ng, 3) [m] position in its body
    size: Rows3  # (ng, 3) [m] radius; radius and half length along z; semi-axes; half edges; inradius of a hull; HEIGHT_FIELD: see above
    bounding_radius: Floats  # (ng,) [m] of a sphere about its position; inf for planes and height fields
    thickness: Floats  # (ng,) [m] radius of the largest sphere in a shape; inf for planes and height fields
    vertex_start: Ints  # (ng+1,) first vertex of a hull
    vertex: Rows3  # (nc, 3) [m] in the shape's frame
    face_start: Ints  # (ng+1,) first face of a hull
    face_vertex_start: Ints  # (nf+1,) first entry of a face in face_vertex
    face_vertex: Ints  # vertices of faces, counter-clockwise seen from outside
    face_normal: Rows3  # (nf, 3) outward, unit
    height_start: Ints  # (ng+1,) first height of a height field
    grid_size: IntRows2  # (ng, 2) number of heights along x and y
    heights: Floats  # [m] of height fields, row by row along x
    pair: IntRows2  # (np, 2) shapes that may collide: first, second
    pair_enabled: Ints  # (np,) 0 while the pair is ignored
    min_pair_thickness: Floats  # (1,) [m] smallest sum of the thickness of two shapes of a pair


class ContactPatches(NamedTuple):
    """Contact patches at the present poses. Size: na patches."""

    count: Ints  # (2,) how many are KEPT, and how many were FOUND
    pair: Ints  # (na,) pair of shapes
    feature: Ints  # (na,) which patch of the pair, if it has several: with ``pair`` and ``corners`` its identity from step to step
    corners: Ints  # (na,) 1 point, 2 segment, 3 to 8 polygon
    P: Rows3  # (na, 3) [m] a point of the patch, along world axes from the world's origin
    R: Rows33  # (na, 3, 3) contact axes as columns, along world axes
    V: Rows82  # (na, 8, 2) [m] corners in contact axes from P, counter-clockwise about z
    gap: Rows3  # (na, 3) [m, -, -]: the gap at (x, y) is g_0 + g_1 x + g_2 y, negative where shapes penetrate


class CollisionScratch(NamedTuple):
    """Work arrays of collision detection, and what it keeps for the next call. Size: nk points of a feature."""

    position: Rows3  # (ng, 3) [m] of every shape, along world axes from the world's origin
    z_axis: Rows3  # (ng, 3) of every shape
    near_pair: Ints  # (np,) pairs whose bounding spheres are near each other
    pair_margin: Floats  # (np,) [m] extra detection margin of a pair; zero by default
    last_face: Ints  # (np,) separating face of the call before, for hysteresis; -1 for none
    points: Rows3  # (2 nk, 3) [m] support features of the first and of the second shape, world axes
    plane_points: Rows3  # (4 nk, 3) [m] points in the contact plane: u, v, and the gap where it is not affine; four blocks
    simplex: Rows6  # (4, 6) [m] GJK simplex: vertex of the Minkowski difference, then its witness on the first shape
    cluster: Ints  # (nk,) cluster of a point on a height field
    closest: Floats  # (8,) of the present pair: normal, closest point of the first shape [m], gap [m], 1 if the normal is uncertain
    functions: Ints  # (4,) addresses of functions: BUILD_PATCH ... of narrow_phase.py


class ContactProblem(NamedTuple):
    """One coupled contact problem u = u0 + G w with the contact law for every contact. Sizes: m contacts, n rows, all packed.

    Row arrays have capacity for whole blocks of four: n is rounded up in their size, and values behind the last row do not matter.
    """

    count: Ints  # (5,) NUM_CONTACTS, NUM_ROWS, STRIDE of G (a multiple of 4), FROZEN: whether friction centers are fixed, METHOD
    row_start: Ints  # (m+1,) first row of a contact
    corners: Ints  # (m,)
    V: Rows82  # (m, 8, 2)
    friction: Floats  # (m,) kinetic friction coefficient
    static_friction: Floats  # (m,) static friction coefficient, not below the kinetic one
    torsion_scale: Floats  # (m,) factor of the torsional friction length
    G: Floats  # (n·stride,) Delassus matrix: response of the rows to forces; symmetric
    u0: Floats  # (n,) free velocities: of the rows without forces
    u: Floats  # (n,) velocities of the rows
    w: Floats  # (n,) forces or impulses; before the solution the initial guess
    normal_mode: Ints  # (m,) active part of the patch: OPEN, FACE ... of contact_law.py; initially a guess, or UNKNOWN
    tangential_mode: Ints  # (m,) STICKING or SLIPPING; initially a guess
    residual: Floats  # (1,) [m/s] largest violation of the contact law
    counters: Ints  # (11,) how often every method was needed, and its iterations: METHOD_WARM_START ...
    work: Floats  # (2,) multiplications in this step so far, WORK_DONE, and up to which the present search may go on, WORK_LIMIT
    # work arrays of the solver
    was_sticking: Ints  # (m,) 1 if the contact stuck before
    static_allowed: Ints  # (m,) 1 if it did and may use static friction
    center: Rows3  # (m, 3) [m] point (x, y) where friction acts, and its torsional length l
    unknown_start: Ints  # (m+1,) first unknown of a contact
    unreduced: Ints  # (m,) 1 if the unknowns of the contact are its rows
    basis: Floats  # (48 m,) columns: forces of a contact for its unknowns
    test: Floats  # (48 m,) columns: combinations of its velocities that must vanish, row by row of the velocities
    local_jacobian: Floats  # (48 m,) rows: direct dependence of these equations on the unknowns of the contact
    solution: Floats  # (n,) right-hand side, then solution, of a linear system
    active_blocks: Ints  # (n,) first rows of the blocks of four that have unknowns
    response: Floats  # (n·stride,) velocities for each unknown
    factor: Floats  # (n·stride,) LU factor
    pivots: Ints  # (n,) row exchanges of a pivoted factor
    factor_key: Ints  # (m+1,) number of unknowns of the factor and its stride, -1 for none; the modes it was made for
    best_w: Floats  # (n,) best forces so far
    best_normal_mode: Ints  # (m,) and their modes
    best_tangential_mode: Ints  # (m,)
    newton_start: Floats  # (n,) forces before a Newton attempt
    auxiliary: Floats  # (n,) auxiliary variable z of Douglas-Rachford splitting: see douglas_rachford.py
    path_point: Floats  # (n,) auxiliary variable at the last accepted point of the homotopy path: see continuation.py
    path_tangent: Floats  # (n,) tangent of the path there
    trial_tangent: Floats  # (n,) tangent at a trial point
    weight: Floats  # (n,) scale of the auxiliary variable, in multiples of a typical speed
    functions: Ints  # (7,) addresses of functions: NEWTON ...
    corner_force: Rows3  # (24 m, 3) corner forces of the convex relaxation: present, previous, extrapolated


open_collision = struct_opener(CollisionGeometry, ContactPatches, CollisionScratch)
open_problem = struct_opener(ContactProblem)
