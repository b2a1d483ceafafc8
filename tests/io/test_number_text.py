"""Tables of numbers as text: each number as Python formats it alone."""

import numpy as np
import pytest

from brachiate.io.number_text import format_rows


@pytest.mark.parametrize("separator", [",", " "])
def test_rows_are_their_numbers_one_by_one(separator):
    """Fails if a number has other digits than alone, or a line other separators."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((50, 7)) * 10.0 ** rng.integers(-12, 12, (50, 7))
    table[0] = 0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, 123456789.123
    expected = "".join(separator.join(f"{x:.9g}" for x in row) + "\n" for row in table)
    assert format_rows(table, separator) == expected


def test_an_empty_table_has_no_lines():
    assert format_rows(np.zeros((0, 3)), ",") == ""
