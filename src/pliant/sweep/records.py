"""The folder of a sweep: one file for each finished case, and the fingerprints of what its results depend on."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pliant.core.archive import Migration, read_archive, write_archive
from pliant.core.checks import is_number
from pliant.core.errors import FileFormatError, InputError, PliantWarning
from pliant.core.provenance import provenance
from pliant.core.replacing import replace_text

FORMAT = "pliant sweep 2"
OLDER: dict[str, Migration] = {"pliant sweep 1": lambda header, arrays: ({**header, "format": FORMAT}, arrays)}


def digest_of(value: Any) -> str:
    """A fingerprint of a value that JSON can represent."""
    try:
        text = json.dumps(value, sort_keys=True)
    except TypeError as error:
        raise InputError(f"a case of a sweep must be JSON values, got {value!r}: {error}") from error
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Records:
    """The files of a sweep in `folder`; `identity` are fingerprints of world, plan, … by name."""

    folder: Path
    identity: dict[str, str]

    @classmethod
    def opened(cls, folder: str | Path, identity: Mapping[str, str]) -> Records:
        """The records in `folder`, created where it does not exist; an error where its identity differs."""
        root, own = Path(folder), dict(identity)
        root.mkdir(parents=True, exist_ok=True)
        label = root / "sweep.json"
        if label.exists():
            stored = _identity_in(label)
            other = [name for name in sorted({*stored, *own}) if stored.get(name) != own.get(name)]
            if other:
                raise InputError(
                    f"{root} holds results of another {' and '.join(other)} "
                    f"({', '.join(f'{stored.get(name)} instead of {own.get(name)}' for name in other)}); "
                    "take another folder, or delete this one"
                )
        elif any(root.glob("case_*.npz")):
            raise InputError(f"{root} holds results that do not say what they belong to; take another folder")
        else:
            replace_text(label, json.dumps({"format": FORMAT, "identity": own, "made": provenance()}, indent=1))
        return cls(root, own)

    def absolute(self) -> Records:
        """The same for a process that works in another folder."""
        return Records(self.folder.absolute(), self.identity)

    def path(self, index: int) -> Path:
        """File of case `index`."""
        return self.folder / f"case_{index:05d}.npz"

    def read(self, index: int, case: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Header and arrays of case `index`, None where it is not finished; an error where they are of another case."""
        path = self.path(index)
        if not path.exists():
            return None
        try:
            header, arrays = read_archive(path, FORMAT, what="a finished case of a sweep", older=OLDER)
            _check_provenance(path, header)
        except InputError as error:
            warnings.warn(f"{error}. The case is computed again", PliantWarning, stacklevel=2)
            return None
        if header.get("case_digest") != digest_of(case) or header.get("identity") != self.identity:
            raise InputError(
                f"{path} is the result of case {header.get('case')!r:.200}, not of {case}: the cases of this sweep "
                "have changed; take another folder, or delete this one"
            )
        return header, arrays

    def write(
        self, index: int, case: Any, arrays: Mapping[str, Any], seconds: float, made: Mapping[str, Any] | None = None
    ) -> Path:
        """Store the results of case `index`: `seconds` that it took, and what `made` it; None: this process."""
        header = {
            "number": index,
            "case": case,
            "case_digest": digest_of(case),
            "identity": self.identity,
            "seconds": seconds,
            **({} if made is None else {"made": dict(made)}),
        }
        path = write_archive(self.path(index), FORMAT, arrays, header=header)
        self._failure(index).unlink(missing_ok=True)
        return path

    def write_failure(
        self, index: int, case: Any, error: str, trace: str, seconds: float, made: Mapping[str, Any]
    ) -> None:
        """Keep why case `index` failed, until it succeeds."""
        text = {"case": case, "error": error, "seconds": seconds, "made": dict(made), "trace": trace}
        replace_text(self._failure(index), json.dumps(text, indent=1))

    def _failure(self, index: int) -> Path:
        return self.folder / f"failed_{index:05d}.json"


def _check_provenance(path: Path, header: Mapping[str, Any]) -> None:
    """An error where what a file says of its making cannot stand in a table."""
    made, seconds = header.get("made", {}), header.get("seconds", 0.0)
    versions = made.get("versions", {}) if isinstance(made, dict) else None
    texts = {**made, **versions, "versions": ""} if isinstance(versions, dict) and isinstance(made, dict) else {"": 0}
    if not is_number(seconds) or not all(isinstance(text, str) for text in texts.values()):
        raise FileFormatError(f"{path} does not say when and where it was computed")


def _identity_in(label: Path) -> dict[str, Any]:
    """The identity in the file `label` of a sweep."""
    try:
        stored = json.loads(label.read_text(encoding="utf-8"))["identity"]
        if not isinstance(stored, dict):
            raise TypeError("its identity is no object")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileFormatError(
            f"{label} does not say what the results beside it belong to ({type(error).__name__}: {str(error)[:100]}); "
            "take another folder, or delete this one"
        ) from error
    return stored
