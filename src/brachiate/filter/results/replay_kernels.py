"""Replay of consecutive recorded steps in one compiled run, as its control law: each step starts from the recorded state and torques."""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, by_address, index, kernel, struct_opener
from brachiate.constraints.arrays import JOINT_LIMIT, ConstraintArrays
from brachiate.constraints.limits import LimitArrays
from brachiate.contact.stepping.contact_rows import ContactArrays
from brachiate.contact.stepping.step_control import AFTER_STEP, BEFORE_STEP, StepControl
from brachiate.model.arrays import open_model


class ReplayArrays(NamedTuple):
    """Recorded steps, and what their replay finds. Sizes: n steps, nq, nv."""

    q: Floats  # ((n + 1)·nq,) states
    v: Floats  # ((n + 1)·nv,)
    torque: Floats  # ((n + 1)·nv,) [N·m or N] of the step that led to each
    v_mid: Floats  # (n·nv,) velocity predicted for the middle
    half_jump: Floats  # (n·nv,) half the velocity jump there
    limit_torque: Floats  # (n·nv,) [N·m or N] of joint limits
    error: Floats  # (n,) largest difference of the state that a step leads to from the recorded one


open_replay = struct_opener(StepControl, ReplayArrays, ContactArrays, LimitArrays, ConstraintArrays)


@kernel
def add_limit_torques(replay, contact, limits, cons, start):
    """Add the torques of joint limits over the last step, from index ``start`` on."""
    first = cons.kind.shape[0] - contact.limit_index.shape[0]
    for a in range(contact.old_count[0]):
        if contact.old_pair[a] < 0:
            n = -1 - contact.old_pair[a]
            k = start + limits.v_index[n]
            force = limits.side[n] * contact.old_w[contact.old_row_start[a]] / contact.last_dt[0]
            if limits.kind[n] == JOINT_LIMIT:
                replay.limit_torque[index(k)] += force
            else:  # gradient of a swing cone
                row = cons.row[first + a]
                for i in range(3):
                    replay.limit_torque[index(k + i)] += force * cons.T[row, i]


@by_address
def replay_control(key, control_key, phase, i):
    """Before a step set the recorded state and torques; after it store what a recording does not keep, and the error."""
    _, W = open_model(key)
    _, replay, contact, limits, cons = open_replay(control_key)
    nq, nv = W.q.shape[0], W.v.shape[0]
    if phase == BEFORE_STEP:
        for k in range(nq):
            W.q[k] = replay.q[index(i * nq + k)]
        for k in range(nv):
            W.v[k], W.tau[k] = replay.v[index(i * nv + k)], replay.torque[index((i + 1) * nv + k)]
    elif phase == AFTER_STEP:
        error = 0.0
        for k in range(nq):
            error = max(error, abs(W.q[k] - replay.q[index((i + 1) * nq + k)]))
        for k in range(nv):
            error = max(error, abs(W.v[k] - replay.v[index((i + 1) * nv + k)]))
            replay.v_mid[index(i * nv + k)], replay.half_jump[index(i * nv + k)] = contact.v_mid[k], contact.half_jump[k]
            replay.limit_torque[index(i * nv + k)] = 0.0
        replay.error[i] = error
        add_limit_torques(replay, contact, limits, cons, i * nv)
    return 0
