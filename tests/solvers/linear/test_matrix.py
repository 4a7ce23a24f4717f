import numpy as np
import pytest

from pliant.core.errors import InputError
from pliant.solvers.linear import BlockMatrix


@pytest.mark.parametrize("block", [1, 3, 6])
def test_product_equals_the_full_matrix(make_system, block):
    """The product with the stored half equals the product with the mirrored matrix; both shapes of x are kept."""
    system = make_system(25, block=block)
    assert np.array_equal(system.dense, system.dense.T)
    x = np.random.default_rng(1).standard_normal(25 * block)
    np.testing.assert_allclose(system.matrix.matvec(x), system.dense @ x, rtol=1e-12, atol=1e-12)
    assert system.matrix.matvec(x.reshape(25, block)).shape == (25, block)


def test_wrong_shapes_are_refused(make_system):
    """Values and vectors that do not fit the pattern raise InputError."""
    system = make_system(5)
    with pytest.raises(InputError):
        BlockMatrix(system.pattern, np.zeros((2, 3, 3)))
    with pytest.raises(InputError):
        system.matrix.matvec(np.zeros(14))
