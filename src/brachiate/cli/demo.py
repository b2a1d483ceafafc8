"""The demo: a sample walk, filtered."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from brachiate.cli.filter import FilterArguments
from brachiate.cli.filter import run as run_filter
from brachiate.cli.options import MotionInput

MOTION = "walk"


def run(out: Path, console: Console) -> int:
    """Filter the sample walk, print the comparison, and write all files; returns the exit code."""
    console.print(
        "A sample walk, made from joint angles and footprints: it is kinematic only. Carrying it would take a force at the pelvis that no "
        "joint and no ground provides, the root residual. The dynamics filter turns it into a motion that joint torques and ground "
        "reaction forces carry.",
        highlight=False,
        style="dim",
    )
    code = run_filter(MOTION, MotionInput(), FilterArguments(), out, console)
    console.print(
        f"\nOpen {escape(str(out / 'report.html'))}, or filter your own: brachiate filter your.bvh --open", highlight=False, soft_wrap=True
    )
    return code
