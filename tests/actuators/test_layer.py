"""Layers: gradient and stiffness of the area, what a ratio means, and what is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.scheme import STATIC_SCHEME
from pliant.models.volume.system import VolumeSystem
from pliant.models.workspace import Workspace
from pliant.solvers.linear import BlockMatrix
from pliant.stepping.bodies import StepBodies

RUBBER = pl.materials.NeoHookean(young=1e5, poisson=0.3, density=1e3)
TOP = pl.regions.box((-1.0, -1.0, 0.01), (1.0, 1.0, 1.0))


def layered(element="tet4", **options):
    scene = pl.Scene()
    mesh = pl.mesh.box((0.04, 0.03, 0.02), (3, 2, 2), element=element)
    body = scene.add(pl.Volume(mesh, RUBBER, clamp=pl.regions.plane(axis="z", at=0.0)))
    layer = scene.add(pl.Layer(body, TOP, normal=(0.0, 0.0, 1.0), thickness=0.01, **options))
    return scene.compile(), body, layer


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
def test_area_gradient_and_second_derivative_agree(element):
    world, body, _ = layered(element)
    constraint, model = world.constraints[0], world.models[0]
    rng = np.random.default_rng(0)
    q = body.mesh.points + 1e-3 * rng.normal(size=body.mesh.points.shape)
    d, e = rng.normal(size=q.shape), 1e-7
    area = [constraint.area(q + s * e * d) for s in (-1, 1)]
    gradients = [constraint._area_and_gradient(q + s * e * d)[1] for s in (-1, 0, 1)]
    assert np.vdot(gradients[1], d) == pytest.approx((area[1] - area[0]) / (2 * e), rel=1e-6)
    system = VolumeSystem(model, np.zeros((model.pattern.block_count, 3, 3)), np.zeros_like(q), None, Workspace())
    for _, K in constraint.stiffness([q], np.array([-1.0]), 1.0):
        system.add_stiffness(K)
    change = (gradients[2] - gradients[0]) / (2 * e)
    np.testing.assert_allclose(
        BlockMatrix(model.pattern, system.values).matvec(d), change, atol=1e-5 * np.abs(change).max()
    )


def test_the_area_at_rest_is_that_of_the_sheet_and_follows_its_plane():
    world, body, layer = layered()
    assert layer.rest_area == pytest.approx(0.04 * 0.03)
    assert world.constraints[0].area(body.mesh.points * [1.5, 2.0, 0.3]) == pytest.approx(3.0 * 0.04 * 0.03)
    motion = StepBodies.begin(world, world.initial_state(), STATIC_SCHEME, {})
    assert motion.assembled().rows.gap == pytest.approx([0.0], abs=1e-15)


@pytest.mark.parametrize("stepper", [pl.Geometric(), pl.QuasiStatic()], ids=["geometric", "quasi-static"])
def test_ratio_and_pressure_are_two_ways_to_one_shape(stepper):
    world, body, layer = layered()
    state, info = stepper(world, world.initial_state(), {layer: pl.AreaRatio(1.2)})
    growth, pressure = info.actuation(layer)
    assert growth == pytest.approx(0.2 * layer.rest_area, rel=1e-4)
    assert pressure > 0.0
    again, _ = pl.QuasiStatic(tolerance=1e-7)(world, world.initial_state(), {layer: pl.SpreadingPressure(pressure)})
    assert again.points(body) == pytest.approx(state.points(body), abs=2e-6)


def test_a_world_with_a_layer_is_saved_and_loaded(tmp_path):
    world, _, layer = layered()
    again = pl.load(world.save(tmp_path / "layer.npz"))
    assert again.constraints[0].rest_area == pytest.approx(layer.rest_area)


def test_bad_layers_and_bad_controls_are_named():
    world, body, layer = layered(max_growth=1e-4)
    with pytest.raises(pl.InputError, match="thickness of 'layer'"):
        pl.Layer(body, TOP, normal=(0, 0, 1), thickness=0.0)
    with pytest.raises(pl.InputError, match="normal of 'layer'"):
        pl.Layer(body, TOP, normal=(0, 0, 0), thickness=0.01)
    nowhere = pl.Layer(body, pl.regions.sphere((9.0, 9.0, 9.0), 0.1), normal=(0, 0, 1), thickness=0.01)
    with pytest.raises(pl.InputError, match="centre of no cell"):
        nowhere.cells()
    state = world.initial_state()
    for value, words in (
        (pl.AreaRatio(0.0), "AreaRatio"),
        (pl.AreaRatio(2.0), "max_displacement"),
        (pl.Pressure(1.0), "AreaGrowth"),
    ):
        with pytest.raises(pl.InputError, match=words):
            pl.Geometric()(world, state, {layer: value})


def test_a_length_ratio_is_for_cables_in_one_body():
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.box((0.04, 0.01, 0.01), (4, 1, 1)), RUBBER))
    points = [(0.0, 0.005, 0.005), (0.04, 0.005, 0.005)]
    assert pl.Cable(body, points).command(pl.LengthRatio(0.9)).amount == pytest.approx(0.004)
    with pytest.raises(pl.InputError, match="LengthRatio"):
        pl.Cable(body, points).command(pl.LengthRatio(-1.0))
    with pytest.raises(pl.InputError, match="pull_point"):
        pl.Cable(body, points, pull_point=(-0.01, 0.0, 0.0)).command(pl.LengthRatio(0.9))


def test_the_slider_of_a_layer_goes_as_far_in_as_out():
    _, _, layer = layered(max_growth=1e-4)
    span = layer.control_range()
    assert (span.unit, span.low, span.high, span.start) == ("m²", -1e-4, 1e-4, 0.0)
    assert layer.command(span.make(span.high)).amount == 1e-4
    _, _, usual = layered()
    span = usual.control_range()
    assert 0.0 < span.high == -span.low < usual.rest_area
