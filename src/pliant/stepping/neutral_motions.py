"""Rigid motions that the active contacts of a quasi-static solve hardly resist.

A block on a block without friction can slide, a ball between two points of contact can roll. Nothing but the tilt of
facets resists such a motion, so a linear solve moves the body by an arbitrary length, away from an equilibrium it had
found. The iteration holds these motions by rows of their own until forces balance; then the force that holds them says
how far from equilibrium the body is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints import Constraint, RowLaw, Rows, RowView
from pliant.core.types import FloatArray
from pliant.models.free_modes import FreeModes
from pliant.models.rigid import RigidModel
from pliant.stepping.active_rows import kept_rows
from pliant.stepping.stages import Step

NEUTRAL = 0.15
"""Motion along the active rows, over that of the body, below which contacts hardly resist: facets of a dent tilt by
about that angle, in radians.
"""
NEGLIGIBLE, PASSING = 5e-3, 0.1
"""Force that holds neutral motions, over the largest normal force between two bodies, with which an equilibrium is
accepted up to these motions, at the end of a load path and along it: a friction of 0.005 would hold the bodies. Facets
that do not match leave as much.
"""
MOST_BODIES = 12
"""Bodies that contacts hold up to which neutral motions are looked for: the search is dense in their rigid motions."""


@dataclass(frozen=True, eq=False)
class NeutralMotions:
    """`modes` (unknowns, k) of each body, M-orthonormal over all of them, `weighted`, M times them, and `twists`
    (6, k), their translations and rotations; None for bodies that do not move.
    """

    modes: tuple[FloatArray | None, ...]
    weighted: tuple[FloatArray | None, ...]
    twists: tuple[FloatArray | None, ...]

    @property
    def count(self) -> int:
        """How many independent motions there are."""
        return next((x.shape[1] for x in self.modes if x is not None), 0)

    def fraction(self, dx: Sequence[FloatArray]) -> float:
        """The fraction of the motion dx of the bodies in it that is neutral, 0 to 1, by its largest displacement."""
        along = np.zeros(self.count)
        for weighted, x in zip(self.weighted, dx, strict=True):
            if weighted is not None:
                along += weighted.T @ x.ravel()
        neutral = total = 0.0
        for modes, x in zip(self.modes, dx, strict=True):
            if modes is not None:
                neutral = max(neutral, float(np.abs(modes @ along).max()))
                total = max(total, float(np.abs(x).max()))
        return min(neutral / total, 1.0) if total else 0.0

    def effort(self, forces: FloatArray) -> float:
        """The force that holds the motions, N: the sum over the nodes of the body on which it is largest, for the
        multipliers `forces` (k,).
        """
        sums = [0.0]
        for weighted in self.weighted:
            if weighted is not None:
                sizes = np.linalg.norm((weighted @ forces).reshape(-1, 3), axis=1)
                sums.append(float(sizes[0] if len(sizes) == 2 else sizes.sum()))  # of a rigid body: force, then moment
        return max(sums)


@dataclass(frozen=True, eq=False)
class Hold(Constraint):
    """Rows that keep the neutral `motions` from going on."""

    motions: NeutralMotions

    @property
    def name(self) -> str:
        """Name for people."""
        return "hold of neutral motions"

    def rows(self, view: RowView, found: Any) -> tuple[Rows, Any]:
        """ΦᵀM dx = 0."""
        count = self.motions.count
        H = [
            blank if weighted is None else sparse.csr_matrix(weighted.T)
            for blank, weighted in zip(view.blank(count), self.motions.weighted, strict=True)
        ]
        return Rows.of(H, np.zeros(count), int(RowLaw.BILATERAL)), None


def neutral_motions(step: Step, loose: Sequence[bool]) -> NeutralMotions | None:
    """The rigid motions of the `loose` bodies of `step` that the active rows of its last linear solve hardly resist;
    None where there are none, or where a body is not touched yet.
    """
    assembly, lam = step.assembly, step.lam
    if assembly is None or not len(lam) or not 0 < sum(loose) <= MOST_BODIES:
        return None
    slender = [model.spec.slender for model in step.world.models]
    own = [_rigid_modes(step, k) if each and not slender[k] else None for k, each in enumerate(loose)]
    world = len(step.world.constraints)
    rows = assembly.rows.part(slice(0, assembly.slices[world - 1].stop))
    lam = lam[: rows.count]
    kept = kept_rows(rows, lam, stuck=False)[0] @ sparse.diags(np.sqrt(_weights(step, lam)))
    if not kept.shape[0]:
        return None
    pushing = np.flatnonzero((lam > 0.0) & np.isin(rows.law, (int(RowLaw.SIGNORINI), int(RowLaw.COULOMB))))
    seen: list[FloatArray] = []
    for index, modes in enumerate(own):
        if modes is None:
            continue
        seen.append((kept @ (rows.H[index] @ modes.modes)) * _unit(modes, step.bodies.trials[index].dx.shape))
        if not rows.H[index][pushing].nnz:
            return None  # not touched yet: it has to move, along a joint too
    if not seen:
        return None
    _, singular, right = np.linalg.svd(np.hstack(seen), full_matrices=True)
    values = np.zeros(len(right))
    values[: len(singular)] = singular
    null = right[values < NEUTRAL].T
    if not null.shape[1]:
        return None
    made: list[tuple[FloatArray, FloatArray, FloatArray] | None] = []
    first = 0
    for modes in own:
        if modes is None:
            made.append(None)
            continue
        part = null[first : first + modes.count]
        made.append((modes.modes @ part, modes.weighted @ part, modes.twists @ part))
        first += modes.count
    return NeutralMotions(*(tuple(None if each is None else each[k] for each in made) for k in range(3)))


def _rigid_modes(step: Step, index: int) -> FreeModes | None:
    """All rigid motions that the supports of a body leave open."""
    model, trial = step.world.models[index], step.bodies.trials[index]
    if not isinstance(model, RigidModel):
        return model.free_modes(trial.positions())
    triangle = np.linalg.cholesky(model.mass_matrix(trial.positions()))
    modes: FloatArray = np.linalg.inv(triangle).T.astype(np.float64)
    return FreeModes(modes, modes, triangle.astype(np.float64))


def _unit(modes: FreeModes, shape: tuple[int, ...]) -> float:
    """Factor that makes an M-orthonormal mode a motion of length 1 on average: √m."""
    mass = 0.0
    for axis in range(3):
        along = np.zeros(shape)
        along[(..., 0, axis) if len(shape) == 3 else (0, axis) if shape == (2, 3) else (..., axis)] = 1.0
        mass = max(mass, float(((modes.weighted.T @ along.ravel()) ** 2).sum()))
    return float(np.sqrt(mass)) if mass else 1.0 / float(np.abs(modes.modes).max())


def normal_force(step: Step) -> float:
    """The largest sum of normal forces between two bodies in the last linear solve, N; tiny without contacts."""
    assert step.assembly is not None
    largest = 0.0
    for constraint, place in zip(step.world.constraints, step.assembly.slices, strict=False):
        pair: Any = constraint
        if pair.is_contact:
            largest = max(largest, float(np.maximum(step.lam[place][:: 3 if pair.mu else 1], 0.0).sum()))
    return largest or float(np.finfo(np.float64).tiny)


def _weights(step: Step, lam: FloatArray) -> FloatArray:
    """How much each row counts: contacts by their normal force over that of their pair, others fully."""
    assembly = step.assembly
    assert assembly is not None
    weights = np.ones(len(lam))
    for constraint, place in zip(step.world.constraints, assembly.slices, strict=False):
        pair: Any = constraint
        if not pair.is_contact or place.stop == place.start:
            continue
        width = 3 if pair.mu else 1
        normal = np.maximum(lam[place][::width], 0.0)
        weights[place] = np.repeat(normal / (normal.sum() or 1.0), width)
    return weights
