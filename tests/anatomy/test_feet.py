"""Feet: points of a body in the frames of its links."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import rotations
from brachiate.anatomy.feet import to_link_frame
from brachiate.kinematics import link_poses


def test_points_in_the_frame_of_a_fixed_link_are_at_the_same_place():
    # A sole that is fixed to the shank, with an offset and a rotation: world positions agree.
    turn = rotations.from_rotation_vector(np.array((0.3, -0.5, 0.9)))
    b = br.ModelBuilder("leg")
    b.link("shank", joint=br.Revolute("y"), at=(0.1, 0.2, 0.9), mass=3.0, inertia=(0.1, 0.1, 0.02))
    b.link("sole", parent="shank", joint=br.Fixed(), at=(0.05, -0.02, -0.45), rotation=turn, mass=1.0, inertia=(0.01, 0.01, 0.01))
    model = b.build()
    data = br.Data(model)
    data.assign(q=np.array([0.4]))
    poses = link_poses(data)
    points = np.random.default_rng(1).normal(size=(5, 3))
    for link in ("shank", "sole"):
        local = to_link_frame(model, link, points)
        there = poses[link].position + local @ poses[link].rotation.T
        assert there == pytest.approx(poses["shank"].position + points @ poses["shank"].rotation.T, abs=1e-12)
