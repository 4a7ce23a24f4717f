"""Cables: an inextensible string through points of a body, pulled at one end.

With L the length along the via points, δ = L₀ − L is how much the cable has shortened and H = −∂L/∂q; λ is the
tension, ≥ 0. Commanded to shorten by u the cable obeys δ ≥ u, λ ≥ 0, one of them tight: it goes slack rather than
push. Its tension stiffens the body across the cable by λ ∂²L/∂q², which is positive semi-definite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from pliant.constraints.rows import RowLaw, Rows, RowView
from pliant.core.checks import finite_array, non_negative
from pliant.core.errors import InputError
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.mappings import BarycentricMap
from pliant.models.model import Model
from pliant.models.volume import Volume, VolumeModel
from pliant.models.volume.trial import VolumeSystem


@dataclass(frozen=True, eq=False)
class Cable:
    """A cable through `via_points` (k, 3) m of `body`, given in the frame of its mesh; the last one is the anchor.

    pull_point
        Where the cable leaves for its motor, (3,) m fixed in the world; None: at the first via point.
    min_force, max_force
        Bounds of the tension, N; min_force ≥ 0.
    max_displacement
        Largest shortening that may be asked for, m.
    reach
        How far outside the mesh a via point may lie, m; it then rides on the nearest cell. For coarse meshes of thin
        robots.
    """

    body: Volume
    via_points: Any
    _: KW_ONLY
    pull_point: Any = None
    min_force: float = 0.0
    max_force: float = np.inf
    max_displacement: float = np.inf
    reach: float = 0.0
    name: str = "cable"

    def __post_init__(self) -> None:
        points = finite_array(f"via_points of {self.name!r}", self.via_points, shape=(None, 3))
        if len(points) + (self.pull_point is not None) < 2:
            raise InputError(f"{self.name!r} has {len(points)} points; a cable needs two, or a pull_point and one")
        non_negative(f"min_force of {self.name!r}", self.min_force, unit="N")
        non_negative(f"reach of {self.name!r}", self.reach, unit="m")
        if not self.max_force > self.min_force:
            raise InputError(f"max_force of {self.name!r} is {self.max_force:g} N, but min_force {self.min_force:g} N")


@dataclass(frozen=True, eq=False)
class Segments:
    """The pieces of a cable between neighbouring points: x₁ − x₀ = Σ cₐ qₐ + offset over a few nodes.

    `ptr` (s+1,), `nodes` and `coefficients` are a compressed list by piece, nodes ascending; `offset` (s, 3) m is
    minus the pull point for a piece that starts there, else 0.
    """

    ptr: IndexArray
    nodes: IntArray
    coefficients: FloatArray
    offset: FloatArray

    @classmethod
    def of(cls, riding: BarycentricMap, pull_point: FloatArray | None) -> Segments:
        """The pieces of the path through the riding points."""
        sets, offsets = [], []
        if pull_point is not None:
            sets.append(_combined([(riding.nodes[0], riding.weights[0])]))
            offsets.append(-pull_point)
        for k in range(len(riding.nodes) - 1):
            ends = [(riding.nodes[k], -riding.weights[k]), (riding.nodes[k + 1], riding.weights[k + 1])]
            sets.append(_combined(ends))
            offsets.append(np.zeros(3))
        ptr = np.concatenate([[0], np.cumsum([len(nodes) for nodes, _ in sets])]).astype(np.int64)
        nodes = np.concatenate([nodes for nodes, _ in sets]).astype(np.int32)
        return cls(ptr, nodes, np.concatenate([c for _, c in sets]), np.array(offsets))

    def node_sets(self) -> list[IntArray]:
        """Nodes of each piece, which its stiffness couples."""
        return np.split(self.nodes, self.ptr[1:-1])


def _combined(parts: list[tuple[IntArray, FloatArray]]) -> tuple[IntArray, FloatArray]:
    """Distinct nodes, ascending, with the sum of their weights."""
    nodes = np.concatenate([nodes for nodes, _ in parts])
    weights = np.concatenate([weights for _, weights in parts])
    unique, place = np.unique(nodes, return_inverse=True)
    summed = np.zeros(len(unique))
    np.add.at(summed, place, weights)
    return unique, summed


@dataclass(frozen=True, eq=False)
class CableRows:
    """The row of one cable. `rest_length` is L₀, m; `key` identifies the row."""

    spec: Cable
    map: BarycentricMap
    pull_point: FloatArray | None
    segments: Segments
    key: int
    number: int = -1
    rest_length: float = 0.0
    positions: IntArray | None = None

    @classmethod
    def of(cls, spec: Cable, key: int) -> CableRows:
        """The row of `spec`, before its body is compiled."""
        points = finite_array("via_points", spec.via_points, shape=(None, 3))
        what = f"via points of cable {spec.name!r}"
        riding = BarycentricMap.of_points(spec.body.mesh, points, what=what, reach=spec.reach)
        pull = None if spec.pull_point is None else finite_array("pull_point", spec.pull_point, shape=(3,))
        return cls(spec, riding, pull, Segments.of(riding, pull), key)

    def couplings(self) -> list[IntArray]:
        """Node sets that the stiffness of the cable couples."""
        return self.segments.node_sets()

    def bound(self, models: Sequence[Model]) -> CableRows:
        """The row in a world of `models`."""
        number = next(k for k, model in enumerate(models) if model.spec is self.spec.body)
        model = models[number]
        assert isinstance(model, VolumeModel)
        _, positions = model.pattern.clique_positions(self.segments.ptr, self.segments.nodes)
        return replace(self, number=number, positions=positions, rest_length=self.length(model.rest))

    def length(self, q: FloatArray) -> float:
        """Length along the via points, m."""
        return float(np.linalg.norm(np.diff(self._path(q), axis=0), axis=1).sum())

    def rows(self, view: RowView) -> tuple[Rows, None]:
        """One row: shortening so far, and its gradient."""
        path = self._path(view.q[self.number])
        steps = np.diff(path, axis=0)
        lengths = np.sqrt(np.einsum("si,si->s", steps, steps))
        total = float(lengths.sum())
        units = steps / np.maximum(lengths, 1e-12 * total)[:, None]
        slope = np.zeros_like(path)
        slope[:-1] += units
        slope[1:] -= units
        H = view.blank(1)
        H[self.number] = self.map.pull_one(slope if self.pull_point is None else slope[1:])
        law, lower, upper, target = self._law(view.controls.get(self.spec))
        rows = Rows.of(H, self.rest_length - total, law, lower=lower, upper=upper, target=target, key=self.key)
        return rows, None

    def add_stiffness(self, q: FloatArray, lam: float, scale: float, system: VolumeSystem) -> None:
        """Add `scale` λ ∂²L/∂q² at tension λ (N) to the matrix of the body's system."""
        if lam > 0.0:
            s = self.segments
            assert self.positions is not None
            _add_stiffness(q, s.ptr, s.nodes, s.coefficients, s.offset, self.positions, scale * lam, system.values)

    def _law(self, control: Any) -> tuple[int, float, float, float]:
        """Without a control a cable hangs loose at its least tension."""
        kind, value = ("force", self.spec.min_force) if control is None else control
        if kind == "force":
            return RowLaw.IMPOSED, 0.0, np.inf, value
        return RowLaw.BOUNDED, self.spec.min_force, self.spec.max_force, value

    def _path(self, q: FloatArray) -> FloatArray:
        points = self.map.points(q)
        return points if self.pull_point is None else np.vstack([self.pull_point, points])


@kernel
def _add_stiffness(q, ptr, nodes, coefficients, offset, positions, tension, values):  # type: ignore[no-untyped-def]
    """Blocks tension cₐ cᵦ (I − u uᵀ)/ℓ of each piece."""
    pair = 0
    for s in range(ptr.shape[0] - 1):
        x, y, z = offset[s, 0], offset[s, 1], offset[s, 2]
        for k in range(ptr[s], ptr[s + 1]):
            x += coefficients[k] * q[nodes[k], 0]
            y += coefficients[k] * q[nodes[k], 1]
            z += coefficients[k] * q[nodes[k], 2]
        length = np.sqrt(x * x + y * y + z * z)
        t = tension / max(length, 1e-12)
        x, y, z = x / max(length, 1e-12), y / max(length, 1e-12), z / max(length, 1e-12)
        for a in range(ptr[s], ptr[s + 1]):
            for b in range(ptr[s], a + 1):
                c = t * coefficients[a] * coefficients[b]
                K = values[positions[pair]]
                pair += 1
                K[0, 0] += c * (1.0 - x * x)
                K[1, 1] += c * (1.0 - y * y)
                K[2, 2] += c * (1.0 - z * z)
                K[0, 1] -= c * x * y
                K[1, 0] -= c * x * y
                K[0, 2] -= c * x * z
                K[2, 0] -= c * x * z
                K[1, 2] -= c * y * z
                K[2, 1] -= c * y * z
