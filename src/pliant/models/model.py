"""The contract between models and steppers: a step of a model in the making.

What a model is says `models.body`. A trial is one step of one
model: it holds the displacement dx found so far and gives the residual and the matrix there. Rows act on models
through dx alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from scipy import sparse

from pliant.core.immutable import evolve
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.scheme import Scheme
from pliant.models.workspace import Workspace


class StepStart(NamedTuple):
    """What a step of a model starts from: its q and v, the time discretisation, gravity (3,) m/s², the controls by
    handle, and memory to use again.
    """

    q: FloatArray
    v: FloatArray
    scheme: Scheme
    gravity: FloatArray
    controls: Mapping[Any, Any]
    workspace: Workspace | None = None


class Factor(Protocol):
    """A factorized matrix A of one model."""

    def solve(self, rhs: Any) -> FloatArray:
        """A⁻¹ rhs, of the shape of rhs."""

    def compliance(self, H: sparse.csr_matrix) -> FloatArray:
        """H A⁻¹ Hᵀ, (rows, rows)."""

    def response(self, H: sparse.csr_matrix, lam: FloatArray) -> FloatArray:
        """A⁻¹ Hᵀ λ, (unknowns,), of forces λ (rows,)."""


class GeometricStiffness:
    """Stiffness K that the forces of rows add to the matrix of one model, −λ ∂²δ/∂q², symmetric.

    A kind of its own says how K enters the matrix that a model stores.
    """

    of_stress: ClassVar[bool] = False
    """Whether K cancels the stiffness of stresses where a part rotates: a tangent that leaves out the latter leaves out
    K too.
    """

    def add_to(self, matrix: FloatArray) -> None:
        """Add K to `matrix`, stored as the model stores its own: blocks (b, 3, 3) of its pattern, or (n, n) over its
        active unknowns.
        """
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class MatrixStiffness(GeometricStiffness):
    """A stiffness `K` that is there as the model stores it."""

    K: FloatArray

    def add_to(self, matrix: FloatArray) -> None:
        """Add K to `matrix`."""
        matrix += self.K


class System(Protocol):
    """A dx = r of one model. `r` has the shape of dx, in N (and N·m), and is zero at constrained unknowns."""

    r: FloatArray

    @property
    def constrained_dx(self) -> FloatArray | None:
        """Prescribed motion of the constrained unknowns, of the shape of dx; None where they stay."""

    def factorize(self) -> Factor:
        """Numeric factor of A; a `SingularError` where A is not positive definite."""

    def product(self, x: FloatArray) -> FloatArray:
        """A x at the free unknowns, zero at held ones."""

    @property
    def elastic(self) -> bool:
        """Whether the model has stiffness of its own, which inertia can be compared with."""

    def add_mass(self, share: float) -> None:
        """A += σ M with σ such that its diagonal is about `share` of that of A; of a model without stiffness, `share`
        of that of a step of 10 ms.
        """

    def add_stiffness(self, K: GeometricStiffness) -> None:
        """A += K, unless this is a tangent without the stiffness of loads."""

    def diagonal(self) -> FloatArray:
        """Diagonal of A, of the shape of dx."""

    def release(self, factor: Factor) -> None:
        """Hand the memory of A and of its factor back."""


@dataclass(frozen=True, eq=False)
class Residual:
    """r = external − internal − inertial forces, of the shape of dx; `scale` is the largest norm in it, inf where a
    material is undefined.
    """

    r: FloatArray
    scale: float


class Trial(Protocol):
    """One step of one model in the making, from (q, v) under given controls, at one displacement; it never changes.

    `dx` is the displacement. `load_fraction` in [0, 1] is how far constrained DoFs go of their way.
    """

    @property
    def dx(self) -> FloatArray:
        """The displacement."""

    @property
    def load_fraction(self) -> float:
        """How far constrained DoFs go of their way."""

    @property
    def velocity_offset(self) -> FloatArray | None:
        """v⁺ − dx/h of implicit Euler, of the shape of dx; None where it is zero."""

    @property
    def model(self) -> Any:
        """The model that moves."""

    def at(self, dx: FloatArray) -> Self:
        """The same step at another displacement."""

    def loaded(self, fraction: float) -> Self:
        """The same step at another fraction of the load increment."""

    def residual(self) -> Residual:
        """Residual at dx."""

    def linearize(self, tangent: Tangent) -> tuple[System, Residual]:
        """A and r at dx."""

    def must_move(self) -> bool:
        """Whether held unknowns are not yet where they have to go."""

    def positions(self) -> FloatArray:
        """q at the end of the step, for the dx so far."""

    def evaluation_point(self) -> FloatArray:
        """q at which forces are evaluated."""

    def moved(self, dx: FloatArray, step: FloatArray, scale: float) -> FloatArray:
        """The displacement dx followed by `scale` × step; rotations follow by exp."""

    def coordinate_scale(self) -> FloatArray:
        """Largest coordinates, to be broadcast to the shape of dx: what the last bits of q are relative to."""

    def velocities(self) -> FloatArray:
        """v at the end of the step, for the dx so far."""

    def reduced_force(self, force: FloatArray) -> FloatArray:
        """What is left of forces, of the shape of dx, N (and N·m), that the motions of the model feel."""

    def full_residual(self, along: Residual, push: FloatArray | None) -> Residual:
        """The residual of the model with all its motions, of which supports bear what is at held unknowns, where that
        along the motions it has is `along`; with the forces `push` of rows, of the shape of dx, N (and N·m), in both.
        """

    def accept(self, q: FloatArray) -> None:
        """The step has led to q."""


class TrialBase:
    """What trials share. Those of reduced models override what concerns forces that their motions do not feel."""

    dx: FloatArray
    load_fraction: float
    velocity_offset: FloatArray | None = None

    def at(self, dx: FloatArray) -> Self:
        """The same step at the displacement `dx`; what was computed from the start of the step is shared."""
        return evolve(self, dx=dx)

    def loaded(self, fraction: float) -> Self:
        """The same step at another fraction of the load increment."""
        return evolve(self, load_fraction=fraction)

    def reduced_force(self, force: FloatArray) -> FloatArray:
        """The forces themselves, of the shape of dx, N (and N·m)."""
        return force

    def full_residual(self, along: Residual, push: FloatArray | None) -> Residual:
        """The residual itself."""
        return along

    def accept(self, q: FloatArray) -> None:
        """Nothing to remember of q."""
