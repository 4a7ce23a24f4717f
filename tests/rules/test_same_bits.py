"""Results stay as recorded: bit for bit on the same kind of machine; elsewhere motions to 1e-10 and forces to 1e-8.

A difference means that the change computes something else than before. Where that is meant, record the run anew with
`python tests/rules/recorded_runs.py NAME` and say in the commit which run changed and why.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import recorded_runs

RECORD = json.loads(recorded_runs.RECORD.read_text())
ELSEWHERE = 1e-10
"""Of the largest norm of the kind."""
SHARED = 1e-8
"""The same for λ: how redundant contacts share a force is unique only to the tolerance of the solver."""
UNLOADED = 1e-20
"""Norm of λ in N below which it is nothing but rounding."""
ITERATED = {
    "example concentric_tubes": 1e-8,  # bilateral rows of tubes in each other have a condition of 1e10
    "experiment coevoet-two-bodies": 1e-5,  # an inverse through contact: its minimum is nearly flat
    "experiment fang-gripper": 1e-5,  # minimised to a relative gradient of 1e-5
    "experiment fang-membrane": 1e-8,  # likewise
    "hybrid ball": 1e-6,  # adaptive steps of an integrator
    "hybrid delta": 1e-6,
}
"""Runs that end at a tolerance of their own, or whose forces amplify rounding."""
LONG = recorded_runs.SLOW | {"membrane geometric"}
NAMES = [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in recorded_runs.RUNS]


@pytest.mark.parametrize("name", NAMES)
def test_a_run_gives_the_recorded_bits(name):
    recorded = RECORD["runs"][name]
    arrays = recorded_runs.arrays_of(name)
    same_machine = recorded_runs.machine() == RECORD["machine"]
    if same_machine and recorded_runs.digest(arrays) == recorded["bits"]:
        return
    # The machine code of a kernel depends on what else its process had compiled before: on a machine whose cache was
    # filled in another order the last bits differ. PLIANT_SAME_BITS=1 forbids it, for work that must not change any.
    if same_machine and recorded["bits"] and os.environ.get("PLIANT_SAME_BITS"):
        assert _fresh_digest(name) == recorded["bits"], f"{name} gives other results than recorded"
    _compare(recorded_runs.outline(arrays), recorded["outline"], ITERATED.get(name, ELSEWHERE))


def _fresh_digest(name):
    """The bits of the run in a fresh process: one that compiled a kernel may round differently from one that reads it
    from the cache.
    """
    command = [sys.executable, recorded_runs.__file__, "--digest", name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_every_run_is_recorded():
    assert list(RECORD["runs"]) == list(recorded_runs.RUNS)


def _compare(found, recorded, tolerance):
    """Norms and projections agree to `tolerance` of the largest norm in the run that positions, or arrays of their own
    kind, have: velocities of what rests are nothing but rounding.
    """
    assert [_size(*line) for line in found] == [_size(*line) for line in recorded]
    scale = {kind: max(line[2] for line in recorded if line[0] in ("q", kind)) for kind in ("q", "v", "lam")}
    for (kind, _, *values), (_, _, *known) in zip(found, recorded, strict=True):
        allowed = max(tolerance, SHARED) if kind == "lam" else tolerance
        assert np.allclose(values, known, rtol=0.0, atol=allowed * scale[kind]), kind


def _size(kind, count, norm, *_):
    """Kind and length of an array. Forces of a reduced world that nothing touches have no length to compare: as many
    modes as a factorization found, and which one a random start ends in follows its rounding. So does whether forces
    between bodies that rest without load are zero or 1e-28 N.
    """
    return (kind, None) if kind == "lam" and norm < UNLOADED else (kind, count)
