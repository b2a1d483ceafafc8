"""Invalid links, sites, loops, couplings, actuators and poses: refused by the builder or the model, with an error that names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.model.invalid_input import BODY, INF, NAN, Row, raises_error, rows

from brachiate import BrachiateError, Compound, Fixed, Free, Model, ModelBuilder, Revolute, Sphere, Spherical, Universal
from brachiate.errors import ArgumentError, ModelError, UnknownName
from brachiate.model.link import Site

# --- builder -----------------------------------------------------------------------


def link(**changes: Any) -> Callable[[ModelBuilder], None]:
    return lambda b: b.link(**{"name": "it", "joint": Revolute("x"), **BODY, **changes})


LINKS: list[tuple[str, Callable[[ModelBuilder], Any], type[BrachiateError], str]] = [
    ("name with slash", link(name="left/hand"), ModelError, "'left/hand' cannot name a link: a name is a non-empty text"),
    ("name world", link(name="world"), ModelError, "other than 'world'"),
    ("empty name", link(name=""), ModelError, "non-empty"),
    ("name a number", link(name=7), ModelError, "7 cannot name a link"),
    ("joint name", link(joint_name="a/b"), ModelError, "'a/b' cannot name a joint"),
    ("joint as text", link(joint="revolute"), ArgumentError, "joint of 'it': expected a joint such as Revolute('y'), got 'revolute'"),
    ("joint class", link(joint=Revolute), ArgumentError, "expected a joint such as"),
    ("shape as text", link(shapes=["ball"]), ArgumentError, "shapes of 'it': expected shapes such as Sphere(radius=0.1), got 'ball'"),
    ("shapes a number", link(shapes=5), ArgumentError, "shapes of 'it'"),
    ("shapes None", link(shapes=None), ArgumentError, "shapes of 'it'"),
    ("position of two", link(at=(0, 0)), ArgumentError, "position of 'it': expected 3 numbers, got shape (2,)"),
    ("position NaN", link(at=(0, NAN, 0)), ArgumentError, "position of 'it': every number must be finite"),
    ("zero quaternion", link(rotation=(0, 0, 0, 0)), ArgumentError, "rotation of 'it': a zero quaternion is not a rotation"),
    ("matrix not a rotation", link(rotation=2 * np.eye(3)), ArgumentError, "rotation of 'it': the matrix is not a rotation"),
    ("Euler angles", link(rotation=(0, 0, 1)), ArgumentError, "expected a quaternion (w, x, y, z) or a 3x3 matrix"),
    ("rotation NaN", link(rotation=(1, 0, 0, NAN)), ArgumentError, "of finite numbers"),
    ("rotation of texts", link(rotation=("a", "b", "c", "d")), ArgumentError, "expected a quaternion"),
    ("rotation ragged", link(rotation=((1, 0), (0,))), ArgumentError, "expected a quaternion"),
    ("mass as text", link(mass="heavy"), ArgumentError, "mass of 'it': expected a number, got 'heavy'"),
    ("mass as numeric text", link(mass="1.5"), ArgumentError, "mass of 'it': expected a number, got '1.5'"),
    ("mass NaN", link(mass=NAN), ArgumentError, "mass of 'it': expected a number, got NaN"),
    ("mass infinite", link(mass=INF), ArgumentError, "mass of 'it' must be at most 1e+12, got inf"),
    ("center of two", link(center=(0, 0)), ArgumentError, "center of 'it': expected 3 numbers"),
    ("inertia of two", link(inertia=(1, 1)), ArgumentError, "inertia of 'it': expected 3 numbers, got shape (2,)"),
    ("inertia 2x2", link(inertia=np.eye(2)), ArgumentError, "inertia of 'it': expected an array of shape (3, 3)"),
    ("inertia NaN", link(inertia=(1, NAN, 1)), ArgumentError, "inertia of 'it': every number must be finite"),
    ("inertia of texts", link(inertia=("a", "b", "c")), ArgumentError, "inertia of 'it'"),
    ("inertia, no mass", link(mass=None), ModelError, "Link 'it' has an inertia or a center but no mass. Give mass=..."),
    ("density zero", link(mass=None, inertia=None, shapes=Sphere(radius=1), density=0), ArgumentError, "density of 'it' must be more than"),
    ("density infinite", link(mass=None, inertia=None, shapes=Sphere(radius=1), density=INF), ArgumentError, "density of 'it'"),
    ("site name", lambda b: b.site("a/b", "good"), ModelError, "'a/b' cannot name a site"),
    ("site twice", lambda b: [b.site("tip", "good") for _ in range(2)], ModelError, "Two sites are named 'tip'"),
    ("site position", lambda b: b.site("tip", "good", at="there"), ArgumentError, "position of site 'tip': expected 3 numbers"),
    ("loop as text", lambda b: b.loop("l", "glue", "good", "world"), ArgumentError, "loop 'l': expected a joint, such as Revolute('y')"),
    ("loop without rows", lambda b: b.loop("l", Free(), "good", "world"), ArgumentError, "of 6 degrees of freedom constrains nothing"),
    ("loop with a rotor", lambda b: b.loop("l", Revolute(armature=1), "good", "world"), ArgumentError, "loop 'l': a loop-closing joint"),
    ("loop to itself", lambda b: b.loop("l", Fixed(), "good", "good"), ModelError, "Loop 'l' connects link 'good' to itself"),
    ("loop twice", lambda b: [b.loop("l", Fixed(), "good", "world") for _ in range(2)], ModelError, "'l'"),
    ("coefficients NaN", lambda b: b.couple("c", "good", None, (NAN,)), ArgumentError, "coefficients of coupling 'c'"),
    ("coefficients one number", lambda b: b.couple("c", "good", None, 1.0), ArgumentError, "coefficients of coupling 'c'"),
    ("no coefficients", lambda b: b.couple("c", "good", None, ()), ArgumentError, "coefficients of coupling 'c'"),
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


@pytest.mark.parametrize(("add", "error", "message"), [row[1:] for row in LINKS], ids=[row[0] for row in LINKS])
def test_builder_rejects_bad_input_and_continues(add, error, message):
    b = good_builder()
    raises_error(lambda: add(b), error, message)
    model = b.build()
    assert list(model.links) == ["good"]
    assert len(model.sites) <= 1  # the first of two equal sites is kept
    assert len(model.poses) <= 1


# --- the whole model ---------------------------------------------------------------


def building(*add: Callable[[ModelBuilder], Any]) -> Callable[[], Model]:
    def build() -> Model:
        b = good_builder()
        for step in add:
            step(b)
        return b.build()

    return build


GOOD_LINKS = list(good_builder().build().links.values())
SITE = Site("s", "good", np.zeros(3), np.eye(3))
ASYMMETRIC = 1e-9 * np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])

MODELS: list[Row] = [
    ("link twice", building(link(name="good", joint_name="other")), ModelError, "Two links are named 'good'. Names must be unique"),
    ("joint twice", building(link(joint_name="good")), ModelError, "Two joints are named 'good' (links 'good', 'it')."),
    ("coordinate twice", building(link(name="a", joint=Spherical()), link(name="a.x")), ModelError, "Two coordinates are named 'a.x'"),
    ("compound part twice", building(link(joint=Compound({"good": Revolute("x")}))), ModelError, "Two coordinates are named 'good'"),
    ("parent unknown", building(link(parent="goof")), UnknownName, "link of this model (parent of 'it'). Did you mean 'good'?"),
    ("parent itself", building(link(parent="it")), ModelError, "form a cycle: it."),
    ("cycle", building(link(name="a", parent="b"), link(name="b", parent="a")), ModelError, "form a cycle: a, b."),
    ("child of a cycle", building(link(name="a", parent="b"), link(name="b", parent="a"), link(parent="b")), ModelError, "form a cycle"),
    ("parent a list", building(link(parent=["good"])), UnknownName, "['good'] is not a link"),
    ("negative mass", building(link(mass=-2.0)), ModelError, "Link 'it' has a negative mass: -2 kg"),
    ("mass minus infinity", building(link(mass=-INF)), ModelError, "Link 'it': mass and inertia must be finite"),
    ("triangle inequality", building(link(inertia=(1, 1, 3))), ModelError, "no solid has the principal moments 1, 1, 3 kg·m²"),
    ("triangle, small", building(link(inertia=(1e-9, 1e-9, 3e-9))), ModelError, "no solid has the principal moments"),
    ("negative inertia", building(link(inertia=(-1, 1, 1))), ModelError, "its inertia has a negative principal moment (-1 kg·m²)"),
    ("inertia not symmetric", building(link(inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]])), ModelError, "inertia matrix is not symmetric"),
    (
        "small inertia not symmetric",
        building(link(inertia=ASYMMETRIC)), ModelError, "inertia matrix is not symmetric",
    ),
    ("inertia without mass", building(link(mass=0.0)), ModelError, "Link 'it' has inertia but no mass"),
    ("massless leaf", building(link(mass=None, inertia=None)), ModelError, "neither it nor its subtree has mass"),
    (
        "massless leaf, a rotor about one axis",
        building(link(joint=Universal(armature=(0.1, 0.0)), mass=None, inertia=None)),
        ModelError,
        "neither it nor its subtree has mass",
    ),
    (
        "massless branch",
        building(link(name="a", mass=0, inertia=None), link(name="b", parent="a", mass=0, inertia=None)), ModelError, "Link 'b' can move",
    ),
    ("site of unknown link", building(lambda b: b.site("tip", "god")), UnknownName, "link of model 'small'. Did you mean 'good'?"),
    ("loop of unknown link", building(lambda b: b.loop("l", Fixed(), "good", "wall")), UnknownName, "'wall' is not a link"),
    ("coupling of unknown coordinate", building(lambda b: b.couple("c", "goood", None, (1,))), UnknownName, "'goood' is not a coordinate"),
    ("coupling to unknown coordinate", building(lambda b: b.couple("c", "good", "bad", (1,))), UnknownName, "'bad' is not a coordinate"),
    ("coupling to itself", building(lambda b: b.couple("c", "good", "good", (0, 1))), ModelError, "'c'"),
    ("actuator of unknown", building(lambda b: b.actuator("m", "goo")), UnknownName, "'goo' is not a coordinate of model 'small'"),
    ("pose of unknown joint", building(lambda b: b.pose("p", {"goodd": 1})), UnknownName, "joint of model 'small'. Did you mean 'good'?"),
    ("pose of wrong size", building(lambda b: b.pose("p", {"good": (1, 2)})), ArgumentError, "value of 'good': expected 1 numbers, got"),
    ("pose NaN", building(lambda b: b.pose("p", {"good": NAN})), ArgumentError, "value of 'good': every number must be finite"),
    ("pose as text", building(lambda b: b.pose("p", {"good": "bent"})), ArgumentError, "value of 'good': expected 1 numbers, got 'bent'"),
    (
        "pose zero quaternion",
        building(link(joint=Spherical()), lambda b: b.pose("p", {"it": (0, 0, 0, 0)})), ArgumentError, "a zero quaternion is not",
    ),
    (
        "pose of a component of a spherical joint",
        building(link(joint=Spherical()), lambda b: b.pose("p", {"it.x": 1})), UnknownName, "'it.x' is not a joint",
    ),
    ("site twice, without the builder", lambda: Model("m", GOOD_LINKS, [SITE, SITE]), ModelError, "'s'"),
]  # fmt: skip


@rows(MODELS)
def test_models_reject_bad_input(call, error, message):
    raises_error(call, error, message)


def test_a_site_named_like_a_link_raises_an_error():
    b = ModelBuilder("same")
    b.link("rod", joint=Revolute("y"), **BODY)
    b.site("rod", "rod")
    raises_error(b.build, ModelError, "A site and a link are both named 'rod'")
