"""The unknown rigid motion from the frame of a measuring system to the world."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.lie import cross_matrix, rotation_exp
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.recordings import Registration, register


@one_line
@dataclass(frozen=True, eq=False)
class Frame:
    """The frame of a measuring system: the rigid motion from it to the world is identified with the parameters.

    start
        A `Registration` near it; None: the markers of the first instant with three of them, not on a line, are
        registered onto the model at the start of the search.

    Several measurements may share one frame.
    """

    start: Any = None
    _: KW_ONLY
    name: str = "frame"

    def __post_init__(self) -> None:
        check_declared(self)
        if self.start is not None and not isinstance(self.start, Registration):
            raise InputError(
                f"start of the frame {self.name!r} must be a pl.recordings.Registration, got {self.start!r:.60}"
            )


SCALE = 0.1
"""Scale of a turn, rad, and of a shift over the length of the body."""


class Motion:
    """x → exp(φ) R₀ (x − c) + R₀ c + t₀ + t, for z = (φ, t / length) / `SCALE`, about the mean c of the data."""

    def __init__(self, first: Registration, middle: FloatArray, length: float) -> None:
        self._rotation, self._middle, self._shift = np.asarray(first.rotation), middle, SCALE * length
        self._at = self._rotation @ middle + np.asarray(first.translation)

    def apply(self, z: FloatArray, points: FloatArray) -> FloatArray:
        """Points (…, 3), m, in the world."""
        turned = (points - self._middle) @ (rotation_exp(SCALE * z[:3]) @ self._rotation).T
        return np.asarray(turned + self._at + self._shift * z[3:])

    def slope(self, z: FloatArray, points: FloatArray) -> FloatArray:
        """∂x/∂z (…, 3, 6) of `apply`: −exp(φ) [y]× J(φ) with the right Jacobian J of the rotation, and 1, scaled."""
        y = (points - self._middle) @ self._rotation.T
        crossed = np.zeros((*y.shape, 3))  # [y]×
        crossed[..., 0, 1], crossed[..., 0, 2], crossed[..., 1, 2] = -y[..., 2], y[..., 1], -y[..., 0]
        crossed -= np.swapaxes(crossed, -1, -2)
        turn = -SCALE * rotation_exp(SCALE * z[:3]) @ crossed @ _right_jacobian(SCALE * z[:3])
        shift = np.broadcast_to(self._shift * np.eye(3), turn.shape)
        return np.concatenate([turn, shift], axis=-1)

    def registration(self, z: FloatArray, rms: float, used: int, skipped: int) -> Registration:
        """The motion as a registration whose residual is `rms`, m."""
        rotation = rotation_exp(SCALE * z[:3]) @ self._rotation
        translation = self._at + self._shift * z[3:] - rotation @ self._middle
        return Registration(rotation, translation, rms, used, skipped)


def first_motion(frame: Frame, measured: FloatArray, predicted: FloatArray, length: float) -> Motion:
    """The motion at the start, of markers (T, k, 3) m, `measured` in the frame and `predicted` in the world."""
    middle = np.nanmean(measured.reshape(-1, 3), axis=0)
    if frame.start is not None:
        return Motion(frame.start, middle, length)
    for have, want in zip(measured, predicted, strict=True):
        seen = np.isfinite(have).all(axis=1)
        if seen.sum() >= 3:
            return Motion(register(have[seen], want[seen]), middle, length)
    raise InputError(
        f"the frame {frame.name!r} cannot be registered: at no instant are three of its markers seen; give it "
        "start=, a pl.recordings.Registration"
    )


def _right_jacobian(w: FloatArray) -> FloatArray:
    """J(w) with exp(w + d) ≈ exp(w) exp(J d), (3, 3)."""
    angle = float(np.linalg.norm(w))
    C = cross_matrix(w)
    if angle < 1e-4:  # the series to the next order is 1e-13 off
        return np.asarray(np.eye(3) - 0.5 * C + C @ C / 6.0)
    first = (1.0 - np.cos(angle)) / angle**2
    return np.asarray(np.eye(3) - first * C + (angle - np.sin(angle)) / angle**3 * C @ C)
