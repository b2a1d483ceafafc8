"""Reading of motion files with a skeleton as clips; the format is detected from the content."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from brachiate import validation
from brachiate.clip.clip import Clip
from brachiate.clip.glitches import repair_glitches
from brachiate.clip.units_and_axes import normalize_clip
from brachiate.errors import ArgumentError, FileFormatError, MotionFileError
from brachiate.io.motion_text import decode_text, read_bytes

_HEADER_SIZE = 8192  # [bytes] read to detect the format
_READABLE = "BVH, AMC (with its ASF), DeepMimic's JSON and AMASS's NPZ are, and tables (.mot, .sto, .csv) by their names"
_NORMALIZED_FORMATS = ("DeepMimic", "AMASS")  # their units and axes are known


def read_clip(
    path: str | PathLike[str],
    *,
    unit: str | float | None = None,
    up: str | None = None,
    rest_frame: bool | None = None,
    repair: bool = True,
    rate: float | None = None,
    skeleton: str | PathLike[str] | None = None,
    frames: slice | None = None,
    height: float | None = None,
    roles: Mapping[str, str] | None = None,
) -> Clip:
    """Read a motion file: BVH, AMC with its ASF, DeepMimic's JSON, AMASS's NPZ.

    What the file leaves open is inferred, and listed in ``clip.assumptions``.

    Args:
        path: The file.
        unit: Unit of lengths: ``"m"``, ``"cm"``, ``"mm"``, ``"in"``, ``"ft"``, ``"cmu"``, or the length of a unit [m].
        up: Axis of the file that points up: ``"x"``, ``"y"`` or ``"z"``.
        rest_frame: Whether the first frame is a T-pose that does not belong to the motion.
        repair: Whether frames in which a joint jumps faster than a body moves are repaired: see :mod:`brachiate.clip.glitches`.
        rate: Frame rate [Hz], for files that do not state it (AMC).
        skeleton: The ASF file of an AMC file, by default the one beside it; or the bones of an AMASS file, see
            :func:`brachiate.io.amass.read_amass`.
        frames: Selection of frames; by default all.
        height: Stature of the person [m], for files without bones (AMASS).
        roles: Names of joints by anatomical role (``{"left_knee": "Bone12"}``), where the joint names do not say it.
    """
    path = Path(path)
    if not isinstance(repair, bool):
        raise ArgumentError(f"repair: expected True or False, got {validation.short_repr(repair)}.")
    form = detect_format(path)
    given = {"rate": rate, "skeleton": skeleton, "frames": frames}
    if form == "AMASS":
        given |= {"height": height, "up": up, "unit": unit, "rest_frame": rest_frame}
    clip = _READERS[form](path, {key: value for key, value in given.items() if value is not None})
    if form not in _NORMALIZED_FORMATS:
        clip = normalize_clip(clip, unit=unit, up=up, rest_frame=rest_frame, roles=roles)
    return repair_glitches(clip, 1 if rest_frame is False else 0) if repair else clip


def detect_format(path: Path) -> str:
    """Return the format of a motion file: ``"BVH"``, ``"AMC"``, ``"DeepMimic"`` or ``"AMASS"``."""
    head = read_bytes(path, first=_HEADER_SIZE)
    if head.startswith(b"PK"):
        return _archive_format(path)
    text = decode_text(head, str(path)).lstrip()
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    first = lines[0].upper() if lines else ""
    if first.startswith("HIERARCHY") or first.startswith("ROOT "):
        return "BVH"
    if first.startswith((":FULLY-SPECIFIED", ":DEGREES", ":RADIANS", ":SAMPLES-PER-SECOND")):
        return "AMC"
    if first.startswith((":VERSION", ":NAME", ":UNITS")):
        raise MotionFileError(f"{path} is an ASF skeleton without motion. Give the AMC file that goes with it; the ASF is found beside it.")
    if text[:1] == "{" and '"frames"' in text.lower():
        return "DeepMimic"
    raise MotionFileError(f"{path}: it is not a supported motion file: {_READABLE}. It begins with {text[:40]!r}.")


def is_amass(path: Path) -> bool:
    """Whether an archive is an AMASS motion, by the names of its arrays."""
    try:
        return detect_format(path) == "AMASS"
    except MotionFileError:
        return False


def _archive_format(path: Path) -> str:
    """Return the format of an archive, by the names of its arrays."""
    from brachiate.io.amass import has_motion_arrays  # noqa: PLC0415
    from brachiate.io.archive import array_names  # noqa: PLC0415

    try:
        names = array_names(path, str(path), "a motion")
    except FileFormatError as error:
        raise MotionFileError(str(error)) from None
    if has_motion_arrays(names):
        return "AMASS"
    if "joint_q" in names:
        raise MotionFileError(f"{path}: it has no skeleton. Give the figure: figure=...")
    found = ", ".join(name[:30] for name in names[:8]) or "nothing"
    raise MotionFileError(f"{path}: this archive is not a supported motion. AMASS archives have 'poses' and 'trans'; this one has {found}.")


def _bvh(path: Path, given: dict[str, Any]) -> Clip:
    from brachiate.io.bvh import read_bvh  # noqa: PLC0415

    return read_bvh(path, **_checked_options(given, path, "frames"))


def _amc(path: Path, given: dict[str, Any]) -> Clip:
    from brachiate.io.amc import read_amc  # noqa: PLC0415

    return read_amc(path, **_checked_options(given, path, "frames", "rate", "skeleton"))


def _deepmimic(path: Path, given: dict[str, Any]) -> Clip:
    from brachiate.io.deepmimic import read_deepmimic  # noqa: PLC0415

    frames = given.pop("frames", None)
    clip = read_deepmimic(path, **_checked_options(given, path))
    return clip if frames is None else clip.frames(frames)


def _amass(path: Path, given: dict[str, Any]) -> Clip:
    from brachiate.io.amass import read_amass  # noqa: PLC0415

    return read_amass(path, **_checked_options(given, path, "frames", "rate", "skeleton", "height", "up"))


def _checked_options(given: dict[str, Any], path: Path, *known: str) -> dict[str, Any]:
    for key in given:
        if key not in known:
            raise MotionFileError(f"{path}: {key}= does not apply to this format. Leave it out.")
    return given


_READERS: dict[str, Callable[[Path, dict[str, Any]], Clip]] = {"BVH": _bvh, "AMC": _amc, "DeepMimic": _deepmimic, "AMASS": _amass}
