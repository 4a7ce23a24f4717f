"""The cases with recordings, on recordings made up here: how they are read, aligned and measured."""

import numpy as np
import pytest

from benchmarks.fuzz.c3d_writer import written
from validation import beam, identified, pictures, silicone_beam, tentacle
from validation.silicone_beam import Motion


def decaying(times, frequency=7.7, rate=2.6):
    return -6e-3 * (1.0 - np.exp(-rate * times) * np.cos(2.0 * np.pi * frequency * times))


def test_ring_downs_have_their_frequency_and_decay():
    times = np.arange(0.0, 4.0, 0.01)
    found = beam.ring_down(times, decaying(times) + 2e-4 * np.exp(-times / beam.CREEP), 7.5)
    assert found == pytest.approx((7.7, 2.6), rel=1e-4)


def test_a_take_is_registered_and_the_release_found(tmp_path):
    """A recording in another frame, released 7 ms late: the motion agrees once both are accounted for."""
    times = np.arange(0.0, 3.0, 0.01)
    points = np.repeat(np.array([*silicone_beam.CENTERS, *beam.CLAMP])[None], len(times) + 5, axis=0)
    points[5:, :3, 2] += decaying(np.maximum(times - 0.007, 0.0))[:, None]
    turned = points[:, :, [1, 2, 0]] + np.array([1.0, 2.0, 3.0])
    (tmp_path / "beam_made_up.c3d").write_bytes(written(1e3 * turned))
    displacements, rate = beam.take(tmp_path, "made_up", 5)
    assert displacements.shape == (len(times), 3, 3)
    fine = np.arange(0.0, 3.5, 0.001)
    motion = Motion(fine, decaying(fine)[:, None, None] * np.array([0.0, 0.0, 1.0]) * np.ones((1, 3, 1)))
    distance, late = beam.apart(motion, displacements, rate)
    assert late == pytest.approx(0.007, abs=1e-9)
    assert distance < 2e-5


def test_a_coarse_beam_swings_when_it_is_released():
    motion = silicone_beam.release(silicone_beam.silicone(), silicone_beam.LOAD, until=0.12, cells=(4, 1, 1), dt=0.02)
    height = motion.displacements[:, :, 2].mean(axis=1)
    assert height[0] == pytest.approx(0.0, abs=1e-9)
    assert -0.05 < height.min() < -0.015


def made_up_tentacle(folder):
    """Recordings of every pose as the model has them, each with its columns in another order."""
    p = tentacle.Parameters(315e3, 1318.0, 0.1, (0.0, 0.0, 0.0))
    found = tentacle.poses(p, tuple(tentacle.TORQUES))
    for turn, (name, points) in enumerate(found.items()):
        world = np.roll(np.vstack([points[:4], -np.array(tentacle.BASE)]), turn, axis=0) + np.array([0.2, 0.1, -0.3])
        line = ",".join(f"{x:.9f}" for x in (world * (1.0, 1.0, -1.0))[:, [0, 2, 1]].ravel())
        (folder / f"{name}.csv").write_text("".join(f"{k},{0.005 * k:.3f},{line}\n" for k in range(3)))
    return found


def test_markers_of_the_tentacle_are_found_in_any_order(tmp_path):
    found = made_up_tentacle(tmp_path)
    for name, points in found.items():
        assert tentacle.measured(tmp_path, name) == pytest.approx(points[:4], abs=1e-8)
    assert found["m12_u001"][3, 0] > 0.08
    assert found["m1_u01"][3, 1] > 0.05


def test_the_pictures_are_drawn(tmp_path, monkeypatch):
    found = made_up_tentacle(tmp_path)
    monkeypatch.setattr(pictures, "fitted", lambda data, names: None)
    monkeypatch.setattr(pictures, "poses", lambda p, names: found)
    assert all(file.stat().st_size > 5000 for file in pictures.tentacle(tmp_path, tmp_path))


def test_the_tentacle_is_identified_from_recordings_of_its_model(tmp_path, monkeypatch):
    """Recordings of a model with other numbers, whose drawing is 5 mm off: both are found, and nothing is left over."""
    true = tentacle.Parameters(280e3, 1200.0, identified.FIRST.friction, (0.005, 0.0, 0.0))
    poses = {name: tentacle.TORQUES[name] for name in ("m1_u01", "m2_u02")}
    monkeypatch.setattr(identified, "TORQUES", poses)
    shapes = tentacle.poses(true, tuple(poses))
    monkeypatch.setattr(identified, "measured", lambda data, name: shapes[name][:4])
    rows = identified.tentacle_rows(tmp_path)
    assert max(row.ours for row in rows) < 0.01
    found, (young, density) = identified.fitted_tentacle(tmp_path)
    assert found[young] == pytest.approx(280e3, rel=1e-2)
    assert found[density] == pytest.approx(1200.0, rel=1e-2)


def test_the_modulus_of_a_coarse_beam_is_identified(tmp_path, monkeypatch):
    monkeypatch.setattr(identified, "CELLS", (6, 2, 2))
    monkeypatch.setattr(identified, "YOUNG", 274e3)
    law = silicone_beam.pl.materials.NeoHookean(young=250e3, poisson=0.499, density=1070.0)
    sags = {case.title: silicone_beam.sag(law, case.weight, cells=(6, 2, 2)) for case in beam.LOADS}
    by_takes = {id(case.takes): sags[case.title] for case in beam.LOADS}
    monkeypatch.setattr(identified, "at_rest", lambda data, takes: by_takes[id(takes)])
    found, (young,) = identified.fitted_beam(tmp_path)
    assert found[young] == pytest.approx(250e3, rel=1e-4)
