"""Conversion of MuJoCo's contact filters: excluded bodies, and pairs of geoms."""

from __future__ import annotations

from typing import Any

import mujoco

from brachiate.io.import_notes import ImportNotes
from brachiate.io.mujoco_names import Names
from brachiate.io.mujoco_shapes import SUPPORTED
from brachiate.model.builder import ModelBuilder


def add_contact_filters(m: Any, names: Names, builder: ModelBuilder, has_ground: bool, notes: ImportNotes) -> None:
    """Add excluded bodies and pairs of geoms; note those of parts that were left out."""
    for i in range(m.nexclude):
        bodies = int(m.exclude_signature[i]) >> 16, int(m.exclude_signature[i]) & 0xFFFF
        if bodies[0] == bodies[1]:
            continue
        if 0 in bodies and not has_ground:
            if (m.geom_bodyid == 0).any():
                notes.add("contact exclusions with the world (left out of a floating figure)", names.links[max(bodies)])
            continue
        builder.ignore_contact(names.link(bodies[0]), names.link(bodies[1]))
    added: set[frozenset[int]] = set()
    for i in range(m.npair):
        geoms = int(m.pair_geom1[i]), int(m.pair_geom2[i])
        reason = _left_out(m, geoms, has_ground)
        if reason:
            notes.add(f"contact pairs {reason}", " and ".join(m.geom(g).name for g in geoms))
        elif frozenset(geoms) not in added:
            added.add(frozenset(geoms))
            (link, shape), (other, other_shape) = ((names.link(int(m.geom_bodyid[g])), m.geom(g).name) for g in geoms)
            friction = float(m.pair_friction[i, 0]) if m.pair_dim[i] > 1 else 0.0
            builder.contact_pair(link, shape, other, other_shape, friction)


def _left_out(m: Any, geoms: tuple[int, int], has_ground: bool) -> str:
    """Why a pair is left out; empty: it is not."""
    bodies = [int(m.geom_bodyid[g]) for g in geoms]
    if m.body_weldid[bodies[0]] == m.body_weldid[bodies[1]]:
        return "within one rigid body (left out)"
    if any(mujoco.mjtGeom(m.geom_type[g]) not in SUPPORTED for g in geoms):
        return "with height fields and signed distance fields (left out)"
    if 0 in bodies and not has_ground:
        return "with the world (left out of a floating figure; these shapes collide with br.figures.ground(), with its friction)"
    return ""
