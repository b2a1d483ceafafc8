"""Collision geometry of models: shapes, faces of hulls, and pairs."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate.contact.arrays import BOX, CAPSULE, HEIGHT_FIELD, HULL, PLANE
from brachiate.contact.collision.collision_shapes import colliding_shapes, collision_geometry, collision_handle
from brachiate.contact.collision.hull_simplification import MAX_EXACT_VERTICES, simplification_tolerance
from brachiate.errors import ArgumentError


def pairs(model: br.Model) -> set[frozenset[str]]:
    """Pairs of links whose shapes may collide."""
    names = [part.link for part in colliding_shapes(model)]
    return {frozenset((names[a], names[b])) for a, b in collision_geometry(model).pair}


def test_shape_poses_in_bodies():
    b = br.ModelBuilder("arm")
    turn = (np.sqrt(0.5), 0, 0, np.sqrt(0.5))  # 90 degrees about z
    b.link("arm", joint=br.Free(), mass=1.0, inertia=(1, 1, 1), center=(0, 0, 0), shapes=br.Sphere(radius=0.1, position=(0, 0, 1)))
    b.link("hand", parent="arm", at=(1, 0, 0), rotation=turn, mass=1.0, shapes=[
        br.Box(size=(0.2, 0.4, 0.6), position=(0.5, 0, 0)),
        br.Sphere(radius=1.0, collides=False),
    ])  # fmt: skip
    b.link("post", at=(3, 0, 0), rotation=turn, shapes=br.Capsule(radius=0.1, length=2.0, position=(1, 0, 0)))
    g = collision_geometry(b.build())
    assert g.kind.tolist() == [0, BOX, CAPSULE]
    assert g.body.tolist() == [0, 0, -1]
    assert g.p == pytest.approx(np.array([(0, 0, 1), (1, 0.5, 0), (3, 1, 0)]))
    assert g.R[1] @ (1, 0, 0) == pytest.approx([0, 1, 0])
    assert g.size == pytest.approx(np.array([(0.1, 0, 0), (0.1, 0.2, 0.3), (0.1, 1.0, 0)]))
    assert g.bounding_radius == pytest.approx([0.1, np.sqrt(0.14), 1.1])
    assert g.thickness == pytest.approx([0.1, 0.1, 0.1])
    assert g.min_pair_thickness == pytest.approx([0.2])
    assert g.pair.tolist() == [[2, 0], [2, 1]]  # fixed bodies are first in a pair


def test_faces_of_a_hull_are_polygons():
    cube = np.array([(x, y, z) for x in (0, 1) for y in (0, 2) for z in (0, 3)], float)
    for shape in (br.Hull(vertices=cube), br.Box(size=(1, 2, 3)), br.Cylinder(radius=1.0, length=2.0)):
        solid = shape if isinstance(shape, br.Hull) else br.Mesh(vertices=shape.surface(6)[0], triangles=shape.surface(6)[1])
        b = br.ModelBuilder("thing")
        b.link("thing", shapes=solid)
        g = collision_geometry(b.build())
        assert g.kind.tolist() == [HULL]
        assert g.thickness[0] == pytest.approx(np.cos(np.pi / 12) if isinstance(shape, br.Cylinder) else 0.5)  # of the regular polygon
        sides = np.sort(np.diff(g.face_vertex_start))
        assert sides.tolist() == ([4] * 6 if not isinstance(shape, br.Cylinder) else [4] * 12 + [12, 12])
        assert g.vertex.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)  # about its centroid
        for f, n in enumerate(g.face_normal):
            corners = g.vertex[g.face_vertex[g.face_vertex_start[f] : g.face_vertex_start[f + 1]]]
            assert corners @ n == pytest.approx(np.full(len(corners), (g.vertex @ n).max()))  # outward
            for k in range(len(corners)):
                a, c, e = corners[k - 2], corners[k - 1], corners[k]
                assert np.cross(c - a, e - c) @ n > 0  # convex, counter-clockwise


def height_above(g, points: np.ndarray) -> float:
    """Largest height of points above the plane of a face of the only hull [m]."""
    first = g.vertex[g.face_vertex[g.face_vertex_start[:-1]]]
    return float((points @ g.face_normal.T - np.einsum("ij,ij->i", first, g.face_normal)).max())


@pytest.mark.parametrize("count", [MAX_EXACT_VERTICES, 3000])
@pytest.mark.parametrize("radius", [0.02, 1.0])
def test_hulls_of_many_vertices_are_simplified_to_a_stated_error(count, radius):
    """Fails if a vertex is farther outside than stated, if the hull grows, or if a hull of few vertices is changed."""
    rng = np.random.default_rng(1)
    points = rng.normal(size=(count, 3))
    points *= radius * np.array([1.0, 0.6, 0.3]) / np.linalg.norm(points, axis=1)[:, None]
    b = br.ModelBuilder("pebble")
    b.link("pebble", shapes=br.Hull(vertices=points))
    g = collision_geometry(b.build())
    chosen, tolerance = g.vertex + g.p[0], simplification_tolerance(points)
    assert tolerance == pytest.approx(0.005 * 2 * radius, rel=0.05)
    assert {tuple(row) for row in np.round(chosen, 12)} <= {tuple(row) for row in np.round(points, 12)}
    if count <= MAX_EXACT_VERTICES:
        assert len(chosen) == count
    else:
        assert MAX_EXACT_VERTICES < len(chosen) < 700
        assert 0.0 < height_above(g, points - g.p[0]) < 1.01 * tolerance


def test_height_fields_and_planes():
    w = br.World()
    w.add(br.figures.terrain([[0, 1, 2], [3, 4, 5]], spacing=(0.5, 1.0)))
    w.add(br.figures.ground())
    w.add(br.figures.box())
    g = collision_geometry(w.model)
    assert g.kind.tolist() == [HEIGHT_FIELD, PLANE, BOX]
    assert g.grid_size.tolist() == [[3, 2], [0, 0], [0, 0]]
    assert g.heights.tolist() == [0, 1, 2, 3, 4, 5]
    assert g.size[0] == pytest.approx([0.5, 1.0, 5.0])
    assert np.isinf(g.bounding_radius[:2]).all()
    assert np.isinf(g.thickness[:2]).all()
    assert g.pair.tolist() == [[0, 2], [1, 2]]


def chain_of(shapes: list[br.Shape | None], joint=br.Revolute) -> br.Model:
    """Links along x, one meter apart, some without a shape."""
    b = br.ModelBuilder("chain")
    for k, shape in enumerate(shapes):
        b.link(
            f"l{k}", parent=f"l{k - 1}" if k else None, joint=joint("y") if k else br.Free(), joint_name=f"j{k}", at=(float(k > 0), 0, 0),
            mass=1.0, inertia=(1, 1, 1), center=(0, 0, 0), shapes=shape if shape is not None else (),
        )  # fmt: skip
    return b.build()


def test_neighbor_links_do_not_collide():
    ball = br.Sphere(radius=0.1)
    assert pairs(chain_of([ball] * 4)) == {frozenset(p) for p in (("l0", "l2"), ("l0", "l3"), ("l1", "l3"))}
    # Links without shapes are skipped: the next ones are neighbors.
    assert pairs(chain_of([ball, None, ball, ball])) == {frozenset(("l0", "l3"))}


def test_shapes_overlapping_in_neutral_posture_do_not_collide():
    large, small = br.Sphere(radius=1.2), br.Sphere(radius=0.1)
    assert pairs(chain_of([large, small, large, small])) == {frozenset(p) for p in (("l0", "l3"), ("l1", "l3"))}


def test_shapes_overlapping_in_reference_pose_do_not_collide():
    ball = br.Sphere(radius=0.4)
    b = br.ModelBuilder("arm")
    for k in range(3):
        joint = {"joint": br.Revolute("y"), "parent": f"l{k - 1}", "at": (1, 0, 0)} if k else {"joint": br.Free()}
        b.link(f"l{k}", joint_name=f"j{k}", mass=1.0, inertia=(1, 1, 1), center=(0, 0, 0), shapes=ball, **joint)
    assert pairs(b.build()) == {frozenset(("l0", "l2"))}
    b.pose("reference", {"j1": np.pi - 0.1})  # folded
    folded = b.build()
    assert pairs(folded) == set()
    w = br.World()
    w.add(folded, name="one")
    w.add(folded, name="two")
    assert len(pairs(w.model)) == 9  # all pairs between the two figures


def test_links_jointed_to_fixed_link_do_not_collide_with_it():
    # The ropes of the swing are jointed to its beam and the seat to both ropes: neighbors, also by the loop joint.
    model = br.figures.swing()
    assert pairs(model) == {frozenset(("beam", "plate")), frozenset(("left_rope", "right_rope"))}
    w = br.World()
    w.add(model)
    w.add(br.figures.ground())
    names = {frozenset(("ground/ground", f"swing/{link}")) for link in ("left_rope", "plate", "right_rope")}
    assert names <= pairs(w.model)


def test_larger_shape_is_first_in_a_pair():
    b = br.ModelBuilder("two")
    for name, radius in (("small", 0.1), ("large", 0.3), ("equal", 0.3)):
        b.link(name, joint=br.Free(), mass=1.0, shapes=br.Sphere(radius=radius))
    g = collision_geometry(b.build())
    assert g.pair.tolist() == [[1, 0], [2, 0], [1, 2]]


def test_human_pairs_are_enabled():
    w = br.World()
    w.add(br.figures.human28(), name="man")
    g = collision_geometry(w.model)
    assert 80 < len(g.pair) < 180
    assert (g.pair_enabled == 1).all()


def test_invalid_arguments():
    with pytest.raises(ArgumentError, match="collision_geometry expects a model, got 'man'"):
        collision_geometry("man")
    b = br.ModelBuilder("sheet")
    flat = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], float)
    sheet = br.Mesh(vertices=flat, triangles=[(0, 1, 2), (1, 3, 2)], name="paper")
    b.link("sheet", mass=1.0, inertia=(1, 1, 1), center=(0, 0, 0), shapes=sheet)
    with pytest.raises(ArgumentError, match=r"The mesh 'paper' is flat, so it cannot collide. Give it collides=False"):
        collision_geometry(b.build())
    with pytest.raises(ArgumentError, match="capacity must be at least 1"):
        collision_handle(collision_geometry(br.figures.box()), 0)


def test_model_without_shapes():
    g = collision_geometry(br.ModelBuilder("empty").build())
    assert len(g.kind) == len(g.pair) == 0
    collision_handle(g)
