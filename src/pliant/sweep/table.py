"""The table of a sweep: a row for each case, as .csv, .json or .parquet; the last with the provenance of each row.

Columns of a Parquet table beside parameters and results: `run_case` (index), `run_key` (fingerprint of the case, the
same in every run), `run_status` ("done", "failed"), `run_error`, `run_seconds`, `run_machine`, `run_processor`,
`run_date`, and `run_pliant`, `run_numpy`… (versions). Its metadata say what the table belongs to.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.errors import InputError, MissingExtraError
from pliant.core.provenance import provenance
from pliant.core.replacing import replace_text, replacing
from pliant.sweep.case import Outcome
from pliant.sweep.records import digest_of

FORMAT = "pliant sweep table 1"
ENDINGS = (".csv", ".json", ".parquet")
_RUN = "run_"


@dataclass(frozen=True)
class Table:
    """A file for the rows of a sweep.

    path
        Ends in .csv, .json or .parquet (extra `cluster`).
    columns
        Turns the arrays of a case into values by name; None: all arrays of the result, as numbers or lists.
    defaults
        Parameters that a case may leave out; Parquet tables show them in every row.
    """

    path: Path
    columns: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def check(self, identity: Mapping[str, str], cases: Sequence[Any]) -> None:
        """An error where the table cannot be written, or where the file is the table of another sweep."""
        if self.path.suffix.lower() not in ENDINGS:
            raise InputError(f"the table of a sweep is written as .csv, .json or .parquet, got {self.path}")
        if not self.path.resolve().parent.is_dir():
            raise InputError(f"the folder of {self.path} does not exist; make it, or choose another file")
        if self.path.suffix.lower() == ".parquet":
            _pyarrow()
            for name in dict.fromkeys(name for case in cases for name in parameters_of(case)):
                if name.startswith(_RUN):
                    raise InputError(f"the parameter {name!r} begins with {_RUN!r}, as columns of provenance do")
        if self.path.exists():
            other = self._other(identity, cases)
            if other:
                raise InputError(f"{self.path} is {other}; take another file, or delete this one")

    def write(self, identity: Mapping[str, str], cases: Sequence[Any], outcomes: Sequence[Outcome]) -> None:
        """Write all rows, in the order of the cases, whole or not at all."""
        rows = self.rows(cases, outcomes)
        kind = self.path.suffix.lower()
        if kind == ".json":
            replace_text(self.path, json.dumps(rows, indent=2) + "\n")
        elif kind == ".csv":
            with replacing(self.path) as part, part.open("w", newline="", encoding="utf-8") as stream:
                writer = csv.DictWriter(stream, fieldnames=names_of(rows))
                writer.writeheader()
                writer.writerows(rows)
        else:
            whole = [
                {**self.defaults, **row, **_provenance(case, outcome)}
                for row, case, outcome in zip(rows, cases, outcomes, strict=True)
            ]
            self._write_parquet(identity, cases, whole)

    def rows(self, cases: Sequence[Any], outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
        """Parameters and results of each case by name; of one that failed its parameters."""
        columns = self.columns or _plain_columns
        return [
            parameters_of(case) | ({} if outcome.result is None else dict(columns(outcome.result)))
            for case, outcome in zip(cases, outcomes, strict=True)
        ]

    def _write_parquet(self, identity: Mapping[str, str], cases: Sequence[Any], rows: Sequence[Any]) -> None:
        arrow, parquet = _pyarrow()
        columns = {name: _column(arrow, name, [row.get(name) for row in rows]) for name in names_of(rows)}
        text = json.dumps(
            {"format": FORMAT, "identity": dict(identity), "parameters": _parameters(cases), "made": provenance()}
        )
        table = arrow.table(columns).replace_schema_metadata({"pliant": text})
        with replacing(self.path) as part:
            parquet.write_table(table, part, compression="zstd")

    def _other(self, identity: Mapping[str, str], cases: Sequence[Any]) -> str | None:
        """What the file is, where it is not a table of this sweep."""
        own = _parameters(cases)
        try:
            if self.path.suffix.lower() == ".parquet":
                stored = json.loads((_pyarrow()[1].read_schema(self.path).metadata or {})[b"pliant"])
                if stored["format"] != FORMAT:
                    return f"of the format {stored['format']!r}, not {FORMAT!r}"
                names, found = stored["parameters"], dict(stored["identity"])
                changed = [name for name in sorted({*found, *identity}) if found.get(name) != identity.get(name)]
                if changed:
                    return f"the table of a sweep with another {' and another '.join(changed)}"
            elif self.path.suffix.lower() == ".json":
                rows = json.loads(self.path.read_text(encoding="utf-8"))
                names = list(rows[0])[: len(own)] if rows else own
            else:
                with self.path.open(newline="", encoding="utf-8") as stream:
                    names = next(csv.reader(stream), own)[: len(own)]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
            return "a file that no sweep wrote"
        if list(names) != own:
            return f"the table of a sweep over {', '.join(map(str, names)) or 'nothing'}, not over {', '.join(own)}"
        return None


def parameters_of(case: Any) -> dict[str, Any]:
    """Parameters of a case by name."""
    return {str(name): value for name, value in case.items()} if isinstance(case, Mapping) else {"case": case}


def names_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Every name that occurs, in the order of its first row."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _parameters(cases: Sequence[Any]) -> list[str]:
    return names_of([parameters_of(case) for case in cases])


def _plain_columns(result: Mapping[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in result.items()}


def _provenance(case: Any, outcome: Outcome) -> dict[str, Any]:
    made = outcome.made
    return {
        "run_case": outcome.index,
        "run_key": digest_of(case),
        "run_status": "done" if outcome.error is None else "failed",
        "run_error": None if outcome.error is None else f"{type(outcome.error).__name__}: {outcome.error}",
        "run_seconds": float(outcome.seconds),
        "run_machine": made.get("machine"),
        "run_processor": made.get("processor"),
        "run_date": made.get("date"),
        **{f"run_{name}": version for name, version in made.get("versions", {}).items()},
    }


def _column(arrow: Any, name: str, values: list[Any]) -> Any:
    """One column; where its values are of several kinds, their JSON."""
    try:
        return arrow.array(values)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, arrow.ArrowNotImplementedError):
        return arrow.array([None if value is None else json.dumps(value) for value in values])


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError(
            "a Parquet table needs pyarrow: pip install 'pliant[cluster]', or write .csv"
        ) from error
    return pyarrow, parquet
