"""The reference elements: node order, faces, edges, shape functions and their gradients.

All three elements use the node order of VTK. Reference coordinates ξ: tetrahedra live on the unit simplex
{ξᵢ ≥ 0, Σξᵢ ≤ 1}, hexahedra on [−1, 1]³; triangles and quadrilaterals, the facets, likewise in two dimensions.
A point of a cell is x(ξ) = Σ Nₐ(ξ) xₐ. Faces are listed counter-clockwise seen from outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IntArray

ElementName = Literal["tet4", "tet10", "hex8"]
FacetName = Literal["tri3", "tri6", "quad4"]


@dataclass(frozen=True, eq=False)
class Element:
    """The table of one volume element.

    `faces` (f, nodes of a face) and `edges` (e, 2) are local node indices, faces outward; `face_triangles` (t, 3)
    splits one face, by indices local to the face; `flip` is the permutation that mirrors a cell.
    """

    name: ElementName
    node_count: int
    corner_count: int
    meshio_name: str
    facet: FacetName
    faces: IntArray
    edges: IntArray
    face_triangles: IntArray
    flip: IntArray


def _table(rows: object) -> IntArray:
    array = np.array(rows, dtype=np.int32)
    array.setflags(write=False)
    return array


_TET_EDGES = _table([(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)])
_HEX_EDGES = _table([(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)])
_HEX_FACES = _table([(0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)])
_TET10_FACES = _table([(1, 2, 3, 5, 9, 8), (0, 3, 2, 7, 9, 6), (0, 1, 3, 4, 8, 7), (0, 2, 1, 6, 5, 4)])
_QUAD_CORNERS = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
HEX_CORNERS = np.array([(*corner, z) for z in (-1, 1) for corner in _QUAD_CORNERS])

ELEMENTS: dict[str, Element] = {
    "tet4": Element(
        name="tet4",
        node_count=4,
        corner_count=4,
        meshio_name="tetra",
        facet="tri3",
        faces=_table([(1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)]),
        edges=_TET_EDGES,
        face_triangles=_table([(0, 1, 2)]),
        flip=_table([0, 2, 1, 3]),
    ),
    "tet10": Element(
        name="tet10",
        node_count=10,
        corner_count=4,
        meshio_name="tetra10",
        facet="tri6",
        faces=_TET10_FACES,
        edges=_TET_EDGES,
        face_triangles=_table([(0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)]),
        flip=_table([0, 2, 1, 3, 6, 5, 4, 7, 9, 8]),
    ),
    "hex8": Element(
        name="hex8",
        node_count=8,
        corner_count=8,
        meshio_name="hexahedron",
        facet="quad4",
        faces=_HEX_FACES,
        edges=_HEX_EDGES,
        face_triangles=_table([(0, 1, 2), (0, 2, 3)]),
        flip=_table([4, 5, 6, 7, 0, 1, 2, 3]),
    ),
}
"""The three volume elements by name. Edge e of a tetrahedron carries node 4 + e of the tet10."""

FACET_NODE_COUNT: dict[str, int] = {"tri3": 3, "tri6": 6, "quad4": 4}


def element_table(element: str) -> Element:
    """The table of `element`; an `InputError` lists the known elements when it is not one of them."""
    try:
        return ELEMENTS[element]
    except (KeyError, TypeError):
        known = ", ".join(repr(name) for name in ELEMENTS)
        raise InputError(f"element {element!r} is not known; use one of {known}") from None


_TRI_EDGES = _table([(0, 1), (1, 2), (2, 0)])
_QUADRATIC = {"tet10": _TET_EDGES, "tri6": _TRI_EDGES}
_MULTILINEAR = {"hex8": HEX_CORNERS, "quad4": _QUAD_CORNERS}


def shape(name: str, xi: FloatArray) -> FloatArray:
    """Shape functions N of an element at reference points `xi` (q, 3), or of a facet at `xi` (q, 2): shape (q, k)."""
    xi = _checked_points(name, xi)
    if name in _MULTILINEAR:  # Π (1 + sᵢ ξᵢ) / 2 over the axes
        return np.asarray(np.prod(0.5 * (1.0 + _MULTILINEAR[name][None] * xi[:, None]), axis=2))
    bary = _simplex(xi)
    if name not in _QUADRATIC:
        return bary
    first, second = _QUADRATIC[name].T  # corners L(2L − 1), mid-edges 4 LᵢLⱼ
    return np.hstack([bary * (2.0 * bary - 1.0), 4.0 * bary[:, first] * bary[:, second]])


def shape_gradients(name: str, xi: FloatArray) -> FloatArray:
    """Gradients ∂N/∂ξ of an element or a facet at reference points `xi` (q, d): shape (q, k, d)."""
    xi = _checked_points(name, xi)
    if name in _MULTILINEAR:
        return _multilinear_gradients(xi, _MULTILINEAR[name])
    return _quadratic_gradients(xi, _QUADRATIC[name]) if name in _QUADRATIC else _simplex_gradients(xi)


def _checked_points(name: str, xi: FloatArray) -> FloatArray:
    if name not in (*ELEMENTS, *FACET_NODE_COUNT):
        known = ", ".join(map(repr, (*ELEMENTS, *FACET_NODE_COUNT)))
        raise InputError(f"{name!r} is no element and no facet; use one of {known}")
    return np.atleast_2d(xi)


def checked_facet(facet: str) -> str:
    """`facet`; an `InputError` lists the facets when it is not one of them."""
    if facet not in FACET_NODE_COUNT:
        raise InputError(f"facet {facet!r} is not known; use one of {', '.join(map(repr, FACET_NODE_COUNT))}")
    return facet


def _simplex(xi: FloatArray) -> FloatArray:
    """Barycentric coordinates (q, d + 1) of points of the unit simplex."""
    return np.column_stack([1.0 - xi.sum(axis=1), xi])


def _simplex_gradients(xi: FloatArray) -> FloatArray:
    dimension = xi.shape[1]
    constant = np.vstack([-np.ones(dimension), np.eye(dimension)])
    return np.broadcast_to(constant, (len(xi), *constant.shape)).copy()


def _quadratic_gradients(xi: FloatArray, edges: IntArray) -> FloatArray:
    bary, slope = _simplex(xi), _simplex_gradients(xi)
    first, second = edges[:, 0], edges[:, 1]
    corners = (4.0 * bary - 1.0)[:, :, None] * slope
    middles = 4.0 * (bary[:, first, None] * slope[:, second] + bary[:, second, None] * slope[:, first])
    return np.concatenate([corners, middles], axis=1)


def _multilinear_gradients(xi: FloatArray, signs: FloatArray) -> FloatArray:
    factors = 0.5 * (1.0 + signs[None] * xi[:, None])
    gradients = np.empty(factors.shape)
    for axis in range(xi.shape[1]):
        others = np.delete(factors, axis, axis=2).prod(axis=2)
        gradients[:, :, axis] = 0.5 * signs[:, axis] * others
    return gradients
