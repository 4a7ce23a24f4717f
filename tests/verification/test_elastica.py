"""Large-deflection cantilever against the elastica.

A slender beam clamped at one end carries a dead force P across its tip: EI θ″ = −P cos θ, θ(0) = 0, θ′(L) = 0 (Euler;
Bisshopp and Drucker, Quart. Appl. Math. 3, 1945). ν = 0, so a solid has the bending stiffness E I and no
anticlastic curvature; shear adds about 0.6 (h/L)² = 0.15 % of the deflection.
"""

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid, solve_bvp

import pliant as pl

YOUNG, LENGTH, HEIGHT = 1e6, 1.0, 0.05
INERTIA = HEIGHT**4 / 12.0


def elastica(load):
    """Tip deflection and shortening over L at the dimensionless load P L²/EI."""
    s = np.linspace(0.0, 1.0, 401)
    solution = solve_bvp(
        lambda _, y: [y[1], -load * np.cos(y[0])],
        lambda a, b: [a[0], b[1]],
        s,
        [0.5 * load * s * (2 - s) / (1 + load), load * (1 - s) / (1 + load)],
        tol=1e-10,
        max_nodes=100000,
    )
    assert solution.success
    fine = np.linspace(0.0, 1.0, 20001)
    theta = solution.sol(fine)[0]
    return cumulative_trapezoid(np.sin(theta), fine)[-1], 1.0 - cumulative_trapezoid(np.cos(theta), fine)[-1]


@pytest.mark.parametrize(
    ("load", "deflection", "shortening"), [(1, 0.30172, 0.05643), (3, 0.60325, 0.25442), (10, 0.81061, 0.55500)]
)
def test_the_reference_matches_published_elliptic_integrals(load, deflection, shortening):
    """Table 1 of Mattiasson, "Numerical results from large deflection beam and frame problems", IJNME 17, 1981."""
    assert elastica(load) == pytest.approx((deflection, shortening), abs=2e-5)


@pytest.mark.parametrize(("element", "cells"), [("tet10", (16, 1, 1)), ("tet4", (80, 4, 4))], ids=lambda x: str(x))
def test_tip_of_a_solid_cantilever_follows_the_elastica(element, cells):
    """At P L²/EI = 3 the tip sinks by 12 heights; its displacement vector is within 1 % of the elastica's."""
    load = 3.0
    scene = pl.Scene()
    mesh = pl.mesh.box((LENGTH, HEIGHT, HEIGHT), cells, element=element)
    material = pl.materials.Corotated(young=YOUNG, poisson=0.0, density=1e3)
    body = scene.add(pl.Volume(mesh, material, clamp=pl.regions.plane(axis="x", at=0.0)))
    end = pl.regions.plane(axis="x", at=LENGTH)
    traction = load * YOUNG * INERTIA / LENGTH**2 / HEIGHT**2
    scene.add(pl.TractionLoad(body, end, (0.0, 0.0, -traction)))
    world = scene.compile()
    state, info = pl.QuasiStatic()(world, world.initial_state())
    tip = state.displacements(body)[end.nodes(mesh.points)].mean(axis=0)
    deflection, shortening = elastica(load)
    error = np.linalg.norm(tip - LENGTH * np.array([-shortening, 0.0, -deflection])) / np.linalg.norm(tip)
    print(f"{element}: tip {tip}, elastica {deflection:.5f} {shortening:.5f}, error {error:.2%}, {info.iterations} it")
    assert error < 0.01
    assert -tip[2] > 12.0 * HEIGHT
