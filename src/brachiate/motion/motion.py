"""Motion: a figure, times, and its configuration at each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from brachiate import rotations, validation
from brachiate.assumptions import Guess
from brachiate.clip.clip import Clip, take_frames
from brachiate.clip.reroot import rooted
from brachiate.errors import ArgumentError, MotionError
from brachiate.figures.skeletal import grow
from brachiate.model.joints import Revolute, Spherical
from brachiate.model.model import Model
from brachiate.motion.contact_labels import Labels
from brachiate.validation import Array


@dataclass(frozen=True)
class Motion:
    """Configurations of a figure over time.

    Args:
        figure: Whose.
        times: Growing [s]: (f,).
        q: Configurations: (f, nq).
        name: What it shows.
        guesses: What was assumed when it was read.
        clip: The clip it was made from, if it was: what its skeleton has beyond the figure (fingers, what a hinge leaves out) is
            written back with it.
        links: Names of the links that joints of the clip's skeleton are, by their place in it.
        captured: Whether it was recorded from a body: then it has noise, and nothing says where the floor is.
        contacts: What touches when, if that is known.
        forces: That act on parts of the body, by their names: force [N], and the point it acts at [m]: (f, 6) each.
    """

    figure: Model
    times: Array
    q: Array
    name: str = "motion"
    guesses: tuple[Guess, ...] = field(default=(), compare=False)
    clip: Clip | None = field(default=None, compare=False, repr=False)
    links: Mapping[int, str] = field(default_factory=dict, compare=False, repr=False)
    captured: bool = field(default=False, compare=False, repr=False)
    contacts: Labels | None = field(default=None, compare=False, repr=False)
    forces: Mapping[str, Array] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_finite(self)
        take_frames(self, {"q": (len(self.times), self.figure.nq)})
        forces = {
            part: validation.frozen(validation.numbers(x, (len(self.times), 6), f"forces of {part}").copy())
            for part, x in self.forces.items()
        }
        object.__setattr__(self, "forces", MappingProxyType(forces))

    def __len__(self) -> int:
        return len(self.times)

    @property
    def duration(self) -> float:
        """From the first frame to the last [s]."""
        return float(self.times[-1] - self.times[0])

    def frames(self, which: slice) -> Motion:
        """Some of the frames."""
        clip = self.clip.frames(which) if self.clip is not None else None
        forces = {part: values[which] for part, values in self.forces.items()}
        return replace(self, times=self.times[which], q=self.q[which], clip=clip, forces=forces)

    def save(self, path: str | PathLike[str], **options: Any) -> Path:
        """Write it in the format that the file's name ends in; see :func:`brachiate.motion.write.write_motion`."""
        from brachiate.motion.write import write_motion  # noqa: PLC0415  (which writes motions, and so needs this file)

        return write_motion(self, path, **options)


def _check_finite(motion: Motion) -> None:
    """Name the first frame and joint whose numbers are none."""
    q = np.asarray(motion.q)
    if q.shape != (len(motion.times), motion.figure.nq) or q.dtype.kind != "f" or np.isfinite(q).all():
        return
    frame, k = (int(i) for i in np.argwhere(~np.isfinite(q))[0])
    joint = next(name for name, joined in motion.figure.joints.items() if joined.q.start <= k < joined.q.stop)
    raise ArgumentError(
        f"q: every number must be finite: joint {joint!r} is {q[frame, k]:g} in frame {frame} of {motion.name}. "
        "Leave such frames out, or fill them."
    )


def motion_of(
    clip: Clip,
    *,
    mass: float | None = None,
    height: float | None = None,
    sex: str = "male",
    roles: Mapping[str, str] | None = None,
) -> Motion:
    """Build the body that goes with a clip, and move it as the clip does. See :func:`brachiate.figures.skeletal.grow`."""
    clip = rooted(clip, roles)
    grown = grow(clip, mass=mass, height=height, sex=sex, roles=roles, name=clip.name)
    q = np.tile(grown.model.neutral, (len(clip), 1))
    for j, name in grown.links.items():
        link = grown.model.links[name]
        if link.joint.nv == 0:
            continue
        place = grown.model.joints[link.joint_name].q
        if j == 0:
            q[:, place] = np.concatenate((clip.places[:, 0], rotations.steady(clip.turns[:, 0])), axis=1)
        elif isinstance(link.joint, Spherical):
            q[:, place] = rotations.steady(clip.turns[:, j])
        elif isinstance(link.joint, Revolute):
            q[:, place] = _angles(clip.turns[:, j], link.joint.elements[0].axis)[:, None]
    return Motion(grown.model, clip.times, q, clip.name, (*clip.guesses, *grown.guesses), clip, grown.links, captured=True)


def _angles(q: Array, axis: Array) -> Array:
    """Angles about an axis, without jumps."""
    return np.unwrap(2.0 * np.arctan2(q[:, 1:] @ axis, q[:, 0]))


def clip_of(motion: Motion) -> Clip:
    """The motion as its skeleton has it: joints as the figure turns them, the rest as it was read."""
    clip = motion.clip
    if clip is None:
        raise MotionError("This motion was not made from a clip, so it has no skeleton of its own.")
    q, places = clip.turns.copy(), clip.places.copy()
    for j, name in motion.links.items():
        link = motion.figure.links[name]
        if link.joint.nv == 0:
            continue
        values = motion.q[:, motion.figure.joints[link.joint_name].q]
        if j == 0:
            places[:, 0], q[:, 0] = values[:, :3], values[:, 3:]
        elif isinstance(link.joint, Spherical):
            q[:, j] = values
        elif isinstance(link.joint, Revolute):
            was = rotations.from_vector(_angles(clip.turns[:, j], link.joint.elements[0].axis)[:, None] * link.joint.elements[0].axis)
            beyond = rotations.product(rotations.inverse(was), clip.turns[:, j])
            q[:, j] = rotations.product(rotations.from_vector(values * link.joint.elements[0].axis), beyond)
    return replace(clip, turns=q, places=places, times=motion.times)
