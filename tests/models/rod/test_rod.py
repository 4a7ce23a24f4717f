"""What a person writes: checks and their messages, rest shapes, bases."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.rod import RodModel

ROD = {"section": pl.sections.Circle(0.01), "young": 1e6, "poisson": 0.3, "density": 1e3}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 0.0}, "length of 'rod' must be > 0"),
        ({"length": (0.1, 0.0, 0.1)}, "section 1 of 'rod' has the length 0 m"),
        ({"length": (0.1, 0.1)}, "one number or 3"),
        ({"sections": 0}, "sections of 'rod'"),
        ({"strains": ("bend_x",)}, "'bend_x' is none of twist"),
        ({"strains": ()}, "must be different ones"),
        ({"strains": ("twist", "twist")}, "must be different ones"),
        ({"section": 0.01}, "one of pl.sections"),
        ({"section": [pl.sections.Circle(0.01)] * 2}, "one or 3, one for each"),
        ({"rest_strain": (1.0, 2.0)}, "shape \\(6,\\) or \\(3, 6\\)"),
        ({"rest_strain": (0, 0, 0, -1.0, 0, 0)}, "no length"),
        ({"start_strain": (1.0, 2.0)}, "start_strain of 'rod' must have shape"),
        ({"base": "clamped"}, "base of 'rod' must be 'fixed'"),
        ({"poisson": 0.6}, "poisson of 'rod'"),
        ({"young": -1.0}, "young of 'rod'"),
        ({"contact_points": 0}, "contact_points of 'rod'"),
    ],
)
def test_nonsense_is_named(options, message):
    with pytest.raises(pl.InputError, match=message):
        pl.Rod(**{"length": 1.0, "sections": 3, **ROD, **options})


def test_a_negative_radius_and_a_zero_axis_are_named():
    with pytest.raises(pl.InputError, match="radius of a Circle must be > 0"):
        pl.Rod(1.0, 2, **{**ROD, "section": pl.sections.Circle(-0.01)})
    with pytest.raises(pl.InputError, match="axis of a Slide must not be zero"):
        pl.Slide((0, 0, 0))


def test_loads_and_supports_say_where_they_may_be():
    rod = pl.Rod(1.0, 2, **ROD)
    with pytest.raises(pl.InputError, match="goes from 0 to 1 m"):
        pl.RodLoad(rod, 1.2, (0, 0, 1))
    scene = pl.Scene()
    scene.add(rod)
    scene.add(pl.Support(rod, [1]))
    with pytest.raises(pl.InputError, match="node 0, not node 1"):
        scene.compile()
    scene = pl.Scene()
    turning = scene.add(pl.Rod(1.0, 2, base=pl.Turn((0, 0, 1)), **ROD))
    scene.add(pl.Support(turning, [0]))
    with pytest.raises(pl.InputError, match="is a Turn"):
        scene.compile()


def test_a_pre_bent_rod_rests_on_a_circle():
    rod = pl.Rod(1.0, 3, rest_strain=(0, 0, 2.0, 0, 0, 0), position=(1, 2, 3), **ROD)
    np.testing.assert_allclose(rod.node_points[-1] - (1, 2, 3), (np.sin(2) / 2, (1 - np.cos(2)) / 2, 0), atol=1e-15)
    np.testing.assert_allclose(rod.node_frames[-1][:, 0], (np.cos(2), np.sin(2), 0), atol=1e-15)


def test_a_pre_bent_rod_may_begin_straight_and_then_bends():
    """It begins with the energy ½ EI κ² L, and comes to rest on its circle."""
    scene = pl.Scene()
    bent = {"rest_strain": (0, 0, 2.0, 0, 0, 0), "start_strain": np.zeros(6), "damping": pl.Rayleigh(stiffness=1.0)}
    rod = scene.add(pl.Rod(1.0, 3, **bent, **ROD))
    world = scene.compile()
    state = world.initial_state()
    np.testing.assert_allclose(state.points(rod)[-1], (1, 0, 0), atol=1e-15)
    EI = world.models[0].stiffness[0, 2] / 3
    assert world.models[0].elastic_energy(state.q[0]) == pytest.approx(0.5 * EI * 2.0**2, rel=1e-12)
    state, _ = pl.QuasiStatic()(world, state)
    np.testing.assert_allclose(state.points(rod)[-1], (np.sin(2) / 2, (1 - np.cos(2)) / 2, 0), atol=1e-9)


def test_a_scene_places_a_rod_where_it_was_made_and_then_moves_it():
    scene = pl.Scene()
    rod = scene.add(pl.Rod(1.0, 2, position=(0, 1, 0), **ROD), position=(0, 0, 5), rotation=(0, 0, np.pi / 2))
    world = scene.compile()
    np.testing.assert_allclose(world.initial_state().points(rod), [(-1, 0, 5), (-1, 0.5, 5), (-1, 1, 5)], atol=1e-15)


def test_mass_and_stiffness_follow_the_sections():
    sections = [pl.sections.Circle(0.02), pl.sections.Tube(0.02, 0.015), pl.sections.Rectangle(0.02, 0.01)]
    model = RodModel.compiled(pl.Rod((0.1, 0.2, 0.3), 3, **{**ROD, "section": sections, "base": "free"}))
    mass = 1e3 * sum(length * s.area for length, s in zip((0.1, 0.2, 0.3), sections, strict=True))
    M = model.mass_matrix(model.sweep(model.rest))
    np.testing.assert_allclose(M[:3, :3], mass * np.eye(3), rtol=1e-14, atol=1e-14)
    twist = [s.torsion_constant * 1e6 / 2.6 / length for length, s in zip((0.1, 0.2, 0.3), sections, strict=True)]
    np.testing.assert_allclose(model.stiffness[::2, 0], twist, rtol=1e-14)


def test_only_what_the_base_may_do_is_free():
    models = {kind: RodModel.compiled(pl.Rod(1.0, 2, base=base, **ROD)) for kind, base in BASES.items()}
    free = {kind: (~model.constrained[:2]).sum() for kind, model in models.items()}
    assert free == {"fixed": 0, "free": 6, "slide": 1, "turn": 1}


BASES = {"fixed": "fixed", "free": "free", "slide": pl.Slide((0, 1, 1)), "turn": pl.Turn((0, 0, 1))}


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_sections_are_too_short_beside_the_longest_one_in_any_unit(scale):
    """Lengths that are zero but for rounding are refused, whatever the size of the rod."""
    options = {"section": pl.sections.Circle(1e-9 * scale), "young": 1e7, "poisson": 0.3, "density": 1e3}
    assert len(pl.Rod(np.array([1.0, 2e-9]) * scale, 2, **options).lengths) == 2
    for short in (0.9e-9, 0.0, -0.1):
        with pytest.raises(pl.InputError, match="section 1 of 'rod' has the length"):
            pl.Rod(np.array([1.0, short]) * scale, 2, **options).lengths  # noqa: B018
