"""Storage of a constraint set: lengths as declared, everything that is not scratch saved, and the memory of a run in one block."""

from __future__ import annotations

import inspect
import re

import numpy as np

import brachiate as br
from brachiate.constraints import arrays as declarations
from brachiate.constraints.arrays import ConstraintArrays
from brachiate.constraints.constraint_memory import save_constraints
from brachiate.constraints.storage import RUN_MEMORY, SCRATCH, array_lengths

SIZES = {"constraints": 3, "contacts": 2, "rows": 11, "y": 101, "g": 103, "pairs": 107, "crossing": 17}
NV = 13
LENGTHS = {"nc": 5, "ne": 15, "nq": 24, "nv": 18, "nr": 11, "nr·n": 11 * NV, "ny": 101, "ng": 103, "np": 107, "n": NV, "nx": 17}


def figure_with_loops() -> br.World:
    world = br.World()
    world.add(br.figures.human16(), name="man").place((0.0, 0.0, 1.0))
    world.connect("man/left_hand", "man/right_hand", br.Revolute("y", stiffness=3.0))
    world.lock("man/left_knee")
    return world


def test_arrays_are_as_long_as_their_declaration_says():
    """Fails if an array is added without its length: it would be cut when it is saved."""
    source = inspect.getsource(declarations.ConstraintArrays)
    declared = dict(re.findall(r"^    (\w+): \w+  # \(([^,)]+)[,)]", source, re.MULTILINE))
    assert declared.keys() == set(ConstraintArrays._fields)
    expected = {name: LENGTHS[size] if size in LENGTHS else int(size) for name, size in declared.items()}
    assert array_lengths(SIZES, NV) == expected


def test_every_array_is_saved_or_scratch():
    world = figure_with_loops()
    saved = save_constraints(world.constraint_set)
    assert {*saved.values, "count", *SCRATCH} == set(ConstraintArrays._fields)
    assert not set(SCRATCH) & set(RUN_MEMORY)
    for name, values in saved.values.items():
        assert np.array_equal(values, getattr(world.constraint_set.arrays, name)[: len(values)])


def test_run_memory_is_restored_also_in_longer_arrays():
    constraint_set = figure_with_loops().constraint_set
    memory = constraint_set.run_memory()
    before = {name: getattr(constraint_set.arrays, name).copy() for name in RUN_MEMORY}
    for longer in (False, True):
        for name in RUN_MEMORY:
            getattr(constraint_set.arrays, name)[:] = 7
        if longer:
            constraint_set.reserve_contacts(40)
        constraint_set.set_run_memory(memory)
        for name, values in before.items():
            assert np.array_equal(getattr(constraint_set.arrays, name)[: len(values)], values), name
