"""What a step on a card takes and gives: states, controls, a report, and the kernels it uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pliant.batch.gpu import band, laws
from pliant.batch.gpu.arrays import Array

FINE, DIVERGED, CAPACITY, COLLAPSED, UNSOLVED, UNCOVERED = range(6)
"""How a step ended: well; A not positive definite or dx not finite; more contacts in reach than slots; elements invert
in less than a tenth of the motion; forces of the rows not found; edges beside round obstacles too long for contacts of
vertices alone.
"""


class States(NamedTuple):
    """u, v (…, b), m and m/s: of the free nodes (n, 3, b), or coordinates of the modes (k, b) and their rates;
    time (b,) s, forces of the rows (b, m) N and the contact point of each slot (b, slots), −1 where it has none.
    """

    u: Array
    v: Array
    time: Array
    lam: Array
    point: Array


class Controls(NamedTuple):
    """Commands of the cables (c, ·): `amount` m or N, and whether they are `by_force`; gravity (3, ·) m/s²."""

    amount: Array
    by_force: Array
    gravity: Array


class Report(NamedTuple):
    """status (b,), residual of the laws (b,), δ of the rows (b, m) m at the end, contacts in reach (b,), fraction of
    the motion (b,), and Newton steps of the laws (b,); directions (b, 3, 3, slots) of the contacts, axes before rows,
    where some are with round obstacles.
    """

    status: Array
    residual: Array
    delta: Array
    contacts: Array
    fraction: Array
    iterations: Array
    directions: Any = None


class Kernels(NamedTuple):
    """What factorizes, solves and finds forces; the tolerance of these, and how many Newton steps they may take."""

    factor: Callable[..., band.Factor]
    backward: Callable[[Array, Array], Array]
    forces: Callable[[laws.Laws, Array, float, int], laws.Found]
    tolerance: float
    most: int


class Linearization(NamedTuple):
    """A volume at its displacements: forces (…, b) N of its unknowns, the entries (b, e) of its stiffness, N/m, and the
    deformation gradients F of the points that must not invert, nine arrays (p, b).
    """

    forces: Array
    stiffness: Array
    F: Any
