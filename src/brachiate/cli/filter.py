"""``brachiate filter``: load a motion, filter it, compare the result with the original, and write files."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from brachiate.cli.options import MotionInput
from brachiate.cli.preload import preload
from brachiate.cli.tables import print_assumptions, table_of
from brachiate.errors import ArgumentError, StateError
from brachiate.evaluation.metric_names import COMPARED, compare
from brachiate.filter.offline import BUDGET, MAX_RETRIES, filter_motion
from brachiate.filter.online.dynamics_filter import LATENCY
from brachiate.filter.reference.payloads import parse_payloads, parse_tracked_links
from brachiate.filter.results.result import FilterResult
from brachiate.filter.sampling.run_sampling import SAMPLING
from brachiate.filter.settings import load_settings
from brachiate.filter.tasks.task import parse_tasks
from brachiate.filter.tracking.disturbances import Push, load_pushes, parse_push
from brachiate.io.atomic import check_writable
from brachiate.motion.motion import Motion
from brachiate.show.plots import MISSING, is_available

FELL = 3  # exit code
FILES = {
    "motion.npz": "motion, contacts and contact forces",
    "motion.bvh": "motion, for Blender and others",
    "torques.csv": "joint torques",
    "forces.csv": "ground reaction forces",
    "metrics.json": "all metrics",
    "plot.png": "center of mass and ground reaction force",
    "poses.png": "poses: original above, filtered below",
    "report.html": "metrics and pictures on one page",
}
#: Modules that the pictures of a result need, and their import takes long.
PICTURES_NEED = ("matplotlib.pyplot",)
DEVIATIONS_SHOWN = 6
#: Arguments without an option of their own name.
OPTION_NAMES = {"terrain": "--source-terrain", "smooth": "make_reference(smooth=...)", "cutoff": "check(cutoff=...)"}


@dataclass(frozen=True)
class FilterArguments:
    """Options of the command, besides those of the motion file."""

    mode: str = "offline"
    terrain: str | None = None
    source_terrain: str | None = None
    torque_scale: float | None = 1.0
    friction: float | None = None
    pushes: list[str] = field(default_factory=list)  # texts
    push_table: Path | None = None
    payloads: list[str] = field(default_factory=list)
    tracked_links: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    settings: Path | None = None
    contacts: Path | None = None
    latency: float = LATENCY
    effort: float = 1.0
    seed: int = 0
    retries: int = MAX_RETRIES
    budget: float = BUDGET
    retime: float = 1.0

    def all_pushes(self, motion: Motion) -> list[Push]:
        """Pushes of the options and of the table."""
        table = [] if self.push_table is None else load_pushes(self.push_table, motion.figure.links)
        return [*(parse_push(text) for text in self.pushes), *table]


def run(name: str, motion_input: MotionInput, arguments: FilterArguments, out: Path | None, console: Console, *, show: bool = False) -> int:
    """Filter a motion, print the comparison, and write files; returns the exit code."""
    out = Path(f"{Path(name).stem}-filtered") if show and out is None else out
    if arguments.mode == "online" and (arguments.source_terrain is not None or arguments.contacts is not None):
        raise ArgumentError("--mode online: nothing is known of the motion in advance. Leave out --source-terrain and --contacts.")
    options = {
        "mode": arguments.mode,
        "terrain": arguments.terrain,
        "source_terrain": arguments.source_terrain,
        "contacts": arguments.contacts,
        "torque_scale": arguments.torque_scale,
        "friction": arguments.friction,
        "payloads": parse_payloads(arguments.payloads),
        "tracked_links": parse_tracked_links(arguments.tracked_links),
        "tasks": parse_tasks(arguments.tasks),
        "settings": None if arguments.settings is None else load_settings(arguments.settings),
        "latency": arguments.latency,
        "effort": arguments.effort,
        "seed": arguments.seed,
        "retries": arguments.retries,
        "budget": arguments.budget,
        "retime": arguments.retime,
    }
    if out is not None and not is_available():
        console.print(f"{escape(MISSING)} Everything else is written.", highlight=False, soft_wrap=True)
    if out is not None:
        check_writable(out, "the results", folder=True)
    motion = motion_input.load_or_sample(name, console)
    if out is not None:
        preload(*PICTURES_NEED)
    result = filter_motion(motion, pushes=arguments.all_pushes(motion), progress=True, **options)
    print_result(result, arguments.mode, console)
    if out is not None:
        write_files(result, out, console, show=show)
    return 0 if result.success else FELL


def print_result(result: FilterResult, mode: str, console: Console) -> None:
    """Print assumptions, the comparison of original and result, and what limited the tracking."""
    print_assumptions(result.reference.assumptions, console, OPTION_NAMES)
    print_comparison(result, mode, console)
    print_lines(summary_lines(result), console)
    if mode == SAMPLING:
        print_lines([("Contacts", contacts_line(result))], console)


def print_comparison(result: FilterResult, mode: str, console: Console, keys: Sequence[str] = COMPARED) -> None:
    """Print the outcome, and the metrics of original and result."""
    motion, reference = result.motion, result.reference
    lasted = reference.times[-1] - reference.times[0]
    outcome = "[green]finished[/]" if result.failure is None else f"[bold red]{escape(str(result.failure))}[/]"
    console.print(
        f"\n[bold]{escape(motion.name)}[/]: {lasted:.2f} s filtered {mode} in {1000 * reference.dt:g} ms steps: {outcome}\n",
        highlight=False,
        soft_wrap=True,
    )
    table = table_of("", {"": "left", " ": "left", "original": "right", "filtered": "right"})
    for row in compare(*result.summaries, keys):
        table.add_row(*map(escape, row))
    console.print(table)
    console.print()


def print_lines(lines: Sequence[tuple[str, str]], console: Console) -> None:
    """Print labelled lines."""
    for label, text in lines:
        console.print(f"[bold]{label:12}[/] {escape(text)}", highlight=False, soft_wrap=True)


def summary_lines(result: FilterResult) -> list[tuple[str, str]]:
    """Lines below the table: tracking, residual of the steps, feasibility, torques, deviations."""
    t = result.tracking
    lines = [] if not result.attempts else [("Attempts", attempts_line(result))]
    lines += [
        (
            "Tracking",
            f"MPJPE {t['mpjpe_global_cm']:.1f} cm (root-aligned {t['mpjpe_root_aligned_cm']:.1f} cm), joint angles "
            f"{t['joint_rms_deg']:.1f}° RMS, root drift {t['drift_max_cm']:.1f} cm max",
        ),
        ("Residual", residual_line(result)),
    ]
    if result.feasibility is not None:
        lines.append(("Feasibility", str(result.feasibility)))
    if result.tasks:
        lines.append(("Tasks", ("\n" + " " * 13).join(str(task) for task in result.tasks.values())))
    return [*lines, ("Torque", torque_line(result)), ("Deviations", deviations_line(result))]


def residual_line(result: FilterResult, remark: str = " (the table evaluates a spline through the frames)") -> str:
    """Root residual of the simulation steps; ``remark`` is added to the numbers."""
    if result.remark:
        return result.remark
    try:
        force, moment = result.root_residual()
    except StateError as problem:
        return f"not available: {problem}"
    return f"{force:.0e} N, {moment:.0e} N·m at most over the simulation steps{remark}"


def attempts_line(result: FilterResult) -> str:
    """What was tried."""
    return ("\n" + " " * 13).join(f"{attempt}{' - kept' if attempt.kept else ''}" for attempt in result.attempts)


def torque_line(result: FilterResult) -> str:
    """Largest joint torques, as shares of their limits."""
    largest = sorted(result.peak_torque_shares.items(), key=lambda item: -item[1])[:4]
    if not largest:
        return "no torque limits are known"
    return "largest shares of the limits: " + ", ".join(
        f"{name} {result.peak_torques[name]:.0f} N·m ({100 * share:.0f} %)" for name, share in largest
    )


def deviations_line(result: FilterResult) -> str:
    """The longest deviations from the reference, in order of time."""
    longest = sorted(result.deviations, key=lambda deviation: deviation.start - deviation.end)[:DEVIATIONS_SHOWN]
    if not longest:
        return "none"
    texts = [str(deviation) for deviation in sorted(longest, key=lambda deviation: deviation.start)]
    more = len(result.deviations) - len(longest)
    return ("\n" + " " * 13).join([*texts, *([f"({more} more in metrics.json)"] if more else [])])


def contacts_line(result: FilterResult) -> str:
    """Contacts that were found, by link: from the first time to the last, and for how long together."""
    times: dict[str, list[tuple[float, float]]] = {}
    for contact in result.motion.contacts.contacts if result.motion.contacts is not None else ():
        times.setdefault(contact.part, []).append((contact.start, contact.end))
    texts = [
        f"{link} {sum(end - start for start, end in spans):.1f} s within {min(spans)[0]:.1f}-{max(end for _, end in spans):.1f} s"
        for link, spans in times.items()
    ]
    return ", ".join(texts) or "none"


def write_files(result: FilterResult, out: Path, console: Console, *, show: bool) -> None:
    """Write the results; open the report if asked."""
    with console.status("writing ..."):
        written = result.save(out)
    console.print()
    for path in written:
        console.print(f"  {escape(str(path))}  [dim]{FILES[path.name]}[/]", highlight=False, soft_wrap=True)
    if show and not open_in_browser(out / "report.html"):
        console.print(f"No display found: open {escape(str(out / 'report.html'))} in a browser.", highlight=False, soft_wrap=True)


def open_in_browser(path: Path) -> bool:
    """Open a page in the browser, if there is a display; a text browser would take over the terminal."""
    display = sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    try:
        return display and webbrowser.open(path.resolve().as_uri())
    except webbrowser.Error:
        return False
