"""Mass of a body: lumped at the nodes (default) or consistent with the shape functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.arrays import sum_by
from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.mesh import Mesh
from pliant.mesh.elements import shape
from pliant.mesh.geometry import jacobian_determinants
from pliant.mesh.quadrature import MASS_DEGREE, gauss
from pliant.solvers.linear.matrix import BlockMatrix
from pliant.solvers.linear.pattern import BlockPattern


@dataclass(frozen=True, eq=False)
class Mass:
    """M in kg: `nodal` (n,) masses; `blocks` (b,), where consistent, the scalar of each pattern block."""

    nodal: FloatArray
    blocks: FloatArray | None
    pattern: BlockPattern

    @property
    def total(self) -> float:
        """Total mass, kg."""
        return float(self.nodal.sum())

    def apply(self, x: FloatArray) -> FloatArray:
        """M x for x of shape (n, 3)."""
        if self.blocks is None:
            return self.nodal[:, None] * x
        return BlockMatrix(self.pattern, self.blocks[:, None, None] * np.eye(3)).matvec(x)

    def add_to(self, values: FloatArray, scale: float) -> None:
        """Add `scale` × M to the blocks `values` (b, 3, 3)."""
        axis = np.arange(3)
        if self.blocks is None:
            values[self.pattern.diagonal[:, None], axis, axis] += (scale * self.nodal)[:, None]
        else:
            values[:, axis, axis] += (scale * self.blocks)[:, None]


def build_mass(mesh: Mesh, pattern: BlockPattern, density: FloatArray, mass: Any, *, lumped: bool) -> Mass:
    """Mass from the density of each cell (m,) in kg/m³, or from `mass`: total in kg, or kg at each node (n,)."""
    local = cell_masses(mesh, density)
    nodal = _lumped(mesh, local)
    blocks = None
    if not lumped:
        blocks = _blocks(mesh, pattern, local)
        nodal = sum_by(mesh.cells, local.sum(axis=2), mesh.node_count)
    if mass is None:
        return Mass(nodal, blocks, pattern)
    given = checked_mass("mass", mass, mesh.node_count, lumped=lumped)
    if given.ndim == 0:
        factor = float(given) / nodal.sum()
        return Mass(nodal * factor, None if blocks is None else blocks * factor, pattern)
    return Mass(given, None, pattern)


def checked_mass(name: str, value: Any, node_count: int, *, lumped: bool) -> FloatArray:
    """A total mass (), kg, or masses (n,) of the nodes, kg."""
    given = finite_array(name, value)
    if given.shape not in ((), (node_count,)):
        raise InputError(f"{name} must be a total in kg or one value per node ({node_count},), got {given.shape}")
    if (given <= 0.0).any():
        raise InputError(f"{name} must be > 0 kg, got {given.min():g}")
    if given.ndim and not lumped:
        raise InputError(f"{name} by node is lumped by its nature; leave lumped_mass=True or give the total mass")
    return given


def cell_masses(mesh: Mesh, density: FloatArray) -> FloatArray:
    """∫ ρ NₐNᵦ of each cell, (m, k, k), kg."""
    xi, weights = gauss(mesh.element, MASS_DEGREE[mesh.element])
    N = shape(mesh.element, xi)
    measure = jacobian_determinants(mesh.points, mesh.cells, mesh.element, xi) * weights * density[:, None]
    return np.asarray(np.einsum("mq,qa,qb->mab", measure, N, N, optimize=True))


def _lumped(mesh: Mesh, local: FloatArray) -> FloatArray:
    """Diagonal of each cell scaled to its mass (Hinton, Rock, Zienkiewicz 1976): positive for degree 2 too."""
    diagonal = np.einsum("maa->ma", local)
    scaled = diagonal * (local.sum(axis=(1, 2)) / diagonal.sum(axis=1))[:, None]
    return sum_by(mesh.cells, scaled, mesh.node_count)


def _blocks(mesh: Mesh, pattern: BlockPattern, local: FloatArray) -> FloatArray:
    order = np.argsort(mesh.cells, axis=1)
    nodes = np.take_along_axis(mesh.cells, order, axis=1)
    count, width = nodes.shape
    _, positions = pattern.clique_positions(np.arange(count + 1) * width, nodes.ravel())
    arranged = local[np.arange(count)[:, None, None], order[:, :, None], order[:, None, :]]
    a, b = np.tril_indices(width)
    return sum_by(positions, arranged[:, a, b], pattern.block_count)
