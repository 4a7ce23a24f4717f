"""Shape blending over a constant Laplacian: the elements of the published method.

G. Fang, Y. Tian, A. Weightman, C. C. L. Wang, Collision-aware fast simulation for soft robots by optimization-based
geometric computing, IROS 2022. Equations (1), (6), (7), (9), written with the deformation gradient F of an element and
its rotation R, so that a target shape is a target gradient T:

    body      T = s [(1 − ω) F + ω R],   s = det[(1 − ω) F + ω R]^(−1/3)        (the cube root that (7) lacks)
    chamber   T = α^(1/3) R
    Σ w ‖F − T‖² vol = min  →  one round: solve  L x = Σ w vol T G  with L = Σ w vol G Gᵀ

At small strains the stress 2w(F − T) is that of μ = w ω, λ = 2w(1 − ω)/3; at finite strain it is no gradient.

Three ways to weigh an element: "elastic" is w vol ‖F − T‖², whose stiffness does not depend on the mesh; "published"
is vol ‖(F − T) P‖² with the centred corners P at rest, which goes with the fifth power of the size of an element, and
"released", ‖(F − T) P‖², what the authors' program does, with its square. In both of these w only compares materials.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from pliant.core.errors import InputError, SingularError
from pliant.core.kernels import kernel
from pliant.core.types import BoolArray, FloatArray, IntArray
from pliant.materials.rotations import signed_svd
from pliant.solvers.linear import BlockPattern, analyze

Weighting = Literal["elastic", "published", "released"]
LEAST_BLEND = 1e-3
"""Volume ratio of a blend below which its rescaling is left out and the target is the rotation."""


class Softening(NamedTuple):
    """ω over its value at rest, as a function of the largest stretch: `ratio` (k,) at `stretch` (k,), both without
    unit, straight between, constant beyond.
    """

    stretch: FloatArray
    ratio: FloatArray


CONSTANT = Softening(np.ones(1), np.ones(1))


@dataclass(frozen=True, eq=False)
class Elements:
    """m tetrahedra: `cells` (m, 4), gradients `G` (m, 4, 3) in 1/m, `X` (m, 4, 3) and `K` (m, 4, 4), whose products
    (F − T) X and K x are forces over two; `omega` (m,), of which chambers make no use; `strength` (m,) is w vol, J, or
    what comes closest to it where the weighting is another.
    """

    cells: IntArray
    G: FloatArray
    X: FloatArray
    K: FloatArray
    omega: FloatArray
    strength: FloatArray

    @classmethod
    def of(cls, rest: FloatArray, cells: IntArray, weight: Any, omega: Any, weighting: Weighting) -> Elements:
        """Elements over the rest shape `rest` (n, 3) m, with `weight` (m,) in Pa and `omega` (m,)."""
        corners = rest[cells]
        D = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
        inner = np.linalg.inv(D)
        G = np.concatenate([-inner.sum(axis=1, keepdims=True), inner], axis=1)
        volume = np.linalg.det(D) / 6.0
        w = np.broadcast_to(np.asarray(weight, float), volume.shape)
        if weighting == "elastic":
            strength = w * volume
            X = strength[:, None, None] * G
            K = X @ np.swapaxes(G, 1, 2)
        else:
            share = w * volume if weighting == "published" else w
            P = corners - corners.mean(axis=1, keepdims=True)
            strength = share * (P**2).sum(axis=(1, 2)) / 3.0
            X = share[:, None, None] * P
            K = share[:, None, None] * (np.eye(4) - 0.25)
        own = np.ascontiguousarray(np.broadcast_to(np.asarray(omega, float), volume.shape))
        arrays = np.ascontiguousarray(cells, np.int32), np.ascontiguousarray(G), np.ascontiguousarray(X)
        return cls(*arrays, K, own, strength)

    def forces(self, x: FloatArray, swell: float = 0.0, softening: Softening = CONSTANT) -> FloatArray:
        """∂E/∂x over two at x (n, 3) m at constant T: (n, 3) N; `swell` is α^(1/3) of a chamber, 0 for a body."""
        force = np.zeros_like(x)
        blend_forces(x, self.cells, self.G, self.X, self.omega, swell, *softening, force)
        return force

    def gradients(self, x: FloatArray) -> FloatArray:
        """Deformation gradients at x (n, 3) m: (m, 3, 3), no unit."""
        found: FloatArray = np.swapaxes(x[self.cells], 1, 2) @ self.G
        return found


class Laplacian:
    """L of some elements over n nodes, factorized for each axis; `held` (n, 3) are the constrained DoFs.

    Springs (n,), N/m over two, may stand beside it, and change.
    """

    def __init__(self, count: int, elements: list[Elements], held: BoolArray, where: FloatArray) -> None:
        cells = np.concatenate([part.cells for part in elements])
        order = np.argsort(cells, axis=1)
        nodes = np.take_along_axis(cells, order, axis=1)
        ptr = 4 * np.arange(len(cells) + 1)
        self._pattern = BlockPattern.from_cliques(count, ptr, nodes.ravel(), block=1)
        _, positions = self._pattern.clique_positions(ptr, nodes.ravel())
        a, b = np.tril_indices(4)
        K = np.concatenate([part.K for part in elements])
        pairs = K[np.arange(len(K))[:, None], order[:, a], order[:, b]]
        self._values: FloatArray = np.bincount(positions, pairs.ravel(), minlength=self._pattern.block_count).astype(
            float
        )
        self._held = held
        self._symbolic: dict[bytes, Any] = {}
        for axis in range(3):
            self._symbolic.setdefault(
                held[:, axis].tobytes(), analyze(self._pattern, coordinates=where, keep=~held[:, axis])
            )
        self.diagonal: FloatArray = self._values[self._pattern.diagonal]
        """Diagonal of L (n,), N/m over two."""
        self.factorizations = 0
        self.spring(np.zeros(count))

    def spring(self, stiffness: FloatArray) -> None:
        """Factorize with springs of `stiffness` (n,), N/m over two, at the nodes."""
        values = self._values.copy()
        values[self._pattern.diagonal] += stiffness
        blocks = values.reshape(-1, 1, 1)
        try:
            self._factors = {key: symbolic.factorize(blocks) for key, symbolic in self._symbolic.items()}
        except SingularError as error:
            raise InputError(
                "nothing holds a body along some axis, and the published method knows no body that floats: clamp it, "
                "or add a pl.Support"
            ) from error
        self.factorizations += 1

    def solve(self, force: FloatArray) -> FloatArray:
        """L⁻¹ `force`, both (n, 3); 0 at constrained DoFs."""
        columns = [self._factors[self._held[:, axis].tobytes()].solve(force[:, axis].copy()) for axis in range(3)]
        return np.stack(columns, axis=1)


@kernel
def blend_forces(x, cells, G, X, omega, swell, stretch, ratio, force):  # type: ignore[no-untyped-def]
    """(F − T) X of all elements added to `force`."""
    F, U, V, s = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for e in range(cells.shape[0]):
        for i in range(3):
            for j in range(3):
                total = 0.0
                for a in range(4):
                    total += x[cells[e, a], i] * G[e, a, j]
                F[i, j] = total
        signed_svd(F, U, s, V)
        if swell > 0.0:
            f, r = 0.0, swell
        else:
            w = omega[e] * np.interp(s[0], stretch, ratio)
            f, r = 1.0 - w, w
            J = (f * s[0] + r) * (f * s[1] + r) * (f * s[2] + r)
            if J > LEAST_BLEND:
                scale = J ** (-1.0 / 3.0)
                f, r = scale * f, scale * r
            else:
                f, r = 0.0, 1.0
        for i in range(3):
            for j in range(3):
                R = U[i, 0] * V[j, 0] + U[i, 1] * V[j, 1] + U[i, 2] * V[j, 2]
                F[i, j] = (1.0 - f) * F[i, j] - r * R
        for a in range(4):
            n = cells[e, a]
            for i in range(3):
                force[n, i] += F[i, 0] * X[e, a, 0] + F[i, 1] * X[e, a, 1] + F[i, 2] * X[e, a, 2]
