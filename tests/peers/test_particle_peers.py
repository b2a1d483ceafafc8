"""Particle systems against MuJoCo: the same springs and dampers as tendons between points that slide freely."""

import mujoco
import numpy as np

import brachiate as br

STIFFNESS, DAMPING, DT, SECONDS = 800.0, 3.0, 1e-4, 0.5


def mujoco_tetrahedron(x, v, masses, pairs, lengths):
    slides = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
    bodies = "".join(
        f'<body pos="{a} {b} {c}">{slides}<inertial pos="0 0 0" mass="{m}" diaginertia="1 1 1"/><site name="s{i}"/></body>'
        for i, ((a, b, c), m) in enumerate(zip(x, masses, strict=True))
    )
    tendons = "".join(
        f'<spatial stiffness="{STIFFNESS}" damping="{DAMPING}" springlength="{length}"><site site="s{i}"/><site site="s{j}"/></spatial>'
        for (i, j), length in zip(pairs, lengths, strict=True)
    )
    option = f'<option timestep="{DT}" integrator="RK4" gravity="0 0 -9.81"/>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{option}<worldbody>{bodies}</worldbody><tendon>{tendons}</tendon></mujoco>")
    data = mujoco.MjData(model)
    data.qvel[:] = v.reshape(-1)
    for _ in range(round(SECONDS / DT)):
        mujoco.mj_step(model, data)
    return x + data.qpos.reshape(-1, 3), data.qvel.reshape(-1, 3)


def test_springs_and_dampers_move_particles_as_tendons_of_mujoco_do():
    rng = np.random.default_rng(5)
    x, v, masses = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), np.array([0.5, 1.0, 1.5, 2.0])
    pairs = [(i, j) for i in range(4) for j in range(i)]
    lengths = [1.05 * np.linalg.norm(x[i] - x[j]) for i, j in pairs]
    theirs, their_velocities = mujoco_tetrahedron(x, v, masses, pairs, lengths)
    for integrator, order in (("implicit", 1e-5), ("leapfrog", 1e-3)):  # the damper is of first order in explicit steps
        system = br.particles.ParticleSystem(gravity=9.81)
        system.add_particles(x, masses, velocity=v)
        system.add_links(pairs, stiffness=STIFFNESS, damping=DAMPING, length=lengths)
        br.particles.Stepper(system, integrator=integrator, dt=DT).step(round(SECONDS / DT))
        assert np.abs(system.positions - theirs).max() < order
        assert np.abs(system.velocities - their_velocities).max() < 30 * order
