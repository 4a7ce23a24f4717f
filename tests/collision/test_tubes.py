"""Pipes with bends and forks: gaps, normals, junctions, entrances."""

import numpy as np
import pytest

import pliant as pl
from pliant.collision import Tubes

FORK = [[(0, 0, 0), (1, 0, 0)], [(1, 0, 0), (2, 0.5, 0)], [(1, 0, 0), (2, -0.5, 0)]]


def fork(**options):
    return pl.Obstacle.tubes(FORK, radius=0.1, **options).shape.solid


def test_gaps_and_normals_in_a_straight_tube():
    tube = pl.Obstacle.tubes([(0, 0, 0), (1, 0, 0)], radius=0.1).shape.solid
    gap, normal, foot = tube.distance(np.array([(0.5, 0.06, 0), (0.5, 0, -0.13), (0.5, 0, 0)]))
    np.testing.assert_allclose(gap, [0.04, -0.03, 0.1])
    np.testing.assert_allclose(normal[:2], [(0, -1, 0), (0, 0, 1)])
    assert np.linalg.norm(normal[2]) == pytest.approx(1.0)
    np.testing.assert_allclose(foot[:2], [(0.5, 0.1, 0), (0.5, 0, -0.1)])


def test_the_gap_falls_along_the_normal():
    """∂gap/∂x is the normal, at bends too: central differences."""
    tubes, rng = fork(), np.random.default_rng(1)
    points = np.column_stack([rng.uniform(0.2, 1.8, 200), rng.uniform(-0.5, 0.5, 200), rng.uniform(-0.2, 0.2, 200)])
    gap, normal, _ = tubes.distance(points)
    eps, same = 1e-7, np.ones(len(points), bool)
    slopes = []
    for unit in np.eye(3):
        ahead, behind = (tubes.distance(points + s * eps * unit) for s in (1, -1))
        slopes.append((ahead.gap - behind.gap) / (2 * eps))
        same &= np.einsum("pi,pi->p", ahead.normal, behind.normal) > 0.999  # not across a ridge
    np.testing.assert_allclose(np.stack(slopes, axis=1)[same], normal[same], atol=1e-5)
    assert same.sum() > 180
    assert np.isfinite(gap).all()


def test_a_junction_is_open():
    """Along either branch the gap on the axis never falls below the radius."""
    tubes = fork()
    for path in FORK:
        way = np.linspace(path[0], path[1], 50)[1:-1]
        assert tubes.distance(way).gap.min() >= 0.1 - 1e-12


def test_entrances_have_no_wall_beyond():
    outside, inside = np.array([(-0.05, 0.3, 0.0)]), np.array([(0.05, 0.3, 0.0)])
    assert fork().distance(outside).gap[0] == np.inf
    assert fork().distance(inside).gap[0] == pytest.approx(-0.2)
    assert fork(open_ends=False).distance(outside).gap[0] < -0.2
    assert len(fork().openings) == 3  # the ends at the junction are none


def test_several_radii():
    tubes = pl.Obstacle.tubes(FORK, radius=[0.1, 0.05, 0.05]).shape.solid
    assert tubes.distance(np.array([(2.0, 0.5, 0.0)])).gap[0] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: pl.Obstacle.tubes([[(0, 0, 0)]], radius=0.1), "needs two points"),
        (lambda: pl.Obstacle.tubes([(0, 0, 0), (0, 0, 0)], radius=0.1), "starts where it ends"),
        (lambda: pl.Obstacle.tubes([(0, 0, 0), (1, 0, 0)], radius=-0.1), "radii"),
        (lambda: Tubes(np.zeros((0, 3)), np.zeros((0, 3)), 1.0), "at least one"),
        (lambda: Tubes([(0, 0, 0)], [(1, 0, 0)], 1.0, np.zeros((1, 2, 3))), "must not be zero"),
    ],
)
def test_bad_tubes_name_what_is_wrong(make, text):
    with pytest.raises(pl.InputError, match=text):
        make()
