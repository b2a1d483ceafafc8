"""Motion files in, as clips: the format is what the file says it is, whatever its name."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from brachiate.clip.clip import Clip
from brachiate.clip.settle import settle
from brachiate.errors import MotionFileError
from brachiate.io.motion_text import decoded, read_bytes

_HEAD = 8192  # bytes are enough to tell
_READABLE = "BVH, AMC (with its ASF) and DeepMimic's JSON"


def read_clip(
    path: str | PathLike[str],
    *,
    unit: str | float | None = None,
    up: str | None = None,
    rest_frame: bool | None = None,
    rate: float | None = None,
    skeleton: str | PathLike[str] | None = None,
    frames: slice | None = None,
) -> Clip:
    """Read a motion file: BVH, AMC with its ASF, or DeepMimic's JSON. What it does not say is found out, and told in ``clip.guesses``.

    Args:
        path: The file.
        unit: Of its lengths: ``"m"``, ``"cm"``, ``"mm"``, ``"in"``, ``"ft"``, ``"cmu"``, or the length of a unit [m].
        up: Which of its axes points upwards: ``"x"``, ``"y"`` or ``"z"``.
        rest_frame: Whether the first frame is a T-pose that does not belong to the motion.
        rate: Frames a second, for files that do not say it (AMC).
        skeleton: The ASF file of an AMC file; by default the one beside it.
        frames: Some of the frames.
    """
    path = Path(path)
    form = format_of(path)
    given = {"rate": rate, "skeleton": skeleton, "frames": frames}
    clip = _READERS[form](path, {key: value for key, value in given.items() if value is not None})
    if clip.origin is not None and clip.origin.format == "DeepMimic":
        return clip
    return settle(clip, unit=unit, up=up, rest_frame=rest_frame)


def format_of(path: Path) -> str:
    """Which format a motion file has: ``"BVH"``, ``"AMC"`` or ``"DeepMimic"``."""
    text = decoded(read_bytes(path, first=_HEAD), str(path)).lstrip()
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
    raise MotionFileError(f"{path}: this is no motion file that can be read: {_READABLE} are. It begins with {text[:40]!r}.")


def _bvh(path: Path, given: dict[str, Any]) -> Clip:
    from brachiate.io.bvh import read_bvh  # noqa: PLC0415

    return read_bvh(path, **_only(given, path, "frames"))


def _amc(path: Path, given: dict[str, Any]) -> Clip:
    from brachiate.io.amc import read_amc  # noqa: PLC0415

    if "skeleton" in given:
        given["skeleton_path"] = given.pop("skeleton")
    return read_amc(path, **_only(given, path, "frames", "rate", "skeleton_path"))


def _deepmimic(path: Path, given: dict[str, Any]) -> Clip:
    from brachiate.io.deepmimic import read_deepmimic  # noqa: PLC0415

    frames = given.pop("frames", None)
    clip = read_deepmimic(path, **_only(given, path))
    return clip if frames is None else clip.frames(frames)


def _only(given: dict[str, Any], path: Path, *known: str) -> dict[str, Any]:
    for key in given:
        if key not in known:
            raise MotionFileError(f"{path}: {key.partition('_')[0]}= means nothing for this format. Leave it out.")
    return given


_READERS: dict[str, Callable[[Path, dict[str, Any]], Clip]] = {"BVH": _bvh, "AMC": _amc, "DeepMimic": _deepmimic}
