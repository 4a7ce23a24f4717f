"""Predictive control tracks references within bounds and rates, without offset where the model is wrong."""

import numpy as np
import pytest

import pliant as pl

DT, HORIZON = 0.02, 10


@pytest.fixture(scope="module")
def bar():
    """The full and the reduced world of a bar, its cables and the effector at its tip."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=2e5, poisson=0.4, density=1000)
    mesh, clamp = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1)), pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(mesh, rubber, clamp=clamp, damping=pl.Rayleigh(stiffness=5e-3)))
    routes = [[(x, 0.01, z) for x in (0.01, 0.05, 0.095)] for z in (0.004, 0.016)]
    cables = [scene.add(pl.Cable(body, route, name=name)) for route, name in zip(routes, ("down", "up"), strict=True)]
    world = scene.compile()
    plan = pl.reduction.latin_hypercube(world, 8, steps=3, amplitude=0.8, kind=pl.Force, actuators=cables, seed=1)
    fast = pl.reduction.reduce(world, plan, motion_tolerance=5e-3, stepper=pl.QuasiStatic(), progress=False)
    marker = pl.robots.Marker(body, (0.1, 0.01, 0.01))
    return world, fast, cables, pl.Effector(marker, directions=[(0, 0, 1)], name="tip"), marker


def closed_loop(bar, reference, count, *, plant=None, **options):
    """Tip heights, tensions (count, 2) and the last plan, from rest under 0.3 N."""
    world, fast, cables, tip, marker = bar
    plant = world if plant is None else plant
    start = dict.fromkeys(cables, pl.Force(0.3))
    rest, _ = pl.QuasiStatic()(fast, fast.initial_state(), start)
    robot, _ = pl.QuasiStatic()(plant, plant.initial_state(), start)
    mpc = pl.control.Predictive(fast, effectors=[tip], actuators=cables, dt=DT, horizon=HORIZON, **options)
    plan, heights, tensions = mpc.begin(rest, start), [], []
    for k in range(count):
        ahead = [marker.at(rest) + np.array((0.0, 0.0, reference(DT * (k + 1 + j)))) for j in range(HORIZON)]
        plan = mpc(plan, {tip: ahead}, {tip: marker.at(robot)})
        robot, _ = pl.ImplicitEuler(DT, newton_iterations=3)(plant, robot, plan.controls)
        heights.append(marker.at(robot)[2] - marker.at(rest)[2])
        tensions.append(plan.inputs[0])
    return np.array(heights), np.array(tensions), plan


def test_a_wave_is_tracked(bar):
    heights, tensions, plan = closed_loop(bar, lambda t: 0.006 * np.sin(2 * np.pi * t), 45)
    wanted = 0.006 * np.sin(2 * np.pi * DT * np.arange(1, 46))
    assert np.abs(heights - wanted)[20:].max() < 0.1 * 0.006
    assert (tensions >= 0.0).all()
    assert plan.outputs.shape == (HORIZON, 1)
    assert plan.seconds > 0.0


def test_a_wrong_model_leaves_no_offset_at_rest(bar):
    """The robot is heavier and softer than the model."""
    world, _, _, _, marker = bar
    body = marker.body
    plant = pl.changed(world, {pl.parameters.Material(body, "young"): 1.7e5})
    heights, _, plan = closed_loop(bar, lambda t: 0.004, 45, plant=plant)
    assert heights[-1] == pytest.approx(0.004, abs=2e-5)
    assert abs(plan.offset[0]) > 1e-4


def test_bounds_and_rates_are_kept(bar):
    cables = bar[2]
    heights, tensions, _ = closed_loop(
        bar, lambda t: 0.03, 30, bounds=dict.fromkeys(cables, (0.1, 0.5)), rates=dict.fromkeys(cables, 1.0)
    )
    assert tensions.min() >= 0.1 - 1e-12
    assert tensions.max() <= 0.5 + 1e-12
    changes = np.diff(np.vstack([np.full((1, 2), 0.3), tensions]), axis=0)
    assert np.abs(changes).max() <= 1.0 * DT + 1e-9
    assert tensions[-1] == pytest.approx([0.1, 0.5], abs=1e-6)  # out of reach: as far as they go
    assert np.abs(changes).max() > 0.99 * DT
    assert heights[-1] > 0.0


def test_a_constant_target_is_one_for_all_steps(bar):
    _, fast, cables, tip, marker = bar
    start = dict.fromkeys(cables, pl.Force(0.3))
    rest, _ = pl.QuasiStatic()(fast, fast.initial_state(), start)
    mpc = pl.control.Predictive(fast, effectors=[tip], actuators=cables, dt=DT, horizon=HORIZON)
    target = marker.at(rest) + np.array((0, 0, 0.003))
    one, each = (mpc(mpc.begin(rest, start), {tip: given}) for given in (target, [target] * HORIZON))
    assert one.inputs == pytest.approx(each.inputs)
    assert one.inputs[0] != pytest.approx([0.3, 0.3])


def test_bad_input(bar):
    world, fast, cables, tip, marker = bar
    kind, given = pl.control.Predictive, {"effectors": [tip], "actuators": cables, "dt": DT}
    start = dict.fromkeys(cables, pl.Force(0.3))
    mpc = kind(fast, **given)
    plan = mpc.begin(fast.initial_state(), start)
    cases = [
        (lambda: kind(fast, **given | {"effectors": []}), "at least one"),
        (lambda: kind(fast, **given | {"actuators": [tip]}), "at least one"),
        (lambda: kind(fast, **given, horizon=0), "horizon"),
        (lambda: kind(fast, **given, smoothness=0.0), "smoothness"),
        (lambda: kind(fast, **given, bounds={tip: (0, 1)}), "none of its actuators"),
        (lambda: kind(fast, **given, bounds={cables[0]: (1.0, 0.0)}), "pair"),
        (lambda: kind(fast, **given, rates={cables[0]: 0.0}), "rate"),
        (lambda: mpc.begin(fast.initial_state(), {cables[0]: pl.Force(0.1)}), "no command"),
        (lambda: mpc.begin(world.initial_state(), start), "another world"),
        (lambda: mpc(plan, {}), "no reference"),
        (lambda: mpc(plan, {tip: (0, 0, np.nan)}), "finite"),
        (lambda: mpc(plan, {tip: marker.position}, {}), "no measured"),
    ]
    for make, text in cases:
        with pytest.raises(pl.PliantError, match=text):
            make()
