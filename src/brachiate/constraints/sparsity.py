"""Which rows meet: done once after every change of structure, so that nothing is looked for while time runs."""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.constraints.arrays import (
    ASLEEP,
    BALL_LOCK,
    CONNECTION,
    NEW,
    NUMBERS_G,
    NUMBERS_Y,
    PAIRS,
    ROWS,
    SOFT,
    TOUCH,
    TOUCH_G,
    TOUCH_PAIRS,
    TOUCH_ROWS,
    TOUCH_Y,
    TOUCHES,
    USED,
)
from brachiate.model.arrays import OK

LANES = 4  # rows side by side
NEED_MORE = 9  # status: arrays are too short; Bonds.count says what is needed


@kernel
def chain_length(T, tip):
    """How many velocities there are from the root down to this one."""
    return T.depth[tip] + 1 if tip >= 0 else 0


@kernel
def shared(T, one, other):
    """How many velocities two chains begin with together."""
    if one < 0 or other < 0:
        return 0
    low, high = 0, min(T.depth[one], T.depth[other]) + 1
    while low < high:  # once apart they stay apart
        middle = (low + high) // 2
        if T.above[T.row[one] + middle] == T.above[T.row[other] + middle]:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def fours(B, i):
    """How many fours of rows a bond has."""
    return (B.rows[i] + LANES - 1) // LANES


@kernel
def between(B, i):
    """Whether the rows of a bond act between two bodies, and not on coordinates of the tree."""
    return B.kind[i] == CONNECTION or B.kind[i] == TOUCH or B.owner[i] >= 0


@kernel
def number_rows(T, B, start, end, rows, numbers):
    """Give bonds their rows and the places of their numbers, from those that are taken; returns how many are taken then."""
    for a in range(start, end):
        i = B.order[a]
        B.row[i] = rows
        if between(B, i):
            B.tip_first[i] = T.dof[B.first[i] + 1] - 1 if B.first[i] >= 0 else -1
            B.tip_second[i] = T.dof[B.second[i] + 1] - 1 if B.second[i] >= 0 else -1
            if B.kind[i] != TOUCH:
                B.rows[i] = 6 - B.freedoms[i] if B.kind[i] == CONNECTION else 1
        else:
            B.tip_first[i] = B.coordinate[i] + (2 if B.kind[i] >= BALL_LOCK else 0)
            B.tip_second[i] = B.other[i]
            B.rows[i] = 3 if B.kind[i] == BALL_LOCK else 1
        B.common[i] = shared(T, B.tip_first[i], B.tip_second[i])
        B.y_at[i] = numbers
        # The second chain is kept from where it leaves the first one, after that; what is not filled stays zero.
        B.y_second[i] = LANES * (chain_length(T, B.tip_first[i]) - B.common[i])
        B.y_stride[i] = B.y_second[i] + LANES * chain_length(T, B.tip_second[i])
        rows += B.rows[i]
        numbers += fours(B, i) * B.y_stride[i]
    return rows, numbers


@kernel
def chain(T, B, i, which):
    """Tip, offset in a row, and first place that counts, of the first (0) or second (1) chain of bond i."""
    if which == 0:
        return B.tip_first[i], 0, 0
    return B.tip_second[i], B.y_second[i], B.common[i]


@kernel
def find_pairs(T, B, begin, end, pairs, numbers):
    """List the stretches that chains of bonds share with each other and those before, and the skyline of G that follows."""
    for a in range(begin, end):
        i = B.order[a]
        meets = B.row[i]
        for b in range(a + 1):
            j = B.order[b]
            for x in range(2):
                tip, at, start = chain(T, B, i, x)
                for y in range(2):
                    other_tip, other_at, other_start = chain(T, B, j, y)
                    low, high = max(start, other_start), shared(T, tip, other_tip)
                    if low >= high:
                        continue
                    meets = min(meets, B.row[j])
                    if pairs < B.pair.shape[0]:
                        p = B.pair[pairs]
                        p[0], p[1], p[2], p[3], p[4], p[5] = i, j, at, other_at, low, high
                    pairs += 1
        # All rows of a bond are as long as its last four reaches, and there are as many as lanes: blocks of four by four
        # are added whole, zeros and all.
        width = B.row[i] + LANES * fours(B, i) - meets
        B.g_width[i] = width
        for m in range(B.rows[i]):
            if B.row[i] + m < B.meets.shape[0]:
                B.meets[B.row[i] + m], B.g_at[B.row[i] + m] = meets, numbers + m * width
        numbers += LANES * fours(B, i) * width
    return pairs, numbers


@kernel
def arrange(T, B):
    """Number the rows and find what meets. Says if the arrays are too short for it."""
    B.count[ROWS], B.count[NUMBERS_Y] = number_rows(T, B, 0, B.count[USED], 0, 0)
    B.count[PAIRS], B.count[NUMBERS_G] = find_pairs(T, B, 0, B.count[USED], 0, 0)
    no_touches(B)
    for a in range(B.count[USED]):
        i = B.order[a]
        for r in range(B.row[i], min(B.row[i] + B.rows[i], B.state.shape[0])):
            B.state[r] = SOFT if B.soft[i] else ASLEEP if B.sleeps[i] else NEW
    for j in range(min(B.count[NUMBERS_Y], B.J.shape[0])):
        B.J[j] = 0.0
    return too_short(B)


@kernel
def too_short(B):
    """Whether the arrays are too short for what has been counted."""
    short = B.count[TOUCH_ROWS] > B.c.shape[0] or B.count[TOUCH_Y] > B.Y.shape[0]
    short = short or B.count[TOUCH_G] > B.G.shape[0] or B.count[TOUCH_PAIRS] > B.pair.shape[0]
    return NEED_MORE if short else OK


@kernel
def no_touches(B):
    """Nothing touches: what is related is what holds."""
    B.count[TOUCHES], B.count[TOUCH_ROWS], B.count[TOUCH_Y] = 0, B.count[ROWS], B.count[NUMBERS_Y]
    B.count[TOUCH_G], B.count[TOUCH_PAIRS] = B.count[NUMBERS_G], B.count[PAIRS]


@kernel
def attach(T, B, touches):
    """Let so many contact areas follow the bonds in use: their rows are numbered after the others, which stay as they are."""
    start, end = B.count[USED], B.count[USED] + touches
    B.count[TOUCHES] = touches
    B.count[TOUCH_ROWS], B.count[TOUCH_Y] = number_rows(T, B, start, end, B.count[ROWS], B.count[NUMBERS_Y])
    B.count[TOUCH_PAIRS], B.count[TOUCH_G] = find_pairs(T, B, start, end, B.count[PAIRS], B.count[NUMBERS_G])
    for j in range(B.count[NUMBERS_Y], min(B.count[TOUCH_Y], B.J.shape[0])):
        B.J[j] = 0.0
    return too_short(B)
