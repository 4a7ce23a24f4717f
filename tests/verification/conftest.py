"""What the verification tests share: bodies on distorted meshes, one of each element kind."""

import numpy as np
import pytest

import pliant as pl


def distorted(mesh, *, amount=0.25, seed=0):
    """`mesh` of straight cells with its interior corner nodes moved by up to `amount` of the shortest edge."""
    lower, upper = mesh.bounds
    slack = 1e-9 * np.linalg.norm(upper - lower)
    inside = ((mesh.points > lower + slack) & (mesh.points < upper - slack)).all(axis=1)
    edges = mesh.edges()
    shortest = np.linalg.norm(mesh.points[edges[:, 0]] - mesh.points[edges[:, 1]], axis=1).min()
    kick = amount * shortest * np.random.default_rng(seed).uniform(-1.0, 1.0, mesh.points.shape)
    return mesh.mapped(lambda x: x + np.where(inside[:, None], kick, 0.0))


@pytest.fixture(scope="session")
def distorted_box():
    """A box of `cells` cells of an element, its interior distorted."""

    def build(element, cells=(3, 3, 3), size=(1.0, 1.0, 1.0), amount=0.25):
        base = pl.mesh.box(size, cells, element="hex8" if element == "hex8" else "tet4", symmetric="")
        return distorted(base, amount=amount).with_element(element)

    return build


@pytest.fixture(scope="session")
def interior():
    """Which nodes of a box mesh lie inside it."""

    def select(mesh):
        lower, upper = mesh.bounds
        return ((mesh.points > lower + 1e-9) & (mesh.points < upper - 1e-9)).all(axis=1)

    return select


@pytest.fixture(scope="session")
def model_of():
    """The compiled model of one body without loads."""

    def build(mesh, material, **options):
        scene = pl.Scene()
        scene.add(pl.Volume(mesh, material, **options))
        return scene.compile().models[0]

    return build
