"""Scene files: plain Python that `pliant run`, `pliant sweep` and `pliant view` understand.

A scene file is executed from top to bottom. The first of these names that it defines decides what is done:

    main()              is called; it returns a run, measures (numbers by name), both, or nothing
    run                 a `pl.Run`: the file has simulated by itself
    world or scene      is simulated, with what else the file defines:
        control(t, state)       controls of the step that ends at t, s
        stepper                 default pl.ImplicitEuler(dt=0.01)
        until                   end of the simulation, s; default 1
        callback(state, info)   called after each step
        measure(run)            numbers by name, for tables and sweeps

Its parameters are the plain values assigned at the top level (``young = 0.5e6``); other values replace them before the
file is executed. `__name__` is not "__main__", so code under that guard does not run.
"""

from __future__ import annotations

import ast
import linecache
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from pliant.cli.errors import SceneFileError
from pliant.core.errors import InputError, PliantError

UNTIL, DT = 1.0, 0.01
"""Default end of a simulation and time step, s."""
_PLAIN = (bool, int, float, str)
"""Types of a parameter, and of the items of one that is a tuple or a list."""


@dataclass(frozen=True)
class SceneResult:
    """The `run` of a scene file or None, its `measures` by name, and in `stopped` the error that ended it early."""

    run: Any = None
    measures: dict[str, Any] = field(default_factory=dict)
    stopped: BaseException | None = None


@dataclass(frozen=True)
class SceneFile:
    """The text of a scene file at `path`."""

    path: Path
    source: str

    @classmethod
    def read(cls, path: str | Path) -> SceneFile:
        """The file at `path`; raises where it is missing, no text or no Python."""
        path = Path(path)
        if not path.is_file():
            example = path.with_suffix(".py") if path.name else "scene.py"
            raise InputError(f"there is no file {path}; `pliant new {example}` writes an example")
        try:
            file = cls(path, path.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise SceneFileError(f"{path} is not a Python file ({error.reason} at byte {error.start})") from error
        assert isinstance(file._tree, ast.Module)  # raises now where the text is no Python
        return file

    @cached_property
    def _tree(self) -> ast.Module:
        try:
            return ast.parse(self.source, filename=str(self.path))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise SceneFileError(_syntax_text(self.path, error)) from error

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Plain values assigned at the top level, by name."""
        return {name: value for name, value, _ in _assignments(self._tree)}

    def execute(self, values: Mapping[str, Any] | None = None) -> ModuleType:
        """Execute the file with `values` for its parameters, and return its module."""
        tree = _with_values(self.path, ast.parse(self.source, filename=str(self.path)), values or {})
        module = ModuleType(f"scene_{self.path.stem}")
        module.__file__ = str(self.path)
        sys.modules[module.__name__] = module
        folder = str(self.path.resolve().parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        with self.errors_located():
            exec(compile(tree, str(self.path), "exec"), module.__dict__)
        return module

    @contextmanager
    def errors_located(self) -> Iterator[None]:
        """Turn any error into a `SceneFileError` that names the line of this file."""
        try:
            yield
        except SceneFileError:
            raise
        except (Exception, SystemExit) as error:
            raise SceneFileError(_error_text(self.path, error)) from error


def run_scene(
    file: SceneFile,
    values: Mapping[str, Any] | None = None,
    *,
    until: float | None = None,
    dt: float | None = None,
    progress: bool = False,
) -> SceneResult:
    """Execute a scene file and simulate what it describes.

    `values` replace its parameters, `until` and `dt` (s) its end and time step. A simulation that fails or is
    interrupted after some steps returns the run so far, with the error in `stopped`.
    """
    module = file.execute(values)
    given = [f"--{name}" for name, value in (("until", until), ("dt", dt)) if value is not None]
    main, run = getattr(module, "main", None), getattr(module, "run", None)
    if callable(main) or _is_run(run):
        if given:
            raise InputError(f"{file.path} simulates by itself, so {' and '.join(given)} would have no effect")
        with file.errors_located():
            returned = main() if callable(main) else run
        return _measured(file, module, _returned(file, returned))
    return _simulated(file, module, until=until, dt=dt, progress=progress)


def compiled_world(file: SceneFile, module: ModuleType) -> Any:
    """The `world` that the file defines, or its compiled `scene`."""
    from pliant.world import Scene, World

    world, scene = getattr(module, "world", None), getattr(module, "scene", None)
    if world is None and isinstance(scene, Scene):
        with file.errors_located():
            world = scene.compile()
    if not isinstance(world, World):
        raise SceneFileError(
            f"{file.path} defines nothing to simulate: it needs a `scene` (pl.Scene), a `world` (scene.compile()), a "
            "`run` (pl.simulate(…)) or a function main(); `pliant new` writes an example"
        )
    return world


def _simulated(
    file: SceneFile, module: ModuleType, *, until: float | None, dt: float | None, progress: bool
) -> SceneResult:
    from pliant.record import Recorder, simulate
    from pliant.stepping import ImplicitEuler

    world = compiled_world(file, module)
    stepper = getattr(module, "stepper", None) or ImplicitEuler(dt=DT)
    if dt is not None or getattr(stepper, "dt", dt) is None:  # a quasi-static step: time is the pace of the controls
        stepper = replace(stepper, dt=DT if dt is None else dt)
    control, callback = getattr(module, "control", None), getattr(module, "callback", None)
    recorder, latest = Recorder(world, world.initial_state(), stepper), [None]

    def controlled(t: float, state: Any) -> Any:
        latest[0] = control(t, state) if control is not None else {}
        return latest[0]

    def keep(state: Any, info: Any) -> None:
        recorder.add(state, info, latest[0])
        if callback is not None:
            callback(state, info)

    end = float(until if until is not None else getattr(module, "until", UNTIL))
    try:
        with file.errors_located():
            run = simulate(world, stepper, until=end, control=controlled, callback=keep, progress=progress)
    except (SceneFileError, KeyboardInterrupt) as error:
        partial = recorder.run()
        if len(partial.times) < 2:
            raise
        return SceneResult(partial, {}, error)
    return _measured(file, module, SceneResult(run))


def _measured(file: SceneFile, module: ModuleType, result: SceneResult) -> SceneResult:
    """`result` with the measures of its run: those of the file's `measure`, else `default_measures`."""
    measure = getattr(module, "measure", None)
    if result.run is None or result.measures:
        return result
    if measure is None:
        return replace(result, measures=default_measures(result.run))
    with file.errors_located():
        measures = _checked_measures(file, measure(result.run), "measure(run)")
    return replace(result, measures=measures)


def default_measures(run: Any) -> dict[str, Any]:
    """Measures of any run: largest displacement of each body at the end (mm), and largest contact forces (N)."""
    import numpy as np

    measures: dict[str, Any] = {}
    for index, body in enumerate(run.bodies):
        points = run.points(index)
        measures[f"{body.name} moved by (mm)"] = 1e3 * float(np.linalg.norm(points[-1] - points[0], axis=1).max())
    for rows in run.forces:
        if rows.values.shape[1] == 3:
            largest = float(np.linalg.norm(rows.values, axis=1).max())
            measures[f"largest force {' – '.join(rows.names)} (N)"] = largest
    return measures


def _returned(file: SceneFile, returned: Any) -> SceneResult:
    """The result of main(): a run, measures, a pair of them, or nothing."""
    if returned is None or _is_run(returned):
        return SceneResult(returned)
    if isinstance(returned, tuple) and len(returned) == 2 and _is_run(returned[0]):
        return SceneResult(returned[0], _checked_measures(file, returned[1], "main()"))
    return SceneResult(None, _checked_measures(file, returned, "main()"))


def _checked_measures(file: SceneFile, given: Any, where: str) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise SceneFileError(
            f"{file.path}: {where} must return numbers by name, such as {{'tip (mm)': 12.5}}; it returned a "
            f"{type(given).__name__}"
        )
    measures = {str(name): value.item() if hasattr(value, "item") else value for name, value in given.items()}
    odd = next((name for name, value in measures.items() if not isinstance(value, _PLAIN)), None)
    if odd is not None:
        raise SceneFileError(f"{file.path}: {where} gives {odd!r} = {measures[odd]!r}, which is not a number")
    return measures


def _is_run(thing: Any) -> bool:
    from pliant.record import Run

    return isinstance(thing, Run)


def _assignments(tree: ast.Module) -> Iterator[tuple[str, Any, ast.Assign | ast.AnnAssign]]:
    """Names, values and statements of plain values assigned at the top level."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target: ast.expr = statement.targets[0]
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target = statement.target
        else:
            continue
        if not isinstance(target, ast.Name) or target.id.startswith("__"):
            continue
        assert statement.value is not None
        try:
            value = ast.literal_eval(statement.value)
        except (ValueError, TypeError, RecursionError, MemoryError):
            continue
        items = value if isinstance(value, (tuple, list)) and value else (value,)
        if all(isinstance(item, _PLAIN) for item in items):
            yield target.id, value, statement


def _with_values(path: Path, tree: ast.Module, values: Mapping[str, Any]) -> ast.Module:
    """The tree with other values of its parameters; raises for unknown names and other types of values."""
    known: dict[str, list[Any]] = {}
    for name, value, statement in _assignments(tree):
        known.setdefault(name, []).append((value, statement))
    for name, value in values.items():
        if name not in known:
            listed = ", ".join(known) or "none: assign plain values at the top level of the file"
            raise InputError(f"{path} has no parameter {name!r}; its parameters are {listed}")
        for before, statement in known[name]:
            if any(isinstance(before, kind) != isinstance(value, kind) for kind in (str, (tuple, list))):
                raise InputError(f"{name} is {before!r} in {path}; {value!r} is of another type")
            statement.value = ast.copy_location(ast.parse(repr(value), mode="eval").body, statement)
    return ast.fix_missing_locations(tree)


def _syntax_text(path: Path, error: Exception) -> str:
    if not isinstance(error, SyntaxError):
        return f"{path} is not a Python file ({error or type(error).__name__})"
    line = (error.text or "").strip()
    shown = f" in `{line}`" if line else ""
    return f"{path}, line {error.lineno}: {error.msg}{shown}"


def _error_text(path: Path, error: BaseException) -> str:
    """One paragraph: the innermost line of the scene file in the traceback, and the error."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    text = str(error)
    # messages of Pliant are complete; those of other errors are understood only with their type
    what = text if isinstance(error, PliantError) else f"{type(error).__name__}{f': {text}' if text else ''}"
    if not frames:
        return f"{path}: {what}"
    last = frames[-1]
    inside = "" if last.name == "<module>" else f", in {last.name}"
    line = linecache.getline(str(path), last.lineno or 0).strip()
    return f"{path}, line {last.lineno}{inside}: {what}{f' (at `{line}`)' if line else ''}"
