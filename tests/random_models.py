"""Random models and states for property tests: every joint type, physical inertias, one tree or several.

Examples are determined by seed and size, so a failing one can be reproduced.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from brachiate import Compound, Cylindrical, Fixed, Free, Model, ModelBuilder, Planar, Prismatic, Revolute, Spherical, Universal
from brachiate.model.joints import BALL, FLOAT, SLIDE, Joint
from brachiate.validation import Array, rotation_matrix

KINDS = ("fixed", "revolute", "prismatic", "universal", "cylindrical", "planar", "spherical", "free", "compound")
MAX_LINKS = 60


class State(NamedTuple):
    """Configuration, velocity and acceleration."""

    q: Array
    v: Array
    a: Array


class Seeded(NamedTuple):
    """A model, its state, and the generator."""

    model: Model
    state: State
    rng: np.random.Generator


def generator(seed: int | np.random.Generator) -> np.random.Generator:
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)


def random_axis(rng: np.random.Generator) -> Array:
    u = rng.normal(size=3)
    return u / np.linalg.norm(u)


def random_rotation(rng: np.random.Generator) -> Array:
    return rotation_matrix(rng.normal(size=4), "random rotation")


def random_body(rng: np.random.Generator) -> dict[str, Any]:
    """Mass, center and inertia of a few point masses, hence physically consistent."""
    masses = rng.uniform(0.05, 1.0, 6)
    points = rng.normal(0.0, 0.3, (6, 3))
    center = masses @ points / masses.sum()
    d = points - center
    inertia = np.einsum("i,ijk->jk", masses, np.einsum("ij,ij->i", d, d)[:, None, None] * np.eye(3) - d[:, :, None] * d[:, None, :])
    return {"mass": masses.sum(), "center": center, "inertia": inertia}


def random_joint(
    rng: np.random.Generator, kind: str, name: str, *, armature: bool = False, passive: bool = False, anchored: float = 0.5
) -> Joint:
    """Random joint of the kind, with an anchor at the given probability; spherical springs are isotropic."""
    anchor = rng.normal(size=3) if rng.random() < anchored else (0, 0, 0)
    parameters: dict[str, Any] = {"armature": rng.uniform(0.01, 0.5)} if armature else {}
    if passive:
        parameters |= {"damping": rng.uniform(0, 1), "friction": rng.uniform(0, 1)}
        if kind != "free":
            parameters["stiffness"] = rng.uniform(0, 5)
    if kind == "fixed":
        return Fixed()
    if kind == "revolute":
        return Revolute(random_axis(rng), anchor=anchor, **parameters)
    if kind == "prismatic":
        return Prismatic(random_axis(rng), **parameters)
    if kind == "universal":
        return Universal(random_axis(rng), random_axis(rng), **parameters)
    if kind == "cylindrical":
        return Cylindrical(random_axis(rng), **parameters)
    if kind == "planar":
        return Planar(random_axis(rng), **parameters)
    if kind == "spherical":
        return Spherical(anchor=anchor, **parameters)
    if kind == "free":
        return Free(**parameters)
    # Parts have different anchors: a spherical and a revolute part about one point would make the mass matrix singular.
    kinds = (
        ("revolute", "prismatic", "revolute"),
        ("spherical", "revolute"),
        ("revolute", "revolute", "revolute"),
        ("prismatic", "spherical"),
    )
    chosen = kinds[rng.integers(len(kinds))]
    return Compound({
        f"{name}_{n}": random_joint(rng, k, name, armature=armature, passive=passive, anchored=1.0) for n, k in enumerate(chosen)
    })  # fmt: skip


def random_model(
    seed: int | np.random.Generator,
    links: int,
    *,
    kinds: tuple[str, ...] = KINDS,
    armature: bool = True,
    passive: bool = False,
    massless: bool = True,
) -> Model:
    """Random model.

    Args:
        seed: Seed or generator.
        links: Number of links.
        kinds: Joint types to draw from.
        armature: Whether some joints have rotors.
        passive: Whether some joints have springs, dampers and dry friction.
        massless: Whether some intermediate links are massless.
    """
    rng = generator(seed)
    roots = rng.choice((0.0, 0.0, 0.1))  # most models have one root
    reach = rng.choice((1, 3, links))  # a chain, a few branches, many branches
    parents = [None if i == 0 or rng.random() < roots else int(rng.integers(max(0, i - reach), i)) for i in range(links)]
    joint_kinds = [str(rng.choice(kinds)) for _ in range(links)]
    moving = joint_kinds.count("fixed") < links
    if not moving:
        joint_kinds[-1] = str(rng.choice([k for k in kinds if k != "fixed"] or ["revolute"]))
    builder = ModelBuilder(f"random{links}")
    link_arguments: list[dict[str, Any]] = []
    for i, kind in enumerate(joint_kinds):
        joint = random_joint(rng, kind, f"joint{i}", armature=armature and rng.random() < 0.3, passive=passive and rng.random() < 0.5)
        is_massless = massless and _may_be_massless(i, joint_kinds, parents) and rng.random() < 0.5
        link_arguments.append({
            "name": f"link{i}",
            "parent": None if parents[i] is None else f"link{parents[i]}",
            "joint": joint,
            "joint_name": f"joint{i}",
            "at": rng.normal(0.0, 0.5, 3),
            "rotation": random_rotation(rng),
            **({} if is_massless else random_body(rng)),
        })  # fmt: skip
    if rng.random() < 0.5:  # children may be added before their parents
        rng.shuffle(link_arguments)
    for link in link_arguments:
        builder.link(**link)
    for i in range(min(links, 3)):
        builder.site(f"site{i}", f"link{i}", at=rng.normal(size=3), rotation=random_rotation(rng))
    return builder.build()


def _may_be_massless(i: int, kinds: list[str], parents: list[int | None]) -> bool:
    """A hinge or slide that carries a spherical joint or two hinges: at most four coordinates for one body, so A is regular."""
    children = [c for c, p in enumerate(parents) if p == i]
    hinge = kinds[i] in ("revolute", "prismatic")
    return hinge and any(kinds[c] in ("spherical", "universal") for c in children) and parents[i] is not None


def random_state(model: Model, rng: np.random.Generator) -> State:
    """Random configuration with unit quaternions, and velocities and accelerations of about one."""
    q = rng.uniform(-np.pi, np.pi, model.nq)
    tree = model.tree
    for kind, at in zip(tree.kind, tree.q_at, strict=True):
        if kind == SLIDE:
            q[at] = rng.normal(0.0, 0.5)
        elif kind in (BALL, FLOAT):
            first = at + (3 if kind == FLOAT else 0)
            x = rng.normal(size=4)
            q[first : first + 4] = x / np.linalg.norm(x)
    return State(q, rng.normal(size=model.nv), rng.normal(size=model.nv))


def seeded(seed: int, links: int, **options: Any) -> Seeded:
    """Model and state of a seed."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, links, **options)
    return Seeded(model, random_state(model, rng), rng)


def models(most: int = MAX_LINKS, **options: Any) -> st.SearchStrategy[Seeded]:
    """Hypothesis strategy: random models with a state, shrunk by seed and size."""
    return st.builds(lambda seed, links: seeded(seed, links, **options), st.integers(0, 2**32 - 1), st.integers(1, most))


def moved(model: Model, q: Array, step: Array) -> Array:
    """Configuration reached from q in unit time at the constant velocity ``step`` (exact, also for quaternions).

    Independent of the package's manifold operations, which are tested with it.
    """
    result = q.copy()
    tree = model.tree
    for kind, at, k in zip(tree.kind, tree.q_at, tree.v_at, strict=True):
        if kind not in (BALL, FLOAT):
            result[at] += step[k]
            continue
        if kind == FLOAT:
            R = rotation_matrix(q[at + 3 : at + 7], "quaternion")
            w = step[k + 3 : k + 6]
            result[at : at + 3] += R @ _left_jacobian(w) @ step[k : k + 3]
            at += 3
        else:
            w = step[k : k + 3]
        result[at : at + 4] = _hamilton(q[at : at + 4], _exponential(w))
    return result


def _exponential(w: Array) -> Array:
    angle = float(np.linalg.norm(w))
    return np.array([np.cos(angle / 2), *(0.5 * np.sinc(angle / 2 / np.pi) * w)])


def _left_jacobian(w: Array) -> Array:
    """∫₀¹ exp(t w×) dt by its power series: 20 terms suffice for angles below 2 rad."""
    X = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    total, term = np.eye(3), np.eye(3)
    for n in range(2, 22):
        term = term @ X / n
        total = total + term
    return total


def _hamilton(a: Array, b: Array) -> Array:
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])
