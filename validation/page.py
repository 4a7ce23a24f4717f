"""Fills docs/validation.md: every part between "output of: pliant validate NAME" and "end of output" is that table.

    python -m validation.page [--data DIR] [--only NAME]

Pictures go to docs/images/validation. Parts whose recordings are absent stay as they are.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.results import commands, filled
from validation.cases import CASES
from validation.row import Row
from validation.runner import Outcome, draw, validate

PAGE = Path(__file__).parents[1] / "docs" / "validation.md"
PICTURES = PAGE.parent / "images" / "validation"
HEADER = "| case | quantity | ours | reference | error | best published | allowed |\n|---|---|---|---|---|---|---|"


def table(outcome: Outcome) -> str:
    """The rows as a table in Markdown, then what was skipped and the notes of rows."""
    lines = [HEADER, *(_line(name, row) for name, row in outcome)]
    sources = {name: f"`{name}`: {CASES[name].source} ({CASES[name].licence})" for name in outcome.rows}
    for name, row in outcome:
        if row.source:
            sources[f"{name} {row.source}"] = f"`{name}`, {row.quantity}: {row.source}"
    notes = [f"`{name}`: {row.note}" for name, row in outcome if row.note]
    skipped = [f"`{name}` was skipped: {reason}" for name, reason in outcome.skipped.items()]
    return "\n".join([*lines, "", *(f"- {text}" for text in [*sources.values(), *dict.fromkeys(notes), *skipped])])


def _line(name: str, row: Row) -> str:
    unit = f" {row.unit}" if row.unit else ""
    reference = f"{row.reference:.4g}{unit}" if row.is_relative else "–"
    error = row.measure(row.error) + ("" if row.met else " (beyond)")
    cells = (f"`{name}`", row.quantity, f"{row.ours:.4g}{unit}", reference, error, row.measure(row.published))
    return "| " + " | ".join([*cells, row.measure(row.allowed)]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=None, help="folder with the recordings")
    parser.add_argument("--only", default="", help="the part of this name alone")
    options = parser.parse_args()
    for command in commands(PAGE.read_text(encoding="utf-8")):
        name = command.removeprefix("pliant validate").removesuffix("--data DIR").strip()
        if options.only not in ("", name):
            continue
        print(f"{command} …", flush=True)
        outcome = validate(name, data=options.data)
        if outcome.rows:  # written after each part: a run that is ended keeps what it has
            PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), {command: table(outcome)}), encoding="utf-8")
        for file in draw(name, PICTURES, data=options.data):
            print(f"wrote {file.name}")


if __name__ == "__main__":
    main()
