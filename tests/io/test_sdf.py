"""SDF files: poses in the model frame, joints at their child links, additional joints as loops."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate import Data, kinematics
from brachiate.errors import ModelFileError

INERTIAL = "<inertial><pose>0 0 0.1 0 0 0</pose><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"


def link(name, pose, inside=""):
    return f'<link name="{name}"><pose>{pose}</pose>{INERTIAL}{inside}</link>'


def joint(name, parent, child, kind="revolute", inside="", pose="0 0 0 0 0 0"):
    return f'<joint name="{name}" type="{kind}"><pose>{pose}</pose><parent>{parent}</parent><child>{child}</child>{inside}</joint>'


AXIS = """<axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>2</upper><effort>9</effort><velocity>3</velocity></limit>
<dynamics><damping>0.5</damping><friction>0.1</friction><spring_stiffness>3</spring_stiffness><spring_reference>0.2</spring_reference></dynamics></axis>"""
LINKS = link("a", "0 0 1 0 0 0") + link(
    "b", "1 0 1 0 0 1.5707963267948966", '<visual name="v"><geometry><box><size>1 2 3</size></box></geometry></visual>'
)


def test_tree_of_links(sdf):
    model = sdf(LINKS + joint("j", "a", "b", inside=AXIS, pose="0.5 0 0 0 0 0"))
    assert model.coordinates == ("root.x", "root.y", "root.z", "root.rx", "root.ry", "root.rz", "j")
    (element,) = model.links["b"].joint.elements
    np.testing.assert_allclose(element.axis, (0, 1, 0))
    np.testing.assert_allclose(element.anchor, (0.5, 0, 0))
    assert (model.limits[0][6], model.limits[1][6], model.effort[6], model.speed[6]) == (-1, 2, 9, 3)
    tree = model.tree
    assert (tree.damping[6], tree.friction[6], tree.stiffness[6], tree.rest[7]) == (0.5, 0.1, 3, 0.2)
    np.testing.assert_allclose(model.links["b"].shapes[0].size, (1, 2, 3))
    data = Data(model)
    data.assign(q=model.poses["reference"])
    poses = kinematics.link_poses(data)
    np.testing.assert_allclose(poses["a"].position, (0, 0, 1), atol=1e-15)
    np.testing.assert_allclose(poses["b"].position, (1, 0, 1), atol=1e-15)
    np.testing.assert_allclose(poses["b"].rotation @ (1, 0, 0), (0, 1, 0), atol=1e-15)


def test_static_and_world(sdf):
    assert sdf("<static>true</static>" + LINKS + joint("j", "a", "b", inside=AXIS)).nv == 1
    assert sdf(LINKS + joint("i", "world", "a", inside=AXIS) + joint("j", "a", "b", "ball")).coordinates == ("i", "j.x", "j.y", "j.z")
    assert sdf(LINKS + joint("j", "a", "b", "fixed"), floating_base=False).nv == 0


def test_axes_in_the_model_frame(sdf):
    axis = AXIS.replace("</xyz>", "</xyz><use_parent_model_frame>true</use_parent_model_frame>")
    (element,) = sdf(LINKS + joint("j", "a", "b", inside=axis)).links["b"].joint.elements
    np.testing.assert_allclose(element.axis, (1, 0, 0), atol=1e-15)


def test_later_joints_close_loops(sdf, warned):
    text = LINKS + joint("j", "a", "b", inside=AXIS)
    ball, weld = sdf(text + joint("k", "a", "b", "ball", pose="0.2 0 0 0 0 0") + joint("l", "a", "b", "fixed")).loops
    assert (ball.joint.type, ball.first, ball.second, weld.joint.type) == ("spherical", "a", "b", "fixed")
    np.testing.assert_allclose(ball.first_position, (1, 0.2, 0), atol=1e-15)
    np.testing.assert_allclose(ball.second_position, (0.2, 0, 0))
    np.testing.assert_allclose(weld.first_rotation @ (1, 0, 0), (0, 1, 0), atol=1e-15)
    model, message = warned(sdf, text + joint("k", "a", "b", inside=AXIS))
    assert "joints that close a loop and are neither ball nor fixed (left out): k" in message
    assert model.loops == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("</model><model>", r"expected one <model> in the <sdf>, found 2"),
        ("", r"the robot has no <link>"),
        (LINKS, r"2 links have no parent: a, b"),
        (LINKS + joint("j", "a", "x"), r"joint 'j' connects 'x', which is not a link\. Valid: a, b"),
        (LINKS + joint("j", "a", "b", "screw"), r"joint 'j' has the type 'screw'\. Valid: revolute"),
        (LINKS + joint("j", "a", "b", pose="1 2"), r"pose of 'j': expected 6 numbers, got '1 2'"),
        (LINKS + joint("j", "a", "b", pose="nan 0 0 0 0 0"), r"a number is NaN"),
        (LINKS.replace("<pose>", '<pose relative_to="a">', 1), r"<pose> uses other frames or models"),
        (LINKS + "<include><uri>model://x</uri></include>", r"<include> uses other frames or models"),
    ],
)
def test_refused_with_the_reason(sdf, text, message):
    with pytest.raises(ModelFileError, match=r"model\.sdf.*" + message):
        sdf(text)
