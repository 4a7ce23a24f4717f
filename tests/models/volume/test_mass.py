"""Mass: totals, positivity, consistent against closed forms, and what is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError
from pliant.mesh.conversion import with_edge_nodes
from pliant.solvers.linear.matrix import BlockMatrix

RUBBER = pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1200.0)
ELEMENTS = ["tet4", "tet10", "hex8"]


def model(element="tet4", mesh=None, **options):
    scene = pl.Scene()
    scene.add(
        pl.Volume(pl.mesh.box((0.1, 0.2, 0.3), (2, 2, 2), element=element) if mesh is None else mesh, RUBBER, **options)
    )
    return scene.compile().models[0]


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("lumped", [True, False])
def test_total_is_density_times_volume(element, lumped):
    mass = model(element, lumped_mass=lumped).mass
    assert mass.total == pytest.approx(1200.0 * 0.006, rel=1e-12)
    assert mass.apply(np.ones((len(mass.nodal), 3))).sum(axis=0) == pytest.approx([7.2] * 3, rel=1e-12)


@pytest.mark.parametrize("element", ELEMENTS)
def test_lumped_masses_are_positive(element):
    assert (model(element).mass.nodal > 0.0).all()


def test_consistent_mass_of_one_tetrahedron():
    """M_ab = ρV/20 (1 + δ_ab) (Zienkiewicz and Taylor, The Finite Element Method)."""
    mesh = pl.mesh.Mesh(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]), np.array([[0, 1, 2, 3]]), "tet4")
    mass = model(mesh=mesh, lumped_mass=False).mass
    matrix = BlockMatrix(mass.pattern, mass.blocks[:, None, None] * np.eye(3)).to_scipy().toarray()[::3, ::3]
    np.testing.assert_allclose(matrix, 1200.0 / 6 / 20 * (1 + np.eye(4)), rtol=1e-12)


@pytest.mark.parametrize("element", ELEMENTS)
def test_consistent_mass_has_the_moments_of_the_body(element):
    """xᵀMy = ∫ρ x y: exact for the linear functions x and y; a box from the origin has ρ a²b²c/4 and ρ a³bc/3."""
    built = model(element, lumped_mass=False)
    x, y = built.rest[:, [0]] * np.ones(3), built.rest[:, [1]] * np.ones(3)
    assert (x * built.mass.apply(y)).sum(axis=0)[0] == pytest.approx(1200 * 0.1**2 * 0.2**2 * 0.3 / 4, rel=1e-12)
    assert (x * built.mass.apply(x)).sum(axis=0)[0] == pytest.approx(1200 * 0.1**3 * 0.2 * 0.3 / 3, rel=1e-12)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("lumped", [True, False])
def test_add_to_is_the_matrix_of_apply(element, lumped):
    built = model(element, lumped_mass=lumped)
    values = np.zeros((built.pattern.block_count, 3, 3))
    built.mass.add_to(values, 2.0)
    x = np.random.default_rng(0).normal(size=built.rest.shape)
    np.testing.assert_allclose(BlockMatrix(built.pattern, values).matvec(x), 2.0 * built.mass.apply(x), rtol=1e-12)


@pytest.mark.parametrize("lumped", [True, False])
def test_a_given_total_scales_the_mass(lumped):
    mass = model(mass=0.5, lumped_mass=lumped).mass
    assert mass.total == pytest.approx(0.5, rel=1e-12)
    assert mass.apply(np.ones((len(mass.nodal), 3)))[:, 0].sum() == pytest.approx(0.5, rel=1e-12)


def test_a_given_mass_by_node_is_taken():
    given = np.linspace(1.0, 2.0, 27)
    np.testing.assert_array_equal(model(mass=given).mass.nodal, given)


@pytest.mark.parametrize(
    ("mass", "options", "message"),
    [
        (0.0, {}, "must be > 0 kg, got 0"),
        (-np.ones(27), {}, "must be > 0 kg, got -1"),
        (np.nan, {}, "must be finite"),
        (np.ones(5), {}, r"one value per node \(27,\), got \(5,\)"),
        (np.ones(27), {"lumped_mass": False}, "lumped by its nature"),
    ],
)
def test_bad_masses(mass, options, message):
    with pytest.raises(InputError, match=message):
        model(mass=mass, **options)


def test_the_lumped_mass_of_a_quadratic_tetrahedron_is_that_of_hinton_rock_and_zienkiewicz():
    """1/36 of the mass at each corner and 4/27 at the middle of each edge."""
    points = np.vstack([np.zeros(3), np.eye(3)])
    mesh = pl.mesh.Mesh(*with_edge_nodes(points, np.array([[0, 1, 2, 3]], np.int32)), element="tet10")
    np.testing.assert_allclose(model(mesh=mesh).mass.nodal, 200.0 * np.array([1 / 36] * 4 + [4 / 27] * 6), rtol=1e-12)
