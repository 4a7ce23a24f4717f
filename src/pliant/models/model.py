"""The contract between models and steppers: one step of one model.

`models.body` says what a model is. A trial is a step of a model at a displacement dx: it gives the residual and the
matrix there. Rows act on models through dx alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from scipy import sparse

from pliant.core.errors import InputError
from pliant.core.immutable import evolve
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.adjoint import BodyAdjoint
from pliant.models.scheme import Scheme
from pliant.models.workspace import Workspace
from pliant.solvers.linear.response import Motion


class FirstPart(NamedTuple):
    """The first part of a step in two parts, which led to the start of the second: q and v where it began, and dx."""

    q: FloatArray
    v: FloatArray
    dx: FloatArray


class StepStart(NamedTuple):
    """Start of a step of a model: q, v, time discretisation, gravity (3,) m/s², controls by handle, workspace, the
    first part of the step where this is the second and goes on from it, whether supports or welds hold the body, and
    what its material remembers, None where it is relaxed.
    """

    q: FloatArray
    v: FloatArray
    scheme: Scheme
    gravity: FloatArray
    controls: Mapping[Any, Any]
    workspace: Workspace | None = None
    first: FirstPart | None = None
    supported: bool = False
    history: FloatArray | None = None


class Factor(Protocol):
    """A factorized matrix A of one model."""

    def solve(self, rhs: Any) -> FloatArray:
        """A⁻¹ rhs, of the shape of rhs."""

    def compliance(self, H: sparse.csr_matrix) -> FloatArray:
        """H A⁻¹ Hᵀ, (rows, rows)."""

    def response(self, H: sparse.csr_matrix, lam: FloatArray) -> FloatArray:
        """A⁻¹ Hᵀ λ, (unknowns,), of forces λ (rows,)."""

    def motion(self, r: FloatArray) -> Motion:
        """The motion A⁻¹ r, of the shape of r, to which forces of rows can be added."""


class GeometricStiffness:
    """Symmetric stiffness K = −λ ∂²δ/∂q² that the forces of rows add to the matrix of one model.

    Subclasses say how K enters the matrix that a model stores.
    """

    of_stress: ClassVar[bool] = False
    """Whether K cancels the stiffness of stresses where a part rotates; a tangent without the latter omits K too."""

    def add_to(self, matrix: FloatArray) -> None:
        """Add K to `matrix` as the model stores it: blocks (b, 3, 3) of its pattern, or (n, n) over active unknowns."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class MatrixStiffness(GeometricStiffness):
    """A stiffness `K` in the form that the model stores."""

    K: FloatArray

    def add_to(self, matrix: FloatArray) -> None:
        """Add K to `matrix`."""
        matrix += self.K


class System:
    """A dx = r of one model. `r` has the shape of dx, in N (and N·m), and is zero at constrained unknowns."""

    r: FloatArray
    constrained_dx: FloatArray | None
    """Prescribed motion of the constrained unknowns, of the shape of dx; None where they stay."""
    elastic: ClassVar[bool] = True
    """Whether the model has stiffness of its own, which inertia can be compared with."""
    takes_blocks: ClassVar[bool] = False
    """Whether `add_blocks` adds to the matrix."""

    @property
    def operations(self) -> float:
        """Floating-point operations of `factorize`, 0 where they are few."""
        return 0.0

    def factorize(self) -> Factor:
        """Numeric factor of A; a `SingularError` where A is not positive definite."""
        raise NotImplementedError

    def copied(self) -> Self:
        """The same with a matrix of its own, which later changes of this one leave as it is."""
        made = copy(self)
        for name in ("values", "A"):
            if hasattr(made, name):
                setattr(made, name, getattr(made, name).copy())
        return made

    def product(self, x: FloatArray) -> FloatArray:
        """A x at the free unknowns, zero at constrained ones."""
        raise NotImplementedError

    def error_of(self, x: FloatArray) -> tuple[float, float]:
        """‖A x − r‖² and ‖r‖² over the free unknowns."""
        rest = self.product(x) - self.r
        return float(np.vdot(rest, rest)), float(np.vdot(self.r, self.r))

    def add_mass(self, fraction: float) -> None:
        """A += σ M with σ such that the diagonal of σ M is about `fraction` of that of A; for a model without
        stiffness, `fraction` of that of a step of 10 ms.
        """
        raise NotImplementedError

    def add_stiffness(self, K: GeometricStiffness) -> None:
        """A += K, unless this is a tangent without the stiffness of loads."""
        raise NotImplementedError

    def add_blocks(self, blocks: FloatArray) -> None:
        """A += `blocks` (n, 3, 3) N/m on the diagonal, one of each node."""
        raise NotImplementedError

    def diagonal(self) -> FloatArray:
        """Diagonal of A, of the shape of dx."""
        raise NotImplementedError

    def release(self, factor: Any) -> None:
        """Return the memory of A and of its factor to the workspace, where they come from one."""


class Residual(NamedTuple):
    """r = external − internal − inertial forces; `scale` is their largest norm, inf where a law is undefined."""

    r: FloatArray
    scale: float


class Trial:
    """One step of one model from (q, v) under given controls, at the displacement `dx`; it never changes.

    `load_fraction` in [0, 1] is the fraction of their prescribed motion that constrained unknowns go.
    """

    velocity_offset: FloatArray | None = None
    """v⁺ − dx/h of implicit Euler, of the shape of dx; None where it is zero."""
    has_adjoint: ClassVar[bool] = False
    """Whether `adjoint` gives the body in the adjoint of the step."""

    def __init__(self, model: Any, start: StepStart) -> None:
        self._q, self._v, self._scheme, self._gravity, self._controls, workspace, self._first = start[:7]
        supported, self._history = start.supported, start.history
        self.model: Any = model
        self._supported = supported or model.is_supported
        self.dx: FloatArray = np.zeros(model.constrained.shape)
        self.load_fraction = 1.0
        self.workspace = workspace or Workspace()

    def adjoint(self, stiffnesses: Iterable[GeometricStiffness]) -> BodyAdjoint | None:
        """The body in the adjoint of the step, at its end, with the geometric `stiffnesses` of rows; None of a kind
        whose residual is differentiated by finite differences (`gradients.small_body`).
        """
        return None

    def energy_gain(self) -> tuple[float, float]:
        """Energy that the body gained up to dx beyond the work of gravity and loads, and what it had, J; both 0 of a
        kind that a linear solve gives none to speak of.
        """
        return 0.0, 0.0

    @property
    def scheme(self) -> Scheme:
        """The time discretisation of the step."""
        return self._scheme

    def at(self, dx: FloatArray) -> Self:
        """The same step at the displacement `dx`; what was computed from the start of the step is shared."""
        return evolve(self, dx=dx)

    def loaded(self, fraction: float) -> Self:
        """The same step at another fraction of the load increment."""
        return evolve(self, load_fraction=fraction)

    def driven(self, motion: FloatArray) -> Self:
        """The same step with `motion`, of the shape of dx, added to the prescribed motion of constrained unknowns."""
        raise InputError(f"supports of {self.model.name!r} cannot move")

    def residual(self) -> Residual:
        """Residual at dx."""
        raise NotImplementedError

    def linearize(self, tangent: Tangent) -> tuple[Any, Residual]:
        """The `System` A dx = r at dx, and the residual there."""
        raise NotImplementedError

    def remaining_motion(self) -> FloatArray | None:
        """Motion that constrained unknowns still have to make, zero at free ones; None where there is none."""
        return None

    def must_move(self) -> bool:
        """Whether constrained unknowns are not yet at their prescribed positions."""
        return self.remaining_motion() is not None

    def positions(self) -> FloatArray:
        """q at the end of the step."""
        return self._displaced(self._q, self.dx, 1.0)

    def evaluation_point(self) -> FloatArray:
        """q at which forces are evaluated, after the fraction θ of the step."""
        return self._displaced(self._lagging, self.dx, self._scheme.theta)

    @property
    def _lagging(self) -> FloatArray:
        """q less the fraction κ of the first part of the step."""
        return self._q if self._first is None else self._displaced(self._q, self._first.dx, -self._scheme.lag)

    @property
    def _gained(self) -> FloatArray | None:
        """κ times the change of v in the first part of the step; None where there is none."""
        return None if self._first is None else self._scheme.lag * (self._v - self._first.v)

    def velocities(self) -> FloatArray:
        """v at the end of the step."""
        return self._scheme.next_velocity(self.dx, self._v, gained=self._gained)

    def moved(self, dx: FloatArray, step: FloatArray, scale: float) -> FloatArray:
        """The displacement dx followed by `scale` × step; rotations are composed by exp."""
        raise NotImplementedError

    def coordinate_scale(self) -> FloatArray:
        """Largest coordinates, to be broadcast to the shape of dx: the round-off error of q is relative to them."""
        raise NotImplementedError

    def reduced_force(self, force: FloatArray) -> FloatArray:
        """The part of forces, of the shape of dx, that does work in the motions of the model: all, unless reduced."""
        return force

    @property
    def knows_full_residual(self) -> bool:
        """Whether `full_residual` can be computed: not where only some integration points remember."""
        return True

    def full_residual(self, along: Residual, push: FloatArray | None) -> Residual:
        """Full-order residual, including reactions at constrained unknowns. `along` is the reduced-order residual,
        `push` the constraint forces already included in it, of the shape of dx, N (and N·m).
        """
        return along

    def whole_step(self) -> tuple[Self, float, float] | None:
        """The trial at the end of one linear solve without constraint forces, with ‖A dx − r‖² and ‖r‖², where one call
        takes it there; None where the stages are gone through one by one.
        """
        return None

    def joined_solve(self) -> Any:
        """A dx = r with the cheapest tangent at the start of the step, as `stepping.joined` solves it; None where the
        stages are gone through one by one.
        """
        return None

    def is_inverted(self) -> bool:
        """Whether elements are inverted at the end of the step."""
        return bool(self.model.is_inverted(self.positions()))

    def elastic_balance(self) -> tuple[float, float]:
        """Change of elastic energy over the step, and how much of it is no work done on the elements, J; both 0 of a
        body without elements, or whose elements remember.
        """
        return 0.0, 0.0

    def accept(self, q: FloatArray) -> None:
        """The step is accepted with q at its end."""

    def warnings(self, iterations: int) -> tuple[str, ...]:
        """What the body reports of its shape at the end of a step of `iterations` linear solves."""
        found: tuple[str, ...] = self.model.warnings(self.positions())
        return found

    def history(self) -> FloatArray | None:
        """What the material remembers at the end of the step; None where it remembers nothing."""
        return None

    def displaced(self, q: FloatArray, dx: FloatArray) -> FloatArray:
        """`q` after the motion `dx`, as at the end of a step."""
        return self._displaced(q, dx, 1.0)

    def _displaced(self, q: FloatArray, dx: FloatArray, fraction: float) -> FloatArray:
        """`q` after `fraction` of `dx`."""
        raise NotImplementedError


def size_of(model: Any, q: FloatArray) -> float:
    """The size of a body at q, m, by which steps are measured: that of its nodes, or of its inertia."""
    size = float(np.ptp(model.node_positions(q), axis=0).max(initial=0.0))
    if hasattr(model.spec, "inertia"):
        size = max(size, float(np.sqrt(np.trace(np.asarray(model.spec.inertia)) / model.spec.mass)))
    return max(size, 1e-9)
