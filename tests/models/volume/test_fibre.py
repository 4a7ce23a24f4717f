"""Fibres: forces and stiffness against differences of the energy, a bar in parallel, and what is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import PliantError
from pliant.materials import Tangent

MESH = pl.mesh.box((0.2, 0.02, 0.02), (8, 2, 2))
RUBBER = pl.materials.Corotated(young=1e5, poisson=0.0, density=1e3)
AXIS = [(0.0, 0.01, 0.01), (0.07, 0.01, 0.01), (0.2, 0.01, 0.01)]


def fibred(stiffness=20.0, points=AXIS, clamp=True):
    scene = pl.Scene()
    body = pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0) if clamp else None)
    scene.add(body)
    scene.add(pl.Fibre(body, points, stiffness=stiffness))
    return scene, body


def test_forces_and_stiffness_are_derivatives_of_the_energy():
    scene, _ = fibred(points=[(0.01, 0.005, 0.01), (0.1, 0.012, 0.004), (0.19, 0.01, 0.015)])
    bars = scene.compile().models[0].fibres[0]
    rng = np.random.default_rng(0)
    q, d = MESH.points + 2e-3 * rng.normal(size=MESH.points.shape), rng.normal(size=MESH.points.shape)

    def force(x):
        made = np.zeros_like(x)
        energy = bars.add(x, made)
        return energy, made

    e = 1e-6
    assert np.vdot(force(q)[1], d) == pytest.approx((force(q + e * d)[0] - force(q - e * d)[0]) / (2 * e), rel=1e-6)
    model = scene.compile().models[0]
    values = np.zeros((model.pattern.block_count, 3, 3))
    model.fibres[0].add_stiffness(q, 1.0, Tangent.EXACT, values)
    from pliant.solvers.linear import BlockMatrix

    change = (force(q + e * d)[1] - force(q - e * d)[1]) / (2 * e)
    np.testing.assert_allclose(BlockMatrix(model.pattern, values).matvec(d), change, atol=1e-5 * np.abs(change).max())


def test_a_fibre_along_a_bar_stands_in_parallel_with_it():
    """F L / u = E A + EA of the fibre for a bar pulled at a stiff end, ν = 0."""
    stiff = {}
    for extra in (1e-9, 60.0):
        scene, body = fibred(extra)
        scene.add(pl.Support(body, pl.regions.plane(axis="x", at=0.2), axes="x", displacement=1e-4))
        world = scene.compile()
        _, info = pl.QuasiStatic(tolerance=1e-10)(world, world.initial_state())
        end = np.abs(MESH.points[:, 0] - 0.2) < 1e-9
        stiff[extra] = info.reaction(body)[end, 0].sum() * 0.2 / 1e-4
    print(f"E A {stiff[1e-9]:.3f} N (40 expected), with the fibre {stiff[60.0]:.3f} N (100 expected)")
    assert stiff[1e-9] == pytest.approx(40.0, rel=1e-3)
    assert stiff[60.0] == pytest.approx(100.0, rel=1e-2)  # between the fibre's points the bar strains unevenly


def test_the_guide_of_a_cable_is_a_fibre_along_it():
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    cable = scene.add(pl.Cable(body, AXIS, guide_stiffness=100.0))
    world = scene.compile()
    assert len(world.models[0].fibres) == 1
    _, info = pl.QuasiStatic()(world, world.initial_state(), {cable: pl.Force(0.5)})
    free = pl.Scene()
    plain = free.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    string = free.add(pl.Cable(plain, AXIS))
    other = free.compile()
    _, soft = pl.QuasiStatic()(other, other.initial_state(), {string: pl.Force(0.5)})
    assert info.actuation(cable)[0] < 0.4 * soft.actuation(string)[0]


@pytest.mark.parametrize(
    ("points", "options", "text"),
    [
        ([(0.1, 0.01, 0.01)], {}, "two or more points"),
        ([(0.1, 0.01, 0.01)] * 2, {}, "neighbours apart"),
        (AXIS, {"stiffness": 0.0}, "stiffness of 'fibre'"),
        ([(0.1, 0.01, 0.01), (0.4, 0.01, 0.01)], {}, "points of fibre"),
    ],
)
def test_bad_fibres(points, options, text):
    with pytest.raises(PliantError, match=text):
        fibred(points=points, **options)[0].compile()
