"""Worlds and runs in notebooks: a frame with the page in it."""

import html
import re

import pytest

import pliant as pl


@pytest.fixture(scope="module")
def world():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (4, 1, 1))
    scene.add(pl.Volume(mesh, pl.materials.dragon_skin_20(), clamp=pl.regions.plane(axis="x", at=0.0), name="arm"))
    return scene.compile()


def page(shown):
    frame = re.fullmatch(r'<iframe title="[^"]*" srcdoc="([^"]*)" style="[^"]*"></iframe>', shown)
    assert frame
    return html.unescape(frame.group(1))


def test_a_run_plays_in_a_notebook(world):
    run = pl.simulate(world, pl.ImplicitEuler(0.01), until=0.2)
    text = page(run._repr_html_())
    assert text.startswith("<!")
    assert len(re.search(r'"times":\[([^\]]*)\]', text).group(1).split(",")) == 6


def test_a_world_shows_its_initial_state(world):
    text = page(world._repr_html_())
    assert len(re.search(r'"times":\[([^\]]*)\]', text).group(1).split(",")) == 1
