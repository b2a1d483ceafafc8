"""Machine code for a wheel: ``python -m brachiate.compiled.ship FOLDER`` compiles all entry points and copies their files.

``BRACHIATE_CPU`` is the level of x86-64 that they are made for. Whoever installs the wheel on the same platform, with the same versions
of Python and Numba and a processor of that level, needs no compilation.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from brachiate.compiled import store
from brachiate.compiled.jobs import all_code_names
from brachiate.compiled.parallel import compile_all


def ship(folder: Path) -> int:
    """Compile everything and copy it to ``folder``, by level of the processor. Returns the number of files."""
    level = store.processor().name
    if level not in store.LEVELS:
        sys.exit(f"Set BRACHIATE_CPU to one of {', '.join(store.supported_levels())}: code for {level} would run nowhere else.")
    names = all_code_names()
    compile_all(names, shipped=False)
    target = folder / level
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in names:
        shutil.copy(store.cache_file(name), target / name.file)
    return len(names)


if __name__ == "__main__":
    print(f"{ship(Path(sys.argv[1]))} entry points for {store.processor().name}")
