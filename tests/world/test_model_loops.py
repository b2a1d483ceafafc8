"""Models with loops and couplings, from files and figures."""

from __future__ import annotations

import pytest
from tests.constraint_checks import largest
from tests.world.arms import BOX, arms, run

import brachiate as br
from brachiate.errors import ArgumentError, AssemblyError

GEOM = '<geom type="box" size="0.05 0.04 0.2" pos="0 0 -0.2" mass="1"/>'
PARALLEL = f"""<mujoco><worldbody>
<body name="left" pos="0 0 2"><joint name="left" axis="0 1 0"/>{GEOM}
  <body name="bar" pos="0 0 -0.4"><joint name="bar" axis="0 1 0"/><geom type="box" size="0.5 0.03 0.03" pos="0.5 0 0" mass="1"/></body>
</body>
<body name="right" pos="1 0 2"><joint name="right" axis="0 1 0"/>{GEOM}</body>
</worldbody><equality>{{}}</equality></mujoco>"""


def mjcf(tmp_path, equality: str) -> br.Model:
    path = tmp_path / "model.xml"
    path.write_text(PARALLEL.format(equality))
    return br.load_model(path)


def test_a_connect_equality_of_a_file_is_closed_and_stays_closed(tmp_path):
    world = br.World()
    world.add(mjcf(tmp_path, '<connect name="pin" body1="bar" body2="right" anchor="1 0 0"/>'), "it")
    pin = world.connections["it/pin"]
    assert pin.report.mobility == (3, 1)
    assert pin.report.redundant == ("it/pin.y",)
    world.v = {"it/left": 2.0, "it/bar": -2.0, "it/right": 2.0}
    run(world, 1.0)
    assert abs(world.angle("it/left")) > 0.1
    assert world.angle("it/right") == pytest.approx(world.angle("it/left"), abs=1e-10)
    assert largest(world.position("it/bar", (1, 0, 0)) - world.position("it/right", (0, 0, -0.4))) < 1e-12


def test_a_weld_equality_of_a_file_is_closed_and_stays_closed(tmp_path):
    world = br.World()
    world.add(mjcf(tmp_path, '<weld name="glue" body1="left" body2="bar"/>'), "it")
    assert world.connections["it/glue"].report.mobility == (3, 2)
    world.v = {"it/left": 2.0}
    run(world, 1.0)
    assert world.angle("it/bar") == pytest.approx(0.0, abs=1e-12)
    assert abs(world.angle("it/left")) > 0.1


def test_a_joint_equality_of_a_file_is_kept(tmp_path):
    world = br.World()
    world.add(mjcf(tmp_path, '<joint name="gear" joint1="right" joint2="left" polycoef="0.1 -2 0.5 0 0"/>'), "it")
    assert world.row_names() == ["it/gear"]
    assert world.angle("it/right") == pytest.approx(0.1 - 2 * world.angle("it/left") + 0.5 * world.angle("it/left") ** 2, abs=1e-10)
    world.v = {"it/left": 1.0, "it/right": -2.0 + world.angle("it/left")}
    before = world.totals().energy
    run(world, 1.0)
    x, rate = world.angle("it/left"), world.rate("it/left")
    assert abs(x) > 0.1
    assert world.angle("it/right") == pytest.approx(0.1 - 2 * x + 0.5 * x * x, abs=1e-12)
    assert world.rate("it/right") == pytest.approx((-2 + x) * rate, abs=1e-12)
    assert world.totals().energy == pytest.approx(before, abs=1e-8)  # a gear does no work


def test_a_coupling_can_be_cut(tmp_path):
    world = br.World()
    world.add(mjcf(tmp_path, '<joint name="gear" joint1="right" joint2="left" polycoef="0 -2 0 0 0"/>'), "it")
    assert list(world.couplings) == ["it/gear"]
    gear = world.couplings["it/gear"]
    assert repr(gear) == "<Coupling 'it/gear': it/right of it/left>"
    report = world.cut("it/gear")
    assert report.mobility == (2, 3)
    assert not world.couplings
    assert not gear.alive
    assert repr(gear) == "<Coupling 'it/gear': it/right of it/left (cut)>"
    world["it/left"] = 0.5
    run(world, 0.2)
    assert abs(world["it/right"] + 2 * world["it/left"]) > 0.1  # independent now
    world.add(mjcf(tmp_path, '<joint name="gear" joint1="right" joint2="left"/>'), "other")
    with pytest.raises(ArgumentError, match="not a connection: only connections can be cut with an impulse"):
        world.cut("other/gear", impulse=(1, 0, 0))


def test_a_mimic_of_a_file_is_kept(tmp_path):
    def link(name: str) -> str:
        inertia = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
        return f'<link name="{name}"><inertial><origin xyz="0 0 -0.3"/><mass value="1"/>{inertia}</inertial></link>'

    def joint(name: str, parent: str, child: str, inside: str = "") -> str:
        ends = f'<parent link="{parent}"/><child link="{child}"/><axis xyz="0 1 0"/><origin xyz="0 0 -0.5"/>'
        return f'<joint name="{name}" type="continuous">{ends}{inside}</joint>'

    path = tmp_path / "model.urdf"
    mimic = '<mimic joint="hip" multiplier="-2" offset="0.1"/>'
    path.write_text(
        f'<robot name="r">{link("base")}{link("thigh")}{link("shank")}{joint("hip", "base", "thigh")}'
        f"{joint('knee', 'thigh', 'shank', mimic)}</robot>"
    )
    world = br.World()
    world.add(br.load_model(path), "it")
    assert len(world.row_names()) == 1
    assert world.angle("it/knee") == pytest.approx(0.1 - 2 * world.angle("it/hip"), abs=1e-10)
    world["it/hip"], world["it/knee"] = 0.5, -0.9
    run(world, 0.5)
    assert world.angle("it/knee") == pytest.approx(0.1 - 2 * world.angle("it/hip"), abs=1e-12)
    assert abs(world.angle("it/hip") - 0.5) > 0.1


def test_loops_that_are_open_are_closed_by_moving_joints():
    world = br.World()
    world.add(_offset_swing(), "swing")
    assert world.constraint_set.max_residual() < 1e-9
    assert list(world.connections) == ["swing/seat"]


def _offset_swing() -> br.Model:
    """A four-bar whose loop does not meet at zero angles."""
    builder = br.ModelBuilder("swing")
    part = {"mass": 1.0, "center": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.02)}
    builder.link("left", joint=br.Revolute("y"), **part)
    builder.link("plate", parent="left", joint=br.Revolute("y"), at=(0, 0, -1), mass=2.0, center=(0.4, 0, 0), inertia=(0.02, 0.1, 0.1))
    builder.link("right", joint=br.Revolute("y"), at=(1, 0, 0), **part)
    builder.loop("seat", br.Revolute("y"), "plate", "right", first_at=(0.9, 0, 0), second_at=(0, 0, -1))
    return builder.build()


@pytest.mark.parametrize("names", [("near", "gap"), ("gap", "near")])
def test_of_several_loops_the_one_that_stays_open_is_named(names):
    builder = br.ModelBuilder("far")
    builder.link("left", joint=br.Revolute("y"), **BOX)
    builder.link("right", joint=br.Revolute("y"), at=(9, 0, 0), **BOX)
    builder.link("slider", joint=br.Prismatic("x"), **BOX)
    for name in names:
        if name == "gap":
            builder.loop("gap", br.Spherical(), "left", "right", first_at=(0, 0, 1), second_at=(0, 0, 1))
        else:
            builder.loop("near", br.Fixed(), "slider", "world", second_at=(0.3, 0, 0))
    with pytest.raises(AssemblyError, match="'far/gap' cannot be closed: a gap of 7 m"):
        br.World().add(builder.build(), "far")


def test_loops_that_cannot_be_closed_add_nothing():
    builder = br.ModelBuilder("far")
    builder.link("left", joint=br.Revolute("y"), **BOX)
    builder.link("right", joint=br.Revolute("y"), at=(9, 0, 0), **BOX)
    builder.loop("gap", br.Spherical(), "left", "right", first_at=(0, 0, 1), second_at=(0, 0, 1))
    world = arms()
    weld = world.connect("a/cart", "b/cart")
    state = world.save()
    with pytest.raises(AssemblyError, match="'far/gap' cannot be closed"):
        world.add(builder.build(), "far")
    assert list(world.figures) == ["a", "b"]
    assert weld.alive
    assert list(world.connections.values()) == [weld]
    assert (world.q == state.q).all()
    assert (world.v == state.v).all()
    world.forward_dynamics()
