"""Runner of the test suite: all tests compiled, a part with array bounds checks, and a part without compilation."""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parent.parent
#: Tests that run again with array bounds checks: those of compiled code on small models.
CHECKED = [
    "tests/contact", "tests/laws", "tests/world", "tests/simulate", "tests/test_manifold.py", "tests/test_spatial.py", "tests/centroidal",
    "tests/functions/test_functions.py", "tests/particles/test_particle_laws.py", "tests/particles/test_floors.py",
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
    "tests/functions/test_functions.py",
    "tests/particles/test_particle_system.py",
]


def run(mode: str, paths: list[str], *options: str, output: IO[str] | None = None) -> int:
    print(f"--- {mode}: {' '.join(paths)}", file=output, flush=True)
    environment = {**os.environ, "BRACHIATE_COMPILED": mode, "BRACHIATE_QUIET": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", *paths, "--hypothesis-profile", mode, *options]
    return subprocess.run(command, cwd=ROOT, env=environment, stdout=output, stderr=output, check=False).returncode


def compile_cache(mode: str, *options: str, output: IO[str] | None = None) -> int:
    """Compile before the test processes start, in as many processes as there are cores."""
    command, environment = [sys.executable, "-m", "brachiate", "warmup", *options], {**os.environ, "BRACHIATE_COMPILED": mode}
    return subprocess.run(command, cwd=ROOT, env=environment, stdout=output, stderr=output, check=False).returncode


def run_other_modes(workers: tuple[str, ...], output: IO[str]) -> int:
    """Run the parts without compilation and with bounds checks."""
    failed = run("off", UNCOMPILED, output=output)
    failed |= compile_cache("check", "--core", output=output)  # few tests of the filter run with bounds checks: they compile what they need
    return failed | run("check", CHECKED, *workers, output=output)


def main() -> int:
    """Run all modes at once: compilation, single processes and last tests leave cores idle. Output of other modes comes at the end."""
    workers = ("-n", str(min(os.cpu_count() or 1, 4)), "--dist", "worksteal")
    with tempfile.TemporaryFile("w+") as output, ThreadPoolExecutor() as pool:
        others = pool.submit(run_other_modes, workers, output)
        failed = compile_cache("fast") or run("fast", ["tests"], *workers)
        failed |= others.result()
        output.seek(0)
        print(output.read(), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
