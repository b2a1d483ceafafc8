"""Atomic writing: files are complete or not there, files of two runs are never mixed, and nothing else writes files."""

from __future__ import annotations

import ast
import errno
import os
import random
import signal
import stat
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import brachiate
from brachiate.errors import ArgumentError, WriteError
from brachiate.io import atomic
from brachiate.io.archive import read_arrays, write_archive

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
SIZE = 20_000  # lines of a file, so that writing takes longer than a moment


def text_of(run: int) -> str:
    return f"run {run}\n" * SIZE


def run_of(text: str) -> int:
    """Number of the run that wrote a complete text; fails if it is cut short or mixed."""
    lines = text.splitlines()
    assert (len(lines), len(set(lines)), text[-1]) == (SIZE, 1, "\n"), f"{len(lines)} lines of {set(lines)}"
    return int(lines[0].split()[1])


def left_over(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.endswith(".tmp")]


def test_files_are_written_with_their_permissions_and_through_links(tmp_path):
    path, link = tmp_path / "a.txt", tmp_path / "link.txt"
    atomic.write_text(path, "Grüße\n", "the text")
    assert path.read_text(encoding="utf-8") == "Grüße\n"
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o600)
    link.symlink_to(path)
    atomic.write_bytes(link, b"other", "the text")
    assert path.read_bytes() == b"other"
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "link.txt"]


def test_an_error_while_writing_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    atomic.write_text(path, "before", "the text")

    def fail() -> None:
        with atomic.replace_file(path, "the text") as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_is_told_and_leaves_what_was_there(tmp_path, monkeypatch, number):
    path, folder = tmp_path / "a.txt", tmp_path / "results"
    atomic.write_text(path, "before", "the text")
    with atomic.replace_files(folder, "the results") as files:
        atomic.write_text(files.path("one"), "before", "the text")

    def fail(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(WriteError, match=rf"a\.txt: the text cannot be written \({os.strerror(number)}\)\. \w+") as caught:
        atomic.write_text(path, "after", "the text")
    assert isinstance(caught.value, ArgumentError)
    with (  # the message names the folder that was given, not the temporary one
        pytest.raises(WriteError, match=rf"results: the results cannot be written \({os.strerror(number)}\)"),
        atomic.replace_files(folder, "the results") as files,
    ):
        atomic.write_text(files.path("one"), "after", "the text")
    assert path.read_text() == (folder / "one").read_text() == "before"
    assert left_over(tmp_path) == left_over(folder) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_devices_are_written_directly(tmp_path):
    atomic.write_text("/dev/null", "gone", "the text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(WriteError, match="No space left on device"):
        atomic.write_text("/dev/full", "too much", "the text")


def test_places_that_cannot_be_written_are_named(tmp_path):
    for path, cause in ((tmp_path / "no" / "a.txt", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(WriteError, match=f"the text cannot be written .{cause}"):
            atomic.write_text(path, "", "the text")
    protected = tmp_path / "protected.txt"
    protected.write_text("mine")
    protected.chmod(0o444)
    if not os.access(protected, os.W_OK):  # root may write everything
        with pytest.raises(WriteError, match="Permission denied"):
            atomic.write_text(protected, "", "the text")
    with (
        pytest.raises(WriteError, match=r"the results cannot be written .Not a directory"),
        atomic.replace_files(protected / "x", "the results"),
    ):
        pass


def test_a_long_name_can_be_written(tmp_path):
    path = tmp_path / ("ü" * 120 + ".txt")
    atomic.write_text(path, "x", "the text")
    assert path.read_text() == "x"


def test_a_set_of_files_replaces_all_files_of_the_earlier_run_and_no_others(tmp_path):
    (tmp_path / "mine.txt").write_text("kept")
    known = ("a.txt", "picture.png", "page.html")
    with atomic.replace_files(tmp_path, "the results", known) as files:
        for name in known:
            atomic.write_text(files.path(name), "1", "the text")
    assert files.final_paths == [tmp_path / name for name in known]
    with atomic.replace_files(tmp_path, "the results", known) as files:  # without a picture
        for name in ("a.txt", "page.html"):
            atomic.write_text(files.path(name), "2", "the text")
            assert (tmp_path / name).read_text() == "1"
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "mine.txt", "page.html"]
    assert (tmp_path / "a.txt").read_text() == "2"
    assert (tmp_path / "mine.txt").read_text() == "kept"

    def fail() -> None:
        with atomic.replace_files(tmp_path, "the results", known) as files:
            atomic.write_text(files.path("a.txt"), "3", "the text")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "mine.txt", "page.html"]
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "page.html").read_text() == "2"


@pytest.mark.parametrize("failure", [OSError(errno.EACCES, "Permission denied"), KeyboardInterrupt()])
def test_a_set_that_cannot_be_moved_leaves_the_earlier_one(tmp_path, monkeypatch, failure):
    """A file that cannot be replaced, or an interruption, at any of the renamings: all files of the earlier run are put back."""
    names = ("a.txt", "b.txt", "old.txt", "page.html")
    with atomic.replace_files(tmp_path, "the results", names) as files:
        for name in names:
            atomic.write_text(files.path(name), "1", "the text")

    def second_run() -> None:
        with atomic.replace_files(tmp_path, "the results", names) as files:
            for name in ("a.txt", "b.txt", "page.html"):
                atomic.write_text(files.path(name), "2", "the text")

    rename, error = os.replace, WriteError if isinstance(failure, OSError) else KeyboardInterrupt
    for last in range(7):  # four files are set aside, three get their names
        done: list[Path] = []

        def failing(old: Path, new: Path, last: int = last, done: list[Path] = done) -> None:
            if atomic._STAGED not in str(old) or Path(new).parent == tmp_path:
                done.append(new)
            if len(done) > last:
                done.clear()
                monkeypatch.undo()
                raise failure
            rename(old, new)

        monkeypatch.setattr(os, "replace", failing)
        with pytest.raises(error):
            second_run()
        assert {name: (tmp_path / name).read_text() for name in os.listdir(tmp_path)} == dict.fromkeys(names, "1")
    second_run()
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.txt", "page.html"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of a process")
@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_files_that_exceed_the_space_are_told_in_words(tmp_path):
    """A limit on the size of files, in the middle of a file: the operating system refuses as it does on a full disk."""
    resource = pytest.importorskip("resource")
    archive, folder = tmp_path / "a.npz", tmp_path / "results"
    write_archive(archive, {"run": np.zeros(3)}, "the arrays")
    with atomic.replace_files(folder, "the results") as files:
        atomic.write_text(files.path("one"), "before", "the text")
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        messages = []
        noise = np.random.default_rng(1).normal(size=20_000)
        try:
            write_archive(archive, {"run": noise}, "the arrays")
        except WriteError as error:
            messages.append(str(error))
        try:
            with atomic.replace_files(folder, "the results") as files:
                atomic.write_text(files.path("one"), "after", "the text")
                write_archive(files.path("two"), {"run": noise}, "the arrays")
        except WriteError as error:
            messages.append(str(error))
        os.write(writer, "\n".join(messages).encode())
        os._exit(0)
    os.close(writer)
    messages = os.read(reader, 10_000).decode().splitlines()
    os.close(reader)
    assert os.waitpid(child, 0)[1] == 0
    advice = "Choose a disk that can hold files of this size."
    assert messages == [
        f"{archive}: the arrays cannot be written (File too large). {advice}",
        f"{folder}: the results cannot be written (File too large). {advice}",
    ]
    assert read_arrays(archive, "a.npz", "arrays")["run"].shape == (3,)
    assert (folder / "one").read_text() == "before"
    assert os.listdir(folder) == ["one"]
    assert left_over(tmp_path) == []


def test_left_over_files_of_ended_processes_are_removed(tmp_path):
    dead = next(number for number in range(300_000, 400_000) if not Path(f"/proc/{number}").exists())
    running = os.getppid()
    names = {process: f".a.txt.{atomic._HOST}-{process}-0123abcd.tmp" for process in (dead, running)}
    for name in names.values():
        (tmp_path / name).write_text("half")
    other, old = tmp_path / f".a.txt.{'0' * 8}-{dead}-0123abcd.tmp", tmp_path / f".a.txt.{'0' * 8}-{dead}-0123abce.tmp"
    unrelated = tmp_path / f".b.txt.{atomic._HOST}-{dead}-0123abcd.tmp"
    for path in (other, old, unrelated):
        path.write_text("of another machine, or another file")
    os.utime(old, (0, 0))
    folder = tmp_path / f".brachiate.{atomic._HOST}-{dead}-0123abcd.tmp"
    folder.mkdir()
    (folder / "half").write_text("half")
    atomic.write_text(tmp_path / "a.txt", "whole", "the text")
    assert sorted(left_over(tmp_path)) == sorted((names[running], other.name, unrelated.name, folder.name))
    with atomic.replace_files(tmp_path, "the results"):
        pass
    assert not folder.exists()
    assert unrelated.exists()


def longest_delay(work, folder: Path, usual: float) -> float:
    """Longest delay of kills [s]: several runs of a function, on machines as slow as they may be. The folder is empty again."""
    began = time.perf_counter()
    work(0)
    took = time.perf_counter() - began
    for path in folder.iterdir():
        path.unlink()
    return max(usual, 5.0 * took)


def killed(work, delay: float) -> None:
    """Run a function again and again in another process, with the number of the run, and kill it after a delay [s]."""
    child = os.fork()
    if not child:
        for run in range(10**6):
            work(run)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork beside threads: the child uses none
def test_a_killed_process_leaves_whole_files(tmp_path):
    rng, seen = random.Random(1), 0
    text, archive = tmp_path / "a.txt", tmp_path / "b.npz"

    def work(run: int) -> None:
        atomic.write_text(text, text_of(run), "the text")
        write_archive(archive, {"run": np.full(SIZE, run)}, "the arrays")

    longest = longest_delay(work, tmp_path, 0.03)
    for _ in range(30):
        killed(work, rng.uniform(0.0, longest))
        if text.exists():
            seen += 1
            run_of(text.read_text())
        if archive.exists():
            values = read_arrays(archive, "b.npz", "arrays")["run"]
            assert values.shape == (SIZE,)
            assert len(set(values.tolist())) == 1
    assert seen > 10
    work(0)
    assert left_over(tmp_path) == []


@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_killed_process_leaves_files_of_one_run(tmp_path):
    rng, complete, names = random.Random(2), 0, ("one.txt", "two.txt", "three.txt", "page.txt")

    def work(run: int) -> None:
        chosen = names if run % 2 == 0 else names[1:]
        with atomic.replace_files(tmp_path, "the results", names) as files:
            for name in chosen:
                atomic.write_text(files.path(name), text_of(run), "the text")

    longest = longest_delay(work, tmp_path, 0.04)
    for _ in range(40):
        killed(work, rng.uniform(0.0, longest))
        runs = {name: run_of((tmp_path / name).read_text()) for name in names if (tmp_path / name).exists()}
        assert len(set(runs.values())) <= 1, runs
        if "page.txt" in runs:  # the last file: all are there
            complete += 1
            assert len(runs) == len(names) - runs["page.txt"] % 2
    assert complete > 10
    work(0)
    assert sorted(os.listdir(tmp_path)) == sorted(names)


#: Calls that write files, by the attribute they are called by, and where they are allowed: with an open file of :mod:`brachiate.io.atomic`.
DIRECT = ("write_text", "write_bytes", "savetxt", "tofile", "mkdir", "makedirs", "renames", "touch", "copyfile", "copytree",
          "copy2", "to_csv", "imsave", "writestr", "unlink", "rmtree")  # fmt: skip
ALLOWED = {"savez_compressed": "io/archive.py", "savez": "", "savefig": "show/plots.py"}


def direct_writers(path: Path, package: Path) -> list[str]:
    place, found = path.relative_to(package).as_posix(), []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
        owner = ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""
        words = [argument.value for argument in (*node.args, *(k.value for k in node.keywords)) if isinstance(argument, ast.Constant)]
        writes = (bool(owner) and name in DIRECT) or (owner in ("np", "json", "pickle") and name in ("save", "dump"))
        writes |= (owner == "os" and name == "rename") or (owner == "shutil" and name == "move")
        writes |= name in ALLOWED and place != ALLOWED[name]
        modes = [word for word in words if isinstance(word, str) and set(word) <= set("rwxabt+")]
        writes |= name in ("open", "fdopen") and any(set(mode) & set("wxa+") for mode in modes)
        if writes:
            found.append(f"{place}:{node.lineno} {ast.unparse(function)}")
    return found


def test_nothing_else_writes_files():
    # Every writer goes through brachiate.io.atomic; the cache of compiled code is below it, and has its own.
    package = Path(brachiate.__file__).parent
    own = ("io/atomic.py", "compiled/store.py", "compiled/ship.py", "compiled/worker.py")
    others = [path for path in sorted(package.rglob("*.py")) if path.relative_to(package).as_posix() not in own]
    assert [writer for path in others for writer in direct_writers(path, package)] == []
    assert direct_writers(package / "io" / "atomic.py", package)  # they would be found


@pytest.mark.skipif(sys.platform == "win32", reason="pipes have names on POSIX only")
def test_pipes_are_written_directly(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    atomic.write_text(pipe, "through", "the text")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


# --- before the work ----------------------------------------------------------------------------


def test_folder_that_can_be_made_is_accepted(tmp_path):
    atomic.check_writable(tmp_path / "new" / "folder", "the results", folder=True)
    assert list(tmp_path.iterdir()) == []  # nothing is made


@pytest.mark.parametrize(("name", "folder"), [("file", True), ("folder", False), ("missing/file", False), ("file/below", True)])
def test_what_cannot_be_written_is_refused_before_the_work(tmp_path, name, folder):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(WriteError, match="the results cannot be written"):
        atomic.check_writable(tmp_path / name, "the results", folder=folder)


def test_pipes_and_devices_are_accepted():
    atomic.check_writable("/dev/null", "the motion")
