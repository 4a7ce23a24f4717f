"""The ball maze of Bortoff 2020, section 3: four rings on end, a ball that rolls on them and falls through their gates.

Coordinates q = (turn of the maze, x and y of the ball, turn of the ball), angles counterclockwise. On ring i

    h₁ = √(q₂² + q₃²) − (r_i + r_b)                                  distance, in m, so that λ₁ is in N
    h₂ = r_b q₄ + r_i q₁ + (r_i + r_b) atan(q₂/q₃) − (its value at touch)        rolling without slip

are constrained to zero, the corrected (10) of the paper. Gates 1 and 3 let the ball through where q₁ + atan(q₂/q₃)
rises to π/2, gates 2 and 4 where it returns to 0. With a solid sphere and no friction the linear model about the top of
a ring has poles ±p, two at 0, zeros ±z and p/z ≤ √(7/5): the paper's poles −1.1 and 1.4 and its zero 0.65 cannot come
from its equations. Here p is near 1.25, the zeros and poles of both compensators are the paper's, their gains our own.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pliant.core.checks import finite_array, positive
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.hybrid.controllers import Continuous
from pliant.hybrid.system import HybridSystem, Joint, Machine, Transition

RADII = (0.120, 0.105, 0.090, 0.075)
"""m; radii of the rings, from outside in. The paper gives none."""
TILTED_GRAVITY = 0.23
"""m/s²: a maze tilted by 1.34° from lying flat, which brings the unstable poles of its rings near 1.25 1/s."""
BALL_LEAD = (0.6, 10.0, 10.0)
"""Zero and pole (1/s) of the lead compensator of the ball, as in the paper, and its gain (N), for this maze."""
MAZE_LEAD = (0.05, 5.0, 0.015)
"""Zero and pole (1/s) of the lead compensator of the maze, as in the paper, and its gain (N·m), for this maze."""


@declared
def ball_maze(
    *,
    radii: Any = RADII,
    ball_radius: float = 0.005,
    ball_mass: float = 0.02,
    maze_inertia: float = 3e-4,
    gravity: float = TILTED_GRAVITY,
    alpha: tuple[float, float] = (25.0, 10.0),
    drop: float = 0.0015,
) -> HybridSystem:
    """The maze with rings of `radii` (k,) m from outside in, and a ball of `ball_radius` m and `ball_mass` kg.

    The ball, a solid sphere, starts `drop` (m) above the outer ring. `maze_inertia` in kg·m²; `gravity` (m/s²) is the
    component in the plane of the maze; u (1,) is the torque on the maze in N·m; `alpha` = (α₀ 1/s², α₁ 1/s) stabilises
    both constraints. Outputs are the ball's x (m) and the turn of the maze (rad). The machine `maze` has the states of
    the paper: 0 above the first ring, 2i − 1 on ring i, 2i falling from it, and the last one in the centre.
    """
    radii = finite_array("radii of the rings", radii, shape=(None,))
    if not len(radii):
        raise InputError("a maze needs rings: give their radii (m), from outside in")
    if (np.diff(radii) >= -2.0 * ball_radius).any() or radii[-1] <= ball_radius:
        raise InputError(f"rings must leave room for a ball of radius {ball_radius:g} m between them, got {radii}")
    for name, value in (("ball_radius", ball_radius), ("ball_mass", ball_mass), ("maze_inertia", maze_inertia)):
        positive(name, value)
    count = len(radii)
    joints: list[Joint] = []
    transitions = []
    for k, radius in enumerate(radii):
        joints += _ring(k + 1, float(radius), ball_radius, alpha)
        touch = partial(_gap, float(radius) + ball_radius)
        transitions.append(Transition(2 * k, 2 * k + 1, touch, name=f"touches ring {k + 1}"))
        transitions.append(Transition(2 * k + 1, 2 * k + 2, _gate(k % 2 == 0), name=f"falls through gate {k + 1}"))
    active = {2 * k + 1: (f"ring {k + 1}", f"roll {k + 1}") for k in range(count)}
    weight = ball_mass * gravity
    force = np.array([0.0, 0.0, weight, 0.0])
    return HybridSystem(
        q0=np.array([0.0, 0.0, radii[0] + ball_radius + drop, 0.0]),
        v0=np.zeros(4),
        mass=np.array([maze_inertia, ball_mass, ball_mass, 0.4 * ball_mass * ball_radius**2]),
        bias=lambda q, v: force,
        inputs=np.array([[1.0], [0.0], [0.0], [0.0]]),
        constraints=tuple(joints),
        machines=(Machine("maze", active, tuple(transitions), final=(2 * count,)),),
        outputs=lambda q, v: np.array([q[1], q[0]]),
        name="ball maze",
        labels=("maze turn", "ball x", "ball y", "ball turn"),
        details={"radii": radii, "ball_radius": ball_radius, "gravity": gravity},
    )


def _ring(ring_index: int, radius: float, ball: float, alpha: tuple[float, float]) -> list[Joint]:
    radius_sum = radius + ball

    def ring(q: Any, v: Any) -> tuple[Any, Any, Any]:
        x, y = q[1], q[2]
        rho = np.sqrt(x * x + y * y)
        nx, ny = x / rho, y / rho
        tangential = ny * v[1] - nx * v[2]
        zero = 0.0 * x
        curve = np.array([tangential * tangential / rho])
        return np.array([rho - radius_sum]), np.array([[zero, nx, ny, zero]]), curve

    def roll(q: Any, v: Any) -> tuple[Any, Any, Any]:
        x, y = q[1], q[2]
        square = x * x + y * y
        rows = np.array([[radius + 0.0 * x, radius_sum * y / square, -radius_sum * x / square, ball + 0.0 * x]])
        turning = (y * v[1] - x * v[2]) / square
        curve = -2.0 * radius_sum * turning * (x * v[1] + y * v[2]) / square
        return rolled(q), rows, np.array([curve])

    def rolled(q: Any) -> Any:
        return np.array([ball * q[3] + radius * q[0] + radius_sum * np.arctan(q[1] / q[2])])

    return [
        Joint(
            f"ring {ring_index}",
            lambda q: np.array([np.sqrt(q[1] * q[1] + q[2] * q[2]) - radius_sum]),
            alpha,
            rows=ring,
        ),
        Joint(f"roll {ring_index}", rolled, alpha, relative=True, rows=roll),
    ]


def _gap(radius_sum: float, t: float, q: Any, v: Any, lam: Any) -> float:
    return float(np.hypot(q[1], q[2]) - radius_sum)


def _gate(outward: bool) -> Any:
    """The guard of the gate at a quarter turn, or of the one at the start: it falls through zero over the gate."""
    if outward:
        return lambda t, q, v, lam: float(0.5 * np.pi - q[0] - np.arctan(q[1] / q[2]))
    return lambda t, q, v, lam: float(q[0] + np.arctan(q[1] / q[2]))


def ring_top(maze: HybridSystem, ring: int) -> tuple[FloatArray, FloatArray]:
    """The equilibrium (q, v), each (4,), of the ball at rest on top of `ring` (1 is the outer one)."""
    radii = maze.details["radii"]
    if not 1 <= ring <= len(radii):
        raise InputError(f"the maze has rings 1 to {len(radii)}, got {ring}")
    return np.array([0.0, 0.0, radii[ring - 1] + maze.details["ball_radius"], 0.0]), np.zeros(4)


@declared
def maze_controller(
    *,
    ball_lead: tuple[float, float, float] = BALL_LEAD,
    maze_lead: tuple[float, float, float] = MAZE_LEAD,
    begin: float = 10.0,
    interval: float = 25.0,
    rate: float = 0.12,
    beyond: float = 0.25,
) -> Continuous:
    """The two loops of the paper's figure 8: u = C₁ q₂ + C₂ (q₁ − reference), both with positive gain.

    Leads are (zero 1/s, pole 1/s, gain), C = gain (s + zero)/(s + pole): the first balances the ball, the second turns
    the maze. From `begin` (s) on, every `interval` (s) the reference turns smoothly, at `rate` (rad/s) on average, to
    `beyond` (rad) past the next gate, forth to a quarter turn and back to the start.
    """
    (a1, b1, k1), (a2, b2, k2) = ball_lead, maze_lead
    reference = partial(maze_reference, begin=begin, interval=interval, rate=rate, beyond=beyond)

    def rates(t: float, x: FloatArray, q: FloatArray, v: FloatArray) -> FloatArray:
        return np.array([q[1] - b1 * x[0], q[0] - reference(t) - b2 * x[1]])

    def output(t: float, x: FloatArray, q: FloatArray, v: FloatArray) -> FloatArray:
        ball = k1 * (q[1] + (a1 - b1) * x[0])
        maze = k2 * (q[0] - reference(t) + (a2 - b2) * x[1])
        return np.array([ball + maze])

    return Continuous(2, rates, output)


def maze_reference(
    t: float, *, begin: float = 10.0, interval: float = 25.0, rate: float = 0.12, beyond: float = 0.25
) -> float:
    """The turn (rad) that the maze is to have at time t (s); see `maze_controller`."""
    if t < begin:
        return 0.0
    k = int((t - begin) // interval)
    ends = (0.0 if k == 0 else -beyond, 0.5 * np.pi + beyond)
    here, there = ends if k % 2 == 0 else (ends[1], -beyond)
    fraction = min((t - begin - k * interval) * rate / abs(there - here), 1.0)
    return float(here + (there - here) * fraction * fraction * (3.0 - 2.0 * fraction))
