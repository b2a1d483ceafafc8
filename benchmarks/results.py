"""Result rows: one per comparison with a peer, written as JSON and printed as a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

Row = dict[str, Any]

ACCURACY_COLUMNS = {
    "brachiate_loop_gap_m": "loop gap [m]",
    "peer_loop_gap_m": "peer",
    "brachiate_energy_drift_J": "energy drift [J]",
    "peer_energy_drift_J": "peer",
}


def time_row(task: str, model: str, own_seconds: float | None, peer: str, peer_seconds: float | None, **more: Any) -> Row:
    """Comparison of times [s]. The ratio is peer / brachiate: above 1 brachiate is faster. ``more``: further JSON fields."""
    return {
        "task": task,
        "model": model,
        "brachiate_us": None if own_seconds is None else 1e6 * own_seconds,
        "peer": peer,
        "peer_us": None if peer_seconds is None else 1e6 * peer_seconds,
        "ratio": peer_seconds / own_seconds if own_seconds and peer_seconds else None,
        **more,
    }


def memory_row(task: str, model: str, own_megabytes: float, peer: str, peer_megabytes: float, **more: Any) -> Row:
    """Comparison of memory [MB]; the ratio is peer / brachiate."""
    sizes = {"ratio": peer_megabytes / own_megabytes, "brachiate_MB": own_megabytes, "peer_MB": peer_megabytes}
    return {**time_row(task, model, None, peer, None), **sizes, **more}


def scaling_row(task: str, model: str, own_factor: float, peer: str, peer_factor: float) -> Row:
    """Comparison of factors by which times grow with the size of a model; the ratio is peer / brachiate."""
    factors = {"ratio": peer_factor / own_factor, "brachiate_scaling_factor": own_factor, "peer_scaling_factor": peer_factor}
    return {**time_row(task, model, None, peer, None), **factors}


def make_console(width: int = 140) -> Console:
    """Console for tables: as wide as the terminal or, into a file or pipe, of the given width."""
    return Console(width=None if Console().is_terminal else width)


def write_json(rows: list[Row], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=1) + "\n")


def print_table(rows: list[Row]) -> None:
    """Print all rows, then the comparisons in which brachiate is slower or larger, then the notes."""
    table = Table(title="ratio = peer / brachiate: above 1 (green) brachiate is faster or smaller, below 1 (red) slower or larger")
    for heading in ("task", "model", "brachiate", "peer", "peer value", "ratio"):
        table.add_column(heading, justify="left" if heading in ("task", "model", "peer") else "right")
    accuracy = ACCURACY_COLUMNS if any(row.get("peer_loop_gap_m") is not None for row in rows) else {}
    for heading in accuracy.values():
        table.add_column(escape(heading), justify="right")
    for n, row in enumerate(rows):
        if n and rows[n - 1]["task"] != row["task"]:
            table.add_section()
        numbers = ["-" if row.get(key) is None else f"{row[key]:.1e}" for key in accuracy]
        cells = row["task"], row["model"], _cell(row, "brachiate"), row["peer"], _cell(row, "peer"), _ratio_cell(row["ratio"])
        table.add_row(*cells, *numbers)
    console = make_console(190 if accuracy else 150)
    console.print(table)
    for task in dict.fromkeys(row["task"] for row in rows):
        ratios = [(row["ratio"], row) for row in rows if row["task"] == task and row["ratio"]]
        slower = sorted((x, f"{row['model']} against {row['peer']} {_ratio_text(x)}") for x, row in ratios if x < 1)
        if slower:
            console.print(f"[red]ratio below 1[/] in {len(slower)} of {len(ratios)}: {task}: {', '.join(text for _, text in slower)}")
    for note in dict.fromkeys(row["note"] for row in rows if row.get("note")):
        console.print(f"note: {note}")


def _cell(row: Row, side: str) -> str:
    """Memory, scaling factor or time of one side (``brachiate`` or ``peer``); for chains also the time per link."""
    if row.get(f"{side}_MB") is not None:
        return f"{row[f'{side}_MB']:.0f} MB"
    if row.get(f"{side}_scaling_factor") is not None:
        return f"× {row[f'{side}_scaling_factor']:.3g}"
    per_link = row.get(f"{side}_us_per_link")
    return _time_text(row[f"{side}_us"]) + (f" ({_time_text(per_link)}/link)" if per_link else "")


def _time_text(microseconds: float | None) -> str:
    if microseconds is None:
        return "-"
    for limit, unit, scale in ((1e3, "µs", 1.0), (1e6, "ms", 1e-3)):
        if microseconds < limit:
            return f"{microseconds * scale:.3g} {unit}" if microseconds * scale < 100 else f"{microseconds * scale:.0f} {unit}"
    return f"{microseconds * 1e-6:.3g} s"


def _ratio_cell(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    return f"[{'green' if ratio >= 1.05 else 'red' if ratio < 0.95 else 'yellow'}]{_ratio_text(ratio)}[/]"


def _ratio_text(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.1g}"
