"""What `pliant export` and `pliant play` do with a saved run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pliant.cli.output import Output, check_folder
from pliant.core.errors import InputError


def show_export(output: Output, source: Path, *, to: Sequence[Path], **options: Any) -> None:
    """Write a saved run to each file of `to`, by its ending."""
    from pliant.viewer.export import KINDS, checked_kind

    if not to:
        output.say("pliant export RUN.npz --to FILE; the ending of FILE says as what")
        for ending, line in KINDS.items():
            output.say(f"  {ending:<7}{line}")
        output.finish(KINDS)
        return
    for file in to:
        checked_kind(file)
        check_folder(file)
    run = saved_run(source)
    for file in to:
        output.say(f"wrote {write_run(run, file, **options)}")
    output.finish({"run": source, "files": list(to)})


def show_play(output: Output, source: Path, *, port: int | None, open_browser: bool) -> None:
    """Play a saved run in the browser until Ctrl-C."""
    from pliant.cli.view import serve

    serve(output, saved_run(source), what=str(source), port=port, open_browser=open_browser)


def write_run(run: Any, file: Path, **options: Any) -> Path:
    """Write `run` to `file`, by its ending, with a progress bar where frames are drawn."""
    from pliant.viewer.export import export

    return export(run, file, **options)


def saved_run(source: Path) -> Any:
    """The run in a file that `Run.save` wrote."""
    from pliant.record import Run
    from pliant.viewer.live import loaded

    if source.suffix == ".py":
        raise InputError(f"{source} is a scene file: run it first, pliant run {source} --out {source.stem}.npz")
    found = loaded(source)
    if not isinstance(found, Run):
        raise InputError(
            f"{source} holds a world, not a run: a run is what `pliant run --out RUN.npz` or run.save writes"
        )
    return found


def parsed_size(text: str) -> tuple[int, int]:
    """Width and height from "960x540"."""
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) != 2 or not all(part.strip().isdigit() for part in parts):
        raise InputError(f"a size is WIDTHxHEIGHT in pixels, such as 960x540; got {text!r}")
    return int(parts[0]), int(parts[1])
