"""Gmsh behind one door: imported on demand, quiet, deterministic, and left as it was found.

Gmsh is GPL and an extra (`pip install "pliant[mesh]"`); nothing outside `pliant.mesh.generation` and
`pliant.mesh.filling` needs it. Its state is global, hence one lock for all threads. Geometry is drawn in millimetres,
because Gmsh's kernel has tolerances of 1e-7 of its unit, and handed back in metres.
"""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pliant.core.errors import MeshError, MissingExtraError
from pliant.mesh.elements import ElementName
from pliant.mesh.mesh import Mesh, drop_unused_nodes

SYSTEM_PACKAGES = "libglu1-mesa libxcursor1 libxft2 libxinerama1 libxfixes3 libxrender1 libgl1 libfontconfig1 libgomp1"
MILLIMETRES = 1e3
"""Units of the drawing in one metre."""

_SIGNALS = ("SIGINT", "SIGTERM", "SIGPIPE", "SIGHUP", "SIGABRT", "SIGFPE", "SIGSEGV")
"""What gmsh may take over."""
_SIGACTION_BYTES = 512
"""More than a `struct sigaction` has anywhere."""
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


@contextmanager
def drawing(cell_size: float) -> Iterator[Any]:
    """Gmsh with a new empty model that aims at cells of `cell_size` (m); everything is put back on leaving."""
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


def _initialize(gmsh: Any) -> None:
    """Start gmsh without letting it decide about signals: with its SIGPIPE, a browser or a program at the other end of
    a pipe that goes away would end the process; with its SIGTERM, a program that is told to end could not tidy up.
    """
    found = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]  # Windows has fewer
    # not signal.signal, which only the main thread may call; what sigaction writes is put back as it is
    library: Any = ctypes.CDLL(None) if hasattr(signal, "SIGPIPE") else None
    kept = {int(number): ctypes.create_string_buffer(_SIGACTION_BYTES) for number in found}
    for number, action in kept.items() if library is not None else ():
        library.sigaction(number, None, action)
    gmsh.initialize([], readConfigFiles=False, interruptible=False)
    for number, action in kept.items() if library is not None else ():
        library.sigaction(number, action, None)


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
    """Mesh the drawing and take it out in metres, after checking that its surface has `shells` closed shells."""
    try:
        gmsh.model.occ.synchronize()
        gmsh.model.mesh.generate(3)
    except Exception as error:
        raise MeshError(f"gmsh could not mesh the shape ({error}); try a smaller cell_size") from error
    return taken(gmsh, element, shells)


def taken(gmsh: Any, element: ElementName, shells: int | None) -> Mesh:
    """The tetrahedra of the current model, in metres; `shells` is how many closed shells its surface must have, None
    where that is not known.
    """
    tags, coordinates, _ = gmsh.model.mesh.getNodes()
    _, corners = gmsh.model.mesh.getElementsByType(4)
    if len(corners) == 0:
        raise MeshError("gmsh made no tetrahedra; check that the dimensions of the shape enclose a volume")
    position = np.zeros(int(tags.max()) + 1, dtype=np.int32)
    position[tags.astype(np.int64)] = np.arange(len(tags), dtype=np.int32)
    cells = position[corners.astype(np.int64)].reshape(-1, 4)
    points, cells = drop_unused_nodes(coordinates.reshape(-1, 3) / MILLIMETRES, cells)
    mesh = Mesh.oriented(points, cells, "tet4")
    found = len(mesh.surface().components())
    if shells is not None and found != shells:
        raise MeshError(f"the mesh has {found} closed shells instead of {shells}; a wall is too thin for this geometry")
    return mesh.with_element(element)
