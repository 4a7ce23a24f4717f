"""Whether the adjoint of a step knows how its rows turn with the volumes: compared with the rows themselves.

The adjoint takes for granted that rows of volumes change as their geometric stiffness says, that those between a volume
and a small body are symmetric, and that planes of contact with volumes stay as they are. Volumes are moved a little
along a random direction y, and what changes is compared: ∂(Hᵀλ)/∂q y with −K y, and ∂δ/∂q y with H y. Constraints of
which this is not true are an error that names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.gradients.finite import size_of
from pliant.gradients.rows import EndRows

STEP = 1e-6
"""Largest motion of a node, over the size of its body."""
WRONG = 1e-3
"""Relative difference from which on a derivative is not known."""
ROUNDING = 1e-10
"""Change of forces, relative to them, that rounding leaves."""


def check_known(
    ends: EndRows, stiffness: Sequence[FloatArray | None], across: dict[int, list[FloatArray]], small: Sequence[int],
    H: Sequence[Any], active: BoolArray, checked: set[int],
) -> None:  # fmt: skip
    """Raise an `InputError` that names a constraint whose derivatives are not known.

    `stiffness` are K y of the volumes for y = `direction`, None where they have none; `across` are ∂(Hᵀλ)/∂q by each
    small body. Constraints in `checked` are known from other steps; contacts are looked at in each.
    """
    bodies, owner = ends.bodies, ends.owner
    constraints = bodies.world.constraints
    touched = np.zeros(ends.rows.count, bool)
    for k, h in enumerate(H):
        if k not in small:
            touched |= np.diff(h.indptr) > 0
    open_ones = [index for index in np.unique(owner[touched & (ends.lam != 0.0)]) if index not in checked]
    if not open_ones:
        return
    y = direction(ends, small)
    sides = [ends.moved([trial.at(trial.dx + s * x) for trial, x in zip(bodies.trials, y, strict=True)])
             for s in (1.0, -1.0)]  # fmt: skip
    change = [0.5 * (a - b) for a, b in zip(sides[0][0], sides[1][0], strict=True)]
    gaps = 0.5 * (sides[0][1] - sides[1][1])
    for k, force in enumerate(change):
        known = np.zeros(force.shape)
        own = stiffness[k]
        if own is not None:
            known -= own.ravel()
        for j, columns in across.items():
            if k == j:
                known += sum(columns[i].T @ y[i].ravel() for i in range(len(y)) if i not in small)
        size = float(np.linalg.norm(sides[0][0][k]))
        if np.linalg.norm(force - known) > WRONG * np.linalg.norm(known) + ROUNDING * size:
            _refuse(constraints, open_ones)
    moved = sum(h @ x.ravel() for h, x in zip(H, y, strict=True))
    off = np.abs(gaps - moved)[active]
    if len(off) and off.max() > WRONG * float(np.abs(moved[active]).max()):
        _refuse(constraints, [int(owner[active][np.argmax(off)])])
    checked.update(int(index) for index in open_ones if not constraints[index].is_contact)


def direction(ends: EndRows, small: Sequence[int]) -> list[FloatArray]:
    """A random motion y of the volumes, of the shape of dx, m; zero for small bodies and constrained unknowns."""
    made, random = [], np.random.default_rng(0)
    for k, trial in enumerate(ends.bodies.trials):
        size = size_of(trial.model, trial.positions())
        moved = STEP * size * random.uniform(-1.0, 1.0, trial.dx.shape)
        made.append(np.where(trial.model.constrained | (k in small), 0.0, moved))
    return made


def _refuse(constraints: Sequence[Any], indices: Sequence[int] | IndexArray) -> None:
    names = ", ".join(repr(constraints[index].name) for index in indices)
    raise InputError(
        f"gradients do not know how rows turn with volumes here, among {names}: contacts with curved obstacles, with "
        "other volumes and with themselves, and cables and joints between volumes are not known; planes, boxes, rigid "
        "bodies and cables inside one volume are"
    )
