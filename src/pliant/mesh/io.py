"""Mesh files, through meshio. The content decides the format, not the name; the unit must be given."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.declared import declared
from pliant.core.errors import InputError, MeshError, MissingExtraError, PliantError, UnitError
from pliant.core.replacing import replacing
from pliant.core.types import FloatArray, IntArray
from pliant.core.units import LENGTH_UNITS, metres_per
from pliant.mesh.child_process import bounded, in_child_process
from pliant.mesh.elements import ELEMENTS
from pliant.mesh.ending_stream import ending_stream
from pliant.mesh.geometry import connected
from pliant.mesh.gid import Blocks, read_gid
from pliant.mesh.mesh import Mesh, drop_unused_nodes
from pliant.mesh.surface import Surface

_MISSING: Any = object()
_ELEMENT_OF = {table.meshio_name: name for name, table in ELEMENTS.items()}
_VOLUME_CELL = re.compile(r"^(tetra|hexahedron|wedge|pyramid)")
_SIGNATURES: tuple[tuple[str, str], ...] = (
    (r"\A# vtk DataFile", "vtk"),
    (r"<VTKFile[^>]*UnstructuredGrid", "vtu"),
    (r"<Xdmf", "xdmf"),
    (r"^\$MeshFormat", "gmsh"),
    (r"^\s*MESH\b.*ElemType", "gid"),
    (r"\A\s*solid\b[\s\S]*facet", "stl"),
    (r"\Aply\b", "ply"),
    (r"\A\s*OFF\b", "off"),
    (r"^\s*MeshVersionFormatted", "medit"),
    (r"^\s*\*(HEADING|NODE)\b", "abaqus"),
    (r"^\s*NDIME\s*=", "su2"),
    (r"^(BEGIN BULK|GRID\*?\s)", "nastran"),
    (r"^v\s+[-+.\d]", "obj"),
)
"""Pattern in the first kilobytes of a file, and meshio's name of its format; "gid" is read by `mesh.gid`."""
_IN_PROCESS = ("vtk", "vtu", "gmsh", "stl", "ply", "obj", "off", "abaqus", "medit")
"""Formats whose readers neither crash nor run for ever on damaged files, as far as 10 000 of each show; the others are
read in a process of their own."""
_FARTHEST = 1e100
"""Largest coordinate: squares and volumes of larger ones are infinite."""
_ENDLESS = {"mdpa": False, "nastran": True, "off": True, "ply": False}
"""Formats whose readers wait for ever for the end of a section, and whether they read text."""


@declared
def load(path: str | Path, *, unit: str = _MISSING) -> Mesh:
    """Read a volume mesh whose coordinates are in `unit` ("m", "mm"…), whatever the file is called.

    Cells other than tetrahedra ("tet4", "tet10") and hexahedra ("hex8") and nodes without a volume cell are left out;
    the others keep their order. Cells of negative volume are mirrored. Flat or repeated cells and several kinds of
    volume cells in one file are errors.
    """
    scale = _scale(unit, "load")
    path = _existing(path)
    points, blocks = _read(path)
    name, cells = _volume_cells(path, blocks)
    if points.shape[1] != 3:
        raise MeshError(f"{path}: a volume mesh needs three coordinates a node, got {points.shape[1]}")
    try:
        kept, renumbered = drop_unused_nodes(points, cells)
        return Mesh.oriented(scale * kept, renumbered, ELEMENTS[name].name)
    except (PliantError, IndexError) as error:
        raise MeshError(f"{path}: {error}") from error


@declared
def load_surface(path: str | Path, *, unit: str = _MISSING, merge: float = 1e-7) -> Surface:
    """Read a surface of triangles (STL, OBJ, PLY, VTK…) whose coordinates are in `unit`; quadrilaterals are split.

    Vertices closer than `merge` times the diagonal of the surface are merged (usual range 1e-8 to 1e-5); triangles
    that this collapses are left out.
    """
    scale = _scale(unit, "load_surface")
    path = _existing(path)
    points, blocks = _read(path)
    triangles = _triangles(path, blocks)
    try:
        points, triangles = drop_unused_nodes(points, triangles)
        merged, first = _merged_vertices(points, merge)
        triangles = merged[triangles]
        collapsed = (triangles == np.roll(triangles, 1, axis=1)).any(axis=1)
        return Surface.from_triangles(scale * points[first], triangles[~collapsed])
    except (PliantError, IndexError) as error:
        raise MeshError(f"{path}: {error}") from error


def holds_volume(path: str | Path) -> bool:
    """Whether a mesh file contains volume cells, rather than a surface alone."""
    _, blocks = _read(_existing(path))
    return any(_VOLUME_CELL.match(kind) for kind, _ in blocks)


@declared
def save(
    mesh: Mesh | Surface, path: str | Path, *, unit: str = _MISSING, point_data: dict[str, Any] | None = None
) -> None:
    """Write a mesh or a surface with coordinates in `unit`; the ending of `path` (.vtu, .vtk, .msh, .stl…) decides how.

    `point_data` are arrays with one entry a node, written beside it where the format allows.
    """
    import meshio

    scale = 1.0 / _scale(unit, "save")
    path = Path(path)
    if isinstance(mesh, Surface):
        nodes, triangles = np.unique(mesh.triangles, return_inverse=True)
        points: FloatArray = mesh.points[nodes]
        cells: list[Any] = [("triangle", triangles.reshape(-1, 3))]
        data = {key: np.asarray(value)[nodes] for key, value in (point_data or {}).items()}
    else:
        points, cells = mesh.points, [(mesh.table.meshio_name, np.array(mesh.cells))]
        data = {key: np.asarray(value) for key, value in (point_data or {}).items()}
    # for meshio .msh is ANSYS first, and for everyone else it is Gmsh
    chosen = "gmsh" if path.suffix.lower() == ".msh" else None
    try:
        with replacing(path) as part:
            meshio.write(part, meshio.Mesh(scale * points, cells, point_data=data), file_format=chosen)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise MeshError(f"{path}: the mesh cannot be written ({error}); try the ending .vtu") from error


def _scale(unit: Any, function: str) -> float:
    if unit is _MISSING:
        known = ", ".join(LENGTH_UNITS)
        raise UnitError(f'{function} needs the unit of the coordinates in the file, e.g. unit="mm" (one of {known})')
    return metres_per(unit)


def _existing(path: str | Path) -> Path:
    path = Path(path)
    if path.is_dir():
        raise MeshError(f"{path} is a folder, not a mesh file")
    if not path.exists():
        raise MeshError(f"{path} does not exist; the current folder is {Path.cwd()}")
    if path.stat().st_size == 0:
        raise MeshError(f"{path} is empty")
    return path


def file_format(path: Path) -> str:
    """Meshio's name of the format of a file, by its first kilobytes; "gid" for GiD text meshes."""
    with path.open("rb") as stream:
        head = stream.read(4096)
    # binary STL: a header of 80 bytes, the count of triangles, 50 bytes for each
    if len(head) >= 84 and path.stat().st_size == 84 + 50 * int.from_bytes(head[80:84], "little"):
        return "stl"
    text = head.decode("latin-1").lstrip("\ufeffï»¿")
    for pattern, name in _SIGNATURES:
        if re.search(pattern, text, re.IGNORECASE | re.MULTILINE):
            return name
    import meshio

    # formats without a signature (HDF5 containers, TetGen…): meshio's choice for the ending
    signed = {name for _, name in _SIGNATURES}
    others = [name for name in meshio.extension_to_filetypes.get(path.suffix.lower(), []) if name not in signed]
    if not others:
        raise MeshError(
            f"{path}: the content is of no known mesh format (VTK, VTU, Gmsh, GiD, STL, OBJ, PLY, Abaqus, Medit…); "
            "export the mesh as .vtu or .msh"
        )
    return str(others[0])


def _read(path: Path) -> tuple[FloatArray, Blocks]:
    """Points (n, d) in the file's unit and blocks of cells by meshio name."""
    name = file_format(path)
    if name == "gid":
        return read_gid(path)
    return _by_meshio(path, name) if name in _IN_PROCESS else in_child_process(_bounded, path, name)


def _bounded(path: Path, name: str) -> tuple[FloatArray, Blocks]:
    with bounded(path):
        return _by_meshio(path, name)


def _by_meshio(path: Path, name: str) -> tuple[FloatArray, Blocks]:
    """What meshio's reader of the format `name` finds."""
    import meshio

    try:
        # meshio.read exits the interpreter on a bad file; the readers of the formats only raise
        with np.errstate(over="ignore"):
            read = getattr(meshio, name.removesuffix("-xml")).read
            if name in _ENDLESS:
                with ending_stream(path, text=_ENDLESS[name]) as stream:
                    data = read(stream)
            else:
                data = read(str(path))
        points = np.asarray(data.points, dtype=np.float64)
        blocks = [(block.type, np.asarray(block.data)) for block in data.cells]
    except ImportError as error:
        raise MissingExtraError(f"{path}: reading {name} needs another package ({error}); pip install it") from error
    except MemoryError as error:
        raise MeshError(f"{path}: announces more than fits into memory ({error}); the file is damaged") from error
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise MeshError(f"{path}: cannot be read as {name} ({reason}); the file is damaged or incomplete") from error
    _check_read(path, points, blocks)
    return points, blocks


def _check_read(path: Path, points: FloatArray, blocks: Blocks) -> None:
    """An error where points are not numbers of some size, or cells not indices."""
    if points.ndim != 2 or not points.shape[1]:
        raise MeshError(f"{path}: holds no nodes; the file is damaged or incomplete")
    if not (np.abs(points) < _FARTHEST).all():
        raise MeshError(f"{path}: has nodes that are not finite, or beyond {_FARTHEST:g}; the file is damaged")
    for kind, cells in blocks:
        if len(cells) and (cells.ndim != 2 or cells.dtype.kind not in "iu"):
            raise MeshError(f"{path}: its {kind} cells are no lists of nodes; the file is damaged or incomplete")
        if len({own.shape[1] for name, own in blocks if name == kind and len(own)}) > 1:
            raise MeshError(f"{path}: its {kind} cells have different numbers of nodes; use triangles, or tetrahedra")


def _volume_cells(path: Path, blocks: Blocks) -> tuple[str, IntArray]:
    """The element and the cells (m, k) of the only kind of volume cells."""
    volume = _gathered([block for block in blocks if _VOLUME_CELL.match(block[0])])
    found = ", ".join(f"{len(cells)} {kind}" for kind, cells in _gathered(blocks).items()) or "nothing"
    if not volume:
        raise MeshError(
            f"{path}: no volume cells (the file holds {found}); fill it with tetrahedra, "
            f'pl.mesh.tetrahedralize("{path}", unit=…), or read it as a surface, pl.mesh.load_surface'
        )
    if len(volume) > 1:
        raise MeshError(f"{path}: several kinds of volume cells ({found}); export the mesh with one of them")
    kind, cells = next(iter(volume.items()))
    if kind not in _ELEMENT_OF:
        raise MeshError(f"{path}: cells of kind {kind} are not supported; use {', '.join(_ELEMENT_OF)}")
    return _ELEMENT_OF[kind], cells


def _triangles(path: Path, blocks: Blocks) -> IntArray:
    kinds = _gathered(blocks)
    if any(_VOLUME_CELL.match(kind) for kind in kinds):
        raise MeshError(f"{path}: the file holds a volume mesh; use pl.mesh.load(path, unit=…).surface()")
    parts = [kinds["triangle"]] if "triangle" in kinds else []
    if "quad" in kinds:
        parts += [kinds["quad"][:, [0, 1, 2]], kinds["quad"][:, [0, 2, 3]]]
    if not parts:
        raise MeshError(f"{path}: no triangles (the file holds {', '.join(kinds) or 'nothing'})")
    return np.vstack(parts).astype(np.int32)


def _gathered(blocks: Blocks) -> dict[str, IntArray]:
    """Blocks of the same kind joined, in the order of the file."""
    kinds = dict.fromkeys(kind for kind, cells in blocks if len(cells))
    return {kind: np.vstack([cells for name, cells in blocks if name == kind and len(cells)]) for kind in kinds}


def _merged_vertices(points: FloatArray, tolerance: float) -> tuple[IntArray, IntArray]:
    """Group (n,) of each point, closer than `tolerance` × diagonal being one group, and the first point of each."""
    from scipy.spatial import cKDTree

    distance = tolerance * float(np.linalg.norm(np.ptp(points, axis=0)))
    pairs = cKDTree(points).query_pairs(distance, output_type="ndarray")
    _, labels = connected(pairs[:, 0], pairs[:, 1], len(points))
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank[inverse], first[order].astype(np.int32)
