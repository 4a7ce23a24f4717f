"""The rest shape X of a volume in the equations of a step, at fixed displacements u = q − X of its nodes.

The first state keeps its displacement, clamped nodes stay where the rest shape has them, and every state q = X + u
follows: what is differentiated is J(X) of the changed world, begun with the same u. Forces and masses are those of
`models.volume.rest_slope`. Rows follow X in three ways: by the positions of the nodes, at the start and at the end of
the step; by the volume of a chamber at rest, from which its growth counts; and by the weights with which nodes carry
points that are given by coordinates, such as the via points of a cable. With fixed positions, moving the node b of a
cell by d moves the material at such a point P as if P were moved by −N_b(P) d.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pliant.constraints.rows import RowView
from pliant.core.arrays import transposed_product
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.gradients.adjoint import Multipliers, StepAdjoint
from pliant.gradients.effects import Changes, Effect
from pliant.gradients.finite import STEP, derivative
from pliant.gradients.losses import Instant, Loss, Slope
from pliant.world import World
from pliant.world.rest_shape import is_volume, orientation


class _Carried(NamedTuple):
    """A point that a constraint takes from the material of the body: the index of the `constraint`, its map's `nodes`
    and `weights` (j,), and for each axis the constraint with the point moved by some steps.
    """

    constraint: int
    nodes: Any
    weights: FloatArray
    moved: tuple[dict[float, Any], ...]


class OfRestShape(Effect):
    """By the rest positions of the nodes of the body `index`, (n, 3)."""

    def __init__(self, world: World, index: int) -> None:
        model: Any = world.models[index]
        if not is_volume(model.spec) or world.reductions:
            raise InputError(
                f"pl.parameters.RestShape is for volumes of worlds that are not reduced; {model.name!r} is none of them"
            )
        if np.any(model.spec.spin):
            raise InputError(f"the rest shape of {model.name!r} is not differentiated: it begins with a spin")
        super().__init__(model.rest.shape)
        self._world, self._index, self._model = world, index, model
        self._turn = orientation(model.spec.mesh, model.mesh)
        self._step = 1e-2 * STEP * float(np.ptp(model.rest, axis=0).max())
        self._carried = [each for k, rows in enumerate(world.constraints) for each in self._points(k, rows)]

    def changes(self, k: int, step: StepAdjoint) -> Changes | None:
        """Not told as columns: three for each node."""
        raise InputError(
            "pl.sensitivities carries a column for each number, three for each node of a rest shape: take pl.gradient, "
            "or differences of pl.changed(world, {rest_shape: points})"
        )

    def add(self, k: int, step: StepAdjoint, found: Multipliers) -> None:
        """See `Effect.add`."""
        trial: Any = step.trials[self._index]
        self._check(trial, step)
        made = trial.rest_slope(found.w[self._index])
        if step.ends is not None:
            if step.bodies.scheme.theta != 1.0 and step.ends.rows.H[self._index][step.ends.lam != 0.0].nnz:
                raise self._at_middle()
            made += self._of_rows(step, found)
        self._gather(made)

    def add_velocities(self, step: StepAdjoint, ended: Any) -> None:
        """See `Effect.add_velocities`."""
        if ended.y[self._index] is not None:
            raise self._at_middle()

    def _at_middle(self) -> InputError:
        return InputError(
            f"the rest shape of {self._model.name!r} is not differentiated where rows act on it in a "
            "pl.ImplicitMidpoint; use pl.ImplicitEuler with a tolerance"
        )

    def add_slope(self, slope: Slope) -> None:
        """See `Effect.add_slope`: positions follow the rest shape."""
        if self._index in slope.q:
            self._gather(slope.q[self._index])

    def add_loss(self, loss: Loss, instant: Instant) -> None:
        """See `Effect.add_loss`."""
        self._gather(np.zeros(self.derivative.shape) + loss.by_rest(instant, self._index))

    def _gather(self, placed: Any) -> None:
        self.derivative += placed @ self._turn

    def _check(self, trial: Any, step: StepAdjoint) -> None:
        if (step.ends is not None and step.ends.ahead is not None) or trial.model is not self._model:
            raise InputError(
                "rest shapes are not differentiated through steps of one linear solve: give the stepper a tolerance, "
                "1e-10"
            )
        if trial.turning is not None:
            raise InputError(f"the rest shape of {self._model.name!r} is not differentiated: it turns freely in a step")
        for support, _, _ in self._model.supports:
            turn = support.placement(step.bodies.controls.get(support))[1]
            if turn is not None and np.any(turn):
                raise InputError(
                    f"the rest shape of {self._model.name!r} is not differentiated: one of its supports turns it"
                )

    def _of_rows(self, step: StepAdjoint, found: Multipliers) -> FloatArray:
        """Of the rows: w · ∂(Hᵀλ)/∂X − Bᵀν · ∂δ/∂X, (n, 3)."""
        own, w = self._index, found.w
        weighed = step.active.B.T @ found.nu
        shape = w[own].shape
        made: FloatArray = -np.asarray(step.G[own].T @ weighed).reshape(shape)
        made += step.pushed_by(own, w)
        start = step.of_start
        if own in start.gap:
            made -= np.asarray(start.gap[own].T @ weighed).reshape(shape)
        for (j, k), X in start.push.items():
            if k == own:
                made += np.asarray(X.T @ w[j].ravel()).reshape(shape)
        slices = step.info.assembly.slices  # type: ignore[union-attr]
        for k, rows in enumerate(self._world.constraints):
            of_volume = getattr(rows, "rest_gradient", None)
            if of_volume is not None and rows.index == self._index:  # type: ignore[attr-defined]
                gradient = -of_volume(self._model.rest)
                made -= float(weighed[slices[k].start]) * gradient
        for point in self._carried:
            moved = self._by_point(point, step, w, weighed, slices[point.constraint])
            np.add.at(made, point.nodes, -point.weights[:, None] * moved)
        return made

    def _by_point(
        self, point: _Carried, step: StepAdjoint, w: list[FloatArray], weighed: FloatArray, own: slice
    ) -> FloatArray:
        """The same by the place of a carried point, (3,)."""
        assert step.ends is not None
        lam, view = step.ends.lam[own], step.bodies.view()
        slips = [slip for slip in step.ends.slips if own.start <= slip.row < own.stop]

        def value(made: Any) -> float:
            rows = made.rows_at(view)[0]
            if rows.count != own.stop - own.start:
                raise InputError(
                    f"{made.name!r} changes its rows where a node of {self._model.name!r} moves at rest: there the "
                    "step has no derivative"
                )
            pushed = sum(transposed_product(H, lam) @ x.ravel() for H, x in zip(rows.H, w, strict=True))
            gap = rows.gap.copy()
            for slip in slips:
                gap[slip.row - own.start] = slip.drop(rows, slip.row - own.start)
            return float(pushed - weighed[own] @ gap)

        def along(moved: dict[float, Any], s: float) -> float:
            return value(moved[s])

        return np.array([derivative(partial(along, axis), self._step) for axis in point.moved])

    def _points(self, k: int, rows: Any) -> Iterator[_Carried]:
        """The points that a constraint takes from the material of the body."""
        carried = rows.carried(self._index)
        if carried is None:
            if not self._touches(rows):
                return
            raise InputError(
                f"the rest shape of {self._model.name!r} is not differentiated: how {rows.name!r}, a "
                f"{type(rows).__name__.removesuffix('Rows')}, follows it is not known"
            )
        for map_, rebuilt in carried if carried and self._touches(rows) else []:
            places = map_.points(self._model.rest)
            for place, (nodes, weights) in enumerate(zip(map_.nodes, map_.weights, strict=True)):
                axes = []
                for axis in range(3):
                    moved = {}
                    for times in (1.0, -1.0, 2.0, -2.0):
                        there = places.copy()
                        there[place, axis] += times * self._step
                        other = self._model.embed(there, what=f"points of {rows.name!r}", reach=np.inf, placed=True)
                        moved[times * self._step] = rebuilt(other)
                    axes.append(moved)
                yield _Carried(k, nodes, weights, tuple(axes))

    def _touches(self, rows: Any) -> bool:
        view = RowView.of(self._world.models)
        return bool(rows.rows_at(view)[0].H[self._index].nnz) or self._index in getattr(rows, "stiff_models", ())
