"""Why the default tetrahedron smooths shear over edges and volume over edge stars: its alternatives, linear elasticity.

    python -m benchmarks.smoothing

Strain is averaged over smoothing domains, once for the shear energy μ ε : ε and once for the volume energy λ/2 (tr ε)².
Domains are the cells themselves (plain), edges (a sixth of each cell around), nodes (a quarter of each cell around), or
stars (whole cells, partitioned into edge stars). Shown are the sag of the bench beam (mm) on the Kuhn split of 20×4×4
cubes and on a Gmsh mesh of about the same size, the tip of Cook's membrane, plane strain, E = 1, ν = 0.4999, and what a
combination does to the matrix: 3×3 blocks per row, and entries of its factor.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

import pliant as pl
from benchmarks.tasks.beam import Variant, tip_sag
from pliant.core.errors import MissingExtraError
from pliant.mesh.gmsh_session import MILLIMETRES, drawing, meshed
from pliant.models.volume.points import cell_gradients
from pliant.models.volume.smoothing import Domains, edge_domains, star_domains
from pliant.solvers.linear.pattern import BlockPattern
from pliant.solvers.linear.symbolic import analyze

PAIRS = [("cell", "cell"), ("cell", "node"), ("cell", "star"), ("edge", "edge"), ("edge", "node"), ("edge", "star")]
SHEAR = np.diag([2.0, 2.0, 2.0, 1.0, 1.0, 1.0])
TRACE = np.outer([1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0]).astype(float)


def domains(mesh, kind, volumes):
    whole, material = np.arange(mesh.cell_count), np.zeros(mesh.cell_count, np.int32)
    if kind == "edge":
        return edge_domains(mesh.cells, volumes, material)
    if kind == "star":
        return star_domains(mesh.points, mesh.cells, volumes, material)
    if kind == "node":
        return Domains(mesh.cells.ravel().astype(np.int64), np.repeat(whole, 4), np.repeat(volumes / 4.0, 4))
    return Domains(whole, whole, volumes)


def strain_operator(mesh, gradients):
    """ε = B u for every cell: xx, yy, zz, xy, yz, zx by rows."""
    local = np.zeros((mesh.cell_count, 6, 4, 3))
    for row, (i, j) in enumerate([(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0)]):
        local[:, row, :, i] = gradients[:, :, j]
        local[:, row, :, j] = gradients[:, :, i]
    rows = np.broadcast_to(np.arange(6 * mesh.cell_count).reshape(-1, 6, 1, 1), local.shape)
    columns = np.broadcast_to((3 * mesh.cells[:, :, None] + np.arange(3))[:, None], local.shape)
    shape = (6 * mesh.cell_count, 3 * mesh.node_count)
    return sparse.csr_matrix((local.ravel(), (rows.ravel(), columns.ravel())), shape)


def stiffness(mesh, kinds, moduli):
    """K with the `kinds` of domains for shear and volume, and the nodes that each domain couples."""
    gradients, weights = cell_gradients(mesh)
    volumes = weights[:, 0]
    B = strain_operator(mesh, gradients[:, 0])
    K, couplings = 0.0, []
    for kind, modulus, energy in zip(kinds, moduli, (SHEAR, TRACE)):
        d = domains(mesh, kind, volumes)
        volume = np.bincount(d.domain, d.volume)
        average = sparse.csr_matrix((d.volume / volume[d.domain], (d.domain, d.cell)), (len(volume), mesh.cell_count))
        smoothed = sparse.kron(average, np.eye(6), "csr") @ B
        K = K + smoothed.T @ sparse.kron(sparse.diags(modulus * volume), energy, "csr") @ smoothed
        keys = (d.domain[:, None] * np.int64(mesh.node_count) + mesh.cells[d.cell]).ravel()
        couplings.append(np.unique(keys))
    return sparse.csr_matrix(K), couplings


def solve(mesh, kinds, young, poisson, held, force):
    """Displacements (n, 3), blocks per row, entries of the factor."""
    moduli = (young / 2 / (1 + poisson), young * poisson / (1 + poisson) / (1 - 2 * poisson))
    K, couplings = stiffness(mesh, kinds, moduli)
    cliques = [(np.unique(c // mesh.node_count, return_counts=True)[1], c % mesh.node_count) for c in couplings]
    ptr = np.concatenate([[0], np.cumsum(np.concatenate([counts for counts, _ in cliques]))])
    pattern = BlockPattern.from_cliques(mesh.node_count, ptr, np.concatenate([n for _, n in cliques]).astype(np.int32))
    free = sparse.diags(np.where(held.ravel(), 0.0, 1.0))
    A = free @ K @ free + sparse.diags(np.where(held.ravel(), K.diagonal(), 0.0))
    symbolic = analyze(pattern, coordinates=mesh.points, keep=~held.all(axis=1))
    u = symbolic.factorize(lower_blocks(pattern, A)).solve(np.where(held, 0.0, force))
    return u, 2 * pattern.block_count / mesh.node_count - 1, symbolic.factor_nonzeros


def lower_blocks(pattern, A):
    """Blocks of A on the pattern, which holds its lower triangle."""
    full = sparse.tril(sparse.bsr_matrix(A, blocksize=(3, 3)).tocsr(), k=2).tocoo()
    rows = np.repeat(np.arange(pattern.node_count), np.diff(pattern.indptr))
    keys = rows * np.int64(pattern.node_count) + pattern.indices
    wanted = (full.row // 3) * np.int64(pattern.node_count) + full.col // 3
    position = np.searchsorted(keys, wanted)
    inside = (full.col // 3 <= full.row // 3) & (keys[np.minimum(position, len(keys) - 1)] == wanted)
    values = np.zeros((pattern.block_count, 3, 3))
    values[position[inside], full.row[inside] % 3, full.col[inside] % 3] = full.data[inside]
    return values


def beam(mesh, kinds, poisson):
    volumes = cell_gradients(mesh)[1][:, 0]
    force = np.zeros((mesh.node_count, 3))
    np.add.at(force[:, 2], mesh.cells.ravel(), np.repeat(-9.81 * 1000.0 * volumes / 4.0, 4))
    held = np.repeat(mesh.points[:, :1] < 1e-9, 3, axis=1)
    u, width, factor = solve(mesh, kinds, 0.5e6, poisson, held, force)
    return -1e3 * u[mesh.points[:, 0] > 0.2 - 1e-9, 2].mean(), width, factor


def cook(count, kinds):
    """Tip of the tapered panel (0, 0) (48, 44) (48, 60) (0, 44), unit shear load in all on its right edge."""
    flat = pl.mesh.box((1.0, 1.0, 1.0 / count), (count, count, 1), symmetric="")
    s, t, z = flat.points.T
    points = np.stack([48 * s, 44 * s + t * (44 - 28 * s), 48 * z], axis=1)
    mesh = pl.mesh.Mesh(points, flat.cells, "tet4")
    right = np.abs(points[:, 0] - 48) < 1e-9
    faces = mesh.cells[:, [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]]].reshape(-1, 3)
    faces = faces[right[faces].all(axis=1)]
    a, b, c = (points[faces[:, k]] for k in range(3))
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    force = np.zeros_like(points)
    np.add.at(force[:, 1], faces.ravel(), np.repeat(area / 3 / 16, 3))
    held = np.zeros(points.shape, bool)
    held[:, 2] = True
    held[points[:, 0] < 1e-9] = True
    u, *_ = solve(mesh, kinds, 1.0, 0.4999, held, force)
    tip = np.linalg.norm(points[:, :2] - [48, 60], axis=1) < 1e-9
    return u[tip, 1].mean()


def unstructured():
    """The beam meshed by Gmsh, about as many nodes as the Kuhn mesh; None without the extra."""
    try:
        with drawing(0.0105) as gmsh:
            gmsh.model.occ.addBox(0, 0, 0, *(MILLIMETRES * np.array((0.2, 0.04, 0.04))))
            return meshed(gmsh, "tet4", shells=1)
    except MissingExtraError:
        return None


def converged_beam(poisson):
    """Limit of the sag: degree-2 tetrahedra on 10×2×2, 20×4×4, 40×8×8 cubes, extrapolated (Aitken)."""
    sags = []
    for n in (2, 4, 8):
        world = Variant((5 * n, n, n), element="tet10", law=pl.materials.Linear).world(poisson=poisson)
        sags.append(tip_sag(world, pl.QuasiStatic()(world, world.initial_state())[0].points(0)))
    a, b, c = sags
    return c - (c - b) ** 2 / ((c - b) - (b - a))


def main():
    kuhn, free = pl.mesh.box((0.2, 0.04, 0.04), (20, 4, 4), symmetric=""), unstructured()
    if free is not None:
        print(f"Kuhn mesh {kuhn.node_count} nodes; Gmsh mesh {free.node_count} nodes, {free.cell_count} cells\n")
    print(
        "| shear, volume | beam ν .45 | beam ν .499 | blocks per row | factor entries | Gmsh beam ν .45 | ν .499 "
        "| Cook 8×8 | Cook 16×16 |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for kinds in PAIRS:
        sag, width, factor = beam(kuhn, kinds, 0.45)
        others = [f"{beam(free, kinds, poisson)[0]:.2f}" if free is not None else "–" for poisson in (0.45, 0.499)]
        cells = [f"{sag:.2f}", f"{beam(kuhn, kinds, 0.499)[0]:.2f}", f"{width:.1f}", f"{factor / 1e3:.0f} k", *others]
        cells += [f"{cook(n, kinds):.2f}" for n in (8, 16)]
        print(f"| {', '.join(kinds)} | " + " | ".join(cells) + " |", flush=True)
    limits = ", ".join(f"ν = {poisson:g}: {converged_beam(poisson):.2f} mm" for poisson in (0.45, 0.499))
    print(f"\nConverged sag of the beam, {limits}")


if __name__ == "__main__":
    main()
