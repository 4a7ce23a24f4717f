"""Blocks of rubber stretched up to six times in one quasi-static solve agree with their closed forms."""

import numpy as np
import pytest
from scipy.optimize import brentq

import pliant as pl
from pliant.materials import Tangent
from pliant.models.volume.patches import MEAN, WHOLE
from pliant.solvers.linear import BlockMatrix

SIDE = 0.02


def rubber(law, poisson):
    given = {"density": 1000.0, "poisson": poisson}
    return {
        "neo-Hookean": lambda: pl.materials.NeoHookean(young=1e6, **given),
        "Mooney-Rivlin": lambda: pl.materials.MooneyRivlin(c1=1.2e5, c2=4e4, **given),
        "Yeoh": lambda: pl.materials.Yeoh(c1=1.6e5, c2=-2e3, c3=1e3, **given),
        "Ogden": lambda: pl.materials.Ogden(m=3.6e5, a=1.8, **given),
    }[law]()


def block(material, element="tet4", cells=(2, 2, 2), pulled=""):
    """A block on three planes without friction, pulled at the opposite faces of the axes `pulled`."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.box((SIDE, SIDE, SIDE), cells, element=element), material))
    for axis in "xyz":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axis, 0.0))
    ends = [scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=SIDE), axis, 0.0)) for axis in pulled]
    return scene.compile(), body, ends


def closed_form(material, ratio, axes):
    """Nominal stress (Pa) at the stretch `ratio` along one or two axes, and the stretch of the others, by the energy of
    one cell.
    """
    model = block(material, element="hex8", cells=(1, 1, 1))[0].models[0]

    def slope(stretches, axis, h=1e-5):
        ahead = [model.elastic_energy(model.rest * (stretches + s * h * np.eye(3)[axis])) for s in (1.0, -1.0)]
        return (ahead[0] - ahead[1]) / (2.0 * h * SIDE**3)

    def stretches(thin):
        return np.array([ratio if axis < axes else thin for axis in range(3)])

    thin = brentq(lambda t: slope(stretches(t), 2), 0.02, 1.2, xtol=1e-10)
    return slope(stretches(thin), 0), thin


@pytest.mark.parametrize("element", ["hex8", "tet4"])
@pytest.mark.parametrize("law", ["neo-Hookean", "Mooney-Rivlin", "Yeoh", "Ogden"])
@pytest.mark.parametrize(("ratio", "axes"), [(2.0, 1), (4.0, 1), (4.0, 2)])
def test_a_stretched_block_is_its_closed_form(element, law, ratio, axes):
    """One call from rest. A linear step to four times the length turns the cross-section through itself, half a turn
    about the axis with det F > 0; cells of the mean F alone buckle against each other.
    """
    material = rubber(law, 0.499)
    world, body, ends = block(material, element, pulled="xy"[:axes])
    state, info = pl.QuasiStatic()(
        world, world.initial_state(), {end: pl.Displacement(SIDE * (ratio - 1)) for end in ends}
    )
    stress, thin = closed_form(material, ratio, axes)
    force = info.reaction(body)[np.isclose(world.models[0].rest[:, 0], SIDE), 0].sum()
    assert force / SIDE**2 == pytest.approx(stress, rel=2e-3)
    assert state.points(body)[:, 2].max() / SIDE == pytest.approx(thin, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("element", ["hex8", "tet4"])
@pytest.mark.parametrize("law", ["neo-Hookean", "Mooney-Rivlin", "Yeoh", "Ogden"])
@pytest.mark.parametrize("poisson", [0.45, 0.49, 0.499])
@pytest.mark.parametrize(("ratio", "axes"), [(2.0, 1), (3.0, 1), (4.0, 1), (6.0, 1), (2.0, 2), (4.0, 2)])
def test_stretched_blocks_of_every_law(element, law, poisson, ratio, axes):
    material = rubber(law, poisson)
    world, body, ends = block(material, element, cells=(3, 3, 3), pulled="xy"[:axes])
    _, info = pl.QuasiStatic()(world, world.initial_state(), {end: pl.Displacement(SIDE * (ratio - 1)) for end in ends})
    force = info.reaction(body)[np.isclose(world.models[0].rest[:, 0], SIDE), 0].sum()
    assert force / SIDE**2 == pytest.approx(closed_form(material, ratio, axes)[0], rel=0.01)


@pytest.mark.parametrize("element", ["hex8", "tet4"])
@pytest.mark.parametrize("ratio", [1.3, 1.6, 1.8, 2.5])
def test_volume_goes_from_the_mean_to_the_cells_smoothly(element, ratio):
    """Forces and matrix are the slopes of energy and forces before, in and after the blend."""
    model = block(rubber("Mooney-Rivlin", 0.499), element)[0].models[0]
    rng = np.random.default_rng(0)
    q = model.rest * (ratio, ratio**-0.5, ratio**-0.5) + 0.01 * SIDE * rng.normal(size=model.rest.shape)
    d, h = rng.normal(size=q.shape), 1e-6 * SIDE
    square = ratio**2 + 2.0 / ratio
    assert (model.split_at(q) is None) == (square < MEAN)
    assert (square > WHOLE) == (ratio == 2.5)
    values = model.blocks()
    energy, force = model.assemble(q, mass=0.0, stiffness=1.0, tangent=Tangent.EXACT, values=values)
    ahead, behind = model.internal(q + h * d), model.internal(q - h * d)
    assert energy == pytest.approx(model.internal(q)[0], rel=1e-12)
    assert np.vdot(force, d) == pytest.approx((ahead[0] - behind[0]) / (2.0 * h), rel=1e-6)
    slope = (ahead[1] - behind[1]) / (2.0 * h)
    assert BlockMatrix(model.pattern, values).matvec(d) == pytest.approx(slope, abs=1e-6 * np.abs(slope).max())


def test_a_block_turned_through_itself_is_seen():
    """Two stretches that change sign together leave det F positive at both ends; a third of a turn does not flatten."""
    model = block(rubber("neo-Hookean", 0.45), "hex8")[0].models[0]
    rest = model.rest
    assert model.least_volume_ratio(rest * (2.0, -0.7, -0.7)) > 0.0
    assert model.flips(rest, rest * (2.0, -0.7, -0.7))
    assert not model.flips(rest, rest * (2.0, 0.7, 0.7))
    c, s = np.cos(2.1), np.sin(2.1)
    assert not model.flips(rest, rest @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]))
