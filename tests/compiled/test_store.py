"""Machine code on disk: what it was made from and for, damaged files, folders, pruning."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest

import brachiate as br
from brachiate import compiled
from brachiate.compiled import store
from brachiate.compiled.store import CodeName, MachineCode

pytestmark = pytest.mark.skipif(compiled.MODE == "off", reason="compiled code is switched off")

NAME = CodeName("brachiate.kinematics.update_body_poses", ("int64[1]",))
CODE = MachineCode(b"\x7fELF" + bytes(range(256)), "symbol", "wrapper")


def clear() -> None:
    for function in (
        store._sources,
        store.source_hash,
        store.processor,
        store.supported_levels,
        store.fingerprint,
        store.cache_folder,
        store._writable_root,
    ):
        function.cache_clear()
    store._SAID.clear()


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """A cache of the test's own."""
    monkeypatch.setenv("BRACHIATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BRACHIATE_QUIET", raising=False)
    clear()
    yield
    clear()


def folder(part: str = "") -> Path:
    """Cache folder for the sources as they are now."""
    clear()
    return store.cache_folder(part)


# --- files --------------------------------------------------------------------------------------


def test_code_that_was_written_is_found():
    store.write(NAME, CODE)
    assert store.exists(NAME)
    assert store.find(NAME) == CODE
    assert [path.suffix for path in store.cache_folder().iterdir()] == [store.SUFFIX]  # nothing else is left behind


@pytest.mark.parametrize("size", [0, 5, 40, 200, -40, -1])
def test_truncated_file_is_not_loaded(size, capsys):
    # Fails if code that is cut, by a full disk or a crash, is run.
    store.write(NAME, CODE)
    path = store.cache_file(NAME)
    path.write_bytes(path.read_bytes()[:size])
    assert store.find(NAME) is None
    assert "cannot be used (it is damaged); it is compiled again" in capsys.readouterr().err


def test_any_changed_byte_is_noticed():
    content = store.encode(CODE, store.header(NAME))
    for place in range(0, len(content), 7):
        changed = bytearray(content)
        changed[place] ^= 1
        with pytest.raises(ValueError, match="damaged"):
            store.decode(bytes(changed), store.header(NAME))


@pytest.mark.parametrize("key", ["numba", "llvmlite", "python", "processor", "platform", "sources", "mode", "name", "signature", "source"])
def test_code_made_for_something_else_is_not_loaded(key, capsys):
    # Fails if code of another Numba, Python, processor or source version is run, wherever its file comes from.
    path = store.cache_file(NAME)
    path.parent.mkdir(parents=True)
    path.write_bytes(store.encode(CODE, {**store.header(NAME), key: "another"}))
    assert store.find(NAME) is None
    assert f"made for another {key}" in capsys.readouterr().err


@pytest.mark.skipif(not store.supported_levels(), reason="no level of x86-64 that code could be shipped for")
def test_shipped_code_is_used_and_the_cache_comes_first(monkeypatch, tmp_path):
    monkeypatch.setattr(store, "SHIPPED", tmp_path / "shipped")
    shipped = {level: CODE._replace(symbol=level) for level in store.supported_levels()}
    for level in reversed(store.supported_levels()):
        path = tmp_path / "shipped" / level / NAME.file
        path.parent.mkdir(parents=True)
        path.write_bytes(store.encode(shipped[level], store.header(NAME, target=store.Processor(level, ""))))
        assert store.find(NAME) == shipped[level]  # the highest level so far
    assert not store.exists(NAME, shipped=False)
    store.write(NAME, CODE)
    assert store.find(NAME) == CODE


@pytest.mark.skipif(not store.supported_levels(), reason="no level of x86-64 that code could be shipped for")
def test_code_of_a_level_that_this_processor_lacks_is_not_run(monkeypatch, tmp_path):
    monkeypatch.setattr(store, "SHIPPED", tmp_path)
    level = store.LEVELS[-1]
    monkeypatch.setattr(store, "FEATURES", dict.fromkeys(store.LEVELS, ("a feature of the future",)))
    clear()
    (tmp_path / level).mkdir()
    (tmp_path / level / NAME.file).write_bytes(store.encode(CODE, store.header(NAME, target=store.Processor(level, ""))))
    assert store.find(NAME) is None


def test_code_for_other_types_is_in_another_file():
    assert NAME.file != NAME._replace(signature=("float64[1]",)).file


def test_full_disk_leaves_no_file(monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        store.write(NAME, CODE)
    assert list(store.cache_folder().iterdir()) == []


# --- what code is made from ---------------------------------------------------------------------


@pytest.fixture
def copied_package(tmp_path, monkeypatch) -> Path:
    """A copy of the sources that is taken for the package."""
    package = tmp_path / "elsewhere" / "brachiate"
    shutil.copytree(store.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "_machine_code"))
    monkeypatch.setattr(store, "PACKAGE", package)
    return package


def sources_of_kernels(package: Path, later: tuple[str, ...]) -> set[Path]:
    """Files with compiled code outside of some folders, and all their direct and indirect imports."""
    marked = re.compile(r"^@(kernel|outlined|inlined|entry|by_address|operators)\b", re.M)
    ahead = [path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in later and marked.search(path.read_text())]
    found: set[Path] = set()
    while ahead:
        path = ahead.pop()
        if path in found or path == package / "__init__.py":  # only modules are imported from it
            continue
        found.add(path)
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "brachiate":
                module = package.joinpath(*str(node.module).split(".")[1:])
                candidates = [module, *(module / alias.name for alias in node.names)]
                ahead += [file for place in candidates for file in (place.with_suffix(".py"), place / "__init__.py") if file.exists()]
    return {path for path in found if path.relative_to(package).as_posix() not in store.WITHOUT_KERNELS}


def test_path_of_the_package_does_not_matter(copied_package):
    copied = folder()
    store.PACKAGE = Path(compiled.__file__).parent.parent
    assert folder() == copied


def test_an_edited_source_changes_the_cache_folder(copied_package):
    # Fails if any file that compiled code comes from is left out.
    for part in ("", *store.ON_TOP):
        later = store.ON_TOP[store.ON_TOP.index(part) + 1 if part else 0 :]
        sources = sources_of_kernels(copied_package, later)
        assert len(sources) > 60
        seen = {folder(part)}
        for path in sorted(sources):
            path.write_text(path.read_text() + "\n# edited\n")
            seen.add(folder(part))
        assert len(seen) == 1 + len(sources)


def test_editing_upper_packages_keeps_the_lower_cache(copied_package):
    before = folder()
    for name in store.ON_TOP:
        (copied_package / name).mkdir(exist_ok=True)
        (copied_package / name / "fresh.py").write_text("")
    assert folder() == before
    assert len({folder(part) for part in ("", *store.ON_TOP)}) == 1 + len(store.ON_TOP)


def test_editing_files_without_kernels_keeps_the_cache(copied_package):
    before = folder()
    for name in store.WITHOUT_KERNELS:
        place = copied_package / name
        for path in [place] if place.suffix else place.rglob("*.py"):
            path.write_text(path.read_text() + "\n# edited\n")
    assert folder() == before


def test_a_new_or_renamed_source_changes_the_cache_folder(copied_package):
    seen = [folder()]
    (copied_package / "fresh.py").write_text("")
    seen.append(folder())
    (copied_package / "fresh.py").rename(copied_package / "stale.py")
    seen.append(folder())
    (copied_package / "stale.py").unlink()
    assert len(set(seen)) == 3
    assert folder() == seen[0]


@pytest.mark.parametrize("earlier", [False, True])
def test_code_of_sources_that_were_edited_since_is_not_kept(copied_package, monkeypatch, capsys, earlier):
    # It would be found by the hash of the edited sources, or of those before: results would depend on who edited what when.
    monkeypatch.setattr(store, "LOAD_TIME", time.time())
    (copied_package / "world" / "world.py").write_text("")  # has no compiled code
    store.write(NAME, CODE)
    assert store.exists(NAME)
    time.sleep(0.05)  # longer than a tick of the clock of files
    path = copied_package / "kinematics.py"
    path.write_text(path.read_text() + "\n# edited\n")
    if earlier:  # replaced by a file with an older time
        os.utime(path, (0, 0))
    for hashed_before in (True, False):
        if not hashed_before:
            clear()
        store.cache_file(NAME).unlink(missing_ok=True)
        store.write(NAME, CODE)
        assert not store.exists(NAME)
    assert capsys.readouterr().err.count("sources were edited while this program ran") == 2


def test_processor_is_this_one_or_a_level(monkeypatch):
    assert store.processor().name not in store.LEVELS
    for level in store.supported_levels():
        monkeypatch.setenv("BRACHIATE_CPU", level)
        clear()
        assert store.processor() == store.Processor(level, "")
    monkeypatch.setenv("BRACHIATE_CPU", "z80")
    clear()
    with pytest.raises(br.SettingError, match="BRACHIATE_CPU='z80' is not one of: host"):
        store.processor()


# --- folders ------------------------------------------------------------------------------------


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("BRACHIATE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert folder().parent == tmp_path / "xdg" / "brachiate"
    monkeypatch.setenv("BRACHIATE_CACHE", str(tmp_path / "ours"))
    assert folder().parent == tmp_path / "ours"
    assert folder().name.endswith(f"-{compiled.MODE}")
    monkeypatch.delenv("BRACHIATE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert store.cache_root() == Path.home() / ".cache" / "brachiate"


def test_unwritable_cache_is_replaced_by_a_temporary_folder(monkeypatch, capsys):
    monkeypatch.setenv("BRACHIATE_CACHE", "/proc/nothing")
    assert "brachiate-" in str(folder())
    store.write(NAME, CODE)
    assert store.find(NAME) == CODE
    assert "is not writable" in capsys.readouterr().err


def test_pruning_removes_only_old_caches(tmp_path):
    root = store.cache_root()
    assert store.prune_cache() == 0
    current, old, recent, foreign = store.cache_folder(), root / "0123-fast", root / "4567-check", root / "photographs"
    for place in (current, old, recent, foreign):
        place.mkdir(parents=True)
    (old / "some.code").write_bytes(b"x")
    a_while_ago = time.time() - 40 * 86400
    for place in (current, old, foreign):
        os.utime(place, (a_while_ago, a_while_ago))
    assert store.prune_cache() == 1
    assert [place.exists() for place in (current, old, recent, foreign)] == [True, False, True, True]


def test_header_is_readable():
    line = store.encode(CODE, store.header(NAME)).split(b"\n")[1]
    assert json.loads(line)["numba"] == store.fingerprint()["numba"]
