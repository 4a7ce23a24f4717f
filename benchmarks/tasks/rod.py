"""Bench of a single rod: a clamped rod of eight sections swings under gravity; also fifteen sections, and six strains.

The rod is that of a beam of 200 × 40 × 40 mm of silicone: of the same bending stiffness, lightly damped. Beside the
time of a step of 10 ms the report has that of 10 ms of motion in steps that are small enough to be accurate
("accurate_ms", with its "accurate_dt"): the tip after half a second differs there from that of steps a quarter as long
by "accurate_error", as a fraction of the rod. "static_sag_mm" is how far the tip hangs down at rest. Variants
"finger_0_mm"… are the finger with a rod as its cable (`bench.rod_finger`), with a folder of side-by-side meshes the one
there.

Peers are explicit: their "step_ms" is the time of 10 ms of motion in the short steps that they need. PyElastica's rod
hangs still at its end; SoRoMoX, of the same sections, is too slow to wait for that: its sag is that of "simulated_s".
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.other_programs import run_peers
from benchmarks.tasks.measure import measure_steps
from benchmarks.tasks.rod_finger import rod_finger_reports
from pliant.models.beam import Circle
from pliant.models.rod import Rod
from pliant.models.slender_memory import STRAINS
from pliant.models.volume import Rayleigh
from pliant.stepping import ImplicitMidpoint, QuasiStatic
from pliant.world import Scene, World

DT, GRAVITY = 0.01, 9.81  # s, m/s²
ACCURATE_DT = 5e-3  # s, at which the tip is within the reported error of steps a quarter as long
ROD: dict[str, Any] = {
    "length": 0.2,
    "section": Circle((4.0 * 0.04**4 / 12.0 / np.pi) ** 0.25),
    "young": 0.5e6,
    "poisson": 0.45,
    "density": 1000.0,
    "damping": Rayleigh(mass=0.1, stiffness=0.01),
}
"""Size and material of the rod, SI units."""
VARIANTS: dict[str, dict[str, Any]] = {
    "fifteen_sections": {"sections": 15},
    "six_strains": {"sections": 8, "strains": STRAINS},
}
PEERS = {"pyelastica": ("elastica_rod.py", 20, 1e-4, 3.0), "soromox": ("soromox_rod.py", 8, 5e-5, 0.1, 500.0)}
"""Scripts of the peers with elements, time step (s) and time (s); SoRoMoX with the damping of its material (Pa s)."""


def run_rod(
    *,
    data: Path | None = None,
    steps: int = 300,
    variants: Mapping[str, dict[str, Any]] = VARIANTS,
    fingers: bool = True,
    peers: bool = True,
) -> dict[str, Any]:
    """A swinging rod of eight sections; other discretizations, and a finger with a rod in it, as "variants"."""
    report = _report(_world(sections=8), steps)
    others = {name: _report(_world(**options), steps) for name, options in variants.items()}
    if fingers:
        others |= rod_finger_reports(data, steps)
    found, errors = run_peers(PEERS, _peer_setup()) if peers else ({}, {})
    return report | {"peers": found, "peer_errors": errors, "variants": others}


def _peer_setup() -> dict[str, Any]:
    """Rod and settings as peers read them, SI units."""
    own = {name: ROD[name] for name in ("length", "young", "poisson", "density")}
    return own | {"radius": ROD["section"].radius, "gravity": GRAVITY, "dt": DT}


def _world(**options: Any) -> World:
    scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(Rod(**{**ROD, **options}))
    return scene.compile()


def _report(world: World, steps: int) -> dict[str, Any]:
    report = measure_steps(world, dt=DT, steps=steps).report()
    coarse, seconds = _motion(world, ACCURATE_DT)
    fine, _ = _motion(world, 0.25 * ACCURATE_DT)
    hanging, _ = QuasiStatic()(world, world.initial_state())
    return report | {
        "sections": world.models[0].spec.sections,
        "unknowns": int((~world.models[0].constrained).sum()),
        "static_sag_mm": -1e3 * float(hanging.points(0)[-1, 2]),
        "accurate_dt": ACCURATE_DT,
        "accurate_ms": 1e3 * seconds,
        "accurate_error": float(np.linalg.norm(coarse - fine)) / ROD["length"],
    }


def _motion(world: World, dt: float) -> tuple[Any, float]:
    """The tip (3,) m after half a second of the midpoint rule with two linear solves a step, and the seconds that 10 ms
    of it took (median).
    """
    stepper, state, times = ImplicitMidpoint(dt, tolerance=None, newton_iterations=2), world.initial_state(), []
    for _ in range(round(0.5 / DT)):
        begin = perf_counter()
        for _ in range(round(DT / dt)):
            state, _ = stepper(world, state)
        times.append(perf_counter() - begin)
    return state.points(0)[-1], float(np.median(times))
