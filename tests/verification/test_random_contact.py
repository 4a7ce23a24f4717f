"""Random contact statics: each converges to an equilibrium that an independent check accepts, in few linear solves."""

import pytest

import pliant as pl
from tests.verification.statics.random_contact import case, violations

MOST_SOLVES = 200
KNOWN_LIMITS = "positive definite"
"""Part of the message of a load beyond the limit point of a structure, such as a tube that collapses."""
QUICK = {
    97: "soft blocks with a gap: nothing but round-off until they touch",
    34: "a rigid box on a soft block whose contacts slip",
    100: "a free block that a plate reaches late",
    26: "a flat-ended cylinder pressed into quadratic tetrahedra",
    15: "a tube between plates",
    55: "a tube that plates crush while it slips",
}


def check(seed):
    """Solve the case of a seed, and check what was found."""
    made = case(seed)
    state, info = pl.QuasiStatic(dt=made.dt)(made.world, made.world.initial_state(), made.controls)
    found = violations(made, state, info)
    assert info.iterations <= MOST_SOLVES, made.text
    assert found["balance"] < 1e-4, (made.text, found)
    assert found["cone"] < 1e-5, (made.text, found)
    assert found["gap"] < 1e-3, (made.text, found)


@pytest.mark.parametrize("seed", QUICK)
def test_a_case_that_once_failed_converges(seed):
    check(seed)


def failure(seed):
    """The message of a case that does not converge, None where it does and the check accepts it."""
    try:
        check(seed)
    except pl.errors.ConvergenceError as error:
        return str(error)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(120))
def test_a_random_case_converges_or_names_its_limit(seed):
    text = failure(seed)
    assert text is None or KNOWN_LIMITS in text or "its contacts do not hold it" in text, (case(seed).text, text)
