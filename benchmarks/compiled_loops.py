"""Compiled loops over the tree dynamics kernels: their time without any call from Python."""

from __future__ import annotations

from brachiate.compiled import entry
from brachiate.dynamics import forward, inverse, mass


@entry
def inverse_dynamics(key, n):
    status = 0
    for _ in range(n):
        status |= inverse.inverse_dynamics(key)
    return status


@entry
def mass_matrix(key, n):
    status = 0
    for _ in range(n):
        status |= mass.compute_mass_matrix(key)
    return status


@entry
def forward_dynamics(key, n):
    status = 0
    for _ in range(n):
        status |= forward.forward_dynamics(key)
    return status
