"""The demo: a sample walk, filtered."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from textwrap import wrap

from rich.console import Console
from rich.markup import escape

from brachiate.cli.filter import FELL, PICTURES_NEED, print_comparison, print_lines, residual_line
from brachiate.cli.preload import preload
from brachiate.filter.offline import OFFLINE, filter_motion
from brachiate.filter.results.result import FilterResult
from brachiate.io.atomic import check_writable
from brachiate.procedural import sample_motion

INTRODUCTION = """\
A sample walk. Drawn, not simulated, it needs a force on the pelvis: the root residual. The filter makes it a motion that torques and
ground forces carry."""
SHOWN = (
    "root_residual_force_rms_N", "root_residual_force_peak_N", "root_residual_moment_rms_Nm", "foot_skate_mean_m_s", "penetration_max_mm",
    "foot_float_max_mm",
)  # fmt: skip
INDENT = 13  # of the text of labelled lines
NEXT = {
    "filter your.bvh --open": "filter your own motion",
    "check your.bvh": "only check it",
    "--help": "all commands",
}


def run(out: Path, console: Console) -> int:
    """Filter the sample walk, print the comparison, and write all files; returns the exit code."""
    check_writable(out, "the results", folder=True)
    console.print(INTRODUCTION.replace("\n", " "), highlight=False)
    walk = sample_motion("walk")
    preload(*PICTURES_NEED)
    result = filter_motion(walk, progress=True)
    print_comparison(result, OFFLINE, console, SHOWN)
    print_lines([("Tracking", tracking_line(result)), ("Residual", residual_line(result, remark=""))], console)
    with console.status("writing ..."):
        *files, report = result.save(out)
    print_lines([("Report", f"{report}, and beside it")], console)
    for line in wrap(", ".join(path.name for path in files), console.width - INDENT):
        console.print(" " * INDENT + escape(line), highlight=False)
    print_next(console)
    return 0 if result.success else FELL


def tracking_line(result: FilterResult) -> str:
    """Tracking errors, the main ones."""
    t = result.tracking
    return f"MPJPE {t['mpjpe_global_cm']:.1f} cm, joint angles {t['joint_rms_deg']:.1f}° RMS, root drift {t['drift_max_cm']:.1f} cm max"


def print_next(console: Console) -> None:
    """Print commands to try next, as they are typed here."""
    commands = {f"{command_name()} {words}": purpose for words, purpose in NEXT.items()}
    width = max(map(len, commands))
    console.print()
    for label, (command, purpose) in zip(("Next", "", ""), commands.items(), strict=True):
        console.print(f"[bold]{label:12}[/] [cyan]{escape(command):{width}}[/]  {purpose}", highlight=False, soft_wrap=True)


def command_name() -> str:
    """The command as it was typed; its name if the shell finds it by that."""
    typed = Path(sys.argv[0])
    if typed.name == "__main__.py":
        return "python -m brachiate"
    found = shutil.which(typed.name)
    return typed.name if found is not None and Path(found).resolve() == typed.resolve() else str(typed)
