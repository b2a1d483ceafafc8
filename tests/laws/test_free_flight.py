"""Free flight: conservation of momentum, angular momentum and energy, order of every integrator, dense output, determinism."""

import numpy as np
import pytest

import brachiate as br
from brachiate import dynamics
from brachiate.simulate.integrators import METHODS, Integrator


def thrown(seed: int = 3, speed: float = 1.0) -> br.Data:
    """A human28 in the air with every joint moving."""
    data = br.Data(br.figures.human28())
    rng = np.random.default_rng(seed)
    data.v[:] = speed * rng.normal(size=data.model.nv)
    data.v[:6] = [1.0, -0.5, 4.0, 1.5, 3.0, -1.0]
    return data


def advance(data: br.Data, method: str, dt: float, seconds: float, tolerance: float = 1e-9) -> None:
    steps = round(seconds / dt)
    Integrator(data, method, tolerance).advance(dt, steps, steps)


@pytest.mark.parametrize(("method", "tolerance"), [("rk8", 1e-9), ("dormand-prince", 1e-13), ("bulirsch-stoer", 1e-13)])
def test_momentum_is_conserved_to_1e_11_over_ten_seconds(method, tolerance):
    # Round-off grows like the number of steps times 1e-16 times the conditioning of the mass matrix (about 1e3 here);
    # a wrong sign in any velocity-product term breaks angular momentum in the first step.
    data = thrown()
    before = dynamics.totals(data)
    advance(data, method, 0.001, 10.0, tolerance)
    after = dynamics.totals(data)
    gained = before.mass * data.work.gravity * 10.0
    assert np.linalg.norm(after.momentum - gained - before.momentum) <= 1e-11 * np.linalg.norm(after.momentum)
    assert np.linalg.norm(after.angular_momentum - before.angular_momentum) <= 1e-11 * np.linalg.norm(before.angular_momentum)
    assert abs(after.energy - before.energy) <= 1e-10 * abs(before.kinetic)


def energy_errors(method: str, steps: list[float]) -> np.ndarray:
    errors = []
    for dt in steps:
        data = thrown(speed=0.5)
        before = dynamics.totals(data).energy
        advance(data, method, dt, 0.4)
        errors.append(abs(dynamics.totals(data).energy - before))
    return np.array(errors)


@pytest.mark.parametrize(
    ("method", "steps"), [("euler", [4e-4, 2e-4, 1e-4]), ("rk4", [0.01, 0.005, 0.0025]), ("rk8", [0.08, 0.05, 0.04, 0.025])]
)
def test_energy_drift_has_the_order_of_the_method(method, steps):
    errors = energy_errors(method, steps)
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    order = METHODS[method].order
    # The energy of a method of order p drifts as h^p, or h^(p+1) where the leading term cancels over a rotation,
    # and half an order more at steps as long as these. Fails if a coefficient of the Butcher table is wrong.
    most = order + 0.1 if order == 1 else order + 1.5
    assert order - 0.1 < slope < most + 0.1, f"{method}: slope {slope:.2f}, errors {errors}"


@pytest.mark.parametrize("method", ["dormand-prince", "bulirsch-stoer"])
def test_global_error_follows_the_tolerance(method):
    # Four decades of tolerance give at least three decades of error.
    def end(tolerance):
        data = thrown()
        advance(data, method, 0.05, 0.5, tolerance)
        return np.concatenate([data.q, data.v])

    exact = thrown()
    advance(exact, "rk8", 0.0005, 0.5)
    exact = np.concatenate([exact.q, exact.v])
    coarse, fine = (np.abs(end(tol) - exact).max() for tol in (1e-6, 1e-10))
    assert coarse < 1e-3
    assert fine < 1e-3 * coarse


def test_quaternions_stay_normalized():
    for method in METHODS:
        data = thrown()
        Integrator(data, method).advance(0.002, 100)
        for name, joined in data.model.joints.items():
            q = data.q[joined.q]
            if len(q) > 1:
                assert abs(np.linalg.norm(q[-4:]) - 1) < 1e-14, (method, name)


def test_dense_output_has_the_accuracy_of_its_order():
    # The interpolant is of fourth order, the steps of fifth: at a tolerance of 1e-10 its error is about (1e-10)^(4/5) = 1e-8.
    fine, dense = thrown(), thrown()
    Q, V = Integrator(fine, "rk8").advance(0.001, 200)
    Q2, V2 = Integrator(dense, "dormand-prince", 1e-10).advance(0.001, 200)
    assert np.abs(Q2 - Q).max() < 1e-8
    assert np.abs(V2 - V).max() < 1e-7
    assert Integrator(dense, "dormand-prince").advance(0.01, 7, 3)[0].shape == (2, data_size(dense))


def data_size(data: br.Data) -> int:
    return data.model.nq


def test_runs_are_deterministic():
    ends = []
    for _ in range(2):
        data = thrown()
        advance(data, "euler", 0.001, 0.2)
        ends.append(data.q.copy())
    assert (ends[0] == ends[1]).all()
