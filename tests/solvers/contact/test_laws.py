"""One classification of rows for all solvers."""

import numpy as np

from pliant.solvers.contact import Law, MixedProblem
from pliant.solvers.contact.laws import BOX, CONE, EQUALITY, FRACTION, GIVEN, Roles

INF = np.inf


def roles_of(law, **options):
    return Roles.of(MixedProblem.of(np.eye(len(law)), np.zeros(len(law)), law, **options))


def test_every_law_has_its_role():
    law = [Law.BILATERAL, Law.SIGNORINI, Law.COULOMB, Law.COULOMB, Law.COULOMB, Law.IMPOSED, Law.CAPSTAN, Law.GUIDE]
    roles = roles_of(law, mu=0.3, target=2.0)
    assert roles.role.tolist() == [EQUALITY, BOX, CONE, CONE, CONE, GIVEN, FRACTION, FRACTION]
    assert roles.given.tolist() == [0, 0, 0, 0, 0, 2.0, 0, 0]


def test_bounds_decide_between_equality_box_and_given_force():
    roles = roles_of([Law.BOUNDED] * 4, lower=[-INF, 1.0, -INF, 3.0], upper=[INF, INF, 2.0, 3.0], target=5.0)
    assert roles.role.tolist() == [EQUALITY, BOX, BOX, GIVEN]
    assert roles.given.tolist() == [0, 0, 0, 3.0]
    assert (roles.lower[1], roles.upper[1]) == (1.0, INF)
    assert (roles.lower[2], roles.upper[2]) == (-INF, 2.0)


def test_a_contact_without_friction_is_a_box_whose_tangents_push_nothing():
    """Bounds of rows that are not bounded are not read."""
    roles = roles_of([Law.COULOMB] * 3 + [Law.SIGNORINI], mu=[0.0, 1.0, 1.0, 0.0], lower=-7.0, upper=7.0)
    assert roles.role.tolist() == [BOX, GIVEN, GIVEN, BOX]
    assert roles.given.tolist() == [0, 0, 0, 0]
    assert roles.lower[[0, 3]].tolist() == [0, 0]
    assert roles.upper[[0, 3]].tolist() == [INF, INF]


def test_a_problem_of_huge_numbers_is_the_same_after_its_check():
    huge = np.full((2, 2), 1e308)
    problem = MixedProblem.of(huge, [1.0, 2.0], Law.BOUNDED, lower=[-1.0, -2.0], upper=[3.0, 4.0], target=0.5)
    with np.errstate(over="ignore"):
        again = problem.checked()
    for name in ("W", "delta_free", "law", "mu", "lower", "upper", "target"):
        np.testing.assert_array_equal(getattr(again, name), getattr(problem, name))
