"""What `pliant check SCENE.py` does: execute the file up to its first step, and say what is unusual in its scene."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pliant.cli.errors import FAILED
from pliant.cli.output import Output
from pliant.cli.run import one_value, split_settings
from pliant.cli.scene_file import DT, SceneFile, compiled_world


class Simulated(BaseException):
    """Raised instead of the first step of a scene file; no `except Exception` of the file catches it."""

    def __init__(self, world: Any, stepper: Any) -> None:
        super().__init__("the first step")
        self.world, self.stepper = world, stepper


def show_check(output: Output, scene: Path, *, settings: Sequence[str]) -> int:
    """Print the findings about a scene file, one line each; the exit code is 1 where one of them is a fault."""
    from pliant.review import check

    values = {name: one_value(name, text) for name, text in split_settings(settings)}
    world, stepper = scene_world(SceneFile.read(scene), values)
    found = check(world, stepper=stepper)
    for finding in found:
        output.say(str(finding))
    faults = sum(finding.fault for finding in found)
    output.say(f"{scene}: {_counted(faults, len(found) - faults)}")
    output.finish({"scene": scene, "faults": faults, "findings": [vars(finding) for finding in found]})
    return FAILED if faults else 0


def _counted(faults: int, notes: int) -> str:
    """'1 fault, 2 notes', or that nothing is unusual."""
    if not faults and not notes:
        return "nothing unusual"
    return f"{faults} fault{'s' * (faults != 1)}, {notes} note{'s' * (notes != 1)}"


def scene_world(file: SceneFile, values: Mapping[str, Any] | None = None) -> tuple[Any, Any]:
    """The world of a scene file and its stepper, without a step: a file that simulates by itself ends at its first."""
    from pliant.stepping import ImplicitEuler

    try:
        with first_step_stops():
            module = file.execute(values)
            if getattr(module, "world", None) is None and getattr(module, "scene", None) is None:
                main = getattr(module, "main", None)
                if callable(main):
                    with file.errors_located():
                        main()
            world = compiled_world(file, module)
    except Simulated as stop:
        return stop.world, stop.stepper
    return world, getattr(module, "stepper", None) or ImplicitEuler(dt=DT)


@contextmanager
def first_step_stops() -> Iterator[None]:
    """Within it, the first step of any stepper raises `Simulated`."""
    from pliant import stepping
    from pliant.stepping.minimum_energy import Geometric

    kinds: list[Any] = [stepping.ImplicitEuler, stepping.ImplicitMidpoint, stepping.DampedMidpoint]
    kinds += [stepping.QuasiStatic, Geometric]
    before = [kind.__call__ for kind in kinds]

    def stop(self: Any, world: Any, *_: Any, **__: Any) -> Any:
        raise Simulated(world, self)

    try:
        for kind in kinds:
            kind.__call__ = stop
        yield
    finally:
        for kind, call in zip(kinds, before, strict=True):
            kind.__call__ = call
