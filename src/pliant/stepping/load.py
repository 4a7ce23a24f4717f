"""Read a saved world or run; what the file holds decides."""

from __future__ import annotations

from pathlib import Path

from pliant.core.archive import decoding, read_archive
from pliant.stepping.run import RUN_FORMAT, Run
from pliant.world import World
from pliant.world.storage import WORLD_FORMAT, decode_world


def load(path: str | Path) -> Run | World:
    """Read a saved run or world; what the file holds decides."""
    what = "a saved world or run"
    header, arrays = read_archive(path, WORLD_FORMAT, RUN_FORMAT, what=what)
    with decoding(path, what):
        if header["format"] == WORLD_FORMAT:
            return decode_world(header["world"], arrays)
        return Run.decoded(header, arrays)
