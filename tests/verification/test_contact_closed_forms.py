"""Contact problems with a closed form, by one call of `pl.QuasiStatic()`: within 3 % on coarse graded meshes, nearer on
fine ones.

They are rows of `pliant validate literature` (validation/literature/contact_statics.py).
"""

import pytest

from validation.literature.contact_statics import SOLVED

pytestmark = pytest.mark.filterwarnings("ignore:cells of .* as long as its walls")  # plane strain is one layer of cells

LONG = {"partial-slip-of-a-ball"}
FINE = {
    "hertz-ball": ({"fine": 1.6}, 0.01),
    "blunt-cone": ({"fine": 1.6}, 0.02),
    "punch-in-plane-strain": ({"fine": 4.0}, 0.02),
    "two-cylinders": ({"fine": 2.0}, 0.01),
    "partial-slip-of-a-roller": ({"fine": 2.0}, 0.02),
    "ironing": ({"fine": 1.6, "travel": 3e-3}, 0.02),
    "circular-load": ({"fine": 1.6}, 0.02),
}
MOST_SOLVES = 200


def check(name, options, within):
    rows, info = SOLVED[name](**options)
    for row in rows:
        change = 100 * (row.ours / row.reference - 1)
        print(f"{name}, {row.quantity}: {row.ours:.5g} of {row.reference:.5g} {row.unit}, {change:+.2f} %")
    print(f"{name}: {info.iterations} linear solves, {info.load_steps} increments, by {info.method}")
    assert info.status.ok
    assert info.method != "dynamic relaxation"
    assert info.iterations <= MOST_SOLVES
    assert rows
    for row in rows:
        assert row.allowed == 0.03
        assert row.error < within


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in SOLVED])
def test_a_coarse_mesh_is_within_three_per_cent(name):
    check(name, {}, 0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", FINE)
def test_a_fine_mesh_is_nearer(name):
    check(name, *FINE[name])
