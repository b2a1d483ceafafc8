"""``brachiate tune``: search for filter settings for some motions; every clip before and after, importances, and a file."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from brachiate.cli.options import MotionInput
from brachiate.cli.tables import table_of
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tuning import IMPORTANCE_MIN_TRIALS, TuningResult, setting_value, tune


def run(
    names: list[str], trials: int, seconds: float | None, torque_scale: float | None, mode: str, out: Path | None, console: Console
) -> None:
    """Tune, print, and write."""
    with console.status("reading ..."):
        motions = [MotionInput().load_or_sample(name, console) for name in names]
    tuned = tune(motions, trials=trials, seconds=seconds, torque_scale=torque_scale, mode=mode, progress=True)
    print_tuning(tuned, console)
    if out is not None:
        tuned.save(out)
        console.print(f"  {escape(str(out))}  [dim]for brachiate filter --settings[/]", highlight=False, soft_wrap=True)


def print_tuning(tuned: TuningResult, console: Console) -> None:
    """Print clips before and after, and settings."""
    table = table_of("MPJPE", {"clip": "left", "default": "left", "tuned": "left"})
    for name, before in tuned.default.items():
        table.add_row(escape(name), str(before), str(tuned.tuned[name]))
    console.print(table)
    defaults = FilterSettings()
    table = table_of("settings", {"setting": "left", "default": "right", "tuned": "right", "importance": "right"})
    for name in tuned.importance or tuned.provenance["searched"]:
        share = f"{100 * tuned.importance[name]:.0f} %" if tuned.importance else "-"
        table.add_row(name, f"{setting_value(defaults, name):.4g}", f"{setting_value(tuned.settings, name):.4g}", share)
    console.print(table)
    if not tuned.importance:
        console.print(f"Importances need {IMPORTANCE_MIN_TRIALS} trials with different outcomes.", highlight=False)
    console.print(
        f"Trial {tuned.provenance['best']} of {tuned.trials} was the best."
        if tuned.improved
        else f"None of {tuned.trials} trials was better than the defaults by 1 %: the defaults are kept.",
        highlight=False,
    )
