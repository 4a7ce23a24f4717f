"""How the systems of Bortoff 2020 are drawn and driven: the ball, the maze, the delta robot; and cubes that fall."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.bortoff_subject import HybridSubject, Part, Picture
from pliant.core.lie import rotation_exp
from pliant.core.types import FloatArray
from pliant.hybrid import (
    HybridState,
    HybridSystem,
    ball_maze,
    bouncing_ball,
    delta_robot,
    falling_cubes,
    maze_controller,
    soft_touch,
)
from pliant.mesh.lattice import ring_triangles
from pliant.models.rigid import Obstacle
from pliant.models.rigid.inertia import box_triangles
from pliant.viewer.inputs import scalar
from pliant.viewer.palette import TINTS
from pliant.viewer.shapes import Triangles, ball, revolve
from pliant.viewer.subject import AUTOMATIC, SLIDERS, TARGET, Demand

_BLUE, _ORANGE, _GREEN, _GREY, _DARK = TINTS[0], TINTS[1], TINTS[2], "#a8afba", "#5d6673"
_X = np.array([1.0, 0.0, 0.0])
_Z = np.array([0.0, 0.0, 1.0])
BALL, PUSH = 0.1, 20.0
"""Radius of the drawn ball, m, and the largest force on it, N."""
TORQUE = 0.02
"""Largest torque on the maze, N·m."""
WORKSPACE = np.array([[-0.13, -0.13, -0.47], [0.13, 0.13, -0.33]])
"""Corners of the box of wrist targets of the delta robot, m: inside its kinematic workspace."""
MOTOR = np.deg2rad(15.0)
"""Largest rotation of its motors from their initial angles, rad."""
STIFFNESS, DAMPING = 150.0, 22.0
"""Gains of the delta robot for a target, 1/s² and 1/s."""
FINGER, BRICK = (0.010, 0.010, 0.085), 0.03
"""Size of the finger and edge of the brick, m."""


def ball_subject() -> HybridSubject:
    """A ball above a floor, pushed up and down."""
    system = bouncing_ball(alpha=(100.0, 5.0, 1e6))

    def push(demand: Callable[[], Demand]) -> Any:
        return lambda t, q, v: np.array([demand().controls["force"]])

    def arrows(point: HybridState) -> tuple[FloatArray, FloatArray]:
        return np.array([[0.0, 0.0, point.q[0]]]), np.array([[0.0, 0.0, point.lam[0]]])

    picture = Picture(
        parts=(Part("ball", ball(np.zeros(3), BALL), _ORANGE, lambda q: _at((0.0, 0.0, q[0] + BALL))),),
        controllers={SLIDERS: push},
        view_points=np.array([[-0.4, -0.4, 0.0], [0.4, 0.4, 1.2]]),
        ranges=(scalar("force", "N", 1.0, (-PUSH, PUSH, 0.0), float),),
        obstacles=(Obstacle.plane(name="floor"),),
        arrows=arrows,
        readings=lambda point: [("height", f"{point.q[0]:.3f} m"), ("floor", f"{point.lam[0]:.2f} N")],
    )
    about = "one coordinate, one contact; its state machine switches between flight and contact"
    return HybridSubject(system, picture, name="bouncing ball", about=about)


def maze_subject() -> HybridSubject:
    """Four rings with gates; a torque turns them, or the paper's controller does."""
    system = ball_maze()
    radii, radius = system.details["radii"], system.details["ball_radius"]
    parts = [
        Part(f"ring {k + 1}", _ring(float(r), 0.5 * np.pi * (k % 2 == 0), 1.5 * radius / float(r)), _BLUE, _turned)
        for k, r in enumerate(radii)
    ]
    parts.append(Part("hub", revolve(np.array([[0.012, -0.004], [0.012, 0.004], [0.0, 0.004]]), np.zeros(3),
                                     np.array([0.0, -1.0, 0.0])), _GREY, _turned))  # fmt: skip
    parts.append(Part("ball", ball(np.zeros(3), radius), _ORANGE, lambda q: _at((q[1], 0.0, q[2]))))

    def turn(demand: Callable[[], Demand]) -> Any:
        return lambda t, q, v: np.array([demand().controls["torque"]])

    def readings(point: HybridState) -> list[tuple[str, str]]:
        state = point.states[0]
        where = f"on ring {(state + 1) // 2}" if state % 2 else "falling"
        return [("ball", where), ("turn of the maze", f"{np.rad2deg(point.q[0]):.1f}°"),
                ("torque", f"{1e3 * point.u[0]:.2f} mN·m")]  # fmt: skip

    extent = 1.05 * float(radii[0])
    picture = Picture(
        parts=tuple(parts),
        controllers={AUTOMATIC: lambda demand: maze_controller(), SLIDERS: turn},
        view_points=np.array([[-extent, -0.02, -extent], [extent, 0.02, extent]]),
        ranges=(scalar("torque", "mN·m", 1e3, (-TORQUE, TORQUE, 0.0), float),),
        readings=readings,
        view=(0.12, -1.0, 0.12),
    )
    about = "balance the ball on a ring, then let it fall through the gate; all four take about two minutes"
    return HybridSubject(system, picture, name="ball maze", about=about)


def delta_subject() -> HybridSubject:
    """Three arms, a finger and a brick: drag the wrist, set the motors, or watch the soft touch of the paper."""
    system = delta_robot()
    arms, start = system.details["arms"], np.asarray(system.details["start"])
    angles = arms.inverse(start)
    table = float(start[2]) - FINGER[2] - 0.01
    ahead = float(start[0]) + 0.5 * FINGER[0] + float(system.details["distance"]) + 0.5 * BRICK

    def to_motors(demand: Callable[[], Demand]) -> Any:
        def wanted() -> FloatArray:
            theta = angles + np.array([demand().controls[f"motor {k}"] for k in (1, 2, 3)])
            return np.asarray(arms.forward(theta))

        return _follower(system, wanted)

    def to_target(demand: Callable[[], Demand]) -> Any:
        return _follower(system, lambda: np.clip(demand().target, *WORKSPACE))

    def arrows(point: HybridState) -> tuple[FloatArray, FloatArray]:
        push = float(point.lam[list(system.row_names).index("finger")])
        face = np.array([[ahead - 0.5 * BRICK + point.q[6], point.q[7], table + 0.6 * BRICK]])
        return face, np.array([[push, 0.0, 0.0]])

    def readings(point: HybridState) -> list[tuple[str, str]]:
        push = float(point.lam[list(system.row_names).index("finger")])
        return [("finger on brick", f"{push:.3f} N" if push else "apart"),
                ("torques", ", ".join(f"{u:.2f}" for u in point.u) + " N·m")]  # fmt: skip

    picture = Picture(
        parts=(*_arm_parts(arms), *_touching_parts(arms, table, ahead)),
        controllers={TARGET: to_target, SLIDERS: to_motors, AUTOMATIC: lambda demand: soft_touch(system)},
        view_points=np.array([[-0.3, -0.3, table], [0.3, 0.3, 0.02]]),
        ranges=tuple(scalar(f"motor {k}", "°", 180.0 / np.pi, (-MOTOR, MOTOR, 0.0), float) for k in (1, 2, 3)),
        obstacles=(Obstacle.plane(point=(0.0, 0.0, table), name="table"),),
        arrows=arrows,
        tip=lambda q: q[3:6],
        readings=readings,
        order=5,
    )
    about = "push the brick with the finger; “automatic” is the soft touch of the paper"
    return HybridSubject(system, picture, name="delta robot", about=about)


def cubes_subject() -> HybridSubject:
    """Three cubes that fall on a floor."""
    system = falling_cubes()
    half = system.details["half"]

    def part(k: int) -> Part:
        surface = _box(np.full(3, 2.0 * half))
        return Part(f"cube {k + 1}", surface, TINTS[k], lambda q: _posed(q[6 * k : 6 * k + 6]))

    picture = Picture(
        parts=tuple(part(k) for k in range(3)),
        controllers={AUTOMATIC: lambda demand: None},
        view_points=np.array([[-0.35, -0.15, 0.0], [0.35, 0.15, 0.25]]),
        obstacles=(Obstacle.plane(name="floor"),),
    )
    return HybridSubject(system, picture, name="falling cubes", about="24 vertices, each with its own state machine")


def _follower(system: HybridSystem, wanted: Callable[[], FloatArray]) -> Any:
    """Motor torques that move the wrist to `wanted()` (3,) m: computed torque at the present position."""
    arms = system.details["arms"]
    mass = arms.task_mass(system.q0[:3], system.q0[3:6])

    def torque(t: float, q: FloatArray, v: FloatArray) -> FloatArray:
        jacobian = arms.jacobian(q[:3], q[3:6])
        offset = np.clip(wanted() - q[3:6], -0.03, 0.03)
        force = mass @ (STIFFNESS * offset - DAMPING * v[3:6])
        return np.asarray(jacobian.T @ force + arms.gravity_torque(q[:3], q[3:6], jacobian=jacobian))

    return torque


def _arm_parts(arms: Any) -> list[Part]:
    """The base and three arms of a delta robot."""
    disc = revolve(np.array([[0.0, -0.012], [arms.base_radius + 0.02, -0.012], [arms.base_radius + 0.02, 0.012],
                             [0.0, 0.012]]), np.zeros(3), _Z)  # fmt: skip
    parts = [Part("base", disc, _GREY, lambda q: _at((0.0, 0.0, 0.012)))]
    for k in range(3):
        shoulder = arms.azimuths[k] * arms.base_radius
        side = 0.025 * np.cross(_Z, arms.azimuths[k])

        def upper(q: FloatArray, k: int = k, shoulder: FloatArray = shoulder) -> FloatArray:
            return _along(shoulder, arms.elbows(q[:3])[0][k])

        parts.append(Part(f"arm {k + 1}", _bar(arms.proximal, 0.009), _BLUE, upper))
        for sign in (-1.0, 1.0):

            def lower(q: FloatArray, k: int = k, side: FloatArray = sign * side) -> FloatArray:
                elbow = arms.elbows(q[:3])[0][k]
                return _along(elbow + side, q[3:6] + arms.wrist_radius * arms.azimuths[k] + side)

            parts.append(Part(f"rod {k + 1}", _bar(arms.distal, 0.004), _DARK, lower))
    return parts


def _touching_parts(arms: Any, table: float, ahead: float) -> list[Part]:
    """Wrist, finger and brick."""
    plate = revolve(np.array([[0.0, -0.006], [arms.wrist_radius, -0.006], [arms.wrist_radius, 0.006], [0.0, 0.006]]),
                    np.zeros(3), _Z)  # fmt: skip
    size = np.array(FINGER)
    finger, brick = (_box(s) for s in (size, np.full(3, BRICK)))
    below = np.array([0.0, 0.0, -0.5 * FINGER[2]])
    return [
        Part("wrist", plate, _BLUE, lambda q: _at(q[3:6])),
        Part("finger", finger, _GREEN, lambda q: _at(q[3:6] + below)),
        Part("brick", brick, _ORANGE, lambda q: _at(q[6:9] + np.array([ahead, 0.0, table + 0.5 * BRICK]))),
    ]


def _ring(radius: float, gate: float, half: float) -> Triangles:
    """A ring about y with its outside at `radius` m and a gap of ±`half` rad at the clockwise angle `gate` from z."""
    angle = np.linspace(gate + half, gate + 2.0 * np.pi - half, 97)
    section = np.array([[-0.003, -0.006], [0.0, -0.006], [0.0, 0.006], [-0.003, 0.006]])
    r = radius + section[:, 0]
    points = np.stack([r * np.sin(angle)[:, None], np.broadcast_to(section[:, 1], (97, 4)), r * np.cos(angle)[:, None]],
                      axis=-1)  # fmt: skip
    lids = np.array([[0, 1, 2], [0, 2, 3]])
    triangles = [ring_triangles(97, 4), lids[:, ::-1], 4 * 96 + lids]
    return points.reshape(-1, 3), np.concatenate(triangles).astype(np.int64)


def _turned(q: FloatArray) -> FloatArray:
    """The maze at its turn, counterclockwise seen from −y."""
    return np.vstack([np.zeros(3), rotation_exp(np.array([0.0, -q[0], 0.0]))])


def _bar(length: float, radius: float) -> Triangles:
    profile = np.array([[0.0, 0.0], [radius, 0.0], [radius, length], [0.0, length]])
    return revolve(profile, np.zeros(3), _X)


def _box(size: FloatArray) -> Triangles:
    corners, triangles = box_triangles(size)
    return np.asarray(corners), np.asarray(triangles, np.int64)


def _along(begin: FloatArray, end: FloatArray) -> FloatArray:
    """Pose (4, 3) of a bar along x that reaches from `begin` towards `end`."""
    x = (end - begin) / np.linalg.norm(end - begin)
    y = np.cross(_Z if abs(x[2]) < 0.9 else _X, x)
    y = y / np.linalg.norm(y)
    return np.vstack([begin, np.column_stack([x, y, np.cross(x, y)])])


def _at(place: Any) -> FloatArray:
    return np.vstack([np.asarray(place, float), np.eye(3)])


def _posed(q: FloatArray) -> FloatArray:
    return np.vstack([q[:3], rotation_exp(np.asarray(q[3:], float))])


SUBJECTS: dict[str, Callable[[], HybridSubject]] = {
    "ball": ball_subject,
    "cubes": cubes_subject,
    "delta": delta_subject,
    "maze": maze_subject,
}
"""Builders by the names that `pliant view` has for them."""
