"""Checks of a chamber's surface: closed, on the body's own nodes, enclosing air, apart from the outer surface.

A chamber is bounded by faces of the body with normals into the air, and closed by lids where it is open. A wrong
surface would pressurise solid material, or the wrong side.
"""

from __future__ import annotations

import numpy as np

from pliant.core.errors import MeshError
from pliant.core.types import BoolArray, IndexArray, IntArray
from pliant.mesh import Mesh, Surface
from pliant.mesh.geometry import listed
from pliant.mesh.queries import Locator


def check_chamber(name: str, surface: Surface, mesh: Mesh) -> None:
    """Raise a `MeshError` where `surface` does not bound air inside the body with this `mesh`."""
    surface.check_closed()
    if surface.triangles.max() >= mesh.node_count:
        raise MeshError(
            f"the surface of cavity {name!r} refers to node {surface.triangles.max()}, but its body has only "
            f"{mesh.node_count} nodes: take it from the body's own mesh, body.mesh.surface().components()"
        )
    skin = mesh.surface().triangles
    order, own = _matched(surface.triangles, skin)
    turned = own & (_parity(surface.triangles) != _parity(skin)[order])
    if turned.any() and surface.volume() < 0.0:
        raise MeshError(
            f"{listed('triangle', np.flatnonzero(turned))} of the surface of cavity {name!r} face into the body, not "
            "into the chamber: it is the flipped outside of the body, not inside it; use a later one of "
            "mesh.surface().components()"
        )
    if own.all():
        _check_apart(name, surface, skin, order)
    else:
        _check_lids(name, surface.triangles[~own], mesh)


def _check_apart(name: str, surface: Surface, skin: IntArray, used: IndexArray) -> None:
    """A chamber without lids shares no node with the rest of the body's skin."""
    rest = np.ones(len(skin), bool)
    rest[used] = False
    shared = np.intersect1d(surface.triangles, skin[rest])
    if len(shared):
        raise MeshError(
            f"the chamber of cavity {name!r} touches the outer surface or another chamber at {listed('node', shared)}; "
            "leave a wall of one cell at least between them"
        )


def _check_lids(name: str, lids: IntArray, mesh: Mesh) -> None:
    """Lids close a chamber through the air; they do not cut through the body."""
    middles = mesh.points[lids].mean(axis=1)
    buried = Locator(mesh).locate(middles, outside="nearest").inside
    if buried.any():
        raise MeshError(
            f"{int(buried.sum())} triangles of the surface of cavity {name!r} lie inside the body, the first at "
            f"{np.round(middles[buried][0], 6).tolist()} m, with material on both sides: remove the chamber's cells "
            "from the mesh"
        )


def _matched(triangles: IntArray, skin: IntArray) -> tuple[IndexArray, BoolArray]:
    """For each triangle the index of the triangle with the same nodes in `skin`, and whether there is one."""
    both = np.sort(np.concatenate([skin, triangles]), axis=1)
    _, group = np.unique(both, axis=0, return_inverse=True)
    group = group.reshape(-1)
    position = np.full(group.max() + 1, -1, np.int64)
    position[group[: len(skin)]] = np.arange(len(skin))
    order = position[group[len(skin) :]]
    return order, order >= 0


def _parity(triangles: IntArray) -> BoolArray:
    """Whether the nodes of each triangle (t, 3) are an even permutation of their ascending order."""
    first = np.argmin(triangles, axis=1)
    rows = np.arange(len(triangles))
    return np.asarray(triangles[rows, (first + 1) % 3] < triangles[rows, (first + 2) % 3])
