"""Recording: states, contacts and constraint forces of a simulation by name, saved as a NumPy archive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import dynamics
from brachiate.errors import ArgumentError, FileFormatError, UnknownName
from brachiate.functions.states import ModelState, States, differences, named_functions, values_of_states
from brachiate.io.archive import read_archive, write_archive
from brachiate.io.file_access import as_path
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.show import plots
from brachiate.show.draw import ViewSettings, strobe
from brachiate.show.force_marks import ForceMarks
from brachiate.simulate import contact_quantities
from brachiate.simulate.contact_file import history_from_arrays, history_to_arrays
from brachiate.simulate.partner import PartnerRecording
from brachiate.validation import Array
from brachiate.world.contact_history import ContactHistory

FORMAT = "brachiate recording 1"
_ARRAYS = {"time": 1, "q": 2, "v": 2, "torque": 2}
_QUANTITIES = {
    "energy": ("energy [J]", lambda t: t.energy),
    "kinetic energy": ("energy [J]", lambda t: t.kinetic),
    "potential energy": ("energy [J]", lambda t: t.potential),
    "momentum": ("momentum [kg·m/s]", lambda t: t.momentum),
    "angular momentum": ("angular momentum [kg·m²/s]", lambda t: t.angular_momentum),
    "center of mass": ("center of mass [m]", lambda t: t.center),
}
_FORCES = {"force": "force [N]", "moment": "moment [N·m]", "torque": "torque [N·m or N]"}


class Recording:
    """States at the recorded times: ``time`` (n,) [s], ``q`` (n, nq), ``v`` and ``torque`` (n, nv).

    ``forces`` has the constraint forces of connections, locks and prescribed coordinates by name, computed when first asked for.
    ``contacts`` has the contacts by instant, link, figure or pair of links.
    """

    def __init__(
        self,
        model: Model,
        gravity: Array,
        time: Array,
        q: Array,
        v: Array,
        torque: Array,
        forces: Mapping[str, Array] | None = None,
        contacts: ContactHistory | None = None,
    ) -> None:
        self.model = model
        self.gravity = gravity
        self.time, self.q, self.v, self.torque = time, q, v, torque
        self.forces: Mapping[str, Array] = {} if forces is None else forces
        self.contacts = ContactHistory([None] * len(time)) if contacts is None else contacts
        #: Recording of what the simulation was coupled with, state by state: see :meth:`Simulation.couple`.
        self.partner: PartnerRecording | None = None

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.time)

    def __getitem__(self, name: str) -> Array:
        """Return a quantity over time.

        Values of a joint (``man/left_knee``), one of the totals (``energy``), force or moment on the link of a connection (``left
        hand.force``, ``left hand.moment``: world axes), or the torque of a locked or prescribed coordinate (``man/left_knee.torque``);
        NaN while the constraint was not active.

        Contact quantities of a link, a figure, or a pair such as ``man/left_foot on floor/ground``: ``.reaction`` (contact force on it),
        ``.cop`` (center of pressure), ``.free moment``, ``.slip``, ``.area`` and ``.state`` (0 ... 6 for C0 ... C6, 7 without contact), of
        a figure also ``.zmp``: see :class:`~brachiate.world.contact_history.LinkHistory` and :meth:`World.zmp`.
        """
        if name in _QUANTITIES:
            pick = _QUANTITIES[name][1]
            return np.array([pick(total) for total in self.totals()])
        if name in self.forces:
            return self.forces[name]
        if (found := contact_quantities.find_quantity(self, name)) is not None:
            quantity, subject = found
            return quantity.compute(self, subject)
        try:
            values = self.q[:, self.model.q_slice(name)]
        except UnknownName as unknown:
            valid = [*_QUANTITIES, *self.forces, *unknown.valid, *contact_quantities.quantity_names(self)]
            raise UnknownName("quantity", name, valid, "this recording") from None
        return values[:, 0] if values.shape[1] == 1 else values

    def values(self, functions: Mapping[str, Any], *, derivative: int = 0) -> dict[str, Array]:
        """Functions of the motion over time by name: (n,), of vectors (n, 3).

        Args:
            functions: Expressions of :mod:`brachiate.animation`, or Python functions ``lambda s: ...`` of the state.
            derivative: 1 for their rates. Those of functions of velocities, and functions of accelerations such as the center of pressure,
                use accelerations by differences of the recorded velocities.
        """
        states = States(self.time, self.q, self.v, differences(self.time, self.v))
        return values_of_states(ModelState(self.model, self.gravity), functions, states, derivative)

    def totals(self) -> Iterable[dynamics.Totals]:
        """Mass, momentum and energy of all figures together, state by state."""
        data = Data(self.model, self.gravity)
        for q, v in zip(self.q, self.v, strict=True):
            data.q[:], data.v[:] = q, v
            yield dynamics.totals(data)

    def plot(self, *names: Any, path: str | Path | None = None) -> Any:
        """Plot quantities over time, those of one unit in one panel; return the figure, or write it to a file.

        Functions of the motion are plotted as :meth:`values` has them: an expression, or functions by name, which share a panel.

        ``man.contact`` is short for reaction, center of pressure and contact states of a link or figure, and ``contacts`` for those of
        all figures in contact.
        """
        if not names:
            short = [contact_quantities.ALL_CONTACTS] if len(self.contacts) else []
            raise ArgumentError(f"Name what to plot: a joint, or one of {', '.join([*_QUANTITIES, *self.forces, *short])}.")
        panels: dict[str, dict[str, Array] | plots.StateStrips] = {}
        functions = [name for name in names if not isinstance(name, str)]
        for name in dict.fromkeys(contact_quantities.expand_names(self, [name for name in names if isinstance(name, str)])):
            values = self[name]
            panel = panels.setdefault(self._unit(name), contact_quantities.state_strips() if self._is_state(name) else {})
            if isinstance(panel, plots.StateStrips):
                panel.rows[name] = values
                continue
            columns = values[:, None] if values.ndim == 1 else values.reshape(len(values), -1)
            panel.update(zip(self._labels(name, columns.shape[1]), columns.T, strict=True))
        for function in functions:
            by_name = self.values(named_functions(function))
            panel = panels.setdefault(", ".join(by_name) if len(by_name) == 1 else "functions [SI units]", {})
            for name, values in by_name.items():
                letters = [""] if values.ndim == 1 else [".x", ".y", ".z"]
                panel.update({name + letter: column for letter, column in zip(letters, np.atleast_2d(values.T), strict=True)})  # type: ignore[union-attr]
        return plots.plot_panels(self.time, panels, path=path)

    def picture(self, path: str | Path, look: ViewSettings | None = None, times: ArrayLike | None = None) -> None:
        """Draw some states side by side: those nearest to ``times`` [s], or as ``look`` says, or six from first to last.

        Contact areas and forces are drawn, unless ``look`` says otherwise.
        """
        more = None if self.partner is None else self.partner.surface
        strobe(self.model, self.time, self.q, path, look, times, self._marks if len(self.contacts) else None, more)

    def _marks(self, row: int) -> ForceMarks:
        """Contact areas and forces to draw at a state: of the two opposite forces of each contact, the one that points up.

        Contacts of the first state may not be known; then those of the following step are drawn.
        """
        found = self.contacts.at(row)
        if row == 0 and not found:
            found = self.contacts.at(min(1, len(self) - 1))
        weight = next(iter(self.totals())).mass * float(np.linalg.norm(self.gravity))
        at, force = (np.array([getattr(c, what) for c in found]).reshape(-1, 3) for what in ("cop", "force"))
        up = -self.gravity if self.gravity.any() else np.array((0.0, 0.0, 1.0))
        force[force @ up < 0] *= -1
        return ForceMarks(at, force, [c.active_corners for c in found], weight)

    def _unit(self, name: str) -> str:
        if name in self.forces:
            return _FORCES[name.rpartition(".")[2]]
        if (found := contact_quantities.find_quantity(self, name)) is not None:
            return found[0].label
        return _QUANTITIES[name][0] if name in _QUANTITIES else "joints [rad or m]"

    def _is_state(self, name: str) -> bool:
        return self._unit(name) == contact_quantities.STATE

    def _labels(self, name: str, columns: int) -> list[str]:
        if columns == 1:
            return [name]
        if name not in self.model.joints:
            return [f"{name} {axis}" for axis in "xyz"]
        return self.model.links[self.model.joints[name].link].joint.number_names(name)

    def save(self, path: str | Path) -> None:
        """Write a NumPy archive with names, units and format version; it contains no code (no pickles)."""
        forces = {name: values.reshape(len(self), -1) for name, values in self.forces.items()}
        ends = np.cumsum([0, *(values.shape[1] for values in forces.values())])
        content = {
            "format": np.array(FORMAT),
            "units": np.array("s, m, rad, kg, N; quaternions w x y z; free joints: position, quaternion"),
            "coordinates": np.array(self.model.coordinates, dtype=str),
            "joints": np.array(list(self.model.joints), dtype=str),
            "joint_q": np.array([(j.q.start, j.q.stop) for j in self.model.joints.values()], np.int64).reshape(-1, 2),
            "gravity": self.gravity,
            "forces": np.array(list(forces), dtype=str),
            "forces_at": np.stack([ends[:-1], ends[1:]], axis=1),
            "force": np.concatenate([np.zeros((len(self), 0)), *forces.values()], axis=1),
            **history_to_arrays(self.contacts),
            **{name: getattr(self, name) for name in _ARRAYS},
        }
        write_archive(path, content, "the recording")

    @classmethod
    def load(cls, path: str | Path, model: Model) -> Recording:
        """Load a recording of this model.

        Raises:
            FileFormatError: The file is not a recording of this model.
        """
        path = as_path(path, "a recording")
        content = read_archive(path, FORMAT, "a recording")
        missing = [name for name in (*_ARRAYS, "coordinates", "gravity") if name not in content]
        if missing:
            raise FileFormatError(f"{path} lacks {', '.join(missing)}.")
        if tuple(map(str, np.atleast_1d(content["coordinates"]))) != model.coordinates:
            raise FileFormatError(f"{path} has different coordinates than model {model.name!r}: it was recorded with another model.")
        n = len(np.atleast_1d(content["time"]))
        for name, columns in (("time", None), ("q", model.nq), ("v", model.nv), ("torque", model.nv)):
            shape = (n,) if columns is None else (n, columns)
            array = content[name]
            if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
                raise FileFormatError(f"{path}: {name} must be {shape} finite numbers, but is {array.shape} {array.dtype}.")
        contacts = history_from_arrays(content, n, model, path)
        return cls(model, content["gravity"], *(content[name] for name in _ARRAYS), forces=_forces(content, n, path), contacts=contacts)


def _forces(content: dict[str, Any], rows: int, path: Path) -> dict[str, Array]:
    """Constraint forces in a file by name; older files have none."""
    if "forces" not in content:
        return {}
    names, at, values = (content.get(name, np.zeros(0)) for name in ("forces", "forces_at", "force"))
    valid = names.ndim == 1 and at.shape == (len(names), 2) and at.dtype == np.int64 and values.ndim == 2 and len(values) == rows
    if not valid or values.dtype != np.float64 or np.isinf(values).any() or not (at[:, 0] < at[:, 1]).all() or (at < 0).any():
        raise FileFormatError(f"{path}: forces, forces_at and force must be names, columns and numbers, one row for each state.")
    if (at > values.shape[1]).any() or any(str(name).rpartition(".")[2] not in _FORCES for name in names):
        raise FileFormatError(f"{path}: forces, forces_at and force are inconsistent.")
    parts = {str(name): values[:, start:end] for name, (start, end) in zip(names, at, strict=True)}
    return {name: part[:, 0] if part.shape[1] == 1 else part for name, part in parts.items()}
