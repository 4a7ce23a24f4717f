"""One `except PliantError` catches everything, and errors carry what is needed to go on."""

import pytest

from pliant.core import errors

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", KINDS)
def test_all_are_pliant_errors_or_warnings(kind):
    assert issubclass(kind, (errors.PliantError, errors.PliantWarning))


def test_builtin_relatives():
    assert issubclass(errors.InputError, ValueError)
    assert issubclass(errors.UnitError, errors.InputError)
    assert issubclass(errors.MissingExtraError, ImportError)


def test_what_errors_carry():
    assert errors.ConvergenceError("x", result=3).result == 3
    assert errors.ConvergenceError("x").result is None
    assert errors.SingularError("x", row=7).row == 7
    assert errors.SingularError("x").row == -1
