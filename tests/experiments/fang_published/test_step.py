"""The published method: what it accepts, what it reports, how it remeshes, and what is wrong with it."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from experiments.fang_published import LocalGlobal
from experiments.fang_published.chambers import Filling, air, filled, mean_pressure, weighed, worst_element
from scenes import SILICONE as RUBBER
from scenes import chamber_world, hollow_box

pytest.importorskip("gmsh")
pytestmark = pytest.mark.slow  # an experiment: its blend has quick tests, its run is recorded
SOFT = {"omega": 0.2, "step": 1.5}


def inflated(ratio, *, plate=None, **options):
    """The box, its chamber and what a step from rest gives."""
    world, body, chamber = chamber_world(plate=plate, margin=0.004)
    stepper = LocalGlobal(**options)
    return body, chamber, *stepper(world, world.initial_state(), {chamber: pl.VolumeRatio(ratio)})


@pytest.fixture(scope="module")
def grown():
    """The box with air of a large weight at the nominal ratio 30, remeshed on its way, and without remeshing."""
    return inflated(30.0, chamber_weight=0.3, **SOFT), inflated(30.0, chamber_weight=0.3, remesh=False, **SOFT)


def test_the_ratio_is_nominal_and_the_weight_of_the_air_decides():
    """At α = 4 the chamber grows far less than 4×, as much as the weight of its air allows."""
    growths = [inflated(4.0, chamber_weight=weight)[3].growths[0] for weight in (0.003, 0.01)]
    assert 1.0 < growths[0] < growths[1] < 1.5
    assert growths[1] - 1.0 > 1.5 * (growths[0] - 1.0)


def test_the_fixed_point_is_in_balance_and_reports_what_is_real():
    body, chamber, state, info = inflated(4.0)
    rest = state.world.initial_state().volume(chamber)
    assert info.residual <= 1e-5
    assert info.nominal == pytest.approx((4.0,))
    assert info.growths[0] == pytest.approx(state.volume(chamber) / rest)
    assert info.actuation(chamber)[0] == pytest.approx(state.volume(chamber) - rest)
    assert info.actuation(chamber)[1] > 0.0
    assert info.reaction(body).sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-4)
    assert info.inverted == 0


def test_the_body_does_not_keep_its_volume(grown):
    """With ω = 0.2, ν = 0.364, it gains more than 5 %."""
    for _, _, _, info in grown:
        assert info.volume_changes[0] > 0.05


def test_elements_of_air_are_made_anew_where_they_are_stretched(grown):
    """Figure 7b: without remeshing elements grow beyond 4×; with it none does, and the chamber is larger."""
    (_, _, _, with_it), (_, _, _, without) = grown
    assert without.worst_growth > 4.0
    assert (without.remeshes, with_it.remeshes) == (0, 1)
    assert with_it.worst_growth < 4.0
    assert with_it.worst_distortion < 4.0
    assert with_it.growths[0] > without.growths[0]


def test_volume_and_pressure_are_continuous_across_remeshing():
    """The same body nodes, the same volume, the same mean pressure; and the shape hardly moves afterwards."""
    world, body, chamber = chamber_world()
    stepper = LocalGlobal(chamber_weight=0.1, **SOFT)
    state, info = stepper(world, world.initial_state(), {chamber: pl.VolumeRatio(8.0)})
    constraint, old = world.constraints[0], state.memories[0]
    weight = 0.1 * LocalGlobal(omega=0.2).blend_of(body.material)[1]
    q, volume = state.q[0], state.volume(chamber)
    elements = air(old, weight, "elastic")
    x = np.concatenate([q[old.nodes], old.inner])
    pressure = mean_pressure(elements, old, x, volume)
    assert pressure == pytest.approx(info.actuation(chamber)[1], rel=1e-9)
    made = replace(filled(constraint, q, None).filling, ratio=old.ratio)
    assert (made.nodes == old.nodes).all()
    there = np.concatenate([q[made.nodes], made.inner])
    new = weighed(made, old, pressure, mean_pressure(air(made, weight, "elastic"), made, there, volume))
    fresh = air(new, weight, "elastic")
    assert mean_pressure(fresh, new, there, volume) == pytest.approx(pressure, rel=1e-9)
    assert new.weight == pytest.approx(1.0, abs=0.3)
    growth, distortion = worst_element(fresh, new, there)
    assert growth == pytest.approx(1.0)
    assert distortion == pytest.approx(3.0**0.5)
    again, _ = stepper(world, replace(state, memories=(new,)), {chamber: pl.VolumeRatio(8.0)})
    assert again.volume(chamber) == pytest.approx(volume, rel=0.05)


def test_a_chamber_that_crosses_itself_is_not_filled_and_the_state_stays():
    world, body, chamber = chamber_world()
    state = world.initial_state()
    q = state.q[0].copy()
    floor = np.flatnonzero(np.linalg.norm(q - [0.02, 0.02, 0.005], axis=1) < 1e-9)
    q[floor, 2] += 0.012  # through the ceiling of the chamber
    crossed = replace(state, q=(q,))
    with pytest.raises(pl.MeshError, match=r"'cavity' could not be filled .*crosses itself") as caught:
        LocalGlobal()(world, crossed, {chamber: pl.VolumeRatio(2.0)})
    assert caught.value.result is crossed
    assert body.mesh.node_count == len(q)


def test_rounds_alone_stop_early():
    """A finger of two chambers: the published stop finds a part of the bending that the fixed point has."""
    robot = pl.robots.pneumatic_finger(chamber_count=2, cell_size=0.004)
    scene = pl.Scene()
    scene.add(robot)
    world = scene.compile()
    tips = []
    for options in ({"rounds": 400, "stop_motion": 3e-5, "window": 0}, {}):
        stepper = LocalGlobal(tolerance=1e-4, chamber_weight=0.1, **SOFT | options)
        state, info = stepper(world, world.initial_state(), {robot.cavity: pl.VolumeRatio(4.0)})
        tips.append(robot.tip.at(state)[1] - robot.tip.position[1])
        print(f"tip moved by {1e3 * tips[-1]:.3g} mm, {info.residual:.1e} of the forces left")
    assert tips[1] < -1e-3
    assert tips[0] / tips[1] < 0.6


def test_springs_keep_vertices_out_and_a_plate_is_not_crossed():
    plate = pl.Obstacle.plane(point=(0.0, 0.0, 0.0205), normal=(0.0, 0.0, -1.0))
    body, _, state, info = inflated(8.0, plate=plate)
    assert info.springs > 0
    assert info.depth == 0.0
    assert state.points(body)[:, 2].max() < 0.0205
    assert info.reaction(body)[:, 2].sum() > 0.5


def test_springs_part_two_bodies():
    """A soft block 0.5 mm above the box: both give way, and neither stands in the other. Every vertex has a spring of
    its own, so that the bodies do not push each other alike: 2.4 N on one, 1.5 N on the other.
    """
    scene = pl.Scene()
    body = scene.add(hollow_box())
    block = pl.Volume(pl.mesh.box((0.04, 0.04, 0.02), (4, 4, 2)), RUBBER, clamp=pl.regions.plane(axis="z", at=0.02))
    scene.add(block, position=(0.0, 0.0, 0.0205))
    scene.collide(body, block, margin=0.004)
    chamber = scene.add(pl.Cavity(body))
    world = scene.compile()
    stepper = LocalGlobal(step=2.0)
    state, info = stepper(world, world.initial_state(), {chamber: pl.VolumeRatio(8.0)})
    assert info.springs > 1
    assert info.depth == 0.0
    assert state.displacements(block)[:, 2].max() > 1e-4
    assert info.reaction(block)[:, 2].sum() < -0.5
    assert info.reaction(body)[:, 2].sum() > 0.5


def test_a_state_is_saved_with_its_filling(tmp_path):
    world, _, chamber = chamber_world()
    stepper = LocalGlobal()
    state, _ = stepper(world, world.initial_state(), {chamber: pl.VolumeRatio(2.0)})
    again = world.load_state(state.save(tmp_path / "state.npz"))
    first, second = (stepper(world, s, {chamber: pl.VolumeRatio(3.0)})[0] for s in (state, again))
    np.testing.assert_allclose(first.q[0], second.q[0], rtol=0.0, atol=1e-7)  # the iteration ends at its tolerance
    assert again.memories[0].ratio == pytest.approx(2.0)


def test_a_filling_comes_back_from_its_arrays():
    filling = Filling(np.arange(3), np.eye(3), np.zeros((1, 4), int), np.ones((1, 3)), 1.5, 2.5, 0.5)
    again = Filling.from_arrays(filling.arrays())
    assert (again.growth, again.ratio, again.weight) == (1.5, 2.5, 0.5)
    assert (again.rest == filling.rest).all()


def test_plastic_bodies_creep():
    """The rest shape overwritten after each step, as the released program does: the chamber goes on growing."""
    growths = []
    for plastic in (False, True):
        world, _, chamber = chamber_world()
        stepper = LocalGlobal(plastic=plastic, chamber_weight=0.1, **SOFT)
        state = world.initial_state()
        for _ in range(3):
            state, info = stepper(world, state, {chamber: pl.VolumeRatio(4.0)})
        growths.append(info.growths[0])
    assert growths[1] > 1.1 * growths[0]


def test_rounds_that_do_not_settle_say_so_and_keep_the_start():
    world, _, chamber = chamber_world()
    state = world.initial_state()
    stepper = LocalGlobal(rounds=3, finish=False)
    with pytest.raises(pl.ConvergenceError, match="finish=True") as caught:
        stepper(world, state, {chamber: pl.VolumeRatio(3.0)})
    assert caught.value.result is state


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"omega": 0.0}, "omega"),
        ({"weighting": "mass"}, "weighting"),
        ({"step": 1.0}, "step"),
        ({"window": -1}, "window"),
        ({"chamber_weight": 0.0}, "chamber_weight"),
        ({"cell_size": -1.0}, "cell_size"),
        ({"softening": ((2.0, 0.5), (1.0, 1.0))}, "softening"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(pl.InputError, match=words):
        LocalGlobal(**options)


def test_what_the_method_does_not_know_is_refused():
    stepper = LocalGlobal()
    world, _, chamber = chamber_world()
    with pytest.raises(pl.InputError, match="pressure"):
        stepper(world, world.initial_state(), {chamber: pl.Pressure(1e3)})
    scene = pl.Scene(gravity=(0.0, 0.0, -9.81))
    body = scene.add(hollow_box())
    scene.add(pl.Cavity(body))
    world = scene.compile()
    with pytest.raises(pl.InputError, match="weight"):
        stepper(world, world.initial_state())
    scene = pl.Scene()
    scene.add(pl.Cable(scene.add(hollow_box()), [(0.001, 0.001, 0.001), (0.001, 0.001, 0.019)]))
    world = scene.compile()
    with pytest.raises(pl.InputError, match="drives chambers only"):
        stepper(world, world.initial_state())
