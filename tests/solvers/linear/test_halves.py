"""Two threads for one factorization: the same factor, and the same word on a matrix that has none."""

import numpy as np
import pytest
from scipy import sparse

import pliant as pl
from pliant.core.errors import SingularError
from pliant.core.threads import allow_threads, threads_allowed
from pliant.solvers.linear import divided_front, halves


@pytest.fixture(scope="module")
def body():
    """Pattern and tangent at rest of a box of 2500 nodes."""
    scene = pl.Scene()
    rubber = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)
    scene.add(
        pl.Volume(pl.mesh.box((0.04, 0.02, 0.02), (20, 10, 10)), rubber, clamp=pl.regions.plane(axis="x", at=0.0))
    )
    model = scene.compile().volumes[0]
    values = model.blocks()
    model.assemble(model.rest, mass=0.0, stiffness=1.0, tangent=pl.materials.Tangent.WARPED, values=values)
    return model.symbolic, values


@pytest.mark.parametrize("divided", [5.0, 0.0])
def test_two_threads_make_the_same_factor(body, divided, monkeypatch):
    """To the last bit, whether the tree is cut at its root alone or, as division costs nothing, below it too."""
    monkeypatch.setattr(halves, "LEAST", 0.0)
    monkeypatch.setattr(halves, "DIVIDED", divided)
    symbolic, values = body
    symbolic.__dict__.pop("halves", None)
    cut = symbolic.halves
    assert cut is not None
    assert cut.one
    assert cut.other
    assert (len(cut.rest) > 1) == (divided == 0.0)
    rhs = np.random.default_rng(0).normal(size=3 * symbolic.pattern.node_count)
    alone = symbolic.factorize(values).solve(rhs)
    with allow_threads(2):
        assert threads_allowed() == 2
        together = symbolic.factorize(values).solve(rhs)
    assert threads_allowed() == 1
    assert (alone == together).all()


def test_two_threads_name_the_same_failure(body, monkeypatch):
    monkeypatch.setattr(halves, "LEAST", 0.0)
    symbolic, values = body
    symbolic.__dict__.pop("halves", None)
    broken = values.copy()
    broken[symbolic.pattern.diagonal[symbolic.nodes[40]]] *= -1.0
    rows = []
    for count in (1, 2):
        with allow_threads(count), pytest.raises(SingularError) as caught:
            symbolic.factorize(broken)
        rows.append(caught.value.row)
    assert rows[0] == rows[1]


@pytest.mark.parametrize("divided", [5.0, 0.0])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_solving_by_halves_is_solving(body, divided, columns, monkeypatch):
    """One column or several, on one thread and on two: what the whole tree gives."""
    symbolic, values = body
    monkeypatch.setattr(halves, "LEAST", np.inf)
    symbolic.__dict__.pop("halves", None)
    assert symbolic.halves is None
    factor = symbolic.factorize(values)
    rhs = np.random.default_rng(1).normal(size=(3 * symbolic.pattern.node_count, *columns))
    whole = factor.solve(rhs)
    monkeypatch.setattr(halves, "LEAST", 0.0)
    monkeypatch.setattr(halves, "DIVIDED", divided)
    symbolic.__dict__.pop("halves", None)
    assert symbolic.halves is not None
    alone = factor.solve(rhs)
    with allow_threads(2):
        together = factor.solve(rhs)
    symbolic.__dict__.pop("halves", None)
    np.testing.assert_allclose(alone, whole, rtol=0.0, atol=1e-11 * np.abs(whole).max())
    np.testing.assert_array_equal(alone, together)


@pytest.mark.parametrize("strip", [40, 1000])
def test_fronts_divided_between_two_threads(body, strip, monkeypatch):
    """In strips of columns or at once: the factor of the whole tree, the same to the last bit on one thread and on two,
    and the same unknown where it fails.
    """
    symbolic, values = body
    rhs = np.random.default_rng(2).normal(size=3 * symbolic.pattern.node_count)
    broken = values.copy()
    broken[symbolic.pattern.diagonal[symbolic.nodes[-5]]] *= -1.0
    solutions, rows = [], []
    for least, threads in ((np.inf, 1), (0.0, 1), (0.0, 2)):
        monkeypatch.setattr(halves, "LEAST", least)
        monkeypatch.setattr(divided_front, "STRIP", strip)
        symbolic.__dict__.pop("halves", None)
        with allow_threads(threads):
            solutions.append(symbolic.factorize(values).solve(rhs))
            with pytest.raises(SingularError) as caught:
                symbolic.factorize(broken)
        rows.append(caught.value.row)
    symbolic.__dict__.pop("halves", None)
    whole, alone, together = solutions
    np.testing.assert_allclose(alone, whole, rtol=0.0, atol=1e-11 * np.abs(whole).max())
    np.testing.assert_array_equal(alone, together)
    assert rows[0] == rows[1] == rows[2]


@pytest.mark.parametrize("divided", [5.0, 0.0])
def test_compliance_by_halves_is_compliance(body, divided, monkeypatch):
    """Of rows that reach into both halves: H A⁻¹ Hᵀ by solves, the same to the last bit on one thread and on two."""
    symbolic, values = body
    factor = symbolic.factorize(values)
    H = sparse.random(7, 3 * symbolic.pattern.node_count, density=2e-3, format="csr", random_state=3)
    expected = H @ factor.solve(np.ascontiguousarray(H.toarray().T))
    monkeypatch.setattr(halves, "LEAST", 0.0)
    monkeypatch.setattr(halves, "DIVIDED", divided)
    symbolic.__dict__.pop("halves", None)
    alone = factor.compliance(H)
    with allow_threads(2):
        together = factor.compliance(H)
    symbolic.__dict__.pop("halves", None)
    np.testing.assert_allclose(alone, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_array_equal(alone, together)


@pytest.mark.parametrize("fails_at", [-1, 0, 1, 2, 5, 6, 9])
def test_supernodes_are_eliminated_once_in_order_until_one_fails(fails_at):
    """Ten supernodes of which 2, 5 and 6 are divided; supernode s fails at its unknown s."""
    done = []

    def one(s):
        done.append(s)
        return s if s == fails_at else -1

    def several(first, last):
        return next((s for s in range(first, last) if one(s) >= 0), -1)

    cut = halves.Halves([], [], [], [2, 5, 6], [])
    assert halves.eliminate_in_order(10, cut, several, one) == fails_at
    assert done == list(range(10 if fails_at < 0 else fails_at + 1))


@pytest.mark.parametrize("fails_at", [-1, 0, 3, 7, 8])
def test_two_threads_eliminate_every_supernode_and_say_which_failed(fails_at):
    """Subtrees 0–2, 3–3 and 4–6 by whichever thread is free, then 7 and 8."""
    done = []

    def one(s):
        done.append(s)
        return s if s == fails_at else -1

    first = dict(zip((2, 3, 6), (0, 3, 4), strict=True))
    cut = halves.Halves([2, 3], [6], first, [7, 8], [6, 2, 3])

    def subtree(_, begin, root):
        return next((s for s in range(begin, root + 1) if one(s) >= 0), -1)

    assert halves.eliminate_halves(cut, subtree, one) == fails_at
    assert len(done) == len(set(done))
    if fails_at < 0:
        assert sorted(done) == list(range(9))
    elif fails_at >= 7:
        assert sorted(done) == list(range(fails_at + 1))
