"""The command line: parse, call, write. Nothing is computed here."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

import brachiate
from brachiate.errors import ArgumentError, BrachiateError

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown", help=brachiate.__doc__
)
console = Console(emoji=False)  # a colon before and after a word in a path is no picture


def _version(wanted: bool) -> None:
    if wanted:
        console.print(f"brachiate {brachiate.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")] = False,
) -> None:
    """Human figures and humanoid robots that move as a real body could."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for motion, torques, forces, numbers and pictures.")] = Path("demo-output"),
) -> None:
    """Make a walk that was only drawn physically consistent, and show how it was and what became of it."""
    from brachiate.cli.demo import run  # noqa: PLC0415  (only this command needs it)

    if code := run(out, console):
        raise typer.Exit(code)


@app.command()
def figures() -> None:
    """List the built-in figures and things."""
    from brachiate.cli.describe import describe_figures  # noqa: PLC0415  (only this command needs it)

    describe_figures(console)


@app.command()
def model(
    path: Annotated[str, typer.Argument(help="A URDF or MJCF file, or the name of a built-in figure.")],
    draw: Annotated[Path | None, typer.Option(help="Write a picture of it to this file.")] = None,
    strict: Annotated[bool, typer.Option(help="Refuse a file with parts that cannot be represented.")] = False,
) -> None:
    """Show what a model is made of: links, joints, limits, masses."""
    from brachiate.cli.describe import describe  # noqa: PLC0415

    describe(path, draw, strict, console)


@app.command()
def scenes() -> None:
    """List the ready-made scenes."""
    from brachiate.cli.play import list_scenes  # noqa: PLC0415

    list_scenes(console)


@app.command()
def play(
    name: Annotated[str, typer.Argument(help="Of the scene; 'brachiate scenes' lists them.")],
    seconds: Annotated[float | None, typer.Option(help="How long to run it [s].")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the recording to this file (.npz).")] = None,
    picture: Annotated[Path | None, typer.Option(help="Write a strobe picture to this file (.png, .svg, .pdf).")] = None,
    dt: Annotated[float | None, typer.Option(help="Length of a step [s].")] = None,
    integrator: Annotated[str | None, typer.Option(help="euler, rk4, rk8, dormand-prince or bulirsch-stoer.")] = None,
) -> None:
    """Run a ready-made scene, and tell what happens in it."""
    from brachiate.cli.play import play as run  # noqa: PLC0415

    run(name, {"seconds": seconds, "dt": dt, "integrator": integrator}, out, picture, console)


WHOSE = "Whose motion it is, for files without a skeleton: a model file, a name, or the BVH or AMC file that it came from."
# What motion files leave open, said on the command line.
Unit = Annotated[str | None, typer.Option(help="Unit of lengths: m, cm, mm, in, ft, cmu, or metres as a number.")]
Up = Annotated[str | None, typer.Option(help="The axis of the file that points upwards: x, y or z.")]
RestFrame = Annotated[bool | None, typer.Option(help="Whether the first frame is a T-pose to be dropped.")]
Rate = Annotated[float | None, typer.Option(help="Frames a second, where the file does not say it.")]
Bones = Annotated[Path | None, typer.Option(help="The ASF file of an AMC file, or joints at rest (.json, .npz) for AMASS.")]
Frames = Annotated[str | None, typer.Option(help="Which frames, counted from 0: FIRST:END, such as 120:600; 120: is all from there on.")]
Mass = Annotated[float | None, typer.Option(help="Of the body [kg].")]
Height = Annotated[float | None, typer.Option(help="Of the body [m].")]
Sex = Annotated[str, typer.Option(help="male or female: whose proportions of mass.")]
Roles = Annotated[Path | None, typer.Option(help='JSON with names of joints by role, where they do not say it: {"left_knee": "Bone12"}.')]


@app.command()
def motions(
    name: Annotated[str | None, typer.Argument(help="Of the one to write; without it they are listed.")] = None,
    out: Annotated[Path | None, typer.Option(help="The BVH file to write; NAME.bvh if not given.")] = None,
    seconds: Annotated[float | None, typer.Option(help="How long it takes [s].")] = None,
    height: Annotated[float | None, typer.Option(help="Of the person [m].")] = None,
    rate: Annotated[float | None, typer.Option(help="Frames a second.")] = None,
    speed: Annotated[float | None, typer.Option(help="walk, turn: how fast [m/s].")] = None,
    step: Annotated[float | None, typer.Option(help="walk, turn: length of a step [m].")] = None,
    angle: Annotated[float | None, typer.Option(help="turn: how far to the left [deg].")] = None,
    blend: Annotated[float | None, typer.Option(help="turn: how long the turning takes [s].")] = None,
    high: Annotated[float | None, typer.Option(help="jump, kick: how high [m].")] = None,
    far: Annotated[float | None, typer.Option(help="jump: how far forward [m].")] = None,
    side: Annotated[str | None, typer.Option(help="kick: which leg, left or right.")] = None,
    depth: Annotated[float | None, typer.Option(help="squat: how far hips go down [m].")] = None,
    swing: Annotated[float | None, typer.Option(help="hang: how far to either side [deg].")] = None,
    bar: Annotated[float | None, typer.Option(help="hang: height of the bar [m].")] = None,
) -> None:
    """List the ready-made motions, or write one as a BVH file."""
    from brachiate.cli.moves import list_moves, write_move  # noqa: PLC0415

    options = {
        "seconds": seconds, "height": height, "rate": rate, "speed": speed, "step": step, "angle": angle, "blend": blend, "high": high,
        "far": far, "side": side, "depth": depth, "swing": swing, "bar": bar,
    }  # fmt: skip
    if name is None:
        list_moves(console)
    else:
        write_move(name, out, console, **options)


@app.command()
def info(
    path: Annotated[Path, typer.Argument(help="A motion file of any format, or one of markers or force plates.")],
    figure: Annotated[str | None, typer.Option(help=WHOSE)] = None,
    unit: Unit = None,
    up: Up = None,
    rest_frame: RestFrame = None,
    rate: Rate = None,
    skeleton: Bones = None,
    frames: Frames = None,
    mass: Mass = None,
    height: Height = None,
    sex: Sex = "male",
    roles: Roles = None,
    draw: Annotated[Path | None, typer.Option(help="Write a strip of poses to this file.")] = None,
) -> None:
    """Tell what a motion file holds, and what was assumed to read it."""
    from brachiate.cli.motions import info as tell  # noqa: PLC0415

    reading = {"unit": _length(unit), "up": up, "rest_frame": rest_frame, "rate": rate, "skeleton": skeleton, "frames": _slice(frames)}
    tell(path, reading, _body(mass, height, sex, roles), figure, draw, console)


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="A motion file: BVH, AMC, DeepMimic's JSON, NPZ (AMASS's or ours), CSV, MOT or STO.")],
    out: Annotated[Path, typer.Argument(help="What to write: .bvh, .glb, .gltf, .npz, .tracker.npz, .csv, .mot or .sto.")],
    figure: Annotated[str | None, typer.Option(help=WHOSE)] = None,
    to_rate: Annotated[float | None, typer.Option(help="Frames a second to write; by default as many as there are.")] = None,
    order: Annotated[str | None, typer.Option(help="Of joints and bodies in .tracker.npz: depth or breadth.")] = None,
    unit: Unit = None,
    up: Up = None,
    rest_frame: RestFrame = None,
    rate: Rate = None,
    skeleton: Bones = None,
    frames: Frames = None,
    mass: Mass = None,
    height: Height = None,
    sex: Sex = "male",
    roles: Roles = None,
) -> None:
    """Read a motion in one format and write it in another."""
    from brachiate.cli.convert import convert as run  # noqa: PLC0415

    reading = {"unit": _length(unit), "up": up, "rest_frame": rest_frame, "rate": rate, "skeleton": skeleton, "frames": _slice(frames)}
    body = _body(mass, height, sex, roles)
    run(source, out, reading, body, figure, {"rate": to_rate, "order": order}, console)


@app.command()
def check(
    path: Annotated[Path, typer.Argument(help="A motion file: BVH, AMC, DeepMimic's JSON, NPZ (AMASS's or ours), CSV, MOT or STO.")],
    figure: Annotated[str | None, typer.Option(help=WHOSE)] = None,
    ground: Annotated[
        str | None, typer.Option(help="flat:HEIGHT, slope:ANGLE:HEADING or steps:RISE:TREAD:COUNT:START, then ,friction=MU.")
    ] = None,
    contacts: Annotated[Path | None, typer.Option(help="What touches when: a file as --save-contacts writes it.")] = None,
    supports: Annotated[bool | None, typer.Option(help="Whether steps, seats and bars are looked for beside the ground.")] = None,
    cutoff: Annotated[float | None, typer.Option(help="Frequency above which motion is noise [Hz]; 0: none is.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write all numbers to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write forces, residuals and contacts over time as a picture.")] = None,
    save_contacts: Annotated[Path | None, typer.Option(help="Write what was found to touch, as a text that can be changed.")] = None,
    unit: Unit = None,
    up: Up = None,
    rest_frame: RestFrame = None,
    rate: Rate = None,
    skeleton: Bones = None,
    frames: Frames = None,
    mass: Mass = None,
    height: Height = None,
    sex: Sex = "male",
    roles: Roles = None,
) -> None:
    """Tell how far a motion is from what a body can do: forces nobody brings, feet that slide, torques beyond its strength."""
    from brachiate.cli.check import run  # noqa: PLC0415

    reading = {"unit": _length(unit), "up": up, "rest_frame": rest_frame, "rate": rate, "skeleton": skeleton, "frames": _slice(frames)}
    judging = {"ground": ground, "contacts": contacts, "supports": supports}
    judging["cutoff"] = "auto" if cutoff is None else cutoff or None
    files = {"json": json, "plot": plot, "save_contacts": save_contacts}
    run(path, reading, _body(mass, height, sex, roles), figure, judging, files, console)


@app.command()
def retarget(
    path: Annotated[Path, typer.Argument(help="A motion file: BVH, AMC, DeepMimic's JSON, NPZ (AMASS's or ours), CSV, MOT or STO.")],
    to: Annotated[str, typer.Option(help="Who shall do it: the name of a built-in figure, or a URDF or MJCF file.")],
    out: Annotated[Path | None, typer.Option(help="What to write: .npz, .csv, .bvh, .glb, .tracker.npz, ...")] = None,
    to_rate: Annotated[float | None, typer.Option(help="Frames a second of the result; by default as many as there are.")] = None,
    figure: Annotated[str | None, typer.Option(help=WHOSE)] = None,
    map_file: Annotated[Path | None, typer.Option("--map", help="JSON with names of links by role, where they are not found.")] = None,
    contacts: Annotated[Path | None, typer.Option(help="What touches when: a file as check --save-contacts writes it.")] = None,
    draw: Annotated[Path | None, typer.Option(help="Write a strip of poses to this file.")] = None,
    unit: Unit = None,
    up: Up = None,
    rest_frame: RestFrame = None,
    rate: Rate = None,
    skeleton: Bones = None,
    frames: Frames = None,
    mass: Mass = None,
    height: Height = None,
    sex: Sex = "male",
    roles: Roles = None,
) -> None:
    """Move another figure as a motion file says: the same poses, within its limits, feet where they stand."""
    from brachiate.cli.retarget import retarget as run  # noqa: PLC0415

    reading = {"unit": _length(unit), "up": up, "rest_frame": rest_frame, "rate": rate, "skeleton": skeleton, "frames": _slice(frames)}
    body = _body(mass, height, sex, roles)
    run(path, to, out, reading, body, source=figure, rate=to_rate, map_file=map_file, contacts=contacts, draw=draw, console=console)


@app.command("filter")
def filter_(
    motion: Annotated[str, typer.Argument(help="A motion file, as for check; or the name of a ready-made motion: walk, squat, ...")],
    out: Annotated[Path | None, typer.Option(help="Folder for motion, torques, forces, numbers and pictures.")] = None,
    mode: Annotated[
        str,
        typer.Option(
            help="offline: the whole motion is planned first. preview: a second of it is known ahead. online: nothing is, frames come in "
            "one by one. paper: no plan, as first published."
        ),
    ] = "offline",
    strength: Annotated[str, typer.Option(help="Of motors, times what they have; none: no limit.")] = "1",
    friction: Annotated[float | None, typer.Option(help="Of feet and ground; by default that of the ground.")] = None,
    push: Annotated[
        list[str] | None, typer.Option(help="link:x,y,z@time+duration [N, s], such as chest:80,0,0@1.0+0.1; any number.")
    ] = None,
    pushes: Annotated[Path | None, typer.Option(help="A table of pushes (.csv, .json): link,x,y,z,at and lasting, px,py,pz.")] = None,
    load: Annotated[list[str] | None, typer.Option(help="link:mass [kg], such as right_hand:5, that is carried; any number.")] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="link:weight, such as right_hand:100, to keep where the original has it (a joint counts 1); any number."),
    ] = None,
    settings: Annotated[Path | None, typer.Option(help="A file of settings, as 'brachiate tune' writes it.")] = None,
    figure: Annotated[str | None, typer.Option(help=WHOSE)] = None,
    ground: Annotated[
        str | None,
        typer.Option(
            help="To do it on: flat, slope:DEGREES:HEADING, or steps:RISE:TREAD:COUNT:START:HEADING [m], such as slope:10, steps:0.1 "
            "(a kerb) or steps:-0.1:0.4:3 (down), in the way of the motion unless it is said where they start; then ,friction=MU."
        ),
    ] = None,
    made_on: Annotated[str | None, typer.Option(help="That it was made on, likewise; by default level, and found.")] = None,
    contacts: Annotated[Path | None, typer.Option(help="What touches when: a file as check --save-contacts writes it.")] = None,
    show: Annotated[
        bool, typer.Option("--open", help="Open the page of numbers and pictures; without --out they are in MOTION-filtered.")
    ] = False,
    unit: Unit = None,
    up: Up = None,
    rest_frame: RestFrame = None,
    rate: Rate = None,
    skeleton: Bones = None,
    mass: Mass = None,
    height: Height = None,
    sex: Sex = "male",
    roles: Roles = None,
) -> None:
    """Make a motion physically consistent: as near to it as a body can move, with the torques and ground forces that takes."""
    from brachiate.cli.filter import run  # noqa: PLC0415

    reading = {"unit": _length(unit), "up": up, "rest_frame": rest_frame, "rate": rate, "skeleton": skeleton}
    filtering = {
        "ground": ground,
        "mode": mode,
        "strength": strength,
        "friction": friction,
        "push": push or [],
        "load": load or [],
        "keep": keep or [],
    }
    filtering |= {"pushes": pushes, "settings": settings}
    given = {"ground": made_on, "contacts": contacts}
    code = run(motion, reading, _body(mass, height, sex, roles), figure, given, filtering, out, console, show=show)
    if code:
        raise typer.Exit(code)


@app.command()
def tune(
    motions: Annotated[list[str], typer.Argument(help="Motion files, or names of ready-made motions: settings are found for all of them.")],
    trials: Annotated[int, typer.Option(help="How many settings are tried.")] = 40,
    seconds: Annotated[float | None, typer.Option(help="No new one is tried after this time [s].")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the settings to this file (.json), for filter --settings.")] = None,
    strength: Annotated[str, typer.Option(help="Of motors, times what they have; none: no limit.")] = "1",
    mode: Annotated[str, typer.Option(help="offline, preview or online, as for filter.")] = "offline",
) -> None:
    """Search for settings of the filter under which these motions are finished, and followed most closely."""
    from brachiate.cli.tune import run  # noqa: PLC0415

    run(motions, trials, seconds, strength, mode, out, console)


def _body(mass: float | None, height: float | None, sex: str, roles: Path | None) -> dict[str, Any]:
    """What is said about the body."""
    from brachiate.cli.describe import roles_in  # noqa: PLC0415

    return {"mass": mass, "height": height, "sex": sex, "roles": roles_in(roles) if roles is not None else None}


def _length(unit: str | None) -> str | float | None:
    """A unit by name, or as a number of metres."""
    try:
        return float(unit) if unit is not None else None
    except ValueError:
        return unit


def _slice(frames: str | None) -> slice | None:
    """Frames from one to before another: ``FIRST:END``, either of which may be left out."""
    if frames is None:
        return None
    match = re.fullmatch(r"\s*(\d*)\s*:\s*(\d*)\s*", frames)
    if not match or match[0].strip() == ":":
        raise ArgumentError(f"--frames {frames}: expected FIRST:END, counted from 0, such as 120:600, 120: or :600.")
    return slice(*(int(word) if word else None for word in match.groups()))


def _hint(message: str, words: list[str]) -> str:
    """Options of the command that was called which a message speaks of by the names they have in Python: ``up='y'``."""
    command = typer.main.get_command(app).commands.get(next(iter(words), ""))  # type: ignore[attr-defined]
    known = {parameter.name: parameter.opts[0] for parameter in command.params if parameter.opts[0].startswith("--")} if command else {}
    meant = [known[name] for name in dict.fromkeys(re.findall(r"\b([a-z_]+)=", message)) if name in known]
    return f" (On the command line: {', '.join(meant)}.)" if meant else ""


@app.command()
def warmup(core: Annotated[bool, typer.Option("--core", help="All but the filter, which takes a minute or two.")] = False) -> None:
    """Compile everything now, so that nothing has to wait later."""
    from brachiate.cli.warmup import warm  # noqa: PLC0415

    warm(console, core)


def main() -> None:
    """Run the command line; an error of ours is one message, not a traceback."""
    try:
        app()
    except BrachiateError as error:
        told = str(error) + _hint(str(error), sys.argv[1:])
        Console(stderr=True, emoji=False).print(f"[bold red]{type(error).__name__}[/]: {escape(told)}", highlight=False, soft_wrap=True)
        sys.exit(1)
