"""The soft-touch controller of the delta robot, Bortoff 2020, (12) and (13): digital PD with feedforward, whose
position gain fades to zero before contact, so that the robot touches the brick under velocity control.

    F = M̂ (kp (r − y) + kd (ṙ − ẏ) + r̈),   τ = Jᵀ F + gravity,        0 ≤ kp ≤ kd²

y comes from the motor angles by forward kinematics, ẏ from y by a filtered difference. The bound on kp is that of the
circle criterion for a time-varying gain around 1/(s (s + kd)), continuous and of unit mass; it is sufficient only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import positive
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.hybrid.controllers import Sampled
from pliant.hybrid.delta import DeltaArms
from pliant.hybrid.jerk_profile import JerkProfile, rest_to_speed
from pliant.hybrid.system import HybridSystem


@dataclass(frozen=True, eq=False)
class Measured:
    """Memory of the controller from one period to the next."""

    y: FloatArray
    """Position (3,), m."""
    rate: FloatArray
    """Filtered velocity (3,), m/s."""
    force: FloatArray
    """The last commanded force (3,), N."""


@declared
def soft_touch(
    robot: HybridSystem,
    *,
    period: float = 1e-3,
    damping: float = 200.0,
    stiffness: Callable[[float], float] | float | None = None,
    approach_speed: float = 2e-4,
    standoff: float = 1.9e-3,
    move_until: float = 2.5,
    fade: tuple[float, float] = (2.5, 9.0),
    filter_time: float = 1e-3,
) -> Sampled:
    """The controller that brings the finger to the brick, sampled every `period` (s).

    It moves to `standoff` (m) before the brick until `move_until` (s), then approaches at `approach_speed` (m/s).
    `damping` is the gain in the direction of travel in N·s/m: after contact the velocity error is the approach speed,
    so the steady force is their product. `stiffness` (N/m), a constant or a function of time, is the position gain in
    that direction; by default it fades smoothly from a quarter of its bound to zero over the times `fade` (s). A gain
    outside 0 ≤ kp ≤ kd² raises.
    """
    arms: DeltaArms = robot.details["arms"]
    start = np.asarray(robot.details["start"], float)
    mass = _mass(robot)
    bound = stiffness_bound(robot, damping)
    profile = approach(robot, speed=approach_speed, standoff=standoff, until=move_until)
    gain = _fading(0.25 * bound, *fade) if stiffness is None else stiffness
    schedule: Callable[[float], float] = gain if callable(gain) else lambda t: float(gain)
    blend = period / (period + positive("filter_time", filter_time, unit="s"))

    def update(t: float, q: FloatArray, v: FloatArray, memory: Measured | None) -> tuple[FloatArray, Measured]:
        theta = q[:3]
        y = arms.forward(theta, guess=start if memory is None else memory.y)
        rate = np.zeros(3) if memory is None else memory.rate + blend * ((y - memory.y) / period - memory.rate)
        r, dr, ddr = profile.at(t)
        kp = schedule(t)
        if not 0.0 <= kp <= bound * (1.0 + 1e-9):
            raise InputError(f"the position gain {kp:g} N/m at {t:g} s is outside [0, kd²] = [0, {bound:g}] N/m")
        kps, kds = np.array([kp, 0.25 * bound, 0.25 * bound]), np.full(3, damping)
        ahead, speed, push = (np.array([x, 0.0, 0.0]) for x in (r, dr, mass * ddr))
        force = kps * (start + ahead - y) + kds * (speed - rate) + push
        J = arms.jacobian(theta, y)
        torque = J.T @ force + arms.gravity_torque(theta, y, jacobian=J)
        return torque, Measured(y, rate, force)

    return Sampled(period, update)


def stiffness_bound(robot: HybridSystem, damping: float) -> float:
    """The largest position gain (N/m) with `damping` (N·s/m) in the direction of travel: kd² for the wrist's mass."""
    return positive("damping", damping, unit="N·s/m") ** 2 / _mass(robot)


def _mass(robot: HybridSystem) -> float:
    arms, start = robot.details["arms"], np.asarray(robot.details["start"], float)
    return float(arms.task_mass(arms.inverse(start), start)[0, 0])


def approach(robot: HybridSystem, *, speed: float = 2e-4, standoff: float = 1.9e-3, until: float = 2.5) -> JerkProfile:
    """The reference of the finger: `standoff` (m) before the brick at `until` (s), then on at `speed` (m/s)."""
    distance = float(robot.details["distance"]) - standoff
    # a motion that takes exactly `until`: four equal segments of jerk j, −j, −j, j travel j T³ / 32
    jerk = 32.0 * distance / until**3
    move = JerkProfile.of([until / 4.0] * 4, [jerk, -jerk, -jerk, jerk])
    return move.then(rest_to_speed(speed, acceleration=1e-2, jerk=0.1))


def _fading(stiffness: float, begin: float, end: float) -> Callable[[float], float]:
    def value(t: float) -> float:
        fraction = min(max((t - begin) / (end - begin), 0.0), 1.0)
        return float(stiffness * (1.0 - fraction * fraction * (3.0 - 2.0 * fraction)))

    return value


@declared
def circle_margin(damping: float, stiffness: float, *, frequencies: Any = None) -> float:
    """The least of Re G(jω) + 1/k for G = 1/(s (s + kd)), k = `stiffness` and kd = `damping` of unit mass: where it is
    ≥ 0 the loop is stable for every gain that varies within [0, k] (circle criterion).
    """
    omega = np.geomspace(1e-4, 1e4, 2001) * damping if frequencies is None else np.asarray(frequencies, float)
    response = 1.0 / (1j * omega * (1j * omega + damping))
    return float((response.real + 1.0 / stiffness).min())
