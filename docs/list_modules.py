"""List of all modules in docs/architecture.md, from their docstrings: ``python docs/list_modules.py`` updates the page."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/architecture.md"
SOURCE = ROOT / "src/brachiate"
BEGIN, END = "<!-- modules: written by docs/list_modules.py -->", "<!-- end of modules -->"


def summary(path: Path) -> str:
    """First sentence of a module's docstring, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z`:])", first)[0]


def listing() -> str:
    """Markdown: one table per package, one row per module."""
    lines = ["### `brachiate`", "", "| module | |", "|---|---|"]
    lines += [f"| `{path.name}` | {summary(path)} |" for path in sorted(SOURCE.glob("*.py"))]
    for package in sorted(folder for folder in SOURCE.rglob("*") if (folder / "__init__.py").exists()):
        lines += ["", f"### `{package.relative_to(SOURCE)}/`", "", summary(package / "__init__.py"), "", "| module | |", "|---|---|"]
        lines += [f"| `{path.name}` | {summary(path)} |" for path in sorted(package.glob("*.py")) if path.name != "__init__.py"]
    return "\n".join(lines)


def updated(page: str) -> str:
    """The page with a fresh list of modules."""
    head, rest = page.split(BEGIN)
    return f"{head}{BEGIN}\n\n{listing()}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
