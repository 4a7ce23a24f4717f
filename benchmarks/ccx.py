"""CalculiX (`ccx`, Debian package calculix-ccx) as a function: the text of an input file in, displacements out.

Lengths in mm, forces in N and stresses in MPa inside the input; metres outside.
"""

from __future__ import annotations

import re
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.types import FloatArray

PACKAGE = "Debian: apt-get install calculix-ccx"
ELEMENTS = {"tet4": "C3D4", "tet10": "C3D10", "hex8": "C3D8"}
"""CalculiX' names of elements of the same nodes in the same order."""


@dataclass(frozen=True)
class Answer:
    """What CalculiX printed last: `moved` (n, 3), m, and `forces` (n, 3), N, at the nodes of its *NODE PRINT, zero
    elsewhere; its increments and seconds of processor time; and why it failed, "" where it did not.
    """

    moved: FloatArray
    forces: FloatArray
    increments: int = 0
    seconds: float = 0.0
    failure: str = ""


def installed() -> bool:
    """Whether `ccx` is on the path."""
    return shutil.which("ccx") is not None


def version() -> str:
    """Version of `ccx`."""
    said = subprocess.run(["ccx", "-v"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"Version\s+(\S+)", said)
    return found.group(1) if found else "of unknown version"


def solve(text: str, count: int, *, limit: int = 600) -> Answer:
    """Run the input `text` on one thread for at most `limit` seconds; `count` is the number of nodes."""
    nothing = np.zeros((count, 3))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "job.inp").write_text(text, encoding="ascii")
        environment = {"OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}
        # ccx is ended by the processor time it may take, which a busy machine does not change
        command = ["bash", "-c", f"ulimit -t {limit}; exec ccx job"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        output = Path(folder, "job.dat")
        printed = output.read_text(encoding="ascii") if output.exists() else ""
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return Answer(nothing, nothing, failure=f"not done within {limit} s of processor time")
    moved = _last(printed, "displacements", count)
    if moved is None or done.returncode or "best solution and residuals" in done.stdout:
        reason = next((line for line in done.stdout.splitlines() if "ERROR" in line), "no displacements")
        return Answer(nothing, nothing, failure=f"did not converge ({reason.strip()})")
    forces = _last(printed, "forces", count)
    increments = len(re.findall(r"^ increment\s+\d+ attempt", done.stdout, re.M))
    return Answer(1e-3 * moved, nothing if forces is None else forces, increments, seconds)


def _last(printed: str, what: str, count: int) -> FloatArray | None:
    """Rows of the last table called `what`, (count, 3); None where there is none."""
    blocks = re.split(rf"{what} \(.*time\s+", printed)[1:]
    if not blocks:
        return None
    table = np.zeros((count, 3))
    for line in blocks[-1].split("\n", 1)[1].splitlines():
        numbers = line.split()
        if len(numbers) != 4:
            if numbers:
                break
            continue
        table[int(numbers[0]) - 1] = [float(number) for number in numbers[1:]]
    return table


def mesh_lines(points: Any, cells: Any, element: str, name: str, *, first: int = 1) -> list[str]:
    """Nodes (m) and elements of the set `name`; numbers of both start at `first`."""
    lines = [f"*NODE, NSET=N{name}"]
    lines += [f"{k}, {x:.12g}, {y:.12g}, {z:.12g}" for k, (x, y, z) in enumerate(1e3 * np.asarray(points), first)]
    lines.append(f"*ELEMENT, TYPE={ELEMENTS[element]}, ELSET={name}")
    return lines + [numbered(k, np.asarray(cell) + first) for k, cell in enumerate(cells, first)]


def numbered(number: int, nodes: Iterable[int]) -> str:
    """A line of a number and the nodes that belong to it."""
    return ", ".join(map(str, [number, *nodes]))


def rubber_lines(name: str, c1: float, c2: float, bulk: float) -> list[str]:
    """Mooney–Rivlin (Pa) of the elements `name`; CalculiX knows U = κ/2 (J − 1)² only."""
    coefficients = f"{1e-6 * c1:.12g}, {1e-6 * c2:.12g}, {2e6 / bulk:.12g}"
    lines = [f"*MATERIAL, NAME={name}", "*HYPERELASTIC, MOONEY-RIVLIN", coefficients]
    return [*lines, f"*SOLID SECTION, ELSET={name}, MATERIAL={name}"]
