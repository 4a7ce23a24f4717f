"""A step of a reduced volume: residual and matrix along its motions.

Forces are passed on as nodal ones, Z ĝ with the work ĝ on the motions and none on others, so that residuals vanish at
an equilibrium of the reduced body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from pliant.core.errors import InputError, SingularError
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.model import GeometricStiffness, Residual, StepStart, System
from pliant.models.volume.free_rotation import widened, widening, without_moment
from pliant.models.volume.pressure import PressureStiffness
from pliant.models.volume.segments import SegmentStiffness
from pliant.models.volume.trial import NodalTrial
from pliant.models.workspace import Workspace
from pliant.reduced.chart import Configuration, LinearChart
from pliant.reduced.linear_subspace_adjoint import LinearSubspaceAdjoint
from pliant.reduced.modal_pieces import ModalPieces
from pliant.reduced.subspace_adjoint import SubspaceAdjoint
from pliant.solvers.linear.matrix import BlockMatrix
from pliant.solvers.linear.response import SolvedResponse

if TYPE_CHECKING:
    from pliant.reduced.subspace_model import SubspaceModel


_SINGULAR = 1e-14
"""Smallest pivot of a regular matrix, as a fraction of its diagonal entry: below it is rounding."""

Pairing = tuple[Any, FloatArray]
"""A nodal array and its projection on the motions, cached by identity."""


class SubspaceFactor(SolvedResponse):
    """D Â⁻¹ Dᵀ of the motions D (3n, m), by Cholesky's factor of Â (m, m); `known` is a force and its projection."""

    def __init__(self, name: str, here: Configuration, A: FloatArray, known: Pairing) -> None:
        lower, info = lapack.dpotrf(A, lower=1, clean=0)
        if info or not (lower.diagonal() ** 2 > _SINGULAR * A.diagonal()).all():
            raise SingularError(
                f"the matrix of {name!r} over {len(A)} motions is indefinite: reduce dt or constrain the body"
            )
        self._here, self._lower, self._known = here, lower, known
        self.solved: Pairing = (None, np.zeros(0))
        self._rows: tuple[Any, FloatArray] = (None, np.zeros((0, 0)))

    def solve(self, rhs: Any) -> FloatArray:
        """The motion under forces `rhs` (n, 3) or (3n, c), of its shape."""
        along = self._known[1] if rhs is self._known[0] else self._here.forces(np.asarray(rhs, np.float64))
        z = self._back(along)
        moved: FloatArray = (self._here.motions @ z).reshape(np.shape(rhs))
        self.solved = (moved, z)
        return moved

    def compliance(self, H: sparse.csr_matrix) -> FloatArray:
        """H D Â⁻¹ Dᵀ Hᵀ, (rows, rows)."""
        along = H @ self._here.motions
        self._rows = (H, along)
        half = lapack.dtrtrs(self._lower, along.T, lower=1)[0]
        return np.asarray(half.T @ half)

    def response(self, H: sparse.csr_matrix, lam: FloatArray) -> FloatArray:
        """The motion (3n,) under Hᵀλ."""
        along = self._rows[1] if self._rows[0] is H else H @ self._here.motions
        return np.asarray(self._here.motions @ self._back(lam @ along))

    def _back(self, along: FloatArray) -> FloatArray:
        return np.asarray(lapack.dpotrs(self._lower, along, lower=1)[0])


@dataclass(eq=False)
class SubspaceSystem(System):
    """Â ẑ = Dᵀr of a reduced volume: A (m, m) over its motions, r (n, 3) in N; see `VolumeSystem`."""

    model: SubspaceModel
    here: Configuration
    A: FloatArray
    r: FloatArray
    known: Pairing
    workspace: Workspace
    warped: bool
    constrained_dx: FloatArray | None = None
    factor: SubspaceFactor | None = None

    def factorize(self) -> SubspaceFactor:
        """Numeric factor of Â."""
        self.factor = SubspaceFactor(self.model.name, self.here, self.A, self.known)
        return self.factor

    def product(self, x: FloatArray) -> FloatArray:
        """Nodal forces (n, 3) of the motion x (n, 3)."""
        solved = self.factor is not None and self.factor.solved[0] is x
        z = self.factor.solved[1] if solved and self.factor is not None else self.here.dual @ x.ravel()
        return self.here.spread(self.A @ z)

    def add_mass(self, fraction: float) -> None:
        """Â += σ DᵀMD."""
        mass = self.here.mass
        self.A += fraction * float(np.abs(np.diagonal(self.A)).mean() / np.diagonal(mass).mean()) * mass

    def diagonal(self) -> FloatArray:
        """Diagonal of Z Â Zᵀ, which takes motions to nodal forces, (n, 3)."""
        dual = self.here.dual
        return np.asarray(((self.A @ dual) * dual).sum(axis=0).reshape(-1, 3))

    def add_stiffness(self, K: GeometricStiffness) -> None:
        """Â += Dᵀ K D, unless Â is warped and K belongs to stresses."""
        model, here = self.model, self.here
        if self.warped and K.of_stress:
            return
        if isinstance(K, SegmentStiffness):
            fixed = here.motions is model.chart.modes
            pieces = model.pieces(K.segments, self.workspace) if fixed else ModalPieces.of(K.segments, here.motions)
            pieces.add_stiffness(K.along, K.across, K.units, self.A)
        elif isinstance(K, PressureStiffness):
            model.modal_facets(K.facets, self.workspace).add_stiffness(K.pressure, K.q, K.scale, here.motions, self.A)
        else:
            values = np.zeros((model.pattern.block_count, 3, 3))
            K.add_to(values)
            self.A += here.motions.T @ (BlockMatrix(model.pattern, values).to_scipy() @ here.motions)


class SubspaceTrial(NodalTrial):
    """One step of a `SubspaceModel` from positions q and velocities v (n, 3); see `models.model.Trial`."""

    model: SubspaceModel
    has_adjoint = True

    def __init__(self, model: SubspaceModel, start: StepStart) -> None:
        super().__init__(model, start)
        self._start: Configuration | None = None
        if model.supports and model.prescribed(start.controls) is not model.rest:
            raise InputError(
                f"a support of {model.name!r} moves, but the modes of a reduced body are zero at its supports: keep "
                "the full body, or move it by a cable, a force point or an attachment"
            )
        self._recalled = self._recall()
        chords = self._scheme.memory and model.chart.rigid and bool(self._v.any())
        self._widening = widening(self._q, self._v, model.mass, self._scheme) if chords else None

    def _recall(self) -> Any:
        """What `SubspaceModel.strained` needs of the memory; None where there is none."""
        modal, scheme = self.model.modal_memory, self._scheme
        if modal is None:
            return None
        if self._history is None:
            self._history = modal.memory.start(self._q)
        return modal.stiffer(scheme), modal.at_start(self._history, scheme)

    def history(self) -> FloatArray | None:
        """Stresses of the branches at the end of the step at the points in use, see `reduced.modal_memory`."""
        modal, history = self.model.modal_memory, self._history
        if modal is None or history is None:
            return None
        return modal.memory.after(history, self._scheme, self.positions())

    def moved(self, dx: FloatArray, step: FloatArray, scale: float) -> FloatArray:
        """dx followed by scale × step, (n, 3), m; an unconstrained body turns by exp."""
        if isinstance(self.model.chart, LinearChart):
            return dx + scale * step
        at = self._lagging + self._scheme.theta * dx
        return self.model.chart.moved(self._q + dx, scale * step, at) - self._q

    def residual(self) -> Residual:
        """Residual at dx, without stiffness."""
        x = self.evaluation_point()
        here = self.model.chart.at(x)
        strain = self._strain(x, here)
        energy, internal, _ = self.model.strained(strain.y, Tangent.EXACT, 0.0, self._recalled)
        along, scale = self._balance(x, here, energy, self._along(x, here, strain, internal))
        return Residual(here.spread(along), scale)

    def linearize(self, tangent: Tangent) -> tuple[SubspaceSystem, Residual]:
        """A and r at dx."""
        model, scheme, x = self.model, self._scheme, self.evaluation_point()
        here, first = self.model.chart.at(x), model.chart.rigid
        strain = self._strain(x, here)
        damping = model.spec.damping
        rate = damping.stiffness * scheme.rate
        once = tangent is Tangent.WARPED  # one pass does for a solve that is not repeated: K(x) is K(q) or near it
        stiffness = scheme.theta + rate if once else scheme.theta
        energy, internal, K = model.strained(strain.y, tangent, stiffness, self._recalled)
        A = (scheme.inertia + damping.mass * scheme.rate) * here.mass
        if self._widening is not None:
            wide = (self._widening @ here.motions.reshape(len(x), 3, -1)).reshape(here.motions.shape)
            part = strain.dual[first:] @ wide
            A += part.T @ K @ part
            K = np.zeros_like(K)
        if rate and not once:
            K += rate * self.damping_stiffness()
        A[first:, first:] += K
        along, scale = self._balance(x, here, energy, self._along(x, here, strain, internal))
        r = here.spread(along)
        system = SubspaceSystem(model, here, A, r, (r, along), self.workspace, model.warps(tangent))
        for load, facets in model.pressure_loads:
            pressure = facets.sampled(self._controls.get(load, load.value))
            system.add_stiffness(PressureStiffness(facets, pressure, x, scheme.theta))
        return system, Residual(r, scale)

    def resistance(self) -> FloatArray:
        """M/h² + D/h of the motions at the evaluation point, (k, k): how the end of a step follows its start."""
        scheme, damping = self._scheme, self.model.spec.damping
        first = self.model.chart.rigid
        R = (scheme.inertia + damping.mass * scheme.rate) * self.model.chart.at(self.evaluation_point()).mass
        if damping.stiffness:
            R[first:, first:] += damping.stiffness * scheme.rate * self.damping_stiffness()
        return np.asarray(R)

    def reduced_force(self, force: FloatArray) -> FloatArray:
        """What nodal forces (n, 3), N, do along the motions, as nodal forces."""
        here = self.model.chart.at(self.evaluation_point())
        return here.spread(here.forces(force))

    @property
    def knows_full_residual(self) -> bool:
        """Whether the stresses of all integration points are known: those of all branches, or of relaxed ones."""
        return self.model.knows_all_points or not (self._scheme.dt or self._scheme.instantaneous)

    def full_residual(self, along: Residual, push: FloatArray | None) -> Residual:
        """The residual (n, 3), N, of the full-order volume with the forces `push` of rows: includes reactions of
        supports and what the motions cannot balance.
        """
        model = self.model
        own_start = self._q, self._v, self._scheme, self._gravity, self._controls, self.workspace, self._first
        trial = model.full_trial(StepStart(*own_start, self._supported, self._history))
        own: Residual = trial.at(self.dx).residual()
        return own if push is None else Residual(own.r + push, max(own.scale, float(np.linalg.norm(push))))

    def adjoint(self, stiffnesses: Iterable[GeometricStiffness]) -> SubspaceAdjoint:
        """The body in the adjoint of the step."""
        return SubspaceAdjoint(self, stiffnesses)

    def linear_adjoint(
        self, stiffnesses: Callable[[FloatArray], Sequence[Any]], factor: Any = None
    ) -> LinearSubspaceAdjoint:
        """The body in the adjoint of a step of one linear solve; its small `factor` is not kept."""
        return LinearSubspaceAdjoint(self, stiffnesses)

    turning = None

    @property
    def widens(self) -> bool:
        """Whether the step takes forces of a wider shape, that of a body which turns."""
        return self._widening is not None

    def accept(self, q: FloatArray) -> None:
        """The step has led to q (n, 3), which therefore lies in the subspace."""
        super().accept(q)
        self.model.reached(q, self.workspace)

    def driven(self, motion: FloatArray) -> SubspaceTrial:
        """Raise an `InputError`: supports of a reduced body do not move."""
        raise InputError(f"supports of {self.model.name!r} cannot move: its modes are zero there; keep the full body")

    def _strain(self, x: FloatArray, here: Configuration) -> Configuration:
        """The configuration whose stresses act at the evaluation point x (n, 3), m: `here`, or wider by what the chords
        of a rotation cut off (`free_rotation.widening`).
        """
        S = self._widening
        return here if S is None else self.model.chart.at(widened(x, S, self.model.mass))

    def _along(self, x: FloatArray, here: Configuration, strain: Configuration, internal: FloatArray) -> FloatArray:
        """Internal forces (m,) along the motions `here` from those (k,) along the modes of `strain`."""
        first = self.model.chart.rigid
        along = np.zeros(first + len(internal))
        along[first:] = internal
        if self._widening is None:
            return along
        force = strain.spread(along) @ self._widening
        return here.forces(without_moment(force, x, self.model.mass.nodal))

    def _balance(
        self, x: FloatArray, here: Configuration, energy: float, internal: FloatArray
    ) -> tuple[FloatArray, float]:
        """Residual (m,) along the motions from the internal forces (m,), and the largest norm in it."""
        model, scheme, first = self.model, self._scheme, self.model.chart.rigid
        external = self._external(x, here)
        momentum = self._momentum(here, scheme.momentum * self._velocity)
        along = external + momentum - internal
        parts = np.zeros((4, len(along)))
        parts[0], parts[1], parts[2] = external, momentum, internal
        if scheme.inertia and self.dx.any():
            damping = model.spec.damping
            along -= self._momentum(here, (scheme.inertia + damping.mass * scheme.rate) * self.dx)
            if damping.stiffness:
                change = self.model.chart.at(self._q + self.dx).y - self._begin().y
                parts[3, first:] = damping.stiffness * scheme.rate * (self.damping_stiffness() @ change)
                along -= parts[3]
        return along, here.norm(parts) if np.isfinite(energy) else np.inf

    def _external(self, x: FloatArray, here: Configuration) -> FloatArray:
        """Gravity and loads along the motions, (m,)."""
        model = self.model
        values = [self._controls.get(load, load.value) for load, _ in model.nodal_loads]
        if model.chart.rigid or model.pressure_loads or any(value.ndim > 1 for value in values):
            return here.forces(model.external_forces(x, self._gravity, self._controls))
        along: FloatArray = self._gravity @ model.dead[0]
        for value, share in zip(values, model.dead[1:], strict=True):
            along = along + value @ share
        return along if here.slopes is None else along @ here.slopes

    def _momentum(self, here: Configuration, speed: FloatArray) -> FloatArray:
        """DᵀM times nodal velocities or displacements (n, 3)."""
        mass = self.model.mass
        if isinstance(self.model.chart, LinearChart) or (mass.blocks is None and here.slopes is None):
            along: FloatArray = here.mass @ (here.dual @ speed.ravel())
            return along
        return here.forces(mass.apply(speed))

    def _begin(self) -> Configuration:
        if self._start is None:
            self._start = self.model.chart.at(self._q)
        return self._start

    def damping_stiffness(self, beyond: FloatArray | None = None) -> FloatArray:
        """K of Rayleigh damping along the modes, (k, k), in the middle of the step as of the full-order volume, or
        `beyond` it, (k,).
        """
        tangent = Tangent.WARPED if self.model.is_linear_law else Tangent.PROJECTED
        middle = 0.5 * (self._begin().y + self.model.chart.at(self._q + self.dx).y)
        middle = middle if beyond is None else middle + beyond
        recalled = None if self._recalled is None else (self._recalled[0], None)
        return self.model.strained(middle, tangent, 1.0, recalled)[2]
