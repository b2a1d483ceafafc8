"""The documentation: its code runs, it needs one import, and it lists what exists."""

import ast
import importlib.util
import re
from dataclasses import fields
from pathlib import Path

import pytest

from brachiate.filter.settings import FilterSettings

ROOT = Path(__file__).parent.parent
PAGES = [
    "README.md", "docs/conventions.md", "docs/closed-chains.md", "docs/contact.md", "docs/motion.md", "docs/filter.md", "docs/gallery.md",
    "docs/animation.md", "docs/particles.md", "docs/particles-coupling.md",
]  # fmt: skip
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
#: What the field's readers search for, and the module where it is done.
SEARCH_WORDS = {
    "root residual": "contact_estimation/ground_reaction.py",
    "capture point": "filter/footsteps/mpc_problem.py",
    "whole-body QP": "filter/whole_body/qp.py",
    "centroidal MPC": "filter/tracking/centroidal_mpc.py",
    "Riccati": "centroidal/riccati.py",
    "inverse kinematics": "retargeting/trajectory_ik.py",
    "floating base": "filter/whole_body/tasks.py",
    "warm start": "filter/whole_body/qp.py",
    "footstep": "filter/footsteps/mpc_problem.py",
    "swing foot": "filter/footsteps/swing_foot.py",
    "contact schedule": "filter/schedule/contact_schedule.py",
    "support polygon": "centroidal/support_polygon.py",
    "ground reaction force": "contact_estimation/ground_reaction.py",
    "friction cone": "filter/whole_body/contact_constraints.py",
    "null space": "animation/resolve.py",
    "Coriolis tensor": "animation/closed_form.py",
    "edge pushing": "functions/program.py",
    "zero-moment point": "particles/walking_plan.py",
    "linear inverted pendulum": "particles/walking_plan.py",
    "conjugate gradients": "particles/implicit_solvers.py",
    "discrete gradient": "particles/implicit_kernels.py",
}


def blocks_of(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)


@pytest.mark.parametrize("page", PAGES)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(page)
    assert blocks
    exec(compile("\n".join(blocks), page, "exec"), {})


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(example.read_text(), str(example), "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("source", [*PAGES, *(f"examples/{path.name}" for path in EXAMPLES)])
def test_one_import_is_enough(source):
    """``import brachiate as br`` is the only import of this package that users see, but for the functions of animation space, ``an``."""
    text = (ROOT / source).read_text() if source.endswith(".py") else "\n".join(blocks_of(source))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and ast.unparse(node) != "from brachiate import animation as an":
            assert not (node.module or "").startswith("brachiate"), ast.unparse(node)
        if isinstance(node, ast.Import):
            names = [(alias.name, alias.asname) for alias in node.names if alias.name.startswith("brachiate")]
            assert names in ([], [("brachiate", "br")]), ast.unparse(node)


@pytest.mark.parametrize("page", sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("docs/*.md"), *ROOT.glob("*.md"))))
def test_links_resolve(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        if link.startswith("http"):
            continue
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.M)
            assert anchor in [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings], link


def test_every_citation_resolves():
    keys = set(re.findall(r"\*\*\[(.+?)\]\*\*", (ROOT / "docs/references.md").read_text()))
    cited = {}
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/*.md")]:
        for key in re.findall(r"\[((?:SVC|CKC|DF|EGC|NSP|RBDA|DL|HNW|HW|HLW|CV72|DP80|LL)|[A-Z][a-z]+ \d{4})\]", path.read_text()):
            cited[key] = path.name
    assert cited.keys() <= keys, {key: where for key, where in cited.items() if key not in keys}


def test_the_architecture_lists_every_module():
    """Add, move or describe a module, then run ``python docs/list_modules.py``."""
    spec = importlib.util.spec_from_file_location("list_modules", ROOT / "docs/list_modules.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    assert tool.updated(page) == page, "docs/architecture.md is out of date: run python docs/list_modules.py"


def test_documented_folders_and_files_exist():
    text = (ROOT / "docs/architecture.md").read_text()
    tree = text.split("```")[1]
    folders = []
    for indent, name in re.findall(r"^( +)(\S+/)", tree, re.M):
        folders = [*folders[: len(indent) // 2 - 1], name]
        assert (ROOT / "src/brachiate" / "".join(folders)).exists(), folders
    table = text.split("## Algorithms")[1].split("## Constraints")[0]
    for row in re.findall(r"\| ([^|]*) \|$", table, re.M):
        folder = ""
        for path in re.findall(r"`([\w/]+(?:\.py|/))`", row):
            folder = path.rpartition("/")[0] if "/" in path else folder
            assert (ROOT / "src/brachiate" / (path if "/" in path else f"{folder}/{path}")).exists(), path


def test_every_setting_of_the_filter_is_explained():
    text = (ROOT / "docs/filter.md").read_text()
    missing = [field.name for field in fields(FilterSettings) if f"`{field.name}`" not in text]
    assert missing == []


@pytest.mark.parametrize(("word", "place"), SEARCH_WORDS.items())
def test_the_fields_words_are_found_where_the_thing_is_done(word, place):
    assert re.search(re.escape(word).replace("\\ ", r"[\s-]+"), (ROOT / "src/brachiate" / place).read_text(), re.I)


def test_every_file_and_function_is_short():
    """No file over 450 lines, no function over 60."""
    long = []
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text()
        if text.count("\n") > 450:
            long.append(f"{path.relative_to(ROOT)}: {text.count(chr(10))} lines")
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        sizes = {node.name: node.end_lineno - node.lineno + 1 for node in functions}
        long += [f"{path.relative_to(ROOT)}: {name} {size} lines" for name, size in sizes.items() if size > 60]
    assert long == []


def test_no_test_imports_another():
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not re.search(r"(^|\.)test_\w+$", node.module or ""), f"{path.name}: {ast.unparse(node)}"


def test_no_two_public_classes_share_a_name():
    seen = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                seen.setdefault(node.name, []).append(str(path.relative_to(ROOT / "src/brachiate")))
    assert {name: places for name, places in seen.items() if len(places) > 1} == {}
