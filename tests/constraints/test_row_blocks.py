"""Gradients of rows over many models: stored where they are filled, stacked like the matrices themselves."""

import numpy as np
from scipy import sparse

import pliant as pl
from pliant.constraints import RowView
from pliant.constraints.row_blocks import RowBlocks, stacked_blocks
from pliant.core.arrays import stacked

SIZES = [6, 9, 12, 3]


def block(rows, index, seed):
    return sparse.random(rows, SIZES[index], 0.4, format="csr", random_state=seed)


def test_models_without_rows_are_empty():
    H = RowBlocks(2, SIZES)
    H[-1] = block(2, 3, 0)
    assert [h.shape for h in H] == [(2, size) for size in SIZES]
    assert [h.nnz > 0 for h in H[1:]] == [False, False, True]
    assert list(H.filled) == [3]
    assert H.part(slice(1, 2))[3].shape == (1, 3)


def test_blocks_stack_as_matrices_do():
    parts = [
        RowBlocks(3, SIZES, {1: block(3, 1, 1)}),
        RowBlocks(2, SIZES),
        RowBlocks(4, SIZES, {0: block(4, 0, 2), 1: block(4, 1, 3)}),
        RowBlocks(1, SIZES, {2: sparse.csr_matrix((1, 12))}),
        RowBlocks(5, SIZES, {3: block(5, 3, 4)}),
    ]
    made = stacked_blocks(parts)
    for index, own in enumerate(made):
        other = stacked([part[index] for part in parts])
        np.testing.assert_array_equal(own.toarray(), other.toarray())
        assert own.shape == other.shape == (15, SIZES[index])
        assert own.indptr.dtype == other.indptr.dtype


def test_pairs_of_a_body_share_its_collider_and_its_pose_in_a_step():
    scene = pl.Scene()
    cube = scene.add(pl.RigidBody.box(size=(0.02,) * 3, mass=0.01, name="cube"))
    soft = pl.materials.Corotated(young=1e5, poisson=0.3, density=1e3)
    mesh = pl.mesh.box((0.02,) * 3, (1,) * 3)
    others = [scene.add(pl.Volume(mesh.translated((x, -0.01, -0.01)), soft, name=f"{x}")) for x in (0.0101, -0.0301)]
    for other in others:
        scene.collide(cube, other)
    world = scene.compile()
    first, second = (pair.a if pair.a.handle is cube else pair.b for pair in world.constraints)
    assert first is second
    step = pl.ImplicitEuler(0.01)
    state, _ = step(world, world.initial_state())
    views = [RowView.of(world.models, state.q, workspace=step.workspace) for _ in range(2)]
    assert first.pose(views[0]) is second.pose(views[1])  # the same positions
    later, _ = step(world, state)
    view = RowView.of(world.models, later.q, workspace=step.workspace)
    assert first.pose(view) is not first.pose(views[0])
    np.testing.assert_allclose(first.pose(view).points, later.points(cube), atol=1e-15)
