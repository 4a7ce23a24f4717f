"""Results of trials, one line of JSON each, kept so that a run which was ended continues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.mutate.edit import Edit
from benchmarks.mutate.trial import Outcome


class Progress:
    """The file of results in a folder; the last line about a mutation counts."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "results.jsonl"
        self._found: dict[str, Outcome] = {}
        for line in self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else ():
            try:
                entry: dict[str, Any] = json.loads(line)
            except json.JSONDecodeError:  # cut short when the run was ended
                continue
            self._found[entry["key"]] = Outcome(*entry["outcome"])

    def __getitem__(self, edit: Edit) -> Outcome | None:
        return self._found.get(edit.key)

    def add(self, edit: Edit, outcome: Outcome) -> None:
        """Keep how a trial ended."""
        self._found[edit.key] = outcome
        entry = {"key": edit.key, "path": edit.path, "name": edit.name, "outcome": outcome, "diff": edit.diff}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(entry)}\n")
