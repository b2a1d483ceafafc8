"""Atomic writing: a file appears under its name only when it is complete, and files that belong together only when all of them are.

Everything is written to temporary files beside the target, flushed to the disk and then renamed. An error, such as that of a full disk,
leaves what was there before, and so does a killed process, except while it moves the complete files of a set to their names: then there are
only some files, all of one run. Temporary files of killed processes are removed when the same file or folder is written again.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import secrets
import shutil
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from brachiate.errors import WriteError

_STAGED = ".brachiate"  # name of a temporary folder of several files, before its mark
_EARLIER = ".earlier"  # folder in it for the files of the earlier run
_HOST = f"{zlib.crc32(platform.node().encode()):08x}"
_MARK = re.compile(r"\.([0-9a-f]{8})-(\d+)-[0-9a-f]{8}\.tmp$")
_MAX_AGE = 86400.0  # [s] of temporary files whose process may still run
_active: set[str] = set()  # names of temporary files and folders of this process

#: What to do about a cause, by error number.
_ADVICE = {
    errno.ENOSPC: "Free some space, or choose another disk.",
    errno.EDQUOT: "Free some space, or choose another disk.",
    errno.EFBIG: "Choose a disk that can hold files of this size.",
    errno.EACCES: "Check the permissions of the file and its folder, or choose another one.",
    errno.EPERM: "Check the permissions of the file and its folder, or choose another one.",
    errno.EROFS: "Choose a folder that is not read-only.",
    errno.ENOENT: "Create the folder first, or choose another one.",
}


def write_error(path: str | os.PathLike[str], what: str, problem: OSError) -> WriteError:
    """Error in words for a file, or a folder of ``what`` (``"the motion"``), that the operating system refused to write."""
    advice = _ADVICE.get(problem.errno or 0, "Choose another file.")
    error = WriteError(f"{path}: {what} cannot be written ({problem.strerror or problem}). {advice}")
    error.cause = problem
    return error


def check_writable(path: str | os.PathLike[str], what: str, *, folder: bool = False) -> None:
    """Refuse a file that cannot be written, before the work: its folder must exist, and take files.

    Args:
        path: The file.
        what: What it will contain, for messages.
        folder: The path is a folder of files, which is made with its parents if it does not exist.
    """
    place = Path(path)
    if folder:
        if place.exists() and not place.is_dir():
            raise write_error(path, what, NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder"))
        while not place.exists():
            place = place.parent
    elif place.is_dir():
        raise write_error(path, what, IsADirectoryError(errno.EISDIR, "it is a folder"))
    elif place.exists() and not place.is_file():
        return  # a pipe or a device
    else:
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as problem:
        raise write_error(path, what, problem) from problem


def write_bytes(path: str | os.PathLike[str], data: bytes, what: str) -> None:
    """Write a file; ``what`` it contains, for messages."""
    with replace_file(path, what) as file:
        file.write(data)


def write_text(path: str | os.PathLike[str], text: str, what: str) -> None:
    """Write a text file in UTF-8; ``what`` it contains, for messages."""
    write_bytes(path, text.encode("utf-8"), what)


@contextmanager
def replace_file(path: str | os.PathLike[str], what: str) -> Iterator[BinaryIO]:
    """Open a temporary file that gets the name ``path`` when the block ends without an error.

    Links are followed, and the permissions of an existing file are kept. Devices and pipes (``/dev/stdout``) are written directly.

    Raises:
        WriteError: The file cannot be written; what was there before is still there.
    """
    given, path = path, Path(os.path.realpath(path))
    try:
        if _is_special(Path(given)):
            with path.open("wb") as file:
                yield file
            return
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        prefix = f".{path.name[:40]}"
        _remove_stale(path.parent, prefix)
        with _temporary_name(path.parent, prefix) as temporary:
            try:
                with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666), "wb") as file:
                    yield file
                    _flush(file)
                if path.exists():
                    shutil.copymode(path, temporary)
                os.replace(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)
        _flush_folder(path.parent)
    except OSError as problem:
        raise write_error(given, what, problem) from None


class FileSet:
    """Files of one run, written to a temporary folder; ``path(name)`` says where."""

    def __init__(self, folder: Path, temporary: Path) -> None:
        self.folder, self._temporary = folder, temporary
        self.names: list[str] = []  #: names of the files so far

    def path(self, name: str) -> Path:
        """Path of a file to be written. The file that is asked for last appears last and is removed first: it means that all are there."""
        self.names.append(name)
        return self._temporary / name

    @property
    def final_paths(self) -> list[Path]:
        """Paths of the files after the block."""
        return [self.folder / name for name in self.names]


@contextmanager
def replace_files(folder: str | os.PathLike[str], what: str, known: Iterable[str] = ()) -> Iterator[FileSet]:
    """Write several files that belong together, which replace those of an earlier run when the block ends without an error.

    When all are complete, those of the earlier run are set aside and the new ones moved to their names, so that files of two runs are never
    mixed. If one cannot be moved, those of the earlier run are put back. A process that is killed in that moment leaves only some files,
    all complete and of one run; the last one is then missing. Other files of the folder are left alone.

    Args:
        folder: Made if it does not exist.
        what: What they are, for messages: ``"the results"``.
        known: Names of all files that a run may write: those that this one does not write are removed, too.

    Raises:
        WriteError: They cannot be written; what was there before is still there.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_stale(folder, _STAGED)
        with _temporary_name(folder, _STAGED) as temporary:
            try:
                temporary.mkdir()
                files = FileSet(folder, temporary)
                yield files
                _move(files.names, known, temporary, folder)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
    except WriteError as error:
        if error.cause is None or _STAGED not in str(error):
            raise
        raise write_error(folder, what, error.cause) from None
    except OSError as problem:
        raise write_error(folder, what, problem) from None


def _move(names: list[str], known: Iterable[str], temporary: Path, folder: Path) -> None:
    """Move files to their folder: those of an earlier run are set aside first, the last file first, and the last file comes last."""
    for name in names:
        if not (temporary / name).is_file():
            raise FileNotFoundError(errno.ENOENT, f"{name} was not made")
        if (folder / name).is_dir():
            raise IsADirectoryError(errno.EISDIR, f"{name}: {os.strerror(errno.EISDIR)}")
    earlier = temporary / _EARLIER
    earlier.mkdir()
    moved: list[tuple[Path, Path]] = []
    try:
        for name in dict.fromkeys((*reversed(names), *known)):
            if os.path.lexists(folder / name):
                _rename(folder / name, earlier / name, moved)
        for name in names:
            _rename(temporary / name, folder / name, moved)
    except BaseException:
        for old, new in reversed(moved):
            with suppress(OSError):
                os.replace(new, old)
        raise
    _flush_folder(folder)


def _rename(old: Path, new: Path, moved: list[tuple[Path, Path]]) -> None:
    moved.append((old, new))  # before it is done: an interruption may come in between
    os.replace(old, new)


@contextmanager
def _temporary_name(folder: Path, prefix: str) -> Iterator[Path]:
    """Path of a temporary file or folder of this process."""
    name = f"{prefix}.{_HOST}-{os.getpid()}-{secrets.token_hex(4)}.tmp"
    _active.add(name)
    try:
        yield folder / name
    finally:
        _active.discard(name)


def _remove_stale(folder: Path, prefix: str) -> None:
    """Remove temporary files and folders that processes which have ended left behind."""
    with suppress(OSError):
        for entry in list(os.scandir(folder)):
            match = _MARK.search(entry.name)
            if match and entry.name[: match.start()] == prefix and _is_stale(entry, match[1], int(match[2])):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)


def _is_stale(entry: os.DirEntry[str], host: str, process: int) -> bool:
    """Whether the process that made a temporary file has ended; one of another machine counts as running for a day."""
    if host == _HOST and process == os.getpid():
        return entry.name not in _active
    if time.time() - entry.stat(follow_symlinks=False).st_mtime > _MAX_AGE:
        return True
    if host != _HOST or os.name == "nt":  # on Windows, signal 0 is not a test
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False


def _is_special(path: Path) -> bool:
    """Whether a path is a device, a pipe or the like, which cannot be replaced."""
    if path.is_absolute() and path.parts[1:2] in (("dev",), ("proc",)):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, where the operating system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
