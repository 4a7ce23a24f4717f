"""A mutation as a change of source text: where it is, what it says, and how it is shown."""

from __future__ import annotations

import ast
import difflib
import hashlib
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FAULTS = Path(__file__).with_name("faults.toml")
JUSTIFIED = Path(__file__).with_name("justified.toml")

ROOMS: dict[str, tuple[str, ...]] = {
    "solvers": ("solvers/",),
    "models": ("models/", "materials/laws.py", "materials/viscoelastic.py"),
    "constraints": ("constraints/", "collision/rows.py"),
    "actuators": ("actuators/",),
    "control": ("control/",),
    "hybrid": ("hybrid/",),
    "stepping": ("stepping/load_path.py", "stepping/stages.py", "stepping/session.py", "stepping/cuts.py"),
    "storage": ("core/archive.py", "world/storage.py", "world/codec.py", "world/state.py", "record/", "mesh/io.py"),
    "sweep": ("sweep/",),
    "reduction": ("reduction/", "reduced/"),
    "viewer": ("viewer/inputs.py", "viewer/panel.py", "viewer/simulation.py", "viewer/dragging.py", "viewer/driver.py"),
    "gym": ("gym/",),
    "estimation": ("estimation/",),
    "identification": ("identification/",),
    "units": ("core/units.py", "core/checks.py", "core/arrays.py", "mesh/curved.py", "mesh/mesh.py"),
}
"""Files of `src/pliant` in which mutations are drawn, by the room of the table."""


@cache
def source_of(path: str) -> str:
    """The text of a file given relative to the checkout."""
    return (ROOT / path).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Edit:
    """Bytes `start` to `end` of the file `path` become `text`; `name` says what is done."""

    path: str
    start: int
    end: int
    text: str
    name: str
    source: str = field(repr=False, compare=False)

    @property
    def changed(self) -> str:
        """The mutated source."""
        raw = self.source.encode()
        return (raw[: self.start] + self.text.encode() + raw[self.end :]).decode()

    @property
    def room(self) -> str:
        """The row of the table to which the file belongs."""
        inside = self.path.removeprefix("src/pliant/")
        for room, beginnings in ROOMS.items():
            if inside.startswith(beginnings):
                return room
        return inside.split("/")[0]

    @property
    def function(self) -> str:
        """Qualified name of the outermost function around the edit, or '' at the level of a module."""
        return _function_at(ast.parse(self.source), self.source.encode()[: self.start].count(b"\n") + 1)[0]

    @property
    def lines(self) -> tuple[str, str]:
        """Changed lines before and after, without their indentation."""
        old, new = self.source.splitlines(), self.changed.splitlines()
        pairs = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        was = [line.strip() for tag, a, b, _, _ in pairs if tag != "equal" for line in old[a:b]]
        now = [line.strip() for tag, _, _, a, b in pairs if tag != "equal" for line in new[a:b]]
        return "\n".join(was), "\n".join(now)

    @property
    def key(self) -> str:
        """Identity of the mutation: it stays while the function around it stays, wherever that moves in its file."""
        line = self.source.encode()[: self.start].count(b"\n") + 1
        name, first, last = _function_at(ast.parse(self.source), line)
        around = self.source.splitlines()[first - 1 : last]
        inside = (line - first, self.start - self.source.encode().rfind(b"\n", 0, self.start), self.text)
        return hashlib.sha1(repr((self.path, name, around, inside)).encode(), usedforsecurity=False).hexdigest()[:16]

    @property
    def diff(self) -> str:
        """The change as a unified diff without context."""
        old, new = self.source.splitlines(), self.changed.splitlines()
        return "\n".join(difflib.unified_diff(old, new, self.path, self.name, lineterm="", n=0))


def _function_at(tree: ast.AST, line: int, outer: str = "") -> tuple[str, int, int]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.lineno <= line <= (node.end_lineno or 0):
            if isinstance(node, ast.FunctionDef):
                return f"{outer}{node.name}", node.lineno, node.end_lineno or 0
            return _function_at(node, line, f"{outer}{node.name}.")
    return "", line, line


def deliberate_faults(path: Path = FAULTS, root: Path = ROOT) -> list[Edit]:
    """The faults of a list: each replaces a text that its file contains exactly once."""
    found = []
    for fault in tomllib.loads(path.read_text(encoding="utf-8"))["fault"]:
        source = (root / fault["path"]).read_text(encoding="utf-8")
        if source.count(fault["was"]) != 1:
            raise ValueError(
                f"fault {fault['name']!r}: {fault['path']} contains its text {source.count(fault['was'])} times"
            )
        start = len(source[: source.index(fault["was"])].encode())
        end = start + len(fault["was"].encode())
        found.append(Edit(fault["path"], start, end, fault["now"], fault["name"], source))
    return found


def reason(edit: Edit, path: Path = JUSTIFIED) -> str | None:
    """Why a surviving mutation is no defect of the tests, or None where the list does not name it."""
    was, now = edit.lines
    return _justified(path).get((edit.path, edit.function, was, now))


@cache
def _justified(path: Path) -> dict[tuple[str, ...], str]:
    entries: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", [])
    return {(e["path"], e["function"], e["was"], e["now"]): f"{e['kind']}: {e['reason']}" for e in entries}
