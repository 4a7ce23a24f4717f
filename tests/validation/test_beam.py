"""The silicone beam against a finite-element program, coarsely."""

from validation import beam_comsol


def test_a_coarse_beam_sags_as_in_comsol():
    sags = [row for row in beam_comsol.rows(cells=(10, 3, 3)) if row.is_relative]
    assert len(sags) == 2
    assert all(row.error < 0.06 for row in sags)
