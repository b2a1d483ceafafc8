"""Tasks that a user gives: a function of the motion, its target, and when and how closely it is followed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.functions import position

MAX_TASKS = 100
_TEXT_HELP = "Write link@start-stop:x,y,z with seconds and meters, such as right_hand@1.0-2.0:0.4,-0.2,1.1; without @..., it always acts."


@dataclass(frozen=True, eq=False)
class Task:
    """Task of the filter: a function of the motion follows a target while the body keeps its balance.

    Times are counted from the start of the clip.

    Args:
        function: Of :mod:`brachiate.animation`, or a Python function of the state: ``an.position("right_hand")``. Links and joints have
            the names of the motion's figure, or those of the world (``man/right_hand``).
        target: A value to hold, ``an.reach(value, by=time)``, ``an.keys({time: value, ...})``, or a function of time.
        tolerance: Error below which the task counts as met, in units of the function: 0.001 is a millimeter or a milliradian. The weight
            in the QP follows from it: 10⁴ for 0.001, relative to 1 for a joint, and inversely proportional to its square.
        weight: Factor of this weight, against tasks that are in conflict with it.
        start: When it begins to act [s].
        stop: When it begins to be released [s]; by default at the end.
        rate: Natural frequency of the feedback to its plan [1/s].
        blend: Duration of the transition from the present motion to a target that is not a ``reach``, and of the release [s].
    """

    function: Any
    target: Any = 0.0
    tolerance: float = 0.001
    weight: float = 1.0
    start: float = 0.0
    stop: float | None = None
    rate: float = 20.0
    blend: float = 0.4

    def __post_init__(self) -> None:
        for name, limits in _LIMITS.items():
            validation.number(getattr(self, name), f"{name} of a task", **limits)
        if self.stop is not None and validation.number(self.stop, "stop of a task") <= self.start:
            raise ArgumentError(f"stop of a task must be after its start, {self.start:g} s, got {self.stop:g} s.")

    @property
    def end(self) -> float:
        """When it is released, or infinity [s]."""
        return math.inf if self.stop is None else self.stop


_LIMITS: dict[str, dict[str, float]] = {
    "tolerance": {"above": 0.0},
    "weight": {"above": 0.0, "maximum": 1e3},
    "start": {"minimum": 0.0},
    "rate": {"above": 0.0, "maximum": 60.0},
    "blend": {"minimum": 0.05, "maximum": 10.0},
}


def named_tasks(tasks: Mapping[str, Task] | Iterable[Task] | None) -> dict[str, Task]:
    """Return tasks by name; those of a list are called ``task1``, ``task2``, ..."""
    if tasks is None:
        return {}
    if isinstance(tasks, Mapping):
        found = {str(name): task for name, task in tasks.items()}
    elif isinstance(tasks, (list, tuple)):
        found = {f"task{n + 1}": task for n, task in enumerate(tasks)}
    else:
        raise ArgumentError(
            "tasks: expected tasks by name, such as {'cup': br.Task(an.position('right_hand'), (0.4, -0.2, 1.1))}, or a list of them, "
            f"got {validation.short_repr(tasks)}."
        )
    for name, task in found.items():
        if not isinstance(task, Task):
            raise ArgumentError(f"tasks: {name!r}: expected br.Task(function, target), got {validation.short_repr(task)}.")
    if len(found) > MAX_TASKS:
        raise ArgumentError(f"tasks: at most {MAX_TASKS} are supported, got {len(found)}.")
    return found


def parse_tasks(texts: Iterable[str]) -> dict[str, Task]:
    """Tasks of the command line, ``link@start-stop:x,y,z``: a link goes to a point; by name of the link, numbered if repeated."""
    found: dict[str, Task] = {}
    number = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
    time = number.removeprefix("[-+]?")
    form = re.compile(rf"\s*([^@:]+?)\s*(?:@\s*({time})\s*(?:-\s*({time}))?\s*)?:\s*({number})\s*,\s*({number})\s*,\s*({number})\s*")
    for text in texts:
        match = form.fullmatch(text)
        if match is None:
            raise ArgumentError(f"{text!r} is not a task. {_TEXT_HELP}")
        link, start, stop, *point = match.groups()
        name, n = link, 2
        while name in found:
            name, n = f"{link} {n}", n + 1
        found[name] = Task(
            position(link), tuple(float(x) for x in point), start=float(start or 0.0), stop=None if stop is None else float(stop)
        )
    return found
