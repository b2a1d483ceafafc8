"""Control law within a run: a compiled function that sets the torques of every step, called by its address."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import ArrayHandle, Ints, struct_opener

BEFORE_STEP, AFTER_STEP = 0.0, 1.0  # second argument of the function; its last one is the number of the step in the run


class StepControl(NamedTuple):
    """First struct of a control law, whose key is the second argument of its function; what it needs comes behind."""

    function: Ints  # (1,) address; 0: torques are constant


open_step_control = struct_opener(StepControl)
CONSTANT_TORQUES = ArrayHandle(StepControl(np.zeros(1, np.int64)))
