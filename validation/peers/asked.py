"""The answers of other programs, computed anew where they are installed and read from `figures.json` elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import ccx
from benchmarks.other_programs import run_peers
from pliant.core.errors import MissingExtraError

FIGURES = Path(__file__).parent / "figures.json"


@dataclass(frozen=True)
class Answer:
    """What a program answers to a setup: arrays by name, as nested lists, and which program said so, in words."""

    values: dict[str, Any]
    said_by: str

    def array(self, name: str) -> Any:
        """The array `name`."""
        return np.asarray(self.values[name], float)


def from_script(name: str, script: str, setup: Mapping[str, Any], *arguments: Any) -> Answer:
    """What the program of the script `script` of benchmarks/peers answers to `setup`."""

    def compute() -> dict[str, Any] | None:
        found, errors = run_peers({name: (script, *arguments)}, setup)
        if errors:
            raise MissingExtraError(f"{script} did not run in the environment of the peers: {errors[name]}")
        return found.get(name)

    how = f"benchmarks/peers/{script} {' '.join(map(str, arguments))}".rstrip()
    return _answer(name, compute, setup, how, "`make bench-peers`")


def from_calculix(name: str, text: str, count: int, read: Callable[[ccx.Answer], dict[str, Any]]) -> Answer:
    """What `read` takes from the answer of CalculiX to the input `text` with `count` nodes."""

    def compute() -> dict[str, Any] | None:
        if not ccx.installed():
            return None
        answer = ccx.solve(text, count)
        if answer.failure:
            raise MissingExtraError(f"CalculiX {ccx.version()} has no answer to {name}: {answer.failure}")
        return {"peer": "CalculiX", "version": ccx.version(), **read(answer)}

    return _answer(name, compute, {"input": text}, "validation/peers/statics.py", ccx.PACKAGE)


def stored() -> dict[str, dict[str, Any]]:
    """The stored answers by name."""
    return dict(json.loads(FIGURES.read_text(encoding="utf-8"))) if FIGURES.exists() else {}


def store(answers: Mapping[str, dict[str, Any]]) -> None:
    """Write `answers` over those of the same names."""
    lines = {name: json.dumps(answer) for name, answer in sorted((stored() | dict(answers)).items())}
    body = ",\n".join(f"{json.dumps(name)}: {line}" for name, line in lines.items())
    FIGURES.write_text("{\n" + body + "\n}\n", encoding="utf-8")


FRESH: dict[str, dict[str, Any]] = {}
"""Answers that were computed in this process, as `store` takes them."""


def _answer(
    name: str, compute: Callable[[], dict[str, Any] | None], setup: Mapping[str, Any], how: str, install: str
) -> Answer:
    digest = _digest({**setup, "how": how})
    if name in FRESH and FRESH[name]["setup"] == digest:
        found: dict[str, Any] | None = FRESH[name]
    else:
        found = compute()
    if found is not None:
        found = found | {"how": how, "setup": digest}
        FRESH[name] = found
        return Answer(found, f"{found['peer']} {found['version']}, computed here ({how})")
    kept = stored().get(name)
    if kept is None or kept["setup"] != digest:
        reason = "there is no stored answer" if kept is None else "the stored answer belongs to another setup"
        raise MissingExtraError(f"{name} is not installed ({install}) and {reason}")
    return Answer(kept, f"{kept['peer']} {kept['version']}, stored; {install} computes it anew ({kept['how']})")


def _digest(setup: Mapping[str, Any]) -> str:
    """A short name of the setup: numbers to nine digits, so that it is the same on another machine."""
    text = []
    for name, value in sorted(setup.items()):
        numbers = np.asarray(value)
        is_text = numbers.dtype.kind not in "fiub"
        shown = str(value) if is_text else ",".join(f"{x + 0.0:.8e}" for x in numbers.astype(float).ravel())
        text.append(f"{name}={numbers.shape}:{shown}")
    return sha256("\n".join(text).encode()).hexdigest()[:16]
