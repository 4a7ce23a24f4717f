"""Where a confined volume is: coordinates of its modes, and how they move the nodes there.

A body that is held moves by x = X + Φ y. One that nothing holds is carried by a frame (c, R) of its own,

    x = c + R (X − C + Φ y),         dx = t + ω × (x − c) + R Φ dy,

with modes that hold no rigid motion: Σ m φ = 0 and Σ m (X − C) × φ = 0, m the nodal masses. Then c is the centre of
mass of x, and R the polar rotation of Σ m (x − c)(X − C)ᵀ, exactly: positions say where the frame is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.core.lie import rotation_exp
from pliant.core.types import FloatArray
from pliant.models.volume.mass import Mass


@dataclass(frozen=True, eq=False)
class Place:
    """A confined body at one shape: its coordinates y (k,), and the motions D (3n, m) it has there.

    `dual` Zᵀ (m, 3n) gives the coordinates of a motion, Zᵀ D = I; Z ĝ is a nodal force whose work on the motions is ĝ.
    `mass` (m, m) is DᵀMD, and `gram` ZᵀZ.
    """

    y: FloatArray
    motions: FloatArray
    dual: FloatArray
    mass: FloatArray
    gram: FloatArray

    def forces(self, full: FloatArray) -> FloatArray:
        """Dᵀ f of nodal forces (n, 3) or (3n, c), along the motions: (m,) or (m, c)."""
        flat = full.ravel() if full.size == len(self.motions) else full
        along: FloatArray = self.motions.T @ flat
        return along

    def spread(self, along: FloatArray) -> FloatArray:
        """Nodal forces (n, 3), N, with the given forces (m,) along the motions."""
        return (along @ self.dual).reshape(-1, 3)

    def norm(self, along: FloatArray) -> float:
        """Norm of those nodal forces, N."""
        return float(np.sqrt(along @ self.gram @ along))


@dataclass(frozen=True, eq=False)
class HeldChart:
    """The chart of a body that is held: y of its modes are linear in the positions."""

    rest: FloatArray
    modes: FloatArray
    dual: FloatArray
    mass: FloatArray
    gram: FloatArray

    @classmethod
    def of(cls, rest: FloatArray, modes: FloatArray, mass: Mass) -> HeldChart:
        """Of modes Φ (3n, k) over the rest shape (n, 3)."""
        dual = _dual(modes, mass)
        return cls(rest, modes, dual, modal_mass(modes, mass), dual @ dual.T)

    @property
    def rigid(self) -> int:
        """Motions in front of the modes."""
        return 0

    def place(self, x: FloatArray) -> Place:
        """Where the body is at positions x (n, 3)."""
        y = self.dual @ (x - self.rest).ravel()
        return Place(y, self.modes, self.dual, self.mass, self.gram)

    def positions(self, place: Place) -> FloatArray:
        """Positions (n, 3), m, that the coordinates stand for."""
        return self.rest + (self.modes @ place.y).reshape(-1, 3)

    def moved(self, end: FloatArray, step: FloatArray, place: Place) -> FloatArray:
        """Positions (n, 3) that `end` goes to by a `step` (n, 3) found at `place`."""
        return end + step


@dataclass(frozen=True, eq=False)
class CarriedPlace(Place):
    """The place of a body that nothing holds: with its centre of mass (3,), m, and its rotation (3, 3)."""

    center: FloatArray
    rotation: FloatArray
    arms: FloatArray


@dataclass(frozen=True, eq=False)
class CarriedChart:
    """The chart of a body that nothing holds. `length`, m, is a radius of gyration: by it the rotations are divided, so
    that all coordinates are lengths.
    """

    rest: FloatArray
    modes: FloatArray
    mass: Mass
    arms: FloatArray
    dual: FloatArray
    length: float

    @classmethod
    def of(cls, rest: FloatArray, modes: FloatArray, mass: Mass) -> CarriedChart:
        """Of modes Φ (3n, k) over the rest shape (n, 3); rigid motions are taken out of them."""
        m = mass.nodal
        arms = rest - m @ rest / m.sum()
        length = float(np.sqrt(m @ (arms**2).sum(axis=1) / m.sum()))
        rigid = rigid_motions(arms) / np.array([1.0, 1.0, 1.0, length, length, length])
        own = modes - rigid @ (_dual(rigid, mass) @ modes)
        return cls(rest, own, mass, arms, _dual(own, mass), length)

    @property
    def rigid(self) -> int:
        """Motions in front of the modes: three translations, three rotations."""
        return 6

    def frame(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Centre of mass, rotation, and coordinates (k,) of the modes at positions x (n, 3)."""
        m = self.mass.nodal
        center = m @ x / m.sum()
        arms = x - center
        U, _, V = np.linalg.svd((m[:, None] * arms).T @ self.arms)
        U[:, 2] *= np.sign(np.linalg.det(U @ V))
        rotation = U @ V
        return center, rotation, self.dual @ (arms @ rotation - self.arms).ravel()

    def place(self, x: FloatArray) -> CarriedPlace:
        """Where the body is at positions x (n, 3)."""
        center, rotation, y = self.frame(x)
        arms, shape = x - center, (len(x), 3, self.modes.shape[1])
        motions = np.empty((x.size, 6 + self.modes.shape[1]))
        motions[:, :6] = rigid_motions(arms)
        motions[:, 3:6] /= self.length
        motions[:, 6:] = (rotation @ self.modes.reshape(shape)).reshape(x.size, -1)
        dual = _dual(motions, self.mass)
        return CarriedPlace(y, motions, dual, modal_mass(motions, self.mass), dual @ dual.T, center, rotation, arms)

    def positions(self, place: Place) -> FloatArray:
        """Positions (n, 3), m, that the coordinates stand for."""
        assert isinstance(place, CarriedPlace)
        return self._posed(place.center, place.rotation, place.y)

    def moved(self, end: FloatArray, step: FloatArray, place: Place) -> FloatArray:
        """Positions (n, 3) that `end` goes to by a `step` (n, 3) found at `place`.

        The frame turns by exp, by an angle such that the way that was gone has the angular momentum of the step: with
        exp of the step's own rotation a body would lose some at every turn.
        """
        assert isinstance(place, CarriedPlace)
        z = place.dual @ step.ravel()
        center, rotation, y = self.frame(end)
        weighted = self.mass.nodal[:, None] * place.arms
        target = _axial((end - center + step).T @ weighted)
        there = self._posed(np.zeros(3), rotation, y + z[6:])
        turn = _turn(z[3:6] / self.length, there.T @ weighted, target)
        return center + z[:3] + there @ turn.T

    def _posed(self, center: FloatArray, rotation: FloatArray, y: FloatArray) -> FloatArray:
        return center + (self.arms + (self.modes @ y).reshape(-1, 3)) @ rotation.T


Chart = HeldChart | CarriedChart


def _turn(start: FloatArray, N: FloatArray, target: FloatArray) -> FloatArray:
    """The rotation Q near exp(start), rad, for which the axial vector of Q N (3, 3) is `target`, by Newton's iteration.

    Beyond a radian or so there is none: then exp(start) itself.
    """
    first = Q = rotation_exp(start)
    for _ in range(8):
        P = Q @ N
        miss = target - _axial(P)
        if float(np.abs(miss).max()) <= 1e-15 * float(np.trace(N)):
            return Q
        Q = rotation_exp(np.linalg.solve(np.trace(P) * np.eye(3) - P, miss)) @ Q
    return Q if float(np.abs(target - _axial(Q @ N)).max()) <= 1e-12 * float(np.trace(N)) else first


def _axial(P: FloatArray) -> FloatArray:
    """Σ b × a of P = Σ a bᵀ, (3,)."""
    return np.array([P[2, 1] - P[1, 2], P[0, 2] - P[2, 0], P[1, 0] - P[0, 1]])


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
    dual: FloatArray = np.ascontiguousarray(np.linalg.solve(motions.T @ weighted, weighted.T))
    return dual
