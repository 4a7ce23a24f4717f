"""What `pliant run SCENE.py` does: execute the file, simulate, report, keep the run in files."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pliant.cli.output import Output, check_folder
from pliant.cli.scene_file import SceneFile, run_scene
from pliant.core.checks import positive_count
from pliant.core.errors import InputError

_SPAN = re.compile(r"^([^:,]+):([^:,]+):(\d{1,12})$")
_MOST_VALUES = 1_000_000
"""Values of a range at most: each is a simulation."""


def show_run(
    output: Output,
    scene: Path,
    *,
    settings: Sequence[str],
    until: float | None,
    dt: float | None,
    out: Sequence[Path],
    view_run: bool,
) -> None:
    """Run a scene file, print times and measures, and write the run to `out`, by ending; `until` and `dt` in s."""
    from pliant.cli.export import write_run
    from pliant.viewer.export import checked_kind

    for file in out:
        check_folder(file)
        checked_kind(file)
    values = {name: one_value(name, text) for name, text in split_settings(settings)}
    result = run_scene(SceneFile.read(scene), values, until=until, dt=dt, progress=sys.stdout.isatty())
    files: list[Path] = []
    summary: dict[str, Any] = {}
    if result.run is None and (out or view_run):
        raise InputError(f"{scene} gave no run to keep or to show: main() must return it")
    if result.run is not None:
        summary = run_summary(result.run)
        output.table(str(scene), summary)
        for file in out:
            files.append(write_run(result.run, file))
            output.say(f"wrote {file}")
    if result.measures:
        output.table("measures", result.measures)
    output.finish(
        {
            "scene": str(scene),
            "parameters": values,
            "run": summary,
            "measures": result.measures,
            "files": files,
            "complete": result.stopped is None,
        }
    )
    if result.stopped is not None:
        kept = ", ".join(map(str, files)) if files else "nothing: give --out RUN.npz to keep it"
        output.say(f"stopped at {result.run.times[-1]:g} s; what was recorded until then is kept in {kept}")
        raise result.stopped
    if view_run:
        from pliant.viewer.live import view

        view(result.run)


def run_summary(run: Any) -> dict[str, Any]:
    """Length, speed and stages of a run, for a table."""
    import numpy as np

    summary: dict[str, Any] = {
        "bodies": ", ".join(body.name for body in run.bodies),
        "simulated (s)": float(run.times[-1] - run.times[0]),
        "steps": len(run.times) - 1,
    }
    if run.step_seconds.any():
        warm = run.warm if run.warm.any() else np.ones(len(run.step_seconds), bool)  # without compiling or loading
        summary["step, median (ms)"] = 1e3 * float(np.median(run.step_seconds[warm]))
        summary["step, mean (ms)"] = 1e3 * float(run.step_seconds[warm].mean())
        summary["stages, mean (ms)"] = {name: 1e3 * float(t[warm].mean()) for name, t in run.stage_seconds.items()}
        summary["real-time factor"] = run.real_time_factor
    return summary


def split_settings(settings: Sequence[str]) -> list[tuple[str, str]]:
    """Names and texts of options such as "young=2e5", each name once."""
    pairs = []
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip().isidentifier() or not text.strip():
            raise InputError(f"--set takes NAME=VALUE, such as --set young=2e5; got {setting!r}")
        pairs.append((name.strip(), text.strip()))
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"--set {twice} is given {names.count(twice)} times; give several values as {twice}=A,B,C")
    return pairs


def one_value(name: str, text: str) -> Any:
    """A single value: a number, True or False, a tuple, or else text."""
    found = many_values(text)
    if len(found) != 1:
        raise InputError(
            f"--set {name}={text} gives {len(found)} values; a run takes one, `pliant sweep` takes several"
        )
    return found[0]


def many_values(text: str) -> list[Any]:
    """The values of "1,2,4", of "0.1:0.2:5" (five, first to last), of "(0,0,1),(0,1,0)" or of "soft,hard"."""
    span = _SPAN.match(text)
    if span:
        import numpy as np

        try:
            low, high, count = float(span[1]), float(span[2]), positive_count("COUNT", int(span[3]))
        except ValueError as error:
            raise InputError(f"{text!r} is no range; write FIRST:LAST:COUNT, such as 0.1:0.2:5") from error
        if not 1 <= count <= _MOST_VALUES:
            raise InputError(f"{text!r} are {count} values; a range has 1 to {_MOST_VALUES}")
        return [float(value) for value in np.linspace(low, high, count)]
    try:
        return list(ast.literal_eval(f"[{text}]"))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return [_literal(part.strip()) for part in text.split(",")]


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
