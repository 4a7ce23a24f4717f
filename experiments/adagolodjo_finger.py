"""A finger with one rod: the translation of the rod's base that brings the fingertip to its target.

Adagolodjo, Renda, Duriez, IEEE RA-L 2021: section IV.B, figure 9 and table I (389 tetrahedra, 15 sections, 15 sliding
points, 4.31 ms a step); and the direct model with 8 sections beside a geometric cable (3.83 and 2.54 ms).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.adagolodjo_parts import DT, NOTES, RodFinger, channel_points, pulled, with_cable, with_rod
from experiments.following import Following, follow_point, times
from experiments.report import Report
from pliant.actuators.values import Displacement
from pliant.control import Effector, Inverse
from pliant.core.types import FloatArray
from pliant.stepping import ImplicitEuler

SECTIONS, DIRECT_SECTIONS = 15, 8
PULL = 0.008
"""Largest displacement of the drive on the path, m."""
SLACK_YOUNG = 1e4
"""A rod that hardly bends, Pa: 5 parts in a million of the other one."""
PAPER = {"step_ms": 4.31, "direct_rod_ms": 3.83, "direct_cable_ms": 2.54, "tetrahedra": 389, "sliding_points": 15}


def targets(bench: RodFinger, count: int, knots: int = 9) -> FloatArray:
    """Targets (count, 3) m of the fingertip: out to where `PULL` brings it and back, smooth through the places where it
    rests at `knots` pulls.
    """
    state, stepper = bench.world.initial_state(), ImplicitEuler(0.1)
    pulls, places = np.linspace(0.0, PULL, knots), [bench.robot.tip.at(state)]
    for pull in pulls[1:]:
        for fraction in np.linspace(0.2, 5.0, 25):
            amount = pull - (1.0 - min(fraction, 1.0)) * pulls[1]
            state, _ = stepper(bench.world, state, {bench.drive: Displacement(amount)})
        places.append(bench.robot.tip.at(state))
    way = 0.5 * PULL * (1.0 - np.cos(2.0 * np.pi * np.arange(1, count + 1) / count))
    fitted = np.polynomial.polynomial.polyfit(pulls / PULL, np.array(places), knots - 1)
    return np.ascontiguousarray(np.polynomial.polynomial.polyval(way / PULL, fitted).T)


def inverse_run(bench: RodFinger, path: FloatArray) -> Following:
    """The fingertip follows `path` (k, 3) m by the rod's base alone; the cost is the distance, as in the paper."""
    tip = Effector(bench.robot.tip, name="fingertip")
    stepper = ImplicitEuler(DT, solver=Inverse([tip], [bench.drive], energy_weight=0.0))
    return follow_point(bench.world, stepper, [{tip: target} for target in path], path, bench.robot.tip.at)


def difference(sections: int, pull: float = PULL) -> dict[str, Any]:
    """Tips with rods of 8 sections and of `sections` that hardly bend, and with a cable, all through two points in each
    block: their distances over the tip displacement; and the median ms of a step of a rod of 8
    sections and of a cable.
    """
    points = channel_points(in_base=2, in_phalanx=2)
    benches = {
        "slack": with_rod(sections, points=points, young=SLACK_YOUNG),
        "rod": with_rod(DIRECT_SECTIONS, points=points),
        "cable": with_cable(points=points),
    }
    tips, took = {}, {}
    for name, bench in benches.items():
        state, _, times_ms = pulled(bench, pull)
        tips[name], took[name] = bench.robot.tip.at(state), float(np.median(times_ms))
    way = np.linalg.norm(tips["cable"] - benches["cable"].robot.tip.position)
    return {
        "direct_rod_ms": took["rod"],
        "direct_cable_ms": took["cable"],
        "cable_difference_percent": 100.0 * float(np.linalg.norm(tips["slack"] - tips["cable"]) / way),
        "eight_sections_difference_percent": 100.0 * float(np.linalg.norm(tips["rod"] - tips["cable"]) / way),
    }


def run(*, full: bool) -> Report:
    """Follow the path with 15 sections, then pull a rod of 8 sections and a cable."""
    bench = with_rod(SECTIONS)
    path = targets(bench, 400 if full else 100)
    way = inverse_run(bench, path)
    metrics: dict[str, Any] = times(way) | {
        "mean_error_mm": 1e3 * float(way.errors.mean()),
        "max_error_mm": 1e3 * float(way.errors.max()),
        "final_error_mm": 1e3 * float(way.errors[-1]),
        "tip_way_mm": 1e3 * float(np.linalg.norm(path - bench.robot.tip.position, axis=1).max()),
        "tetrahedra": len(bench.robot.body.mesh.cells),
        "sliding_points": len(channel_points()),
        **difference(SECTIONS),
    }
    metrics.pop("contacts")
    notes = (
        *NOTES,
        f"targets lie where the finger rests under pulls of 0 to {1e3 * PULL:g} mm, out and back in {len(path)} steps",
        "cable_difference: a rod of 10 kPa, which hardly bends, against pl.Cable through the same eight points; "
        "eight_sections_difference: the rod of 8 sections and 2 GPa against it",
        "medians of all steps; the paper's times are averages on an i7 at 2.6 GHz, C++",
    )
    return Report(
        title="Finger with one rod, inverse (Adagolodjo 2021, figure 9 and table I)",
        metrics=metrics,
        paper=PAPER,
        notes=notes,
        run=way.run,
        full=full,
    )
