"""Exact first and second derivatives of plain Python functions, by second-order forward differentiation.

A `Jet` carries a value, its gradient (n,) and its Hessian (n, n) through arithmetic and NumPy's elementary functions,
so a function written for an array of numbers gives its derivatives when it is handed an array of jets. The parts may be
complex: a complex step through a jet differentiates once more, which is how linearizations stay exact.

Branches are taken on the real part of the value. `np.linalg.norm` does not know jets; write ``np.sqrt(x @ x)``.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np


class Jet:
    """A number with its gradient (n,) and Hessian (n, n) with respect to n variables."""

    __slots__ = ("gradient", "hessian", "value")

    def __init__(self, value: Any, gradient: Any, hessian: Any) -> None:
        self.value = value
        self.gradient = gradient
        self.hessian = hessian

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # the array adds it to each of its entries
        if isinstance(other, Jet):
            return Jet(self.value + other.value, self.gradient + other.gradient, self.hessian + other.hessian)
        return Jet(self.value + other, self.gradient, self.hessian)

    __radd__ = __add__

    def __neg__(self) -> Jet:
        return Jet(-self.value, -self.gradient, -self.hessian)

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, Jet):
            return Jet(self.value * other, self.gradient * other, self.hessian * other)
        cross = np.outer(self.gradient, other.gradient)
        return Jet(
            self.value * other.value,
            self.value * other.gradient + other.value * self.gradient,
            self.value * other.hessian + other.value * self.hessian + cross + cross.T,
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self * other**-1 if isinstance(other, Jet) else self * (1.0 / other)

    def __rtruediv__(self, other: Any) -> Any:
        return self**-1 * other

    def __pow__(self, power: Any) -> Any:
        if isinstance(power, Jet):
            return (self.log() * power).exp()
        if power == 0:
            return self * 0.0 + 1.0
        x = self.value
        second = power * (power - 1) * x ** (power - 2) if power not in (1, 2) else float(2 * (power == 2))
        return self._chain(x**power, power * x ** (power - 1) if power != 1 else 1.0, second)

    def __lt__(self, other: Any) -> bool:
        return _real(self) < _real(other)

    def __le__(self, other: Any) -> bool:
        return _real(self) <= _real(other)

    def __gt__(self, other: Any) -> bool:
        return _real(self) > _real(other)

    def __ge__(self, other: Any) -> bool:
        return _real(self) >= _real(other)

    def __abs__(self) -> Jet:
        return -self if _real(self) < 0.0 else self

    def _chain(self, value: Any, first: Any, second: Any) -> Jet:
        """The function of this jet that has `value` and derivatives `first` and `second` here."""
        outer = np.outer(self.gradient, self.gradient)
        return Jet(value, first * self.gradient, first * self.hessian + second * outer)

    def sqrt(self) -> Jet:
        """The square root; its derivative needs a value other than zero."""
        root = _elementary("sqrt", self.value)
        return self._chain(root, 0.5 / root, -0.25 / (root * self.value))

    def exp(self) -> Jet:
        """The exponential."""
        y = _elementary("exp", self.value)
        return self._chain(y, y, y)

    def log(self) -> Jet:
        """The natural logarithm."""
        x = self.value
        return self._chain(_elementary("log", x), 1.0 / x, -1.0 / (x * x))

    def sin(self) -> Jet:
        """The sine."""
        s, c = _elementary("sin", self.value), _elementary("cos", self.value)
        return self._chain(s, c, -s)

    def cos(self) -> Jet:
        """The cosine."""
        s, c = _elementary("sin", self.value), _elementary("cos", self.value)
        return self._chain(c, -s, -c)

    def tan(self) -> Jet:
        """The tangent."""
        y = _elementary("tan", self.value)
        first = 1.0 + y * y
        return self._chain(y, first, 2.0 * y * first)

    def tanh(self) -> Jet:
        """The hyperbolic tangent."""
        y = _elementary("tanh", self.value)
        first = 1.0 - y * y
        return self._chain(y, first, -2.0 * y * first)

    def arctan(self) -> Jet:
        """The inverse tangent."""
        x = self.value
        first = 1.0 / (1.0 + x * x)
        return self._chain(_elementary("atan", x), first, -2.0 * x * first * first)

    def arctan2(self, other: Any) -> Any:
        """The angle of the point (other, self)."""
        y, x = _real(self), _real(other)
        if abs(x) >= abs(y):
            base = (self / other).arctan()
            turn = 0.0 if x > 0.0 else math.copysign(math.pi, y)
        else:
            base = -(other / self).arctan()
            turn = math.copysign(0.5 * math.pi, y)
        return base + turn


def variables(q: Any) -> Any:
    """The coordinates `q` (n,) as jets: an object array (n,) whose gradients are the unit vectors."""
    values = np.asarray(q)
    count = len(values)
    unit, zero = np.eye(count), np.zeros((count, count))
    out = np.empty(count, object)
    for k, value in enumerate(values):
        out[k] = Jet(value, unit[k], zero)
    return out


def derivatives(function: Callable[[Any], Any], q: Any) -> tuple[Any, Any, Any]:
    """Value (k,), Jacobian (k, n) and Hessians (k, n, n) of `function` at `q` (n,)."""
    values = np.asarray(q)
    count = len(values)
    results = np.atleast_1d(np.asarray(function(variables(values)), dtype=object)).ravel()
    dtype = np.result_type(values.dtype, np.float64)
    h, H, D = (np.zeros((len(results), *shape), dtype) for shape in ((), (count,), (count, count)))
    for k, result in enumerate(results):
        if isinstance(result, Jet):
            h[k], H[k], D[k] = result.value, result.gradient, result.hessian
        else:
            h[k] = result
    return h, H, D


def _real(x: Any) -> float:
    return float(np.real(x.value if isinstance(x, Jet) else x))


def _elementary(name: str, x: Any) -> Any:
    """`math.name(x)`, of the complex plane where x is complex or the real function has no value."""
    if isinstance(x, complex):
        return getattr(cmath, name)(x)
    return getattr(math, name)(x)
