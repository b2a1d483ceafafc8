"""What a model is made of, as a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import brachiate as br
from brachiate.show.draw import picture


def describe(path: str, draw: Path | None, strict: bool, console: Console) -> None:
    """Print links, joints, limits and masses of a file or a built-in figure."""
    make = br.figures.FIGURES.get(path)
    model = (make(5) if path == "chain" else make()) if make is not None else br.read_model(path, strict=strict)
    table = Table(title=repr(model).strip("<>"), title_justify="left", box=None, header_style="bold")
    for column, side in (
        ("link", "left"),
        ("parent", "left"),
        ("joint", "left"),
        ("dof", "right"),
        ("limits", "left"),
        ("mass [kg]", "right"),
    ):
        table.add_column(column, justify=side)  # type: ignore[arg-type]
    for link in model.links.values():
        table.add_row(link.name, link.parent or "-", link.joint.type, str(link.joint.nv), _limits(link.joint), f"{link.mass:.3f}")
    console.print(table)
    for what, things in (("loops", model.loops), ("couplings", model.couplings), ("actuators", model.actuators), ("sites", model.sites)):
        if things:
            names = [thing if isinstance(thing, str) else thing.name for thing in things]
            console.print(f"[bold]{what}[/] ({len(names)}): {', '.join(names)}", highlight=False)
    if draw is not None:
        picture([(br.Data(model), model.neutral)], draw)
        console.print(f"  {draw}  [dim]picture[/]")


def _limits(joint: br.Joint) -> str:
    if joint.cone is not None:
        return f"swing {np.rad2deg(joint.cone.swing):.0f}°, twist {_range(*joint.cone.twist)}"
    return ", ".join("-" if np.isinf([low, high]).all() else _range(low, high) for low, high in zip(joint.lower, joint.upper, strict=True))


def _range(low: float, high: float) -> str:
    return f"[{low:.2f}, {high:.2f}]"
