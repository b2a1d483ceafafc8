"""``brachiate warmup``: compile every entry point, by running it once on a small model."""

from __future__ import annotations

import time

import numpy as np
from rich.console import Console

import brachiate as br
from brachiate.centroidal.staged_least_squares import StagedLeastSquares
from brachiate.compiled import MODE, ArrayHandle, cache_folder, prune_cache
from brachiate.contact.published.trial import new_trial
from brachiate.contact.published.trial_and_error import solve_by_trial
from brachiate.contact.solver.dense_problem import problem_from_dense
from brachiate.contact.solver.solve import new_problem, solve_problem
from brachiate.filter.offline import filter_motion
from brachiate.filter.paper import PaperFilter
from brachiate.filter.whole_body.principal_pivoting import solve_single_qp
from brachiate.filter.whole_body.qp import allocate_qp
from brachiate.show.canvas import Camera, Canvas
from brachiate.show.surface import Triangles
from brachiate.simulate.integrators import METHODS


def warm(console: Console, core: bool = False) -> None:
    """Run every compiled entry point once; ``core``: all but the filter."""
    if MODE == "off":
        console.print("Compiled code is switched off (BRACHIATE_COMPILED=off): there is nothing to compile.")
        return
    began = time.perf_counter()
    world = br.World()
    world.add(br.figures.chain(2), name="chain")
    link = next(iter(world.model.links))
    world.pose(link)
    world.velocity(link)
    world.jacobian(link)
    world.totals()
    world.centroidal_momentum_matrix()
    world.mass_matrix()
    world.bias()
    world.inverse_dynamics(world.forward_dynamics())
    br.dynamics.solve_mass(world.data, world.q, world.v)
    world.integrate(world.v, 0.0)
    br.manifold.difference(world.data, world.q, world.q)
    for method in METHODS:
        br.Simulation(world, integrator=method).step()
    _warm_loops()
    _warm_contact()
    if not core:
        _warm_filter()
    still = br.Motion(br.figures.box((0.2, 0.2, 0.2)), np.arange(3.0), np.tile(br.figures.box((0.2, 0.2, 0.2)).neutral, (3, 1)))
    br.check(still)
    corners = np.eye(3)[None]
    next(Canvas(Camera(), corners[0], 2).panels([Triangles(corners, corners, corners)], None))
    removed = prune_cache()
    console.print(
        f"Everything{' but the filter' if core else ''} is compiled ({time.perf_counter() - began:.1f} s), in {cache_folder()}."
        + (f" {removed} old folders removed." if removed else "")
    )


def _warm_loops() -> None:
    """Constraints: connections, limits, and a singular posture."""
    for method in METHODS:
        world = br.World(gravity=(0, -9.81, 0))
        world.add(br.figures.fourbar(1), name="fourbar")
        world["fourbar/crank0"], world["fourbar/crank1"], world["fourbar/coupler1"] = 0.001, 0.001, -0.001
        world.v = {"fourbar/crank0": -1.0, "fourbar/crank1": -1.0, "fourbar/coupler1": 1.0}
        br.Simulation(world, integrator=method, dt=0.002).step()  # through the posture in line
        world.mobility()
        world = br.World()
        world.add(_lever(), name="lever")
        br.Simulation(world, integrator=method, dt=0.01).run(0.2, progress=False)


def _warm_contact() -> None:
    """Contact: a stack of boxes on a height field, self-collision, a joint limit; and the published method.

    What only some shapes need is compiled with the first of them.
    """
    world = br.World()
    world.add(br.figures.terrain(np.zeros((2, 2))), name="ground")
    world.add(br.figures.box((0.2, 0.2, 0.2)), name="box").place((0, 0, 0.1))
    world.add(br.figures.box((0.2, 0.2, 0.2)), name="other").place((0, 0, 0.3))
    world.add(br.figures.chain(4), name="chain", at=(3, 0, 5))
    world.add(_lever(), name="lever", at=(0, 0, 5))
    world.connect("box/box", "world", br.Spherical())
    world.enable_contact(material=br.Material(stiffness=1e5, damping=100.0))
    br.Simulation(world, dt=0.01).run(0.1, progress=False)
    world.zmp("box")
    world.connect("other/box", "box/box")  # while it touches
    square = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    problem = problem_from_dense([square], np.eye(6), np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0]), 0.5)
    trial, none = ArrayHandle(problem, new_trial(1)), ArrayHandle(new_problem(1))
    solve_by_trial(trial.key, True, True, True)
    solve_problem(none.key)


def _warm_filter() -> None:
    """The dynamics filter, on a fifth of a second of a squat; and the published filter."""
    squat = br.procedural.sample_motion("squat", seconds=0.5)
    for mode in ("offline", "online"):
        filter_motion(squat.frames(slice(0, 25)), mode=mode)
    stand = br.Motion(squat.figure, np.linspace(0.0, 1.0, 50), np.tile(squat.q[0], (50, 1)))
    shove = 0.6 * squat.figure.mass / 0.1  # [N] that gives the body 0.6 m/s in 0.1 s: it takes a capture step
    filter_motion(stand, pushes=[br.Push("spine2", (0.0, shove, 0.0), start=0.1, duration=0.1)])
    program = ArrayHandle(allocate_qp(6, 4, 4))
    solve_single_qp(program.key)
    StagedLeastSquares(1, 1, 0, 1).solve([0.0])
    world = br.World()
    world.add(br.figures.ground(), name="ground")
    world.add(br.figures.box((0.2, 0.2, 0.2)), name="box").place((0, 0, 0.1))
    world.enable_contact()
    still = np.zeros(world.model.nv)
    PaperFilter(world, "box").step(world.q, still, still)


def _lever() -> br.Model:
    """A pendulum that falls onto its limit."""
    b = br.ModelBuilder("lever")
    b.link("lever", joint=br.Revolute("y", limits=(-0.01, 0.01)), mass=1.0, center=(1, 0, 0), inertia=(0.1, 0.1, 0.1))
    return b.build()
