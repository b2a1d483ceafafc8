"""Shapes on a plane: what they turn to it, laid on it."""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.contact.collision.patch import put_area, variable
from brachiate.contact.collision.patch_from_features import STEEP
from brachiate.contact.collision.support_feature import affine, edge_of, lay, put_feature, tilt
from brachiate.spatial import Vec3, vec3


@kernel
def on_plane(Gm, A, S, i, g, R1, x1, R2, x2, margin):
    """Area of shape g on a plane, or none."""
    z = R1.z
    count, N = put_feature(Gm, S, variable(0), g, R2, x2, -z)
    if count > 2 and N @ z > -STEEP:
        count = edge_of(S, 0, count, -z)
    o = vec3(S.point, 0)
    m = tilt(S, 0, count, N, z)
    lay(S, 0, count, o, R1)
    height = Vec3((x1 - o) @ z, 0.0, 0.0)
    put_area(A, S, i, variable(0), variable(0), count, o, R1, affine(o, m, o, R1) - height, height, R2, margin)
