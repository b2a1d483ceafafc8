"""Runner of the test suite: all tests compiled, then a part with array bounds checks, then a part without compilation."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: Tests that run again with array bounds checks: those of compiled code on small models.
CHECKED = [
    "tests/contact", "tests/laws", "tests/world", "tests/simulate", "tests/test_manifold.py", "tests/test_spatial.py", "tests/centroidal",
    "tests/filter/test_qp.py", "tests/filter/test_contact_schedule.py", "tests/filter/test_reference_stream.py",
    "tests/filter/test_disturbances.py", "tests/filter/test_leg_force_limits.py",
]  # fmt: skip
#: Tests that run again without compilation, as plain Python.
UNCOMPILED = [
    "tests/test_spatial.py",
    "tests/test_manifold.py",
    "tests/world/test_world.py",
    "tests/contact/test_narrow_phase.py",
    "tests/contact/test_height_field.py",
    "tests/contact/test_contact_law.py",
    "tests/contact/test_trial_and_error.py",
    "tests/linalg/test_min_norm.py",
    "tests/contact_estimation/test_ground_reaction.py",
    "tests/centroidal/test_staged_least_squares.py",
    "tests/filter/test_qp.py",
]


def run(mode: str, paths: list[str], *options: str) -> int:
    print(f"--- {mode}: {' '.join(paths)}", flush=True)
    environment = {**os.environ, "BRACHIATE_COMPILED": mode, "BRACHIATE_QUIET": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", *paths, "--hypothesis-profile", mode, *options]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def compile_cache(mode: str, *options: str) -> None:
    """Compile before the test processes start, in as many processes as there are cores."""
    command = [sys.executable, "-m", "brachiate", "warmup", *options]
    if subprocess.run(command, cwd=ROOT, env={**os.environ, "BRACHIATE_COMPILED": mode}, check=False).returncode:
        sys.exit("Compilation failed: see above.")


def main() -> int:
    workers = ("-n", str(min(os.cpu_count() or 1, 4)), "--dist", "worksteal")
    compile_cache("fast")
    failed = run("fast", ["tests"], *workers)
    compile_cache("check", "--core")  # few tests of the filter run with bounds checks: they compile what they need
    failed |= run("check", CHECKED, *workers)
    failed |= run("off", UNCOMPILED)
    return failed


if __name__ == "__main__":
    sys.exit(main())
