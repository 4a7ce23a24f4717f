"""Contact statics in one call with default settings: they converge in few linear solves, to a closed form or to where
slow dynamics of the same world comes to rest.
"""

import pytest

from tests.verification.statics.table import CASES

MOST_SOLVES = 200


@pytest.mark.parametrize("name", CASES)
def test_a_case_converges_in_few_linear_solves(name):
    case = CASES[name]()
    _, info, value = case.solved()
    print(f"{name}: {value:.6g} in {info.iterations} linear solves, {info.load_steps} increments, by {info.method}")
    assert info.status.ok
    assert info.residual <= 1e-8
    assert info.iterations <= MOST_SOLVES
    assert info.method in ("newton", "load increments", "dynamic relaxation")
    if case.expected is not None:
        assert value == pytest.approx(case.expected, rel=case.within, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_slow_dynamics_comes_to_rest_in_the_same_place(name):
    case = CASES[name]()
    _, _, value = case.solved()
    settled, _ = case.settled()
    assert value == pytest.approx(settled, rel=case.close, abs=1e-12)
