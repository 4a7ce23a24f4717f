"""The bending demo: its shape, its motion, and the files it leaves."""

import numpy as np
import pytest

import pliant as pl
from demos import DEMOS, bending, run_demo
from pliant.core.errors import InputError


def test_the_tentacle_is_round_and_tapers():
    x, y, z = bending.tentacle().points.T
    radius = np.hypot(y, z)
    for end, wanted in ((0.0, bending.BASE_RADIUS), (bending.LENGTH, bending.TIP_RADIUS)):
        rim = np.sort(radius[np.isclose(x, end)])[-12:]
        np.testing.assert_allclose(rim, wanted, rtol=1e-12)
    angles = np.sort(np.arctan2(z, y)[np.isclose(x, 0.0) & np.isclose(radius, bending.BASE_RADIUS)])
    np.testing.assert_allclose(np.diff(angles), np.pi / 6, rtol=1e-9)


def test_the_holder_starts_and_ends_at_rest():
    for t in (0.0, 0.9, 3.1, 4.0):
        np.testing.assert_allclose(bending.holder_displacement(t), 0.0, atol=1e-12)
    assert np.linalg.norm(bending.holder_displacement(2.0)) == pytest.approx(0.03, rel=1e-3)


@pytest.mark.slow
def test_the_demo_runs_and_leaves_picture_page_and_run(tmp_path):
    pytest.importorskip("matplotlib")
    outcome = run_demo("bending", out=tmp_path / "new" / "folder")
    picture, page, saved = outcome.files
    assert picture.read_bytes().startswith(b"\x89PNG")
    text = page.read_text(encoding="utf-8")
    assert outcome.page == page
    assert all(silicone.name in text for silicone in bending.SILICONES)
    assert "<script src" not in text
    run = pl.load(saved)
    np.testing.assert_array_equal(run.times, outcome.run.times)
    assert len(run.bodies) == 3
    assert run.real_time_factor > 0.0


def test_an_unknown_demo_is_named_with_the_known_ones(tmp_path):
    with pytest.raises(InputError, match="'nothing'.*" + ", ".join(DEMOS)):
        run_demo("nothing", out=tmp_path)
