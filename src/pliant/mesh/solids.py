"""Several solids of one CAD file as one mesh: each is a part with a material of its own, bonded where they touch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.declared import declared
from pliant.core.errors import InputError, MeshError
from pliant.core.units import metres_per
from pliant.mesh import regions
from pliant.mesh.child_process import bounded, in_child_process
from pliant.mesh.elements import ElementName
from pliant.mesh.estimate import check_cell_count
from pliant.mesh.gmsh_session import MILLIMETRES, check_options, drawing, meshed
from pliant.mesh.mesh import Mesh


@declared
def tetrahedralize_solids(
    path: str | Path, *, cell_size: float, unit: str | None = None, element: ElementName = "tet4"
) -> tuple[Mesh, dict[str, regions.Region]]:
    """The mesh of all solids of a CAD file (STEP, IGES, BREP), and the cells of each solid as a region by its name.

    Solids that touch share the nodes of their common face; where they overlap, the later one has the overlap. Names are
    those of the file, "solid 1", "solid 2"… where it has none. The regions are for the inclusions of a volume:

        mesh, parts = pl.mesh.tetrahedralize_solids("finger.step", cell_size=0.003)
        pl.Volume(mesh, soft, inclusions=[(parts["layer"], stiff)])

    cell_size
        Wanted length of edges, m.
    unit
        Of the coordinates in a BREP file ("mm"…); STEP and IGES files contain it.
    """
    check_options(cell_size, element)
    file = Path(path)
    if not file.is_file():
        raise MeshError(f"{file} does not exist; the current folder is {Path.cwd()}")
    mesh, cells = in_child_process(_meshed_solids, file, cell_size, unit, element)
    return mesh, {name: regions.cells(own) for name, own in cells.items()}


def _meshed_solids(
    file: Path, cell_size: float, unit: str | None, element: ElementName
) -> tuple[Mesh, dict[str, list[int]]]:
    """The mesh of all solids of a CAD file and the cells of each by its name."""
    with drawing(cell_size) as gmsh:
        gmsh.option.setString("Geometry.OCCTargetUnit", "MM")
        try:
            with bounded(file):
                gmsh.model.occ.importShapes(str(file), highestDimOnly=True)
                gmsh.model.occ.synchronize()
        except Exception as error:
            raise MeshError(f"{file} cannot be read as a CAD file ({error}); export it as STEP") from error
        given = gmsh.model.getEntities(3)
        if not given:
            raise MeshError(f"{file} has no solid; export solids, not sheets")
        if file.suffix.lower() == ".brep":
            if unit is None:
                raise InputError(f'{file}: a BREP file does not contain its unit; give it, such as unit="mm"')
            gmsh.model.occ.dilate(given, 0.0, 0.0, 0.0, *[1e3 * metres_per(unit)] * 3)
        names = _names(gmsh, given)
        volume = sum(gmsh.model.occ.getMass(*solid) for solid in given) / MILLIMETRES**3
        box = np.reshape(gmsh.model.getBoundingBox(-1, -1), (2, 3)) / MILLIMETRES
        check_cell_count(volume, cell_size, float((box[1] - box[0]).max()), str(file))
        pieces: list[Any] = [[solid] for solid in given]
        if len(given) > 1:
            _, pieces = gmsh.model.occ.fragment(given[:1], given[1:])
        mesh = meshed(gmsh, element, None)
        place = {int(tag): k for k, tag in enumerate(gmsh.model.mesh.getElementsByType(4)[0])}
        cells = {
            name: [place[int(t)] for _, volume_tag in own for t in gmsh.model.mesh.getElementsByType(4, volume_tag)[0]]
            for name, own in zip(names, pieces, strict=False)
        }
    return mesh, cells


def _names(gmsh: Any, solids: list[tuple[int, int]]) -> list[str]:
    """A distinct name for each solid: the last part of its name in the file, else its place."""
    found = [str(gmsh.model.getEntityName(*solid)).rsplit("/", maxsplit=1)[-1] for solid in solids]
    return [
        name if name and found.count(name) == 1 else f"{name or 'solid'} {k}" for k, name in enumerate(found, start=1)
    ]
