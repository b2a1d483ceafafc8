"""Malformed, malicious and physically impossible model files: refused with file name and reason, without side effects."""

from __future__ import annotations

import os

import pytest

from brachiate.errors import BrachiateError, ModelFileError
from brachiate.io import limits, load_model

GEOM = '<geom size="0.1"/>'
BOMB = '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><mujoco model="&b;"/>'
SOLID = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def mjcf(inside):
    return f"<mujoco>{inside}</mujoco>"


def urdf(links, *joints, solid=SOLID):
    text = "".join(f'<link name="{n}">{solid}</link>' for n in links)
    return f'<robot name="r">{text}{"".join(_joint(i, *j) for i, j in enumerate(joints))}</robot>'


def _joint(number, parent, child, kind="continuous"):
    return f'<joint name="j{number}" type="{kind}"><parent link="{parent}"/><child link="{child}"/></joint>'


CASES = {
    "empty": (b"", r"model\.xml is empty"),
    "only spaces": (b" \n ", r"model\.xml is empty"),
    "not XML": ("{'a': 1}", r"model\.xml is not well-formed XML, or was cut short: .*line 1"),
    "binary": (bytes(range(256)), r"model\.xml is not well-formed XML"),
    "cut short": ("<mujoco><worldbody><body>", r"model\.xml is not well-formed XML, or was cut short: no element found"),
    "cut in a tag": ("<mujoco><worldbo", r"not well-formed XML, or was cut short: unclosed token"),
    "unknown encoding": ('<?xml version="1.0" encoding="klingon"?><mujoco/>', "not well-formed XML, or was cut short: unknown encoding"),
    "entity bomb": (BOMB, r"model\.xml, line 1: a document type \(<!DOCTYPE, <!ENTITY\) is not allowed in a model"),
    "outside entity": ('<!DOCTYPE r SYSTEM "file:///etc/passwd"><mujoco/>', "a document type .* is not allowed in a model"),
    "nested too deep": ("<mujoco>" + "<a>" * 5000 + "</a>" * 5000 + "</mujoco>", "nested more than 400 deep"),
    "copies of copies": (
        mjcf(f'<worldbody><replicate count="1000"><replicate count="1000">{GEOM}</replicate></replicate></worldbody>'),
        r"<replicate> requests 1e\+06 copies; at most 5000",
    ),
    "grid of millions": (mjcf('<worldbody><flexcomp name="f" type="grid" count="999 999 999"/></worldbody>'), "<flexcomp> requests"),
    "wrong root": ("<svg><model/></svg>", r"its root element is <svg>\. Expected <mujoco> \(MJCF\), <robot> \(URDF\) or <sdf> \(SDF\)"),
    "NaN": (mjcf(f'<worldbody><body pos="0 NaN 0"><joint/>{GEOM}</body></worldbody>'), r"attribute 'pos' of <body> is NaN \('0 NaN 0'\)"),
    "infinite": (
        mjcf(f'<worldbody><body name="a" pos="inf 0 0"><joint/>{GEOM}</body></worldbody>'),
        r"position of 'a'.*finite|MuJoCo cannot read it",
    ),
    "number too large": (mjcf(f'<worldbody><body pos="1e999 0 0"><joint/>{GEOM}</body></worldbody>'), "MuJoCo cannot read it: .*too large"),
    "text for a number": (mjcf(f'<worldbody><body pos="a b c"><joint/>{GEOM}</body></worldbody>'), "MuJoCo cannot read it: .*'pos'"),
    "unknown attribute": (mjcf('<option colour="1"/>'), "MuJoCo cannot read it: .*unrecognized attribute: 'colour'"),
    "unknown joint type": (mjcf(f'<worldbody><body><joint type="wobbly"/>{GEOM}</body></worldbody>'), "MuJoCo cannot read it: .*'wobbly'"),
    "negative mass": (mjcf('<worldbody><body><joint/><geom size="1" mass="-1"/></body></worldbody>'), "MuJoCo cannot read it: .*negative"),
    "zero inertia": (
        mjcf('<worldbody><body name="a"><joint/><inertial pos="0 0 0" mass="1" diaginertia="0 0 0"/></body></worldbody>'),
        "MuJoCo cannot read it: .*mass and inertia of moving bodies must be larger.*'a'",
    ),
    "duplicate names": (
        mjcf('<worldbody><body name="a"/><body name="a"/></worldbody>'),
        "MuJoCo cannot read it: .*repeated name 'a' in body",
    ),
    "missing mesh": (
        mjcf('<asset><mesh name="m" file="no.stl"/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody>'),
        r"MuJoCo cannot read it: .*no\.stl",
    ),
    "missing include": (mjcf('<include file="no.xml"/>'), r"MuJoCo cannot read it: .*no\.xml"),
    "includes itself": (mjcf('<include file="model.xml"/>'), r"model\.xml includes itself: model\.xml → model\.xml"),
    "device for a mesh": (
        mjcf('<asset><mesh name="m" file="/dev/zero"/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody>'),
        "refers to /dev/zero, which is outside of its package",
    ),
    "device for an include": (mjcf('<include file="/dev/zero"/>'), "refers to /dev/zero, which is outside of its package"),
    "no links": ('<robot name="r"/>', "the robot has no <link>"),
    "link without a name": ("<robot name='r'><link/></robot>", "one of the links has no name"),
    "two links of one name": (urdf("aa"), "two links are named 'a'"),
    "two roots": (urdf("abc", "ab"), r"2 links have no parent: a, c\. URDF is one tree"),
    "circle": (urdf("rabc", "ra", "ca", "ab", "bc"), r"link 'a' is the child of two joints"),
    "circle without a root": (urdf("abc", "ab", "bc", "ca"), "these links form a loop: "),
    "circle beside a root": (urdf("rabc", "ab", "bc", "ca"), "these links form a loop: "),
    "link that is not there": (urdf("ab", "ax"), r"the child of joint 'j0' is 'x', which is not a link\. Valid: a, b"),
    "joint type of URDF": (urdf("ab", ("a", "b", "wobbly")), r"joint 'j0' has the type 'wobbly'\. Valid: revolute, continuous"),
    "negative mass in URDF": (
        urdf("ab", "ab", solid=SOLID.replace('mass value="1"', 'mass value="-1"')),
        "Link 'a' has a negative mass: -1 kg",
    ),
    "NaN in URDF": (urdf("ab", "ab", solid=SOLID.replace('mass value="1"', 'mass value="nan"')), "attribute 'value' of <mass> is NaN"),
    "text for a mass": (
        urdf("ab", "ab", solid=SOLID.replace('mass value="1"', 'mass value="heavy"')),
        "'value' of <mass> must be 1 finite number, got 'heavy'",
    ),
    "no mass at all": (urdf("ab", "ab", solid=""), "Link 'b' can move, but neither it nor its subtree has mass"),
    "enormous": (urdf("ab", "ab", solid=SOLID.replace('ixy="0"', 'ixy="1e308"')), "too large to compute with|Link 'a': "),
    "inertial without a mass": (urdf("a", solid="<inertial/>"), "link 'a': its <inertial> has no <mass>"),
}


@pytest.mark.parametrize("case", CASES)
def test_refused_with_the_reason(write, case, tmp_path, monkeypatch, capfd):
    content, message = CASES[case]
    monkeypatch.chdir(tmp_path)
    path = write(content)
    with pytest.raises(ModelFileError, match=r"(?s)" + message) as caught:
        load_model(path)
    assert isinstance(caught.value, BrachiateError)
    assert case.startswith("device") or str(path) in str(caught.value)
    assert not (tmp_path / "MUJOCO_LOG.TXT").exists(), "MuJoCo wrote its log"
    assert capfd.readouterr() == ("", ""), "MuJoCo printed to the terminal"


def test_paths(tmp_path, write):
    with pytest.raises(ModelFileError, match=r"no\.xml: there is no such file\. Check the path"):
        load_model(tmp_path / "no.xml")
    (tmp_path / "folder.xml").mkdir()
    with pytest.raises(ModelFileError, match=r"folder\.xml is not a regular file"):
        load_model(tmp_path / "folder.xml")
    with pytest.raises(ModelFileError, match=r"'\.blend' is not a supported model format\. Valid: \.xml \(MJCF or URDF\), \.urdf, \.sdf"):
        load_model(write("<mujoco/>", "a.blend"))
    os.mkfifo(tmp_path / "pipe.xml")
    with pytest.raises(ModelFileError, match=r"pipe\.xml is not a regular file"):
        load_model(tmp_path / "pipe.xml")


def test_huge_file_is_not_read(tmp_path):
    path = tmp_path / "huge.xml"
    with path.open("wb") as file:
        file.truncate(limits.MAX_XML_SIZE + 1)  # sparse file
    with pytest.raises(ModelFileError, match=r"huge\.xml: 32 MB is more than a model file may have \(32 MB\)"):
        load_model(path)


def test_entity_bomb_in_an_included_file(write):
    write(BOMB, "inner.xml")
    with pytest.raises(ModelFileError, match=r"inner\.xml, line 1: a document type"):
        load_model(write(mjcf('<include file="inner.xml"/>')))
    with pytest.raises(ModelFileError, match=r"other\.xml, line 1: a document type"):
        load_model(write(mjcf('<include file="other.xml"/>')), assets={"other.xml": BOMB.encode()})
