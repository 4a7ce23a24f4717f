"""Convergence in L2 with a manufactured solution of linear elasticity: rate 2 for degree 1, rate 3 for degree 2.

The displacement u = sin(πx) sin(πy) sin(πz) d with a constant vector d vanishes on the boundary of the unit cube. Its
body force is b = −div σ(u) = −[μ ∇²u + (λ + μ) ∇(div u)] (Brenner and Scott, The Mathematical Theory of Finite Element
Methods, ch. 11); the load is integrated by Gauss points, the error by a rule of higher degree.
"""

import numpy as np
import pytest

import pliant as pl
from pliant.materials import Tangent
from pliant.mesh.elements import shape
from pliant.mesh.quadrature import gauss

YOUNG, POISSON = 1.0, 0.3
MU = YOUNG / (2 * (1 + POISSON))
LAM = YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
D = np.array([1.0, -0.7, 0.4])


def exact(x):
    return np.prod(np.sin(np.pi * x), axis=-1)[..., None] * D


def body_force(x):
    s, c = np.sin(np.pi * x), np.cos(np.pi * x)
    product = s.prod(axis=-1)
    hessian = np.empty((*x.shape, 3))  # ∂²(sss)/∂xᵢ∂xⱼ / π²
    for i in range(3):
        for j in range(3):
            k = 3 - i - j
            hessian[..., i, j] = -product if i == j else c[..., i] * c[..., j] * s[..., k]
    return np.pi**2 * (3.0 * MU * product[..., None] * D - (LAM + MU) * hessian @ D)


def geometry(mesh, degree):
    """Quadrature points (m, q, 3), weights (m, q) and shape functions (q, k) of straight-sided or trilinear cells."""
    from pliant.mesh.geometry import jacobian_determinants

    xi, weights = gauss(mesh.element, degree)
    N = shape(mesh.element, xi)
    x = np.einsum("qk,mki->mqi", N, mesh.points[mesh.cells])
    return x, jacobian_determinants(mesh.points, mesh.cells, mesh.element, xi) * weights, N


def l2_error(element, anti_locking, count, distorted_box):
    mesh = distorted_box(element, cells=(count,) * 3, amount=0.1)
    outside = ~((mesh.points > 1e-9) & (mesh.points < 1 - 1e-9)).all(axis=1)
    scene = pl.Scene()
    clamp = pl.regions.nodes(np.flatnonzero(outside))
    material = pl.materials.Linear(young=YOUNG, poisson=POISSON, density=1.0)
    scene.add(pl.Volume(mesh, material, clamp=clamp, anti_locking=anti_locking))
    model = scene.compile().models[0]
    values = np.empty((model.pattern.block_count, 3, 3))
    model.assemble(model.rest, mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=values)
    x, weights, N = geometry(mesh, 5)
    load = np.einsum("mq,qk,mqi->mki", weights, N, body_force(x)).reshape(-1, 3)
    rhs = np.stack([np.bincount(mesh.cells.ravel(), f, mesh.node_count) for f in load.T], axis=1)
    u = model.factorize(values).solve(rhs)
    assert np.abs(u[outside]).max() == 0.0
    difference = np.einsum("qk,mki->mqi", N, u[mesh.cells]) - exact(x)
    return np.sqrt(np.sum(weights[..., None] * difference**2) / np.sum(weights[..., None] * exact(x) ** 2))


@pytest.mark.parametrize(
    ("element", "anti_locking", "counts", "rate"),
    [
        ("tet4", False, (8, 16), 1.85),
        ("tet4", True, (8, 16), 1.85),
        ("hex8", False, (8, 16), 1.85),
        ("hex8", True, (8, 16), 1.85),
        ("tet10", True, (4, 8), 2.8),
    ],
)
def test_rate_in_l2(element, anti_locking, counts, rate, distorted_box):
    """Halving the cells divides the L2 error by 2^rate, on slightly distorted meshes."""
    errors = [l2_error(element, anti_locking, count, distorted_box) for count in counts]
    assert errors[-1] < (0.03 if element != "tet10" else 0.003)
    measured = np.log2(errors[0] / errors[1])
    print(f"{element} anti_locking={anti_locking}: errors {errors[0]:.3e} {errors[1]:.3e}, rate {measured:.3f}")
    assert measured > rate
