"""Progress bar for long computations."""

from __future__ import annotations

import time
from typing import Any

DELAY = 2.0  # [s] from the first update until the bar appears


class ProgressBar:
    """Progress bar on stderr that appears only if it is enabled, two seconds after the first update (which may include compilation)."""

    def __init__(self, label: str, enabled: bool = False) -> None:
        self.label, self.enabled = label, enabled
        self.started: float | None = None
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, share: float) -> None:
        """Update the share of the work that is done, from 0 to 1."""
        if self.started is None:
            self.started = time.perf_counter()
        if self.enabled and self.bar is None and time.perf_counter() - self.started > DELAY:
            from rich.console import Console  # noqa: PLC0415
            from rich.progress import Progress  # noqa: PLC0415

            self.bar = Progress(console=Console(stderr=True))
            self.task = self.bar.add_task(self.label, total=1.0)
            self.bar.start()
        if self.bar is not None:
            self.bar.update(self.task, completed=share)
