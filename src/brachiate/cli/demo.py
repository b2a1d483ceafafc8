"""The demo: a sample walk, filtered."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from brachiate.cli.filter import FELL, print_comparison, print_lines, summary_lines
from brachiate.filter.offline import OFFLINE, filter_motion
from brachiate.io.atomic import check_writable
from brachiate.procedural import sample_motion

INTRODUCTION = """\
A sample walk, made from joint angles and footprints. To carry it, a force would have to act on the pelvis that no joint and no ground
provides: the root residual. The dynamics filter makes it a motion that joint torques and ground reaction forces carry."""
SHOWN = ("Tracking", "Residual")


def run(out: Path, console: Console) -> int:
    """Filter the sample walk, print the comparison, and write all files; returns the exit code."""
    check_writable(out, "the results", folder=True)
    console.print(INTRODUCTION.replace("\n", " "), highlight=False)
    result = filter_motion(sample_motion("walk"), progress=True)
    print_comparison(result, OFFLINE, console)
    print_lines([line for line in summary_lines(result) if line[0] in SHOWN], console)
    with console.status("writing ..."):
        names = ", ".join(path.name for path in result.save(out))
    console.print(f"[bold]{'Files':12}[/] in {escape(str(out))}: {escape(names)}", highlight=False)
    page = escape(str(out / "report.html"))
    console.print(f"\nOpen {page}. Then filter your own motion: brachiate filter your.bvh --open", highlight=False, soft_wrap=True)
    return 0 if result.success else FELL
