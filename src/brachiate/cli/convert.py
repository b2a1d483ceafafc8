"""A motion from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

import brachiate as br
from brachiate.cli.describe import built_in, tell_guesses
from brachiate.errors import UnknownName
from brachiate.motion.read import read_motion
from brachiate.motion.write import write_motion

SKELETONS = (".bvh", ".amc")  # files that bring a body


def convert(
    source: Path, out: Path, reading: dict[str, Any], body: dict[str, Any], figure: str | None, writing: dict[str, Any], console: Console
) -> None:
    """Read a motion and write it; tell what was assumed, and what was written."""
    model = figure_of(figure, console) if figure is not None else None
    given = {key: value for key, value in reading.items() if value is not None}
    motion = read_motion(source, model, quiet=True, **body, **given)
    tell_guesses(motion.guesses, console)
    path = write_motion(motion, out, **{key: value for key, value in writing.items() if value is not None})
    rate = writing.get("rate") or ((len(motion) - 1) / motion.duration if len(motion) > 1 else 0.0)
    console.print(
        f"  {escape(str(path))}  [dim]{escape(motion.name)}: {motion.duration:.2f} s, {rate:.4g} frames a second, "
        f"{motion.figure.nv} degrees of freedom[/]",
        highlight=False,
        soft_wrap=True,
    )


def figure_of(name: str, console: Console) -> br.Model:
    """A built-in figure, or one from a file; a robot that its file fixes to the world is read as one that moves.

    A motion file that brings a skeleton is the body that is built for it.
    """
    if name in br.figures.FIGURES:
        return built_in(name)
    if Path(name).suffix.lower() in SKELETONS:
        return read_motion(name, quiet=True).figure
    if "." not in name and "/" not in name and not Path(name).exists():
        raise UnknownName("file or built-in figure", name, br.figures.FIGURES, "this folder or package")
    model = br.read_model(name)
    if any(isinstance(link.joint, br.Free) for link in model.links.values()):
        return model
    console.print(f"{escape(name)} is fixed to the world; it is read as one that moves freely.", highlight=False)
    return br.read_model(name, floating=True)
