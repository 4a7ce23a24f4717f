"""Actuated joints between a rigid body and the world, or another rigid body: sliders and hinges.

The first row is actuated: δ is the displacement along the axis (m) and λ a force (N) for a slider, the angle about it
(rad) and a torque (N·m) for a hinge. Five bilateral rows constrain the other relative motions. Directions follow the
base: with the axis a carried by the base and b by the body, the tilt a × b is constrained to zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.actuators.drive import UNBOUND, Actuator, ActuatorRows, ControlRange, TwoWayActuator
from pliant.actuators.limits import Limits, check_rates, per_second
from pliant.actuators.values import Angle, Torque
from pliant.constraints.keys import JOINTS, row_keys
from pliant.constraints.memory import Memory
from pliant.constraints.row_blocks import RowBlocks
from pliant.constraints.rows import RowLaw, Rows, RowView, model_index
from pliant.core.checks import finite_array, unit_vector
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.lie import perpendicular
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.models.body import Model
from pliant.models.rigid import RigidBody
from pliant.models.rigid.frame_map import FrameMap


class _Joint(Actuator):
    """What sliders and hinges share."""

    axis: Any
    base: RigidBody | None

    def __post_init__(self) -> None:
        check_declared(self)
        unit_vector(f"axis of {self.name!r}", self.axis)
        for body in self.bodies:
            if not isinstance(body, RigidBody):
                raise InputError(f"{self.name!r} ties rigid bodies; attach a soft one to a rigid body that it moves")

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The jointed bodies."""
        return (self.body,) if self.base is None else (self.body, self.base)

    def constraint(self, key: int) -> JointRows:
        """Its rows, not yet bound to models."""
        return JointRows(self, key)


@one_line
@per_second
@dataclass(frozen=True, eq=False)
class Slider(_Joint, TwoWayActuator):
    """`body` translates along `axis` (3,), in the world initially, without rotation; `base`: a rigid body or the world.

    `min_force`, `max_force` bound λ, N; `min_displacement`, `max_displacement` the command, m; `max_rate` (m/s) and
    `max_force_rate` (N/s) the rates of both. Without a control it slides freely.
    """

    body: RigidBody
    axis: Any
    _: KW_ONLY
    base: RigidBody | None = None
    name: str = "slider"

    turns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_declared(self)
        TwoWayActuator.__post_init__(self)
        super().__post_init__()


@one_line
@per_second
@dataclass(frozen=True, eq=False)
class Hinge(_Joint):
    """`body` rotates about `axis` (3,) through `point` (3,) m, both in world axes of the initial state; `base` is a
    rigid body or None for the world.

    `min_torque`, `max_torque` bound λ, N·m; `min_angle`, `max_angle` the command, rad; `max_rate` (rad/s) and
    `max_torque_rate` (N·m/s) the rates of both. Without a control it turns freely. Angles are unwrapped from step to
    step and may exceed a full turn.
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

    kinds = ((Angle, "rad"), (Torque, "N·m"))
    turns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_declared(self)
        finite_array(f"point of {self.name!r}", self.point, shape=(3,))
        check_rates(self, "max_rate", "max_torque_rate")
        super().__post_init__()
        self.limits.check_order(self.name)

    def control_range(self) -> ControlRange:
        """Its angle between its limits."""
        return ControlRange.of_travel(self)

    @property
    def limits(self) -> Limits:
        """Bounds of λ and δ, N·m and rad, and of their rates."""
        forces, angles = (self.min_torque, self.max_torque), (self.min_angle, self.max_angle)
        return Limits(*forces, *angles, self.max_torque_rate, self.max_rate)


@dataclass(frozen=True, eq=False)
class JointMemory(Memory):
    """The unwrapped angle of a hinge at the end of the last step, rad."""

    angle: float


@dataclass(frozen=True, eq=False)
class JointRows(ActuatorRows):
    """The six rows of a joint, the actuated one first. The axis is the first column of `frame` (3, 3), in base axes;
    `local` (3,) and `anchor` (3,) are the joint's point on the body and on the base, in their axes; `turn` (3, 3) is
    the initial orientation of the body in base axes.
    """

    spec: Any
    key: int
    indices: tuple[int, ...] = ()
    frame: FloatArray = UNBOUND
    local: FloatArray = UNBOUND
    anchor: FloatArray = UNBOUND
    turn: FloatArray = UNBOUND

    memory_type = JointMemory

    def bound(self, models: Sequence[Model]) -> JointRows:
        """The rows in a world of `models`."""
        spec = self.spec
        indices = tuple(model_index(models, body) for body in spec.bodies)
        pose = models[indices[0]].initial()[0]
        base = models[indices[1]].initial()[0] if len(indices) > 1 else WORLD
        point = finite_array("point", spec.point, shape=(3,)) if spec.turns else pose[0]
        axis = base[1:].T @ unit_vector("axis", spec.axis)
        return replace(
            self, indices=indices, frame=np.stack([axis, *perpendicular(axis)], axis=1),
            local=pose[1:].T @ (point - pose[0]), anchor=base[1:].T @ (point - base[0]), turn=base[1:].T @ pose[1:],
        )  # fmt: skip

    def constrains(self, index: int) -> bool:
        """Whether the joint constrains body `index`."""
        return index in self.indices

    @property
    def direction_models(self) -> tuple[int, ...]:
        """Indices of the jointed bodies."""
        return self.indices

    def displacement(self, q: Sequence[FloatArray]) -> float:
        """Displacement along the axis, m, or the angle about it within ±π, rad."""
        return float(self._turned(q)[0]) if self.spec.turns else float(self._along(q)[0])

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, JointMemory | None]:
        """The actuated row, then the five bilateral ones."""
        before = 0.0 if view.memory is None else view.memory.angle
        H, along, turned = self._rows(view)
        is_hinge = self.spec.turns
        if is_hinge:
            turned[0] = unwrapped(turned[0], before)
        order = [3, 0, 1, 2, 4, 5] if is_hinge else [0, 1, 2, 3, 4, 5]  # the actuated row first
        gap = np.concatenate([along, turned])[order]
        law, lower, upper, target = self.law(view, start=before if is_hinge else None)
        rows = Rows.of(
            [h[order] if h.nnz else h for h in H], gap, [law, *[RowLaw.BILATERAL] * 5],
            lower=[lower, *[-np.inf] * 5], upper=[upper, *[np.inf] * 5], target=[target, *[0.0] * 5],
            key=np.array([self.key, *row_keys(JOINTS, self.key, 5)]),
        )  # fmt: skip
        return rows, JointMemory(float(gap[0])) if is_hinge else None

    def _poses(self, q: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
        return q[self.indices[0]], q[self.indices[1]] if len(self.indices) > 1 else WORLD

    def _along(self, q: Sequence[FloatArray]) -> FloatArray:
        """Displacement of the joint's point from its anchor along the axes of the joint, (3,), m."""
        pose, base = self._poses(q)
        away = pose[0] + pose[1:] @ self.local - (base[0] + base[1:] @ self.anchor)
        return np.asarray((base[1:] @ self.frame).T @ away)

    def _rows(self, view: RowView) -> tuple[RowBlocks, FloatArray, FloatArray]:
        """Gradients of three displacements and three rotations in the axes of the joint, and their values."""
        pose, base = self._poses(view.q)
        axes = base[1:] @ self.frame
        point = pose[0] + pose[1:] @ self.local
        H = view.blank(6)
        for index, q, sign in zip(self.indices, (pose, base), (1.0, -1.0), strict=False):
            jacobian = FrameMap((q[1:].T @ (point - q[0]))[None]).jacobian(q)[0]
            rows = np.zeros((6, 6))
            rows[:3] = sign * axes.T @ jacobian  # the axes turn with the base; seen at the body's point that cancels
            rows[3:, 3:] = sign * axes.T
            H[index] = sparse.csr_matrix(rows)
        return H, self._along(view.q), self._turned(view.q)

    def _turned(self, q: Sequence[FloatArray]) -> FloatArray:
        """The angle about the axis, and the tilt about the two others, (3,), rad."""
        pose, base = self._poses(q)
        relative = (base[1:] @ self.frame).T @ pose[1:] @ self.turn.T @ self.frame
        return np.array([axis_angle(relative), -relative[2, 0], relative[1, 0]])


WORLD = np.vstack([np.zeros(3), np.eye(3)])
"""Pose (4, 3) of the world: position, then rotation matrix."""


def axis_angle(R: FloatArray) -> float:
    """Angle of the rotation R (3, 3) about its first axis, within ±π, rad."""
    return float(np.arctan2(R[2, 1] - R[1, 2], R[1, 1] + R[2, 2]))


def unwrapped(angle: float, before: float) -> float:
    """`angle` plus the whole turns that bring it closest to `before`, rad."""
    return float(angle + 2.0 * np.pi * np.round((before - angle) / (2.0 * np.pi)))
