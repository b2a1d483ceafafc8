"""Mode of execution of numerical code, from the environment variable ``BRACHIATE_COMPILED``."""

from __future__ import annotations

import os

from brachiate.errors import SettingError

MODES = ("fast", "check", "off")
MODE: str = os.environ.get("BRACHIATE_COMPILED", "fast")
if MODE not in MODES:
    raise SettingError(f"BRACHIATE_COMPILED={MODE!r} is not a mode. Choose one of: {', '.join(MODES)}.")
