"""HTML reports: self-contained pages with embedded pictures, without scripts and external resources."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from os import PathLike
from pathlib import Path

STYLE = """\
:root { color-scheme: light; }
body { margin: 2.5rem auto; max-width: 64rem; padding: 0 1.5rem; background: #fcfcfa; color: #2b2e33;
  font: 16px/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.8rem; margin: 0; font-weight: 600; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; font-weight: 600; }
p { margin: .4rem 0; max-width: 48rem; }
.good, .bad { display: inline-block; margin: .8rem 0; padding: .25rem .8rem; border-radius: 1rem; }
.good { background: #e2f0e6; color: #24633a; }
.bad { background: #f8e0e2; color: #9c2333; }
.dim { color: #6d727a; }
img { display: block; width: 100%; height: auto; margin: .6rem 0; }
table { border-collapse: collapse; margin: .4rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .18rem 1.4rem .18rem 0; text-align: left; vertical-align: top; }
th { font-weight: 600; border-bottom: 1px solid #d5d7da; }
.right { text-align: right; }
a { color: #1f6f8b; }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """Return a whole page of elements made by the functions below."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(parts) + "\n</body></html>\n"


def heading(text: str, level: int = 2) -> str:
    """Return a heading; that of the page has level 1."""
    return f"<h{level}>{escape(text)}</h{level}>"


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph; ``kind``: good, bad or dim."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return a table; ``right``: indices of the right-aligned columns."""

    def line(cells: Sequence[str], tag: str) -> str:
        sides = [' class="right"' if n in right else "" for n in range(len(cells))]
        return "<tr>" + "".join(f"<{tag}{side}>{escape(cell)}</{tag}>" for side, cell in zip(sides, cells, strict=True)) + "</tr>"

    return "<table>\n" + "\n".join([line(heads, "th"), *(line(row, "td") for row in rows)]) + "\n</table>"


def picture(path: str | PathLike[str], about: str) -> str:
    """Return an embedded picture (PNG)."""
    return f'<img alt="{escape(about)}" src="data:image/png;base64,{b64encode(Path(path).read_bytes()).decode("ascii")}">'


def files(names: Iterable[str]) -> str:
    """Return links to files beside the page."""
    return "<p>" + " · ".join(f'<a href="{escape(name)}">{escape(name)}</a>' for name in names) + "</p>"
