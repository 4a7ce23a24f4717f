"""Bodies of several materials: bars in series and in parallel have closed forms."""

import numpy as np
import pytest

import pliant as pl

SOFT, STIFF = 1e5, 7e5
SIZE = np.array([0.1, 0.04, 0.04])


def linear(young, density=1e3):
    return pl.materials.Linear(young=young, poisson=0.0, density=density)


def layered(region, element, anti_locking=True):
    scene = pl.Scene()
    mesh = pl.mesh.box(SIZE, (5, 2, 4), element=element)
    body = scene.add(
        pl.Volume(mesh, linear(SOFT), inclusions=[(region, linear(STIFF, 2e3))], anti_locking=anti_locking)
    )
    for axis in "xyz":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axes=axis))
    return scene, body


@pytest.mark.parametrize(
    ("element", "anti_locking"), [("tet4", False), ("tet4", True), ("tet10", True), ("hex8", True)]
)
def test_bars_in_series(element, anti_locking):
    """u(L) = σ (L₁/E₁ + L₂/E₂), with the kink at the interface; smoothing must not reach across it."""
    at = 0.04
    scene, body = layered(pl.regions.box((at, -1, -1), (1, 1, 1)), element, anti_locking)
    sigma = 1e3
    scene.add(pl.TractionLoad(body, pl.regions.plane(axis="x", at=SIZE[0]), (sigma, 0, 0)))
    world = scene.compile()
    state, _ = pl.QuasiStatic(tolerance=1e-12)(world, world.initial_state())
    x = body.mesh.points[:, 0]
    expected = sigma * (np.minimum(x, at) / SOFT + np.maximum(x - at, 0.0) / STIFF)
    np.testing.assert_allclose(state.displacements(body)[:, 0], expected, atol=1e-11)
    np.testing.assert_allclose(state.stress(body)[:, 0, 0], sigma, rtol=1e-8)


@pytest.mark.parametrize(
    ("element", "anti_locking"), [("tet4", False), ("tet4", True), ("tet10", True), ("hex8", True)]
)
def test_bars_in_parallel(element, anti_locking):
    """Stretched together by ε: the force is ε (E₁A₁ + E₂A₂), read as the reaction of the moved support."""
    scene, body = layered(pl.regions.box((-1, -1, 0.02), (1, 1, 1)), element, anti_locking)
    end = pl.regions.plane(axis="x", at=SIZE[0])
    scene.add(pl.Support(body, end, axes="x", displacement=0.01 * SIZE[0]))
    world = scene.compile()
    state, info = pl.QuasiStatic(tolerance=1e-12)(world, world.initial_state())
    np.testing.assert_allclose(state.displacements(body)[:, 0], 0.01 * body.mesh.points[:, 0], atol=1e-12)
    pull = info.reaction(body)[end.nodes(body.mesh.points), 0].sum()
    assert pull == pytest.approx(0.01 * (SOFT + STIFF) * 0.5 * SIZE[1] * SIZE[2], rel=1e-9)
    assert world.models[0].mass.total == pytest.approx(1.5e3 * SIZE.prod(), rel=1e-12)
