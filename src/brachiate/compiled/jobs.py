"""Entry points that a job needs, so that they are compiled together, in several processes, before it starts.

Others are compiled when first called: solvers for hard contact problems, unusual shapes, postures that are singular.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable

from brachiate.compiled.marks import ENTRIES
from brachiate.compiled.store import PACKAGE, CodeName

# Names of modules and their entry points.
_CHECK = {
    "contact_estimation.ground_reaction": "compute_point_kinematics estimate_contact_forces",
    "contact_estimation.contact_set_residuals": "residuals_of_contact_sets",
    "contact_estimation.mode_sequence": "find_sequence",
}
_CONTACT = {
    "kinematics": "update_body_poses",
    "constraints.constrained_dynamics": "run_constraint_operation update_mass_factor",
    "constraints.rows": "update_residuals",
    "constraints.solve": "factor_delassus",
    "contact.collision.narrow_phase": "_detect detect collide_convex build_patch collide_gjk",
    "contact.solver.solve": "solve",
    "contact.solver.newton": "newton",
    "contact.solver.gauss_seidel": "gauss_seidel",
    "contact.solver.douglas_rachford": "select_modes douglas_rachford",
    "contact.stepping.run": "run_contact_steps",
}
_FILTER = {
    "kinematics": "update_body_poses _jacobian",
    "manifold": "_integrate",
    "dynamics": "_bias _inverse_dynamics",
    "contact.solver.continuation": "continuation",
    "centroidal.planner": "solve_plan",
    "centroidal.staged_least_squares": "solve_staged",
    "dynamics.point_targets": "point_normal_equations",
    "linalg.block_pentadiagonal": "solve_padded_pentadiagonal",
    "filter.results.replay_kernels": "replay_control",
    "filter.schedule.centroidal_trajectory": "compute_centroidal_trajectory",
    "filter.schedule.leg_force_limits": "compute_leg_force_limits",
    "filter.footsteps.capture_step_kernels": "decide_step",
    "filter.tracking.control_step": "init_tracking build_mpc apply_plan update_state solve_qp apply_torques",
    "show.canvas": "_rasterize",
}
_ROLLOUT = {"rollout.control_law": "torque_control target_control"}
_ONLINE = {
    "filter.online.contact_estimator": "process_frame",
    "filter.online.motion_prediction": "predict_from_history",
}


def _names(*tables: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"brachiate.{module}.{name}" for table in tables for module, names in table.items() for name in names.split())


JOBS: dict[str, tuple[str, ...]] = {
    "check": _names(_CHECK),
    "contact": _names(_CONTACT),
    "filter": _names(_CHECK, _CONTACT, _FILTER),
    "rollout": _names(_CONTACT, _ROLLOUT),
    "online": _names(_CHECK, _CONTACT, _FILTER, _ONLINE),
}


def code_names(jobs: Iterable[str]) -> list[CodeName]:
    """Code that jobs need."""
    names = dict.fromkeys(name for job in jobs for name in JOBS[job])
    return [variant for name in names for variant in variants(name)]


def variants(name: str) -> list[CodeName]:
    """Code of an entry point of the package: one for each of its signatures."""
    importlib.import_module(name.rpartition(".")[0])
    return [CodeName(name, signature) for signature in ENTRIES[name].signatures]


def all_code_names() -> list[CodeName]:
    """Code of all entry points of the package."""
    for module in pkgutil.walk_packages([str(PACKAGE)], f"{PACKAGE.name}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return [code for name in list(ENTRIES) if name.startswith(f"{PACKAGE.name}.") for code in variants(name)]
