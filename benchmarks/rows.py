"""Results: one row for each comparison, written as JSON and shown as a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def row(name: str, model: str, ours: float | None, peer: str, theirs: float | None, **more: Any) -> Row:
    """One comparison; times in seconds. The ratio is the peer's time over ours: above 1 we are faster."""
    return {
        "name": name,
        "model": model,
        "ours_us": None if ours is None else 1e6 * ours,
        "peer": peer,
        "peer_us": None if theirs is None else 1e6 * theirs,
        "ratio": theirs / ours if ours and theirs else None,
        **more,
    }


def memory_row(name: str, model: str, ours: float, peer: str, theirs: float, **more: Any) -> Row:
    """A comparison of memory [MB]; the ratio again is theirs over ours."""
    return {**row(name, model, None, peer, None), "ratio": theirs / ours, "ours_mb": ours, "peer_mb": theirs, **more}


def growth_row(name: str, model: str, ours: float, peer: str, theirs: float) -> Row:
    """A comparison of how times grow; the ratio again is theirs over ours."""
    return {**row(name, model, None, peer, None), "ratio": theirs / ours, "ours_growth": ours, "peer_growth": theirs}


def write(rows: list[Row], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=1) + "\n")


def show(rows: list[Row]) -> None:
    """Print a table of all rows, wins green and losses red, then how many there are of each."""
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(title="ratio = peer / ours: above 1 (green) we are faster or smaller, below 1 (red) we lose")
    for heading, side in (
        ("what", "left"),
        ("model", "left"),
        ("ours", "right"),
        ("peer", "left"),
        ("peer's", "right"),
        ("ratio", "right"),
    ):
        table.add_column(heading, justify=side)
    judged = any(r.get("peer_residual_m") is not None for r in rows)
    for heading in ("gap, ours", "peer's [m]", "drift, ours", "peer's [J]") if judged else ():
        table.add_column(heading, justify="right")
    before = None
    for r in rows:
        if before not in (None, r["name"]):
            table.add_section()
        before = r["name"]
        accuracy = [r.get(f"{whose}_{what}") for what in ("residual_m", "drift_j") for whose in ("ours", "peer")] if judged else []
        shown = ["-" if x is None else f"{x:.1e}" for x in accuracy]
        table.add_row(r["name"], r["model"], _size(r, "ours"), r["peer"], _size(r, "peer"), _ratio(r["ratio"]), *shown)
    console = Console(width=None if Console().is_terminal else 190 if judged else 140)
    console.print(table)
    for name in dict.fromkeys(r["name"] for r in rows):
        ratios = [(r["ratio"], r) for r in rows if r["name"] == name and r["ratio"]]
        lost = sorted((x, f"{r['model']} against {r['peer']} {_number(x)}") for x, r in ratios if x < 1)
        if lost:
            console.print(f"[red]lost[/] {len(lost)} of {len(ratios)}: {name}: {', '.join(text for _, text in lost)}")
    for note in dict.fromkeys(r["note"] for r in rows if r.get("note")):
        console.print(f"note: {note}")


def _size(r: Row, whose: str) -> str:
    """Memory, growth or time of one side; of a chain, also the time per link."""
    if r.get(f"{whose}_mb") is not None:
        return f"{r[f'{whose}_mb']:.0f} MB"
    if r.get(f"{whose}_growth") is not None:
        return f"× {r[f'{whose}_growth']:.3g}"
    each = r.get(f"{whose}_us_per_link")
    return _time(r[f"{whose}_us"]) + (f" ({_time(each)}/link)" if each else "")


def _time(t: float | None) -> str:
    if t is None:
        return "-"
    for limit, unit, scale in ((1e3, "µs", 1.0), (1e6, "ms", 1e-3)):
        if t < limit:
            return f"{t * scale:.3g} {unit}" if t * scale < 100 else f"{t * scale:.0f} {unit}"
    return f"{t * 1e-6:.3g} s"


def _ratio(x: float | None) -> str:
    if x is None:
        return "-"
    return f"[{'green' if x >= 1.05 else 'red' if x < 0.95 else 'yellow'}]{_number(x)}[/]"


def _number(x: float) -> str:
    return f"{x:.2f}" if x >= 0.1 else f"{x:.1g}"
