"""Checks of bodies: size, density, stiffness, weight against stiffness, walls of one cell, lumped mass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.mesh.queries import Locator
from pliant.mesh.thickness import wall_chords
from pliant.models.body import Model
from pliant.models.volume import VolumeModel
from pliant.models.volume.mass import cell_masses
from pliant.models.volume.step_time import model_step_ms
from pliant.review.finding import Finding
from pliant.review.frequency import model_frequency

SIZES = (2e-4, 5.0)
"""Largest extent of a body, m, from a micro gripper to a tentacle."""
DENSITIES = (10.0, 23e3)
"""From foam to tungsten alloys, kg/m³."""
STIFFNESS = (1e3, 2e12)
"""Young's modulus, from the softest gels to diamond, Pa."""
_SAG = 3.0
"""Sag under its own weight, in lengths of the body, beyond which it is no robot but a liquid."""
_ONE_CELL = 0.5
"""Fraction of the chords through thin walls that meet one layer of cells, from which on it is told."""
_THINNEST = 0.05
"""Fraction of the walls whose thickness counts as that of the thinnest: a single sharp rim is no wall."""
_INERTIA = {False: 0.05, True: 0.6}
"""Error of a moment of inertia that is told: of bodies that move freely, and roll or spin, and of supported ones, which
may twist; two cells across a bar have 0.5 about its axis.
"""
_LUMPED = 0.3
"""Fraction of the mass of a body at one node that is told."""


def body_findings(model: Model, gravity: float) -> Iterator[Finding]:
    """Findings about one body under `gravity`, m/s²."""
    name, spec = repr(model.name), model.spec
    q, _ = model.initial()
    points = model.node_positions(q)
    extent = float(np.ptp(points, axis=0).max()) if len(points) > 1 else 0.0
    if extent and not SIZES[0] <= extent <= SIZES[1]:
        yield Finding(
            f"size of {name}", _length(extent), "0.2 mm to 5 m",
            'coordinates are metres: pl.mesh.load(…, unit="mm"), or mesh.scaled(1e-3)', fault=True,
        )  # fmt: skip
    yield from _material_findings(name, spec)
    if is_volume(spec):
        yield from _volume_findings(name, VolumeModel.require(model, name))
    frequency = model_frequency(model)
    if frequency > 0.0 and gravity > 0.0 and extent > 0.0:
        sag = gravity / (2.0 * np.pi * frequency) ** 2
        if sag > _SAG * extent:
            yield Finding(
                f"stiffness of {name}", f"it sags by about {_length(sag)} under its own weight",
                f"less than its length of {_length(extent)}", "check young (Pa, not MPa), density and sizes",
                fault=True,
            )  # fmt: skip


def _material_findings(name: str, spec: Any) -> Iterator[Finding]:
    """Density and stiffness of the materials of a body."""
    materials = [spec.material, *(material for _, material in spec.inclusions)] if is_volume(spec) else [spec]
    for material in materials:
        density, young = getattr(material, "density", None), getattr(material, "young", None)
        if density is not None and np.ndim(density) == 0 and not DENSITIES[0] <= density <= DENSITIES[1]:
            yield Finding(
                f"density of {name}", f"{density:g} kg/m³", "10 to 23 000 kg/m³",
                "silicone has about 1080: densities are kg/m³, not g/cm³ (× 1000)", fault=True,
            )  # fmt: skip
        if young is not None and np.ndim(young) == 0 and not STIFFNESS[0] <= young <= STIFFNESS[1]:
            yield Finding(
                f"Young's modulus of {name}", f"{young:g} Pa", "1 kPa to 2 TPa",
                "silicone has 0.05e6 to 2e6: moduli are Pa, not MPa (× 1e6)", fault=True,
            )  # fmt: skip
    if getattr(spec, "mass", None) is not None and is_volume(spec):
        density = float(np.sum(spec.mass)) / spec.mesh.volume
        if not DENSITIES[0] <= density <= DENSITIES[1]:
            yield Finding(
                f"mass of {name}", f"{np.sum(spec.mass):g} kg, {density:.3g} kg/m³", "10 to 23 000 kg/m³",
                "masses are kg, not g", fault=True,
            )  # fmt: skip
    if getattr(spec, "anti_locking", True) is False and any(getattr(m, "poisson", 0.0) >= 0.45 for m in materials):
        yield Finding(
            f"element of {name}", "anti_locking=False at ν ≥ 0.45", "anti_locking=True or ν < 0.45",
            "plain elements of nearly incompressible materials are too stiff: leave out anti_locking=False",
        )  # fmt: skip


def _volume_findings(name: str, model: VolumeModel) -> Iterator[Finding]:
    mass = model.spec.mass
    if mass is not None and np.ndim(mass) == 1 and len(mass) > 10 and np.max(mass) > _LUMPED * np.sum(mass):
        yield Finding(
            f"mass of {name}", f"{np.max(mass) / np.sum(mass):.0%} of it at one node", f"less than {_LUMPED:.0%}",
            "attach a pl.RigidBody for a lumped tip: one node carries it on the cells around it alone", fault=True,
        )  # fmt: skip
    error, axis = excess_inertia(model)
    if error > _INERTIA[model.is_supported]:
        direction = ", ".join(f"{x:.2g}" for x in axis)
        yield Finding(
            f"mass of {name}", f"at its nodes, a moment of inertia {error:.0%} too large about ({direction})",
            f"less than {_INERTIA[model.is_supported]:.0%}",
            "lumped_mass=False where it rolls, spins, twists or rings; bending and statics hardly change",
        )  # fmt: skip
    single, thin, worst = single_layers(model.mesh)
    if single >= _ONE_CELL:
        yield Finding(
            f"walls of {name}", f"one cell across {single:.0%} of those of {1e3 * thin:.3g} to {_length(2.0 * thin)}",
            "two cells",
            f"cells of {_length(0.5 * thin)} there (now {_length(worst)}): pl.mesh.tetrahedralize without cell_size "
            "chooses them",
        )  # fmt: skip
    step = model_step_ms(model)
    if step > 100.0:
        yield Finding(
            f"mesh of {name}", f"{model.mesh.cell_count} cells, about {step:.0f} ms a step", "10 ms for real time",
            'coarser cells, anti_locking="volume", or pl.reduction.reduce',
        )  # fmt: skip


def excess_inertia(model: VolumeModel) -> tuple[float, FloatArray]:
    """By how much masses at the nodes exceed a principal moment of inertia of the volume, as a fraction, and about
    which axis (3,); 0 for a consistent mass, and where masses of nodes are given.
    """
    spec, mesh, x = model.spec, model.mesh, model.rest
    if model.mass.blocks is not None or (spec.mass is not None and np.ndim(spec.mass)):
        return 0.0, np.zeros(3)
    density = np.array([material.density for material in spec.materials])[spec.cell_materials()]
    local = cell_masses(mesh, density)
    local *= model.mass.total / local.sum()
    x = x - (model.mass.nodal @ x) / model.mass.total
    corners = x[mesh.cells]
    exact = np.einsum("mab,mai,mbj->ij", local, corners, corners, optimize=True)
    lumped = np.einsum("n,ni,nj->ij", model.mass.nodal, x, x)
    _, axes = np.linalg.eigh(exact)
    inertias = [np.trace(S) - np.einsum("ik,ij,jk->k", axes, S, axes) for S in (exact, lumped)]
    errors = inertias[1] / np.maximum(inertias[0], np.finfo(float).tiny) - 1.0
    worst = int(np.argmax(errors))
    return float(errors[worst]), axes[:, worst]


def is_volume(spec: Any) -> bool:
    """Whether a body is one of cells: they alone have a choice of anti-locking."""
    return hasattr(spec, "anti_locking")


def single_layers(mesh: Any) -> tuple[float, float, float]:
    """Fraction of the chords through thin walls in whose middle is a cell without a node inside the body, the thickness
    of the thinnest walls (m), and the mean edge of the mesh (m).

    Thin walls are up to twice as thick as the thinnest twentieth of all walls. A wall of two cells has nodes between
    its faces, so that the cell in the middle has one of them; all nodes of a wall of one cell lie on the surface.
    """
    surface = mesh.surface()
    edges = mesh.edges()
    mean = float(np.linalg.norm(mesh.points[edges[:, 0]] - mesh.points[edges[:, 1]], axis=1).mean())
    chords = wall_chords(surface, samples=300)
    thin = chords.quantile(_THINNEST)
    if not np.isfinite(thin) or not surface.is_closed():
        return 0.0, 0.0, mean
    walls = chords.lengths <= 2.0 * thin
    middles = chords.starts[walls] + 0.5 * chords.lengths[walls, None] * chords.directions[walls]
    inner = np.ones(mesh.node_count, bool)
    inner[surface.nodes] = False
    bare = ~inner[mesh.corner_cells[Locator(mesh).locate(middles).cells]].any(axis=1)
    weights = chords.weights[walls]
    return float(weights[bare].sum() / weights.sum()), thin, mean


def _length(metres: float) -> str:
    if metres >= 1.0:
        return f"{metres:.3g} m"
    return f"{1e3 * metres:.3g} mm"
