"""The rigid motion that lays measured points onto their places in a model.

W. Kabsch, A solution for the best rotation to relate two sets of vectors, Acta Cryst. A32, 1976: with C the covariance
of both sets about their means, C = U Σ Vᵀ, the rotation is V diag(1, 1, det V Uᵀ) Uᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import finite_array, number_array
from pliant.core.declared import declared
from pliant.core.errors import InputError, UnitError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray

_OTHER_UNIT = 5.0
"""Sets of points whose sizes differ by more than this factor have other units: the next are inch and cm, 2.5 and 10."""
_ON_A_LINE = 1e-6
"""Points whose second extent is below this fraction of the first lie on a line: the rotation about it is open."""


@one_line
@dataclass(frozen=True, eq=False)
class Registration:
    """A rigid motion x → R x + t.

    rotation
        R (3, 3), no unit.
    translation
        t (3,), m.
    rms
        Root mean square of the distances that are left, m.
    used, skipped
        Number of points that were used, and of those skipped because of gaps.
    """

    rotation: FloatArray
    translation: FloatArray
    rms: float
    used: int
    skipped: int

    def apply(self, points: Any) -> FloatArray:
        """Points (…, 3), m, after the motion; NaN stays NaN."""
        return np.asarray(np.asarray(points, float) @ self.rotation.T + self.translation)


@declared
def register(measured: Any, reference: Any) -> Registration:
    """The rigid motion of least squares that brings `measured` (n, 3), m, onto `reference` (n, 3), m.

    Measured points with NaN are gaps: they are skipped and counted. At least three must be left, not on a line. Sets of
    different size, as of another unit, are an error.
    """
    wanted = finite_array("reference of a registration", reference, shape=(None, 3))
    given = number_array("measured points", measured)
    if given.shape != wanted.shape:
        raise InputError(f"measured points must have the shape {wanted.shape} of the reference, got {given.shape}")
    seen = np.isfinite(given).all(axis=1)
    skipped = int((~seen).sum())
    if seen.sum() < 3:
        raise InputError(
            f"a registration needs three points; {skipped} of {len(given)} measured ones are gaps: take another frame"
        )
    a, b = given[seen], wanted[seen]
    a_mean, b_mean = a.mean(axis=0), b.mean(axis=0)
    a, b = a - a_mean, b - b_mean
    _check_sizes(a, b)
    U, _, Vt = np.linalg.svd(a.T @ b)
    rotation = Vt.T @ np.diag([1.0, 1.0, np.sign(np.linalg.det(Vt.T @ U.T))]) @ U.T
    rms = float(np.sqrt(np.mean(np.sum((a @ rotation.T - b) ** 2, axis=1))))
    return Registration(rotation, b_mean - rotation @ a_mean, rms, int(seen.sum()), skipped)


def _check_sizes(a: FloatArray, b: FloatArray) -> None:
    extents = [np.linalg.svd(x, compute_uv=False) for x in (a, b)]
    for name, extent in zip(("measured", "reference"), extents, strict=True):
        if extent[1] <= _ON_A_LINE * extent[0]:
            raise InputError(f"the {name} points of a registration lie on a line, so the rotation about it is unknown")
    ratio = float(np.linalg.norm(extents[0]) / np.linalg.norm(extents[1]))
    if not 1.0 / _OTHER_UNIT < ratio < _OTHER_UNIT:
        raise UnitError(
            f"the measured points are {ratio:.3g} times as far apart as those of the reference; both must be in m: "
            "give the unit of the file when it is loaded"
        )
