"""The fingerprint of a world: two worlds that were written alike have the same."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from pliant.world import World
from pliant.world.storage import encode_world


def world_digest(world: World) -> str:
    """A fingerprint of all that the scene of `world` holds; a world that cannot be saved has none: an error."""
    header, arrays = encode_world(world)
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]
