"""Which element for a soft body: error of the static sag against the time of a dynamic step, on the bench beam.

    python -m benchmarks.elements [--poisson 0.45 0.49] [--json FILE]

Every element runs on meshes of 5n×n×n cubes. "step" is implicit Euler with one Newton iteration at dt = 10 ms
(corotated law, processor time, one thread), "floor" its factorization and one solve. "error" is the relative error of
the static tip sag of the neo-Hookean beam against the converged one, positive where it sags too far; "corotated" is the
same for the corotated law. Converged values are extrapolated from degree-2 tetrahedra on n = 2, 4, 8 (Aitken), since
the clamped edges are singular and slow the convergence down. A second table interpolates errors at equal step times.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import pliant as pl
from benchmarks.tasks.beam import DT, Variant, tip_sag
from benchmarks.tasks.measure import measure_steps

LAWS = {"error": pl.materials.NeoHookean, "corotated": pl.materials.Corotated}
ELEMENTS = {
    "tet4 plain": (Variant(element="tet4"), (2, 3, 4, 5, 6, 8, 10)),
    "tet4 default (smoothed)": (Variant(element="tet4", anti_locking=True), (1, 2, 3, 4, 5, 6, 8)),
    "tet10": (Variant(element="tet10"), (1, 2, 3, 4, 5)),
    "hex8 plain": (Variant(element="hex8"), (1, 2, 3, 4, 5, 6, 8)),
    "hex8 default (mean dilatation)": (Variant(element="hex8", anti_locking=True), (1, 2, 3, 4, 5, 6, 8)),
}
TIMES_MS = (1.0, 2.0, 5.0, 10.0, 30.0, 100.0)
"""Step times at which the accuracy of the elements is compared, ms."""


def static_sag(variant: Variant, poisson: float) -> float:
    world = variant.world(poisson=poisson)
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    return tip_sag(world, state.points(0))


def converged_sag(law: type, poisson: float) -> float:
    """Limit of the sags on n = 2, 4, 8 by Aitken's extrapolation, which fits a + b cᵏ."""
    sags = [static_sag(Variant((5 * n, n, n), element="tet10", law=law), poisson) for n in (2, 4, 8)]
    print(f"{law.__name__}, tet10, n = 2, 4, 8: " + ", ".join(f"{sag:.2f}" for sag in sags), flush=True)
    a, b, c = sags
    return c - (c - b) ** 2 / ((c - b) - (b - a))


def measured(variant: Variant, poisson: float, references: dict[str, float]) -> dict[str, Any]:
    world = variant.world(poisson=poisson)
    report = measure_steps(world, dt=DT, steps=20 if world.models[0].mesh.node_count < 1500 else 5).report()
    sags = {name: static_sag(replace(variant, law=law), poisson) for name, law in LAWS.items()}
    errors = {name: sags[name] / references[name] - 1.0 for name in LAWS}
    keep = ("nodes", "tets", "blocks", "step_ms", "floor_ms")
    return {key: report[key] for key in keep} | {"sag_mm": sags["error"]} | errors


def print_sizes(rows: dict[str, list[dict[str, Any]]]) -> None:
    print("| element | nodes | cells | blocks per node | step (ms) | floor (ms) | sag (mm) | error | corotated |")
    print("|---|---|---|---|---|---|---|---|---|")
    for element, entries in rows.items():
        for e in entries:
            width = (2 * e["blocks"] - e["nodes"]) / e["nodes"]
            times = f"{e['step_ms']:.2f} | {e['floor_ms']:.2f} | {e['sag_mm']:.2f}"
            errors = f"{100 * e['error']:+.1f} % | {100 * e['corotated']:+.1f} %"
            print(f"| {element} | {e['nodes']} | {e['tets']} | {width:.1f} | {times} | {errors} |")


def print_equal_times(rows: dict[str, list[dict[str, Any]]]) -> None:
    """Errors at equal step times, by linear interpolation of the signed error over the logarithm of the time."""
    print("| element | " + " | ".join(f"{t:g} ms" for t in TIMES_MS) + " |")
    print("|---|" + "---|" * len(TIMES_MS))
    for element, entries in rows.items():
        log_times = np.log([e["step_ms"] for e in entries])
        errors = [100 * e["error"] for e in entries]
        inside = [log_times[0] <= np.log(t) <= log_times[-1] for t in TIMES_MS]
        values = np.interp(np.log(TIMES_MS), log_times, errors)
        print(f"| {element} | " + " | ".join(f"{v:+.1f} %" if ok else "–" for v, ok in zip(values, inside)) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--poisson", type=float, nargs="+", default=[0.45, 0.49])
    parser.add_argument("--json", type=Path, help="write all numbers here")
    options = parser.parse_args()
    everything = {}
    for poisson in options.poisson:
        references = {name: converged_sag(law, poisson) for name, law in LAWS.items()}
        said = ", ".join(f"{law.__name__} {references[name]:.3f} mm" for name, law in LAWS.items())
        print(f"\nPoisson's ratio {poisson:g}; converged sag: {said}\n", flush=True)
        rows = {
            element: [measured(replace(variant, cells=(5 * n, n, n)), poisson, references) for n in sizes]
            for element, (variant, sizes) in ELEMENTS.items()
        }
        print_sizes(rows)
        print()
        print_equal_times(rows)
        everything[str(poisson)] = {"references_mm": references, "elements": rows}
    if options.json:
        options.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
