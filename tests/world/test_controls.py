"""Controls: kinds, shapes, handles."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError

RUBBER = pl.materials.Linear(young=1e5, poisson=0.0, density=1000.0)
END = pl.regions.plane(axis="x", at=0.2)


@pytest.fixture(scope="module")
def setup():
    scene = pl.Scene()
    body = scene.add(
        pl.Volume(pl.mesh.box((0.2, 0.1, 0.1), (2, 1, 1)), RUBBER, clamp=pl.regions.plane(axis="x", at=0.0))
    )
    handles = {
        "point": scene.add(pl.PointLoad(body, END, (0, 0, 0))),
        "traction": scene.add(pl.TractionLoad(body, END, (0, 0, 0))),
        "pressure": scene.add(pl.PressureLoad(body, END, 0.0)),
        "support": scene.add(pl.Support(body, pl.regions.nodes([9]), axes="yz")),
    }
    return scene.compile(), body, handles


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("point", pl.Pressure(1.0), r"control of a PointLoad must be pl\.Force"),
        ("point", (0, 0, 1), r"control of a PointLoad must be pl\.Force"),
        ("point", pl.Force(1.0), r"control of a PointLoad must have shape \(3,\), got \(\)"),
        ("point", pl.Force((0, np.nan, 0)), r"control of a PointLoad must be finite, but entry \[1\] is nan"),
        ("traction", pl.Force((0, 0, 1)), r"control of a TractionLoad must be pl\.Traction"),
        ("pressure", pl.Traction((0, 0, 1)), r"control of a PressureLoad must be pl\.Pressure"),
        ("pressure", pl.Pressure((1.0, 2.0, 3.0)), r"control of a PressureLoad must have shape \(\)"),
        ("pressure", pl.Pressure(np.inf), "control of a PressureLoad must be finite"),
        ("support", pl.Force((0, 0, 1)), r"a Support is controlled by pl\.Displacement"),
        ("support", pl.Displacement((1, 2, 3)), "displacement of a Support must be one value or 2"),
        ("support", pl.Displacement(np.nan), "displacement of a Support must be finite"),
    ],
)
@pytest.mark.parametrize("stepper", [pl.ImplicitEuler(dt=0.01), pl.QuasiStatic()])
def test_wrong_values_are_named_and_leave_the_state(setup, name, value, message, stepper):
    world, _, handles = setup
    state = world.initial_state()
    before = state.q[0].copy()
    with pytest.raises(InputError, match=message):
        stepper(world, state, {handles[name]: value})
    np.testing.assert_array_equal(state.q[0], before)


def test_strangers_are_refused(setup):
    world, body, _ = setup
    stranger = pl.PointLoad(body, END, (0, 0, 1))
    with pytest.raises(InputError, match="is not an actuator, load or support of this world"):
        world.controls({stranger: pl.Force((0, 0, 1))})
    with pytest.raises(InputError, match="keyed by the thing itself, not by its name 'finger'"):
        world.controls({"finger": pl.Force((0, 0, 1))})
    with pytest.raises(InputError, match="controls are a dictionary from what was added"):
        world.controls([0.01])


@pytest.mark.parametrize(
    ("name", "value", "tolerance"),
    [
        ("point", pl.Force((10.0, 0, 0)), 0.1),
        ("traction", pl.Traction((1000.0, 0, 0)), 1e-6),
        ("pressure", pl.Pressure(-1000.0), 0.02),
    ],
)
def test_ten_newtons_by_any_load_stretch_alike(setup, name, value, tolerance):
    """10 N on the 0.01 m² end: u = σ L/E whichever load carries it (ν = 0); point loads are not spread consistently."""
    world, body, handles = setup
    state, info = pl.QuasiStatic()(world, world.initial_state(), {handles[name]: value})
    end = END.nodes(body.mesh.points)
    assert state.displacements(body)[end, 0].mean() == pytest.approx(1000.0 * 0.2 / 1e5, rel=tolerance)
    np.testing.assert_allclose(info.reaction(body).sum(axis=0)[0], -10.0, rtol=0.005)


def test_a_control_replaces_the_written_value_for_that_step_only(setup):
    world, body, handles = setup
    step = pl.QuasiStatic()
    pulled, _ = step(world, world.initial_state(), {handles["point"]: pl.Force((10.0, 0, 0))})
    assert np.abs(pulled.displacements(body)).max() > 1e-3
    back, _ = step(world, pulled)
    np.testing.assert_allclose(back.displacements(body), 0.0, atol=1e-12)


@pytest.mark.parametrize("stepper", [pl.QuasiStatic(), pl.ImplicitEuler(dt=0.01), pl.ImplicitMidpoint(dt=0.01)])
def test_supports_move_by_control(setup, stepper):
    world, body, handles = setup
    state, _ = stepper(world, world.initial_state(), {handles["support"]: pl.Displacement((0.003, -0.001))})
    np.testing.assert_allclose(state.displacements(body)[9, 1:], [0.003, -0.001], atol=1e-15)
    assert state.displacements(body)[9, 0] != 0.0, "the open direction is free"
    state, _ = stepper(world, state)
    np.testing.assert_allclose(state.displacements(body)[9, 1:], 0.0, atol=1e-15)
