"""Modes of execution, the cache of compiled code, and validation of array handles and kernels."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from brachiate import compiled
from brachiate.compiled import ArrayField, ArrayHandle, Floats, Ints, Rows3, Rows33, array_fields

compiles = pytest.mark.skipif(compiled.MODE == "off", reason="compiled code is switched off")

DYNAMICS = """
import json
import numpy as np
from brachiate import Data, ModelBuilder, Free, Revolute, Spherical, dynamics

b = ModelBuilder("three")
b.link("trunk", joint=Free(), mass=3.0, center=(0.1, 0, 0.2), inertia=(0.2, 0.3, 0.4))
b.link("arm", parent="trunk", joint=Spherical(anchor=(0, 0.1, 0), stiffness=2.0), at=(0, 0.2, 0.5), mass=1.0, inertia=(0.1, 0.1, 0.02))
b.link("hand", parent="arm", joint=Revolute((1, 2, 3), armature=0.1, damping=0.3), at=(0, 0, -0.3), mass=0.5, center=(0.1, 0.1, 0))
model = b.build()
data = Data(model)
rng = np.random.default_rng(7)
q, v, a = rng.normal(size=model.nq), rng.normal(size=model.nv), rng.normal(size=model.nv)
tau = dynamics.inverse_dynamics(data, q, v, a).copy()
found = dynamics.forward_dynamics(data, q, v, tau).copy()
matrix = dynamics.mass_matrix(data, q)
total = dynamics.totals(data)
print(json.dumps([*tau, *found, *matrix.ravel(), total.energy, *total.momentum]))
"""


def run(script: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script (its text, or a file) in a new Python; with only the given BRACHIATE_ environment variables."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("BRACHIATE_") or k == "BRACHIATE_CACHE"}
    arguments = ["-c", script] if isinstance(script, str) else [str(script)]
    return subprocess.run(
        [sys.executable, *arguments], env={**clean, **environment}, capture_output=True, text=True, timeout=1800, check=False
    )


def output(script: str | Path, **environment: str) -> str:
    done = run(script, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- modes --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fast_numbers() -> np.ndarray:
    return np.array(json.loads(output(DYNAMICS, BRACHIATE_COMPILED="fast")))


@pytest.mark.parametrize("mode", ["off", "check"])
def test_modes_agree_to_round_off(mode, fast_numbers):
    # Fails if a kernel reads differently compiled and interpreted: integer division, negative indices, a shadowed name.
    numbers = np.array(json.loads(output(DYNAMICS, BRACHIATE_COMPILED=mode)))
    assert np.isfinite(numbers).all()
    assert np.abs(numbers - fast_numbers).max() <= 1e-13 * np.abs(fast_numbers).max()


OUT_OF_BOUNDS = """
from typing import NamedTuple
import numpy as np
from brachiate.compiled import ArrayHandle, Floats, Rows3, entry, outlined, struct_opener
from brachiate.spatial import vec3

class Struct(NamedTuple):
    numbers: Floats
    points: Rows3

open_struct = struct_opener(Struct)

@entry
def in_an_array(x, i):
    return x[i]

@outlined
def inner(key, i):
    (struct,) = open_struct(key)
    return struct.numbers[i]

@entry
def in_a_struct(key, i):
    return inner(key, i)

@entry
def in_a_row(key, i):
    (struct,) = open_struct(key)
    return vec3(struct.points, i).x

handle = ArrayHandle(Struct(np.zeros(3), np.zeros((3, 3))))
for function, first in ((in_an_array, np.zeros(3)), (in_a_struct, handle.key), (in_a_row, handle.key)):
    assert function(first, 2) == 0.0
    try:
        function(first, 3)
    except IndexError:
        print("rejected")
"""


@pytest.mark.parametrize("mode", ["check", "off"])
def test_bounds_are_checked(mode, tmp_path):
    # Fails if an access beyond the end of an array goes unnoticed: of an argument, of a struct, or from an inlined kernel.
    script = tmp_path / "deliberate.py"
    script.write_text(OUT_OF_BOUNDS)
    assert output(script, BRACHIATE_COMPILED=mode, BRACHIATE_CACHE=str(tmp_path)).split() == ["rejected"] * 3


def test_unknown_mode_raises_with_the_valid_ones():
    done = run("import brachiate as br; br.World()", BRACHIATE_COMPILED="quick")
    assert done.returncode != 0
    assert "SettingError: BRACHIATE_COMPILED='quick' is not a mode. Choose one of: fast, check, off." in done.stderr


def test_numba_is_not_imported_when_off():
    assert output("import sys, brachiate, brachiate.dynamics; print('numba' in sys.modules)", BRACHIATE_COMPILED="off").split() == ["False"]


# --- kernels may not allocate -------------------------------------------------------------------

ALLOCATES = """
import numpy as np
from brachiate.compiled import entry
@entry
def allocating(x):
    y = {expression}  # line 6
    return y[0]
allocating(np.ones(3))
"""


@pytest.mark.parametrize("expression", ["np.zeros(3)", "x + x", "[x[0], x[1]]"])
def test_a_kernel_that_allocates_does_not_compile(expression, tmp_path):
    # Numba's messages differ; all must point at the line.
    script = tmp_path / "allocates.py"
    script.write_text(ALLOCATES.format(expression=expression))
    done = run(script, BRACHIATE_COMPILED="fast", BRACHIATE_CACHE=str(tmp_path))
    assert done.returncode != 0
    assert "numba.core.errors" in done.stderr
    assert re.search(r'allocates\.py(" *, line| \() *6\b', done.stderr)


# --- handles ------------------------------------------------------------------------------------


class Struct(NamedTuple):
    """A small struct of arrays with one field of each type."""

    counts: Ints
    numbers: Floats
    points: Rows3
    frames: Rows33


def good() -> Struct:
    return Struct(np.zeros(4, np.int64), np.zeros(5), np.zeros((6, 3)), np.zeros((7, 3, 3)))


def test_fields_are_read_from_annotations_in_order():
    assert array_fields(Struct) == {
        "counts": ArrayField("int64"), "numbers": ArrayField("float64"),
        "points": ArrayField("float64", (3,)), "frames": ArrayField("float64", (3, 3)),
    }  # fmt: skip
    assert [field.ndim for field in array_fields(Struct).values()] == [1, 1, 2, 3]


@compiles
def test_key_holds_addresses_and_lengths():
    struct = good()
    key = ArrayHandle(struct).key
    assert key.dtype == np.int64
    assert list(key[1::2]) == [4, 5, 6, 7]
    assert list(key[::2]) == [array.ctypes.data for array in struct]


@pytest.mark.parametrize(
    ("field", "array"),
    [
        ("counts", np.zeros(4)),  # floats for integers
        ("counts", np.zeros(4, np.int32)),
        ("numbers", np.zeros(5, np.float32)),
        ("numbers", np.zeros(5, ">f8")),  # byte order
        ("numbers", np.zeros((5, 1))),  # too many axes
        ("numbers", np.float64(3.0)),  # not an array
        ("numbers", [0.0, 1.0]),
        ("numbers", np.zeros(10)[::2]),  # not contiguous
        ("points", np.zeros((6, 4))),  # wrong row length
        ("points", np.zeros(18)),
        ("points", np.zeros((3, 6)).T),  # Fortran order
        ("frames", np.zeros((7, 3, 2))),
        ("frames", np.zeros((7, 3, 3)).transpose(0, 2, 1)),
        ("frames", np.zeros((7, 9))),
    ],
)
def test_handle_rejects_arrays_of_the_wrong_type_or_layout(field, array):
    with pytest.raises(TypeError, match=f"Struct.{field} must be a C-contiguous"):
        ArrayHandle(good()._replace(**{field: array}))


def test_handle_accepts_empty_arrays():
    ArrayHandle(Struct(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3, 3))))


# --- progress -----------------------------------------------------------------------------------

TINY = """
import numpy as np
from brachiate.compiled import entry, kernel, outlined

@kernel
def doubled(x):
    return 2.0 * x

@outlined
def tripled(x):
    return doubled(x) + x

@entry
def _tiny_sum(x):
    return doubled(x[0]) + tripled(x[1])

print(_tiny_sum(np.ones(2)))
"""


def test_progress_is_one_line_when_cold_and_none_when_warm(tmp_path):
    script = tmp_path / "tiny.py"
    script.write_text(TINY)
    cache = str(tmp_path / "cache")
    cold = run(script, BRACHIATE_COMPILED="fast", BRACHIATE_CACHE=cache)
    assert (cold.returncode, cold.stdout) == (0, "5.0\n")
    assert cold.stderr == "brachiate: compiling tiny sum (once on this machine)\n"
    warm = run(script, BRACHIATE_COMPILED="fast", BRACHIATE_CACHE=cache)
    assert (warm.returncode, warm.stdout, warm.stderr) == (0, "5.0\n", "")


def test_progress_can_be_silenced(tmp_path):
    script = tmp_path / "tiny.py"
    script.write_text(TINY)
    quiet = run(script, BRACHIATE_COMPILED="fast", BRACHIATE_CACHE=str(tmp_path / "cache"), BRACHIATE_QUIET="1")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "5.0\n", "")


def test_an_unwritable_cache_is_reported_and_nothing_stale_runs(tmp_path):
    # Numba would fall back to __pycache__ beside the sources, which does not notice an edited callee in another file.
    package = tmp_path / "lib" / "brachiate"
    shutil.copytree(Path(compiled.__file__).parent.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    script = (
        "import brachiate as br, numpy as np\n"
        "b = br.ModelBuilder('m'); b.link('a', joint=br.Prismatic('z'), mass=1.0); m = b.build()\n"
        "print(br.dynamics.inverse_dynamics(br.Data(m), [0.0], [0.0], [0.0])[0])"
    )
    settings = {"BRACHIATE_COMPILED": "fast", "BRACHIATE_CACHE": "/proc/nothing", "PYTHONPATH": str(package.parent)}
    first = run(script, **settings)
    assert "is not writable" in first.stderr
    assert float(first.stdout) == pytest.approx(9.81)
    source = package / "dynamics" / "inverse.py"
    source.write_text(source.read_text().replace("Vec3(-W.gravity[0], -W.gravity[1], -W.gravity[2])", "Vec3(0.0, 0.0, 1.0)"))
    assert float(run(script, **settings).stdout) == pytest.approx(1.0)
