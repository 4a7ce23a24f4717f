"""Cables: an inextensible string through points of a body, pulled at one end.

With L the length along the via points, δ = L₀ − L is how much the cable has shortened and H = −∂L/∂q; λ is the
tension, ≥ 0. Commanded to shorten by u the cable obeys δ ≥ u, λ ≥ 0, one of them tight: it goes slack rather than
push.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from pliant.constraints.rows import RowLaw, Rows, RowView
from pliant.core.checks import finite_array, non_negative
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.mappings import BarycentricMap
from pliant.models.model import Model
from pliant.models.volume import Volume, VolumeModel


@dataclass(frozen=True, eq=False)
class Cable:
    """A cable through `via_points` (k, 3) m of `body`, given in the frame of its mesh; the last one is the anchor.

    pull_point
        Where the cable leaves for its motor, (3,) m fixed in the world; None: at the first via point.
    min_force, max_force
        Bounds of the tension, N; min_force ≥ 0.
    max_displacement
        Largest shortening that may be asked for, m.
    """

    body: Volume
    via_points: Any
    _: KW_ONLY
    pull_point: Any = None
    min_force: float = 0.0
    max_force: float = np.inf
    max_displacement: float = np.inf
    name: str = "cable"

    def __post_init__(self) -> None:
        points = finite_array(f"via_points of {self.name!r}", self.via_points, shape=(None, 3))
        if len(points) + (self.pull_point is not None) < 2:
            raise InputError(f"{self.name!r} has {len(points)} points; a cable needs two, or a pull_point and one")
        non_negative(f"min_force of {self.name!r}", self.min_force, unit="N")
        if not self.max_force > self.min_force:
            raise InputError(f"max_force of {self.name!r} is {self.max_force:g} N, but min_force {self.min_force:g} N")


@dataclass(frozen=True, eq=False)
class CableRows:
    """The row of one cable. `rest_length` is L₀, m."""

    spec: Cable
    number: int
    map: BarycentricMap
    pull_point: FloatArray | None
    rest_length: float
    key: int

    @classmethod
    def build(cls, spec: Cable, models: Sequence[Model], key: int) -> CableRows:
        """The row of `spec` in a world of `models`."""
        number = next(k for k, model in enumerate(models) if model.spec is spec.body)
        model = models[number]
        assert isinstance(model, VolumeModel)
        points = finite_array("via_points", spec.via_points, shape=(None, 3))
        riding = BarycentricMap.of_points(spec.body.mesh, points, what=f"via points of cable {spec.name!r}")
        pull = None if spec.pull_point is None else finite_array("pull_point", spec.pull_point, shape=(3,))
        made = cls(spec, number, riding, pull, 0.0, key)
        return cls(spec, number, riding, pull, made.length(model.rest), key)

    def length(self, q: FloatArray) -> float:
        """Length along the via points, m."""
        return float(np.linalg.norm(np.diff(self._path(q), axis=0), axis=1).sum())

    def rows(self, view: RowView) -> tuple[Rows, None]:
        """One row: shortening so far, and its gradient."""
        q = view.q[self.number]
        path = self._path(q)
        steps = np.diff(path, axis=0)
        lengths = np.linalg.norm(steps, axis=1)
        units = steps / np.maximum(lengths, 1e-12 * lengths.sum())[:, None]
        slope = np.zeros_like(path)
        slope[:-1] += units
        slope[1:] -= units
        if self.pull_point is not None:
            slope = slope[1:]
        H = view.blank(1)
        H[self.number] = self.map.pull_one(slope)
        law, lower, upper, target = self._law(view.controls.get(self.spec))
        gap = self.rest_length - float(lengths.sum())
        return Rows.of(H, gap, law, lower=lower, upper=upper, target=target, key=self.key), None

    def _law(self, control: Any) -> tuple[int, float, float, float]:
        """Without a control a cable hangs loose at its least tension."""
        kind, value = ("force", self.spec.min_force) if control is None else control
        if kind == "force":
            return RowLaw.IMPOSED, 0.0, np.inf, value
        return RowLaw.BOUNDED, self.spec.min_force, self.spec.max_force, value

    def _path(self, q: FloatArray) -> FloatArray:
        points = self.map.points(q)
        return points if self.pull_point is None else np.vstack([self.pull_point, points])
