"""Points embedded in a rod: at arc lengths, off the axis, with a frame of their own.

The point of arc length s with the offset o stands at x(s) + R(s) o, where x and R are the exact screw motion of its
section: a map has no interpolation of its own. Products with the Jacobian and its transpose take one pass over the
sections, the Jacobian itself and its derivative in time N² entries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.core.arrays import csr, writable
from pliant.core.checks import check_array, check_indices
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.beam.section import section_at
from pliant.models.point_map import PointMap
from pliant.models.rod import geometric, kinematics, rates
from pliant.models.rod.projection import nearest_arc_lengths
from pliant.models.rod.rod import node_poses
from pliant.models.rod.stations import Stations, Sweep, section_of

if TYPE_CHECKING:
    from pliant.models.rod.model import RodModel

_NO_MASS = np.zeros((0, 3))


@dataclass(frozen=True, eq=False)
class RodMap(PointMap):
    """p points on a rod of N sections.

    `section` (p,) and `fraction` (p,), in [0, 1], locate each, `offset` (p, 3) m is its position in the frame there.
    `lengths` (N,) m are those of the sections, `kinds` (n,) the strains that may change, `basis` (3, 3) the axes of the
    base's motion. q is (4 + 2N, 3), dx (2 + 2N, 3).
    """

    section: IntArray
    fraction: FloatArray
    offset: FloatArray
    lengths: FloatArray
    kinds: IntArray
    basis: FloatArray

    forces_stiffen: ClassVar[bool] = True

    @classmethod
    def at(cls, model: RodModel, arc_length: Any, offset: Any = None) -> RodMap:
        """Points at `arc_length` (p,) m from the base, with `offset` (p, 3) m in the frames there."""
        lengths = model.spec.lengths
        along, length = np.atleast_1d(np.asarray(arc_length, np.float64)), float(lengths.sum())
        if len(along) and not (along.min() >= -1e-12 * length and along.max() <= (1.0 + 1e-12) * length):
            raise InputError(
                f"arc lengths along {model.name!r} must be in 0 … {length:g} m, got {along.min():g} … {along.max():g}"
            )
        section, fraction = section_of(lengths, along)
        offsets = np.zeros((len(along), 3)) if offset is None else np.ascontiguousarray(offset, np.float64)
        return cls(section, fraction, offsets, lengths, model.spec.active, model.basis)

    def check(self, shape: tuple[int, ...]) -> None:
        """An error where the arrays of the map, read from a file, do not belong together or to a q of `shape`."""
        count, sections = len(self.section), len(self.lengths)
        if shape != (4 + 2 * sections, 3):
            raise InputError(f"points of a rod of {sections} sections do not belong to positions of shape {shape}")
        check_array("sections of points on a rod", self.section, (count,), np.int32)
        check_indices("sections of points on a rod", self.section, 0, sections)
        check_array("fractions of points on a rod", self.fraction, (count,))
        check_array("offsets of points on a rod", self.offset, (count, 3))
        check_array("lengths of the sections of a rod", self.lengths, (sections,))
        check_array("strains of a rod", self.kinds, (len(self.kinds),), np.int32)
        check_indices("strains of a rod", self.kinds, 0, 6)
        check_array("axes of the base of a rod", self.basis, (3, 3))

    @classmethod
    def of_points(cls, model: RodModel, points: FloatArray, *, what: str, reach: float = 0.0) -> RodMap:
        """Embedded points (p, 3), m, as the world begins, each at the nearest point of the axis.

        One farther from the axis than the section's corners plus `reach` (m) is an error that names it.
        """
        points, q = np.atleast_2d(np.asarray(points, np.float64)), model.initial()[0]
        axis = cls.at(model, nearest_arc_lengths(q, model.spec.lengths, points))
        distance = np.linalg.norm(axis.points(q) - points, axis=1)
        sections, where = model.spec.section_list, zip(axis.section, axis.fraction, strict=True)
        there = [section_at(sections[k], float(t)).outline() for k, t in where]
        outer = np.array([np.linalg.norm(outline, axis=1).max() for outline in there])
        beyond = distance - (1.0 + 1e-9) * (outer + reach)
        if (beyond > 0.0).any():
            worst = int(np.argmax(beyond))
            raise InputError(
                f"{what}: point {worst} at {points[worst]} m is {distance[worst]:.3g} m from the axis of "
                f"{model.name!r}, whose section reaches {outer[worst]:.3g} m; move it, or raise reach"
            )
        return axis.carrying(q, points)

    @property
    def arc_length(self) -> FloatArray:
        """Arc length of each point from the base, (p,), m."""
        starts = np.concatenate([[0.0], np.cumsum(self.lengths)])
        return np.asarray(starts[self.section] + self.fraction * self.lengths[self.section])

    def carrying(self, q: FloatArray, points: FloatArray) -> RodMap:
        """The map whose points stand at `points` (p, 3) m when the rod is at q, at the same arc lengths."""
        frames = self._frames(q)
        offset = np.einsum("pri,pr->pi", frames[:, 1:], points - frames[:, 0] - q[0])
        return replace(self, offset=np.ascontiguousarray(offset))

    def at_fractions(self, fractions: FloatArray) -> RodMap:
        """The map of the same points at `fractions` (p,) of their sections."""
        return replace(self, fraction=fractions)

    def centered(self) -> RodMap:
        """The map of the points on the axis beside these."""
        return replace(self, offset=np.zeros_like(self.offset))

    def selected(self, which: Any) -> RodMap:
        """The map of some of the points, in the order of `which`."""
        rows = self.section[which], self.fraction[which], np.ascontiguousarray(self.offset[which])
        return RodMap(*rows, self.lengths, self.kinds, self.basis)

    def points(self, q: FloatArray) -> FloatArray:
        """Positions of the embedded points, (p, 3), m."""
        frames = self._frames(q)
        return np.asarray(q[0] + frames[:, 0] + np.einsum("pri,pi->pr", frames[:, 1:], self.offset))

    def frames(self, q: FloatArray) -> FloatArray:
        """Frames at the embedded points, (p, 3, 3), first columns along the rod."""
        return np.ascontiguousarray(self._frames(q)[:, 1:])

    def tangents(self, q: FloatArray) -> FloatArray:
        """Derivatives of the embedded points by arc length, (p, 3), no unit: what a sliding point slides along."""
        psi = q[4:].reshape(-1, 2, 3)[self.section] / self.lengths[self.section, None, None]
        local = psi[:, 1] + np.cross(psi[:, 0], self.offset)
        return np.asarray(np.einsum("pri,pi->pr", self._frames(q)[:, 1:], local))

    def pull_back(self, q: FloatArray, H: sparse.csr_matrix) -> sparse.csr_matrix:
        """Rows over the unknowns, (m, 6 + 6N), from rows over the points' coordinates, (m, 3p)."""
        return self._rows(H, self.jacobians(q)[0])

    def blocks(self, q: FloatArray) -> tuple[FloatArray, IntArray]:
        """Derivatives (p, 3, n) of the embedded points by the active unknowns, and their columns (p, n)."""
        moves = np.ascontiguousarray(self.jacobians(q)[0])
        return moves, np.tile(self._active.astype(np.int32), (len(moves), 1))

    def pull_back_row(self, q: FloatArray, slope: FloatArray) -> sparse.csr_matrix:
        """The row over the unknowns, (1, 6 + 6N), of one row over all embedded points, `slope` (p, 3)."""
        row = self.forces(q, slope).ravel()[self._active]
        return sparse.csr_matrix((row, self._active, np.array([0, len(row)])), shape=(1, self.unknown_count))

    def pull_back_spins(self, q: FloatArray, H: sparse.csr_matrix) -> sparse.csr_matrix:
        """Rows over the unknowns, (m, 6 + 6N), from rows over the spins of the points' frames, (m, 3p)."""
        return self._rows(H, self.jacobians(q)[1])

    def forces(self, q: FloatArray, f: FloatArray) -> FloatArray:
        """Jᵀ f of forces (p, 3) N at the embedded points, of the shape of dx, in one pass."""
        sweep, x = self._sweep(q)
        sorted_forces = f[self._order]
        wrench = np.ascontiguousarray(np.stack([np.cross(x, sorted_forces), sorted_forces], axis=1))
        out = np.empty((len(q) - 2, 3))
        kinematics.pull(wrench, self.basis, self.kinds, sweep.stations.first, sweep.C, sweep.P, out)
        return out

    def node_poses(self, q: FloatArray) -> FloatArray:
        """Poses of the ends of the sections, (N + 1, 4, 3), m."""
        return node_poses(q)

    def carrier_velocities(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """J v: velocities (p, 3) m/s of the points, which are their own carriers, in one pass."""
        sweep, x = self._sweep(q)
        twist = np.empty((len(x), 2, 3))
        kinematics.twists(writable(v), self.basis, self.kinds, sweep.stations.first, sweep.C, sweep.P, twist)
        return np.asarray((twist[:, 1] + np.cross(twist[:, 0], x))[self._rank])

    def jacobians(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Derivatives of the points (p, 3, n) and of the spins of their frames by the active unknowns."""
        sweep, x = self._sweep(q)
        moves, turns = self._blank()
        rates.jacobian(self.basis, sweep.stations.first, x, sweep.C, sweep.P, moves, turns)
        return moves[self._rank], turns[self._rank]

    def jacobian_rates(self, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Derivatives in time of what `jacobians` gives, under the rates v (2 + 2N, 3)."""
        sweep, x = self._sweep(q)
        moves, turns = self._blank()
        rates.jacobian_rates(
            sweep.q, writable(v), self.basis, self.kinds, sweep.stations.first, sweep.stations.fraction, sweep.ends, x,
            sweep.C, sweep.P, moves, turns,
        )  # fmt: skip
        return moves[self._rank], turns[self._rank]

    def load_stiffness(self, q: FloatArray, f: FloatArray, moments: FloatArray | None = None) -> FloatArray:
        """−∂(Jᵀ f)/∂q (n, n) over the active unknowns, for dead forces f (p, 3) N at the embedded points.

        Of offsets the part across the rod counts. With `moments` (p, 3) N·m, multipliers of the rotation vectors of the
        points' frames from where they stand, the matrix is that of −∂²(moments · vectors)/∂q² too: the symmetric part
        of what dead moments add.
        """
        sweep, _ = self._sweep(q)
        stations, pushed = sweep.stations, f[self._order]
        across = np.concatenate([np.ones((len(pushed), 1)), self.offset[self._order, 1:]], axis=1)
        forces = np.ascontiguousarray(across[:, :, None] * pushed[:, None])
        K = np.zeros((len(self._active), len(self._active)))
        geometric.subtract_load_stiffness(
            sweep.q, self.kinds, stations.first, stations.fraction, sweep.ends, sweep.frames, sweep.C, sweep.P,
            forces, np.zeros_like(pushed) if moments is None else np.ascontiguousarray(moments[self._order]), 1.0, K,
        )  # fmt: skip
        if moments is not None:
            K += K.T.copy()
            K *= 0.5
        turn = np.zeros((6, 6))
        turn[:3, :3] = turn[3:, 3:] = self.basis
        K[:6] = turn.T @ K[:6]
        K[:, :6] = K[:, :6] @ turn
        return K

    def _blank(self) -> tuple[FloatArray, FloatArray]:
        shape = (len(self.section), 3, len(self._active))
        return np.empty(shape), np.empty(shape)

    def _rows(self, H: sparse.csr_matrix, J: FloatArray) -> sparse.csr_matrix:
        return self._spread(np.asarray(H @ J.reshape(-1, J.shape[2])))

    def _spread(self, rows: FloatArray) -> sparse.csr_matrix:
        """Rows over the active unknowns, (m, n), as rows over all of them."""
        ptr = rows.shape[1] * np.arange(len(rows) + 1, dtype=np.int32)
        columns = np.tile(self._active, len(rows)).astype(np.int32)
        return csr(rows.ravel(), columns, ptr, (len(rows), self.unknown_count))

    def _frames(self, q: FloatArray) -> FloatArray:
        """Poses (p, 4, 3) on the axis, positions relative to the base."""
        sweep = Sweep(writable(q), self.kinds, self._stations, columns=False)
        return np.asarray(sweep.frames[self._rank])

    def _sweep(self, q: FloatArray) -> tuple[Sweep, FloatArray]:
        """Poses and columns of the stations, sorted by section, and the points (p, 3) seen from the base, m."""
        sweep = Sweep(writable(q), self.kinds, self._stations)
        x = sweep.frames[:, 0] + np.einsum("pri,pi->pr", sweep.frames[:, 1:], self.offset[self._order])
        return sweep, np.ascontiguousarray(x)

    @property
    def unknown_count(self) -> int:
        """Six of the base and six of each section."""
        return 6 + 6 * len(self.lengths)

    @cached_property
    def _order(self) -> IndexArray:
        return np.argsort(self.section, kind="stable")

    @cached_property
    def _rank(self) -> IndexArray:
        return np.argsort(self._order, kind="stable")

    @cached_property
    def _stations(self) -> Stations:
        first = np.searchsorted(self.section[self._order], np.arange(len(self.lengths) + 1)).astype(np.int32)
        return Stations(first, np.ascontiguousarray(self.fraction[self._order]), _NO_MASS)

    @cached_property
    def _active(self) -> IndexArray:
        strains = 6 + (6 * np.arange(len(self.lengths))[:, None] + self.kinds).ravel()
        return np.concatenate([np.arange(6), strains])
