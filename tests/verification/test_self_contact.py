"""Self-contact: a slotted beam that bends closes its slot and stops there, instead of passing through itself."""

import numpy as np
import pytest

import pliant as pl

WIDTH = 0.002


def jaw():
    """A C-shaped body: a box of 60 × 10 × 22 mm with a slot of 2 mm along x in its middle, open at x = 60 mm."""
    mesh = pl.mesh.box((0.06, 0.01, 0.022), (12, 2, 11))
    centers = mesh.points[mesh.cells].mean(axis=1)
    slot = (centers[:, 0] > 0.01) & (np.abs(centers[:, 2] - 0.011) < 0.5 * WIDTH)
    nodes, cells = np.unique(mesh.cells[~slot], return_inverse=True)
    return pl.mesh.Mesh(mesh.points[nodes], cells.reshape(-1, 4).astype(np.int32), "tet4")


def closed(collide):
    mesh = jaw()
    scene = pl.Scene()
    rubber = pl.materials.Corotated(young=2e5, poisson=0.3, density=1e3)
    clamp = pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(mesh, rubber, clamp=clamp, damping=pl.Rayleigh(stiffness=0.02)))
    top, bottom = (0.06, 0.005, 0.021), (0.06, 0.005, 0.001)
    cable = scene.add(pl.Cable(body, [top, bottom]))
    if collide:
        scene.collide(body, body, margin=0.5 * WIDTH)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.005)
    gap, widths = slot_width(mesh), []
    for k in range(150):
        state, info = step(world, state, {cable: pl.Displacement(6e-5 * min(k, 100))})
        widths.append(gap(state.points(body)))
    return np.array(widths), info, body, cable


def slot_width(mesh):
    """Function of positions: least distance of the upper over the lower lip at the nodes that face each other, m."""
    p = mesh.points
    upper = np.flatnonzero((np.abs(p[:, 2] - 0.012) < 1e-6) & (p[:, 0] > 0.011))
    lower = [int(np.argmin(np.linalg.norm(p - (p[k] - (0, 0, WIDTH)), axis=1))) for k in upper]
    return lambda q: float((q[upper, 2] - q[lower, 2]).min())


@pytest.fixture(scope="module")
def with_contact():
    return closed(True)


def test_without_self_contact_the_lips_pass_through_each_other():
    widths, _, _, _ = closed(False)
    assert widths[-1] < -1e-3


def test_with_self_contact_they_stop(with_contact):
    """Penetration at most 0.1 mm at any time, and the lips press on each other."""
    widths, info, body, _ = with_contact
    print(f"narrowest {1e3 * widths.min():.4f} mm, end {1e3 * widths[-1]:.4f} mm")
    assert widths.min() >= -1e-4
    assert abs(widths[-1]) < 1e-4
    contacts = info.contacts(body, body)
    assert np.linalg.norm(contacts.forces, axis=1).sum() > 0.01


def test_pressing_needs_more_force(with_contact):
    """The cable pulls harder against closed lips than the same shortening needs without contact."""
    _, info, _, cable = with_contact
    _, free, _, other = closed(False)
    assert info.actuation(cable)[1] > 1.2 * free.actuation(other)[1]
