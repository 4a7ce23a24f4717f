"""A run as a ParaView series: one collection (.pvd) and a mesh (.vtu) for each body and step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from pliant.core.provenance import made_by
from pliant.core.replacing import replacing

if TYPE_CHECKING:
    from pliant.record.run import Run


def export_paraview(run: Run, path: str | Path, *, every: int = 1) -> Path:
    """Write a .pvd at `path` and a .vtu for each body and each `every`-th step beside it; return the path."""
    path = Path(path).with_suffix(".pvd")
    with replacing(path) as part:
        _write_series(run, part, every)
    return path


def _write_series(run: Run, path: Path, every: int) -> None:
    import meshio

    folder = path.with_suffix("")
    folder.mkdir()
    entries = []
    surfaces = [run.surface_points(index) for index in range(len(run.bodies))]
    for step in range(0, len(run.times), every):
        for index, body in enumerate(run.bodies):
            points = surfaces[index]
            rest = points[0] if body.mesh is None else body.mesh.points
            file = folder / f"{index}_{step:06d}.vtu"
            data = {"displacement": points[step] - rest}
            if body.mesh is not None:
                cells = [(body.mesh.table.meshio_name, body.mesh.cells)]
                data["velocity"] = run.motions[index][step]
            else:
                cells = [("triangle", body.surface_triangles())]
            meshio.write(file, meshio.Mesh(points[step], cells, point_data=data), file_format="vtu")
            name = quoteattr(f"{folder.name}/{file.name}")
            entries.append(f'<DataSet timestep="{run.times[step]:.9g}" part="{index}" file={name}/>')
    made = f"<!-- {made_by().replace('--', '- -')} -->"
    lines = ['<?xml version="1.0"?>', made, '<VTKFile type="Collection" version="0.1">', "<Collection>", *entries]
    path.write_text("\n".join([*lines, "</Collection>", "</VTKFile>", ""]), encoding="utf-8")
