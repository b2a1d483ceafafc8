"""Control laws of rollouts, as compiled code: torques by interval, and PD control of joint targets within torque and speed limits."""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, Ints, by_address, kernel, struct_opener
from brachiate.contact.stepping.step_control import BEFORE_STEP, StepControl
from brachiate.manifold import configuration_difference
from brachiate.model.arrays import open_model
from brachiate.model.status import OK


class ControlCommands(NamedTuple):
    """Commands of one rollout and the torques that follow. Sizes: k intervals, r rows of the result, nq, nv."""

    interval: Ints  # (1,) steps of an interval
    every: Ints  # (1,) steps of a row of the result
    torque: Floats  # (k·nv,) [N·m or N] torques, feedforward where there are targets; or empty: zero
    target: Floats  # (k·nq,) target configurations; of torque control empty
    stiffness: Floats  # (nv,) [N·m/rad or N/m]
    damping: Floats  # (nv,) [N·m·s/rad or N·s/m]
    effort: Floats  # (nv,) [N·m or N] torque limits
    speed: Floats  # (nv,) [rad/s or m/s] speed limits of motors
    passive_damping: Floats  # (nv,) damping of the joints themselves
    applied: Floats  # (nv,) damping of motors in the present step
    present: Floats  # (nq,) target of the present interval
    error: Floats  # (nv,) target ⊖ q
    mean: Floats  # (r·nv,) [N·m or N] mean torques over the steps of every row


open_commands = struct_opener(StepControl, ControlCommands)


@kernel
def command_torque(law, row, k, nv):
    """Torque commanded for coordinate k."""
    return law.torque[row * nv + k] if law.torque.shape[0] > 0 else 0.0


@kernel
def add_to_mean(law, i, k, nv, torque):
    """Add the torque of step i to the mean of its row."""
    row = i // law.every[0]
    if (row + 1) * nv <= law.mean.shape[0]:
        if i % law.every[0] == 0:
            law.mean[row * nv + k] = 0.0
        law.mean[row * nv + k] += torque / law.every[0]


@by_address
def torque_control(key, control_key, phase, i):
    """W.tau ← torques of the interval that step i belongs to."""
    _, W = open_model(key)
    _, law = open_commands(control_key)
    nv = W.v.shape[0]
    row = i // law.interval[0]
    for k in range(nv):
        if phase == BEFORE_STEP:
            W.tau[k] = command_torque(law, row, k, nv)
        else:
            add_to_mean(law, i, k, nv, W.tau[k])
    return OK


@by_address
def target_control(key, control_key, phase, i):
    """W.tau and T.damping ← PD control of step i: torque + stiffness (target ⊖ q) − damping v, v being that of the end of the step.

    Damping is implicit, as that of joints: it is stable for any gains. A motor at its torque limit, by the velocity at the start of the
    step, gives this limit and no damping; beyond its speed limit it does not push on. After the step, the torque that it gave is known.
    """
    T, W = open_model(key)
    _, law = open_commands(control_key)
    nq, nv = W.q.shape[0], W.v.shape[0]
    if phase != BEFORE_STEP:
        for k in range(nv):
            add_to_mean(law, i, k, nv, W.tau[k] - law.applied[k] * W.v[k])
        return OK
    row = i // law.interval[0]
    for j in range(nq):
        law.present[j] = law.target[row * nq + j]
    configuration_difference(T, W.q, law.present, law.error)
    for k in range(nv):
        push = command_torque(law, row, k, nv) + law.stiffness[k] * law.error[k]
        torque, limit = push - law.damping[k] * W.v[k], law.effort[k]
        W.tau[k], law.applied[k] = push, law.damping[k]
        if abs(torque) > limit:
            W.tau[k], law.applied[k] = (limit if torque > 0.0 else -limit), 0.0
        if abs(W.v[k]) > law.speed[k] and torque * W.v[k] > 0.0:
            W.tau[k], law.applied[k] = 0.0, 0.0
        T.damping[k] = law.passive_damping[k] + law.applied[k]
    return OK
