"""Contact problems built from rigid bodies: W = H M⁻¹ Hᵀ, q = H v, which always have a solution."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest


def _frame(normal: np.ndarray) -> np.ndarray:
    tangent = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    tangent /= np.linalg.norm(tangent)
    return np.array([normal, tangent, np.cross(normal, tangent)])


def _cross(x: np.ndarray) -> np.ndarray:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


class Assembly:
    """Rigid bodies of unit mass that touch at points; body −1 is the ground."""

    def __init__(self) -> None:
        self.centres: list[np.ndarray] = []
        self.contacts: list[tuple[int, int, np.ndarray, np.ndarray]] = []

    def body(self, centre: tuple[float, float, float]) -> int:
        self.centres.append(np.array(centre, float))
        return len(self.centres) - 1

    def touch(self, a: int, b: int, point: np.ndarray, normal: tuple[float, float, float]) -> None:
        self.contacts.append((a, b, np.asarray(point, float), np.array(normal) / np.linalg.norm(normal)))

    def jacobian(self) -> np.ndarray:
        H = np.zeros((3 * len(self.contacts), 6 * len(self.centres)))
        for c, (a, b, point, normal) in enumerate(self.contacts):
            frame = _frame(normal)
            for sign, body in ((1, a), (-1, b)):
                if body >= 0:
                    arm = frame @ -_cross(point - self.centres[body])
                    H[3 * c : 3 * c + 3, 6 * body : 6 * body + 6] += sign * np.hstack([frame, arm])
        return H

    def problem(self, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        H = self.jacobian()
        inverse_mass = np.tile([1.0, 1.0, 1.0, 6.0, 6.0, 6.0], len(self.centres))
        return (H * inverse_mass) @ H.T, H @ velocity


def _falling(bodies: int) -> np.ndarray:
    return np.tile([0.0, 0.0, -0.1, 0.0, 0.0, 0.0], bodies)


@pytest.fixture
def block() -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """A unit cube on four points: W, q and H for a free velocity (6,); hyperstatic."""

    def build(velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        assembly = Assembly()
        cube = assembly.body((0.0, 0.0, 0.5))
        for x, y in product((-0.5, 0.5), repeat=2):
            assembly.touch(cube, -1, np.array([x, y, 0.0]), (0, 0, 1))
        return (*assembly.problem(velocity), assembly.jacobian())

    return build


@pytest.fixture
def stack() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """`count` cubes on each other, four points at each face, with noise in the velocity."""

    def build(count: int, *, noise: float = 0.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        assembly = Assembly()
        for level in range(count):
            cube = assembly.body((0.0, 0.0, level + 0.5))
            for x, y in product((-0.5, 0.5), repeat=2):
                assembly.touch(cube, cube - 1, np.array([x, y, level]), (0, 0, 1))
        rng = np.random.default_rng(seed)
        return assembly.problem(_falling(count) + noise * rng.standard_normal(6 * count))

    return build


@pytest.fixture
def pile() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Bodies that touch each other and the ground at random: redundant where contacts outnumber bodies."""

    def build(bodies: int, contacts: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        assembly = Assembly()
        for centre in rng.random((bodies, 3)) * bodies ** (1 / 3):
            assembly.body(tuple(centre))
        for _ in range(contacts):
            a, b = int(rng.integers(bodies)), int(rng.integers(-1, bodies))
            if a == b or b < 0:
                normal = np.array([0, 0, 1.0]) + 0.4 * rng.standard_normal(3)
                assembly.touch(a, -1, assembly.centres[a] - 0.4 * normal, tuple(normal))
            else:
                normal = assembly.centres[a] - assembly.centres[b] + 0.2 * rng.standard_normal(3)
                middle = 0.5 * (assembly.centres[a] + assembly.centres[b])
                assembly.touch(a, b, middle + 0.2 * rng.standard_normal(3), tuple(normal))
        return assembly.problem(10 * _falling(bodies) + 0.3 * rng.standard_normal(6 * bodies))

    return build
