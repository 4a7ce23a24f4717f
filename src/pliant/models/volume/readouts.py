"""Read-outs of a deformed volume: stress, strain and energy, by cell and by node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.core.arrays import sum_by, writable
from pliant.core.types import FloatArray
from pliant.mesh.geometry import cell_volumes
from pliant.models.volume import assembly
from pliant.models.volume.points import cell_gradients
from pliant.models.volume.shape_limits import folded_cells, largest_square

if TYPE_CHECKING:
    from pliant.models.volume.model import VolumeModel

LARGEST_STRETCH = 4.0
"""Stretch up to which blocks and bars of the default elements arrive at their closed forms at ν up to 0.499."""


def deformation_gradients(model: VolumeModel, q: FloatArray) -> FloatArray:
    """F at the integration points, (p, 3, 3)."""
    p = model.points
    return np.asarray(np.add.reduceat(q[p.nodes][:, :, None] * p.gradients[:, None, :], p.ptr[:-1], axis=0))


def largest_stretch(model: VolumeModel, q: FloatArray) -> float:
    """The largest principal stretch of the integration points."""
    return float(np.linalg.norm(deformation_gradients(model, q), ord=2, axis=(1, 2)).max())


def stretch_warnings(model: VolumeModel, q: FloatArray) -> tuple[str, ...]:
    """A warning where the integration points are stretched beyond `LARGEST_STRETCH`."""
    p = model.points
    if largest_square(writable(q), p.nodes, p.ptr, p.gradients) <= LARGEST_STRETCH**2:
        return ()
    stretch = largest_stretch(model, q)
    if stretch <= LARGEST_STRETCH:
        return ()
    other = "anti_locking='volume', with " if model.mesh.element == "tet4" else ""
    text = (
        f"{model.name!r} is stretched to {stretch:.1f} times its length: beyond {LARGEST_STRETCH:g} times, cells with "
        f"anti_locking=True may buckle against each other. Use {other}smaller cells where the stretch is largest"
    )
    return (text,)


def fold_warnings(model: VolumeModel, q: FloatArray) -> tuple[str, ...]:
    """A warning where cells of smoothed tetrahedra are inverted. The mean over their neighbours, an integration point,
    may not be: then the energy does not resist, and steps go on.
    """
    mesh = model.mesh
    if mesh.element != "tet4" or model.spec.anti_locking is not True or not model.laws.any():
        return ()
    count = folded_cells(writable(q), mesh.cells)
    if not count or model.is_inverted(q):
        return ()
    ratio = float((cell_volumes(q, mesh.cells, mesh.element) / mesh.cell_volumes()).min())
    text = (
        f"{count} of {mesh.cell_count} cells of {model.name!r} are folded, det F down to {ratio:.2f}: smoothed "
        "tetrahedra resist the inversion of their mean only. The surface and stresses there are not to be trusted; use "
        "a finer mesh where it is compressed most, or anti_locking='volume'"
    )
    return (text,)


def cell_stress(model: VolumeModel, q: FloatArray, history: FloatArray | None = None) -> FloatArray:
    """Mean Cauchy stress of each cell, (m, 3, 3), Pa, from its integration points, with what the material remembers."""
    p = model.points
    stress = np.empty((p.count, 3, 3))
    assembly.point_stresses(writable(q), *p.arrays, model.laws, model.table, stress)
    split = model.split_at(q)
    if split is not None:
        x = writable(q)
        pressure = split.patches.pressures(x, np.zeros_like(x))
        stress[split.of_patch] = pressure[:, None, None] * np.eye(3)
    if model.memory is not None and history is not None:
        memory = model.memory
        F = deformation_gradients(model, q)[memory.chosen]
        if memory.softening is not None:
            stress[memory.chosen] += memory.softening.stresses(q, history[:, -1, 0])
        Q = history[:, 1 : memory.stress_rows].sum(axis=1)[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)
        stress[memory.chosen] += F @ Q @ F.transpose(0, 2, 1) / np.linalg.det(F)[:, None, None]
    return _by_cell(model, stress.reshape(-1, 9)).reshape(-1, 3, 3)


def cell_strain(model: VolumeModel, q: FloatArray) -> FloatArray:
    """Green–Lagrange strain (FᵀF − I)/2 of each cell's mean F, (m, 3, 3)."""
    mesh = model.mesh
    gradients, weights = cell_gradients(mesh)
    mean = np.einsum("mqki,mq->mki", gradients, weights / weights.sum(axis=1, keepdims=True))
    F = np.einsum("mki,mkj->mij", q[mesh.cells], mean)
    return np.asarray(0.5 * (np.einsum("mki,mkj->mij", F, F) - np.eye(3)))


def cell_energy(model: VolumeModel, q: FloatArray, history: FloatArray | None = None) -> FloatArray:
    """Elastic energy of each cell, (m,), J; they sum to the energy of the body. Of softened points what is stored."""
    p = model.points
    density = np.empty(p.count)
    assembly.internal_forces(writable(q), *p.arrays, model.laws, model.table, np.zeros_like(q), density)
    split = model.split_at(q)
    if split is not None:
        density[split.of_patch] = split.patches.densities(writable(q))
    if model.memory is not None and history is not None:
        density[model.memory.chosen] += model.memory.stored_density(history, q)
    return sum_by(p.owner_cell, p.owner_volume * density[p.owner_point], model.mesh.cell_count)


def cell_loss(model: VolumeModel, history: FloatArray | None) -> FloatArray:
    """Energy of each cell that softening has taken, (m,), J."""
    p, lost = model.points, np.zeros(model.points.count)
    if model.memory is not None and history is not None:
        lost[model.memory.chosen] = model.memory.lost_density(history)
    return sum_by(p.owner_cell, p.owner_volume * lost[p.owner_point], model.mesh.cell_count)


def node_mean(model: VolumeModel, cell_values: FloatArray) -> FloatArray:
    """Volume-weighted mean over the cells around each node: (m, …) → (n, …)."""
    mesh = model.mesh
    volume = np.repeat(mesh.cell_volumes(), mesh.cells.shape[1])
    nodes = mesh.cells.ravel()
    total = sum_by(nodes, volume, mesh.node_count)
    flat = np.repeat(cell_values.reshape(mesh.cell_count, -1), mesh.cells.shape[1], axis=0)
    summed = np.stack([sum_by(nodes, volume * column, mesh.node_count) for column in flat.T], axis=1)
    return (summed / total[:, None]).reshape(mesh.node_count, *cell_values.shape[1:])


def von_mises(stress: FloatArray) -> FloatArray:
    """Von Mises stress (…) in Pa of Cauchy stresses (…, 3, 3)."""
    deviator = stress - np.trace(stress, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) / 3.0
    return np.asarray(np.sqrt(1.5 * np.sum(deviator**2, axis=(-2, -1))))


def _by_cell(model: VolumeModel, point_values: FloatArray) -> FloatArray:
    """Mean over the points of each cell, weighted by their volume in it; parts of the energy add up."""
    p = model.points
    volume = model.mesh.cell_volumes()
    fraction = p.owner_volume / volume[p.owner_cell]
    columns = [sum_by(p.owner_cell, fraction * c[p.owner_point], len(volume)) for c in point_values.T]
    return np.stack(columns, axis=1)
