"""Anthropometric table of de Leva: consistency, published mass fractions, whole-body values, scaling, invalid arguments."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate.errors import ArgumentError, UnknownName
from brachiate.model.anthropometry import (
    BODY_MASS,
    SEXES,
    STATURE,
    TABLE,
    TRUNK_PARTS,
    WHOLE,
    distance,
    mass_total,
    row_of,
    segment,
)

# Mass fractions [%], male and female, typed in independently of the table of the package.
PUBLISHED = {
    "head": (6.94, 6.68), "trunk": (43.46, 42.57), "upper_arm": (2.71, 2.55), "forearm": (1.62, 1.38), "hand": (0.61, 0.56),
    "thigh": (14.16, 14.78), "shank": (4.33, 4.81), "foot": (1.37, 1.29),
    "upper_trunk": (15.96, 15.45), "middle_trunk": (16.33, 14.65), "lower_trunk": (11.17, 12.47),
}  # fmt: skip


@pytest.mark.parametrize("sex", SEXES)
def test_mass_fractions_are_the_published_ones_and_sum_to_one(sex):
    for name, pair in PUBLISHED.items():
        assert row_of(TABLE[name], sex).mass == pair[SEXES.index(sex)]
    assert mass_total(sex) == pytest.approx(100.0, abs=0.02)
    assert sum(count * segment(name, mass=70, sex=sex).mass for name, count in WHOLE.items()) == pytest.approx(70.0, abs=1e-12)


@pytest.mark.parametrize("sex", SEXES)
def test_three_parts_of_the_trunk_sum_to_the_trunk(sex):
    whole = segment("trunk", STATURE[sex], BODY_MASS[sex], sex)
    parts = [segment(name, STATURE[sex], BODY_MASS[sex], sex) for name in TRUNK_PARTS]
    tops = np.cumsum([0.0] + [part.length for part in parts[:-1]])
    assert sum(part.length for part in parts) == pytest.approx(whole.length, abs=1e-4)
    assert sum(part.mass for part in parts) == pytest.approx(whole.mass, rel=1e-4)
    heights = np.array([part.center[2] - top for part, top in zip(parts, tops, strict=True)])
    masses = np.array([part.mass for part in parts])
    center = masses @ heights / masses.sum()
    assert center == pytest.approx(whole.center[2], abs=0.004)  # the published columns were rounded and adjusted independently
    about_x = sum(part.inertia[0] for part in parts) + masses @ (heights - center) ** 2
    assert about_x == pytest.approx(whole.inertia[0], rel=0.10)


@pytest.mark.parametrize("sex", SEXES)
@pytest.mark.parametrize("name", TABLE)
def test_inertia_of_every_segment_is_physical(name, sex):
    s = segment(name, sex=sex)
    small, middle, large = np.sort(s.inertia)
    assert small > 0
    assert large <= small + middle
    assert 0 < abs(s.center).max() < s.length


def test_mean_body_has_the_mean_lengths():
    assert segment("thigh", 1.741, 73.0, "male").length == pytest.approx(0.4222)
    assert segment("shank", 1.735, 61.9, "female").length == pytest.approx(0.4323)
    assert distance("wrist_to_fingertip", 1.741) == pytest.approx(0.1879)


def test_thigh_computed_by_hand():
    # 14.16 % of 73 kg; centre at 40.95 % of 0.4222 m; radius of gyration 32.9 % and 14.9 % of it.
    s = segment("thigh", 1.741, 73.0, "male")
    assert s.mass == pytest.approx(10.3368)
    assert s.center == pytest.approx((0, 0, -0.17289), abs=1e-5)
    assert s.inertia == pytest.approx((0.19944, 0.19944, 0.04091), abs=2e-5)


def test_the_foot_points_forward():
    s = segment("foot")
    assert s.center[0] > 0
    assert s.center[1] == s.center[2] == 0
    assert s.inertia[0] < min(s.inertia[1:])


def test_scaling():
    small, large = segment("shank", 1.5, 50.0), segment("shank", 1.8, 100.0)
    assert large.length / small.length == pytest.approx(1.2)
    assert large.inertia / small.inertia == pytest.approx(2 * 1.2**2)


def test_invalid_arguments_raise_errors():
    with pytest.raises(ArgumentError, match=r"height: 175 m is outside 0.5 to 2.5 m.*Give the height in m"):
        segment("thigh", height=175)
    with pytest.raises(ArgumentError, match=r"mass: 2 kg is outside 5 to 300 kg"):
        segment("thigh", mass=2)
    with pytest.raises(ArgumentError, match=r"height: expected a number, got NaN"):
        segment("thigh", height=float("nan"))
    with pytest.raises(ArgumentError, match=r"sex: 'both' is not one of: male, female"):
        segment("thigh", sex="both")
    with pytest.raises(UnknownName, match=r"'tigh' is not a segment of a human body. Did you mean 'thigh'\? Valid: head, trunk"):
        segment("tigh")
    with pytest.raises(UnknownName, match=r"Valid: neck_to_hips"):
        distance("arm")
