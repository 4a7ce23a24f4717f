"""A kind of body of one's own: point masses joined by springs, known to scenes, steppers, contacts, runs and files.

Two classes and a map make it, and one line registers it: `docs/extending.md` walks through the file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

import pliant as pl
from pliant.models.body import Body, Model, Parts
from pliant.models.free_modes import FreeModes, motions_of_points, open_modes
from pliant.models.kinds import register
from pliant.models.model import Residual, System
from pliant.models.point_map import PointMap
from pliant.models.surfaces import ContactShape, Skin
from pliant.models.volume.blocks import ConstrainedFactor
from pliant.models.volume.trial import NodalTrial
from pliant.solvers.linear.dense import DenseFactor

OCTAHEDRON = np.array([(1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)], float)
FACES = np.array([(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4), (1, 0, 5), (2, 1, 5), (3, 2, 5), (0, 3, 5)], np.int32)


@dataclass(frozen=True, eq=False)
class PointMasses(Body):
    """Balls of `mass` kg and `radius` m at `points` (n, 3) m, joined by `springs` (m, 2), pairs of their indices, of
    `stiffness` N/m that are at rest as they are given; the balls `fixed` (their indices) do not move.
    """

    points: Any
    springs: Any
    mass: float
    stiffness: float
    radius: float = 0.0
    fixed: Any = ()
    name: str = "masses"

    has_frames: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class BallMap(PointMap):
    """Points at `offset` (p, 3) m from the balls `nodes` (p,), which carry them along without turning."""

    nodes: Any
    offset: Any
    node_count: int

    def points(self, q):
        return q[self.nodes] + self.offset

    def selected(self, which):
        return replace(self, nodes=self.nodes[which], offset=self.offset[which])

    def carrying(self, q, points):
        return replace(self, offset=points - q[self.nodes])

    def pull_back(self, q, H):
        picks = sparse.csr_matrix((np.ones(len(self.nodes)), (range(len(self.nodes)), self.nodes)), self._shape)
        return (H @ sparse.kron(picks, sparse.eye(3))).tocsr()

    def pull_back_along(self, q, directions):
        count, width, _ = directions.shape
        rows = np.zeros((count, width, self.node_count, 3))
        rows[np.arange(count), :, self.nodes] = directions
        return sparse.csr_matrix(rows.reshape(count * width, -1))

    def pull_back_row(self, q, slope):
        return self.pull_back(q, sparse.csr_matrix(slope.reshape(1, -1)))

    def node_poses(self, q):
        return q[:, None]

    def carrier_velocities(self, q, v):
        return v[self.nodes]

    @property
    def _shape(self):
        return len(self.nodes), self.node_count


@dataclass(frozen=True, eq=False)
class PointMassModel(Model):
    """q and v (n, 3), m and m/s, are positions and velocities; E = ½ k Σ (|d| − L)² over the springs."""

    spec: PointMasses
    rest: Any
    pairs: Any
    lengths: Any
    constrained: Any

    @classmethod
    def compiled(cls, spec: PointMasses, placement: Any, parts: Parts) -> PointMassModel:
        parts.refuse(spec, "loads", "supports", "fibres")
        rest = placement[0] + np.atleast_2d(np.asarray(spec.points, float)) @ placement[1:].T
        pairs = np.asarray(spec.springs, int).reshape(-1, 2)
        constrained = np.zeros(rest.shape, bool)
        constrained[list(spec.fixed)] = True
        return cls(spec, rest, pairs, np.linalg.norm(rest[pairs[:, 1]] - rest[pairs[:, 0]], axis=1), constrained)

    def initial(self):
        return self.rest.copy(), np.zeros_like(self.rest)

    def trial(self, start):
        return PointMassTrial(self, start)

    def kinetic_energy(self, q, v) -> float:
        return 0.5 * self.spec.mass * float(np.vdot(v, v))

    def elastic_energy(self, q) -> float:
        return float(self.element_energies(q).sum())

    def potential_energy(self, q, gravity, controls) -> float:
        return -self.spec.mass * float((q @ gravity).sum())

    def embed(self, points, *, what: str, reach: float = 0.0, placed: bool = False) -> BallMap:
        at = self.rest if placed else np.atleast_2d(np.asarray(self.spec.points, float))
        away = np.linalg.norm(points[:, None] - at, axis=2)
        nodes = np.argmin(away, axis=1)
        if (away.min(axis=1) > self.spec.radius + reach + 1e-9).any():
            raise pl.InputError(f"{what}: a point is {away.min(axis=1).max():.3g} m from every ball; raise reach")
        q, stands = self.rest, points if placed else self.rest[nodes] + points - at[nodes]
        return BallMap(nodes, stands - q[nodes], len(q))

    def contact_shape(self, exclude=None) -> ContactShape:
        nodes = np.arange(len(self.rest), dtype=np.int32)
        if exclude is not None:
            nodes = nodes[~exclude.select(self.rest)]
        return ContactShape(self._balls, nodes, radius=self.spec.radius)

    def skin(self, *, stations=None, every=1) -> Skin:
        count = len(self.rest)
        offset = np.tile(self.spec.radius * OCTAHEDRON, (count, 1))
        triangles = (FACES + 6 * np.arange(count, dtype=np.int32)[:, None, None]).reshape(-1, 3)
        surface = BallMap(np.repeat(np.arange(count), 6), offset, count)
        return Skin(None, self.rest.copy(), triangles, self.spec.radius, surface)

    def free_modes(self, q) -> FreeModes | None:
        if self.constrained.any() or len(q) < 3:
            return None
        masses = np.full(len(q), self.spec.mass)
        return open_modes(self.constrained, *motions_of_points(q, masses), lambda x: self.spec.mass * x)

    def node_positions(self, q):
        return q

    def displacements(self, q):
        return q - self.rest

    def element_energies(self, q):
        return 0.5 * self.spec.stiffness * (self.stretched(q)[1] - self.lengths) ** 2

    def stretched(self, q):
        """Directions (m, 3) and lengths (m,), m, of the springs at q."""
        d = q[self.pairs[:, 1]] - q[self.pairs[:, 0]]
        lengths = np.linalg.norm(d, axis=1)
        return d / lengths[:, None], lengths

    def tension_forces(self, q):
        """Forces (n, 3), N, of the springs on the balls."""
        units, lengths = self.stretched(q)
        force, pull = np.zeros_like(q), (self.spec.stiffness * (lengths - self.lengths))[:, None] * units
        np.add.at(force, self.pairs[:, 0], pull)
        np.add.at(force, self.pairs[:, 1], -pull)
        return force

    def stiffness_matrix(self, q):
        """K (3n, 3n) = ∂²E/∂q², N/m: k u uᵀ along each spring and T/|d| (I − u uᵀ) across it."""
        K = np.zeros((len(q), 3, len(q), 3))
        for (i, j), u, length, rest in zip(self.pairs, *self.stretched(q), self.lengths, strict=True):
            along = np.outer(u, u)
            block = self.spec.stiffness * (along + (1.0 - rest / length) * (np.eye(3) - along))
            for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                K[a, :, b] += sign * block
        return K.reshape(q.size, q.size)

    @property
    def _balls(self) -> BallMap:
        return BallMap(np.arange(len(self.rest)), np.zeros_like(self.rest), len(self.rest))


@dataclass(eq=False)
class PointMassSystem(System):
    """A dx = r, with A (3n, 3n) and r (n, 3) N."""

    model: PointMassModel
    A: Any
    r: Any
    constrained_dx: Any = None

    def factorize(self):
        constrained = np.flatnonzero(self.model.constrained)
        A = self.A.copy()
        A[constrained] = A[:, constrained] = 0.0
        A[constrained, constrained] = 1.0
        return ConstrainedFactor(DenseFactor(A, symmetric=True), constrained)

    def product(self, x):
        return np.where(self.model.constrained, 0.0, (self.A @ x.ravel()).reshape(x.shape))

    def add_mass(self, fraction: float) -> None:
        self.A = self.A + fraction * np.abs(np.diag(self.A)).mean() * np.eye(len(self.A))

    def add_stiffness(self, K) -> None:
        K.add_to(self.A)

    def diagonal(self):
        return np.diag(self.A).reshape(self.r.shape)


class PointMassTrial(NodalTrial):
    """One step of the masses, with forces at x = q + θ dx: r = m g + f(x) − m (a dx − b v), A = a M + θ K."""

    def residual(self) -> Residual:
        scheme, mass = self._scheme, self.model.spec.mass
        parts = [
            np.broadcast_to(mass * self._gravity, self.dx.shape),
            self.model.tension_forces(self.evaluation_point()),
            mass * (scheme.momentum * self._v - scheme.inertia * self.dx),
        ]
        r = np.where(self.model.constrained, 0.0, parts[0] + parts[1] + parts[2])
        return Residual(r, max(float(np.linalg.norm(part)) for part in parts))

    def linearize(self, tangent) -> tuple[PointMassSystem, Residual]:
        residual, scheme = self.residual(), self._scheme
        A = scheme.theta * self.model.stiffness_matrix(self.evaluation_point())
        A[np.diag_indices(len(A))] += scheme.inertia * self.model.spec.mass
        return PointMassSystem(self.model, A, residual.r.copy()), residual


register(PointMasses, PointMassModel, skin=BallMap)  # the one line that makes it known


def main() -> None:
    """A chain of three balls hangs from a fixed one: each spring carries what hangs below it."""
    mass, stiffness = 0.01, 20.0
    scene = pl.Scene(gravity=(0, 0, -9.81))
    points = [(0, 0, -0.05 * k) for k in range(4)]
    chain = scene.add(PointMasses(points, [(0, 1), (1, 2), (2, 3)], mass, stiffness, radius=0.01, fixed=[0]))
    world = scene.compile()
    state, info = pl.QuasiStatic()(world, world.initial_state())
    sag = -state.displacements(chain)[:, 2]
    expected = np.cumsum([0, 3, 2, 1]) * mass * 9.81 / stiffness
    print(f"sag {1e3 * sag.round(6)} mm, {info.status.name}")
    assert np.allclose(sag, expected, atol=1e-9)


if __name__ == "__main__":
    main()
