"""Assembly: close open constraints by the least motion of chosen joints (Levenberg-Marquardt)."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from brachiate import manifold, validation
from brachiate.errors import ArgumentError, AssemblyError, UnknownName
from brachiate.model.model import Model
from brachiate.validation import Array
from brachiate.world.connections import Constraint

if TYPE_CHECKING:
    from brachiate.world.world import World

_MAX_ITERATIONS = 200
_CLOSED = 1e-11  # [m or rad] largest residual at which iteration stops
_ACCEPTED = 1e-9  # [m or rad] largest residual that is accepted if iteration stalls
_MAX_STEP = 0.3  # [rad or m]


def assemble(world: World, constraints: Constraint | Sequence[Constraint], allow: str | Iterable[str]) -> None:
    """Close every constraint of the world by the least motion of the allowed coordinates.

    Levenberg-Marquardt iteration on the constraint residuals.

    Raises:
        AssemblyError: The constraints cannot be closed; the message has the remaining gap.
    """
    constraints = [constraints] if isinstance(constraints, Constraint) else list(constraints)
    data, constraint_set = world.data, world.constraint_set
    free = allowed_velocities(world.model, allow)
    damping, gap, r, J = 1e-2, *_residuals(world)
    for _ in range(_MAX_ITERATIONS):
        if gap <= _CLOSED:
            return
        step = np.zeros(world.model.nv)
        Jf = J[:, free]
        step[free] = Jf.T @ np.linalg.lstsq(Jf @ Jf.T + damping * gap * np.eye(len(r)), -r, rcond=1e-14)[0]
        step *= min(1.0, _MAX_STEP / max(np.abs(step).max(initial=0.0), 1e-300))
        start = data.q.copy()
        data.q[:] = manifold.integrate(data, start, step)
        new_gap, new_r, new_J = _residuals(world)
        if np.linalg.norm(new_r) < np.linalg.norm(r):
            gap, r, J, damping = new_gap, new_r, new_J, damping / 5
        else:
            data.q[:] = start
            damping *= 4
            if damping > 1e12:
                break
    _residuals(world)
    gaps = {c.name: float(np.abs(constraint_set.arrays.c[constraint_set.row_slice(c.index)]).max()) for c in constraints}
    worst = max(gaps, key=lambda name: gaps[name])
    if gaps[worst] <= _ACCEPTED:
        return
    allowed = ", ".join([allow] if isinstance(allow, str) else allow)
    raise AssemblyError(
        f"{worst!r} cannot be closed: a gap of {gaps[worst]:.3g} m or rad remains after moving the allowed joints ({allowed}). "
        'Move the figure nearer, or allow more joints: allow="all".'
    )


def allowed_velocities(model: Model, allow: str | Iterable[str]) -> Array:
    """Flags of the velocities of joints that match patterns such as ``man/*`` (nv,); ``all`` matches every joint."""
    if not isinstance(allow, Iterable):
        raise ArgumentError(f"allow: expected names of joints such as 'man/*', got {validation.short_repr(allow)}.")
    patterns = [allow] if isinstance(allow, str) else list(allow)
    flags = np.zeros(model.nv, bool)
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise ArgumentError(f"allow: expected names of joints such as 'man/*', got {validation.short_repr(pattern)}.")
        found = [joint for joint in model.joints if pattern == "all" or fnmatch.fnmatchcase(joint, pattern)]
        if not found:
            raise UnknownName("joint (or pattern of joints)", pattern, model.joints, "this world")
        for joint in found:
            flags[model.joints[joint].v] = True
    return flags


def _residuals(world: World) -> tuple[float, Array, Array]:
    """Largest constraint residual, all residuals, and their Jacobian at the present configuration."""
    world.constraint_set.evaluate_rows()
    n = len(world.row_names())
    c = world.constraint_set.arrays.c[:n].copy()
    return float(np.abs(c).max(initial=0.0)), c, world.constraint_set.jacobian()
