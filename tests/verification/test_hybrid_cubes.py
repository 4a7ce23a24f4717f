"""Three cubes on a surface and on each other: 36 states, vertices and edges as constraints."""

import dataclasses

import numpy as np
import pytest

from pliant.hybrid import Mode, Restitution, falling_cubes, integrate
from pliant.hybrid.bodies.free_bodies import rotations, turning

SIDE, GRAVITY = 0.1, 9.81
INERTIA = SIDE**2 / 6.0
QUICK = {"rtol": 1e-6, "atol": 1e-8}
PILE = {
    "positions": [(0.0, 0.0, 0.09), (0.03, 0.01, 0.25), (-0.02, 0.02, 0.42)],
    "rotation_vectors": [(0.05, -0.04, 0.3), (0.3, 0.2, 0.5), (-0.3, 0.5, 0.7)],
}


def energy(cubes, q, v):
    return 0.5 * v @ cubes.mass(q) @ v + GRAVITY * q.reshape(-1, 6)[:, 2].sum()


def penetration(cubes, solution):
    """The deepest (m) that a vertex or an edge was in the surface or in another cube."""
    surface, pairs = cubes.constraints
    which = np.arange(pairs.count)
    deepest = 0.0
    for q in solution.q:
        counted = pairs.scope(q, which) > 0.0
        deepest = min(deepest, surface.gap(q).min(), pairs.gap(q, which[counted]).min(initial=0.0))
    return -deepest


def momenta(q, v):
    """Linear (3,) and angular momentum about the origin (3,) of cubes of 1 kg."""
    (x, theta), (u, rate) = (y.reshape(-1, 2, 3).swapaxes(0, 1) for y in (q, v))
    spin = np.einsum("kij,kjl,kl->ki", rotations(theta), turning(theta), rate)
    return np.concatenate([u.sum(axis=0), (np.cross(x, u) + INERTIA * spin).sum(axis=0)])


@pytest.mark.slow
@pytest.mark.parametrize("start", [{}, PILE], ids=["apart", "onto each other"])
def test_three_cubes_come_down_without_penetration_and_without_gaining_energy(start):
    cubes = falling_cubes(**start)
    assert 2 * cubes.coordinate_count == 36
    assert len(cubes.row_names) == 24 + 3 * 240
    solution = integrate(cubes, until=1.0, sample=0.02, **QUICK)
    assert solution.status.ok
    assert len(solution.events) < 500
    assert penetration(cubes, solution) < 1e-6
    final = solution.final.q.reshape(3, 6)
    assert final[:, 2] == pytest.approx(0.05, abs=5e-4)  # all three lie on the surface in the end
    energies = np.array([energy(cubes, q, v) for q, v in zip(solution.q, solution.v, strict=True)])
    assert energies.max() <= energies[0] + 1e-9
    # a contact that closes slower than the rest speed gives back what the weight did while it was pressed in
    depth = cubes.constraints[0].restitution.rest_speed / (30.0 * np.e)
    assert (energies - np.minimum.accumulate(energies)).max() < 3.0 * GRAVITY * depth
    assert energies[-1] < 0.25 * energies[0] if start else energies[-1] == pytest.approx(3.0 * GRAVITY * 0.05, rel=1e-4)


def test_a_flat_cube_lands_on_four_vertices_at_once():
    cube = falling_cubes(positions=[(0.0, 0.0, 0.1)], rotation_vectors=[(0.0, 0.0, 0.2)])
    solution = integrate(cube, until=0.6, sample=0.02)
    first = solution.events[0].time
    assert first == pytest.approx(np.sqrt(2.0 * 0.05 / 9.81), abs=1e-10)
    assert sum(event.time == first for event in solution.events) == 4
    assert np.abs(solution.q[:, 3:5]).max() < 1e-9  # it does not tip: the four impacts are solved together
    assert solution.redundant == 1
    held = solution.final.modes == Mode.CONTACT
    assert solution.final.lam[held] == pytest.approx(9.81 / 4.0, rel=1e-6)


@pytest.mark.parametrize(
    ("offsets", "rotation_vectors"),
    [((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), ((0.0, 0.01, -0.005), (0.0, 0.2, 0.9)), ((0.0, 0.03, 0.0), (0.1, 0.0, 0.3))],
    ids=["aligned", "twisted", "set off"],
)
def test_a_stack_carries_the_weights_above(offsets, rotation_vectors):
    positions = [(x, 0.5 * x, 0.05 + 0.1002 * k) for k, x in enumerate(offsets)]
    cubes = falling_cubes(positions=positions, rotation_vectors=[(0.0, 0.0, turn) for turn in rotation_vectors])
    solution = integrate(cubes, until=0.8, sample=None, rtol=1e-8, atol=1e-10)
    final = solution.final
    assert final.q.reshape(3, 6)[:, 2] == pytest.approx([0.05, 0.15, 0.25], abs=1e-7)
    loads = [final.lam[:24].sum(), *final.lam[24:].reshape(3, 240).sum(axis=1)]
    weight = GRAVITY
    assert loads == pytest.approx([3.0 * weight, 2.0 * weight, 0.0, weight], abs=1e-6)  # pairs 12, 13, 23
    assert final.lam.min() >= 0.0
    assert np.abs(final.v).max() < 1e-6
    if any(rotation_vectors):
        assert (final.modes[24:].reshape(3, 240)[:, 96:] == Mode.CONTACT).any()  # edges that cross carry, too


def floating(positions, rotation_vectors, velocities, **options):
    """Cubes without weight, far above the surface."""
    cubes = falling_cubes(positions=positions, rotation_vectors=rotation_vectors, gravity=0.0, **options)
    return dataclasses.replace(cubes, v0=np.asarray(velocities, float).ravel())


@pytest.mark.parametrize("e", [0.2, 0.5, 1.0])
def test_an_impact_of_two_cubes_keeps_their_momenta(e):
    """Vertex on face, off centre: linear and angular momentum are kept, and the energy lost is (1 − e²) of the normal
    part, ½ ḣ²/(h M⁻¹hᵀ).
    """
    cubes = floating(
        [(0.0, 0.0, 1.0), (0.02, 0.03, 1.2)], [(0.1, 0.2, 0.1), (0.5, -0.4, 0.3)],
        [(0.1, 0.0, 0.2, 0.5, 0.0, -0.3), (0.0, 0.1, -1.0, 0.3, 1.0, 0.0)], restitution=Restitution(e, rest_speed=0.0),
    )  # fmt: skip
    tight = {"sample": None, "rtol": 1e-10, "atol": 1e-12}
    time = float(integrate(cubes, until=0.1, **tight).events[0].time)
    solution = integrate(cubes, until=time + 1e-7, **tight)
    assert len(solution.events) == 1
    q0, v0, final = cubes.q0, cubes.v0, solution.final
    assert momenta(final.q, final.v) == pytest.approx(momenta(q0, v0), abs=1e-9)
    row = solution.events[0].row - 16
    _, H, _ = cubes.constraints[1].rows(final.q, final.v, np.array([row]))
    speed = float(solution.events[0].cause.split()[-2])
    lost = 0.5 * (v0 @ cubes.mass(q0) @ v0 - final.v @ cubes.mass(final.q) @ final.v)
    ease = float((H @ np.linalg.solve(cubes.mass(final.q), H.T))[0, 0])
    assert lost == pytest.approx(0.5 * (1.0 - e**2) * speed**2 / ease, rel=1e-5, abs=1e-9)
    assert (lost > 0.01) == (e < 1.0)


def test_crossing_edges_meet_when_they_must():
    """Two cubes on edge, turned about x and about y, meet ridge on ridge and fly apart without turning."""
    gap, speed = 0.02, 0.5
    up = 1.0 + np.sqrt(2.0) * SIDE + gap
    cubes = floating(
        [(0.0, 0.0, 1.0), (0.0, 0.0, up)], [(np.pi / 4, 0.0, 0.0), (0.0, np.pi / 4, 0.0)],
        [(0.0,) * 6, (0.0, 0.0, -speed, 0.0, 0.0, 0.0)], restitution=Restitution(1.0),
    )  # fmt: skip
    solution = integrate(cubes, until=0.1, sample=None)
    assert len(solution.events) == 1
    assert solution.events[0].time == pytest.approx(gap / speed, abs=1e-10)
    assert solution.events[0].row - 16 >= 96
    assert solution.final.v == pytest.approx(np.array([0.0] * 2 + [-speed] + [0.0] * 9), abs=1e-9)


def test_a_symmetric_drop_stays_symmetric():
    """Two cubes that mirror each other fall onto a third between them; reflection in the plane x = 0 maps all."""
    tilt = 0.25
    cubes = falling_cubes(
        positions=[(0.0, 0.0, 0.05), (-0.07, 0.0, 0.19), (0.07, 0.0, 0.19)],
        rotation_vectors=[(0.0, 0.0, 0.0), (0.0, tilt, 0.0), (0.0, -tilt, 0.0)],
    )
    solution = integrate(cubes, until=0.3, sample=0.02, **QUICK)
    assert any(event.row >= 24 for event in solution.events)
    mirror = np.array([-1.0, 1.0, 1.0, 1.0, -1.0, -1.0])  # of a place and of a rotation vector
    q = solution.q.reshape(-1, 3, 6)
    assert q[:, 2] == pytest.approx(q[:, 1] * mirror, abs=1e-6)
    assert q[:, 0] == pytest.approx(q[:, 0] * mirror, abs=1e-6)
    assert penetration(cubes, solution) < 1e-6


def test_a_cube_beyond_the_edge_tips_over_it():
    """Its centre 10 mm beyond the edge of the cube below, it turns about that edge: it leaves faces and vertices."""
    cubes = falling_cubes(
        positions=[(0.0, 0.0, 0.05), (0.06, 0.0, 0.1502)], rotation_vectors=[(0.0, 0.0, 0.0), (0.0, 0.0, 0.2)]
    )
    solution = integrate(cubes, until=0.25, sample=0.02, **QUICK)
    assert solution.status.ok
    assert penetration(cubes, solution) < 1e-6
    assert solution.final.q[10] > 0.1  # it turns about y, outwards
    assert solution.final.q[8] < 0.149
