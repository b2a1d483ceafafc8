"""Reference: a motion made ready for the filter, with the places its feet stand on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from brachiate.assumptions import Guess
from brachiate.model.model import Model
from brachiate.motion.contact_labels import Labels
from brachiate.motion.motion import Motion
from brachiate.motion.terrain import Ground
from brachiate.validation import Array


@dataclass(frozen=True)
class Stance:
    """A part that stays in one place for a while.

    Args:
        link: Name of the link.
        start: First frame.
        end: The frame after the last.
        corners: Of the sole, along the link's axes: (k, 3) [m]. The same for all stances of a foot: heel right, heel left, toe right,
            toe left. Of a hand or a knee it is the one point that stays.
        bears: Which of them are on the ground in each frame: (end - start, k).
        position: Of the link while all of them are: (3,) [m].
        rotation: Of the link then: (3, 3).
        how: ``"stands"`` or ``"holds"``, as labels have it.
        height: Of what it stands on, above the world's origin [m], where the link stands; of what it holds, of the point.
    """

    link: str
    start: int
    end: int
    corners: Array
    bears: Array
    position: Array
    rotation: Array
    how: str = "stands"
    height: float = 0.0

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def places(self) -> Array:
        """Where the corners stay: (k, 3) [m], world axes."""
        return self.position + self.corners @ self.rotation.T


class Moved(NamedTuple):
    """How far joints were moved from where they were."""

    rms: float  # [cm] over all joints and frames
    mean: float  # [cm] likewise: the mean distance that trackers report
    max: float  # [cm]
    link: str  # whose joint is moved farthest
    time: float  # [s] and when

    def __str__(self) -> str:
        """Return one line."""
        return f"{self.mean:.1f} cm on the average, {self.max:.1f} cm at most ({self.link} at {self.time:.2f} s)"


@dataclass(frozen=True)
class Reference:
    """A motion whose feet stand exactly where they stand.

    Args:
        figure: Whose.
        ground: What it is on.
        times: Evenly apart [s]: (f,).
        q: Configurations: (f, nq), of a smooth curve.
        v: Its velocities, exactly: (f, nv).
        a: Its accelerations, exactly: (f, nv).
        original: The motion as it was at the same times, moved so that its floor is the ground: what errors are measured against.
        stances: What stays in its place, when and where, in the order in which it begins.
        labels: What touches, as the stances have it; and what touches without staying in its place.
        on: Whether a link is in a stance: (f,) for each that ever is.
        moved: How far joints were moved.
        guesses: What was assumed.
        made: How it was made: what :func:`brachiate.filter.reference.preprocess.clean` was told beside ground and contacts.
    """

    figure: Model
    ground: Ground
    times: Array
    q: Array
    v: Array
    a: Array
    original: Motion = field(repr=False)
    stances: tuple[Stance, ...] = field(repr=False)
    labels: Labels = field(repr=False)
    on: dict[str, Array] = field(repr=False)
    moved: Moved
    guesses: tuple[Guess, ...] = field(default=(), repr=False)
    made: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.times)

    @property
    def dt(self) -> float:
        """From one frame to the next [s]."""
        return float(self.times[1] - self.times[0])

    @property
    def motion(self) -> Motion:
        """The same as a motion, with what touches: to look at, check and save."""
        return Motion(self.figure, self.times, self.q, self.original.name, self.guesses, contacts=self.labels)

    def flights(self) -> list[tuple[float, float]]:
        """From when to when nothing stands or holds [s]."""
        off = np.ones(len(self), bool)
        for label in self.labels.contacts:
            off &= ~((self.times >= label.start - 1e-9) & (self.times <= label.end + 1e-9))
        edges = np.flatnonzero(np.diff(np.concatenate(([0], off.astype(np.int8), [0]))))
        return [(float(self.times[a]), float(self.times[b - 1])) for a, b in zip(edges[::2], edges[1::2], strict=True)]
