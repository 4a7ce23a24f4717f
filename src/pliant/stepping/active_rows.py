"""The active rows of a linear solve, whose δ is kept while its regularization is removed (`stepping.refinement`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pliant.constraints import Rows
from pliant.constraints.condense import compliance
from pliant.core.arrays import transposed_product
from pliant.core.types import FloatArray, IndexArray
from pliant.models.free_modes import FreeModes
from pliant.models.model import Factor
from pliant.solvers.contact import Law, MixedProblem

NEGLIGIBLE = 1e-10
"""Eigenvalues or singular values of the compliance of the active rows below this fraction of the largest are those of
redundant rows.
"""

Motion = list[FloatArray]


class Sliding(NamedTuple):
    """Contacts at the limit of friction with a force of it: their `normal` rows (c,), μ N (c,) N, its direction (c, 2)
    in the two rows that follow, and μ (c,).
    """

    normal: IndexArray
    limit: FloatArray
    direction: FloatArray
    mu: FloatArray

    @classmethod
    def of(cls, rows: Rows, lam: FloatArray) -> Sliding:
        """Those among `rows` with the forces `lam`."""
        cones = np.flatnonzero(rows.law == Law.COULOMB)
        force, mu = lam[cones].reshape(-1, 3), rows.mu[cones[::3]]
        tangential, limit = np.linalg.norm(force[:, 1:], axis=1), mu * force[:, 0]
        found = np.flatnonzero((force[:, 0] > 0.0) & (tangential >= (1.0 - 1e-6) * limit) & (tangential > 0.0))
        return cls(cones[3 * found], limit[found], force[found, 1:] / tangential[found, None], mu[found])

    @property
    def tangents(self) -> IndexArray:
        """The tangential rows (c, 2)."""
        made: IndexArray = self.normal[:, None] + np.array([1, 2])
        return made

    def across(self, count: int) -> sparse.csr_matrix:
        """The slip across the forces of friction, (c, `count`)."""
        turned = self.direction[:, ::-1] * (-1.0, 1.0)
        starts = 2 * np.arange(len(self.normal) + 1)
        return sparse.csr_matrix((turned.ravel(), self.tangents.ravel(), starts), shape=(len(self.normal), count))

    def rows(self, count: int) -> sparse.csr_matrix:
        """The friction (`count`, `count`) that each normal force brings along."""
        parts = self.mu[:, None] * self.direction
        place = np.repeat(self.normal, 2), self.tangents.ravel()
        return sparse.csr_matrix((parts.ravel(), place), shape=(count, count))

    def compliance(self, slip: FloatArray) -> FloatArray:
        """|s|/(μ N) (c,) m/N with the slip of all rows, m."""
        made: FloatArray = np.linalg.norm(slip[self.tangents], axis=1) / self.limit
        return made


class ActiveRows:
    """The active rows, whose δ is kept, with the free rigid motions of bodies as further ones, and the compliance of A
    along them. `slips` says whether a contact slips; with `stuck` all that push are taken to stick.

    The friction of a contact that slips follows its normal force and turns with its slip s: T = −μ N s/|s|. Forces ν
    then act along rows F other than H, and the row across T has the compliance D = |s|/(μ N): A z = g + Fᵀν,
    H z + D ν = 0, which is `symmetric` only where no contact slips.
    """

    def __init__(
        self,
        factors: Sequence[Factor],
        rows: Rows | None,
        problem: MixedProblem | None,
        lam: FloatArray,
        modes: Sequence[FreeModes | None],
        *,
        stuck: bool = False,
    ) -> None:
        self.kept: sparse.csr_matrix = sparse.csr_matrix((0, len(lam)))
        self.slips, self.symmetric = False, True
        if rows is not None and problem is not None:
            self.kept, self.slips = kept_rows(rows, lam, stuck=stuck)
        self.count = self.kept.shape[0]
        free = [np.zeros((0, 0)) if each is None else each.weighted.T for each in modes]
        total = self.count + sum(len(each) for each in free)
        self.H: list[sparse.csr_matrix] | None = None
        self.F: list[sparse.csr_matrix] = []
        if not total:
            return
        H, first = [], self.count
        for index, own in enumerate(free):
            size = own.shape[1] if len(own) else rows.H[index].shape[1] if rows is not None else 0
            above = self.kept @ rows.H[index] if rows is not None else sparse.csr_matrix((0, size))
            before, after = first - self.count, total - first - len(own)
            blank = [sparse.csr_matrix((before, size)), sparse.csr_matrix(own), sparse.csr_matrix((after, size))]
            H.append(sparse.vstack([above, *(part for part in blank if part.shape[0])], format="csr"))
            first += len(own)
        self.H, self.F, self.forward = H, H, self.kept
        if rows is not None and problem is not None and self.slips:
            sliding = Sliding.of(rows, lam)
            if len(sliding.normal):
                self._add_friction(factors, rows, sliding, problem.delta_free + problem.W @ lam - problem.target)
                return
        W = compliance(H, factors)
        values, vectors = np.linalg.eigh(0.5 * (W + W.T))
        fine = values > NEGLIGIBLE * values[-1]
        self.inverse: FloatArray = (vectors[:, fine] / values[fine]) @ vectors[:, fine].T

    def _add_friction(self, factors: Sequence[Factor], rows: Rows, sliding: Sliding, slip: FloatArray) -> None:
        """Let friction follow the normal forces of `sliding` contacts, and turn with the `slip` of all rows, m."""
        assert self.H is not None
        self.symmetric, total, width = False, self.H[0].shape[0], self.kept.shape[1]
        self.turning = np.zeros(total)
        self.turning[self.count - len(sliding.normal) : self.count] = sliding.compliance(slip)
        more = self.kept @ sliding.rows(width)
        self.forward = sparse.csr_matrix(self.kept + more)
        used = np.flatnonzero(np.diff(more.indptr))
        along = [more[used] @ own for own in rows.H]
        W = compliance([sparse.vstack([a, b], format="csr") for a, b in zip(self.H, along, strict=True)], factors)
        W[:total, used] += W[:total, total:]
        chosen = sparse.csr_matrix((np.ones(len(used)), (used, np.arange(len(used)))), shape=(total, len(used)))
        self.F = [own + chosen @ extra for own, extra in zip(self.H, along, strict=True)]
        self.inverse = np.linalg.pinv(W[:total, :total] + np.diag(self.turning), rcond=NEGLIGIBLE)

    def answer(self, factors: Sequence[Factor], g: Motion) -> tuple[FloatArray, FloatArray]:
        """The vectors (z, ν) and (A z, D ν) of A z = g + Fᵀν, H z + D ν = 0."""
        z = [factor.solve(x) for factor, x in zip(factors, g, strict=True)]
        nu = self._multipliers(z)
        back = self.pushes(nu, g)
        z = [a + factor.solve(b) for a, factor, b in zip(z, factors, back, strict=True)]
        image = [a + b for a, b in zip(g, back, strict=True)]
        return _vector(z, nu), _vector(image, self.turning * nu)

    def parts(self, vector: FloatArray, like: Motion) -> tuple[Motion, FloatArray]:
        """The motion, of the shapes of `like`, and the forces (k,) of a vector."""
        ends = np.cumsum([x.size for x in like])
        *motion, nu = np.split(vector, ends)
        return [x.reshape(each.shape) for x, each in zip(motion, like, strict=True)], nu

    def pushes(self, nu: FloatArray, like: Motion) -> Motion:
        """Fᵀν of each body."""
        return pulled(self.F, nu, like)

    def projected(self, factors: Sequence[Factor], g: Motion) -> tuple[Motion, Motion]:
        """z = A⁻¹ (g + Hᵀν) with ν such that H z vanishes, and A z, where no contact slips."""
        z = [factor.solve(x) for factor, x in zip(factors, g, strict=True)]
        if self.H is None:
            return z, g
        back = pulled(self.H, self._multipliers(z), g)
        x = [a + factor.solve(b) for a, factor, b in zip(z, factors, back, strict=True)]
        return x, [a + b for a, b in zip(g, back, strict=True)]

    def forces(self, factors: Sequence[Factor], g: Motion, lam: FloatArray, nu: FloatArray | None) -> FloatArray:
        """λ with what balances the part of the residual g that active rows resist, beside forces ν of the motion."""
        if self.H is None:
            return lam
        if nu is not None:
            g = [a + b for a, b in zip(g, self.pushes(nu, g), strict=True)]
        z = [factor.solve(x) for factor, x in zip(factors, g, strict=True)]
        more = self._multipliers(z) if nu is None else self._multipliers(z) + nu
        new: FloatArray = lam + self.forward.T @ more[: self.count]
        return new

    def _multipliers(self, z: Motion) -> FloatArray:
        assert self.H is not None
        slope: FloatArray = sum(H @ x.ravel() for H, x in zip(self.H, z, strict=True))
        return -self.inverse @ slope


def _vector(motion: Motion, nu: FloatArray) -> FloatArray:
    return np.concatenate([*(x.ravel() for x in motion), nu])


def kept_rows(rows: Rows, lam: FloatArray, *, stuck: bool) -> tuple[sparse.csr_matrix, bool]:
    """The combinations (k, rows) of rows whose δ stays, and whether a contact slips.

    They are bilateral rows, bounded ones inside their bounds, contacts that push, and tangents of those that stick, or
    with `stuck` of all that push. The slip across a force of friction is kept too, in the last rows: that force turns
    with the slip, which is short.
    """
    law = rows.law
    inside = (lam > rows.lower) & (lam < rows.upper)
    kept: Any = (law == Law.BILATERAL) | ((law == Law.BOUNDED) & inside) | ((law == Law.SIGNORINI) & (lam > 0.0))
    cones = np.flatnonzero(law == Law.COULOMB)
    every = sparse.identity(len(lam), format="csr")
    if not len(cones):
        return every[kept], False
    force, mu = lam[cones].reshape(-1, 3), rows.mu[cones[::3]]
    pushes = force[:, 0] > 0.0
    tangential = np.linalg.norm(force[:, 1:], axis=1)
    sticks = pushes if stuck else pushes & (tangential < (1.0 - 1e-6) * mu * force[:, 0])
    kept[cones] = np.stack([pushes, sticks, sticks], axis=1).ravel()
    sliding = None if stuck else Sliding.of(rows, lam)
    if sliding is None or not len(sliding.normal):
        return every[kept], bool((pushes & ~sticks).any())
    return sparse.vstack([every[kept], sliding.across(len(lam))], format="csr"), True


def pulled(H: Sequence[sparse.csr_matrix], lam: FloatArray, like: Sequence[FloatArray]) -> Motion:
    """Hᵀλ of each body, of the shapes of `like`."""
    return [transposed_product(own, lam).reshape(x.shape) for own, x in zip(H, like, strict=True)]
