"""The matrix of a step of one linear solve follows the forces λ₀ of the step before, and the shape of all bodies.

A holds the geometric stiffness K_c(q, λ₀) of cables, chambers and guides, body by body. K_c of one body may depend on
the place of another, as where a cable runs from one to the next:

    ∂(A dx)/∂λ₀ = ∂K_c/∂λ₀ dx,          ∂(A_k dx_k)/∂q_j = ∂K_c,k/∂q_j dx_k

The first is exact, since K_c is linear in λ₀; the second is a difference over the unknowns of body j that the
constraint touches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints import Constraint, forces_of
from pliant.core.arrays import frozen
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IndexArray
from pliant.gradients.finite import derivative
from pliant.models.model import size_of
from pliant.stepping.bodies import StepBodies

Product = Callable[[int, Sequence[Any], FloatArray], FloatArray]
"""K y of body k, by its index, of the sum K of terms."""
_UNEQUAL = 1e-3
"""Relative difference of uᵀ ∂K/∂v dx and vᵀ ∂K/∂u dx from which on K is not the second derivative of an energy."""
_STEP = 1e-4
"""Motion of a node in the difference of K, over the size of the body."""


class LastForces:
    """What the forces of the step before stiffen in the step of `bodies`; `volumes` are those among them."""

    def __init__(self, bodies: StepBodies, volumes: Sequence[int]) -> None:
        self._bodies, self._volumes = bodies, volumes
        self._starts = [np.asarray(q) for q in bodies.start.q]
        self._own: list[tuple[IndexArray, FloatArray, Any]] = []
        self._forces: FloatArray = np.zeros(0)
        world, start = bodies.world, bodies.start
        if world.stiff_constraints:
            keys, slices = world.stiff_keys
            self._forces = forces_of(keys, start.keys, start.lam)
            pairs = zip(world.stiff_constraints, slices, strict=True)
            made = [(keys[own], self._forces[own], constraint) for constraint, own in pairs]
            self._own = [each for each in made if each[1].any()]

    def check(self, product: Product) -> None:
        """Raise where the stiffness of a constraint is not the second derivative of its δ by one volume."""
        for _, forces, constraint in self._own:
            for k in set(constraint.stiff_models) & set(self._volumes):
                self._check_energetic(k, forces, constraint, product)

    def at(self, k: int, q: FloatArray) -> list[Any]:
        """The terms of the matrix of body k at other positions q of it."""
        if not self._own:
            return []
        x = list(self._starts)
        x[k] = q
        made = []
        for one, own in self._bodies.world.stiffening:
            if self._forces[own].any():
                made += [K for index, K in one.bounded_stiffness(x, self._forces[own], self._theta) if index == k]
        return made

    def terms(self, constraint: Any) -> list[tuple[int, Any]]:
        """The terms of the matrices, by body, of a constraint, or of one that has the keys of one of these."""
        for own, forces, _ in self._own:
            if np.array_equal(own, constraint.stiff_keys):
                return list(constraint.bounded_stiffness(self._starts, forces, self._theta))
        return []

    def by_forces(self, parts: Sequence[Any]) -> Iterator[tuple[int, int, FloatArray]]:
        """∂(A dx)/∂λ₀: keys of rows, bodies by index, and vectors of the shape of dx; `parts` are the bodies in the
        adjoint.
        """
        for own, forces, constraint in self._own:
            for place in np.flatnonzero(forces):
                for alone, sign in unit_forces(constraint, forces, int(place)):
                    for k, K in constraint.bounded_stiffness(self._starts, alone, self._theta):
                        yield int(own[place]), k, sign * parts[k].stiffened([K]) / forces[place]

    def across(self, parts: Sequence[Any], H: Sequence[sparse.csr_matrix], owner: IndexArray) -> Iterator[Any]:
        """∂(A_k dx_k)/∂q_j of bodies k ≠ j: k, j and the matrix (unknowns, unknowns); H are all rows, of the
        constraints `owner` (rows,).
        """
        world = self._bodies.world
        places = {id(constraint): index for index, constraint in enumerate(world.constraints)}
        for _, forces, constraint in self._own:
            touched = self._bodies_of(constraint)
            if len(touched) < 2:
                continue
            own = owner == places[id(constraint)]
            stiff = sorted(set(constraint.stiff_models))
            for j in touched:
                columns = np.unique(sparse.csr_matrix(H[j])[own].indices)
                made = self._columns(j, columns, forces, constraint, parts)
                ends = np.cumsum([0, *(world.sizes[k] for k in stiff)])
                for k, begin, end in zip(stiff, ends[:-1], ends[1:], strict=True):
                    block = made[begin:end]
                    if k != j and block.any():
                        at = sparse.csr_matrix(
                            (np.ones(len(columns)), (np.arange(len(columns)), columns)), (len(columns), world.sizes[j])
                        )
                        yield k, j, sparse.csr_matrix(sparse.csr_matrix(block) @ at)

    def _bodies_of(self, constraint: Any) -> list[int]:
        """The bodies whose places the stiffness of a constraint may follow."""
        found = {*constraint.stiff_models, *getattr(constraint, "indices", ())}
        return sorted(k for k in found if k is not None)

    def _columns(
        self, j: int, columns: IndexArray, forces: FloatArray, constraint: Any, parts: Sequence[Any]
    ) -> FloatArray:
        """∂(K dx)/∂q_j of all stiff bodies, one after another, by some unknowns `columns` (k,) of body j."""
        stiff, sizes = sorted(set(constraint.stiff_models)), self._bodies.world.sizes
        trial: Any = self._bodies.trials[j]
        small = j not in self._volumes
        made = np.zeros((sum(sizes[k] for k in stiff), len(columns)))

        def products(column: int, s: float) -> FloatArray:
            x = list(self._starts)
            if small:
                x[j] = parts[j].start_moved(column, s)
            else:
                unit = np.zeros(trial.dx.size)
                unit[column] = s
                x[j] = frozen(x[j] + unit.reshape(trial.dx.shape))
            found = {k: np.zeros(sizes[k]) for k in stiff}
            for k, K in constraint.bounded_stiffness(x, forces, self._theta):
                found[k] = found[k] + parts[k].stiffened([K]).ravel()
            return np.concatenate([found[k] for k in stiff])

        for place, column in enumerate(columns):
            step = parts[j].steps[column] if small else _STEP * size_of(trial.model, self._starts[j])
            made[:, place] = derivative(partial(products, int(column)), step)
        return made

    @property
    def _theta(self) -> float:
        return float(self._bodies.scheme.theta)

    def _check_energetic(self, k: int, forces: FloatArray, constraint: Any, product: Product) -> None:
        if self._is_unbounded(k, forces, constraint):
            return
        x, dx = self._starts, self._bodies.trials[k].dx
        size, random = float(np.ptp(x[k], axis=0).max()), np.random.default_rng(0)
        u, v = (1e-5 * size * random.uniform(-1.0, 1.0, dx.shape) for _ in range(2))

        def change(along: FloatArray) -> FloatArray:
            sides = []
            for sign in (1.0, -1.0):
                moved = [q + sign * along if index == k else q for index, q in enumerate(x)]
                terms = constraint.bounded_stiffness(moved, forces, self._theta)
                sides.append(product(k, [K for index, K in terms if index == k], dx))
            return sides[0] - sides[1]

        one, other = float(np.vdot(u, change(v))), float(np.vdot(v, change(u)))
        if abs(one - other) > _UNEQUAL * (abs(one) + abs(other)):
            raise InputError(
                f"gradients through steps of one linear solve do not know {constraint.name!r} here, whose stiffness is "
                "bounded where its segments are short: give the stepper a tolerance, 1e-10"
            )

    def _is_unbounded(self, k: int, forces: FloatArray, constraint: Any) -> bool:
        """Whether segments whose stiffness is bounded where they are short have their exact one."""
        if type(constraint).bounded_stiffness is Constraint.bounded_stiffness:
            return False
        sides = []
        for function in (constraint.stiffness, constraint.bounded_stiffness):
            terms: list[Any] = [K for index, K in function(self._starts, forces, self._theta) if index == k]
            if not all(hasattr(K, "add_product") for K in terms):
                return False
            sides.append(np.zeros(self._probe[k].shape))
            for K in terms:
                K.add_product(self._probe[k], sides[-1])
        return np.array_equal(sides[0], sides[1])

    @cached_property
    def _probe(self) -> list[FloatArray]:
        """A random motion of each body, of the shape of dx."""
        random = np.random.default_rng(0)
        return [random.uniform(-1.0, 1.0, trial.dx.shape) for trial in self._bodies.trials]


def unit_forces(constraint: Any, forces: FloatArray, place: int) -> list[tuple[FloatArray, float]]:
    """Forces, and signs, whose stiffnesses add up to that of the force at a `place` alone. A drop of tension has one
    beside the tension at the motor only.
    """
    alone = np.where(np.arange(len(forces)) == place, forces, 0.0)
    if not place or not hasattr(constraint, "tensions"):
        return [(alone, 1.0)]
    head = np.zeros(len(forces))
    head[0] = max(abs(float(forces[0])), abs(float(forces[place])))
    return [(head + alone, 1.0), (head, -1.0)]
