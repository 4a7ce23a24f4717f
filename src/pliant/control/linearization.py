"""Mass, damping and stiffness of a world about an equilibrium, and the rows that hold there.

K has the stiffness of stresses, of the forces of constraints and of the turning of contacts. The rows that hold are
bilateral ones, actuators commanded by displacement, and contacts that press, with friction below its limit along the
surface too. Motions in which they stay come from K + σM, factorized body by body, and W of these rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, null_space
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from pliant.actuators.limits import Command
from pliant.constraints import Assembly, forces_of
from pliant.constraints.contact import ContactPair
from pliant.constraints.contact_curvature import ContactCurvature, curvature_of
from pliant.constraints.rows import COMPLIANT, Rows
from pliant.control.effectors import AnyEffector
from pliant.control.kinematics import holds, origin
from pliant.core.errors import ConvergenceError, InputError, SingularError
from pliant.core.immutable import evolve
from pliant.core.types import BoolArray, FloatArray
from pliant.materials import Tangent
from pliant.models.scheme import STATIC_SCHEME, Scheme
from pliant.stepping.bodies import Reactions, StepBodies
from pliant.stepping.newton import relative_residual
from pliant.world import State, World
from pliant.world.belonging import check_belongs

UNBALANCED = 1e-3
"""Residual, relative to the largest force, up to which a state counts as an equilibrium."""
_ROUNDING = 1e-9
"""Force, over that which would move all points to the origin, below which there is nothing to balance."""
_WEIGHT = 1e6
"""Weight of M (1/s²) and of D (1/s) in the matrices that they are read from: rounding of K is none beside it."""
_REDUNDANT = 1e-10
"""Eigenvalue of W, over the largest, below which a combination of rows is redundant."""
_SHIFT = 1e-5
"""First shift σ of a singular stiffness, over the mean frequency squared. Beside the compliance M⁻¹/σ of rigid motions
that of others is rounded: with 1e-8 a bar that rows hold had a mode wrong by 0.9 %, with 1e-5 by 5e-9.
"""
_SMALL = 400
"""Unknowns up to which modes come from dense matrices; ARPACK needs many more unknowns than modes."""
_ITERATIONS, _TOLERANCE = 200, 1e-12
"""Most iterations of conjugate gradients for a static response, and the relative energy of its residual at its end."""


@dataclass(frozen=True, eq=False)
class Linearization:
    """Matrices about an equilibrium, as products with motions x (n,) of all bodies, of the shape of their dx one after
    the other.

    `held` are indices of the rows that hold, `driven` (inputs,) those of the inputs. `by_displacement` (inputs,) says
    which of these are commanded so, and `idle` which of them are slack. `seen` (outputs, n) is C, `curvature` the
    stiffness of contacts that turn, `names` are those of inputs and outputs.
    """

    bodies: StepBodies
    rows: Rows
    held: Any
    driven: Any
    by_displacement: BoolArray
    idle: BoolArray
    seen: FloatArray
    curvature: ContactCurvature | None
    names: tuple[list[str], list[str]]

    @classmethod
    def of(
        cls, world: World, state: State, inputs: Sequence[Any], outputs: Sequence[AnyEffector], controls: Any
    ) -> Linearization:
        """About `state` in `world`, checked to be at rest and in equilibrium."""
        _refuse(world, inputs, outputs)
        targets = {effector: origin(effector) for effector in outputs}
        watchers = [effector.bound(world) for effector in outputs]
        values = world.controls(controls) | targets
        made, assembly, lam = cls.about(world, state, values, watchers)
        _check_equilibrium(made.bodies, Reactions(assembly, lam, world.shapes))
        rows, stays = made.rows, np.zeros(made.rows.count, bool)
        stays[made.held] = True
        driven = np.array([assembly.slices[world.constraint_index(each)].start for each in inputs], int)
        commands = [values.get(each) for each in inputs]
        by_displacement = np.array([isinstance(c, Command) and not c.by_force for c in commands], bool)
        idle = by_displacement & ~(stays[driven] & (lam[driven] < rows.upper[driven]))
        stays[driven] = by_displacement & ~idle
        places = assembly.slices[len(assembly.slices) - len(watchers) :]
        names = [
            f"{each.name}[{k}]" if place.stop - place.start > 1 else each.name
            for each, place in zip(outputs, places, strict=True)
            for k in range(place.stop - place.start)
        ]
        given = [each.name for each in inputs], names
        return replace(
            made, held=np.flatnonzero(stays), driven=driven, by_displacement=by_displacement, idle=idle, names=given
        )

    @classmethod
    def about(
        cls, world: World, state: State, values: Any, watchers: Sequence[Any]
    ) -> tuple[Linearization, Assembly, FloatArray]:
        """About an equilibrium `state` under the checked controls `values`, without inputs and with the rows of
        `watchers` as outputs; with all rows, and their forces λ (rows,), N.
        """
        check_belongs(state, world)
        _refuse_world(world)
        bodies = StepBodies.begin(world, state, STATIC_SCHEME, values)
        assembly = bodies.assembled(watchers)
        rows, lam = assembly.rows, forces_of(assembly.rows.key, state.keys, state.lam)
        stays = holds(rows, lam)
        places = assembly.slices[len(assembly.slices) - len(watchers) :]
        seen = np.concatenate([np.arange(place.start, place.stop) for place in places]) if places else np.zeros(0, int)
        stays[seen] = False
        pairs = [
            (pair, assembly.memories[index], lam[place])
            for index, (pair, place) in enumerate(zip(world.constraints, assembly.slices, strict=False))
            if type(pair) is ContactPair and place.stop > place.start
        ]
        curvature = curvature_of(pairs, bodies.view(), world.models) if pairs else None
        none: Any = np.zeros(0, int)
        made = cls(
            bodies, rows, np.flatnonzero(stays), none, np.zeros(0, bool), np.zeros(0, bool), dense(rows, seen),
            curvature, ([], []),
        )  # fmt: skip
        return made, assembly, lam

    @cached_property
    def sizes(self) -> list[int]:
        """Unknowns of each body."""
        return [int(np.prod(shape)) for shape in self.bodies.world.shapes]

    @cached_property
    def _stiff(self) -> list[Any]:
        return [system.copied() for system in self.bodies.linearized(Tangent.EXACT)[0]]

    @cached_property
    def _plain(self) -> dict[str, list[Any]]:
        """Systems with weights of mass and of damping, without the stiffness of constraints."""
        kinds = {"none": (0.0, 0.0), "mass": (_WEIGHT, 0.0), "damping": (0.0, _WEIGHT)}
        return {name: self._systems(*weights, stiffened=False) for name, weights in kinds.items()}

    def _systems(self, inertia: float, rate: float, *, stiffened: bool) -> list[Any]:
        bodies, scheme = self.bodies, Scheme(1.0, inertia, 0.0, rate, 0.0, 0.0, 0.0, 0.0)
        made = StepBodies.begin(bodies.world, bodies.start, scheme, bodies.controls)
        tangent = Tangent.EXACT if stiffened else Tangent.PROJECTED
        systems = [system.copied() for system in made.linearized(tangent, stiffened=False)[0]]
        if stiffened:
            made.add_geometric_stiffness(systems, exact=True, turning=True)
        return systems

    def stiffness(self, x: FloatArray) -> FloatArray:
        """K x at the free unknowns, with springs and the turning of contacts; (n,)."""
        product = self._products(self._stiff, x)
        if self.curvature is not None:
            turned = self.curvature.products(self._parts(x))
            product = product + np.concatenate([np.ravel(part) for part in turned])
        soft = self._compliance > 0.0
        if soft.any():
            product = product + self.H[soft].T @ ((self.H[soft] @ x) / self._compliance[soft])
        return product

    def mass(self, x: FloatArray) -> FloatArray:
        """M x at the free unknowns, (n,)."""
        plain = self._plain
        return (self._products(plain["mass"], x) - self._products(plain["none"], x)) / _WEIGHT

    def damping(self, x: FloatArray) -> FloatArray:
        """D x at the free unknowns, (n,)."""
        plain = self._plain
        return (self._products(plain["damping"], x) - self._products(plain["none"], x)) / _WEIGHT

    @cached_property
    def H(self) -> Any:
        """Gradients of the rows that hold, (held, n)."""
        return sparse.csr_matrix(sparse.hstack([own[self.held] for own in self.rows.H]))

    @cached_property
    def _compliance(self) -> FloatArray:
        soft = self.rows.law[self.held] == COMPLIANT
        return np.where(soft, self.rows.upper[self.held], 0.0)

    @cached_property
    def _factors(self) -> tuple[list[Any], float]:
        """Factors of K + σM of each body, and σ (1/s²): 0, or the least tried with which they are positive definite."""
        shift = 0.0
        x = np.random.default_rng(0).choice([-1.0, 1.0], sum(self.sizes))  # no rigid motion, which has no stiffness
        typical = float(np.abs(self.stiffness(x)).sum() / np.abs(self.mass(x)).sum())
        while shift <= typical:
            systems = self._stiff if not shift else self._systems(shift, 0.0, stiffened=True)
            try:
                return [system.copied().factorize() for system in systems], shift
            except SingularError:
                shift = max(10.0 * shift, _SHIFT * typical)
        raise ConvergenceError("no shift makes the stiffness about the equilibrium positive definite: it is unstable")

    @cached_property
    def responses(self) -> tuple[FloatArray, FloatArray]:
        """Y = (K + σM)⁻¹ Hᵀ (n, held), and the pseudo-inverse of W + C (held, held)."""
        Y = (
            np.column_stack([self._free(h) for h in self.H.toarray()])
            if len(self.held)
            else np.zeros((self.H.shape[1], 0))
        )
        W = self.H @ Y + np.diag(self._compliance)
        values, vectors = np.linalg.eigh(0.5 * (W + W.T))
        kept = values > _REDUNDANT * values.max(initial=0.0)
        return Y, (vectors[:, kept] / values[kept]) @ vectors[:, kept].T

    def _free(self, r: FloatArray) -> FloatArray:
        solved = [factor.solve(part) for factor, part in zip(self._factors[0], self._parts(r), strict=True)]
        return np.concatenate([np.ravel(x) for x in solved])

    def _held(self, r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The motion (n,) under forces r (n,) with K + σM, without the curvature of contacts, in which the rows that
        hold stay; and r with the forces of these rows.
        """
        x = self._free(r)
        if not len(self.held):
            return x, r
        Y, inverse = self.responses
        lam = inverse @ (self.H @ x)
        return x - Y @ lam, r - self.H.T @ lam

    def constrained(self, force: FloatArray, start: FloatArray | None = None, shift: float = 0.0) -> FloatArray:
        """The static response (n,) with K + `shift` M to a force (n,), from `start` (n,) by motions in which the rows
        that hold stay: by conjugate gradients, preconditioned by the factors.
        """
        x = np.zeros(len(force)) if start is None else start
        pull = self._product(x, shift) if start is not None else np.zeros(len(force))
        z, r = self._held(force - pull)
        p, energy = z, float(r @ z)
        scale = abs(energy) + abs(float(x @ pull))
        for _ in range(_ITERATIONS):
            if not energy > _TOLERANCE * scale:
                return x
            Kp = self._product(p, shift)
            bend = float(p @ Kp)
            if bend <= 0.0:
                raise ConvergenceError(
                    "the equilibrium is unstable, or a body is held by nothing: it has no static gains"
                )
            x, r = x + (energy / bend) * p, r - (energy / bend) * Kp
            z, r = self._held(r)
            energy, before = float(r @ z), energy
            p = z + (energy / before) * p
        raise ConvergenceError("a static response was not found: the equilibrium is close to a limit point")

    def _product(self, x: FloatArray, shift: float) -> FloatArray:
        return self.stiffness(x) + shift * self.mass(x) if shift else self.stiffness(x)

    def modes(self, count: int) -> tuple[FloatArray, FloatArray]:
        """ω² (k,), 1/s², and modes Φ (n, k), mass-normalised, in which the rows that hold stay."""
        size, free = sum(self.sizes), self._free_unknowns
        left = len(free) - self._rank
        if left < 1:
            raise InputError("the rows that hold leave no unknown free: nothing can move")
        k = min(count, left)
        if size <= _SMALL or k > 0.3 * left:
            return self._all_modes(k)
        shift, random = self._factors[1], np.random.default_rng(0)
        products = self.stiffness, self.mass, partial(self.constrained, shift=shift)
        operator, mass, inverse = (LinearOperator((size, size), matvec=product, dtype=float) for product in products)
        start = inverse.matvec(self.mass(random.normal(size=size)))
        try:
            squares, found = eigsh(operator, k, mass, sigma=-shift, OPinv=inverse, v0=start, which="LM")
        except ArpackError as error:
            raise ConvergenceError(f"the natural modes were not found: {error}; ask for fewer modes") from error
        order = np.argsort(squares)
        return squares[order], found[:, order]

    def _all_modes(self, count: int) -> tuple[FloatArray, FloatArray]:
        """The same from dense matrices."""
        free = self._free_unknowns
        basis = np.zeros((sum(self.sizes), len(free)))
        basis[free, np.arange(len(free))] = 1.0
        stiff = self._compliance == 0.0
        basis = basis @ null_space(self.H[stiff].toarray()[:, free]) if stiff.any() else basis
        K, M = (basis.T @ np.column_stack([product(x) for x in basis.T]) for product in (self.stiffness, self.mass))
        squares, found = eigh(0.5 * (K + K.T), 0.5 * (M + M.T), subset_by_index=(0, count - 1))
        return squares, basis @ found

    @cached_property
    def _free_unknowns(self) -> Any:
        """Indices of the unknowns that no clamp constrains."""
        return np.flatnonzero(~np.concatenate([np.ravel(model.constrained) for model in self.bodies.world.models]))

    @property
    def _rank(self) -> int:
        """Independent rows that hold and do not yield."""
        stiff = self._compliance == 0.0
        return int(np.linalg.matrix_rank(self.responses[1])) - int(np.count_nonzero(~stiff)) if len(stiff) else 0

    def _parts(self, x: FloatArray) -> list[FloatArray]:
        """The motion of each body, of the shape of its dx."""
        parts = np.split(x, np.cumsum(self.sizes)[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self.bodies.world.shapes, strict=True)]

    def _products(self, systems: Sequence[Any], x: FloatArray) -> FloatArray:
        products = [system.product(part) for system, part in zip(systems, self._parts(x), strict=True)]
        return np.concatenate([np.ravel(product) for product in products])


def dense(rows: Rows, chosen: Any) -> FloatArray:
    """Gradients of the `chosen` rows over all unknowns, (chosen, n)."""
    return np.hstack([own[chosen].toarray() for own in rows.H])


def _refuse(world: World, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Raise an `InputError` for what the linear model does not have."""
    for name, given in (("inputs", inputs), ("outputs", outputs)):
        if not isinstance(given, Sequence) or isinstance(given, str) or not given:
            raise InputError(f"{name} of a linear model are a list of at least one, got {given!r:.60}")
    for effector in outputs:
        if not hasattr(effector, "bound"):
            raise InputError(f"outputs are effectors, such as pl.Effector(robot.tip), got {effector!r:.60}")


def _refuse_world(world: World) -> None:
    """Raise an `InputError` for what no linear model has."""
    if world.remembers:
        raise InputError("a body has a material with memory, whose stresses are not among the states of a linear model")
    for constraint in world.constraints:
        if np.any(getattr(getattr(constraint, "spec", None), "damping", 0.0)):
            raise InputError(f"{constraint.name!r} has a dashpot, which a linear model does not have; leave it out")
    sizes = [model.size for model in world.models]
    initial = [model.initial()[0] for model in world.models]
    for constraint in world.stiff_constraints:
        still = np.ones(len(constraint.stiff_keys))
        if constraint.coupling(initial, still, sizes) is not None:
            raise InputError(f"{constraint.name!r} couples bodies by its forces, which a linear model does not have")


def _check_equilibrium(bodies: StepBodies, reactions: Reactions) -> None:
    start = bodies.start
    if any(v.any() for v in start.v) and max(float(np.abs(v).max(initial=0.0)) for v in start.v) > 1e-6:
        raise InputError("the bodies move: a linear model is made about an equilibrium, such as pl.QuasiStatic() finds")
    forces = evolve(bodies, reactions=reactions).forces()
    pairs = zip(bodies.trials, bodies.linearized(Tangent.PROJECTED, stiffened=False)[0], strict=True)
    rounding = [np.linalg.norm(system.diagonal() * trial.coordinate_scale()) for trial, system in pairs]
    left = relative_residual(bodies, forces._replace(scale=float(max(forces.scale, _ROUNDING * max(rounding)))))
    if left > UNBALANCED:
        raise InputError(
            f"the forces of the state are not balanced (residual {left:.1e} of the largest, limit "
            f"{UNBALANCED:g}): give the equilibrium of pl.QuasiStatic() and the `controls` it was found with"
        )
