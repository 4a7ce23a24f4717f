"""A clamped rod that swings under gravity without damping, against programs for rods on the same rod.

Programs run in an environment of their own: `PLIANT_PEERS`, or .venv-peers (`make bench-peers`).
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import pliant as pl
from pliant.core.errors import MissingExtraError
from pliant.core.types import FloatArray
from pliant.models.slender_memory import STRAINS
from validation.row import Row

SCRIPTS = Path(__file__).parents[1] / "benchmarks" / "peers"
SETUP = {"length": 0.3, "radius": 0.01, "young": 1e6, "poisson": 0.45, "density": 1e3, "gravity": 9.81, "dt": 0.01}
"""Rod and interval of the frames, SI units."""
SECONDS = 0.4


def ours(sections: int = 16, dt: float = 0.002) -> FloatArray:
    """Tip (frames, 3), m, every 10 ms: six strains, midpoint rule."""
    scene = pl.Scene(gravity=(0.0, 0.0, -SETUP["gravity"]))
    material = {name: SETUP[name] for name in ("young", "poisson", "density")}
    section = pl.sections.Circle(SETUP["radius"])
    rod = scene.add(pl.Rod(SETUP["length"], sections, section=section, strains=STRAINS, **material))  # type: ignore[arg-type]
    run = pl.simulate(scene.compile(), pl.ImplicitMidpoint(dt), until=SECONDS, progress=False)
    return np.asarray(run.points(rod)[:: round(SETUP["dt"] / dt), -1][1:])


def peer(script: str, *arguments: Any) -> FloatArray:
    """Tips (frames, 3), m, of a script of benchmarks/peers; MissingExtraError where its program is absent."""
    python = Path(os.environ.get("PLIANT_PEERS", ".venv-peers")) / "bin" / "python"
    if not python.exists():
        raise MissingExtraError(f"{python} does not exist: `make bench-peers` makes the environment of other programs")
    with TemporaryDirectory() as folder:
        setup = Path(folder) / "setup.npz"
        np.savez(setup, allow_pickle=False, **SETUP)
        command = [str(python), str(SCRIPTS / script), str(setup), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"peer"')]
    if done.returncode or not lines:
        last = done.stderr.strip().splitlines()[-1:] or ["no output"]
        raise MissingExtraError(f"{script} did not run in {python}: {last[0]}")
    return np.array(json.loads(lines[-1])["tips"])


def distance(tips: FloatArray, others: FloatArray) -> float:
    """Root mean square of the distance of two motions of the tip, in % of the rod's length."""
    return float(100.0 * np.sqrt(((tips - others) ** 2).sum(axis=1).mean()) / SETUP["length"])


def pyelastica() -> list[Row]:
    """PyElastica with 20 and 40 elements, and what these tend to at its first order."""
    coarse, fine = (peer("elastica_swing.py", count, 1e-3 / count, SECONDS) for count in (20, 40))
    tips, note = ours(), "PyElastica converges with the first order of the element, as its clamped end does"
    limit, drop = 2.0 * fine - coarse, "largest drop of the tip"
    return [
        Row(quantity="rms of the tip, 20 elements", ours=distance(tips, coarse), reference=0.0, unit="% of L"),
        Row(quantity="rms of the tip, 40 elements", ours=distance(tips, fine), reference=0.0, unit="% of L", note=note),
        Row(
            quantity="rms of the tip, extrapolated", ours=distance(tips, limit), reference=0.0, unit="% of L",
            allowed=1.0,
        ),
        Row(
            quantity=f"{drop}, extrapolated", ours=float(tips[:, 2].min()), reference=float(limit[:, 2].min()),
            unit="m", allowed=0.01,
        ),
    ]  # fmt: skip
