"""The demo: a walk as it was drawn, made physically consistent."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from brachiate.cli import filter as command

MOTION = "walk"


def run(out: Path, console: Console) -> int:
    """Filter the ready-made walk, print what was wrong and what is left of it, and write all files; returns the exit code."""
    console.print(
        "A walk, drawn by joint angles and places of the feet: nobody asked what forces it would take. "
        "The dynamics filter makes it one that a body can do, with the torques and forces that carry it.",
        highlight=False,
        style="dim",
    )
    filtering = {"ground": None, "friction": None, "strength": "1", "mode": "offline", "push": []}
    filtering |= {"pushes": None, "load": [], "keep": [], "settings": None}
    body = {"mass": None, "height": None, "sex": "male", "roles": None}
    return command.run(MOTION, {}, body, None, {"ground": None, "contacts": None}, filtering, out, console)
