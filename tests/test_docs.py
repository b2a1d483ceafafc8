"""What the documentation shows is run."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from brachiate.filter.settings import FilterSettings

ROOT = Path(__file__).parent.parent
PAGES = [
    "README.md", "docs/conventions.md", "docs/closed-chains.md", "docs/contact.md", "docs/motion.md", "docs/filter.md", "docs/gallery.md",
]  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "@BENCH@" not in (ROOT / page).read_text()
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
    assert blocks
    exec(compile("\n".join(blocks), page, "exec"), {})


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(example.read_text(), str(example), "exec"), {"__name__": "__main__"})


def test_every_citation_resolves():
    keys = set(re.findall(r"\*\*\[(.+?)\]\*\*", (ROOT / "docs/references.md").read_text()))
    cited = {}
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/*.md")]:
        for key in re.findall(r"\[((?:SVC|CKC|DF|EGC|NSP|RBDA|DL|HNW|HW|HLW|CV72|DP80|LL)|[A-Z][a-z]+ \d{4})\]", path.read_text()):
            cited[key] = path.name
    assert cited.keys() <= keys, {key: where for key, where in cited.items() if key not in keys}


def test_documented_paths_exist():
    text = (ROOT / "docs/architecture.md").read_text()
    tree = text.split("```")[1]
    for name in re.findall(r"^  (\S+)", tree, re.M):
        assert (ROOT / "src/brachiate" / name).exists(), name


def test_every_setting_of_the_filter_is_explained():
    text = (ROOT / "docs/filter.md").read_text()
    missing = [field.name for field in fields(FilterSettings) if f"`{field.name}`" not in text]
    assert missing == []
