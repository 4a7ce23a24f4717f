"""What `pliant new` does: write a scene file that runs, with comments, to start from."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from pliant.cli.output import Output, check_folder
from pliant.core.errors import InputError

KINDS: dict[str, str] = {
    "grasp": "a finger pulled by a cable bends round a ball",
    "inverse": "the tip of a trunk follows a circle; the inverse finds the cables",
    "chamber": "a bellows that air stretches",
    "own": "a body from your own mesh or CAD file",
}
"""The kinds of scene files, each with one line."""


def show_new(output: Output, path: Path, *, kind: str, force: bool) -> None:
    """Write a scene file of `kind` to `path` and say how to run it."""
    if kind not in KINDS:
        raise InputError(f"there is no kind {kind!r}; the kinds are {', '.join(KINDS)}")
    if path.suffix != ".py":
        raise InputError(f"a scene is a Python file: {path.with_suffix('.py')}, not {path}")
    check_folder(path)
    if path.exists() and not force:
        raise InputError(f"{path} exists; take another name, or --force to write over it")
    path.write_text(scene_text(kind), encoding="utf-8")
    output.say(f"wrote {path}: {KINDS[kind]}")
    output.say(f"pliant run {path} --out {path.stem}.html")
    output.finish({"file": path, "kind": kind})


def scene_text(kind: str) -> str:
    """The text of the scene file of `kind`."""
    return resources.files("pliant.cli").joinpath("templates", f"{kind}.py").read_text(encoding="utf-8")
