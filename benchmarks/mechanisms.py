"""Mechanisms with closed loops: a monkey on a swing, and chains."""

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

ROPE, BAR = 1.5, 0.6  # [m]
ROPE_MASS, BAR_MASS = 0.5, 2.0  # [kg]
LINK, LINK_MASS = 0.1, 0.1  # [m], [kg] of a chain with loops
TIES = 5
BEND = 0.5  # [rad] of the zigzag


def monkey_swing_model(held: tuple[str, ...] = ("left", "right")) -> Model:
    """Monkey on a swing of two stiff ropes and a bar: 31 velocities, 9 rows; all loops are closed in the pose ``reference``.

    The tree is ceiling, left rope, bar, right rope, each on the one before by a ball joint, and the monkey with its free root.
    Loops hold the right rope to the ceiling and both hands to the bar, or only those that are ``held``.
    """
    monkey = figures.monkey16()
    hang = monkey.poses["hang"]
    grips = {side: _where(monkey, hang, f"{side}_hand", monkey.sites[f"{side}_grip"].position) for side in ("left", "right")}
    middle = (grips["left"] + grips["right"]) / 2
    half = max(BAR / 2, 2 * abs(grips["left"] - middle)[1])  # the ropes are well outside of the hands
    up, across = np.array((0, 0, ROPE)), np.array((0, 2 * half, 0))
    left_end = middle + across / 2

    b = ModelBuilder("monkey swing")
    hung, stood, rod = (Capsule.between((0, 0, 0), to, 0.012) for to in (-up, up, -across))
    b.link("left_rope", joint=Spherical(effort=0.0), at=left_end + up, mass=ROPE_MASS, shapes=hung)
    b.link("bar", parent="left_rope", joint=Spherical(effort=0.0), at=-up, mass=BAR_MASS, shapes=rod)
    b.link("right_rope", parent="bar", joint=Spherical(effort=0.0), at=-across, mass=ROPE_MASS, shapes=stood)
    b.include("monkey", monkey)
    b.loop("right_top", Spherical(), "world", "right_rope", first_at=left_end - across + up, second_at=up)
    for side in held:
        at = monkey.sites[f"{side}_grip"].position
        b.loop(f"{side}_hold", Spherical(), "bar", f"monkey/{side}_hand", first_at=grips[side] - left_end, second_at=at)
    b.pose("reference", {f"monkey/{name}": hang[joined.q] for name, joined in monkey.joints.items()})
    return b.build()


def chain_with_loops(n: int) -> Model:
    """Hanging chain of ``n`` hinges about y and x by turns, the ends of five of its links tied to the world: 15 rows.

    They are tied where they are in the pose ``reference``, a zigzag: a straight chain that is tied cannot move at all. Links are as
    large in a long chain as in a short one, and so move no faster. No row is nearly what others say: in the mass metric the least
    squared sine is 0.7, of a chain of 1000 as of one of 100.
    """
    chain = figures.chain(n, length=n * LINK, mass=n * LINK_MASS, joint="alternating")
    zigzag = {f"joint{i + 1}": BEND * (1 - i % 4) / (2 if i == 0 else 1) for i in range(0, n, 2)}
    q, end = chain.configuration(zigzag), chain.sites["end"].position
    b = ModelBuilder(f"chain {n} with loops")
    b.include("chain", chain)
    for k in range(1, TIES + 1):
        link = f"link{round(k * n / TIES)}"
        b.loop(f"tie{k}", Spherical(), "world", f"chain/{link}", first_at=_where(chain, q, link, end), second_at=end)
    b.pose("reference", {f"chain/{joint}": angle for joint, angle in zigzag.items()})
    return b.build()


def _where(model: Model, q: Array, link: str, at: Array) -> Array:
    """A point of a link in the world at a configuration."""
    data = Data(model)
    data.assign(q=q)
    rotation, position = link_poses(data)[link]
    return position + rotation @ at
