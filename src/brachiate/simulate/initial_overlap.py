"""Shapes that overlap at the start of a simulation, or after a change of structure: refused where they cannot be separated gently."""

from __future__ import annotations

import numpy as np

from brachiate.constraints.arrays import COMPLIANT, CONNECTION, CONSTRAINTS, INACTIVE
from brachiate.contact.stepping.contact_state import Overlap
from brachiate.contact.stepping.position_correction import MAX_HELD_DEPTH
from brachiate.errors import StateError
from brachiate.manifold import integrate
from brachiate.validation import Array
from brachiate.world.world import World

MAX_OVERLAP = 0.05  # [m] of bounded shapes; deeper ones are refused
MIN_RESPONSE = 1e-6  # [m per rad or m] of the gap to the motion of the joints, below which these hold it
POSTURES, POSTURE_DISTANCE = 3, 0.05  # tried nearby, and how far coordinates move [rad or m]
CLOSING_STEPS, CLOSED = 8, 1e-9  # of Newton's method there, and residuals that are closed [m or rad]
RANK_TOLERANCE = 1e-9  # of singular values


def check_overlap(world: World, *, start: bool) -> None:
    """Check that all shapes that overlap can be separated; ``start``: also that they do not overlap deeply.

    Raises:
        StateError: Two bounded shapes overlap by more than MAX_OVERLAP, or joints and connections hold two shapes inside each other.
    """
    contact_state = world.contact_settings.contact_state
    if contact_state is None:
        return
    memory = contact_state.save_memory()
    overlaps = contact_state.overlaps()
    contact_state.restore_memory(memory)
    trial: World | None = None
    for overlap in overlaps:
        first, second = world.contact_settings.link_pairs[overlap.pair]
        if start and overlap.bounded and overlap.depth > MAX_OVERLAP:
            raise StateError(
                f"{second!r} starts {100 * overlap.depth:.1f} cm inside {first!r}; up to {100 * MAX_OVERLAP:.0f} cm are separated gently. "
                f"Move them apart, or let them pass each other: world.ignore_contact({first!r}, {second!r})."
            )
        if overlap.depth <= MAX_HELD_DEPTH or _responds(world, first, second, overlap):
            continue
        trial = world.copy() if trial is None else trial  # one for all overlaps: it takes as long as many steps
        if _is_held(world, trial, first, second, overlap):
            raise StateError(
                f"{second!r} is {100 * overlap.depth:.1f} cm inside {first!r}, and their joints and connections hold them there: no motion "
                f"separates them. Move them apart, or let them pass each other: world.ignore_contact({first!r}, {second!r})."
            )


def _responds(world: World, first: str, second: str, overlap: Overlap) -> bool:
    """Whether the joints change the gap, and there are no connections that could prevent it."""
    if _has_connections(world):
        return False
    points = [_local(world, link, overlap.point) for link in (first, second)]
    gradient = _gap_gradient(world, (first, second), points, world.pose(first).rotation.T @ overlap.normal)
    return bool(np.linalg.norm(gradient) >= MIN_RESPONSE)


def _is_held(world: World, trial: World, first: str, second: str, overlap: Overlap) -> bool:
    """Whether no motion that joints and connections allow changes the gap, here and at postures nearby.

    In a singular posture, such as a straight leg, the gap changes to second order only: the leg bends, and is not held. Locked and
    prescribed coordinates do not count: who prescribes a motion may lead it through the floor.

    Args:
        world: The world.
        trial: Copy of it, in any posture.
        first: Link of the first shape.
        second: Link of the second shape.
        overlap: Their overlap.
    """
    points = [_local(world, link, overlap.point) for link in (first, second)]
    normal = world.pose(first).rotation.T @ overlap.normal
    gradient = _gap_gradient(world, (first, second), points, normal)
    random = np.random.default_rng(0)
    trial.data.q[:] = world.q
    rows, _ = _connection_rows(trial)
    if np.linalg.norm(_admissible(rows, gradient)) >= MIN_RESPONSE:
        return False
    for _ in range(POSTURES):
        motion = _admissible(rows, random.normal(size=trial.model.nv))
        trial.data.q[:] = integrate(trial.data, world.q, motion * (POSTURE_DISTANCE / max(float(np.abs(motion).max()), 1e-9)))
        if not _close(trial):
            continue
        gradient = _gap_gradient(trial, (first, second), points, normal)
        if np.linalg.norm(_admissible(_connection_rows(trial)[0], gradient)) >= MIN_RESPONSE:
            return False
    return True


def _local(world: World, link: str, point: Array) -> Array:
    """Coordinates of a point in the frame of a link [m]."""
    pose = world.pose(link)
    return pose.rotation.T @ (point - pose.position)


def _gap_gradient(world: World, links: tuple[str, str], points: list[Array], normal: Array) -> Array:
    """Rate of the gap of two points of links, along a normal in the frame of the first, per unit of every velocity: (nv,)."""
    first, second = (world.jacobian(link, point)[:3] for link, point in zip(links, points, strict=True))
    return (world.pose(links[0]).rotation @ normal) @ (second - first)


def _has_connections(world: World) -> bool:
    cons = world.constraint_set.arrays
    return bool((cons.kind[cons.order[: cons.count[CONSTRAINTS]]] == CONNECTION).any())


def _connection_rows(world: World) -> tuple[Array, Array]:
    """Rows (n, nv) and residuals (n,) of rigid connections at the present posture."""
    constraints = world.constraint_set
    cons = constraints.arrays
    connections = [i for i in cons.order[: cons.count[CONSTRAINTS]] if cons.kind[i] == CONNECTION]
    if not connections:
        return np.empty((0, world.model.nv)), np.empty(0)
    constraints.evaluate_rows()
    rows = np.concatenate([np.arange(s.start, s.stop) for s in map(constraints.row_slice, connections)])
    rows = rows[~np.isin(cons.state[rows], (COMPLIANT, INACTIVE))]
    return constraints.jacobian()[rows], cons.c[rows].copy()


def _admissible(rows: Array, motion: Array) -> Array:
    """Part of a motion that the rows allow."""
    return motion - rows.T @ np.linalg.lstsq(rows.T, motion, rcond=RANK_TOLERANCE)[0] if len(rows) else motion


def _close(world: World) -> bool:
    """Close the connections by Newton's method; returns whether they are closed."""
    for _ in range(CLOSING_STEPS):
        rows, residual = _connection_rows(world)
        if np.abs(residual).max(initial=0.0) < CLOSED:
            return True
        world.data.q[:] = integrate(world.data, world.q, -np.linalg.lstsq(rows, residual, rcond=RANK_TOLERANCE)[0])
    return False
