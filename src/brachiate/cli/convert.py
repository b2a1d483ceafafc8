"""``brachiate convert``: a motion from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from brachiate.cli.tables import print_assumptions
from brachiate.motion.motion import Motion
from brachiate.motion.write import write_motion


def run(motion: Motion, out: Path, writing: dict[str, Any], console: Console) -> None:
    """Write a motion; print what was assumed to read it, and what was written."""
    print_assumptions(motion.assumptions, console)
    path = write_motion(motion, out, **{key: value for key, value in writing.items() if value is not None})
    rate = writing.get("rate") or ((len(motion) - 1) / motion.duration if len(motion) > 1 else 0.0)
    console.print(
        f"  {escape(str(path))}  [dim]{escape(motion.name)}: {motion.duration:.2f} s, {rate:.4g} frames/s, "
        f"{motion.figure.nv} degrees of freedom[/]",
        highlight=False,
        soft_wrap=True,
    )
