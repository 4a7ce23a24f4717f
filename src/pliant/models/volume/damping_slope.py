"""How the force of stiffness-proportional damping changes with the shape at which its stiffness is taken.

Linear and corotated laws damp by their warped stiffness. With F_w = Σ w ⊗ G, B_w = RᵀF_w, S = sym(B) and the rotation
R of F = Σ x ⊗ G,

    wᵀ K(x) d = Σ V (2μ S_w : S_d + λ tr S_w tr S_d),         δR = R [ω],  (tr(U) − U) ω = axl(RᵀδF − δFᵀR),  U = RᵀF

where axl([a]) = a. With Z = (2μ S_d + λ tr S_d) B_wᵀ + (2μ S_w + λ tr S_w) B_dᵀ the change is −Σ V [ω] : Z.

Other laws damp by the projected tangent C(F) of each point, wᵀ K(x) d = Σ V F_w : C(F) : F_d, whose derivative by F is
a central difference; where an eigenvalue of C is about to be clipped it is one-sided.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from pliant.core.types import FloatArray, IntArray
from pliant.materials import Tangent
from pliant.materials.laws import LINEAR, LINEAR_LAWS, SHEAR, VOLUME
from pliant.materials.response import evaluate
from pliant.models.volume.points import Points

_STEP = 1e-6
"""Change of F in the central difference of C: truncation 1e-12, and clipped eigenvalues are rarely that close."""

_NEWTON = 12
"""Steps to the rotation of a matrix; beyond the singular values are faster."""


class DampingSlope(Protocol):
    """∂(wᵀ K(x) d)/∂x at a fixed shape x and motion d."""

    def product(self, w: FloatArray) -> FloatArray:
        """Its value for w (n, 3), (n, 3)."""

    def along(self, y: FloatArray) -> FloatArray:
        """∂(K(x) d)/∂x y, the transpose of `product`, for a motion y (n, 3), (n, 3)."""

    def form(self, w: FloatArray) -> Form:
        """wᵀ K(x) d by points."""


def damping_slope(points: Points, laws: IntArray, table: FloatArray, x: FloatArray, d: FloatArray) -> DampingSlope:
    """∂(wᵀ K(x) d)/∂x for the damping stiffness K of a body with these laws, d (n, 3)."""
    kind = _Warped if all(law in LINEAR_LAWS for law in laws) else _Projected
    return kind(points, laws, table, x, d)


class Form(NamedTuple):
    """A sum over points: its parts `density` (p,), and their derivatives (p, 3, 3) by F, F_w and F_d, `slopes`."""

    density: FloatArray
    slopes: tuple[FloatArray, FloatArray, FloatArray]


class _OfPoints:
    """Gradients of fields at the points, and back."""

    def __init__(self, points: Points) -> None:
        self._points = points

    def _gradient(self, y: FloatArray) -> FloatArray:
        """Σ y ⊗ G of each point, (p, 3, 3)."""
        p = self._points
        made: FloatArray = np.add.reduceat(y[p.nodes][:, :, None] * p.gradients[:, None, :], p.ptr[:-1], axis=0)
        return made

    def _forces(self, P: FloatArray, count: int) -> FloatArray:
        """Σ P G at the nodes, (n, 3)."""
        p, made = self._points, np.empty((count, 3))
        parts = np.einsum("kij,kj->ki", np.repeat(P, np.diff(p.ptr), axis=0), p.gradients)
        for axis in range(3):
            made[:, axis] = np.bincount(p.nodes, parts[:, axis], minlength=count)
        return made


class _Warped(_OfPoints):
    """That of the warped stiffness of linear and corotated laws."""

    def __init__(self, points: Points, laws: IntArray, table: FloatArray, x: FloatArray, d: FloatArray) -> None:
        super().__init__(points)
        self._d = d
        self._mu = np.where(points.part == VOLUME, 0.0, table[points.material, 0]) * points.weight
        self._lam = np.where(points.part == SHEAR, 0.0, table[points.material, 1]) * points.weight
        self._turns = laws[points.material] != LINEAR
        F = self._gradient(x)
        self._R = rotations(F)
        U = self._R.transpose(0, 2, 1) @ F
        self._inverse = np.linalg.inv(np.trace(U, axis1=1, axis2=2)[:, None, None] * np.eye(3) - U)
        self._inverse[~self._turns] = 0.0
        self._Bd = self._R.transpose(0, 2, 1) @ self._gradient(d)
        self._stress_d = self._stress(self._Bd)

    def product(self, w: FloatArray) -> FloatArray:
        """−Σ V [ω] : Z as forces of the nodes."""
        Bw = self._R.transpose(0, 2, 1) @ self._gradient(w)
        Z = self._stress_d @ Bw.transpose(0, 2, 1) + self._stress(Bw) @ self._Bd.transpose(0, 2, 1)
        turn = np.einsum("pij,pj->pi", self._inverse, _axial(Z))
        return self._forces(-self._R @ _cross(turn), len(w))

    def along(self, y: FloatArray) -> FloatArray:
        """−Σ V R (−[ω] S_d + stress([ω] B_d)) as forces of the nodes."""
        spin = _axial(self._R.transpose(0, 2, 1) @ self._gradient(y))
        turn = _cross(np.einsum("pij,pj->pi", self._inverse, spin))
        change = self._stress(turn @ self._Bd) - turn @ self._stress_d
        return self._forces(-self._R @ change, len(y))

    def _stress(self, B: FloatArray) -> FloatArray:
        made: FloatArray = self._mu[:, None, None] * (B + B.transpose(0, 2, 1))
        made += (self._lam * np.trace(B, axis1=1, axis2=2))[:, None, None] * np.eye(3)
        return made

    def form(self, w: FloatArray) -> Form:
        """V (2μ S_w : S_d + λ tr S_w tr S_d), with R = 1 at small strain."""
        R = np.where(self._turns[:, None, None], self._R, np.eye(3))
        Bw, Bd = (R.transpose(0, 2, 1) @ self._gradient(y) for y in (w, self._d))
        by_w, by_d = self._stress(Bd), self._stress(Bw)
        Z = by_w @ Bw.transpose(0, 2, 1) + by_d @ Bd.transpose(0, 2, 1)
        turn = np.einsum("pij,pj->pi", self._inverse, _axial(Z))
        return Form(np.einsum("pij,pij->p", by_w, Bw), (-R @ _cross(turn), R @ by_w, R @ by_d))


class _Projected(_OfPoints):
    """That of the projected tangent of hyperelastic laws."""

    def __init__(self, points: Points, laws: IntArray, table: FloatArray, x: FloatArray, d: FloatArray) -> None:
        super().__init__(points)
        F, Fd = self._gradient(x), self._gradient(d)
        self._F, self._Fd = F, Fd
        self._turn = np.empty((points.count, 9, 9))  # ∂(C : F_d)/∂F, by component of F and of the stress
        groups = np.unique(np.stack([points.material, points.part]), axis=1).T
        self._laws = []
        for material, part in groups:
            own = np.flatnonzero((points.material == material) & (points.part == part))
            law = int(laws[material]), int(part), table[material], int(Tangent.PROJECTED)
            self._laws.append((own, law))
            for k in range(9):
                change = np.zeros(9)
                change[k] = _STEP
                sides = [_tangent_product(law, F[own] + sign * change.reshape(3, 3), Fd[own]) for sign in (1.0, -1.0)]
                self._turn[own, k] = (sides[0] - sides[1]).reshape(-1, 9) / (2.0 * _STEP)
        self._turn *= points.weight[:, None, None]

    def product(self, w: FloatArray) -> FloatArray:
        """Σ V F_w : ∂C/∂F : F_d as forces of the nodes."""
        P = np.einsum("pks,ps->pk", self._turn, self._gradient(w).reshape(-1, 9))
        return self._forces(P.reshape(-1, 3, 3), len(w))

    def along(self, y: FloatArray) -> FloatArray:
        """Σ V ∂C/∂F : F_y : F_d as forces of the nodes."""
        P = np.einsum("pks,pk->ps", self._turn, self._gradient(y).reshape(-1, 9))
        return self._forces(P.reshape(-1, 3, 3), len(y))

    def form(self, w: FloatArray) -> Form:
        """V F_w : C(F) : F_d; C is symmetric."""
        Fw, by_w, by_d = self._gradient(w), np.empty(self._F.shape), np.empty(self._F.shape)
        for own, law in self._laws:
            by_w[own], by_d[own] = (_tangent_product(law, self._F[own], y[own]) for y in (self._Fd, Fw))
        V = self._points.weight[:, None, None]
        turned = np.einsum("pks,ps->pk", self._turn, Fw.reshape(-1, 9)).reshape(-1, 3, 3)
        return Form(self._points.weight * np.einsum("pij,pij->p", by_w, Fw), (turned, V * by_w, V * by_d))


def rotations(F: FloatArray) -> FloatArray:
    """Rotation factors (p, 3, 3) of matrices F (p, 3, 3), proper also where F is inverted.

    Newton's iteration R ← (R + R⁻ᵀ)/2 takes five steps where F is not far from a rotation (N. Higham, Functions of
    Matrices, 8.3); other matrices go through their singular values.
    """
    R: FloatArray = F.astype(np.float64)
    for _ in range(_NEWTON):
        C = np.asarray(np.cross(R[:, (1, 2, 0)], R[:, (2, 0, 1)]), np.float64)  # the cofactors, det R × R⁻ᵀ
        size = np.einsum("pi,pi->p", R[:, 0], C[:, 0])
        C *= (0.5 / np.where(size > 0.0, size, 1.0))[:, None, None]
        C += 0.5 * R
        moved = float(np.abs(C - R).max(initial=0.0))
        R = C
        if moved < 1e-9:  # of second order: the next step would move by its square
            break
    left = np.abs(R.transpose(0, 2, 1) @ R - np.eye(3)).max(axis=(1, 2), initial=0.0) > 1e-14
    left |= np.linalg.det(F) <= 0.0
    if left.any():
        R[left] = _by_singular_values(F[left])
    return R


def _by_singular_values(F: FloatArray) -> FloatArray:
    left, _, right = np.linalg.svd(F)
    turned = np.linalg.det(left) * np.linalg.det(right) < 0.0
    left[turned, :, 2] *= -1.0
    made: FloatArray = left @ right
    return made


def _tangent_product(law: tuple[int, int, FloatArray, int], F: FloatArray, d: FloatArray) -> FloatArray:
    """C(F) : d of points, (p, 3, 3)."""
    count = len(F)
    psi, P, C = np.empty(count), np.empty((count, 3, 3)), np.empty((count, 3, 3, 3, 3))
    evaluate(*law, np.ascontiguousarray(F), psi, P, C)
    made: FloatArray = np.einsum("pijkl,pkl->pij", C, d)
    return made


def _axial(A: FloatArray) -> FloatArray:
    """a of A − Aᵀ = [a], (p, 3)."""
    return np.stack([A[:, 2, 1] - A[:, 1, 2], A[:, 0, 2] - A[:, 2, 0], A[:, 1, 0] - A[:, 0, 1]], axis=1)


def _cross(a: FloatArray) -> FloatArray:
    """[a] (p, 3, 3)."""
    made = np.zeros((len(a), 3, 3))
    made[:, 2, 1], made[:, 0, 2], made[:, 1, 0] = a.T
    return made - made.transpose(0, 2, 1)
