"""Three cubes above a surface, the example of Bortoff 2020 that has 36 states: vertices and edges as constraints.

The 24 vertices must stay above the surface, and of each pair of cubes the 240 distances of vertices from faces and of
edges from edges must stay positive inside their scope: "every vertex and edge of every cube must lie outside the volume
of all other cubes". The rows in scope change as the cubes rotate and slide.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.checks import finite_array, positive
from pliant.core.declared import declared
from pliant.hybrid.bodies import BoxPairs, FreeBodies
from pliant.hybrid.contact_laws import Restitution
from pliant.hybrid.system import Contact, HybridSystem

CORNERS = np.array([[i, j, k] for i in (-1.0, 1.0) for j in (-1.0, 1.0) for k in (-1.0, 1.0)])
POSITIONS = ((-0.25, 0.0, 0.10), (0.0, 0.0, 0.12), (0.25, 0.0, 0.14))
ROTATION_VECTORS = ((0.05, -0.04, 0.3), (0.2, 0.1, -0.2), (-0.3, 0.2, 0.6))
"""m and rad; apart from each other and tilted, so that single vertices meet the surface first."""
IMPACT = Restitution(0.2, rest_speed=0.05)
"""Low restitution: the cubes come to rest within a second, after a few impacts each."""


@declared
def falling_cubes(
    *,
    positions: Any = POSITIONS,
    rotation_vectors: Any = ROTATION_VECTORS,
    side: float = 0.1,
    mass: float = 1.0,
    gravity: float = 9.81,
    alpha: tuple[float, float, float] = (900.0, 60.0, 1e6),
    restitution: Restitution | None = IMPACT,
) -> HybridSystem:
    """Cubes of `side` (m) and `mass` (kg) at `positions` (k, 3) m with `rotation_vectors` (k, 3) rad, above z = 0.

    q (6k,) holds position and rotation vector of cube after cube. Every vertex is a smooth contact with the surface,
    every pair of cubes has contacts of vertices, faces and edges, all with the given `alpha` and `restitution`.
    """
    positions = finite_array("positions", positions, shape=(None, 3))
    rotation_vectors = finite_array("rotation_vectors", rotation_vectors, shape=(len(positions), 3))
    half, count = 0.5 * positive("side", side, unit="m"), len(positions)
    positive("mass", mass, unit="kg")
    bodies = FreeBodies(np.full(count, mass), np.full((count, 3), mass * side**2 / 6.0), gravity=gravity)
    owner, local = np.repeat(np.arange(count), 8), np.tile(half * CORNERS, (count, 1))

    def heights(q: Any) -> Any:
        return bodies.points(q, owner, local)[:, 2]

    def rows(q: Any, v: Any) -> tuple[Any, Any, Any]:
        x, J, c = bodies.point_rows(q, v, owner, local)
        H = np.zeros((len(x), count, 6), J.dtype)
        H[np.arange(len(x)), owner] = J[:, 2]
        return x[:, 2], H.reshape(len(x), -1), c[:, 2]

    constraints = [Contact("surface", heights, alpha, count=8 * count, rows=rows, restitution=restitution)]
    if count > 1:
        pairs = BoxPairs(bodies, np.full((count, 3), half))
        constraints.append(
            Contact(
                "pairs", pairs.gap, alpha, count=pairs.count, rows=pairs.rows, restitution=restitution,
                near=pairs.near, moved=pairs.moved, search_distance=side, scope=pairs.scope,
            )
        )  # fmt: skip
    return HybridSystem(
        q0=np.concatenate([positions, rotation_vectors], axis=1).ravel(),
        v0=np.zeros(6 * count),
        mass=bodies.mass,
        bias=bodies.bias,
        constraints=tuple(constraints),
        name=f"{count} cubes",
        details={"bodies": bodies, "half": half},
    )
