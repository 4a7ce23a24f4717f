"""Cook's membrane in plane strain, nearly incompressible: the default tetrahedron does not lock.

Trapezoid (0, 0) (48, 44) (48, 60) (0, 44), clamped at x = 0, a shear load of 1 per unit thickness spread over the edge
x = 48; linear elasticity with E = 1, ν = 0.4999 (Cook, J. Struct. Div. ASCE 100, 1974).

Reference. P. Krysl publishes for λ = 7500, G = 0.375 (E = 1.12494, ν = 0.499975) the mid-edge deflection 16.432584 at
(48, 52), extrapolated by Richardson (FinEALE, examples/deformation_linear/statics/3-d/Cook_3D_strain_T10.m on GitHub).
For E = 1, ν = 0.4999 the reference is computed here by an independent plane element, biquadratic displacement with
discontinuous linear pressure (Q2/P₋₁, stable; Bathe, Finite Element Procedures, 4.5), which reproduces Krysl's value:
corner (48, 60) 19.39, mid-edge 18.49.
"""

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import spsolve

import pliant as pl

KRYSL = {"lam": 7500.0, "mu": 0.375, "mid_edge": 16.432584376}


def lame(young, poisson):
    return young * poisson / ((1 + poisson) * (1 - 2 * poisson)), young / (2 * (1 + poisson))


@cache
def plane_reference(lam, mu, n=24):
    """Vertical displacement of the corner (48, 60) and of the mid-edge (48, 52) by n × n Q2/P₋₁ elements."""
    m = 2 * n + 1
    s, t = np.meshgrid(*2 * [np.linspace(0, 1, m)], indexing="ij")
    points = np.stack([48 * s, 44 * s + t * (44 - 28 * s)], axis=-1).reshape(-1, 2)
    number = np.arange(m * m).reshape(m, m)
    cells = np.stack([number[a : m - 2 + a : 2, b : m - 2 + b : 2].ravel() for a in range(3) for b in range(3)], axis=1)
    g, w = np.polynomial.legendre.leggauss(3)
    K = np.zeros((len(cells), 18, 18))
    C = np.zeros((len(cells), 3, 18))  # ∫ p div u
    S = np.zeros((len(cells), 3, 3))  # ∫ p p
    for i, x in enumerate(g):
        for j, y in enumerate(g):
            N = [np.array([z * (z - 1) / 2, 1 - z * z, z * (z + 1) / 2]) for z in (x, y)]
            D = [np.array([z - 0.5, -2 * z, z + 0.5]) for z in (x, y)]
            local = np.stack([np.outer(D[0], N[1]).ravel(), np.outer(N[0], D[1]).ravel()])
            J = local @ points[cells]
            G = np.linalg.solve(J, np.broadcast_to(local, (len(cells), 2, 9)))
            weight = np.linalg.det(J) * w[i] * w[j]
            B = np.zeros((len(cells), 3, 18))
            B[:, 0, ::2], B[:, 1, 1::2], B[:, 2, ::2], B[:, 2, 1::2] = G[:, 0], G[:, 1], G[:, 1], G[:, 0]
            K += np.einsum("c,cia,i,cib->cab", weight, B, mu * np.array([2.0, 2.0, 1.0]), B)
            p = np.array([1.0, x, y])
            C += np.einsum("c,i,ca->cia", weight, p, B[:, 0] + B[:, 1])
            S += np.einsum("c,i,j->cij", weight, p, p)
    K += lam * np.einsum("cia,cib->cab", C, np.linalg.solve(S, C))
    unknown = (2 * cells[:, :, None] + np.arange(2)).reshape(len(cells), 18)
    rows, columns = np.repeat(unknown, 18, axis=1).ravel(), np.tile(unknown, 18).ravel()
    A = sparse.csr_matrix((K.ravel(), (rows, columns)))
    load = np.zeros(2 * m * m)
    edge = number[-1]
    for k in range(n):
        load[2 * edge[2 * k : 2 * k + 3] + 1] += np.array([1, 4, 1]) / 6 / n
    free = np.repeat(points[:, 0] > 1e-9, 2)
    u = np.zeros(2 * m * m)
    u[free] = spsolve(A[free][:, free].tocsc(), load[free])
    return u[2 * edge[-1] + 1], u[2 * edge[n] + 1]


def membrane(n, lam, mu, *, element="tet4", anti_locking=True):
    """Vertical displacement of the corner and of the mid-edge with n × n × 1 cells, all z held."""
    mesh = pl.mesh.box((48, 44, 48 / n), (n, n, 1), element=element)
    mesh = mesh.mapped(lambda x: np.column_stack([x[:, 0], x[:, 1] + x[:, 0] / 48 * (44 - x[:, 1] * 28 / 44), x[:, 2]]))
    young, poisson = mu * (3 * lam + 2 * mu) / (lam + mu), lam / (2 * (lam + mu))
    material = pl.materials.Linear(young=young, poisson=poisson, density=1.0)
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, material, clamp=pl.regions.plane(axis="x", at=0.0), anti_locking=anti_locking))
    scene.add(pl.Support(body, pl.regions.everything(), axes="z"))
    scene.add(pl.TractionLoad(body, pl.regions.plane(axis="x", at=48.0), (0.0, 1 / 16, 0.0)))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    u = state.displacements(body)[:, 1]
    x = mesh.points
    at = [(np.abs(x[:, 0] - 48) < 1e-6) & (np.abs(x[:, 1] - y) < 1e-6) for y in (60.0, 52.0)]
    return tuple(u[nodes].mean() for nodes in at)


def test_plane_reference_reproduces_the_published_value():
    _, mid_edge = plane_reference(KRYSL["lam"], KRYSL["mu"])
    assert mid_edge == pytest.approx(KRYSL["mid_edge"], rel=2e-3)


@pytest.mark.parametrize("element", ["tet4", "hex8"])
def test_published_mid_edge_deflection(element):
    """Within 3 % of Krysl's extrapolated value."""
    _, mid_edge = membrane(16, KRYSL["lam"], KRYSL["mu"], element=element)
    print(f"{element} mid-edge {mid_edge:.4f}, published {KRYSL['mid_edge']:.4f}")
    assert mid_edge == pytest.approx(KRYSL["mid_edge"], rel=0.03)


@pytest.mark.parametrize("element", ["tet4", "hex8"])
def test_tip_within_three_percent_at_nu_4999(element):
    """E = 1, ν = 0.4999, 16 cells a side: corner within 3 % of 19.39, mid-edge within 3 % of 18.49."""
    lam, mu = lame(1.0, 0.4999)
    reference = plane_reference(lam, mu)
    assert reference == pytest.approx((19.39, 18.49), abs=0.03)
    got = membrane(16, lam, mu, element=element)
    print(f"{element}: corner {got[0]:.3f} mid-edge {got[1]:.3f}; reference {reference[0]:.3f} {reference[1]:.3f}")
    assert got == pytest.approx(reference, rel=0.03)


def test_the_plain_tetrahedron_locks():
    """Contrast: without anti-locking the same mesh reaches less than half of the deflection."""
    lam, mu = lame(1.0, 0.4999)
    corner, _ = membrane(16, lam, mu, anti_locking=False)
    print(f"plain tet4 corner {corner:.3f}")
    assert corner < 0.5 * plane_reference(lam, mu)[0]
