"""Output on terminals that cannot show every character: units and signs are written in ASCII instead."""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata

#: What is printed instead, where the encoding of the terminal has no such character.
ASCII = {
    "·": "*", "°": " deg", "²": "^2", "³": "^3", "⁻": "^-", "µ": "u", "×": "x", "→": "->", "⇢": "-->", "±": "+-", "−": "-", "–": "-",
    "—": "-", "…": "...", "≤": "<=", "≥": ">=", "≈": "~", "½": "1/2", "Δ": "d", "’": "'", "‘": "'", "“": '"', "”": '"', "•": "*",
    "│": "|", "─": "-", "━": "-", "╭": "+", "╮": "+", "╰": "+", "╯": "+", "├": "+", "└": "+",
}  # fmt: skip


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_ascii, error.object[error.start : error.end])), error.end


def _ascii(letter: str) -> str:
    plain = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return ASCII.get(letter) or plain or "?"


def encode_as_words() -> None:
    """Let standard output and standard error replace characters that their encoding does not have, instead of failing."""
    codecs.register_error("brachiate-ascii", _replace)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="brachiate-ascii")
