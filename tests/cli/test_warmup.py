"""Command ``brachiate warmup``, and the entry points that jobs prepare."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from brachiate import compiled
from brachiate.cli import app

if compiled.MODE == "off":
    pytest.skip("nothing is compiled", allow_module_level=True)

from brachiate.compiled import store
from brachiate.compiled.jobs import all_code_names, code_names

RUN = """
import json, sys
import brachiate as br
from brachiate.compiled import marks
{script}
print(json.dumps([[f"{{function.__module__}}.{{function.__qualname__}}", signature] for function, signature in marks._LOADED]))
"""
CONTACT = """
world = br.World()
world.add(br.figures.ground(), "floor")
world.add(br.figures.human16(), "man").place((0, 0, 1.0))
world.enable_contact()
br.Simulation(world, dt=0.002).run(0.2, progress=False)
"""


def test_every_entry_point_is_compiled():
    result = CliRunner().invoke(app, ["warmup"])
    assert result.exit_code == 0, result.output
    names = all_code_names()
    assert "brachiate.contact.stepping.run.run_contact_steps" in {name.name for name in names}
    assert [name for name in names if not store.exists(name)] == []


@pytest.mark.parametrize(
    ("jobs", "script"),
    [
        (["check"], "br.check(br.sample_motion('squat', seconds=0.5))"),
        (["filter", "check"], "br.filter_motion(br.sample_motion('walk', seconds=1.0)).check()"),
        (["contact"], CONTACT),
    ],
)
def test_jobs_prepare_what_they_use(jobs, script):
    # Fails if an entry point that a common run needs is compiled in the middle of it, alone.
    done = subprocess.run([sys.executable, "-c", RUN.format(script=script)], capture_output=True, text=True, check=True, timeout=1800)
    loaded = {(name, tuple(signature)) for name, signature in json.loads(done.stdout.splitlines()[-1])}
    assert loaded - {tuple(name) for name in code_names(jobs)} == set()
