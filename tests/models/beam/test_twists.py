"""Nodes of a beam under moments: blocks that turn and stiffen."""

import numpy as np

from pliant.models.beam.factor import Twists


def test_each_node_has_the_block_of_its_own_moment():
    """B a = −½ m × a − |m| a."""
    rng = np.random.default_rng(0)
    nodes, moments, x = np.array([4, 1, 2]), rng.normal(size=(3, 3)), rng.normal(size=(6, 2, 3))
    found = Twists(nodes, moments).product(x)
    for moment, turn, product in zip(moments, x[nodes, 1], found, strict=True):
        np.testing.assert_allclose(product, -0.5 * np.cross(moment, turn) - np.linalg.norm(moment) * turn, rtol=1e-13)
