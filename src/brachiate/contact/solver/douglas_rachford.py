"""All pairs and their coupling in turn: Douglas-Rachford splitting [Lions & Mercier 1979].

Sweeps creep where one pair's forces reach others through many links, as in a row of dominoes or where joints are stopped. Here
every pair solves the law by itself against a stand-in for all others, u = R (w - z), which takes no iterations as R couples no
friction with pushes; then one linear system with the factor of G + R moves the shadows z by how far w was from holding
u = u0 + G w. Where nothing moves any more both hold. Friction is no monotone law, so convergence is not proven; it is seen.
"""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import far, kernel, outlined
from brachiate.contact.arrays import PAIRS, ROWS, SPLITS, STRIDE, open_problem
from brachiate.contact.solver.contact_law import NONE, SLIPS, Parts, from_centre, move, parts, put_parts, settle_centre
from brachiate.contact.solver.gauss_seidel import friction_forces, normal_forces, own_part, raised, solved
from brachiate.linalg.lu import factor, solve_transposed
from brachiate.model.arrays import OK
from brachiate.spatial import Sym3, Vec3, trace

RELAXED = 1.5  # of each change of the shadows is made, but not where pairs are taken as they are: that is the slow and sure way
IMMOVABLE, IMPASSABLE = 1e-9, 1e-12  # of the traces of R, added to it: some directions do not move at all


class Metric(NamedTuple):
    """R of one pair: a share of its own part of G, normal and along the plane."""

    along: Sym3
    normal: Sym3


@kernel
def scaled(x, a):
    """A symmetric matrix times x."""
    return Sym3(x * a.xx, x * a.xy, x * a.xz, x * a.yy, x * a.yz, x * a.zz)


@kernel
def metric(P, p, share):
    """R of pair p."""
    G = own_part(P, p)
    normal, along = scaled(share, G.normal), scaled(share, G.along)
    little = IMPASSABLE * trace(normal)
    return Metric(raised(along, IMMOVABLE * trace(along) + little), raised(normal, little))


@kernel
def measured(R, a):
    """R times a wrench."""
    return Parts(R.along @ a.along, R.normal @ a.normal)


@kernel
def add_metric(P, p, R):
    """Add R to the pair's own part of the matrix that is to be factored."""
    at, rows, stride = P.at[p], P.at[p + 1] - P.at[p], P.count[STRIDE]
    for c in range(rows):
        for r in range(rows):
            P.z[at + r] = 1.0 if r == c else 0.0
        put_parts(P.z, at, rows, measured(R, parts(P, P.z, p)))
        for r in range(rows):
            P.factor[(at + c) * stride + at + r] += P.z[at + r]


@kernel
def prepare(P, share):
    """Factor G + R, padded to whole fours, and begin with the shadows that the present forces and velocities have."""
    n, stride = P.count[ROWS], P.count[STRIDE]
    padded = (n + 3) // 4 * 4
    P.kept[0] = -1
    for r in range(padded):
        for c in range(padded):
            P.factor[r * stride + c] = P.G[r * stride + c] if r < n and c < n else 1.0 if r == c else 0.0
    move(P)
    for p in range(P.count[PAIRS]):
        R, u, w = metric(P, p, share), parts(P, P.u, p), parts(P, P.w, p)
        z = Parts(w.along - solved(R.along, u.along), w.normal - solved(R.normal, u.normal))
        put_parts(P.shadow, P.at[p], P.at[p + 1] - P.at[p], z)
        add_metric(P, p, R)
    factor(P.factor, stride, padded)


@outlined
def meet_alone(P, p, R, b):
    """Forces and states of pair p for the law with u = b + R w."""
    area, normal = normal_forces(P, p, R.normal, b.normal)
    along, slip = Vec3(0.0, 0.0, 0.0), SLIPS
    if area != NONE:
        settle_centre(P, p, Parts(along, normal))
        f, slip = friction_forces(P, p, R.along, b.along, normal.x)
        along = from_centre(P, p, f)
    P.area[p], P.slip[p] = area, slip
    put_parts(P.w, P.at[p], P.at[p + 1] - P.at[p], Parts(along, normal))


@kernel
def meet_shadow(P, p, R):
    """Forces and states of pair p against its stand-in."""
    z = parts(P, P.shadow, p)
    meet_alone(P, p, R, Parts(-(R.along @ z.along), -(R.normal @ z.normal)))


@kernel
def stand_in(P, p, R):
    """Forces and states of pair p against its stand-in; what the coupling is then asked, R (2w - z), goes to z."""
    meet_shadow(P, p, R)
    w, z = parts(P, P.w, p), parts(P, P.shadow, p)
    put_parts(P.z, P.at[p], P.at[p + 1] - P.at[p], measured(R, Parts(2.0 * w.along - z.along, 2.0 * w.normal - z.normal)))


@far
def split(key, held, share, times):
    """So many steps with R that share of what pairs themselves answer; forces and states are those of the last one."""
    (P,) = open_problem(held)
    n, stride = P.count[ROWS], P.count[STRIDE]
    padded = (n + 3) // 4 * 4
    relaxed = RELAXED if share < 1.0 else 1.0
    prepare(P, share)
    P.path[SPLITS] += times
    for _ in range(times):
        for p in range(P.count[PAIRS]):
            stand_in(P, p, metric(P, p, share))
        for r in range(padded):
            P.z[r] = P.z[r] - P.u0[r] if r < n else 0.0
        solve_transposed(P.factor, stride, padded, P.z)
        for r in range(n):
            P.shadow[r] += relaxed * (P.z[r] - P.w[r])
    return OK


@far
def choose(key, held, x, n):
    """States, and forces that have them, by the law of each pair alone: of what it would do if all others yielded as it does."""
    (P,) = open_problem(held)
    for p in range(P.count[PAIRS]):
        R, u, w = metric(P, p, 1.0), parts(P, P.u, p), parts(P, P.w, p)
        meet_alone(P, p, R, Parts(u.along - R.along @ w.along, u.normal - R.normal @ w.normal))
    move(P)
    return OK
