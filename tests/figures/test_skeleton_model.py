"""Human models for motion-capture skeletons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.clip.people import DIALECTS, stepping

import brachiate as br
from brachiate import rotations
from brachiate.anatomy.feet import find_feet
from brachiate.anatomy.landmarks import body_vertices, find_landmarks
from brachiate.clip.skeleton import Skeleton
from brachiate.errors import MotionError
from brachiate.figures.skeleton_model import build_skeleton_model
from brachiate.motion.motion import Motion


@pytest.mark.parametrize("dialect", DIALECTS)
def test_mass_height_and_joints(dialect):
    grown = build_skeleton_model(stepping(dialect), mass=65.0)
    model = grown.model
    assert model.mass == pytest.approx(65.0)
    kinds = {name: type(link.joint).__name__ for name, link in model.links.items()}
    for side in ("left", "right"):
        assert kinds[f"{side}_shank"] == kinds[f"{side}_forearm"] == "Revolute"
        assert kinds[f"{side}_thigh"] == kinds[f"{side}_upper_arm"] == kinds[f"{side}_foot"] == "Spherical"
        assert kinds[f"{side}_toes"] == kinds[f"{side}_clavicle"] == "Fixed"  # rigidly attached
    # de Leva's segment masses, independent of the joints
    assert model.links["left_thigh"].mass == pytest.approx(0.1416 * 65.0, rel=1e-3)
    assert model.links["right_forearm"].mass == pytest.approx(0.0162 * 65.0, rel=1e-3)
    trunk = sum(link.mass for name, link in model.links.items() if name == "pelvis" or name.startswith(("spine", "neck", "head")))
    assert trunk == pytest.approx((0.4346 + 0.0694) * 65.0, rel=1e-3)


def test_default_mass_grows_with_the_square_of_the_height():
    # The body mass index is the same for all: that of a lean person, 18.5 to 25 kg/m² by the World Health Organization.
    masses, heights = [], []
    for size in (0.8, 1.0, 1.15):
        built = build_skeleton_model(stepping(size=size))
        masses.append(built.model.mass)
        heights.append(float(next(g.value for g in built.assumptions if g.quantity == "height").split()[0]))
    index = np.array(masses) / np.array(heights) ** 2
    assert index == pytest.approx(index[0], rel=0.02)  # heights are printed in centimeters
    assert 18.5 < index[0] < 25.0


@pytest.mark.parametrize("size", [0.7, 1.0, 1.15])
def test_every_moving_link_has_mass(size):
    model = build_skeleton_model(stepping(size=size)).model
    values = np.linalg.eigvalsh(br.dynamics.mass_matrix(br.Data(model), model.neutral))
    assert values[0] > 1e-6 * values[-1]


def test_moving_clavicles_take_their_mass_from_the_trunk():
    clip = stepping()
    shrugged = clip.rotations.copy()
    for name in ("LeftShoulder", "RightShoulder"):
        shrugged[:, clip.skeleton.index(name)] = rotations.about_axis(0, 0.1 * np.sin(clip.times))
    model = build_skeleton_model(replace(clip, rotations=shrugged), mass=80.0).model
    assert type(model.links["left_clavicle"].joint).__name__ == "Spherical"
    assert model.links["left_clavicle"].mass == pytest.approx(0.8)
    assert model.mass == pytest.approx(80.0)


def test_height_of_the_center_of_mass():
    # Standing, at 0.54 to 0.58 of the stature; the soles are at the end of the legs of de Leva's body.
    clip = stepping()
    motion = Motion.from_clip(clip.frames(slice(0, 1)))
    data = br.Data(motion.figure)
    data.assign(q=motion.q[0])
    centre = br.dynamics.totals(data).center
    height = float(next(g.value for g in motion.assumptions if g.quantity == "height").split()[0])
    assert 0.53 < centre[2] / height < 0.60
    assert abs(centre[1]) < 0.03


def test_soles_are_on_the_ground_in_stance():
    clip = stepping()
    motion = Motion.from_clip(clip)
    data = br.Data(motion.figure)
    data.assign(q=motion.q[0])
    br.kinematics.update_poses(data)
    poses = br.kinematics.link_poses(data)
    for side in ("left", "right"):
        box = motion.figure.links[f"{side}_foot"].shapes[-1]
        R = poses[f"{side}_foot"].rotation @ box.rotation
        assert R[2, 2] > np.cos(np.radians(5))
        assert R[0, 0] > np.cos(np.radians(15))


@pytest.mark.parametrize("dialect", ["motionbuilder", "asf", "smpl"])
def test_the_model_moves_like_the_skeleton(dialect):
    clip = stepping(dialect)
    motion = Motion.from_clip(clip)
    data = br.Data(motion.figure)
    for k in (0, 17, 59):
        data.assign(q=motion.q[k])
        br.kinematics.update_poses(data)
        poses = br.kinematics.link_poses(data)
        for j, name in motion.links.items():
            assert poses[name].position == pytest.approx(clip.positions[k, j], abs=1e-9)


def test_back_to_the_skeleton():
    clip = stepping()
    bent = clip.rotations.copy()
    finger = clip.skeleton.names.index("LeftHandIndex1")
    bent[:, finger] = rotations.about_axis(0, np.linspace(0, 1, len(clip)))
    knee = clip.skeleton.index("LeftLeg")
    bent[:, knee] = rotations.product(bent[:, knee], rotations.about_axis(0, np.full(len(clip), np.radians(0.05))))  # nearly a hinge
    clip = replace(clip, rotations=bent)
    back = Motion.from_clip(clip).to_clip()
    assert np.abs(np.einsum("...i,...i", back.rotations, clip.rotations)) == pytest.approx(1, abs=1e-14)
    assert back.translations == pytest.approx(clip.translations)


def test_bad_arguments_raise():
    clip = stepping()
    skeleton = clip.skeleton
    renamed = Skeleton(tuple(f"b{k}" for k in range(len(skeleton))), skeleton.parents, skeleton.offsets, skeleton.ends)
    with pytest.raises(MotionError, match=r"cannot tell which joint is the head, left_hip, .*so no model can be built.*roles="):
        build_skeleton_model(replace(clip, skeleton=renamed))
    offsets = skeleton.offsets.copy()
    offsets[skeleton.index("LeftLeg")] = 0
    with pytest.raises(MotionError, match=r"the bone of 'LeftUpLeg' has zero length, so it cannot be a thigh"):
        build_skeleton_model(replace(clip, skeleton=Skeleton(skeleton.names, skeleton.parents, offsets, skeleton.ends)))
    with pytest.raises(ValueError, match=r"mass"):
        build_skeleton_model(clip, mass=-3.0)


def head_height(motion):
    """Height of the top of the head above the soles in the first frame [m]."""
    data = br.Data(motion.figure)
    data.assign(q=motion.q[0])
    br.kinematics.update_poses(data)
    poses = br.kinematics.link_poses(data)
    head, foot = poses["head"], poses["left_foot"]
    (skull,) = motion.figure.links["head"].shapes
    sole = motion.figure.sites["left_sole"].position
    top = head.position + head.rotation @ skull.position
    return float(top[2] + skull.radius + 0.5 * skull.length - (foot.position + foot.rotation @ sole)[2])


def with_offsets(clip, **offsets):
    """The clip with changed offsets of some joints."""
    skeleton = clip.skeleton
    changed, translations = skeleton.offsets.copy(), clip.translations.copy()
    for name, offset in offsets.items():
        j = skeleton.index(name)
        changed[j] = offset
        translations[:, j] = offset
    return replace(clip, skeleton=Skeleton(skeleton.names, skeleton.parents, changed, skeleton.ends), translations=translations)


def test_standing_height_follows_from_leg_length():
    clip = br.procedural.make_clip("squat", height=1.8)
    motion = Motion.from_clip(clip)
    assert head_height(motion) == pytest.approx(1.8, rel=0.01)
    assert "trunk" not in {assumption.quantity for assumption in motion.assumptions}
    # A neck joint at the sternum does not lower the head: the skull is above its own joint.
    neck, head = (clip.skeleton.offsets[clip.skeleton.index(name)] for name in ("Neck", "Head"))
    lower = with_offsets(clip, Neck=neck - np.array((0, 0, 0.1)), Head=head + np.array((0, 0, 0.1)))
    assert head_height(Motion.from_clip(lower)) == pytest.approx(1.8, rel=0.01)


def test_zero_length_bones_are_reported():
    # As in the common BVH conversion of the CMU motions: the neck joint coincides with the chest joint
    clip = br.procedural.make_clip("squat", height=1.8)
    motion = Motion.from_clip(with_offsets(clip, Neck=(0.0, 0.0, 0.0)))
    (assumption,) = (assumption for assumption in motion.assumptions if assumption.quantity == "trunk")
    assert assumption.value == f"short: the body stands {head_height(motion):.2f} m tall"
    assert assumption.reason == "from its bones, and no bone leads to Neck; masses are those of a body of 1.80 m"


def test_soles_do_not_slide_when_heels_rise():
    # The heel rises about the joint of flat toes. Fails if the sole extends to that joint: below it, it stays on the ground and slides
    model = br.procedural.sample_motion("walk", seconds=1.2).figure
    for foot in find_feet(find_landmarks(model)):
        assert foot.toes is not None
        up, joint = foot.sole.axes[:, 2], foot.toes.joint_in_foot
        raised = rotations.to_matrix(rotations.from_rotation_vector(np.radians(5.0) * foot.toes.axis))
        low = ((foot.sole.hull - joint) @ raised.T @ up).min() - (foot.sole.toe - joint) @ up
        assert low > 0.0004


@pytest.mark.parametrize("obliqueness", [0.0, 6.0, -12.0])
def test_raised_toes_can_be_lowered(obliqueness):
    # Fails if a corner is behind an oblique hinge: it would penetrate the ground while the toes are lowered.
    clip = br.procedural.make_clip("walk", seconds=1.2)
    changed, about = clip.rotations.copy(), rotations.from_rotation_vector(np.array((0.0, 0.0, np.radians(obliqueness))))
    for side in ("Left", "Right"):
        j = clip.skeleton.index(f"{side}ToeBase")
        changed[:, j] = rotations.from_rotation_vector(rotations.rotate(about, rotations.to_rotation_vector(changed[:, j])))
    model = Motion.from_clip(replace(clip, rotations=changed)).figure
    for foot in find_feet(find_landmarks(model)):
        assert foot.toes is not None
        up, center = foot.toes.axes[:, 2], foot.toes.joint_in_toes
        hinge = model.tree.axis[model.tree.element[foot.toes.body]]
        front = foot.toes.corners[-1] - center
        hinge = hinge * np.sign(np.cross(hinge, front) @ up)  # sign that raises the toes
        points = body_vertices(model, foot.toes.body) - center
        for degrees in (1.0, 5.0, 15.0):
            raised = rotations.to_matrix(rotations.from_rotation_vector(np.radians(degrees) * hinge))
            assert (points @ raised.T @ up).min() > (points @ up).min()


def renamed(clip, **names):
    skeleton = clip.skeleton
    changed = tuple(names.get(name, name) for name in skeleton.names)
    return replace(clip, skeleton=Skeleton(changed, skeleton.parents, skeleton.offsets, skeleton.ends))


def test_forefoot_is_the_toe_joint():
    """Fails if toes of this name have no role: a moving link without mass was refused."""
    clip = br.procedural.make_clip("walk", seconds=1.2)
    usual = Motion.from_clip(clip).figure
    model = Motion.from_clip(renamed(clip, LeftToeBase="LeftForeFoot", RightToeBase="RightForeFoot")).figure
    assert model.links["left_toes"].mass == pytest.approx(usual.links["left_toes"].mass)


def test_moving_joints_without_a_segment_are_left_out():
    """Fails if a joint with a name that nothing is known about makes a link without mass, which cannot move."""
    clip = br.procedural.make_clip("walk", seconds=1.2)
    motion = Motion.from_clip(renamed(clip, LeftToeBase="LeftGizmo"))
    (assumption,) = (a for a in motion.assumptions if a.quantity == "joints left out")
    assert assumption.value == "LeftGizmo"
    assert "left_toes" not in motion.figure.links
    assert motion.figure.mass == pytest.approx(Motion.from_clip(clip).figure.mass)
