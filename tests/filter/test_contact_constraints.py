"""Contact constraints of the whole-body QP: the link of the figure that a contact counts for."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from brachiate.filter.whole_body import contact_constraints
from brachiate.spatial import Vec3

GROUND, BOX, FOOT, HAND = -1, 0, 1, 2  # bodies: the ground has none, and the box is no part of the figure
LINK_OF = {FOOT: 7, HAND: 4}


@pytest.mark.parametrize(
    ("first", "second", "body"),
    [(GROUND, FOOT, FOOT), (FOOT, GROUND, FOOT), (BOX, HAND, HAND), (HAND, BOX, HAND), (HAND, FOOT, FOOT), (FOOT, HAND, HAND)],
)
def test_a_contact_counts_for_the_link_of_the_figure_in_either_order(first, second, body, monkeypatch):
    found = []

    def find_support(T, W, ctl, patches, a, first, second, link, R):
        found.append(link)
        return 0, 0, Vec3(0.0, 0.0, 0.0), 0.0

    monkeypatch.setattr(contact_constraints, "find_support", find_support)
    monkeypatch.setattr(contact_constraints, "add_approach", lambda *given: found.append(given[8]))
    ctl = SimpleNamespace(members=np.array((0, 1, 1)), contact_link_of=np.array((-1, LINK_OF[FOOT], LINK_OF[HAND])))
    geometry = SimpleNamespace(body=np.array((first, second)), pair=np.array([(0, 1)]))
    patches = SimpleNamespace(pair=np.array([0]), R=np.eye(3)[None])
    contact_constraints.add_contact(None, None, ctl, None, geometry, patches, None, 0)
    assert found == [LINK_OF[body]] * 2
