"""Rods whose cross-section tapers inside their sections."""

import numpy as np
import pytest
from scipy.integrate import quad

import pliant as pl
from pliant.models.rod import RodModel

THICK, THIN, YOUNG = 15.41e-3, 6.42e-3, 3e5
ROD = {"young": YOUNG, "poisson": 0.45, "density": 1080.0}


def _tapered(sections, **options):
    taper = pl.sections.Taper(pl.sections.Circle(THICK), pl.sections.Circle(THIN))
    return pl.Rod(sections=sections, **{"length": 0.305, "section": taper, **ROD, **options})


@pytest.mark.parametrize("sections", [1, 2, 5])
def test_mass_and_mean_stiffness_are_those_of_the_cone(sections):
    """Mass π ρ L (R² + R r + r²)/3, centre of mass, and Σ k l² = ∫ E I ds = E π/4 L (R⁵ − r⁵)/5(R − r)."""
    model = RodModel.compiled(_tapered(sections, base="free"))
    M = model.mass_matrix(model.sweep(model.rest))
    R, r, L = THICK, THIN, 0.305
    mass = np.pi * 1080.0 * L / 3.0 * (R * R + R * r + r * r)
    np.testing.assert_allclose(M[:3, :3], mass * np.eye(3), rtol=1e-13, atol=1e-15)
    center = 0.25 * L * (R * R + 2 * R * r + 3 * r * r) / (R * R + R * r + r * r)
    assert abs(M[1, 5]) == pytest.approx(mass * center, rel=1e-12)
    along = quad(lambda s: np.pi * 1080.0 * (R + (r - R) * s / L) ** 2 * s * s, 0, L)[0]
    across = quad(lambda s: 0.25 * np.pi * 1080.0 * (R + (r - R) * s / L) ** 4, 0, L)[0]
    assert M[5, 5] == pytest.approx(along + across, rel=1e-12)
    bending = YOUNG * 0.25 * np.pi * L * (R**5 - r**5) / (5.0 * (R - r))
    assert (model.stiffness[::2, 1] * model.spec.lengths**2).sum() == pytest.approx(bending, rel=1e-12)


def test_a_taper_of_equal_ends_is_the_cross_section():
    for one in (pl.sections.Circle(0.01), pl.sections.Tube(0.01, 0.004), pl.sections.Rectangle(0.01, 0.02)):
        same, plain = (
            RodModel.compiled(_tapered(3, section=section)) for section in (pl.sections.Taper(one, one), one)
        )
        np.testing.assert_allclose(same.stiffness, plain.stiffness, rtol=1e-14)
        np.testing.assert_allclose(same.stations.mu, plain.stations.mu, rtol=1e-14)
        np.testing.assert_allclose(same.axis().radii, plain.axis().radii, rtol=1e-14)
        np.testing.assert_allclose(same.skin().map.offset, plain.skin().map.offset, atol=1e-17)


@pytest.mark.parametrize("seed", range(4))
def test_random_tapers_are_integrated_along_every_section(seed):
    """Means of EI, EA, GJ and κGA, and masses, against quadrature of another kind at random cuts."""
    rng = np.random.default_rng(seed)
    kind = (pl.sections.Circle, pl.sections.Rectangle, pl.sections.Tube)[seed % 3]
    sizes = rng.uniform(0.004, 0.02, (2, 2))
    ends = [pl.sections.Tube(*sorted(s)[::-1]) if seed % 3 == 2 else kind(*s[: 1 + (seed % 3 == 1)]) for s in sizes]
    taper, lengths = pl.sections.Taper(*ends), rng.uniform(0.02, 0.1, 3)
    model = RodModel.compiled(_tapered(3, length=lengths, section=taper))
    ratio = np.concatenate([[0.0], np.cumsum(lengths)]) / lengths.sum()
    G = YOUNG / 2.9
    values = {
        (0, 0): lambda s: G * s.torsion_constant,
        (0, 1): lambda s: YOUNG * s.second_moments[0],
        (0, 2): lambda s: YOUNG * s.second_moments[1],
        (1, 0): lambda s: YOUNG * s.area,
        (1, 1): lambda s: s.shear_correction(0.45) * G * s.area,
    }
    for k in range(3):
        for (row, column), value in values.items():
            mean = quad(lambda t, v=value: v(taper.at(t)), *ratio[k : k + 2], epsrel=1e-10)[0] / np.diff(ratio)[k]
            assert model.stiffness[2 * k + row, column] * lengths[k] == pytest.approx(mean, rel=1e-9)
    mass = quad(lambda t: 1080.0 * taper.at(t).area, 0, 1)[0] * lengths.sum()
    assert model.stations.mu[:, 0].sum() == pytest.approx(mass, rel=1e-10)


def _deflection(sections, radii=(THICK, THIN)):
    ends = [pl.sections.Circle(r) for r in radii]
    scene = pl.Scene(gravity=(0, 0, 0))
    rod = scene.add(_tapered(sections, section=pl.sections.Taper(*ends), strains=("bend_y",)))
    scene.add(pl.RodLoad(rod, 0.305, (0, 0, 1e-6)))
    world = scene.compile()
    return pl.QuasiStatic()(world, world.initial_state())[0].points(rod)[-1, 2]


def test_the_tapered_cantilever_converges_with_few_sections():
    """δ = 4 F L³/(3 π E R³ r) of a cone under a force at its thin end; the error is O(l²)."""
    exact = 4e-6 * 0.305**3 / (3.0 * np.pi * YOUNG * THICK**3 * THIN)
    errors = [_deflection(n) / exact - 1.0 for n in (2, 4, 8, 16)]
    assert all(-bound < error < 0.0 for error, bound in zip(errors, (0.04, 0.016, 0.005, 0.0015), strict=True))
    assert errors[2] / errors[3] == pytest.approx(4.0, rel=0.15)


def test_contacts_regions_and_pictures_follow_the_taper():
    model = RodModel.compiled(_tapered(4))
    shape = model.contact_shape()
    np.testing.assert_allclose(shape.radii, np.linspace(THICK, THIN, 17), rtol=1e-12)
    axis = model.axis()
    np.testing.assert_allclose(axis.radii, np.linspace(THICK, THIN, 33)[1::2], rtol=1e-12)
    skin = model.skin()
    radii = np.linalg.norm(skin.map.offset, axis=1)
    assert radii.max() == pytest.approx(THICK)
    assert radii[(skin.map.section == 3) & (skin.map.fraction == 1.0)].max() == pytest.approx(THIN)
    model.embed(np.array([[0.0, 0.0, 0.0154]]), what="base")
    with pytest.raises(pl.InputError, match=r"section reaches 0\.00642 m"):
        model.embed(np.array([[0.305, 0.0, 0.0154]]), what="tip")


def test_tapers_cut_themselves_and_are_stored(tmp_path):
    tip = pl.sections.Taper(pl.sections.Circle(THIN), pl.sections.Circle(4.8e-3))
    body = pl.sections.Taper(pl.sections.Circle(THICK), pl.sections.Circle(THIN))
    pieces = body.pieces([1, 2, 1])
    assert [p.end.radius for p in pieces] == pytest.approx([THICK - 0.25 * (THICK - THIN), 8.6675e-3, THIN])
    lengths = [0.061] * 5 + [0.0275] * 2
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rod = scene.add(pl.Rod(lengths, 7, section=[*body.pieces(5), *tip.pieces(2)], **ROD))
    world = scene.compile()
    world.save(tmp_path / "world.npz")
    again = pl.load(tmp_path / "world.npz")
    np.testing.assert_array_equal(again.models[0].stiffness, world.models[0].stiffness)
    state = pl.ImplicitEuler(0.01)(world, world.initial_state())[0]
    assert state.points(rod)[-1, 2] < 0.0


def test_bad_tapers_say_what_is_wrong():
    circle = pl.sections.Circle(0.01)
    with pytest.raises(pl.InputError, match="one kind"):
        pl.sections.Taper(circle, pl.sections.Rectangle(0.01, 0.01))
    with pytest.raises(pl.InputError, match="one kind"):
        pl.sections.Taper(pl.sections.Taper(circle, circle), pl.sections.Taper(circle, circle))
    with pytest.raises(pl.InputError, match="radius"):
        pl.sections.Taper(circle, pl.sections.Circle(0.0))
    with pytest.raises(pl.InputError, match="count or lengths"):
        pl.sections.Taper(circle, circle).pieces([1.0, -1.0])
    with pytest.raises(pl.InputError, match=r"for pl\.Rod"):
        pl.Beam([(0, 0, 0), (1, 0, 0)], section=pl.sections.Taper(circle, circle), **ROD)
