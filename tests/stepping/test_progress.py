"""When a Newton iteration is ended: forces left over by full steps that go astray."""

import pytest

from pliant.stepping.progress import is_astray


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ((1e-12, 300.0), False),  # a support that moves loads a body at rest
        ((0.1, 0.07, 0.13), False),
        ((8.7, 23.0, 2.3, 67.0), True),  # a bar of one cell, stretched to 2.2, on the way to a turned cross-section
        ((1.0, 0.5, 2.1), True),
    ],
)
def test_later_forces_beyond_twice_the_first_are_astray(left, expected):
    assert is_astray(left) is expected
