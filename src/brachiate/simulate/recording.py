"""Recording: what a simulation leaves behind, by name; a file that other programs can open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate import dynamics
from brachiate.errors import ArgumentError, FileFormatError, UnknownName
from brachiate.io.archive import read_archive, with_suffix
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.show import plots
from brachiate.show.draw import Look, strobe
from brachiate.show.marks import Marks
from brachiate.simulate import contact_quantities
from brachiate.simulate.contact_file import arrays_of, history_from
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
    "center of mass": ("centre of mass [m]", lambda t: t.center),
}
_FORCES = {"force": "force [N]", "moment": "moment [N·m]", "torque": "torque [N·m or N]"}


class Recording:
    """States at the recorded times: ``time`` (n,) [s], ``q`` (n, nq), ``v`` and ``torque`` (n, nv).

    ``forces`` are those of connections, locks and courses by name; they are computed when one is first asked for. ``contacts`` is
    what touched, by moment, link or figure.
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

    def __len__(self) -> int:
        """Return how many states there are."""
        return len(self.time)

    def __getitem__(self, name: str) -> Array:
        """Return a quantity over time.

        A joint's values (``man/left_knee``), one of the totals (``energy``), the force or moment on the link of a connection (``left
        hand.force``, ``left hand.moment``: world axes), or the torque that a lock or course takes (``man/left_knee.torque``); NaN while
        nothing of that name held.

        Of what touched, a link, a figure, or a pair such as ``man/left_foot on floor/ground``: its ``.reaction`` (the force on it),
        ``.cop``, ``.free moment``, ``.slip``, ``.area`` and ``.state`` (0 ... 6 for C0 ... C6, 7 where nothing touches), of a figure also
        its ``.zmp``: see :class:`~brachiate.world.contact_history.LinkHistory` for ``man.cop`` and the others, and :meth:`World.zmp`.
        """
        if name in _QUANTITIES:
            pick = _QUANTITIES[name][1]
            return np.array([pick(total) for total in self.totals()])
        if name in self.forces:
            return self.forces[name]
        if (touched := contact_quantities.find(self, name)) is not None:
            quantity, who = touched
            return quantity.of(self, who)
        try:
            values = self.q[:, self.model.q_slice(name)]
        except UnknownName as unknown:
            valid = [*_QUANTITIES, *self.forces, *unknown.valid, *contact_quantities.names(self)]
            raise UnknownName("quantity", name, valid, "this recording") from None
        return values[:, 0] if values.shape[1] == 1 else values

    def totals(self) -> Iterable[dynamics.Totals]:
        """Mass, momentum and energy of everything, state by state."""
        data = Data(self.model, self.gravity)
        for q, v in zip(self.q, self.v, strict=True):
            data.q[:], data.v[:] = q, v
            yield dynamics.totals(data)

    def plot(self, *names: str, path: str | Path | None = None) -> Any:
        """Plot quantities over time, those of one unit in one panel; return the figure, or write it to a file.

        ``man.contact`` is short for the reaction, centre of pressure and states of a link or figure, and ``contacts`` for those of all
        that touched.
        """
        if not names:
            short = [contact_quantities.EVERYTHING] if len(self.contacts) else []
            raise ArgumentError(f"Name what to plot: a joint, or one of {', '.join([*_QUANTITIES, *self.forces, *short])}.")
        panels: dict[str, dict[str, Array] | plots.Strips] = {}
        for name in dict.fromkeys(contact_quantities.spelled_out(self, names)):
            values = self[name]
            panel = panels.setdefault(self._unit(name), contact_quantities.strips() if self._is_state(name) else {})
            if isinstance(panel, plots.Strips):
                panel.rows[name] = values
                continue
            columns = values[:, None] if values.ndim == 1 else values.reshape(len(values), -1)
            panel.update(zip(self._labels(name, columns.shape[1]), columns.T, strict=True))
        return plots.lines(self.time, panels, path=path)

    def picture(self, path: str | Path, look: Look | None = None, times: ArrayLike | None = None) -> None:
        """Draw a few moments side by side: those nearest to ``times`` [s], or as ``look`` says, or six from first to last.

        Where things touch, their areas and forces are drawn too, unless ``look`` says otherwise.
        """
        strobe(self.model, self.time, self.q, path, look, times, self._marks if len(self.contacts) else None)

    def _marks(self, row: int) -> Marks:
        """What to draw over a state: of the two opposite forces of each contact, the one that points up.

        Of the first state nothing may be known yet: then it is what touched in the step that follows.
        """
        found = self.contacts.at(row)
        if row == 0 and not found:
            found = self.contacts.at(min(1, len(self) - 1))
        weight = next(iter(self.totals())).mass * float(np.linalg.norm(self.gravity))
        at, force = (np.array([getattr(c, what) for c in found]).reshape(-1, 3) for what in ("cop", "force"))
        up = -self.gravity if self.gravity.any() else np.array((0.0, 0.0, 1.0))
        force[force @ up < 0] *= -1
        return Marks(at, force, [c.bearing for c in found], weight)

    def _unit(self, name: str) -> str:
        if name in self.forces:
            return _FORCES[name.rpartition(".")[2]]
        if (touched := contact_quantities.find(self, name)) is not None:
            return touched[0].label
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
        """Write a NumPy archive with names, units and version inside; nothing in it is code."""
        path = Path(path)
        forces = {name: values.reshape(len(self), -1) for name, values in self.forces.items()}
        ends = np.cumsum([0, *(values.shape[1] for values in forces.values())])
        np.savez_compressed(
            with_suffix(path),
            format=np.array(FORMAT),
            units=np.array("s, m, rad, kg, N; quaternions w x y z; free joints: position, quaternion"),
            coordinates=np.array(self.model.coordinates, dtype=str),
            joints=np.array(list(self.model.joints), dtype=str),
            joint_q=np.array([(j.q.start, j.q.stop) for j in self.model.joints.values()], np.int64).reshape(-1, 2),
            gravity=self.gravity,
            forces=np.array(list(forces), dtype=str),
            forces_at=np.stack([ends[:-1], ends[1:]], axis=1),
            force=np.concatenate([np.zeros((len(self), 0)), *forces.values()], axis=1),
            **arrays_of(self.contacts),
            **{name: getattr(self, name) for name in _ARRAYS},
        )

    @classmethod
    def load(cls, path: str | Path, model: Model) -> Recording:
        """Read a recording of this model; anything else is refused."""
        path = Path(path)
        content = read_archive(path, FORMAT, "a recording")
        missing = [name for name in (*_ARRAYS, "coordinates", "gravity") if name not in content]
        if missing:
            raise FileFormatError(f"{path} lacks {', '.join(missing)}.")
        if tuple(map(str, np.atleast_1d(content["coordinates"]))) != model.coordinates:
            raise FileFormatError(f"{path} has other coordinates than model {model.name!r}: it was recorded with another model.")
        n = len(np.atleast_1d(content["time"]))
        for name, columns in (("time", None), ("q", model.nq), ("v", model.nv), ("torque", model.nv)):
            right = (n,) if columns is None else (n, columns)
            array = content[name]
            if array.shape != right or array.dtype != np.float64 or not np.isfinite(array).all():
                raise FileFormatError(f"{path}: {name} must be {right} finite numbers, but is {array.shape} {array.dtype}.")
        contacts = history_from(content, n, model, path)
        return cls(model, content["gravity"], *(content[name] for name in _ARRAYS), forces=_forces(content, n, path), contacts=contacts)


def _forces(content: dict[str, Any], rows: int, path: Path) -> dict[str, Array]:
    """The forces in a file, by name; files from before there were any have none."""
    if "forces" not in content:
        return {}
    names, at, values = (content.get(name, np.zeros(0)) for name in ("forces", "forces_at", "force"))
    right = names.ndim == 1 and at.shape == (len(names), 2) and at.dtype == np.int64 and values.ndim == 2 and len(values) == rows
    if not right or values.dtype != np.float64 or np.isinf(values).any() or not (at[:, 0] < at[:, 1]).all() or (at < 0).any():
        raise FileFormatError(f"{path}: forces, forces_at and force must be names, columns and numbers, one row for each state.")
    if (at > values.shape[1]).any() or any(str(name).rpartition(".")[2] not in _FORCES for name in names):
        raise FileFormatError(f"{path}: forces, forces_at and force do not belong together.")
    parts = {str(name): values[:, start:end] for name, (start, end) in zip(names, at, strict=True)}
    return {name: part[:, 0] if part.shape[1] == 1 else part for name, part in parts.items()}
