"""The compiled model: supports, assembly, factorization with held unknowns."""

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

import pliant as pl
from pliant.core.errors import InputError, MeshError
from pliant.materials import Tangent
from pliant.solvers.linear.matrix import BlockMatrix

RUBBER = pl.materials.Corotated(young=1e5, poisson=0.4, density=1000.0)
LEFT = pl.regions.plane(axis="x", at=0.0)


def scene_of(**options):
    scene = pl.Scene()
    return scene, scene.add(pl.Volume(pl.mesh.box((0.2, 0.1, 0.1), (4, 2, 2)), RUBBER, name="block", **options))


def test_clamped_nodes_are_removed_and_rollers_decoupled():
    """The factor of a model with a clamp and a roller solves the system restricted to the free unknowns, exactly."""
    scene, body = scene_of(clamp=LEFT)
    scene.add(pl.Support(body, pl.regions.plane(axis="z", at=0.0), axes="z"))
    model = scene.compile().models[0]
    assert model.symbolic.unknown_count == 3 * (45 - 9)
    values = np.empty((model.pattern.block_count, 3, 3))
    model.assemble(model.rest, mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=values)
    K = BlockMatrix(model.pattern, values.copy()).to_scipy()
    rhs = np.random.default_rng(0).normal(size=model.rest.shape)
    rhs[model.constrained] = 0.0
    free = ~model.constrained.ravel()
    expected = np.zeros(rhs.size)
    expected[free] = spsolve(K[free][:, free].tocsc(), rhs.ravel()[free])
    solved = model.factorize(values).solve(rhs)
    np.testing.assert_allclose(solved.ravel(), expected, atol=1e-10 * np.abs(expected).max())
    assert not solved[model.constrained].any()


@pytest.mark.parametrize("tangent", [Tangent.EXACT, Tangent.PROJECTED, Tangent.WARPED])
def test_assembly_is_a_sum_of_its_parts(tangent):
    """values = a M + b K, and old contents are overwritten."""
    scene, _ = scene_of()
    model = scene.compile().models[0]
    q = model.rest + 0.01 * np.sin(20 * model.rest[:, [1, 2, 0]])
    blocks = np.full((3, model.pattern.block_count, 3, 3), np.inf)
    for values, (mass, stiffness) in zip(blocks, ((2.0, 3.0), (1.0, 0.0), (0.0, 1.0)), strict=True):
        model.assemble(q, mass=mass, stiffness=stiffness, tangent=tangent, values=values)
    np.testing.assert_allclose(blocks[0], 2 * blocks[1] + 3 * blocks[2], atol=1e-12 * np.abs(blocks[0]).max())


@pytest.mark.parametrize("law", [pl.materials.Corotated, pl.materials.StVenantKirchhoff, pl.materials.NeoHookean])
@pytest.mark.parametrize("anti_locking", [False, True])
def test_projected_stiffness_is_positive_semidefinite(law, anti_locking):
    """Under strong compression the exact tangent is indefinite, the projected one is not."""
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.1, 0.1), (2, 2, 2))
    scene.add(pl.Volume(mesh, law(young=1e5, poisson=0.3, density=1e3), anti_locking=anti_locking))
    model = scene.compile().models[0]
    q = mesh.points * [0.45, 0.7, 1.0] + 0.003 * np.random.default_rng(2).normal(size=mesh.points.shape)
    lowest = {}
    for tangent in (Tangent.EXACT, Tangent.PROJECTED):
        values = np.empty((model.pattern.block_count, 3, 3))
        model.assemble(q, mass=0.0, stiffness=1.0, tangent=tangent, values=values)
        eigenvalues = np.linalg.eigvalsh(BlockMatrix(model.pattern, values).to_scipy().toarray())
        lowest[tangent] = eigenvalues[0] / eigenvalues[-1]
    assert lowest[Tangent.EXACT] < -1e-3
    assert lowest[Tangent.PROJECTED] > -1e-12


def test_every_node_held_is_refused():
    scene, _ = scene_of(clamp=pl.regions.everything())
    with pytest.raises(InputError, match="every node of 'block' is constrained"):
        scene.compile()


def test_an_empty_clamp_is_refused():
    scene, _ = scene_of(clamp=pl.regions.plane(axis="x", at=9.0))
    with pytest.raises(MeshError, match=r"clamp of 'block'.*selects none"):
        scene.compile()


def test_an_empty_inclusion_is_refused():
    nowhere = pl.regions.box((1, 1, 1), (2, 2, 2))
    scene, _ = scene_of(inclusions=[(nowhere, RUBBER)])
    with pytest.raises(InputError, match=r"inclusion 0 of 'block'.*contains the centre of no cell"):
        scene.compile()


def test_a_support_may_not_move_what_the_clamp_holds():
    scene, body = scene_of(clamp=LEFT)
    support = scene.add(pl.Support(body, LEFT, axes="z"))
    world = scene.compile()
    pl.QuasiStatic()(world, world.initial_state())
    with pytest.raises(InputError, match="a moving support of 'block' prescribes z of node 0"):
        pl.QuasiStatic()(world, world.initial_state(), {support: pl.Displacement(0.01)})


def test_later_inclusions_win():
    half = pl.regions.box((0.1, -1, -1), (1, 1, 1))
    stiff, stiffer = (pl.materials.Corotated(young=y, poisson=0.4, density=1e3) for y in (2e5, 3e5))
    _, body = scene_of(inclusions=[(pl.regions.everything(), stiff), (half, stiffer)])
    centers = body.mesh.points[body.mesh.cells].mean(axis=1)
    np.testing.assert_array_equal(body.cell_materials(), np.where(centers[:, 0] > 0.1, 2, 1))


@pytest.mark.parametrize("options", [{"mass": -1.0}, {"stiffness": np.nan}])
def test_damping_is_checked(options):
    with pytest.raises(InputError, match="of Rayleigh must be"):
        pl.Rayleigh(**options)


def test_inverted_elements_have_infinite_energy_where_the_law_says_so():
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.1, 0.1), (1, 1, 1))
    scene.add(pl.Volume(mesh, pl.materials.NeoHookean(young=1e5, poisson=0.3, density=1e3)))
    energy, _ = scene.compile().models[0].internal(mesh.points * [1, 1, -1])
    assert energy == np.inf


def test_a_placed_body_deforms_as_at_home():
    """Position and rotation move the mesh, not the regions; forces turn with the body."""
    loads = []
    for placed in (False, True):
        scene = pl.Scene()
        body = pl.Volume(pl.mesh.box((0.2, 0.1, 0.1), (4, 2, 2)), RUBBER, clamp=LEFT)
        turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
        scene.add(body, **({"position": (1, 2, 3), "rotation": turn} if placed else {}))
        force = np.array([0.0, 0.0, -20.0]) if not placed else turn @ [0.0, 0.0, -20.0]
        scene.add(pl.PointLoad(body, pl.regions.plane(axis="x", at=0.2), force))
        world = scene.compile()
        state, _ = pl.QuasiStatic(tolerance=1e-11)(world, world.initial_state())
        loads.append(state.displacements(body) @ (turn if placed else np.eye(3)))
    np.testing.assert_allclose(loads[1], loads[0], atol=1e-9)
    assert np.abs(loads[0]).max() > 1e-3


@pytest.mark.parametrize(
    ("element", "anti_locking"), [("tet4", False), ("tet4", True), ("tet4", "volume"), ("hex8", True)]
)
def test_least_volume_ratio_is_that_of_all_points(element, anti_locking):
    """The pass of every step finds the smallest of all det F, of points of four nodes and of more, and its sign."""
    scene = pl.Scene()
    material = pl.materials.NeoHookean(young=1e5, poisson=0.45, density=1000)
    scene.add(
        pl.Volume(pl.mesh.box((0.02, 0.02, 0.02), (2, 2, 2), element=element), material, anti_locking=anti_locking)
    )
    model = scene.compile().models[0]
    for seed, size in enumerate((1e-3, 1e-2)):
        x = model.rest + size * np.random.default_rng(seed).standard_normal(model.rest.shape)
        least = model.every_volume_ratio(x).min()
        assert model.least_volume_ratio(x) == pytest.approx(least, rel=1e-10, abs=1e-12)
        assert model.is_inverted(x) == (least <= 0.0)
    assert least < 0.0
