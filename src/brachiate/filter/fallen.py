"""Whether somebody has fallen: by how far the pelvis is from where the reference has it."""

from __future__ import annotations

import numpy as np

from brachiate.doors import Array

LOW, ASTRAY, TURNED = 0.3, 0.6, np.radians(60.0)  # [m], [m], [rad] of the pelvis from the reference: beyond, it has fallen


def why_fallen(root: Array, wanted: Array, off: Array | None = None) -> str | None:
    """Say why this is a fall, or return None.

    Args:
        root: Place and orientation of the pelvis: (7,).
        wanted: As the reference has them.
        off: How far it is from its place [m], if that is not the reference's.
    """
    off = root[:3] - wanted[:3] if off is None else off
    turned = 2.0 * np.arccos(min(abs(float(root[3:7] @ wanted[3:7])), 1.0))
    causes = (
        (-float(off[2]) / LOW, f"the pelvis is {-100 * off[2]:.0f} cm too low"),
        (float(np.hypot(*off[:2])) / ASTRAY, f"the pelvis is {100 * np.hypot(*off[:2]):.0f} cm astray"),
        (float(turned) / TURNED, f"the pelvis is turned by {np.degrees(turned):.0f} degrees from the reference"),
    )
    worst, why = max(causes)
    return why if worst > 1.0 else None
