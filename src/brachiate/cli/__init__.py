"""The command line: parse, call, write. Nothing is computed here."""

from __future__ import annotations

import gc
import re
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

import brachiate
from brachiate.cli.encoding import encode_as_words
from brachiate.cli.options import MOTION_HELP, TERRAIN_HELP, MotionInput, reads_motion, torque_scale_of
from brachiate.errors import BrachiateError

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown", help=brachiate.__doc__
)
console = Console(emoji=False)  # a colon before and after a word in a path is no emoji

#: Deprecated options by command, with their new names.
RENAMED_OPTIONS = {
    "check": {"--ground": "--terrain"},
    "filter": {
        "--ground": "--terrain", "--made-on": "--source-terrain", "--strength": "--torque-scale", "--load": "--payload",
        "--keep": "--track-link",
    },
    "motions": {"--step": "--step-length", "--blend": "--turn-duration", "--far": "--distance", "--bar": "--bar-height"},
    "tune": {"--strength": "--torque-scale"},
}  # fmt: skip
CONTACTS_HELP = "Contact labels: a file as check --save-contacts writes it."
TORQUE_SCALE_HELP = "Factor on the joint torque limits; none: no limits."


def _version(wanted: bool) -> None:
    if wanted:
        console.print(f"brachiate {brachiate.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")] = False,
) -> None:
    """Physics for human motion: check, retarget, filter, simulate."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("demo-output"),
) -> None:
    """Filter a sample walk and show the original beside the result."""
    from brachiate.cli.demo import run  # noqa: PLC0415  (only this command needs it)

    if code := run(out, console):
        raise typer.Exit(code)


@app.command()
@reads_motion
def check(
    motion: Annotated[Path, typer.Argument(help=MOTION_HELP)],
    motion_input: MotionInput,
    terrain: Annotated[
        str | None, typer.Option(help=f"Terrain the motion was captured on: {TERRAIN_HELP} Default: level, height inferred.")
    ] = None,
    contacts: Annotated[Path | None, typer.Option(help=CONTACTS_HELP)] = None,
    supports: Annotated[
        str, typer.Option(help="'find': steps, seats and bars are inferred, too; 'ground': not; 'auto': if the terrain is not given.")
    ] = "auto",
    cutoff: Annotated[float | None, typer.Option(help="Low-pass cutoff frequency [Hz]; 0: no smoothing.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write all numbers to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot forces, root residual and contacts over time to this file.")] = None,
    save_contacts: Annotated[Path | None, typer.Option(help="Write the inferred contact labels as editable text.")] = None,
) -> None:
    """Check whether a motion is physically possible: root residual, foot skate, penetration, friction cones, joint torques."""
    from brachiate.cli.check import CheckFiles, run  # noqa: PLC0415

    arguments = {"terrain": terrain, "contacts": contacts, "supports": supports, "cutoff": "auto" if cutoff is None else cutoff or None}
    run(motion_input.load(motion, console), arguments, CheckFiles(json, plot, save_contacts), console)


@app.command()
@reads_motion
def retarget(
    motion: Annotated[Path, typer.Argument(help=MOTION_HELP)],
    motion_input: MotionInput,
    to: Annotated[str, typer.Option(help="Target: a built-in figure by name, or a URDF, MJCF or SDF file.")],
    out: Annotated[Path | None, typer.Option(help="File to write: .npz, .csv, .bvh, .glb, .tracker.npz, ...")] = None,
    to_rate: Annotated[float | None, typer.Option(help="Frame rate of the result [1/s]; default: that of the motion.")] = None,
    map_file: Annotated[Path | None, typer.Option("--map", help="JSON with link names of the target by role, where not found.")] = None,
    contacts: Annotated[Path | None, typer.Option(help=CONTACTS_HELP)] = None,
    draw: Annotated[Path | None, typer.Option(help="Write a strip of poses to this file.")] = None,
) -> None:
    """Retarget a motion to another figure or robot, with foot locking and joint limits."""
    from brachiate.cli.retarget import run  # noqa: PLC0415

    run(motion_input.load(motion, console), to, out, rate=to_rate, map_file=map_file, contacts=contacts, draw=draw, console=console)


@app.command("filter")
@reads_motion
def filter_(
    motion: Annotated[str, typer.Argument(help=f"{MOTION_HELP} Or the name of a sample motion: walk, squat, ...")],
    motion_input: MotionInput,
    out: Annotated[Path | None, typer.Option(help="Folder for motion, torques, forces, metrics and pictures.")] = None,
    mode: Annotated[
        str,
        typer.Option(
            help="offline: the whole clip is planned first. preview: one second is known ahead. online: frames come in one by one. "
            "sampling: joint targets are sampled in simulation, for crawls, rolls and flips. paper: the published method, without a plan."
        ),
    ] = "offline",
    terrain: Annotated[str | None, typer.Option(help=f"Terrain for the result: {TERRAIN_HELP} Default: as captured.")] = None,
    source_terrain: Annotated[str | None, typer.Option(help="Terrain the motion was captured on. Default: level, height inferred.")] = None,
    torque_scale: Annotated[str, typer.Option(help=TORQUE_SCALE_HELP)] = "1",
    friction: Annotated[float | None, typer.Option(help="Friction coefficient; default: that of the terrain.")] = None,
    push: Annotated[
        list[str] | None, typer.Option(help="link:x,y,z@time+duration [N, s], such as chest:80,0,0@1.0+0.1; any number.")
    ] = None,
    pushes: Annotated[
        Path | None, typer.Option(help="Table of pushes (.csv, .json): link,x,y,z,start and optionally duration, px,py,pz.")
    ] = None,
    payload: Annotated[list[str] | None, typer.Option(help="link:mass [kg], such as right_hand:5; any number.")] = None,
    track_link: Annotated[
        list[str] | None,
        typer.Option(help="link:weight, such as right_hand:100 (a joint has weight 1): the pose of this link is tracked; any number."),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="link@start-stop:x,y,z, such as right_hand@1.0-2.0:0.4,-0.2,1.1 [s, m]: the link goes to this point; any number."
        ),
    ] = None,
    settings: Annotated[Path | None, typer.Option(help="Settings file, as 'brachiate tune' writes it.")] = None,
    contacts: Annotated[Path | None, typer.Option(help=CONTACTS_HELP)] = None,
    latency: Annotated[float, typer.Option(help="Delay of mode online [s], for which frames are known ahead; 0 for none.")] = 0.3,
    effort: Annotated[float, typer.Option(help="Factor of the number of rollouts, where joint targets are sampled.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Of the random numbers there.")] = 0,
    retries: Annotated[int, typer.Option(help="Number of further attempts after a fall in mode offline; 0: none.")] = 8,
    budget: Annotated[
        float, typer.Option(help="Work of all attempts together: seconds of one core for each second of the motion, counted by steps.")
    ] = 40.0,
    retime: Annotated[
        float, typer.Option(help="Factor of the duration, such as 1.3: a slower motion needs less torque and friction.")
    ] = 1.0,
    show: Annotated[bool, typer.Option("--open", help="Open report.html in the browser; default folder: MOTION-filtered.")] = False,
) -> None:
    """Make a motion physically consistent: track it in simulation, with the joint torques and ground reaction forces that carry it."""
    from brachiate.cli.filter import FilterArguments, run  # noqa: PLC0415

    arguments = FilterArguments(
        mode=mode, terrain=terrain, source_terrain=source_terrain, torque_scale=torque_scale_of(torque_scale), friction=friction,
        pushes=push or [], push_table=pushes, payloads=payload or [], tracked_links=track_link or [], tasks=task or [],
        settings=settings, contacts=contacts, latency=latency, effort=effort, seed=seed, retries=retries, budget=budget, retime=retime,
    )  # fmt: skip
    if code := run(motion, motion_input, arguments, out, console, show=show):
        raise typer.Exit(code)


@app.command()
def tune(
    motions: Annotated[list[str], typer.Argument(help="Motion files or names of sample motions: one set of settings for all of them.")],
    trials: Annotated[int, typer.Option(help="Number of trials.")] = 40,
    seconds: Annotated[float | None, typer.Option(help="No new trial starts after this time [s].")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the settings to this file (.json), for filter --settings.")] = None,
    torque_scale: Annotated[str, typer.Option(help=TORQUE_SCALE_HELP)] = "1",
    mode: Annotated[str, typer.Option(help="offline, preview or online, as for filter.")] = "offline",
) -> None:
    """Search for filter settings under which these motions finish and are tracked most closely."""
    from brachiate.cli.tune import run  # noqa: PLC0415

    run(motions, trials, seconds, torque_scale_of(torque_scale), mode, out, console)


@app.command()
@reads_motion
def info(
    path: Annotated[Path, typer.Argument(help="A motion file of any format, or one of markers or force plates.")],
    motion_input: MotionInput,
    draw: Annotated[Path | None, typer.Option(help="Write a strip of poses to this file.")] = None,
) -> None:
    """Show what a motion file holds, and what was assumed to read it."""
    from brachiate.cli.info import run  # noqa: PLC0415

    run(path, motion_input, draw, console)


@app.command()
@reads_motion
def convert(
    source: Annotated[Path, typer.Argument(help=MOTION_HELP)],
    out: Annotated[Path, typer.Argument(help="File to write: .bvh, .glb, .gltf, .npz, .tracker.npz, .csv, .mot or .sto.")],
    motion_input: MotionInput,
    to_rate: Annotated[float | None, typer.Option(help="Frame rate to write [1/s]; default: that of the motion.")] = None,
    order: Annotated[str | None, typer.Option(help="Order of joints and bodies in .tracker.npz: depth or breadth.")] = None,
) -> None:
    """Convert a motion from one file format to another."""
    from brachiate.cli.convert import run  # noqa: PLC0415

    run(motion_input.load(source, console), out, {"rate": to_rate, "order": order}, console)


@app.command()
def motions(
    name: Annotated[str | None, typer.Argument(help="Name of the motion to write; without it they are listed.")] = None,
    out: Annotated[Path | None, typer.Option(help="The BVH file to write; default: NAME.bvh.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Duration [s].")] = None,
    height: Annotated[float | None, typer.Option(help="Body height [m].")] = None,
    rate: Annotated[float | None, typer.Option(help="Frame rate [1/s].")] = None,
    speed: Annotated[float | None, typer.Option(help="walk, turn: speed [m/s].")] = None,
    step_length: Annotated[float | None, typer.Option(help="walk, turn: step length [m].")] = None,
    angle: Annotated[float | None, typer.Option(help="turn: angle to the left [deg].")] = None,
    turn_duration: Annotated[float | None, typer.Option(help="turn: duration of the turn [s].")] = None,
    jump_height: Annotated[float | None, typer.Option(help="jump: rise of the hips after takeoff [m].")] = None,
    kick_height: Annotated[float | None, typer.Option(help="kick: height of the ankle at the peak [m].")] = None,
    distance: Annotated[float | None, typer.Option(help="jump: forward distance [m].")] = None,
    side: Annotated[str | None, typer.Option(help="kick: left or right leg.")] = None,
    depth: Annotated[float | None, typer.Option(help="squat: how far the hips go down [m].")] = None,
    swing: Annotated[float | None, typer.Option(help="hang: swing amplitude [deg].")] = None,
    bar_height: Annotated[float | None, typer.Option(help="hang: height of the bar [m].")] = None,
) -> None:
    """List the sample motions, or write one as a BVH file."""
    from brachiate.cli.samples import list_samples, write_sample  # noqa: PLC0415

    options = {
        "seconds": seconds, "height": height, "rate": rate, "speed": speed, "step_length": step_length, "angle": angle,
        "turn_duration": turn_duration, "jump_height": jump_height, "kick_height": kick_height, "distance": distance, "side": side,
        "depth": depth, "swing": swing, "bar_height": bar_height,
    }  # fmt: skip
    if name is None:
        list_samples(console)
    else:
        write_sample(name, out, console, **options)


@app.command()
def figures() -> None:
    """List the built-in figures and objects."""
    from brachiate.cli.models import describe_figures  # noqa: PLC0415

    describe_figures(console)


@app.command()
def model(
    path: Annotated[str, typer.Argument(help="A URDF, MJCF or SDF file, or the name of a built-in figure.")],
    draw: Annotated[Path | None, typer.Option(help="Write a picture of it to this file.")] = None,
    strict: Annotated[bool, typer.Option(help="Refuse a file with parts that cannot be represented.")] = False,
) -> None:
    """Show the links, joints, limits and masses of a model."""
    from brachiate.cli.models import describe  # noqa: PLC0415

    describe(path, draw, strict, console)


@app.command()
def scenes() -> None:
    """List the ready-made scenes."""
    from brachiate.cli.scenes import list_scenes  # noqa: PLC0415

    list_scenes(console)


@app.command()
def play(
    name: Annotated[str, typer.Argument(help="Name of the scene; 'brachiate scenes' lists them.")],
    seconds: Annotated[float | None, typer.Option(help="Duration [s].")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the recording to this file (.npz).")] = None,
    picture: Annotated[Path | None, typer.Option(help="Write a strobe picture to this file (.png, .svg, .pdf).")] = None,
    dt: Annotated[float | None, typer.Option(help="Time step [s].")] = None,
    integrator: Annotated[str | None, typer.Option(help="euler, rk4, rk8, dormand-prince or bulirsch-stoer.")] = None,
) -> None:
    """Run a ready-made scene and report its events."""
    from brachiate.cli.scenes import play as run  # noqa: PLC0415

    run(name, {"seconds": seconds, "dt": dt, "integrator": integrator}, out, picture, console)


@app.command()
def warmup(core: Annotated[bool, typer.Option("--core", help="Everything but the filter, which takes a minute or two.")] = False) -> None:
    """Compile everything now, so that later runs start at once."""
    from brachiate.cli.warmup import warm  # noqa: PLC0415

    warm(console, core)


def _hint(message: str, words: list[str]) -> str:
    """Return the options of the called command that a message mentions by their Python names, such as ``up='y'``."""
    command = typer.main.get_command(app).commands.get(next(iter(words), ""))  # type: ignore[attr-defined]
    known = {parameter.name: parameter.opts[0] for parameter in command.params if parameter.opts[0].startswith("--")} if command else {}
    meant = [known[name] for name in dict.fromkeys(re.findall(r"\b([a-z_]+)=", message)) if name in known]
    return f" (On the command line: {', '.join(meant)}.)" if meant else ""


def _with_new_options(words: list[str], errors: Console) -> list[str]:
    """Replace deprecated options by their new names, with a warning."""
    renamed = RENAMED_OPTIONS.get(next(iter(words), ""), {})
    found = []
    for word in words:
        option, equals, value = word.partition("=")
        if option in renamed:
            errors.print(f"{option} is deprecated and will be removed in 0.3: use {renamed[option]}.", highlight=False)
            word = renamed[option] + equals + value
        found.append(word)
    return found


def main() -> None:
    """Run the command line; an error of ours is one message, not a traceback."""
    gc.set_threshold(20_000)  # modules and recordings are many objects that stay: looking for cycles in them takes a tenth of a command
    encode_as_words()
    errors = Console(stderr=True, emoji=False)
    sys.argv[1:] = _with_new_options(sys.argv[1:], errors)
    try:
        app()
    except BrachiateError as error:
        message = str(error) + _hint(str(error), sys.argv[1:])
        errors.print(f"[bold red]{type(error).__name__}[/]: {escape(message)}", highlight=False, soft_wrap=True)
        sys.exit(1)
