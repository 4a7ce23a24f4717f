"""Steps cut before continuous pairs cross: what is said where that does not end."""

from types import SimpleNamespace

import numpy as np

from pliant.core.errors import ConvergenceError
from pliant.stepping import cuts


def test_pairs_that_would_cross_are_named(monkeypatch):
    monkeypatch.setattr(cuts, "crossing_time", lambda pair, view: pair.time)
    step = SimpleNamespace(bodies=SimpleNamespace(view=lambda: SimpleNamespace(time=0.25)))
    thin, thick = SimpleNamespace(name="wire", time=0.1), SimpleNamespace(name="block", time=np.inf)
    assert cuts._first([thick, thin], step) == 0.1
    for pairs, named in (([thick, thin], "wire would"), ([thick], "block would")):
        error = cuts._passing(pairs, step)
        assert isinstance(error, ConvergenceError)
        assert str(error).startswith(f"{named} pass through each other at 0.25 s")
