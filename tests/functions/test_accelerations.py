"""Functions of accelerations: center of pressure and external force, against momentum, zero-moment point and contact forces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as for_all
from tests.animation.worlds import world_of
from tests.functions.derivatives import FIRST, STENCIL, depends
from tests.random_models import models

import brachiate as br
from brachiate import animation as an
from brachiate import manifold
from brachiate.scenes.standing import stand


@for_all(models(10, passive=False))
def test_external_force_and_center_of_pressure_of_random_motions(given):
    world, a = world_of(given), given.state.a
    functions = {"f": an.external_force("f"), "cop": an.center_of_pressure("f", height=0.3)}
    if not depends(world, functions["f"]):
        return
    space = an.FunctionSet(world, functions)
    if an.FunctionSet(world, {"f": functions["f"]}).value(a)[2] < 0.01 * world.totals("f").mass * 9.81:
        with pytest.raises(br.StateError, match=r"'cop\.[xy]' is not finite"):
            space.update(1, a)
        return
    space.update(1, a)
    u, G, bias = space.u.copy(), space.G.copy(), space.biases.copy()
    assert space.of_acceleration.all()
    # Momentum along the motion with these accelerations.
    q, v, h, momenta = world.q.copy(), world.v.copy(), 1e-4, []
    for s in STENCIL:
        world.data.q[:], world.data.v[:] = manifold.integrate(world.data, q, v + 0.5 * s * h * a, s * h), v + s * h * a
        t = world.totals("f")
        momenta.append([*t.momentum, *(t.angular_momentum + np.cross(t.center, t.momentum))])
    world.data.q[:], world.data.v[:] = q, v
    total = world.totals("f")
    rate = FIRST @ np.array(momenta) / h
    weight = total.mass * world.gravity
    force, moment = rate[:3] - weight, rate[3:] - np.cross(total.center, weight)
    size = max(1.0, abs(rate).max())
    assert np.allclose(u[:3], force, rtol=1e-7, atol=1e-7 * size)
    # Fails if forces from outside have a horizontal moment about the point.
    left = moment - np.cross(u[3:6], u[:3])
    assert abs(left[:2]).max() <= 1e-6 * size * max(1.0, abs(u[3:6]).max())
    assert u[5] == pytest.approx(0.3)
    assert np.allclose(G[:3] @ a + bias[:3], u[:3], rtol=1e-10, atol=1e-9 * size)
    if abs(u[2]) < 0.1 * size:
        return  # the center of pressure is far away
    d = given.rng.normal(size=len(a))
    values = np.array([space.value(a + 1e-3 * s * d) for s in STENCIL])
    scale = max(1.0, abs(u).max()) * (1.0 + (np.linalg.norm(G[:3] @ d) / abs(u[2])) ** 2)
    assert np.allclose(FIRST @ values / 1e-3, G @ d, rtol=1e-7, atol=1e-7 * scale)
    assert np.allclose(G @ a + bias, u, rtol=1e-9, atol=1e-8 * scale)


def test_center_of_pressure_is_that_of_contact_forces_and_the_zero_moment_point():
    scene = stand(push=60.0, at=0.05, lasting=0.1, dt=0.002)
    world = scene.world
    space = an.FunctionSet(world, {"cop": an.center_of_pressure("man"), "force": an.external_force("man")})
    for _ in range(4):
        scene.simulation.run(0.04)
        found = space.value()
        reaction = world.contacts.reaction("man")
        pushed = 0.05 <= world.time < 0.15
        # Contact forces and accelerations of an instant are those of a step of 1 ms with its midpoint geometry: errors are of first order
        # in it, and vanish at rest.
        assert np.allclose(found[3:] - (60.0 * pushed, 0, 0), reaction.force, rtol=1e-4, atol=1e-2)
        assert np.allclose(found[:3], world.zmp("man", height=0.0), atol=1e-4)
        if not pushed:
            assert np.allclose(found[:3], reaction.cop, atol=1e-4)
        if world.time < 0.05:
            assert np.allclose(found, [*reaction.cop, *reaction.force], rtol=1e-8, atol=1e-7)
        assert np.allclose(found, space.value(world.forward_dynamics()), atol=1e-12)


def test_center_of_pressure_of_a_recording():
    scene = stand(push=0.0, dt=0.002)
    scene.simulation.run(0.1)
    run = scene.simulation.run(0.3)
    found = run.values({"cop": an.center_of_pressure("man"), "force": an.external_force("man").z})
    measured = run["man.cop"]
    # Contacts are of the step that ends at a state, accelerations of both steps beside it.
    both = 0.5 * (measured[1:-1] + measured[2:])
    assert abs(found["cop"][1:-1] - both).max() < 1e-3
    forces = 0.5 * (run["man.reaction"][1:-1, 2] + run["man.reaction"][2:, 2])
    assert np.allclose(found["force"][1:-1], forces, rtol=1e-3)
    picture = run.plot({"cop": an.center_of_pressure("man")}, an.position("man/chest").x, "center of mass")
    assert [axis.get_ylabel() for axis in picture.axes] == ["center of mass [m]", "cop", "position(man/chest).x"]


def test_accelerations_for_a_center_of_pressure():
    """Accelerations that G v̇ + bias = u asks for bring the center of pressure there: Newton's method, as u is a quotient."""
    world = br.World()
    world.add(br.figures.human28(), "man")
    world.connect("man/left_foot", "world")
    space = an.FunctionSet(world, {"cop": an.center_of_pressure("man")})
    a, wanted = np.zeros(world.model.nv), np.array([0.05, 0.02])
    for _ in range(6):
        space.update(1, a)
        G, bias = space.G[:2], space.biases[:2]
        a = a + np.linalg.pinv(G) @ (wanted - bias - G @ a)
    assert np.allclose(space.value(a)[:2], wanted, atol=1e-10)


def test_untraced_functions_of_accelerations():
    world = br.World()
    world.add(br.figures.human16(), "man")
    world.connect("man/pelvis", "world")
    world.v = 0.3 * np.random.default_rng(0).normal(size=world.model.nv) * (world.model.effort > 0)
    traced = an.FunctionSet(world, {"f": lambda s: s.external_force("man").z})
    branching = an.FunctionSet(world, {"f": an.untraced(lambda s: s.external_force("man").z if s.external_force("man").z > 0 else 0.0)})
    assert branching.value()[0] == pytest.approx(traced.value()[0], rel=1e-6)


def test_bad_input():
    world = br.World()
    world.add(br.figures.human16(), "man")
    space = an.FunctionSet(world, {"cop": an.center_of_pressure("man")})
    with pytest.raises(br.StateError, match=r"'cop.x' is not finite or not differentiable in this state: division"):
        space.value()  # it falls freely
    with pytest.raises(br.ArgumentError, match=r"'cop\.x' depends on accelerations"):
        space.hessian()
    with pytest.raises(br.ArgumentError, match="acceleration"):
        space.value([1.0, 2.0])
    with pytest.raises(br.UnknownName, match=r"'cop\.x': 'dog' is not a figure"):
        an.FunctionSet(world, {"cop": an.center_of_pressure("dog")})
    with pytest.raises(br.ArgumentError, match=r"'flat\.x' is the constant 1"):
        an.FunctionSet(world, {"flat": an.vector((1.0, 2.0, 3.0))})
