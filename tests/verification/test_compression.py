"""A block between frictionless plates, compressed to a fifth: it bulges, and does not give up its volume."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import pliant as pl

C1, C2, KAPPA = 1.0, 10.0, 100.0
ENERGIES = {
    "hyperbolic": lambda J: (J - 1.0 / J) ** 2 / 8.0,
    "logarithmic": lambda J: np.log(J) ** 2 / 2.0,
    "simo": lambda J: (J * J - 1.0 - 2.0 * np.log(J)) / 4.0,
}


def lateral_stretch(volumetric, stretch):
    """The lateral stretch of least energy of the closed form."""

    def energy(s):
        J = stretch * s * s
        squares = (stretch**2 + 2.0 * s * s) * J ** (-2.0 / 3.0)
        inverse = (2.0 * stretch**2 * s * s + s**4) * J ** (-4.0 / 3.0)
        return C1 * squares + C2 * inverse + KAPPA * ENERGIES[volumetric](J)

    return minimize_scalar(energy, bounds=(0.5, 2.0), method="bounded", options={"xatol": 1e-12}).x


def compressed(volumetric, element, anti_locking, cells, stretch=0.2, increments=10):
    """Lengths (3,) of a unit cube of Mooney–Rivlin rubber compressed along x, on symmetry planes."""
    mesh = pl.mesh.box((1.0, 1.0, 1.0), cells, element=element)
    rubber = pl.materials.MooneyRivlin(c1=C1, c2=C2, bulk=KAPPA, density=1.0, volumetric=volumetric)
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, rubber, anti_locking=anti_locking))
    for axis in "xyz":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axis))
    top = scene.add(pl.Support(body, pl.regions.plane(axis="x", at=1.0), "x", 0.0))
    world = scene.compile()
    state = world.initial_state()
    for k in range(increments):
        state, _ = pl.QuasiStatic()(world, state, {top: pl.Displacement((stretch - 1.0) * (k + 1) / increments)})
    return np.ptp(state.points(body), axis=0)


def test_closed_form_has_the_published_value():
    """FEBio's verification case mi03 (κ/2 (ln J)²): lateral stretch 1.417."""
    assert lateral_stretch("logarithmic", 0.2) == pytest.approx(1.417, abs=5e-4)


@pytest.mark.parametrize("volumetric", ENERGIES)
def test_block_bulges(volumetric):
    expected = lateral_stretch(volumetric, 0.2)
    np.testing.assert_allclose(compressed(volumetric, "hex8", True, (1, 1, 1)), [0.2, expected, expected], rtol=1e-6)


@pytest.mark.parametrize(
    ("element", "anti_locking", "cells", "stretch"),
    [
        ("tet4", True, (2, 1, 1), 0.2),
        ("tet4", False, (2, 1, 1), 0.2),
        ("tet10", True, (1, 1, 1), 0.2),
        ("hex8", "volume", (1, 1, 1), 0.4),  # below 0.3 the cells of these two buckle
        ("tet4", "volume", (2, 1, 1), 0.5),
    ],
)
def test_every_element_bulges_alike(element, anti_locking, cells, stretch):
    """The lateral stretches are those of the closed form."""
    expected = lateral_stretch("hyperbolic", stretch)
    lengths = compressed("hyperbolic", element, anti_locking, cells, stretch)
    np.testing.assert_allclose(lengths, [stretch, expected, expected], rtol=1e-6)


def test_quadratic_energy_collapses_as_documented():
    """κ/2 (J − 1)² is finite at J = 0: beyond a limit load the block gives up its volume."""
    assert np.prod(compressed("quadratic", "hex8", True, (1, 1, 1))) < 0.05
