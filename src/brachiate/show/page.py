"""Page: a picture in pixels with lines and text, drawn by matplotlib's rasterizer without its figures, which take several times as long."""

from __future__ import annotations

import os
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np

from brachiate.errors import ArgumentError, BrachiateError
from brachiate.io.atomic import replace_file
from brachiate.show.plots import MISSING
from brachiate.validation import Array

COMPRESSION = 1  # of PNG files: level 6 takes several times as long, for files a fifth smaller
FONT = "DejaVu Sans"


class Page:
    """Picture of some pixels; positions are in pixels from the lower left corner, sizes of text and widths of lines in points.

    Args:
        width: Of the picture [pixels].
        height: Of the picture [pixels].
        dpi: Pixels per inch.
        background: Color, as matplotlib names it.
    """

    def __init__(self, width: int, height: int, dpi: float, background: Any = "white") -> None:
        try:
            from matplotlib.backends.backend_agg import RendererAgg  # noqa: PLC0415  (optional, and slow to import)
            from matplotlib.colors import to_rgba  # noqa: PLC0415
        except ImportError:
            raise BrachiateError(MISSING) from None
        self.width, self.height, self.dpi = int(width), int(height), dpi
        self._renderer = RendererAgg(self.width, self.height, dpi)
        self._color = to_rgba
        self._pixels = np.asarray(self._renderer.buffer_rgba())
        self._pixels[:] = (255.0 * np.array(to_rgba(background))).round()

    def image(self, left: int, bottom: int, pixels: Array) -> None:
        """Put an image (h, w, 3) of bytes, its lower left corner at a pixel."""
        top = self.height - bottom - len(pixels)
        self._pixels[top : top + len(pixels), left : left + pixels.shape[1], :3] = pixels

    def lines(self, x: Array, y: Array, color: Any, width: float, clip: tuple[float, float, float, float] | None = None) -> None:
        """Draw a line through points, interrupted where they are not finite; ``clip``: left, bottom, right, top [pixels]."""
        from matplotlib.path import Path  # noqa: PLC0415
        from matplotlib.transforms import Bbox, IdentityTransform  # noqa: PLC0415

        pen = self._pen(color, width)
        if clip is not None:
            pen.set_clip_rectangle(Bbox.from_extents(*clip))
        path = Path(np.stack((x, y), axis=1))
        path.should_simplify = len(x) > 128
        self._renderer.draw_path(pen, path, IdentityTransform())

    def rule(self, start: tuple[float, float], end: tuple[float, float], color: Any, width: float) -> None:
        """Draw a horizontal or vertical line, on whole pixels."""
        x, y = (np.floor((start[k], end[k])) + 0.5 for k in range(2))
        self.lines(np.array(x), np.array(y), color, width)

    def _pen(self, color: Any, width: float) -> Any:
        pen = self._renderer.new_gc()
        pen.set_foreground(self._color(color), isRGBA=True)
        pen.set_linewidth(width * self.dpi / 72.0)
        pen.set_joinstyle("round")
        pen.set_snap(False)
        return pen

    def text_width(self, text: str, size: float) -> float:
        """Width of a line of text [pixels]."""
        return float(self._renderer.get_text_width_height_descent(text, _font(size), False)[0])

    def text(
        self, x: float, y: float, text: str, size: float, color: Any, anchor: tuple[float, float] = (0.0, 0.0), *, up: bool = False
    ) -> None:  # fmt: skip
        """Write lines of text; ``anchor``: the share of their width and height that is left of and below the position.

        ``up``: turned by a quarter, to be read from below.
        """
        lines = text.split("\n")
        _, line, descent = self._renderer.get_text_width_height_descent("lp", _font(size), False)
        high = line * (1.0 + 1.2 * (len(lines) - 1))
        pen = self._pen(color, 1.0)
        for n, words in enumerate(lines):
            wide = self.text_width(words, size)
            along, across = -anchor[0] * wide, (1.0 - anchor[1]) * high - line * (1.0 + 1.2 * n) + descent
            at = (x - across, y + along) if up else (x + along, y + across)
            self._renderer.draw_text(pen, round(at[0]), round(self.height - at[1]), words, _font(size), 90.0 if up else 0.0)

    def save(self, path: str | PathLike[str] | IO[bytes]) -> None:
        """Write the picture, in the format of the file's suffix: PNG, the default, or another one of pixels."""
        from PIL import Image  # noqa: PLC0415  (comes with matplotlib)

        image = Image.fromarray(np.ascontiguousarray(self._pixels[..., :3]))
        if not isinstance(path, str | PathLike):  # an open file
            image.save(path, format="png", compress_level=COMPRESSION)
            return
        file = Path(path) if Path(path).suffix else Path(f"{os.fspath(path)}.png")
        formats = Image.registered_extensions()
        if file.suffix.lower() not in formats:
            raise ArgumentError(f"{path}: the picture cannot be written: {file.suffix} is not a format of pixels such as .png.")
        with replace_file(file, "the picture") as opened:
            image.save(opened, format=formats[file.suffix.lower()], compress_level=COMPRESSION)


@lru_cache
def _font(size: float) -> Any:
    """Font of text of a size [points]."""
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415

    return FontProperties(family=FONT, size=size)
