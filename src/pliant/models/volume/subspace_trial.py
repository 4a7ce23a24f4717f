"""A step of a confined volume in the making: residual and matrix along the motions that are left to it.

Forces are handed on as nodal ones, Z ĝ with the same work ĝ on the motions and none on others, so that residuals vanish
where the confined body balances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.model import Residual
from pliant.models.scheme import Scheme
from pliant.models.volume.chart import Place
from pliant.models.volume.loads import PressureFacets
from pliant.models.volume.modal_pieces import ModalPieces
from pliant.models.volume.segments import Segments
from pliant.solvers.linear.dense import DenseFactor
from pliant.solvers.linear.matrix import BlockMatrix

if TYPE_CHECKING:
    from pliant.models.volume.subspace_model import SubspaceModel


class SubspaceFactor:
    """D Â⁻¹ Dᵀ of the motions D (3n, m) of a confined volume."""

    def __init__(self, place: Place, A: FloatArray) -> None:
        self._place = place
        self._factor = DenseFactor(A, symmetric=True)

    def solve(self, rhs: Any) -> FloatArray:
        """The motion under forces `rhs` (n, 3) or (3n, c), of its shape."""
        given = np.asarray(rhs, np.float64)
        moved: FloatArray = self._place.motions @ self._factor.solve(self._place.forces(given))
        return moved.reshape(given.shape)

    def compliance(self, H: sparse.csr_matrix) -> FloatArray:
        """H D Â⁻¹ Dᵀ Hᵀ, (rows, rows)."""
        return self._factor.compliance(H @ self._place.motions)


@dataclass(eq=False)
class SubspaceSystem:
    """Â ẑ = Dᵀr of a confined volume: A (m, m) over its motions, r (n, 3) in N; see `VolumeSystem`."""

    model: SubspaceModel
    place: Place
    A: FloatArray
    r: FloatArray
    warped: bool
    held_dx: FloatArray | None = None

    def factorize(self) -> SubspaceFactor:
        """Numeric factor of Â."""
        return SubspaceFactor(self.place, self.A)

    def product(self, x: FloatArray) -> FloatArray:
        """Nodal forces (n, 3) of the motion x (n, 3)."""
        return self.place.spread(self.A @ (self.place.dual @ x.ravel()))

    def add_mass(self, share: float) -> None:
        """Â += σ DᵀMD."""
        self.A += (
            share * float(np.abs(np.diagonal(self.A)).mean() / np.diagonal(self.place.mass).mean()) * (self.place.mass)
        )

    def diagonal(self) -> FloatArray:
        """Diagonal of Z Â Zᵀ, which takes motions to nodal forces, (n, 3)."""
        dual = self.place.dual
        diagonal: FloatArray = ((self.A @ dual) * dual).sum(axis=0).reshape(-1, 3)
        return diagonal

    def release(self, factor: Any) -> None:
        """Nothing to hand back."""

    def add_pieces(self, segments: Segments, along: FloatArray, across: FloatArray, units: FloatArray) -> None:
        """Add the stiffness of pieces of a cable or a fibre, N/m; see `Segments.add_blocks`."""
        model, place = self.model, self.place
        pieces = ModalPieces.of(segments, place.motions) if model.chart.rigid else model.pieces(segments)
        pieces.add_stiffness(along, across, units, self.A)

    def add_pressure(self, facets: PressureFacets, pressure: float, q: FloatArray, scale: float) -> None:
        """Add −`scale` × the stiffness of a follower pressure, Pa, at q (n, 3)."""
        self.model.modal_facets(facets).add_stiffness(pressure, q, scale, self.place.motions, self.A)

    def add_blocks(self, values: FloatArray) -> None:
        """Add a matrix given by its blocks (b, 3, 3) in the pattern of the whole volume."""
        D = self.place.motions
        self.A += D.T @ (BlockMatrix(self.model.pattern, values).to_scipy() @ D)


class SubspaceTrial:
    """One step of a `SubspaceModel` from positions q and velocities v (n, 3); see `models.model.Trial`."""

    def __init__(
        self,
        model: SubspaceModel,
        q: FloatArray,
        v: FloatArray,
        scheme: Scheme,
        gravity: FloatArray,
        controls: Mapping[Any, FloatArray],
    ) -> None:
        self.model = model
        self.dx = np.zeros_like(q)
        self.blend = 1.0
        self._q, self._v = q, v
        self._scheme = scheme
        self._gravity = gravity
        self._controls = controls
        self._start: Place | None = None
        self._start_stiffness: FloatArray | None = None
        if model.supports and model.prescribed(controls) is not model.rest:
            raise InputError(
                f"a support of {model.name!r} moves, but the modes of a reduced body hold its supports: leave the body "
                "whole, or move it by a cable, a force point or an attachment"
            )

    def evaluation_point(self) -> FloatArray:
        """Positions at which forces are evaluated, q + θ dx, (n, 3), m."""
        return self._q + self._scheme.theta * self.dx

    def positions(self) -> FloatArray:
        """Positions at the end of the step, (n, 3), m."""
        return self._q + self.dx

    def velocities(self) -> FloatArray:
        """Velocities at the end of the step, (n, 3), m/s."""
        return self._scheme.next_velocity(self.dx, self._v)

    def moved(self, dx: FloatArray, step: FloatArray, scale: float) -> FloatArray:
        """dx followed by scale × step, (n, 3), m; a body that nothing holds turns by exp."""
        if not self.model.chart.rigid:
            return dx + scale * step
        place = self._place(self._q + self._scheme.theta * dx)
        return self.model.chart.moved(self._q + dx, scale * step, place) - self._q

    def reach(self) -> FloatArray:
        """Largest coordinates, (3,), m."""
        reach: FloatArray = np.abs(self.evaluation_point()).max(axis=0)
        return reach

    def residual(self) -> Residual:
        """Residual at dx, by a pass over the visited points without stiffness."""
        x = self.evaluation_point()
        place = self._place(x)
        energy, internal, _ = self.model.strained(place.y, Tangent.EXACT, 0.0)
        along, scale = self._balance(x, place, energy, internal)
        return Residual(place.spread(along), scale)

    def linearize(self, tangent: Tangent) -> tuple[SubspaceSystem, Residual]:
        """A and r at dx."""
        model, scheme, x = self.model, self._scheme, self.evaluation_point()
        place, first = self._place(x), model.chart.rigid
        damping = model.spec.damping
        rate = damping.stiffness * scheme.rate
        once = tangent is Tangent.WARPED  # one pass does for a solve that is not repeated: K(x) is K(q) or near it
        energy, internal, K = model.strained(place.y, tangent, scheme.theta + rate if once else scheme.theta)
        if rate and not once:
            K += rate * self._damping_stiffness()
        A = (scheme.inertia + damping.mass * scheme.rate) * place.mass
        A[first:, first:] += K
        along, scale = self._balance(x, place, energy, internal)
        r = place.spread(along)
        system = SubspaceSystem(model, place, A, r, model.warps(tangent))
        if not system.warped:
            for load, facets in model.pressure_loads:
                system.add_pressure(facets, float(self._controls.get(load, load.value)), x, scheme.theta)
        return system, Residual(r, scale)

    def confined(self, force: FloatArray) -> FloatArray:
        """What nodal forces (n, 3), N, do along the motions, as nodal forces."""
        place = self._place(self.evaluation_point())
        return place.spread(place.forces(force))

    def whole_residual(self) -> FloatArray:
        """Residual (n, 3), N, of the volume with all its unknowns and points at dx: supports bear it where held."""
        model = self.model
        trial = model.whole_trial(self._q, self._v, self._scheme, self._gravity, self._controls)
        trial.dx = self.dx
        r: FloatArray = trial.residual().r
        return r

    def drive(self, motion: FloatArray) -> None:
        """A reduced body keeps its supports: an error."""
        raise InputError(f"supports of {self.model.name!r} cannot move: its modes hold them; leave the body whole")

    def must_move(self) -> bool:
        """Whether held nodes are not yet where supports and clamps want them: never."""
        return False

    def _place(self, x: FloatArray) -> Place:
        return self.model.chart.place(x)

    def _balance(self, x: FloatArray, place: Place, energy: float, internal: FloatArray) -> tuple[FloatArray, float]:
        """Residual (m,) along the motions from the internal forces (k,) along the modes, and the largest norm in it."""
        model, scheme, first = self.model, self._scheme, self.model.chart.rigid
        external = self._external(x, place)
        momentum = self._momentum(place, scheme.momentum * self._v)
        along = external + momentum
        along[first:] -= internal
        inner = np.zeros(len(along))
        inner[first:] = internal
        if scheme.inertia and self.dx.any():
            damping = model.spec.damping
            along -= self._momentum(place, (scheme.inertia + damping.mass * scheme.rate) * self.dx)
            if damping.stiffness:
                change = self._place(self._q + self.dx).y - self._begin().y
                along[first:] -= damping.stiffness * scheme.rate * (self._damping_stiffness() @ change)
        scale = max(place.norm(external), place.norm(inner), place.norm(momentum)) if np.isfinite(energy) else np.inf
        return along, scale

    def _external(self, x: FloatArray, place: Place) -> FloatArray:
        """Gravity and loads along the motions, (m,)."""
        model = self.model
        if model.chart.rigid or model.pressure_loads:
            return place.forces(model.external_forces(x, self._gravity, self._controls))
        along: FloatArray = self._gravity @ model.dead[0]
        for (load, _), share in zip(model.nodal_loads, model.dead[1:], strict=True):
            along = along + self._controls.get(load, load.value) @ share
        return along

    def _momentum(self, place: Place, speed: FloatArray) -> FloatArray:
        """DᵀM times nodal velocities or displacements (n, 3)."""
        mass = self.model.mass
        if mass.blocks is None or not self.model.chart.rigid:
            along: FloatArray = place.mass @ (place.dual @ speed.ravel())
            return along
        return place.forces(mass.apply(speed))

    def _begin(self) -> Place:
        if self._start is None:
            self._start = self._place(self._q)
        return self._start

    def _damping_stiffness(self) -> FloatArray:
        """K(q) of Rayleigh damping along the modes, (k, k), positive semi-definite: it takes energy and never gives."""
        if self._start_stiffness is None:
            tangent = Tangent.WARPED if self.model.is_linear_law else Tangent.PROJECTED
            self._start_stiffness = self.model.strained(self._begin().y, tangent, 1.0)[2]
        return self._start_stiffness
