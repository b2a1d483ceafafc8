"""Validation of the filter's arguments: reference, world, settings, disturbances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.filter.reference.reference import Reference
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.disturbances import Shove
from brachiate.model.model import Model
from brachiate.world.world import World


def check_given(world: World, figure: str, reference: Reference, settings: FilterSettings | None) -> None:
    """Refuse what no filter could begin with."""
    if not isinstance(reference, Reference):
        raise ArgumentError(f"reference: expected a Reference, as br.clean(motion) gives, got {validation.shown(reference)}.")
    _check_finite(reference)
    _check_figure(world.figure(figure).model, reference.figure, figure)
    check_world(world, figure, settings)


def check_world(world: World, figure: str, settings: FilterSettings | None) -> None:
    """Refuse a world in which nobody could stand, and settings that are none."""
    if settings is not None and not isinstance(settings, FilterSettings):
        raise ArgumentError(f"settings: expected FilterSettings, or what br.load_settings(path) gives, got {validation.shown(settings)}.")
    surfaces = world.surfaces
    if surfaces.touches is None:
        raise ArgumentError("The filter needs a world in which things touch: call world.touch() first.")
    mine = f"{figure}/"
    if not any(one.startswith(mine) != other.startswith(mine) for one, other in surfaces.pairs):
        raise ArgumentError(f"There is nothing that {figure!r} could stand on: world.add(br.figures.ground(), name='floor').")
    if not surfaces.material.friction > 0.0:
        raise ArgumentError(f"friction must be more than 0, got {surfaces.material.friction:g}: without any nobody can walk.")


def kept_of(model: Model, figure: str, keep: Mapping[str, float] | None) -> dict[str, float]:
    """Return weights of links that are to be kept in their places, if all of them can be."""
    given = validation.table({} if keep is None else keep, "keep", "weights by the names of links")
    for link in given:
        validation.named(model.links, link, "link", repr(figure))
    return {link: validation.number(weight, f"keep: weight of {link!r}", above=0.0, most=1e6) for link, weight in given.items()}


def _check_figure(theirs: Model, ours: Model, figure: str) -> None:
    """A figure of the same joints in the same places; masses and motors may be others."""
    other = next((name for name in (*ours.joints, *theirs.joints) if (name in ours.joints) != (name in theirs.joints)), None)
    moved = [
        name for name, link in ours.links.items() if name in theirs.links and not np.allclose(link.position, theirs.links[name].position)
    ]
    if other is not None or list(ours.joints) != list(theirs.joints) or moved:
        what = (
            f"only one of them has the joint {other!r}"
            if other
            else f"{moved[0]!r} is elsewhere"
            if moved
            else "joints are in another order"
        )
        raise ArgumentError(
            f"Figure {figure!r} of the world, {theirs.name!r}, is not that of the reference, {ours.name!r}: {what}. "
            "Add reference.figure to the world, or retarget the motion."
        )


def _check_finite(reference: Reference) -> None:
    """Name the first frame and joint whose numbers are none."""
    for what, table, side in (("place", reference.q, "q"), ("velocity", reference.v, "v"), ("acceleration", reference.a, "v")):
        if not np.isfinite(table).all():
            frame, k = (int(i) for i in np.argwhere(~np.isfinite(table))[0])
            places = {name: getattr(joined, side) for name, joined in reference.figure.joints.items()}
            joint = next(name for name, at in places.items() if at.start <= k < at.stop)
            raise ArgumentError(
                f"reference: every number must be finite: the {what} of joint {joint!r} is {table[frame, k]:g} in frame {frame} "
                f"({reference.times[frame]:.3f} s)."
            )


def check_pushes(pushes: Sequence[Shove], reference: Reference) -> None:
    """Refuse pushes that could never act."""
    if not isinstance(pushes, Sequence) or not all(isinstance(push, Shove) for push in pushes):
        raise ArgumentError(f"pushes: expected a list of br.Shove, or what br.load_pushes(path) gives, got {validation.shown(pushes)}.")
    lasts = float(reference.times[-1] - reference.times[0])
    for push in pushes:
        validation.named(reference.figure.links, push.link, "link", f"figure {reference.figure.name!r}, which is to be pushed")
        if push.at >= lasts:
            raise ArgumentError(f"The push on {push.link!r} at {push.at:g} s would never act: the motion lasts {lasts:g} s.")
