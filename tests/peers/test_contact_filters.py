"""Pairs of shapes that may collide, of models from files, against MuJoCo's rule computed from its compiled model.

Fails if a pair of geoms that MuJoCo never tests may collide here, or if one that MuJoCo tests may not, for another reason than our own
filters: links connected by a joint (also across links without shapes, or to a fixed parent) or by a loop, and overlap when neutral.
"""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

from brachiate.contact.collision.collision_shapes import colliding_shapes, collision_geometry
from brachiate.io import load_model
from brachiate.io.mujoco_names import Names

FILES = (
    *(f"suite/{name}.xml" for name in (
        "acrobot", "ball_in_cup", "cartpole", "cheetah", "dog", "finger", "fish", "hopper", "humanoid", "humanoid_CMU", "manipulator",
        "pendulum", "point_mass", "quadruped", "reacher", "stacker", "swimmer", "walker",
    )),
    *(f"locomotion/walkers/assets/{name}.xml" for name in ("rodent", "humanoid_CMU_V2019", "humanoid_CMU_V2020")),
    "locomotion/walkers/assets/jumping_ball/jumping_ball_with_head.xml", "locomotion/soccer/assets/boxhead/boxhead.xml",
    "third_party/ant/ant.xml", "third_party/kinova/jaco_arm.xml", "third_party/kinova/jaco_hand.xml",
    "mujoco/testing/assets/humanoid.xml", "mujoco/testing/assets/arm.xml", "mujoco/testing/assets/model_with_ball_joints.xml",
)  # fmt: skip
_G = mujoco.mjtGeom
PLANE = int(_G.mjGEOM_PLANE)
SHAPES = {PLANE, *map(int, (_G.mjGEOM_SPHERE, _G.mjGEOM_CAPSULE, _G.mjGEOM_CYLINDER, _G.mjGEOM_ELLIPSOID, _G.mjGEOM_BOX, _G.mjGEOM_MESH))}
FREE, BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
LOOPS = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))


def mujoco_pairs(m) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Pairs of geoms that MuJoCo tests: those of its filters, and those of the file."""
    listed = {(min(a, b), max(a, b)) for a, b in zip(m.pair_geom1, m.pair_geom2, strict=True)}
    excluded = {(int(s) >> 16, int(s) & 0xFFFF) for s in m.exclude_signature}
    weld, found = m.body_weldid, set()
    for a, b in itertools.combinations(range(m.ngeom), 2):
        bodies = m.geom_bodyid[a], m.geom_bodyid[b]
        one, other = (weld[body] for body in bodies)
        related = one and other and (weld[m.body_parentid[one]] == other or weld[m.body_parentid[other]] == one)
        bits = (m.geom_contype[a] & m.geom_conaffinity[b]) or (m.geom_contype[b] & m.geom_conaffinity[a])
        planes = m.geom_type[a] == m.geom_type[b] == PLANE
        if bits and one != other and not related and not planes and not excluded & {bodies, bodies[::-1]}:
            found.add((a, b))
    return found, listed


def our_pairs(model, m) -> set[tuple[int, int]]:
    """Pairs of shapes that may collide, by the indices of their geoms."""
    names = Names(m)
    geoms = []
    for link in model.links.values():
        body = 0 if link.name == names.ground else names.links.index(link.name)
        own = [g for g in range(m.ngeom) if m.geom_bodyid[g] == body and m.geom_type[g] in SHAPES]
        geoms += [g for g, shape in zip(own, link.shapes, strict=True) if shape.collides]
    assert len(geoms) == len(colliding_shapes(model))
    return {(min(geoms[a], geoms[b]), max(geoms[a], geoms[b])) for a, b in collision_geometry(model).pair}


def rigid_group(m, b: int) -> int:
    """Welded body of a body; bodies fixed in the inertial frame side by side are groups of their own (negative)."""
    if m.body_weldid[b]:
        return int(m.body_weldid[b])
    while m.body_parentid[b]:
        b = m.body_parentid[b]
    return -int(b)


def groups_of(m, geoms: tuple[int, int]) -> frozenset[int]:
    return frozenset(rigid_group(m, m.geom_bodyid[g]) for g in geoms)


def joint_neighbors(m) -> set[frozenset[int]]:
    """Rigid groups that a joint or a loop connects, directly or across bodies without colliding geoms; free bodies have no neighbor."""
    colliding = [g for g in range(m.ngeom) if m.geom_contype[g] or m.geom_conaffinity[g]]
    solid = {rigid_group(m, m.geom_bodyid[g]) for g in (*colliding, *m.pair_geom1, *m.pair_geom2)}
    adjacent: dict[int, set[int]] = {}
    ends = []
    for b in range(1, m.nbody):
        free = m.body_jntnum[b] == 1 and m.jnt_type[m.body_jntadr[b]] == FREE
        if m.body_jntnum[b] and m.body_parentid[b] and not free:
            ends.append((rigid_group(m, b), rigid_group(m, m.body_parentid[b])))
    for i in range(m.neq):
        if m.eq_type[i] in LOOPS and m.eq_active0[i]:
            at = (m.eq_obj1id[i], m.eq_obj2id[i])
            ends.append(tuple(rigid_group(m, b if m.eq_objtype[i] == int(mujoco.mjtObj.mjOBJ_BODY) else m.site_bodyid[b]) for b in at))
    for one, other in ends:
        adjacent.setdefault(one, set()).add(other)
        adjacent.setdefault(other, set()).add(one)
    found = set()
    for start, direct in adjacent.items():
        seen, pending = {start}, list(direct)
        while pending:
            body = pending.pop()
            if body not in seen:
                seen.add(body)
                found.add(frozenset((start, body)))
                pending += [] if body in solid else adjacent[body]
    return found


def depth_when_neutral(m, d, a: int, b: int) -> float:
    """Smallest distance of two geoms in the neutral and the reference posture."""
    smallest = np.inf
    neutral = np.zeros(m.nq)
    for j in range(m.njnt):
        if m.jnt_type[j] in (FREE, BALL):
            neutral[m.jnt_qposadr[j] + 3 * (m.jnt_type[j] == FREE)] = 1.0
    for q in (m.qpos0, neutral):
        d.qpos[:] = q
        mujoco.mj_kinematics(m, d)
        smallest = min(smallest, mujoco.mj_geomDistance(m, d, a, b, 1.0, np.zeros(6)))
    return smallest


def package_file(name: str) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it searches for a display
        package = pytest.importorskip("dm_control", reason="dm_control is not installed")
    return Path(package.__file__).parent / name


def compare(path: Path) -> tuple[int, int, int]:
    """Compare with MuJoCo; returns the number of pairs here, there, and of those that only our filters exclude."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ours of the file, and MuJoCo's of its attributes
        m = mujoco.MjModel.from_xml_path(str(path))
        model = load_model(path)
    filtered, listed = mujoco_pairs(m)
    has_ground = Names(m).ground in model.links
    shapes = {g for g in range(m.ngeom) if m.geom_type[g] in SHAPES and (has_ground or m.geom_bodyid[g])}
    filtered, listed = ({pair for pair in pairs if shapes.issuperset(pair)} for pairs in (filtered, listed))
    ours = our_pairs(model, m)
    print(path.stem, len(ours), len(filtered | listed))
    assert ours <= filtered | listed
    assert listed <= ours
    neighbors, d = joint_neighbors(m), mujoco.MjData(m)
    unexplained = []
    for a, b in sorted(filtered - listed - ours):
        if groups_of(m, (a, b)) not in neighbors and depth_when_neutral(m, d, a, b) > 1e-6:
            unexplained.append((m.geom(a).name, m.geom(b).name))
    assert unexplained == []
    assert all(groups_of(m, pair) not in neighbors for pair in ours - listed)
    return len(ours), len(filtered | listed), len((filtered | listed) - ours)


@pytest.mark.parametrize("name", FILES)
def test_pairs_agree_with_mujoco(name):
    compare(package_file(name))
