"""Benchmark mechanisms with closed loops: a monkey on a swing, and chains tied to the world."""

from __future__ import annotations

import numpy as np

from brachiate import figures
from brachiate.kinematics import link_poses
from brachiate.model.builder import ModelBuilder
from brachiate.model.data import Data
from brachiate.model.joints import Spherical
from brachiate.model.model import Model
from brachiate.model.shapes import Capsule
from brachiate.validation import Array

ROPE_LENGTH, BAR_LENGTH = 1.5, 0.6  # [m]
ROPE_MASS, BAR_MASS = 0.5, 2.0  # [kg]
LINK_LENGTH, LINK_MASS = 0.1, 0.1  # [m], [kg] of a chain with loops
TIES = 5  # links of a chain that are connected to the world
ZIGZAG_ANGLE = 0.5  # [rad]


def monkey_swing_model(held: tuple[str, ...] = ("left", "right")) -> Model:
    """Monkey on a swing of two rigid ropes and a bar: 31 velocities, 9 constraint rows; loops are closed in the pose ``reference``.

    The tree is ceiling, left rope, bar, right rope, connected by ball joints, and the monkey with its floating base. Loop joints connect
    the right rope to the ceiling and the hands in ``held`` to the bar.
    """
    monkey = figures.monkey16()
    hang = monkey.poses["hang"]
    grips = {side: _point_position(monkey, hang, f"{side}_hand", monkey.sites[f"{side}_grip"].position) for side in ("left", "right")}
    middle = (grips["left"] + grips["right"]) / 2
    half = max(BAR_LENGTH / 2, 2 * abs(grips["left"] - middle)[1])  # ropes well outside of the hands
    up, across = np.array((0, 0, ROPE_LENGTH)), np.array((0, 2 * half, 0))
    left_end = middle + across / 2

    b = ModelBuilder("monkey swing")
    left_rope, right_rope, bar = (Capsule.between((0, 0, 0), to, 0.012) for to in (-up, up, -across))
    b.link("left_rope", joint=Spherical(effort=0.0), at=left_end + up, mass=ROPE_MASS, shapes=left_rope)
    b.link("bar", parent="left_rope", joint=Spherical(effort=0.0), at=-up, mass=BAR_MASS, shapes=bar)
    b.link("right_rope", parent="bar", joint=Spherical(effort=0.0), at=-across, mass=ROPE_MASS, shapes=right_rope)
    b.include("monkey", monkey)
    b.loop("right_top", Spherical(), "world", "right_rope", first_at=left_end - across + up, second_at=up)
    for side in held:
        at = monkey.sites[f"{side}_grip"].position
        b.loop(f"{side}_hold", Spherical(), "bar", f"monkey/{side}_hand", first_at=grips[side] - left_end, second_at=at)
    b.pose("reference", {f"monkey/{name}": hang[joint.q] for name, joint in monkey.joints.items()})
    return b.build()


def chain_with_loops(n: int) -> Model:
    """Hanging chain of ``n`` hinges about y and x alternately, five of its links tied to the world: 15 constraint rows.

    Loops are closed in the pose ``reference``, a zigzag, since a straight tied chain has no mobility. Links have the same length in all
    chains. The rows are far from redundant: their least squared sine in the mass metric is 0.7, for 100 and for 1000 links.
    """
    chain = figures.chain(n, length=n * LINK_LENGTH, mass=n * LINK_MASS, joint="alternating")
    zigzag = {f"joint{i + 1}": ZIGZAG_ANGLE * (1 - i % 4) / (2 if i == 0 else 1) for i in range(0, n, 2)}
    q, end = chain.configuration(zigzag), chain.sites["end"].position
    b = ModelBuilder(f"chain {n} with loops")
    b.include("chain", chain)
    for k in range(1, TIES + 1):
        link = f"link{round(k * n / TIES)}"
        b.loop(f"tie{k}", Spherical(), "world", f"chain/{link}", first_at=_point_position(chain, q, link, end), second_at=end)
    b.pose("reference", {f"chain/{joint}": angle for joint, angle in zigzag.items()})
    return b.build()


def _point_position(model: Model, q: Array, link: str, at: Array) -> Array:
    """World position of a point of a link at a configuration [m]."""
    data = Data(model)
    data.assign(q=q)
    rotation, position = link_poses(data)[link]
    return position + rotation @ at
