"""Functions of the motion: gradients and Hessians against finite differences, rates against motions, published matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st
from tests.animation.worlds import planar_chain, world_of
from tests.functions.derivatives import FIRST, SECOND, STENCIL, assert_derivatives, depends
from tests.random_models import models

import brachiate as br
from brachiate import animation as an
from brachiate import manifold


def quantities(world: br.World, rng: np.random.Generator) -> dict:
    """Every configuration function, of random links and joints."""
    links = list(world.model.links)
    a, b = (str(rng.choice(links)) for _ in range(2))
    at, to = rng.normal(size=3), rng.normal(size=3) + 3.0
    found = {
        "position": an.position(a, at),
        "relative": an.position(a, at, frame=b),
        "axis": an.axis(a, rng.normal(size=3)),
        "relative axis": an.axis(a, "x", frame=b),
        "angle": an.angle(an.axis(a, "x"), an.direction(a, to=to)),
        "distance": an.distance(an.position(a, at), to),
        "line": an.distance_to_line(an.position(a, at), to, (1, 2, 3)),
        "plane": an.distance_to_plane(an.position(b, at), to, (1, -1, 0.5)),
        "sphere": an.distance_to_sphere(an.position(a, at), to, 0.3),
        "cylinder": an.distance_to_cylinder(an.position(a, at), to, (0, 1, 2), 0.2),
        "center": an.center_of_mass("f"),
        "potential": an.potential_energy("f"),
    }
    scalars = [name for name in world.model.scalar_coordinates if "root" not in name]
    if scalars:
        found["joint"] = an.joint(str(rng.choice([name for name in scalars if name in world.model.coordinate_index])))
    return {name: function for name, function in found.items() if depends(world, function)}


@for_all(models(12, passive=True))
def test_derivatives_of_every_quantity_on_random_figures(given):
    world = world_of(given)
    assert_derivatives(world, quantities(world, given.rng), given.rng)


@for_all(st.integers(0, 10**6))
def test_derivatives_of_random_compositions(seed):
    rng = np.random.default_rng(seed)
    world = br.World()
    world.add(br.figures.human16(), "man")
    world.data.q[:] = manifold.integrate(world.data, world.q, 0.3 * rng.normal(size=world.model.nv), 1.0)
    world.v = rng.normal(size=world.model.nv)
    pool = [
        *an.position("man/left_hand"), *an.axis("man/head", "x"), *an.center_of_mass("man"), an.joint("man/left_elbow"),
        an.joint("man/right_knee"), an.distance("man/left_hand", "man/right_foot"), *an.position("man/right_foot", frame="man/head"),
    ]  # fmt: skip

    def draw(depth: int):
        if depth == 0 or rng.random() < 0.2:
            return pool[rng.integers(len(pool))]
        a, b = draw(depth - 1), draw(depth - 1)
        return [
            lambda: a + b, lambda: a - 2.0 * b, lambda: a * b, lambda: a / (2.0 + b * b), lambda: an.sin(a), lambda: an.cos(a) * b,
            lambda: an.exp(-a * a), lambda: an.sqrt(1.0 + a * a), lambda: a**2, lambda: a**3 - b, lambda: (1.5 + a * a) ** -0.7,
            lambda: an.atan2(a, 3.0 + b * b), lambda: an.log(2.0 + a * a), lambda: an.tanh(a), lambda: an.smooth_maximum(a, b, 0.5),
            lambda: an.smooth_minimum(a, b, 0.7), lambda: an.atan(a), lambda: an.asin(an.tanh(a) * 0.9),
            lambda: np.sin(a) + np.float64(2.0) * b,
            lambda: an.norm(an.vector((a, b, 2.0))), lambda: an.acos(0.9 * an.tanh(a)), lambda: an.tan(0.3 * an.tanh(a)),
            lambda: (2.0 + a * a) ** b,
        ][rng.integers(23)]()  # fmt: skip

    assert_derivatives(world, {f"f{n}": draw(4) for n in range(4)}, rng)


@for_all(models(8, kinds=("spherical", "free", "revolute"), passive=True))
def test_rotation_vectors_and_orientations(given):
    world = world_of(given)
    balls = [name for name in world.model.joints if world.model.joints[name].v.stop - world.model.joints[name].v.start in (3, 6)]
    functions = {f"r{n}": an.rotation_vector(name) for n, name in enumerate(balls[:3])}
    link = str(given.rng.choice(list(world.model.links)))
    target = manifold_rotation(world, link, given.rng)
    functions["o"] = an.orientation(link, target)
    functions = {name: function for name, function in functions.items() if depends(world, function)}
    if functions:
        assert_derivatives(world, functions, given.rng)


def manifold_rotation(world: br.World, link: str, rng: np.random.Generator) -> np.ndarray:
    """A rotation less than a radian from that of a link: away from half a turn, where rotation vectors jump."""
    turn = rng.normal(size=3)
    turn *= rng.uniform(0.0, 1.0) / np.linalg.norm(turn)
    angle = np.linalg.norm(turn)
    quaternion = np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * turn / angle])
    w, x, y, z = quaternion
    R = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    return R @ world.pose(link).rotation


def test_orientation_is_smooth_at_its_target():
    world = br.World()
    world.add(br.figures.human16(), "man")
    space = an.AnimationSpace(world, {"o": an.orientation("man/head", world.pose("man/head").rotation)})
    assert np.allclose(space.value(), 0, atol=1e-15)
    # Fails if the gradient at the target is not the Jacobian of the angular velocity.
    assert np.allclose(space.gradient(), world.jacobian("man/head")[3:], atol=1e-14)


@for_all(models(10, passive=False))
def test_functions_of_velocities(given):
    """Value, ∂u/∂v and rate of momentum, energy and velocities, against the core and along a motion."""
    world = world_of(given)
    link = str(given.rng.choice(list(world.model.links)))
    functions = {
        "p": an.momentum("f"), "L": an.angular_momentum("f"), "K": an.kinetic_energy("f"), "v": an.velocity(link, (0.1, 0.2, 0.3)),
        "w": an.angular_velocity(link), "mixed": an.dot(an.velocity(link), an.position(link)) + an.kinetic_energy() ** 2,
        "rate": an.joint_rate(world.model.coordinates[0]),
    }  # fmt: skip
    functions = {name: function for name, function in functions.items() if depends(world, function)}
    space = an.AnimationSpace(world, functions)
    u, G = space.value(), space.gradient()
    at = {name: n for n, name in enumerate(space.names)}
    if "p.x" in at:
        totals = world.totals("f")
        assert np.allclose(u[at["p.x"] : at["p.x"] + 3], totals.momentum, atol=1e-10)
        assert np.allclose(u[at["L.x"] : at["L.x"] + 3], totals.angular_momentum, atol=1e-9 * max(1, abs(totals.angular_momentum).max()))
        assert np.isclose(u[at["K"]], totals.kinetic)
    v, q, a, h = world.v.copy(), world.q.copy(), 0.2 * given.state.a, 1e-4
    for _ in range(2):  # ∂u/∂v: the functions are quadratic or of fourth order in v
        d = given.rng.normal(size=len(v))
        values = []
        for s in STENCIL:
            world.data.v[:] = v + s * 1e-3 * d
            values.append(space.value())
        world.data.v[:] = v
        assert np.allclose(FIRST @ np.array(values) / 1e-3, G @ d, rtol=1e-7, atol=1e-8 * max(1.0, abs(u).max()))
    values = []
    for s in STENCIL:  # along the motion with accelerations a: q ⊕ (v t + a t²/2), v + a t
        t = s * h
        world.data.q[:] = manifold.integrate(world.data, q, v + 0.5 * t * a, t)
        world.data.v[:] = v + t * a
        values.append(space.value())
    world.data.q[:], world.data.v[:] = q, v
    rate = space.acceleration(a)
    assert np.allclose(FIRST @ np.array(values) / h, rate, rtol=1e-5, atol=1e-6 * max(1.0, abs(u).max(), abs(rate).max()))


def test_functions_of_time():
    world = br.World()
    world.add(br.figures.human16(), "man")
    world.v = {"man/left_elbow": 0.7}
    space = an.AnimationSpace(world, {
        "shape": lambda s: (s.joint("man/left_elbow") - 0.5 * an.sin(2.0 * s.time)) ** 2,
        "keys": an.joint("man/left_elbow") - an.signal({0.0: 0.0, 1.0: 2.0, 3.0: 1.0}),
    })  # fmt: skip
    world.time, q, h = 0.4, world.q.copy(), 1e-3
    values = []
    for s in STENCIL:
        world.time = 0.4 + s * h
        world.data.q[:] = manifold.integrate(world.data, q, world.v, s * h)
        values.append(space.value())
    world.time, world.data.q[:] = 0.4, q
    assert np.allclose(FIRST @ np.array(values) / h, space.rate(), rtol=1e-9, atol=1e-9)
    assert np.allclose(SECOND @ np.array(values) / h**2, space.bias(), rtol=1e-6, atol=1e-6)
    assert np.allclose(
        space.acceleration({"man/left_elbow": 2.0}) - space.bias(),
        2.0 * space.gradient()[:, world.model.coordinate_index["man/left_elbow"]],
    )


# --- published -------------------------------------------------------------------------------------------


def test_worked_example_of_the_paper():
    """G, H, D and M of [EGC] 4.3 with its misprints corrected: ∂y₄/∂φ₃ is c₁₂₃; H₂₂ of x₄ is −c₁₂ − c₁₂₃; D = 2φ₃(s₂ + s₂₃)."""
    p1, p2, p3 = 0.3, 0.7, -0.4
    world = planar_chain((p1, p2, p3))
    tip = an.position("arm/link3", (1, 0, 0))
    space = an.AnimationSpace(world, {"x4": tip.x, "y4": tip.y, "f3": lambda s: s.joint("arm/phi3") ** 2})
    s, c = np.sin, np.cos
    s1, s12, s123, c1, c12, c123 = s(p1), s(p1 + p2), s(p1 + p2 + p3), c(p1), c(p1 + p2), c(p1 + p2 + p3)
    s2, s3, s23 = s(p2), s(p3), s(p2 + p3)
    assert np.allclose(space.value(), [c1 + c12 + c123, s1 + s12 + s123, p3**2], atol=1e-14)
    G = np.array([[-s1 - s12 - s123, -s12 - s123, -s123], [c1 + c12 + c123, c12 + c123, c123], [0, 0, 2 * p3]])
    assert abs(space.gradient() - G).max() < 1e-12
    H = [
        [[-c1 - c12 - c123, -c12 - c123, -c123], [-c12 - c123, -c12 - c123, -c123], [-c123, -c123, -c123]],
        [[-s1 - s12 - s123, -s12 - s123, -s123], [-s12 - s123, -s12 - s123, -s123], [-s123, -s123, -s123]],
        [[0, 0, 0], [0, 0, 0], [0, 0, 2]],
    ]
    assert abs(space.hessian() - H).max() < 1e-12
    D = 2 * p3 * (s2 + s23)
    M = np.array([
        [2 * p3 * (c12 + c123), 2 * p3 * (s12 + s123), s3],
        [-2 * p3 * (c1 + c12 + c123), -2 * p3 * (s1 + s12 + s123), -s23 - s3],
        [0, 0, s2 + s23],
    ])  # fmt: skip
    assert abs(np.linalg.det(space.gradient()) - D) < 1e-12
    assert abs(np.linalg.inv(space.gradient()) - M / D).max() < 1e-12


def test_position_and_orientation_tensors_of_the_paper():
    """[EGC] eq. 16-19 on a chain of revolute joints with random axes."""
    rng = np.random.default_rng(3)
    builder = br.ModelBuilder("chain")
    for n in range(6):
        axis = rng.normal(size=3)
        joint = br.Revolute(axis / np.linalg.norm(axis))
        parent = f"l{n - 1}" if n else None
        builder.link(f"l{n}", parent=parent, joint=joint, joint_name=f"j{n}", at=rng.normal(size=3), mass=1.0, inertia=(1, 1, 1))
    world = br.World()
    world.add(builder.build(), "c")
    world.q = rng.normal(size=6)
    world.v = rng.normal(size=6)
    p = (0.2, -0.1, 0.4)
    space = an.AnimationSpace(world, {"p": an.position("c/l5", p)})
    axes = [world.pose(f"c/l{n}").rotation @ world.model.tree.axis[n] for n in range(6)]
    origins, point = [world.position(f"c/l{n}") for n in range(6)], world.position("c/l5", p)
    G = np.array([np.cross(axes[n], point - origins[n]) for n in range(6)]).T  # eq. 16
    H = np.zeros((3, 6, 6))
    for m in range(6):
        for n in range(m, 6):
            H[:, m, n] = H[:, n, m] = np.cross(axes[m], np.cross(axes[n], point - origins[n]))  # eq. 17
    assert abs(space.gradient() - G).max() < 1e-12
    assert abs(space.hessian() - H).max() < 1e-12
    turning = an.AnimationSpace(world, {"w": an.angular_velocity("c/l5")})
    assert abs(turning.gradient() - np.array(axes).T).max() < 1e-12  # eq. 18
    v = world.v
    bias = sum(np.cross(axes[i], axes[n]) * v[i] * v[n] for n in range(6) for i in range(n))  # eq. 19
    assert abs(turning.bias() - bias).max() < 1e-12


# --- bad input -----------------------------------------------------------------------------------------------


@pytest.fixture
def man() -> br.World:
    world = br.World()
    world.add(br.figures.human16(), "man")
    return world


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda s: s.position("man/no_hand").z, "'bad': 'man/no_hand' is not a link"),
        (lambda s: s.joint("man/no_knee"), "'bad': 'man/no_knee' is not a joint"),
        (lambda s: s.joint("man/root"), "not one number"),
        (lambda s: s.center_of_mass("dog").z, "'dog' is not a figure"),
        (lambda s: 3.0 + 0.0 * s.time, "depends on nothing that moves"),
        (lambda s: "high", "must return a scalar or a vector"),
        (lambda s: None, "must return a scalar or a vector"),
        (lambda s: s.joint("man/left_knee") + float("nan"), "constant of a function"),
        (lambda s: 1.0 if s.joint("man/left_knee") > 0 else 2.0, "'bad': test_functions.py:.*a comparison of a value cannot be traced"),
        (lambda s: s.joint("man/left_knee") if s.joint("man/left_knee") else 2.0, "a branch of a value cannot be traced"),
        (lambda s: __import__("math").sin(s.joint("man/left_knee")), "a conversion to a number"),
        (lambda s: s.position("man/head") * s.position("man/head"), "no product"),
        (lambda s: s.rotation_vector("man/left_knee"), "not a spherical or free joint"),
    ],
)  # fmt: skip
def test_bad_functions_are_named(man, function, words):
    with pytest.raises(br.BrachiateError, match=words):
        an.AnimationSpace(man, {"good": an.position("man/head"), "bad": function})


def test_points_without_derivative_are_named(man):
    space = an.AnimationSpace(man, {"d": an.sqrt(an.joint("man/left_elbow"))})
    assert space.value()[0] == 0.0
    with pytest.raises(br.StateError, match=r"'d' is not finite or not differentiable in this state: sqrt in .*test_functions.py:\d+"):
        space.gradient()
    man["man/left_elbow"] = 0.25
    assert np.isclose(space.gradient().max(), 1.0)
    man["man/left_elbow"] = man["man/right_elbow"] = 0.5
    lower = an.AnimationSpace(man, {"m": an.minimum(an.joint("man/left_elbow"), an.joint("man/right_elbow"))})
    with pytest.raises(br.StateError, match="minimum"):
        lower.gradient()


def test_functions_follow_a_world_that_grows(man):
    space = an.AnimationSpace(man, {"com": an.center_of_mass("man"), "hand": an.position("man/left_hand")})
    before = space.value()
    man.add(br.figures.human16(), "other", at=(2, 0, 0))
    assert np.array_equal(space.value(), before)
    assert space.gradient().shape == (6, man.model.nv)
