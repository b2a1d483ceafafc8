"""Energy drift of a human figure in free flight for every integrator, over the step length or tolerance."""

import matplotlib.pyplot as plt
import numpy as np

import brachiate as br

SECONDS = 0.4
STEPS = {
    "euler": [4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4],
    "rk4": [0.04, 0.02, 0.01, 0.005, 0.0025, 0.00125],
    "rk8": [0.1, 0.08, 0.05, 0.04, 0.025, 0.02, 0.0125, 0.01],
}
TOLERANCES = {"dormand-prince": 10.0 ** np.arange(-4, -13, -1), "bulirsch-stoer": 10.0 ** np.arange(-4, -13, -1)}


def drift(method: str, dt: float, tolerance: float = 1e-9) -> float:
    """Energy error at the end of the flight, relative to the kinetic energy."""
    world = br.World()
    world.add(br.figures.human28(), name="man")
    world.v = 0.5 * np.random.default_rng(3).normal(size=world.model.nv)
    world.set_velocity({"man/root": [1.0, -0.5, 4.0, 1.5, 3.0, -1.0]})
    before = world.totals()
    br.Simulation(world, dt, method, tolerance, every=round(SECONDS / dt), limits=False).run(SECONDS)
    return abs(world.totals().energy - before.energy) / before.kinetic


figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharey=True)
for method, steps in STEPS.items():
    errors = np.array([drift(method, dt) for dt in steps])
    above_round_off = errors > 1e-13
    slope = np.polyfit(np.log(np.array(steps)[above_round_off]), np.log(errors[above_round_off]), 1)[0]
    print(f"{method:15s} slope of the drift {slope:.2f}")
    left.loglog(steps, errors, "o-", label=f"{method}, slope {slope:.1f}")
for method, tolerances in TOLERANCES.items():
    errors = [drift(method, SECONDS / 4, tolerance) for tolerance in tolerances]
    print(f"{method:15s} tolerance 1e-12: drift {errors[-1]:.1e}")
    right.loglog(tolerances, errors, "o-", label=method)
left.set(xlabel="step [s]", ylabel="relative energy drift")
right.set(xlabel="tolerance")
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)
figure.savefig("energy-drift.png", dpi=150)
plt.close(figure)
