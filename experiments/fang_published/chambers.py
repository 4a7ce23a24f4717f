"""Chambers filled with elements of air, and filled again once these are stretched too far.

The elements of a filling have the present shape of the chamber, scaled to its volume at rest, as their rest shape: the
nominal ratio α keeps its meaning, and so does the weight. A new filling has the same surface and so the same volume;
its weight is such that its mean pressure is the same too. What it forgets is the distortion of the old elements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from experiments.fang_published.blend import Elements, Weighting
from pliant.actuators.cavity import CavityRows
from pliant.core.errors import MeshError
from pliant.core.types import FloatArray, IntArray
from pliant.mesh import fill

COARSER = (1.0, 1.6, 2.5)
"""Cell sizes that are tried, as multiples of the one wanted."""


@dataclass(frozen=True, eq=False)
class Filling:
    """The elements of a chamber, as a state remembers them.

    nodes   (s,) nodes of the body on the surface of the chamber: the first s nodes of the elements
    rest    (k, 3) m, rest shape of the elements, of the volume that the chamber has at rest
    cells   (m, 4) tetrahedra over those k nodes
    inner   (k − s, 3) m, where the nodes inside the chamber are
    growth  volume of the chamber over that at rest, when it was filled
    ratio   the nominal ratio α that was last asked for
    weight  what the weight of the elements is multiplied by since the first filling
    """

    nodes: IntArray
    rest: FloatArray
    cells: IntArray
    inner: FloatArray
    growth: float = 1.0
    ratio: float = 1.0
    weight: float = 1.0

    def arrays(self) -> dict[str, Any]:
        """Everything as arrays, for saving."""
        numbers = np.array([self.growth, self.ratio, self.weight])
        return {"nodes": self.nodes, "rest": self.rest, "cells": self.cells, "inner": self.inner, "numbers": numbers}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> Filling:
        """What `arrays` gave."""
        numbers = (float(x) for x in arrays["numbers"])
        return cls(arrays["nodes"], arrays["rest"], arrays["cells"], arrays["inner"], *numbers)


CavityRows.memory_type = Filling  # type: ignore[attr-defined]  # so that a state is saved with its fillings


class Filled(NamedTuple):
    """A filling and how many finer ones failed before it."""

    filling: Filling
    failed: int


def filled(cavity: CavityRows, q: FloatArray, cell_size: float | None) -> Filled:
    """The chamber of `cavity` filled at the shape q (n, 3) m of its body, retried coarser where the mesher fails."""
    assert cavity.surface is not None
    inward = cavity.surface.triangles
    nodes = np.unique(inward).astype(np.int32)
    index = np.zeros(len(q), np.int32)
    index[nodes] = np.arange(len(nodes), dtype=np.int32)
    points, triangles = q[nodes], index[inward[:, ::-1]]
    edges = np.linalg.norm(points[triangles] - points[np.roll(triangles, 1, axis=1)], axis=2)
    size = float(edges.mean()) if cell_size is None else cell_size
    growth = cavity.volume(q) / cavity.rest_volume
    for failed, coarser in enumerate(COARSER):
        try:
            mesh = fill(points, triangles, cell_size=coarser * size)
        except MeshError as error:
            last = error
            continue
        rest = mesh.points * growth ** (-1.0 / 3.0)
        return Filled(Filling(nodes, rest, mesh.cells, mesh.points[len(nodes) :], growth, growth), failed)
    raise MeshError(
        f"{cavity.spec.name!r} could not be filled with cells of {1e3 * size:.3g} mm, nor with any up to "
        f"{COARSER[-1]:g} times as large: {last}"
    )


def air(filling: Filling, weight: float, weighting: Weighting) -> Elements:
    """The elements of a filling over its own nodes, with `weight` (Pa) at its first filling."""
    return Elements.of(filling.rest, filling.cells, weight * filling.weight, 1.0, weighting)


def swell(filling: Filling) -> float:
    """Edges of the target shapes over those at rest."""
    return float(filling.ratio ** (1.0 / 3.0))


def mean_pressure(elements: Elements, filling: Filling, x: FloatArray, volume: float) -> float:
    """Mean of the pressure (Pa) in the elements at x (k, 3) m, around a chamber of `volume` (m³): their virial over
    three times the volume.
    """
    return -2.0 * float(np.vdot(elements.forces(x, swell(filling)), x)) / (3.0 * volume)


def worst_element(elements: Elements, filling: Filling, x: FloatArray) -> tuple[float, float]:
    """Largest growth and largest norm of the singular values of an element since it was made, at x (k, 3) m."""
    F = elements.gradients(x) * filling.growth ** (-1.0 / 3.0)
    return float(np.linalg.det(F).max()), float(np.linalg.norm(F, axis=(1, 2)).max())


def weighed(new: Filling, old: Filling, pressure: float, unit_pressure: float) -> Filling:
    """`new` for the ratio of `old`, with the weight that gives it the `pressure` (Pa) of the old one; `unit_pressure`
    (Pa) is what it has with a weight of 1. A chamber that pulls, or has reached its volume, keeps its weight.
    """
    weight = pressure / unit_pressure if pressure > 0.0 and unit_pressure > 0.0 else old.weight
    return replace(new, ratio=old.ratio, weight=weight)
