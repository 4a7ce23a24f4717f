"""Three cubes on a surface: 36 states, 24 vertices; they land without penetration and come to rest on their faces."""

import numpy as np
import pytest

import pliant as pl
from pliant.hybrid import Mode, falling_cubes, integrate


@pytest.mark.slow
def test_three_cubes_come_to_rest_on_their_faces():
    cubes = falling_cubes()
    assert 2 * cubes.coordinate_count == 36
    assert len(cubes.row_names) == 24
    solution = integrate(cubes, until=1.0, sample=0.02, rtol=1e-6, atol=1e-8)
    assert solution.status.ok
    surface = cubes.constraints[0]
    assert min(surface.gap(q).min() for q in solution.q) > -1e-6
    final = solution.final.q.reshape(3, 6)
    assert final[:, 2] == pytest.approx(0.05, abs=1e-5)
    assert np.abs(final[:, 3:5]).max() < 1e-4  # flat: only the turn about the vertical is left
    assert solution.final.lam.sum() == pytest.approx(3.0 * 9.81, rel=1e-4)

    def energy(q, v):
        return 0.5 * v @ cubes.mass(q) @ v + 9.81 * q.reshape(3, 6)[:, 2].sum()

    energies = [energy(q, v) for q, v in zip(solution.q, solution.v, strict=True)]
    assert max(energies) <= energies[0] + 1e-9
    assert energies[-1] == pytest.approx(3.0 * 9.81 * 0.05, rel=1e-4)


def test_a_flat_cube_lands_on_four_vertices_at_once():
    cube = falling_cubes(places=[(0.0, 0.0, 0.1)], turns=[(0.0, 0.0, 0.2)])
    solution = integrate(cube, until=0.6, sample=0.02)
    first = solution.events[0].time
    assert first == pytest.approx(np.sqrt(2.0 * 0.05 / 9.81), abs=1e-10)
    assert sum(event.time == first for event in solution.events) == 4
    assert np.abs(solution.q[:, 3:5]).max() < 1e-9  # it does not tip: the four impacts are solved together
    assert solution.redundant == 1
    held = solution.final.modes == Mode.CONTACT
    assert solution.final.lam[held] == pytest.approx(9.81 / 4.0, rel=1e-6)


def test_cubes_that_could_meet_are_refused():
    with pytest.raises(pl.InputError, match="apart"):
        falling_cubes(places=((0.0, 0.0, 0.1), (0.1, 0.0, 0.3)), turns=np.zeros((2, 3)))
