"""Bad input to structure changes: every wrong call names the mistake and the remedy, and leaves the world bit for bit as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import brachiate as br
from brachiate.errors import ArgumentError, AssemblyError, BrachiateError, ModelError, OverconstrainedError, StateError, UnknownName

BODY = {"mass": 1.0, "center": (0, 0.05, 0.2), "inertia": (0.05, 0.06, 0.02)}


def robot() -> br.Model:
    builder = br.ModelBuilder("robot")
    builder.link("base", joint=br.Free(), joint_name="root", **BODY)
    builder.link("arm", parent="base", joint=br.Spherical(), joint_name="shoulder", at=(0.1, 0, 0.2), **BODY)
    builder.link("hand", parent="arm", joint=br.Revolute("y"), joint_name="wrist", at=(0, 0, 0.5), **BODY)
    builder.link("nail", parent="hand", at=(0, 0, 0.1), mass=0.1)
    builder.link("cart", parent="base", joint=br.Planar("z"), joint_name="cart", at=(-0.2, 0, 0.1), **BODY)
    wrist = {"pan": br.Revolute("z", anchor=(0.2, 0, 0)), "ball": br.Spherical(anchor=(0, 0, 0.3))}
    builder.link("tool", parent="cart", joint=br.Compound(wrist), joint_name="mount", at=(0, 0, 0.2), **BODY)
    builder.site("tip", "hand", (0, 0, 0.2))
    return builder.build()


@pytest.fixture
def world() -> br.World:
    """Two robots, a wall, a weld, a hinge that was cut, a lock and a prescribed coordinate."""
    world = br.World()
    world.add(robot(), "one")
    world.add(robot(), "two", at=(1, 0, 0), rotation=(1, 0, 0, 1))
    world.add(br.figures.bar(), "bar")
    rng = np.random.default_rng(2)
    world.q = world.integrate(0.4 * rng.normal(size=world.model.nv), 1.0)
    world.v = rng.normal(size=world.model.nv)
    world.torque = rng.normal(size=world.model.nv)
    world.connect("one/tip", "two/arm", name="weld")
    cut_hinge = world.connect("one/cart", "bar/rod", br.Revolute("x"), name="gone")
    world.cut(cut_hinge)
    world.cut_hinge = cut_hinge  # type: ignore[attr-defined]
    world.lock("two/cart.y")
    world.prescribe("two/wrist", [world.angle("two/wrist"), 0.5])
    return world


def snapshot(world: br.World) -> dict[str, Any]:
    """Everything that a failed call might have changed."""
    return {
        "q": world.q.tobytes(),
        "v": world.v.tobytes(),
        "torque": world.torque.tobytes(),
        "time": world.time,
        "coordinates": world.model.coordinates,
        "connections": list(world.connections.items()),
        "locks": list(world.locks.items()),
        "constraints": list(world.constraints),
        "indices": [constraint.index for constraint in world.constraints],
        "rows": world.row_names(),
        "count": world.constraint_set.count,
        "parts": {name: id(part[0]) for name, part in world.parts.items()},
        "figures": {name: id(figure.model) for name, figure in world.figures.items()},
        "applied forces": world.applied_forces,
        "version": world.structure_version,
    }


def free_joint(world: br.World) -> Any:
    return world.connect("one/cart", "two/cart", br.Free())


def another_worlds(world: br.World) -> Any:
    other = world.copy()
    return world.cut(other.connections["weld"])


NAN = float("nan")
HINGE = br.Revolute("y")
Call = tuple[Callable[[Any], Any], type[Exception], str]
CALLS: dict[str, Call] = {
    # --- connect
    "unknown link": (
        lambda w: w.connect("one/had", "two/cart"),
        UnknownName,
        "'one/had' is not a link or site of this world. Did you mean",
    ),
    "unknown second link": (lambda w: w.connect("one/cart", "tow/cart"), UnknownName, "'tow/cart' is not a link or site of this world"),
    "a joint's name": (lambda w: w.connect("one/wrist", "two/cart"), UnknownName, "'one/wrist' is not a link or site of this world"),
    "no name": (lambda w: w.connect(None, "two/cart"), BrachiateError, "None"),
    "no second name": (lambda w: w.connect("one/cart", None), UnknownName, "None is not a link or site"),
    "a number for a name": (lambda w: w.connect("one/cart", 3), UnknownName, "3 is not a link or site"),
    "a list for a name": (lambda w: w.connect("one/cart", ["two/cart"]), UnknownName, "['two/cart'] is not a link or site"),
    "a link to itself": (lambda w: w.connect("one/cart", "one/cart"), ArgumentError, "a link cannot be connected to itself"),
    "links of one body": (lambda w: w.connect("one/nail", "one/hand"), ArgumentError, "'one/nail' is rigidly attached to 'one/hand'"),
    "a link and its site": (lambda w: w.connect("one/tip", "one/hand"), ArgumentError, "a link cannot be connected to itself"),
    "ground to ground": (lambda w: w.connect("bar/rod", "world"), ArgumentError, "'bar/rod' is rigidly attached to 'world'"),
    "world to world": (lambda w: w.connect("world", "world"), ArgumentError, "a link cannot be connected to itself"),
    "a free joint": (free_joint, ArgumentError, "a free joint of 6 degrees of freedom constrains nothing"),
    "a joint of six freedoms": (
        lambda w: w.connect("one/cart", "two/cart", br.Compound({"p": br.Planar("z"), "b": br.Spherical()})),
        ArgumentError,
        "a compound joint of 6 degrees of freedom constrains nothing",
    ),
    "a rotor": (
        lambda w: w.connect("one/cart", "two/cart", br.Revolute("y", armature=0.1)),
        ArgumentError,
        "a loop-closing joint cannot have armature",
    ),
    "no joint": (
        lambda w: w.connect("one/cart", "two/cart", "hinge"),
        ArgumentError,
        "expected a joint, such as Revolute('y') or Fixed(), got 'hinge'",
    ),
    "a class of joints": (lambda w: w.connect("one/cart", "two/cart", br.Revolute), ArgumentError, "expected a joint"),
    "a point of NaN": (
        lambda w: w.connect("one/cart", "two/cart", HINGE, at=(0, NAN, 0)),
        ArgumentError,
        "point of 'one/cart': every number must be finite",
    ),
    "a second point of NaN": (
        lambda w: w.connect("one/cart", "two/cart", HINGE, to_at=(0, NAN, 0), allow="all"),
        ArgumentError,
        "point of 'two/cart': every number must be finite",
    ),
    "a point of two numbers": (
        lambda w: w.connect("one/cart", "two/cart", HINGE, at=(0, 1)),
        ArgumentError,
        "point of 'one/cart': expected 3 numbers",
    ),
    "a point of words": (lambda w: w.connect("one/cart", "two/cart", HINGE, at="here"), ArgumentError, "point of 'one/cart'"),
    "a name that is taken": (
        lambda w: w.connect("one/cart", "two/cart", HINGE, name="weld"),
        ModelError,
        "A connection or coupling named 'weld' exists already",
    ),
    "the name of a joint": (
        lambda w: w.connect("one/tip", "two/cart", HINGE, name="one/shoulder"),
        ModelError,
        "A joint named 'one/shoulder' exists already. Give this connection another name",
    ),
    "an empty name": (lambda w: w.connect("one/cart", "two/cart", HINGE, name=""), ArgumentError, "'' cannot name a connection"),
    "no text for a name": (lambda w: w.connect("one/cart", "two/cart", HINGE, name=7), ArgumentError, "7 cannot name a connection"),
    # --- redundant and contradictory
    "a weld again": (lambda w: w.connect("one/hand", "two/arm"), OverconstrainedError, "all its 6 rows are redundant"),
    "a hinge inside a weld": (lambda w: w.connect("one/nail", "two/arm", HINGE), OverconstrainedError, "all its 5 rows are redundant"),
    "a ball inside a weld": (
        lambda w: w.connect("two/arm", "one/hand", br.Spherical()),
        OverconstrainedError,
        "Pass redundant=True if that is intended",
    ),
    "a hinge where there is one": (
        lambda w: w.connect("one/hand", "one/arm", HINGE),
        OverconstrainedError,
        "all its 5 rows are redundant",
    ),
    "a weld across a prescribed joint": (
        lambda w: w.connect("two/hand", "two/arm", redundant=True),
        OverconstrainedError,
        "contradicts the other constraints: 0.",
    ),
    # --- assembly
    "out of reach": (
        lambda w: w.connect("two/tool", "world", HINGE, to_at=(50, 0, 0), allow="two/mount"),
        AssemblyError,
        "m or rad remains after moving the allowed joints (two/mount)",
    ),
    "out of reach of several": (
        lambda w: w.connect("two/tool", "world", br.Spherical(), to_at=(50, 0, 0), allow=("two/mount", "two/shoulder")),
        AssemblyError,
        "(two/mount, two/shoulder). Move the figure nearer, or allow more joints",
    ),
    "held out of reach": (
        lambda w: w.connect("two/cart", "two/base", br.Fixed(), allow="two/cart"),
        AssemblyError,
        "'two/cart to two/base' cannot be closed",
    ),
    "nothing allowed": (lambda w: w.connect("one/cart", "two/cart", allow=[]), BrachiateError, "allow"),
    "an unknown pattern": (
        lambda w: w.connect("one/cart", "two/cart", allow="three/*"),
        UnknownName,
        "'three/*' is not a joint (or pattern of joints) of this world",
    ),
    "one of several unknown": (lambda w: w.connect("one/cart", "two/cart", allow=["one/*", "wrst"]), UnknownName, "'wrst' is not a joint"),
    "a coordinate allowed": (lambda w: w.connect("one/cart", "two/cart", allow="one/cart.x"), UnknownName, "'one/cart.x' is not a joint"),
    "a number allowed": (lambda w: w.connect("one/cart", "two/cart", allow=5), ArgumentError, "allow: expected names of joints"),
    "numbers allowed": (
        lambda w: w.connect("one/cart", "two/cart", allow=[5]),
        ArgumentError,
        "allow: expected names of joints such as 'man/*', got 5",
    ),
    # --- cut
    "cut twice": (lambda w: w.cut(w.cut_hinge), ArgumentError, "'gone' is cut already"),
    "cut another world's": (another_worlds, ArgumentError, "cut expects a connection or coupling of this world"),
    "cut a root": (
        lambda w: w.cut("one/root"),
        ArgumentError,
        "'one/root' is the root joint of a figure: there is no parent link to cut it from",
    ),
    "cut an unknown name": (
        lambda w: w.cut("one/wirst"),
        UnknownName,
        "'one/wirst' is not a connection, coupling or joint of this world. Did you mean 'one/wrist'?",
    ),
    "cut a coordinate": (lambda w: w.cut("one/cart.x"), UnknownName, "'one/cart.x' is not a connection, coupling or joint"),
    "cut twice, by name": (
        lambda w: w.cut("gone"),
        UnknownName,
        "'gone' is not a connection, coupling or joint of this world",
    ),
    "cut a number": (
        lambda w: w.cut(3),
        ArgumentError,
        "cut expects a connection or coupling of this world, or the name of a joint, got 3",
    ),
    "cut nothing": (lambda w: w.cut(None), ArgumentError, "got None"),
    "cut several": (lambda w: w.cut(["weld"]), ArgumentError, "got ['weld']"),
    "cut a joint with an impulse": (
        lambda w: w.cut("one/wrist", impulse=(1, 0, 0)),
        ArgumentError,
        "Only a connection can be cut with an impulse",
    ),
    "cut a lock with an impulse": (
        lambda w: w.cut(w.locks["two/cart.y"], impulse=(1, 0, 0)),
        ArgumentError,
        "'two/cart.y' is not a connection",
    ),
    "an impulse of NaN": (lambda w: w.cut("weld", impulse=(0, 0, NAN)), ArgumentError, "impulse: every number must be finite"),
    "an impulse of two numbers": (lambda w: w.cut("weld", impulse=(1, 2)), ArgumentError, "impulse: expected 3 numbers"),
    # --- lock
    "lock an unknown joint": (
        lambda w: w.lock("one/wirst"),
        UnknownName,
        "'one/wirst' is not a joint or coordinate of this world. Did you mean 'one/wrist'?",
    ),
    "lock a link": (lambda w: w.lock("one/hand"), UnknownName, "'one/hand' is not a joint or coordinate"),
    "lock nothing": (lambda w: w.lock(None), UnknownName, "None is not a joint or coordinate"),
    "lock several": (lambda w: w.lock(["one/wrist"]), UnknownName, "is not a joint or coordinate"),
    "lock a free joint": (
        lambda w: w.lock("one/root"),
        ArgumentError,
        "Connect its link to the world instead: world.connect('one/base', 'world')",
    ),
    "lock a part of a free joint": (lambda w: w.lock("one/root.x"), ArgumentError, "free joint"),
    "lock a part of a ball": (
        lambda w: w.lock("one/shoulder.x"),
        ArgumentError,
        "'one/shoulder.x' is part of a ball joint. Lock the whole joint",
    ),
    "lock a ball within a compound": (lambda w: w.lock("one/mount"), ArgumentError, "is part of a ball joint"),
    "lock twice": (lambda w: w.lock("two/cart.y"), ArgumentError, "'two/cart.y' is locked or prescribed already. Release it first"),
    "lock a prescribed joint": (lambda w: w.lock("two/wrist"), ArgumentError, "'two/wrist' is locked or prescribed already"),
    "lock a joint of which a part is locked": (lambda w: w.lock("two/cart"), ArgumentError, "'two/cart.y' is locked or prescribed already"),
    # --- prescribe
    "a polynomial of NaN": (
        lambda w: w.prescribe("one/wrist", [0, NAN]),
        ArgumentError,
        "expected one to six finite coefficients, constant first",
    ),
    "a polynomial of seven": (lambda w: w.prescribe("one/wrist", range(7)), ArgumentError, "expected one to six finite coefficients"),
    "an empty polynomial": (lambda w: w.prescribe("one/wrist", []), ArgumentError, "expected one to six finite coefficients"),
    "a polynomial of rows": (
        lambda w: w.prescribe("one/wrist", [[0, 1], [1, 2]]),
        ArgumentError,
        "expected one to six finite coefficients",
    ),
    "a polynomial of words": (
        lambda w: w.prescribe("one/wrist", "sin t"),
        ArgumentError,
        "polynomial of 'one/wrist': expected coefficients of a polynomial of time",
    ),
    "a function for a polynomial": (
        lambda w: w.prescribe("one/wrist", np.sin),
        ArgumentError,
        "polynomial of 'one/wrist': expected coefficients",
    ),
    "no polynomial": (lambda w: w.prescribe("one/wrist", None), ArgumentError, "polynomial of 'one/wrist'"),
    "zero duration": (
        lambda w: w.prescribe("one/wrist", [w.angle("one/wrist")], duration=0.0),
        ArgumentError,
        "duration must be more than 0",
    ),
    "duration of NaN": (
        lambda w: w.prescribe("one/wrist", [w.angle("one/wrist")], duration=NAN),
        ArgumentError,
        "duration: expected a number, got NaN",
    ),
    "negative duration": (
        lambda w: w.prescribe("one/wrist", [w.angle("one/wrist")], duration=-1),
        ArgumentError,
        "duration must be more than 0",
    ),
    "prescribe an unknown": (lambda w: w.prescribe("one/wirst", [0]), UnknownName, "'one/wirst' is not a joint or coordinate"),
    "prescribe a ball": (lambda w: w.prescribe("one/shoulder", [0, 1]), ArgumentError, "only a coordinate of one number can be prescribed"),
    "prescribe a free joint": (lambda w: w.prescribe("one/root", [0, 1]), ArgumentError, "is a free joint"),
    "prescribe several coordinates": (lambda w: w.prescribe("one/cart", [0, 1]), ArgumentError, "one coordinate"),
    "prescribe twice": (lambda w: w.prescribe("two/wrist", [0, 1]), ArgumentError, "'two/wrist' is locked or prescribed already"),
    # --- release
    "release what is not locked": (lambda w: w.release("one/wrist"), ArgumentError, "'one/wrist' is neither locked nor prescribed"),
    "release an unknown": (lambda w: w.release("one/wirst"), BrachiateError, "'one/wirst'"),
    "release a connection": (lambda w: w.release("weld"), ArgumentError, "'weld' is neither locked nor prescribed"),
    "release nothing": (lambda w: w.release(None), BrachiateError, "None"),
    "release several": (lambda w: w.release(["two/wrist"]), BrachiateError, "two/wrist"),
    # --- handles
    "force of a cut connection": (lambda w: w.cut_hinge.force, ArgumentError, "'gone' is no longer active: it was cut"),
    "value of a cut connection": (lambda w: w.cut_hinge.value, ArgumentError, "'gone' is no longer active"),
    "torque of a cut connection": (lambda w: w.cut_hinge.torque, ArgumentError, "'gone' is no longer active"),
    "motor torque of a cut connection": (lambda w: setattr(w.cut_hinge, "torque", 1.0), ArgumentError, "'gone' is no longer active"),
    "motor torque of the wrong size": (
        lambda w: setattr(w.connections["weld"], "torque", [1.0]),
        ArgumentError,
        "torque of 'weld': expected 0 numbers",
    ),
    "a state of another world": (lambda w: w.restore(w.copy().save()), ArgumentError, "it was saved from another world"),
    "an unknown connection": (lambda w: w.connections["welt"], KeyError, "welt"),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_bad_call_raises_and_changes_nothing(world, case):
    call, error, words = CALLS[case]
    before = snapshot(world)
    acceleration = np.array(world.forward_dynamics())
    with pytest.raises(error) as raised:
        call(world)
    assert words in str(raised.value)
    assert snapshot(world) == before
    assert np.abs(world.forward_dynamics() - acceleration).max() < 1e-10 * np.abs(acceleration).max()


def test_a_fully_redundant_connection_is_accepted_with_redundant_true(world):
    again = world.connect("one/hand", "two/arm", redundant=True)
    assert again.report.mobility[0] == again.report.mobility[1]
    assert len(again.report.redundant) == 6
    assert "6 redundant" in str(again.report)
    before = np.array(world.forward_dynamics())
    world.cut("weld")  # now the other one is active
    assert np.abs(world.forward_dynamics() - before).max() < 1e-9 * np.abs(before).max()
    assert world.connections[again.name].report is again.report


def test_redundancy_does_not_depend_on_earlier_cuts(world):
    # Indices of cut constraints are reused: a constraint that comes first in the rows must not make an older one look redundant.
    first = world.connect("one/cart", "bar/rod", br.Spherical(), name="first")
    world.connect("two/cart", "bar/rod", name="second")
    world.cut(first)
    before = snapshot(world)
    with pytest.raises(OverconstrainedError, match="all its 3 rows are redundant"):
        world.connect("two/cart", "bar/rod", br.Spherical())
    assert snapshot(world) == before


@pytest.mark.parametrize("order", ["welded first", "prescribed first"])
def test_a_welded_joint_cannot_be_prescribed(world, order):
    # One hinge, welded: any prescribed motion but rest is a contradiction.
    begin = world.angle("one/wrist")
    if order == "welded first":
        world.connect("one/hand", "one/arm", name="splint")
        before = snapshot(world)
        with pytest.raises(OverconstrainedError, match=r"redundant|contradicts"):
            world.prescribe("one/wrist", [begin, 0.3])
    else:
        world.prescribe("one/wrist", [begin, 0.3])
        before = snapshot(world)
        with pytest.raises(OverconstrainedError, match=r"contradicts the other constraints: 0\."):
            world.connect("one/hand", "one/arm", name="splint", redundant=True)
    assert snapshot(world) == before


def test_a_welded_joint_cannot_be_prescribed_from_rest(world):
    # Rates are consistent at the start, accelerations are not.
    world.prescribe("one/wrist", [world.angle("one/wrist"), 0.0, 2.0])
    before = snapshot(world)
    with pytest.raises(OverconstrainedError, match="contradicts"):
        world.connect("one/hand", "one/arm", name="splint", redundant=True)
    assert snapshot(world) == before


@pytest.mark.parametrize("number", [NAN, np.inf])
@pytest.mark.parametrize("array", ["q", "v"])
def test_structure_changes_need_a_finite_state(world, array, number):
    getattr(world, array)[-1] = number
    before = snapshot(world)
    actions = (
        lambda: world.connect("one/cart", "two/cart", HINGE),
        lambda: world.connect("one/cart", "two/cart", HINGE, allow="all"),
        lambda: world.lock("one/wrist"),
        lambda: world.cut("one/wrist"),
        lambda: world.cut("weld", impulse=(1, 0, 0)),
    )
    for action in actions:
        with pytest.raises(StateError, match=r"[qv]\[\d+\] is (nan|inf)"):
            action()
        assert snapshot(world) == before
    getattr(world, array)[-1] = 0.1
    world.connect("one/cart", "two/cart", HINGE)
    assert np.isfinite(world.forward_dynamics()).all()


def test_a_cut_that_leaves_a_joint_without_inertia_is_refused():
    builder = br.ModelBuilder("stick")
    builder.link("base", joint=br.Free(), joint_name="root", **BODY)
    builder.link("shell", parent="base", joint=br.Revolute("y"), joint_name="hinge")
    builder.link("inside", parent="shell", joint=br.Revolute("x"), joint_name="inner", **BODY)
    world = br.World()
    world.add(builder.build(), "it")
    world.connect("it/base", "world")
    before = snapshot(world)
    with pytest.raises(BrachiateError, match=r"inertia|mass"):
        world.cut("it/inner")  # the shell alone has no inertia
    assert snapshot(world) == before
    world.forward_dynamics()
