"""Lumped and consistent mass: the first torsional and longitudinal frequencies of a bar, and what `pl.check` says."""

import numpy as np
import pytest
from scipy.linalg import eigh

import pliant as pl
from pliant.materials import Tangent
from pliant.solvers.linear.matrix import BlockMatrix

LENGTH, WIDTH, YOUNG, DENSITY = 0.2, 0.02, 1e6, 1e3


def bar(cells, **options):
    scene = pl.Scene()
    mesh = pl.mesh.box((LENGTH, WIDTH, WIDTH), cells, element="hex8")
    material = pl.materials.Corotated(young=YOUNG, poisson=0.0, density=DENSITY)
    return scene, scene.add(pl.Volume(mesh, material, **options))


def frequency(across, lumped, shape):
    """Frequency, Hz, of the lowest mode of a clamped bar that has most of its motion along `shape` (n, 3)."""
    scene, _ = bar((16, across, across), clamp=pl.regions.plane(axis="x", at=0.0), lumped_mass=lumped)
    model = scene.compile().models[0]
    blocks = [np.zeros((model.pattern.block_count, 3, 3)) for _ in range(2)]
    model.assemble(model.rest, mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=blocks[0])
    model.mass.add_to(blocks[1], 1.0)
    free = ~model.constrained.ravel()
    K, M = (BlockMatrix(model.pattern, values).to_scipy().toarray()[np.ix_(free, free)] for values in blocks)
    squares, modes = eigh(K, M, subset_by_index=(0, 11))
    wanted = shape(model.rest - (0, WIDTH / 2, WIDTH / 2)).ravel()[free]
    parts = np.abs(wanted @ M @ modes) / np.sqrt(wanted @ M @ wanted)
    return np.sqrt(squares[np.argmax(parts > 0.7)]) / (2.0 * np.pi)


def twist(x):
    return np.sin(0.5 * np.pi * x[:, :1] / LENGTH) * np.cross((1.0, 0, 0), x)


def stretch(x):
    return np.sin(0.5 * np.pi * x[:, :1] / LENGTH) * (1.0, 0, 0)


@pytest.mark.parametrize("across", [2, 4])
def test_torsion_needs_the_consistent_mass(across):
    """f = √(G J/(ρ I))/(4 L), J = 0.1406 a⁴ and I = a⁴/6; lumped, I is 1 + 2/n² times as large."""
    exact = np.sqrt(0.5 * YOUNG * 0.1406 / (DENSITY / 6.0)) / (4.0 * LENGTH)
    lumped, consistent = (frequency(across, kind, twist) for kind in (True, False))
    assert lumped / consistent == pytest.approx(1.0 / np.sqrt(1.0 + 2.0 / across**2), rel=0.01)
    if across == 4:  # the cross-section is warped well enough
        assert consistent == pytest.approx(exact, rel=0.05)


def test_longitudinal_frequencies_of_both_masses():
    """f = √(E/ρ)/(4 L): consistent from above, lumped from below, to (π/2n)²/24 of n cells along."""
    exact, bound = np.sqrt(YOUNG / DENSITY) / (4.0 * LENGTH), (0.5 * np.pi / 16) ** 2 / 24
    assert frequency(1, False, stretch) / exact - 1.0 == pytest.approx(bound, rel=0.05)
    assert frequency(1, True, stretch) / exact - 1.0 == pytest.approx(-bound, rel=0.05)


def told(scene):
    return [finding for finding in pl.check(scene) if "moment of inertia" in str(finding)]


def test_check_recommends_the_consistent_mass_where_it_matters():
    scene, _ = bar((8, 1, 1))
    (finding,) = told(scene)
    assert "200%" in str(finding)
    assert "lumped_mass=False" in str(finding)
    assert not told(bar((8, 1, 1), lumped_mass=False)[0])
    assert told(bar((8, 1, 1), clamp=pl.regions.plane(axis="x", at=0.0))[0])
    assert not told(bar((8, 2, 2), clamp=pl.regions.plane(axis="x", at=0.0))[0])  # it bends
    assert told(bar((8, 4, 4))[0])  # free: 12 % of its rolling
