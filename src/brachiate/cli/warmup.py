"""``brachiate warmup``: compile every entry point."""

from __future__ import annotations

import time

from rich.console import Console

from brachiate.compiled import MODE


def warm(console: Console, core: bool = False) -> None:
    """Compile everything for this processor that is not in the cache, shipped code or not; ``core``: all but the filter."""
    if MODE == "off":
        console.print("Compiled code is switched off (BRACHIATE_COMPILED=off): there is nothing to compile.")
        return
    from brachiate.compiled.jobs import all_code_names  # noqa: PLC0415
    from brachiate.compiled.parallel import compile_all  # noqa: PLC0415
    from brachiate.compiled.store import cache_folder, prune_cache  # noqa: PLC0415

    began = time.perf_counter()
    names = [name for name in all_code_names() if not (core and name.name.startswith("brachiate.filter."))]
    compile_all(names, shipped=False)
    removed = prune_cache()
    console.print(
        f"Everything{' but the filter' if core else ''} is compiled ({time.perf_counter() - began:.1f} s), in {cache_folder()}."
        + (f" {removed} old folders removed." if removed else "")
    )
