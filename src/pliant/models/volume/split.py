"""Points of shape and patches of volume: the energy of a body whose volume is that of patches of cells."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pliant.core.types import BoolArray, FloatArray, IntArray
from pliant.materials.laws import NEO_HOOKEAN, VOLUME
from pliant.mesh import Mesh
from pliant.models.volume.patches import Patches
from pliant.models.volume.points import Points, build_points
from pliant.solvers.linear.pattern import BlockPattern


@dataclass(frozen=True, eq=False)
class Split:
    """Points of a body in two groups: `shape`, integrated one by one, with the `positions` of their blocks, and
    `patches`, whose energy is a function of their volume; `of_patch` (p,) marks the body's points that are patches.
    """

    shape: Points
    positions: IntArray
    patches: Patches
    of_patch: BoolArray

    @classmethod
    def by_cells(
        cls,
        mesh: Mesh,
        cell_materials: IntArray,
        points: Points,
        pattern: BlockPattern,
        laws: IntArray,
        table: FloatArray,
        *,
        blended: bool = False,
    ) -> Split:
        """Patches that have the volume of the cells of their points; `blended`, where they are stretched."""
        of_patch = volume_points(points, laws) & (points.weight > 0.0)
        grains = build_points(mesh, cell_materials, anti_locking=False)
        index = np.where(of_patch, np.cumsum(of_patch) - 1, -1)
        of_cell = np.full(mesh.cell_count, -1)
        owned = of_patch[points.owner_point]
        of_cell[points.owner_cell[owned]] = index[points.owner_point[owned]]
        patch = of_cell[grains.owner_cell]
        if blended:  # points of a part of a body weigh less than their cells
            cells = np.bincount(patch[patch >= 0], grains.weight[patch >= 0], minlength=int(of_patch.sum()))
            grains = replace(grains, weight=grains.weight * (points.weight[of_patch] / cells)[patch])
        laws_of = points.material[of_patch], laws, table
        patches = Patches(pattern, grains, patch, *laws_of, blended=blended)
        return cls(*_shape(points, pattern, of_patch), patches, of_patch)

    @classmethod
    def by_means(cls, points: Points, pattern: BlockPattern, laws: IntArray, table: FloatArray) -> Split:
        """Patches that have the determinant of the mean F of their points for a volume."""
        of_patch = volume_points(points, laws)
        some = chosen_points(points, of_patch)
        patches = Patches(pattern, some, np.arange(some.count), some.material, laws, table)
        return cls(*_shape(points, pattern, of_patch), patches, of_patch)


def volume_points(points: Points, laws: IntArray) -> BoolArray:
    """Points (p,) of the volume energy of laws that make it a function of J alone: neo-Hookean and isochoric ones."""
    return np.asarray((points.part == VOLUME) & (laws[points.material] >= NEO_HOOKEAN))


def chosen_points(points: Points, which: BoolArray) -> Points:
    """Some of the points (p,), without their cells."""
    size = np.diff(points.ptr)
    of_node = np.repeat(which, size)
    nobody = np.zeros(0, np.int64)
    return Points(
        ptr=np.concatenate([[0], np.cumsum(size[which])]).astype(np.int64),
        nodes=np.ascontiguousarray(points.nodes[of_node]),
        gradients=np.ascontiguousarray(points.gradients[of_node]),
        weight=points.weight[which],
        part=points.part[which],
        material=points.material[which],
        owner_point=nobody,
        owner_cell=nobody,
        owner_volume=np.zeros(0),
    )


def _shape(points: Points, pattern: BlockPattern, of_patch: BoolArray) -> tuple[Points, IntArray]:
    shape = chosen_points(points, ~of_patch)
    _, positions = pattern.clique_positions(shape.ptr, shape.nodes)
    return shape, positions
