"""What is searched for: parameters with start, bounds and priors, and the vector z of dimensionless numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pliant.core.checks import finite_array, number_array, positive, shown
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import BoolArray, FloatArray
from pliant.gradients.parameters import Control, Parameter, Shared
from pliant.world import World


@one_line
@dataclass(frozen=True, eq=False)
class Unknown:
    """A parameter to identify, with what is known of it beforehand. All numbers have the unit of the parameter.

    parameter
        One of `pl.parameters`: a constant of a material, damping, a mass, friction, gravity, a route …; or a list of
        them that share one value, such as the modulus of all fingers of a hand.
    start
        Value where the search begins, a number or an array of the shape of the parameter; None: that of the world.
    lower, upper
        Bounds, numbers or arrays.
    prior
        Mean and standard deviation of what is known without these data; None: nothing.
    log
        Search its logarithm: for positive numbers that are known to a factor, such as moduli. A prior is then
        log-normal, with the standard deviation relative to the mean.
    scale
        Size of a change that matters; None: that of the start, or of the bounds. An interval wider than it is reported
        as a combination that the data leave open.
    name
        For reports; None: made from the parameter.
    """

    parameter: Any
    start: Any = None
    _: KW_ONLY
    lower: Any = -np.inf
    upper: Any = np.inf
    prior: Any = None
    log: bool = False
    scale: float | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        check_declared(self)
        if isinstance(self.parameter, list | tuple):
            object.__setattr__(self, "parameter", Shared(self.parameter))
        if not isinstance(self.parameter, Parameter):
            raise InputError(f"parameter of an Unknown must be one of pl.parameters, got {self.parameter!r:.60}")
        if isinstance(self.parameter, Control):
            raise InputError(
                "a pl.parameters.Control belongs to one run: give it to the experiment as a control, not as an Unknown"
            )
        if self.scale is not None:
            positive(f"scale of {self.label!r}", self.scale)
            if self.log:
                raise InputError(f"{self.label!r} is searched on a logarithmic scale: leave its scale= out")
        if self.start is not None:
            self._checked(self.start)

    @property
    def label(self) -> str:
        """Its name in reports."""
        return self.name if self.name is not None else parameter_name(self.parameter)

    def part(self, world: World, key: Any) -> Part:
        """Its part of the vector z; `key` is what stands for it in results."""
        own = self._checked(self.parameter.value(world) if self.start is None else self.start)
        shape, flat = own[0].shape, [np.ravel(each) for each in own]
        entries = [""] if not shape else [f"[{', '.join(map(str, i))}]" for i in np.ndindex(shape)]
        names = tuple(self.label + entry for entry in entries)
        prior = None if self.prior is None else tuple(np.ravel(each) for each in self._prior(shape))
        scale = np.ones(len(names)) if self.log else self._scale(*flat)
        return Part(key, names, shape, scale, self.log, flat[0], flat[1], flat[2], prior)

    def _checked(self, given: Any) -> list[FloatArray]:
        """Start, lower and upper bound, of one shape."""
        start, what = finite_array(f"start of {self.label!r}", given), f"of {self.label!r}"
        lower, upper = (number_array(f"{side} {what}", getattr(self, side)) for side in ("lower", "upper"))
        for side, bound in (("lower", lower), ("upper", upper)):
            if bound.shape not in ((), start.shape) or np.isnan(bound).any():
                raise InputError(f"{side} {what} must be a number or of the shape {start.shape} of its start")
        if (lower >= upper).any():
            raise InputError(f"lower {what} must be below its upper bound, got {self.lower} and {self.upper}")
        if (start < lower).any() or (start > upper).any():
            raise InputError(f"start {what}, {shown(given)}, is outside of its bounds {self.lower} … {self.upper}")
        if self.log and (start <= 0.0).any():
            raise InputError(f"start {what} must be > 0 to be searched on a logarithmic scale, got {shown(given)}")
        if self.prior is not None:
            self._prior(start.shape)
        return [start, np.broadcast_to(lower, start.shape), np.broadcast_to(upper, start.shape)]

    def _prior(self, shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation, of the shape of the start."""
        if not isinstance(self.prior, Sequence | np.ndarray) or len(self.prior) != 2:
            raise InputError(f"prior of {self.label!r} must be (mean, standard deviation), got {shown(self.prior)}")
        mean, deviation = (finite_array(f"prior of {self.label!r}", each) for each in self.prior)
        if any(each.shape not in ((), shape) for each in (mean, deviation)):
            raise InputError(f"prior of {self.label!r} must be two numbers, or two arrays of shape {shape}")
        if (deviation <= 0.0).any():
            raise InputError(
                f"standard deviation of the prior of {self.label!r} must be > 0, got {shown(self.prior[1])}"
            )
        if self.log and (mean <= 0.0).any():
            raise InputError(
                f"mean of the prior of {self.label!r} must be > 0 with log=True, got {shown(self.prior[0])}"
            )
        return np.broadcast_to(mean, shape), np.broadcast_to(deviation, shape)

    def _scale(self, start: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
        if self.scale is not None:
            return np.full(start.shape, self.scale)
        size = np.full(start.shape, np.abs(start).max())
        if not size.any():
            size = 0.5 * (upper - lower)
        if not np.isfinite(size).all():
            raise InputError(f"{self.label!r} starts at 0 and has no bounds: give it scale=, a change that matters")
        return size


class Part(NamedTuple):
    """Neighbouring entries of z: value = exp(z) on a logarithmic scale, else `scale` · z. Flat arrays (k,)."""

    key: Any
    names: tuple[str, ...]
    shape: tuple[int, ...]
    scale: FloatArray
    log: bool
    start: FloatArray
    lower: FloatArray
    upper: FloatArray
    prior: Any

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self.names)

    def to_z(self, value: FloatArray) -> FloatArray:
        """z of a value."""
        if not self.log:
            return np.asarray(value / self.scale)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(value, 0.0)))

    def to_value(self, z: FloatArray) -> FloatArray:
        """The value at z."""
        return np.asarray(np.exp(z) if self.log else self.scale * z)

    def slope(self, z: FloatArray) -> FloatArray:
        """∂value/∂z (k,)."""
        return np.asarray(np.exp(z) if self.log else self.scale)

    def shaped(self, flat: FloatArray) -> Any:
        """A number, or an array of the shape of the parameter."""
        return float(flat[0]) if not self.shape else np.asarray(flat).reshape(self.shape)


class Vector:
    """The vector z of all unknowns: `parts` one after another."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        ends = np.cumsum([0, *(part.size for part in self.parts)])
        self.slices = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.size = int(ends[-1])
        self.names = tuple(name for part in self.parts for name in part.names)

    def gathered(self, what: str) -> FloatArray:
        """z of the `start`, the `lower` or the `upper` bound of all parts, (n,)."""
        return np.concatenate([part.to_z(getattr(part, what)) for part in self.parts])

    def priors(self) -> tuple[BoolArray, FloatArray, FloatArray]:
        """Which entries have a prior (n,), and its mean and standard deviation in z."""
        mean, deviation = np.zeros(self.size), np.ones(self.size)
        known = np.zeros(self.size, bool)
        for part, own in zip(self.parts, self.slices, strict=True):
            if part.prior is not None:
                known[own], mean[own] = True, part.to_z(part.prior[0])
                deviation[own] = part.prior[1] / (part.prior[0] if part.log else part.scale)
        return known, mean, deviation

    def values(self, z: FloatArray) -> dict[Any, Any]:
        """Values by the key of their part."""
        return {part.key: part.shaped(part.to_value(z[own])) for part, own in zip(self.parts, self.slices, strict=True)}

    def relative_change(self, z: FloatArray) -> FloatArray:
        """Relative change of each value by a change of one in z, (n,); NaN of values that are 0."""
        values, slopes = (
            np.concatenate([getattr(part, what)(z[own]) for part, own in zip(self.parts, self.slices, strict=True)])
            for what in ("to_value", "slope")
        )
        return np.where(values == 0.0, np.nan, slopes / np.where(values == 0.0, 1.0, values))


def parameter_name(parameter: Parameter) -> str:
    """A parameter in words: "young of 'strip'"."""
    if isinstance(parameter, Shared):
        return ", ".join(parameter_name(each) for each in parameter.parameters)
    parts = [getattr(parameter, field, None) for field in ("body", "cable", "a", "b", "load", "cavity", "actuator")]
    owners = [
        getattr(getattr(each, "body", each), "name", None) or type(each).__name__ for each in parts if each is not None
    ]
    what = getattr(parameter, "constant", None) or getattr(parameter, "kind", None)
    kind = type(parameter).__name__.lower()
    if kind == "damping":
        what = f"{what} damping"
    inclusion = getattr(parameter, "inclusion", None)
    of = " and ".join(repr(owner) for owner in owners)
    where = "" if inclusion is None else f" in inclusion {inclusion}"
    return f"{what or kind}{f' of {of}' if of else ''}{where}"
