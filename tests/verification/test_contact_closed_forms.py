"""Contact problems with a closed form, by one call of `pl.QuasiStatic()`: within 3 % on coarse graded meshes, nearer on
fine ones.
"""

import pytest

from tests.verification.statics import closed_forms

pytestmark = pytest.mark.filterwarnings("ignore:cells of .* as long as its walls")  # plane strain is one layer of cells

COARSE = {
    "sphere": {"fine": 0.8},
    "cone": {"fine": 0.8},
    "flat_punch_plane": {"fine": 1.6},
    "two_cylinders": {"fine": 1.0},
    "partial_slip_plane": {"fine": 1.0},
    "ironing": {"fine": 0.8, "travel": 0.5e-3},
    "circular_load": {"fine": 1.2},
}
FINE = {
    "sphere": ({"fine": 1.6}, 0.01),
    "cone": ({"fine": 1.6}, 0.02),
    "flat_punch_plane": ({"fine": 4.0}, 0.02),
    "two_cylinders": ({"fine": 2.0}, 0.01),
    "partial_slip_plane": ({"fine": 2.0}, 0.02),
    "partial_slip": ({"fine": 0.8}, 0.03),
    "ironing": ({"fine": 1.6}, 0.02),
    "circular_load": ({"fine": 1.6}, 0.02),
}
MOST_SOLVES = 200


def check(name, options, within):
    values, info = getattr(closed_forms, name)(**options)
    for what, (found, exact) in values.items():
        print(f"{name}, {what}: {found:.5g} of {exact:.5g}, {100 * (found / exact - 1):+.2f} %")
    print(f"{name}: {info.iterations} linear solves, {info.load_steps} increments, by {info.method}")
    assert info.status.ok
    assert info.method != "dynamic relaxation"
    assert info.iterations <= MOST_SOLVES
    for found, exact in values.values():
        assert found == pytest.approx(exact, rel=within)


@pytest.mark.parametrize("name", COARSE)
def test_a_coarse_mesh_is_within_three_per_cent(name):
    check(name, COARSE[name], 0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", FINE)
def test_a_fine_mesh_is_nearer(name):
    check(name, *FINE[name])
