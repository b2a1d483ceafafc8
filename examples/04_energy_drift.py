"""How the energy of a human figure in free flight drifts under each integrator, against the length of its step."""

import numpy as np

import brachiate as br
from brachiate.show.plots import COLORS, plain, pyplot
from brachiate.simulate.integrators import METHODS, Integrator

SECONDS = 0.4
STEPS = {
    "euler": [4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4],
    "rk4": [0.04, 0.02, 0.01, 0.005, 0.0025, 0.00125],
    "rk8": [0.1, 0.08, 0.05, 0.04, 0.025, 0.02, 0.0125, 0.01],
}
TOLERANCES = {"dormand-prince": 10.0 ** np.arange(-4, -13, -1), "bulirsch-stoer": 10.0 ** np.arange(-4, -13, -1)}


def drift(method: str, dt: float, tolerance: float = 1e-9) -> float:
    """Largest error of the energy over the flight, relative to the kinetic energy."""
    data = br.Data(br.figures.human28())
    data.v[:] = 0.5 * np.random.default_rng(3).normal(size=data.model.nv)
    data.v[:6] = [1.0, -0.5, 4.0, 1.5, 3.0, -1.0]
    before = br.dynamics.totals(data)
    steps = round(SECONDS / dt)
    Integrator(data, method, tolerance).advance(dt, steps, steps)
    return abs(br.dynamics.totals(data).energy - before.energy) / before.kinetic


plt = pyplot()
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharey=True)
for color, (method, steps) in zip(COLORS, STEPS.items(), strict=False):
    errors = np.array([drift(method, dt) for dt in steps])
    seen = errors > 1e-13  # below, it is round-off
    slope = np.polyfit(np.log(np.array(steps)[seen]), np.log(errors[seen]), 1)[0]
    print(f"{method:15s} order {METHODS[method].order}, slope of the drift {slope:.2f}")
    left.loglog(steps, errors, "o-", color=color, label=f"{method}, slope {slope:.1f}")
for color, (method, tolerances) in zip(COLORS[3:], TOLERANCES.items(), strict=False):
    errors = [drift(method, SECONDS / 4, tolerance) for tolerance in tolerances]
    print(f"{method:15s} tolerance 1e-12: drift {errors[-1]:.1e}")
    right.loglog(tolerances, errors, "o-", color=color, label=method)
left.set(xlabel="step [s]", ylabel="drift of the energy, relative")
right.set(xlabel="tolerance")
for axis in (left, right):
    plain(axis)
    axis.legend(frameon=False)
figure.savefig("energy-drift.png", dpi=150)
plt.close(figure)
