"""Stiffness as an actuator: the Young's modulus of a part of a body, softer or harder while it runs.

Internal forces are linear in the modulus E: f = E f₁. Changing it by λ = E − E₀ (Pa) pushes the nodes by −λ f₁, so the
part is a row with H = −f₁, and δ = −(energy at E = 1) up to a constant, m³. Its stiffness λ ∂f₁/∂q makes the matrix
that of the changed modulus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from pliant.actuators.drive import Actuator, ControlRange, DriveRow
from pliant.actuators.limits import Command, Limits, check_rates, per_second
from pliant.actuators.values import Young
from pliant.constraints.rows import Rows, RowView, Stiffnesses
from pliant.core.checks import positive
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.body import Model
from pliant.models.model import MatrixStiffness
from pliant.models.volume import Volume, VolumeModel


@per_second
@dataclass(frozen=True, eq=False)
class Stiffness(Actuator):
    """The modulus of a part of `body`: of its inclusion number `inclusion`, or of the whole (None).

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
        positive(f"min_young of {self.name!r}", self.min_young, unit="Pa")
        if not self.max_young > self.min_young:
            raise InputError(f"max_young of {self.name!r} is {self.max_young:g} Pa, min_young {self.min_young:g} Pa")
        check_rates(self, "max_rate")
        if self.inclusion is None and self.body.inclusions:
            raise InputError(f"{self.body.name!r} has inclusions; say which one {self.name!r} changes")
        if self.inclusion is not None and not 0 <= self.inclusion < len(self.body.inclusions):
            raise InputError(f"{self.body.name!r} has {len(self.body.inclusions)} inclusions, not {self.inclusion}")
        if not hasattr(self.material, "young"):
            raise InputError(f"{type(self.material).__name__} has no Young's modulus that {self.name!r} could change")

    @property
    def material(self) -> Any:
        """The material whose modulus changes."""
        return self.body.materials[0 if self.inclusion is None else self.inclusion + 1]

    def constraint(self, key: int) -> StiffnessRows:
        """Its rows, before its bodies are compiled."""
        return StiffnessRows.of(self, key)

    def reading(self, values: FloatArray) -> str:
        """The modulus."""
        return f"{1e-3 * (float(self.material.young) + values[1]):.1f} kPa"

    def control_range(self) -> ControlRange:
        """The modulus between its bounds."""
        return ControlRange(Young, "Pa", self.min_young, self.max_young, float(self.material.young))

    @property
    def limits(self) -> Limits:
        """What λ = E − E₀ may be, Pa."""
        young = float(self.material.young)
        return Limits(self.min_young - young, self.max_young - young, force_rate=self.max_rate)

    def command(self, value: Any) -> Command:
        """A checked command from a control value."""
        if not isinstance(value, Young):
            raise InputError(f"{self.name!r} is controlled by pl.Young(Pa), got {value!r}")
        amount = positive(f"control of {self.name!r}", value.value, unit="Pa")
        if not self.min_young <= amount <= self.max_young:
            raise InputError(f"{self.name!r} is asked for {amount:g} Pa; {self.min_young:g} … {self.max_young:g} Pa")
        return Command(by_force=True, amount=amount - float(self.material.young))

    def moving(self, amount: float) -> Any:
        """A modulus has no displacement: an error."""
        raise InputError(f"{self.name!r} cannot be asked for a displacement")

    def imposing(self, amount: float) -> Young:
        """The control value that changes the modulus by `amount`, Pa."""
        return Young(float(self.material.young) + amount)


@dataclass(frozen=True, eq=False)
class StiffnessRows(DriveRow):
    """The row of one part. `weight` (points,) are the integration weights of the part over E₀, zero elsewhere."""

    part: VolumeModel | None = None

    stiffens = True

    @classmethod
    def of(cls, spec: Stiffness, key: int) -> StiffnessRows:
        """The row of `spec`, before its body is compiled."""
        return cls(spec, key)

    def bound(self, models: Sequence[Model]) -> StiffnessRows:
        """The row in a world of `models`: a copy of the model that has only the part, with E = 1."""
        number = self.model_number(models)
        model = VolumeModel.require(models[number], repr(self.spec.name))
        if model.split is not None:
            raise InputError(
                f'the stiffness of {model.name!r} cannot be an actuator with anti_locking="volume": take '
                "anti_locking=True"
            )
        own = model.points.material == (0 if self.spec.inclusion is None else self.spec.inclusion + 1)
        weight = np.where(own, model.points.weight / float(self.spec.material.young), 0.0)
        nothing = replace(model.mass, nodal=np.zeros_like(model.mass.nodal), blocks=None)
        part = replace(model, points=replace(model.points, weight=weight), mass=nothing, fibres=())
        return replace(self, number=number, part=part)

    def displacement(self, q: Sequence[FloatArray]) -> float:
        """Minus the energy at E = 1, m³."""
        assert self.part is not None
        return -self.part.internal(q[self.number])[0]

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        """Minus the energy at E = 1, and its gradient."""
        assert self.part is not None
        energy, force = self.part.internal(view.q[self.number])
        H = view.blank(1)
        H[self.number] = sparse.csr_matrix(-force.reshape(1, -1))
        control = view.controls.get(self.spec, Command(by_force=True, amount=0.0))
        law, lower, upper, target = self.law(view, control)
        return Rows.of(H, -energy, law, lower=lower, upper=upper, target=target, key=self.key), None

    def stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """`scale` λ ∂f₁/∂q of the part."""
        if lam[0] == 0.0:
            return
        assert self.part is not None
        K = np.empty((self.part.pattern.block_count, 3, 3))
        tangent = Tangent.WARPED if self.part.is_linear_law else Tangent.EXACT
        self.part.assemble(q[self.number], mass=0.0, stiffness=scale * float(lam[0]), tangent=tangent, values=K)
        yield self.number, MatrixStiffness(K)
