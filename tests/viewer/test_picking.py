"""Points that are clicked at."""

from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.viewer.contents import SceneContents
from pliant.viewer.frame import world_frame
from pliant.viewer.picking import pick
from pliant.viewer.simulation import LiveSimulation
from pliant.viewer.world_subject import WorldSubject


@pytest.fixture(scope="module")
def placed():
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1))
    rubber = pl.materials.Corotated(young=1e5, poisson=0.4, density=1000)
    scene.add(pl.Volume(mesh, rubber, name="bar"), position=(1.0, 0, 0), rotation=(0, 0, np.pi / 2))
    return scene.compile()


def test_a_point_is_read_in_the_frame_of_the_mesh(placed):
    """Seen from above, the bar lies along y from x = 1: what is hit at y = 0.03 is x = 0.03 of its mesh."""
    frame = world_frame(placed.initial_state(), None)
    found = pick(SceneContents.of_world(placed), frame, (0.993, 0.03, 1.0), (0, 0, -1.0))
    np.testing.assert_allclose(found.position, [0.03, 0.007, 0.02], atol=1e-12)
    np.testing.assert_allclose(found.now, [0.993, 0.03, 0.02], atol=1e-12)
    assert found.text.startswith("bar: (0.0300, 0.0070, 0.0200) m in its mesh")


def test_a_click_beside_the_body_finds_nothing(placed):
    frame = world_frame(placed.initial_state(), None)
    assert pick(SceneContents.of_world(placed), frame, (0.5, 0.03, 1.0), (0, 0, -1.0)) is None
    assert pick(SceneContents.of_world(placed), frame, (0.993, 0.03, 1.0), (0, 0, 1.0)) is None


def test_the_panel_says_what_was_clicked(placed):
    with LiveSimulation(WorldSubject(placed), port=0) as viewer:
        viewer._show_pick(SimpleNamespace(ray_origin=(0.993, 0.03, 1.0), ray_direction=(0, 0, -1.0)))
        assert viewer.picked.visible
        assert "0.0300, 0.0070, 0.0200" in viewer.picked.content
