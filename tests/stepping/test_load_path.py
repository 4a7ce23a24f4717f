"""The load path of a quasi-static solve: it begins in equilibrium, ends in the true problem, and is linear between."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.workspace import Workspace
from pliant.stepping.load_path import LoadPath
from scenes import DOWN, RUBBER, bar


def path_of(world, state, controls, interval=0.0):
    return LoadPath(world, state, world.controls(controls), interval, Workspace())


def cabled(**options):
    """A bar with a cable that is pulled with 2 N, in equilibrium."""
    scene, body = bar()
    cable = scene.add(pl.Cable(body, [(0.0, 0.01, 0.015), (0.1, 0.01, 0.015)], **options))
    world = scene.compile()
    state, info = pl.QuasiStatic()(world, world.initial_state(), {cable: pl.Force(2.0)})
    return world, cable, state, info.actuation(cable)[0]


@pytest.mark.parametrize(
    ("asked", "by_force", "end"), [(pl.Displacement(0.01), False, 0.01), (pl.Force(5.0), True, 5.0), (None, True, 0.3)]
)
def test_commands_go_from_what_the_actuator_does_to_what_it_is_asked_for(asked, by_force, end):
    """A cable without a command keeps its least tension."""
    world, cable, state, shortening = cabled(min_force=0.3)
    path = path_of(world, state, {} if asked is None else {cable: asked})
    begin = 2.0 if by_force else shortening
    assert path.commanded
    for s in (0.0, 0.25, 0.75):
        command = path.values(s)[cable]
        assert command.by_force is by_force
        assert command.amount == pytest.approx(begin + s * (end - begin), rel=1e-6)
    assert path.values(1.0) == world.controls({} if asked is None else {cable: asked})


def test_follower_pressures_grow_from_zero():
    scene, body = bar()
    air = scene.add(pl.PressureLoad(body, pl.regions.plane(axis="x", at=0.1), 800.0))
    world = scene.compile()
    path = path_of(world, world.initial_state(), {})
    assert [float(path.values(s)[air]) for s in (0.0, 0.25, 0.5)] == [0.0, 200.0, 400.0]
    assert "at 200 Pa" in path.described(0.25)
    for pressure in (30.0, -4000.0, 90.0):
        scene.add(pl.PressureLoad(body, pl.regions.plane(axis="x", at=0.1), pressure))
    world = scene.compile()
    said = path_of(world, world.initial_state(), {}).described(0.5)
    assert [part.split(" at ")[1] for part in said.split(", ")] == ["-2000 Pa", "400 Pa", "45 Pa"]


def test_weight_and_dead_loads_of_a_rod_grow_from_what_its_start_carries():
    """From rest all of them; from their equilibrium none."""
    scene = pl.Scene(gravity=DOWN)
    rod = scene.add(pl.Rod(0.2, 2, section=pl.sections.Circle(0.002), young=1e8, poisson=0.3, density=1e3))
    load = scene.add(pl.RodLoad(rod, 0.2, (0.0, 0.0, -0.004)))
    world = scene.compile()
    rest = world.initial_state()
    path = path_of(world, rest, {})
    path.increment(rest, 0.0, 0.5)
    values = path.values(0.5)
    np.testing.assert_allclose(values["gravity"], 0.5 * np.array(DOWN), rtol=1e-9)
    np.testing.assert_allclose(values[load], [[0.0, 0.0, -0.002], [0.0, 0.0, 0.0]], rtol=1e-9)
    bent, _ = pl.QuasiStatic(tolerance=1e-10)(world, rest)
    path = path_of(world, bent, {})
    path.increment(bent, 0.0, 0.5)
    np.testing.assert_allclose(path.values(0.5)[load][0, 2], -0.004, rtol=1e-3)


@pytest.mark.parametrize("s", [0.1, 0.5, 1.0])
def test_the_path_begins_in_equilibrium_and_its_forces_grow_with_it(s):
    """Out of balance is s times what the loads are in the start state: nothing at s = 0, all at s = 1."""
    scene, _ = bar(gravity=DOWN)
    world = scene.compile()
    state = world.initial_state()
    path = path_of(world, state, {})
    (whole,), (left,) = path.start_residuals, path.increment(state, 0.0, s).forces().r
    free = ~world.models[0].constrained
    assert np.abs(whole[free]).max() > 1e-4
    np.testing.assert_allclose(left[free], s * whole[free], atol=1e-12)


def test_time_passes_with_the_path():
    """Obstacles are where they are at the time t + s Δt; increments do not go back."""
    scene = pl.Scene()
    scene.add(pl.Volume(pl.mesh.box((0.02,) * 3, (1, 1, 1)), RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    world = scene.compile()
    path = path_of(world, world.initial_state(), {}, interval=0.4)
    assert path.scheme(0.0, 0.5).interval == pytest.approx(0.2)
    assert path.scheme(0.1, 0.5).interval == pytest.approx(0.1)
    assert path.scheme(0.3, 0.5).interval == 0.0


def test_prescribed_values_are_approached_along_the_path():
    """A linear constraint goes from what its sum is to its value."""
    scene, body = bar()
    end = pl.regions.plane(axis="x", at=0.1)
    pull = scene.add(pl.LinearConstraint(pl.Term(body, (1, 0, 0), region=end, pick="mean"), value=4e-3, name="pull"))
    world = scene.compile()
    path = path_of(world, world.initial_state(), {})
    assert [path.values(s)[pull].amount for s in (0.0, 0.25, 0.5)] == pytest.approx([0.0, 1e-3, 2e-3], abs=1e-15)


def test_increments_keep_stresses_that_do_not_relax():
    scene, _ = bar()
    world = scene.compile()
    path = LoadPath(world, world.initial_state(), world.controls(None), 1.0, Workspace(), instantaneous=True)
    assert path.scheme(0.0, 0.5).instantaneous
    assert path.scheme(0.0, 0.5).interval == 0.5
