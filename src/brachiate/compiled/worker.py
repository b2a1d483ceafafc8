"""Worker process of a compilation: reads entry points from standard input, compiles them and writes them into the cache."""

from __future__ import annotations

import importlib
import json
import os
import sys

from brachiate.compiled import store
from brachiate.compiled.machine_code import compile_here
from brachiate.compiled.marks import ENTRIES
from brachiate.compiled.store import CodeName


def main() -> None:
    """Compile until there is no more, each line an entry point; answer each with a line."""
    os.environ["BRACHIATE_QUIET"] = "1"
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what else is printed is not an answer
    for line in sys.stdin:
        task = json.loads(line)
        if task is None:
            break
        name = CodeName(task[0], tuple(task[1]))
        importlib.import_module(_module(name.name))
        store.write(name, compile_here(ENTRIES[name.name].py_func, name))
        answers.write(f"{name.name}\n")
        answers.flush()


def _module(name: str) -> str:
    """Module of an entry point."""
    return name.rpartition(".")[0]
