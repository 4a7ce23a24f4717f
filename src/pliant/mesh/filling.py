"""Tetrahedra in a closed surface (STL, OBJ, PLY…) or a CAD file (STEP, IGES, BREP), by Gmsh (extra `mesh`).

`tetrahedralize` meshes a body. Shells inside the outer one are hollows, whatever their orientation: components of
`mesh.surface()` after the first, which `pl.Cavity` finds. `fill` meshes the inside of a surface whose nodes belong to
another mesh, such as the air in a chamber: they come first and do not move.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.checks import finite_array, positive
from pliant.core.declared import declared
from pliant.core.errors import InputError, MeshError
from pliant.core.progress import waiting
from pliant.core.types import FloatArray, IntArray
from pliant.core.units import metres_per
from pliant.mesh.child_process import bounded, in_child_process
from pliant.mesh.elements import ElementName
from pliant.mesh.estimate import check_cell_count, check_shells
from pliant.mesh.gmsh_session import MILLIMETRES, check_options, drawing, meshed, sized, taken, tetrahedra
from pliant.mesh.io import load_surface
from pliant.mesh.mesh import Mesh
from pliant.mesh.sizing import CellSizes, cell_sizes
from pliant.mesh.surface import Surface

CAD_ENDINGS = (".step", ".stp", ".iges", ".igs", ".brep")
"""Endings of CAD files; the first four formats contain their unit."""
_CREASE = np.radians(40.0)
"""Angle between facets, rad, above which remeshing keeps their edge; facets of curved faces meet below it."""
_COARSE = 12.0
"""Triangles along the longest side of a CAD solid whose walls are measured."""
_FINER = 0.6
"""Factor of sizes chosen from walls where they did not do."""
_LEAST_QUALITY = 1e-4
"""Lowest cell quality of a filling: flatter cells have no usable gradients."""
_NO_VOLUME = 1e-12
"""Volume relative to area^1.5 below which a surface encloses nothing: rounding."""
_MOVED, _CHANGED = 1e-9, 1e-6
"""Largest displacement of given nodes relative to the size, and change of volume relative to it, of a valid filling."""


@declared
def tetrahedralize(
    source: str | Path | Surface,
    *,
    cell_size: float | CellSizes | None = None,
    unit: str | None = None,
    element: ElementName = "tet4",
    keep_surface: bool = False,
) -> Mesh:
    """Fill a closed surface or a solid with tetrahedra; hollows inside stay empty.

    source
        A surface file, a CAD file, or a `Surface` in metres.
    cell_size
        Wanted length of edges, m; or sizes of `pl.mesh.cell_sizes`. None: two cells across every wall, or fewer where
        that would take more than 20 000 cells.
    unit
        Of the coordinates in a surface file or a BREP file ("mm"…); STEP and IGES files contain it.
    element
        "tet4" or "tet10".
    keep_surface
        Keep the triangles of the surface, for scans and other surfaces that cannot be remeshed; they then decide the
        size of cells.

    An open surface, one that crosses itself, and several solids in one file are errors.
    """
    check_options(None if isinstance(cell_size, CellSizes) else cell_size, element)
    options = (cell_size, element, keep_surface)
    if isinstance(source, Surface):
        return _filled_apart(source, *options, "the surface")
    path = Path(source)
    if path.suffix.lower() in CAD_ENDINGS:
        return in_child_process(_from_cad, path, cell_size, unit, element)
    if unit is None:
        raise InputError(f'{path}: give the unit of its coordinates, such as unit="mm"')
    return _filled_apart(load_surface(path, unit=unit), *options, str(path))


def source_surface(source: str | Path | Surface, *, unit: str | None = None) -> Surface:
    """The closed surface of what `tetrahedralize` takes, m; a CAD file is meshed with coarse triangles."""
    if isinstance(source, Surface):
        return source
    path = Path(source)
    if path.suffix.lower() not in CAD_ENDINGS:
        if unit is None:
            raise InputError(f'{path}: give the unit of its coordinates, such as unit="mm"')
        return load_surface(path, unit=unit)
    return in_child_process(_boundary, path, unit)


def _filled_apart(
    surface: Surface, cell_size: float | CellSizes | None, element: ElementName, keep: bool, what: str
) -> Mesh:
    """`_filled`, in a child process: Gmsh may crash where a surface crosses itself."""
    try:
        surface.check_closed()
        surface.check_orientation()
    except MeshError as error:
        raise MeshError(f"{what}: {error}") from error
    return in_child_process(_filled, surface, cell_size, element, keep, what, name=what)


def _filled(surface: Surface, cell_size: float | CellSizes | None, element: ElementName, keep: bool, what: str) -> Mesh:
    shells = nested_shells(surface, what)
    if isinstance(cell_size, (int, float)) and not keep:
        check_shells(shells, cell_size, what)
    if cell_size is None and not keep:
        sizes = cell_sizes(surface)
        try:
            return _meshed_shells(surface, shells, sizes, element, keep, what)
        except MeshError:  # a detail that is smaller than the cells: finer ones resolve it
            return _meshed_shells(surface, shells, sizes.scaled(_FINER), element, keep, what)
    return _meshed_shells(surface, shells, cell_size, element, keep, what)


def _meshed_shells(
    surface: Surface,
    shells: list[Surface],
    sizes: float | CellSizes | None,
    element: ElementName,
    keep: bool,
    what: str,
) -> Mesh:
    bounds = np.stack([surface.points[surface.nodes].min(axis=0), surface.points[surface.nodes].max(axis=0)])
    expected = f", about {sizes.cells}" if isinstance(sizes, CellSizes) else ""
    with drawing(_uniform(sizes, bounds)) as gmsh, _sized(gmsh, sizes, bounds):
        try:
            loops = _kept(gmsh, shells) if keep else _remeshed(gmsh, shells)
            gmsh.model.geo.addVolume([gmsh.model.geo.addSurfaceLoop(tags) for tags in loops])
            gmsh.model.geo.synchronize()
            with waiting(f"filling {what} with tetrahedra{expected}"):
                gmsh.model.mesh.generate(3)
                if keep or isinstance(sizes, CellSizes):  # irregular triangles and changing sizes cause slivers
                    gmsh.model.mesh.optimize("Netgen")
        except MeshError:
            raise
        except Exception as error:
            advice = "mend it (it may cross itself)" if keep else "keep_surface=True may help, or another cell_size"
            raise MeshError(f"{what} could not be filled with tetrahedra ({_short(error)}); {advice}") from error
        return taken(gmsh, element, len(shells))


def nested_shells(surface: Surface, what: str = "the surface") -> list[Surface]:
    """The closed shells of `surface`, the one around all others first; more than one solid is a `MeshError`."""
    shells = sorted(surface.components(), key=lambda shell: -abs(shell.volume()))
    if abs(shells[0].volume()) <= _NO_VOLUME * surface.area() ** 1.5:
        raise MeshError(f"{what} encloses no volume ({shells[0].volume():.3g} m³)")
    # depth 0 contains all others, depth 1 is a hollow; a shell inside a hollow would be a second solid
    depth = []
    for shell in shells:
        node = shell.points[shell.nodes[:1]]
        depth.append(sum(abs(winding(other, node)[0]) > 0.5 for other in shells if other is not shell))
    if depth[0] != 0 or any(level != 1 for level in depth[1:]):
        solids = sum(level % 2 == 0 for level in depth)
        raise MeshError(
            f"{what} holds {solids} separate solids; a body is one piece: save each to a file of its own, or join them "
            "in the program that made them"
        )
    return shells


def winding(surface: Surface, points: FloatArray) -> FloatArray:
    """Winding number of the closed `surface` at each of `points` (p, 3) m: ±1 inside, 0 outside, shape (p,).

    The sum of the solid angles of all triangles over 4π (A. van Oosterom and J. Strackee, 1983).
    """
    corners = surface.points[surface.triangles][None] - points[:, None, None]
    a, b, c = corners[:, :, 0], corners[:, :, 1], corners[:, :, 2]
    la, lb, lc = (np.linalg.norm(x, axis=2) for x in (a, b, c))
    volume = np.einsum("pti,pti->pt", a, np.cross(b, c))
    base = la * lb * lc + (a * b).sum(2) * lc + (b * c).sum(2) * la + (c * a).sum(2) * lb
    return np.asarray(np.arctan2(volume, base).sum(axis=1) / (2.0 * np.pi))


def _kept(gmsh: Any, shells: list[Surface]) -> list[list[int]]:
    """The shells as discrete surfaces with their own triangles: a list of tags for each shell."""
    loops, first = [], 1
    for shell in shells:
        tag = gmsh.model.addDiscreteEntity(2)
        _put(gmsh, tag, shell, first)
        first += len(shell.nodes)
        loops.append([tag])
    return loops


def _remeshed(gmsh: Any, shells: list[Surface]) -> list[list[int]]:
    """The shells divided into patches along their creases, to be remeshed: a list of tags for each shell."""
    owner, first = np.zeros(1, np.int64), 1
    for index, shell in enumerate(shells):
        _put(gmsh, gmsh.model.addDiscreteEntity(2), shell, first)
        first += len(shell.nodes)
        owner = np.concatenate([owner, np.full(len(shell.nodes), index)])
    gmsh.model.mesh.classifySurfaces(_CREASE, True, True, np.pi)
    loops: list[list[int]] = [[] for _ in shells]
    for _, tag in gmsh.model.getEntities(2):
        nodes = gmsh.model.mesh.getNodes(2, tag, includeBoundary=True)[0].astype(np.int64)
        loops[int(np.bincount(owner[nodes[nodes < len(owner)]]).argmax())].append(tag)
    gmsh.model.mesh.createGeometry()
    return loops


def _put(gmsh: Any, tag: int, shell: Surface, first: int) -> None:
    """Add nodes, with tags from `first` on, and triangles of a shell to the drawing."""
    tags = np.zeros(len(shell.points), np.int64)
    tags[shell.nodes] = np.arange(first, first + len(shell.nodes))
    gmsh.model.mesh.addNodes(2, tag, tags[shell.nodes], (MILLIMETRES * shell.points[shell.nodes]).ravel())
    gmsh.model.mesh.addElementsByType(tag, 2, [], tags[shell.triangles].ravel())


def _boundary(path: Path, unit: str | None) -> Surface:
    """The boundary of the one solid of a CAD file, in coarse triangles, m."""
    with _solid(path, unit) as gmsh:
        return _triangles(gmsh)


def _from_cad(path: Path, cell_size: float | CellSizes | None, unit: str | None, element: ElementName) -> Mesh:
    """The one solid of a CAD file, in tetrahedra."""
    with _solid(path, unit) as gmsh:
        sizes = cell_sizes(_triangles(gmsh)) if cell_size is None else cell_size
        gmsh.model.mesh.clear()
        bounds = np.reshape(gmsh.model.getBoundingBox(-1, -1), (2, 3)) / MILLIMETRES
        if not isinstance(sizes, CellSizes):
            volume = gmsh.model.occ.getMass(*gmsh.model.getEntities(3)[0]) / MILLIMETRES**3
            check_cell_count(volume, sizes, float((bounds[1] - bounds[0]).max()), str(path))
        size = MILLIMETRES * _uniform(sizes, bounds)
        for name, value in {"Mesh.MeshSizeMin": 0.2 * size, "Mesh.MeshSizeMax": size}.items():
            gmsh.option.setNumber(name, value)
        with _sized(gmsh, sizes, bounds):
            return meshed(gmsh, element, None)


@contextmanager
def _solid(path: Path, unit: str | None) -> Iterator[Any]:
    """Gmsh with the one solid of a CAD file, in millimetres."""
    if not path.is_file():
        raise MeshError(f"{path} does not exist; the current folder is {Path.cwd()}")
    has_unit = path.suffix.lower() != ".brep"
    if not has_unit and unit is None:
        raise InputError(f'{path}: a BREP file does not contain its unit; give it, such as unit="mm"')
    with drawing(1.0) as gmsh:  # the size is set later, from the solid
        gmsh.option.setString("Geometry.OCCTargetUnit", "MM")
        try:
            with bounded(path):
                gmsh.model.occ.importShapes(str(path), highestDimOnly=True)
                gmsh.model.occ.synchronize()
        except Exception as error:
            raise MeshError(f"{path} cannot be read as a CAD file ({_short(error)}); export it as STEP") from error
        solids = gmsh.model.getEntities(3)
        if len(solids) != 1:
            remedy = (
                "pl.mesh.tetrahedralize_solids makes one mesh of them, each with a material of its own"
                if solids
                else "export a solid, not a sheet"
            )
            raise MeshError(f"{path} has {len(solids)} solids; a body is one: {remedy}")
        if not has_unit and unit is not None and metres_per(unit) != 1e-3:
            gmsh.model.occ.dilate(solids, 0.0, 0.0, 0.0, *[1e3 * metres_per(unit)] * 3)
            gmsh.model.occ.synchronize()
        yield gmsh


def _triangles(gmsh: Any) -> Surface:
    """The boundary of the solid in the drawing, in coarse triangles, m."""
    box = np.reshape(gmsh.model.getBoundingBox(-1, -1), (2, 3))
    gmsh.option.setNumber("Mesh.MeshSizeMin", 0.0)
    gmsh.option.setNumber("Mesh.MeshSizeMax", float((box[1] - box[0]).max()) / _COARSE)
    gmsh.model.mesh.generate(2)
    tags, coordinates, _ = gmsh.model.mesh.getNodes()
    _, corners = gmsh.model.mesh.getElementsByType(2)
    index = np.zeros(int(tags.max()) + 1, np.int32)
    index[tags.astype(np.int64)] = np.arange(len(tags), dtype=np.int32)
    triangles = index[corners.astype(np.int64)].reshape(-1, 3)
    return Surface.from_triangles(coordinates.reshape(-1, 3) / MILLIMETRES, triangles)


def _uniform(sizes: float | CellSizes | None, bounds: FloatArray) -> float:
    """The largest length of edges, m; without any that of the bounding box, for surfaces that keep their triangles."""
    if sizes is None:
        return float((bounds[1] - bounds[0]).max())
    return sizes.largest if isinstance(sizes, CellSizes) else float(sizes)


def _sized(gmsh: Any, sizes: float | CellSizes | None, bounds: FloatArray) -> AbstractContextManager[None]:
    return sized(gmsh, sizes, bounds) if isinstance(sizes, CellSizes) else nullcontext()


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


@declared
def fill(points: Any, triangles: Any, *, cell_size: float | None = None) -> Mesh:
    """A mesh of tetrahedra inside the closed surface of `triangles` (t, 3), outward, over `points` (s, 3) m.

    Its first s nodes are `points`, its boundary is `triangles`. `cell_size` (m) is the wanted length of edges inside;
    None takes the mean edge of the surface. Raises a `MeshError` where the surface crosses itself.
    """
    given = finite_array("points", points, shape=(None, 3))
    shell = Surface.from_triangles(given, triangles)
    shell.check_closed()
    volume = shell.volume()
    if volume <= 0.0:
        raise MeshError(f"the surface bounds {volume:.3g} m³: its triangles face inward; reverse their node order")
    edges = np.linalg.norm(given[shell.triangles] - given[np.roll(shell.triangles, 1, axis=1)], axis=2)
    size = float(edges.mean()) if cell_size is None else positive("cell_size", cell_size, unit="m")
    mesh = Mesh.oriented(*in_child_process(_inside, given, shell.triangles, size, name="the surface"), "tet4")
    if mesh.node_count < len(given) or np.abs(mesh.points[: len(given)] - given).max() > _MOVED * np.ptp(given):
        raise MeshError("gmsh moved nodes of the surface; try another cell_size")
    if abs(mesh.volume - volume) > _CHANGED * volume or len(mesh.surface().triangles) != len(shell.triangles):
        raise MeshError(
            f"the surface of {volume:.6g} m³ was filled with {mesh.volume:.6g} m³: it intersects itself; deform it less"
        )
    mesh.check_quality(minimum=_LEAST_QUALITY)
    return mesh


def _inside(points: FloatArray, triangles: IntArray, size: float) -> tuple[FloatArray, IntArray]:
    """Nodes and cells that Gmsh makes, the given nodes first."""
    with drawing(size) as gmsh:
        mesh, geometry = gmsh.model.mesh, gmsh.model.geo
        gmsh.option.setNumber("Mesh.MeshSizeExtendFromBoundary", 0)
        gmsh.model.addDiscreteEntity(2, 1)
        mesh.addNodes(2, 1, np.arange(1, len(points) + 1), (MILLIMETRES * points).ravel())
        mesh.addElementsByType(1, 2, np.arange(1, len(triangles) + 1), (triangles + 1).ravel())
        geometry.addVolume([geometry.addSurfaceLoop([1])])
        geometry.synchronize()
        try:
            mesh.generate(3)
        except Exception as error:
            raise MeshError(
                f"gmsh could not fill the surface of {len(triangles)} triangles ({error}); where facets overlap it "
                "crosses itself: deform it less, or let it touch itself by contact"
            ) from error
        return tetrahedra(gmsh, by_tag=True)
