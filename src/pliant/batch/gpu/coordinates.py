"""Between positions and velocities of states and the unknowns that a card steps."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from pliant.core.types import FloatArray


class Coordinates(Protocol):
    """Of one body in all copies."""

    def unknowns(self, q: FloatArray) -> FloatArray:
        """u (…, b) of positions (b, n, 3), m."""

    def rates(self, v: FloatArray) -> FloatArray:
        """Rates (…, b) of the unknowns of velocities (b, n, 3), m/s."""

    def positions(self, u: FloatArray) -> FloatArray:
        """Positions (b, n, 3), m."""

    def velocities(self, v: FloatArray) -> FloatArray:
        """Velocities (b, n, 3), m/s."""


class OfNodes:
    """Displacements (f, 3, b) m of the f free nodes, in the order of the matrix."""

    def __init__(self, rest: FloatArray, order: Any) -> None:
        self._rest, self._order = rest, order

    def unknowns(self, q: FloatArray) -> FloatArray:
        """u of positions."""
        return self.rates(q - self._rest)

    def rates(self, v: FloatArray) -> FloatArray:
        """Rates of velocities."""
        return np.moveaxis(v[:, self._order], 0, -1)

    def positions(self, u: FloatArray) -> FloatArray:
        """Positions of u."""
        return self._rest + self.velocities(u)

    def velocities(self, v: FloatArray) -> FloatArray:
        """Velocities of rates."""
        made = np.zeros((v.shape[-1], *self._rest.shape))
        made[:, self._order] = np.moveaxis(v, -1, 0)
        return made


class OfModes:
    """Coordinates (k, b) of the modes of a chart that is linear."""

    def __init__(self, chart: Any) -> None:
        self._rest, self._modes, self._dual = chart.rest, chart.modes, chart.dual

    def unknowns(self, q: FloatArray) -> FloatArray:
        """y of positions."""
        return self.rates(q - self._rest)

    def rates(self, v: FloatArray) -> FloatArray:
        """Rates of velocities."""
        made: FloatArray = self._dual @ v.reshape(len(v), -1).T
        return made

    def positions(self, u: FloatArray) -> FloatArray:
        """Positions of y."""
        made: FloatArray = self._rest + self.velocities(u)
        return made

    def velocities(self, v: FloatArray) -> FloatArray:
        """Velocities of rates."""
        made: FloatArray = (self._modes @ v).T.reshape(-1, *self._rest.shape)
        return made


class OfStrains:
    """The first strains (N, `kinds`, b), rad and m, of the sections of a clamped rod less those at the start."""

    def __init__(self, start: FloatArray, kinds: int) -> None:
        self._start, self._kinds = start, kinds

    def unknowns(self, q: FloatArray) -> FloatArray:
        """Strains of q (b, 4 + 2N, 3)."""
        return self.rates((q - self._start)[:, 2:])

    def rates(self, v: FloatArray) -> FloatArray:
        """Rates of v (b, 2 + 2N, 3)."""
        return np.moveaxis(v[:, 2:].reshape(len(v), -1, 6)[..., : self._kinds], 0, -1)

    def positions(self, u: FloatArray) -> FloatArray:
        """Q (b, 4 + 2N, 3) of strains."""
        made: FloatArray = self._start + np.pad(self.velocities(u), ((0, 0), (2, 0), (0, 0)))
        return made

    def velocities(self, v: FloatArray) -> FloatArray:
        """Rates (b, 2 + 2N, 3), of which those of the base are zero."""
        made = np.pad(np.moveaxis(v, -1, 0), ((0, 0), (0, 0), (0, 6 - self._kinds)))
        return np.pad(made.reshape(len(made), -1, 3), ((0, 0), (2, 0), (0, 0)))
