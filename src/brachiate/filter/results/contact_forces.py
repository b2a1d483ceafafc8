"""What touched in a filtered motion, as a motion has it: labels of parts, and forces on links."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from brachiate.anatomy.contact_points import spots_of
from brachiate.filter.schedule.inferred_surfaces import LEDGES
from brachiate.intervals import runs
from brachiate.kinematics_batch import Many
from brachiate.model.model import Model
from brachiate.motion.contact_labels import Label, Labels
from brachiate.motion.terrain import Ground
from brachiate.simulate.recording import Recording
from brachiate.validation import Array

GAP = 0.02  # [s] what lifts for less than this goes on to touch


def forces_on(run: Recording, figure: str, held: Mapping[str, Array]) -> dict[str, Array]:
    """Forces on links, of the ground and of what they hold, by name: force [N], and where it acts [m]; zero in the air: (f, 6) each.

    Each is that of the step that led to its frame; of the first frame nothing is known, so it has that of the second.
    """
    found: dict[str, Array] = {}
    for pair in run.contacts.pairs:
        link, _, on = pair.partition(" on ")
        if link.startswith(f"{figure}/") and not on.startswith(f"{figure}/"):
            history = run.contacts[pair]
            values = np.concatenate((history.force, np.nan_to_num(history.cop)), axis=1)
            name = link.rpartition("/")[2]
            found[name] = _joined(found[name], values) if name in found else values
    for name, values in held.items():
        found[name] = _joined(found[name], values) if name in found else values
    for values in found.values():
        values[0] = values[min(1, len(values) - 1)]
    return found


def _joined(one: Array, other: Array) -> Array:
    """Two forces on a link as one, at a point between theirs."""
    load, more = np.abs(one[:, 2:3]), np.abs(other[:, 2:3])
    place = (load * one[:, 3:] + more * other[:, 3:]) / np.maximum(load + more, 1e-12)
    return np.concatenate((one[:, :3] + other[:, :3], place), axis=1)


def labels_of(model: Model, run: Recording, figure: str, q: Array, times: Array, ground: Ground, held: Mapping[str, Array]) -> Labels:
    """Which parts touched the ground, and when: those that are next to a corner of an area that bore; and which held something."""
    spots, poses = spots_of(model), Many(model).poses(q)
    places = np.stack([poses.point(int(body), at) for body, at in zip(spots.body, spots.at, strict=True)], axis=1)
    mine = {link: np.flatnonzero([spots.links[p] == link for p in spots.part]) for link in spots.links}
    on = {raised: np.zeros((len(times), len(spots.parts)), bool) for raised in (False, True)}
    level = np.zeros((len(times), len(spots.parts)))
    for k in range(len(times)):
        for contact in run.contacts.at(max(k, min(1, len(times) - 1))):
            whose, _, link = contact.link.rpartition("/")
            if whose != figure or contact.on.startswith(f"{figure}/") or link not in mine:
                continue
            near = np.linalg.norm(places[k, mine[link]][:, None] - contact.bearing, axis=2).argmin(axis=0)
            parts, raised = spots.part[mine[link][near]], contact.on.startswith(f"{LEDGES}/")
            on[raised][k, parts], level[k, parts] = True, contact.point[2]
    found = []
    for p, part in enumerate(spots.parts):
        spells = [(float(times[a]), float(times[b - 1])) for a, b in runs(on[False][:, p])]
        found += [Label(part, start, end) for start, end in _bridged(spells)]
        high = [(float(times[a]), float(times[b - 1])) for a, b in runs(on[True][:, p])]
        for start, end in _bridged(high):
            while_there = on[True][:, p] & (times >= start) & (times <= end)
            found.append(Label(part, start, end, height=float(np.median(level[while_there, p]))))
    for link, values in held.items():
        for a, b in runs(np.any(values != 0.0, axis=1)):
            if link in mine:
                near = mine[link][np.linalg.norm(places[a, mine[link]] - values[a, 3:], axis=1).argmin()]
                found.append(Label(spots.parts[spots.part[near]], float(times[a - 1 if a == 1 else a]), float(times[b - 1]), "holds"))
    return Labels(tuple(sorted(found, key=lambda c: (c.start, c.part))), ground)


def _bridged(spells: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Spells without the short gaps between them."""
    out: list[tuple[float, float]] = []
    for start, end in spells:
        if out and start - out[-1][1] < GAP:
            out[-1] = out[-1][0], end
        else:
            out.append((start, end))
    return out
