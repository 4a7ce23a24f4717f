"""Files that version 1 of the formats wrote, kept as they are, and what older ones lacked."""

from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from archives import of_version_1, rewritten
from pliant.core.errors import FileFormatError

KEPT = Path(__file__).with_name("version_1")


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-9)


def test_a_run_is_read_and_replays():
    run = pl.load(KEPT / "run.npz")
    assert [body.name for body in run.bodies] == ["arm", "ball", "beam"]
    assert run.contact_force("arm", "ball")[:, 2].min() < -0.2, "the ball lies on the arm"
    assert run.actuation("cable")[0][-1] == pytest.approx(0.0048)
    for first, second in zip(run.positions, run.replay().positions, strict=True):
        close(first, second)  # not to the bit: compiled elsewhere
    assert run.made == {}


def test_a_world_has_every_option_of_its_pairs():
    world = pl.load(KEPT / "world.npz")
    first, second = world.source.pairs
    assert (first.friction, first.margin, first.capacity, first.allow_overlap, first.continuous) == (
        0.4, 0.003, 40, True, False,
    )  # fmt: skip
    assert first.exclude.select(pl.mesh.box((1, 1, 1), (1, 1, 1)).points).sum() == 4
    assert (second.friction, second.margin, second.exclude, second.capacity) == (0.0, None, None, None)
    assert world.thing("arm").material.volumetric == pl.materials.Ogden(m=5e4, a=3.0, density=1e3).volumetric


def test_a_state_continues_with_its_memories():
    world, run = pl.load(KEPT / "world.npz"), pl.load(KEPT / "run.npz")
    state = world.load_state(KEPT / "state.npz")
    assert len(state.lam)
    assert any(memory is not None for memory in state.memories)
    for one, other in zip(state.q, run.positions, strict=True):
        close(one, other[-1])
    assert pl.ImplicitEuler(dt=0.01)(world, state)[0].time == pytest.approx(0.13)


def falling(tmp_path):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1, velocity=(0.1, 0, 0)))
    points = [(0.02 * k, 0, 0) for k in range(4)]
    scene.add(pl.Beam(points, section=pl.sections.Circle(1e-3), young=2e7, poisson=0.3, density=1200, clamp=[0]))
    rubber = pl.materials.Ogden(m=5e4, a=3.0, density=1e3)
    scene.add(pl.Volume(pl.mesh.box((0.1, 0.1, 0.1), (1, 1, 1)), rubber, name="block"), position=(0, 1, 0))
    run = pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.01), until=0.05)
    return run, run.save(tmp_path / "run.npz")


def test_what_early_files_lack_is_filled_in(tmp_path):
    run, path = falling(tmp_path)

    def early(header, arrays):
        for name in [name for name in arrays if name.startswith("start_") or name == "warm"]:
            del arrays[name]
        for body in header["bodies"]:
            body.pop("skin", None)
        for thing, _ in header["world"]["things"]:
            if thing["class"] == "Volume":
                del thing["fields"]["material"]["fields"]["volumetric"]

    old = pl.load(of_version_1(path, tmp_path / "old.npz", early))
    np.testing.assert_array_equal(old.replay().positions[0], run.positions[0])
    np.testing.assert_array_equal(old.surface_points(1), run.surface_points(1))
    assert len(old.warm) == 0
    assert old.world.thing("block").material.volumetric == "quadratic"
    assert run.world.thing("block").material.volumetric == "hyperbolic"


@pytest.mark.parametrize(
    "name", ["times", "step_seconds", "stage_0", "force_0", "touches_1_starts", "touches_1_points", "warm", "start_lam"]
)
def test_arrays_of_a_run_have_its_length(tmp_path, name):
    change = {name: np.zeros(3, np.int8)}
    with pytest.raises(FileFormatError, match=r"changed\.npz"):
        pl.load(rewritten(KEPT / "run.npz", tmp_path / "changed.npz", lambda header, arrays: arrays.update(change)))
