"""A failing simulation names the chamber or the cable, once."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.record.causes import cause
from pliant.record.forces import RecordedRows


@pytest.fixture(scope="module")
def balloon():
    pytest.importorskip("gmsh")
    scene = pl.Scene()
    mesh = pl.mesh.block_with_cavity((0.06, 0.02, 0.02), wall=0.003, cell_size=0.006)
    clamp = pl.regions.plane(axis="x", at=0)
    body = scene.add(pl.Volume(mesh, pl.materials.ecoflex_00_30(), clamp=clamp, name="arm"))
    air = scene.add(pl.Cavity(body, name="air"))
    scene.collide(body, body)
    return scene.compile(), air


def test_a_bursting_chamber_is_named_once(balloon):
    world, air = balloon
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(
            pl.PliantError, match=r"the chamber 'air' balloons: it has .* times its volume at rest"
        ) as failed:
            pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=1.0, control=lambda t, s: {air: pl.Pressure(40e3 * t)})
    assert "kPa" in str(failed.value)
    assert len(failed.value.run) > 5
    assert "error.run" in failed.value.__notes__[0]
    balloons = [w for w in told if "balloons" in str(w.message)]
    after = [w for w in told if "approached" not in str(w.message) and w not in balloons]
    assert len(balloons) <= 1
    assert not [w for w in after if "inver" in str(w.message) or "folded" in str(w.message)]


def test_a_cable_whose_force_grows_without_bound_is_named():
    scene = pl.Scene()
    finger = scene.add(pl.robots.finger())
    world = scene.compile()

    def pulled(forces):
        return [RecordedRows((finger.cable.name,), np.column_stack([np.arange(4.0), forces]))]

    assert "the tension of the cable 'finger cable' grew from 1 to 300 N" in cause(
        world, pulled([1.0, 5.0, 50.0, 300.0])
    )
    assert cause(world, pulled([1.0, 1.1, 1.2, 1.3])) is None


@pytest.mark.parametrize(
    ("before", "last", "said"), [(1.9, 2.3, True), (2.1, 2.2, False), (1.2, 1.9, False), (2.5, 2.7, False)]
)
def test_a_chamber_balloons_where_it_is_large_and_grows_fast(before, last, said):
    """More than twice its volume at rest, and a tenth more than a step before."""
    rows = SimpleNamespace(spec=SimpleNamespace(name="air"), rest_volume=2e-6)
    growth = 2e-6 * (np.array([before, last]) - 1.0)
    told = cause(SimpleNamespace(constraints=[rows]), [RecordedRows(("air",), np.column_stack([growth, [1e3, 2e3]]))])
    assert (told is not None) is said
    if said:
        assert f"it has {last:g} times its volume at rest at 2 kPa, {before:g} times" in told


@pytest.mark.parametrize(
    ("tensions", "said"), [([1, 5, 9, 30], True), ([-1, -5, -9, -30], True), ([1, 5, 9, 15], False)]
)
def test_a_cable_strains_where_its_force_grows_many_times(tensions, said):
    """Whichever sign it is recorded with."""
    rows = SimpleNamespace(spec=SimpleNamespace(name="pull", usual_shortening=0.1))
    values = np.column_stack([np.zeros(4), tensions])
    told = cause(SimpleNamespace(constraints=[rows]), [RecordedRows(("pull",), values)])
    assert (told is not None) is said
    if said:
        assert "grew from 1 to 30 N within three steps" in told
