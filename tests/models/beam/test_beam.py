"""Beams as a person writes them: frames, masses, and what is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.lie import rotation_exp
from pliant.models.beam import BeamModel

ROD = {"section": pl.sections.Circle(0.01), "young": 1e6, "poisson": 0.3, "density": 1e3}
LINE = np.linspace((0, 0, 0), (1, 0, 0), 5)


def test_a_chain_is_the_default():
    np.testing.assert_array_equal(pl.Beam(LINE, **ROD).element_nodes, [(0, 1), (1, 2), (2, 3), (3, 4)])


def test_frames_point_along_and_up():
    beam = pl.Beam([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)], **ROD)
    np.testing.assert_allclose(beam.element_frames[0], np.eye(3), atol=1e-15)
    np.testing.assert_allclose(beam.element_frames[1], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    np.testing.assert_allclose(beam.element_frames[2][:, 2], [1, 0, 0], atol=1e-15)  # along `up` itself
    half = np.sqrt(0.5)
    np.testing.assert_allclose(beam.node_frames[1], [[half, -half, 0], [half, half, 0], [0, 0, 1]], atol=1e-15)
    for frames in (beam.node_frames, beam.element_frames):
        np.testing.assert_allclose(
            frames.transpose(0, 2, 1) @ frames, np.broadcast_to(np.eye(3), frames.shape), atol=1e-14
        )
        np.testing.assert_allclose(np.linalg.det(frames), 1.0)


def test_given_frames_turn_the_section():
    """A flat strip bends easily about its width; turned by a quarter it does not."""
    strip = {**ROD, "section": pl.sections.Rectangle(0.02, 0.005), "clamp": [0]}
    turned = np.broadcast_to(rotation_exp(np.array([np.pi / 2, 0, 0])), (4, 3, 3))
    sags = []
    for frames in (None, turned):
        scene = pl.Scene()
        beam = scene.add(pl.Beam(LINE, frames=frames, **strip))
        scene.add(pl.PointLoad(beam, [4], (0, 0, -1e-6)))
        world = scene.compile()
        sags.append(-pl.QuasiStatic()(world, world.initial_state())[0].displacements(beam)[-1, 2])
    assert sags[0] / sags[1] == pytest.approx(16.0, rel=1e-3)


def test_mass_and_rotary_inertia(network):
    beam = network()
    model = BeamModel.compiled(beam)
    length = model.elements.length.sum()
    assert model.mass.sum() == pytest.approx(1e3 * beam.section.area * length)
    roots = np.linalg.eigvalsh(model.inertia)
    assert roots.min() > 0.0
    polar = sum(beam.section.second_moments)
    assert np.trace(model.inertia, axis1=1, axis2=2).sum() == pytest.approx(2 * 1e3 * polar * length)


def test_placed_beams_stand_turned_and_shifted():
    scene = pl.Scene()
    beam = scene.add(pl.Beam(LINE, **ROD), position=(0, 0, 1), rotation=(0, 0, np.pi / 2))
    state = scene.compile().initial_state()
    np.testing.assert_allclose(state.points(beam)[-1], [0, 1, 1], atol=1e-15)
    np.testing.assert_allclose(state.frames(beam)[2][:, 0], [0, 1, 0], atol=1e-15)
    assert state.elastic_energy(beam).sum() < 1e-25


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"points": LINE[:1]}, "needs two"),
        ({"points": np.zeros((3, 3))}, "piece 0 .* has the length 0 m"),
        ({"edges": [(0, 1), (1, 2), (2, 3)]}, "node 4 of 'beam' belongs to no piece"),
        ({"edges": [(0, 1), (1, 2), (2, 3), (3, 5)]}, r"edges of 'beam' must be 0 … 4, but 1 are not: row 3"),
        ({"edges": [(0, 1), (1, 0), (1, 2), (2, 3), (3, 4)]}, "the same pair of nodes twice"),
        ({"edges": [0, 1]}, r"shape \(m, 2\)"),
        ({"young": -1.0}, "young of 'beam'"),
        ({"poisson": 0.6}, "poisson of 'beam'"),
        ({"density": 0.0}, "density of 'beam'"),
        ({"section": 0.01}, "one of pl.sections"),
        ({"clamp": [7]}, "node 7"),
        ({"contact_points": 0}, "contact_points"),
        ({"up": (0, 0, 0)}, "up of 'beam'"),
        ({"frames": np.broadcast_to(np.eye(3) * 2, (4, 3, 3))}, "must be rotations"),
        ({"frames": np.broadcast_to(rotation_exp(np.array([0, 0, 1.0])), (4, 3, 3))}, "must point along piece"),
    ],
)
def test_bad_beams_name_what_is_wrong(change, text):
    given = {"points": LINE, **ROD, **change}
    with pytest.raises(pl.PliantError, match=text):
        pl.Beam(given.pop("points"), **given)


def test_a_beam_that_cannot_move_is_refused():
    scene = pl.Scene()
    scene.add(pl.Beam(LINE, clamp=pl.regions.everything(), **ROD))
    with pytest.raises(pl.InputError, match="is constrained"):
        scene.compile()
