"""Import of modules in the background: while compiled code runs, which leaves Python free, what is needed later is imported."""

from __future__ import annotations

import contextlib
import importlib
import threading


def preload(*modules: str) -> None:
    """Begin to import modules. Who needs one imports it as usual, and waits if it is not complete; a missing one fails there."""

    def import_all() -> None:
        for module in modules:
            with contextlib.suppress(ImportError):
                importlib.import_module(module)

    threading.Thread(target=import_all, name="preload").start()
