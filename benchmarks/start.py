"""How long Pliant takes from the start of Python to a result, installed from a wheel into a new environment.

    python -m benchmarks.start [WHEEL] [--folder DIR]

Without WHEEL it is the one in dist, which `make wheel` leaves there; `make wheel-check` does both. The package and the
user's cache are read-only (for root: owned by another user), so the kernels are those of the wheel. Each program runs
twice in a process of its own: importing Pliant, loading all its public names, and the first example of the README.
Shown are the seconds from the start of Python to its first line, by the clock and of the processor (user and system),
beside the limits that are asked for, and how many kernels it compiled. The exit status is 1 where the processor time is
beyond its limit or a kernel was compiled. `--folder` keeps the environment for another run.
"""

from __future__ import annotations

import argparse
import math
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
LIMITS = {
    "import pliant": (0.5, 0.5),
    "all public names": (math.inf, math.inf),
    "first example of the README": (5.0, 2.0),
}
"""Seconds from the start of Python for the first and the second start. Names of `pliant` load when they are used."""
COUNT = "\nfrom pliant.core.kernels import compiled_count\nprint(compiled_count())\n"


class Start(NamedTuple):
    """Seconds until the first line by the clock and of the processor, and kernels compiled."""

    clock: float
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
    clock, processor = time.perf_counter() - begin, _processor_time(process.pid)
    rest = process.stdout.read().split()
    if process.wait():
        sys.exit(f"the program failed with {process.returncode}:\n{program}")
    return Start(clock, processor, int(rest[-1]))


def _processor_time(process: int) -> float:
    """User and system seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    user, system = int(fields[11]), int(fields[12])
    return (user + system) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("wheel", type=Path, nargs="?", help="wheel to install, else that in dist")
    parser.add_argument("--folder", type=Path, help="folder of the environment, kept")
    options = parser.parse_args()
    wheel = options.wheel or next(iter(sorted(Path("dist").glob("pliant-*.whl"))), None)
    if wheel is None:
        parser.error("there is no wheel in dist; `make wheel` builds it")
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        place.chmod(0o755)
        python = installed(wheel, (options.folder or place / "environment").resolve())
        work = place / "work"
        work.mkdir()
        work.chmod(0o777)
        programs = {
            "import pliant": 'import pliant\nprint("ready", flush=True)',
            "all public names": 'import pliant.public\nprint("ready", flush=True)',
            **_example(),
        }
        within = True
        print("| program | start | first line, clock (s) | processor (s) | limit (s) | kernels compiled |")
        print("|---|---|---|---|---|---|")
        for name, program in programs.items():
            for turn, limit in zip(("first", "second"), LIMITS[name], strict=True):
                found = start(python, program, work)
                within = within and found.processor <= limit and found.compiled == 0
                times = f"{found.clock:.2f} | {found.processor:.2f} | {_limit(limit)} | {found.compiled}"
                print(f"| {name} | {turn} | {times} |", flush=True)
    sys.exit(0 if within else 1)


def _limit(seconds: float) -> str:
    return "–" if math.isinf(seconds) else f"{seconds:g}"


def _example() -> dict[str, str]:
    return {
        "first example of the README": "import functools\nprint = functools.partial(print, flush=True)\n"
        + first_example()
    }


if __name__ == "__main__":
    main()
