"""Joints with a drive between a rigid body and the world, or another rigid body: sliders and hinges.

Five bilateral rows hold what the joint forbids; the first row is the drive. A slider has δ = the way along its axis (m)
and λ a force (N); a hinge δ = the angle about its axis (rad) and λ a torque (N·m). Directions follow the base.
With a the axis as the base carries it and b as the body does, a × b is the tilt that is held at zero, and the angle is
that of the body's frame about a.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.actuators.drive import Actuator, ActuatorRows, ControlRange
from pliant.actuators.limits import Command, Limits, check_rates, per_second
from pliant.actuators.values import Angle, Torque
from pliant.constraints.keys import JOINTS, row_keys
from pliant.constraints.rows import RowLaw, Rows, RowView
from pliant.core.checks import finite_array, unit_vector
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IndexArray
from pliant.models.body import Model
from pliant.models.rigid import RigidBody
from pliant.models.rigid.frame_map import FrameMap


@per_second
@dataclass(frozen=True, eq=False)
class Slider(Actuator):
    """`body` slides along `axis` (3,), world axes when the world begins, without turning; `base` is a rigid body or
    None for the world.

    `min_force`, `max_force` bound the drive, N; `min_displacement`, `max_displacement` what may be asked for, m;
    `max_rate` (m/s) and `max_force_rate` (N/s) bound how fast both change. Without a control it slides freely.
    """

    body: RigidBody
    axis: Any
    _: KW_ONLY
    base: RigidBody | None = None
    min_force: float = -np.inf
    max_force: float = np.inf
    min_displacement: float = -np.inf
    max_displacement: float = np.inf
    max_rate: float = np.inf
    max_force_rate: float = np.inf
    name: str = "slider"

    turns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check(self)

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The bodies that the joint ties."""
        return (self.body,) if self.base is None else (self.body, self.base)

    def constraint(self, key: int) -> JointRows:
        """Its rows, before its bodies are compiled."""
        return JointRows.of(self, key)

    def control_range(self) -> ControlRange:
        """Its way along the axis between its limits."""
        return ControlRange.of_travel(self)

    @property
    def limits(self) -> Limits:
        """What the drive may do, N and m."""
        return Limits(
            self.min_force,
            self.max_force,
            self.min_displacement,
            self.max_displacement,
            self.max_force_rate,
            self.max_rate,
        )


@per_second
@dataclass(frozen=True, eq=False)
class Hinge(Actuator):
    """`body` turns about `axis` (3,) through `point` (3,) m, both where they are when the world begins; `base` is a
    rigid body or None for the world.

    `min_torque`, `max_torque` bound the drive, N·m; `min_angle`, `max_angle` what may be asked for, rad;
    `max_rate` (rad/s) and `max_torque_rate` (N·m/s) bound how fast both change. Without a control it turns freely.
    Angles are followed from step to step and may pass a full turn.
    """

    body: RigidBody
    axis: Any
    _: KW_ONLY
    point: Any
    base: RigidBody | None = None
    min_torque: float = -np.inf
    max_torque: float = np.inf
    min_angle: float = -np.inf
    max_angle: float = np.inf
    max_rate: float = np.inf
    max_torque_rate: float = np.inf
    name: str = "hinge"

    turns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        finite_array(f"point of {self.name!r}", self.point, shape=(3,))
        _check(self)

    @property
    def kinds(self) -> Any:  # type: ignore[override]
        """Angle and torque."""
        return (Angle, "rad"), (Torque, "N·m")

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The bodies that the joint ties."""
        return (self.body,) if self.base is None else (self.body, self.base)

    def constraint(self, key: int) -> JointRows:
        """Its rows, before its bodies are compiled."""
        return JointRows.of(self, key)

    def control_range(self) -> ControlRange:
        """Its angle between its limits."""
        return ControlRange.of_travel(self)

    @property
    def limits(self) -> Limits:
        """What the drive may do, N·m and rad."""
        return Limits(
            self.min_torque,
            self.max_torque,
            self.min_angle,
            self.max_angle,
            self.max_torque_rate,
            self.max_rate,
        )


def _check(spec: Slider | Hinge) -> None:
    check_rates(spec, "max_rate", "max_torque_rate" if spec.turns else "max_force_rate")
    unit_vector(f"axis of {spec.name!r}", spec.axis)
    for body in spec.bodies:
        if not isinstance(body, RigidBody):
            raise InputError(f"{spec.name!r} ties rigid bodies; attach a soft one to a rigid body that it moves")
    if not (spec.limits.upper > spec.limits.lower and spec.limits.most >= spec.limits.least):
        raise InputError(f"the limits of {spec.name!r} leave nothing between them")


@dataclass(frozen=True, eq=False)
class JointMemory:
    """The angle of a hinge at the end of the last step, rad: what tells turns apart."""

    angle: float

    def arrays(self) -> dict[str, Any]:
        """Everything as arrays, for saving."""
        return {"angle": np.array(self.angle)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> JointMemory:
        """What `arrays` gave."""
        return cls(float(arrays["angle"]))


@dataclass(frozen=True, eq=False)
class JointRows(ActuatorRows):
    """The six rows of a joint, the drive first. `frame` (3, 3) has the axis in its first column, in base axes; `local`
    (3,) and `anchor` (3,) are the joint's point on the body and on the base, in their axes; `turn` (3, 3) is the
    orientation of the body in base axes at the start.
    """

    spec: Slider | Hinge
    key: int
    numbers: tuple[int, ...] = ()
    frame: FloatArray | None = None
    local: FloatArray | None = None
    anchor: FloatArray | None = None
    turn: FloatArray | None = None

    memory_type = JointMemory

    @classmethod
    def of(cls, spec: Slider | Hinge, key: int) -> JointRows:
        """The rows of `spec`, before its bodies are compiled."""
        return cls(spec, key)

    def bound(self, models: Sequence[Model]) -> JointRows:
        """The rows in a world of `models`."""
        spec: Any = self.spec
        numbers = tuple(next(k for k, m in enumerate(models) if m.spec is body) for body in spec.bodies)
        pose = models[numbers[0]].initial()[0]
        base = models[numbers[1]].initial()[0] if len(numbers) > 1 else WORLD
        point = finite_array("point", spec.point, shape=(3,)) if spec.turns else pose[0]
        return replace(
            self,
            numbers=numbers,
            frame=_frame(base[1:].T @ unit_vector("axis", spec.axis)),
            local=pose[1:].T @ (point - pose[0]),
            anchor=base[1:].T @ (point - base[0]),
            turn=base[1:].T @ pose[1:],
        )

    @property
    def keys(self) -> IndexArray:
        """Identities of the rows."""
        return np.concatenate([[self.key], row_keys(JOINTS, self.key, 5)]).astype(np.int64)

    @property
    def name(self) -> str:
        """Name of the joint."""
        return self.spec.name

    def holds(self, index: int) -> bool:
        """Whether the joint holds body `index`."""
        return index in self.numbers

    def displacement(self, q: Sequence[FloatArray]) -> float:
        """The way along the axis, m, or the angle about it within half a turn, rad."""
        return float(self._turned(q)[0]) if self.spec.turns else float(self._along(q)[0])

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, JointMemory | None]:
        """The drive and what the joint forbids."""
        memory: JointMemory | None = view.memory
        before = 0.0 if memory is None else memory.angle
        H, along, turned = self._rows(view)
        is_hinge = self.spec.turns
        if is_hinge:
            turned[0] += 2.0 * np.pi * np.round((before - turned[0]) / (2.0 * np.pi))
            gap = np.concatenate([turned[:1], along, turned[1:]])
            order = [3, 0, 1, 2, 4, 5]
        else:
            gap = np.concatenate([along, turned])
            order = [0, 1, 2, 3, 4, 5]
        control = view.controls.get(self.spec, Command(by_force=True, amount=0.0))
        law, lower, upper, target = self.spec.limits.law(
            control,
            view.interval,
            lambda: before if is_hinge else self.displacement(view.start),
            lambda: view.last_force(self.key),
        )
        rows = Rows.of(
            [h[order] if h.nnz else h for h in H],
            gap,
            [law, *[RowLaw.BILATERAL] * 5],
            lower=[lower, *[-np.inf] * 5],
            upper=[upper, *[np.inf] * 5],
            target=[target, *[0.0] * 5],
            key=self.keys,
        )
        return rows, JointMemory(float(gap[0])) if is_hinge else None

    def _poses(self, q: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
        return q[self.numbers[0]], q[self.numbers[1]] if len(self.numbers) > 1 else WORLD

    def _along(self, q: Sequence[FloatArray]) -> FloatArray:
        """The way of the joint's point from its anchor along the axes of the joint, (3,), m."""
        assert self.frame is not None
        assert self.local is not None
        assert self.anchor is not None
        pose, base = self._poses(q)
        away = pose[0] + pose[1:] @ self.local - (base[0] + base[1:] @ self.anchor)
        along: FloatArray = (base[1:] @ self.frame).T @ away
        return along

    def _rows(self, view: RowView) -> tuple[list[sparse.csr_matrix], FloatArray, FloatArray]:
        """Six rows, three of the way and three of the rotation about the axes of the joint, with way and rotation."""
        assert self.frame is not None
        assert self.local is not None
        pose, base = self._poses(view.q)
        axes = base[1:] @ self.frame
        point = pose[0] + pose[1:] @ self.local
        H = view.blank(6)
        for number, q, sign in zip(self.numbers, (pose, base), (1.0, -1.0), strict=False):
            jacobian = FrameMap((q[1:].T @ (point - q[0]))[None]).jacobian(q)[0]
            rows = np.zeros((6, 6))
            rows[:3] = sign * axes.T @ jacobian  # the axes turn with the base; seen at the body's point that cancels
            rows[3:, 3:] = sign * axes.T
            H[number] = sparse.csr_matrix(rows)
        return H, self._along(view.q), self._turned(view.q)

    def _turned(self, q: Sequence[FloatArray]) -> FloatArray:
        """The angle about the axis, and the tilt about the two others, (3,), rad."""
        assert self.frame is not None
        assert self.turn is not None
        pose, base = self._poses(q)
        relative = (base[1:] @ self.frame).T @ pose[1:] @ self.turn.T @ self.frame
        angle = np.arctan2(relative[2, 1] - relative[1, 2], relative[1, 1] + relative[2, 2])
        return np.array([angle, -relative[2, 0], relative[1, 0]])


WORLD = np.vstack([np.zeros(3), np.eye(3)])


def _frame(axis: FloatArray) -> FloatArray:
    """An orthonormal frame (3, 3) with `axis` as its first column."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    second = np.cross(axis, helper)
    second /= np.linalg.norm(second)
    return np.stack([axis, second, np.cross(axis, second)], axis=1)
