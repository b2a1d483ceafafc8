"""Build hook: a wheel with machine code, if ``BRACHIATE_MACHINE_CODE`` names a folder that ``brachiate.compiled.ship`` has filled.

Such a wheel is for this version of Python and this platform, and needs exactly the versions of Numba and llvmlite that compiled it. Without
the variable the wheel is pure Python.
"""

import os
import sys
from importlib.metadata import version
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "BRACHIATE_MACHINE_CODE"


class MachineCodeHook(BuildHookInterface):
    """Adds machine code to a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version_kind: str, build_data: dict[str, Any]) -> None:
        """Include the folder, and restrict the wheel to what the code was made for."""
        folder = os.environ.get(VARIABLE)
        if not folder or version_kind == "editable":
            return
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        build_data["force_include"][folder] = "brachiate/_machine_code"
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-{os.environ['BRACHIATE_PLATFORM']}"
        build_data["dependencies"] = [f"{name}=={version(name)}" for name in ("numba", "llvmlite")]
