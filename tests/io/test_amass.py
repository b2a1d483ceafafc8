"""AMASS files: pose and heading of SMPL joints, given skeletons, malformed and malicious archives."""

from __future__ import annotations

import io
import json
import pickle
import struct
import time
import zipfile

import numpy as np
import pytest
from tests.io.mutations import MUTATIONS
from tests.machine_speed import slowness

import brachiate as br
from brachiate import rotations
from brachiate.clip.joint_roles import find_joint_roles
from brachiate.errors import FileFormatError, MotionError, MotionFileError
from brachiate.io.amass import parse_amass
from brachiate.io.archive import read_arrays
from brachiate.io.clips import detect_format, read_clip
from brachiate.io.smpl import BODY, LAYOUTS, make_skeleton, standard_bones
from brachiate.motion.archive import save_motion_archive

PELVIS = 0.547  # pelvis height over stature of the standard person
LEVEL = 0.028  # [m] height of the pelvis joint of an average body above the file's translation
#: Root rotation of a standing pose: y at rest is z in the world.
UPRIGHT = (np.pi / 2, 0.0, 0.0)


def standing(joints: int = 52, frames: int = 20, height: float = 1.8, **more) -> dict:
    """Content of a file: T-pose facing -y."""
    poses = np.zeros((frames, 3 * joints))
    poses[:, :3] = UPRIGHT
    trans = np.tile((0.5, 0.22, PELVIS * height - LEVEL), (frames, 1))
    return {"poses": poses, "trans": trans, "mocap_framerate": np.array(120.0), "betas": np.zeros(16), "gender": np.array("male")} | more


def packed(content: dict, compressed: bool = False) -> bytes:
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **content)
    return buffer.getvalue()


def parse(content: dict, **more):
    return parse_amass(packed(content), "walk.npz", **more)


def joint_positions(clip, frame: int = 0) -> dict:
    return dict(zip(clip.skeleton.names, clip.positions[frame], strict=True))


def test_standing_pose():
    clip = parse(standing())
    at = joint_positions(clip)
    assert at["pelvis"][2] == pytest.approx(PELVIS * 1.8, abs=1e-9)
    assert clip.tips[..., 2].min() == pytest.approx(0.0, abs=0.01)
    assert at["head"][2] > at["pelvis"][2] > at["left_knee"][2] > at["left_ankle"][2] > 0
    trunk = [at[name][2] for name in ("pelvis", "spine1", "spine2", "spine3", "neck", "head")]
    assert (np.diff(trunk) > 0.01).all()
    assert at["left_foot"][1] < at["left_ankle"][1] - 0.05  # facing -y ...
    assert at["left_hip"][0] > at["right_hip"][0] + 0.1  # ... and its left is x
    assert (clip.rate, len(clip), clip.name) == (pytest.approx(120.0), 20, "walk")
    assumptions = {assumption.quantity: assumption for assumption in clip.assumptions}
    assert assumptions["size"].value == "a person of 1.80 m"
    assert assumptions["size"].argument == "height"
    assert assumptions["skeleton"].argument == "skeleton"
    assert assumptions["up axis"].value == "z"


def test_rotation_about_the_vertical_axis():
    # Fails if the root rotation is in body axes instead of world axes.
    content = standing()
    spin = rotations.product(rotations.about_axis(2, np.array(np.pi / 2)), rotations.from_rotation_vector(np.array(UPRIGHT)))
    content["poses"][:, :3] = rotations.to_rotation_vector(spin)
    before, at = joint_positions(parse(standing())), joint_positions(parse(content))
    assert at["head"][2] == pytest.approx(before["head"][2])
    ahead = at["left_foot"] - at["left_ankle"]
    assert ahead[0] > 0.05  # from -y by a quarter to x
    assert abs(ahead[1]) < 0.02


def test_joint_rotations_are_in_body_axes():
    content = standing()
    content["poses"][:, 3 * 4] = np.pi / 2  # left knee about x, which points left: the shank moves backward
    content["poses"][:, 3 * 16 + 2] = -np.pi / 2  # left shoulder about z, which points forward: the arm moves down
    at = joint_positions(parse(content, height=1.8))
    assert at["left_ankle"][1] > at["left_knee"][1] + 0.3  # facing -y
    assert at["left_ankle"][2] == pytest.approx(at["left_knee"][2], abs=1e-6)
    assert at["left_wrist"][2] < at["left_shoulder"][2] - 0.4


def test_rotations_match_the_file():
    # The orientation of a joint is the product of all rotations above it, in the axes of the rest pose.
    random = np.random.default_rng(1)
    content = standing(22, 3)
    content["poses"] = random.normal(size=(3, 66))
    clip = parse(content, up="z", height=1.7)
    names = list(BODY)
    R = {}
    for j, name in enumerate(names):
        local = rotations.to_matrix(rotations.from_rotation_vector(content["poses"][:, 3 * j : 3 * j + 3]))
        R[name] = R[BODY[name]] @ local if BODY[name] else local
    P = np.eye(3)[[2, 0, 1]]  # axes of the file's rest pose to ours
    for name in names:
        found = rotations.to_matrix(clip.orientations[:, clip.skeleton.index(name)])
        assert found @ P == pytest.approx(R[name], abs=1e-12)


@pytest.mark.parametrize(("joints", "fingers"), [(22, 0), (24, 2), (52, 30), (55, 30)])
def test_all_smpl_models(joints, fingers):
    clip = parse(standing(joints))
    assert len(clip.skeleton) == 22 + fingers
    assert "jaw" not in clip.skeleton.names
    found = find_joint_roles(clip.skeleton)
    assert found.missing() == []
    assert found.unknown == ()
    roles = {role: clip.skeleton.names[j] for role, j in found.joints.items()}
    assert roles == {
        "pelvis": "pelvis", "spine": "spine1", "neck": "neck", "head": "head",
        **{f"{side}_{role}": f"{side}_{word}" for side in ("left", "right") for role, word in {
            "hip": "hip", "knee": "knee", "ankle": "ankle", "toe": "foot", "clavicle": "collar", "shoulder": "shoulder",
            "elbow": "elbow", "wrist": "wrist"}.items()},
    }  # fmt: skip
    assert [clip.skeleton.names[j] for j in found.spine] == ["spine1", "spine2", "spine3"]


def test_poses_in_separate_arrays():
    whole = standing(52)
    parts = {"root_orient": whole["poses"][:, :3], "pose_body": whole["poses"][:, 3:66], "pose_hand": whole["poses"][:, 66:]}
    clip = parse(parts | {key: whole[key] for key in ("trans",)} | {"mocap_frame_rate": np.array([120])})
    assert (clip.positions == parse(whole).positions).all()


def test_y_up_is_inferred():
    content = standing()
    content["poses"][:, :3] = 0.0
    content["trans"][:] = (0.0, PELVIS * 1.8 + 0.22, 0.0)
    clip = parse(content)
    at = joint_positions(clip)
    assert clip.origin is not None
    assert clip.origin.up == "y"
    assert at["head"][2] > at["pelvis"][2] > at["left_ankle"][2] > 0
    assert at["left_foot"][0] > at["left_ankle"][0] + 0.05  # facing x


def test_selected_frames():
    content = standing(22, 20)
    content["trans"][:, 0] = np.arange(20)
    clip = parse(content, frames=slice(4, 12, 2))
    assert clip.rate == pytest.approx(60.0)
    assert clip.translations[:, 0, 0] == pytest.approx([4, 6, 8, 10])


def test_given_height():
    short, tall = (parse(standing(22), height=h).skeleton for h in (1.2, 2.0))
    assert tall.offsets == pytest.approx(short.offsets / 0.6)
    floating = standing(22)
    floating["trans"][:, 2] += 5.0
    assert [g.value for g in parse(floating).assumptions if g.quantity == "size"] == ["a person of 1.75 m"]


@pytest.mark.parametrize(
    "gender", [np.array("female"), np.array(b"female"), np.array(["female"]), np.array("b'female'"), np.array("female", object)]
)
def test_gender_formats(gender):
    # A pickled one, which only executing code could read, is ignored.
    assumptions = [g.value for g in parse(standing(22, gender=gender)).assumptions if g.quantity == "gender"]
    assert assumptions == ([] if gender.dtype.kind == "O" else ["female"])


# --- given skeletons ----------------------------------------------------------------------------


def rest_of(joints: int) -> np.ndarray:
    """Rest positions of joints, in the file's axes."""
    body = standard_bones().scaled(1.7)
    return np.array((0.01, -0.3, 0.04)) + [body.rest.get(name, np.zeros(3))[[1, 2, 0]] for name in LAYOUTS[joints]]


@pytest.mark.parametrize("joints", [24, 52, 55])
def test_rest_positions_from_an_archive(joints, tmp_path):
    np.savez(tmp_path / "body.npz", J=rest_of(joints))
    clip = parse(standing(joints), skeleton=tmp_path / "body.npz")
    bones = make_skeleton(list(clip.skeleton.names), standard_bones().scaled(1.7))
    assert clip.skeleton.offsets == pytest.approx(bones.offsets, abs=1e-12)
    assert clip.translations[0, 0] == pytest.approx(standing()["trans"][0] + (0.01, -0.3, 0.04))
    assert not {"size", "skeleton"} & {assumption.quantity for assumption in clip.assumptions}


def test_rest_positions_from_json(tmp_path):
    names = dict(zip(LAYOUTS[52], rest_of(52).tolist(), strict=True))
    (tmp_path / "body.json").write_text(json.dumps(names))
    clip = parse(standing(), skeleton=tmp_path / "body.json")
    assert len(clip.skeleton) == 52
    del names["left_index2"]
    (tmp_path / "body.json").write_text(json.dumps(names))
    clip = parse(standing(), skeleton=tmp_path / "body.json")
    assert len(clip.skeleton) == 50
    assert "left_index3" not in clip.skeleton.names


def test_body_model_with_shape_parameters(tmp_path):
    random = np.random.default_rng(3)
    J, v = rest_of(52), 200
    template, weights = random.normal(size=(v, 3)), random.normal(size=(52, v))
    weights = J @ np.linalg.pinv(template) + weights @ (np.eye(v) - template @ np.linalg.pinv(template))
    directions = 0.001 * random.normal(size=(v, 3, 20))
    np.savez(tmp_path / "model.npz", J_regressor=weights, v_template=template, shapedirs=directions, J=J, f=np.array(None))
    betas = random.normal(size=16)
    clip = parse(standing(52, betas=betas), skeleton=tmp_path / "model.npz")
    there = weights @ (template + directions[..., :16] @ betas)
    assert np.abs(there - J).max() > 0.01
    knee, hip = LAYOUTS[52].index("left_knee"), LAYOUTS[52].index("left_hip")
    assert clip.skeleton.offsets[clip.skeleton.index("left_knee")] == pytest.approx((there[knee] - there[hip])[[2, 0, 1]])


def test_invalid_skeletons_are_refused(tmp_path):
    path = tmp_path / "body.npz"

    def refused(match, **content):
        np.savez(path, **content)
        with pytest.raises(MotionFileError, match=match):
            parse(standing(), skeleton=path)

    refused(r"expected 'J', the rest positions of the joints, .* it has x", x=np.zeros(3))
    refused(r"shape \(7, 3\); 22, 24, 52, 55 rows of 3 were expected", J=np.zeros((7, 3)))
    refused(r"legs are 0 m long. Are these meters\?", J=np.zeros((22, 3)))
    refused(r"Are these meters\?", J=100 * rest_of(22))
    refused(r"'J' \(row 0\) is nan, which is not a finite number", J=np.full((22, 3), np.nan))
    refused(r"do not fit each other", J_regressor=np.zeros((22, 9)), v_template=np.zeros((9, 3)), shapedirs=np.zeros((8, 3, 4)))
    other = tmp_path / "body.json"
    for text, match in (
        ("[1, 2]", "three numbers for each joint"),
        ('{"pelvis": [1, 2]}', r"'pelvis' is \[1, 2\]; three finite numbers"),
        ('{"pelvis": [0, 0, 0]}', "the skeleton lacks left_hip, right_hip"),
        ('{"pelvis": [NaN, 0, 0]}', "three finite numbers"),
    ):
        other.write_text(text)
        with pytest.raises(MotionFileError, match=match):
            parse(standing(), skeleton=other)


# --- interface ----------------------------------------------------------------------------------


def test_load_motion_detects_amass_by_array_names(tmp_path):
    path = tmp_path / "walk.npz"
    content = standing(52, 60)
    content["poses"][:, 3 * 4] = np.linspace(0, 1, 60)
    path.write_bytes(packed(content, compressed=True))
    assert detect_format(path) == "AMASS"
    motion = br.load_motion(path, mass=70.0)
    assert any("size: a person of 1.80 m (the feet then stand on the ground" in str(g) for g in motion.assumptions)
    assert motion.q[0, 2] == pytest.approx(PELVIS * 1.8)
    assert br.load_motion(path, height=1.6).clip.skeleton.offsets[4, 2] == pytest.approx(
        motion.clip.skeleton.offsets[4, 2] * 1.6 / 1.8, rel=1e-2
    )
    with pytest.raises(MotionFileError, match=r"contains a skeleton, and a body is built for it"):
        br.load_motion(path, br.figures.human28())
    save_motion_archive(motion, tmp_path / "ours.npz")
    with pytest.raises(MotionFileError, match=r"does not say which figure moves. Give it: figure="):
        br.load_motion(tmp_path / "ours.npz")
    with pytest.raises(MotionFileError, match=r"it has no skeleton"):
        read_clip(tmp_path / "ours.npz")
    np.savez(tmp_path / "other.npz", a=np.zeros(2))
    with pytest.raises(MotionFileError, match=r"AMASS archives have 'poses' and 'trans'; this one has a\."):
        read_clip(tmp_path / "other.npz")
    with pytest.raises(MotionFileError, match=r"unit= does not apply to this format"):
        read_clip(path, unit="cm")
    with pytest.raises(MotionFileError, match=r"rest_frame= does not apply"):
        read_clip(path, rest_frame=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"poses": np.zeros((20, 150))}, r"shape \(20, 150\); rows of 66 \(SMPL's body\), 72 \(SMPL\), 156 \(SMPL-H\), 165 \(SMPL-X\)"),
        ({"poses": np.zeros(156)}, r"'poses' has the shape \(156,\)"),
        ({"poses": np.full((20, 156), "a")}, r"'poses' is <U1 of the shape"),
        ({"poses": np.full((20, 156), np.nan)}, r"a number in 'poses' \(row 0\) is nan"),
        ({"poses": np.full((20, 156), 1e5)}, r"not a finite number up to 1000"),
        ({"poses": np.zeros((20, 156), complex)}, r"complex128"),
        ({"trans": np.zeros((19, 3))}, r"'trans' is float64 of the shape \(19, 3\); 20 x 3 numbers were expected"),
        ({"trans": np.full((20, 3), np.inf)}, r"'trans' \(row 0\) is inf"),
        ({"poses": np.zeros((0, 156)), "trans": np.zeros((0, 3))}, r"has no frames"),
        ({"mocap_framerate": np.array(0.0)}, r"0 frames per second are not possible"),
        ({"mocap_framerate": np.zeros(3)}, r"one number was expected"),
        ({"mocap_framerate": np.array("fast")}, r"'mocap_framerate' is <U4"),
        ({"poses": np.array([object()] * 3)}, r"'poses' contains Python objects, which are not read: they could execute code"),
    ],
)
def test_invalid_files_are_refused(change, message):
    with pytest.raises(MotionFileError, match=message):
        parse(standing() | change)


def test_required_information():
    content = standing()
    del content["mocap_framerate"]
    with pytest.raises(MotionFileError, match=r"does not state the frame rate .* Give it: rate=120"):
        parse(content)
    assert parse(content, rate=50.0).rate == pytest.approx(50.0)
    with pytest.raises(MotionFileError, match=r"states 120 frames per second, and rate=50"):
        parse(standing(), rate=50.0)
    with pytest.raises(MotionError, match=r"up='w' is not one of"):
        parse(standing(), up="w")
    with pytest.raises(MotionFileError, match=r"no arrays named 'poses' and 'trans', but poses\."):
        parse({"poses": np.zeros((2, 66))})
    with pytest.raises(MotionFileError, match=r"'pose_body' but no 'root_orient'"):
        parse({"pose_body": np.zeros((2, 63)), "trans": np.zeros((2, 3))})


# --- malicious archives -------------------------------------------------------------------------


def archive_of(**entries: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries.items():
            file.writestr(f"{name}.npy", data)
    return buffer.getvalue()


def header(text: str) -> bytes:
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


class Bomb:
    """Object that records if it is unpickled."""

    went_off = False

    def __reduce__(self):
        return setattr, (Bomb, "went_off", True)


def test_no_code_is_executed():
    body = header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }") + pickle.dumps(np.array([Bomb()], object), protocol=3)
    with pytest.raises(MotionFileError, match=r"Python objects"):
        parse_amass(archive_of(poses=body, trans=body), "x")
    with pytest.raises(FileFormatError, match=r"Python objects"):
        read_arrays(archive_of(poses=body), "x", "a motion")
    assert not Bomb.went_off


@pytest.mark.parametrize(
    "body",
    [
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 156), }"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 99999999999, 99999999999), }"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 156), }"),
        header("{'descr': '<U900000000', 'fortran_order': False, 'shape': (1,), }"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 66), }") + bytes(100),
        header("__import__('os').system('true')"),
        header("[" * 60 + "]" * 60),
        b"\x93NUMPY\x01\x00\xff\xff",
        b"\x93NUMPY\x09\x00",
        b"\x80\x04N.",
        b"",
    ],
)
def test_false_array_headers(body):
    # A header that announces terabytes is refused before memory is allocated.
    began = time.process_time()
    with pytest.raises(MotionFileError, match=r"is not an AMASS motion, or it is damaged"):
        parse_amass(archive_of(poses=body, trans=body), "x")
    assert time.process_time() - began < 1.0 * slowness()


def test_decompression_bomb(monkeypatch):
    monkeypatch.setattr("brachiate.io.amass.MAX_UNPACKED_SIZE", 2**20)
    body = header("{'descr': '<f8', 'fortran_order': False, 'shape': (10000, 156), }") + bytes(8 * 10000 * 156)
    data = archive_of(poses=body, trans=body)
    assert len(data) < 2**18
    with pytest.raises(MotionFileError, match=r"unpacks to more than"):
        parse_amass(data, "x")


def test_only_needed_arrays_are_unpacked():
    huge = header("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }") + b"damaged"
    content = standing(22)
    buffer = io.BytesIO()
    np.savez(buffer, **content)
    with zipfile.ZipFile(buffer, "a") as file:
        file.writestr("dmpls.npy", huge)
    assert (parse_amass(buffer.getvalue(), "walk.npz").positions == parse(content).positions).all()


def outcome(data: bytes) -> str:
    """``"read"`` or ``"refused"``; any other exception is an error of the reader."""
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        try:
            clip = parse_amass(data, "file")
        except MotionError as error:
            return "refused" if len(str(error)) < 1000 else "a message of more than a screen"
        for array in (clip.times, clip.positions, clip.orientations, clip.tips):
            assert np.isfinite(array).all()
        assert np.abs(np.linalg.norm(clip.rotations, axis=-1) - 1.0).max() < 1e-6
    return "read"


def test_mutated_bytes():
    good = packed(standing(22, 4))
    assert outcome(good) == "read"
    for seed in range(400):
        random = np.random.default_rng(seed)
        data = good
        for _ in range(int(random.integers(1, 4))):
            data = MUTATIONS[int(random.integers(0, len(MUTATIONS)))](data, random)[:200_000]
        outcome(data)


def test_mutated_arrays():
    found = {"read": 0, "refused": 0}
    for seed in range(60):
        random = np.random.default_rng(seed)
        content = standing(int(random.choice((22, 24, 52, 55))), 4)
        for name in list(content):
            match int(random.integers(0, 24)):
                case 0:
                    del content[name]
                case 1:
                    content[name] = (
                        content[name].astype(random.choice(("f2", "f4", "i1", "u8", "S3", "c8", "?"))) if name != "gender" else 1
                    )
                case 2:
                    content[name] = np.resize(content[name], tuple(random.integers(0, 5, int(random.integers(0, 4)))))
                case 3:
                    content[name] = np.full(np.shape(content[name]), random.choice((np.nan, np.inf, 1e300, -1e12, 1e-320, 900.0)))
                case 4:
                    content[name] = np.asfortranarray(content[name])
        found[outcome(packed(content))] += 1
    assert min(found.values()) > 10  # both occur
