"""JSON of files that people write by hand: read with limits, and what is wrong is said with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from brachiate.errors import BrachiateError
from brachiate.io import disk

MOST_BYTES = 4 * 2**20


def read_json(path: Path, what: str, error: type[BrachiateError], most: int = MOST_BYTES) -> Any:
    """What a JSON file says; ``what`` it should be is for messages: ``"a file of settings"``."""
    data = disk.read_bytes(path, most, what, error)
    try:
        return parsed(data.decode("utf-8-sig"), str(path), error)
    except UnicodeDecodeError as problem:
        raise error(f"{path}: byte {problem.start} is no text. JSON is written in UTF-8.") from None


def parsed(text: str, where: str, error: type[BrachiateError]) -> Any:
    """What a JSON text says, or why it is none; ``where`` names it in messages. A name that is there twice is refused."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            raise error(f"{where}: {next(name for name in names if names.count(name) > 1)!r} is there twice. Leave one of them out.")
        return found

    try:
        return json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as problem:
        raise error(f"{where} line {problem.lineno}: this is no JSON, or was cut short: {problem.msg}.") from None
    except (RecursionError, ValueError) as problem:
        if isinstance(problem, BrachiateError):
            raise
        raise error(f"{where}: this JSON is nested too deep, or has a number of thousands of digits.") from None
