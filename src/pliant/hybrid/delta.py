"""The delta robot of Bortoff 2020, section 4: three arms closed by constraints, a gripper finger, a brick on a surface.

Coordinates q = (motor angles θ (3,), wrist position p (3,), brick position (3,)), z up. Arm i stands at the azimuth φᵢ;
its elbow is e(θ) = A(R + l cos θ) − ẑ l sin θ with A = (cos φᵢ, sin φᵢ, 0), and its pair of distal rods, of length L,
ends at p + r A: |p + r A − e| = L closes it. The rods are uniform and slender, so that with end velocities ė and ṗ
their kinetic energy is exactly m/6 (|ė|² + ė·ṗ + |ṗ|²): no angles of universal joints are needed as coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.declared import declared
from pliant.core.errors import ConvergenceError
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray
from pliant.hybrid.contact_laws import Friction
from pliant.hybrid.system import Contact, HybridSystem, Joint

_Z = np.array([0.0, 0.0, 1.0])
_ONES = np.ones(3)
_TURNS = 2.0 * np.pi * np.arange(3) / 3.0
_ARMS = np.column_stack([np.cos(_TURNS), np.sin(_TURNS), np.zeros(3)])


@dataclass(frozen=True)
class DeltaArms:
    """Sizes (m), masses (kg) and inertia (kg·m²) of the robot; the numbers are those of a small laboratory robot.

    The paper gives none. `arm_inertia` is that of a proximal link with its motor and gear about the motor axis,
    `rod_mass` that of both distal rods of an arm, `wrist_mass` that of flange and gripper.
    """

    base_radius: float = 0.15
    wrist_radius: float = 0.05
    proximal: float = 0.20
    distal: float = 0.45
    arm_inertia: float = 0.012
    arm_mass: float = 0.30
    rod_mass: float = 0.12
    wrist_mass: float = 0.30
    gravity: float = 9.81

    @property
    def azimuths(self) -> FloatArray:
        """Directions (3, 3) of the arms, unit vectors."""
        return _ARMS

    def elbows(self, theta: Any) -> tuple[Any, Any]:
        """Elbows (3, 3) m at motor angles `theta` (3,) rad, and their derivatives (3, 3) m by the angles."""
        A, c, s = self.azimuths, np.cos(theta)[:, None], np.sin(theta)[:, None]
        return A * (self.base_radius + self.proximal * c) - self.proximal * s * _Z, -self.proximal * (A * s + c * _Z)

    def closure(self, theta: Any, p: Any) -> Any:
        """Lengths of the distal rods minus L (3,), m."""
        d = p + self.wrist_radius * self.azimuths - self.elbows(theta)[0]
        return np.sqrt((d * d).dot(_ONES)) - self.distal

    def forward(self, theta: Any, *, guess: Any = None) -> FloatArray:
        """Wrist position (3,) m at motor angles `theta` (3,) rad, by Newton; of the two, the lower one."""
        theta = finite_array("theta", theta, shape=(3,))
        start = (0.0, 0.0, -self.distal) if guess is None else guess
        p = np.array(start, float)
        centers = self.elbows(theta)[0] - self.wrist_radius * self.azimuths
        for _ in range(30):
            d = p - centers
            length = np.sqrt((d * d).dot(_ONES))
            change = np.linalg.solve(d / length[:, None], self.distal - length)
            p = p + change
            if np.abs(change).max() < 1e-9:  # quadratic convergence: what is left is rounding
                break
        if np.abs(self.closure(theta, p)).max() > 1e-12:
            raise ConvergenceError(f"no wrist position closes the arms at motor angles {theta} rad", result=p)
        return p

    def inverse(self, p: Any, *, guess: Any = None) -> FloatArray:
        """Motor angles (3,) rad for the wrist position `p` (3,) m, by Newton; of the two, the elbow outside."""
        p = finite_array("p", p, shape=(3,))
        theta = np.zeros(3) if guess is None else np.array(guess, float)
        for _ in range(50):
            e, slope = self.elbows(theta)
            d = p + self.wrist_radius * self.azimuths - e
            length = np.sqrt((d * d).dot(_ONES))
            derivative = -(d * slope).dot(_ONES) / length
            with np.errstate(all="ignore"):
                change = np.clip((self.distal - length) / derivative, -0.5, 0.5)
            theta = theta + change
            if not np.abs(change).max() >= 1e-15:
                break
        if not np.abs(self.closure(theta, p)).max() <= 1e-12:
            raise ConvergenceError(f"the wrist cannot reach {p} m: its arms do not close", result=theta)
        return theta

    def jacobian(self, theta: Any, p: Any) -> FloatArray:
        """∂p/∂θ (3, 3), m, at a closed configuration."""
        e, slope = self.elbows(theta)
        d = p + self.wrist_radius * self.azimuths - e
        return np.linalg.solve(d, np.diag((d * slope).dot(_ONES)))

    def gravity_torque(self, theta: Any, p: Any, *, jacobian: Any = None) -> FloatArray:
        """Motor torques (3,) N·m that hold the robot at rest; `jacobian` is ∂p/∂θ (3, 3) where it is known."""
        arm = -(self.arm_mass + self.rod_mass) * 0.5 * self.gravity * self.proximal * np.cos(theta)
        wrist = np.array([0.0, 0.0, (self.wrist_mass + 1.5 * self.rod_mass) * self.gravity])
        J = self.jacobian(theta, p) if jacobian is None else jacobian
        return np.asarray(arm + J.T @ wrist)

    def task_mass(self, theta: Any, p: Any) -> FloatArray:
        """The mass (3, 3) kg that the wrist shows in the space of its positions."""
        J = np.linalg.inv(self.jacobian(theta, p))
        arm = self.arm_inertia + self.rod_mass * self.proximal**2 / 3.0
        couple = self.rod_mass / 6.0 * self.elbows(theta)[1]
        cross = J.T @ couple
        return np.asarray(arm * J.T @ J + (self.wrist_mass + self.rod_mass) * np.eye(3) + cross + cross.T)


@kernel
def delta_terms(q: Any, v: Any, arms: Any, sizes: Any, constant: Any, load: Any) -> Any:
    """Mass matrix (9, 9), bias (9,), and h (3,), H (3, 9), vᵀ∇²h v (3,) of the closure of the arms."""
    offset, proximal, distal, rod_mass, lift = sizes
    M, bias = constant.copy(), load.copy()
    h, H, curve = np.zeros(3, q.dtype), np.zeros((3, 9), q.dtype), np.zeros(3, q.dtype)
    for i in range(3):
        c, s, spin = np.cos(q[i]), np.sin(q[i]), v[i]
        bias[i] += lift * c
        square = along = rate_square = rate_along = slope_along = turn = 0.0 * c
        for k in range(3):
            up = 1.0 if k == 2 else 0.0
            slope = -proximal * (arms[i, k] * s + up * c)
            bend = -proximal * (arms[i, k] * c - up * s)  # second derivative of the elbow
            d = q[3 + k] - arms[i, k] * offset - proximal * (arms[i, k] * c - up * s)
            rate = v[3 + k] - slope * spin
            couple = rod_mass / 6.0 * slope
            M[i, 3 + k] = couple
            M[3 + k, i] = couple
            bias[3 + k] += rod_mass / 6.0 * bend * spin * spin
            H[i, 3 + k] = d
            square += d * d
            rate_square += rate * rate
            rate_along += d * rate
            slope_along += d * slope
            turn -= d * bend
        along = np.sqrt(square)
        H[i, 3:6] /= along
        H[i, i] = -slope_along / along
        h[i] = along - distal
        curve[i] = (rate_square - rate_along * rate_along / square + turn * spin * spin) / along
    return M, bias, h, H, curve


@declared
def delta_robot(
    *,
    arms: DeltaArms | None = None,
    start: Any = (0.0, 0.0, -0.40),
    distance: float = 0.020,
    brick_mass: float = 0.04,
    friction: float = 0.35,
    alpha: tuple[float, float] = (400.0, 40.0),
    touch_alpha: tuple[float, float, float] = (9e4, 600.0, 1e6),
    surface_alpha: tuple[float, float, float] = (900.0, 60.0, 1e6),
) -> HybridSystem:
    """The robot with its finger `distance` (m) from the side of a brick that lies on a surface.

    `start` (3,) m is the wrist's position; the finger moves with it, the brick stands in its +x direction; u (3,) N·m
    are the motor torques. `friction` is that of the brick (`brick_mass`, kg) on the surface. `alpha` = (α₀ 1/s², α₁
    1/s) stabilises the closure of the arms, `touch_alpha` the contact of finger and brick, `surface_alpha` that of
    brick and surface. The brick's position is counted from where it starts: the gap is q₇ + distance − (q₄ − start).
    """
    arms = arms or DeltaArms()
    p0 = finite_array("start", start, shape=(3,))
    theta0 = arms.inverse(p0)
    constant = np.zeros((9, 9))
    constant[:3, :3] = (arms.arm_inertia + arms.rod_mass * arms.proximal**2 / 3.0) * np.eye(3)
    constant[3:6, 3:6] = (arms.wrist_mass + arms.rod_mass) * np.eye(3)
    constant[6:, 6:] = brick_mass * np.eye(3)
    load = np.zeros(9)
    load[5] = (arms.wrist_mass + 1.5 * arms.rod_mass) * arms.gravity
    load[8] = brick_mass * arms.gravity
    sizes = np.array([arms.base_radius - arms.wrist_radius, arms.proximal, arms.distal, arms.rod_mass,
                      -(arms.arm_mass + arms.rod_mass) * 0.5 * arms.gravity * arms.proximal])  # fmt: skip

    def terms(q: Any, v: Any) -> Any:
        if np.iscomplexobj(q) or np.iscomplexobj(v):
            q, v, M, f = (np.asarray(x, complex) for x in (q, v, constant, load))
            return delta_terms.py_func(q, v, _ARMS, sizes, M, f)  # type: ignore[attr-defined]
        state_bytes, velocity_bytes = q.tobytes(), v.tobytes()
        if cached[:2] != [state_bytes, velocity_bytes]:
            cached[:] = state_bytes, velocity_bytes, delta_terms(q, v, _ARMS, sizes, constant, load)
        return cached[2]

    cached: list[Any] = [b"", b"", None]  # the last state and its terms: bias, mass and closure are asked for in turn
    still = np.zeros(9)

    def mass(q: Any) -> Any:
        same = not np.iscomplexobj(q) and cached[0] == q.tobytes()
        return cached[2][0] if same else terms(q, still)[0]

    def bias(q: Any, v: Any) -> Any:
        return terms(q, v)[1]

    def close(q: Any, v: Any) -> Any:
        return terms(q, v)[2:]

    x0 = float(p0[0])
    touch_row, surface_row = np.zeros((1, 9)), np.zeros((1, 9))
    touch_row[0, [3, 6]] = -1.0, 1.0
    surface_row[0, 8] = 1.0
    slide_rows = np.zeros((2, 9))
    slide_rows[[0, 1], [6, 7]] = 1.0
    flat1, flat2 = np.zeros(1), np.zeros(2)
    rub = Friction(friction, rows=lambda q, v: (slide_rows, flat2), directions=2, damping=100.0)

    def touch(q: Any) -> Any:
        return np.array([q[6] + distance - (q[3] - x0)])

    constraints = (
        Joint("arms", lambda q: arms.closure(q[:3], q[3:6]), alpha, count=3, rows=close),
        Contact("finger", touch, touch_alpha, rows=lambda q, v: (touch(q), touch_row, flat1)),
        Contact(
            "surface", lambda q: q[8:9], surface_alpha, friction=rub, rows=lambda q, v: (q[8:9], surface_row, flat1)
        ),
    )
    return HybridSystem(
        q0=np.concatenate([theta0, p0, np.zeros(3)]),
        v0=np.zeros(9),
        mass=mass,
        bias=bias,
        inputs=np.eye(9)[:, :3],
        constraints=constraints,
        name="delta robot",
        labels=("motor 1", "motor 2", "motor 3", "x", "y", "z", "brick x", "brick y", "brick z"),
        details={"arms": arms, "start": p0, "distance": distance, "friction": friction, "brick_mass": brick_mass},
    )
