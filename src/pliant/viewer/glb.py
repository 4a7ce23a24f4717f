"""A coloured surface as binary glTF 2.0, the one format in which the browser takes a colour per vertex.

Reference: Khronos, "glTF 2.0 specification", sections 3.7 (geometry) and 4 (the binary container).
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from pliant.core.types import FloatArray, IndexArray
from pliant.viewer.palette import srgb_to_linear

_FLOAT, _UINT, _USHORT = 5126, 5125, 5123
_VERTICES, _INDICES = 34962, 34963


def colored_glb(points: FloatArray, triangles: IndexArray, colors: FloatArray, *, opacity: float = 1.0) -> bytes:
    """The file of a surface of `points` (n, 3) m and `triangles` (t, 3) with `colors` (n, 3), sRGB components 0…1."""
    levels = np.full((len(points), 4), 65535, np.uint16)
    levels[:, :3] = np.rint(65535.0 * srgb_to_linear(np.clip(colors, 0.0, 1.0)))  # glTF colours are light intensities
    places = np.ascontiguousarray(points, np.float32)
    chunks = [places.tobytes(), levels.tobytes(), np.ascontiguousarray(triangles, np.uint32).tobytes()]
    starts = np.concatenate([[0], np.cumsum([len(chunk) for chunk in chunks])]).tolist()
    targets = (_VERTICES, _VERTICES, _INDICES)
    material: dict[str, Any] = {
        "pbrMetallicRoughness": {
            "metallicFactor": 0.0,
            "roughnessFactor": 0.6,
            "baseColorFactor": [1.0, 1.0, 1.0, opacity],
        },
        "alphaMode": "OPAQUE" if opacity >= 1.0 else "BLEND",
        "doubleSided": True,
    }
    bounds = {"min": places.min(axis=0).tolist(), "max": places.max(axis=0).tolist()}
    content = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "COLOR_0": 1}, "indices": 2, "material": 0}]}],
        "materials": [material],
        "buffers": [{"byteLength": starts[-1]}],
        "bufferViews": [
            {"buffer": 0, "byteOffset": start, "byteLength": len(chunk), "target": target}
            for start, chunk, target in zip(starts, chunks, targets)
        ],
        "accessors": [
            {"bufferView": 0, "componentType": _FLOAT, "count": len(places), "type": "VEC3", **bounds},
            {"bufferView": 1, "componentType": _USHORT, "normalized": True, "count": len(places), "type": "VEC4"},
            {"bufferView": 2, "componentType": _UINT, "count": int(np.size(triangles)), "type": "SCALAR"},
        ],
    }
    text = json.dumps(content, separators=(",", ":")).encode()
    return _container(text, b"".join(chunks))


def _container(text: bytes, data: bytes) -> bytes:
    """Header, JSON chunk and binary chunk, each padded to four bytes."""
    text += b" " * (-len(text) % 4)
    data += b"\0" * (-len(data) % 4)
    total = 12 + 8 + len(text) + 8 + len(data)
    header = struct.pack("<4sII", b"glTF", 2, total)
    return header + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
