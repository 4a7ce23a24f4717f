"""A clamped rod that swings under gravity without damping, against programs for rods on the same rod.

Their answers are computed where they are installed and read from `peers/figures.json` elsewhere.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

import pliant as pl
from pliant.core.types import FloatArray
from pliant.models.slender_memory import STRAINS
from validation.peers.asked import Answer, from_script
from validation.row import Row

SETUP = {"length": 0.3, "radius": 0.01, "young": 1e6, "poisson": 0.45, "density": 1e3, "gravity": 9.81, "dt": 0.01}
"""Rod and interval of the frames, SI units."""
SECONDS = 0.4
ELASTICA = (20, 40)
"""Elements of PyElastica, whose step is 1 ms over their number."""
SOROMOX = (4, 8)
"""Sections of constant strain of SoRoMoX."""
SHORT = 0.2
"""Seconds that SoRoMoX is followed: its explicit steps are small."""


@lru_cache(maxsize=8)
def ours(sections: int = 16, dt: float = 0.002) -> FloatArray:
    """Tip (frames, 3), m, every 10 ms: six strains, midpoint rule."""
    scene = pl.Scene(gravity=(0.0, 0.0, -SETUP["gravity"]))
    material = {name: SETUP[name] for name in ("young", "poisson", "density")}
    section = pl.sections.Circle(SETUP["radius"])
    rod = scene.add(pl.Rod(SETUP["length"], sections, section=section, strains=STRAINS, **material))  # type: ignore[arg-type]
    run = pl.simulate(scene.compile(), pl.ImplicitMidpoint(dt), until=SECONDS, progress=False)
    return np.asarray(run.points(rod)[:: round(SETUP["dt"] / dt), -1][1:])


def elastica(count: int) -> Answer:
    """PyElastica with so many elements."""
    return from_script(f"elastica-{count}", "elastica_swing.py", SETUP, count, 1e-3 / count, SECONDS)


def soromox(count: int) -> Answer:
    """SoRoMoX with so many sections."""
    return from_script(f"soromox-{count}", "soromox_swing.py", SETUP, count, 1e-4, SHORT)


def distance(tips: FloatArray, others: FloatArray) -> float:
    """Root mean square of the distance of two motions of the tip, in % of the rod's length."""
    return float(100.0 * np.sqrt(((tips - others) ** 2).sum(axis=1).mean()) / SETUP["length"])


def pyelastica() -> list[Row]:
    """PyElastica with 20 and 40 elements, and what these tend to at its first order."""
    answers = [elastica(count) for count in ELASTICA]
    coarse, fine = (answer.array("tips") for answer in answers)
    tips = ours()
    note = f"PyElastica converges with the first order of the element, as its clamped end does ({answers[1].said_by})"
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


def soromox_rows() -> list[Row]:
    """SoRoMoX with as many sections as ours, then both with more."""
    made = []
    for count in SOROMOX:
        answer = soromox(count)
        theirs = answer.array("tips")[1:]
        tips = ours(count, 5e-4)[: len(theirs)]
        quantity = f"rms of the tip, {count} sections in both"
        apart = distance(tips, theirs)
        made.append(Row(quantity=quantity, ours=apart, reference=0.0, unit="% of L", allowed=0.1, note=answer.said_by))
    limit = (4.0 * soromox(SOROMOX[1]).array("tips") - soromox(SOROMOX[0]).array("tips"))[1:] / 3.0
    converged = "rms of the tip, converged: ours of 16 sections, SoRoMoX extrapolated"
    return [
        *made,
        Row(quantity=converged, ours=distance(ours()[: len(limit)], limit), reference=0.0, unit="% of L", allowed=1.0),
    ]
