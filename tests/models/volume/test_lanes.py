import numpy as np

from pliant.core.kernels import kernel
from pliant.models.volume.lanes import add_eight, by_cell


@kernel
def _transposed(S, source, target, stride):
    by_cell(S, source, target, stride)


@kernel
def _added(into, to, S, source):
    add_eight(into, to, S, source)


def test_entries_of_eight_lanes_come_by_cell():
    S = np.arange(300.0)
    before = S.copy()
    _transposed(S, 3, 100, 17)
    expected = before.copy()
    for n in range(8):
        for k in range(8):
            expected[100 + 17 * n + k] = before[3 + 8 * k + n]
    assert (expected == S).all()


def test_eight_entries_are_added_where_they_lie():
    rng = np.random.default_rng(1)
    blocks, S = rng.normal(size=(4, 3, 3)), rng.normal(size=40)
    expected = blocks.copy()
    expected.reshape(-1)[18:26] += S[5:13]
    _added(blocks, 18, S, 5)
    assert (blocks == expected).all()
