"""A progress bar for work that turns out to be long."""

from __future__ import annotations

import time
from typing import Any

PATIENCE = 2.0  # [s] before it shows


class Bar:
    """A bar that appears two seconds after something was done first (that may compile), and not at all if nobody wants it."""

    def __init__(self, what: str, wanted: bool = True) -> None:
        self.what, self.wanted = what, wanted
        self.began: float | None = None
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, share: float) -> None:
        """So much of all is done, from 0 to 1."""
        if self.began is None:
            self.began = time.perf_counter()
        if self.wanted and self.bar is None and time.perf_counter() - self.began > PATIENCE:
            from rich.console import Console  # noqa: PLC0415
            from rich.progress import Progress  # noqa: PLC0415

            self.bar = Progress(console=Console(stderr=True))
            self.task = self.bar.add_task(self.what, total=1.0)
            self.bar.start()
        if self.bar is not None:
            self.bar.update(self.task, completed=share)
