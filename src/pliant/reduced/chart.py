"""Configurations of a reduced volume: coordinates of its modes, and the motions of the nodes there.

A constrained body moves by x = X + Φ y. An unconstrained one has a floating frame (c, R),

    x = c + R (X − C + Φ y),         dx = t + ω × (x − c) + R Φ dy,

with modes free of rigid motions: Σ m φ = 0 and Σ m (X − C) × φ = 0, m the nodal masses. Then c is the centre of
mass of x, and R the polar rotation of Σ m (x − c)(X − C)ᵀ, exactly: positions determine the frame.

Under large bending a body leaves every linear space of few modes; restricted to it, it is far too stiff. It may move on
a quadratic manifold instead, x = X + Φ y + Ψ (y, y ⊗ y) with Ψ orthogonal to Φ (Jain, Tiso, Rutzmoser, Rixen, Computers
and Structures 188, 2017): the coordinates are as few, and the strain is that of k + k(k+1)/2 modes more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pliant.core.lie import rotation_exp
from pliant.core.types import FloatArray
from pliant.models.volume.mass import Mass

_TURN_ITERATIONS = 8
"""Most Newton iterations for a rotation; from a step's own rotation three or four are enough."""
_TURN_EXACT, _TURN_ENOUGH = 1e-15, 1e-12
"""Error relative to the inertia at which the iteration stops, and up to which its result is used."""


@dataclass(frozen=True, eq=False)
class Configuration:
    """A reduced configuration: coordinates y (k,), and the motions D (3n, m) there.

    `dual` Zᵀ (m, 3n) gives the coordinates of a motion, Zᵀ D = I; Z ĝ is a nodal force whose work on the motions is ĝ.
    `mass` (m, m) is DᵀMD, and `gram` ZᵀZ. On a quadratic manifold `slopes` is ∂η/∂y of its parts η.
    """

    y: FloatArray
    motions: FloatArray
    dual: FloatArray
    mass: FloatArray
    gram: FloatArray
    slopes: FloatArray | None

    def forces(self, full: FloatArray) -> FloatArray:
        """Dᵀ f of nodal forces (n, 3) or (3n, c), along the motions: (m,) or (m, c)."""
        flat = full.ravel() if full.size == len(self.motions) else full
        return np.asarray(self.motions.T @ flat)

    def spread(self, along: FloatArray) -> FloatArray:
        """Nodal forces (n, 3), N, with the given forces (m,) along the motions."""
        return (along @ self.dual).reshape(-1, 3)

    def norm(self, along: FloatArray) -> float:
        """Largest norm, N, of the nodal forces of (c, m) forces along the motions."""
        return float(np.sqrt(((along @ self.gram) * along).sum(axis=1).max()))


class Chart:
    """Between the positions of the nodes and the coordinates of the modes.

    Subclasses provide `rest` (n, 3), m, `modes`, and the three methods without defaults.
    """

    rest: FloatArray
    modes: FloatArray
    dual: FloatArray
    rigid: ClassVar[int] = 0
    """Number of rigid motions before the modes."""

    def parts(self, y: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """What the strain is linear in, the coordinates themselves by default, and its slopes by y."""
        return y, None

    def at(self, x: FloatArray) -> Configuration:
        """The configuration of the body at positions x (n, 3)."""
        raise NotImplementedError

    def positions(self, at: Any) -> FloatArray:
        """Positions (n, 3), m, of the configuration `at`."""
        raise NotImplementedError

    def moved(self, end: FloatArray, step: FloatArray, at: FloatArray) -> FloatArray:
        """Positions (n, 3) after `end`, by a `step` (n, 3) that was found at positions `at` (n, 3)."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class LinearChart(Chart):
    """The chart of a constrained body: y are linear in the positions."""

    rest: FloatArray
    modes: FloatArray
    dual: FloatArray
    mass: FloatArray
    gram: FloatArray

    @classmethod
    def of(cls, rest: FloatArray, modes: FloatArray, mass: Mass) -> LinearChart:
        """Of modes Φ (3n, k) over the rest positions (n, 3)."""
        dual = _dual(modes, mass)
        return cls(rest, modes, dual, modal_mass(modes, mass), dual @ dual.T)

    def at(self, x: FloatArray) -> Configuration:
        """The configuration at positions x (n, 3)."""
        y = self.dual @ (x - self.rest).ravel()
        return Configuration(y, self.modes, self.dual, self.mass, self.gram, None)

    def positions(self, at: Configuration) -> FloatArray:
        """Positions (n, 3), m, of a configuration."""
        return self.rest + (self.modes @ at.y).reshape(-1, 3)

    def moved(self, end: FloatArray, step: FloatArray, at: FloatArray) -> FloatArray:
        """Positions (n, 3) after `end`."""
        return end + step


@dataclass(frozen=True, eq=False)
class CurvedChart(Chart):
    """The chart of a constrained body on a quadratic manifold. `modes` (3n, k + e) are displacements by its parts η(y),
    the k coordinates and their e = k(k+1)/2 products; `dual` reads the coordinates.
    """

    rest: FloatArray
    modes: FloatArray
    dual: FloatArray
    part_mass: FloatArray
    gram: FloatArray

    @classmethod
    def of(cls, rest: FloatArray, modes: FloatArray, curvature: FloatArray, mass: Mass) -> CurvedChart:
        """Of modes Φ (3n, k), orthonormal in the nodal masses, and displacements (3n, k + e), made orthogonal to Φ."""
        count = modes.shape[1]
        dual = np.ascontiguousarray((np.repeat(mass.nodal, 3)[:, None] * modes).T)
        parts = curvature - modes @ (dual @ curvature)
        parts[:, :count] += modes
        return cls(rest, np.ascontiguousarray(parts), dual, modal_mass(parts, mass), dual @ dual.T)

    def parts(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """η (k + e,) and its slopes ∂η/∂y (k + e, k)."""
        first, second, rows, linear = self._pairs
        one, other = y[first], y[second]
        slopes = linear.copy()
        slopes[rows, first] += other
        slopes[rows, second] += one
        return np.concatenate([y, one * other]), slopes

    @cached_property
    def _pairs(self) -> tuple[Any, Any, Any, FloatArray]:
        """The coordinates of each product, its rows among the slopes, and the slopes at y = 0."""
        count = len(self.dual)
        first, second = np.triu_indices(count)
        return first, second, np.arange(count, count + len(first)), np.eye(count + len(first), count)

    def at(self, x: FloatArray) -> Configuration:
        """The configuration at positions x (n, 3)."""
        y = self.dual @ (x - self.rest).ravel()
        slopes = self.parts(y)[1]
        return Configuration(y, self.modes @ slopes, self.dual, slopes.T @ self.part_mass @ slopes, self.gram, slopes)

    def positions(self, at: Configuration) -> FloatArray:
        """Positions (n, 3), m, of a configuration."""
        return self._posed(at.y)

    def moved(self, end: FloatArray, step: FloatArray, at: FloatArray) -> FloatArray:
        """Positions (n, 3) after `end`."""
        return self._posed(self.dual @ (end - self.rest + step).ravel())

    def _posed(self, y: FloatArray) -> FloatArray:
        return self.rest + (self.modes @ self.parts(y)[0]).reshape(-1, 3)


@dataclass(frozen=True, eq=False)
class FloatingConfiguration(Configuration):
    """The configuration of an unconstrained body, with its centre of mass (3,), m, and its rotation (3, 3)."""

    center: FloatArray
    rotation: FloatArray
    arms: FloatArray


@dataclass(frozen=True, eq=False)
class FloatingChart(Chart):
    """The chart of an unconstrained body; `length`, m, its radius of gyration, turns angles into lengths."""

    rest: FloatArray
    modes: FloatArray
    mass: Mass
    arms: FloatArray
    dual: FloatArray
    length: float
    rigid: ClassVar[int] = 6

    @classmethod
    def of(cls, rest: FloatArray, modes: FloatArray, mass: Mass) -> FloatingChart:
        """Of modes Φ (3n, k) over the rest positions (n, 3), from which rigid motions are removed."""
        m = mass.nodal
        arms = rest - m @ rest / m.sum()
        length = float(np.sqrt(m @ (arms**2).sum(axis=1) / m.sum()))
        rigid = rigid_motions(arms) / np.array([1.0, 1.0, 1.0, length, length, length])
        own = modes - rigid @ (_dual(rigid, mass) @ modes)
        return cls(rest, own, mass, arms, _dual(own, mass), length)

    def frame(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Centre of mass, rotation, and coordinates (k,) of the modes at positions x (n, 3)."""
        center, rotation, moved = floating_frame(x, self.rest, self.mass.nodal)
        return center, rotation, self.dual @ moved.ravel()

    def at(self, x: FloatArray) -> FloatingConfiguration:
        """The configuration at positions x (n, 3)."""
        center, rotation, y = self.frame(x)
        arms, shape = x - center, (len(x), 3, self.modes.shape[1])
        motions = np.empty((x.size, 6 + self.modes.shape[1]))
        motions[:, :6] = rigid_motions(arms)
        motions[:, 3:6] /= self.length
        motions[:, 6:] = (rotation @ self.modes.reshape(shape)).reshape(x.size, -1)
        dual = _dual(motions, self.mass)
        mass = modal_mass(motions, self.mass)
        return FloatingConfiguration(y, motions, dual, mass, dual @ dual.T, None, center, rotation, arms)

    def positions(self, at: FloatingConfiguration) -> FloatArray:
        """Positions (n, 3), m, of a configuration."""
        return self._posed(at.center, at.rotation, at.y)

    def moved(self, end: FloatArray, step: FloatArray, at: FloatArray) -> FloatArray:
        """The frame turns by exp of the angle that keeps the angular momentum; that of the step would lose some."""
        here = self.at(at)
        z = here.dual @ step.ravel()
        center, rotation, y = self.frame(end)
        weighted = self.mass.nodal[:, None] * here.arms
        target = _axial((end - center + step).T @ weighted)
        there = self._posed(np.zeros(3), rotation, y + z[6:])
        turn = _turn(z[3:6] / self.length, there.T @ weighted, target)
        return center + z[:3] + there @ turn.T

    def _posed(self, center: FloatArray, rotation: FloatArray, y: FloatArray) -> FloatArray:
        return center + (self.arms + (self.modes @ y).reshape(-1, 3)) @ rotation.T


def _turn(start: FloatArray, N: FloatArray, target: FloatArray) -> FloatArray:
    """The rotation Q near exp(start), rad, with `target` as axial vector of Q N (3, 3); without one exp(start)."""
    first = Q = rotation_exp(start)
    for _ in range(_TURN_ITERATIONS):
        P = Q @ N
        miss = target - _axial(P)
        if float(np.abs(miss).max()) <= _TURN_EXACT * float(np.trace(N)):
            return Q
        Q = rotation_exp(np.linalg.solve(np.trace(P) * np.eye(3) - P, miss)) @ Q
    return Q if float(np.abs(target - _axial(Q @ N)).max()) <= _TURN_ENOUGH * float(np.trace(N)) else first


def _axial(P: FloatArray) -> FloatArray:
    """Σ b × a of P = Σ a bᵀ, (3,)."""
    return np.array([P[2, 1] - P[1, 2], P[0, 2] - P[2, 0], P[1, 0] - P[0, 1]])


def floating_frame(x: FloatArray, rest: FloatArray, mass: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Centre of mass (3,), m, rotation (3, 3) and displacements (n, 3), m, in that frame, of nodes at x (n, 3)."""
    center = mass @ x / mass.sum()
    arms, first = x - center, rest - mass @ rest / mass.sum()
    U, _, V = np.linalg.svd((mass[:, None] * arms).T @ first)
    U[:, 2] *= np.sign(np.linalg.det(U @ V))
    rotation: FloatArray = U @ V
    return center, rotation, arms @ rotation - first


def rigid_motions(arms: FloatArray) -> FloatArray:
    """Translations, and rotations by 1 rad about the origin, of points at `arms` (n, 3), m: (3n, 6)."""
    motions = np.zeros((len(arms), 3, 6))
    motions[:, [0, 1, 2], [0, 1, 2]] = 1.0
    x, y, z = arms.T
    motions[:, 1, 3], motions[:, 2, 3] = -z, y
    motions[:, 0, 4], motions[:, 2, 4] = z, -x
    motions[:, 0, 5], motions[:, 1, 5] = -y, x
    return motions.reshape(-1, 6)


def modal_mass(motions: FloatArray, mass: Mass) -> FloatArray:
    """DᵀMD, (m, m), kg, symmetric to the last bit."""
    if mass.blocks is None:
        pushed = np.repeat(mass.nodal, 3)[:, None] * motions
    else:
        pushed = np.stack([mass.apply(d.reshape(-1, 3)).ravel() for d in motions.T], axis=1)
    product = motions.T @ pushed
    return 0.5 * (product + product.T)


def _dual(motions: FloatArray, mass: Mass) -> FloatArray:
    """Zᵀ = (DᵀmD)⁻¹ Dᵀm with the nodal masses m, (m, 3n)."""
    weighted = np.repeat(mass.nodal, 3)[:, None] * motions
    return np.asarray(np.ascontiguousarray(np.linalg.solve(motions.T @ weighted, weighted.T)))
