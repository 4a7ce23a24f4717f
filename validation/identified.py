"""Real robots fitted by `pl.identify`, with the intervals of what it finds.

The tentacle is fitted to all of its poses, as its published model was: modulus, density and how the drawing lies about
the base marker. Each pose is an equilibrium from rest. The beam is fitted to its sag at both loads.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import pliant as pl
from pliant.core.types import FloatArray
from pliant.identification import Experiment, Frame, Identified, Markers, Unknown
from validation.beam import LOADS, REST, take
from validation.beam_comsol import COMSOL
from validation.row import Row
from validation.silicone_beam import CELLS, CENTERS, DENSITY, EDGE, FEET, POISSON, YOUNG, beam, scene
from validation.tentacle import ARCS, OFFSETS, PULLEY, TORQUES, Parameters, measured, tentacle
from validation.tentacle_fit import PUBLISHED

FIRST = Parameters(315e3, 1318.0, 0.1, (0.0, 0.0, 0.0))
"""The published fit of the tentacle, where the search begins; the friction of its tendons stays."""
TENTACLE_NOISE = 5e-3
"""Expected error of a marker of the tentacle, m: that of its model, far above that of the cameras."""
BEAM_NOISE = 3e-4
"""The same of the beam, m: takes differ by so much."""


def tentacle_rows(data: Path) -> list[Row]:
    """Rms distance of each marker over the eight poses, beside that of the published fit to the same poses."""
    found, unknowns = fitted_tentacle(data)
    distances = np.array([np.linalg.norm(left, axis=-1).ravel() for left in found.residuals.values()])
    rms = 1e3 * np.sqrt(np.mean(distances**2, axis=0))
    note = f"identified on all poses: {_values(found, unknowns)}; {_frame(found)}"
    return [
        Row(
            quantity=f"rms of marker {k + 1}, identified on all poses", ours=float(rms[k]), reference=0.0, unit="mm",
            published=1e3 * PUBLISHED[k], allowed=1e3 * PUBLISHED[k], note="" if k else note,
        )
        for k in range(4)
    ]  # fmt: skip


@lru_cache(maxsize=1)
def fitted_tentacle(data: Path) -> tuple[Identified, tuple[Unknown, ...]]:
    """The fit to all poses."""
    world, rod, cables = tentacle(FIRST)
    frame, feet = Frame(name="base"), [(0.0, 0.0, -arc) for arc in ARCS]
    poses = []
    for name, torques in TORQUES.items():
        seen = Markers(
            rod, feet, values=measured(data, name), noise=TENTACLE_NOISE, offsets=OFFSETS, frame=frame, name="markers"
        )
        controls = {cable: pl.Force(torque / PULLEY) for cable, torque in zip(cables, torques, strict=True)}
        poses.append(Experiment(seen, stepper=pl.QuasiStatic(), control=controls, name=name))
    unknowns = (
        Unknown(pl.parameters.Material(rod, "young"), log=True, lower=1e5, upper=1e6, name="E (Pa)"),
        Unknown(pl.parameters.Material(rod, "density"), log=True, lower=500.0, upper=3e3, name="density (kg/m³)"),
    )
    return _identified(world, poses, unknowns), unknowns


def beam_rows(data: Path) -> list[Row]:
    """Rms of the tip markers at rest with one modulus for both loads, beside that of the authors' model."""
    found, unknowns = fitted_beam(data)
    note = f"identified on both loads: {_values(found, unknowns)}; published: feet of the markers in the COMSOL model"
    made: list[Row] = []
    for case, left in zip(LOADS, found.residuals.values(), strict=True):
        moved = at_rest(data, case.takes)
        theirs = 1e-3 * np.array(COMSOL[case.title]) - np.array(FEET)
        made.append(
            Row(
                quantity=f"rms of the tip markers at rest, {case.title}, identified", ours=_rms(left), reference=0.0,
                unit="mm", published=_rms(theirs - moved), allowed=_rms(theirs - moved),
                note="" if made else note,
            )
        )  # fmt: skip
    return made


@lru_cache(maxsize=1)
def fitted_beam(data: Path) -> tuple[Identified, tuple[Unknown, ...]]:
    """The fit to the sag at both loads."""
    volume = beam(pl.materials.NeoHookean(young=YOUNG, poisson=POISSON, density=DENSITY), cells=CELLS)
    made = scene(volume, marked=True)
    hung = made.add(pl.PointLoad(volume, EDGE, force=(0.0, 0.0, 0.0)))
    offsets = np.subtract(CENTERS, FEET)
    sags = []
    for case in LOADS:
        seen = Markers(
            volume, FEET, values=np.array(CENTERS) + at_rest(data, case.takes), noise=BEAM_NOISE, offsets=offsets,
            radius=0.006, name="markers",
        )  # fmt: skip
        control = {hung: pl.Force((0.0, 0.0, -case.weight))}
        sags.append(Experiment(seen, stepper=pl.QuasiStatic(), control=control, name=case.title))
    unknowns = (Unknown(pl.parameters.Material(volume, "young"), log=True, name="E (Pa)"),)
    return _identified(made.compile(), sags, unknowns), unknowns


def at_rest(data: Path, takes: dict[str, int]) -> FloatArray:
    """Mean displacement (3, 3), m, of the tip markers at rest over the takes, from the level beam."""
    return np.asarray(
        np.mean([take(data, name, frame)[0][-REST:].mean(axis=0) for name, frame in takes.items()], axis=0)
    )


def _identified(world: pl.World, data: list[Experiment], unknowns: tuple[Unknown, ...]) -> Identified:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pl.PliantWarning)  # what it warns of is in its report
        return pl.identify(world, data, list(unknowns), tolerance=1e-6)


def _rms(distances: Any) -> float:
    """Root mean square of the lengths of vectors (…, 3), m, in mm."""
    return 1e3 * float(np.sqrt(np.mean(np.sum(np.square(distances), axis=-1))))


def _values(found: Identified, unknowns: tuple[Unknown, ...]) -> str:
    parts = []
    for each in unknowns:
        low, high = found.intervals[each]
        parts.append(f"{each.label} {found[each]:.4g} ({low:.4g} … {high:.4g})")
    return ", ".join(parts)


def _frame(found: Identified) -> str:
    (motion,) = found.frames.values()
    turn = np.degrees(np.arccos(np.clip(0.5 * (np.trace(motion.rotation) - 1.0), -1.0, 1.0)))
    away = 1e3 * float(np.linalg.norm(motion.translation))
    return f"the drawing is turned by {turn:.1f}° about the base marker and moved by {away:.1f} mm"
