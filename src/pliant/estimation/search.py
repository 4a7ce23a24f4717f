"""The rounds of an estimate.

First the shape: forces on all nodes where a push may be, of least size, bring the readings of the model to those of the
sensors. About this shape, which is near the true one whatever caused it, the linear model says how readings follow
forces at all places at once (`estimation.sensors`), and the places that explain them best are candidates
(`estimation.places`). From each of the first few, Gauss–Newton rounds follow over forces and place: the equilibrium
under the present guess, its linear model, the best guess nearby in it; a fraction of the way is taken where the whole
does not decrease the cost. The best result counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import stats

from pliant.core.errors import ConvergenceError
from pliant.core.immutable import evolve
from pliant.core.types import FloatArray
from pliant.estimation.loads import AppliedLoads, Load, NodalLoad, Skin, Spot, summed
from pliant.estimation.places import Found, any_pushes, divided, normal_pushes
from pliant.estimation.problem import Guess, Problem
from pliant.estimation.sensors import Responses
from pliant.models.workspace import Workspace
from pliant.stepping import StepInfo
from pliant.stepping.session import DirectSession
from pliant.world import State, World

if TYPE_CHECKING:
    from pliant.estimation.estimator import Estimator

CANDIDATES = 4
"""Places from which a push is looked for."""
APART = 0.1
"""Distance of two candidates, over the length of the body."""
NEARBY = 0.25
"""Distance within which a round looks for a better place, over the length of the body."""
LEAST_FRACTION = 1.0 / 64.0
"""Fraction of a change of forces below which a round gives up."""
PROMISED = 1.0
"""Decrease of the cost, in squares of deviations, which a place farther away has to promise to be tried too."""
SOLVES = 40
"""Linear solves at most for an equilibrium on the way: one that takes more is far, and a smaller change is taken."""
EXPLAINED = 0.9
"""Probability of a smaller misfit, up to which no other place is tried."""
DAMPED = 0.2
"""Noise that the readings are taken to have where they are far off, over what they are off: forces stay moderate."""
SHAPE_ROUNDS = 20
"""Rounds at most in which the shape is found."""


@dataclass(frozen=True, eq=False)
class WithLoads:
    """The solver of a step under loads beside those of the world."""

    loads: tuple[Load, ...]

    def begin(
        self, world: World, state: State, controls: Mapping[Any, Any] | None, workspace: Workspace
    ) -> tuple[dict[Any, Any], DirectSession]:
        """Checked controls of a step from `state`, and the solver of its forces."""
        return world.controls(controls), DirectSession((AppliedLoads(self.loads),) if self.loads else ())


class Shape(NamedTuple):
    """An equilibrium under `loads`, and the readings `y` (s,) in it."""

    state: State
    info: StepInfo
    loads: tuple[Load, ...]
    y: FloatArray


class Result(NamedTuple):
    """A guess with its equilibrium, the linear model about that, the best pushes in it of all triangles, the cost in
    squares of deviations, and the rounds it took. `left` is the decrease that the linear model promises still, and
    `elsewhere` its best guess where that is far away and promises more.
    """

    guess: Guess
    shape: Shape
    responses: Responses
    found: Found | None
    cost: float
    rounds: int
    left: float
    elsewhere: Guess | None = None


class Search:
    """One estimate."""

    def __init__(self, estimator: Estimator, problem: Problem, readings: FloatArray, controls: Any) -> None:
        self.estimator, self.problem, self.controls = estimator, problem, controls
        self.world, self.readings, self.seen = estimator.world, readings, np.isfinite(readings)
        self.values = self.world.controls(controls)
        self.scale = 1.0 / problem.sensors.noise[self.seen]
        self._rounds = 0
        self._anchor: State | None = None

    def run(self, start: State) -> Result:
        """The best result."""
        none = Guess(np.zeros(len(self.problem.deviations)), None)
        if any(each.is_contact and np.any(each.mu) for each in self.world.constraints):  # type: ignore[attr-defined]
            self._anchor = start  # friction counts slip from where the forces began to act, not from the last trial
        shape = self.settled(start, (), solves=self.estimator.stepper.maximum_solves)
        if self.problem.push is None:
            return self._checked([self._descended(none, shape)])
        reached = self._shaped(shape)
        explained = float(stats.chi2.ppf(EXPLAINED, int(self.seen.sum())))
        results: list[Result] = []
        candidates = self._candidates(reached)
        for _ in range(CANDIDATES):
            if not candidates:
                break
            candidate = candidates.pop(0)
            try:
                first = self.settled(reached.state, self.problem.loads(candidate))
            except ConvergenceError:
                continue
            results.append(self._descended(candidate, first))
            if results[-1].elsewhere is not None:
                candidates.insert(0, results[-1].elsewhere)
            elif results[-1].cost <= explained:
                break
        return self._checked(results)

    def misfit(self, y: FloatArray) -> float:
        """‖(ŷ − y)/σ‖²."""
        left = (self.readings - y)[self.seen] * self.scale
        return float(left @ left)

    def settled(self, state: State, loads: tuple[Load, ...], *, solves: int = SOLVES) -> Shape:
        """The equilibrium under `loads`, within so many linear `solves`."""
        own = self.estimator.stepper
        stepper = evolve(own, solver=WithLoads(loads), maximum_solves=min(solves, own.maximum_solves))
        found, info = stepper(self.world, self._anchor or state, self.controls)
        return Shape(found, info, loads, self.problem.sensors.predicted(info))

    def _checked(self, results: list[Result]) -> Result:
        if not results:
            raise ConvergenceError(
                "no equilibrium was found under any of the forces that would explain the readings: check units, "
                "controls and places"
            )
        best = min(results, key=lambda each: each.cost)
        return best._replace(rounds=self._rounds)

    def _responses(self, shape: Shape) -> Responses:
        made = Responses.at(self.problem.sensors, shape.state, self.values)
        for load in shape.loads:
            if isinstance(load, Spot):
                made = made.following(load, shape.state.q[load.index])
        return made

    def _unloaded(self, responses: Responses, shape: Shape) -> FloatArray:
        """Readings (s,) without loads, in the linear model."""
        y = shape.y.copy()
        for index, force in summed(shape.loads, shape.state.q).items():
            y -= responses.by_body(index) @ force
        return y

    def _shaped(self, shape: Shape) -> Shape:
        """The equilibrium under forces on all nodes of the skin, and point forces, that explains the readings."""
        assert self.problem.push is not None
        spec, skin = self.problem.push
        nodes = np.unique(skin.triangles)
        for _ in range(SHAPE_ROUNDS):
            if self.misfit(shape.y) <= 0.1 * self.seen.sum():
                break
            self._rounds += 1
            responses = self._responses(shape)
            r = (self.readings - self._unloaded(responses, shape))[self.seen] * self.scale
            whole = responses.by_body(skin.index)[self.seen] * self.scale[:, None]
            J = whole.reshape(len(r), -1, 3)[:, nodes].reshape(len(r), -1)
            P = self.problem.columns(responses, shape.state.q)[self.seen] * self.scale[:, None]
            prior = P * self.problem.deviations**2
            damped = max(1.0, DAMPED**2 * self.misfit(shape.y) / len(r))
            multipliers = np.linalg.solve(damped * np.eye(len(r)) + spec.deviation**2 * J @ J.T + prior @ P.T, r)
            nodal = np.zeros((skin.model.mesh.node_count, 3))
            nodal[nodes] = spec.deviation**2 * (J.T @ multipliers).reshape(-1, 3)
            wanted = (*self.problem.loads(Guess(prior.T @ multipliers, None)), NodalLoad(skin.index, nodal.ravel()))
            moved = self._towards(shape, wanted)
            if moved is None:
                break
            shape = moved
        return shape

    def _towards(self, shape: Shape, wanted: tuple[Load, ...]) -> Shape | None:
        """The equilibrium under `wanted`, or under a fraction of the change to it, that fits better."""
        fraction = 1.0
        now, then = summed(shape.loads, shape.state.q), summed(wanted, shape.state.q)
        while fraction >= LEAST_FRACTION:
            mixed = tuple(
                NodalLoad(index, np.asarray((1.0 - fraction) * now.get(index, 0.0) + fraction * then.get(index, 0.0)))
                for index in sorted({*now, *then})
            )
            try:
                found = self.settled(shape.state, mixed)
            except ConvergenceError:
                fraction *= 0.25
                continue
            if self.misfit(found.y) < self.misfit(shape.y):
                return found
            fraction *= 0.5
        return None

    def _candidates(self, shape: Shape) -> list[Guess]:
        """Pushes that explain the readings best in the linear model about `shape`, the best first."""
        assert self.problem.push is not None
        skin = self.problem.push[1]
        found, guesses, _ = self._best(self._responses(shape), shape)
        assert found is not None
        rest = np.einsum("tc,tca->ta", found.weights, skin.model.rest[skin.triangles])
        apart = APART * skin.length
        taken: list[int] = []
        for k in np.argsort(found.cost):
            if all(np.linalg.norm(rest[k] - rest[j]) > apart for j in taken):
                taken.append(int(k))
            if len(taken) == CANDIDATES:
                break
        return [guesses(k) for k in taken]

    def _best(self, responses: Responses, shape: Shape) -> tuple[Found | None, Any, Any]:
        """The best push of each triangle in the linear model; the guess for a triangle, and the cost of that."""
        problem = self.problem
        r = (self.readings - self._unloaded(responses, shape))[self.seen] * self.scale
        J0 = problem.columns(responses, shape.state.q)
        P = J0[self.seen] * self.scale[:, None]
        if problem.push is None:
            x = problem.fitted(P, r)
            left = r - P @ x
            return None, lambda k: Guess(x, None), lambda k: float(left @ left) + problem.prior(Guess(x, None))
        spec, skin = problem.push
        corners = problem.corners(responses)[..., self.seen] * self.scale
        root = np.linalg.inv(np.linalg.cholesky(np.eye(len(r)) + (P * problem.deviations**2) @ P.T))
        inward = skin.inward(shape.state.q[skin.index])
        if spec.along == "normal":
            found = normal_pushes(corners @ root.T, root @ r, inward, spec.deviation)  # point forces are marginalised
        else:
            found = any_pushes(corners @ root.T, root @ r, inward, spec.deviation, divided(skin, spec.resolution))

        def rest(k: int) -> FloatArray:
            return np.asarray(r - np.einsum("c,cas,a->s", found.weights[k], corners[k], found.force[k]))

        def guess(k: int) -> Guess:
            size = float(np.linalg.norm(found.force[k])) if spec.along == "normal" else None
            spot = Spot(skin.index, skin.triangles[k], found.weights[k], found.force[k], size)
            return Guess(problem.fitted(P, rest(k)), spot)

        def cost(k: int) -> float:
            made = guess(k)
            left = rest(k) - P @ made.x
            return float(left @ left) + problem.prior(made)

        return found, guess, cost

    def _descended(self, guess: Guess, shape: Shape) -> Result:
        """The best guess near `guess`, whose equilibrium is `shape`."""
        problem = self.problem
        cost = self.misfit(shape.y) + problem.prior(guess)
        for _ in range(self.estimator.max_rounds):
            self._rounds += 1
            responses = self._responses(shape)
            found, guesses, costs = self._best(responses, shape)
            best = self._nearest(found, guess)
            promised = cost - costs(best)
            result = Result(guess, shape, responses, found, cost, 0, max(promised, 0.0))
            if (
                found is not None
                and (far := found.best()) != best
                and cost - costs(far) > max(promised, 0.0) + PROMISED
            ):
                result = result._replace(elsewhere=guesses(far))
            if promised <= self.estimator.tolerance:
                return result
            moved = self._moved(guess, shape, guesses(best), cost)
            if moved is None:
                return result
            guess, shape, cost = moved
        return result

    def _nearest(self, found: Found | None, guess: Guess) -> int:
        """The triangle of the least cost near the present place."""
        if found is None or guess.spot is None or self.problem.push is None:
            return 0
        skin: Skin = self.problem.push[1]
        places = np.einsum("tc,tca->ta", found.weights, skin.model.rest[skin.triangles])
        here = guess.spot.weights @ skin.model.rest[guess.spot.nodes]
        far = np.linalg.norm(places - here, axis=1) > NEARBY * skin.length
        return int(np.argmin(np.where(far, np.inf, found.cost)))

    def _moved(self, guess: Guess, shape: Shape, wanted: Guess, cost: float) -> tuple[Guess, Shape, float] | None:
        """The wanted guess, or one on the way to it, of less cost."""
        fraction = 1.0
        while fraction >= LEAST_FRACTION:
            tried = self.problem.between(guess, wanted, fraction)
            try:
                found = self.settled(shape.state, self.problem.loads(tried))
            except ConvergenceError:
                fraction *= 0.25
                continue
            value = self.misfit(found.y) + self.problem.prior(tried)
            if value < cost:
                return tried, found, value
            fraction *= 0.5
        return None
