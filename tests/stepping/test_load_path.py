"""The load path of a quasi-static solve: it begins in equilibrium, ends in the true problem, and is linear between."""

from dataclasses import replace

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


def test_largest_commands_are_described_first_with_their_units():
    """Three at most, in the order of how far they are from the start; a force is told from a displacement."""
    scene, body = bar()
    pulls = [
        scene.add(pl.Cable(body, [(0.0, y, 0.015), (0.1, y, 0.015)], name=f"cable {k}"))
        for k, y in enumerate((0.004, 0.008, 0.012, 0.016))
    ]
    world = scene.compile()
    asked = {
        pulls[0]: pl.Displacement(0.002), pulls[1]: pl.Force(3.0), pulls[2]: pl.Displacement(0.006),
        pulls[3]: pl.Displacement(0.004),
    }  # fmt: skip
    path = path_of(world, world.initial_state(), asked)
    assert path.described(0.5) == "'cable 1' at 1.5 N, 'cable 2' at 0.003 m, 'cable 3' at 0.002 m"
    world, cable, state, shortening = cabled(name="pull")
    path = path_of(world, state, {cable: pl.Displacement(0.01)})
    assert path.described(0.5) == f"'pull' at {0.5 * (shortening + 0.01):.4g} m"
    assert path_of(world, world.initial_state(), {}).described(0.5) == ""


@pytest.mark.parametrize(("least", "value"), [(0.0, None), (0.3, None), (0.0, 1e-4), (0.0, -1e-4), (0.0, 0.0)])
def test_an_actuator_that_does_already_what_it_is_to_do_has_no_path(least, value):
    """A slack cable without a command, one at its least tension, and a constraint whose sum has its value."""
    scene, body = bar()
    scene.add(pl.Cable(body, [(0.0, 0.01, 0.015), (0.1, 0.01, 0.015)], min_force=least))
    if value is not None:
        tip = pl.Term(body, (1, 0, 0), region=pl.regions.plane(axis="x", at=0.1), pick="mean")
        scene.add(pl.LinearConstraint(tip, value=value))
    world = scene.compile()
    assert path_of(world, world.initial_state(), {}).commanded is bool(least or value)
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    assert not path_of(world, state, {}).commanded


def hanging(weight=1.0):
    """A rod that gravity bends, and its state in equilibrium under `weight` times that gravity and its load."""
    section = pl.sections.Circle(0.002)
    scene = pl.Scene(gravity=(0.0, 0.0, -1.0))
    rod = scene.add(pl.Rod(0.2, 2, section=section, young=1e8, poisson=0.3, density=1e3))
    scene.add(pl.RodLoad(rod, 0.2, (0.0, 0.0, -4e-4)))
    other = pl.Scene(gravity=(0.0, 0.0, -weight))
    twin = other.add(pl.Rod(0.2, 2, section=section, young=1e8, poisson=0.3, density=1e3))
    other.add(pl.RodLoad(twin, 0.2, (0.0, 0.0, -4e-4 * weight)))
    world, heavier = scene.compile(), other.compile()
    bent, _ = pl.QuasiStatic(tolerance=1e-10)(heavier, heavier.initial_state())
    rest = world.initial_state()
    return world, pl.State(world, 0.0, bent.q, rest.v, rest.lam)


@pytest.mark.parametrize(("weight", "carried"), [(-0.5, 0.0), (0.25, 0.25), (0.75, 0.75), (1.5, 1.0)])
def test_a_start_state_carries_a_fraction_of_the_loads(weight, carried):
    """Small bending is linear: equilibrium under a fraction of the loads carries that fraction, never less than none
    or more than all; gravity grows from there, linearly in s. Nothing is left to a fictitious force but the rest.
    """
    world, state = hanging(weight)
    path = path_of(world, state, {})
    first, again = path.start_residuals, path.start_residuals
    assert first is again
    for s in (0.0, 0.5, 0.8):
        fraction = carried + s * (1.0 - carried)
        np.testing.assert_allclose(path.values(s)["gravity"], (0.0, 0.0, -fraction), rtol=0.0, atol=2e-3)
    free = ~world.models[0].constrained
    (left,), (loads,) = first, path.loaded_residuals()
    if 0.0 < weight < 1.0:
        assert np.abs(left[free]).max() < 0.01 * np.abs(loads[free]).max()
    np.testing.assert_allclose(path.values(1.0).get("gravity", (0.0, 0.0, -1.0)), (0.0, 0.0, -1.0))


def test_residuals_under_all_loads_differ_from_those_of_the_start_by_the_loads():
    """r(1) − r(s₀) is linear in the loads: from rest it is the generalized weight, twice for twice the gravity."""
    world, rest = hanging(0.0)
    path = path_of(world, rest, {})
    (none,), (full,) = path.start_residuals, path.loaded_residuals()
    (double,) = path_of(world, rest, {"gravity": (0.0, 0.0, -2.0)}).loaded_residuals()
    (unloaded,) = path_of(world, rest, {"gravity": (0.0, 0.0, 0.0)}).loaded_residuals()
    free = ~world.models[0].constrained
    np.testing.assert_allclose(none[free], 0.0, atol=1e-15)
    np.testing.assert_allclose((double - unloaded)[free], 2.0 * (full - unloaded)[free], rtol=1e-9, atol=1e-15)
    assert np.abs(full - unloaded)[free].max() > 1e-5


def test_forces_of_constraints_are_balanced_at_the_start():
    """In the equilibrium of a pulled cable the residual at s = 0 holds the pull: it vanishes."""
    world, cable, state, _ = cabled()
    (left,) = path_of(world, state, {cable: pl.Force(5.0)}).start_residuals
    free = ~world.models[0].constrained
    unpulled = pl.State(world, 0.0, state.q, state.v, np.zeros(0))
    (pulled,) = path_of(world, unpulled, {cable: pl.Force(5.0)}).start_residuals
    assert np.abs(left[free]).max() < 1e-3 * np.abs(pulled[free]).max()


def test_forces_of_the_start_are_told_by_their_keys():
    """Rows may come in another order than in the step that led to the state: r₀ is the same."""
    scene, body = bar()
    for y in (0.004, 0.012, 0.016):
        scene.add(pl.Cable(body, [(0.0, y, 0.015), (0.1, y, 0.015)], min_force=20.0 * y))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    assert state.lam.tolist() == pytest.approx([0.08, 0.24, 0.32])
    turned = replace(state, keys=np.roll(state.keys, 1), lam=np.roll(state.lam, 1))
    gone = replace(state, keys=state.keys + 1000)
    (r,), (same,), (without,) = (path_of(world, one, {}).start_residuals for one in (state, turned, gone))
    np.testing.assert_allclose(same, r, atol=1e-15)
    assert np.abs(without - r).max() > 0.02


def test_a_cable_that_is_cut_has_no_path():
    world, cable, state, _ = cabled(min_force=0.3)
    path = path_of(world, state, {cable: pl.Cut()})
    assert not path.commanded
    assert path.values(0.5)[cable] == path.values(1.0)[cable] == world.controls({cable: pl.Cut()})[cable]


@pytest.mark.parametrize(("reached", "end"), [(0.0, 0.5), (0.25, 0.5), (0.5, 1.0)])
def test_increments_load_what_is_left_of_the_way(reached, end):
    """Supports go (s₁ − s₀)/(1 − s₀) of what is left to them, all of it at the end."""
    scene, _ = bar(gravity=DOWN)
    world = scene.compile()
    state = world.initial_state()
    bodies = path_of(world, state, {}).increment(state, reached, end)
    assert bodies.load_fraction == pytest.approx((end - reached) / (1.0 - reached))


@pytest.mark.parametrize(("time", "end", "expected"), [(0.0, 0.5, 0.2), (0.1, 0.5, 0.1), (0.1, 1.0, 0.3)])
def test_increments_take_the_time_to_their_end(time, end, expected):
    """From a state at `time` (s) of a path of 0.4 s; memory and obstacles see that much pass."""
    scene, _ = bar()
    world = scene.compile()
    rest = world.initial_state()
    state = pl.State(world, time, rest.q, rest.v, rest.lam)
    bodies = path_of(world, rest, {}, interval=0.4).increment(state, time / 0.4, end)
    assert bodies.scheme.interval == pytest.approx(expected)
    assert bodies.view().time == pytest.approx(0.4 * end)


def test_only_a_least_tension_is_kept_without_a_command():
    """An actuator whose force may be negative, or has no bound, lets go."""
    for least in (-2.0, -np.inf, 0.5):
        scene, body = bar()
        push = scene.add(pl.ForcePoint(body, (0.1, 0.01, 0.01), direction=(0, 0, 1), min_force=least))
        world = scene.compile()
        state, _ = pl.QuasiStatic()(world, world.initial_state(), {push: pl.Force(0.6)})
        path = path_of(world, state, {})
        assert path.values(0.0)[push].amount == 0.6
        assert path.values(0.5)[push].amount == pytest.approx(0.3 + 0.5 * max(least, 0.0))
