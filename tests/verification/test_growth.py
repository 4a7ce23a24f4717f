"""Length and area as actuation: a bar bent by a shortening fibre, a strip of two layers of which one grows.

Timoshenko, Analysis of bi-metal thermostats, J. Opt. Soc. Am. 11 (1925): layers of thickness h₁, h₂ and moduli E₁, E₂
that would differ by the strain ε bend with the curvature

    κ = 6 ε (1 + m)² / (h [3 (1 + m)² + (1 + m n)(m² + 1/(m n))]),   m = h₁/h₂,  n = E₁/E₂,  h = h₁ + h₂
"""

import numpy as np
import pytest

import pliant as pl

LENGTH, WIDTH = 0.06, 0.004
YOUNG, HEIGHTS = (3e5, 1e5), (0.001, 0.002)
"""Of the passive layer below and of the growing one above."""


def timoshenko(strain):
    m, n = HEIGHTS[0] / HEIGHTS[1], YOUNG[0] / YOUNG[1]
    return 6.0 * strain * (1 + m) ** 2 / (sum(HEIGHTS) * (3.0 * (1 + m) ** 2 + (1 + m * n) * (m**2 + 1.0 / (m * n))))


def layer_strain(strain):
    """Strain of the middle of the growing layer: what is left of `strain` beside the passive one, from its balance."""
    (e1, e2), (h1, h2) = YOUNG, HEIGHTS
    middles, stiff = np.array([0.5 * h1, h1 + 0.5 * h2]), np.array([e1 * h1, e2 * h2])
    bending = np.array([e1 * h1**3, e2 * h2**3]) / 12.0
    matrix = [
        [stiff.sum(), stiff @ middles],
        [stiff @ middles, stiff @ middles**2 + bending.sum()],
    ]
    load = e2 * h2 * strain
    at_zero, curvature = np.linalg.solve(matrix, [load, load * middles[1]])
    assert abs(curvature) == pytest.approx(timoshenko(strain))
    return at_zero + curvature * middles[1]


def strip():
    """Half of the width, its ends free to turn but for the middle of one: ν = 0, so both directions are alone."""
    mesh = pl.mesh.box((LENGTH, WIDTH, 0.003), (20, 1, 3), element="tet10")
    soft, stiff = (pl.materials.Corotated(young=young, poisson=0.0, density=1e3) for young in YOUNG[::-1])
    below = pl.regions.box((-1.0, -1.0, -1.0), (1.0, 1.0, HEIGHTS[0]))
    above = pl.regions.box((-1.0, -1.0, HEIGHTS[0]), (1.0, 1.0, 1.0))
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, soft, inclusions=((below, stiff),)))
    layer = scene.add(pl.Layer(body, above, normal=(0.0, 0.0, 1.0), thickness=HEIGHTS[1]))
    for axis in "xy":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axes=axis))
    scene.add(pl.Support(body, pl.regions.sphere((0.0, 0.0, 0.0), 1e-6), axes="z"))
    return scene.compile(), body, layer


def curvature(rest, points):
    """Curvature (1/m) in the plane y = 0 of the fibre along x at the height 0: that of the circle through its nodes."""
    line = np.flatnonzero((np.abs(rest[:, 1]) < 1e-9) & (np.abs(rest[:, 2]) < 1e-9) & (rest[:, 0] < 0.8 * LENGTH))
    x, z = points[line][:, [0, 2]].T
    a, b, c = np.linalg.lstsq(np.column_stack([x, z, np.ones_like(x)]), x**2 + z**2, rcond=None)[0]
    return 1.0 / np.sqrt(c + 0.25 * (a**2 + b**2))


@pytest.mark.parametrize("stepper", [pl.Geometric(), pl.QuasiStatic(tolerance=1e-7)], ids=["geometric", "quasi-static"])
def test_a_growing_layer_bends_a_strip_as_a_bimetal(stepper):
    """Curvature within 2 % of Timoshenko's at the area that is truly reached, and the spreading pressure with it."""
    world, body, layer = strip()
    strain = 0.01
    ratio = (1.0 + layer_strain(strain)) ** 2
    state, info = stepper(world, world.initial_state(), {layer: pl.AreaRatio(ratio)})
    growth, pressure = info.actuation(layer)
    assert growth == pytest.approx((ratio - 1.0) * layer.rest_area, rel=1e-4)
    got = curvature(body.mesh.points, state.points(body))
    print(f"curvature {got:.4f} 1/m, Timoshenko {timoshenko(strain):.4f} 1/m; {pressure:.3f} N/m")
    assert got == pytest.approx(timoshenko(strain), rel=0.02)
    assert pressure == pytest.approx(strain * YOUNG[1] * HEIGHTS[1], rel=0.03)


def test_a_shortening_fibre_bends_and_presses_a_bar():
    """Along a bar, e from its middle, shortened by ε: κ = ε e/(e² + I/A), tension ε E A/(1 + e² A/I), within 2 %.

    The fibre ends in a stiff cap: a point that pulls at a soft face sinks into it, and that is no part of the bar.
    """
    height, off, young, shorter, cap = 0.01, 0.003, 2e5, 0.01, 0.1 * LENGTH
    mesh = pl.mesh.box((LENGTH, WIDTH, height), (20, 1, 4), element="tet10")
    scene = pl.Scene()
    soft, stiff = (pl.materials.Corotated(young=e, poisson=0.0, density=1e3) for e in (young, 1e4 * young))
    end = pl.regions.box((LENGTH - cap, -1.0, -1.0), (1.0, 1.0, 1.0))
    body = scene.add(pl.Volume(mesh, soft, inclusions=((end, stiff),)))
    for axis in "xy":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axes=axis))
    scene.add(pl.Support(body, pl.regions.sphere((0.0, 0.0, 0.0), 1e-6), axes="z"))
    along = np.linspace(0.0, LENGTH, 21)
    path = np.column_stack([along, np.full(21, 0.5 * WIDTH), np.full(21, 0.5 * height + off)])
    fibre = scene.add(pl.Cable(body, path))
    world = scene.compile()
    state, info = pl.Geometric()(world, world.initial_state(), {fibre: pl.LengthRatio(1.0 - shorter)})
    strain = shorter * LENGTH / (LENGTH - cap)
    inertia, area = WIDTH * height**3 / 12.0, WIDTH * height
    expected = strain * off / (off**2 + inertia / area)
    tension = strain * young * area / (1.0 + off**2 * area / inertia)
    got = curvature(mesh.points, state.points(body))
    at_bottom = 1.0 / (1.0 / expected + 0.5 * height)
    print(f"curvature {got:.4f} 1/m, expected {at_bottom:.4f}; tension {info.actuation(fibre)[1]:.4f} N, {tension:.4f}")
    assert state.length(fibre) == pytest.approx((1.0 - shorter) * LENGTH, rel=1e-6)
    assert got == pytest.approx(at_bottom, rel=0.02)
    assert info.actuation(fibre)[1] == pytest.approx(tension, rel=0.02)
