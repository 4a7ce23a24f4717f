"""What a world was compiled from: an immutable copy of the scene, by which worlds are saved and rebuilt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pliant.core.types import FloatArray


@dataclass(frozen=True, eq=False)
class Pair:
    """A call of `Scene.collide`."""

    a: Any
    b: Any
    friction: float
    margin: float | None
    exclude: Any
    capacity: int | None
    allow_overlap: bool = False


@dataclass(frozen=True, eq=False)
class Source:
    """A scene as it was compiled; later additions to the scene do not change it.

    `gravity` (3,) m/s². `things` are all added objects, each volume with its placed mesh, each beam and rod with its
    pose (4, 3), others with None. `pairs` are the pairs that collide.
    """

    gravity: FloatArray
    things: tuple[tuple[Any, Any], ...]
    pairs: tuple[Pair, ...]
