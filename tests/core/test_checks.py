"""Validation: what passes, and what the messages name when it does not."""

import numpy as np
import pytest

from pliant.core import checks
from pliant.core.errors import InputError


def test_arrays_become_float64_and_contiguous():
    array = checks.finite_array("load", [[1, 2, 3]], shape=(None, 3))
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    np.testing.assert_array_equal(array, [[1.0, 2.0, 3.0]])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_place_of_a_bad_entry_is_named(bad):
    with pytest.raises(InputError, match=r"load must be finite, but entry \[1, 2\] is"):
        checks.finite_array("load", [[0, 0, 0], [0, 0, bad]])


@pytest.mark.parametrize(("value", "shape"), [([1, 2], (3,)), ([[1, 2, 3]], (3,)), (1.0, (3,)), ([[1, 2]], (None, 3))])
def test_shapes_are_checked(value, shape):
    with pytest.raises(InputError, match=r"force must have shape \(.*\), got"):
        checks.finite_array("force", value, shape=shape)


def test_words_are_not_numbers():
    with pytest.raises(InputError, match="gravity must be numbers, got 'down'"):
        checks.finite_array("gravity", "down")
    with pytest.raises(InputError, match=r"dt must be a number \(in s\), got None"):
        checks.positive("dt", None, unit="s")


@pytest.mark.parametrize("value", [0.0, -1e-3, np.nan, np.inf])
def test_positive(value):
    with pytest.raises(InputError, match=r"dt must be .*\(in s\), got"):
        checks.positive("dt", value, unit="s")
    assert checks.positive("dt", 1e-3, unit="s") == 1e-3


def test_non_negative():
    assert checks.non_negative("damping", 0) == 0.0
    with pytest.raises(InputError, match="damping must be ≥ 0, got -1"):
        checks.non_negative("damping", -1)


@pytest.mark.parametrize("value", [0, -2, 1.0, "3", True, None])
def test_counts_are_whole_numbers_from_one(value):
    with pytest.raises(InputError, match="cells must be a whole number ≥ 1"):
        checks.positive_count("cells", value)
    assert checks.positive_count("cells", np.int64(4)) == 4


def test_a_number_is_an_array_without_axes():
    assert checks.finite_array("mass", 2.0).shape == ()
    assert checks.finite_array("pressure", 5, shape=()).shape == ()
    with pytest.raises(InputError, match=r"pressure must have shape \(\), got \(1,\)"):
        checks.finite_array("pressure", [5.0], shape=())
