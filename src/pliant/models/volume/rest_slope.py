"""How the forces of a volume in a step change with its rest shape X, at fixed displacements u = q − X of all nodes.

Every energy, and every form w · f, is a sum over integration points of V s(Y₁, Y₂, …) with gradients Y = Σ y ⊗ G of
fields y at the nodes. X changes the weights V of the cells and their gradients, δV = V G_b · δX_b and
δY = −Y (δX_b ⊗ G_b), and points that are means over cells take δ(V Y) from each of them. With M = ∂s/∂Y,

    ∂/∂X_b = Σ V ((s − M : Y_point + M : Y_cell) I − Y_cellᵀ M) G_b

the configurational force (J. D. Eshelby, The elastic energy-momentum tensor, J. Elasticity 5, 1975). Fields that are
positions X + u follow X as well, which adds the forces Σ V M G_b.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.core.arrays import sum_by
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.materials import Tangent
from pliant.materials.response import evaluate
from pliant.mesh import Mesh
from pliant.mesh.elements import shape, shape_gradients
from pliant.mesh.quadrature import MASS_DEGREE, gauss
from pliant.models.volume.damping_slope import damping_slope
from pliant.models.volume.fields import FieldForces
from pliant.models.volume.loads import BodyLoad, PointLoad
from pliant.models.volume.points import Points, cell_gradients
from pliant.models.volume.pressure import facet_rule

if TYPE_CHECKING:
    from pliant.models.volume.trial import VolumeTrial


class Field(NamedTuple):
    """A field `y` (n, 3) of a form, and V ∂s/∂Y (p, 3, 3) of it at the points."""

    y: FloatArray
    slope: FloatArray


class _Owners(NamedTuple):
    """Parts of points: the `point` (j,), the Gauss point of a cell `gauss` (j,), and the `fraction` (j,) of the weight
    of the point; `gradients` (g, k, 3), 1/m, and `nodes` (g, k) of the Gauss points.
    """

    point: IndexArray
    gauss: IndexArray
    fraction: FloatArray
    gradients: FloatArray
    nodes: IndexArray


def rest_slope(
    trial: VolumeTrial, w: FloatArray, velocity: FloatArray, gravity: FloatArray, controls: Mapping[Any, Any]
) -> FloatArray:
    """The derivative of w · r by the rest positions, (n, 3), r of the step at its end without rows, w (n, 3). The step
    began with `velocity` (n, 3), m/s, under `gravity` (3,), m/s², and `controls`.
    """
    model, scheme = trial.model, trial.scheme
    check_known(model, trial.evaluation_point())
    given = model.points, model.laws, model.table
    density, fields = _elastic(*given, trial.evaluation_point(), w)
    made = -_configurational(model.mesh, model.points, density, fields)
    made -= _forces(model.points, fields[0].slope, len(w))
    rate = model.spec.damping.stiffness * scheme.rate
    if rate:
        middle = trial.positions() - 0.5 * trial.dx
        density, slopes = damping_slope(*given, middle, trial.dx).form(w)
        fields = [Field(y, slope) for y, slope in zip((middle, w, trial.dx), slopes, strict=True)]
        made -= rate * _configurational(model.mesh, model.points, density, fields)
        made -= rate * _forces(model.points, fields[0].slope, len(w))
    inertia = scheme.inertia + model.spec.damping.mass * scheme.rate
    made += mass_slope(model, w, scheme.momentum * velocity - inertia * trial.dx, gravity)
    for load, share in model.nodal_loads:
        made += _load_slope(model.mesh, load, share, controls.get(load, load.value), w)
    return np.asarray(made)


def check_known(model: Any, q: FloatArray) -> None:
    """Raise an `InputError` where a volume at q depends on its rest shape in ways that are not known."""
    if model.fibres:
        what = "fibres, or cables with guide_stiffness"
    elif model.split_at(q) is not None:
        what = "patches of volume (anti_locking='volume', or large stretch)"
    elif model.memory is not None:
        what = "a material with memory"
    elif model.pressure_loads:
        what = "a follower pressure; pressures of a pl.Cavity are differentiated"
    else:
        return
    raise InputError(f"the rest shape of {model.name!r} is not differentiated: it has {what}")


def energy_slope(model: Any, q: FloatArray) -> FloatArray:
    """The derivative of the elastic energy by the rest positions at fixed positions q, (n, 3), N."""
    check_known(model, q)
    psi, P, _ = _response(model.points, model.laws, model.table, _gradient(model.points, q))
    weight = model.points.weight
    return _configurational(model.mesh, model.points, weight * psi, [Field(q, weight[:, None, None] * P)])


def mass_slope(model: Any, w: FloatArray, y: FloatArray, gravity: FloatArray) -> FloatArray:
    """The derivative of w · M y + Σ m w · gravity by the rest positions, (n, 3)."""
    spec, mesh = model.spec, model.mesh
    if spec.mass is not None and np.ndim(spec.mass):
        return np.zeros(w.shape)  # masses of the nodes are given
    density = np.array([material.density for material in spec.materials])[spec.cell_materials()]
    xi, weights = gauss(mesh.element, MASS_DEGREE[mesh.element])
    N = shape(mesh.element, xi)
    measure, gradients = _measures(mesh, mesh.cells, xi, weights)
    mu = density[:, None] * measure
    if model.mass.blocks is None:
        each = np.einsum("ni,ni->n", w, y + gravity)[mesh.cells]
        squares = N**2
        diagonal = mu @ squares
        total = diagonal.sum(axis=1)
        mean = (each * diagonal).sum(axis=1) / total
        by_mu = ((each - mean[:, None]) * (mu.sum(axis=1) / total)[:, None]) @ squares.T + mean[:, None]
    else:
        at = [np.einsum("qa,mai->mqi", N, field[mesh.cells]) for field in (w, y)]
        by_mu = np.einsum("mqi,mqi->mq", at[0], at[1] + gravity)
    if spec.mass is not None:  # one total, shared as the volume is
        value, total = float((mu * by_mu).sum()), float(mu.sum())
        by_mu = float(spec.mass) / total * (by_mu - value / total)
    return _scattered(mesh.cells, mu * by_mu, gradients, len(w))


def _elastic(
    points: Points, laws: Any, table: FloatArray, x: FloatArray, w: FloatArray
) -> tuple[FloatArray, list[Field]]:
    """w · f of the internal forces f at x as a form: V P(F) : F_w."""
    F, Fw = _gradient(points, x), _gradient(points, w)
    _, P, C = _response(points, laws, table, F)
    V = points.weight[:, None, None]
    turned = np.einsum("pijkl,pkl->pij", C, Fw)
    density = points.weight * np.einsum("pij,pij->p", P, Fw)
    return density, [Field(x, V * turned), Field(w, V * P)]


def _response(points: Points, laws: Any, table: FloatArray, F: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """ψ (p,), P (p, 3, 3) and C (p, 3, 3, 3, 3) of the points."""
    psi, P, C = np.empty(len(F)), np.empty(F.shape), np.empty((len(F), 3, 3, 3, 3))
    for material, part in np.unique(np.stack([points.material, points.part]), axis=1).T:
        own = np.flatnonzero((points.material == material) & (points.part == part))
        found = np.empty(len(own)), np.empty((len(own), 3, 3)), np.empty((len(own), 3, 3, 3, 3))
        evaluate(int(laws[material]), int(part), table[material], int(Tangent.EXACT), F[own], *found)
        psi[own], P[own], C[own] = found
    return psi, P, C


def _gradient(points: Points, y: FloatArray) -> FloatArray:
    """Σ y ⊗ G of each point, (p, 3, 3)."""
    products = y[points.nodes][:, :, None] * points.gradients[:, None, :]
    return np.asarray(np.add.reduceat(products, points.ptr[:-1], axis=0))


def _forces(points: Points, P: FloatArray, count: int) -> FloatArray:
    """Σ P G at the nodes, (n, 3)."""
    parts = np.einsum("kij,kj->ki", np.repeat(P, np.diff(points.ptr), axis=0), points.gradients)
    return np.stack([sum_by(points.nodes, column, count) for column in parts.T], axis=1)


def _configurational(mesh: Mesh, points: Points, density: FloatArray, fields: Sequence[Field]) -> FloatArray:
    """∂/∂X of the sum of `density` (p,) = V s over the points, with fields at fixed values of their nodes, (n, 3)."""
    owners = _owners(mesh, points)
    scalar, tensor = density.copy(), np.zeros((len(owners.gauss), 3, 3))
    inner = np.zeros(len(owners.gauss))
    for y, slope in fields:
        scalar -= np.einsum("pij,pij->p", slope, _gradient(points, y))
        of_cell = np.einsum("gki,gkj->gij", y[owners.nodes], owners.gradients)[owners.gauss]
        own = slope[owners.point]
        inner += np.einsum("jik,jik->j", own, of_cell)
        tensor -= np.einsum("jik,jil->jkl", of_cell, own)
    tensor += (scalar[owners.point] + inner)[:, None, None] * np.eye(3)
    tensor *= owners.fraction[:, None, None]
    count = len(owners.gradients)
    whole = np.stack([sum_by(owners.gauss, column, count) for column in tensor.reshape(-1, 9).T], axis=1)
    parts = np.einsum("gij,gkj->gki", whole.reshape(-1, 3, 3), owners.gradients).reshape(-1, 3)
    nodes = owners.nodes.ravel()
    return np.stack([sum_by(nodes, column, mesh.node_count) for column in parts.T], axis=1)


def _owners(mesh: Mesh, points: Points) -> _Owners:
    """The Gauss points of the cells that each point is the mean of."""
    gradients, weights = cell_gradients(mesh)
    each = weights.shape[1]
    flat = gradients.reshape(-1, *gradients.shape[2:]), np.repeat(mesh.cells, each, axis=0).astype(np.int64)
    if mesh.element == "tet4":
        fraction = points.owner_volume / points.weight[points.owner_point]
        return _Owners(points.owner_point, points.owner_cell, fraction, *flat)
    gauss_points = np.arange(weights.size)
    if points.count == weights.size:
        return _Owners(gauss_points, gauss_points, np.ones(weights.size), *flat)
    means = weights.size + np.repeat(np.arange(len(weights)), each)  # the volume part of hexahedra
    fraction = np.concatenate([np.ones(weights.size), (weights / weights.sum(axis=1, keepdims=True)).ravel()])
    return _Owners(np.concatenate([gauss_points, means]), np.tile(gauss_points, 2), fraction, *flat)


def _measures(mesh: Mesh, cells: IntArray, xi: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Volumes (m, q), m³, of quadrature points `xi` of some `cells`, and gradients (m, q, k, 3), 1/m, there."""
    local = shape_gradients(mesh.element, xi)
    jacobians = np.einsum("mki,qkj->mqij", mesh.points[cells], local, optimize=True)
    gradients = np.einsum("qkj,mqji->mqki", local, np.linalg.inv(jacobians), optimize=True)
    return np.linalg.det(jacobians) * weights, gradients


def _scattered(cells: IntArray, values: FloatArray, gradients: FloatArray, count: int) -> FloatArray:
    """Σ V s G at `count` nodes, (n, 3), of V s (m, q) and G (m, q, k, 3)."""
    parts = np.einsum("mq,mqki->mki", values, gradients).reshape(-1, 3)
    return np.stack([sum_by(cells.ravel(), column, count) for column in parts.T], axis=1)


def _load_slope(mesh: Mesh, load: Any, share: Any, value: Any, w: FloatArray) -> FloatArray:
    """The derivative of w · f of the dead forces f of a load by the rest positions, (n, 3)."""
    if isinstance(load, PointLoad) or not isinstance(share, FieldForces):
        return np.zeros(w.shape)
    given = np.asarray(value, np.float64)
    if given.ndim == 1:
        force = np.broadcast_to(given, (*share.cells.shape, 3))
    elif len(given) == share.count:
        force = given[share.cells]
    else:
        force = np.broadcast_to(given[:, None], (*share.cells.shape, 3))
    if isinstance(load, BodyLoad):
        xi, weights = gauss(mesh.element, MASS_DEGREE[mesh.element])
        N = shape(mesh.element, xi)
        measure, gradients = _measures(mesh, share.cells, xi, weights)
        at = [np.einsum("qa,mai->mqi", N, field) for field in (w[share.cells], force)]
        return _scattered(share.cells, measure * np.einsum("mqi,mqi->mq", *at), gradients, len(w))
    N, slopes, weights = facet_rule(mesh, varies=True)
    at = [np.einsum("qa,mai->mqi", N, field) for field in (w[share.cells], force)]
    tangents = np.einsum("fki,qkd->fqid", mesh.points[share.cells], slopes, optimize=True)
    normal = np.cross(tangents[..., 0], tangents[..., 1])
    normal *= (weights / np.linalg.norm(normal, axis=2) * np.einsum("mqi,mqi->mq", *at))[..., None]
    sides = np.cross(tangents[..., 1], normal), np.cross(normal, tangents[..., 0])
    parts = sum(np.einsum("fqi,qk->fki", side, slopes[:, :, d]) for d, side in enumerate(sides))
    flat = np.asarray(parts).reshape(-1, 3)
    return np.stack([sum_by(share.cells.ravel(), column, len(w)) for column in flat.T], axis=1)
