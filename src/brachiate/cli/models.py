"""``brachiate figures`` and ``brachiate model``: built-in figures, and the links, joints, limits and masses of a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape

import brachiate as br
from brachiate.cli.tables import table_of
from brachiate.errors import MotionFileError, UnknownName
from brachiate.io.json_text import read_json
from brachiate.show.draw import picture

SKELETON_FILES = (".bvh", ".amc")  # motion files that define a body


def built_in(name: str) -> br.Model:
    """A built-in figure by name, with its default size."""
    make = br.figures.FIGURES[name]
    return make(5) if name == "chain" else make()


def describe_figures(console: Console) -> None:
    """Print the built-in figures and objects."""
    table = table_of("", {"name": "left", "what it is": "left", "links": "right", "dof": "right", "mass [kg]": "right"})
    for name, make in br.figures.FIGURES.items():
        model = built_in(name)
        about = (make.__doc__ or "").split("\n")[0].rstrip(".").replace("`", "")
        table.add_row(name, escape(about), str(len(model.links)), str(model.nv), f"{model.mass:.3g}")
    console.print(table)


def describe(path: str, draw: Path | None, strict: bool, console: Console) -> None:
    """Print links, joints, limits and masses of a file or a built-in figure."""
    if path in br.figures.FIGURES:
        model = built_in(path)
    elif "." not in path and "/" not in path and not Path(path).exists():
        raise UnknownName("file or built-in figure", path, br.figures.FIGURES, "this folder or package")
    else:
        model = br.load_model(path, strict=strict)
    columns = {"link": "left", "parent": "left", "joint": "left", "dof": "right", "limits [°, m]": "left", "mass [kg]": "right"}
    table = table_of(repr(model).strip("<>"), columns)
    for link in model.links.values():
        parent = escape(link.parent or "-")
        table.add_row(escape(link.name), parent, link.joint.type, str(link.joint.nv), escape(_limits(link.joint)), f"{link.mass:.3f}")
    console.print(table)
    for what, things in (("loops", model.loops), ("couplings", model.couplings), ("actuators", model.actuators), ("sites", model.sites)):
        if things:
            names = [thing if isinstance(thing, str) else thing.name for thing in things]
            console.print(f"[bold]{what}[/] ({len(names)}): {escape(', '.join(names))}", highlight=False)
    if draw is not None:
        picture([(br.Data(model), model.poses.get("reference", model.neutral))], draw)
        console.print(f"  {escape(str(draw))}  [dim]picture[/]")


def _limits(joint: br.Joint) -> str:
    if joint.cone is not None:
        return f"swing {np.rad2deg(joint.cone.swing):.0f}, twist {_range(*np.rad2deg(joint.cone.twist))}"
    turns = [bool(element.axis.any()) and element.kind == 0 for element in joint.elements]
    if len(turns) != joint.nv or np.isinf([joint.lower, joint.upper]).all():
        return "-" if joint.nv else ""
    scales = [180 / np.pi if turn else 1.0 for turn in turns]
    rows = zip(joint.lower, joint.upper, scales, turns, strict=True)
    return ", ".join(_range(low * scale, high * scale, 0 if turn else 2) for low, high, scale, turn in rows)


def _range(low: float, high: float, digits: int = 0) -> str:
    return "-" if np.isinf([low, high]).all() else f"{low:.{digits}f} to {high:.{digits}f}"


def load_roles(path: Path) -> dict[str, str]:
    """Names of links or joints by role, from a JSON file such as ``{"left_knee": "link7"}``."""
    content = read_json(path, "a map of roles", MotionFileError)
    if not isinstance(content, dict) or not all(isinstance(value, str) for value in content.values()):
        raise MotionFileError(f'{path}: expected names of links or joints by role, such as {{"left_knee": "link7"}}.')
    return content


def figure_called(name: str, console: Console) -> br.Model:
    """A built-in figure, or one from a file; a robot fixed to the world in its file gets a floating base.

    A motion file that brings a skeleton is the body that is built for it.
    """
    if name in br.figures.FIGURES:
        return built_in(name)
    if Path(name).suffix.lower() in SKELETON_FILES:
        return br.load_motion(name).figure
    if "." not in name and "/" not in name and not Path(name).exists():
        raise UnknownName("file or built-in figure", name, br.figures.FIGURES, "this folder or package")
    model = br.load_model(name)
    if any(isinstance(link.joint, br.Free) for link in model.links.values()):
        return model
    console.print(f"{escape(name)} is fixed to the world; it is read as one that moves freely.", highlight=False)
    return br.load_model(name, floating_base=True)
