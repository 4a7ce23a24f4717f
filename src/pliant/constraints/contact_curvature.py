"""Geometric stiffness −λ ∂²δ/∂q² of contacts: the normal turns and the foot moves as the bodies do.

The gap of a point above the plane of a triangle, and that of two lines, has the second variation

    δ²g = 2 δn·δu − g |δn|²          δu = δx_a − δx_b at the feet

where the normal n turns with the triangle or the two edges, n·e = 0 for each edge e: δn = −Σ e* (n·δe) with the dual
basis e* of the edges. A face bounds a sphere as its centre, at a gap that is larger by the radius. The gap of a
material point above a curved solid has δ²g = δu·C δu with its curvature C. The lowest point of an edge e above it
travels along the edge, by the t that minimises the gap: δ²g = δu·C δu − (δu·C e + n·δe)²/(e·C e). That is the form of
two lines with e* = C e/(e·C e), the curvature C − C e eᵀC/(e·C e) and the gap e·C e/|C e|², the radius of curvature
along the edge. A rigid body adds the change of the moment of a force F at the lever arm r,
K = (F·r) I − (F rᵀ + r Fᵀ)/2.

The blocks couple two bodies that touch. They are therefore no part of the matrices that are factorized body by body;
`stepping.refinement` takes them in with its products.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pliant.collision import Capsule, ContactKind, ContactSet, Cylinder, Sphere, side_rows
from pliant.collision.narrow.round_contacts import ROUND
from pliant.collision.solids.obstacles import Pipe
from pliant.collision.surface import EDGE_LIMIT
from pliant.constraints.contact import ContactPair
from pliant.constraints.contact_memory import ContactMemory
from pliant.constraints.rows import RowView
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.models.rigid import RigidModel

_FACET = 1.0 - 1e-8
"""A contact whose normal is that of its facet to within this product is one with its plane: 0.01 degrees."""
_STRAIGHT = 1e-3
"""Curvature of a solid along an edge over that of its radius below which its lowest point is not defined: edges within
2 degrees of the axis of a cylinder."""
_PROBE = 1e-5
"""Distance over which the curvature of a solid is measured, as a fraction of its radius."""
_BOTH_WAYS: FloatArray = np.vstack([np.eye(3), -np.eye(3)])


class ContactCurvature(NamedTuple):
    """c contacts that push: maps of the motion of each body to δu and δn of the contacts, (3c, unknowns), their forces
    `lam` (c,) N, gaps (c,) m and curvatures C (c, 3, 3) 1/m, and the rotational stiffness (3, 3) N·m of rigid
    bodies by index. `constrained` DoFs of each body feel nothing.
    """

    motion: Sequence[sparse.csr_matrix]
    turning: Sequence[sparse.csr_matrix]
    lam: FloatArray
    gap: FloatArray
    curvature: FloatArray
    levers: dict[int, FloatArray]
    constrained: tuple[BoolArray, ...]

    def products(self, dx: Sequence[FloatArray]) -> list[FloatArray]:
        """The forces that the displacements dx of each body cause, of the shape of its dx, N (and N·m)."""
        u, n = (
            sum(H @ x.ravel() for H, x in zip(maps, dx, strict=True)).reshape(-1, 3)
            for maps in (self.motion, self.turning)
        )
        lam = self.lam[:, None]
        on_u = (-lam * (n + np.einsum("mij,mj->mi", self.curvature, u))).ravel()
        on_n = (-lam * (u - self.gap[:, None] * n)).ravel()
        made = [
            (U.T @ on_u + N.T @ on_n).reshape(x.shape) for U, N, x in zip(self.motion, self.turning, dx, strict=True)
        ]
        for index, K in self.levers.items():
            made[index].ravel()[3:6] += K @ dx[index].ravel()[3:6]
        return [np.where(fixed, 0.0, force) for fixed, force in zip(self.constrained, made, strict=True)]


def curvature_of(
    pairs: Sequence[tuple[ContactPair, ContactMemory, FloatArray]], view: RowView, models: Sequence[Any]
) -> ContactCurvature | None:
    """The geometric stiffness of the contacts of pairs with their λ (rows,) N; None where none pushes."""
    parts = []
    for pair, memory, lam in pairs:
        contacts = memory.contacts
        normal = lam.reshape(contacts.count, -1)[:, 0]
        pushes = np.flatnonzero(normal > 0.0)
        if len(pushes):
            parts.append(
                _of_pair(pair, view, contacts.selected(pushes), normal[pushes], memory.forces(lam)[pushes], models)
            )
    if not parts:
        return None
    levers: dict[int, FloatArray] = {}
    for part in parts:
        for index, K in part.levers.items():
            levers[index] = levers.get(index, np.zeros((3, 3))) + K
    indices = range(len(view.sizes))
    return ContactCurvature(
        [sparse.vstack([part.motion[k] for part in parts], format="csr") for k in indices],
        [sparse.vstack([part.turning[k] for part in parts], format="csr") for k in indices],
        np.concatenate([part.lam for part in parts]),
        np.concatenate([part.gap for part in parts]),
        np.concatenate([part.curvature for part in parts]),
        levers,
        tuple(model.constrained for model in models),
    )


def _of_pair(
    pair: ContactPair, view: RowView, c: ContactSet, lam: FloatArray, forces: FloatArray, models: Sequence[Any]
) -> ContactCurvature:
    """The curvature of contacts `c` of a pair that push with `lam` (c,), with friction by `forces` (c, 3) on side a."""
    count, a, b = c.count, pair.a, pair.b
    motion, turning = view.blank(3 * count), view.blank(3 * count)
    eye = np.broadcast_to(np.eye(3), (count, 3, 3))
    sphere = isinstance(b.solid, Sphere) and b.surface is None
    for index, block in _motion_blocks(pair, view, c, eye, sphere=sphere):
        motion[index] = motion[index] + block
    curvature = np.zeros((count, 3, 3))
    sides = [(a, c.nodes_a)] if not c.point_count_b else [(a, c.nodes_a), (b, c.nodes_b)]
    blocks = _turning_blocks(pair, view, c)
    for (side, nodes), values in zip(sides, blocks, strict=False):
        if side.index is not None and values.any():
            points = c.point_count_a if side is a else c.point_count_b
            rows = side.pull_back(view, _over_points(nodes, values, points))
            turning[side.index] = turning[side.index] + rows
    if b.surface is None and isinstance(b.solid, Sphere | Cylinder | Pipe | Capsule) and (b.index is None or sphere):
        smooth = c.kind == ContactKind.VERTEX_OBSTACLE
        curvature[smooth] = _curvature_of_solid(pair, view, c.point_a[smooth])
    gap = np.array(c.gap)
    if b.surface is None and b.facets is None and isinstance(b.solid, ROUND) and a.index is not None:
        _add_travelling(pair, view, c, turning, curvature, gap)
    if b.surface is None and isinstance(b.solid, Sphere | Capsule):
        gap[c.kind == ContactKind.FACE_VERTEX] += float(b.solid.radius)  # the centre is what stands above a face
    levers: dict[int, FloatArray] = {}
    for side, sign in ((a, 1.0), (b, -1.0)):
        if side.index is not None and isinstance(models[side.index], RigidModel) and not (sphere and side is b):
            arm = (c.point_a if side is a else c.point_b) - side.q(view)[0]
            F = sign * forces
            product = np.einsum("mi,mj->ij", F, arm)
            levers[side.index] = np.trace(product) * np.eye(3) - 0.5 * (product + product.T)
    return ContactCurvature(motion, turning, lam, gap, curvature, levers, ())


def _motion_blocks(pair: ContactPair, view: RowView, c: ContactSet, eye: FloatArray, *, sphere: bool) -> Any:
    """Model index and rows of δu of either side."""
    a, b = pair.a, pair.b
    if a.index is not None:
        if a.radius:
            yield a.index, a.pull_at(view, c.point_a, eye, c.nodes_a[:, 0])
        else:
            yield a.index, a.pull_back(view, side_rows(c.nodes_a, c.weights_a, eye, c.point_count_a))
    if b.index is None:
        return
    if c.point_count_b:
        yield b.index, b.pull_back(view, side_rows(c.nodes_b, c.weights_b, eye, c.point_count_b, sign=-1.0))
    else:
        feet = np.broadcast_to(b.q(view)[0], c.point_b.shape) if sphere else c.point_b
        yield b.index, b.pull_at(view, feet, -eye)


def _turning_blocks(pair: ContactPair, view: RowView, c: ContactSet) -> tuple[FloatArray, FloatArray]:
    """Derivatives (c, 3, 3, 3) of the normals by the points of side a and of side b: contact, node, component of n and
    of the point.
    """
    a, b = pair.a, pair.b
    on_a, on_b = np.zeros((c.count, 3, 3, 3)), np.zeros((c.count, 3, 3, 3))
    if a.radius or a.surface is None:
        return on_a, on_b
    x = a.map.points(a.q(view))
    y = x if a is b else b.map.points(b.q(view)) if c.point_count_b else None
    edges = None
    if y is None and b.facets is not None:
        facets = b.facets_at(view)
        edges = facets.points[facets.surface.edges]
    for m in range(c.count):
        kind, n = c.kind[m], c.normal[m]
        if kind == ContactKind.VERTEX_FACE and y is not None:
            on_b[m] = _turn_of_face(y[c.nodes_b[m]], n)
        elif kind == ContactKind.FACE_VERTEX:
            on_a[m] = _turn_of_face(x[c.nodes_a[m]], n)
        elif kind == ContactKind.EDGE_EDGE:
            if y is not None:
                start, end = y[c.nodes_b[m, :2]]
            elif edges is not None:
                start, end = edges[c.key[m] % EDGE_LIMIT]
            else:
                continue
            u = x[c.nodes_a[m, 1]] - x[c.nodes_a[m, 0]]
            dual = _dual(u, end - start, n)
            if dual is not None:
                on_a[m, 0], on_a[m, 1] = np.outer(dual[0], n), -np.outer(dual[0], n)
                if y is not None:
                    on_b[m, 0], on_b[m, 1] = np.outer(dual[1], n), -np.outer(dual[1], n)
    return on_a, on_b


def _turn_of_face(corners: FloatArray, n: FloatArray) -> FloatArray:
    """−c_k nᵀ of each corner, with c_k the gradient of its weight; zero where n is not the normal of the triangle."""
    across = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    size = float(np.linalg.norm(across))
    if not size or abs(float(across @ n)) < _FACET * size:
        return np.zeros((3, 3, 3))
    made: FloatArray = -np.einsum("ki,j->kij", weight_gradients(corners)[0], n)
    return made


def weight_gradients(corners: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradients (3, 3) 1/m of the weights of the corners (3, 3) m of a triangle in its plane, and two directions (2, 3)
    that span it, orthonormal.
    """
    u, v = corners[1] - corners[0], corners[2] - corners[0]
    across = np.cross(u, v)
    size = float(np.linalg.norm(across))
    unit = across / size
    second, third = np.cross(v, unit) / size, np.cross(unit, u) / size
    along = u / np.linalg.norm(u)
    return np.array([-second - third, second, third]), np.array([along, np.cross(unit, along)])


def _dual(u: FloatArray, v: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """The dual basis of u and v in their plane; None where they are nearly parallel, or n is not across them."""
    across = np.cross(u, v)
    squared = float(across @ across)
    if squared < 1e-4 * float(u @ u) * float(v @ v) or abs(float(across @ n)) < _FACET * np.sqrt(squared):
        return None
    return np.cross(v, across) / squared, np.cross(across, u) / squared


def _add_travelling(
    pair: ContactPair, view: RowView, c: ContactSet, turning: Any, curvature: FloatArray, gap: FloatArray
) -> None:
    """Contacts of edges with a round solid: their points travel along the edges. Adds to the rows `turning` of side a,
    and writes `curvature` (c, 3, 3) 1/m and `gap` (c,) m of these contacts.
    """
    a, found = pair.a, travelling_edges(pair, view, c)
    if found is None or a.index is None:
        return
    edge, C, Ce, along = found
    curvature[edge] = C - np.einsum("mi,mj->mij", Ce, Ce) / along[:, None, None]
    gap[edge] = along / np.einsum("mi,mi->m", Ce, Ce)
    values = np.zeros((c.count, 3, 3, 3))
    values[edge, 0] = np.einsum("mi,mj->mij", Ce / along[:, None], c.normal[edge])
    values[edge, 1] = -values[edge, 0]
    turning[a.index] = turning[a.index] + a.pull_back(view, _over_points(c.nodes_a, values, c.point_count_a))


def travelling_edges(
    pair: ContactPair, view: RowView, c: ContactSet
) -> tuple[IndexArray, FloatArray, FloatArray, FloatArray] | None:
    """Which of the contacts `c` of a pair are of edges whose lowest point above a round solid travels along them, (k,),
    with the curvature C (k, 3, 3) 1/m of the solid there, C e (k, 3) and e·C e (k,) m of the edges e; None for none.
    """
    edge = np.flatnonzero(c.kind == ContactKind.EDGE_EDGE)
    if not len(edge):
        return None
    x = pair.a.points(view)
    start, end = x[c.nodes_a[edge, 0]], x[c.nodes_a[edge, 1]]
    e, weight = end - start, c.weights_a[edge, 1:2]
    C = _curvature_of_solid(pair, view, start + weight * e)
    Ce = np.einsum("mij,mj->mi", C, e)
    along = np.einsum("mi,mi->m", e, Ce)
    bent = along * float(pair.b.solid.radius) > _STRAIGHT * np.einsum("mi,mi->m", e, e)
    return edge[bent], C[bent], Ce[bent], along[bent]


def _over_points(nodes: IntArray, values: FloatArray, point_count: int) -> sparse.csr_matrix:
    """Rows (3c, 3p) over points from blocks (c, k, 3, 3) of the nodes (c, k) that are not −1."""
    m, k = np.nonzero(nodes >= 0)
    row = (3 * m[:, None, None] + np.arange(3)[:, None]) + np.zeros((1, 1, 3), np.int64)
    column = (3 * nodes[m, k].astype(np.int64)[:, None, None] + np.arange(3)) + np.zeros((1, 3, 1), np.int64)
    return sparse.csr_matrix(
        (values[m, k].ravel(), (row.ravel(), column.ravel())), shape=(3 * len(nodes), 3 * point_count)
    )


def _curvature_of_solid(pair: ContactPair, view: RowView, points: FloatArray) -> FloatArray:
    """∂n/∂x (k, 3, 3), 1/m, of a solid at `points` (k, 3) m outside it or on it; zero where it bends sharply."""
    b = pair.b
    if not len(points):
        return np.zeros((0, 3, 3))
    distance, step = b.world_distance(view), _PROBE * float(b.solid.radius)
    shifted = points + step * _BOTH_WAYS[:, None]
    normal = distance(shifted.reshape(-1, 3)).normal.reshape(2, 3, -1, 3)
    made: FloatArray = ((normal[0] - normal[1]) / (2.0 * step)).transpose(1, 2, 0)
    made = 0.5 * (made + made.transpose(0, 2, 1))
    made[np.abs(made).max(axis=(1, 2)) > 2.0 / float(b.solid.radius)] = 0.0
    return made
