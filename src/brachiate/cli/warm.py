"""Compile every door, on a model small enough that running them takes no time."""

from __future__ import annotations

import time

from rich.console import Console

import brachiate as br
from brachiate.compiled import MODE, cache_folder, prune_cache
from brachiate.simulate.integrators import METHODS


def warm(console: Console) -> None:
    """Run everything that is compiled, once."""
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
    world.integrated(world.v, 0.0)
    br.manifold.subtracted(world.data, world.q, world.q)
    for method in METHODS:
        br.Simulation(world, integrator=method).step()
    removed = prune_cache()
    console.print(
        f"Everything is compiled ({time.perf_counter() - began:.1f} s), in {cache_folder()}."
        + (f" {removed} old folders removed." if removed else "")
    )
