"""The number of contact modes: the fewest that reproduce held-out forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.checks import positive
from pliant.core.declared import declared
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.extras import blank_figure
from pliant.core.one_line import one_line
from pliant.core.progress import progress_bar
from pliant.core.replacing import replacing
from pliant.core.types import FloatArray, IndexArray
from pliant.reduction.nnls import fit_error
from pliant.reduction.nnmf import Factorization, checked_snapshots, nnmf_family

MOST_MODES = 60
"""Largest basis tried: more modes are hardly fewer than the contacts that push at once."""
SLACK = 0.1
"""Without a size within the tolerance, the smallest with an error within this fraction of the best is chosen."""


@one_line
@dataclass(frozen=True, eq=False)
class BasisChoice:
    """A basis and how the error depends on its size.

    `factorization` is the chosen one, `tolerance` what was asked for. `ranks` (r,) are the sizes tried, ascending;
    `held_out_errors` (r,) and `training_errors` (r,), no unit, are ‖S − ΨB‖ / ‖S‖ over the held-out and the training
    snapshots with the best weights B ≥ 0.
    """

    factorization: Factorization
    tolerance: float
    ranks: IndexArray
    held_out_errors: FloatArray
    training_errors: FloatArray

    @property
    def rank(self) -> int:
        """The chosen number of modes."""
        return self.factorization.rank

    @property
    def basis(self) -> FloatArray:
        """Ψ ≥ 0, (contacts, rank), no unit, columns of unit 2-norm."""
        return self.factorization.basis

    @property
    def error(self) -> float:
        """Held-out error of the chosen basis."""
        return float(self.held_out_errors[int(np.searchsorted(self.ranks, self.rank))])

    def plot(self, path: str | Path) -> Path:
        """Draw both errors against the number of modes into the picture `path`."""
        figure = blank_figure(figsize=(6.0, 4.0), layout="constrained")
        axes = figure.add_subplot()
        axes.semilogy(self.ranks, self.held_out_errors, "o-", label="held out")
        axes.semilogy(self.ranks, self.training_errors, ".-", label="training")
        axes.axhline(self.tolerance, color="gray", linestyle=":", label="tolerance")
        axes.axvline(self.rank, color="gray", linewidth=0.5)
        axes.set_xlabel("modes")
        axes.set_ylabel("relative force error")
        axes.legend()
        with replacing(path) as part:
            figure.savefig(part)
        return Path(path)


@declared
def choose_basis(
    training: Any, held_out: Any, *, tolerance: float, seed: int,
    ranks: Sequence[int] | None = None, whole_curve: bool = False, progress: bool | None = None,
) -> BasisChoice:  # fmt: skip
    """The smallest non-negative basis of `training` (contacts, snapshots), N, whose relative force error on `held_out`
    (contacts, other snapshots), N, is at most `tolerance` (usual 0.1 … 0.01).

    ranks
        Sizes to try, ascending; None: 1, 2, … up to 60 or what the snapshots allow.
    whole_curve
        Try all sizes, also those beyond the chosen one.
    progress
        Show a progress bar.
    """
    S, T = checked_snapshots(training, "training snapshots"), checked_snapshots(held_out, "held-out snapshots")
    if len(S) != len(T):
        raise InputError(f"the training snapshots have {len(S)} contacts, the held-out ones {len(T)}")
    for name, matrix in (("training", S), ("held-out", T)):
        if not matrix.any():
            raise InputError(f"the {name} snapshots hold no forces: record steps in contact, or split them otherwise")
    positive("tolerance", tolerance)
    sizes = list(range(1, min(MOST_MODES, *S.shape) + 1)) if ranks is None else list(ranks)
    tried: list[Factorization] = []
    errors: list[float] = []
    with progress_bar("basis", len(sizes), shown=progress) as advance:
        for factorization in nnmf_family(S, ranks=sizes, seed=seed):
            tried.append(factorization)
            errors.append(fit_error(factorization.basis, T))
            advance()
            if errors[-1] <= tolerance and not whole_curve:
                break
    enough = [k for k, error in enumerate(errors) if error <= tolerance]
    chosen = enough[0] if enough else _least(errors)
    sizes_tried = np.array([each.rank for each in tried], np.int64)
    training_errors = np.array([each.error for each in tried])
    choice = BasisChoice(tried[chosen], tolerance, sizes_tried, np.array(errors), training_errors)
    if not enough:
        raise ConvergenceError(
            f"no basis of up to {sizes[-1]} modes reaches {tolerance:g} on the held-out forces; {choice.rank} modes "
            f"reach {choice.error:.3g}. Record more snapshots, allow more modes, or loosen the tolerance",
            result=choice,
        )
    return choice


def _least(errors: Sequence[float]) -> int:
    """The smallest size within `SLACK` of the best."""
    limit = (1.0 + SLACK) * min(errors)
    return next(k for k, error in enumerate(errors) if error <= limit)
