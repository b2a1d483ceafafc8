"""Options shared by commands: how a motion file is read, and the body that is built for it."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from rich.console import Console

import brachiate as br
from brachiate.errors import ArgumentError, UnknownName

if TYPE_CHECKING:
    from brachiate.motion.motion import Motion

FIGURE_HELP = "Figure of the motion, for files without a skeleton: a model file, a built-in name, or the BVH or AMC file it came from."
MOTION_HELP = "A motion file: BVH, AMC, DeepMimic JSON, NPZ (AMASS or brachiate), CSV, MOT or STO."
TERRAIN_HELP = (
    "flat:HEIGHT, slope:DEGREES:HEADING or stairs:RISE:TREAD:COUNT:START:HEADING [m, deg], then ,friction=MU: such as slope:10, "
    "stairs:0.1 (a curb), stairs:-0.1:0.4:3 (down)."
)


@dataclass(frozen=True)
class MotionInput:
    """What a motion file does not say, and the body: the options of every command that reads a motion."""

    figure: Annotated[str | None, typer.Option(help=FIGURE_HELP)] = None
    unit: Annotated[str | None, typer.Option(help="Unit of length: m, cm, mm, in, ft, cmu, or meters as a number.")] = None
    up: Annotated[str | None, typer.Option(help="Up axis of the file: x, y or z.")] = None
    rest_frame: Annotated[bool | None, typer.Option(help="Whether the first frame is a T-pose to be dropped.")] = None
    repair: Annotated[bool, typer.Option(help="Whether to repair frames in which a joint jumps faster than a body moves.")] = True
    rate: Annotated[float | None, typer.Option(help="Frame rate [1/s], where the file does not say it.")] = None
    skeleton: Annotated[Path | None, typer.Option(help="The ASF file of an AMC file, or joints at rest (.json, .npz) for AMASS.")] = None
    frames: Annotated[str | None, typer.Option(help="Frames to read, counted from 0: FIRST:END, such as 120:600 or 120:.")] = None
    mass: Annotated[float | None, typer.Option(help="Body mass [kg].")] = None
    height: Annotated[float | None, typer.Option(help="Body height [m].")] = None
    sex: Annotated[str, typer.Option(help="male or female: segment mass proportions.")] = "male"
    roles: Annotated[
        Path | None, typer.Option(help='JSON with joint names by role, where names do not say it: {"left_knee": "Bone12"}.')
    ] = None

    def body(self) -> dict[str, Any]:
        """Arguments that describe the body."""
        roles = None
        if self.roles is not None:
            from brachiate.cli.models import load_roles  # noqa: PLC0415  (slow to import)

            roles = load_roles(self.roles)
        return {"mass": self.mass, "height": self.height, "sex": self.sex, "roles": roles}

    def reading(self) -> dict[str, Any]:
        """Arguments that describe the file; only those given."""
        found = {
            "unit": _unit(self.unit), "up": self.up, "rest_frame": self.rest_frame, "rate": self.rate, "skeleton": self.skeleton,
            "frames": _slice(self.frames), "repair": None if self.repair else False,
        }  # fmt: skip
        return {name: value for name, value in found.items() if value is not None}

    def load(self, path: str | Path, console: Console) -> Motion:
        """Read a motion file."""
        model = None
        if self.figure is not None:
            from brachiate.cli.models import figure_called  # noqa: PLC0415

            model = figure_called(self.figure, console)
        return br.load_motion(path, model, **self.body(), **self.reading())

    def load_or_sample(self, name: str, console: Console) -> Motion:
        """Read a motion file, or make a sample motion by its name."""
        if name in br.procedural.SAMPLE_MOTIONS and not Path(name).exists():
            if self.figure is not None:
                raise ArgumentError(f"{name!r} is a sample motion with a figure of its own: --figure is for files without a skeleton.")
            for option in self.reading():
                if option != "frames":
                    raise ArgumentError(f"{name!r} is a sample motion: --{option.replace('_', '-')} is for files. Leave it out.")
            size = {} if self.height is None else {"height": self.height}
            motion = br.Motion.from_clip(br.procedural.make_clip(name, **size), **{**self.body(), "height": None})
            frames = _slice(self.frames)
            return motion if frames is None else motion.frames(frames)
        path = br.procedural.deepmimic_clips().get(name, Path(name))
        if not path.exists() and "." not in name and "/" not in name:
            raise UnknownName("file or sample motion", name, br.procedural.SAMPLE_MOTIONS, "this folder or package")
        return self.load(path, console)


def reads_motion(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of :class:`MotionInput` in place of its parameter ``motion_input``."""
    hints = get_type_hints(command, include_extras=True)
    own = [parameter for name, parameter in inspect.signature(command).parameters.items() if name != "motion_input"]
    shared = get_type_hints(MotionInput, include_extras=True)
    defaults = {name: field.default for name, field in MotionInput.__dataclass_fields__.items()}
    kind = inspect.Parameter.KEYWORD_ONLY

    @functools.wraps(command)
    def with_options(**values: Any) -> Any:
        motion_input = MotionInput(**{name: values.pop(name) for name in shared})
        return command(**values, motion_input=motion_input)

    parameters = [parameter.replace(annotation=hints[parameter.name], kind=kind) for parameter in own]
    parameters += [inspect.Parameter(name, kind, default=defaults[name], annotation=hint) for name, hint in shared.items()]
    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del with_options.__wrapped__  # type: ignore[attr-defined]
    return with_options


def torque_scale_of(text: str) -> float | None:
    """Parse ``--torque-scale``: a factor on the torque limits, or ``none``."""
    if text.strip().lower() == "none":
        return None
    try:
        factor = float(text)
    except ValueError:
        factor = float("nan")
    if not factor > 0.0:
        raise ArgumentError(f"--torque-scale: expected a number above 0, or none for no torque limits, got {text!r}.")
    return factor


def _unit(unit: str | None) -> str | float | None:
    """Parse a unit: a name, or meters as a number."""
    try:
        return float(unit) if unit is not None else None
    except ValueError:
        return unit


def _slice(frames: str | None) -> slice | None:
    """Parse ``FIRST:END``, either of which may be left out."""
    if frames is None:
        return None
    match = re.fullmatch(r"\s*(\d*)\s*:\s*(\d*)\s*", frames)
    if not match or match[0].strip() == ":":
        raise ArgumentError(f"--frames {frames}: expected FIRST:END, counted from 0, such as 120:600, 120: or :600.")
    return slice(*(int(word) if word else None for word in match.groups()))
