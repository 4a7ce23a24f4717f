"""How the tests call the command: as a person would, with exit code and both streams."""

import sys

import pytest

from pliant import cli


@pytest.fixture
def pliant(monkeypatch, capsys, tmp_path):
    """Run `pliant …` in an empty folder; gives exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["pliant", *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


SCENE = '''
"""A block that hangs from its left face."""
import pliant as pl

young = 1e5
push = 0.0
label = "block"
until = 0.05
scene = pl.Scene(gravity=(0, 0, -9.81))
rubber = pl.materials.Corotated(young=young, poisson=0.4, density=1000)
mesh = pl.mesh.box((0.06, 0.02, 0.02), (3, 1, 1))
block = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0.0), name=label))
load = scene.add(pl.PointLoad(block, pl.regions.plane(axis="x", at=0.06), (0, 0, 0)))


def control(t, state):
    return {load: pl.Force((0.0, push, 0.0))}


def measure(run):
    return {"sag (mm)": -1e3 * (run.points(block)[-1, :, 2] - run.points(block)[0, :, 2]).min()}
'''


@pytest.fixture
def scene(tmp_path):
    """A small scene file."""
    file = tmp_path / "scene.py"
    file.write_text(SCENE, encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def saved_run(tmp_path_factory):
    """A saved run of a finger that touches a ball."""
    import pliant as pl

    scene = pl.Scene(gravity=(0, 0, -9.81))
    finger = scene.add(pl.robots.finger())
    ball = scene.add(pl.RigidBody.sphere(radius=0.015, mass=0.02, position=(0.08, 0.0, -0.026), name="ball"))
    scene.collide(finger, ball, friction=0.6)
    scene.add(pl.Obstacle.plane(point=(0, 0, -0.1)))
    run = pl.simulate(
        scene.compile(),
        pl.ImplicitEuler(dt=0.01),
        until=0.1,
        control=lambda t, state: {finger.cable: pl.Displacement(0.02 * t)},
    )
    return run.save(tmp_path_factory.mktemp("run") / "finger.npz")
