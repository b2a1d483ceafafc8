"""Table of the mutation study: every row changes a line that is there once, and names tests that exist."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_rows_are_lines_of_the_sources():
    """Fails if a line of the table is changed without its row: the study would end before its first mutation."""
    rows = tomllib.loads((ROOT / "benchmarks/mutations.toml").read_text(encoding="utf-8"))["mutation"]
    assert len(rows) >= 100
    texts = {name: (ROOT / "src/brachiate" / name).read_text(encoding="utf-8") for name in {row["file"] for row in rows}}
    assert [row["name"] for row in rows if texts[row["file"]].count(row["line"]) != 1 or row["line"] == row["changed"]] == []
    assert [test for row in rows for test in row["tests"] if not (ROOT / "tests" / test.partition("::")[0]).exists()] == []
