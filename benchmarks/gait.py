"""Ground reaction forces estimated from motion, compared with force plates: ``python benchmarks/gait.py FOLDER [--json FILE]``.

FOLDER holds OpenSim's example Gait2354: ``subject01_walk1_ik.mot``, ``subject01_walk1_grf.mot`` and ``subject01_simbody.osim``, of which
only the leg lengths are used. The figure is gait23 with the subject's mass and stature and de Leva's proportions; trunk, head and arms are
one body. Evaluated are (1) the root residual at the pelvis with the measured forces applied to the feet, and (2) the errors of forces and
centers of pressure that are estimated from the motion, without plates. Errors are relative as in Ren et al. 2008: root mean square over
the mean of both peak-to-peak values.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import numpy as np
from rich.markup import escape
from rich.table import Table as ConsoleTable

from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.evaluation.check import check
from brachiate.evaluation.report import CheckReport
from brachiate.figures import gait23
from brachiate.io.opensim import Plate, force_plates, read_table
from brachiate.motion.opensim_gait import gait_motion, plate_to_z_up
from brachiate.motion.spline import MotionSpline
from brachiate.validation import Array
from results import make_console

MASS, HEIGHT = 72.6, 1.80  # [kg], [m] of the subject
CUTOFF = 6.0  # [Hz] as is usual for gait [Winter 2009]
LOADED = 0.1  # share of the weight from which the center of pressure is evaluated
PUBLISHED = {"vertical": 5.3, "anterior": 9.4, "lateral": 13.1}  # [%] Karatsidis et al. 2017, eleven subjects in inertial suits
RRA = {"force": (5.0, 13.0), "moment": (None, 23.0)}  # [N], [N·m] RMS and peak, of OpenSim's shipped results for this walk
AXES = {"anterior": 0, "lateral": 1, "vertical": 2}


def leg_lengths(model: Path) -> tuple[float, float]:
    """Lengths of thigh and shank of the scaled model [m]: from the straight knee and the ankle."""
    text = model.read_text()
    knee = text[text.index('name="knee_r"') :]
    scale = float(re.search(r"<scale>\s*([\d.]+)", knee).group(1))  # type: ignore[union-attr]
    ankle = text[text.index('name="ankle_r"') :]
    translation = re.search(r"<translation>\s*(\S+)\s+(\S+)\s+(\S+)", ankle)
    assert translation is not None
    return 0.3960 * scale, abs(float(translation.group(2)))


def resample(times: Array, table_times: Array, values: Array) -> Array:
    """Columns of a table at other times, by linear interpolation."""
    return np.stack([np.interp(times, table_times, column) for column in values.T], axis=1)


def relative_error(a: Array, b: Array) -> float:
    """Relative RMS error [%]."""
    return 100.0 * float(np.sqrt(np.mean((a - b) ** 2)) / (0.5 * (np.ptp(a) + np.ptp(b))))


def residual_with_plates(report: CheckReport, plates: dict[str, Plate]) -> dict[str, float]:
    """Root residual with the measured forces applied to the feet."""
    figure, times = report.motion.figure, report.times
    wrenches = np.stack([np.concatenate((p.force, np.cross(p.point, p.force) + p.moment), axis=1) for p in plates.values()], axis=1)
    states = MotionSpline(figure, times, report.motion.q, CUTOFF).at(times)
    dynamics = MotionDynamics(figure, states, report.contacts.terrain, tuple(f"{side}_foot" for side in plates), wrenches)
    no_contact = np.zeros(dynamics.contact_mode.shape, np.int64)
    dynamics.estimate_forces(no_contact, no_contact.astype(float))
    force, moment = np.linalg.norm(dynamics.root_residual[:, :3], axis=1), np.linalg.norm(dynamics.root_residual[:, 3:], axis=1)
    return {
        "force_rms_N": float(np.sqrt(np.mean(force**2))),
        "force_peak_N": float(force.max()),
        "force_rms_percent_weight": 100.0 * float(np.sqrt(np.mean(force**2))) / dynamics.weight,
        "moment_rms_Nm": float(np.sqrt(np.mean(moment**2))),
        "moment_peak_Nm": float(moment.max()),
    }


def estimation_errors(report: CheckReport, plates: dict[str, Plate]) -> dict[str, dict[str, float]]:
    """Errors of estimated forces [%] and centers of pressure [cm RMS], by foot."""
    dynamics = report.dynamics
    links = np.array([dynamics.contact_points.links[k] for k in dynamics.contact_points.part])
    found = {}
    for side, plate in plates.items():
        of_foot = np.char.startswith(links, side)
        force, position = dynamics.contact_force[:, of_foot], dynamics.point_position[:, of_foot]
        total = force.sum(axis=1)
        errors = {name: relative_error(total[:, axis], plate.force[:, axis]) for name, axis in AXES.items()}
        loaded = (total[:, 2] > LOADED * dynamics.weight) & (plate.force[:, 2] > LOADED * dynamics.weight)
        cop = (force[..., 2:] * position).sum(axis=1)[loaded] / total[loaded, 2:]
        error = 100.0 * (cop - plate.point[loaded])[:, :2]
        errors["cop_anterior_cm"], errors["cop_lateral_cm"] = (float(np.sqrt(np.mean(error[:, k] ** 2))) for k in (0, 1))
        found[side] = errors
    return found


def study(folder: Path) -> dict[str, object]:
    thigh, shank = leg_lengths(folder / "subject01_simbody.osim")
    figure = gait23(HEIGHT, MASS, thigh=thigh, shank=shank)
    motion = gait_motion(read_table(folder / "subject01_walk1_ik.mot"), figure)
    report = check(motion, cutoff=CUTOFF)
    table = read_table(folder / "subject01_walk1_grf.mot")
    measured = [plate_to_z_up(plate) for plate in force_plates(table)]
    plates = {}
    for side, plate in zip(("right", "left"), measured, strict=True):
        plates[side] = Plate(plate.name, *(resample(report.times, table.times, x) for x in (plate.force, plate.point, plate.moment)))
    return {
        "figure": {"mass_kg": figure.mass, "thigh_m": thigh, "shank_m": shank},
        "root_residual_with_measured_forces": residual_with_plates(report, plates),
        "root_residual_with_estimated_forces": {key: value for key, value in report.summary.items() if key.startswith("root_residual")},
        "estimation_errors": estimation_errors(report, plates),
        "published_errors_percent": PUBLISHED,
        "assumptions": [str(assumption) for assumption in report.assumptions],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of OpenSim's example Gait2354")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    result = study(options.folder)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    console = make_console()
    measured, estimated = result["root_residual_with_measured_forces"], result["root_residual_with_estimated_forces"]
    assert isinstance(measured, dict)
    assert isinstance(estimated, dict)
    console.print(
        f"root residual with measured forces: {measured['force_rms_N']:.1f} N RMS "
        f"({measured['force_rms_percent_weight']:.1f} % of weight), "
        f"{measured['force_peak_N']:.0f} N peak; {measured['moment_rms_Nm']:.1f} N·m RMS, {measured['moment_peak_Nm']:.0f} N·m peak\n"
        f"with estimated forces: {estimated['root_residual_force_rms_N']:.1f} N RMS "
        f"({estimated['root_residual_force_rms_percent_weight']:.1f} %), "
        f"{estimated['root_residual_force_peak_N']:.0f} N peak; {estimated['root_residual_moment_rms_Nm']:.1f} N·m RMS\n"
        f"OpenSim's residual reduction (RRA), which changes the motion of the pelvis: about {RRA['force'][0]:.0f} N RMS, "
        f"up to {RRA['force'][1]:.0f} N and {RRA['moment'][1]:.0f} N·m peak",
        highlight=False,
        soft_wrap=True,
    )
    errors = result["estimation_errors"]
    assert isinstance(errors, dict)
    table = ConsoleTable(title="estimated forces against force plates: relative errors, and RMS error of the center of pressure")
    columns = {
        "vertical": "vertical [%]",
        "anterior": "anterior [%]",
        "lateral": "lateral [%]",
        "cop_anterior_cm": "CoP anterior [cm]",
        "cop_lateral_cm": "CoP lateral [cm]",
    }
    for heading in ("foot", *columns.values()):
        table.add_column(escape(heading), justify="left" if heading == "foot" else "right")
    for side, values in errors.items():
        table.add_row(side, *(f"{values[name]:.1f}" for name in columns))
    table.add_row("mean", *(f"{np.mean([values[name] for values in errors.values()]):.1f}" for name in columns))
    table.add_row("Karatsidis et al. 2017", *(f"{PUBLISHED[name]:.1f}" if name in PUBLISHED else "" for name in columns))
    console.print(table)


if __name__ == "__main__":
    main()
