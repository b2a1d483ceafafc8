"""Human figures: whole-body numbers, order of the joints, feet on the ground."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate import Data
from brachiate.errors import ArgumentError
from brachiate.figures import human16, human28, human40
from brachiate.kinematics import link_poses, pose
from brachiate.model.flatten import Placement
from brachiate.model.model import Model

HUMANS = (human16, human28, human40)
BODIES = ((1.75, 70.0, "male"), (1.62, 55.0, "female"), (1.95, 120.0, "male"), (1.1, 20.0, "female"))
DEEPMIMIC = [
    "root", "chest", "neck", "right_hip", "right_knee", "right_ankle", "right_shoulder", "right_elbow",
    "left_hip", "left_knee", "left_ankle", "left_shoulder", "left_elbow",
]  # fmt: skip


def posed(model: Model, name: str | None = None) -> Data:
    data = Data(model)
    if name is not None:
        data.assign(q=model.poses[name])
    return data


def mass_center(data: Data):
    poses = link_poses(data)
    links = data.model.links.values()
    return sum(link.mass * (poses[link.name].position + poses[link.name].rotation @ link.center) for link in links) / data.model.mass


def whole_inertia(data: Data):
    poses, center, total = link_poses(data), mass_center(data), np.zeros((3, 3))
    for link in data.model.links.values():
        R = poses[link.name].rotation
        d = poses[link.name].position + R @ link.center - center
        total += R @ link.inertia @ R.T + link.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return total


def surface(data: Data, only: str = ""):
    poses = link_poses(data)
    points = [
        shape.surface(24)[0] @ poses[name].rotation.T + poses[name].position
        for name, link in data.model.links.items() if only in name for shape in link.shapes
    ]  # fmt: skip
    return np.concatenate(points)


def site(data: Data, name: str):
    s = data.model.sites[name]
    link = data.model.placements[s.link]
    link_poses(data)
    return pose(data, Placement(link.body, link.rotation @ s.rotation, link.position + link.rotation @ s.position)).position


@pytest.mark.parametrize(
    ("figure", "nq", "nv", "moving"), [(human16, 27, 22, 9), (human28, 43, 34, 13), (human40, 59, 46, 17)]
)  # fmt: skip
def test_sizes(figure, nq, nv, moving):
    model = figure()
    assert (model.nq, model.nv, len(model.tree.parent)) == (nq, nv, moving)


def test_human40_has_the_joints_of_the_paper():
    types = [link.joint.type for link in human40().links.values()]
    assert len(types) == 17
    assert (types.count("spherical"), types.count("revolute"), types.count("free")) == (12, 4, 1)


def test_human28_has_deepmimics_order():
    assert list(human28().joints) == DEEPMIMIC


@pytest.mark.parametrize("figure", HUMANS)
@pytest.mark.parametrize(("height", "mass", "sex"), BODIES)
def test_mass_and_height_are_exact_and_the_soles_are_on_the_ground(figure, height, mass, sex):
    data = posed(figure(height, mass, sex))
    assert data.model.mass == pytest.approx(mass, rel=1e-12)
    assert site(data, "head_top")[2] == pytest.approx(height, rel=1e-12)
    points = surface(data)
    assert points[:, 2].max() == pytest.approx(height, rel=1e-9)
    assert points[:, 2].min() == pytest.approx(0.0, abs=1e-12)
    for side in ("left", "right"):
        assert surface(data, f"{side}_foot")[:, 2].min() == pytest.approx(0.0, abs=1e-12)
        assert site(data, f"{side}_heel")[2] == pytest.approx(0.0, abs=1e-12)
        assert site(data, f"{side}_toe")[2] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("figure", HUMANS)
@pytest.mark.parametrize(("height", "mass", "sex"), BODIES)
def test_height_of_the_center_of_mass(figure, height, mass, sex):
    data = posed(figure(height, mass, sex))
    x, y, z = mass_center(data)
    assert 0.53 < z / height < 0.58
    assert y == pytest.approx(0.0, abs=1e-12)
    assert site(data, "left_heel")[0] < x < site(data, "left_toe")[0]  # above the feet


# Three subjects in body position 1, taken to be standing with the arms at the sides: height [in], weight [lb], centre of mass
# below the top of the head [in], moments about x, y, z [lb·in·s²]. The page does not name the measurement; its units and
# positions are those of Santschi et al. 1963 (AMRL-TDR-63-36).
# Table A.2.1 at www.guwsmedical.info/body-dynamics/body-coordinate-system-table-a21.html
MEASURED = (
    (72.2, 173.5, 32.2, (132, 119, 13.1)),
    (67.4, 147.3, 29.8, (95.6, 81.9, 10.3)),
    (73.3, 203.0, 31.8, (144, 129, 14.2)),
)


@pytest.mark.parametrize(("inches", "pounds", "below", "moments"), MEASURED)
def test_whole_body_inertia_compared_with_measured_men(inches, pounds, below, moments):
    data = posed(human28(inches * 0.0254, pounds * 0.45359))
    ratio = np.diag(whole_inertia(data)) / (np.array(moments) * 0.11298)
    assert ratio[0] == pytest.approx(1.0, abs=0.10)
    assert ratio[1] == pytest.approx(1.0, abs=0.16)
    # Known to be low: 71 to 86 % of the measured values. The band is around the present value, to detect changes, not to validate
    # it. A possible reason: segments in one line, without depth.
    assert ratio[2] == pytest.approx(0.85, abs=0.16)
    assert mass_center(data)[2] == pytest.approx((inches - below) * 0.0254, rel=0.035)


def test_whole_body_inertia_of_an_average_man():
    about_x, about_y, about_z = np.diag(whole_inertia(posed(human28(1.75, 72.0))))
    assert 11 < about_y < about_x < 13
    assert 0.9 < about_z < 1.5  # measured: 1.0 to 1.5; see above


@pytest.mark.parametrize("sex", ["male", "female"])
def test_the_three_figures_have_the_same_mass_properties(sex):
    # Fails if subdividing the trunk or the neck changes mass, first moment or inertia.
    first, *others = (posed(figure(1.7, 65.0, sex)) for figure in HUMANS)
    for other in others:
        assert mass_center(other) == pytest.approx(mass_center(first), abs=1e-12)
        assert whole_inertia(other) == pytest.approx(whole_inertia(first), abs=1e-10)


@pytest.mark.parametrize("figure", HUMANS)
def test_left_mirrors_right(figure):
    model = figure()
    flip = np.array((1.0, -1.0, 1.0))
    for name, left in model.links.items():
        if not name.startswith("left_"):
            continue
        right = model.links[name.replace("left_", "right_")]
        assert right.mass == left.mass
        assert right.position == pytest.approx(left.position * flip)
        assert right.center == pytest.approx(left.center * flip)
        assert right.inertia == pytest.approx(left.inertia * np.outer(flip, flip))
        assert right.joint.effort == pytest.approx(left.joint.effort)
        assert right.joint.lower == pytest.approx(left.joint.lower)
        for a, b in zip(left.shapes, right.shapes, strict=True):
            assert b.position == pytest.approx(a.position * flip)
            assert type(a) is type(b)


@pytest.mark.parametrize("figure", HUMANS)
def test_signs(figure):
    data = posed(figure())
    before = {name: link_poses(data)[name].position for name in ("left_foot", "left_hand")}
    data.assign(q=data.model.configuration({"left_knee": 0.5, "left_elbow": 0.5}))
    after = link_poses(data)
    assert after["left_foot"].position[0] < before["left_foot"][0] - 0.1  # the heel moves backward
    assert after["left_hand"].position[0] > before["left_hand"][0] + 0.1  # the hand moves forward


@pytest.mark.parametrize("figure", HUMANS)
def test_named_poses(figure):
    model = figure()
    assert list(model.poses) == ["stand", "t-pose", "hang", "sit", "tumble"]
    assert model.poses["stand"] == pytest.approx(model.neutral)
    hanging = posed(model, "hang")
    for side, s in (("left", 1), ("right", -1)):
        x, y, z = site(hanging, f"{side}_grip")
        assert (x, z) == pytest.approx((0.0, 2.6))  # on the default bar
        assert s * y > 0.1
    assert surface(hanging)[:, 2].min() > 0.2
    assert surface(posed(model, "sit"), "foot")[:, 2].min() == pytest.approx(0.0, abs=1e-9)
    spread = site(posed(model, "t-pose"), "left_grip")
    assert spread[1] > 0.7


@pytest.mark.parametrize("height", [0.5, 1.2, 2.5])
def test_feet_are_off_the_ground_when_hanging(height):
    assert surface(posed(human28(height, 60.0), "hang"))[:, 2].min() > 0


def test_efforts_scale_with_mass():
    light, heavy = human28(mass=35.0), human28(mass=70.0)
    assert heavy.effort == pytest.approx(2 * light.effort)
    effort = dict(zip(heavy.coordinates, heavy.effort, strict=True))
    assert (effort["left_hip.x"], effort["right_knee"], effort["left_elbow"], effort["chest.y"]) == (220, 220, 60, 250)
    assert not heavy.effort[:6].any()  # the root is not actuated


def test_no_damping_by_default():
    for figure in HUMANS:
        assert not figure().tree.passive[0]


def test_bad_arguments_raise():
    with pytest.raises(ArgumentError, match=r"height: 1750 m is outside 0.5 to 2.5 m"):
        human28(height=1750)
    with pytest.raises(ArgumentError, match=r"mass: -1 kg is outside"):
        human16(mass=-1)
    with pytest.raises(ArgumentError, match=r"sex: 'm' is not one of: male, female"):
        human40(sex="m")
    with pytest.raises(ArgumentError, match=r"mass: expected a number, got 'heavy'"):
        human40(mass="heavy")
