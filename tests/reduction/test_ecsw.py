"""Few integration points: their forces and stiffness are those of all, over the training shapes."""

import numpy as np
import pytest
from scipy import linalg

import pliant as pl
from pliant.materials import Tangent
from pliant.reduction import curved, ecsw, pod
from pliant.reduction.ecsw import training_matrix
from pliant.world.reduced import reduced
from scenes import bar

LAWS = {
    "corotated": pl.materials.Corotated(young=1e5, poisson=0.45, density=1000),
    "neo-hookean": pl.materials.NeoHookean(young=1e5, poisson=0.45, density=1000),
    "yeoh": pl.materials.Yeoh(c1=17e3, c2=1e3, c3=100.0, density=1000, bulk=3e5),
}


def pulled(law, element, *, steps=8):
    """A beam bent by its cable: its world, its cable, and the shapes (steps, n, 3)."""
    scene, body = bar(cells=(6, 2, 2), material=LAWS[law], element=element)
    cable = scene.add(pl.Cable(body, [(0.001, 0.01, 0.019), (0.05, 0.01, 0.019), (0.099, 0.01, 0.019)]))
    world = scene.compile()
    state, shapes = world.initial_state(), []
    for k in range(steps):
        state, _ = pl.QuasiStatic(tolerance=1e-6)(world, state, {cable: pl.Displacement(0.01 * (k + 1) / steps)})
        shapes.append(state.points(body))
    return world, cable, np.array(shapes)


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
@pytest.mark.parametrize("law", LAWS)
def test_few_points_do_the_work_of_all(law, element):
    """Forces over the training shapes within the tolerance, and a pull between them ends where all points end."""
    world, cable, shapes = pulled(law, element)
    model = world.models[0]
    space = pod(model, shapes, size=4).subspace()
    few = ecsw(model, space, shapes, tolerance=1e-3)
    assert len(few.points) <= 40 < model.points.count
    G = training_matrix(space.reduced(model), shapes)
    xi = np.zeros(model.points.count)
    xi[few.points] = few.weights
    assert np.linalg.norm(G @ xi - G.sum(axis=1)) <= 1.001e-3 * np.linalg.norm(G.sum(axis=1))
    ends = []
    for here in (reduced(world, [space]), reduced(world, [few])):
        state, _ = pl.QuasiStatic(tolerance=1e-8)(here, here.initial_state(), {cable: pl.Displacement(0.0062)})
        ends.append(state.q[0])
    assert np.abs(ends[0] - ends[1]).max() <= 0.02 * np.abs(ends[0] - model.rest).max()


def test_stiffness_at_rest_is_matched_where_asked_for():
    world, _, shapes = pulled("corotated", "tet4")
    model = world.models[0]
    space = pod(model, shapes, size=3).subspace()
    few = ecsw(model, space, shapes, tolerance=1e-3)
    K = [s.reduced(model).strained(np.zeros(3), Tangent.EXACT, 1.0)[2] for s in (space, few)]
    np.testing.assert_allclose(linalg.eigvalsh(K[1], K[0]), 1.0, rtol=0, atol=0.01)


def test_shapes_without_strain_are_refused():
    world, _, shapes = pulled("corotated", "tet4", steps=2)
    model = world.models[0]
    space = pod(model, shapes, size=1).subspace()
    with pytest.raises(pl.InputError, match="no snapshot strains"):
        ecsw(model, space, model.rest[None])


def test_curved_subspaces_take_few_points_too():
    """One coordinate of a curved space bends as the body does, two with a few points; a plane space cannot."""
    world, cable, shapes = pulled("neo-hookean", "tet4")
    model = world.models[0]
    found = pod(model, shapes, size=1)
    few = ecsw(model, curved(pod(model, shapes, size=2), shapes), shapes, tolerance=1e-2)
    assert len(few.points) <= 6
    wanted, _ = pl.QuasiStatic(tolerance=1e-8)(world, world.initial_state(), {cable: pl.Displacement(0.0062)})
    errors = []
    for reduction in (curved(found, shapes), few):
        here = reduced(world, [reduction])
        state, _ = pl.QuasiStatic(tolerance=1e-8)(here, here.initial_state(), {cable: pl.Displacement(0.0062)})
        errors.append(np.abs(state.q[0] - wanted.q[0]).max() / np.abs(wanted.q[0] - model.rest).max())
    bent, sampled = errors
    assert bent < 0.003
    moved = (wanted.q[0] - model.rest).ravel()
    root = np.repeat(np.sqrt(model.mass.nodal), 3)
    mode = root * found.modes[:, 0] / np.linalg.norm(root * found.modes[:, 0])
    left = root * moved - mode * (mode @ (root * moved))
    assert np.linalg.norm(left) > 0.03 * np.linalg.norm(root * moved), "what one plane mode leaves at best"
    assert sampled < 0.005
