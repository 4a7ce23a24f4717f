"""The files that a scene needs on another machine: those that its text names, and modules beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pliant.cli.scene_file import SceneFile


def files_of(file: SceneFile, cases: Sequence[Mapping[str, Any]] = ()) -> list[Path]:
    """Files that exist and that texts of the scene, or values of `cases`, name by a relative path, and modules in the
    folder of the scene that it imports, with all that these need.
    """
    named = [value for case in cases for value in case.values() if isinstance(value, str)]
    found: dict[Path, None] = {path: None for text in named if (path := _relative_file(text)) is not None}
    waiting, seen = [(file.path, file.source)], {file.path}
    while waiting:
        path, source = waiting.pop()
        for needed in _named(ast.parse(source), file.path.parent):
            if needed in seen:
                continue
            seen.add(needed)
            found[needed] = None
            if needed.suffix == ".py":
                waiting.append((needed, needed.read_text(encoding="utf-8")))
    return list(found)


def _named(tree: ast.Module, folder: Path) -> Iterator[Path]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            path = _relative_file(node.value)
            if path is not None:
                yield path
        elif isinstance(node, ast.Import):
            for name in node.names:
                yield from _module(folder, name.name)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from _module(folder, node.module)


def _relative_file(text: str) -> Path | None:
    """The file that a text names, relative to the present folder."""
    try:
        path = Path(text)
        return path if not path.is_absolute() and ".." not in path.parts and path.is_file() else None
    except (OSError, ValueError):  # too long for a name, or with a zero byte
        return None


def _module(folder: Path, name: str) -> Iterator[Path]:
    """The files of a module, or of a package, in the folder of the scene."""
    first = folder / name.partition(".")[0]
    if first.with_suffix(".py").is_file():
        yield first.with_suffix(".py")
    elif (first / "__init__.py").is_file():
        yield from sorted(first.rglob("*.py"))
