"""File formats of models and motions, one module per format; :func:`load_model` selects the format by the content of the file."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

from brachiate.deprecation import renamed_arguments
from brachiate.io.import_notes import ModelFileWarning
from brachiate.model.model import Model

__all__ = ["ModelFileWarning", "load_model"]


@renamed_arguments(floating="floating_base")
def load_model(
    path: str | PathLike[str],
    *,
    strict: bool = False,
    floating_base: bool | None = None,
    name: str | None = None,
    fix_inertia: bool = False,
    assets: Mapping[str, bytes] | None = None,
    package_root: str | PathLike[str] | None = None,
) -> Model:
    """Load a model from an MJCF (.xml), URDF (.urdf, .xml) or SDF (.sdf) file.

    MuJoCo's compiler reads the file, so defaults, includes, units and inertia rules are MuJoCo's. Every body becomes a link of the
    same name (a body without a name is ``parent.1``, ``parent.2``, ...; a ``/`` in a name becomes ``.``); bodies without a joint stay
    separate links. The configuration q is MuJoCo's ``qpos``, number for number; the velocity v is MuJoCo's ``qvel`` except for the
    linear velocity of a free joint, which is in link axes here and in world axes there. A site with the name of a body is ``name.site``.

    A file whose only root body has a free joint is a floating figure: shapes and sites of the world around it (a floor) are left out
    and named in the warning. In any other file they belong to a fixed link ``ground``.

    ``model.poses["reference"]`` is the reference configuration of the file (MuJoCo's ``qpos0``), and every keyframe is a pose of its
    own name. ``model.neutral`` has every angle at zero, which differs from it where the file sets ``ref``.

    What a model cannot represent (tendons, muscles, height fields, another gravity, ...) is listed in one :class:`ModelFileWarning`.
    Left out without a warning: cameras, lights, textures, sensors, contact parameters.

    Args:
        path: The file. Meshes are searched for as MuJoCo does; ``package://`` and ``file://`` addresses of URDF are searched for in the
            folder of the file and in all folders above it.
        strict: Refuse a file with parts that cannot be represented, instead of warning.
        floating_base: True gives the root link a free joint named ``root`` (a floating base), False removes it. None: as in the file,
            which for MJCF means floating if the root has a free joint, for URDF fixed to the world, for SDF floating unless the model
            is static.
        name: Name of the model; by default the one in the file, or the file's own.
        fix_inertia: Replace physically impossible inertias by the nearest possible ones, and list them in the warning.
        assets: Contents by file name, for includes and meshes that are not on disk.
        package_root: Folder that all includes and meshes must be in, with symbolic links resolved. By default the package of the model:
            the nearest folder above it with a ``package.xml``, ``model.config``, ``pyproject.toml``, ``setup.py`` or ``.git``, the
            outermost Python package around it, or else the folder above the model's. Packages of ``package://`` addresses may be
            elsewhere.

    Returns:
        The model.

    Raises:
        ModelFileError: The file is missing, malformed, beyond the limits of :mod:`brachiate.io.limits`, refers to files outside of its
            package, or is physically impossible.
    """
    from brachiate.io import model_reader  # noqa: PLC0415  (importing MuJoCo takes a third of a second)

    return model_reader.read(
        path, strict=strict, floating_base=floating_base, name=name, fix_inertia=fix_inertia, assets=assets, package_root=package_root
    )
