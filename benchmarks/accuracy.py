"""The bench beam against other simulators: sag, path of the tip, static shape.

    python -m benchmarks.accuracy [--json FILE] [--fine]

Prints a table, ours beside the reference. References by peers need their environment (`make bench-peers`); without it
their column is empty. `--fine` adds felupe on 30×6×6 quadratic cells, which takes some minutes.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import pliant as pl
from benchmarks.other_programs import run_peers
from benchmarks.tasks.beam import DT, Variant, peer_setup, tip_sag

PLAIN = Variant()
HALF_SECOND = 50  # steps
DRAKE_STEPS = {"drake": DT, "drake 5 ms": 0.005, "drake 2.5 ms": 0.0025}


@dataclass
class Row:
    """A line of the table: what, ours, the reference and where it comes from."""

    what: str
    ours: float
    reference: float | None
    source: str


def path(variant: Variant, steps: int, *, dt: float = DT, **options: Any) -> Any:
    """Sag of the tip after each step, mm."""
    world = variant.world()
    run = pl.simulate(world, pl.ImplicitEuler(dt, **options), until=steps * dt)
    return np.array([tip_sag(world, points) for points in run.points(0)[1:]])


def static(variant: Variant) -> float:
    world = variant.world()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    return tip_sag(world, state.points(0))


def rms(a: Any, b: Any) -> float:
    count = min(len(a), len(b))
    return float(np.sqrt(np.mean((np.asarray(a)[:count] - np.asarray(b)[:count]) ** 2)))


def sag_rows(peers: dict[str, dict[str, Any]]) -> list[Row]:
    """Where the beam comes to rest."""
    sags = {name: report["tip_sag_mm"] for name, report in peers.items()}
    settled = path(PLAIN, 200)[-1]
    neo_hookean = Variant(law=pl.materials.NeoHookean)
    plain, smoothed = static(neo_hookean), static(replace(neo_hookean, anti_locking=True))
    quadratic, hex27 = static(replace(neo_hookean, element="tet10")), sags.get("felupe hex27")
    fine = sags.get("felupe hex27 fine")
    more = (
        [Row("static sag, default neo-Hookean, 1920 tets", smoothed, fine, "felupe hex27, 30×6×6 cells")]
        if fine
        else []
    )
    return [
        *more,
        Row("sag after 2 s, plain corotated, 1920 tets", settled, sags.get("drake"), "Drake kLinearCorotated"),
        Row("the same", settled, sags.get("mujoco"), "MuJoCo flex, not converged in its steps"),
        Row("sag after 2 s, plain corotated, 15360 tets", path(Variant((40, 8, 8)), 200)[-1], None, ""),
        Row("static sag, plain neo-Hookean, 1920 tets", plain, sags.get("felupe tet4"), "felupe, same mesh"),
        Row("static sag, default neo-Hookean, 1920 tets", smoothed, hex27, "felupe hex27, 20×4×4 cells"),
        Row("static sag, neo-Hookean tet10, 20×4×4 cubes", quadratic, hex27, "felupe hex27, 20×4×4 cells"),
    ]


def path_rows(peers: dict[str, dict[str, Any]]) -> list[Row]:
    """How it swings: RMS over the first half second."""
    converged = path(PLAIN, HALF_SECOND, tolerance=1e-8)
    rows = []
    for iterations in (1, 2):
        error = rms(path(PLAIN, HALF_SECOND, newton_iterations=iterations), converged)
        rows.append(
            Row(f"tip path of 0.5 s, {iterations} Newton iteration(s), RMS", error, 0.0, "Newton to 1e-8, same dt")
        )
    for name, dt in DRAKE_STEPS.items():
        if name in peers:
            error = rms(path(PLAIN, round(0.5 / dt), dt=dt), peers[name]["tip_path_mm"])
            rows.append(
                Row(f"tip path of 0.5 s, dt {1e3 * dt:g} ms, RMS", error, 0.0, "Drake kLinearCorotated, same dt")
            )
    return rows


def ask_peers(*, fine: bool) -> dict[str, dict[str, Any]]:
    """Reports of the peers; those that fail are named on screen."""
    setup = peer_setup(PLAIN.mesh())
    commands: dict[str, tuple[Any, ...]] = {
        "mujoco": ("mujoco_beam.py", 200),
        "felupe tet4": ("felupe_beam.py", "tet4"),
        "felupe hex27": ("felupe_beam.py", "hex27"),
    }
    if fine:
        commands["felupe hex27 fine"] = ("felupe_beam.py", "hex27", 30, 6, 6)
    reports, errors = run_peers(commands, setup)
    for name, dt in DRAKE_STEPS.items():
        steps = 200 if dt == DT else round(0.5 / dt)
        more, failed = run_peers({name: ("drake_beam.py", steps, "kLinearCorotated")}, setup | {"dt": dt})
        reports, errors = reports | more, errors | failed
    for name, error in errors.items():
        print(f"{name} failed: {error}")
    return reports


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="write all numbers here")
    parser.add_argument("--fine", action="store_true", help="felupe also on 30×6×6 cells")
    options = parser.parse_args()
    peers = ask_peers(fine=options.fine)
    rows = sag_rows(peers) + path_rows(peers)
    print("| quantity (mm) | Pliant | reference | of |\n|---|---|---|---|")
    for row in rows:
        reference = "" if row.reference is None else f"{row.reference:.3f}"
        print(f"| {row.what} | {row.ours:.3f} | {reference} | {row.source} |")
    if options.json:
        options.json.write_text(json.dumps([vars(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
