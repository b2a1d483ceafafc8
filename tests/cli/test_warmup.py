"""Command ``brachiate warmup``: compiles every entry point, so that later runs compile nothing."""

import pytest
from typer.testing import CliRunner

import brachiate as br
from brachiate import compiled
from brachiate.cli import app
from brachiate.scenes import make


def signatures() -> dict[str, int]:
    return {f"{entry.py_func.__module__}.{entry.py_func.__name__}": len(entry.signatures) for entry in compiled._ENTRIES if _is_ours(entry)}


def _is_ours(entry) -> bool:
    return entry.py_func.__module__.startswith("brachiate.")


@pytest.mark.skipif(compiled.MODE == "off", reason="nothing is compiled")
def test_every_entry_point_is_compiled_and_later_runs_compile_nothing():
    # Fails if an entry point is added that warmup does not call, or if one is called with other types later.
    result = CliRunner().invoke(app, ["warmup"])
    assert result.exit_code == 0, result.output
    before = signatures()
    assert [name for name, count in before.items() if count == 0] == []
    assert "brachiate.contact.stepping.run.run_contact_steps" in before
    make("rocking-block").run(0.01)
    make("highbar").run(0.01)
    world = br.World()
    world.add(br.figures.ground(), "floor")
    world.add(br.figures.box(), "box").place((0, 0, 0.3))
    world.enable_contact()
    assert len(world.contacts) == 0
    assert signatures() == before
