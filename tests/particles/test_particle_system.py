"""Particle systems: construction by name, from arrays, curves and meshes; state, recordings, files; bad input changes nothing."""

import numpy as np
import pytest

import brachiate as br
from brachiate import compiled
from brachiate.errors import ArgumentError, FileFormatError, StateError, UnknownName, WriteError

P = br.particles


def two():
    system = P.ParticleSystem()
    system.add_particles([(0, 0, 1), (1, 0, 1), (2, 0, 1)], 1.0, names=["a", "b", "c"])
    system.add_link("ab", "a", "b", stiffness=1e3)
    return system


def contents(system):
    return [len(system), len(system.links), len(system.joints), *(array.tobytes() for array in system.arrays)]


def test_names_positions_and_totals():
    system = two()
    system.add_links([("b", "c")], stiffness=2e3, length=0.9, names="more")
    assert system.links == {"ab": 0, "more1": 1}
    assert system["b"].tolist() == [1, 0, 1]
    totals = system.totals()
    assert totals.mass == 3.0
    assert np.isclose(totals.potential, 3 * 9.80665 + 0.5 * 2e3 * 0.01)
    assert np.allclose(totals.center, (1, 0, 1))
    other = system.copy()
    other.positions = other.positions + 1.0
    assert system["a"].tolist() == [0, 0, 1]
    assert P.equivalent_mass(0.5, 0.5) == 2.0  # [NSP] eq. 33


def test_joints_that_share_two_particles_turn_in_one_plane():
    system = P.ParticleSystem()
    system.add_particles([(0, 0, 0), (1, 0, 0), (2, 0, 1), (3, 0, 1), (3, 1, 1)], 1.0)
    for n, three in enumerate([(0, 1, 2), (1, 2, 3)]):
        system.add_joint(f"j{n}", *three, axis="y")
    system.add_joint("other", 2, 3, 4, axis="z")
    planes = system.plane_arrays
    assert system.joint_arrays.plane.tolist() == [0, 0, 1]
    assert planes.member.tolist() == [0, 1, 2, 3, 2, 3, 4]


def test_ropes_along_curves_have_equal_links_and_their_mass():
    rope = P.along_curve(lambda t: (np.cos(t), np.sin(t), t), 30, mass=2.0)
    lengths = rope.link_arrays.length
    assert np.ptp(lengths) < 1e-3 * lengths.mean()
    assert np.isclose(rope.totals().mass, 2.0)
    ring = P.ring(12, 0.5, axis="z")
    assert len(ring) == len(ring.links) == 12
    assert np.isclose(ring.totals().mass, 1.0)
    hanging = P.rope((0, 0, 2), (1, 0, 2), 50, 1.5)
    assert np.isclose(hanging.link_arrays.length.sum(), 1.5, rtol=1e-3)
    assert hanging.arrays.inverse_mass[0] == 0.0


def test_meshes_become_particles_at_vertices_and_links_at_edges():
    x = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0.5, 0.5, 0)]
    mesh = P.from_mesh(x, [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)], mass=3.0, fixed="boundary")
    assert len(mesh.links) == 8
    assert mesh.arrays.inverse_mass.astype(bool).tolist() == [False] * 4 + [True]
    assert np.allclose(mesh.arrays.mass, (0.5, 0.5, 0.5, 0.5, 1.0))


def test_bridge_has_about_21_links_a_section():
    bridge = P.bridge(40)
    assert len(bridge.links) == 40 * 21
    net = P.net(5, 7)
    assert (len(net), len(net.links), int((net.arrays.inverse_mass > 0).sum())) == (35, 5 * 6 + 4 * 7, 15)


def test_recordings_have_quantities_by_name_and_are_saved(tmp_path):
    system = P.chain(3, 0.6, mass=0.9)
    system.add_joint("knee", "p1", "p2", "p3", axis="y", friction=0.01)
    run = P.simulate(system, 0.2, dt=1e-4, rate=50.0)
    assert len(run) == 11
    assert run["p4"].shape == run["p4.velocity"].shape == run["momentum"].shape == (11, 3)
    assert run["knee"].shape == run["link1.tension"].shape == run["energy"].shape == (11,)
    assert np.abs(np.diff(run["energy"])).max() < 0.02
    path = run.save(tmp_path / "chain")
    again = P.ParticleRecording.load(path)
    assert all((a == b).all() for a, b in zip(again.samples, run.samples, strict=True))
    assert again.structure.particles == run.structure.particles
    run.plot("energy", "p4", "knee", path=tmp_path / "plot.png")
    run.picture(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 3000
    with pytest.raises(UnknownName, match=r"'p44' is not a quantity of this recording\. Did you mean 'p4'"):
        run["p44"]
    with pytest.raises(WriteError, match="the recording cannot be written"):
        run.save(tmp_path / "no" / "such")
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(FileFormatError, match="is not a recording of particles, or it is damaged"):
        P.ParticleRecording.load(path)


def test_files_with_other_shapes_are_refused(tmp_path):
    run = P.simulate(P.chain(2), 0.01, dt=1e-4)
    good = {**run.structure._asdict(), **run.samples._asdict(), "format": np.array("brachiate particle recording 1")}
    for name, value, message in (
        ("positions", np.zeros((2, 2, 3)), r"positions must be \(2, 3, 3\) finite numbers, but is \(2, 2, 3\)"),
        ("mass", np.full(3, np.nan), "mass must be"),
        ("ends", np.full((2, 2), 7), "numbers of particles from 0 to 2"),
    ):
        np.savez(tmp_path / "bad.npz", **{**good, name: value})
        with pytest.raises(FileFormatError, match=message):
            P.ParticleRecording.load(tmp_path / "bad.npz")
    del good["tension"]
    np.savez(tmp_path / "bad.npz", **good)
    with pytest.raises(FileFormatError, match="lacks tension"):
        P.ParticleRecording.load(tmp_path / "bad.npz")


def test_control_is_called_and_steps_fit_between_records():
    times, system = [], P.chain(2, gravity=0.0)
    P.simulate(system, 0.1, dt=7e-5, rate=100.0, control=lambda s, t: times.append(t), control_rate=300.0)
    assert len(times) == 30
    assert np.allclose(np.diff(times), 0.1 / 30)
    assert abs(system.time - 0.1) < 1e-12


# --- bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: s.add_particle("a", (0, 0, 0), 1.0), ArgumentError, "already a particle 'a'"),
        (lambda s: s.add_particle("d", (0, 0, 0), -1.0), ArgumentError, "mass must be at least 1e-09.*got -1"),
        (lambda s: s.add_particles([(0, 0, 0)], [1.0, 2.0]), ArgumentError, "mass: expected a number, or 1 numbers"),
        (lambda s: s.add_particles([(0, np.nan, 0)], 1.0), ArgumentError, "every number must be finite"),
        (lambda s: s.add_link("ab", "b", "c", stiffness=1.0), ArgumentError, "already a link 'ab'"),
        (lambda s: s.add_link("x", "b", "d", stiffness=1.0), ArgumentError, "'d' is not a particle"),
        (lambda s: s.add_link("x", "b", "c", stiffness=-1.0), ArgumentError, "stiffness must be at least 0"),
        (lambda s: s.add_link("x", "b", "c", stiffness=1.0, length=0.0), ArgumentError, "length must be more than 0"),
        (lambda s: s.add_link("x", "b", "b", stiffness=1.0), ArgumentError, "connects a particle with itself"),
        (lambda s: s.add_link("x", 0, 3, stiffness=1.0), ArgumentError, "numbered from 0 to 2"),
        (lambda s: s.add_joint("j", "a", "b", "c", torque=1.0), ArgumentError, "spherical: a torque needs a plane of rotation"),
        (lambda s: s.add_joint("j", "a", "b", "c", axis="x"), ArgumentError, "an arm has no length, or is along the axis"),
        (lambda s: s.add_joint("j", "a", "b", "c", limits=(0, 1)), ArgumentError, "need a limit_stiffness"),
        (lambda s: s.add_joint("j", "a", "b", "c", limits=(1, 0)), ArgumentError, "lower limit 1 is above the upper limit 0"),
        (lambda s: s.set_torques({"k": 1.0}), UnknownName, "'k' is not a joint of this particle system"),
        (lambda s: s.hold("d"), UnknownName, "'d' is not a particle of this particle system"),
        (lambda s: s.set_length("ab", 0.0), ArgumentError, "length of link 'ab'"),
        (lambda s: s.set_temperature(np.inf), ArgumentError, "change of temperature"),
        (
            lambda s: P.Stepper(s, dt=0.1),
            ArgumentError,
            r"not stable; the largest stable one is 0\.0447 s \(particle 'a'\).*integrator='implicit'",
        ),
        (lambda s: P.Stepper(s, integrator="rk4"), ArgumentError, "'rk4' is not one of: explicit, leapfrog, implicit"),
        (lambda s: P.Stepper(s, floor=0.8), ArgumentError, "expected br.particles.Floor"),
        (lambda s: P.simulate(s, 0.0), ArgumentError, "seconds must be more than 0"),
        (lambda s: P.simulate(s, 1.0, control=3), ArgumentError, "control: expected a function"),
    ],
)
def test_bad_input_changes_nothing(call, error, message):
    system = two()
    before = contents(system)
    with pytest.raises(error, match=message):
        call(system)
    assert contents(system) == before


def test_coincident_particles_and_empty_systems_are_refused():
    system = two()
    system.add_particle("d", (1, 0, 1), 1.0)
    with pytest.raises(ArgumentError, match="link 'bd': its particles 'b' and 'd' are at the same place"):
        system.add_link("bd", "b", "d", stiffness=1.0)
    with pytest.raises(ArgumentError, match="no particles: add some"):
        P.Stepper(P.ParticleSystem())
    system.add_joint("j", "a", "b", "c")
    with pytest.raises(ArgumentError, match="spherical: a torque needs a plane"):
        system.set_servo("j", 0.1)
    with pytest.raises(ArgumentError, match="less than the distance of both ends"):
        P.rope((0, 0, 0), (1, 0, 0), 5, 0.5)
    with pytest.raises(ArgumentError, match="it has no length"):
        P.along_curve([(0, 0, 0), (0, 0, 0)], 5)
    with pytest.raises(ArgumentError, match="belongs to no triangle"):
        P.from_mesh([(0, 0, 0), (1, 0, 0), (0, 1, 0), (5, 5, 5)], [(0, 1, 2)])
    published = P.ParticleSystem(planes="published")
    published.add_particles([(0, 0, 0), (1, 0, 0), (2, 0, 0)], 1.0)
    published.add_joint("j", 0, 1, 2, axis="y")
    with pytest.raises(ArgumentError, match="Implicit steps need planes='momentum'"):
        P.Stepper(published, integrator="implicit")


@pytest.mark.skipif(compiled.MODE == "off", reason="a division by zero raises in plain Python")
def test_states_that_are_not_finite_are_refused_and_the_state_before_is_kept():
    system = two()
    stepper = P.Stepper(system, dt=1e-3)
    system.arrays.x[1] = system.arrays.x[0]  # unchecked: two linked particles at the same place
    before = system.positions
    with pytest.raises(StateError, match=r"particle 'a' is not finite after 5 steps.*at the same place"):
        stepper.step(5)
    assert (system.positions == before).all()
    assert system.time == 0.0


def test_parts_can_be_added_between_steps():
    system = two()
    stepper = P.Stepper(system, dt=1e-3)
    stepper.step(10)
    system.add_particle("d", (0, 1, 0), 1.0)
    system.add_link("ad", "a", "d", stiffness=1e3)
    stepper.step(10)
    assert abs(system.time - 0.02) < 1e-12
    assert system.velocities[3, 2] < 0
    system.add_link("stiff", "b", "c", stiffness=1e8)
    with pytest.raises(ArgumentError, match="is not stable"):
        stepper.step()
