"""Tracking reference of the dynamics filter: configurations with velocities and accelerations, stances and contact labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np

from brachiate.assumptions import Assumption
from brachiate.deprecation import renamed_attribute
from brachiate.evaluation.report import CheckReport
from brachiate.filter.reference.frames_on_demand import Column, MotionOnDemand, OnDemand
from brachiate.intervals import true_intervals
from brachiate.model.model import Model
from brachiate.motion.contact_labels import ContactLabels
from brachiate.motion.motion import Motion
from brachiate.motion.spline import MotionStates
from brachiate.motion.terrain import Terrain
from brachiate.validation import Array


@dataclass(frozen=True)
class Stance:
    """Contact of one link at a fixed foothold over an interval of frames.

    Args:
        link: Name of the link.
        start: First frame.
        end: The frame after the last.
        corners: Contact points of the link, link axes: (k, 3) [m]. All stances of a foot have the same four: heel right, heel left,
            toe right, toe left. A hand or a knee has one.
        corner_contact: Corners in contact in each frame: (end - start, k).
        position: Position of the link while all corners are in contact: (3,) [m].
        rotation: Orientation of the link then: (3, 3).
        kind: ``"support"`` or ``"grip"``, as in contact labels.
        height: Height of the supporting surface above the world origin [m], at the link; of a grip, height of the point.
    """

    link: str
    start: int
    end: int
    corners: Array
    corner_contact: Array
    position: Array
    rotation: Array
    kind: str = "support"
    height: float = 0.0

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def corner_positions(self) -> Array:
        """Positions of the corners at the foothold: (k, 3) [m], world axes."""
        return self.position + self.corners @ self.rotation.T

    bears = renamed_attribute("bears", "corner_contact")
    places = renamed_attribute("places", "corner_positions")
    how = renamed_attribute("how", "kind")


class PreprocessDisplacement(NamedTuple):
    """Distance of joint centers between the reference and the original motion."""

    rms: float  # [cm] over all joints and frames
    mean: float  # [cm] over all joints and frames (MPJPE)
    max: float  # [cm]
    link: str  # link of the joint with the largest distance
    time: float  # [s] and its time

    def __str__(self) -> str:
        """Return one line."""
        return f"mean {self.mean:.1f} cm, max {self.max:.1f} cm ({self.link} at {self.time:.2f} s)"


class SourceCheck(NamedTuple):
    """What a result needs of the check report of its source motion, which itself needs kilobytes a frame."""

    summary: Mapping[str, float]
    times: Array  # (f,) [s]
    required_force: Array  # (f, 3) [N] external force that the motion requires
    weight: float  # [N]

    @classmethod
    def of(cls, report: CheckReport) -> SourceCheck:
        """Take it from a report."""
        return cls(report.summary, report.times, report.dynamics.required_wrench[:, :3].copy(), report.dynamics.weight)


class SourceMotion(NamedTuple):
    """Motion that a reference was made from, with the contacts and the terrain that were given for it."""

    motion: Motion
    contacts: ContactLabels | str | PathLike[str] | None = None
    terrain: Terrain | str | None = None
    resampled: bool = False  # whether it is the original of a reference, at its frames and without the skeleton of a file
    checked: SourceCheck | None = None  # by its check report, if known


@dataclass(frozen=True)
class Reference:
    """Motion prepared for tracking: smooth, with every stance foot locked at one foothold.

    Configurations, velocities, accelerations and original motion of a long reference are evaluated whenever they are asked for:
    :meth:`states` and :meth:`original_configurations` evaluate some frames only.

    Args:
        figure: Model of the figure.
        terrain: Terrain under the reference.
        times: Equidistant times: (f,) [s].
        q: Configurations on a smooth curve: (f, nq).
        v: Velocities of this curve: (f, nv).
        a: Accelerations of this curve: (f, nv).
        original: Motion before preprocessing at the same times, moved onto the terrain: tracking errors are measured against it.
        stances: Contacts at fixed footholds, ordered by their start.
        contacts: Contact labels: those of the stances, and contacts without a fixed foothold.
        in_stance: Whether a link is in a stance: (f,) for each link that ever is.
        displacement: Distance of the joints from the original motion.
        assumptions: Assumptions made in preprocessing.
        options: Arguments of :func:`brachiate.filter.reference.preprocess.make_reference` other than terrain and contacts.
        source: Motion that it was made from, as given, with its contacts and terrain.
    """

    figure: Model
    terrain: Terrain
    times: Array
    q: Array
    v: Array
    a: Array
    original: Motion = field(repr=False)
    stances: tuple[Stance, ...] = field(repr=False)
    contacts: ContactLabels = field(repr=False)
    in_stance: dict[str, Array] = field(repr=False)
    displacement: PreprocessDisplacement
    assumptions: tuple[Assumption, ...] = field(default=(), repr=False)
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    source: SourceMotion | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.times)

    @property
    def name(self) -> str:
        """Name of the motion."""
        original = self.__dict__["_original"]
        return original.parts.name if isinstance(original, MotionOnDemand) else original.name

    def states(self, frames: slice) -> MotionStates:
        """Configurations, velocities and accelerations of consecutive frames."""
        return MotionStates(self.times[frames], *(_rows(self.__dict__[name], frames) for name in ("_q", "_v", "_a")))

    def original_configurations(self, frames: slice) -> Array:
        """Configurations of the original motion in consecutive frames: (n, nq)."""
        return _rows(self.__dict__["_original"].q, frames)

    def changed(self, **changes: Any) -> Self:
        """The reference with some fields changed; unlike ``dataclasses.replace``, it does not evaluate the frames of a long one."""
        kept: dict[str, Any] = {name.removeprefix("_"): value for name, value in self.__dict__.items()}
        return type(self)(**{each.name: kept[each.name] for each in fields(self)} | changes)

    def of_figure(self, figure: Model) -> Self:
        """The reference for a figure with the same joints, as one that carries a payload."""
        original = self.__dict__["_original"]
        same = original.of_figure(figure) if isinstance(original, MotionOnDemand) else replace(original, figure=figure)
        return self.changed(figure=figure, original=same)

    @property
    def dt(self) -> float:
        """Frame interval [s]."""
        return float(self.times[1] - self.times[0])

    @property
    def motion(self) -> Motion:
        """The reference as a motion with contact labels, to show, check and save."""
        return Motion(self.figure, self.times, self.q, self.name, self.assumptions, contacts=self.contacts)

    def flights(self) -> list[tuple[float, float]]:
        """Flight phases, without any contact: first and last time of each [s]."""
        airborne = np.ones(len(self), bool)
        for contact in self.contacts.contacts:
            airborne &= ~((self.times >= contact.start - 1e-9) & (self.times <= contact.end + 1e-9))
        return [(float(self.times[start]), float(self.times[end - 1])) for start, end in true_intervals(airborne)]

    ground = renamed_attribute("ground", "terrain")
    labels = renamed_attribute("labels", "contacts")
    on = renamed_attribute("on", "in_stance")
    moved = renamed_attribute("moved", "displacement")
    guesses = renamed_attribute("guesses", "assumptions")
    made = renamed_attribute("made", "options")


class _FrameField:
    """Field of a reference that may be evaluated when it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = f"_{name}"

    def __get__(self, reference: Reference | None, _: type | None = None) -> Any:
        if reference is None:
            return self
        value = reference.__dict__[self._name]
        return value.get() if isinstance(value, OnDemand) else value

    def __set__(self, reference: Reference, value: Any) -> None:
        reference.__dict__[self._name] = value


for _name in ("q", "v", "a", "original"):  # after the class is made: a descriptor in its body would be a default value
    setattr(Reference, _name, _FrameField(_name))


def _rows(table: Array | Column, frames: slice) -> Array:
    """Consecutive rows of a table."""
    return table.rows(frames) if isinstance(table, Column) else table[frames]
