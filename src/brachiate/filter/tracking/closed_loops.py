"""Closed loops of the controlled figure: its connections between links of its own, and their rows at the present state."""

from __future__ import annotations

from brachiate.validation import Array
from brachiate.world.connections import Connection
from brachiate.world.world import World


def closed_loops(world: World, figure: str) -> list[Connection]:
    """Rigid connections between links of a figure."""
    prefix = f"{figure}/"
    return [
        each
        for each in world.constraints
        if isinstance(each, Connection) and each.compliance is None and each.link.startswith(prefix) and each.to.startswith(prefix)
    ]


def loop_rows(world: World, loops: list[Connection]) -> tuple[Array, Array]:
    """Rows J (m, nv) and right-hand sides −γ (m,) of those connections that still exist, at the present state."""
    constraint_set = world.constraint_set
    memory = constraint_set.run_memory()
    constraint_set.arrays.time[0] = world.time
    constraint_set.accelerations()
    rows = [row for loop in loops if loop.alive for row in range(*constraint_set.row_slice(loop.index).indices(1 << 30))]
    J, rhs = constraint_set.jacobian()[rows], -constraint_set.arrays.gamma[rows]
    constraint_set.set_run_memory(memory)  # that of the simulator: its steps do not depend on what the controller evaluates
    return J, rhs
