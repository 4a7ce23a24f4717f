"""The rows of a step where it ended, in the order of the last linear solve, and their derivatives by small bodies.

Constraints are asked for their rows again; rows are recognised by their keys. Only rows with a force or a closed gap
matter. What moves a small body moves lever arms and turns planes of contact: Hᵀλ of all bodies and the gaps are
differentiated by finite differences of the rows themselves. A guide in which a cable slips has no equation of its δ
but λ = f T: −f T takes the place of its gap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from scipy import sparse

from pliant.constraints import Assembly, Rows
from pliant.constraints.assembly import joined
from pliant.core.arrays import add_product, frozen, transposed_product
from pliant.core.errors import InputError
from pliant.core.immutable import evolve
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.gradients.active import CapstanSlip, capstan_slips
from pliant.gradients.finite import derivative
from pliant.gradients.small_body import SmallBodyAdjoint, restart_of, start_of
from pliant.solvers.contact import Law
from pliant.stepping.bodies import StepBodies
from pliant.stepping.end_velocities import directions_at_middle
from pliant.stepping.session import NOTICEABLE

_STEP, _FINE = 1e-6, 1e-8
"""Motions of a node in a difference of rows, over the size of its body."""
_OF_ANGLES = 1e-3
"""Factor on steps for the angles of guides: those between two sections of a rod are small and have a kink at zero."""
_TURNED, _KEPT = 1e-2, 1e-4
"""Change of a row, relative to its largest entry, that no last correction makes: planes are turned by 8 degrees at
least. Of a step that kept its contacts they have to be nearer to those at its end.
"""


@dataclass(frozen=True, eq=False)
class EndRows:
    """The rows of `bodies` at the end of a step: `rows`, their forces `lam` (m,) N and δ (m,), and the constraint
    `owner` (m,) of each. `predicted`: velocities of the start turn planes of contact that land. Rows that a step of one
    solve took at its start have δ after the motion `ahead` of each body; None where they are those of the end. `acting`
    are the gradients along which forces acted, by body; None: those of `rows`. `step_made` is a step of the
    midpoint rule, None of others. `solved` are the rows of the last linear solve, in the same order.
    """

    bodies: StepBodies
    rows: Rows
    lam: FloatArray
    delta: FloatArray
    owner: IndexArray
    memories: tuple[Any, ...]
    predicted: bool
    ahead: tuple[FloatArray, ...] | None = None
    acting: Sequence[Any] | None = None
    step_made: Any = None
    solved: Rows | None = None

    @property
    def step(self) -> float:
        """Motion of a node in a difference of the rows, over the size of its body: where planes are turned against the
        motion that velocities predict, detection does so down to a thousandth of what may pass.
        """
        return _FINE if self.predicted or self.ahead is not None else _STEP

    @cached_property
    def group(self) -> IndexArray:
        """The first row (m,) of the contact of each row: one of three where there is friction, itself elsewhere; of the
        guides of a cable, whose drops of tension follow all of its path, the row of its motor.
        """
        made = np.arange(self.rows.count)
        for row in np.flatnonzero(self.rows.law == Law.CAPSTAN):
            made[row] = made[row - 1]
        friction = np.flatnonzero(self.rows.law == Law.COULOMB)
        made[friction] = np.repeat(friction[::3], 3)
        return made

    @cached_property
    def may_open(self) -> BoolArray:
        """Rows (m,) of contacts."""
        return np.asarray(np.isin(self.rows.law, (int(Law.SIGNORINI), int(Law.COULOMB))))

    @cached_property
    def pushing(self) -> BoolArray:
        """Rows (m,) of contacts and of others that have a force."""
        made = np.zeros(self.rows.count, bool)
        made[self.group[self.lam != 0.0]] = True
        return np.asarray(made[self.group])

    @cached_property
    def slips(self) -> list[CapstanSlip]:
        """Guides in which cables slip."""
        return capstan_slips(self.rows, self.lam, self.solved)

    @classmethod
    def of(cls, info: Any) -> EndRows | None:
        """Those of the step that `info` reports; None where the world has no constraint."""
        if info.assembly is None or not info.assembly.rows.count:
            return None
        _check_laws(info)
        lam = forces_of_step(info)
        bodies = _ended(info, still=True)
        assembly, predicted = bodies.assembled(), False
        if info.step.bodies.scheme.rate and not _same(info, assembly):
            bodies, predicted = _ended(info, still=False), True
            assembly = bodies.assembled()
            if not _same(info, assembly):
                if info.step.kept is not None:
                    raise InputError(
                        f"a step took {info.iterations} linear solves, and kept its contacts from the tenth one on: "
                        "where it ended they have other directions, and the step has no derivative; take a smaller dt"
                    )
                raise InputError(
                    "contacts of a step went to and fro while it was solved, and it ended between two sets of them: "
                    "there it has no derivative; change the start or the controls a little, or take a smaller dt"
                )
        order = _order(info.assembly.rows.key, assembly.rows.key)
        lost = (order < 0) & (lam != 0.0)
        if lost.any():
            _switch(info.world.constraints, info.assembly.slices, int(np.argmax(lost)))
        if (order < 0).any() and info.step.bodies.scheme.theta != 1.0:
            raise InputError(
                "contacts without force of a pl.ImplicitMidpoint are not found where a step ended: how its other rows "
                "turn is not known there; take a smaller dt"
            )
        rows = info.assembly.rows if (order < 0).any() else _picked(assembly.rows, order)
        owner = np.zeros(rows.count, np.int64)
        for index, own in enumerate(info.assembly.slices):
            owner[own] = index
        memories = info.assembly.memories if (order < 0).any() else assembly.memories
        acting = rows if (order < 0).any() else _picked(directed(info, assembly).rows, order)
        given = None, acting.H, _of_middle(info), info.assembly.rows
        return cls(bodies, rows, lam, rows.gap, owner, memories, predicted, *given)

    @classmethod
    def of_start(cls, info: Any) -> EndRows | None:
        """The rows of a step of one linear solve, which took them where it began."""
        if info.assembly is None or not info.assembly.rows.count:
            return None
        _check_laws(info)
        bodies = info.step.bodies
        begun = bodies.at([np.zeros(trial.dx.shape) for trial in bodies.trials])
        memories = info.assembly.memories[: len(info.world.constraints)]
        owner = np.zeros(info.assembly.rows.count, np.int64)
        for index, own in enumerate(info.assembly.slices):
            owner[own] = index
        ahead = tuple(trial.dx for trial in bodies.trials)
        bodies = evolve(begun, recent=memories)
        return cls(bodies, info.assembly.rows, info.lam, info.delta, owner, memories, False, ahead)

    def shifted(
        self, by: Literal["end", "start", "velocity", "whole"], motions: Mapping[int, FloatArray]
    ) -> StepBodies:
        """The bodies after motions of some volumes by index, (n, 3): of the end, of the start with the end where it is,
        of both, or of the velocities at the start.
        """
        start, trials = self.bodies.start, self.bodies.trials
        if by == "velocity":
            return self.placed({}, v={k: start.v[k] + x for k, x in motions.items()})
        if by == "end":
            return self.placed({k: trials[k].at(trials[k].dx + x) for k, x in motions.items()})
        q = {k: start.q[k] + x for k, x in motions.items()}
        changed = {}
        for k, x in motions.items():
            restarted = restart_of(trials[k].model, start_of(self.bodies, k))(frozen(q[k]), start.v[k])
            changed[k] = restarted.at(trials[k].dx - x if by == "start" else trials[k].dx)
        return self.placed(changed, q)

    def placed(
        self, trials: Mapping[int, Any], q: Mapping[int, FloatArray] | None = None,
        v: Mapping[int, FloatArray] | None = None,
    ) -> StepBodies:  # fmt: skip
        """The bodies with other trials, and other positions and velocities at the start of the step, by index."""
        begun = self.bodies.start
        if q or v:
            begun = evolve(begun, q=_mixed(begun.q, q or {}), v=_mixed(begun.v, v or {}))
        mixed = tuple(trials.get(k, each) for k, each in enumerate(self.bodies.trials))
        return evolve(self.bodies, start=begun, trials=mixed)

    def moved(self, bodies: StepBodies) -> tuple[list[FloatArray], FloatArray]:
        """Hᵀλ of every body (unknowns,) and the gaps (m,) where the `bodies` have moved; of slips −f T."""
        assembly, lam, order = self._assembled(bodies, self.lam)
        acting = assembly if self.step_made is None else at_middle(self.step_made, bodies, assembly)
        gaps = np.where(order < 0, self.rows.gap, assembly.rows.gap[np.maximum(order, 0)])
        if self.ahead is not None:
            for H, dx in zip(assembly.rows.H, self.ahead, strict=True):
                moved = np.zeros(assembly.rows.count)
                add_product(H, dx, moved)
                gaps = gaps + np.where(order < 0, 0.0, moved[np.maximum(order, 0)])
        for slip in self.slips:
            gaps[slip.row] = slip.drop(assembly.rows, int(order[slip.row]))
        return [transposed_product(H, lam) for H in acting.rows.H], gaps

    def some(
        self, bodies: StepBodies, constraints: Sequence[int], picked: IndexArray
    ) -> tuple[list[sparse.csr_matrix], FloatArray]:
        """H of every body (k, unknowns) and δ (k,) of the rows `picked` (k,), which are of `constraints` alone, where
        the `bodies` have moved; of slips −f T.
        """
        views, known = bodies.views(0), bodies.world.constraints
        rows = joined([known[index].rows_at(views[index])[0] for index in constraints])
        own = np.flatnonzero(np.isin(self.owner, constraints))
        if np.array_equal(rows.key, self.rows.key[own]):
            order = np.searchsorted(own, picked)
        else:
            order = _order(self.rows.key[picked], rows.key)
        lost = order < 0
        if lost.any():
            _switch(known, None, int(self.owner[picked][np.argmax(lost)]))
        H = [sparse.csr_matrix(h)[order] for h in rows.H]
        gap = rows.gap[order]
        if self.ahead is not None:
            gap = gap + sum(h @ dx.ravel() for h, dx in zip(H, self.ahead, strict=True))
        for slip in self.slips:
            for place in np.flatnonzero(picked == slip.row):
                gap[place] = slip.drop(rows, int(order[place]))
        return H, gap

    def assembled(self, bodies: StepBodies, lam: FloatArray) -> tuple[Assembly, FloatArray]:
        """The rows of `bodies` that have moved, and the forces `lam` (m,) of these rows in their order."""
        return self._assembled(bodies, lam)[:2]

    def _assembled(self, bodies: StepBodies, lam: FloatArray) -> tuple[Assembly, FloatArray, IndexArray]:
        assembly = bodies.assembled()
        order = _order(self.rows.key, assembly.rows.key)
        lost = order < 0
        if (lost & (self.lam != 0.0)).any():
            _switch(self.bodies.world.constraints, None, int(self.owner[np.argmax(lost & (self.lam != 0.0))]))
        forces = np.zeros(assembly.rows.count)
        forces[order[~lost]] = lam[~lost]
        return assembly, forces, order

    def by_end(self, index: int, body: SmallBodyAdjoint) -> tuple[list[FloatArray], FloatArray]:
        """Derivatives by q⁺ of the small body `index`: of Hᵀλ of every body (its unknowns, unknowns), and of the gaps
        (m, unknowns).
        """
        return self._columns(index, body, lambda k, s: self.placed({index: body.moved(k, s)}))

    def by_start(
        self, index: int, body: SmallBodyAdjoint, by_end: tuple[list[FloatArray], FloatArray]
    ) -> tuple[list[FloatArray], FloatArray]:
        """The same by q of the small body at fixed q⁺; `by_end` are those by q⁺."""

        def begun(k: int, s: float) -> StepBodies:
            return self.placed({index: body.begun(k, s)}, {index: body.start_moved(k, s)})

        forces, gaps = self._columns(index, body, begun)
        held = [x - y @ body.carried for x, y in zip(forces, by_end[0], strict=True)]
        return held, gaps - by_end[1] @ body.carried

    def by_whole(self, index: int, body: SmallBodyAdjoint) -> tuple[list[FloatArray], FloatArray]:
        """The same by q of the small body at a fixed motion of the step, of rows that are taken at its start: of Hᵀλ of
        every body, and of δ.
        """
        return self._columns(
            index, body, lambda k, s: self.placed({index: body.restarted(k, s)}, {index: body.start_moved(k, s)})
        )

    def by_velocity(self, index: int, body: SmallBodyAdjoint) -> tuple[list[FloatArray], FloatArray]:
        """The same by v of the small body."""
        return self._columns(index, body, lambda k, s: self.placed({}, v={index: body.start_faster(k, s)}))

    def _columns(
        self, index: int, body: SmallBodyAdjoint, placed: Callable[[int, float], StepBodies]
    ) -> tuple[list[FloatArray], FloatArray]:
        sizes = list(self.bodies.world.sizes)
        made = np.zeros((sum(sizes) + self.rows.count, body.model.size))

        def values(k: int, s: float) -> FloatArray:
            forces, gaps = self.moved(placed(k, s))
            return np.concatenate([*forces, gaps])

        finer = _FINE / _STEP if self.predicted or (self.ahead is not None and self.may_open.any()) else 1.0
        for k in body.free:
            made[:, k] = derivative(partial(values, k), finer * body.steps[k])
        ends, slips = np.cumsum(sizes), [slip.row for slip in self.slips]
        for k in body.free if slips else ():
            drops = derivative(partial(values, k), _OF_ANGLES * body.steps[k])[ends[-1] :]
            made[ends[-1] + np.array(slips), k] = drops[slips]
        return np.split(made[: ends[-1]], ends[:-1]), made[ends[-1] :]


def _mixed(arrays: Sequence[FloatArray], other: Mapping[int, FloatArray]) -> tuple[FloatArray, ...]:
    return tuple(frozen(other[k]) if k in other else x for k, x in enumerate(arrays))


def _ended(info: Any, *, still: bool) -> StepBodies:
    """The bodies at the end of a step, for its rows: contacts have the frames in which λ is told. Where `still` its
    motion is over; else detection turns planes that stand across the motion which the velocities predict.
    """
    memories = info.assembly.memories[: len(info.world.constraints)]
    made: StepBodies = evolve(info.step.bodies, recent=memories, still=still)
    return made


def _check_laws(info: Any) -> None:
    """An error where the forces of a step do not meet their laws: what they follow there is no active set."""
    if not info.constraint_residual <= NOTICEABLE:
        raise InputError(
            f"forces of a step meet their laws only to {info.constraint_residual:.2g}: a motor pulls against contacts "
            "or its own friction, or the budget of their solver ended. Such a step has no derivative: change its "
            "commands, or take a smaller dt"
        )


def forces_of_step(info: Any) -> FloatArray:
    """λ (rows,) N that balanced the bodies, of which `info.lam` of a midpoint step is a mean with those of its end."""
    projection = info.step.bodies.projection
    return np.asarray(info.lam if projection is None else projection.lam)


def directed(info: Any, assembly: Assembly) -> Assembly:
    """`assembly` of the end of a step with the directions in which forces acted in it."""
    step = _of_middle(info)
    return assembly if step is None else at_middle(step, step.bodies, assembly)


def at_middle(step: Any, bodies: StepBodies, assembly: Assembly) -> Assembly:
    """`assembly` of `bodies` at the end with the directions in the middle of the step."""
    made = directions_at_middle(evolve(step, bodies=bodies, assembly=assembly), assembly)
    assert made is not None
    return made


def _of_middle(info: Any) -> Any:
    """The step that `info` reports where forces acted in its middle, else None."""
    return None if info.step.bodies.scheme.theta == 1.0 else info.step


def _same(info: Any, assembly: Assembly) -> bool:
    """Whether rows that push have the directions that they had in the last linear solve."""
    pushing, assembly = np.flatnonzero(forces_of_step(info)), directed(info, assembly)
    most = _TURNED if info.step.kept is None else _KEPT
    order = _order(info.assembly.rows.key[pushing], assembly.rows.key)
    if (order < 0).any():
        return False
    for before, after in zip(info.assembly.rows.H, assembly.rows.H, strict=True):
        one, other = sparse.csr_matrix(before)[pushing], sparse.csr_matrix(after)[order]
        if one.nnz and abs(one - other).max() > most * abs(one).max():
            return False
    return True


def _order(wanted: IndexArray, keys: IndexArray) -> IndexArray:
    """Index among `keys` of each of the `wanted`, −1 where it is not there."""
    if np.array_equal(wanted, keys):
        return np.arange(len(keys))
    place = {int(key): k for k, key in enumerate(keys)}
    return np.array([place.get(int(key), -1) for key in wanted], np.int64)


def _picked(rows: Rows, order: IndexArray) -> Rows:
    if np.array_equal(order, np.arange(rows.count)):
        return rows
    columns = ("gap", "law", "mu", "lower", "upper", "target", "key")
    H = [sparse.csr_matrix(h)[order] for h in rows.H]
    return Rows(H, **{name: getattr(rows, name)[order] for name in columns})


def picked_rows(rows: Rows, picked: IndexArray, law: IntArray) -> Rows:
    """The rows `picked` (k,) with other laws (k,), to be met with a target of zero."""
    return evolve(_picked(rows, picked), law=law, target=np.zeros(len(picked)))


def _switch(constraints: Any, slices: Any, row: int) -> None:
    index = row if slices is None else next(k for k, own in enumerate(slices) if own.start <= row < own.stop)
    raise InputError(
        f"a contact of {constraints[index].name!r} is about to be replaced by another where the step ended: there the "
        "step has no derivative; change the start or the controls a little"
    )
