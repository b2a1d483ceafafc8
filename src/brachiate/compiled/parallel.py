"""Compilation of many entry points at once, in as many processes as there are cores, with one progress bar.

Each worker process translates the kernels that its entry points call; entry points that share kernels go to the same worker where that
balances. One process compiles at a time for each version of the code: others wait, and find what it has compiled.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, NamedTuple

from brachiate.compiled import store
from brachiate.compiled.marks import ENTRIES, Entry, Kernel
from brachiate.compiled.store import CodeName

# Seconds for a byte of Python bytecode, measured on human models' entry points: translation, once for each worker and kernel;
# optimization, once for each entry point and kernel.
TRANSLATION, OPTIMIZATION = 1.2e-4, 5e-5
MAX_WORKERS = 8


class CompilationTask(NamedTuple):
    """An entry point to be compiled, and the functions that it calls with the sizes of their bytecode."""

    name: CodeName
    callees: dict[Any, int]

    @property
    def cost(self) -> float:
        """Estimated time [s] in a worker of its own."""
        return self.extra_cost({})

    def extra_cost(self, translated: dict[Any, int]) -> float:
        """Estimated time [s] in a worker that has translated some functions before."""
        new = sum(size for function, size in self.callees.items() if function not in translated)
        return TRANSLATION * new + OPTIMIZATION * sum(self.callees.values())


def callees(function: Callable[..., Any], found: dict[Any, int] | None = None) -> dict[Any, int]:
    """A function and all kernels that it calls, with the sizes of their bytecode."""
    found = {} if found is None else found
    found[function] = len(function.__code__.co_code)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for name in function.__code__.co_names:
        thing = function.__globals__.get(name)
        cells += [getattr(thing, attribute, None) for attribute in function.__code__.co_names] if isinstance(thing, ModuleType) else [thing]
    for thing in cells:
        if isinstance(thing, (Kernel, Entry)) and thing.py_func not in found:
            callees(thing.py_func, found)
    return found


def assign(tasks: list[CompilationTask], workers: int) -> list[list[CompilationTask]]:
    """Queues of the workers: largest tasks first, each to the worker that is done with it first."""
    queues: list[list[CompilationTask]] = [[] for _ in range(workers)]
    ends, translated = [0.0] * workers, [dict[Any, int]() for _ in range(workers)]
    for task in sorted(tasks, key=lambda task: (-task.cost, task.name)):
        best = min(range(workers), key=lambda n: ends[n] + task.extra_cost(translated[n]))
        ends[best] += task.extra_cost(translated[best])
        translated[best].update(task.callees)
        queues[best].append(task)
    return queues


def estimated_time(names: Iterable[CodeName], workers: int) -> float:
    """Estimated time [s] of compiling entry points in a number of processes: that of the one that is done last."""
    ends = []
    for queue in assign([_task(name) for name in names], workers):
        translated: dict[Any, int] = {}
        ends.append(0.0)
        for task in queue:
            ends[-1] += task.extra_cost(translated)
            translated.update(task.callees)
    return max(ends)


def compile_all(names: Iterable[CodeName], workers: int | None = None, shipped: bool = True) -> None:
    """Compile what is not in the cache, nor in the package unless ``shipped`` is false.

    A worker that fails leaves its entry points to be compiled when they are called.
    """
    missing = [name for name in names if not store.exists(name, shipped)]
    if not missing:
        return
    with store.lock(store.cache_folder(missing[-1].part)):
        missing = [name for name in missing if not store.exists(name, shipped)]  # another process may have compiled them
        if missing:
            tasks = [_task(name) for name in missing]
            _Compilation(tasks, min(workers or os.cpu_count() or 1, MAX_WORKERS, len(tasks))).run()


def _task(name: CodeName) -> CompilationTask:
    return CompilationTask(name, callees(ENTRIES[name.name].py_func))


class _Compilation:
    """Worker processes, each led by a thread, and their progress."""

    def __init__(self, tasks: list[CompilationTask], workers: int) -> None:
        self.queues = assign(tasks, workers)
        self.total, self.done = sum(task.cost for task in tasks), 0.0
        self.count, self.finished = len(tasks), 0
        self.began = time.monotonic()
        self._lock = threading.Lock()
        self._processes: list[Any] = []
        self._ended = False

    def run(self) -> None:
        """Compile all tasks. If a worker fails, the others take over what it has not begun."""
        leaders = [threading.Thread(target=self._lead, args=(queue,), daemon=True) for queue in self.queues]
        try:
            for leader in leaders:
                leader.start()
            while any(leader.is_alive() for leader in leaders):
                self._show_progress()
                leaders[-1].join(0.2)
                leaders = [*leaders[-1:], *leaders[:-1]]
        finally:
            self._end(leaders)
            self._show_end()

    def _end(self, leaders: list[threading.Thread]) -> None:
        """End the processes: they are idle, or the compilation was interrupted, perhaps before all had started."""
        with self._lock:
            self._ended = True
            for process in self._processes:
                process.kill()
        for leader in leaders:
            leader.join()
        for process in self._processes:
            with contextlib.suppress(OSError):  # what was not yet written to it
                process.stdin.close()
            process.stdout.close()
            process.wait()

    def _lead(self, queue: list[CompilationTask]) -> None:
        """Give tasks to a process of its own until there are none."""
        with self._lock:
            if self._ended:
                return
            process = _start_worker()
            self._processes.append(process)
        with contextlib.suppress(OSError):  # it has died
            while (task := self._next_task(queue)) is not None:
                process.stdin.write(json.dumps(task.name) + "\n")
                process.stdin.flush()
                if not process.stdout.readline():
                    return
                with self._lock:
                    self.done += task.cost
                    self.finished += 1

    def _next_task(self, queue: list[CompilationTask]) -> CompilationTask | None:
        """The next task of a queue, or the last one of the longest."""
        with self._lock:
            if queue:
                return queue.pop(0)
            longest = max(self.queues, key=len)
            return longest.pop() if longest else None

    def _show_progress(self) -> None:
        if QUIET or not sys.stderr.isatty():
            return
        share, elapsed = self.done / self.total, time.monotonic() - self.began
        filled = round(BAR * share)
        left = f"{elapsed * (1 - share) / share:.0f} s left" if share > 0.05 else ""
        _print(f"\r{TITLE} {'#' * filled}{'.' * (BAR - filled)} {100 * share:3.0f} % {left}\033[K", end="")

    def _show_end(self) -> None:
        if not QUIET:
            start = "\r\033[K" if sys.stderr.isatty() else ""
            took = time.monotonic() - self.began
            _print(f"{start}{TITLE} done, {self.finished} of {self.count} functions in {took:.0f} s")


QUIET = os.environ.get("BRACHIATE_QUIET") == "1"
TITLE = "brachiate: compiling (once on this machine)"
BAR = 24


def _print(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


def _start_worker() -> Any:
    """A process that reads names of entry points, a line each, and answers with a line when it has compiled one."""
    script = f"import sys; sys.path.insert(0, {str(store.PACKAGE.parent)!r}); from brachiate.compiled.worker import main; main()"
    environment = {**os.environ, "BRACHIATE_CACHE": str(store.cache_folder().parent), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
