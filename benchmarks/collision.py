"""Collision detection by stage: refit, broad phase, vertex–face, edge–edge, and the whole query.

    python -m benchmarks.collision [--sizes 1k 10k 40k 70k] [--json FILE]

Self: a silicone beam coiled up like a spring, two turns half a millimetre apart, so that a third of its surface is near
another part. Two: the same coil on top of a second one, half a millimetre above. Times are medians of process time
on one thread, in milliseconds; every query is at another deformation. IPC Toolkit, where it is installed, lists its
candidates and collisions for the same shape.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from pliant import mesh
from pliant.collision import CollisionSurface, ProximityOptions, self_contacts, surface_contacts
from pliant.collision.broad.candidates import candidates
from pliant.collision.contacts import ContactKind, key_base
from pliant.collision.filters import arrays_of
from pliant.collision.narrow.edge_edge import edge_edge_contacts
from pliant.collision.narrow.vertex_face import vertex_face_contacts
from pliant.collision.proximity import history_of, limits_of

SIZES = {"1k": (40, 2, 2), "10k": (70, 5, 5), "40k": (105, 8, 8), "70k": (150, 9, 9)}
EXTENT = (0.4, 0.02, 0.02)  # m
MARGIN = 1e-3  # m


def coiled(points: np.ndarray, phase: float) -> np.ndarray:
    """The beam rolled up to two turns, 0.5 mm apart, its pitch breathing with `phase`."""
    angle = points[:, 0] / EXTENT[0] * 4.0 * np.pi
    radius = 0.03 + points[:, 1] + 0.0205 * angle / (2.0 * np.pi) * (1.0 + 1e-3 * np.sin(phase))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), -points[:, 2]])


def milliseconds(work: Callable[[float], Any], repeats: int = 15) -> float:
    """Median process time of `work` at one phase after another."""
    work(0.0)
    times = []
    for phase in np.linspace(0.1, 3.0, repeats):
        start = time.process_time()
        work(float(phase))
        times.append(time.process_time() - start)
    return 1e3 * median(times)


def measure(cells: tuple[int, int, int]) -> dict[str, float]:
    """Times (ms) and counts of one size."""
    body = mesh.box(EXTENT, cells, symmetric="")
    triangles, rest = body.surface().triangles, body.points
    start = time.process_time()
    surface = CollisionSurface.build(triangles, rest)
    build = 1e3 * (time.process_time() - start)
    options = ProximityOptions(margin=MARGIN)
    shapes = {phase: coiled(rest, phase) for phase in (0.0, *map(float, np.linspace(0.1, 3.0, 15)))}
    poses = {phase: surface.at(x) for phase, x in shapes.items()}
    arrays = {phase: arrays_of(pose) for phase, pose in poses.items()}
    limits, history = limits_of(options, same=True), history_of(None)
    found = {phase: candidates(pose, pose, limits, crossed=False) for phase, pose in poses.items()}
    vertex, edge = key_base(ContactKind.VERTEX_FACE, 0), key_base(ContactKind.EDGE_EDGE, 0)
    other = surface.at(shapes[0.0] + np.array([0.0, 0.0, 0.0205]))
    result = {
        "tets": float(len(body.cells)),
        "triangles": float(len(triangles)),
        "contacts": float(self_contacts(poses[0.0], options).count),
        "build": build,
        "refit": milliseconds(lambda s: surface.at(shapes[s]).bounds),
        "candidates": milliseconds(lambda s: candidates(poses[s], poses[s], limits, crossed=False)),
        "vertex-face": milliseconds(
            lambda s: vertex_face_contacts(found[s].vertices, arrays[s], arrays[s], limits, history, vertex)
        ),
        "edge-edge": milliseconds(
            lambda s: edge_edge_contacts(found[s].edges, arrays[s], arrays[s], limits, history, edge)
        ),
        "self": milliseconds(lambda s: self_contacts(surface.at(shapes[s]), options)),
        "two contacts": float(surface_contacts(poses[0.0], other, options).count),
        "two": milliseconds(lambda s: surface_contacts(surface.at(shapes[s]), other, options)),
    }
    result["hz"] = 1e3 / result["self"]
    peer = ipc_toolkit(shapes[0.0], triangles)
    return result if peer is None else {**result, "ipc toolkit": peer}


def ipc_toolkit(points: np.ndarray, triangles: np.ndarray) -> float | None:
    """Time (ms) that IPC Toolkit takes to list the collisions of the same shape, one thread; None without it."""
    try:
        import ipctk
    except ImportError:
        return None
    if hasattr(ipctk, "set_num_threads"):
        ipctk.set_num_threads(1)
    used, local = np.unique(triangles, return_inverse=True)
    faces, vertices = local.reshape(-1, 3), points[used]
    shape = ipctk.CollisionMesh(vertices, ipctk.edges(faces), faces)

    def build(_: float) -> None:
        ipctk.NormalCollisions().build(shape, vertices, MARGIN)

    return milliseconds(build, repeats=3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    results = {name: measure(SIZES[name]) for name in arguments.sizes}
    for name, result in results.items():
        print(f"{name:>5}  " + "  ".join(f"{key} {value:.4g}" for key, value in result.items()))
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(results, file, indent=2)


if __name__ == "__main__":
    main()
