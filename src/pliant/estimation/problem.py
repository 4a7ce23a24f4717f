"""What is unknown in an estimate, and how the readings follow it in the linear model about a shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.estimation.forces import PointForce, Push, bounded
from pliant.estimation.loads import Load, Place, PointLoad, Skin, Spot
from pliant.estimation.sensors import Responses, Sensors
from pliant.identification.measurements import Measurement
from pliant.solvers.inverse.quadratic import FREE, solve_scaled
from pliant.world import World


class Guess(NamedTuple):
    """Forces: the components `x` (k,) of the point forces, N, and the push, None where there is none."""

    x: FloatArray
    spot: Spot | None


@dataclass(frozen=True, eq=False)
class Problem:
    """Sensors and unknown forces in their world."""

    sensors: Sensors
    points: tuple[tuple[PointForce, Place], ...]
    push: tuple[Push, Skin] | None

    @classmethod
    def of(cls, world: World, sensors: Sequence[Measurement], forces: Sequence[PointForce | Push]) -> Problem:
        """Checked."""
        if not sensors or not all(isinstance(each, Measurement) for each in sensors):
            raise InputError(f"sensors must be a list of measurements of pl.identification, got {sensors!r:.60}")
        points = tuple((each, each.bound(world)) for each in forces if isinstance(each, PointForce))
        pushes = [(each, each.bound(world)) for each in forces if isinstance(each, Push)]
        return cls(Sensors.of(world, sensors), points, pushes[0] if pushes else None)

    @property
    def deviations(self) -> FloatArray:
        """Standard deviations of the components of the point forces, (k,), N."""
        return np.concatenate([np.zeros(0), *(np.full(len(one.directions), one.deviation) for one, _ in self.points)])

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Bounds of the components of the point forces, (k,) each, N."""
        return bounded([one for one, _ in self.points])

    def columns(self, responses: Responses, q: Sequence[FloatArray]) -> FloatArray:
        """How the readings follow the components of the point forces, (s, k)."""
        made = [np.zeros((len(responses.G), 0))]
        for one, place in self.points:
            rows = place.map.pull_back_along(q[place.index], one.directions[None])
            made.append(responses.by_body(place.index) @ rows.T)
        return np.concatenate(made, axis=1)

    def corners(self, responses: Responses) -> FloatArray:
        """How the readings follow forces on the corners of the triangles, (t, 3, 3, s)."""
        assert self.push is not None
        skin = self.push[1]
        whole = responses.by_body(skin.index)
        nodal = whole.reshape(len(whole), -1, 3).transpose(1, 2, 0)
        return np.ascontiguousarray(nodal[skin.triangles])

    def loads(self, guess: Guess) -> tuple[Load, ...]:
        """The loads of a guess."""
        made: list[Load] = []
        at = 0
        for one, place in self.points:
            made.append(PointLoad(place, guess.x[at : at + len(one.directions)] @ one.directions))
            at += len(one.directions)
        return (*made, *(() if guess.spot is None else (guess.spot,)))

    def prior(self, guess: Guess) -> float:
        """How unlikely the forces were before anything was measured, in squares of deviations."""
        cost = float(((guess.x / self.deviations) ** 2).sum())
        if guess.spot is None or self.push is None:
            return cost
        size = guess.spot.size if guess.spot.size is not None else float(np.linalg.norm(guess.spot.force))
        return cost + (size / self.push[0].deviation) ** 2

    def between(self, one: Guess, other: Guess, fraction: float) -> Guess:
        """A `fraction` of the way from one guess to the other."""
        x = one.x + fraction * (other.x - one.x)
        if one.spot is None or other.spot is None or self.push is None:
            return Guess(x, other.spot)
        if fraction == 1.0:
            return other
        skin = self.push[1]
        triangle, weights = skin.between(one.spot, other.spot, fraction)
        force = one.spot.force + fraction * (other.spot.force - one.spot.force)
        sizes = one.spot.size, other.spot.size
        size = None if sizes[0] is None or sizes[1] is None else sizes[0] + fraction * (sizes[1] - sizes[0])
        return Guess(x, Spot(skin.index, skin.triangles[triangle], weights, force, size))

    def fitted(self, P: FloatArray, r: FloatArray) -> FloatArray:
        """min ‖P x − r‖² + ‖x/σ_f‖² within the bounds of the point forces, (k,) N; P and r are over the noise."""
        deviation = self.deviations
        if not len(deviation):
            return np.zeros(0)
        lower, upper = self.bounds
        M = P * deviation  # in units of the deviations: scaled
        low, high = np.maximum(lower / deviation, -FREE), np.minimum(upper / deviation, FREE)
        H = M.T @ M + np.eye(len(deviation))
        scale = float(np.trace(H)) / len(H)
        z, _, _, _ = solve_scaled(H / scale, -(M.T @ r) / scale, np.zeros((0, len(deviation))), low, high)
        return np.asarray(deviation * z)
