"""What `pliant view` is given by name: a robot, or a saved world or run. Scene files are read by `cli.scene_file`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pliant.core.errors import InputError
from pliant.record import Run, load
from pliant.robots import Robot
from pliant.viewer.world_subject import WorldSubject, inferred_tip
from pliant.viewer.zoo import Entry, entry
from pliant.world import Scene, World


def opened(what: str) -> Entry | Run | WorldSubject:
    """The robot called `what`, or what the file of that name holds."""
    path = Path(what)
    if path.suffix == ".npz" or path.is_file():
        return thing_of(loaded(path), name=path.stem)
    return entry(what)


def loaded(path: Path) -> Run | World:
    """A saved run or world; a file of another version is said to be one."""
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}")
    return load(path)


def thing_of(thing: Any, *, name: str = "", robot: Robot | None = None, **options: Any) -> Run | WorldSubject:
    """A run as it is; a world or a scene as something that can be simulated, with the tip of `robot` to aim with, or
    one that is found. `options` are those of `WorldSubject`.
    """
    if isinstance(thing, Scene):
        thing = thing.compile()
    if isinstance(thing, Run):
        return thing
    if not isinstance(thing, World):
        kind = type(thing).__name__
        raise InputError(f"a Run, a World (scene.compile()) or a Scene can be viewed, not something of type {kind}")
    tip, actuators = inferred_tip(thing) if robot is None else (robot.tip, (*robot.cables, *robot.cavities))
    return WorldSubject(thing, name=name, tip=tip, actuators=actuators, **options)
