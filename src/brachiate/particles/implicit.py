"""Solver of implicit steps: arrays, elimination order and errors."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from brachiate.compiled import ArrayHandle
from brachiate.errors import ArgumentError, StateError
from brachiate.particles.arrays import PUBLISHED_PLANES, FloorArrays
from brachiate.particles.implicit_kernels import NOT_CONVERGED, StepArrays, run_implicit
from brachiate.particles.system import ParticleSystem
from brachiate.validation import Array

MAX_BAND = 12  # particles by which linked ones are apart in the elimination order; with more, conjugate gradients are faster


class ImplicitSolver:
    """Energy and momentum conserving steps of a system with a floor.

    Args:
        system: The system; a structure that changes needs a new solver.
        floor: Arrays of the floor.
    """

    def __init__(self, system: ParticleSystem, floor: FloorArrays) -> None:
        if system.arrays.options[PUBLISHED_PLANES] != 0 and len(system.joints):
            raise ArgumentError("Implicit steps need planes='momentum': the published projection of planes is for explicit steps.")
        self._handle, C = system.handle(floor), system.arrays
        n, m, j = len(system), len(system.links), len(system.joints)
        order, distance = elimination_order(n, system.link_arrays.ends, system.joint_arrays.particles)
        width = 3 * distance + 2 if distance <= MAX_BAND else -1
        size = max(float(np.ptp(C.x, axis=0).max(initial=0.0)), float(system.link_arrays.length.max(initial=0.0)), 1e-3)
        rows = [np.zeros((n, 3)) for _ in range(6)]
        band = [np.zeros(3 * n * (width + 1)), np.zeros(3 * n if width >= 0 else 0)]
        gradients = [np.zeros((n if width < 0 else 0, 3)) for _ in range(3)]
        blocks = [np.zeros((n, 6)), np.zeros((m, 6)), np.zeros(j), np.zeros((3 * j, 3))]
        scale = np.array([max(size, float(np.abs(C.x).max(initial=0.0)))])
        self.arrays = StepArrays(*[np.array([width, 0]), order, scale, *rows, *blocks, *band, *gradients])
        self._step = ArrayHandle(self.arrays)

    def run(self, dt: float, count: int) -> int:
        """Make steps; returns the number of a particle whose state is not finite, or -1.

        Raises:
            StateError: A step did not converge.
        """
        status = run_implicit(self._handle.key, self._step.key, dt, count)
        if status == NOT_CONVERGED:
            raise StateError(f"The equations of an implicit step of {dt:g} s did not converge: use a smaller step.")
        return status


def elimination_order(count: int, links: Array, joints: Array) -> tuple[Array, int]:
    """Place of each particle in the matrix (n,), by reverse Cuthill-McKee, and the largest difference of places of linked particles."""
    pairs = np.concatenate([links, joints[:, [0, 1]], joints[:, [1, 2]], joints[:, [0, 2]]])
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    graph = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))
    order = np.empty(count, np.int64)
    order[reverse_cuthill_mckee(graph, symmetric_mode=True)] = np.arange(count)
    return order, int(np.abs(order[pairs[:, 0]] - order[pairs[:, 1]]).max(initial=0))
