"""The swinging rod: our side converges, and an absent program is named."""

import pytest

from pliant.core.errors import MissingExtraError
from validation import rod_rollouts


def test_the_motion_is_converged():
    """Half of the sections and twice the step change the tip by less than what is asked of other programs."""
    assert rod_rollouts.distance(rod_rollouts.ours(), rod_rollouts.ours(8, 0.005)) < 1.0


def test_an_absent_environment_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PLIANT_PEERS", str(tmp_path))
    with pytest.raises(MissingExtraError, match="make bench-peers"):
        rod_rollouts.peer("elastica_swing.py", 20, 1e-4, 0.1)


def test_a_program_that_does_not_run_is_named(monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text("#!/bin/sh\necho 'no module named elastica' >&2\nexit 1\n")
    (tmp_path / "bin" / "python").chmod(0o755)
    monkeypatch.setenv("PLIANT_PEERS", str(tmp_path))
    with pytest.raises(MissingExtraError, match="no module named elastica"):
        rod_rollouts.peer("elastica_swing.py", 20, 1e-4, 0.1)
