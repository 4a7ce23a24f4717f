"""Volumes of patches: true ones, derivatives of their energy, and no gain for cells that buckle against each other."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError
from pliant.materials import Tangent
from pliant.reduced.subspace import Subspace
from pliant.reduced.subspace_model import SubspaceModel
from pliant.solvers.linear import BlockMatrix

STEP = 1e-6
RUBBER = pl.materials.MooneyRivlin(c1=4.0, c2=1.0, poisson=0.499, density=1.0)


def model_of(element, kind, material=RUBBER, cells=(2, 2, 2)):
    scene = pl.Scene()
    scene.add(pl.Volume(pl.mesh.box((1, 1, 1), cells, element=element), material, anti_locking=kind))
    return scene.compile().models[0]


@pytest.fixture(params=["tet4", "hex8"], scope="module")
def case(request):
    """A body, a shape far from rest and a direction."""
    model = model_of(request.param, "volume")
    rng = np.random.default_rng(0)
    stretch = np.array([[1.3, 0.3, 0.0], [0.0, 0.8, 0.1], [0.1, 0.0, 1.1]])
    return model, model.rest @ stretch + 0.03 * rng.normal(size=model.rest.shape), rng.normal(size=model.rest.shape)


def test_forces_are_the_slope_of_the_energy(case):
    model, q, d = case
    slope = (model.internal(q + STEP * d)[0] - model.internal(q - STEP * d)[0]) / (2.0 * STEP)
    assert np.vdot(model.internal(q)[1], d) == pytest.approx(slope, rel=1e-6)


def test_the_matrix_is_the_slope_of_the_forces(case):
    model, q, d = case
    values = model.blocks()
    energy, force = model.assemble(q, mass=0.0, stiffness=2.0, tangent=Tangent.EXACT, values=values)
    assert energy == pytest.approx(model.internal(q)[0], rel=1e-12)
    assert force == pytest.approx(model.internal(q)[1], abs=1e-12 * np.abs(force).max())
    slope = (model.internal(q + STEP * d)[1] - model.internal(q - STEP * d)[1]) / STEP
    assert BlockMatrix(model.pattern, values).matvec(d) == pytest.approx(slope, abs=1e-6 * np.abs(slope).max())


def test_the_pressure_of_a_patch_is_that_of_the_volume_of_its_cells(case):
    """U′ = κ/4 (J − 1/J³) with J from the volumes of the cells alone."""
    model, q, _ = case
    patches = model.split.patches
    p = model.points
    share = replace(model.mesh, points=q).cell_volumes()[p.owner_cell]
    of_patch = model.split.of_patch[p.owner_point]
    number = np.cumsum(model.split.of_patch)[p.owner_point[of_patch]] - 1
    J = np.bincount(number, share[of_patch]) / p.weight[model.split.of_patch]
    kappa = float(model.table[0, 0])
    assert patches.pressures(q, np.zeros_like(q)) == pytest.approx(0.25 * kappa * (J - J**-3), abs=1e-9 * kappa)


def test_cells_that_buckle_do_not_grow_for_nothing():
    """The hourglass of a cell under tension: the mean of F keeps its determinant, the volume grows with the square."""
    corners = pl.mesh.box((1, 1, 1), (1, 1, 1), element="hex8").points
    x, y, z = (2.0 * corners - 1.0).T
    sawed = np.zeros_like(corners)
    sawed[:, 0], sawed[:, 1] = 0.4 * y * z, -0.4 * x * z
    energies = {}
    for kind in (True, "volume"):
        model = model_of("hex8", kind, cells=(1, 1, 1))
        energies[kind] = model.internal(corners + sawed)[0]
    bulk = float(model.table[0, 0])
    mean = 1.0 + 0.64 / 3.0  # of det F over the cell: 1 + (0.8 z)², whose mean is 0.64/3
    assert energies["volume"] - energies[True] == pytest.approx(0.125 * bulk * (mean - 1.0 / mean) ** 2, rel=1e-9)
    assert energies["volume"] > 3.0 * energies[True]


def test_what_patches_cannot_do_is_refused():
    with pytest.raises(InputError, match="True, False or \"volume\", got 'shear'"):
        pl.Volume(pl.mesh.box((1, 1, 1), (1, 1, 1)), RUBBER, anti_locking="shear")
    model = model_of("tet4", "volume")
    modes = np.zeros((model.size, 1))
    modes[::3] = 1.0
    subspace = Subspace(model.spec, modes, rest=model.rest, point_count=model.points.count)
    with pytest.raises(InputError, match="anti_locking=True"):
        SubspaceModel.of(model, subspace)
