"""Curved steps, along which material rotates and keeps its volume: from a linear displacement to a configuration.

A long straight step stretches what it should turn, and changes volumes that it should keep. The step dx of a linear
problem has the gradient D in a cell with the deformation gradient F, and with it the rate L = D F⁻¹. Followed for a
unit of time that leads to

    F⁺ = exp(L) F,         det F⁺ = exp(tr L) det F

which is a rotation where L is one, and keeps the volume where L does. The cells so moved do not fit together; the shape
that is nearest to all of them, min Σ vol ‖∇x − F⁺‖², is one solve with the Laplacian of the mesh at rest, which is
factorized once. This is the local and global step of the paper (and of O. Sorkine and M. Alexa, As-rigid-as-possible
surface modeling, SGP 2007), used for what it is good at: geometry.
"""

from __future__ import annotations

import numpy as np

from pliant.core.arrays import writable
from pliant.core.kernels import inline, kernel
from pliant.core.threads import beside
from pliant.core.types import FloatArray
from pliant.models.volume import VolumeModel
from pliant.models.volume.assembly import deformation_gradient
from pliant.models.volume.halved import halves
from pliant.models.volume.points import build_points
from pliant.models.workspace import Workspace
from pliant.solvers.linear.factor import CholeskyFactor
from pliant.solvers.linear.pattern import BlockPattern
from pliant.solvers.linear.symbolic import analyze

FASTEST = 2.0
"""Norm of a rate L beyond which a cell goes straight: it is all but flat, and its rate says nothing."""
ANCHOR = 1e-6
"""Fraction of the Laplacian's diagonal that ties nodes to the straight step: nothing else locates unclamped bodies."""


class Curves:
    """The Laplacian of a body at rest, factorized for each set of nodes that is constrained along some axis."""

    def __init__(self, model: VolumeModel) -> None:
        p = build_points(model.mesh, model.spec.cell_materials(), anti_locking=False)
        weight = p.weight * np.array([material.shear_modulus for material in model.spec.materials])[p.material]
        self._points = p.ptr, p.nodes, p.gradients, weight
        pattern = BlockPattern.from_cliques(model.mesh.node_count, p.ptr, p.nodes, block=1)
        _, positions = pattern.clique_positions(p.ptr, p.nodes)
        G = p.gradients.reshape(p.count, -1, 3)
        a, b = np.tril_indices(G.shape[1])
        entries = weight[:, None] * np.einsum("pki,pki->pk", G[:, a], G[:, b])
        values: FloatArray = np.bincount(positions, entries.ravel(), pattern.block_count).astype(np.float64)
        self._tie = ANCHOR * values[pattern.diagonal]
        values[pattern.diagonal] += self._tie
        self._constrained = model.constrained
        self._axes: list[tuple[list[int], CholeskyFactor | None]] = []
        masks, which = np.unique(model.constrained, axis=1, return_inverse=True)
        for k in range(masks.shape[1]):
            factor = None
            if not masks[:, k].all():
                symbolic = analyze(pattern, coordinates=model.mesh.points, keep=~masks[:, k])
                factor = symbolic.factorize(values[:, None, None])
            self._axes.append((np.flatnonzero(which.ravel() == k).tolist(), factor))

    def moved(self, q: FloatArray, dx: FloatArray) -> FloatArray:
        """The displacement (n, 3), m, from q that the step dx (n, 3), m, curves into."""
        beyond = self._beyond(writable(q), np.ascontiguousarray(dx))
        moved = np.where(self._constrained, dx, 0.0)
        for axes, factor in self._axes:
            if factor is not None:
                moved[:, axes] = dx[:, axes] + factor.solve(np.ascontiguousarray(beyond[:, axes]))
        return np.where(self._constrained, dx, moved)

    def _beyond(self, q: FloatArray, dx: FloatArray) -> FloatArray:
        """What the Laplacian turns into the bend, (n, 3), by halves."""
        ptr, nodes, gradients, weight = self._points

        def some(of: slice) -> FloatArray:
            force = np.zeros_like(q)
            curvature_forces(q, dx, ptr[of.start : of.stop + 1], nodes, gradients, weight[of], force)
            return force

        lower, upper = halves(len(weight))
        one, other = beside(lambda: some(lower), lambda: some(upper))
        return one + other

    def rate(self, q: FloatArray, dx: FloatArray) -> float:
        """Largest norm of the rate L of a cell along the step dx (n, 3), m, from q."""
        return float(largest_rate(writable(q), np.ascontiguousarray(dx), *self._points[:3]))


def curves(model: VolumeModel, workspace: Workspace) -> Curves:
    """The curves of `model`, prepared once."""
    return workspace.once(model, Curves, lambda: Curves(model))


@inline
def exponential(L, norm, X, power, product):
    """X := exp(L) − I, by its series for L/2ᵏ and k squarings."""
    halvings = 0
    while norm > 0.25:
        norm *= 0.5
        halvings += 1
    scale = 0.5**halvings
    for i in range(3):
        for j in range(3):
            power[i, j] = scale * L[i, j]
            X[i, j] = power[i, j]
    for order in range(2, 9):
        for i in range(3):
            for j in range(3):
                total = 0.0
                for k in range(3):
                    total += power[i, k] * L[k, j]
                product[i, j] = total * scale / order
        for i in range(3):
            for j in range(3):
                power[i, j] = product[i, j]
                X[i, j] += product[i, j]
    for _ in range(halvings):
        for i in range(3):
            for j in range(3):
                product[i, j] = 2.0 * X[i, j] + X[i, 0] * X[0, j] + X[i, 1] * X[1, j] + X[i, 2] * X[2, j]
        for i in range(3):
            for j in range(3):
                X[i, j] = product[i, j]


@inline
def rate_of(F, D, L):
    """L := D F⁻¹; returns its norm, infinite where F is inverted."""
    J = (
        F[0, 0] * (F[1, 1] * F[2, 2] - F[1, 2] * F[2, 1])
        - F[0, 1] * (F[1, 0] * F[2, 2] - F[1, 2] * F[2, 0])
        + F[0, 2] * (F[1, 0] * F[2, 1] - F[1, 1] * F[2, 0])
    )
    if J <= 0.0:
        return np.inf
    squares = 0.0
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                a, b, c, d = (j + 1) % 3, (j + 2) % 3, (k + 1) % 3, (k + 2) % 3
                total += D[i, k] * (F[a, c] * F[b, d] - F[a, d] * F[b, c])
            L[i, j] = total / J
            squares += L[i, j] * L[i, j]
    return np.sqrt(squares)


@kernel
def largest_rate(q, dx, ptr, nodes, G):
    """Largest norm of D F⁻¹ over all points."""
    F, D, L = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    largest = 0.0
    for p in range(ptr.shape[0] - 1):
        deformation_gradient(q, nodes, G, ptr[p], ptr[p + 1], F)
        deformation_gradient(dx, nodes, G, ptr[p], ptr[p + 1], D)
        largest = max(largest, rate_of(F, D, L))
    return largest


@kernel
def curvature_forces(q, dx, ptr, nodes, G, weight, force):
    """Σ w (F⁺ − F − D) Gₐ of the step dx from q added to `force` (n, 3): what the Laplacian turns into the bend."""
    F, D, L, X = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    power, product = np.empty((3, 3)), np.empty((3, 3))
    for p in range(weight.shape[0]):
        deformation_gradient(q, nodes, G, ptr[p], ptr[p + 1], F)
        deformation_gradient(dx, nodes, G, ptr[p], ptr[p + 1], D)
        norm = rate_of(F, D, L)
        if norm > FASTEST:
            continue
        exponential(L, norm, X, power, product)
        for i in range(3):
            for j in range(3):
                L[i, j] = weight[p] * (X[i, 0] * F[0, j] + X[i, 1] * F[1, j] + X[i, 2] * F[2, j] - D[i, j])
        for k in range(ptr[p], ptr[p + 1]):
            n = nodes[k]
            for i in range(3):
                force[n, i] += L[i, 0] * G[k, 0] + L[i, 1] * G[k, 1] + L[i, 2] * G[k, 2]
