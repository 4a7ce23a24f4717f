"""The warm-up reaches every kernel, with the array types that real runs use."""

import subprocess
import sys

SCRIPT = """
import importlib, pkgutil
from numba.core.registry import CPUDispatcher
import pliant
from pliant.cli.warmup import PARTS, is_warm, warm_all

names = [module.name for module in pkgutil.walk_packages(pliant.__path__, "pliant.")]
modules = [importlib.import_module(name) for name in names if not name.startswith("pliant.cli.templates.")]  # scenes
reported = []
warm_all(lambda name, seconds: reported.append(name))
assert sorted(reported) == sorted(PARTS), reported
assert is_warm()
again = warm_all(workers=1)  # in this process, from what the others left on disk
assert again.compiled == 0, again
for module in modules:
    for name, value in vars(module).items():
        ours = isinstance(value, CPUDispatcher) and value.__module__ == module.__name__
        if ours and value.targetoptions.get("nogil") and not value.signatures:
            print(f"{module.__name__}.{name}")
"""


def test_every_kernel_is_warmed_up():
    result = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "", f"cli/warmup.py does not reach {result.stdout.split()}"
