"""``brachiate scenes`` and ``brachiate play``: list the ready-made scenes, run one, write its recording."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from brachiate import scenes
from brachiate.cli.tables import table_of
from brachiate.particles import ParticleRecording
from brachiate.simulate.recording import Recording


def list_scenes(console: Console) -> None:
    """Print the ready-made scenes."""
    table = table_of("", {"name": "left", "scene": "left", "seconds": "right"})
    for name, function in scenes.SCENES.items():
        about = (function.__doc__ or "").split("\n")[0].rstrip(".")
        table.add_row(name, escape(about), f"{inspect.signature(function).parameters['seconds'].default:g}")
    console.print(table)


def play(name: str, settings: Mapping[str, Any], out: Path | None, picture: Path | None, console: Console) -> None:
    """Run a scene; print every change of structure and the summary; write files if asked."""
    with console.status("building the scene ..."):
        scene: Any = scenes.make(name, **{key: value for key, value in settings.items() if value is not None})
    console.print(f"[bold]{escape(scene.title)}[/]", highlight=False)
    console.print(escape(scene.description), highlight=False, style="dim")

    def tell(happening: scenes.StructureChange) -> None:
        console.print(escape(str(happening)), highlight=False, soft_wrap=True)

    for happening in scene.changes:
        tell(happening)
    scene.on_change = tell
    began = time.perf_counter()
    with console.status("running ..."):
        run = scene.run()
    took = time.perf_counter() - began
    console.print(_table(scene.summary(run)))
    if scene.outcome:
        console.print(escape(scene.outcome), highlight=False)
    console.print(f"{scene.seconds:g} s in {took:.2g} s.", highlight=False, style="dim")
    if out is not None:
        console.print(f"  {escape(str(_save(run, out)))}  [dim]recording[/]")
    if picture is not None:
        with console.status("drawing ..."):
            scene.picture(run, picture)
        console.print(f"  {escape(str(picture))}  [dim]picture[/]")


def _table(summary: Mapping[str, str]) -> Any:
    """Summary of a run."""
    table = table_of("", dict.fromkeys(summary, "right"))
    table.add_row(*summary.values())
    return table


def _save(run: Recording | ParticleRecording, out: Path) -> Path:
    out = out if out.suffix == ".npz" else out.with_name(f"{out.name}.npz")
    run.save(out)
    return out
