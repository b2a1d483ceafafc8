"""C3D files for tests, composed byte by byte."""

from __future__ import annotations

import struct

import numpy as np


def parameter(name, group, value):
    """Bytes of a parameter: texts, integers or floats, with axes in the order of the file."""
    if isinstance(value, (list, tuple)) and all(isinstance(x, str) for x in value):
        width = max(map(len, value), default=0)
        size, dimensions, data = -1, (width, len(value)), "".join(x.ljust(width) for x in value).encode()
    else:
        value = np.asarray(value)
        whole = value.dtype.kind in "iu"
        size, dimensions = (2, value.shape) if whole else (4, value.shape)
        data = value.astype("<i2" if whole else "<f4").tobytes(order="F")
    body = struct.pack("<bB", size, len(dimensions)) + bytes(dimensions) + data + b"\0"
    return struct.pack("<bb", len(name), group) + name.encode() + struct.pack("<h", len(body) + 2) + body


def groups(parameter_groups):
    found = b""
    for k, (name, parameters) in enumerate(parameter_groups.items(), start=1):
        found += struct.pack("<bb", len(name), -k) + name.encode() + struct.pack("<hB", 3, 0)
        found += b"".join(parameter(key, k, value) for key, value in parameters.items())
    return found


def c3d_file(points, samples=None, *, first=1, rate=100.0, units=("mm",), plates=None, analog=None, **more):
    """Bytes of a C3D file with floats: points (f, m, 3) NaN where not visible, samples (f, per, n) of channels."""
    f, m, _ = points.shape
    samples = np.zeros((f, 0, 0)) if samples is None else samples
    per, n = samples.shape[1:]
    parameter_groups = {"POINT": {"USED": [m], "SCALE": [-1.0], "RATE": [rate], "FRAMES": [f], "DATA_START": [9], "UNITS": list(units)}}
    parameter_groups["POINT"] |= {"LABELS": [f"M{k}" for k in range(m)], "DESCRIPTIONS": [""] * m, **more}
    parameter_groups["ANALOG"] = {"USED": [n], "RATE": [rate * per], "GEN_SCALE": [1.0], "SCALE": [1.0] * n, "OFFSET": np.zeros(n, int)}
    parameter_groups["ANALOG"] |= {"LABELS": [f"c{k}" for k in range(n)], "DESCRIPTIONS": [""] * n, **(analog or {})}
    if plates:
        parameter_groups["FORCE_PLATFORM"] = plates
    section = bytes((1, 80, 7, 84)) + groups(parameter_groups)
    assert len(section) < 7 * 512
    head = struct.pack("<BBHHHHHfHHf", 2, 80, m, n * per, first, first + f - 1, 0, -1.0, 9, per, rate).ljust(512, b"\0")
    data = b""
    for point, sample in zip(points, samples, strict=True):
        seen = np.isfinite(point).all(axis=1)
        data += np.column_stack((np.where(seen[:, None], point, 0), np.where(seen, 0, -1))).astype("<f4").tobytes()
        data += sample.astype("<f4").tobytes()
    return head + section.ljust(7 * 512, b"\0") + data.ljust(-(-len(data) // 512) * 512, b"\0")
