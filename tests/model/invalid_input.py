"""Shared helpers of the tests of invalid input: tables of calls with the error and message they must raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from brachiate import BrachiateError

Row = tuple[str, Callable[[], Any], type[BrachiateError], str]  # id, call, error, part of the message
NAN, INF = float("nan"), float("inf")
BODY: dict[str, Any] = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}


def rows(table: list[Row]) -> pytest.MarkDecorator:
    """Parametrize a test by the rows of a table."""
    return pytest.mark.parametrize(("call", "error", "message"), [row[1:] for row in table], ids=[row[0] for row in table])


def raises_error(call: Callable[[], Any], error: type[BrachiateError], message: str) -> None:
    """Check the exact type of the error and a part of its message.

    Fails if the input is accepted, if an error of Python or NumPy is raised, or if the message lacks the remedy.
    """
    with pytest.raises(BrachiateError) as caught:
        call()
    assert type(caught.value) is error
    assert message in str(caught.value)
