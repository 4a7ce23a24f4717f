"""What `pliant mesh` does: fill a surface or a CAD file with tetrahedra, or read a mesh; say how good it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.cli.output import Output, check_folder
from pliant.cli.regions import parsed_regions
from pliant.core.errors import InputError, UnitError
from pliant.core.units import LENGTH_UNITS, metres_per


def show_mesh(
    output: Output,
    source: Path,
    *,
    unit: str,
    size: float | None,
    out: Path | None,
    element: str,
    keep_surface: bool,
    regions: Sequence[str] = (),
) -> None:
    """Make or read a mesh, print its report and write it in metres to `out`; `size` and `regions` are in `unit`."""
    from pliant import mesh as meshes
    from pliant.models.volume.step_time import mesh_step_ms

    check_folder(out)
    chosen = parsed_regions(regions, metres_per(unit or "mm"))
    mesh, sizes = meshed_file(output, source, unit=unit, size=size, element=element, keep_surface=keep_surface)
    report = meshes.mesh_report(mesh)
    step = mesh_step_ms(mesh) if mesh.element == "tet4" and not report.inverted else None
    output.table(str(source), report_rows(mesh, report, step))
    for remark in report.remarks:
        output.say(f"- {remark}")
    nodes = {name: region.nodes(mesh.points, what=f"region {name!r}") for name, region in chosen.items()}
    for name, found in nodes.items():
        output.say(f"region {name}: {len(found)} nodes, {chosen[name]}")
    files = []
    if out is not None:
        marks = {name: np.isin(np.arange(mesh.node_count), found).astype(float) for name, found in nodes.items()}
        meshes.save(mesh, out, unit="m", point_data=marks)
        files.append(out)
        output.say(f'wrote {out}, in metres: pl.mesh.load("{out}", unit="m")')
    expected = (
        {} if sizes is None else {"expected_cells": sizes.cells, "layers": sizes.layers, "wall_mm": 1e3 * sizes.thin}
    )
    output.finish(
        report.as_dict() | {"source": source, "files": files, "regions": nodes, "step_ms": step, "sizes": expected}
    )


def meshed_file(
    output: Output, source: Path, *, unit: str, size: float | None, element: Any, keep_surface: bool
) -> tuple[Any, Any]:
    """The mesh in a file of volume cells, or one that fills the surface or the solid in it, and sizes from its walls.

    The sizes are None where `size` is given or not needed.
    """
    from pliant import mesh as meshes
    from pliant.mesh.filling import CAD_ENDINGS, source_surface
    from pliant.mesh.io import holds_volume

    if not source.is_file():
        raise InputError(f"{source} does not exist")
    cad = source.suffix.lower() in CAD_ENDINGS
    if not unit and not (cad and source.suffix.lower() != ".brep"):
        known = ", ".join(LENGTH_UNITS)
        raise UnitError(f"{source} does not say the unit of its coordinates; give it: --unit mm (one of {known})")
    scale = metres_per(unit or "mm")
    if not cad and holds_volume(source):
        if size is not None:
            raise InputError(f"{source} is a volume mesh already; --size is for surfaces and CAD files")
        mesh = meshes.load(source, unit=unit)
        return (mesh if element == "tet4" else mesh.with_element(element)), None
    options: dict[str, Any] = {"unit": unit or None, "element": element, "keep_surface": keep_surface}
    if size is not None or keep_surface:
        cell_size = None if size is None else scale * size
        return meshes.tetrahedralize(source, cell_size=cell_size, **options), None
    sizes = meshes.cell_sizes(source_surface(source, unit=unit or None))
    output.say(f"{source}: {sizes}")
    return meshes.tetrahedralize(source, cell_size=sizes, **options), sizes


def report_rows(mesh: Any, report: Any, step: float | None) -> dict[str, str]:
    """The lines of the table."""
    from pliant.mesh.sizing import plain_number

    lower, upper = 1e3 * mesh.bounds
    expected = {} if step is None else {"a step (ms)": f"about {plain_number(step)}, on one core, without contact"}
    return {
        "cells": f"{report.cells} {report.element}, {report.nodes} nodes",
        **expected,
        "size (mm)": " × ".join(f"{length:.4g}" for length in upper - lower),
        "corner (mm)": ", ".join(f"{x:.4g}" for x in lower),
        "volume (mL)": f"{report.volume_ml:.4g}",
        "hollows (mL)": ", ".join(f"{volume:.4g}" for volume in report.hollows_ml) or "none",
        "edges (mm)": f"{report.least_edge_mm:.3g} to {report.largest_edge_mm:.3g}, mean {report.mean_edge_mm:.3g}",
        "angles (°)": f"{report.least_angle:.1f} to {report.largest_angle:.1f}",
        "aspect ratio": f"at most {report.largest_aspect:.2f}",
        "quality": f"at least {report.least_quality:.2f}, mean {report.mean_quality:.2f} (1: regular)",
        "inverted": str(report.inverted),
        "boundary": "closed" if report.closed else "open",
    }
