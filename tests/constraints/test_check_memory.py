"""Memories of constraints, perhaps read from a file: only what the rows of the same kind may have left is taken."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints import RowView

RUBBER = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)


@pytest.fixture(scope="module")
def world():
    """Contacts with and without friction, a cable, an attachment and a spring."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1)), RUBBER))
    scene.add(pl.Cable(body, [(0.0, 0.01, 0.01), (0.05, 0.01, 0.015), (0.1, 0.01, 0.01)]))
    scene.attach(body, points=[(0.0, 0.0, 0.0)])
    scene.add(pl.Spring(body, None, (0.1, 0.0, 0.02), (0.1, 0.0, 0.1), stiffness=1.0))
    for friction, x in ((0.0, 0.03), (0.4, 0.07)):
        ball = pl.Obstacle.sphere(center=(x, 0.01, -0.0101), radius=0.01, name=f"ball at {x}")
        scene.collide(body, scene.add(ball), friction=friction)
    return scene.compile()


def test_each_takes_its_own_memory_and_no_other(world):
    view = RowView.of(world.models, time=0.01, dt=0.01)
    memories = [constraint.rows_at(view)[1] for constraint in world.constraints]
    kinds = {type(memory) for memory in memories}
    assert len(kinds) >= 2  # of contacts, and none
    for constraint, own in zip(world.constraints, memories, strict=True):
        if own is not None:
            constraint.check_memory(own)
        for memory in [*memories, object(), np.zeros(3), "text"]:
            if type(memory) is type(own) or memory is None:
                continue
            with pytest.raises(pl.InputError, match=f"the memory of {constraint.name!r} must be a"):
                constraint.check_memory(memory)
