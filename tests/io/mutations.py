"""Mutated motion files of every format, reproducible by seed, and the outcome of reading them: read or refused."""

from __future__ import annotations

import io
import random
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from numpy.random import Generator
from tests.io.sample_files import CLIPS, FORMATS, OTHERS, robot, sample

from brachiate.clip.clip import Clip
from brachiate.clip.units_and_axes import normalize_clip
from brachiate.errors import BrachiateError, MotionError
from brachiate.io.amass import parse_amass
from brachiate.io.amc import parse_amc
from brachiate.io.asf import parse_asf
from brachiate.io.bvh import format_bvh, parse_bvh
from brachiate.io.c3d import parse_c3d
from brachiate.io.deepmimic import parse_deepmimic
from brachiate.io.motion_text import decode_text
from brachiate.io.opensim import parse_table
from brachiate.io.trc import parse_trc
from brachiate.motion.archive import load_motion_archive
from brachiate.motion.contact_labels import parse_contact_labels
from brachiate.motion.robot_csv import read_csv

BINARY = ("AMASS", "archive", "C3D")
MAX_MESSAGE_LENGTH = 1000  # characters
MAX_FILE_SIZE = 200_000  # bytes
#: Replacements of numbers: not finite, out of range, malformed.
INVALID_NUMBERS = (
    *("NaN", "nan", "inf", "-inf", "Infinity", "1e999", "-1e999", "1e308", "-1e308", "1e200", "1e12", "1e13", "-1e12", "1e-320", "-0", "0"),
    *("-1", "0x1F", "1_000", "1,5", "1.2.3", "--1", "+", ".", "e", "²", "٣", "½", "", " ", '"', "null", "true", "[]", "{}", "9" * 5000),
    *("1" * 400 + "e5", "99999999999999999999", "2147483648", "-2147483649", "4294967296", "1e9", "1000000000", "\x00", "\x1a", "\ufeff"),
)
#: Tokens that start or end a block in one of the formats.
BLOCK_STARTS = (
    "{\n",
    "}\n",
    "JOINT a\n{\n",
    "JOINT a\n",
    "End Site\n{\n",
    "[",
    "]",
    '{"a":',
    "begin\n",
    "end\n",
    ":root\n",
    ":bonedata\n",
    "(",
)
BLOCK_STARTS = (
    *BLOCK_STARTS,
    "1\n",
    "MOTION\n",
    "ROOT a\n{\n",
    "End Site\n{\n}\n",
    "JOINT a\n{\n}\n",
    "Hips Spine\n",
    "[" * 50,
    "\n",
    "\r",
    "\x0c",
    " 0",
)


# --- mutations ----------------------------------------------------------------------------------


def _cut(data: bytes, random: Generator) -> bytes:
    k = int(random.integers(0, len(data) + 1))
    return data[:k] if random.random() < 0.7 else data[k:]


def _lines(data: bytes, random: Generator) -> bytes:
    """Swap, delete, duplicate, move or repeat lines."""
    lines = data.split(b"\n")
    i, j = (int(k) for k in random.integers(0, len(lines), 2))
    match int(random.integers(0, 6)):
        case 0:
            lines[i], lines[j] = lines[j], lines[i]
        case 1:
            del lines[min(i, j) : max(i, j) + 1]
        case 2:
            lines.insert(i, lines[i])
        case 3:
            lines.insert(j, lines.pop(i))
        case 4:
            lines[i:i] = [lines[i]] * int(random.integers(2, 3000))
        case _:
            del lines[i]
    return b"\n".join(lines)


def _words(data: bytes, random: Generator) -> bytes:
    """Replace a number by an invalid one, or swap two words."""
    spans = [match.span() for match in re.finditer(rb"-?[\d.]+(?:e-?\d+)?" if random.random() < 0.7 else rb"[^\s,]+", data)]
    if not spans:
        return data
    (a, b), (c, d) = (spans[int(k)] for k in random.integers(0, len(spans), 2))
    if random.random() < 0.8:
        return data[:a] + str(random.choice(INVALID_NUMBERS)).encode() + data[b:]
    if a > c:
        a, b, c, d = c, d, a, b
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:] if b <= c else data


def _bytes(data: bytes, random: Generator) -> bytes:
    """Replace, insert or delete bytes."""
    out = bytearray(data)
    for _ in range(int(random.integers(1, 12))):
        if not out:
            break
        k = int(random.integers(0, len(out)))
        match int(random.integers(0, 4)):
            case 0:
                out[k] = int(random.integers(0, 256))
            case 1:
                out[k:k] = random.bytes(int(random.integers(1, 6)))
            case 2:
                del out[k]
            case _:
                out[k : k + 1] = random.choice(list(b"{}[]():,#.-+eE 0\t\r\n\"'")).tobytes()[:1]
    return bytes(out)


def _encoding(data: bytes, random: Generator) -> bytes:
    text = data.decode("latin-1").replace("e", "é", int(random.integers(0, 3)))
    name = str(random.choice(("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp037", "utf-7", "cp1252")))
    return text.encode(name, "replace")[int(random.integers(0, 2)) * int(random.integers(0, 4)) :]


def _numbers(data: bytes, random: Generator) -> bytes:
    """Replace an integer or float in binary data, such as a size, a count or an offset."""
    k = int(random.integers(0, max(len(data) - 8, 1)))
    kind = str(random.choice(("<u1", "<u2", "<i2", "<u4", "<i4", "<f4", "<f8", ">u2")))
    values = np.array((0, 1, 2, 127, 255, 256, 32767, 65535, 2**31 - 1, 2**32 - 1, np.nan, np.inf, -1.0, 1e30))
    value = float(random.choice(values))
    if kind[1] != "f":
        value = int(value) % 256 ** int(kind[2]) if np.isfinite(value) else 0
    packed = np.array(value).astype(kind.replace("i", "u")).tobytes()
    return data[:k] + packed + data[k + len(packed) :]


def _inside(data: bytes, random: Generator) -> bytes:
    """Mutate an entry of an archive and repack it, so that its checksum is valid."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            content = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    except Exception:  # not an archive any more
        return data
    if not content:
        return data
    name = str(random.choice(list(content)))
    mutation = (_numbers, _numbers, _bytes, _words, _cut)[int(random.integers(0, 5))]
    content[name] = mutation(content[name], random)
    if random.random() < 0.05:
        del content[name]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, inner in content.items():
            archive.writestr(zipfile.ZipInfo(name), inner)
    return file.getvalue()


def _nested(data: bytes, random: Generator) -> bytes:
    """Insert block starts, up to thousands of times."""
    lines = data.split(b"\n")
    repeated = str(random.choice(BLOCK_STARTS)) * int(random.choice((1, 2, 5, 250, 3000)))
    lines.insert(int(random.integers(0, len(lines) + 1)), repeated.encode())
    return b"\n".join(lines)


def _spliced(data: bytes, random: Generator) -> bytes:
    """Insert a part of a file of another format."""
    other = sample(str(random.choice(CLIPS)))
    a, b = sorted(int(k) for k in random.integers(0, len(other), 2))
    k = int(random.integers(0, len(data) + 1))
    return data[:k] + other[a:b] + data[k + int(random.integers(0, 2)) * (b - a) :]


def _ends(data: bytes, random: Generator) -> bytes:
    """Replace line ends and blanks."""
    return data.replace(b"\n", random.choice(np.array((b"\r\n", b"\r", b"\n\n", b" ", b"\x0b", b"\t\n"), object))).replace(b"  ", b"\t")


MUTATIONS: tuple[Callable[[bytes, Generator], bytes], ...] = (_cut, _lines, _words, _words, _bytes, _encoding, _nested, _spliced, _ends)


def mutated(form: str, seed: int) -> bytes:
    """File with one to three mutations; the same seed gives the same file."""
    random = np.random.default_rng((FORMATS.index(form), seed))
    data = sample(form)
    mutations = MUTATIONS
    if form in BINARY:
        mutations = (*MUTATIONS, *([_numbers] * 6)) if form == "C3D" else (*MUTATIONS, *([_inside] * 12))
    for _ in range(int(random.integers(1, 4))):
        data = mutations[int(random.integers(0, len(mutations)))](data, random)[:MAX_FILE_SIZE]
    return data


# --- outcome ------------------------------------------------------------------------------------


@cache
def _good_asf():
    return parse_asf(sample("ASF").decode(), "good.asf")


def parsed(form: str, data: bytes) -> Clip:
    """Clip of the bytes of a file."""
    if form == "AMASS":
        return parse_amass(data, "file")
    text = decode_text(data, "file")
    if form == "BVH":
        return parse_bvh(text, "file")
    if form == "DeepMimic":
        return parse_deepmimic(text, "file")
    if form == "ASF":
        return parse_amc(sample("AMC").decode(), "good.amc", parse_asf(text, "file"))
    return parse_amc(text, "file", _good_asf())


def outcome(form: str, data: bytes) -> str:
    """``"read"`` or ``"refused"``; any other exception is an error of the reader.

    Clips must have finite numbers, before and after normalization, and can be written.
    """
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        if form in OTHERS and form != "AMASS":
            return _outcome_of_others(form, data)
        try:
            clip = parsed(form, data)
        except MotionError as error:
            return _refused(error)
        _check(clip)
        try:
            clip = normalize_clip(clip)
        except MotionError as error:
            _refused(error)
            clip = normalize_clip(clip, unit=0.01, up="y")
        _check(clip)
        try:
            _check(parse_bvh(format_bvh(clip), "again"))
        except MotionError as error:
            _refused(error)  # for example numbers just below the limit, which exceed it in another unit
    return "read"


def _outcome_of_others(form: str, data: bytes) -> str:
    try:
        if form in ("archive", "table"):
            return _outcome_of_motion(form, data)
        if form == "C3D":
            capture = parse_c3d(data, "file")
            assert capture.markers is None or not np.isinf(capture.markers.positions).any(), "not finite"
            return "read"
        text = decode_text(data, "file")
        if form == "OpenSim":
            table = parse_table(text, "file")
            assert np.isfinite(table.values).all(), "not finite"
        elif form == "TRC":
            markers = parse_trc(text, "file")
            assert not np.isinf(markers.positions).any(), "not finite"
        else:
            labels = parse_contact_labels(text.splitlines(), "file")
            assert all(np.isfinite((c.start, c.end)).all() for c in labels.contacts), "not finite"
    except BrachiateError as error:
        return _refused(error)
    return "read"


def _outcome_of_motion(form: str, data: bytes) -> str:
    """Outcome for motions of a figure, which are read from files, not from bytes."""
    with tempfile.NamedTemporaryFile(suffix=".npz" if form == "archive" else ".csv") as file:
        file.write(data)
        file.flush()
        motion = load_motion_archive(file.name, robot()) if form == "archive" else read_csv(file.name, robot())
    assert np.isfinite(motion.q).all(), "not finite"
    return "read"


def _refused(error: BrachiateError) -> str:
    if len(str(error)) > MAX_MESSAGE_LENGTH:
        raise ValueError("the message is too long")
    return "refused"


def _check(clip: Clip) -> None:
    for array in (clip.times, clip.rotations, clip.translations, clip.positions, clip.orientations, clip.tips, clip.skeleton.rest):
        assert np.isfinite(array).all(), "not finite"
    assert np.abs(np.linalg.norm(clip.rotations, axis=-1) - 1.0).max() < 1e-6, "quaternion not normalized"


def damaged(source: str, head: int) -> Iterator[str]:
    """1500 damaged copies of a text: characters deleted, repeated and replaced, truncated, or first lines shuffled."""
    alphabet = "0123456789.-e\t\n =nNaifABC\0\x1c\u00e9"
    for seed in range(1500):
        rng = random.Random(seed)
        text = list(source)
        for _ in range(rng.randrange(1, 6)):
            k = rng.randrange(len(text))
            text[k : k + rng.choice((0, 1, 1, 5))] = rng.choice(alphabet) * rng.choice((0, 1, 1, 3))
        lines = "".join(text)[: rng.choice((None, rng.randrange(len(text))))].splitlines(keepends=True)
        if seed % 3 == 0:
            first = lines[:head]
            rng.shuffle(first)
            lines[:head] = first
        yield "".join(lines)
