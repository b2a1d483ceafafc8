"""Simulation of a particle system: steps, control and recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.particles.floors import ParticleFloor
from brachiate.particles.recording import ParticleRecording, record, sample_of, structure_of
from brachiate.particles.stepper import Stepper
from brachiate.particles.system import ParticleSystem
from brachiate.progress import ProgressBar

MAX_SECONDS = 1e6
MAX_FRAMES = 1_000_000


def simulate(
    system: ParticleSystem,
    seconds: float,
    floor: ParticleFloor | None = None,
    integrator: str = "explicit",
    dt: float | None = None,
    *,
    rate: float = 100.0,
    control: Callable[[ParticleSystem, float], Any] | None = None,
    control_rate: float = 1000.0,
    threads: int | None = None,
    progress: bool = False,
) -> ParticleRecording:
    """Simulate for some seconds; the state of the system is advanced.

    Args:
        system: The system.
        seconds: Duration [s].
        floor: ParticleFloor, or None.
        integrator: ``"explicit"``, ``"leapfrog"`` or ``"implicit"``: see :class:`Stepper`.
        dt: Largest step [s]; None: a suggested one. Steps are made a little shorter so that whole numbers of them fit between records and
            calls of the control.
        rate: Records per second.
        control: Called as ``control(system, time)``; may set torques, servos, forces, rest lengths, wind, and held particles.
        control_rate: Calls per second, at least; a multiple of ``rate``.
        threads: As of :class:`Stepper`.
        progress: Whether to show a progress bar.
    """
    seconds = validation.number(seconds, "seconds", above=0.0, maximum=MAX_SECONDS)
    rate = validation.number(rate, "rate", above=0.0, maximum=1e6)
    control_rate = validation.number(control_rate, "control_rate", above=0.0, maximum=1e6)
    frames = max(1, round(seconds * rate))
    if frames > MAX_FRAMES:
        raise ArgumentError(f"rate: {frames} records are too many; use a lower rate.")
    if control is not None and not callable(control):
        raise ArgumentError(f"control: expected a function of the system and the time, got {validation.short_repr(control)}.")
    stepper = Stepper(system, floor, integrator, dt, threads)
    parts = 1 if control is None else int(np.ceil(control_rate * seconds / frames - 1e-9))
    span = seconds / frames / parts
    steps = max(1, int(np.ceil(span / stepper.dt - 1e-9)))
    stepper.dt = span / steps
    start, structure, rows = system.time, structure_of(system), [sample_of(system)]
    with ProgressBar("simulating", progress) as bar:
        for frame in range(frames):
            for part in range(parts):
                if control is not None:
                    control(system, start + (frame + part / parts) * seconds / frames)
                stepper.step(steps)
            system.time = start + (frame + 1) * seconds / frames
            rows.append(sample_of(system))
            bar.show((frame + 1) / frames)
    return record(structure, rows)
