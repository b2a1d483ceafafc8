"""The command line: parse, call, write. Nothing is computed here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

import brachiate
from brachiate.errors import BrachiateError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=brachiate.__doc__)
console = Console()


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
    out: Annotated[Path, typer.Option(help="Folder for the picture and the recording.")] = Path("demo-output"),
    seconds: Annotated[float, typer.Option(help="How long the figure flies [s].")] = 0.92,
) -> None:
    """Throw a human figure into the air, and show what stays constant while it tumbles."""
    from brachiate.cli.demo import run  # noqa: PLC0415  (only this command needs it)

    run(out, seconds, console)


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


@app.command()
def info(
    path: Annotated[Path, typer.Argument(help="A motion file: BVH, AMC (its ASF beside it) or DeepMimic's JSON.")],
    unit: Annotated[str | None, typer.Option(help="Unit of lengths: m, cm, mm, in, ft, cmu, or metres as a number.")] = None,
    up: Annotated[str | None, typer.Option(help="The axis of the file that points upwards: x, y or z.")] = None,
    rest_frame: Annotated[bool | None, typer.Option(help="Whether the first frame is a T-pose to be dropped.")] = None,
    rate: Annotated[float | None, typer.Option(help="Frames a second, where the file does not say it.")] = None,
    skeleton: Annotated[Path | None, typer.Option(help="The ASF file of an AMC file.")] = None,
    mass: Annotated[float | None, typer.Option(help="Of the body [kg].")] = None,
    height: Annotated[float | None, typer.Option(help="Of the body [m].")] = None,
    sex: Annotated[str, typer.Option(help="male or female: whose proportions of mass.")] = "male",
    draw: Annotated[Path | None, typer.Option(help="Write a strip of poses to this file.")] = None,
) -> None:
    """Tell what a motion file holds, and what was assumed to read it."""
    from brachiate.cli.motions import info as tell  # noqa: PLC0415

    reading = {"unit": _length(unit), "up": up, "rest_frame": rest_frame, "rate": rate, "skeleton": skeleton}
    tell(path, reading, {"mass": mass, "height": height, "sex": sex}, draw, console)


def _length(unit: str | None) -> str | float | None:
    """A unit by name, or as a number of metres."""
    try:
        return float(unit) if unit is not None else None
    except ValueError:
        return unit


@app.command()
def warmup() -> None:
    """Compile everything now, so that nothing has to wait later."""
    from brachiate.cli.warm import warm  # noqa: PLC0415

    warm(console)


def main() -> None:
    """Run the command line; an error of ours is one message, not a traceback."""
    try:
        app()
    except BrachiateError as error:
        Console(stderr=True).print(f"[bold red]{type(error).__name__}[/]: {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(1)
