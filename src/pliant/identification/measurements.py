"""What was measured on the robot: markers, forces and displacements of actuators, contact forces.

The `values` of a measurement have one of three forms, with the shape s of one instant:

    s            at the end of the experiment, such as at rest
    (n, *s)      at the end of each of its n steps
    (T, *s)      at `times` (T,), s, on the clock of the run; between its instants the run is interpolated linearly

NaN is a gap, and is skipped. `noise` is the standard deviation of one value, in its unit. Without values it is a sensor
of `pl.Estimator`, which is read later.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from pliant.actuators.drive import Actuator
from pliant.core.checks import finite_array, number_array, positive, unit_vector
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.identification.frames import Frame
from pliant.recordings import Recording
from pliant.robots import Marker

__all__ = ["ActuatorDisplacement", "ActuatorForce", "ContactForce", "Markers", "Measurement"]


@dataclass(frozen=True, eq=False)
class Measurement:
    """What all measurements share."""

    unit: ClassVar[str] = "m"
    is_position: ClassVar[bool] = False

    _: KW_ONLY
    values: Any = None
    noise: float
    times: Any = None
    name: str = ""

    def __post_init__(self) -> None:
        check_declared(self)
        positive(f"noise of {self.label!r}", self.noise, unit=self.unit)
        if self.values is None:
            if self.times is not None:
                raise InputError(f"{self.label!r} has times, but no values")
            return
        if isinstance(self.values, Recording):
            if self.times is None:
                object.__setattr__(self, "times", self.values.times)
            object.__setattr__(self, "values", self.values.points)
        values = np.array(number_array(f"values of {self.label!r}", self.values))
        if not np.isfinite(values).any():
            raise InputError(f"all values of {self.label!r} are gaps (NaN): there is nothing to fit")
        if np.isinf(values).any():
            raise InputError(f"a value of {self.label!r} is infinite; a gap is NaN")
        base = self.base_shape
        if values.shape != base and values.shape[1:] != base:
            raise InputError(
                f"values of {self.label!r} must have the shape {base} of one instant or (instants, "
                f"{', '.join(map(str, base))}), got {values.shape}"
            )
        if self.times is not None:
            times = finite_array(f"times of {self.label!r}", self.times, shape=(None,))
            if values.shape != (len(times), *base):
                raise InputError(
                    f"{self.label!r} has {len(times)} times and values of shape {values.shape}; wanted "
                    f"{(len(times), *base)}"
                )
            object.__setattr__(self, "times", times)
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    @property
    def label(self) -> str:
        """Its name in reports."""
        return self.name or self.default_name

    @property
    def default_name(self) -> str:
        """A name made from what is measured."""
        raise NotImplementedError

    @property
    def base_shape(self) -> tuple[int, ...]:
        """Shape of the values at one instant."""
        raise NotImplementedError

    @property
    def instants(self) -> FloatArray:
        """Values (T, *s), with a first axis also where there is one instant."""
        return np.asarray(self.values).reshape(-1, *self.base_shape)

    def times_or_steps(self, clock: FloatArray) -> tuple[Any, Any]:
        """For each measured instant the instant of the run before it and how far it is towards the next, 0 … 1.
        `clock` (steps + 1,), s, are the instants of the run.
        """
        last = len(clock) - 1
        if self.times is None:
            count = len(self.instants)
            if self.values.shape == self.base_shape:
                return np.array([last]), np.zeros(1)
            if count != last:
                raise InputError(
                    f"{self.label!r} has {count} instants, its experiment {last} steps: give it times=, or one value "
                    "for each step"
                )
            return np.arange(1, last + 1), np.zeros(last)
        away = 1e-9 * max(1.0, float(np.abs(clock).max()))
        if self.times.min() < clock[0] - away or self.times.max() > clock[-1] + away:
            raise InputError(
                f"the times {self.times.min():g} … {self.times.max():g} s of {self.label!r} are not within the run of "
                f"its experiment, {clock[0]:g} … {clock[-1]:g} s: check their unit (s) and start, or cut them"
            )
        before = np.clip(np.searchsorted(clock, self.times + away, side="right") - 1, 0, max(last - 1, 0))
        span = clock[before + 1] - clock[before] if last else np.ones(len(before))
        return before, np.clip((self.times - clock[before]) / span, 0.0, 1.0)


@one_line
@dataclass(frozen=True, eq=False)
class Markers(Measurement):
    """Positions of markers on a body, m.

    where, points
        A robot's marker such as ``robot.tip``; or a body and `points` (k, 3) m of it, where they stand when the world
        begins. On a beam or a rod the nearest points of its axis carry them.
    values
        (k, 3), (3,) of one marker, with a leading axis over time; or a `Recording`. With `directions` (d, 3) the
        coordinates along them, (k, d).
    offsets
        From point to centre, (k, 3) m, turning with the body there; None: 0.
    offset_deviation
        Offsets are unknown: standard deviation of each component about the given ones, m. None: they are known.
    radius
        Nodes within it turn an offset on a volume, m; see `pl.recordings.BoundMarkers`.
    frame
        A `Frame` in which the values were measured; None: the world.
    """

    is_position: ClassVar[bool] = True

    where: Any
    points: Any = None
    _: KW_ONLY
    offsets: Any = None
    offset_deviation: float | None = None
    radius: float = 1e-9
    directions: Any = None
    frame: Frame | None = None

    def __post_init__(self) -> None:
        if isinstance(self.where, Marker) != (self.points is None):
            raise InputError("Markers need a marker such as robot.tip, or a body and its points, (k, 3) m")
        given = self.where.position if self.points is None else self.points
        points = np.atleast_2d(finite_array("points of markers", given))
        if points.shape[1] != 3:
            raise InputError(f"points of markers must have the shape (k, 3), got {points.shape}")
        object.__setattr__(self, "points", points)
        if self.directions is not None:
            if self.frame is not None:
                raise InputError("markers along directions= are measured in the world: they can have no frame=")
            rows = np.atleast_2d(finite_array("directions of markers", self.directions))
            object.__setattr__(self, "directions", np.array([unit_vector("direction of markers", row) for row in rows]))
        if self.offsets is not None:
            offsets = np.atleast_2d(finite_array("offsets of markers", self.offsets))
            if offsets.shape != points.shape:
                raise InputError(f"offsets of markers must have the shape {points.shape} of their points")
            object.__setattr__(self, "offsets", offsets)
        if self.offset_deviation is not None:
            positive("offset_deviation of markers", self.offset_deviation, unit="m")
        if self.frame is not None and not isinstance(self.frame, Frame):
            raise InputError(f"frame of markers must be a pl.identification.Frame, got {self.frame!r:.60}")
        if not isinstance(self.values, Recording | None):
            object.__setattr__(self, "values", self._with_marker_axis(number_array("values of markers", self.values)))
        super().__post_init__()

    def _with_marker_axis(self, values: FloatArray) -> FloatArray:
        """One marker may be given without its axis."""
        width = self.base_shape[1]
        alone = values.ndim == 1 or (values.ndim == 2 and (values.shape != self.base_shape or self.times is not None))
        return values[..., None, :] if len(self.points) == 1 and alone and values.shape[-1] == width else values

    @property
    def default_name(self) -> str:
        """A name made from what is measured."""
        return f"markers on {getattr(self.body, 'name', 'a body')!r}"

    @property
    def body(self) -> Any:
        """The body that carries them."""
        return getattr(self.where, "body", self.where)

    @property
    def placed(self) -> bool:
        """Whether the points are where they stand when the world begins, not in the frame of the body's mesh."""
        return not isinstance(self.where, Marker)

    @property
    def base_shape(self) -> tuple[int, ...]:
        """(k, 3), or (k, d) along directions."""
        return len(self.points), 3 if self.directions is None else len(self.directions)

    @property
    def turns(self) -> bool:
        """Whether they have offsets, which turn with the body."""
        return self.offsets is not None or self.offset_deviation is not None


@dataclass(frozen=True, eq=False)
class _OfActuator(Measurement):
    actuator: Any
    index: ClassVar[int]

    def __post_init__(self) -> None:
        if not isinstance(self.actuator, Actuator):
            raise InputError(
                f"{type(self).__name__} measures an actuator, such as robot.cable, got {self.actuator!r:.60}"
            )
        super().__post_init__()

    @property
    def default_name(self) -> str:
        """A name made from what is measured."""
        return f"{'displacement' if self.index == 0 else 'force'} of {self.actuator.name!r}"

    @property
    def base_shape(self) -> tuple[int, ...]:
        """()."""
        return ()


@one_line
@dataclass(frozen=True, eq=False)
class ActuatorForce(_OfActuator):
    """The tension of a cable (N), the pressure of a chamber (Pa), or the torque of a hinge (N·m)."""

    unit: ClassVar[str] = "N"
    index: ClassVar[int] = 1


@one_line
@dataclass(frozen=True, eq=False)
class ActuatorDisplacement(_OfActuator):
    """How far a cable has shortened (m), a chamber grown (m³) or a hinge turned (rad)."""

    index: ClassVar[int] = 0


@one_line
@dataclass(frozen=True, eq=False)
class ContactForce(Measurement):
    """The total force that `b` exerts on `a`, (3,) N; along `directions` (d, 3) its components, (d,)."""

    a: Any
    b: Any
    _: KW_ONLY
    directions: Any = None
    unit: ClassVar[str] = "N"

    def __post_init__(self) -> None:
        if self.directions is not None:
            rows = np.atleast_2d(finite_array("directions of a contact force", self.directions))
            object.__setattr__(self, "directions", np.array([unit_vector("direction of a force", row) for row in rows]))
        super().__post_init__()

    @property
    def default_name(self) -> str:
        """A name made from what is measured."""
        names = [repr(getattr(getattr(each, "body", each), "name", each)) for each in (self.a, self.b)]
        return f"force of {names[1]} on {names[0]}"

    @property
    def base_shape(self) -> tuple[int, ...]:
        """(3,), or (d,) along directions."""
        return (3 if self.directions is None else len(self.directions),)
