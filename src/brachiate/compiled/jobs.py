"""Entry points that a job needs, so that they are compiled together, in several processes, before it starts.

Others are compiled when first called: solvers for hard contact problems, unusual shapes, postures that are singular.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable

from brachiate.compiled.marks import ENTRIES
from brachiate.compiled.store import PACKAGE, CodeName

JOBS: dict[str, tuple[str, ...]] = {}


def code_names(jobs: Iterable[str]) -> list[CodeName]:
    """Code that jobs need."""
    names = dict.fromkeys(name for job in jobs for name in JOBS[job])
    return [variant for name in names for variant in variants(name)]


def variants(name: str) -> list[CodeName]:
    """Code of an entry point of the package: one for each of its signatures."""
    importlib.import_module(name.rpartition(".")[0])
    return [CodeName(name, signature) for signature in ENTRIES[name].signatures]


def all_code_names() -> list[CodeName]:
    """Code of all entry points of the package."""
    for module in pkgutil.walk_packages([str(PACKAGE)], f"{PACKAGE.name}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return [code for name in list(ENTRIES) if name.startswith(f"{PACKAGE.name}.") for code in variants(name)]
