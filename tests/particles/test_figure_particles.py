"""Rigid figures as particles: exact masses and inertias, joint angles, motion in the limit of stiffness, bad input."""

import numpy as np
import pytest

import brachiate as br
from brachiate.errors import ArgumentError, ModelError
from brachiate.model.builder import ModelBuilder
from brachiate.model.shapes import Box


def posed_human():
    model = br.figures.human28()
    rng = np.random.default_rng(0)
    v = rng.standard_normal(model.nv)
    data = br.Data(model, gravity=(0.0, 0.0, 0.0))
    q = br.manifold.integrate(data, model.neutral, 0.4 * rng.standard_normal(model.nv), 1.0)
    data.assign(q=q, v=v)
    return model, data, q, v


def arm():
    """Upper arm, forearm and hand on a spherical, a universal and a revolute joint."""
    builder = ModelBuilder("arm")
    body = {"mass": 2.0, "center": (0.02, 0.01, -0.15), "inertia": (0.02, 0.021, 0.008)}
    builder.link("upper", joint=br.Spherical(), joint_name="shoulder", at=(0.0, 0.0, 1.0), **body)
    builder.link("fore", parent="upper", joint=br.Universal("y", "z"), joint_name="elbow", at=(0.0, 0.0, -0.3), **body)
    builder.link("hand", parent="fore", joint=br.Revolute("x"), joint_name="wrist", at=(0.0, 0.0, -0.3), **body)
    return builder.build()


def test_particles_have_mass_center_inertia_and_momentum_of_the_figure():
    model, data, q, v = posed_human()
    system = br.particles.from_model(model, q, v, gravity=0.0).system
    rigid, soft = br.dynamics.totals(data), system.totals()
    assert np.isclose(rigid.mass, soft.mass, rtol=1e-14)
    for name in ("center", "momentum", "angular_momentum"):
        assert np.allclose(getattr(rigid, name), getattr(soft, name), atol=1e-12), name
    assert np.isclose(rigid.kinetic, soft.kinetic, rtol=1e-13)
    assert soft.potential < 1e-20  # no link is strained


def test_every_link_has_its_own_inertia():
    model = arm()
    figure = br.particles.from_model(model)
    for (own, body), row in zip(figure._bodies, model.tree.inertia, strict=True):
        center = body.masses @ body.points / body.masses.sum()
        r = body.points - center
        moments = np.einsum("k,ka,kb->ab", body.masses, r, r)
        inertia = np.trace(moments) * np.eye(3) - moments
        xx, xy, xz, yy, yz, zz = row[4:]
        assert np.isclose(body.masses.sum(), row[0], rtol=1e-14)
        assert np.allclose(center, row[1:4], atol=1e-14)
        assert np.allclose(inertia, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], atol=1e-14)
        assert len(own) == len(body.points) >= 4
        assert (body.masses > 0.0).all()


@pytest.mark.parametrize("make", [arm, br.figures.human28])
def test_joint_angles_of_placed_particles_are_those_of_the_figure(make):
    model = make()
    data, figure = br.Data(model), br.particles.from_model(model)
    rng = np.random.default_rng(5)
    for _ in range(5):
        q = br.manifold.integrate(data, model.neutral, rng.uniform(-1.0, 1.0, model.nv), 1.0)
        figure.place(q)
        found = figure.configurations(figure.system.positions[None])[0]
        assert np.abs(br.manifold.difference(data, q, found)).max() < 1e-12


def test_motion_converges_to_that_of_the_figure_with_stiffness():
    model, seconds = arm(), 0.3
    world = br.World()
    world.add(model, "arm")
    world.v[:] = start = np.random.default_rng(2).standard_normal(model.nv)
    br.Simulation(world, dt=1e-3, limits=False).run(seconds)
    data, errors = br.Data(model), []
    for stiffness in (1e5, 1e6):
        figure = br.particles.from_model(model, v=start, stiffness=stiffness)
        stepper = br.particles.Stepper(figure.system, integrator="leapfrog", dt=seconds / 20_000)
        stepper.step(20_000)
        q = figure.configurations(figure.system.positions[None])[0]
        errors.append(np.abs(br.manifold.difference(data, world.q, q)).max())
    assert errors[0] < 0.02
    assert 0.05 < errors[1] / errors[0] < 0.2  # of first order in the compliance: a tenth


def test_a_recording_becomes_a_motion_of_the_figure():
    model = br.figures.human28()
    figure = br.particles.from_model(model, stiffness=1e5, damping=50.0)
    run = br.particles.simulate(figure.system, 0.1, rate=50.0)
    motion = figure.motion(run)
    assert len(motion) == len(run)
    fallen = motion.q[0, 2] - motion.q[-1, 2]
    assert np.isclose(fallen, 0.5 * 9.81 * motion.times[-1] ** 2, rtol=0.02)
    assert "left_thigh.1" in figure.particles_of("left_thigh")


def test_figures_that_particles_cannot_stand_for_are_refused():
    with pytest.raises(ArgumentError, match="from_model expects a model"):
        br.particles.from_model("human28")
    builder = ModelBuilder("slide")
    builder.link("cart", joint=br.Prismatic("x"), joint_name="rail", shapes=Box(size=np.array((1.0, 1.0, 1.0))), mass=1.0)
    with pytest.raises(ModelError, match="'rail' is prismatic"):
        br.particles.from_model(builder.build())
    with pytest.raises(ModelError, match="is a rod or flat"):
        br.particles.from_model(br.figures.arm2())
    figure = br.particles.from_model(arm())
    with pytest.raises(ArgumentError, match="expected shape"):
        figure.configurations(np.zeros((2, 3, 3)))
