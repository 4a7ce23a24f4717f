"""What the rod's radius does: the thicker it is, the less the finger bends under the same pulling force.

Adagolodjo, Renda, Duriez, IEEE RA-L 2021: section IV.A, figure 7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.adagolodjo_parts import NOTES, pulled, with_rod
from experiments.report import Report
from pliant.actuators.values import Force
from pliant.core.types import FloatArray

FORCE = 1.5
"""Pulling force, N."""
SECTIONS = 15
RADII, FULL_RADII = (0.1, 0.4, 0.8), (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Radii of the rod, mm."""


@dataclass(frozen=True)
class Bent:
    """The finger at rest: tip displacement (m), rotation angle of the rod's tip (rad), the pull (m)."""

    way: float
    angle: float
    pull: float


def bent(radius: float, *, force: float = FORCE) -> Bent:
    """The finger with a rod of `radius` m under `force` N."""
    bench = with_rod(SECTIONS, radius=radius)
    state, info, _ = pulled(bench, force, kind=Force)
    curve: FloatArray = bench.curve(state)
    end = curve[-1] - curve[-2]
    return Bent(
        way=float(np.linalg.norm(bench.robot.tip.at(state) - bench.robot.tip.position)),
        angle=float(np.arccos(np.clip(end[0] / np.linalg.norm(end), -1.0, 1.0))),
        pull=float(info.actuation(bench.drive)[0]),
    )


def run(*, full: bool) -> Report:
    """Pull the finger by the same force with thin and thick rods."""
    radii = FULL_RADII if full else RADII
    found = {radius: bent(1e-3 * radius) for radius in radii}
    ways = np.array([one.way for one in found.values()])
    angles = np.array([one.angle for one in found.values()])
    metrics = {
        "thin_tip_way_mm": 1e3 * float(ways[0]),
        "thick_tip_way_mm": 1e3 * float(ways[-1]),
        "thin_tip_angle_deg": float(np.degrees(angles[0])),
        "thick_tip_angle_deg": float(np.degrees(angles[-1])),
        "less_with_every_radius": bool((np.diff(ways) < 0.0).all() and (np.diff(angles) < 0.0).all()),
    }
    rows = [
        f"{radius:g} mm: tip {1e3 * one.way:.2f} mm, {np.degrees(one.angle):.1f}°, pull {1e3 * one.pull:.2f} mm"
        for radius, one in found.items()
    ]
    notes = (*NOTES, f"force {FORCE:g} N, {SECTIONS} sections; by radius: " + "; ".join(rows))
    return Report(
        title="Radius of the rod in the finger (Adagolodjo 2021, figure 7)",
        metrics=metrics,
        paper={"less_with_every_radius": True},
        notes=notes,
        full=full,
    )
