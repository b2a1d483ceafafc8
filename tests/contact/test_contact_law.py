"""Contact law of a single contact: torsion length, residual, sticking, sliding, torsion, tipping, invariance of axes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.cases import (
    Body,
    ContactPair,
    Solver,
    box,
    case,
    contact_case,
    energy_gain,
    random_contacts,
    random_patch,
    rectangle,
    rotation,
)
from tests.contact.checks import torsion_length_by_angles, worst

from brachiate.compiled import MODE
from brachiate.contact.arrays import METHOD_CONVEX, METHOD_FROZEN_CENTERS
from brachiate.contact.solver.contact_law import (
    CORNER,
    EDGE,
    FACE,
    OPEN,
    SLIPPING,
    STICKING,
    distance_outside,
    residual,
    state_name,
    torsion_length,
)
from brachiate.contact.solver.solve import project_forces
from brachiate.validation import Array

MANY = {"fast": 1000, "check": 200, "off": 40}[MODE]
HALF = np.array([0.12, 0.05, 0.1])
BIG = 1e6  # [s] so long that the speed tolerance is negligible compared with the velocity change by gravity
G = 9.81


def on_plane(v: Array, friction: float = 0.6, mass: float = 2.0, area: Array | None = None, **options: float):
    """A box with its lower face on a plane, with the given velocity."""
    touch = ContactPair(-1, 0, np.array([0.0, 0.0, -HALF[2]]), np.eye(3), rectangle(*HALF[:2]) if area is None else area)
    return contact_case([box(HALF, mass, velocity=v)], [touch], friction, **options)


def slope(angle: float) -> Array:
    return G * BIG * np.array([np.sin(angle), 0.0, -np.cos(angle), 0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def solver() -> Solver:
    return Solver(1)


def test_torsion_length_is_mean_distance_of_corners(solver: Solver) -> None:
    rng = np.random.default_rng(1)
    for corners in (1, 2, 3, 4, 5, 8):
        area = random_patch(rng, corners)
        solver.load(case([area], np.eye(6), np.zeros(6), 0.5, torsion_scale=0.7))
        inside = rng.dirichlet(np.ones(corners), size=20) @ area
        on_edges = [0.3 * area[j] + 0.7 * area[(j + 1) % corners] for j in range(corners)]
        for c in [*inside, *on_edges]:
            assert torsion_length(solver.problem, 0, *c) == pytest.approx(torsion_length_by_angles(area, c, 0.7), rel=1e-6, abs=1e-12)
        for c in area:
            assert torsion_length(solver.problem, 0, *c) == 0.0


def test_torsion_length_is_continuous_at_edges_and_corners(solver: Solver) -> None:
    area = rectangle(0.1, 0.05)
    solver.load(case([area], np.eye(6), np.zeros(6), 0.5))
    assert torsion_length(solver.problem, 0, 0.1 - 1e-9, 0.02) == pytest.approx(torsion_length(solver.problem, 0, 0.1, 0.02), rel=1e-6)
    assert torsion_length(solver.problem, 0, 0.1 + 1e-9, 0.02) == pytest.approx(torsion_length(solver.problem, 0, 0.1, 0.02), rel=1e-6)
    assert torsion_length(solver.problem, 0, 0.1 - 1e-5, 0.05 - 1e-5) < 1e-4


def test_residual_detects_every_violation(solver: Solver) -> None:
    c = on_plane(np.array([0.3, 0.0, -1.0, 0.0, 0.0, 0.5]))
    w, _, off = solver.solve(c)
    assert off <= 1e-6
    right, problem = w.copy(), solver.problem
    for r, part in enumerate(["f_x", "f_y", "f_z", "n_x", "n_y", "n_z"]):
        for change in (-0.01, 0.01):
            problem.w[:6] = right
            problem.w[r] += change * right[2]
            assert residual(problem) > 1e-4, part
    problem.w[:6] = right
    assert residual(problem) <= 1e-6


@pytest.mark.parametrize("area", [rectangle(0.1, 0.05), 0.1 * np.array([(np.cos(a), np.sin(a)) for a in np.pi / 4 * np.arange(8)])])
def test_center_of_pressure_slightly_outside_is_projected_onto_patch(area: Array) -> None:
    s, push, off = Solver(1), 3.0, 1e-8
    for place in (area[1], 0.5 * (area[1] + area[2])):  # past a corner, and past an edge
        x, y = place * (1 + off / np.linalg.norm(place))
        s.load(case([area], np.eye(6), np.zeros(6), 0.5))
        s.problem.w[:6] = 0.3, -0.2, push, y * push, -x * push, 0.3 * -y + -0.2 * x  # friction at the center of pressure
        residual(s.problem)
        assert distance_outside(s.problem, 0, x, y) > 0.5 * off
        assert project_forces(s.problem)
        fx, fy, fz, nx, ny, nz = s.problem.w[:6]
        x, y = -ny / fz, nx / fz
        assert distance_outside(s.problem, 0, x, y) < 1e-11
        assert np.linalg.norm((x, y) - place) < 2 * off
        assert (fx, fy, fz) == (0.3, -0.2, push)
        assert nz == pytest.approx(x * fy - y * fx, abs=1e-15)
        assert not project_forces(s.problem)


def test_residual_of_negative_and_of_zero_normal_force(solver: Solver) -> None:
    solver.load(on_plane(np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])))
    assert residual(solver.problem) == 0.0
    solver.problem.w[2] = -0.1
    assert residual(solver.problem) > 0.01


@pytest.mark.parametrize(
    ("area", "slip", "name"),
    [
        (OPEN, SLIPPING, "C7"), (FACE, STICKING, "C0"), (EDGE, STICKING, "C1"), (EDGE + 3, STICKING, "C1"), (CORNER, STICKING, "C3"),
        (FACE, SLIPPING, "C4"), (EDGE + 1, SLIPPING, "C5"), (CORNER + 7, SLIPPING, "C6"),
    ],
)  # fmt: skip
def test_state_names(area: int, slip: int, name: str) -> None:
    assert state_name(area, slip) == name


def test_random_single_contacts(solver: Solver) -> None:
    rng = np.random.default_rng(2)
    states = set()
    for n in range(MANY):
        c = random_contacts(rng, 1)
        w, u, off = solver.solve(c)
        assert off <= 1e-6, n
        error, part = worst(c, w, u)
        assert error < 1e-5 or solver.problem.counters[METHOD_FROZEN_CENTERS] + solver.problem.counters[METHOD_CONVEX], (n, part, error)
        solver.problem.counters[:] = 0
        assert energy_gain(c, w) <= 1e-12
        states.add(
            (
                min(solver.problem.normal_mode[0], EDGE) if solver.problem.normal_mode[0] < CORNER else CORNER,
                solver.problem.tangential_mode[0],
            )
        )
    assert len(states) >= 6 or MODE != "fast"  # separated; point, segment and polygon, each sticking or slipping


@pytest.mark.parametrize("angle", [0.1, 0.4, 0.7])
def test_block_sticks_exactly_if_friction_exceeds_slope(solver: Solver, angle: float) -> None:
    low = rectangle(HALF[0], HALF[1])
    for friction, slip in ((np.tan(angle) * (1 + 1e-9), STICKING), (np.tan(angle) * (1 - 1e-9), SLIPPING)):
        c = contact_case([box([1.0, 1.0, 0.01], 2.0, velocity=slope(angle))],
                     [ContactPair(-1, 0, np.array([0.0, 0.0, -0.01]), np.eye(3), low * 8)], friction)  # fmt: skip
        solver.solve(c)
        assert (solver.problem.normal_mode[0], solver.problem.tangential_mode[0]) == (FACE, slip)


@pytest.mark.parametrize(("angle", "friction"), [(0.5, 0.2), (0.8, 0.7), (0.3, 0.0)])
def test_block_slides_with_closed_form_acceleration(solver: Solver, angle: float, friction: float) -> None:
    flat = box([1.0, 1.0, 0.01], 2.0, velocity=slope(angle))
    c = contact_case([flat], [ContactPair(-1, 0, np.array([0.0, 0.0, -0.01]), np.eye(3), rectangle(1.0, 1.0))], friction)
    w, u, _ = solver.solve(c)
    assert u[0] / BIG == pytest.approx(G * (np.sin(angle) - friction * np.cos(angle)), rel=1e-9)
    assert w[2] / BIG == pytest.approx(2.0 * G * np.cos(angle), rel=1e-9)
    assert state_name(solver.problem.normal_mode[0], solver.problem.tangential_mode[0]) == "C4"


def test_static_friction_applies_only_to_sticking_contacts(solver: Solver) -> None:
    angle = 0.5
    c = on_plane(slope(angle) / BIG * 0.002, friction=np.tan(angle) - 0.05, static_friction=np.tan(angle) + 0.05)
    solver.load(c)
    _, u, _ = solver.solve(c)
    assert u[0] > 1e-5  # new contact: slides
    for slip, speed in ((STICKING, 0.0), (SLIPPING, u[0])):
        solver.problem.normal_mode[0], solver.problem.tangential_mode[0] = FACE, slip
        _, u_next, off = solver.solve(c, fresh=False)
        assert u_next[0] == pytest.approx(speed, abs=1e-6)
        assert off <= 1e-6


@pytest.mark.parametrize("spin", [1.0, 0.52])
def test_torsional_friction_scales_with_torsion_length(solver: Solver, spin: float) -> None:
    c = on_plane(np.array([0.0, 0.0, -G * 0.001, 0.0, 0.0, 3.0]), friction=0.4, torsion_scale=spin)
    w, u, _ = solver.solve(c)
    length_here = spin * np.hypot(HALF[0], HALF[1])
    assert w[5] == pytest.approx(-0.4 * w[2] * length_here, rel=1e-6)
    assert w[2] == pytest.approx(2.0 * G * 0.001, rel=1e-6)
    assert 0.0 < u[5] < 3.0


def test_sliding_and_torsional_friction_share_one_limit(solver: Solver) -> None:
    """A spinning body slides more easily: one friction acts along (v, l ω)."""
    c = on_plane(1e4 * np.array([1.0, 0.0, -0.01, 0.0, 0.0, 10.0]), friction=0.4)
    w, u, _ = solver.solve(c)
    x, y = -w[4] / w[2], w[3] / w[2]
    l = torsion_length_by_angles(c.patches[0], np.array([x, y]), 1.0)
    f = np.array([w[0], w[1], (w[5] - x * w[1] + y * w[0]) / l])
    s = np.array([u[0] - u[5] * y, u[1] + u[5] * x, l * u[5]])
    assert np.allclose(f, -0.4 * w[2] * s / np.linalg.norm(s), rtol=0, atol=1e-6 * w[2])
    assert abs(w[0]) < 0.95 * 0.4 * w[2]


@pytest.mark.parametrize(("tilt", "area"), [(0.99, FACE), (1.01, EDGE)])
def test_tall_box_tips_when_center_of_pressure_reaches_edge(solver: Solver, tilt: float, area: int) -> None:
    half, angle = np.array([0.05, 0.1, 0.2]), np.arctan(tilt * 0.05 / 0.2)
    body = box(half, 2.0, velocity=slope(angle) / BIG)
    c = contact_case([body], [ContactPair(-1, 0, np.array([0.0, 0.0, -0.2]), np.eye(3), rectangle(0.05, 0.1))], 1.0)
    _, u, _ = solver.solve(c)
    assert (solver.problem.normal_mode[0] if area == FACE else min(solver.problem.normal_mode[0], EDGE)) == area
    assert solver.problem.tangential_mode[0] == STICKING
    about_edge = body.inertia[1, 1] + 2.0 * (0.05**2 + 0.2**2)
    expected = 2.0 * G * (0.2 * np.sin(angle) - 0.05 * np.cos(angle)) / about_edge
    assert u[4] == pytest.approx(max(expected, 0.0), abs=1e-5)


@pytest.mark.parametrize("angle", [0.3, 1.9, -2.5])
def test_result_is_independent_of_axes_in_the_plane(angle: float) -> None:
    rng = np.random.default_rng(5)
    for corners in (1, 4, 6):
        R, area = rotation(angle, 2), random_patch(rng, corners)
        body = Body(2.0, np.diag([0.01, 0.02, 0.03]), velocity=rng.normal(size=6) - [0, 0, 2, 0, 0, 0])
        found = []
        for axes, V in ((np.eye(3), area), (R, area @ R[:2, :2])):
            c = contact_case([body], [ContactPair(-1, 0, np.array([0.02, 0.01, -0.1]), axes, V)], 0.5)
            solver = Solver(1)
            w, _, _ = solver.solve(c)
            f = c.wrench(w, 0)
            found.append(np.concatenate([axes @ f[:3], axes @ f[3:]]))
        assert np.allclose(*found, rtol=0, atol=2e-5)
