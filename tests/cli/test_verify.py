"""`pliant verify RUN`: the bits of a replay, or how far and where it is off."""

import json

import pytest

import pliant as pl
from archives import rewritten
from pliant.core import provenance


@pytest.fixture
def saved(tmp_path):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1, position=(0, 0, 0.012), name="ball"))
    scene.collide(ball, scene.add(pl.Obstacle.plane(name="floor")), friction=0.3)
    return pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.005), until=0.1).save(tmp_path / "run.npz")


def changed(saved, tmp_path, by, *, elsewhere=False):
    """The run with one number of its 8th instant changed, and made elsewhere."""

    def change(header, arrays):
        arrays["positions_0"][8, 0, 2] += by
        if elsewhere:
            header["made"]["versions"]["numpy"] = "1.0"

    return rewritten(saved, tmp_path / "changed.npz", change)


def test_a_run_replays_bit_for_bit(pliant, saved, tmp_path):
    code, out, _ = pliant("verify", saved, "--json", "result.json")
    assert code == 0
    assert "replays bit for bit, 20 steps." in out
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["passed"]
    assert result["identical"]
    assert result["elsewhere"] == []


def test_another_last_bit_is_told_with_its_array_and_step(pliant, saved, tmp_path):
    code, out, _ = pliant("verify", changed(saved, tmp_path, 1e-16))
    assert code == 1
    text = " ".join(out.split())
    assert "does not replay bit for bit: positions of 'ball' differ by" in text
    assert "first at step 8 of 20" in text


@pytest.mark.parametrize(
    ("by", "code", "said"), [(1e-16, 0, "replays within 1e-09"), (1e-4, 1, "does not replay within")]
)
def test_of_another_version_the_tolerance_counts(pliant, saved, tmp_path, by, code, said):
    found, out, _ = pliant("verify", changed(saved, tmp_path, by, elsewhere=True))
    assert found == code
    text = " ".join(out.split())
    assert said in text
    assert "numpy 1.0 then, " in text
    assert pliant("verify", tmp_path / "changed.npz", "--tolerance", "1")[0] == 0


def test_what_cannot_be_replayed_is_told(pliant, saved, tmp_path):
    path = rewritten(saved, tmp_path / "bare.npz", lambda header, arrays: header.pop("stepper"))
    code, _, err = pliant("verify", path)
    assert code == 1
    assert "without its world or stepper" in " ".join(err.split())
    assert pliant("verify", tmp_path / "none.npz")[0] == 1


def test_what_makes_other_bits_is_listed():
    here = provenance.provenance()
    assert provenance.differences(here) == []
    assert provenance.differences({**here, "processor": "z80"}) == [f"processor z80 then, {here['processor']} now"]
    assert len(provenance.differences({})) == len(here["versions"]) + 3
