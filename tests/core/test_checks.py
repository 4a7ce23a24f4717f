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


@pytest.mark.parametrize("vector", [(0, 0, 5), (3, -4, 0), (1e-100, 0, 0), (1e-3, 2e-3, -2e-3)])
def test_directions_are_scaled_to_length_one(vector):
    found = checks.unit_vector("axis", vector)
    assert np.linalg.norm(found) == pytest.approx(1.0)
    np.testing.assert_allclose(found * np.linalg.norm(vector), vector)
    with pytest.raises(InputError, match="axis must not be zero"):
        checks.unit_vector("axis", (0, 0, 0))
    with pytest.raises(InputError, match=r"axis must have shape \(3,\)"):
        checks.unit_vector("axis", (1, 0))


@pytest.mark.parametrize("sign", [1, -1])
def test_whole_numbers_that_fit_into_no_array_are_refused(sign):
    fits, large = sign * (2**62 - 1), sign * 2**62
    assert checks.finite_number("mass", fits) == float(fits)
    assert checks.is_number(fits)
    assert checks.finite_array("mass", np.array([fits, 1], object))[0] == float(fits)
    for value in (large, sign * 2**70):
        assert not checks.is_number(value)
        with pytest.raises(InputError, match="mass must be finite"):
            checks.finite_number("mass", value)
        with pytest.raises(InputError, match="mass must be numbers"):
            checks.finite_array("mass", np.array([value, 1], object))


@pytest.mark.parametrize("value", [[1, None], ["1", 2], [True, object()], [1 + 2j], [True, False], [[1, 2], [3]], {}])
def test_arrays_of_other_things_are_no_numbers(value):
    with pytest.raises(InputError, match="load must be numbers"):
        checks.number_array("load", value)


def test_objects_that_are_numbers_are_taken():
    mixed = np.array([1, 2.5, np.float32(3)], object)
    np.testing.assert_array_equal(checks.number_array("load", mixed), [1.0, 2.5, 3.0])
    np.testing.assert_array_equal(checks.number_array("load", [np.nan, np.inf]), [np.nan, np.inf])


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1, True),
        (1.5, True),
        (np.float32(2), True),
        (np.array(3.0), True),
        (np.inf, True),
        (np.nan, False),
        (True, False),
        (np.bool_(True), False),
        ("1", False),
        (1j, False),
        (None, False),
        (np.array([1.0]), False),
        (np.array("1"), False),
    ],
)
def test_what_is_a_number(value, number):
    assert checks.is_number(value) is number


@pytest.mark.parametrize(
    ("step", "good"), [(1e-12, True), (0.99e-12, False), (1e9, True), (1.01e9, False), (0.01, True)]
)
def test_time_steps_lie_within_their_bounds(step, good):
    if good:
        assert checks.time_step("dt", step) == step
    else:
        with pytest.raises(InputError, match=r"dt must be 1e-12 … 1e\+09 s"):
            checks.time_step("dt", step)


def test_steppers_are_called():
    def step(world, state, controls):
        return state, None

    assert checks.checked_stepper(step) is step
    for bad in (len, int, 5, None, "step"):
        with pytest.raises(InputError, match="stepper must be a stepper"):
            checks.checked_stepper(bad)


def test_counts_end_below_two_to_the_31():
    assert checks.positive_count("cells", 2**31 - 1) == 2**31 - 1
    for bad in (2**31, 2**70, np.int64(0)):
        with pytest.raises(InputError, match="cells must be a whole number"):
            checks.positive_count("cells", bad)


def test_indices_of_nodes():
    found = checks.index_array("cells", [[0, 3], [2, 1]], 4, width=2, error=InputError)
    assert found.dtype == np.int32
    assert found.flags.c_contiguous
    assert checks.index_array("cells", np.zeros((0, 2), int), 4, width=2, error=InputError).shape == (0, 2)
    assert checks.index_array("cells", [[0, 1, 2]], 3, width=None, error=InputError).shape == (1, 3)
    for bad, said in (
        ([[0, 4]], r"must be 0 … 3, but 1 are not: row 0 is \[0, 4\]"),
        ([[0, 1], [-1, 2], [5, 5]], r"2 are not: row 1 is \[-1, 2\]"),
        ([[0, 1, 2]], r"of shape \(m, 2\)"), ([0, 1], r"of shape \(m, 2\)"), ([[0.0, 1.0]], "whole numbers"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            checks.index_array("cells", bad, 4, width=2, error=InputError)


def test_arrays_for_kernels_are_exactly_of_their_kind():
    checks.check_array("q", np.zeros((2, 3)), (2, 3))
    checks.check_array("keys", np.zeros(2, np.int32), (2,), np.int32)
    for value, kind in ((np.zeros((3, 2)), float), (np.zeros((2, 3), np.float32), float), ([[0.0] * 3] * 2, float)):
        with pytest.raises(InputError, match=r"q must be float64 of shape \(2, 3\)"):
            checks.check_array("q", value, (2, 3), kind)
    for bad in (np.nan, np.inf):
        with pytest.raises(InputError, match="q must be finite"):
            checks.check_array("q", np.array([0.0, bad]), (2,))


@pytest.mark.parametrize(("value", "good"), [([2, 4], True), ([1, 4], False), ([2, 5], False), ([], True)])
def test_indices_lie_from_first_to_count(value, good):
    array = np.array(value, int)
    if good:
        checks.check_indices("rows", array, 2, 5)
    else:
        with pytest.raises(InputError, match="rows must be indices 2 … 4, got"):
            checks.check_indices("rows", array, 2, 5)


def test_long_values_are_cut():
    assert checks.shown("x" * 78) == repr("x" * 78)
    assert checks.shown("x" * 79) == repr("x" * 79)[:77] + "…"
    assert checks.shown([1, 2]) == "[1, 2]"


def test_squares_that_overflow_are_finite_still():
    assert checks.all_finite(np.full(4, 1e200))
    assert not checks.all_finite(np.array([[1.0, np.nan]]))
    assert not checks.all_finite(np.array([np.inf, -np.inf]))
    assert checks.all_finite(np.zeros(0))
