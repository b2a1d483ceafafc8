"""Two floating feet whose positions and velocities are set directly, with the arrays of the contact estimator for them."""

from __future__ import annotations

import numpy as np

import brachiate as br
from brachiate.filter.online import reference_stream
from brachiate.filter.online.contact_estimator import estimate_floor, estimate_modes, measure_corners, update_schedule
from brachiate.filter.online.reference_stream import ReferenceStream
from brachiate.filter.schedule.contact_schedule import ContactLink
from brachiate.filter.settings import FilterSettings
from brachiate.kinematics import body_velocities, forward_kinematics
from brachiate.model.data import Data
from brachiate.spatial import Vec3

DT = 0.002
LEFT, RIGHT = 0, 1
CORNERS = np.array([(-0.1, -0.05, 0.0), (-0.1, 0.05, 0.0), (0.15, -0.05, 0.0), (0.15, 0.05, 0.0)])  # [m] of a sole, link axes
ALL_CORNERS = 0b1111
LOOKAHEAD = 50  # frames


class TwoFeet:
    """Estimator of a figure that consists of two floating feet. ``stream`` has its arrays; ``frame`` frames have been processed."""

    def __init__(self, monkeypatch, dt=DT):
        builder = br.ModelBuilder("feet")
        for name in ("left", "right"):
            builder.link(name, joint=br.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
        model = builder.build()
        soles = tuple(ContactLink(name, leg, CORNERS, True) for leg, name in enumerate(("left", "right")))
        monkeypatch.setattr(reference_stream, "foot_soles", lambda _: soles)
        self.stream = ReferenceStream(model, FilterSettings(), dt, 0.0, 0.0)
        self.window, self.est, self.dt = self.stream.window, self.stream.estimator, dt
        self.data, self.frame = Data(model), 0

    def set_state(self, positions, velocities):
        """Place the feet: origin of each sole (2, 3) [m], and its velocity (2, 3) [m/s]; soles are level."""
        for leg in (LEFT, RIGHT):
            self.data.q[7 * leg : 7 * leg + 7] = (*positions[leg], 1.0, 0.0, 0.0, 0.0)
            self.data.v[6 * leg : 6 * leg + 6] = (*velocities[leg], 0.0, 0.0, 0.0)
        forward_kinematics(self.data.model.tree, self.data.work)
        body_velocities(self.data.model.tree, self.data.work)

    def process(self, positions, velocities=((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), acceleration=0.0, lag=0):
        """Estimate floor, contacts, stances and footholds of the next frame, and decide the last ``lag`` frames before it anew.

        The CoM is above the left foot, and has a vertical acceleration [m/s²].
        """
        T, W, f = self.data.model.tree, self.data.work, self.frame
        self.set_state(positions, velocities)
        self.window.com_acceleration[f] = 0.0, 0.0, acceleration
        estimate_floor(T, W, self.window, self.est, self.dt, f == 0)
        measure_corners(T, W, self.window, self.est, f, self.dt)
        com = Vec3(positions[LEFT][0], positions[LEFT][1], 1.0)
        first = estimate_modes(W, self.window, self.est, f, self.dt, com, f - lag)
        update_schedule(self.window, self.est, first, f, self.dt, LOOKAHEAD)
        self.frame = f + 1
        self.window.frame_count[0] = self.est.known_frames[0] = self.frame
        self.est.known_stances[:] = self.window.stance_count

    def stance(self, leg):
        """Stance flags of a leg (f,)."""
        return self.window.in_contact[: 2 * self.frame][leg::2]

    def stances(self, leg):
        """First frame of every stance of a leg, and the frame after its last."""
        capacity = len(self.window.stance_frames) // 2
        return [tuple(row) for row in self.window.stance_frames[leg * capacity :][: self.window.stance_count[leg]].tolist()]

    def offsets(self, leg):
        """Foot offsets of a leg (f, 3) [m]."""
        return self.window.foot_offset[: 2 * self.frame][leg::2]
