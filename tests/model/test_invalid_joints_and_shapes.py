"""Invalid joints and shapes: each is refused with an error that names the value and the remedy."""

from __future__ import annotations

import numpy as np
from tests.model.invalid_input import INF, NAN, Row, raises_error, rows

from brachiate import (
    Box,
    Capsule,
    Compound,
    Cylinder,
    Ellipsoid,
    Free,
    Hull,
    Mesh,
    Planar,
    Plane,
    Prismatic,
    Revolute,
    Sphere,
    Spherical,
    Universal,
    cone_limit,
)  # fmt: skip
from brachiate.errors import ArgumentError
from brachiate.model.joints import ball, slide, turn
from brachiate.model.shapes import frame_along

CUBE = np.array([(x, y, z) for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])


# --- joints -------------------------------------------------------------------------------------

JOINTS: list[Row] = [
    ("axis letter", lambda: Revolute("w"), ArgumentError, "joint axis: 'w' is not an axis. Use 'x', 'y', 'z'"),
    ("axis capital", lambda: Revolute("X"), ArgumentError, "'X' is not an axis"),
    ("axis of zero length", lambda: Prismatic((0, 0, 0)), ArgumentError, "the axis has no direction"),
    ("axis of two numbers", lambda: Revolute((1, 0)), ArgumentError, "joint axis: expected 3 numbers, got shape (2,)"),
    ("axis not finite", lambda: Revolute((1, NAN, 0)), ArgumentError, "every number must be finite"),
    ("axis of texts", lambda: Revolute(("a", "b", "c")), ArgumentError, "joint axis: expected 3 numbers"),
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
    ("limits as text", lambda: Revolute("x", limits=("low", "high")), ArgumentError, "limits: expected (lower, upper)"),
    ("limits of a free joint", lambda: Free(limits=(-1, 1)), ArgumentError, "A free joint has no (lower, upper) limits"),
    ("limits of a ball", lambda: Spherical(limits=(-1, 1)), ArgumentError, "limit a spherical joint by cone=..."),
    (
        "cone on a hinge", lambda: Revolute("x", cone=cone_limit("z", 1)), ArgumentError,
        "Only a spherical joint has a cone; this one is revolute",
    ),
    ("cone a number", lambda: Spherical(cone=0.5), ArgumentError, "cone"),
    ("cone of zero swing", lambda: cone_limit("z", 0), ArgumentError, "cone swing must be more than 0"),
    ("cone too wide", lambda: cone_limit("z", 4), ArgumentError, "at most 3.14159, got 4"),
    ("cone NaN", lambda: cone_limit("z", NAN), ArgumentError, "cone swing: expected a number, got NaN"),
    ("cone twist crossed", lambda: cone_limit("z", 1, (1, -1)), ArgumentError, "cone twist: the lower limit 1 is above the upper limit -1"),
    ("cone twist one number", lambda: cone_limit("z", 1, 0.5), ArgumentError, "cone twist"),
    ("cone twist three numbers", lambda: cone_limit("z", 1, (0, 1, 2)), ArgumentError, "cone twist"),
    ("negative damping", lambda: Revolute("x", damping=-1), ArgumentError, "damping of a revolute joint must be at least 0, got -1"),
    ("NaN armature", lambda: Revolute("x", armature=NAN), ArgumentError, "armature of a revolute joint: expected a number, got NaN"),
    ("damping for two of three", lambda: Planar(damping=(1, 2)), ArgumentError, "damping of a planar joint: expected one number or 3"),
    ("stiffness as text", lambda: Revolute("x", stiffness="soft"), ArgumentError, "expected one number or 1, got 'soft'"),
    ("infinite damping", lambda: Revolute("x", damping=INF), ArgumentError, "damping"),
    ("negative friction", lambda: Spherical(friction=-1.0), ArgumentError, "friction of a spherical joint must be at least 0, got -1."),
    ("stiffness NaN", lambda: Spherical(stiffness=NAN), ArgumentError, "stiffness of a spherical joint: expected a number, got NaN."),
    ("infinite stiffness", lambda: Revolute("x", stiffness=INF), ArgumentError, "stiffness"),
    ("infinite friction", lambda: Revolute("x", friction=INF), ArgumentError, "friction"),
    ("infinite armature", lambda: Revolute("x", armature=INF), ArgumentError, "armature"),
    ("rest of wrong size", lambda: Spherical(rest=(1, 0, 0)), ArgumentError, "rest: expected 4 numbers, got shape (3,)"),
    ("rest zero quaternion", lambda: Spherical(stiffness=1, rest=(0, 0, 0, 0)), ArgumentError, "rest"),
    ("rest not finite", lambda: Revolute("x", rest=NAN), ArgumentError, "rest: every number must be finite"),
    ("free with a spring", lambda: Free(stiffness=1.0), ArgumentError, "A free joint has no spring."),
    ("compound with free", lambda: Compound({"a": Revolute("x"), "b": Free()}), ArgumentError, "A free joint cannot be part of a compound"),
    (
        "compound with a cone", lambda: Compound({"a": Spherical(cone=cone_limit("z", 1))}), ArgumentError,
        "not for a part of a compound joint",
    ),
    ("compound of texts", lambda: Compound({"a": "revolute"}), ArgumentError, "'a'"),
    ("compound of a list", lambda: Compound([Revolute("x")]), ArgumentError, "part"),
]  # fmt: skip


@rows(JOINTS)
def test_joints_reject_bad_input(call, error, message):
    raises_error(call, error, message)


# --- shapes -------------------------------------------------------------------------------------

SHAPES: list[Row] = [
    ("radius negative", lambda: Sphere(radius=-1), ArgumentError, "radius of a sphere must be more than 0, got -1"),
    ("radius zero", lambda: Cylinder(radius=0, length=1), ArgumentError, "radius of a cylinder must be more than 0"),
    ("radius NaN", lambda: Sphere(radius=NAN), ArgumentError, "radius of a sphere: expected a number, got NaN"),
    ("radius infinite", lambda: Sphere(radius=INF), ArgumentError, "radius of a sphere"),
    ("radius as text", lambda: Sphere(radius="big"), ArgumentError, "radius of a sphere: expected a number, got 'big'"),
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
    ("hull as text", lambda: Hull(vertices="cube"), ArgumentError, "vertices of a convex hull"),
    ("mesh index", lambda: Mesh(vertices=CUBE, triangles=[(0, 1, 8)]), ArgumentError, "vertex numbers must be between 0 and 7"),
    ("mesh negative index", lambda: Mesh(vertices=CUBE, triangles=[(0, 1, -1)]), ArgumentError, "must be between 0 and 7"),
    ("mesh quads", lambda: Mesh(vertices=CUBE, triangles=[(0, 1, 2, 3)]), ArgumentError, "rows of 3 vertex numbers, got shape (1, 4)"),
    ("mesh without faces", lambda: Mesh(vertices=CUBE, triangles=np.zeros((0, 3))), ArgumentError, "rows of 3 vertex numbers"),
    ("mesh fractional index", lambda: Mesh(vertices=CUBE, triangles=[(0, 1, 2.5)]), ArgumentError, "vertex numbers"),
    ("mesh ragged", lambda: Mesh(vertices=[(0, 0, 0), (1, 0)], triangles=[(0, 1, 2)]), ArgumentError, "vertices of a mesh"),
    ("mesh as text", lambda: Mesh(vertices="cube", triangles=[(0, 1, 2)]), ArgumentError, "vertices of a mesh"),
    ("mesh inside out", lambda: Mesh(vertices=CUBE, triangles=[(0, 1, 2)]).inertia(), ArgumentError, "encloses no volume"),
    ("direction", lambda: frame_along((0, 0, 0)), ArgumentError, "direction: the axis has no direction"),
]  # fmt: skip


@rows(SHAPES)
def test_shapes_reject_bad_input(call, error, message):
    raises_error(call, error, message)
