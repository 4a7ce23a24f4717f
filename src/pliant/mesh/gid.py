"""Reader of GiD's text meshes: blocks of `MESH dimension 3 ElemType Tetrahedra Nnode 4`, Coordinates and Elements."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from pliant.core.errors import MeshError
from pliant.core.types import FloatArray, IntArray

_HEADER = re.compile(r"^\s*mesh\b.*\belemtype\s+(\w+)\s+nnode\s+(\d+)", re.IGNORECASE)
_NAMES = {
    ("tetrahedra", 4): "tetra",
    ("tetrahedra", 10): "tetra10",
    ("hexahedra", 8): "hexahedron",
    ("triangle", 3): "triangle",
    ("quadrilateral", 4): "quad",
    ("linear", 2): "line",
    ("point", 1): "vertex",
}

Blocks = list[tuple[str, IntArray]]


def read_gid(path: Path) -> tuple[FloatArray, Blocks]:
    """Points (n, 3) in the file's unit and blocks of cells by meshio name, with node indices from 0."""
    numbers: list[int] = []
    coordinates: list[list[float]] = []
    blocks: dict[str, list[list[int]]] = {}
    kind, node_count, section = "", 0, ""
    for line_number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        header = _HEADER.match(line)
        if header:
            node_count = int(header.group(2))
            kind = _NAMES.get((header.group(1).lower(), node_count), "")
            if not kind:
                raise MeshError(f"{path}: {' with '.join(header.groups())} nodes are not supported; use tetrahedra")
        elif words[0].lower() in ("coordinates", "elements", "end"):
            section = "" if words[0].lower() == "end" else words[0].lower()
        elif section:
            try:
                if section == "coordinates":
                    numbers.append(int(words[0]))
                    x, y, *rest = map(float, words[1:4])
                    coordinates.append([x, y, *rest, 0.0][:3])
                else:
                    blocks.setdefault(kind, []).append([int(word) for word in words[1 : node_count + 1]])
            except (ValueError, OverflowError):
                raise MeshError(f"{path}, line {line_number}: invalid GiD {section}: {line.strip()!r}") from None
    return _numbered(path, numbers, coordinates, blocks)


def _numbered(
    path: Path, numbers: list[int], coordinates: list[list[float]], blocks: dict[str, list[list[int]]]
) -> tuple[FloatArray, Blocks]:
    """Replace the file's node numbers, which may start anywhere and have gaps, by indices."""
    if not numbers:
        raise MeshError(f"{path}: the GiD mesh has no coordinates")
    position = {number: index for index, number in enumerate(numbers)}
    result: Blocks = []
    for kind, rows in blocks.items():
        try:
            result.append((kind, np.array([[position[n] for n in row] for row in rows], dtype=np.int32)))
        except KeyError as error:
            raise MeshError(f"{path}: a {kind} refers to node {error.args[0]}, which has no coordinates") from None
        except ValueError:
            raise MeshError(f"{path}: some {kind} cells have too few nodes") from None
    return np.array(coordinates), result
