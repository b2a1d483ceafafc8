"""``brachiate motions``: list the sample motions, and write one as a BVH file."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape

from brachiate import procedural
from brachiate.cli.tables import table_of
from brachiate.io.bvh import write_bvh
from brachiate.procedural.deepmimic import HINT

ANGLES = ("angle", "swing")  # in degrees here, in radians in Python
COMMON = ("seconds", "height", "rate")  # options of all motions


def list_samples(console: Console) -> None:
    """Print the sample motions, and DeepMimic's clips if PyBullet's data are installed."""
    table = table_of("", {"name": "left", "seconds": "right", "motion": "left", "options": "left"})
    for name, function in procedural.SAMPLE_MOTIONS.items():
        known = {key: parameter.default for key, parameter in inspect.signature(function).parameters.items()}
        about = (function.__doc__ or "").split("\n")[0].rstrip(".")
        options = ", ".join(f"{key} {_shown(key, value)}" for key, value in known.items() if key not in COMMON)
        table.add_row(name, f"{known['seconds']:g}", escape(about), escape(options))
    console.print(table)
    console.print(escape("All take --seconds, --height [m] and --rate [1/s] too."), style="dim")
    console.print("To write one: brachiate motions walk --speed 1.5 --out walk.bvh", style="dim", highlight=False)
    _print_recorded(console)


def _shown(key: str, value: Any) -> str:
    """Default of an option in the unit of the command line."""
    return f"{np.degrees(value):.3g} deg" if key in ANGLES else value if isinstance(value, str) else f"{value:g}"


def _print_recorded(console: Console) -> None:
    found = procedural.deepmimic_clips()
    if not found:
        console.print(escape(HINT), style="dim", highlight=False)
        return
    table = table_of("DeepMimic's recorded clips", {"name": "left", "file": "left"})
    for name, path in found.items():
        table.add_row(escape(name), escape(str(path)))
    console.print(table)


def write_sample(name: str, out: Path | None, console: Console, **options: Any) -> None:
    """Write a sample motion as BVH; options that are None keep their defaults, angles are in degrees."""
    given = {key: np.radians(value) if key in ANGLES else value for key, value in options.items() if value is not None}
    clip = procedural.make_clip(name, **given)
    path = out if out is not None else Path(f"{name}.bvh")
    path = path if path.suffix.lower() == ".bvh" else path.with_name(f"{path.name}.bvh")
    write_bvh(clip, path)
    console.print(f"  {escape(str(path))}  [dim]{len(clip)} frames, {clip.rate:g} frames/s, {clip.duration:.2f} s[/]", highlight=False)
    for assumption in clip.assumptions:
        console.print(f"  {escape(str(assumption))}", style="dim", highlight=False)
