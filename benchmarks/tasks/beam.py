"""Bench "beam": a clamped beam of 200×40×40 mm drops and swings under gravity, dt = 10 ms, one Newton iteration a step.

E = 0.5 MPa, ν = 0.45, 1000 kg/m³, Rayleigh damping 0.01 s × K. The headline is the plain corotated tetrahedron on
20×4×4×6 cells, what the peers use (MuJoCo flex, Drake kLinearCorotated); variants report the default element,
neo-Hookean, and larger meshes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.other_programs import run_peers
from benchmarks.tasks.measure import Measurement, measure_steps
from pliant import materials, mesh
from pliant.core.errors import InputError
from pliant.materials import Material
from pliant.mesh import Mesh, regions
from pliant.mesh.elements import ElementName
from pliant.models.volume import Rayleigh, Volume
from pliant.world import Scene, World

SIZE = (0.2, 0.04, 0.04)
YOUNG, POISSON, DENSITY = 0.5e6, 0.45, 1000.0
GRAVITY, DT, STIFFNESS_DAMPING = 9.81, 0.01, 0.01
SETTLED = 200
"""Steps after which the headline beam hangs still, its sag within 0.01 mm of the static one."""


@dataclass(frozen=True)
class Variant:
    """One beam to measure, over so many steps."""

    cells: tuple[int, int, int] = (20, 4, 4)
    steps: int = 100
    law: type[Material] = materials.Corotated
    element: ElementName = "tet4"
    anti_locking: bool = False

    def world(self, *, poisson: float = POISSON) -> World:
        """The compiled beam."""
        scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
        material = self.law(young=YOUNG, poisson=poisson, density=DENSITY)  # type: ignore[call-arg]
        scene.add(
            Volume(
                self.mesh(),
                material,
                clamp=regions.plane(axis="x", at=0.0),
                anti_locking=self.anti_locking,
                damping=Rayleigh(stiffness=STIFFNESS_DAMPING),
                name="beam",
            )
        )
        return scene.compile()

    def mesh(self) -> Mesh:
        """The beam's mesh, clamped face at x = 0."""
        return mesh.box(SIZE, self.cells, element=self.element, symmetric="")

    @property
    def settings(self) -> dict[str, Any]:
        """What was measured, in words."""
        return {
            "element": self.element,
            "anti_locking": self.anti_locking,
            "material": self.law.__name__,
            "cells": list(self.cells),
            "dt": DT,
        }


HEADLINE = Variant(steps=SETTLED - 3)
VARIANTS = {
    "default_element": Variant(anti_locking=True),
    "neo_hookean": Variant(law=materials.NeoHookean),
    "neo_hookean_default_element": Variant(law=materials.NeoHookean, anti_locking=True),
    "10k": Variant((35, 7, 7), steps=30),
    "50k": Variant((60, 12, 12), steps=6),
}
_DRAKE = {"Corotated": "kLinearCorotated", "NeoHookean": "kNeoHookean"}


def run_beam(
    *,
    data: Path | None = None,
    headline: Variant = HEADLINE,
    variants: Mapping[str, Variant] = VARIANTS,
    peers: bool = True,
) -> dict[str, Any]:
    """A clamped beam under its weight, of the plain element; other elements, materials and sizes as "variants"."""
    if data is not None:
        raise InputError(f"bench 'beam' builds its own mesh and reads no data, got data={str(data)!r}; leave it out")
    before = _measure(headline)
    others = {name: _report(variant, _measure(variant)) for name, variant in variants.items()}
    asked = {"mujoco": ("mujoco_beam.py", SETTLED), "drake": _drake(headline, SETTLED)}
    if "neo_hookean" in variants:
        asked["drake_neo_hookean"] = _drake(variants["neo_hookean"], 60)
    found, errors = run_peers(asked, peer_setup(headline.mesh())) if peers else ({}, {})
    if "drake_neo_hookean" in found:
        others["neo_hookean"]["peers"] = {"drake": found.pop("drake_neo_hookean")}
    report = _report(headline, before.joined(_measure(headline)))
    return report | {"peers": found, "peer_errors": errors, "variants": others}


def peer_setup(beam: Mesh) -> dict[str, Any]:
    """Mesh and settings as peers read them, SI units."""
    return {
        "points": beam.points,
        "cells": beam.cells,
        "young": YOUNG,
        "poisson": POISSON,
        "density": DENSITY,
        "gravity": GRAVITY,
        "dt": DT,
        "stiffness_damping": STIFFNESS_DAMPING,
    }


def tip_sag(world: World, points: Any) -> float:
    """Mean drop of the free end at `points` (n, 3), in mm."""
    rest = world.volumes[0].rest
    tip = rest[:, 0] > SIZE[0] - 1e-9
    return -1e3 * float(np.mean((points - rest)[tip, 2]))


def _measure(variant: Variant) -> Measurement:
    return measure_steps(variant.world(), dt=DT, steps=variant.steps)


def _report(variant: Variant, measured: Measurement) -> dict[str, Any]:
    state = measured.state
    sag = tip_sag(state.world, state.points(0))
    return measured.report() | variant.settings | {"tip_sag_mm": sag, "simulated_s": state.time}


def _drake(variant: Variant, steps: int) -> tuple[Any, ...]:
    return "drake_beam.py", steps, _DRAKE[variant.law.__name__]
