"""Interrupted writing: kill -9 at random moments of `filter --out`, `convert` and `retarget`, which overwrite an earlier result.

    python benchmarks/interrupted_writes.py [KILLS] [--seed N]

Two variants of each command are run to the end first. Then they are started in turn and killed, half of them at any time of the run, half
while files are written. After every kill each file under its final name must be, byte for byte, that of one of the two variants, and all
files of a folder those of the same one. The commands run in forked processes, which share the compiled code.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import random
import signal
import tempfile
import time
from pathlib import Path

from brachiate.cli import app
from brachiate.io import atomic


def run_command(words: list[str], out: Path, marker: Path | None = None) -> None:
    """Run a command of the command line quietly; ``marker`` is made when the first file is about to be written."""
    if marker is not None:
        names = ("replace_file", "replace_files")
        marked = {name: _marked(getattr(atomic, name), marker) for name in names}
        for name, function in marked.items():
            setattr(atomic, name, function)
        _patch_importers(marked)
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
        app([*words, *([str(out)] if words[0] == "convert" else ["--out", str(out)])], standalone_mode=False)


def _marked(function, marker: Path):
    def marked(*arguments, **named):
        marker.touch()
        return function(*arguments, **named)

    return marked


def _patch_importers(functions: dict) -> None:
    """Replace functions in all modules that have imported them."""
    import sys  # noqa: PLC0415

    for module in list(sys.modules.values()):
        for name, function in functions.items():
            if getattr(module, "__name__", "").startswith("brachiate.") and module is not atomic and hasattr(module, name):
                setattr(module, name, function)


def content(out: Path) -> dict[str, str]:
    """Hashes of the files under their final names; temporary ones begin with a point."""
    files = [out, *out.parent.glob(f"{out.stem}.names.txt")] if out.suffix else sorted(out.iterdir()) if out.exists() else []
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.is_file() and path.name[0] != "."}


def killed_run(words: list[str], out: Path, marker: Path, delay: float, while_writing: bool) -> None:
    """Start a command in a forked process and kill it after a delay [s], from its start or from its first file."""
    marker.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            run_command(words, out, marker)
        os._exit(0)
    while while_writing and not marker.exists() and os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(1e-4)
    time.sleep(delay)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)


def study(name: str, variants: list[list[str]], out: Path, kills: int, rng: random.Random) -> int:
    """Kill a command many times; returns the number of violations."""
    whole, durations, marker, counts = [], [], out.parent / f"{name}.marker", {"old": 0, "new": 0, "part": 0}
    for words in variants:
        start = time.perf_counter()
        run_command(words, out)
        durations.append(time.perf_counter() - start)
        whole.append(content(out))
    assert whole[0] != whole[1]
    violations = 0
    for k in range(kills):
        before, while_writing = content(out), k % 2 == 1
        delay = rng.uniform(0.0, 0.6 if out.suffix == "" else 0.02) if while_writing else rng.uniform(0.0, durations[k % 2])
        killed_run(variants[k % 2], out, marker, delay, while_writing)
        after = content(out)
        if not any(after.items() <= files.items() for files in whole):
            violations += 1
            print(f"{name}: kill {k} left {sorted(after)} that are not of one run")
        counts["old" if after == before else "new" if after in whole else "part"] += 1
    run_command(variants[0], out)
    left = [*out.parent.glob(".*.tmp"), *(out.glob(".*.tmp") if out.is_dir() else ())]
    violations += bool(left) or content(out) != whole[0]
    states = f"{counts['old']} left the earlier files, {counts['new']} the new ones, {counts['part']} some of one run"
    print(f"{name:9} {kills} kills: {states}; {violations} violations, {len(left)} temporary files after the next run", flush=True)
    return violations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kills", nargs="?", type=int, default=34, help="of each of the three commands")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        for speed in (1.0, 1.4):
            app(["motions", "walk", "--seconds", "2", "--speed", str(speed), "--out", str(at / f"walk{speed}.bvh")], standalone_mode=False)
        files = [str(at / f"walk{speed}.bvh") for speed in (1.0, 1.4)]
        commands = {
            "convert": ([["convert", file] for file in files], at / "converted.glb"),
            "retarget": ([["retarget", file, "--to", "human28"] for file in files], at / "retargeted.npz"),
            "filter": ([["filter", file, "--mode", "preview"] for file in files], at / "filtered"),
        }
        violations = sum(study(name, variants, out, arguments.kills, rng) for name, (variants, out) in commands.items())
    raise SystemExit(violations > 0)


if __name__ == "__main__":
    main()
