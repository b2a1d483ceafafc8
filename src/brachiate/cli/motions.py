"""What a motion file holds, as tables and a strip of poses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape

from brachiate.cli.describe import tell_guesses
from brachiate.io.clips import read_clip
from brachiate.model.data import Data
from brachiate.motion.motion import Motion, motion_of
from brachiate.show.draw import picture

POSES = 8  # in a strip


def info(path: Path, reading: dict[str, Any], body: dict[str, Any], draw: Path | None, console: Console) -> None:
    """Print what a motion file holds, what was assumed, and the body that was built for it."""
    motion = motion_of(read_clip(path, roles=body.get("roles"), **reading), **body)
    clip = motion.clip
    assert clip is not None
    console.print(
        f"[bold]{escape(str(path))}[/]: {clip.origin.format if clip.origin else 'clip'}, {len(clip)} frames, {clip.rate:.4g} a second, "
        f"{clip.duration:.2f} s, {len(clip.skeleton)} joints",
        highlight=False,
    )
    tell_guesses(motion.guesses, console)
    _tell_body(motion, console)
    low = float(np.min([clip.positions[..., 2].min(), *([clip.tips[..., 2].min()] if clip.tips.size else [])]))
    path_length = np.linalg.norm(np.diff(clip.positions[:, 0, :2], axis=0), axis=1).sum()
    console.print(f"lowest joint or tip {low:+.3f} m; the root goes {path_length:.2f} m, {path_length / max(clip.duration, 1e-9):.2f} m/s")
    if draw is not None:
        data = Data(motion.figure)
        chosen = np.unique(np.linspace(0, len(motion) - 1, POSES).astype(int))
        picture([(data, motion.q[k]) for k in chosen], draw, width=12.0)
        console.print(f"{len(chosen)} poses drawn to {draw}")


def _tell_body(motion: Motion, console: Console) -> None:
    model = motion.figure
    kinds = [type(link.joint).__name__.lower() for link in model.links.values() if link.joint.nv]
    counted = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    console.print(f"body: {model.mass:.1f} kg, {model.nv} degrees of freedom ({counted})")
