"""Islands of rows: the connected groups of bodies, against a search over the dense matrices."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from pliant.constraints import RowLaw, Rows
from pliant.constraints.islands import islands, picked_rows


def random_rows(rng, bodies, contacts, connected):
    """Coulomb contacts and single rows over `bodies` of three unknowns; a fraction `connected` touches two bodies."""
    law = []
    for _ in range(contacts):
        law += [RowLaw.COULOMB] * 3 if rng.random() < 0.5 else [RowLaw.BILATERAL]
    m = len(law)
    dense = [np.zeros((m, 3)) for _ in range(bodies)]
    i = 0
    while i < m:
        size = 3 if law[i] == RowLaw.COULOMB else 1
        chosen = rng.choice(bodies, 2 if rng.random() < connected and bodies > 1 else 1, replace=False)
        for k in chosen:
            dense[k][i : i + size] = rng.normal(size=(size, 3))
        i += size
    return Rows.of([sparse.csr_matrix(d) for d in dense], np.zeros(m), np.array(law)), dense


@pytest.mark.parametrize("seed", range(40))
def test_islands_are_the_connected_components_of_w(seed):
    rng = np.random.default_rng(seed)
    rows, dense = random_rows(rng, int(rng.integers(1, 9)), int(rng.integers(1, 20)), rng.random())
    W = sum(np.abs(d) @ np.abs(d).T for d in dense)
    count, labels = connected_components(W > 0)
    found = islands(rows)
    if count == 1:
        assert found == []
        return
    assert len(found) == count
    for picked, bodies in found:
        assert (np.diff(picked) > 0).all()
        assert len(set(labels[picked])) == 1
        assert bodies == [k for k, d in enumerate(dense) if d[picked].any()]
    assert sorted(np.concatenate([picked for picked, _ in found])) == list(range(rows.count))


def test_rows_that_move_nothing_and_fractions_stay_with_the_rows_before_them():
    H = [np.zeros((7, 2)), np.zeros((7, 2))]
    H[0][1], H[1][[2, 4]] = 1.0, 1.0
    law = [RowLaw.BILATERAL, RowLaw.BILATERAL, RowLaw.BOUNDED, RowLaw.CAPSTAN, RowLaw.BILATERAL, RowLaw.BILATERAL]
    rows = Rows.of([sparse.csr_matrix(h) for h in H], np.zeros(7), np.array([*law, RowLaw.SIGNORINI]))
    assert [list(picked) for picked, _ in islands(rows)] == [[0, 1], [2, 3, 4, 5, 6]]


@pytest.mark.parametrize("law", [RowLaw.CAPSTAN, RowLaw.GUIDE])
def test_a_fraction_on_another_body_joins_it(law):
    H = [np.zeros((3, 2)), np.zeros((3, 2))]
    H[0][:2], H[1][2] = 1.0, 1.0
    rows = Rows.of([sparse.csr_matrix(h) for h in H], np.zeros(3), np.array([RowLaw.BOUNDED, RowLaw.BOUNDED, law]))
    assert islands(rows) == []


def test_rows_are_picked_as_scipy_does():
    rng = np.random.default_rng(3)
    H = sparse.random(20, 9, 0.3, "csr", random_state=rng)
    for picked in (np.array([3]), np.array([0, 5, 6, 19]), np.arange(20)):
        assert (picked_rows(H, picked) != H[picked]).nnz == 0
