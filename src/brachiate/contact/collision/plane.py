"""Contact patch of a shape on a plane: its support feature, projected onto the plane."""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.contact.collision.patch import add_patch, non_constant
from brachiate.contact.collision.patch_from_features import STEEP_COSINE
from brachiate.contact.collision.support_feature import affine_height, feature_normal, project_to_plane, reduce_to_edge, support_feature
from brachiate.spatial import Vec3, vec3


@kernel
def plane_patch(geometry, patches, scratch, i, g, R1, x1, R2, x2, margin):
    """Patch of shape g on a plane, or none."""
    z = R1.z
    count, N = support_feature(geometry, scratch, non_constant(0), g, R2, x2, -z)
    if count > 2 and N @ z > -STEEP_COSINE:
        count = reduce_to_edge(scratch, 0, count, -z)
    o = vec3(scratch.points, 0)
    m = feature_normal(scratch, 0, count, N, z)
    project_to_plane(scratch, 0, count, o, R1)
    height = Vec3((x1 - o) @ z, 0.0, 0.0)
    add_patch(patches, scratch, i, non_constant(0), non_constant(0), count, o, R1, affine_height(o, m, o, R1) - height, height, R2, margin)
