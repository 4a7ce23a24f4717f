"""The friction collection as a case: a folder of one small problem, with and without Siconos."""

import numpy as np
import pytest

from pliant.core.errors import InputError
from validation import friction


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """One contact that slides; Siconos is absent."""
    np.savez(tmp_path / "block.npz", W=np.eye(3), q=[-1.0, 0.8, 0.0], mu=[0.5], dim=3)
    monkeypatch.setattr(friction, "peer", lambda interpreter, problems: {})
    return tmp_path


def test_every_problem_is_solved(folder):
    rows = friction.rows(folder)
    assert [(row.quantity, row.met) for row in rows] == [("problems solved to 1e-08", True), ("largest residual", True)]
    assert rows[0].ours == 1
    assert "python3-siconos" in rows[1].note


def test_beside_siconos_there_are_times_and_a_profile(folder, monkeypatch, tmp_path):
    monkeypatch.setattr(friction, "peer", lambda interpreter, problems: {"block": {"residual": 1e-9, "ms": 1e6}})
    rows = {row.quantity: row.ours for row in friction.rows(folder)}
    assert rows["problems that we solve faster than Siconos"] == 1
    (file,) = friction.pictures(folder, tmp_path)
    assert file.stat().st_size > 1000


def test_the_profile_counts_what_is_solved_within_a_multiple_of_the_best():
    mine = {"a": {"residual": 1e-9, "ms": 1.0}, "b": {"residual": 1e-9, "ms": 4.0}}
    other = {"a": {"residual": 1.0, "ms": 0.1}, "b": {"residual": 1e-9, "ms": 1.0}}
    assert friction.profile(mine, other, 1.0) == (0.5, 0.5)
    assert friction.profile(mine, other, 5.0) == (1.0, 0.5)


def test_an_empty_folder_is_named(tmp_path):
    with pytest.raises(InputError, match=r"has no \.npz file"):
        friction.rows(tmp_path)
