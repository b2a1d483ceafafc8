"""Locked and prescribed coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from tests.constraint_checks import largest
from tests.world.arms import arms, run

import brachiate as br
from brachiate.errors import ArgumentError


def test_lock_torque_equals_inverse_dynamics():
    world = arms()
    free = world.forward_dynamics()["a/elbow"]
    (lock,) = world.lock("a/elbow")
    assert lock.report.mobility == (26, 25)
    assert world.rate("a/elbow") == pytest.approx(0.0, abs=1e-14)
    acceleration = world.forward_dynamics()
    assert acceleration["a/elbow"] == pytest.approx(0.0, abs=1e-11)
    needed = br.dynamics.inverse_dynamics(br.Data(world.model), world.q, world.v, np.asarray(acceleration))
    assert lock.torque == pytest.approx(needed[world.model.coordinate_index["a/elbow"]], rel=1e-11)
    angle = world.angle("a/elbow")
    run(world, 0.2)
    assert world.angle("a/elbow") == pytest.approx(angle, abs=1e-13)
    world.release("a/elbow")
    assert not lock.alive
    assert abs(free) > 0.1
    assert abs(world.forward_dynamics()["a/elbow"]) > 0.1


def test_a_whole_joint_is_locked_by_its_name():
    world = arms()
    balls, carts = world.lock("a/shoulder"), world.lock("b/cart")
    assert [lock.name for lock in balls + carts] == ["a/shoulder", "b/cart.x", "b/cart.y", "b/cart.angle"]
    assert list(world.locks) == [lock.name for lock in balls + carts]
    assert balls[0].report.mobility == (26, 23)
    shoulder, cart = world["a/shoulder"], world["b/cart"]
    acceleration = world.forward_dynamics()
    needed = br.dynamics.inverse_dynamics(br.Data(world.model), world.q, world.v, np.asarray(acceleration))
    assert largest(balls[0].torque - needed[world.model.joints["a/shoulder"].v]) < 1e-10
    run(world, 0.2)
    assert largest(world["a/shoulder"] - shoulder) < 1e-13
    assert largest(world["b/cart"] - cart) < 1e-13
    world.release("b/cart")
    assert list(world.locks) == ["a/shoulder"]
    world.release("a/shoulder")
    assert not world.locks
    assert world.row_names() == []


@pytest.mark.parametrize("integrator", ["euler", "rk4", "rk8", "dormand-prince", "bulirsch-stoer"])
def test_a_prescribed_coordinate_follows_its_polynomial(integrator):
    world = arms()
    begin = world.angle("a/elbow")
    course = np.array([begin, 0.5, -1.0, 4.0, -2.0])
    moved = world.prescribe("a/elbow", course)
    assert world.rate("a/elbow") == pytest.approx(0.5, abs=1e-14)
    recording = br.Simulation(world, dt=0.004, integrator=integrator).run(0.4)
    k = world.model.coordinate_index["a/elbow"]
    place = world.model.scalar_coordinates["a/elbow"]
    powers = recording.time[:, None] ** np.arange(5)
    slopes = np.arange(1, 5) * powers[:, :4]
    assert largest(recording.q[:, place] - powers @ course) < 1e-12
    assert largest(recording.v[:, k] - slopes @ course[1:]) < 1e-12
    acceleration = world.forward_dynamics()
    assert acceleration["a/elbow"] == pytest.approx(2 * -1.0 + 6 * 4.0 * 0.4 + 12 * -2.0 * 0.4**2, abs=1e-10)
    needed = br.dynamics.inverse_dynamics(br.Data(world.model), world.q, world.v, np.asarray(acceleration))
    assert moved.torque == pytest.approx(needed[k], rel=1e-10)


def test_a_prescribed_coordinate_stays_after_its_duration():
    world = arms()
    begin = world.angle("b/elbow")
    world.prescribe("b/elbow", [begin, 1.0], duration=0.1)
    run(world, 0.05)
    assert world.angle("b/elbow") == pytest.approx(begin + 0.05, abs=1e-12)
    run(world, 0.1)
    assert world.angle("b/elbow") == pytest.approx(begin + 0.1, abs=1e-12)
    assert world.rate("b/elbow") == pytest.approx(0.0, abs=1e-12)


def test_polynomial_time_starts_at_the_call():
    world = arms()
    run(world, 0.1)
    begin = world.angle("a/elbow")
    world.prescribe("a/elbow", [begin, 0.0, 3.0])
    run(world, 0.1)
    assert world.angle("a/elbow") == pytest.approx(begin + 3.0 * 0.01, abs=1e-12)


def test_prescribed_motion_uses_the_present_time():
    # Fails if forces are evaluated at the time of the last step instead of the world's time.
    world = arms()
    moved = world.prescribe("a/elbow", [world.angle("a/elbow"), 0.0, 0.0, 5.0])
    weld = world.connect("b/cart", "world")
    state = world.save()
    torque, force = moved.torque, weld.force
    run(world, 0.5)
    assert moved.torque != pytest.approx(torque, rel=1e-3)
    world.restore(state)
    assert moved.torque == pytest.approx(torque, rel=1e-10)
    assert largest(weld.force - force) < 1e-10 * largest(force)


def test_a_polynomial_starts_at_the_present_value():
    # A polynomial that starts elsewhere is refused.
    world = arms()
    with pytest.raises(ArgumentError, match="must start at the present value"):
        world.prescribe("a/elbow", [world.angle("a/elbow") + 0.5, 1.0])
    assert not world.locks
