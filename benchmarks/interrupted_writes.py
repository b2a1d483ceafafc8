"""Interrupted writing: kill -9 at random moments of `convert`, `retarget` and `filter --out`, which overwrite an earlier result.

    python benchmarks/interrupted_writes.py [KILLS] [--seed N]

Two variants of each command are run to the end first, and timed. Then they are started in turn and killed: a third of them at any time of
the run, a third while files are written, a third at one of the renamings that give complete files their names. After every kill each file
under its final name must be, byte for byte, that of one variant, and all files of one command those of the same one; the last file of a set
is there only if all are. Files whose names begin with a point are temporary, and gone after the next complete run. Commands run in forked
processes, which share the compiled code.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import random
import signal
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from brachiate.cli import app
from brachiate.io import atomic

WRITING, RENAMING, WRITTEN = b"w", b"n", b"d"  # what a process tells: it begins to write, it renames a complete file, it has written
ROBOT = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots/g1_description/urdf/g1_29dof_rev_1_0.urdf"
KINDS = ("any time", "writing", "renaming")


class Timing(NamedTuple):
    """Durations of a complete run and of its writing [s], and number of renamings."""

    total: float
    writing: float
    renamings: int


class Command(NamedTuple):
    """A command in two variants, and the files it writes: the last one appears last."""

    name: str
    variants: list[list[str]]
    out: Path
    last: str

    def content(self) -> dict[str, str]:
        """Hashes of all files under final names, of a set in a folder or of files beside each other."""
        folder = self.out if not self.out.suffix else self.out.parent
        files = [path for path in folder.rglob("*") if path.is_file()] if folder.exists() else []
        final = [path.relative_to(folder) for path in files]
        return {str(p): hashlib.sha256((folder / p).read_bytes()).hexdigest() for p in final if not any(part[0] == "." for part in p.parts)}

    def left_over(self) -> list[Path]:
        """Temporary files and folders."""
        return list(self.out.parent.rglob(".*.tmp"))


class Run:
    """A command in a forked process, which tells through a pipe when it writes and renames files; it can be killed at a renaming."""

    def __init__(self, words: list[str], out: Path, killed_at: int = -1) -> None:
        self.start = time.perf_counter()
        self._pipe, pipe = os.pipe()
        self._child = os.fork()
        if not self._child:
            with contextlib.suppress(BaseException):
                os.close(self._pipe)
                _announce(pipe, killed_at)
                with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
                    app([*words, *([str(out)] if words[0] == "convert" else ["--out", str(out)])], standalone_mode=False)
                os._exit(0)
            os._exit(1)
        os.close(pipe)

    def wait_for(self, event: bytes) -> None:
        """Wait until the process tells an event, or has ended."""
        while os.read(self._pipe, 1) not in (event, b""):
            pass

    def timing(self) -> Timing:
        """Wait until the process has ended, and time it."""
        told: dict[bytes, list[float]] = {WRITING: [], RENAMING: [], WRITTEN: []}
        while event := os.read(self._pipe, 1):
            told[event].append(time.perf_counter())
        assert self.end() == 0
        return Timing(time.perf_counter() - self.start, told[WRITTEN][-1] - told[WRITING][0], len(told[RENAMING]))

    def kill_after(self, delay: float) -> bool:
        """Kill the process after a delay [s], if it has not ended; returns whether it was killed."""
        end = time.perf_counter() + delay
        while (left := end - time.perf_counter()) > 0.0:
            time.sleep(left)
        os.kill(self._child, signal.SIGKILL)  # an ended process keeps its number until it is waited for
        return self.end() == -signal.SIGKILL

    def end(self) -> int:
        """Wait for the end; returns the exit code, negative for a signal."""
        while os.read(self._pipe, 100):
            pass
        os.close(self._pipe)
        return os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])


def _announce(pipe: int, killed_at: int) -> None:
    """Make this process tell when it writes and renames, and kill it at a renaming; modules that imported the writers get others."""
    depth, rename, renamings = [0], os.replace, []

    def telling(writer):
        @contextlib.contextmanager
        def told(*arguments, **named):
            if not depth[0]:
                os.write(pipe, WRITING)
            depth[0] += 1
            with writer(*arguments, **named) as file:
                yield file
            depth[0] -= 1
            if not depth[0]:
                os.write(pipe, WRITTEN)

        return told

    def telling_rename(old, new):
        if ".tmp" in str(old) and ".tmp" in str(new):  # files of a set get their names in a temporary folder first
            return rename(old, new)
        os.write(pipe, RENAMING)
        if len(renamings) == killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
        renamings.append(new)
        return rename(old, new)

    writers = {name: telling(getattr(atomic, name)) for name in ("replace_file", "replace_files")}
    for module in [module for name, module in sys.modules.items() if name.startswith("brachiate.")]:
        for name, function in writers.items():
            if hasattr(module, name):
                setattr(module, name, function)
    os.replace = telling_rename


def killed_run(command: Command, variant: int, kind: str, timing: Timing, rng: random.Random) -> bool:
    """Start a variant and kill it at a random moment of a kind; returns whether it was killed before its end."""
    if kind == "renaming":
        return Run(command.variants[variant], command.out, rng.randrange(timing.renamings)).end() == -signal.SIGKILL
    run = Run(command.variants[variant], command.out)
    if kind == "writing":
        run.wait_for(WRITING)
    return run.kill_after(rng.uniform(0.0, timing.writing if kind == "writing" else timing.total))


def study(command: Command, kills: int, rng: random.Random) -> int:
    """Kill a command many times; returns the number of violations."""
    timings, whole = [], []
    for variant in (0, 1):
        Run(command.variants[variant], command.out).timing()  # compiles
        timings.append(Run(command.variants[variant], command.out).timing())
        whole.append(command.content())
    assert whole[0] != whole[1]
    assert command.last in whole[0].keys() & whole[1].keys()
    states, violations, missed = Counter(), 0, 0
    for k in range(kills):
        before, variant, kind = command.content(), k % 2, KINDS[k // 2 % 3]
        missed += not killed_run(command, variant, kind, timings[variant], rng)
        after = command.content()
        sound = any(after.items() <= files.items() and (command.last not in after or after == files) for files in whole)
        if not sound:
            violations += 1
            print(f"{command.name}: kill {k} ({kind}) left {sorted(after)}, which are not of one run")
        states[(kind, "earlier files" if after == before else "new files" if after == whole[variant] else "some of one run")] += 1
    left_by_kills = len(command.left_over())
    Run(command.variants[0], command.out).timing()
    left = command.left_over()
    violations += bool(left) or command.content() != whole[0]
    print(
        f"{command.name}: {kills} kills ({missed} after the end), run {timings[0].total:.2f} s, writing {1e3 * timings[0].writing:.1f} ms, "
        f"{timings[0].renamings} renamings; {violations} violations; temporary files: {left_by_kills} after the kills, "
        f"{len(left)} after the next run"
    )
    for (kind, state), count in sorted(states.items()):
        print(f"    {kind:9} {state:16} {count}", flush=True)
    return violations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kills", nargs="?", type=int, default=100, help="of all commands together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.5, help="of the motion")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        files = [str(at / f"walk{speed}.bvh") for speed in (1.0, 1.4)]
        for speed, file in zip(("1.0", "1.4"), files, strict=True):
            app(["motions", "walk", "--seconds", str(arguments.seconds), "--speed", speed, "--out", file], standalone_mode=False)
        commands = [
            Command("convert", [["convert", file] for file in files], at / "glb" / "walk.glb", "walk.glb"),
            Command("retarget", [["retarget", file, "--to", "human28"] for file in files], at / "npz" / "walk.npz", "walk.npz"),
            Command("filter", [["filter", file, "--mode", "preview"] for file in files], at / "filtered", "report.html"),
        ]
        if ROBOT.exists():  # a table of a robot's joints, and the names of its columns: two files
            variants = [["retarget", file, "--to", str(ROBOT)] for file in files]
            commands.insert(2, Command("retarget to a robot", variants, at / "csv" / "walk.csv", "walk.csv"))
        violations, (kills, more) = 0, divmod(arguments.kills, len(commands))
        for n, command in enumerate(commands):
            command.out.parent.mkdir(exist_ok=True)
            violations += study(command, kills + (n >= len(commands) - more), rng)
    print(f"{arguments.kills} kills, {violations} violations")
    raise SystemExit(violations > 0)


if __name__ == "__main__":
    main()
