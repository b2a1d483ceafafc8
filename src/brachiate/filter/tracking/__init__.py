"""Tracking of a reference: control step, centroidal MPC, capture steps, fall detection."""
