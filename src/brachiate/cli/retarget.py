"""A motion of one figure as a motion of another, from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from brachiate.anatomy.contact_points import spots_of
from brachiate.cli.convert import figure_of
from brachiate.cli.describe import roles_in, tell_guesses
from brachiate.cli.motions import draw_strip
from brachiate.motion.contact_labels import load_labels
from brachiate.motion.edit import resampled
from brachiate.motion.read import read_motion
from brachiate.motion.write import write_motion
from brachiate.retargeting.retarget import Retargeted, retargeted

POSES = 9  # in a strip
#: How to say otherwise what has no option of its own name.
ELSEWHERE = {"roles": "--map"} | {what: f"retarget({what}=...)" for what in ("scale", "ground")}


def retarget(
    path: Path,
    to: str,
    out: Path | None,
    reading: dict[str, Any],
    body: dict[str, Any],
    *,
    source: str | None,
    rate: float | None,
    map_file: Path | None,
    contacts: Path | None,
    draw: Path | None,
    console: Console,
) -> None:
    """Move a figure as a file says another one moves; tell what was assumed and how well it does; write it."""
    figure = figure_of(to, console)
    given = {key: value for key, value in reading.items() if value is not None}
    whose = figure_of(source, console) if source is not None else None
    motion = read_motion(path, whose, quiet=True, **body, **given)
    if rate is not None:
        motion = resampled(motion, rate)
    labels = load_labels(contacts, spots_of(motion.figure).parts) if contacts is not None else None
    done = retargeted(motion, figure, roles=roles_in(map_file) if map_file is not None else None, contacts=labels)
    tell_guesses(done.motion.guesses, console, ELSEWHERE)
    tell(done, console)
    if out is not None:
        written = write_motion(done.motion, out)
        console.print(f"  {escape(str(written))}  [dim]{len(motion)} frames of {escape(figure.name)}[/]", highlight=False, soft_wrap=True)
    if draw is not None:
        count, _ = draw_strip(done.motion, draw, POSES)
        console.print(f"  {escape(str(draw))}  [dim]{count} poses[/]", highlight=False, soft_wrap=True)


def tell(done: Retargeted, console: Console) -> None:
    """Print how well it does."""
    worst = sorted(done.errors.items(), key=lambda item: -item[1])[:4]
    limits = sorted(done.at_limits.items(), key=lambda item: -item[1])[:4]
    lines = {
        "away from the source's pose": ", ".join(f"{role} {error:.1f} cm" for role, error in worst),
        "skating": f"{100 * done.skate:.2f} cm/s on the average of what stands",
        "below the ground": f"{done.penetration:.1f} mm at most",
        "off the ground": f"{done.floating:.1f} mm at most of what should stand",
        **({"hands off what they hold": f"{done.grip:.1f} mm at most"} if done.grip else {}),
        "jerk": f"{done.jerk:.2f} times the source's",
        "at limits": ", ".join(f"{name} {share:.0%}" for name, share in limits) or "never",
    }
    for what, value in lines.items():
        console.print(f"[bold]{what}[/]: {escape(value)}", highlight=False, soft_wrap=True)
