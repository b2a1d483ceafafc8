"""Ground forces from motion alone, against force plates: ``python benchmarks/gait.py FOLDER [--json FILE]``.

FOLDER holds OpenSim's example Gait2354: ``subject01_walk1_ik.mot``, ``subject01_walk1_grf.mot`` and ``subject01_simbody.osim``, of which
only lengths of legs are taken. The figure is ours, of the subject's mass and stature with de Leva's proportions, trunk, head and arms
in one piece. Two questions are asked. With what the plates measured put to the feet, what is left to the pelvis? And without plates:
how far are forces and centres of pressure, found from the motion, from those measured? Errors are relative as Ren et al. 2008 have
them: root mean square over the mean of both peak-to-peak values.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table as Shown

from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.evaluation.check import check
from brachiate.evaluation.report import CheckReport
from brachiate.figures import gait23
from brachiate.io.opensim import Plate, force_plates, read_table
from brachiate.motion.opensim_gait import gait_motion, plate_to_z_up
from brachiate.motion.spline import MotionSpline
from brachiate.validation import Array

MASS, HEIGHT = 72.6, 1.80  # [kg], [m] of the subject
CUTOFF = 6.0  # [Hz] as is usual for gait [Winter 2009]
LOADED = 0.1  # of the weight: where a centre of pressure is known well
PUBLISHED = {"vertical": 5.3, "anterior": 9.4, "lateral": 13.1}  # [%] Karatsidis et al. 2017, eleven subjects in inertial suits
RRA = {"force": (5.0, 13.0), "moment": (None, 23.0)}  # [N], [N·m] RMS and peak, of OpenSim's shipped results for this walk
AXES = {"anterior": 0, "lateral": 1, "vertical": 2}


def legs(model: Path) -> tuple[float, float]:
    """Lengths of thigh and shank [m] of the scaled model: where its knee is when straight, and its ankle."""
    text = model.read_text()
    knee = text[text.index('name="knee_r"') :]
    scale = float(re.search(r"<scale>\s*([\d.]+)", knee).group(1))  # type: ignore[union-attr]
    ankle = text[text.index('name="ankle_r"') :]
    place = re.search(r"<translation>\s*(\S+)\s+(\S+)\s+(\S+)", ankle)
    assert place is not None
    return 0.3960 * scale, abs(float(place.group(2)))


def at(times: Array, table_times: Array, values: Array) -> Array:
    return np.stack([np.interp(times, table_times, column) for column in values.T], axis=1)


def relative(a: Array, b: Array) -> float:
    """Error in percent."""
    return 100.0 * float(np.sqrt(np.mean((a - b) ** 2)) / (0.5 * (np.ptp(a) + np.ptp(b))))


def with_plates(report: CheckReport, plates: dict[str, Plate]) -> dict[str, float]:
    """What is left to the root with measured forces at the feet."""
    figure, times = report.motion.figure, report.times
    push = np.stack([np.concatenate((p.force, np.cross(p.point, p.force) + p.moment), axis=1) for p in plates.values()], axis=1)
    moments = MotionSpline(figure, times, report.motion.q, CUTOFF).at(times)
    track = MotionDynamics(figure, moments, report.contacts.terrain, tuple(f"{side}_foot" for side in plates), push)
    nothing = np.zeros(track.contact_mode.shape, np.int64)
    track.estimate_forces(nothing, nothing.astype(float))
    force, moment = np.linalg.norm(track.root_residual[:, :3], axis=1), np.linalg.norm(track.root_residual[:, 3:], axis=1)
    return {
        "force_rms_N": float(np.sqrt(np.mean(force**2))),
        "force_peak_N": float(force.max()),
        "force_rms_percent_weight": 100.0 * float(np.sqrt(np.mean(force**2))) / track.weight,
        "moment_rms_Nm": float(np.sqrt(np.mean(moment**2))),
        "moment_peak_Nm": float(moment.max()),
    }


def against_plates(report: CheckReport, plates: dict[str, Plate]) -> dict[str, dict[str, float]]:
    """Errors of forces and centres of pressure, foot by foot."""
    track = report.dynamics
    links = np.array([track.contact_points.links[k] for k in track.contact_points.part])
    found = {}
    for side, plate in plates.items():
        mine = np.char.startswith(links, side)
        force, place = track.contact_force[:, mine], track.point_position[:, mine]
        total = force.sum(axis=1)
        errors = {name: relative(total[:, axis], plate.force[:, axis]) for name, axis in AXES.items()}
        loaded = (total[:, 2] > LOADED * track.weight) & (plate.force[:, 2] > LOADED * track.weight)
        centre = (force[..., 2:] * place).sum(axis=1)[loaded] / total[loaded, 2:]
        away = 100.0 * (centre - plate.point[loaded])[:, :2]
        errors["cop_forward_cm"], errors["cop_aside_cm"] = (float(np.sqrt(np.mean(away[:, k] ** 2))) for k in (0, 1))
        found[side] = errors
    return found


def study(folder: Path) -> dict[str, object]:
    thigh, shank = legs(folder / "subject01_simbody.osim")
    figure = gait23(HEIGHT, MASS, thigh=thigh, shank=shank)
    motion = gait_motion(read_table(folder / "subject01_walk1_ik.mot"), figure)
    report = check(motion, cutoff=CUTOFF)
    table = read_table(folder / "subject01_walk1_grf.mot")
    measured = [plate_to_z_up(plate) for plate in force_plates(table)]
    plates = {}
    for side, plate in zip(("right", "left"), measured, strict=True):
        plates[side] = Plate(plate.name, *(at(report.times, table.times, x) for x in (plate.force, plate.point, plate.moment)))
    return {
        "figure": {"mass_kg": figure.mass, "thigh_m": thigh, "shank_m": shank},
        "with_plates": with_plates(report, plates),
        "without": {key: value for key, value in report.summary.items() if key.startswith("residual")},
        "against_plates": against_plates(report, plates),
        "published_percent": PUBLISHED,
        "assumed": [str(assumption) for assumption in report.assumptions],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    result = study(given.folder)
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")
    console = Console()
    plates, without = result["with_plates"], result["without"]
    assert isinstance(plates, dict)
    assert isinstance(without, dict)
    console.print(
        f"left to the root with measured forces: {plates['force_rms_N']:.1f} N RMS ({plates['force_rms_percent_weight']:.1f} % of weight), "
        f"{plates['force_peak_N']:.0f} N peak; {plates['moment_rms_Nm']:.1f} N·m RMS, {plates['moment_peak_Nm']:.0f} N·m peak\n"
        f"with forces found from the motion: {without['root_residual_force_rms_N']:.1f} N RMS ({without['root_residual_force_rms_percent_weight']:.1f} %), "
        f"{without['root_residual_force_peak_N']:.0f} N peak; {without['root_residual_moment_rms_Nm']:.1f} N·m RMS\n"
        f"OpenSim's RRA, which moves the pelvis to get there: about {RRA['force'][0]:.0f} N RMS, up to {RRA['force'][1]:.0f} N and "
        f"{RRA['moment'][1]:.0f} N·m peak",
        highlight=False,
        soft_wrap=True,
    )
    errors = result["against_plates"]
    assert isinstance(errors, dict)
    table = Shown(title="forces from motion alone against plates: relative error [%], centre of pressure [cm RMS]")
    columns = ("vertical", "anterior", "lateral", "cop_forward_cm", "cop_aside_cm")
    for heading in ("", *columns):
        table.add_column(heading, justify="right" if heading else "left")
    for side, values in errors.items():
        table.add_row(side, *(f"{values[name]:.1f}" for name in columns))
    table.add_row("mean", *(f"{np.mean([values[name] for values in errors.values()]):.1f}" for name in columns))
    table.add_row("Karatsidis et al. 2017", *(f"{PUBLISHED[name]:.1f}" if name in PUBLISHED else "" for name in columns))
    console.print(table)


if __name__ == "__main__":
    main()
