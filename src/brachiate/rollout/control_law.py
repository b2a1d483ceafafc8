"""Control laws of rollouts, as compiled code: torques by interval, and PD control of joint targets within torque and speed limits."""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, Ints, by_address, kernel, struct_opener
from brachiate.contact.stepping.step_control import AFTER_STEP, BEFORE_STEP, CHECK_STEP, StepControl
from brachiate.manifold import configuration_difference
from brachiate.model.arrays import open_model


class ControlCommands(NamedTuple):
    """Commands of n rollouts and the torques that follow. Sizes: k intervals, r rows of the result, nq, nv."""

    rollout: Ints  # (1,) which of them is made
    interval: Ints  # (2,) steps of an interval; k
    every: Ints  # (2,) steps of a row of the result; r
    torque: Floats  # (n·k·nv,) [N·m or N] torques, feedforward where there are targets; or empty: zero
    target: Floats  # (n·k·nq,) target configurations; of torque control empty
    stiffness: Floats  # (nv,) [N·m/rad or N/m]
    damping: Floats  # (nv,) [N·m·s/rad or N·s/m]
    effort: Floats  # (nv,) [N·m or N] torque limits
    speed: Floats  # (nv,) [rad/s or m/s] speed limits of motors
    passive_damping: Floats  # (nv,) damping of the joints themselves
    push: Floats  # (nv,) torque of motors in the present step without damping
    state: Ints  # (nv,) of motors in it: WITHIN, AT_LIMIT above or -AT_LIMIT below, BEYOND_SPEED, CONSTANT
    constant: Ints  # (1,) whether the step is repeated with the torques found, held constant
    repeats: Ints  # (1,) how often it was made again
    present: Floats  # (nq,) target of the present interval
    error: Floats  # (nv,) target ⊖ q
    mean: Floats  # (n·r·nv,) [N·m or N] mean torques over the steps of every row


WITHIN, AT_LIMIT, BEYOND_SPEED, CONSTANT = range(4)
MAX_RELEASES = 3  # repetitions of a step in which motors at their limits may be found within them
LIMIT_TOLERANCE = 1e-12  # round-off, relative
open_commands = struct_opener(StepControl, ControlCommands)


@kernel
def command_row(law, i):
    """Row of the commands of step i."""
    return law.rollout[0] * law.interval[1] + i // law.interval[0]


@kernel
def command_torque(law, row, k, nv):
    """Torque commanded for coordinate k."""
    return law.torque[row * nv + k] if law.torque.shape[0] > 0 else 0.0


@kernel
def add_to_mean(law, i, k, nv, torque):
    """Add the torque of step i to the mean of its row."""
    row = i // law.every[0]
    if row < law.every[1]:
        at = (law.rollout[0] * law.every[1] + row) * nv + k
        if i % law.every[0] == 0:
            law.mean[at] = 0.0
        law.mean[at] += torque / law.every[0]


@by_address
def torque_control(key, control_key, phase, i):
    """W.tau ← torques of the interval that step i belongs to."""
    _, W = open_model(key)
    _, law = open_commands(control_key)
    nv = W.v.shape[0]
    row = command_row(law, i)
    for k in range(nv):
        if phase == BEFORE_STEP:
            W.tau[k] = command_torque(law, row, k, nv)
        elif phase == AFTER_STEP:
            add_to_mean(law, i, k, nv, W.tau[k])
    return 0


@kernel
def motor_state(law, k, torque, v):
    """State of a motor that would give this torque at the velocity v."""
    if abs(v) > law.speed[k] and torque * v > 0.0:
        return BEYOND_SPEED
    if abs(torque) > law.effort[k] * (1.0 + LIMIT_TOLERANCE):
        return AT_LIMIT if torque > 0.0 else -AT_LIMIT
    return WITHIN


@kernel
def motor_torque(W, law, k):
    """Torque of a motor in the step that was made."""
    return W.tau[k] - (law.damping[k] * W.v[k] if law.state[k] == WITHIN else 0.0)


@kernel
def apply_motor(T, W, law, k):
    """Torque and damping of a motor in its state."""
    state, limit = law.state[k], law.effort[k]
    within = state == WITHIN
    W.tau[k] = law.push[k] if within or state == CONSTANT else limit if state == AT_LIMIT else -limit if state == -AT_LIMIT else 0.0
    T.damping[k] = law.passive_damping[k] + (law.damping[k] if within else 0.0)


@kernel
def set_targets(T, W, law, i):
    """Torques of motors without damping, and their states by the velocity at the start of step i."""
    nq, nv = W.q.shape[0], W.v.shape[0]
    row = command_row(law, i)
    for j in range(nq):
        law.present[j] = law.target[row * nq + j]
    configuration_difference(T, W.q, law.present, law.error)
    law.repeats[0] = 0
    for k in range(nv):
        law.push[k] = command_torque(law, row, k, nv) + law.stiffness[k] * law.error[k]
        law.state[k] = motor_state(law, k, law.push[k] - law.damping[k] * W.v[k], W.v[k])
        apply_motor(T, W, law, k)


@kernel
def check_limits(T, W, law):
    """Whether the step has to be made again: by the velocity at its end a motor exceeds its limit, or would not reach it.

    An active set of torque limits. After some repetitions limits are only added, so it ends, and no motor exceeds its limit.
    """
    again = 0
    if W.v.shape[0] > 0 and law.state[0] == CONSTANT:
        return 0
    for k in range(W.v.shape[0]):
        state, torque = law.state[k], law.push[k] - law.damping[k] * W.v[k]
        now = state
        if state == WITHIN and abs(torque) > law.effort[k] * (1.0 + LIMIT_TOLERANCE):
            now = AT_LIMIT if torque > 0.0 else -AT_LIMIT
        elif abs(state) == AT_LIMIT and state * torque < law.effort[k] and law.repeats[0] < MAX_RELEASES:
            now = WITHIN
        if now != state:
            again = 1
            law.state[k] = now
            apply_motor(T, W, law, k)
    law.repeats[0] += again
    if again == 0 and law.constant[0]:
        for k in range(W.v.shape[0]):
            law.push[k] = motor_torque(W, law, k)
            law.state[k] = CONSTANT
            apply_motor(T, W, law, k)
        return 1
    return again


@by_address
def target_control(key, control_key, phase, i):
    """W.tau and T.damping ← PD control of step i: torque + stiffness (target ⊖ q) − damping v, v being that of the end of the step.

    Damping is implicit, as that of joints: it is stable for any gains. A motor at its torque limit gives this limit and no damping;
    beyond its speed limit it does not push on. In a step that is divided, as bodies are fast, damping is that of each part.
    """
    T, W = open_model(key)
    _, law = open_commands(control_key)
    if phase == BEFORE_STEP:
        set_targets(T, W, law, i)
        return 0
    if phase == CHECK_STEP:
        return check_limits(T, W, law)
    nv = W.v.shape[0]
    for k in range(nv):
        add_to_mean(law, i, k, nv, motor_torque(W, law, k))
    return 0
