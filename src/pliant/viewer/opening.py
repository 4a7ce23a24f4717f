"""What `pliant view` is given: the name of a robot, a saved world or run, or a Python file with a scene."""

from __future__ import annotations

import runpy
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pliant.core.errors import InputError
from pliant.robots import Robot
from pliant.stepping import Run
from pliant.viewer.world_subject import WorldSubject, inferred_tip
from pliant.viewer.zoo import Entry, entry
from pliant.world import Scene, World
from pliant.world.storage import WORLD_FORMAT, decode_world, read_archive

NAMES = ("run", "world", "scene")
"""What a scene file may define, the first that is there counts."""


def opened(what: str) -> Entry | Run | WorldSubject:
    """The robot called `what`, or what the file of that name holds."""
    path = Path(what)
    if path.suffix == ".py":
        return thing_of(scene_of(path), name=path.stem)
    if path.suffix == ".npz" or path.is_file():
        return thing_of(loaded(path), name=path.stem)
    return entry(what)


def loaded(path: Path) -> Run | World:
    """A saved run or world; a file of another version is said to be one."""
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}")
    header, arrays = read_archive(path)
    kind = str(header.get("format"))
    if kind == WORLD_FORMAT:
        return _decoded(path, lambda: decode_world(header["world"], arrays))
    known = ("pliant world", "pliant run")
    if kind.startswith(known) and kind not in (WORLD_FORMAT, "pliant run 1"):
        raise InputError(
            f"{path} was written by another version of Pliant ({kind!r}; this one reads {WORLD_FORMAT!r} and "
            "'pliant run 1'): open it with that version, or make it again"
        )
    if not kind.startswith(known):
        raise InputError(f"{path} holds {kind!r}, which is neither a saved world nor a run")
    return _decoded(path, lambda: Run.load(path))


def scene_of(path: Path) -> Any:
    """What a Python file defines as `run`, `world` or `scene`; where it fails, where and why."""
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}")
    try:
        names = runpy.run_path(str(path), run_name="scene")
    except InputError:
        raise
    except SystemExit as error:
        raise InputError(f"{path} ended the program (exit {error.code}) instead of defining a scene") from error
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else lines[-1] if lines else None
        where = f", line {line}" if line else ""
        raise InputError(f"{path}{where}: {type(error).__name__}: {error}") from error
    for name in NAMES:
        if name in names:
            if isinstance(names.get("robot"), Robot) and isinstance(names[name], Scene):
                return names[name], names["robot"]
            return names[name]
    raise InputError(f"{path} defines none of {', '.join(NAMES)}: it has to make a `scene`, a world or a run")


def thing_of(thing: Any, *, name: str = "") -> Run | WorldSubject:
    """A run as it is; a world or a scene as something that can be simulated, with a tip to aim with."""
    robot = None
    if isinstance(thing, tuple):
        thing, robot = thing
    if isinstance(thing, Scene):
        thing = thing.compile()
    if isinstance(thing, Run):
        return thing
    if not isinstance(thing, World):
        raise InputError(f"a Run, a World (scene.compile()) or a Scene can be viewed, not a {type(thing).__name__}")
    tip, actuators = inferred_tip(thing) if robot is None else (robot.tip, (*robot.cables, *robot.cavities))
    return WorldSubject(thing, name=name, tip=tip, actuators=actuators)


def _decoded(path: Path, decode: Callable[[], Run | World]) -> Run | World:
    try:
        return decode()
    except (KeyError, TypeError, IndexError) as error:
        raise InputError(
            f"{path} lacks what this version of Pliant expects ({type(error).__name__}: {error}); it was probably "
            "written by another one, or is damaged"
        ) from error
