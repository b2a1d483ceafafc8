"""Owner of the arrays of a compiled control law: a space in the present model and structure of its world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from brachiate.animation.arrays import Polynomials, new_control, new_levels
from brachiate.animation.control_step import LEAST_TORQUE, TRUNCATE, control
from brachiate.animation.plan import Piecewise, Trajectory, polynomial_arrays
from brachiate.compiled import ArrayHandle
from brachiate.constraints.arrays import OPERATION

if TYPE_CHECKING:
    from brachiate.animation.space import AnimationSpace


class CompiledControl:
    """Arrays and settings of :func:`.control_step.control`.

    Args:
        space: Functions, priorities, weights and world.
        plan: Of every function, for torques.
    """

    def __init__(self, space: AnimationSpace, plan: Sequence[Trajectory] = ()) -> None:
        self.space, self.plan = space, plan
        world, model, m, n = space.world, space.world.model, len(space), space.world.model.nv
        if not world.constraint_set.arrays.functions[OPERATION]:
            world.constraint_set.reserve_contacts(0)  # for the addresses of its functions
        self.constraint_capacity = len(world.constraint_set.arrays.c)
        k = self.constraint_capacity
        self.program = space.program
        self.levels = new_levels(max(n, m, k), k + m + n, len(space.levels) + 2, space.minimize == "torque")
        self.arrays = C = new_control(m, n, model.nq, k, len(space.levels))
        C.weight[:], C.motor[:], C.rest[:], C.coordinate[:] = space.weights, model.effort > 0.0, world.q, -1
        C.limit_low[:], C.limit_high[:] = model.limits
        for name, at in model.scalar_coordinates.items():
            C.coordinate[model.coordinate_index[name]] = at
        C.member[:] = np.concatenate(space.levels)
        C.level[:] = np.cumsum([0, *map(len, space.levels)])
        C.option[LEAST_TORQUE], C.option[TRUNCATE] = space.minimize == "torque", space.damping == "svd"
        signals = [signal if signal.pieces is None else Piecewise(*signal.pieces) for signal in self.program.signals]
        self._python = [(f, function) for f, function in enumerate([*plan, *signals]) if not isinstance(function, Piecewise)]
        self.polynomials: Polynomials = polynomial_arrays([*plan, *signals])
        self.handle = ArrayHandle(model.tree, world.data.work, self.program.program, self.program.results, self.levels, C, self.polynomials)

    def fits(self) -> bool:
        """Whether the space and the constraints of the world still have these arrays."""
        return self.program is self.space.program and self.constraint_capacity == len(self.space.world.constraint_set.arrays.c)

    def set_functions_of_time(self, time: float) -> None:
        """Evaluate those functions of time that are not polynomials."""
        for f, function in self._python:
            self.polynomials.value[f] = function(time)

    def run(self, operation: int) -> None:
        """Run an operation at the present state of the world; on an error constraints are as they were."""
        space, world = self.space, self.space.world
        constraints = world.constraint_set
        memory = constraints.run_memory() if constraints.count else None
        constraints.arrays.time[0] = world.time
        status = control(self.handle.key, constraints.key, operation, *space.outputs)
        if status:
            if memory is not None:
                constraints.set_run_memory(memory)
            space.raise_status(status)
