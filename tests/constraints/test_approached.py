"""How far two sides move against each other; rows of one constraint alone."""

import numpy as np
import pytest
from scipy import sparse

import pliant as pl
from pliant.constraints import RowLaw, Rows, RowView
from pliant.constraints.assembly import joined

RUBBER = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)


def blocks():
    """Two blocks 1 cm apart: the pair and their positions."""
    scene, mesh = pl.Scene(), pl.mesh.box((0.04, 0.04, 0.04), (2, 2, 2))
    first = scene.add(pl.Volume(mesh, RUBBER, name="first"))
    second = scene.add(pl.Volume(mesh, RUBBER, name="second"), position=(0.0, 0.0, 0.05))
    scene.collide(first, second)
    world = scene.compile()
    return world, world.constraints[0], list(world.initial_state().q)


@pytest.mark.parametrize("a", [(0.0, 0.0, 0.0), (0.01, -0.02, 0.005)])
@pytest.mark.parametrize("b", [(0.0, 0.0, 0.0), (-0.003, 0.0, -0.004), (0.01, -0.02, 0.005)])
def test_blocks_that_are_moved_approach_by_their_relative_motion(a, b):
    world, pair, q = blocks()
    before = RowView.of(world.models, q, time=0.0, dt=0.0)
    after = RowView.of(world.models, [q[0] + a, q[1] + b], time=0.0, dt=0.0)
    assert pair.approached(before, after) == pytest.approx(np.linalg.norm(np.subtract(a, b)), abs=1e-15)


def test_no_two_points_approach_by_more():
    """Of blocks that deform at random, against all pairs of nodes."""
    world, pair, q = blocks()
    for seed in range(5):
        rng = np.random.default_rng(seed)
        moved = [x + 1e-3 * rng.normal(size=x.shape) + 5e-3 * rng.normal(size=3) for x in q]
        views = [RowView.of(world.models, each, time=0.0, dt=0.0) for each in (q, moved)]
        shifts = [after - before for before, after in zip(q, moved, strict=True)]
        relative = np.linalg.norm(shifts[0][:, None] - shifts[1][None], axis=2)
        assert relative.max() <= pair.approached(*views) * (1.0 + 1e-12)
        assert pair.approached(*views) <= 2.0 * relative.max()


def test_rows_of_one_constraint_are_all_rows():
    rows = Rows.of([sparse.csr_matrix(np.eye(2))], np.ones(2), np.array([RowLaw.BILATERAL] * 2))
    assert joined([rows]) is rows
    both = joined([rows, rows])
    assert both.count == 4
    np.testing.assert_array_equal(both.H[0].toarray(), np.vstack([np.eye(2)] * 2))
