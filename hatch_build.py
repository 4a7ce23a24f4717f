"""Puts compiled kernels into the wheel: `make wheel` compiles them and names their folder in PLIANT_KERNELS. Without it
the wheel is pure Python, and kernels compile on first use.
"""

import os
import platform
import sys
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledKernels(BuildHookInterface):
    """Adds the kernels and the tag of the processor and Python that can read them."""

    def initialize(self, version, build_data):
        """Called by hatchling before it builds."""
        folder = os.environ.get("PLIANT_KERNELS")
        if not folder or version == "editable":
            return
        if platform.system() != "Linux" or platform.machine() != "x86_64":
            raise OSError(
                f"kernels are compiled ahead for Linux on x86-64, not {platform.system()} {platform.machine()}"
            )
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"  # cached code is read by the same Python only
        build_data["tag"] = f"{python}-{python}-linux_x86_64"
        build_data["pure_python"] = False
        for path in Path(folder).rglob("*-kernel.*"):
            build_data["force_include"][str(path)] = f"pliant/_kernels/{path.relative_to(folder)}"
