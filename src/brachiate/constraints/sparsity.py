"""Sparsity pattern of the constraint rows and of the Delassus operator, computed once after every change of structure."""

from __future__ import annotations

from brachiate.compiled import index, kernel
from brachiate.constraints.arrays import (
    COMPLIANT,
    CONNECTION,
    CONSTRAINTS,
    CONTACT,
    CONTACTS,
    G_SIZE,
    G_SIZE_WITH_CONTACTS,
    INACTIVE,
    LOCKED_BALL,
    PAIRS,
    PAIRS_WITH_CONTACTS,
    ROWS,
    ROWS_WITH_CONTACTS,
    UNCLASSIFIED,
    Y_SIZE,
    Y_SIZE_WITH_CONTACTS,
)
from brachiate.model.status import OK

LANES = 4  # rows of a block, interleaved
ARRAYS_TOO_SHORT = 9  # status: arrays are too short; ConstraintArrays.count says what is needed


@kernel
def chain_length(T, tip):
    """Number of velocities from the root down to this one."""
    return T.depth[tip] + 1 if tip >= 0 else 0


@kernel
def common_length(T, one, other):
    """Number of velocities that two chains have in common, from the root."""
    if one < 0 or other < 0:
        return 0
    low, high = 0, min(T.depth[one], T.depth[other]) + 1
    while low < high:  # binary search: chains that have separated stay separate
        middle = (low + high) // 2
        if T.above[T.row[one] + middle] == T.above[T.row[other] + middle]:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def row_blocks(cons, i):
    """Number of blocks of four rows of a constraint."""
    return (cons.rows[i] + LANES - 1) // LANES


@kernel
def acts_between_bodies(cons, i):
    """Whether the rows of a constraint act between two bodies, and not on coordinates of the tree."""
    return cons.kind[i] == CONNECTION or cons.kind[i] == CONTACT or cons.owner[i] >= 0


@kernel
def assign_rows(T, cons, start, end, rows, numbers):
    """Assign rows and their storage to constraints, after those assigned already; returns the new totals."""
    for a in range(start, end):
        i = cons.order[a]
        cons.row[i] = rows
        if acts_between_bodies(cons, i):
            cons.tip_first[i] = T.dof[cons.first[i] + 1] - 1 if cons.first[i] >= 0 else -1
            cons.tip_second[i] = T.dof[cons.second[i] + 1] - 1 if cons.second[i] >= 0 else -1
            if cons.kind[i] != CONTACT:
                cons.rows[i] = 6 - cons.dofs[i] if cons.kind[i] == CONNECTION else 1
        else:
            cons.tip_first[i] = cons.v_index[i] + (2 if cons.kind[i] >= LOCKED_BALL else 0)
            cons.tip_second[i] = cons.driver_v_index[i]
            cons.rows[i] = 3 if cons.kind[i] == LOCKED_BALL else 1
        cons.common[i] = common_length(T, cons.tip_first[i], cons.tip_second[i])
        cons.y_at[i] = numbers
        # The second chain is stored from where it leaves the first one, after it; entries that are not filled stay zero.
        cons.y_second[i] = LANES * (chain_length(T, cons.tip_first[i]) - cons.common[i])
        cons.y_stride[i] = cons.y_second[i] + LANES * chain_length(T, cons.tip_second[i])
        rows += cons.rows[i]
        numbers += row_blocks(cons, i) * cons.y_stride[i]
    return rows, numbers


@kernel
def chain(T, cons, i, which):
    """Tip, offset in a row, and first position in use, of the first (0) or second (1) chain of constraint i."""
    if which == 0:
        return cons.tip_first[i], 0, 0
    return cons.tip_second[i], cons.y_second[i], cons.common[i]


@kernel
def find_pairs(T, cons, begin, end, pairs, numbers):
    """List the ranges that chains of constraints share with those before them, and the resulting skyline of G."""
    for a in range(begin, end):
        i = cons.order[a]
        skyline = cons.row[i]
        for b in range(a + 1):
            j = cons.order[b]
            for x in range(2):
                tip, at, start = chain(T, cons, i, x)
                for y in range(2):
                    other_tip, other_at, other_start = chain(T, cons, j, y)
                    low, high = max(start, other_start), common_length(T, tip, other_tip)
                    if low >= high:
                        continue
                    skyline = min(skyline, cons.row[j])
                    if pairs < cons.pair.shape[0]:
                        p = cons.pair[pairs]
                        p[0], p[1], p[2], p[3], p[4], p[5] = i, j, at, other_at, low, high
                    pairs += 1
        # All rows of a constraint are as long as its last block, and padded to a multiple of four: 4×4 blocks are added
        # whole, zeros included.
        width = cons.row[i] + LANES * row_blocks(cons, i) - skyline
        cons.g_width[i] = width
        for m in range(cons.rows[i]):
            if cons.row[i] + m < cons.skyline_start.shape[0]:
                cons.skyline_start[cons.row[i] + m], cons.g_at[cons.row[i] + m] = skyline, numbers + m * width
        numbers += LANES * row_blocks(cons, i) * width
    return pairs, numbers


@kernel
def build_structure(T, cons):
    """Assign rows and find the sparsity pattern. Returns a status if the arrays are too short."""
    cons.count[ROWS], cons.count[Y_SIZE] = assign_rows(T, cons, 0, cons.count[CONSTRAINTS], 0, 0)
    cons.count[PAIRS], cons.count[G_SIZE] = find_pairs(T, cons, 0, cons.count[CONSTRAINTS], 0, 0)
    clear_contacts(cons)
    for a in range(cons.count[CONSTRAINTS]):
        i = cons.order[a]
        for r in range(cons.row[i], min(cons.row[i] + cons.rows[i], cons.state.shape[0])):
            cons.state[r] = COMPLIANT if cons.compliant[i] else INACTIVE if cons.inactive[i] else UNCLASSIFIED
    for j in range(min(cons.count[Y_SIZE], cons.J.shape[0])):
        cons.J[j] = 0.0
    return check_capacity(cons)


@kernel
def check_capacity(cons):
    """Status: whether the arrays are long enough for the counted rows and entries."""
    short = cons.count[ROWS_WITH_CONTACTS] > cons.c.shape[0] or cons.count[Y_SIZE_WITH_CONTACTS] > cons.Y.shape[0]
    short = short or cons.count[G_SIZE_WITH_CONTACTS] > cons.G.shape[0] or cons.count[PAIRS_WITH_CONTACTS] > cons.pair.shape[0]
    return ARRAYS_TOO_SHORT if short else OK


@kernel
def clear_contacts(cons):
    """Remove all contacts from the row counts."""
    cons.count[CONTACTS], cons.count[ROWS_WITH_CONTACTS], cons.count[Y_SIZE_WITH_CONTACTS] = 0, cons.count[ROWS], cons.count[Y_SIZE]
    cons.count[G_SIZE_WITH_CONTACTS], cons.count[PAIRS_WITH_CONTACTS] = cons.count[G_SIZE], cons.count[PAIRS]


@kernel
def append_contacts(T, cons, contacts):
    """Append contacts after the constraints in use: their rows follow the others, which do not change."""
    start, end = cons.count[CONSTRAINTS], cons.count[CONSTRAINTS] + contacts
    cons.count[CONTACTS] = contacts
    cons.count[ROWS_WITH_CONTACTS], cons.count[Y_SIZE_WITH_CONTACTS] = assign_rows(
        T, cons, start, end, cons.count[ROWS], cons.count[Y_SIZE]
    )
    cons.count[PAIRS_WITH_CONTACTS], cons.count[G_SIZE_WITH_CONTACTS] = find_pairs(
        T, cons, start, end, cons.count[PAIRS], cons.count[G_SIZE]
    )
    for j in range(cons.count[Y_SIZE], min(cons.count[Y_SIZE_WITH_CONTACTS], cons.J.shape[0])):
        cons.J[j] = 0.0
    return check_capacity(cons)


@kernel
def put_row_entry(cons, base, m, stride, d, value):
    """Store the entry of row m at position d of a chain."""
    cons.J[index(base + (m // LANES) * stride + LANES * d + m % LANES)] = value
