"""A motion as glTF 2.0, for Blender, browsers and game engines: one .glb, or a .gltf with its buffer inside.

A deforming surface is a mesh with a morph target for each instant after the first; the weights are animated so that
each target reaches 1 at its own instant, and the viewer interpolates between neighbours. A surface that moves rigidly
is a node whose translation and rotation are animated instead. Coordinates stay in metres; a root
node turns z up into glTF's y up. Colours are plain: the format has no colour that changes with time.

Reference: Khronos Group, "glTF 2.0 Specification", version 2.0.1, 2021, in the sections 3.7.2 (morph targets), 3.11
(animations) and 4 (GLB).
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pliant.core.errors import InputError
from pliant.core.provenance import made_by
from pliant.core.replacing import replace_text, replacing
from pliant.core.types import FloatArray, IndexArray
from pliant.viewer.export_surfaces import Shown
from pliant.viewer.palette import rgb, srgb_to_linear
from pliant.viewer.surfaces import SurfaceFrames, check_surfaces, plain_colors, split_creases, vertex_normals

FLOAT, UNSIGNED_INT = 5126, 5125
ARRAY_BUFFER, ELEMENT_ARRAY_BUFFER = 34962, 34963
_RIGID = 1e-6
"""A motion is rigid where its points stay within this fraction of the size of the surface: rounding of float32."""
_Y_UP = [-float(np.sqrt(0.5)), 0.0, 0.0, float(np.sqrt(0.5))]


def write_gltf(path: Path, shown: Shown, *, title: str = "") -> Path:
    """Write `shown` to `path`: .glb (binary) or .gltf (text with an embedded buffer)."""
    surfaces, _ = check_surfaces(shown.surfaces, len(shown.times))
    buffers = _Buffers()
    document = _document(surfaces, shown.times - shown.times[0], buffers, title)
    data = buffers.data()
    if path.suffix.lower() == ".glb":
        document["buffers"] = [{"byteLength": len(data)}]
        with replacing(path) as part:
            part.write_bytes(_glb(document, data))
    elif path.suffix.lower() == ".gltf":
        address = "data:application/octet-stream;base64," + base64.b64encode(data).decode("ascii")
        document["buffers"] = [{"byteLength": len(data), "uri": address}]
        replace_text(path, json.dumps(document))
    else:
        raise InputError(f"glTF is written as .glb or .gltf, got {path}")
    return path


def rigid_motion(frames: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Translations (T, 3) m and quaternions (T, 4) from the first of `frames` (T, n, 3) m; None where it deforms."""
    first = frames[0] - frames[0].mean(axis=0)
    size = float(np.linalg.norm(np.ptp(frames[0], axis=0)))
    centers = frames.mean(axis=1)
    # the nearest rotation, by the singular value decomposition of the covariance (Kabsch 1976)
    u, _, vt = np.linalg.svd(np.einsum("ni,tnj->tij", first, frames - centers[:, None]))
    flip = np.sign(np.linalg.det(u @ vt))
    u[:, :, 2] *= flip[:, None]
    rotations = (u @ vt).transpose(0, 2, 1)
    moved = np.einsum("tij,nj->tni", rotations, first) + centers[:, None]
    if np.abs(moved - frames).max() > _RIGID * size:
        return None
    shifts = centers - np.einsum("tij,j->ti", rotations, frames[0].mean(axis=0))
    turns = Rotation.from_matrix(rotations).as_quat()
    # neighbours on the same side, so that a viewer interpolates the short way round
    sides = np.cumprod(np.where(np.einsum("ti,ti->t", turns[1:], turns[:-1]) < 0.0, -1.0, 1.0))
    turns[1:] *= sides[:, None]
    return shifts, turns


class _Buffers:
    """Arrays laid out one after the other in one buffer, with the views and accessors that name them."""

    def __init__(self) -> None:
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []
        self._parts: list[bytes] = []
        self._length = 0

    def add(self, array: np.ndarray, kind: str, *, target: int | None = None, limits: bool = False) -> int:
        """Index of a new accessor for `array`; `limits` states its smallest and largest values."""
        whole = array.dtype.kind in "iu"
        stored = np.ascontiguousarray(array, dtype="<u4" if whole else "<f4")
        view: dict[str, Any] = {"buffer": 0, "byteOffset": self._length, "byteLength": stored.nbytes}
        if target is not None:
            view["target"] = target
        accessor: dict[str, Any] = {
            "bufferView": len(self.views),
            "componentType": UNSIGNED_INT if whole else FLOAT,
            "count": len(stored),
            "type": kind,
        }
        if limits:
            table = stored.reshape(len(stored), -1)
            accessor["min"], accessor["max"] = table.min(axis=0).tolist(), table.max(axis=0).tolist()
        self._parts.append(stored.tobytes())  # items of four bytes, so that every view is aligned
        self._length += stored.nbytes
        self.views.append(view)
        self.accessors.append(accessor)
        return len(self.accessors) - 1

    def data(self) -> bytes:
        return b"".join(self._parts)


def _document(surfaces: Sequence[SurfaceFrames], times: FloatArray, buffers: _Buffers, title: str) -> dict[str, Any]:
    nodes: list[dict[str, Any]] = [{"name": "z up", "rotation": _Y_UP, "children": []}]
    meshes: list[dict[str, Any]] = []
    materials: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []
    samplers: list[dict[str, Any]] = []
    clock: int | None = None
    if len(times) > 1 and any(len(surface.frames) > 1 for surface in surfaces):
        clock = buffers.add(times, "SCALAR", limits=True)

    def animate(node: int, what: str, output: int) -> None:
        samplers.append({"input": clock, "output": output, "interpolation": "LINEAR"})
        channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": what}})

    for surface, color in zip(surfaces, plain_colors(surfaces), strict=True):
        index = len(nodes)
        name = surface.label or f"surface {index}"
        motion = rigid_motion(surface.frames) if len(surface.frames) > 1 else None
        frames = surface.frames if motion is None else surface.frames[:1]
        mesh, target_count = _mesh(buffers, surface.triangles, frames)
        mesh["name"], mesh["primitives"][0]["material"] = name, len(materials)
        materials.append(_material(name, color))
        nodes[0]["children"].append(index)
        nodes.append({"name": name, "mesh": len(meshes)})
        meshes.append(mesh)
        if motion is not None and clock is not None:
            animate(index, "translation", buffers.add(motion[0], "VEC3"))
            animate(index, "rotation", buffers.add(motion[1], "VEC4"))
        elif target_count and clock is not None:
            weights = np.eye(target_count + 1)[:, 1:]
            animate(index, "weights", buffers.add(weights.reshape(-1), "SCALAR"))
    document: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": "Pliant", "extras": {"made": made_by()}},
        "scene": 0,
        "scenes": [{"nodes": [0], **({"name": title} if title else {})}],
        "nodes": nodes,
        "meshes": meshes,
        "materials": materials,
        "accessors": buffers.accessors,
        "bufferViews": buffers.views,
    }
    if channels:
        document["animations"] = [{"name": "motion", "channels": channels, "samplers": samplers}]
    return document


def _mesh(buffers: _Buffers, triangles: IndexArray, frames: FloatArray) -> tuple[dict[str, Any], int]:
    """A mesh at the first of `frames` (T, n, 3) m, with a morph target for each of the others; and how many."""
    corners, source = split_creases(frames[0], triangles)
    points = frames[:, source]
    normals = [vertex_normals(p, corners) for p in points]
    attributes = {
        "POSITION": buffers.add(points[0], "VEC3", target=ARRAY_BUFFER, limits=True),
        "NORMAL": buffers.add(_unit(normals[0]), "VEC3", target=ARRAY_BUFFER),
    }
    indices = buffers.add(corners.reshape(-1), "SCALAR", target=ELEMENT_ARRAY_BUFFER)
    primitive: dict[str, Any] = {"attributes": attributes, "indices": indices, "mode": 4}
    mesh: dict[str, Any] = {"primitives": [primitive]}
    if len(frames) > 1:
        primitive["targets"] = [
            {
                "POSITION": buffers.add(p - points[0], "VEC3", target=ARRAY_BUFFER, limits=True),
                "NORMAL": buffers.add(_unit(n) - _unit(normals[0]), "VEC3", target=ARRAY_BUFFER),
            }
            for p, n in zip(points[1:], normals[1:], strict=True)
        ]
        mesh["weights"] = [0.0] * (len(frames) - 1)
    return mesh, len(frames) - 1


def _unit(normals: FloatArray) -> FloatArray:
    """Normals (n, 3) of length 1, as glTF wants them; z where a vertex has none."""
    flat = np.linalg.norm(normals, axis=1) < 0.5
    return np.where(flat[:, None], np.array([0.0, 0.0, 1.0]), normals)


def _material(name: str, color: str) -> dict[str, Any]:
    return {
        "name": name,
        "doubleSided": True,
        "pbrMetallicRoughness": {
            "baseColorFactor": [*srgb_to_linear(rgb(color)).tolist(), 1.0],
            "metallicFactor": 0.0,
            "roughnessFactor": 0.6,
        },
    }


def _glb(document: dict[str, Any], data: bytes) -> bytes:
    """The binary container: a header of 12 bytes, a JSON chunk padded with spaces, a buffer chunk padded with zeros."""
    text = json.dumps(document, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 4)
    data += b"\0" * (-len(data) % 4)
    body = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
    return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body
