"""The arrays contact works on: ``Geometry`` (what can touch), ``Areas`` (what does), ``Problem`` (what it takes).

``Scratch`` is where areas are looked for.

A contact *area* is a point, a segment or a convex polygon in a plane, with a normal: never loose points. It lies between
two shapes, the *first* of which carries and the *second* rests on it; the normal points from the first to the second, and
relative velocities and forces are those of the second against the first, as of a virtual link [DF] IV.

Contact axes: z the normal, x and y in the plane; those of a segment have x along it. A wrench on an area is
(f_x, f_y, f_z, n_x, n_y, n_z) about the area's point P, a twist (v_x, v_y, v_z, w_x, w_y, w_z); a segment has no n_x and w_x
(5 rows), a point no moments at all (3 rows): rows are kept *packed* in that order.
"""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, IntRows2, Ints, Rows3, Rows6, Rows33, Rows82, opener

CORNERS = 8  # at most so many of one area

# Kinds of shapes. Those from PLANE on have no inside that could be turned over: they only carry. A field's size are its
# spacings along x and y and its greatest height.
SPHERE, CAPSULE, CYLINDER, ELLIPSOID, BOX, HULL, PLANE, FIELD = range(8)

# Places of Problem.count.
PAIRS, ROWS, STRIDE, FROZEN, WAY = range(5)

# Places of Problem.path: how solutions were found. The first eight say how each one ended, the others what it took.
WARM, STATES, SWEPT, PARTED, FOLLOWED, AS_FROZEN, CONVEX, UNSOLVED, SWEEPS, SPLITS, FACTORS = range(11)
WAYS = ("warm", "states", "swept", "split", "followed", "frozen", "convex", "unsolved")

# Places of Problem.far.
NEWTON, SWEEP, SPLIT, CHOOSE, DISSIPATE, FOLLOW, SOLVE = range(7)

WIDTH, BLOCK = 8, 48  # a pair's own matrices have six rows of so many numbers, so many altogether


# How a pair is found: the last one must be looked at in another way.
APART, NEAR, UNSURE = range(3)


class Geometry(NamedTuple):
    """Shapes that can touch. Sizes: ng shapes, nc corners, nf faces, np pairs."""

    kind: Ints  # (ng,) SPHERE ...
    body: Ints  # (ng,) -1 for the inertial frame
    R: Rows33  # (ng, 3, 3) orientation in its body
    p: Rows3  # (ng, 3) [m] place in its body
    size: Rows3  # (ng, 3) [m] radius; radius and half length along z; semi-axes; half edges; of a hull what fits inside; see FIELD
    reach: Floats  # (ng,) [m] radius of a ball about its place that holds all of it; inf for planes
    corner_at: Ints  # (ng+1,) where the corners of a hull start
    corner: Rows3  # (nc, 3) [m] in the shape's frame
    face_at: Ints  # (ng+1,) where the faces of a hull start
    face_start: Ints  # (nf+1,) where the corners of a face start in face_corner
    face_corner: Ints  # corners of faces, counter-clockwise seen from outside
    face_normal: Rows3  # (nf, 3) outward, unit
    field_at: Ints  # (ng+1,) where the heights of a field start
    field_cells: IntRows2  # (ng, 2) how many heights along x and y
    height: Floats  # [m] of fields, row by row along x
    pair: IntRows2  # (np, 2) shapes that may touch: first, second
    pair_on: Ints  # (np,) 0 while they are not looked at


class Areas(NamedTuple):
    """Contact areas found at the present poses. Size: na areas."""

    count: Ints  # (2,) how many are kept, and how many there were
    pair: Ints  # (na,) which pair of shapes
    feature: Ints  # (na,) which of its areas, if a pair has several: together with ``pair`` and ``corners`` a name from step to step
    corners: Ints  # (na,) 1 point, 2 segment, 3 to 8 polygon
    P: Rows3  # (na, 3) [m] a point of the area, along world axes from the world's origin
    R: Rows33  # (na, 3, 3) contact axes as columns, along world axes
    V: Rows82  # (na, 8, 2) [m] corners in contact axes from P, counter-clockwise about z
    gap: Rows3  # (na, 3) [m, -, -]: the gap at (x, y) is g_0 + g_1 x + g_2 y, negative inside each other


class Scratch(NamedTuple):
    """Where areas are looked for, and what is remembered until the next time. Size: nk places for the corners of a face."""

    x: Rows3  # (ng, 3) [m] place of every shape, along world axes from the world's origin
    z: Rows3  # (ng, 3) its z axis
    near: Ints  # (np,) pairs whose bounding balls are near each other
    margin: Floats  # (np,) [m] how much farther than others a pair is looked for; zero, if nobody says so
    last: Ints  # (np,) which face bore the last time, for ties; -1 for none
    point: Rows3  # (2 nk, 3) [m] features of the first and of the second shape, world axes
    flat: Rows3  # (4 nk, 3) [m] corners in the plane of contact: u, v, and the gap where it is no affine one
    simplex: Rows6  # (4, 6) [m] corners of a simplex: first less second shape, then the corner of the first
    member: Ints  # (nk,) which bundle a point on a field belongs to
    meeting: Floats  # (8,) of the pair in hand: normal, nearest point of the first [m], gap [m], 1 if the direction is doubtful
    address: Ints  # (4,) where the machine code for pairs is: see detect.py


class Problem(NamedTuple):
    """One coupled problem u = u0 + G w with the law of contact for every pair. Sizes: m pairs, n rows, all packed.

    Arrays of rows have room for whole fours: n is rounded up in their size, and what is behind the last row does not matter.
    """

    count: Ints  # (5,) pairs, rows, numbers from one row of G to the next (a multiple of 4), whether centres are frozen, the way found
    at: Ints  # (m+1,) where the rows of a pair start
    corners: Ints  # (m,)
    V: Rows82  # (m, 8, 2)
    friction: Floats  # (m,) of sliding
    grip: Floats  # (m,) of sticking: not below sliding
    spin: Floats  # (m,) factor of the length that friction against spinning has
    G: Floats  # (n·stride,) what the rows answer to forces: symmetric
    u0: Floats  # (n,) what they do without forces
    u: Floats  # (n,) what they do
    w: Floats  # (n,) forces; before the solution those to start from
    area: Ints  # (m,) what of the area bears: see law.py; before the solution the state to start from, NEW if there is none
    slip: Ints  # (m,) whether it sticks or slips, likewise
    residual: Floats  # (1,) how far the law is from being held, as a speed
    path: Ints  # (10,) how often every way to the solution was taken: WARM ...
    # what the solution works with
    stuck: Ints  # (m,) 1 if the pair stuck before
    held: Ints  # (m,) 1 if it did and may hold up to its grip
    centre: Rows3  # (m, 3) [m] where friction acts, and the length l it has against spinning
    first: Ints  # (m+1,) where the unknowns of a pair start
    plain: Ints  # (m,) 1 if its unknowns are its rows as they are
    basis: Floats  # (48 m,) columns: forces of a pair for its unknowns
    test: Floats  # (48 m,) columns: what of its velocities is to vanish, row by row of the velocities
    own: Floats  # (48 m,) rows: what its unknowns add to that themselves
    z: Floats  # (n,) unknowns
    live: Ints  # (n,) where fours of rows are that have unknowns
    answer: Floats  # (n·stride,) velocities for each unknown
    factor: Floats  # (n·stride,) the factor that is kept
    order: Ints  # (n,) which rows a factor of all was exchanged with
    kept: Ints  # (m+1,) how many unknowns the factor has, and the states it was made for
    best: Floats  # (n,) the best forces so far
    best_area: Ints  # (m,) and their states
    best_slip: Ints  # (m,)
    swept: Floats  # (n,) forces before Newton tries their states
    shadow: Floats  # (n,) forces that pairs see of all others: see split.py
    here: Floats  # (n,) shadows on the path to the solution, as far as it was followed: see follow.py
    onward: Floats  # (n,) how they go on from there
    bend: Floats  # (n,) how they go on from a place that is tried
    weight: Floats  # (n,) what a unit of them is worth, in parts of a typical speed
    far: Ints  # (7,) addresses of pieces that are called by them: NEWTON ...
    push: Rows3  # (24 m, 3) forces at corners in the last resort: these, those before, and those ahead


open_geometry = opener(Geometry)
open_areas = opener(Areas)
open_contact = opener(Geometry, Areas, Scratch)
open_problem = opener(Problem)
