"""``brachiate retarget``: a motion on another figure, with its metrics and files."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape

import brachiate as br
from brachiate.anatomy.contact_points import find_contact_points
from brachiate.cli.info import draw_strip
from brachiate.cli.models import figure_called, load_roles
from brachiate.cli.tables import print_assumptions
from brachiate.io.atomic import check_writable
from brachiate.motion.motion import Motion
from brachiate.motion.write import check_format, write_motion
from brachiate.retargeting.retarget import RetargetResult

POSES = 9  # in a strip
#: Arguments without an option of their own name.
OPTION_NAMES = {"roles": "--map"} | {name: f"retarget({name}=...)" for name in ("scale", "ground_height")}


def run(
    motion: Motion,
    to: str,
    out: Path | None,
    *,
    rate: float | None,
    map_file: Path | None,
    contacts: Path | None,
    draw: Path | None,
    console: Console,
) -> None:
    """Retarget a motion; print what was assumed and the metrics; write it."""
    figure = figure_called(to, console)
    for path, what in ((out, "the motion"), (draw, "the picture")):
        if path is not None:
            check_writable(path, what)
    if out is not None:
        check_format(out)
    if rate is not None:
        motion = motion.resample(rate)
    labels = br.load_contact_labels(contacts, find_contact_points(motion.figure).parts) if contacts is not None else None
    roles = load_roles(map_file) if map_file is not None else None
    result = br.retarget(motion, figure, roles=roles, contacts=labels, progress=True)
    print_assumptions(result.motion.assumptions, console, OPTION_NAMES)
    print_metrics(result, console)
    if out is not None:
        written = write_motion(result.motion, out)
        console.print(f"  {escape(str(written))}  [dim]{len(motion)} frames of {escape(figure.name)}[/]", highlight=False, soft_wrap=True)
    if draw is not None:
        count, _ = draw_strip(result.motion, draw, POSES)
        console.print(f"  {escape(str(draw))}  [dim]{count} poses[/]", highlight=False, soft_wrap=True)


def print_metrics(result: RetargetResult, console: Console) -> None:
    """Print the metrics of a retargeted motion."""
    worst = sorted(result.landmark_errors.items(), key=lambda item: -item[1])[:4]
    limits = sorted(result.joint_limit_share.items(), key=lambda item: -item[1])[:4]
    lines = {
        "landmark error": ", ".join(f"{role} {error:.1f} cm" for role, error in worst),
        "foot skate": f"{100 * result.foot_skate:.2f} cm/s mean",
        "penetration": f"{result.penetration:.1f} mm max",
        "foot float": f"{result.foot_float:.1f} mm max",
        **({"handhold error": f"{result.grip_error:.1f} mm max"} if result.grip_error else {}),
        "jerk": f"{result.jerk_ratio:.2f} times the source's",
        "at joint limits": ", ".join(f"{name} {share:.0%}" for name, share in limits) or "never",
    }
    for label, value in lines.items():
        console.print(f"[bold]{label}[/]: {escape(value)}", highlight=False, soft_wrap=True)
