"""The reduction of a deformable volume: a few modes and a few of its integration points.

The state of a reduced volume is still the positions of its nodes, so that embedded points and contacts do not change;
its motion is restricted to dx = Φ y. With A → ΦᵀAΦ and H → HΦ the step is that of the full body, with
W = HΦ (ΦᵀAΦ)⁻¹ ΦᵀHᵀ (Goury, Carrez, Duriez, IEEE RA-L 2021, equations 14 to 16).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.models.volume.volume import Volume

if TYPE_CHECKING:
    from pliant.models.volume.model import VolumeModel
    from pliant.reduced.subspace_model import SubspaceModel


@dataclass(frozen=True, eq=False)
class Subspace:
    """The modes of a deformable body, as a reduction of a world: ``reduction.reduced(world, [subspace])``.

    body
        The volume.
    modes
        Displacements Φ (3n, k) of its n nodes, m per unit of their coordinates; zero at constrained
        nodes. An unconstrained body also moves rigidly: its modes exclude rigid motions and follow the body frame.
    curvature
        Displacements Ψ (3n, k + k(k+1)/2), m per unit, by the coordinates y and their products yᵢyⱼ (i ≤ j): with them
        the body moves in a curved space, x = X + Φ y + Ψ (y, y ⊗ y), for large bending with few coordinates.
        The modes are then orthonormal in the nodal masses.
    rest
        Rest positions (n, 3), m, of the nodes in the world that the modes were made for.
    points, weights
        Indices (c,) of the integration points in use, and the factors (c,) ≥ 0 of their weights; None: all.
    point_count
        Number of integration points of the body.
    """

    body: Volume
    modes: Any
    _: KW_ONLY
    rest: Any
    curvature: Any = None
    points: Any = None
    weights: Any = None
    point_count: int = 0

    def __post_init__(self) -> None:
        name = f"{self.body.name!r}"
        modes = finite_array(f"modes of the subspace of {name}", self.modes, shape=(None, None))
        rest = finite_array(f"rest positions of the subspace of {name}", self.rest, shape=(None, 3))
        if not modes.shape[1] or modes.shape[0] != rest.size:
            raise InputError(f"modes of the subspace of {name} must be (3n, k) with n = {len(rest)}, got {modes.shape}")
        if self.curvature is not None:
            wanted = (rest.size, self.size + self.size * (self.size + 1) // 2)
            finite_array(f"curvature of the subspace of {name}", self.curvature, shape=wanted)
        if (self.points is None) != (self.weights is None):
            raise InputError(f"the subspace of {name} needs both points and weights, or none of them")
        if self.points is not None:
            weights = finite_array(f"weights of the subspace of {name}", self.weights, shape=(None,))
            points = np.asarray(self.points)
            if points.shape != weights.shape or not len(points) or (weights < 0.0).any():
                raise InputError(f"the subspace of {name} needs a weight ≥ 0 for each of its points, (c,) both")
            if points.min() < 0 or points.max() >= self.point_count:
                raise InputError(f"points of the subspace of {name} must lie in [0, {self.point_count})")

    def __repr__(self) -> str:
        visited = self.point_count if self.points is None else len(self.points)
        kind = "modes" if self.curvature is None else "curved modes"
        return f"Subspace({self.body.name!r}, {self.size} {kind}, {visited} of {self.point_count} points)"

    @property
    def size(self) -> int:
        """Number of modes."""
        return int(np.shape(self.modes)[1])

    def covers(self, model: Any) -> bool:
        """Whether `model`, or a constraint, is what this reduces."""
        from pliant.models.volume.model import VolumeModel

        return isinstance(model, VolumeModel) and model.handle is self.body

    def reduced(self, model: VolumeModel) -> SubspaceModel:
        """The model restricted to the modes; an `InputError` where they belong to another mesh or position."""
        from pliant.reduced.subspace_model import SubspaceModel

        self._check(model)
        return SubspaceModel.of(model, self)

    def _check(self, model: VolumeModel) -> None:
        rest: FloatArray = np.asarray(self.rest, np.float64)
        if rest.shape != model.rest.shape or self.point_count != model.points.count:
            raise InputError(
                f"the subspace of {model.name!r} was made for {len(rest)} nodes and {self.point_count} integration "
                f"points, the body has {len(model.rest)} and {model.points.count}: reduce this body"
            )
        away = float(np.abs(rest - model.rest).max())
        if away > 1e-9 * float(np.ptp(rest, axis=0).max()):  # rounding of a placement
            raise InputError(
                f"the subspace of {model.name!r} was made for nodes up to {1e3 * away:.3g} mm away from those of this "
                "world: restore the position of the body, or reduce this world"
            )
