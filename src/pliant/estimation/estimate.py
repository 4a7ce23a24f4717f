"""What `pl.Estimator` found, and how far it can be trusted.

With M the derivatives of the readings over their noise by the unknowns, and P the precision of what was known before,
the covariance is C = (Mᵀ M + P)⁻¹. A push has its force and two coordinates of its place along the surface; before
anything is measured the place has the size of the body as its deviation. Bounds that are reached are equalities.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import stats

from pliant.core.checks import finite_array
from pliant.core.errors import InputError, PliantWarning
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.estimation.forces import inside
from pliant.estimation.loads import Skin, Spot
from pliant.stepping import StepInfo
from pliant.world import State

if TYPE_CHECKING:
    from pliant.estimation.problem import Problem
    from pliant.estimation.search import Result
    from pliant.estimation.sensors import Responses

OPEN = 0.5
"""Deviation of a combination of forces, over that before anything was measured, above which it counts as left open."""
LEVEL = 0.95
"""Probability of the places among which another one is reported, and with which intervals of `report` cover."""
APART = 0.03
"""Distance over the length of the body below which two places of a push are not told apart in a report."""
UNFINISHED = 1.0
"""Decrease of the cost, in squares of deviations, that a search may leave without a warning."""
UNEXPLAINED = 1e-4
"""Probability of a misfit as large as the one found, below which a warning says that the model does not explain it."""


@one_line
@dataclass(frozen=True, eq=False)
class Alternative:
    """Another push that explains the readings about as well: `place` and `force` (3,), m and N, and how much larger its
    cost is, in squares of deviations.
    """

    place: FloatArray
    force: FloatArray
    worse: float


@one_line
@dataclass(frozen=True, eq=False)
class Felt:
    """An external force.

    force, place
        (3,) N, and (3,) m where it acts in the estimated shape.
    covariance, place_covariance
        (3, 3) N² and (3, 3) m²; of a known place zero.
    material_point
        The place in the frame of the body's mesh where the world begins, (3,) m.
    alternatives
        Of a push: other places that cannot be excluded, with a probability of 95 %.
    """

    force: FloatArray
    place: FloatArray
    covariance: FloatArray
    place_covariance: FloatArray
    material_point: FloatArray
    alternatives: tuple[Alternative, ...] = ()

    @property
    def size(self) -> float:
        """Its norm, N."""
        return float(np.linalg.norm(self.force))

    @property
    def deviation(self) -> float:
        """Standard deviation of its norm, N."""
        size = self.size
        along = self.force / size if size else np.zeros(3)
        return float(np.sqrt(along @ self.covariance @ along))

    @property
    def place_deviation(self) -> float:
        """Standard deviation of the place along the direction in which it is largest, m."""
        return float(np.sqrt(max(np.linalg.eigvalsh(self.place_covariance)[-1], 0.0)))


class _Unknowns(NamedTuple):
    """Derivatives by all unknowns at the estimate: `columns` of the readings (s, k), `pushes` of the generalized forces
    by body, and the deviations before anything was measured (k,).
    """

    columns: FloatArray
    pushes: list[tuple[int, FloatArray]]
    deviation: FloatArray


@one_line
@dataclass(frozen=True, eq=False)
class Estimate:
    """The forces and the shape that explain what the sensors read.

    felt
        By unknown, as it was given to the estimator: a `Felt`; also ``estimate[unknown]``.
    state, info
        The equilibrium under these forces, and what its solve reports: the shape.
    residuals
        By sensor: reading − model, of the shape of the reading, in its unit; NaN at gaps.
    names, covariance
        The unknowns in order (k,) and their covariance (k, k), N and m.
    misfit
        ‖residuals / noise‖², `readings` their count.
    rounds, warnings
        Equilibria that were linearised, and what was warned of.
    """

    felt: Mapping[Any, Felt]
    state: State
    info: StepInfo
    residuals: Mapping[Any, FloatArray]
    names: tuple[str, ...]
    covariance: FloatArray
    misfit: float
    readings: int
    rounds: int
    warnings: tuple[str, ...]
    responses: Responses = field(repr=False)
    unknowns: _Unknowns = field(repr=False)

    def __getitem__(self, unknown: Any) -> Felt:
        """What was found of an unknown force."""
        if unknown not in self.felt:
            raise InputError(f"{unknown!r:.80} is none of the forces of this estimator")
        return self.felt[unknown]

    def shape_covariance(self, body: Any, points: Any) -> FloatArray:
        """Covariance (k, 3, 3), m², of where `points` (k, 3), m, of `body` (frame of its mesh) are in the estimate."""
        world = self.state.world
        index = world.index(getattr(body, "body", body))
        where = finite_array("points", points, shape=(None, 3))
        embedded = world.models[index].embed(where, what="point")
        rows = embedded.pull_back_along(self.state.q[index], np.broadcast_to(np.eye(3), (len(where), 3, 3)))
        first = int(self.responses.ends[index])
        moved = (rows @ self._motions[first : first + rows.shape[1]]).reshape(len(where), 3, -1)
        return np.asarray(np.einsum("kia,ab,kjb->kij", moved, self.covariance, moved))

    @cached_property
    def _motions(self) -> FloatArray:
        """How all bodies follow the unknowns, (n, k)."""
        return np.column_stack([self.responses.motion(*push) for push in self.unknowns.pushes])

    def report(self) -> str:
        """The forces with their deviations, the residuals of each sensor, and the warnings."""
        lines = [f"found in {self.rounds} rounds; misfit {self.misfit:.3g} of {self.readings} readings"]
        for unknown, own in self.felt.items():
            force, place = ", ".join(f"{x:.3g}" for x in own.force), ", ".join(f"{1e3 * x:.1f}" for x in own.place)
            text = f"{unknown.name}: {own.size:.3g} ± {own.deviation:.2g} N ({force}) at ({place})"
            lines.append(f"{text} ± {1e3 * own.place_deviation:.2g} mm")
        for sensor, left in self.residuals.items():
            if not np.isnan(left).all():
                rms = float(np.sqrt(np.nanmean(left**2)))
                lines.append(f"{sensor.label}: rms residual {rms:.3g} {sensor.unit}, noise {sensor.noise:.3g}")
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])


def estimate(problem: Problem, result: Result, readings: FloatArray) -> Estimate:
    """The estimate of a search."""
    shape = result.shape
    left = readings - shape.y
    seen, noise = np.isfinite(left), problem.sensors.noise
    unknowns, names = _unknowns(problem, result)
    M = unknowns.columns[seen] / noise[seen, None]
    free = np.ones(len(names), bool)
    free[: len(result.guess.x)] = inside(result.guess.x, *problem.bounds)
    precision = M[:, free].T @ M[:, free] + np.diag(unknowns.deviation[free] ** -2.0)
    covariance = np.zeros((len(names),) * 2)
    covariance[np.ix_(free, free)] = _inverse(precision)
    misfit = float(np.sum((left[seen] / noise[seen]) ** 2))
    felt = _felt(problem, result, covariance)
    said = _warnings(names, felt, covariance, unknowns.deviation, free, misfit, int(seen.sum()))
    if result.left > UNFINISHED:
        said.append(
            f"the search ended where its linear model promises {result.left:.2g} squares of deviations less, at a "
            "switch of contacts or cables, or after max_rounds: the deviations are those of one side of it"
        )
    if result.responses.slides:
        said.append("a contact slides: its friction counts as constant in the deviations, which may be far too small")
    for text in said:
        warnings.warn(text, PliantWarning, stacklevel=3)
    return Estimate(
        felt, shape.state, shape.info, problem.sensors.shaped(left), names, covariance, misfit, int(seen.sum()),
        result.rounds, tuple(said), result.responses, unknowns,
    )  # fmt: skip


def _inverse(precision: FloatArray) -> FloatArray:
    """The inverse of a positive definite matrix whose unknowns have several units."""
    scale = 1.0 / np.sqrt(np.diag(precision))
    return np.asarray(scale[:, None] * np.linalg.inv(scale[:, None] * precision * scale) * scale)


def _unknowns(problem: Problem, result: Result) -> tuple[_Unknowns, tuple[str, ...]]:
    q, responses, spot = result.shape.state.q, result.responses, result.guess.spot
    columns, deviation = [problem.columns(responses, q)], [problem.deviations]
    pushes: list[tuple[int, FloatArray]] = []
    names: list[str] = []
    for one, place in problem.points:
        pushes += [
            (place.index, row) for row in place.map.pull_back_along(q[place.index], one.directions[None]).toarray()
        ]
        names += [f"{one.name} along ({', '.join(f'{x:.3g}' for x in row)})" for row in one.directions]
    if problem.push is not None and spot is not None:
        spec, skin = problem.push
        own = q[skin.index]
        axes, force = _axes(spot, own), spot.at(own)
        parts = [np.outer(spot.weights, axis) for axis in axes]
        parts += [np.outer(slope, force) for slope in _slopes(own[spot.nodes])]
        for part in parts:
            nodal = np.zeros(own.shape)
            nodal[spot.nodes] = part
            pushes.append((skin.index, nodal.ravel()))
        columns.append(responses.by_body(skin.index) @ np.stack([push for _, push in pushes[-len(parts) :]], axis=1))
        deviation.append(np.array([spec.deviation] * len(axes) + [skin.length] * 2))
        kinds = ["size"] if len(axes) == 1 else ["x", "y", "z"]
        names += [f"{spec.name} {kind}" for kind in (*kinds, "first place", "second place")]
    return _Unknowns(np.concatenate(columns, axis=1), pushes, np.concatenate(deviation)), tuple(names)


def _axes(spot: Spot, q: FloatArray) -> FloatArray:
    """Directions (c, 3) of the components of the push."""
    return np.eye(3) if spot.size is None else replace(spot, size=1.0).at(q)[None]


def _tangents(corners: FloatArray) -> FloatArray:
    """Two orthonormal directions (2, 3) in the plane of a triangle (3, 3)."""
    a, b, c = corners
    first = (b - a) / np.linalg.norm(b - a)
    second = (c - a) - ((c - a) @ first) * first
    return np.stack([first, second / np.linalg.norm(second)])


def _slopes(corners: FloatArray) -> FloatArray:
    """Derivatives (2, 3) of the barycentric weights by the two coordinates of a place in its triangle, 1/m."""
    tangents = _tangents(corners)
    edges = np.stack([corners[1] - corners[0], corners[2] - corners[0]], axis=1)
    by = np.linalg.inv(tangents @ edges)
    return np.column_stack([-by.sum(axis=0), by[0], by[1]])


def _felt(problem: Problem, result: Result, covariance: FloatArray) -> dict[Any, Felt]:
    made: dict[Any, Felt] = {}
    state, guess, at = result.shape.state, result.guess, 0
    for one, place in problem.points:
        own = slice(at, at + len(one.directions))
        spread = one.directions.T @ covariance[own, own] @ one.directions
        where = place.map.points(state.q[place.index])[0]
        made[one] = Felt(guess.x[own] @ one.directions, where, spread, np.zeros((3, 3)), one.point)
        at = own.stop
    if problem.push is None or guess.spot is None:
        return made
    spec, skin = problem.push
    spot, q = guess.spot, state.q[skin.index]
    axes, corners = _axes(spot, q), q[spot.nodes]
    own, tangents = slice(at, at + len(axes)), _tangents(corners)
    spread = axes.T @ covariance[own, own] @ axes
    around = tangents.T @ covariance[own.stop :, own.stop :] @ tangents
    where, rest = (spot.weights @ points[spot.nodes] for points in (q, skin.model.spec.mesh.points))
    others = _alternatives(result, skin, where, float(np.sqrt(np.linalg.eigvalsh(around)[-1])))
    made[spec] = Felt(spot.at(q), where, spread, around, rest, others)
    return made


def _alternatives(result: Result, skin: Skin, where: FloatArray, near: float) -> tuple[Alternative, ...]:
    """Places of other triangles that cannot be excluded, farther than three deviations from each other."""
    found, q = result.found, result.shape.state.q[skin.index]
    assert found is not None
    worse = found.cost - found.cost.min()
    places = np.einsum("tc,tca->ta", found.weights, q[skin.triangles])
    apart = max(3.0 * near, APART * skin.length)
    made, taken = [], [where]
    for k in np.argsort(worse):
        if worse[k] > stats.chi2.ppf(LEVEL, 2):
            break
        if min(float(np.linalg.norm(places[k] - each)) for each in taken) > apart:
            made.append(Alternative(places[k], found.force[k], float(worse[k])))
            taken.append(places[k])
    return tuple(made)


def _warnings(
    names: tuple[str, ...], felt: Mapping[Any, Felt], covariance: FloatArray, before: FloatArray, free: Any,
    misfit: float, count: int,
) -> list[str]:  # fmt: skip
    said = []
    scaled = (covariance / np.outer(before, before))[np.ix_(free, free)]
    values, vectors = np.linalg.eigh(scaled)
    listed = [name for name, one in zip(names, free, strict=True) if one]
    for value, vector in zip(values[::-1], vectors.T[::-1], strict=True):
        if value <= OPEN**2:
            break
        parts = vector / vector[int(np.argmax(np.abs(vector)))]
        chosen = [listed[i] for i in np.argsort(-np.abs(parts)) if abs(parts[i]) >= 0.2]
        what = f"determine {chosen[0]}" if len(chosen) == 1 else f"tell apart {', '.join(chosen[:-1])} and {chosen[-1]}"
        said.append(
            f"the readings cannot {what}: they leave {np.sqrt(value):.0%} of what was open before; measure more, or "
            "leave a force out"
        )
    for unknown, own in felt.items():
        if own.alternatives:
            far = max(float(np.linalg.norm(each.place - own.place)) for each in own.alternatives)
            said.append(
                f"the readings cannot tell apart {len(own.alternatives) + 1} places of {unknown.name!r}, up to "
                f"{1e3 * far:.0f} mm from each other; see its alternatives"
            )
    if stats.chi2.sf(misfit, count) < UNEXPLAINED:
        said.append(
            f"the forces do not explain the readings: they are off by {np.sqrt(misfit / count):.2g} times their noise "
            "(rms); look for other forces, other controls than given, or a model that is not the robot"
        )
    return said
