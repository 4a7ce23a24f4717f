"""Other simulators on the same task, each in a script of `benchmarks/peers` run by the Python of their own environment.

The environment is the folder named by PLIANT_PEERS, or `.venv-peers` in the working folder (`make bench-peers` makes
it). A peer is handed an .npz file with mesh and settings, and prints one JSON line with at least "step_ms".
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pliant.core.errors import InputError

SCRIPTS = Path(__file__).parent / "peers"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_TIME_LIMIT = 300.0  # s of one peer, imports and compilation included


def peer_python() -> Path | None:
    """Python of the peers' environment; None where there is none."""
    given = os.environ.get("PLIANT_PEERS")
    python = Path(given or ".venv-peers") / "bin" / "python"
    if python.exists():
        return python.absolute()
    if given:
        raise InputError(
            f"PLIANT_PEERS is {given!r}, but {python} does not exist; `make bench-peers` makes the environment"
        )
    return None


def run_peers(
    commands: Mapping[str, Sequence[Any]], setup: Mapping[str, Any]
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """What each peer reports by name, and for peers that failed the reason.

    `commands` holds for each name a script of `benchmarks/peers` and its arguments after the setup file; `setup` is
    what goes into that file. Both results are empty where the peers' environment does not exist.
    """
    python = peer_python()
    reports: dict[str, dict[str, Any]] = {}
    errors: dict[str, str] = {}
    if python is None:
        return reports, errors
    with TemporaryDirectory() as folder:
        file = Path(folder) / "setup.npz"
        np.savez(file, **setup)
        for name, (script, *arguments) in commands.items():
            try:
                reports[name] = _run(python, SCRIPTS / script, file, arguments)
            except (OSError, subprocess.SubprocessError, ValueError, InputError) as error:
                errors[name] = str(error)
    return reports, errors


def _run(python: Path, script: Path, setup: Path, arguments: Sequence[Any]) -> dict[str, Any]:
    command = [str(python), str(script), str(setup), *(str(argument) for argument in arguments)]
    environment = os.environ | _ONE_THREAD
    done = subprocess.run(
        command, env=environment, cwd=setup.parent, capture_output=True, text=True, timeout=_TIME_LIMIT, check=False
    )
    if done.returncode:
        raise ValueError(f"{script.name} ended with status {done.returncode}: {done.stderr.strip()[-500:]}")
    report: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return report
