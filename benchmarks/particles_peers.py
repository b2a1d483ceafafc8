"""A chain of particles in Newton on the CPU; run by particles.py in an environment of its own.

``python particles_peers.py xpbd|semi-implicit COUNT``: prints a line when the chain of COUNT particles is ready and its kernels are
compiled, then, for every number n on standard input, the time of n steps [s]. Springs between neighbours, the first particle fixed, as in
particles.py; XPBD with its default of two iterations. Single precision, which is all that Newton has.
"""

from __future__ import annotations

import sys
import time

import newton
import numpy as np
import warp as wp


def main() -> None:
    """Read numbers of steps, write times."""
    solver_name, count = sys.argv[1], int(sys.argv[2])
    wp.config.quiet = True
    wp.set_device("cpu")
    builder = newton.ModelBuilder()
    x = np.zeros((count, 3), np.float32)
    x[:, 0] = 0.1 * np.arange(count)
    builder.add_particles([wp.vec3(*row) for row in x], [wp.vec3(0.0, 0.0, 0.0)] * count, [0.0] + [0.1] * (count - 1))
    for i in range(count - 1):
        builder.add_spring(i, i + 1, 1e4, 0.1, 0.0)
    model = builder.finalize(device="cpu")
    solver = newton.solvers.SolverXPBD(model) if solver_name == "xpbd" else newton.solvers.SolverSemiImplicit(model)
    states, control = [model.state(), model.state()], model.control()

    def step() -> None:
        states[0].clear_forces()
        solver.step(states[0], states[1], control, None, 1e-4)
        states.reverse()

    for _ in range(3):
        step()
    print("ready", flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            step()
        wp.synchronize()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
