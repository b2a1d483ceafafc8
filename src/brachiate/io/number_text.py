"""Tables of numbers as text."""

from __future__ import annotations

from brachiate.validation import Array

DIGITS = 9


def format_rows(rows: Array, separator: str) -> str:
    """Lines of a table (n, m) with nine significant digits; one format for whole rows, as numbers one by one take four times as long."""
    line = separator.join([f"%.{DIGITS}g"] * rows.shape[1]) + "\n"
    return "".join([line % tuple(row) for row in rows.tolist()])
