"""Recording of a particle system: states, forces, energies and momentum over time, saved as a NumPy archive."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brachiate.errors import ArgumentError, FileFormatError, UnknownName
from brachiate.io.archive import read_archive, write_archive
from brachiate.io.file_access import as_path
from brachiate.particles.picture import system_surface
from brachiate.particles.system import ParticleSystem
from brachiate.show import plots
from brachiate.show.draw import ViewSettings, strobe_surfaces
from brachiate.show.force_marks import ForceMarks
from brachiate.validation import Array

FORMAT = "brachiate particle recording 1"


class Structure(NamedTuple):
    """What does not change in a recording."""

    particles: tuple[str, ...]
    links: tuple[str, ...]
    joints: tuple[str, ...]
    ends: Array  # (m, 2)
    mass: Array  # (n,) [kg]
    radius: Array  # (n,) [m]
    stiffness: Array  # (m,) [N/m]
    slack: Array  # (m,)
    gravity: Array  # (3,) [m/s²]


class Samples(NamedTuple):
    """States at f times."""

    time: Array  # (f,) [s]
    positions: Array  # (f, n, 3) [m]
    velocities: Array  # (f, n, 3) [m/s]
    length: Array  # (f, m) rest lengths of links [m]
    tension: Array  # (f, m) forces of links [N], positive if they pull
    floor_force: Array  # (f, n, 3) forces of the floor [N]
    angle: Array  # (f, j) of joints [rad]
    torque: Array  # (f, j) of their motors [N·m]


def structure_of(system: ParticleSystem) -> Structure:
    """Names and constants of a system."""
    C, L = system.arrays, system.link_arrays
    names = [tuple(part) for part in (system.particles, system.links, system.joints)]
    constants = (a.copy() for a in (L.ends, C.mass, C.radius, L.stiffness, L.slack))
    return Structure(*[*names, *constants, system.gravity])


def sample_of(system: ParticleSystem) -> Samples:
    """The present state; forces are those of the last step."""
    C, L, J = system.arrays, system.link_arrays, system.joint_arrays
    r = C.x[L.ends[:, 1]] - C.x[L.ends[:, 0]]
    tension = (L.force * r).sum(axis=1) / np.maximum(np.sqrt((r * r).sum(axis=1)), 1e-300)
    angles = np.array([system.angle(name) for name in system.joints])
    arrays = (np.float64(system.time), C.x, C.v, L.length, tension, C.floor_force, angles, J.motor)
    return Samples(*(np.array(array) for array in arrays))


class ParticleRecording:
    """States of a particle system at the recorded times, forces, energies and momentum; see :class:`Samples` for the arrays."""

    def __init__(self, structure: Structure, samples: Samples) -> None:
        self.structure, self.samples = structure, samples
        self.time, self.positions, self.velocities = samples.time, samples.positions, samples.velocities
        self.tension, self.floor_force, self.angles, self.torques = (
            samples.tension, samples.floor_force, samples.angle, samples.torque,
        )  # fmt: skip

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.time)

    @property
    def _quantities(self) -> dict[str, tuple[str, Callable[[], Array]]]:
        return {
            "energy": ("energy [J]", lambda: self["kinetic energy"] + self["potential energy"] + self["elastic energy"]),
            "kinetic energy": ("energy [J]", lambda: 0.5 * (self.velocities**2).sum(axis=2) @ self.structure.mass),
            "potential energy": ("energy [J]", lambda: -(self.positions @ self.structure.gravity) @ self.structure.mass),
            "elastic energy": ("energy [J]", self._elastic_energy),
            "momentum": ("momentum [kg·m/s]", lambda: np.einsum("fnc,n->fc", self.velocities, self.structure.mass)),
            "angular momentum": ("angular momentum [kg·m²/s]", self._angular_momentum),
            "center of mass": ("center of mass [m]", self._center),
            "floor force": ("force of the floor [N]", lambda: self.floor_force.sum(axis=1)),
            "center of pressure": ("center of pressure [m]", self._center_of_pressure),
        }

    def __getitem__(self, name: str) -> Array:
        """Return a quantity over time.

        ``energy``, ``momentum``, ``angular momentum`` (about the origin), ``center of mass``, ``floor force``, ``center of pressure`` and
        so on; the position of a particle by name, ``p1.velocity``, ``p1.floor force``; ``link1.tension``; the angle of a joint by name,
        ``knee.torque``.
        """
        return self._find(name)[1]()

    def _find(self, name: str) -> tuple[str, Callable[[], Array]]:
        """Label of the axis and function of a quantity."""
        s, quantities = self.structure, self._quantities
        if name in quantities:
            return quantities[name]
        subject, _, what = name.rpartition(".") if "." in name else (name, "", "")
        tables: list[tuple[tuple[str, ...], str, str, Array]] = [
            (s.particles, "", "position [m]", self.positions), (s.particles, "velocity", "velocity [m/s]", self.velocities),
            (s.particles, "floor force", "force of the floor [N]", self.floor_force), (s.links, "tension", "tension [N]", self.tension),
            (s.joints, "", "angle [rad]", self.angles), (s.joints, "torque", "torque [N·m]", self.torques),
        ]  # fmt: skip
        for names, suffix, label, values in tables:
            if what == suffix and subject in names:
                at = names.index(subject)
                return label, partial(_column, values, at)
        valid = [*quantities, *s.particles[:8], *s.joints[:8], *(f"{link}.tension" for link in s.links[:4])]
        raise UnknownName("quantity", name, valid, "this recording")

    def _elastic_energy(self) -> Array:
        s = self.structure
        r = self.positions[:, s.ends[:, 0]] - self.positions[:, s.ends[:, 1]]
        stretch = np.sqrt((r * r).sum(axis=2)) - self.samples.length
        return 0.5 * np.where(s.slack != 0, np.maximum(stretch, 0.0), stretch) ** 2 @ s.stiffness

    def _angular_momentum(self) -> Array:
        return np.einsum("fnc,n->fc", np.cross(self.positions, self.velocities), self.structure.mass)

    def _center(self) -> Array:
        return np.einsum("fnc,n->fc", self.positions, self.structure.mass) / self.structure.mass.sum()

    def _center_of_pressure(self) -> Array:
        """Mean of the places of contact, weighted by their vertical forces; NaN without contact."""
        up = np.maximum(self.floor_force[..., 2], 0.0)
        total = up.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            return np.where(total > 0.0, np.einsum("fnc,fn->fc", self.positions, up) / np.where(total > 0.0, total, 1.0), np.nan)

    def plot(self, *names: str, path: str | Path | None = None) -> Any:
        """Plot quantities over time, those of one unit in one panel; return the figure, or write it to a file."""
        if not names:
            raise ArgumentError(f"Name what to plot: a particle, a joint, or one of {', '.join(self._quantities)}.")
        panels: dict[str, dict[str, Array]] = {}
        for name in names:
            label, values = self._find(name)
            array = values()
            columns = {name: array} if array.ndim == 1 else {f"{name} {axis}": array[:, n] for n, axis in enumerate("xyz")}
            panels.setdefault(label, {}).update(columns)
        return plots.plot_panels(self.time, panels, path=path)

    def picture(self, path: str | PathLike[str], look: ViewSettings | None = None, times: ArrayLike | None = None) -> None:
        """Draw some states side by side: those nearest to ``times`` [s], or as ``look`` says, or six from first to last."""
        settings, s = look if look is not None else ViewSettings(), self.structure
        size = float(np.ptp(self.positions.reshape(-1, 3), axis=0).max(initial=1e-3))

        def marks(row: int) -> ForceMarks:
            pressed = np.flatnonzero(np.abs(self.floor_force[row]).max(axis=1) > 0.0)
            weight = float(s.mass.sum() * np.linalg.norm(s.gravity))
            return ForceMarks(self.positions[row, pressed], self.floor_force[row, pressed], [], weight)

        shown = marks if settings.forces and len(s.particles) < 100 else None
        strobe_surfaces(lambda row: system_surface(self.positions[row], s.ends, s.radius, size), self.time, path, settings, times, shown)

    # --- files --------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> Path:
        """Write a NumPy archive with names and units, whole or not at all; it contains no code (no pickles). Returns its path."""
        content: dict[str, Any] = {"format": np.array(FORMAT), "units": np.array("s, m, m/s, kg, N, rad, N·m")}
        for part in (self.structure, self.samples):
            content |= {name: np.array(value, str) if isinstance(value, tuple) else value for name, value in part._asdict().items()}
        return write_archive(path, content, "the recording")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> ParticleRecording:
        """Load a recording.

        Raises:
            FileFormatError: The file is not a recording of particles, or it is damaged.
        """
        path = as_path(path, "a recording of particles")
        content = read_archive(path, FORMAT, "a recording of particles")
        missing = [name for name in (*Structure._fields, *Samples._fields) if name not in content]
        if missing:
            raise FileFormatError(f"{path} lacks {', '.join(missing)}.")
        names = [tuple(map(str, np.atleast_1d(content[kind]))) for kind in ("particles", "links", "joints")]
        n, m, j = map(len, names)
        f = len(np.atleast_1d(content["time"]))
        shapes = {
            "ends": (m, 2), "mass": (n,), "radius": (n,), "stiffness": (m,), "slack": (m,), "gravity": (3,), "time": (f,),
            "positions": (f, n, 3), "velocities": (f, n, 3), "length": (f, m), "tension": (f, m), "floor_force": (f, n, 3),
            "angle": (f, j), "torque": (f, j),
        }  # fmt: skip
        for name, shape in shapes.items():
            _check_array(path, name, content[name], shape, n)
        structure = Structure(*[*names, *(content[name] for name in Structure._fields[3:])])
        return cls(structure, Samples(*(content[name] for name in Samples._fields)))


def _column(values: Array, at: int) -> Array:
    return values[:, at]


def _check_array(path: Path, name: str, array: Array, shape: tuple[int, ...], particles: int) -> None:
    integer = name in ("ends", "slack")
    if array.shape != shape or array.dtype != (np.int64 if integer else np.float64) or not np.isfinite(array).all():
        raise FileFormatError(f"{path}: {name} must be {shape} finite numbers, but is {array.shape} {array.dtype}.")
    if name == "ends" and array.size and (array.min() < 0 or array.max() >= particles):
        raise FileFormatError(f"{path}: ends must be numbers of particles from 0 to {particles - 1}.")


def record(structure: Structure, rows: list[Samples]) -> ParticleRecording:
    """Recording of samples."""
    return ParticleRecording(structure, Samples(*(np.array(column) for column in zip(*rows, strict=True))))
