"""Bad input: every door says what is wrong, in our own error, in words that are asserted; and changes nothing.

Each row fails if the input is taken in silence, if Python's or NumPy's own error comes out, or if the message loses the words
that tell what to do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from brachiate import (
    Box,
    BrachiateError,
    Capsule,
    Compound,
    Cylinder,
    Data,
    Ellipsoid,
    Fixed,
    Free,
    Hull,
    Mesh,
    Model,
    ModelBuilder,
    Planar,
    Plane,
    Prismatic,
    Revolute,
    Sphere,
    Spherical,
    Universal,
    cone_limit,
    dynamics,
    kinematics,
)  # fmt: skip
from brachiate.errors import ArgumentError, ModelError, StateError, UnknownName
from brachiate.model import flatten
from brachiate.model.joints import ball, slide, turn
from brachiate.model.link import Site
from brachiate.model.shapes import frame_along

Row = tuple[str, Callable[[], Any], type[BrachiateError], str]
NAN, INF = float("nan"), float("inf")
BODY: dict[str, Any] = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
CUBE = np.array([(x, y, z) for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])


def rows(table: list[Row]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("call", "error", "words"), [row[1:] for row in table], ids=[row[0] for row in table])


def raises_error(call: Callable[[], Any], error: type[BrachiateError], words: str) -> None:
    with pytest.raises(BrachiateError) as caught:
        call()
    assert type(caught.value) is error
    assert words in str(caught.value)


# --- joints -------------------------------------------------------------------------------------

JOINTS: list[Row] = [
    ("axis letter", lambda: Revolute("w"), ArgumentError, "joint axis: 'w' is not an axis. Use 'x', 'y', 'z'"),
    ("axis capital", lambda: Revolute("X"), ArgumentError, "'X' is not an axis"),
    ("axis of no length", lambda: Prismatic((0, 0, 0)), ArgumentError, "the axis has no direction"),
    ("axis of two numbers", lambda: Revolute((1, 0)), ArgumentError, "joint axis: expected 3 numbers, got shape (2,)"),
    ("axis not finite", lambda: Revolute((1, NAN, 0)), ArgumentError, "every number must be finite"),
    ("axis of words", lambda: Revolute(("a", "b", "c")), ArgumentError, "joint axis: expected 3 numbers"),
    ("axis None", lambda: Revolute(None), ArgumentError, "joint axis: expected 3 numbers"),
    ("anchor", lambda: Revolute("x", anchor=(1, 2)), ArgumentError, "joint anchor: expected 3 numbers, got shape (2,)"),
    ("anchor not finite", lambda: Spherical(anchor=(INF, 0, 0)), ArgumentError, "joint anchor: every number must be finite"),
    ("element axis", lambda: slide("up"), ArgumentError, "'up' is not an axis"),
    ("element anchor", lambda: turn("x", anchor="here"), ArgumentError, "joint anchor: expected 3 numbers"),
    ("ball anchor", lambda: ball(anchor=1.0), ArgumentError, "joint anchor: expected 3 numbers"),
    ("planar normal", lambda: Planar("n"), ArgumentError, "normal of a planar joint: 'n' is not an axis"),
    ("parallel universal", lambda: Universal("x", "x"), ArgumentError, "universal joint are parallel. Choose two different axes."),
    ("opposite universal", lambda: Universal("x", "-x"), ArgumentError, "are parallel"),
    ("limits crossed", lambda: Revolute("x", limits=(1, -1)), ArgumentError, "the lower limit 1 must not be above the upper limit -1"),
    ("limits NaN", lambda: Revolute("x", limits=(NAN, 1)), ArgumentError, "the lower limit nan"),
    ("limits of three", lambda: Revolute("x", limits=(0, 1, 2)), ArgumentError, "limits: expected (lower, upper)"),
    ("limits words", lambda: Revolute("x", limits=("low", "high")), ArgumentError, "limits: expected (lower, upper)"),
    ("limits of a free joint", lambda: Free(limits=(-1, 1)), ArgumentError, "A free joint has no (lower, upper) limits"),
    ("limits of a ball", lambda: Spherical(limits=(-1, 1)), ArgumentError, "limit a spherical joint by cone=..."),
    (
        "cone on a hinge", lambda: Revolute("x", cone=cone_limit("z", 1)), ArgumentError,
        "Only a spherical joint has a cone; this one is revolute",
    ),
    ("cone that is none", lambda: Spherical(cone=0.5), ArgumentError, "cone"),
    ("cone of nothing", lambda: cone_limit("z", 0), ArgumentError, "cone swing must be more than 0"),
    ("cone too wide", lambda: cone_limit("z", 4), ArgumentError, "at most 3.14159, got 4"),
    ("cone NaN", lambda: cone_limit("z", NAN), ArgumentError, "cone swing: expected a number, got NaN"),
    ("cone twist crossed", lambda: cone_limit("z", 1, (1, -1)), ArgumentError, "cone twist: the lower limit 1 is above the upper limit -1"),
    ("cone twist one number", lambda: cone_limit("z", 1, 0.5), ArgumentError, "cone twist"),
    ("cone twist three numbers", lambda: cone_limit("z", 1, (0, 1, 2)), ArgumentError, "cone twist"),
    ("negative damping", lambda: Revolute("x", damping=-1), ArgumentError, "damping of a revolute joint must be at least 0, got -1"),
    ("NaN armature", lambda: Revolute("x", armature=NAN), ArgumentError, "armature of a revolute joint: expected a number, got NaN"),
    ("damping for two of three", lambda: Planar(damping=(1, 2)), ArgumentError, "damping of a planar joint: expected one number or 3"),
    ("stiffness in words", lambda: Revolute("x", stiffness="soft"), ArgumentError, "expected one number or 1, got 'soft'"),
    ("infinite damping", lambda: Revolute("x", damping=INF), ArgumentError, "damping"),
    ("negative friction", lambda: Spherical(friction=-1.0), ArgumentError, "friction of a spherical joint must be at least 0, got -1."),
    ("stiffness NaN", lambda: Spherical(stiffness=NAN), ArgumentError, "stiffness of a spherical joint: expected a number, got NaN."),
    ("infinite stiffness", lambda: Revolute("x", stiffness=INF), ArgumentError, "stiffness"),
    ("infinite friction", lambda: Revolute("x", friction=INF), ArgumentError, "friction"),
    ("infinite armature", lambda: Revolute("x", armature=INF), ArgumentError, "armature"),
    ("rest of wrong size", lambda: Spherical(rest=(1, 0, 0)), ArgumentError, "rest: expected 4 numbers, got shape (3,)"),
    ("rest of no rotation", lambda: Spherical(stiffness=1, rest=(0, 0, 0, 0)), ArgumentError, "rest"),
    ("rest not finite", lambda: Revolute("x", rest=NAN), ArgumentError, "rest: every number must be finite"),
    ("free with a spring", lambda: Free(stiffness=1.0), ArgumentError, "A free joint has no spring."),
    ("compound with free", lambda: Compound({"a": Revolute("x"), "b": Free()}), ArgumentError, "A free joint cannot be part of a compound"),
    (
        "compound with a cone", lambda: Compound({"a": Spherical(cone=cone_limit("z", 1))}), ArgumentError,
        "not for a part of a compound joint",
    ),
    ("compound of no joints", lambda: Compound({"a": "revolute"}), ArgumentError, "'a'"),
    ("compound of a list", lambda: Compound([Revolute("x")]), ArgumentError, "part"),
]  # fmt: skip


@rows(JOINTS)
def test_joints_reject_bad_input(call, error, words):
    raises_error(call, error, words)


# --- shapes -------------------------------------------------------------------------------------

SHAPES: list[Row] = [
    ("radius negative", lambda: Sphere(radius=-1), ArgumentError, "radius of a sphere must be more than 0, got -1"),
    ("radius zero", lambda: Cylinder(radius=0, length=1), ArgumentError, "radius of a cylinder must be more than 0"),
    ("radius NaN", lambda: Sphere(radius=NAN), ArgumentError, "radius of a sphere: expected a number, got NaN"),
    ("radius infinite", lambda: Sphere(radius=INF), ArgumentError, "radius of a sphere"),
    ("radius in words", lambda: Sphere(radius="big"), ArgumentError, "radius of a sphere: expected a number, got 'big'"),
    ("length negative", lambda: Capsule(radius=1, length=-1), ArgumentError, "length of a capsule must be more than 0"),
    ("capsule between one point", lambda: Capsule.between((1, 2, 3), (1, 2, 3), 0.1), ArgumentError, "the same point. Use a sphere."),
    ("capsule end", lambda: Capsule.between((1, 2), (1, 2, 3), 0.1), ArgumentError, "end of a capsule: expected 3 numbers"),
    ("box negative", lambda: Box(size=(1, -1, 1)), ArgumentError, "size of a box must be more than 0"),
    ("box of one number", lambda: Box(size=1.0), ArgumentError, "size of a box: expected 3 numbers, got shape ()"),
    ("box infinite", lambda: Box(size=(1, INF, 1)), ArgumentError, "every number must be finite"),
    ("ellipsoid zero", lambda: Ellipsoid(radii=(1, 0, 1)), ArgumentError, "radii of an ellipsoid must be more than 0"),
    ("plane size", lambda: Plane(size=0), ArgumentError, "size of a plane must be more than 0"),
    ("position", lambda: Sphere(radius=1, position=(0, 0)), ArgumentError, "position of a sphere: expected 3 numbers"),
    ("rotation", lambda: Sphere(radius=1, rotation=np.ones((3, 3))), ArgumentError, "rotation of a sphere: the matrix is not a rotation"),
    ("mirror", lambda: Sphere(radius=1, rotation=np.diag((1, 1, -1))), ArgumentError, "determinant +1"),
    ("flat hull", lambda: Hull(vertices=CUBE * (1, 1, 0)), ArgumentError, "lie in one plane, so they enclose nothing"),
    ("hull of three", lambda: Hull(vertices=CUBE[:3]), ArgumentError, "expected at least 4 rows of 3 finite numbers, got shape (3, 3)"),
    ("hull NaN", lambda: Hull(vertices=CUBE * NAN), ArgumentError, "at least 4 rows of 3 finite numbers"),
    ("hull in words", lambda: Hull(vertices="cube"), ArgumentError, "vertices of a convex hull"),
    ("mesh index", lambda: Mesh(vertices=CUBE, triangles=[(0, 1, 8)]), ArgumentError, "vertex numbers must be between 0 and 7"),
    ("mesh negative index", lambda: Mesh(vertices=CUBE, triangles=[(0, 1, -1)]), ArgumentError, "must be between 0 and 7"),
    ("mesh quads", lambda: Mesh(vertices=CUBE, triangles=[(0, 1, 2, 3)]), ArgumentError, "rows of 3 vertex numbers, got shape (1, 4)"),
    ("mesh without faces", lambda: Mesh(vertices=CUBE, triangles=np.zeros((0, 3))), ArgumentError, "rows of 3 vertex numbers"),
    ("mesh half index", lambda: Mesh(vertices=CUBE, triangles=[(0, 1, 2.5)]), ArgumentError, "vertex numbers"),
    ("mesh ragged", lambda: Mesh(vertices=[(0, 0, 0), (1, 0)], triangles=[(0, 1, 2)]), ArgumentError, "vertices of a mesh"),
    ("mesh in words", lambda: Mesh(vertices="cube", triangles=[(0, 1, 2)]), ArgumentError, "vertices of a mesh"),
    ("mesh inside out", lambda: Mesh(vertices=CUBE, triangles=[(0, 1, 2)]).inertia(), ArgumentError, "encloses no volume"),
    ("direction", lambda: frame_along((0, 0, 0)), ArgumentError, "direction: the axis has no direction"),
]  # fmt: skip


@rows(SHAPES)
def test_shapes_reject_bad_input(call, error, words):
    raises_error(call, error, words)


# --- links, one at a time -----------------------------------------------------------------------


def link(**given: Any) -> Callable[[ModelBuilder], None]:
    return lambda b: b.link(**{"name": "it", "joint": Revolute("x"), **BODY, **given})


LINKS: list[tuple[str, Callable[[ModelBuilder], Any], type[BrachiateError], str]] = [
    ("name with slash", link(name="left/hand"), ModelError, "'left/hand' cannot name a link: a name is a non-empty text"),
    ("name world", link(name="world"), ModelError, "other than 'world'"),
    ("no name", link(name=""), ModelError, "non-empty"),
    ("name a number", link(name=7), ModelError, "7 cannot name a link"),
    ("joint name", link(joint_name="a/b"), ModelError, "'a/b' cannot name a joint"),
    ("no joint", link(joint="revolute"), ArgumentError, "joint of 'it': expected a joint such as Revolute('y'), got 'revolute'"),
    ("joint class", link(joint=Revolute), ArgumentError, "expected a joint such as"),
    ("no shape", link(shapes=["ball"]), ArgumentError, "shapes of 'it': expected shapes such as Sphere(radius=0.1), got 'ball'"),
    ("shapes a number", link(shapes=5), ArgumentError, "shapes of 'it'"),
    ("shapes None", link(shapes=None), ArgumentError, "shapes of 'it'"),
    ("position of two", link(at=(0, 0)), ArgumentError, "position of 'it': expected 3 numbers, got shape (2,)"),
    ("position NaN", link(at=(0, NAN, 0)), ArgumentError, "position of 'it': every number must be finite"),
    ("zero quaternion", link(rotation=(0, 0, 0, 0)), ArgumentError, "rotation of 'it': a zero quaternion is not a rotation"),
    ("no rotation", link(rotation=2 * np.eye(3)), ArgumentError, "rotation of 'it': the matrix is not a rotation"),
    ("Euler angles", link(rotation=(0, 0, 1)), ArgumentError, "expected a quaternion (w, x, y, z) or a 3x3 matrix"),
    ("rotation NaN", link(rotation=(1, 0, 0, NAN)), ArgumentError, "of finite numbers"),
    ("rotation in words", link(rotation=("a", "b", "c", "d")), ArgumentError, "expected a quaternion"),
    ("rotation ragged", link(rotation=((1, 0), (0,))), ArgumentError, "expected a quaternion"),
    ("mass in words", link(mass="heavy"), ArgumentError, "mass of 'it': expected a number, got 'heavy'"),
    ("mass as text", link(mass="1.5"), ArgumentError, "mass of 'it': expected a number, got '1.5'"),
    ("mass NaN", link(mass=NAN), ArgumentError, "mass of 'it': expected a number, got NaN"),
    ("mass infinite", link(mass=INF), ArgumentError, "mass of 'it' must be at most 1e+12, got inf"),
    ("center of two", link(center=(0, 0)), ArgumentError, "center of 'it': expected 3 numbers"),
    ("inertia of two", link(inertia=(1, 1)), ArgumentError, "inertia of 'it': expected 3 numbers, got shape (2,)"),
    ("inertia 2x2", link(inertia=np.eye(2)), ArgumentError, "inertia of 'it': expected an array of shape (3, 3)"),
    ("inertia NaN", link(inertia=(1, NAN, 1)), ArgumentError, "inertia of 'it': every number must be finite"),
    ("inertia in words", link(inertia=("a", "b", "c")), ArgumentError, "inertia of 'it'"),
    ("inertia, no mass", link(mass=None), ModelError, "Link 'it' has an inertia or a center but no mass. Give mass=..."),
    ("density zero", link(mass=None, inertia=None, shapes=Sphere(radius=1), density=0), ArgumentError, "density of 'it' must be more than"),
    ("density infinite", link(mass=None, inertia=None, shapes=Sphere(radius=1), density=INF), ArgumentError, "density of 'it'"),
    ("site name", lambda b: b.site("a/b", "good"), ModelError, "'a/b' cannot name a site"),
    ("site twice", lambda b: [b.site("tip", "good") for _ in range(2)], ModelError, "Two sites are named 'tip'"),
    ("site position", lambda b: b.site("tip", "good", at="there"), ArgumentError, "position of site 'tip': expected 3 numbers"),
    ("loop of glue", lambda b: b.loop("l", "glue", "good", "world"), ArgumentError, "loop 'l': expected a joint, such as Revolute('y')"),
    ("loop without rows", lambda b: b.loop("l", Free(), "good", "world"), ArgumentError, "of 6 degrees of freedom constrains nothing"),
    ("loop with a rotor", lambda b: b.loop("l", Revolute(armature=1), "good", "world"), ArgumentError, "loop 'l': a loop-closing joint"),
    ("loop to itself", lambda b: b.loop("l", Fixed(), "good", "good"), ModelError, "Loop 'l' connects link 'good' to itself"),
    ("loop twice", lambda b: [b.loop("l", Fixed(), "good", "world") for _ in range(2)], ModelError, "'l'"),
    ("coefficients NaN", lambda b: b.couple("c", "good", None, (NAN,)), ArgumentError, "coefficients of coupling 'c'"),
    ("coefficients one number", lambda b: b.couple("c", "good", None, 1.0), ArgumentError, "coefficients of coupling 'c'"),
    ("coefficients none", lambda b: b.couple("c", "good", None, ()), ArgumentError, "coefficients of coupling 'c'"),
    ("coupling twice", lambda b: [b.couple("c", "good", None, (1.0,)) for _ in range(2)], ModelError, "'c'"),
    ("actuator twice", lambda b: [b.actuator("m", "good") for _ in range(2)], ModelError, "Two actuators are named 'm'"),
    ("gear", lambda b: b.actuator("m", "good", gear="low"), ArgumentError, "gear of actuator 'm': expected a number, got 'low'"),
    ("gear infinite", lambda b: b.actuator("m", "good", gear=INF), ArgumentError, "gear of actuator 'm'"),
    ("actuator kind", lambda b: b.actuator("m", "good", kind="steam"), ArgumentError, "'steam' is not one of: motor, position, velocity"),
    ("control range", lambda b: b.actuator("m", "good", control_range=(1, -1)), ArgumentError, "control range"),
    ("pose values", lambda b: b.pose("p", 5), ArgumentError, "'p'"),
    ("pose twice", lambda b: [b.pose("p", {}) for _ in range(2)], ModelError, "'p'"),
    ("prefix", lambda b: b.include("", good_builder().build()), ModelError, "''"),
    ("included at", lambda b: b.include("p", good_builder().build(), at=(0, 0)), ArgumentError, "position of 'p': expected 3 numbers"),
]  # fmt: skip


def good_builder() -> ModelBuilder:
    b = ModelBuilder("small")
    b.link("good", joint=Revolute("y"), **BODY)
    return b


@pytest.mark.parametrize(("add", "error", "words"), [row[1:] for row in LINKS], ids=[row[0] for row in LINKS])
def test_builder_rejects_bad_input_and_continues(add, error, words):
    b = good_builder()
    raises_error(lambda: add(b), error, words)
    model = b.build()
    assert list(model.links) == ["good"]
    assert len(model.sites) <= 1  # of two equal sites the first stays
    assert len(model.poses) <= 1


# --- the whole model ----------------------------------------------------------------------------


def building(*add: Callable[[ModelBuilder], Any]) -> Callable[[], Model]:
    def build() -> Model:
        b = good_builder()
        for step in add:
            step(b)
        return b.build()

    return build


LINKS_OF_GOOD = list(good_builder().build().links.values())
SITE = Site("s", "good", np.zeros(3), np.eye(3))
CROOKED = 1e-9 * np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])

MODELS: list[Row] = [
    ("link twice", building(link(name="good", joint_name="other")), ModelError, "Two links are named 'good'. Names must be unique"),
    ("joint twice", building(link(joint_name="good")), ModelError, "Two joints are named 'good' (links 'good', 'it')."),
    ("coordinate twice", building(link(name="a", joint=Spherical()), link(name="a.x")), ModelError, "Two coordinates are named 'a.x'"),
    ("compound part twice", building(link(joint=Compound({"good": Revolute("x")}))), ModelError, "Two coordinates are named 'good'"),
    ("parent unknown", building(link(parent="goof")), UnknownName, "link of this model (parent of 'it'). Did you mean 'good'?"),
    ("parent itself", building(link(parent="it")), ModelError, "form a cycle: it."),
    ("cycle", building(link(name="a", parent="b"), link(name="b", parent="a")), ModelError, "form a cycle: a, b."),
    ("behind a cycle", building(link(name="a", parent="b"), link(name="b", parent="a"), link(parent="b")), ModelError, "form a cycle"),
    ("parent no text", building(link(parent=["good"])), UnknownName, "['good'] is not a link"),
    ("negative mass", building(link(mass=-2.0)), ModelError, "Link 'it' has a negative mass: -2 kg"),
    ("mass minus infinity", building(link(mass=-INF)), ModelError, "Link 'it': mass and inertia must be finite"),
    ("triangle inequality", building(link(inertia=(1, 1, 3))), ModelError, "no solid has the principal moments 1, 1, 3 kg·m²"),
    ("triangle, small", building(link(inertia=(1e-9, 1e-9, 3e-9))), ModelError, "no solid has the principal moments"),
    ("negative inertia", building(link(inertia=(-1, 1, 1))), ModelError, "its inertia has a negative principal moment (-1 kg·m²)"),
    ("inertia not symmetric", building(link(inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]])), ModelError, "inertia matrix is not symmetric"),
    (
        "small inertia not symmetric",
        building(link(inertia=CROOKED)), ModelError, "inertia matrix is not symmetric",
    ),
    ("inertia without mass", building(link(mass=0.0)), ModelError, "Link 'it' has inertia but no mass"),
    ("massless leaf", building(link(mass=None, inertia=None)), ModelError, "neither it nor its subtree has mass"),
    (
        "massless branch",
        building(link(name="a", mass=0, inertia=None), link(name="b", parent="a", mass=0, inertia=None)), ModelError, "Link 'b' can move",
    ),
    ("site of no link", building(lambda b: b.site("tip", "god")), UnknownName, "link of model 'small'. Did you mean 'good'?"),
    ("loop of no link", building(lambda b: b.loop("l", Fixed(), "good", "wall")), UnknownName, "'wall' is not a link"),
    ("coupling of none", building(lambda b: b.couple("c", "goood", None, (1,))), UnknownName, "'goood' is not a coordinate"),
    ("coupling to none", building(lambda b: b.couple("c", "good", "bad", (1,))), UnknownName, "'bad' is not a coordinate"),
    ("coupling to itself", building(lambda b: b.couple("c", "good", "good", (0, 1))), ModelError, "'c'"),
    ("actuator of none", building(lambda b: b.actuator("m", "goo")), UnknownName, "'goo' is not a coordinate of model 'small'"),
    ("pose of none", building(lambda b: b.pose("p", {"goodd": 1})), UnknownName, "joint of model 'small'. Did you mean 'good'?"),
    ("pose of two", building(lambda b: b.pose("p", {"good": (1, 2)})), ArgumentError, "value of 'good': expected 1 numbers, got"),
    ("pose NaN", building(lambda b: b.pose("p", {"good": NAN})), ArgumentError, "value of 'good': every number must be finite"),
    ("pose in words", building(lambda b: b.pose("p", {"good": "bent"})), ArgumentError, "value of 'good': expected 1 numbers, got 'bent'"),
    (
        "pose zero quaternion",
        building(link(joint=Spherical()), lambda b: b.pose("p", {"it": (0, 0, 0, 0)})), ArgumentError, "a zero quaternion is not",
    ),
    (
        "pose of one part of a ball",
        building(link(joint=Spherical()), lambda b: b.pose("p", {"it.x": 1})), UnknownName, "'it.x' is not a joint",
    ),
    ("site twice, not by the builder", lambda: Model("m", LINKS_OF_GOOD, [SITE, SITE]), ModelError, "'s'"),
]  # fmt: skip


@rows(MODELS)
def test_models_reject_bad_input(call, error, words):
    raises_error(call, error, words)


# --- calls --------------------------------------------------------------------------------------


def figure() -> Model:
    b = ModelBuilder("figure")
    b.link("trunk", joint=Free(), joint_name="root", **BODY)
    b.link("arm", parent="trunk", joint=Spherical(), joint_name="shoulder", at=(0, 0.2, 0.4), **BODY)
    b.link("hand", parent="arm", joint=Revolute("y"), joint_name="wrist", at=(0, 0, -0.3), **BODY)
    return b.build()


MODEL = figure()
Q, V = MODEL.neutral.copy(), np.zeros(10)


def changed(x: np.ndarray, at: int, value: float) -> np.ndarray:
    x = x.copy()
    x[at] = value
    return x


NO_BALL = Q.copy()
NO_BALL[7:11] = 0
NO_ROOT = Q.copy()
NO_ROOT[3:7] = 0

CALLS: list[tuple[str, Callable[[Data], Any], type[BrachiateError], str]] = [
    ("q too short", lambda d: dynamics.mass_matrix(d, Q[:-1]), ArgumentError, "q: expected 12 numbers"),
    ("q of size nv", lambda d: dynamics.mass_matrix(d, V), ArgumentError, "(one for each of the model's configuration coordinates)"),
    ("q a column", lambda d: dynamics.mass_matrix(d, Q[:, None]), ArgumentError, "got shape (12, 1)"),
    ("q one number", lambda d: dynamics.mass_matrix(d, 0.0), ArgumentError, "q: expected 12 numbers"),
    ("q None", lambda d: dynamics.mass_matrix(d, None), ArgumentError, "q: expected"),
    ("q in words", lambda d: dynamics.mass_matrix(d, "neutral"), ArgumentError, "q: expected numbers, got 'neutral'"),
    ("q array of words", lambda d: dynamics.mass_matrix(d, np.array(["a"] * 12)), ArgumentError, "q: expected numbers"),
    ("q complex", lambda d: dynamics.mass_matrix(d, Q + 1j), ArgumentError, "q: expected numbers"),
    ("q ragged", lambda d: dynamics.mass_matrix(d, [[1], [1, 2]]), ArgumentError, "q: expected numbers"),
    ("v too long", lambda d: dynamics.bias(d, Q, Q), ArgumentError, "v: expected 10 numbers (one for each of the model's velocities)"),
    ("a of wrong size", lambda d: dynamics.inverse_dynamics(d, Q, V, V[:3]), ArgumentError, "a: expected 10 numbers"),
    ("tau of wrong size", lambda d: dynamics.forward_dynamics(d, Q, V, V[:3]), ArgumentError, "tau: expected 10 numbers"),
    ("q NaN", lambda d: dynamics.mass_matrix(d, changed(Q, 11, NAN)), StateError, "q[11] is nan (joint 'wrist'): every number must"),
    ("q infinite", lambda d: dynamics.mass_matrix(d, changed(Q, 0, INF)), StateError, "q[0] is inf (joint 'root')"),
    ("v infinite", lambda d: dynamics.bias(d, Q, changed(V, 9, INF)), StateError, "v[9] is inf (coordinate 'wrist')"),
    ("v NaN", lambda d: dynamics.forward_dynamics(d, Q, changed(V, 6, NAN), V), StateError, "v[6] is nan (coordinate 'shoulder.x')"),
    ("a NaN", lambda d: dynamics.inverse_dynamics(d, Q, V, changed(V, 0, NAN)), StateError, "a[0] is nan (coordinate 'root.x')"),
    ("tau NaN", lambda d: dynamics.forward_dynamics(d, Q, V, changed(V, 9, NAN)), StateError, "tau[9] is nan (coordinate 'wrist')"),
    ("zero quaternion", lambda d: dynamics.mass_matrix(d, NO_BALL), StateError, "A quaternion in q is zero"),
    ("zero quaternion of the root", lambda d: dynamics.bias(d, NO_ROOT, V), StateError, "Start from model.neutral, or set joints by name"),
    ("all zeros", lambda d: dynamics.forward_dynamics(d, 0 * Q, V, V), StateError, "A quaternion in q is zero"),
    ("x of wrong size", lambda d: dynamics.solve_mass(d, Q, V[:3]), ArgumentError, "x: expected 10 numbers, got shape (3,)"),
    ("x NaN", lambda d: dynamics.solve_mass(d, Q, V + NAN), ArgumentError, "x: every number must be finite"),
    ("solve at no rotation", lambda d: dynamics.solve_mass(d, NO_BALL, V), StateError, "A quaternion in q is zero"),
    ("members of wrong size", lambda d: dynamics.totals(d, np.ones(2, np.int64)), ArgumentError, "members"),
    ("members too many", lambda d: dynamics.centroidal_momentum_matrix(d, np.ones(9, np.int64)), ArgumentError, "members"),
    (
        "frame of no body",
        lambda d: kinematics.jacobian(d, kinematics.Placement(99, np.eye(3), np.zeros(3))), ArgumentError, "this model has no body 99",
    ),
    ("members by name", lambda d: dynamics.totals(d, ["trunk"]), ArgumentError, "members"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), [row[1:] for row in CALLS], ids=[row[0] for row in CALLS])
def test_dynamics_rejects_bad_input(call, error, words):
    raises_error(lambda: call(Data(MODEL)), error, words)


def unchanged_by(call: Callable[[Data], Any]) -> bool:
    data = Data(MODEL)
    rng = np.random.default_rng(0)
    data.assign(q=MODEL.configuration({"wrist": 0.3}), v=rng.normal(size=10), a=rng.normal(size=10), tau=rng.normal(size=10))
    before = {name: getattr(data, name).copy() for name in ("q", "v", "a", "tau")}
    with pytest.raises(BrachiateError):
        call(data)
    return all(np.array_equal(getattr(data, name), x) for name, x in before.items())


WRONG_SIZES = [row[:2] for row in CALLS if row[2] is ArgumentError]
WRONG_NUMBERS = [row[:2] for row in CALLS if row[2] is StateError]


@pytest.mark.parametrize("call", [call for _, call in WRONG_SIZES], ids=[name for name, _ in WRONG_SIZES])
def test_a_call_with_wrong_sizes_leaves_the_data_as_it_was(call):
    # Fails if half of the arguments are taken before the other half is rejected.
    assert unchanged_by(call)


@pytest.mark.parametrize("call", [call for _, call in WRONG_NUMBERS], ids=[name for name, _ in WRONG_NUMBERS])
def test_a_call_with_wrong_numbers_leaves_the_data_as_it_was(call):
    # Fails if a NaN stays behind for the next call.
    assert unchanged_by(call)


# Finite numbers in, no finite numbers out: 1e200 squared.

OVERFLOWS: list[tuple[str, Callable[[Data], Any]]] = [
    ("inverse dynamics", lambda d: dynamics.inverse_dynamics(d, Q, V + 1e200, V)),
    ("bias", lambda d: dynamics.bias(d, Q, V + 1e200)),
    ("forward dynamics", lambda d: dynamics.forward_dynamics(d, Q, V + 1e200, V)),
]


@pytest.mark.parametrize("call", [call for _, call in OVERFLOWS], ids=[name for name, _ in OVERFLOWS])
def test_no_nan_comes_out(call):
    raises_error(lambda: call(Data(MODEL)), StateError, "finite")


def wide_slide() -> Model:
    b = ModelBuilder("wide")
    b.link("rail", joint=Revolute("z"), **BODY)
    b.link("car", parent="rail", joint=Prismatic("x"), **BODY)
    return b.build()


def test_mass_matrix_that_overflows_raises_an_error():
    raises_error(lambda: dynamics.mass_matrix(Data(wide_slide()), (0, 1e200)), StateError, "finite")


def test_energy_that_overflows_raises_an_error():
    data = Data(wide_slide())
    data.assign(v=(1e200, 0))
    raises_error(lambda: dynamics.totals(data), StateError, "finite")


def test_a_rejected_call_does_not_affect_the_next():
    # The mass matrix needs q alone: an infinite v of the call before must not be held against it.
    data = Data(MODEL)
    raises_error(lambda: dynamics.bias(data, Q, V + INF), StateError, "v[0] is inf")
    assert np.isfinite(dynamics.mass_matrix(data, Q)).all()


def test_the_message_is_about_this_call_not_the_one_before():
    # forward_dynamics leaves accelerations that are not finite; a zero quaternion afterwards is another mistake.
    data = Data(MODEL)
    with pytest.raises(StateError):
        dynamics.forward_dynamics(data, Q, V + 1e200, V)
    raises_error(lambda: dynamics.forward_dynamics(data, NO_BALL, V, V), StateError, "A quaternion in q is zero")


@pytest.mark.parametrize(
    "gravity", [(0, -9.81), -9.81, (0, 0, 0, -9.81), (0, 0, NAN), (0, 0, -INF), "down", None], ids=str
)  # fmt: skip
def test_gravity_is_three_finite_numbers(gravity):
    # Two numbers would be read as three by compiled code.
    raises_error(lambda: Data(MODEL, gravity=gravity), ArgumentError, "gravity")


def test_room_for_pushes_is_not_negative():
    raises_error(lambda: Data(MODEL, pushes=-1), ArgumentError, "pushes")


def test_assign_knows_four_names():
    raises_error(lambda: Data(MODEL).assign(torque=V), ArgumentError, "torque")


# --- singular and too large ---------------------------------------------------------------------


def on_its_own_axis(axis, rotation=None) -> Model:
    """A point mass on the axis it is to turn about: no torque could be too small for it."""
    b = ModelBuilder("needle")
    b.link("base", joint=Prismatic("x"), rotation=rotation, **BODY)
    b.link("needle", parent="base", joint=Revolute(axis), mass=1.0, center=np.array(axis, float))
    return b.build()


@pytest.mark.parametrize(
    ("axis", "rotation"),
    [((0, 0, 1), None), ((1, 2, 3), None), ((1, 2, 3), (0.3, -0.4, 0.5, 0.7)), ((-3, 7, 2), (9, 1, 2, 3)), ((5, 1, 1), (1, 1, 1, 0))],
)  # fmt: skip
@pytest.mark.parametrize("angle", [0.0, 0.4, 2.1])
def test_singular_mass_matrix_raises_an_error_despite_round_off(axis, rotation, angle):
    # Along no axis of the world its inertia is 1e-17, not 0; accelerations of 1e17 are no answer either.
    data = Data(on_its_own_axis(axis, rotation))
    words = "The mass matrix is singular at coordinate 'needle': in this posture it has no inertia."
    raises_error(lambda: dynamics.forward_dynamics(data, [0.1, angle], [0, 0], [0, 1]), StateError, words)
    raises_error(lambda: dynamics.solve_mass(data, [0.1, angle], [0, 1]), StateError, words)


def test_two_balls_about_one_point_raise_errors():
    b = ModelBuilder("two balls")
    b.link("a", joint=Spherical())
    b.link("b", parent="a", joint=Spherical(), **BODY)
    model = b.build()
    rng = np.random.default_rng(1)
    for _ in range(10):
        q = rng.normal(size=8)
        raises_error(lambda q=q: dynamics.forward_dynamics(Data(model), q, np.zeros(6), np.ones(6)), StateError, "mass matrix is singular")


def test_mass_matrix_too_large_to_store_raises_an_error_but_not_its_dynamics(monkeypatch):
    # As a chain of more than some 5,000 links would be, but quick: the limit is lowered instead.
    monkeypatch.setattr(flatten, "MAX_PACKED_SIZE", 20)
    b = ModelBuilder("long")
    for i in range(10):
        b.link(f"l{i}", parent=f"l{i - 1}" if i else None, joint=Revolute("xyz"[i % 3]), at=(0, 0, 0.1), **BODY)
    model = b.build()
    data = Data(model)
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 10))
    raises_error(lambda: dynamics.mass_matrix(data, q), ArgumentError, "The mass matrix of 10 coordinates would fill")
    tau = dynamics.inverse_dynamics(data, q, v, a).copy()
    assert np.allclose(dynamics.forward_dynamics(data, q, v, tau), a, rtol=0, atol=1e-11)


# --- words --------------------------------------------------------------------------------------


def test_unknown_names_list_the_valid_ones():
    with pytest.raises(UnknownName) as caught:
        MODEL.configuration({"sholder": (1, 0, 0, 0)})
    assert str(caught.value) == (
        "'sholder' is not a joint of model 'figure'. Did you mean 'shoulder'? Valid: root, shoulder, wrist."
    )  # fmt: skip
    assert isinstance(caught.value, KeyError)
    assert (caught.value.name, caught.value.valid) == ("sholder", ["root", "shoulder", "wrist"])


def test_long_lists_of_names_are_cut():
    b = ModelBuilder("many")
    for i in range(40):
        b.link(f"l{i}", **BODY)
    b.site("tip", "zebra")
    with pytest.raises(UnknownName, match=r"l23, \.\.\. \(40 in all\)\."):
        b.build()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: MODEL.configuration({"wrist": "bent"}), "value of 'wrist': expected 1 numbers, got 'bent'"),
        (lambda: MODEL.configuration({"wrist": 1.0}, base=np.zeros(3)), "base: expected 12 numbers"),
        (lambda: MODEL.configuration({"root": (0, 0, 0)}), "value of 'root': expected 7 numbers, got shape (3,)"),
    ],
)
def test_configuration_rejects_bad_input(call, words):
    raises_error(call, ArgumentError, words)


def test_all_errors_are_of_one_family_and_of_pythons_own_kinds():
    for error, kind in ((ArgumentError, ValueError), (ModelError, ValueError), (UnknownName, KeyError), (StateError, ArithmeticError)):
        assert issubclass(error, BrachiateError)
        assert issubclass(error, kind)


def test_singular_free_joint_in_the_middle_is_named():
    # Fails if the axis of a ball is added to a coordinate that is already exact.
    b = ModelBuilder("nested")
    b.link("a", joint=Revolute("y"), **BODY)
    b.link("b", parent="a", joint=Free(), mass=1.0, inertia=(0, 0, 0))
    model = b.build()
    words = "The mass matrix is singular at coordinate 'b.r"
    raises_error(lambda: dynamics.forward_dynamics(Data(model), model.neutral, np.zeros(7), np.ones(7)), StateError, words)


def test_a_site_named_like_a_link_raises_an_error():
    b = ModelBuilder("same")
    b.link("rod", joint=Revolute("y"), **BODY)
    b.site("rod", "rod")
    raises_error(b.build, ModelError, "A site and a link are both named 'rod'")
