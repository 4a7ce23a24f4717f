"""The one place that uses Gmsh: imported on demand, silent, deterministic, its options restored.

Gmsh is GPL and an extra (`pip install "pliant[mesh]"`); nothing outside `pliant.mesh.generation` and
`pliant.mesh.filling` needs it. Its state is global, hence one lock for all threads. Geometry is drawn in millimetres,
because Gmsh's kernel has tolerances of 1e-7 of its unit, and returned in metres.
"""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.checks import positive
from pliant.core.errors import InputError, MeshError, MissingExtraError
from pliant.core.progress import waiting
from pliant.core.types import FloatArray, IntArray
from pliant.mesh.elements import ElementName, element_table
from pliant.mesh.mesh import Mesh, drop_unused_nodes

if TYPE_CHECKING:
    from pliant.mesh.sizing import CellSizes

SYSTEM_PACKAGES = "libglu1-mesa libxcursor1 libxft2 libxinerama1 libxfixes3 libxrender1 libgl1 libfontconfig1 libgomp1"
MILLIMETRES = 1e3
"""Drawing units (mm) in one metre."""

_GRID = 64
"""Points of a size field along the longest side at most: its file then takes a second to read."""

_SIGNALS = ("SIGINT", "SIGTERM", "SIGPIPE", "SIGHUP", "SIGABRT", "SIGFPE", "SIGSEGV")
"""Signals whose handlers Gmsh replaces."""
_SIGACTION_BYTES = 512
"""Larger than `struct sigaction` on any platform (152 bytes on Linux)."""
_LOCK = threading.Lock()
_OPTIONS: dict[str, float] = {
    "General.Terminal": 0,
    "General.NumThreads": 1,
    "Mesh.Algorithm": 6,  # frontal Delaunay on faces
    "Mesh.Algorithm3D": 1,  # Delaunay: the one that is deterministic and robust
    "Mesh.RandomSeed": 1,
    "Mesh.ElementOrder": 1,
    "Mesh.Optimize": 1,
    "Mesh.MeshSizeExtendFromBoundary": 1,
    "Mesh.MeshSizeFromPoints": 0,
    "Mesh.MeshSizeFromCurvature": 0,
}


def import_gmsh() -> Any:
    """The gmsh module, or an error that says what to install."""
    try:
        import gmsh
    except ImportError as error:
        raise MissingExtraError('this shape is meshed by gmsh: pip install "pliant[mesh]"') from error
    except OSError as error:
        raise MissingExtraError(
            f"gmsh is installed but a system library is missing ({error}); on Debian or Ubuntu: "
            f"apt-get install {SYSTEM_PACKAGES}"
        ) from error
    return gmsh


def check_options(cell_size: float | None, element: str) -> None:
    """Raise unless `cell_size` (m) is > 0, or None, and `element` a tetrahedron."""
    if cell_size is not None:
        positive("cell_size", cell_size, unit="m")
    if element_table(element).name == "hex8":
        raise InputError('gmsh meshes with tetrahedra: element must be "tet4" or "tet10"')


@contextmanager
def drawing(cell_size: float) -> Iterator[Any]:
    """Gmsh with a new empty model for cells of `cell_size` (m); its previous options and model are restored on exit."""
    gmsh = import_gmsh()
    with _LOCK:
        ours = not gmsh.isInitialized()
        if ours:
            _initialize(gmsh)
        before = {name: gmsh.option.getNumber(name) for name in (*_OPTIONS, "Mesh.MeshSizeMin", "Mesh.MeshSizeMax")}
        current = "" if ours else gmsh.model.getCurrent()
        try:
            size = MILLIMETRES * cell_size
            for name, value in {**_OPTIONS, "Mesh.MeshSizeMin": 0.2 * size, "Mesh.MeshSizeMax": size}.items():
                gmsh.option.setNumber(name, value)
            gmsh.model.add("pliant")
            yield gmsh
        finally:
            _leave(gmsh, ours, before, current)


@contextmanager
def sized(gmsh: Any, sizes: CellSizes, bounds: FloatArray) -> Iterator[None]:
    """Within it, Gmsh takes its lengths of edges from `sizes`, sampled on a grid over `bounds` (2, 3) m."""
    lower, upper = bounds
    spacing = max(float((upper - lower).max()) / _GRID, 0.5 * sizes.least)
    counts = np.ceil((upper - lower) / spacing).astype(int) + 3  # a margin of one spacing on either side
    first = lower - spacing
    grid = np.stack(np.meshgrid(*(first[i] + spacing * np.arange(counts[i]) for i in range(3)), indexing="ij"), axis=-1)
    values = MILLIMETRES * sizes.at(grid.reshape(-1, 3))
    with TemporaryDirectory() as folder:
        file = Path(folder) / "sizes.txt"
        head = "\n".join(
            " ".join(map(repr, row))
            for row in ((MILLIMETRES * first).tolist(), [MILLIMETRES * spacing] * 3, counts.tolist())
        )
        file.write_text(head + "\n" + " ".join(f"{value:.6g}" for value in values) + "\n")
        field = gmsh.model.mesh.field
        tag = field.add("Structured")
        field.setString(tag, "FileName", str(file))
        field.setNumber(tag, "TextFormat", 1)
        field.setAsBackgroundMesh(tag)
        options = {
            "Mesh.MeshSizeExtendFromBoundary": 0,
            "Mesh.MeshSizeMin": 0.2 * MILLIMETRES * sizes.least,
            "Mesh.MeshSizeMax": MILLIMETRES * sizes.largest,
        }
        for name, value in options.items():  # `drawing` restores them
            gmsh.option.setNumber(name, value)
        yield


def _initialize(gmsh: Any) -> None:
    """Start Gmsh and restore the signal handlers that it replaces: with its SIGPIPE a closed pipe or browser would end
    the process, with its SIGTERM a program could not clean up before it ends.
    """
    # sigaction itself, because only the main thread may call signal.signal; Windows has neither
    library: Any = ctypes.CDLL(None) if hasattr(signal, "SIGPIPE") else None
    codes = [int(getattr(signal, name)) for name in _SIGNALS] if library else []
    handlers = {code: ctypes.create_string_buffer(_SIGACTION_BYTES) for code in codes}
    for code, action in handlers.items():
        library.sigaction(code, None, action)
    gmsh.initialize([], readConfigFiles=False, interruptible=False)
    for code, action in handlers.items():
        library.sigaction(code, action, None)


def _leave(gmsh: Any, ours: bool, before: dict[str, float], current: str) -> None:
    if ours:
        gmsh.finalize()
        return
    gmsh.model.remove()
    for name, value in before.items():
        gmsh.option.setNumber(name, value)
    if current in gmsh.model.list():
        gmsh.model.setCurrent(current)


def meshed(gmsh: Any, element: ElementName, shells: int | None) -> Mesh:
    """The mesh of the drawing in metres; an error unless its surface has `shells` closed shells."""
    try:
        gmsh.model.occ.synchronize()
        with waiting("filling the shape with tetrahedra"):
            gmsh.model.mesh.generate(3)
    except Exception as error:
        raise MeshError(f"gmsh could not mesh the shape ({error}); try a smaller cell_size") from error
    return taken(gmsh, element, shells)


def taken(gmsh: Any, element: ElementName, shells: int | None) -> Mesh:
    """The tetrahedra of the current model, in metres; `shells`, if given, is the expected count of closed shells."""
    mesh = Mesh.oriented(*drop_unused_nodes(*tetrahedra(gmsh)), "tet4")
    found = len(mesh.surface().components())
    if shells is not None and found != shells:
        raise MeshError(f"the mesh has {found} closed shells instead of {shells}; a wall is too thin for this geometry")
    return mesh.with_element(element)


def tetrahedra(gmsh: Any, *, by_tag: bool = False) -> tuple[FloatArray, IntArray]:
    """Nodes (n, 3) m of the current model, in Gmsh's order or in that of their tags, and its tetrahedra (m, 4)."""
    tags, coordinates, _ = gmsh.model.mesh.getNodes()
    _, corners = gmsh.model.mesh.getElementsByType(4)
    if len(corners) == 0:
        raise MeshError("gmsh made no tetrahedra; check that the shape encloses a volume")
    order = np.argsort(tags) if by_tag else np.arange(len(tags))
    index = np.zeros(int(tags.max()) + 1, np.int32)
    index[tags[order].astype(np.int64)] = np.arange(len(tags), dtype=np.int32)
    return coordinates.reshape(-1, 3)[order] / MILLIMETRES, index[corners.astype(np.int64)].reshape(-1, 4)
