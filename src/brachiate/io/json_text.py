"""JSON files written by hand: read with size limits; errors name the line."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brachiate.errors import BrachiateError
from brachiate.io import file_access
from brachiate.io.limits import MAX_SETTINGS_SIZE as MAX_FILE_SIZE


def read_json(path: Path, what: str, error: type[BrachiateError], max_size: int = MAX_FILE_SIZE) -> Any:
    """Return the content of a JSON file; ``what`` it should be, for messages: ``"a file of settings"``."""
    data = file_access.read_bytes(path, max_size, what, error)
    try:
        return parse_json(data.decode("utf-8-sig"), str(path), error)
    except UnicodeDecodeError as problem:
        raise error(f"{path}: byte {problem.start} is not text. JSON is written in UTF-8.") from None


def parse_json(text: str, where: str, error: type[BrachiateError]) -> Any:
    """Parse a JSON text; ``where`` names it in messages. Duplicate names are refused."""

    def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            raise error(f"{where}: {next(name for name in names if names.count(name) > 1)!r} occurs twice. Remove one of them.")
        return found

    try:
        return json.loads(text, object_pairs_hook=without_duplicates)
    except json.JSONDecodeError as problem:
        raise error(f"{where} line {problem.lineno}: not valid JSON, or cut short: {problem.msg}.") from None
    except (RecursionError, ValueError) as problem:
        if isinstance(problem, BrachiateError):
            raise
        raise error(f"{where}: this JSON is nested too deeply, or has a number with thousands of digits.") from None


def format_json(content: Any, indent: int | None = 1) -> str:
    """JSON text of plain values and NumPy numbers; numbers that are not finite, which JSON does not have, are ``null``."""
    return json.dumps(_finite(content), indent=indent, allow_nan=False)


def _finite(content: Any) -> Any:
    """Content with None in place of numbers that are not finite."""
    if isinstance(content, Mapping):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    if content is None or isinstance(content, bool | int | str):
        return content
    return float(content) if math.isfinite(content) else None
