"""Gauss rules integrate every monomial up to their degree exactly, with points inside and positive weights."""

from math import factorial

import numpy as np
import pytest

from pliant.core.errors import InputError
from pliant.mesh.quadrature import facet_gauss, gauss


def _simplex_integral(powers):
    return np.prod([factorial(p) for p in powers]) / factorial(sum(powers) + len(powers))


def _box_integral(powers):
    return np.prod([0.0 if p % 2 else 2.0 / (p + 1) for p in powers])


def _monomials(dimension, degree):
    return [p for p in np.ndindex(*[degree + 1] * dimension) if sum(p) <= degree]


@pytest.mark.parametrize("degree", range(9))
@pytest.mark.parametrize("name", ["tet4", "tet10", "hex8", "tri3", "tri6", "quad4"])
def test_rules_are_exact_to_their_degree(name, degree):
    rule, dimension = (facet_gauss, 2) if name in ("tri3", "tri6", "quad4") else (gauss, 3)
    exact = _box_integral if name in ("hex8", "quad4") else _simplex_integral
    xi, weights = rule(name, degree)
    assert (weights > 0).all()
    for powers in _monomials(dimension, degree):
        assert weights @ np.prod(xi**powers, axis=1) == pytest.approx(exact(powers), abs=1e-14)


@pytest.mark.parametrize(("name", "count"), [("tet4", 1), ("tet10", 4), ("hex8", 8)])
def test_stiffness_rules_have_the_usual_number_of_points(name, count):
    assert len(gauss(name)[0]) == count


@pytest.mark.parametrize(("name", "count"), [("tri3", 1), ("tri6", 6), ("quad4", 4)])
def test_pressure_rules_have_the_usual_number_of_points(name, count):
    assert len(facet_gauss(name)[0]) == count


def test_one_degree_more_is_not_integrated_by_the_stiffness_rules():
    # guards against a test of exactness that any rule would pass
    xi, weights = gauss("tet10")
    assert abs(weights @ xi[:, 0] ** 3 - _simplex_integral((3, 0, 0))) > 1e-5


def test_rules_are_shared_and_therefore_read_only():
    xi, _ = gauss("tet4")
    with pytest.raises(ValueError, match="read-only"):
        xi[0, 0] = 1.0


def test_impossible_requests_are_refused():
    with pytest.raises(InputError, match="degree"):
        gauss("tet4", -1)
    with pytest.raises(InputError, match="facet 'tet4'"):
        facet_gauss("tet4")
