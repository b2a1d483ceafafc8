"""Compilation in several processes: schedule, programs that start at once, interrupts, odd paths, and symbols that do not collide."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from brachiate import compiled, manifold

if compiled.MODE == "off":
    pytest.skip("compiled code is switched off", allow_module_level=True)

from brachiate.compiled import parallel
from brachiate.compiled.jobs import JOBS, code_names, variants
from brachiate.compiled.store import MAGIC, SUFFIX, CodeName

# A small entry point, compiled in two seconds.
SCRIPT = """
import numpy as np, brachiate as br
b = br.ModelBuilder("m"); b.link("a", joint=br.Spherical(), mass=1.0, inertia=(0.1, 0.2, 0.3)); data = br.Data(b.build())
print(br.manifold.integrate(data, data.q, np.array([0.1, 0.2, 0.3]), 0.5).tobytes().hex())
"""


def start(cache: Path, script: str = SCRIPT, **environment: str) -> subprocess.Popen[str]:
    """Start a program with a cache of its own."""
    settings = {**os.environ, "BRACHIATE_CACHE": str(cache), "BRACHIATE_QUIET": "0", **environment}
    return subprocess.Popen([sys.executable, "-c", script], env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(program: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = program.communicate(timeout=900)
    assert program.returncode == 0, err
    return out, err


def task(name: str, **sizes: int) -> parallel.CompilationTask:
    return parallel.CompilationTask(CodeName(name, ()), sizes)


# --- schedule -----------------------------------------------------------------------------------


def test_every_task_is_in_one_queue_and_large_ones_come_first():
    tasks = [task(f"t{n}", **{f"own{n}": 100 * (n + 1)}) for n in range(9)]
    queues = parallel.assign(tasks, 3)
    assert sorted(t.name for queue in queues for t in queue) == sorted(t.name for t in tasks)
    for queue in queues:
        assert [t.cost for t in queue] == sorted((t.cost for t in queue), reverse=True)
    assert max(sum(t.cost for t in queue) for queue in queues) < 1.2 * sum(t.cost for t in tasks) / 3


def test_tasks_that_share_kernels_go_to_one_worker():
    # Two families, each with large kernels of its own: translated once each, not in both workers.
    tasks = [task(f"{family}{n}", **{f"{family}_shared": 1000, f"{family}{n}_own": 10 + n}) for family in "ab" for n in range(4)]
    for queue in parallel.assign(tasks, 2):
        assert len({t.name.name[0] for t in queue}) == 1


def test_more_workers_take_less_time_and_never_less_than_their_share():
    names = list(code_names(["filter"]))
    one, two, four = (parallel.estimated_time(names, workers) for workers in (1, 2, 4))
    assert one / 2 <= two < one
    assert one / 4 <= four < two


def test_callees_are_found_through_modules_and_kernels():
    found = {function.__name__ for function in parallel.callees(manifold._integrate.py_func)}
    assert {"_integrate", "integrate_configuration", "valid_state"} <= found


def test_jobs_name_entry_points_that_exist():
    for job in JOBS:
        assert code_names([job])
    assert variants("brachiate.manifold._integrate")[0].signature == ("int64[1]", "float64[1]", "float64[1]", "float64", "float64[1]")


# --- programs -----------------------------------------------------------------------------------


def test_two_programs_that_start_at_once_compile_once_and_agree(tmp_path):
    # Fails if both compile, if one reads a file that is not whole, or if results depend on who compiled.
    programs = [start(tmp_path) for _ in range(2)]
    outputs = [finish(program) for program in programs]
    assert outputs[0][0] == outputs[1][0]
    assert sum("done, 1 of 1" in err for _, err in outputs) == 1
    assert len(list(tmp_path.rglob(f"*{SUFFIX}"))) == 1
    assert finish(start(tmp_path)) == (outputs[0][0], "")  # later: no compilation, nothing is printed


def test_interrupted_compilation_leaves_a_usable_cache(tmp_path):
    # Also where interrupts are ignored, as in processes that a shell started in the background.
    listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program, deadline = start(tmp_path, listening + SCRIPT), time.monotonic() + 300
    while not any(path.is_file() for path in tmp_path.rglob("*")) and time.monotonic() < deadline:  # its lock: compilation begins
        time.sleep(0.01)
    program.send_signal(signal.SIGINT)
    program.communicate(timeout=120)
    assert program.returncode != 0
    for path in tmp_path.rglob(f"*{SUFFIX}"):
        assert path.read_bytes().startswith(MAGIC)
    assert "done, 1 of 1" in finish(start(tmp_path))[1]


def test_odd_paths_and_a_plain_locale(tmp_path):
    cache = tmp_path / "größer als nötig"
    first, _ = finish(start(cache, LANG="C", LC_ALL="C"))
    assert finish(start(cache, LANG="C", LC_ALL="C")) == (first, "")


def test_damaged_file_is_reported_and_replaced(tmp_path):
    first, _ = finish(start(tmp_path))
    (path,) = tmp_path.rglob(f"*{SUFFIX}")
    whole = path.read_bytes()
    path.write_bytes(whole[:1000])
    out, err = finish(start(tmp_path))
    assert out == first
    assert "damaged" in err
    assert len(path.read_bytes()) == len(whole)


def test_files_that_cannot_be_written_are_not_kept(tmp_path):
    # The largest file is 1 kB: as on a full disk.
    limited = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))"
    )
    out, err = finish(start(tmp_path, limited + SCRIPT))
    assert "compiled code is not kept" in err
    assert out == finish(start(tmp_path / "other"))[0]
    assert list(tmp_path.rglob(f"{'*'}{SUFFIX}")) == list((tmp_path / "other").rglob(f"*{SUFFIX}"))


# --- symbols ------------------------------------------------------------------------------------

SAME_NAME = """
import sys
from brachiate.compiled import Floats, entry, kernel
from brachiate.compiled.machine_code import compile_here
from brachiate.compiled.store import CodeName, encode, header

@kernel
def inner(x):
    return x[0] {sign} 1.0

@entry
def same(x: Floats):
    return inner(x)

name = CodeName("somewhere.same", same.signatures[0])
open(sys.argv[1], "wb").write(encode(compile_here(same.py_func, name), header(name)))
"""


def test_symbols_of_two_processes_do_not_collide(tmp_path):
    # Both files define the same symbols with other bodies, as processes count their functions from one.
    import numpy as np  # noqa: PLC0415

    from brachiate.compiled.machine_code import load  # noqa: PLC0415
    from brachiate.compiled.store import decode, header  # noqa: PLC0415

    codes = []
    for sign in "+-":
        script, file = tmp_path / "same.py", tmp_path / f"code{len(codes)}"
        script.write_text(SAME_NAME.format(sign=sign))
        subprocess.run([sys.executable, str(script), str(file)], check=True, timeout=900)
        codes.append(decode(file.read_bytes(), header(CodeName("somewhere.same", ("float64[1]",)))))
    assert codes[0].symbol == codes[1].symbol
    plus, minus = (load(code, "same").call for code in codes)
    assert [plus(np.array([5.0])), minus(np.array([5.0])), plus(np.array([5.0]))] == [6.0, 4.0, 6.0]
