"""Settings tuned to some motions, from the command line: every clip before and after, what matters, and a file."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from brachiate.cli.describe import table_of
from brachiate.cli.filter import motion_called, strength_of
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tuning import FEWEST, Tuned, tune, value_of

ANYBODY = {"mass": None, "height": None, "sex": "male", "roles": None}


def run(names: list[str], trials: int, seconds: float | None, strength: str, mode: str, out: Path | None, console: Console) -> None:
    """Tune, tell, and write."""
    factor = strength_of(strength)
    with console.status("reading ..."):
        motions = [motion_called(name, {}, ANYBODY, None, console) for name in names]
    tuned = tune(motions, trials=trials, seconds=seconds, strength=factor, mode=mode)
    tell(tuned, console)
    if out is not None:
        tuned.save(out)
        console.print(f"  {escape(str(out))}  [dim]for brachiate filter --settings[/]", highlight=False, soft_wrap=True)


def tell(tuned: Tuned, console: Console) -> None:
    """Print clips before and after, and settings."""
    table = table_of("joints from where they were", {"clip": "left", "default": "left", "tuned": "left"})
    for name, before in tuned.default.items():
        table.add_row(escape(name), str(before), str(tuned.tuned[name]))
    console.print(table)
    usual = FilterSettings()
    table = table_of("settings", {"setting": "left", "default": "right", "tuned": "right", "matters": "right"})
    for name in tuned.matters or tuned.found["searched"]:
        share = f"{100 * tuned.matters[name]:.0f} %" if tuned.matters else "-"
        table.add_row(name, f"{value_of(usual, name):.4g}", f"{value_of(tuned.settings, name):.4g}", share)
    console.print(table)
    if not tuned.matters:
        console.print(f"What matters can be told from {FEWEST} trials on that differ.", highlight=False)
    console.print(
        f"Trial {tuned.found['best']} of {tuned.trials} was the best."
        if tuned.better
        else f"Nothing in {tuned.trials} trials was better than the defaults by 1 %: they are kept.",
        highlight=False,
    )
