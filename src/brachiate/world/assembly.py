"""Assembly: close what is open by the least motion of the coordinates a user allows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from brachiate import manifold
from brachiate.errors import AssemblyError
from brachiate.validation import Array
from brachiate.world.connections import Bond

if TYPE_CHECKING:
    from brachiate.world.world import World

_STEPS = 200
_CLOSED = 1e-11  # [m or rad]
_LONGEST = 0.3  # [rad or m] of one step


def assemble(world: World, bonds: Bond | Sequence[Bond], allow: str | Iterable[str]) -> None:
    """Move the allowed coordinates as little as possible until every bond of the world is closed.

    Levenberg and Marquardt on the residuals: damped while far, Newton when near.

    Raises:
        AssemblyError: With the gap that remains.
    """
    from brachiate.world.structure import matching  # noqa: PLC0415

    bonds = [bonds] if isinstance(bonds, Bond) else list(bonds)
    data, held = world.data, world.held
    free = matching(world.model, allow)
    damping, gap, r, J = 1e-2, *_open(world)
    for _ in range(_STEPS):
        if gap <= _CLOSED:
            return
        step = np.zeros(world.model.nv)
        Jf = J[:, free]
        step[free] = Jf.T @ np.linalg.lstsq(Jf @ Jf.T + damping * gap * np.eye(len(r)), -r, rcond=1e-14)[0]
        step *= min(1.0, _LONGEST / max(np.abs(step).max(initial=0.0), 1e-300))
        start = data.q.copy()
        data.q[:] = manifold.integrated(data, start, step)
        new_gap, new_r, new_J = _open(world)
        if np.linalg.norm(new_r) < np.linalg.norm(r):
            gap, r, J, damping = new_gap, new_r, new_J, damping / 5
        else:
            data.q[:] = start
            damping *= 4
            if damping > 1e12:
                break
    _open(world)
    gaps = {bond.name: float(np.abs(held.room.c[held.rows_of(bond.place)]).max()) for bond in bonds}
    worst = max(gaps, key=lambda name: gaps[name])
    if gaps[worst] <= 1e-9:
        return
    wish = ", ".join([allow] if isinstance(allow, str) else allow)
    raise AssemblyError(
        f"{worst!r} cannot be closed: {gaps[worst]:.3g} m or rad remain after moving what may move (allowed: {wish}). "
        'Move the figure nearer, or allow more: allow="all".'
    )


def _open(world: World) -> tuple[float, Array, Array]:
    """Largest residual, all residuals, and their Jacobian at the present configuration."""
    world.held.look()
    n = len(world.row_names())
    c = world.held.room.c[:n].copy()
    return float(np.abs(c).max(initial=0.0)), c, world.held.jacobian()
