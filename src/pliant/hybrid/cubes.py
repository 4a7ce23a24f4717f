"""Three cubes above a surface, the example of Bortoff 2020 that has 36 states: vertices and edges as constraints.

Contacts are the 24 vertices against the surface, the 8 vertices of every cube against each other cube (48), and for
every pair of cubes the edges that pass closest (3). A vertex is outside a cube while maxᵢ(|yᵢ| − a) > 0 in that cube's
frame, with the gradient of the face that attains it; two edges are apart by the distance of their lines, where the
direction across both separates the cubes better than any face does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.checks import finite_array, positive
from pliant.core.types import FloatArray
from pliant.hybrid.laws import Restitution
from pliant.hybrid.system import Contact, System
from pliant.models.multibody import FreeBodies
from pliant.models.multibody.free_bodies import rotations, skew, turning, turning_drift

CORNERS = np.array([[i, j, k] for i in (-1.0, 1.0) for j in (-1.0, 1.0) for k in (-1.0, 1.0)])
PLACES = ((-0.25, 0.0, 0.10), (0.0, 0.0, 0.12), (0.25, 0.0, 0.14))
TURNS = ((0.05, -0.04, 0.3), (0.2, 0.1, -0.2), (-0.3, 0.2, 0.6))
IMPACT = Restitution(0.2, rest_speed=0.05)
_DIFFERENCE = 1e-6


def falling_cubes(
    *,
    places: Any = PLACES,
    turns: Any = TURNS,
    side: float = 0.1,
    mass: float = 1.0,
    gravity: float = 9.81,
    alpha: tuple[float, float, float] = (900.0, 60.0, 1e6),
    restitution: Restitution | None = IMPACT,
) -> System:
    """Cubes of `side` (m) and `mass` (kg) at `places` (k, 3) m with rotation vectors `turns` (k, 3) rad, above z = 0.

    q (6k,) holds place and rotation vector of cube after cube; `alpha` and `restitution` are those of all
    contacts, which are smooth. Cubes may meet each other, but a pile of them, whose faces and edges take over from one
    another while they press, makes the integrator crawl: for piles use `pl.Scene`.
    """
    places, turns = (finite_array(name, x, shape=(None, 3)) for name, x in (("places", places), ("turns", turns)))
    half = 0.5 * positive("side", side, unit="m")
    positive("mass", mass, unit="kg")
    cubes = _Cubes(FreeBodies(np.full(len(places), mass), np.full((len(places), 3), mass * side**2 / 6.0),
                              gravity=gravity), half)  # fmt: skip
    shared: dict[str, Any] = {"alpha": alpha, "restitution": restitution}
    vertices = 8 * len(places)
    contacts = [Contact("surface", cubes.heights, count=vertices, rows=cubes.height_rows, **shared)]
    if len(places) > 1:
        shared["energy_consistent"] = True  # lets go where another face or edge takes over and h jumps up
        contacts.append(Contact("vertices", cubes.inside, count=len(cubes.point), rows=cubes.inside_rows, **shared))
        contacts.append(Contact("edges", cubes.edges, count=len(cubes.pairs), rows=cubes.edge_rows, **shared))
    return System(
        q0=np.concatenate([places, turns], axis=1).ravel(),
        v0=np.zeros(6 * len(places)),
        mass=cubes.bodies.mass,
        bias=cubes.bodies.bias,
        constraints=tuple(contacts),
        name=f"{len(places)} cubes",
        details={"bodies": cubes.bodies, "half": half},
    )


class _Cubes:
    """Gaps and rows of the three families of contacts."""

    def __init__(self, bodies: FreeBodies, half: float) -> None:
        self.bodies, self.half = bodies, half
        count = bodies.count
        self.owner = np.repeat(np.arange(count), 8)
        self.local = np.tile(half * CORNERS, (count, 1))
        ordered = [(p, b) for b in range(count) for p in range(8 * count) if p // 8 != b]
        self.point, self.other = np.array(ordered or np.empty((0, 2)), np.int64).T
        self.pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]

    def heights(self, q: Any) -> Any:
        return self.bodies.points(q, self.owner, self.local)[:, 2]

    def height_rows(self, q: Any, v: Any) -> tuple[Any, Any, Any]:
        x, J, c = self.bodies.point_rows(q, v, self.owner, self.local)
        return x[:, 2], self._spread(J[:, 2:]).reshape(len(x), -1), c[:, 2]

    def _spread(self, J: Any) -> Any:
        """Jacobians (p, d, 6) of points by their own body's coordinates, as (p, d, bodies, 6)."""
        out = np.zeros((len(J), J.shape[1], self.bodies.count, 6), J.dtype)
        out[np.arange(len(J)), :, self.owner] = J
        return out

    def _seen(self, q: Any) -> tuple[Any, Any, Any]:
        """Vertices in the frames of the other cubes (r, 3) m, and axis and sign of the face that each is nearest to."""
        x, theta = self.bodies.split(q)
        p = self.bodies.points(q, self.owner, self.local)[self.point]
        y = np.einsum("rji,rj->ri", rotations(theta)[self.other], p - x[self.other])
        axis = np.argmax(np.abs(y.real), axis=1)
        return y, axis, np.sign(y.real[np.arange(len(y)), axis])

    def inside(self, q: Any) -> Any:
        y, axis, sign = self._seen(q)
        return sign * y[np.arange(len(y)), axis] - self.half

    def inside_rows(self, q: Any, v: Any) -> tuple[Any, Any, Any]:
        y, axis, sign = self._seen(q)
        rows, b = np.arange(len(y)), self.other
        theta, rate = self.bodies.split(q)[1], self.bodies.split(v)[1]
        R, J, drift = rotations(theta), turning(theta), turning_drift(theta, rate)
        _, P, c = self.bodies.point_rows(q, v, self.owner, self.local)
        back = R[b].transpose(0, 2, 1)
        spin = np.einsum("kij,kj->ki", J, rate)[b]
        parts = v.reshape(-1, 6)
        w = np.einsum("rij,rj->ri", back, np.einsum("rij,rj->ri", P[self.point], parts[self.owner[self.point]]))
        w = w - np.einsum("rij,rj->ri", back, parts[b, :3])
        curve = np.einsum("rij,rj->ri", back, c[self.point]) - np.cross(spin, w) - np.cross(drift[b], y)
        curve = curve - np.cross(spin, w - np.cross(spin, y))
        H = np.zeros((len(y), self.bodies.count, 6), y.dtype)
        own = (back @ P[self.point])[rows, axis] * sign[:, None]
        H[rows, self.owner[self.point]] = own
        H[rows, b, :3] = -sign[:, None] * back[rows, axis]
        H[rows, b, 3:] = sign[:, None] * (skew(y) @ J[b])[rows, axis]
        return sign * y[rows, axis] - self.half, H.reshape(len(y), -1), sign * curve[rows, axis]

    def edges(self, q: Any) -> Any:
        return np.array([self._edge(q, a, b)[0] for a, b in self.pairs])

    def _edge(self, q: Any, a: int, b: int) -> tuple[Any, Any, Any, Any]:
        """The gap of the closest edges of cubes a and b, the direction across them, and their closest points in the
        frames of their cubes. Where a face separates the cubes better, the gap is half a side more than that face's.
        """
        x, theta = self.bodies.split(q)
        R = rotations(theta[[a, b]])
        A, B, d = R[0], R[1], x[a] - x[b]
        reach = (
            self.half * (np.abs(A.T @ B).sum(axis=0).real + 1.0),
            self.half * (np.abs(B.T @ A).sum(axis=0).real + 1.0),
        )
        face = max((np.abs(d @ B).real - reach[0]).max(), (np.abs(d @ A).real - reach[1]).max())
        best: tuple[Any, Any, Any, Any] = (face + self.half, np.zeros(3), np.zeros(3), np.zeros(3))
        top = face + 1e-3 * self.half
        for i in range(3):
            for j in range(3):
                n = np.array([A[1, i] * B[2, j] - A[2, i] * B[1, j], A[2, i] * B[0, j] - A[0, i] * B[2, j],
                              A[0, i] * B[1, j] - A[1, i] * B[0, j]])  # fmt: skip
                size = np.sqrt(n @ n)
                if size.real < 0.1:
                    continue
                n = n / size if (n @ d).real > 0.0 else -n / size
                corner_a, corner_b = -self.half * np.sign((n @ A).real), self.half * np.sign((n @ B).real)
                corner_a[i], corner_b[j] = 0.0, 0.0
                between = d + A @ corner_a - B @ corner_b
                gap = n @ between
                if gap.real > top:
                    top = gap.real
                    u, w = A[:, i], B[:, j]
                    cross, off = u @ w, -(between - gap * n)
                    s = (off @ u - cross * (off @ w)) / (1.0 - cross * cross)
                    t = cross * s - off @ w
                    pa, pb = corner_a.astype(q.dtype), corner_b.astype(q.dtype)
                    pa[i], pb[j] = s, t
                    best = (gap, n, pa, pb)
        return best

    def edge_rows(self, q: Any, v: Any) -> tuple[Any, Any, Any]:
        h, H = self._edge_slopes(q)
        step = _DIFFERENCE / max(1.0, float(np.abs(v).max()))
        ahead, behind = self._edge_slopes(q + step * v)[1] @ v, self._edge_slopes(q - step * v)[1] @ v
        return h, H, (ahead - behind) / (2.0 * step)

    def _edge_slopes(self, q: Any) -> tuple[Any, Any]:
        """Gaps (pairs,) and their derivatives (pairs, 6k): the closest points move with their cubes."""
        h, H = [], np.zeros((len(self.pairs), self.bodies.count, 6), q.dtype)
        zero = np.zeros_like(q)
        for k, (a, b) in enumerate(self.pairs):
            gap, n, pa, pb = self._edge(q, a, b)
            _, J, _ = self.bodies.point_rows(q, zero, np.array([a, b]), np.array([pa, pb]))
            H[k, a], H[k, b] = n @ J[0], -(n @ J[1])
            h.append(gap)
        return np.array(h), H.reshape(len(self.pairs), -1)


def deepest(system: System, q: FloatArray) -> float:
    """The deepest penetration (m, ≥ 0) of a vertex or edge at coordinates `q` (6k,)."""
    return max(0.0, *(-float(np.min(constraint.gap(q))) for constraint in system.constraints))  # type: ignore[union-attr]
