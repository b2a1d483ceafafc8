"""Anthropometry: mass, length and inertia of the segments of a human body.

The data are those of P. de Leva, "Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters", Journal of
Biomechanics 29(9):1223-1230, 1996, Table 4 [DL]: gamma-ray scans of 100 men and 15 women, all young and athletic, with
lengths between joint centers. Children, elderly and obese people differ from a scaled copy of them.

A segment's axes are those of a standing body: x forward, y left, z up. Its origin is the landmark it starts at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.validation import Array

SEXES = ("male", "female")
#: Stature [m] and mass [kg] of the people measured [DL] Table 4.
STATURE: Mapping[str, float] = {"male": 1.741, "female": 1.735}
BODY_MASS: Mapping[str, float] = {"male": 73.0, "female": 61.9}

#: Valid heights and masses: beyond them a scaled adult is meaningless.
HEIGHTS = (0.5, 2.5)  # [m]
MASSES = (5.0, 300.0)  # [kg]


class Row(NamedTuple):
    """One line of [DL] Table 4 for one sex."""

    length: float  # [mm], of the mean body
    mass: float  # [% of body mass]
    center: float  # [% of length] from the first landmark
    sagittal: float  # radii of gyration [% of length] about the axis from back to front,
    transverse: float  # about the axis from side to side,
    longitudinal: float  # and about the segment's own length


class Span(NamedTuple):
    """Landmarks of a segment, its direction in a standing body, and its two rows of the table."""

    start: str
    end: str
    along: tuple[float, float, float]
    male: Row
    female: Row


_DOWN, _FORWARD = (0.0, 0.0, -1.0), (1.0, 0.0, 0.0)

# [DL] Table 4, upper part.
TABLE: Mapping[str, Span] = {
    "head": Span("vertex", "middle of the jaw angles", _DOWN,
        Row(203.3, 6.94, 59.76, 36.2, 37.6, 31.2), Row(200.2, 6.68, 58.94, 33.0, 35.9, 31.8)),
    "trunk": Span("suprasternale", "middle of the hips", _DOWN,
        Row(531.9, 43.46, 44.86, 37.2, 34.7, 19.1), Row(529.3, 42.57, 41.51, 35.7, 33.9, 17.1)),
    "upper_trunk": Span("suprasternale", "xiphion", _DOWN,
        Row(170.7, 15.96, 29.99, 71.6, 45.4, 65.9), Row(142.5, 15.45, 20.77, 74.6, 50.2, 71.8)),
    "middle_trunk": Span("xiphion", "navel", _DOWN,
        Row(215.5, 16.33, 45.02, 48.2, 38.3, 46.8), Row(205.3, 14.65, 45.12, 43.3, 35.4, 41.5)),
    "lower_trunk": Span("navel", "middle of the hips", _DOWN,
        Row(145.7, 11.17, 61.15, 61.5, 55.1, 58.7), Row(181.5, 12.47, 49.20, 43.3, 40.2, 44.4)),
    "upper_arm": Span("shoulder", "elbow", _DOWN,
        Row(281.7, 2.71, 57.72, 28.5, 26.9, 15.8), Row(275.1, 2.55, 57.54, 27.8, 26.0, 14.8)),
    "forearm": Span("elbow", "wrist", _DOWN,
        Row(268.9, 1.62, 45.74, 27.6, 26.5, 12.1), Row(264.3, 1.38, 45.59, 26.1, 25.7, 9.4)),
    "hand": Span("wrist", "third knuckle", _DOWN,
        Row(86.2, 0.61, 79.00, 62.8, 51.3, 40.1), Row(78.0, 0.56, 74.74, 53.1, 45.4, 33.5)),
    "thigh": Span("hip", "knee", _DOWN,
        Row(422.2, 14.16, 40.95, 32.9, 32.9, 14.9), Row(368.5, 14.78, 36.12, 36.9, 36.4, 16.2)),
    "shank": Span("knee", "lateral malleolus", _DOWN,
        Row(434.0, 4.33, 44.59, 25.5, 24.9, 10.3), Row(432.3, 4.81, 44.16, 27.1, 26.7, 9.3)),
    "foot": Span("heel", "tip of the toes", _FORWARD,
        Row(258.1, 1.37, 44.15, 25.7, 24.5, 12.4), Row(228.3, 1.29, 40.14, 29.9, 27.9, 13.9)),
}  # fmt: skip

#: The segments that make up one body: the trunk is either one segment or three.
WHOLE: Mapping[str, int] = {
    "head": 1, "trunk": 1, "upper_arm": 2, "forearm": 2, "hand": 2, "thigh": 2, "shank": 2, "foot": 2,
}  # fmt: skip
TRUNK_PARTS = ("upper_trunk", "middle_trunk", "lower_trunk")

# [DL] Table 4, lower part: other lengths [mm], male and female.
_DISTANCES: Mapping[str, tuple[float, float]] = {
    "neck_to_hips": (603.3, 614.8),  # from the seventh cervical vertebra
    "shoulders_to_hips": (515.5, 497.9),
    "wrist_to_fingertip": (187.9, 170.1),
}


@dataclass(frozen=True, eq=False)
class Segment:
    """Mass properties of a body segment."""

    name: str
    length: float  # [m]
    mass: float  # [kg]
    center: Array  # (3,) [m] center of mass from the segment's first landmark, standing axes
    inertia: Array  # (3,) [kg·m²] principal moments about the center of mass, standing axes


def segment(name: str, height: float = 1.75, mass: float = 70.0, sex: str = "male") -> Segment:
    """Return one segment of a body of this height and mass, scaled from the mean body of the sex.

    Args:
        name: One of ``TABLE``: head, trunk, upper_trunk, middle_trunk, lower_trunk, upper_arm, forearm, hand, thigh, shank,
            foot. The head goes from the top of the skull down; its mass includes the neck. The foot goes from the heel forward.
        height: Stature [m], 0.5 to 2.5.
        mass: Mass of the whole body [kg], 5 to 300.
        sex: ``"male"`` or ``"female"``.
    """
    height, mass, sex = check_body(height, mass, sex)
    span = validation.lookup(TABLE, name, "segment", "a human body")
    row = row_of(span, sex)
    length = row.length / 1000 * height / STATURE[sex]
    m = mass * row.mass / mass_total(sex)
    about_x, about_y, about_z = row.sagittal, row.transverse, row.longitudinal
    if span.along == _FORWARD:
        # The foot's length lies forward; the axis from back to front of the leg's other segments is upright in it.
        about_x, about_z = about_z, about_x
    radii = np.array((about_x, about_y, about_z)) / 100 * length
    return Segment(name, length, m, np.array(span.along) * length * row.center / 100, m * radii**2)


def distance(name: str, height: float = 1.75, sex: str = "male") -> float:
    """Return a distance between landmarks [m]: neck_to_hips, shoulders_to_hips or wrist_to_fingertip."""
    height, _, sex = check_body(height, BODY_MASS["male"], sex)
    pair = validation.lookup(_DISTANCES, name, "distance", "a human body")
    return pair[SEXES.index(sex)] / 1000 * height / STATURE[sex]


def row_of(span: Span, sex: str) -> Row:
    """Return the line of the table for one sex."""
    return span.male if sex == "male" else span.female


def mass_total(sex: str) -> float:
    """Sum of the mass column [%]: 100.00 for men, 99.99 for women. Masses are divided by it so that they add up exactly."""
    return sum(count * row_of(TABLE[name], sex).mass for name, count in WHOLE.items())


def check_body(height: float, mass: float, sex: str) -> tuple[float, float, str]:
    """Return height, mass and sex if they are valid, or raise an error."""
    sex = validation.one_of(sex, SEXES, "sex")
    return _within(height, HEIGHTS, "height", "m"), _within(mass, MASSES, "mass", "kg"), sex


def _within(value: float, bounds: tuple[float, float], what: str, unit: str) -> float:
    result = validation.number(value, what)
    if not bounds[0] <= result <= bounds[1]:
        raise ArgumentError(
            f"{what}: {result:g} {unit} is outside {bounds[0]:g} to {bounds[1]:g} {unit}, the range of scaled adult data. "
            f"Give the {what} in {unit}."
        )
    return result
