"""How many sections a rod needs: the shape of the rod in the pulled finger against that with 80 sections.

Adagolodjo, Renda, Duriez, IEEE RA-L 2021: section IV.A, figure 6: from six sections on the rod passes four targets that
were placed on a rod of 80.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from experiments.adagolodjo_bending import BentRod, write_bending
from experiments.adagolodjo_parts import NOTES, channel_points, pulled, with_rod
from experiments.report import Report
from pliant.core.types import FloatArray

FINEST = 80  # sections of the reference
PULL = 0.008
"""Pull of the base, m."""
COUNTS, FULL_COUNTS = (3, 6, 15), (3, 4, 5, 6, 8, 10, 15, 20, 40)
"""Sections that are compared with it, by default and with --full."""


def bent(sections: int, *, pull: float = PULL) -> tuple[FloatArray, BentRod]:
    """Places (101, 3) m along the rod in the finger at rest under `pull` m, and the rod there."""
    bench = with_rod(sections, points=channel_points(in_base=2, in_phalanx=2))
    state, _, _ = pulled(bench, pull)
    return bench.curve(state), BentRod.of(bench, state)


def shape(sections: int, *, pull: float = PULL) -> FloatArray:
    """Places (101, 3) m along the rod in the finger at rest under `pull` m."""
    return bent(sections, pull=pull)[0]


def deviations(shapes: dict[int, FloatArray], finest: FloatArray) -> dict[int, float]:
    """Largest distance of the places (101, 3) m of each rod, by the number of its sections, from those of the `finest`,
    over its length.
    """
    length = float(np.linalg.norm(np.diff(finest, axis=0), axis=1).sum())
    return {count: float(np.linalg.norm(made - finest, axis=1).max()) / length for count, made in shapes.items()}


def run(*, full: bool) -> Report:
    """Pull the finger with rods of three to eighty sections."""
    counts = FULL_COUNTS if full else COUNTS
    rods = {count: bent(count) for count in (*counts, FINEST)}
    finest = rods[FINEST][0]
    found = deviations({count: rods[count][0] for count in counts}, finest)
    table = ", ".join(f"{count}: {100.0 * value:.3f} %" for count, value in found.items())
    metrics = {
        "deviation_six_sections": found[6],
        "deviation_three_sections": found[3],
        "sections_within_percent": min((count for count, value in found.items() if value < 0.01), default=FINEST),
        "finest_sections": FINEST,
    }
    notes = (
        *NOTES,
        f"the base is pulled by {1e3 * PULL:g} mm; deviation is the largest distance at equal arc lengths from the rod "
        "with 80 sections, over the rod's length; the paper judges by eye at four places",
        f"largest deviation by number of sections: {table}",
    )
    return Report(
        title="Sections of the rod in the finger (Adagolodjo 2021, figure 6)",
        metrics=metrics,
        paper={"sections_within_percent": 6, "finest_sections": 80},
        notes=notes,
        pictures=partial(write_bending, [rod for _, rod in rods.values()], targets=finest[[30, 53, 76, 100]]),
        full=full,
    )
