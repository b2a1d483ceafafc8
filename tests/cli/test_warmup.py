"""Warming up: nothing is left to be compiled later."""

import pytest
from typer.testing import CliRunner

import brachiate as br
from brachiate import compiled
from brachiate.cli import app
from brachiate.scenes import make


def signatures() -> dict[str, int]:
    return {f"{door.py_func.__module__}.{door.py_func.__name__}": len(door.signatures) for door in compiled._ENTRIES if _ours(door)}


def _ours(door) -> bool:
    return door.py_func.__module__.startswith("brachiate.")


@pytest.mark.skipif(compiled.MODE == "off", reason="nothing is compiled")
def test_every_door_is_compiled_and_what_runs_later_compiles_nothing():
    # Fails if a door is added that nobody warms up, or if one is called with other types later.
    result = CliRunner().invoke(app, ["warmup"])
    assert result.exit_code == 0, result.output
    before = signatures()
    assert [name for name, count in before.items() if count == 0] == []
    assert "brachiate.contact.stepping.run.run_touching" in before
    make("rocking-block").run(0.01)
    make("highbar").run(0.01)
    world = br.World()
    world.add(br.figures.ground(), "floor")
    world.add(br.figures.box(), "box").place((0, 0, 0.3))
    world.enable_contact()
    assert len(world.contacts) == 0
    assert signatures() == before
