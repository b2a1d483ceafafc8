"""Model files in: one file for each format or role; :func:`read_model` chooses by what the file says it is."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

from brachiate.io.notes import ModelFileWarning
from brachiate.model.model import Model

__all__ = ["ModelFileWarning", "read_model"]


def read_model(
    path: str | PathLike[str],
    *,
    strict: bool = False,
    floating: bool | None = None,
    name: str | None = None,
    fix_inertia: bool = False,
    assets: Mapping[str, bytes] | None = None,
) -> Model:
    """Read a model from an MJCF (.xml), URDF (.urdf, .xml) or SDF (.sdf) file.

    MuJoCo's own compiler reads the file, so defaults, includes, units and inertia rules are MuJoCo's. Every body becomes
    a link of the same name (a body without one is ``parent.1``, ``parent.2``, ...; a ``/`` in a name becomes ``.``), and
    what is fixed stays a link of its own. The configuration q is MuJoCo's ``qpos``, number for number; the velocity v is
    MuJoCo's ``qvel`` but for a free joint's first three numbers, which are along the link's axes here and along the world's
    there. Shapes and sites of the world belong to a fixed link ``ground``. A site with the name of a body is ``name.site``.

    ``model.poses["reference"]`` is the posture the file is drawn in (MuJoCo's ``qpos0``), and every keyframe is a pose of
    its own name. ``model.neutral`` has every angle at zero, which is another posture where the file sets ``ref``.

    What the model cannot hold (tendons, muscles, height fields, gravity other than ours, ...) is named in
    one :class:`ModelFileWarning`. Not kept, and not worth a warning: cameras, lights, textures, sensors, contact
    parameters, and the velocity limits of URDF.

    Args:
        path: The file. Meshes are looked for as MuJoCo does; ``package://`` and ``file://`` addresses of URDF are looked
            for in the folder of the file and in all folders above it.
        strict: Refuse a file with anything that cannot be kept, instead of warning.
        floating: True gives the root link a free joint named ``root``, False takes it away. None: as the file says, which
            for URDF is fixed to the world, and for SDF free unless the model is static.
        name: Name of the model, by default the one in the file, or the file's own.
        fix_inertia: Replace an inertia that no solid has by the nearest one that some solid has, and say so.
        assets: Files by name, for a model whose parts are not on the disk: includes and meshes.

    Returns:
        The model.

    Raises:
        ModelFileError: The file is missing, broken, too large, or describes what cannot exist.
    """
    from brachiate.io import reader  # noqa: PLC0415  (MuJoCo takes a third of a second to import)

    return reader.read(path, strict=strict, floating=floating, name=name, fix_inertia=fix_inertia, assets=assets)
