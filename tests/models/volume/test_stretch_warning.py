"""Rubber stretched beyond what the default element follows is reported, and so is the remedy."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.volume import readouts
from pliant.models.volume.shape_limits import largest_square, least_determinant

RUBBER = pl.materials.dragon_skin_20(poisson=0.495)


def bar(material=RUBBER, *, element="tet4", anti_locking=True):
    """A bar with a clamped end and a pulled one."""
    mesh = pl.mesh.box((0.03, 0.01, 0.01), (6, 2, 2), element=element)
    scene = pl.Scene()
    clamp = pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(mesh, material, clamp=clamp, anti_locking=anti_locking, name="bar"))
    end = scene.add(pl.Support(body, pl.regions.plane(axis="x", at=0.03), "xyz", 0.0))
    return scene.compile(), end


def stretched(model, ratio):
    return model.rest * [ratio, ratio**-0.5, ratio**-0.5]


def test_largest_stretch_of_a_uniform_shape():
    model = bar()[0].models[0]
    for ratio in (1.3, 2.5):
        assert readouts.largest_stretch(model, stretched(model, ratio)) == pytest.approx(ratio)


def test_limits_of_random_shapes():
    """The smallest det F is that of numpy, and the root of the largest F:F lies above the largest stretch."""
    model = bar()[0].models[0]
    rng = np.random.default_rng(3)
    for amplitude in (1e-4, 1e-3, 3e-3):
        q = model.rest + amplitude * rng.normal(size=model.rest.shape)
        F = readouts.deformation_gradients(model, q)
        p = model.points
        at = q, p.nodes, p.ptr, p.gradients
        least, bound = least_determinant(*at), largest_square(*at) ** 0.5
        assert least == pytest.approx(np.linalg.det(F).min(), rel=1e-10)
        assert readouts.largest_stretch(model, q) <= bound <= 3**0.5 * readouts.largest_stretch(model, q)


@pytest.mark.parametrize("element", ["tet4", "hex8"])
def test_rubber_beyond_four_times_its_length_is_reported(element):
    model = bar(element=element)[0].models[0]
    assert model.warnings(stretched(model, 3.9)) == ()
    (text,) = model.warnings(stretched(model, 4.5))
    assert "'bar' is stretched to 4.5 times its length" in text
    assert ("anti_locking='volume'" in text) == (element == "tet4")  # hexahedra have the volumes of their cells there


@pytest.mark.parametrize(
    ("material", "element", "anti_locking"),
    [
        (RUBBER, "tet4", "volume"),
        (RUBBER, "hex8", "volume"),
        (RUBBER, "tet10", True),
        (pl.materials.Corotated(young=1e6, poisson=0.45, density=1e3), "tet4", True),
    ],
)
def test_other_elements_and_laws_are_not(material, element, anti_locking):
    model = bar(material, element=element, anti_locking=anti_locking)[0].models[0]
    assert model.warnings(stretched(model, 5.0)) == ()


@pytest.mark.parametrize("anti_locking", [True, "volume"])
def test_a_bar_between_clamped_ends_arrives(anti_locking):
    """At three times its length in one call, without a word; 78 N is the limit of finer hexahedra, 12 × 4 × 4 cells."""
    world, end = bar(anti_locking=anti_locking)
    _, info = pl.QuasiStatic()(world, world.initial_state(), {end: pl.Displacement((0.06, 0.0, 0.0))})
    assert info.warnings == ()
    model = world.models[0]
    force = info.reaction(model.spec)[np.isclose(model.rest[:, 0], 0.03), 0].sum()
    assert force == pytest.approx(78.0, rel=0.12)


def test_folded_cells_of_smoothed_tetrahedra_are_reported():
    """A cell may turn inside out although the mean over its neighbours, which the energy sees, does not."""
    model = bar()[0].models[0]
    noise = np.random.default_rng(0).normal(size=model.rest.shape)
    assert model.warnings(model.rest) == ()
    told = []
    for amplitude in np.linspace(0.0, 2.5e-3, 51):
        q = model.rest + amplitude * noise
        corners = q[model.mesh.cells]
        folded = int((np.linalg.det(corners[:, 1:] - corners[:, :1]) <= 0.0).sum())
        if not model.is_inverted(q):
            texts = model.warnings(q)
            assert bool(folded) == any(
                f"{folded} of {model.mesh.cell_count} cells of 'bar' are folded" in t for t in texts
            )
            told.append(folded)
    assert max(told) > 0
    plain = bar(anti_locking=False)[0].models[0]
    assert plain.is_inverted(q)
    assert (
        plain.warnings(q) == ()
    )  # their cells are the integration points: `info.warnings` says that they are inverted
