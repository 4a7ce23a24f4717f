"""Stiffness as an actuator: the Young's modulus of a region of a body, changed during a run.

Internal forces are linear in the modulus E: f = E f₁. A change λ = E − E₀ (Pa) adds the force −λ f₁, so the region is a
row with H = −f₁ and δ = −(energy at E = 1) up to a constant, m³. Its stiffness is λ ∂f₁/∂q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from pliant.actuators.drive import UNBOUND, Actuator, ControlRange, DriveRow
from pliant.actuators.limits import Command, Limits, check_rates, per_second
from pliant.actuators.values import Young
from pliant.constraints.rows import Rows, RowView, Stiffnesses
from pliant.core.checks import positive
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.body import Model
from pliant.models.model import MatrixStiffness
from pliant.models.volume import Volume, VolumeModel

_ROUNDING = 1e-12
"""Fraction by which E₀ + λ may miss a bound of E where λ is at its own."""


@one_line
@per_second
@dataclass(frozen=True, eq=False)
class Stiffness(Actuator):
    """The modulus of the inclusion with index `inclusion` of `body`, or of the whole body (None).

    min_young, max_young
        Bounds of the modulus, Pa; min_young > 0.
    max_rate
        Largest rate of the modulus, Pa/s.
    """

    body: Volume
    _: KW_ONLY
    inclusion: int | None = None
    min_young: float
    max_young: float
    max_rate: float = np.inf
    name: str = "stiffness"

    def __post_init__(self) -> None:
        check_declared(self)
        positive(f"min_young of {self.name!r}", self.min_young, unit="Pa")
        if not self.max_young > self.min_young:
            raise InputError(f"max_young of {self.name!r} is {self.max_young:g} Pa, min_young {self.min_young:g} Pa")
        check_rates(self, "max_rate")
        if self.inclusion is None and self.body.inclusions:
            raise InputError(f"{self.body.name!r} has inclusions; give {self.name!r} the index of one: inclusion=…")
        if self.inclusion is not None and not 0 <= self.inclusion < len(self.body.inclusions):
            raise InputError(
                f"index {self.inclusion} is none of the {len(self.body.inclusions)} inclusions of {self.body.name!r}"
            )
        if not hasattr(self.material, "young"):
            raise InputError(f"{type(self.material).__name__} has no Young's modulus that {self.name!r} could change")

    @property
    def material(self) -> Any:
        """The material whose modulus changes."""
        return self.body.materials[0 if self.inclusion is None else self.inclusion + 1]

    def constraint(self, key: int) -> StiffnessRows:
        """Its row, not yet bound to models."""
        return StiffnessRows(self, key)

    def reading(self, values: FloatArray) -> str:
        """The modulus."""
        return f"{1e-3 * (float(self.material.young) + values[1]):.1f} kPa"

    def control_range(self) -> ControlRange:
        """The modulus between its bounds."""
        return ControlRange(Young, "Pa", self.min_young, self.max_young, float(self.material.young))

    def slider_amount(self, displacement: float, force: float) -> float:
        """The modulus, Pa."""
        return float(self.material.young) + force

    @property
    def limits(self) -> Limits:
        """Bounds of λ = E − E₀, Pa."""
        young = float(self.material.young)
        return Limits(self.min_young - young, self.max_young - young, force_rate=self.max_rate)

    def command(self, value: Any) -> Command:
        """A checked command from a control value."""
        if not isinstance(value, Young):
            raise InputError(f"{self.name!r} is controlled by pl.Young(Pa), got {value!r}")
        amount = positive(f"control of {self.name!r}", value.value, unit="Pa")
        if not self.min_young * (1.0 - _ROUNDING) <= amount <= self.max_young * (1.0 + _ROUNDING):
            raise InputError(
                f"{self.name!r} commands {amount:g} Pa, outside {self.min_young:g} … {self.max_young:g} Pa"
            )
        return Command(by_force=True, amount=amount - float(self.material.young))

    def moving(self, amount: float) -> Any:
        """Raise an `InputError`: a modulus has no displacement."""
        raise InputError(f"{self.name!r} cannot be commanded by displacement; use pl.Young(Pa)")

    def imposing(self, amount: float) -> Young:
        """The control value that changes the modulus by `amount`, Pa."""
        return Young(float(self.material.young) + amount)


@dataclass(frozen=True, eq=False)
class StiffnessRows(DriveRow):
    """The row of one region. `part` is the model of its body with E = 1 in the region and zero weight elsewhere."""

    part: VolumeModel = UNBOUND

    stiffens = True

    def bound(self, models: Sequence[Model]) -> StiffnessRows:
        """The row in a world of `models`."""
        index = self.model_index(models)
        model = VolumeModel.require(models[index], repr(self.spec.name))
        if model.split is not None:
            raise InputError(
                f'the stiffness of {model.name!r} cannot be an actuator with anti_locking="volume": use True'
            )
        own = model.points.material == (0 if self.spec.inclusion is None else self.spec.inclusion + 1)
        weight = np.where(own, model.points.weight / float(self.spec.material.young), 0.0)
        nothing = replace(model.mass, nodal=np.zeros_like(model.mass.nodal), blocks=None)
        part = replace(model, points=replace(model.points, weight=weight), mass=nothing, fibres=())
        return replace(self, index=index, part=part)

    def displacement(self, q: Sequence[FloatArray]) -> float:
        """Minus the energy at E = 1, m³."""
        return -self.part.internal(q[self.index])[0]

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        """Minus the energy at E = 1, and its gradient."""
        energy, force = self.part.internal(view.q[self.index])
        return self.row(view, -energy, sparse.csr_matrix(-force.reshape(1, -1))), None

    def stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """`scale` λ ∂f₁/∂q of the part."""
        return self._stiffness(q, lam, scale, Tangent.EXACT)

    def bounded_stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """The same with the tangent that the body has in full linear solves."""
        return self._stiffness(q, lam, scale, Tangent.WARPED if self.part.is_linear_law else Tangent.EXACT)

    def _stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float, tangent: Tangent) -> Stiffnesses:
        if lam[0] == 0.0:
            return
        K = np.empty((self.part.pattern.block_count, 3, 3))
        self.part.assemble(q[self.index], mass=0.0, stiffness=scale * float(lam[0]), tangent=tangent, values=K)
        yield self.index, MatrixStiffness(K)
