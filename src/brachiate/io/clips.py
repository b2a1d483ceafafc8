"""Motion files in, as clips: the format is what the file says it is, whatever its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from brachiate.clip.clip import Clip
from brachiate.clip.units_and_axes import settle
from brachiate.errors import FileFormatError, MotionFileError
from brachiate.io.motion_text import decoded, read_bytes

_HEAD = 8192  # bytes are enough to tell
_READABLE = "BVH, AMC (with its ASF), DeepMimic's JSON and AMASS's NPZ are, and tables (.mot, .sto, .csv) by their names"
_SETTLED = ("DeepMimic", "AMASS")  # their readers know units and axes


def read_clip(
    path: str | PathLike[str],
    *,
    unit: str | float | None = None,
    up: str | None = None,
    rest_frame: bool | None = None,
    rate: float | None = None,
    skeleton: str | PathLike[str] | None = None,
    frames: slice | None = None,
    height: float | None = None,
    roles: Mapping[str, str] | None = None,
) -> Clip:
    """Read a motion file: BVH, AMC with its ASF, DeepMimic's JSON, AMASS's NPZ.

    What it does not say is found out, and told in ``clip.guesses``.

    Args:
        path: The file.
        unit: Of its lengths: ``"m"``, ``"cm"``, ``"mm"``, ``"in"``, ``"ft"``, ``"cmu"``, or the length of a unit [m].
        up: Which of its axes points upwards: ``"x"``, ``"y"`` or ``"z"``.
        rest_frame: Whether the first frame is a T-pose that does not belong to the motion.
        rate: Frames a second, for files that do not say it (AMC).
        skeleton: The ASF file of an AMC file, by default the one beside it; or the bones of an AMASS file, see
            :func:`brachiate.io.amass.read_amass`.
        frames: Some of the frames.
        height: Of the person [m], for files that have no bones (AMASS); others say it themselves.
        roles: Names of joints by role (``{"left_knee": "Bone12"}``), where names do not say it.
    """
    path = Path(path)
    form = format_of(path)
    given = {"rate": rate, "skeleton": skeleton, "frames": frames}
    if form == "AMASS":
        given |= {"height": height, "up": up, "unit": unit, "rest_frame": rest_frame}
    clip = _READERS[form](path, {key: value for key, value in given.items() if value is not None})
    if form in _SETTLED:
        return clip
    return settle(clip, unit=unit, up=up, rest_frame=rest_frame, roles=roles)


def format_of(path: Path) -> str:
    """Which format a motion file has: ``"BVH"``, ``"AMC"``, ``"DeepMimic"`` or ``"AMASS"``."""
    head = read_bytes(path, first=_HEAD)
    if head.startswith(b"PK"):
        return _archived(path)
    text = decoded(head, str(path)).lstrip()
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
    raise MotionFileError(f"{path}: this is no motion file that can be read: {_READABLE}. It begins with {text[:40]!r}.")


def is_amass(path: Path) -> bool:
    """Whether an archive is a motion of AMASS, by the names of what is in it."""
    try:
        return format_of(path) == "AMASS"
    except MotionFileError:
        return False


def _archived(path: Path) -> str:
    """The format of an archive, by the names of what is in it."""
    from brachiate.io.amass import has_motion  # noqa: PLC0415
    from brachiate.io.archive import names_in  # noqa: PLC0415

    try:
        names = names_in(path, str(path), "a motion")
    except FileFormatError as error:
        raise MotionFileError(str(error)) from None
    if has_motion(names):
        return "AMASS"
    if "joint_q" in names:
        raise MotionFileError(f"{path}: whose motion is it? It has no skeleton. Give the figure: figure=...")
    found = ", ".join(name[:30] for name in names[:8]) or "nothing"
    raise MotionFileError(f"{path}: this archive is no motion that can be read. AMASS has 'poses' and 'trans' in it; this has {found}.")


def _bvh(path: Path, given: dict[str, Any]) -> Clip:
    from brachiate.io.bvh import read_bvh  # noqa: PLC0415

    return read_bvh(path, **_only(given, path, "frames"))


def _amc(path: Path, given: dict[str, Any]) -> Clip:
    from brachiate.io.amc import read_amc  # noqa: PLC0415

    return read_amc(path, **_only(given, path, "frames", "rate", "skeleton"))


def _deepmimic(path: Path, given: dict[str, Any]) -> Clip:
    from brachiate.io.deepmimic import read_deepmimic  # noqa: PLC0415

    frames = given.pop("frames", None)
    clip = read_deepmimic(path, **_only(given, path))
    return clip if frames is None else clip.frames(frames)


def _amass(path: Path, given: dict[str, Any]) -> Clip:
    from brachiate.io.amass import read_amass  # noqa: PLC0415

    return read_amass(path, **_only(given, path, "frames", "rate", "skeleton", "height", "up"))


def _only(given: dict[str, Any], path: Path, *known: str) -> dict[str, Any]:
    for key in given:
        if key not in known:
            raise MotionFileError(f"{path}: {key}= means nothing for this format. Leave it out.")
    return given


_READERS: dict[str, Callable[[Path, dict[str, Any]], Clip]] = {"BVH": _bvh, "AMC": _amc, "DeepMimic": _deepmimic, "AMASS": _amass}
