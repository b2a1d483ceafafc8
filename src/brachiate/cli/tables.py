"""Tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from brachiate.assumptions import Assumption


def table_of(title: str, columns: dict[str, str]) -> Table:
    """An empty table without lines: headings and the side each column is set to."""
    table = Table(title=escape(title) or None, title_justify="left", box=None, header_style="bold")
    for heading, side in columns.items():
        table.add_column(escape(heading), justify=side)  # type: ignore[arg-type]
    return table


def print_assumptions(assumptions: Sequence[Assumption], console: Console, option_names: Mapping[str, str] | None = None) -> None:
    """Print assumptions with the option that sets each: that of the argument's name, unless ``option_names`` has another."""
    if not assumptions:
        return
    table = table_of("assumed", {"quantity": "left", "value": "left", "reason": "left", "set by": "left"})
    for assumption in assumptions:
        option = f"--{assumption.argument.replace('_', '-')}" if assumption.argument else ""
        table.add_row(
            assumption.quantity, escape(assumption.value), escape(assumption.reason), (option_names or {}).get(assumption.argument, option)
        )
    console.print(table)
