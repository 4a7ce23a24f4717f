"""What `pliant new` does: write a scene file that runs, with comments, to start from."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from pliant.cli.output import Output, check_folder
from pliant.core.errors import InputError
from pliant.core.replacing import replace_text

KINDS: dict[str, str] = {
    "grasp": "a finger pulled by a cable bends round a ball",
    "bender": "a fibre-reinforced pneumatic bender from an STL or STEP file, on a table",
    "arm": "an arm with three cables and an elastic backbone, against a post",
    "gripper": "fingers and a thumb lift a soft ball",
    "vessel": "a guide wire is pushed through a curved vessel",
    "inverse": "the tip of a trunk follows a circle; the inverse finds the cable displacements",
    "reduced": "a finger in a few modes, made offline and validated",
    "chamber": "a bellows that air stretches",
    "own": "a body from your own mesh file",
}
"""The templates of scene files, each with one line."""
USES_GMSH = ("bender",)
"""Templates that mesh a drawing, which needs the extra `mesh`."""


def show_new(output: Output, path: Path | None, *, kind: str, force: bool, listed: bool = False) -> None:
    """Write a scene file of `kind` to `path` and say how to run it, or list the kinds."""
    if listed:
        output.table("templates", KINDS)
        output.say("pliant new scene.py --kind NAME writes one of them")
        output.finish({"kinds": KINDS})
        return
    if path is None:
        raise InputError("give the file to write, such as `pliant new scene.py`; --list shows the templates")
    if kind not in KINDS:
        raise InputError(f"there is no kind {kind!r}; the kinds are {', '.join(KINDS)}")
    if path.suffix != ".py":
        wanted = path.with_suffix(".py") if path.name else "scene.py"
        raise InputError(f"a scene is a Python file: {wanted}, not {path}")
    check_folder(path)
    if path.exists() and not force:
        raise InputError(f"{path} exists; take another name, or --force to write over it")
    replace_text(path, scene_text(kind))
    output.say(f"wrote {path}: {KINDS[kind]}")
    output.say(f"pliant run {path} --out {path.stem}.html")
    output.finish({"file": path, "kind": kind})


def scene_text(kind: str) -> str:
    """The text of the scene file of `kind`."""
    return resources.files("pliant.cli").joinpath("templates", f"{kind}.py").read_text(encoding="utf-8")
