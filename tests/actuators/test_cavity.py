"""Cavities: the row against finite differences, the law of each control, and what is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.actuators.cavity import hollow_surfaces
from pliant.constraints import RowLaw, RowView
from pliant.core.errors import InputError, MeshError, PliantError
from pliant.solvers.linear.matrix import BlockMatrix

RUBBER = pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1e3)


def hollow(element="tet4", **options):
    scene = pl.Scene()
    mesh = pl.mesh.shell(0.01, 0.02, cells=(1, 2), element=element)
    body = scene.add(pl.Volume(mesh, RUBBER))
    cavity = scene.add(pl.Cavity(body, **options))
    return scene.compile(), body, cavity


def view_of(world, q, controls=None):
    return RowView.of(world.models, [q], controls=world.controls(controls))


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
def test_the_row_is_the_gradient_of_the_volume(element):
    """H = +∂V/∂q by central differences at a deformed shape; δ = V − V₀."""
    world, body, _ = hollow(element)
    constraint, rng = world.constraints[0], np.random.default_rng(0)
    assert 0.7 < constraint.rest_volume / (4 / 3 * np.pi * 0.01**3) < 1.01
    q = body.mesh.points + 5e-4 * rng.normal(size=body.mesh.points.shape)
    rows, _ = constraint.rows(view_of(world, q))
    assert rows.gap[0] == pytest.approx(constraint.volume(q) - constraint.rest_volume)
    for _ in range(3):
        d = rng.normal(size=q.shape)
        change = (constraint.volume(q + 1e-8 * d) - constraint.volume(q - 1e-8 * d)) / 2e-8
        assert (rows.H[0] @ d.ravel())[0] == pytest.approx(change, rel=1e-6)


def test_a_uniform_pressure_in_a_closed_chamber_has_no_resultant():
    world, body, _ = hollow()
    q = body.mesh.points + 5e-4 * np.random.default_rng(0).normal(size=body.mesh.points.shape)
    rows, _ = world.constraints[0].rows(view_of(world, q))
    force = rows.H[0].toarray().reshape(-1, 3)
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(np.cross(q, force).sum(axis=0), 0.0, atol=1e-16)
    assert (np.einsum("ni,ni->n", force, body.mesh.points)[np.linalg.norm(force, axis=1) > 0] > 0).all()


def test_scaling_a_chamber_scales_its_volume_by_the_cube():
    world, body, _ = hollow()
    constraint = world.constraints[0]
    assert constraint.volume(1.5 * body.mesh.points) == pytest.approx(1.5**3 * constraint.rest_volume)


def test_laws_of_the_controls():
    world, body, cavity = hollow(min_pressure=-10.0, max_pressure=1e4)

    def law(controls):
        rows, _ = world.constraints[0].rows(view_of(world, body.mesh.points, controls))
        return int(rows.law[0]), rows.lower[0], rows.upper[0], rows.target[0]

    assert law({cavity: pl.VolumeGrowth(1e-7)}) == (RowLaw.BOUNDED, -10.0, 1e4, 1e-7)
    assert law({cavity: pl.Pressure(500.0)})[::3] == (RowLaw.IMPOSED, 500.0)
    assert law(None)[::3] == (RowLaw.IMPOSED, 0.0)


def test_an_outer_surface_is_no_chamber():
    scene = pl.Scene()
    mesh = pl.mesh.shell(0.01, 0.02, cells=(1, 2))
    body = scene.add(pl.Volume(mesh, RUBBER))
    outer = max(mesh.surface().components(), key=lambda s: s.volume())
    scene.add(pl.Cavity(body, outer, name="lung"))
    with pytest.raises(MeshError, match=r"cavity 'lung' bounds .* its normals point out of the chamber"):
        scene.compile()


def test_a_flipped_chamber_is_refused():
    scene = pl.Scene()
    mesh = pl.mesh.shell(0.01, 0.02, cells=(1, 2))
    body = scene.add(pl.Volume(mesh, RUBBER))
    scene.add(pl.Cavity(body, hollow_surfaces(mesh)[0].flipped(), name="lung"))
    with pytest.raises(MeshError, match="'lung'"):
        scene.compile()


def test_an_open_chamber_is_refused():
    scene = pl.Scene()
    mesh = pl.mesh.shell(0.01, 0.02, cells=(1, 2))
    body = scene.add(pl.Volume(mesh, RUBBER))
    inner = hollow_surfaces(mesh)[0]
    scene.add(pl.Cavity(body, inner.selected(np.arange(1, len(inner.facets)))))
    with pytest.raises(PliantError, match="open at"):
        scene.compile()


def test_a_body_without_a_hollow_says_so():
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.box((1, 1, 1), (2, 2, 2)), RUBBER, name="block"))
    scene.add(pl.Cavity(body))
    with pytest.raises(MeshError, match="'block' has no closed chamber"):
        scene.compile()


def test_limits_must_leave_room():
    with pytest.raises(InputError, match="'cavity' has max_pressure 1 Pa ≤ min_pressure 2 Pa"):
        hollow(min_pressure=2.0, max_pressure=1.0)


@pytest.mark.parametrize(
    ("control", "text"),
    [
        (pl.Displacement(0.01), "pl.Pressure"),
        (1e3, "pl.Pressure"),
        (pl.Pressure(np.nan), "control of 'cavity'"),
        (pl.VolumeGrowth((1.0, 2.0)), "control of 'cavity'"),
    ],
)
def test_a_cavity_asked_wrongly(control, text):
    world, _, cavity = hollow()
    with pytest.raises(InputError, match=text):
        pl.ImplicitEuler(dt=0.01)(world, world.initial_state(), {cavity: control})


def test_a_pressure_beyond_the_limit_names_the_limit():
    world, _, cavity = hollow(max_pressure=1e4)
    with pytest.raises(InputError, match="its max_pressure is 10000 Pa"):
        world.controls({cavity: pl.Pressure(2e4)})


@pytest.mark.parametrize("element", ["tet4", "hex8"])
def test_the_stiffness_of_a_pressure_is_the_derivative_of_its_forces(element):
    """−p ∂²V/∂q² by central differences of p ∂V/∂q: of a closed chamber it is symmetric, so exact."""
    world, body, _ = hollow(element)
    constraint, model, rng = world.constraints[0], world.models[0], np.random.default_rng(0)
    q, pressure = body.mesh.points + 2e-4 * rng.normal(size=body.mesh.points.shape), 700.0
    values = np.zeros((model.pattern.block_count, 3, 3))
    for index, K in constraint.stiffness([q], np.array([pressure]), 0.5):
        assert index == 0
        K.add_to(values)
    d = rng.normal(size=q.shape)
    forces = [pressure * constraint.rows(view_of(world, q + step * d))[0].H[0].toarray() for step in (1e-7, -1e-7)]
    change = (forces[0] - forces[1]).reshape(q.shape) / 2e-7
    product = BlockMatrix(model.pattern, values).matvec(d)
    np.testing.assert_allclose(product, -0.5 * change, atol=1e-6 * np.abs(change).max())


def test_the_growth_of_a_chamber_begins_at_zero_and_a_ratio_is_relative_to_rest():
    world, body, cavity = hollow()
    constraint = world.constraints[0]
    assert constraint.displacement([body.mesh.points]) == pytest.approx(0.0, abs=1e-18)
    for ratio in (1.0, 1.2):
        rows, _ = constraint.rows(view_of(world, body.mesh.points, {cavity: pl.values.VolumeRatio(ratio)}))
        assert rows.target[0] == pytest.approx((ratio - 1.0) * constraint.rest_volume, rel=1e-9, abs=1e-18)


def test_the_slider_of_a_chamber_ends_at_its_limits():
    _, _, cavity = hollow(min_pressure=-2e3, max_pressure=7e3)
    span = cavity.control_range()
    assert (span.low, span.high, span.start, span.missing) == (-2e3, 7e3, 0.0, "")
    _, _, cavity = hollow(max_growth=1e-6)
    span = cavity.control_range()
    assert (span.unit, span.low, span.high) == ("m³", 0.0, 1e-6)
