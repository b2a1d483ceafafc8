"""Prediction of midpoint velocities from the step before, and whether it failed."""

from __future__ import annotations

from brachiate.compiled import kernel

FAST_DISPLACEMENT = 0.02  # [rad or m] per step, above which velocities are fast
SLOW_SPEED = 0.1  # [rad/s or m/s] below which predictions are not corrected, except after an impact
PREDICTION_TOLERANCE = 0.005  # of the largest velocity: error of predicted velocities, fast or after an impact
LARGE_PREDICTION_ERROR = 0.05  # the same, elsewhere
# [rad] in a step, from which errors are bounded by the change of velocity instead. A slow nutation of a fast spin is small beside the
# largest velocity, but energy that a wrong gyroscopic moment adds to it grows from part to part of a step, of which there may be thousands.
FAR_TURN = 0.1
# Of the largest change of velocity. A turn φ changes velocities v by φ v; with an error ε of this change, up to 2 ε φ² of the energy is
# added in a part: 6e-6 at time_of_impact.MAX_TURN. Four passes leave (φ/2)⁵ = 3e-5 of the change in a steady nutation.
CHANGE_TOLERANCE = 5e-5
MAX_STEP_GROWTH = 2.0  # of the length of a step, up to which accelerations of the step before are a prediction
MAX_STEADY_CHANGE = 0.5  # relative change of contact accelerations from step to step in steady contact


@kernel
def max_contact_acceleration(contact):
    """Largest acceleration by contact in the step before."""
    size = 0.0
    for k in range(contact.contact_acceleration.shape[0]):
        size = max(size, abs(contact.contact_acceleration[k]))
    return size


@kernel
def contact_changed(contact, z, dt):
    """Whether accelerations by contact differ from those of the step before: an impact."""
    size, found = max_contact_acceleration(contact), False
    for k in range(z.shape[0]):
        found = found or abs(z[k] / dt - contact.contact_acceleration[k]) > MAX_STEADY_CHANGE * size
    return found


@kernel
def prediction_failed(contact, z, dt, jumped):
    """Whether midpoint velocities differ from the prediction, and there was an impact, or they are fast, or the error is large."""
    fastest, error, change = 0.0, 0.0, 0.0
    for k in range(z.shape[0]):
        fastest = max(fastest, abs(contact.v_mid[k]))
        error = max(error, abs(0.5 * (contact.v_start[k] + contact.v_free[k] + z[k]) - contact.v_mid[k]))
        change = max(change, abs(contact.v_free[k] - contact.v_start[k]))
    if fastest * dt > FAR_TURN and error > CHANGE_TOLERANCE * change:
        return True
    return error > PREDICTION_TOLERANCE * fastest and (
        jumped or fastest * dt > FAST_DISPLACEMENT or (fastest > SLOW_SPEED and error > LARGE_PREDICTION_ERROR * fastest)
    )


@kernel
def predict_acceleration(contact, z, dt):
    """Predict the accelerations of the next step: those of this one with contact, where contact acts nearly as in the step before.

    Zero elsewhere: without contact forces, the forces that they balance would be predicted to accelerate light limbs to any speed.
    """
    size = max_contact_acceleration(contact)
    for k in range(z.shape[0]):
        now = z[k] / dt
        contact.predicted_acceleration[k] = (
            contact.predicted_acceleration[k] + now if abs(now - contact.contact_acceleration[k]) <= MAX_STEADY_CHANGE * size else 0.0
        )
        contact.contact_acceleration[k] = now


@kernel
def predict_mean_acceleration(contact, z, dt):
    """contact.predicted_acceleration ← mean acceleration of the step as just solved, z being the velocity change by contact."""
    for k in range(z.shape[0]):
        contact.predicted_acceleration[k] = (contact.v_free[k] + z[k] - contact.v_start[k]) / dt
