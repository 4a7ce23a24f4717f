"""A block between frictionless plates, compressed to a fifth: it bulges, and does not give up its volume.

Beyond a compression that depends on the element the homogeneous deformation is an unstable equilibrium, which
`QuasiStatic` leaves for one of less energy; it is compared where it is stable, and checked for balance beyond.
"""

from dataclasses import replace

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


def block(volumetric, element, anti_locking, cells):
    """A unit cube of Mooney–Rivlin rubber on symmetry planes, compiled, its body and the support that compresses it."""
    mesh = pl.mesh.box((1.0, 1.0, 1.0), cells, element=element)
    rubber = pl.materials.MooneyRivlin(c1=C1, c2=C2, bulk=KAPPA, density=1.0, volumetric=volumetric)
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, rubber, anti_locking=anti_locking))
    for axis in "xyz":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axis))
    top = scene.add(pl.Support(body, pl.regions.plane(axis="x", at=1.0), "x", 0.0))
    return scene.compile(), body, top


def compressed(volumetric, element, anti_locking, cells, stretch=0.2, increments=10):
    """Lengths (3,) of the block compressed along x."""
    world, body, top = block(volumetric, element, anti_locking, cells)
    state = world.initial_state()
    for k in range(increments):
        state, _ = pl.QuasiStatic()(world, state, {top: pl.Displacement((stretch - 1.0) * (k + 1) / increments)})
    return np.ptp(state.points(body), axis=0)


def test_closed_form_has_the_published_value():
    """FEBio's verification case mi03 (κ/2 (ln J)²): lateral stretch 1.417."""
    assert lateral_stretch("logarithmic", 0.2) == pytest.approx(1.417, abs=5e-4)


@pytest.mark.parametrize("volumetric", ENERGIES)
def test_block_bulges(volumetric):
    expected = lateral_stretch(volumetric, 0.28)
    lengths = compressed(volumetric, "hex8", True, (1, 1, 1), 0.28)
    np.testing.assert_allclose(lengths, [0.28, expected, expected], rtol=1e-6)


@pytest.mark.parametrize("volumetric", ENERGIES)
def test_closed_form_is_in_balance_at_a_fifth(volumetric):
    """The nodes put where the closed form has them: no force is left. A solve on the way ends with no more energy."""
    world, _, top = block(volumetric, "hex8", True, (1, 1, 1))
    lateral = lateral_stretch(volumetric, 0.2)
    start = world.initial_state()
    homogeneous = replace(start, q=(start.q[0] * (0.2, lateral, lateral),))
    found, info = pl.QuasiStatic(tolerance=1e-6)(world, homogeneous, {top: pl.Displacement(-0.8)})
    np.testing.assert_array_equal(found.q[0], homogeneous.q[0])  # in balance from the start
    assert info.residual < 1e-6
    before, _ = pl.QuasiStatic()(world, start, {top: pl.Displacement(-0.7)})
    after, _ = pl.QuasiStatic()(world, before, {top: pl.Displacement(-0.8)})
    energy = world.energy(homogeneous)["elastic"]
    assert world.energy(after)["elastic"] < (1.0 + 1e-9) * energy


@pytest.mark.parametrize(
    ("element", "anti_locking", "cells", "stretch"),
    [
        ("tet4", True, (2, 1, 1), 0.36),  # these cells buckle before 0.28
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
