"""How long Pliant takes from the start of Python to a result, installed from a wheel into a new environment.

    python -m benchmarks.start dist/pliant-*.whl [--folder DIR]

`make wheel-check` runs it. The package and the user's cache are read-only (for root: owned by another user), so the
kernels are those of the wheel. Each program runs twice in a process of its own: importing Pliant, and the first example
of the README. Shown are seconds by the clock until it prints its first line and processor seconds (user and system) of
the whole process, beside the limits that are asked for, and how many kernels it compiled. The exit status is 1 where a
processor time is beyond its limit or a kernel was compiled. `--folder` keeps the environment for another run.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any, NamedTuple

README = Path(__file__).parents[1] / "README.md"
NOBODY = 65534
"""User without rights that commands run as where this one has all of them."""
LIMITS = {"import pliant": (0.5, 0.5), "first example of the README": (5.0, 2.0)}
"""Seconds from the start of Python for the first and the second start."""
COUNT = "\nfrom pliant.core.kernels import compiled_count\nprint(compiled_count())\n"


class Start(NamedTuple):
    """Seconds until the first line, processor seconds of the process, and kernels compiled."""

    line: float
    processor: float
    compiled: int


def first_example() -> str:
    """The first program of the README."""
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)[0]


def installed(wheel: Path, folder: Path) -> Path:
    """The interpreter of an environment in `folder` with the wheel; its files are read-only."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    (package,) = folder.glob("lib/python*/site-packages/pliant")
    for path in (package, *package.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    return python


def start(python: Path, program: str, folder: Path) -> Start:
    """Run `program` once, with `folder` to write its files into."""
    cache = folder.parent / "cache"  # empty, and stays so
    cache.mkdir(mode=0o555, exist_ok=True)
    kept = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"HOME": "/nonexistent", "XDG_CACHE_HOME": str(cache), "OPENBLAS_NUM_THREADS": "1"}
    user: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    begin = time.perf_counter()
    process = subprocess.Popen(
        [python, "-c", program + COUNT], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, **user
    )
    assert process.stdout is not None
    process.stdout.readline()
    line = time.perf_counter() - begin
    rest = process.stdout.read().split()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"the program failed with {process.returncode}:\n{program}")
    return Start(line, used.ru_utime + used.ru_stime, int(rest[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--folder", type=Path, help="folder of the environment, kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        place.chmod(0o755)
        python = installed(options.wheel, (options.folder or place / "environment").resolve())
        work = place / "work"
        work.mkdir()
        work.chmod(0o777)
        programs = {"import pliant": 'import pliant\nprint("ready", flush=True)', **_example()}
        within = True
        print("| program | start | first line (s) | processor time (s) | limit (s) | kernels compiled |")
        print("|---|---|---|---|---|---|")
        for name, program in programs.items():
            for turn, limit in zip(("first", "second"), LIMITS[name], strict=True):
                found = start(python, program, work)
                within = within and found.processor <= limit and found.compiled == 0
                times = f"{found.line:.2f} | {found.processor:.2f} | {limit:g} | {found.compiled}"
                print(f"| {name} | {turn} | {times} |", flush=True)
    sys.exit(0 if within else 1)


def _example() -> dict[str, str]:
    return {
        "first example of the README": "import functools\nprint = functools.partial(print, flush=True)\n"
        + first_example()
    }


if __name__ == "__main__":
    main()
