"""The number of modes of a body: the fewest that reproduce held-out shapes.

The tail of the singular values measures the snapshots that the modes were made of, not others: a robot of four chambers
in self-contact had its training shapes within 0.02 % by 16 modes, other shapes within 0.6 %, and its motion was off by
17 %. So some snapshots are held out, whole runs where there are enough, and determine the number.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pliant.core.checks import positive
from pliant.core.declared import declared
from pliant.core.errors import InputError, PliantWarning
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.models.volume import VolumeModel
from pliant.reduced import Subspace
from pliant.reduced.chart import CurvedChart
from pliant.reduction.choose import SLACK
from pliant.reduction.curved import curved
from pliant.reduction.pod import Pod, displacements, pod
from pliant.reduction.snapshots import Snapshots

HELD_OUT = 0.2
"""Fraction of the snapshots that is held out to determine the number of modes: the usual one in five."""
MOST_CURVED = 16
"""Most modes of a quadratic manifold: 16 already have 136 products to fit."""
ENOUGH_RUNS = 5
"""Runs in which every actuator must move for whole runs to be held out: the others then still cover it."""


@one_line
@dataclass(frozen=True, eq=False)
class ModeChoice:
    """A subspace made of all snapshots, and how the number of its modes was found.

    `errors` (r,), no unit, is what subspaces of 0, 1 … r − 1 modes of the other snapshots leave of those held out, in
    the norm of the masses; `by` says whether whole runs or single snapshots were held out.
    """

    subspace: Subspace
    errors: FloatArray
    by: Literal["runs", "snapshots"]

    @property
    def error(self) -> float:
        """What as many modes leave of held-out snapshots."""
        return float(self.errors[min(self.subspace.size, len(self.errors) - 1)])


@declared
def choose_modes(
    model: VolumeModel, snapshots: Snapshots, *, tolerance: float, curvature: bool = False, seed: int = 0
) -> ModeChoice:
    """The subspace with the fewest modes that leaves at most `tolerance` of held-out snapshots, usual 1e-2 … 1e-4.

    Where no number does, a warning says so and the smallest within 10 % of the best is taken.

    curvature
        Let the subspace be a curved one.
    seed
        Of the choice of held-out snapshots.
    """
    positive("tolerance", tolerance)
    by: Literal["runs", "snapshots"] = "runs" if is_rich(snapshots) else "snapshots"
    if HELD_OUT * snapshots.count < 1.0:
        raise InputError(
            f"{snapshots.count} snapshots are too few to choose and check modes of {model.name!r}; record more steps"
        )
    training, apart = (part.positions(model.name) for part in snapshots.split(HELD_OUT, seed, by=by))
    trained = pod(model, training, tolerance=1e-9)
    errors = _curved_errors(trained, training, apart, tolerance) if curvature else trained.left_out(apart)
    enough = np.flatnonzero(errors <= tolerance)
    size = max(1, int((enough if len(enough) else np.flatnonzero(errors <= (1.0 + SLACK) * errors.min()))[0]))
    if not len(enough):
        warnings.warn(
            f"modes of {model.name!r} leave {errors.min():.1e} of {by} they were not made of, however many: the "
            f"snapshots do not span its motions to {tolerance:.1e}. Record more runs, or loosen motion_tolerance; "
            f"{size} modes are taken",
            PliantWarning,
            stacklevel=4,
        )
    shapes = snapshots.positions(model.name)
    found = pod(model, shapes, size=size)
    return ModeChoice(curved(found, shapes) if curvature else found.subspace(), errors, by)


def _curved_errors(trained: Pod, training: FloatArray, apart: FloatArray, tolerance: float) -> FloatArray:
    """Relative errors on shapes `apart` (s, n, 3) of curved subspaces of `training` (s, n, 3) with 0, 1 … modes."""
    model = trained.model
    weight = np.repeat(model.mass.nodal, 3)
    wanted = displacements(model, apart)
    whole, errors = float((weight * wanted**2).sum()), [1.0]
    for size in range(1, min(trained.size, MOST_CURVED) + 1):
        space = curved(replace(trained, modes=trained.modes[:, :size]), training)
        chart = CurvedChart.of(model.rest, space.modes, space.curvature, model.mass)
        reached = np.array([(chart.positions(chart.at(x)) - model.rest).ravel() for x in apart])
        errors.append(float(np.sqrt((weight * (reached - wanted) ** 2).sum() / whole)))
        if errors[-1] <= tolerance:
            break
    return np.array(errors)


def is_rich(snapshots: Snapshots) -> bool:
    """Whether every actuator of the plan that they tell of moves in `ENOUGH_RUNS` runs or more."""
    plan = snapshots.provenance.get("plan")
    if plan is None:
        return False
    targets = np.atleast_2d(np.array(plan["targets"], float))
    return bool((np.count_nonzero(targets, axis=0) >= ENOUGH_RUNS).all())
