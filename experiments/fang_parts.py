"""What the experiments of Fang et al. 2022 share: silicones, inflation step by step, table I, areas and pictures.

G. Fang, Y. Tian, A. Weightman, C. C. L. Wang, Collision-aware fast simulation for soft robots by optimization-based
geometric computing, IROS 2022.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from pliant.actuators.values import VolumeRatio
from pliant.core.errors import ConvergenceError
from pliant.core.types import FloatArray
from pliant.materials import MooneyRivlin, NeoHookean
from pliant.stepping.minimum_energy import Geometric, GeometricInfo
from pliant.viewer.shapes import shape_triangles
from pliant.viewer.surfaces import SurfaceFrames
from pliant.world import State, World

ECOFLEX = MooneyRivlin(c1=41.8e3, c2=10.6e3, poisson=0.49, density=1070.0, volumetric="quadratic")
DRAGON_SKIN = MooneyRivlin(c1=119e3, c2=23e3, poisson=0.49, density=1080.0, volumetric="quadratic")
"""The two silicones as the paper gives them, Pa, with the volumetric energy of Abaqus, with which it compares."""
SOLE = NeoHookean(young=2e6, poisson=0.49, density=1070.0)
"""Of a finger's stiff layer, on which the paper is silent."""
SOFT_COLOR, STIFF_COLOR, OBSTACLE_COLOR = "#3f7fbf", "#c46a3a", "#9aa3ad"
UPRIGHT = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Turns y upwards, for pictures of robots that stand along y."""
WEIGHTLESS = (0.0, 0.0, 0.0)
"""Gravity in the experiments, m/s²."""
NEAR = 2e-4
"""Gap below which a surface counts as lying against an obstacle, m."""
PATIENT = Geometric(iterations=30)
"""Contacts may take turns for a while before they settle."""
_SAMPLES = 6
"""Parts of the edge of a triangle whose area is measured."""


@dataclass(eq=False)
class Inflation:
    """Shapes of a world along its controls: a state, an info and the seconds of each step; `last` is the last shape
    that was accepted, beyond those where the load path ended early.
    """

    world: World
    states: list[State] = field(default_factory=list)
    infos: list[GeometricInfo] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    last: State | None = None

    @property
    def tetrahedra(self) -> int:
        """Cells of all bodies."""
        return sum(len(model.mesh.cells) for model in self.world.volumes)

    def pressures(self, cavity: Any) -> FloatArray:
        """Pressures of a cavity at each step, (k,) Pa."""
        return np.array([info.actuation(cavity)[1] for info in self.infos])

    def reached(self, cavity: Any) -> float:
        """Volume of a cavity at the end of the load path over that at rest."""
        end = self.states[-1] if self.last is None else self.last
        return float(end.volume(cavity) / self.world.initial_state().volume(cavity))

    def table(self) -> dict[str, Any]:
        """The columns of table I, medians over the steps, s: solver, collision check and collision response."""
        spent = [info.stage_times for info in self.infos]
        check = [times.get("detect", 0.0) + times.get("rows", 0.0) for times in spent]
        response = [times.get("condense", 0.0) + times.get("constraints", 0.0) for times in spent]
        solver = np.array(self.seconds) - check - response
        return {
            "tetrahedra": self.tetrahedra,
            "step_s": float(np.median(self.seconds)),
            "solve_s": float(np.median(solver)),
            "detection_s": float(np.median(check)),
            "response_s": float(np.median(response)),
        }

    def checks(self) -> dict[str, Any]:
        """Checks of every step: volume of the bodies, no inverted cells, equilibrium."""
        return checks(self)


def checks(*inflations: Inflation) -> dict[str, Any]:
    """Checks of every step of `inflations`: volume of the bodies, no inverted cells, equilibrium."""
    infos = [info for one in inflations for info in one.infos]
    return {
        "body_volume_percent": 100.0 * max(abs(change) for info in infos for change in info.volume_changes),
        "inverted": sum(info.inverted for info in infos),
        "residual": max(info.residual for info in infos),
    }


def inflate(
    world: World,
    controls: Iterable[Mapping[Any, Any]],
    *,
    start: State | None = None,
    stepper: Geometric | None = None,
    whole: bool = True,
) -> Inflation:
    """The shapes of `world` under each of `controls`, one step each, from `start` or from rest. Where a step fails that
    is an error, or the end of the load path unless the `whole` of it is wanted.
    """
    state, found = world.initial_state() if start is None else start, Inflation(world)
    step = PATIENT if stepper is None else stepper
    for wanted in controls:
        begin = perf_counter()
        try:
            state, info = step(world, state, wanted)
        except ConvergenceError as error:
            if whole or not found.states:
                raise
            found.last = error.result
            break
        found.seconds.append(perf_counter() - begin)
        found.states.append(state)
        found.infos.append(info)
    return found


def volumes(robot: Any, ratios: Iterable[float]) -> list[dict[Any, VolumeRatio]]:
    """Controls that bring the one chamber of `robot` to each of `ratios` times its volume at rest."""
    return [{robot.cavity: VolumeRatio(ratio)} for ratio in ratios]


def at_pressure(world: World, controls: Any, cavity: Any, pressure: float, known: tuple[float, float]) -> Inflation:
    """The shape at which a cavity has the `pressure`, Pa, within 1 %: `controls(ratio)` for the ratio of volumes found
    by regula falsi between rest and the `known` ratio and its pressure, which must be the higher one.
    """
    low, high, found = (1.0, 0.0), known, Inflation(world)
    for _ in range(12):
        fraction = (pressure - low[1]) / (high[1] - low[1])
        ratio = low[0] + fraction * (high[0] - low[0])
        found = inflate(world, [controls(ratio)], stepper=PATIENT)
        got = float(found.pressures(cavity)[0])
        if abs(got - pressure) <= 0.01 * pressure:
            break
        low, high = ((ratio, got), high) if got < pressure else (low, (ratio, got))
    return found


def pushing(info: GeometricInfo, a: Any, b: Any) -> float:
    """Sum of the contact forces between `a` and `b`, whatever their directions, N."""
    return float(np.linalg.norm(info.contacts(a, b).forces, axis=1).sum())


def touching_area(state: State, body: Any, obstacle: Any, *, within: float = NEAR) -> float:
    """Area of the surface of `body` that is nearer to `obstacle` than `within` (m), m²."""
    weights = _sample_weights()
    triangles = body.mesh.surface().triangles
    corners = state.points(body)[triangles]
    samples = np.einsum("sk,tki->tsi", weights, corners)
    gaps = obstacle.shape.solid.distance(samples.reshape(-1, 3)).gap.reshape(len(triangles), -1)
    areas = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return float(areas @ (gaps < within).mean(axis=1))


def _sample_weights() -> FloatArray:
    """Barycentric coordinates of the middles of equal parts of a triangle, (s, 3)."""
    n = _SAMPLES
    found = []
    for i in range(n):
        for j in range(n - i):
            found.append((i + 1.0 / 3.0, j + 1.0 / 3.0))
            if i + j < n - 1:
                found.append((i + 2.0 / 3.0, j + 2.0 / 3.0))
    first, second = np.array(found).T / n
    weights: FloatArray = np.column_stack([1.0 - first - second, first, second])
    return weights


def body_surface(
    states: Sequence[State], body: Any, *, color: str | None = None, up: Any = None, lift: bool = False
) -> SurfaceFrames:
    """The surface of a body along `states`, turned by the rotation `up` (3, 3) where z is not up; with `lift` it is
    coloured by how far it has risen.
    """
    frames = np.array([state.points(body) for state in states])
    values = 1e3 * (frames - body.mesh.points)[:, :, 2] if lift else None
    turned = frames if up is None else frames @ np.asarray(up).T
    return _drawn(body.mesh.surface().triangles, turned, color, values)


def obstacle_surface(obstacle: Any, *, up: Any = None) -> SurfaceFrames:
    """The surface of an obstacle, turned as that of bodies."""
    made = shape_triangles(obstacle.shape, half_width=0.1)
    assert made is not None
    points, triangles = made
    return _drawn(triangles, (points if up is None else points @ np.asarray(up).T)[None], OBSTACLE_COLOR, None)


def _drawn(triangles: Any, frames: FloatArray, color: str | None, values: FloatArray | None) -> SurfaceFrames:
    """Only the nodes that triangles use."""
    used, number = np.unique(triangles, return_inverse=True)
    shown = None if values is None else values[:, used]
    label = "" if values is None else "lift (mm)"
    return SurfaceFrames(number.reshape(-1, 3), frames[:, used], values=shown, value_label=label, color=color)
