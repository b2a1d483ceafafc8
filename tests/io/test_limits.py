"""Limits of readers: pipes, sizes, counts, nesting, copies and paths are refused in words, before a parser or memory is used.

A file that is not refused would be read for minutes, wait for a pipe forever, or read outside of its package: each test would hang or pass
the file on.
"""

from __future__ import annotations

import os
import time
import zipfile

import numpy as np
import pytest
from tests.machine_speed import slowness

import brachiate as br
from brachiate.errors import BrachiateError, FileFormatError, ModelFileError, MotionFileError
from brachiate.io import limits, load_model
from brachiate.io.archive import read_archive, read_arrays
from brachiate.io.bvh import parse_bvh
from brachiate.io.xml_checks import ModelFiles

GEOM = '<geom size="0.1"/>'
BODY = f"<body><joint/>{GEOM}</body>"
SOLID = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
GRID = '<flexcomp name="f" type="grid" count="100 100 2" dim="3" spacing=".1 .1 .1"/>'


def mjcf(inside):
    return f"<mujoco>{inside}</mujoco>"


def world(inside):
    return mjcf(f"<worldbody>{inside}</worldbody>")


def chain(count):
    links = "".join(f'<link name="l{i}">{SOLID}</link>' for i in range(count))
    joint = '<joint name="j{0}" type="continuous"><parent link="l{0}"/><child link="l{1}"/></joint>'
    return f'<robot name="r">{links}{"".join(joint.format(i, i + 1) for i in range(count - 1))}</robot>'


COUNTS = {
    "keyframes": (mjcf('<size nkey="2000000000"/>'), r"line 1: attribute 'nkey' of <size> is 2000000000; at most 10000 is allowed"),
    "user data": (mjcf('<size nuser_geom="2000000000"/>'), "attribute 'nuser_geom' of <size> is 2000000000; at most 1000"),
    "height field": (mjcf('<asset><hfield name="h" nrow="100000" ncol="1" size="1 1 1 1"/></asset>'), "attribute 'nrow' of <hfield>"),
    "replicate": (world(f'<replicate count="20000">{GEOM}</replicate>'), r"<replicate> requests 20000 copies; at most 5000 are allowed"),
    "nested replicate": (
        world(f'<replicate count="100"><body><replicate count="60">{GEOM}</replicate></body></replicate>'),
        "<replicate> requests 6000 copies",
    ),
    "replicated bodies": (
        world(f'<replicate count="4000"><body>{BODY}</body></replicate>'), "8000 <body> elements, copies included; at most 5000"
    ),
    "flexcomp": (world(GRID), "<flexcomp> requests 20000 copies"),
    "bodies": (world(BODY * 6000), "6000 <body> elements, copies included; at most 5000"),
    "geoms": (world(GEOM * 21_000), "21000 <geom> elements"),
    "elements": (mjcf("<a/>" * 310_000), "310001 XML elements; at most 300000"),
    "chain": (chain(10_000), r"10000 <link> elements, copies included; at most 5000"),
    "shorter chain": (chain(600), "a chain of 600 links; at most 500 below each other are allowed"),
}  # fmt: skip


@pytest.mark.parametrize("case", COUNTS)
def test_counts_are_refused_before_the_compiler(write, case):
    content, message = COUNTS[case]
    began = time.process_time()  # not elapsed time: other programs may be running
    with pytest.raises(ModelFileError, match=message):
        load_model(write(content, "model.urdf" if content.startswith("<robot") else "model.xml"))
    assert time.process_time() - began < 10.0 * slowness()  # without the check: minutes


def test_attached_models_are_counted_as_often_as_they_are_attached(write):
    """Six files that attach the next ten times each are a million bodies."""
    write(world(BODY.replace("<body>", '<body name="b">')), "m6.xml")
    for k in range(5, -1, -1):
        attached = "".join(f'<attach model="m" body="b" prefix="{i}"/>' for i in range(10))
        asset = f'<asset><model name="m" file="m{k + 1}.xml"/></asset>'
        path = write(mjcf(f'{asset}<worldbody><body name="b">{attached}</body></worldbody>'), f"m{k}.xml")
    with pytest.raises(ModelFileError, match=r"m0\.xml: .*e\+0[67] (<body>|XML) elements"):
        load_model(path)


def test_includes_that_include_each_other(write):
    write(mjcf('<include file="model.xml"/>'), "a.xml")
    with pytest.raises(ModelFileError, match=r"a\.xml includes itself: model\.xml → a\.xml → model\.xml"):
        load_model(write(mjcf('<include file="a.xml"/>')))


def test_nesting_adds_up_over_includes(write):
    deep = "<body>" * 250
    write(f"<mujocoinclude>{deep}{'</body>' * 250}</mujocoinclude>", "a.xml")
    with pytest.raises(ModelFileError, match="with its includes, elements are nested more than 400 deep"):
        load_model(write(world(f'{deep}<include file="a.xml"/>{"</body>" * 250}')))


ASSETS = {
    "mesh": '<asset><mesh name="m" file="{0}.stl"/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody>',
    "height field": '<asset><hfield name="m" file="{0}.png" size="1 1 1 1"/></asset>',
    "flexcomp": '<worldbody><flexcomp name="m" type="gmsh" file="{0}.stl" dim="3"/></worldbody>',
    "include": '<include file="{0}.xml"/>',
    "model": '<asset><model name="m" file="{0}.xml"/></asset>',
}


@pytest.mark.parametrize("kind", ASSETS)
def test_pipes_are_refused(tmp_path, write, kind):
    """Opening a pipe without a writer blocks: pipes are refused, also among meshes."""
    (tmp_path / "meshes").mkdir()
    folder = tmp_path / ("meshes" if kind in ("mesh", "height field", "flexcomp") else ".")
    for suffix in ("stl", "png", "xml"):
        os.mkfifo(folder / f"pipe.{suffix}")
    with pytest.raises(ModelFileError, match=r"pipe\.\w+ is not a regular file"):
        load_model(write(mjcf(f'<compiler meshdir="meshes"/>{ASSETS[kind].format("pipe")}')))


@pytest.mark.parametrize("kind", ASSETS)
@pytest.mark.parametrize("way", ["..", "absolute", "link"])
def test_paths_outside_of_the_package_are_refused(tmp_path, write, kind, way):
    for suffix in ("stl", "png", "xml"):
        write("<mujoco/>", f"outside/secret.{suffix}")
    model = tmp_path / "package/models/model.xml"
    write("", "package/package.xml")
    name = {"..": "../../outside/secret", "absolute": str(tmp_path / "outside/secret"), "link": "link/secret"}[way]
    model.parent.mkdir(parents=True)
    (model.parent / "link").symlink_to(tmp_path / "outside")
    model.write_text(mjcf(ASSETS[kind].format(name)))
    with pytest.raises(ModelFileError, match=r"refers to .*secret\.\w+, which is outside of its package, .*/package\. Move the file"):
        load_model(model)
    ModelFiles(model.read_bytes(), model, {}, package_root=tmp_path).check()  # allowed on request


@pytest.mark.parametrize("address", ["../../outside/x.stl", "file://{root}/outside/x.stl", "package://robot/../outside/x.stl"])
def test_meshes_outside_of_the_package_are_refused(tmp_path, write, address):
    write(b"solid", "outside/x.stl")
    shape = f'<visual><geometry><mesh filename="{address.format(root=tmp_path)}"/></geometry></visual>'
    path = write(f'<robot name="r"><link name="a">{SOLID}{shape}</link></robot>', "robot/urdf/model.urdf")
    with pytest.raises(ModelFileError, match=r"x\.stl, which is outside of its package"):
        load_model(path)


def test_package_roots(tmp_path):
    """The package is marked by a file, is a Python package, or is the folder above; never the home folder."""
    folder = tmp_path / "a/b/c"
    folder.mkdir(parents=True)
    model = folder / "model.xml"
    assert limits.package_roots(model) == (tmp_path / "a/b",)
    (tmp_path / "a/package.xml").touch()
    assert limits.package_roots(model) == (tmp_path / "a",)
    (folder / "__init__.py").touch()
    (tmp_path / "a/b/__init__.py").touch()
    assert limits.package_roots(model) == (tmp_path / "a/b",)
    assert limits.package_roots(model, tmp_path)[0] == tmp_path


def test_home_folder_is_no_package(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "downloads").mkdir()
    assert limits.package_roots(tmp_path / "downloads/model.xml") == (tmp_path / "downloads",)


@pytest.mark.parametrize("name", ["pipe.bvh", "pipe.amc", "pipe.npz", "pipe.json", "pipe.csv", "pipe.mot"])
def test_motion_readers_refuse_pipes(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(MotionFileError, match=rf"{name} is not a regular file\. Give the path of a motion file"):
        br.load_motion(tmp_path / name)


def test_other_readers_refuse_pipes(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    for read in (
        lambda path: br.Recording.load(path, br.figures.human16()),
        br.load_settings,
        br.load_pushes,
        br.load_contact_labels,
        lambda path: read_archive(path, "form", "an archive"),
    ):
        with pytest.raises(BrachiateError, match=r"pipe\.npz is not a regular file"):
            read(tmp_path / "pipe.npz")


def test_files_that_state_no_size(tmp_path):
    """Files of /proc have the size 0; what is read is limited all the same."""
    with pytest.raises(FileFormatError, match="it has more than a settings file may have"):
        limits.read_regular(limits.Path("/proc/cpuinfo"), 10, "a settings file", FileFormatError)


def test_archive_that_unpacks_to_much_more_than_it_is(tmp_path):
    path = tmp_path / "bomb.npz"
    zeros = b"\0" * 2**20
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("poses.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (300 * 2**17,)})  # type: ignore[arg-type]
        for _ in range(300):
            file.write(zeros)
    assert path.stat().st_size < 2**20
    with pytest.raises(FileFormatError, match=r"bomb\.npz: its 0\.3 MB unpack to 300 MB, .* It is damaged, or made to exhaust the memory"):
        read_arrays(path, str(path), "an archive")


def test_announced_numbers_of_a_bvh(tmp_path):
    """The announced count is refused before the lines are split."""
    text = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 3 Xrotation Yrotation Zrotation\nEnd Site\n{\nOFFSET 0 1 0\n}\n}\n"
    with pytest.raises(MotionFileError, match=r"x line 12: 99999999 frames of 3 numbers are more than can be read \(50000000 numbers\)"):
        parse_bvh(text + "MOTION\nFrames: 99999999\nFrame Time: 0.01\n0 0 0\n", "x")


def test_json_is_limited(tmp_path):
    path = tmp_path / "clip.json"
    with path.open("wb") as file:
        file.write(b'{"Loop": "none", "Frames": [' + b" " * 10_000)
        file.truncate(limits.MAX_JSON_SIZE + 1)
    with pytest.raises(MotionFileError, match=r"clip\.json: 64 MB is more than a motion file may have \(64 MB\)"):
        br.load_motion(path)
    path.write_text('{"Loop": "none", "Frames": ' + "[" * 100_000)
    with pytest.raises(MotionFileError, match="nested too deeply"):
        br.load_motion(path)
