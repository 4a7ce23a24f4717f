"""Thick neo-Hookean sphere under internal pressure.

Incompressible limit, closed form (Green and Zerna, Theoretical Elasticity; Ogden, Non-Linear Elastic Deformations):
with hoop stretches λₐ = a/A inside and λ_b = b/B outside, b³ − a³ = B³ − A³,

    p = ∫ 2 (σ_θ − σ_r) dr/r = μ [2/λ + 1/(2λ⁴)] from λₐ to λ_b.

Compressible: radial equilibrium dP_R/dR + 2 (P_R − P_θ)/R = 0 of ψ = μ/2 (I₁ − 3) − μ ln J + λ/2 ln² J, by SciPy.
"""

import numpy as np
import pytest
from scipy.integrate import solve_bvp

import pliant as pl

INNER, OUTER, MU = 0.01, 0.02, 1e5


def closed_form_pressure(stretch):
    """Pressure that opens the incompressible sphere to the inner hoop stretch, Pa."""
    outer = ((OUTER**3 + INNER**3 * (stretch**3 - 1.0)) ** (1 / 3)) / OUTER

    def part(s):
        return 2.0 / s + 0.5 / s**4

    return MU * (part(outer) - part(stretch))


def radial_solution(pressure, lam):
    """Inner and outer deformed radius over the undeformed one, for the compressible law."""
    A, B, p = 1.0, OUTER / INNER, pressure / MU
    ratio = lam / MU

    def stresses(R, r, slope):
        log_j = np.log(slope * (r / R) ** 2)
        return slope + (ratio * log_j - 1.0) / slope, r / R + (ratio * log_j - 1.0) * R / r

    def slope_of(R, r, P):
        slope = np.ones_like(R)
        for _ in range(60):
            value, _ = stresses(R, r, slope)
            tangent = 1.0 + (1.0 + ratio - ratio * np.log(slope * (r / R) ** 2)) / slope**2
            slope = np.maximum(slope - (value - P) / tangent, 0.2 * slope)
        return slope

    def equations(R, y):
        slope = slope_of(R, y[0], y[1])
        P, hoop = stresses(R, y[0], slope)
        return np.stack([slope, -2.0 * (P - hoop) / R])

    def ends(a, b):
        return np.array([a[1] + p * (a[0] / A) ** 2, b[1]])

    R = np.linspace(A, B, 201)
    guess = np.stack([(R**3 + 0.3) ** (1 / 3), -p * (B - R) / (B - A)])
    solution = solve_bvp(equations, ends, R, guess, tol=1e-8, max_nodes=20000)
    assert solution.success
    return solution.y[0, 0] / A, solution.y[0, -1] / B


def inflated(pressure, poisson, cells, element):
    """Mean hoop stretches of the inner and outer corner nodes of an octant."""
    mesh = pl.mesh.shell(INNER, OUTER, cells=cells, octant=True, element=element)
    young = 2.0 * MU * (1.0 + poisson)
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, pl.materials.NeoHookean(young=young, poisson=poisson, density=1e3)))
    for axis in "xyz":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axes=axis))
    scene.add(pl.PressureLoad(body, pl.regions.sphere((0, 0, 0), 1.0001 * INNER), pressure))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    before, after = np.linalg.norm(mesh.points, axis=1), np.linalg.norm(state.points(body), axis=1)
    return tuple((after / before)[np.abs(before - r) < 1e-6 * r].mean() for r in (INNER, OUTER))


@pytest.mark.parametrize(
    ("element", "cells", "tolerance"), [("tet4", (6, 6), 0.01), ("hex8", (6, 6), 0.01), ("tet10", (3, 3), 0.01)]
)
def test_nearly_incompressible_sphere_opens_as_the_closed_form(element, cells, tolerance):
    """Inner radius at the pressure of λₐ = 1.5 within 1 %, ν = 0.499."""
    inner, outer = inflated(closed_form_pressure(1.5), 0.499, cells, element)
    expected_outer = (OUTER**3 + INNER**3 * (1.5**3 - 1.0)) ** (1 / 3) / OUTER
    print(f"{element}: inner {inner:.4f} of 1.5, outer {outer:.4f} of {expected_outer:.4f}")
    assert inner == pytest.approx(1.5, rel=tolerance)
    assert outer == pytest.approx(expected_outer, rel=0.5 * tolerance)


@pytest.mark.parametrize(("element", "cells", "tolerance"), [("tet4", (6, 6), 0.01), ("tet10", (3, 3), 0.003)])
def test_compressible_sphere_opens_as_its_radial_equation(element, cells, tolerance):
    """ν = 0.4: radii within 1 % (tet4) and 0.3 % (tet10) of the radial boundary value problem."""
    pressure, poisson = 0.6 * MU, 0.4
    expected = radial_solution(pressure, 2.0 * MU * poisson / (1.0 - 2.0 * poisson))
    got = inflated(pressure, poisson, cells, element)
    shown = ", ".join(f"{ours:.4f} of {exact:.4f}" for ours, exact in zip(got, expected, strict=True))
    print(f"{element}: stretches by the radial equation {shown}")
    assert expected[0] > 1.25
    assert got == pytest.approx(expected, rel=tolerance)


def test_radial_equation_tends_to_the_closed_form():
    """The two references agree as ν → ½."""
    inner, _ = radial_solution(closed_form_pressure(1.5), 2.0 * MU * 0.4999 / (1.0 - 2.0 * 0.4999))
    assert inner == pytest.approx(1.5, rel=2e-3)
