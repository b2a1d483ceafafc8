"""Motion: a figure, times, and its configuration at each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import rotations, validation
from brachiate.assumptions import Assumption
from brachiate.clip.clip import Clip, check_selection, freeze_frames
from brachiate.clip.reroot import reroot_at_pelvis
from brachiate.deprecation import renamed_attribute, warn_renamed
from brachiate.errors import ArgumentError, MotionError
from brachiate.figures.skeleton_model import build_skeleton_model
from brachiate.model.data import STANDARD_GRAVITY
from brachiate.model.joints import Revolute, Spherical
from brachiate.model.model import Model
from brachiate.motion.contact_labels import ContactLabels
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.motion.spline import MotionSpline


@dataclass(frozen=True, repr=False)
class Motion:
    """Configurations of a figure over time. Edits return a new motion; the frames of a motion never change.

    Args:
        figure: Model of the figure that moves.
        times: Times of the frames, increasing [s]: (f,).
        q: Configurations: (f, nq).
        name: Name of the motion.
        assumptions: Assumptions made when it was loaded.
        clip: The clip it was made from, if any: what its skeleton has beyond the figure (fingers, rotations that a hinge leaves out) is
            written back with it.
        links: Names of the links that correspond to joints of the clip's skeleton, by joint index.
        captured: Whether it was recorded from a body: then it is noisy, and the height of the floor is unknown.
        contacts: Contact labels, if known.
        forces: External forces by the part they act on: force [N] and point of application [m]: (f, 6) each.
    """

    figure: Model
    times: Array
    q: Array
    name: str = "motion"
    assumptions: tuple[Assumption, ...] = field(default=(), compare=False)
    clip: Clip | None = field(default=None, compare=False, repr=False)
    links: Mapping[int, str] = field(default_factory=dict, compare=False, repr=False)
    captured: bool = field(default=False, compare=False, repr=False)
    contacts: ContactLabels | None = field(default=None, compare=False, repr=False)
    forces: Mapping[str, Array] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_parts(self)
        _check_finite(self)
        freeze_frames(self, {"q": (np.size(self.times), self.figure.nq)})
        forces = {
            part: validation.frozen_numbers(x, (len(self.times), 6), f"forces of {part}")
            for part, x in validation.mapping(self.forces, "forces", "arrays by part").items()
        }
        object.__setattr__(self, "forces", MappingProxyType(forces))

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        """Return name, figure, number of frames, duration and frame rate in one line."""
        rate = f", {(len(self) - 1) / self.duration:.4g} Hz" if len(self) > 1 else ""
        return f"<Motion {self.name!r} of {self.figure.name!r}: {len(self)} frame{'s' * (len(self) != 1)}, {self.duration:.4g} s{rate}>"

    @classmethod
    def from_clip(
        cls,
        clip: Clip,
        *,
        mass: float | None = None,
        height: float | None = None,
        sex: str = "male",
        roles: Mapping[str, str] | None = None,
    ) -> Motion:
        """Return the motion of a body that is built for the skeleton of a clip.

        Args:
            clip: Skeleton and joint rotations over time.
            mass: Mass of the body [kg]; by default that of a lean person of its height.
            height: Stature of the body [m]; by default from the length of the legs.
            sex: ``"male"`` or ``"female"``: selects the mass distribution.
            roles: Names of joints by anatomical role (``{"left_knee": "Bone12"}``), where the joint names do not say it.
        """
        if not isinstance(clip, Clip):
            raise ArgumentError(f"clip: expected a Clip, such as br.procedural.make_clip('walk'), got {validation.short_repr(clip)}.")
        clip = reroot_at_pelvis(clip, roles)
        body = build_skeleton_model(clip, mass=mass, height=height, sex=sex, roles=roles, name=clip.name)
        q = np.tile(body.model.neutral, (len(clip), 1))
        for j, name in body.links.items():
            link = body.model.links[name]
            if link.joint.nv == 0:
                continue
            columns = body.model.joints[link.joint_name].q
            if j == 0:
                q[:, columns] = np.concatenate((clip.translations[:, 0], rotations.unwrap(clip.rotations[:, 0])), axis=1)
            elif isinstance(link.joint, Spherical):
                q[:, columns] = rotations.unwrap(clip.rotations[:, j])
            elif isinstance(link.joint, Revolute):
                q[:, columns] = _hinge_angles(clip.rotations[:, j], link.joint.elements[0].axis)[:, None]
        return cls(body.model, clip.times, q, clip.name, (*clip.assumptions, *body.assumptions), clip, body.links, captured=True)

    def to_clip(self) -> Clip:
        """Return the motion on the skeleton it was made from: joints as the figure has them, everything else as it was loaded.

        Raises:
            MotionError: The motion was not made from a clip.
        """
        clip = self.clip
        if clip is None:
            raise MotionError("This motion was not made from a clip, so it has no skeleton of its own.")
        q, positions = clip.rotations.copy(), clip.translations.copy()
        for j, name in self.links.items():
            link = self.figure.links[name]
            if link.joint.nv == 0:
                continue
            values = self.q[:, self.figure.joints[link.joint_name].q]
            if j == 0:
                positions[:, 0], q[:, 0] = values[:, :3], values[:, 3:]
            elif isinstance(link.joint, Spherical):
                q[:, j] = values
            elif isinstance(link.joint, Revolute):
                axis = link.joint.elements[0].axis
                hinge = rotations.from_rotation_vector(_hinge_angles(clip.rotations[:, j], axis)[:, None] * axis)
                off_axis = rotations.product(rotations.inverse(hinge), clip.rotations[:, j])
                q[:, j] = rotations.product(rotations.from_rotation_vector(values * axis), off_axis)
        return replace(clip, rotations=q, translations=positions, times=self.times)

    @property
    def duration(self) -> float:
        """Time from the first frame to the last [s]."""
        return float(self.times[-1] - self.times[0])

    @property
    def spline(self) -> MotionSpline:
        """Quintic spline through the frames: configuration, velocity and acceleration at any time."""
        from brachiate.motion.spline import MotionSpline  # noqa: PLC0415  (keeps SciPy's import out of light uses)

        return MotionSpline(self.figure, self.times, self.q)

    def values(self, functions: Mapping[str, Any], *, times: ArrayLike | None = None, derivative: int = 0) -> dict[str, Array]:
        """Functions of the motion over time by name: (f,), of vectors (f, 3), with velocities and accelerations of the spline.

        Args:
            functions: Expressions of :mod:`brachiate.animation`, or Python functions ``lambda s: ...`` of the state; links and joints as
                the figure names them.
            times: When [s]; by default those of the frames.
            derivative: 1 for their rates.
        """
        from brachiate.functions.states import ModelState, States, values_of_states  # noqa: PLC0415  (light uses need none of it)

        if times is None and len(self) == 1:
            zero = np.zeros((1, self.figure.nv))
            states = States(self.times, self.q, zero, zero)
        else:
            states = States(*self.spline.at(self.times if times is None else times))
        return values_of_states(ModelState(self.figure, np.array(STANDARD_GRAVITY)), functions, states, derivative)

    def frames(self, which: slice) -> Motion:
        """Return the motion with some of its frames."""
        check_selection(which, len(self), self.name)
        clip = self.clip.frames(which) if self.clip is not None else None
        forces = {part: values[which] for part, values in self.forces.items()}
        return replace(self, times=self.times[which], q=self.q[which], clip=clip, forces=forces)

    def trim(self, start: float | None = None, end: float | None = None) -> Motion:
        """Return the frames from ``start`` to ``end`` [s], in the motion's own time; None: from the first, to the last frame."""
        from brachiate.motion import edit  # noqa: PLC0415  (edits make motions, and so need this file)

        return edit.trim(self, start, end)

    def resample(self, rate: float, cutoff: float | None = None) -> Motion:
        """Return the motion at another frame rate [Hz], along its spline; see :func:`brachiate.motion.edit.resample`."""
        from brachiate.motion import edit  # noqa: PLC0415

        return edit.resample(self, rate, cutoff)

    def time_warp(self, old: ArrayLike, new: ArrayLike) -> Motion:
        """Return the motion with its times ``old`` moved to ``new`` [s]; see :func:`brachiate.motion.edit.time_warp`."""
        from brachiate.motion import edit  # noqa: PLC0415

        return edit.time_warp(self, old, new)

    def move(self, offset: ArrayLike = (0.0, 0.0), angle: float = 0.0, about: ArrayLike = (0.0, 0.0)) -> Motion:
        """Return the motion rotated about a vertical axis [rad], then translated along the ground [m]."""
        from brachiate.motion import edit  # noqa: PLC0415

        return edit.move(self, offset, angle, about)

    def place(self, position: ArrayLike = (0.0, 0.0), heading: float = 0.0, frame: int = 0) -> Motion:
        """Return the motion moved such that in one frame the root is at a position (2,) [m] and has a heading [rad, from x to y]."""
        from brachiate.motion import edit  # noqa: PLC0415

        return edit.place(self, position, heading, frame)

    def join(self, *others: Motion, blend: float = 0.2, align: bool = True) -> Motion:
        """Return this motion followed by others, blended over ``blend`` [s]; see :func:`brachiate.motion.edit.join`."""
        from brachiate.motion import edit  # noqa: PLC0415

        return edit.join([self, *others], blend, align=align)

    def loop(self, count: int, blend: float = 0.1) -> Motion:
        """Return a cyclic motion repeated ``count`` times; see :func:`brachiate.motion.edit.loop`."""
        from brachiate.motion import edit  # noqa: PLC0415

        return edit.loop(self, count, blend)

    def mirror(self) -> Motion:
        """Return the motion with left and right exchanged; see :func:`brachiate.motion.edit.mirror`."""
        from brachiate.motion import edit  # noqa: PLC0415

        return edit.mirror(self)

    def save(self, path: str | PathLike[str], **options: Any) -> Path:
        """Write the motion in the format of the file's suffix; see :func:`brachiate.motion.write.write_motion`."""
        from brachiate.motion.write import write_motion  # noqa: PLC0415  (which writes motions, and so needs this file)

        return write_motion(self, path, **options)

    guesses = renamed_attribute("guesses", "assumptions")


def _check_parts(motion: Motion) -> None:
    """Raise an error if the figure, the name or the contacts are something else."""
    if not isinstance(motion.figure, Model):
        raise ArgumentError(f"figure: expected a model, such as br.figures.human28(), got {validation.short_repr(motion.figure)}.")
    if not isinstance(motion.name, str):
        raise ArgumentError(f"name: expected a text, got {validation.short_repr(motion.name)}.")
    if motion.contacts is not None and not isinstance(motion.contacts, ContactLabels):
        raise ArgumentError(f"contacts: expected ContactLabels, got {validation.short_repr(motion.contacts)}.")


def _check_finite(motion: Motion) -> None:
    """Raise an error that names the first frame and joint with a value that is not finite."""
    is_array = isinstance(motion.q, np.ndarray) and motion.q.dtype == np.float64
    q = motion.q if is_array else validation.reals(motion.q, "q", f"configurations of {motion.figure.nq} numbers")
    if q.shape != (np.size(motion.times), motion.figure.nq) or q.dtype.kind != "f" or np.isfinite(q).all():
        return
    frame, k = (int(i) for i in np.argwhere(~np.isfinite(q))[0])
    joint = next(name for name, joined in motion.figure.joints.items() if joined.q.start <= k < joined.q.stop)
    raise ArgumentError(
        f"q: every number must be finite: joint {joint!r} is {q[frame, k]:g} in frame {frame} of {motion.name}. "
        "Remove such frames, or fill them."
    )


def _hinge_angles(q: Array, axis: Array) -> Array:
    """Angles of rotations (f, 4) about an axis, continuous over time [rad]: (f,)."""
    return np.unwrap(2.0 * np.arctan2(q[:, 1:] @ axis, q[:, 0]))


def motion_of(clip: Clip, **options: Any) -> Motion:
    """Forward to :meth:`Motion.from_clip`; deprecated."""
    warn_renamed("motion_of", "Motion.from_clip")
    return Motion.from_clip(clip, **options)
