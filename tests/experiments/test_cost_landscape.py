"""The cost over two actuators: pieces that tile the window, costs of the forward problem, true minima, a picture."""

import numpy as np
import pytest

import pliant as pl
from experiments import cost_landscape_plot
from experiments.cost_landscape import cost_landscape
from experiments.cost_landscape_plot import plot_cost_landscape
from pliant.solvers.inverse import QpccStatus, compliance_problem, solve_qpcc

OBSTACLES = (
    (0.167, -1, 1e-4), (0.208, -1, 4e-4), (0.333, -1, 8e-4), (0.375, -1, 6e-4), (0.417, -1, 1.3e-3), (0.583, 1, 1.3e-3),
    (0.667, -1, 2.1e-3), (0.708, 1, 3e-3), (0.792, -1, 3e-3), (0.833, 1, 2.7e-3), (0.917, 1, 3.6e-3),
)  # fmt: skip


def beam(obstacles=OBSTACLES, *, target=-0.0061, elements=24, length=0.2, stiffness=0.05, arm=0.01, **limits):
    """A slender cantilever (EI = `stiffness` N·m²) between point obstacles (place, side, gap), bent by two cables.

    One cable ends at 60 % of the length and bends down, the other at the tip and bends up; the effector is the tip.
    """
    h, n = length / elements, 2 * elements
    k = np.array([[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h]])
    k = np.vstack([k, [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h * h, -6 * h, 4 * h * h]]) * stiffness / h**3
    K = np.zeros((n + 2, n + 2))
    for e in range(elements):
        K[2 * e : 2 * e + 4, 2 * e : 2 * e + 4] += k
    compliance = np.linalg.inv(K[2:, 2:])
    effector, cables, contacts = np.zeros((1, n)), np.zeros((2, n)), np.zeros((len(obstacles), n))
    effector[0, -2] = 1.0
    cables[0, 2 * int(0.6 * elements) - 1], cables[1, -1] = -arm, arm
    for row, (place, side, _) in zip(contacts, obstacles, strict=True):
        row[2 * (round(place * elements) - 1)] = -side
    H = np.vstack([effector, cables, contacts])
    W = H @ compliance @ H.T
    W[1:3, 1:3] += 2e-5 * np.eye(2)
    return compliance_problem(
        W_ea=W[:1, 1:3], W_ec=W[:1, 3:], W_aa=W[1:3, 1:3], W_ac=W[1:3, 3:], W_cc=W[3:, 3:], delta_e=[-target],
        delta_c=[gap for *_, gap in obstacles], force_lower=0.0, force_upper=15.0, **limits,
    )  # fmt: skip


def area(polygon):
    following = np.roll(polygon, -1, axis=0)
    return 0.5 * float((polygon[:, 0] * following[:, 1] - polygon[:, 1] * following[:, 0]).sum())


def forward_cost(p, x):
    return p.objective(x, pl.solvers.lcp(p.W_cc, p.C_a @ x + p.c).solution)


@pytest.fixture(scope="module")
def problem():
    return beam()


@pytest.fixture(scope="module")
def landscape(problem):
    return cost_landscape(problem, resolution=41)


def test_the_pieces_tile_the_window(landscape):
    areas = [area(piece.polygon) for piece in landscape.pieces]
    assert min(areas) > 0.0
    assert sum(areas) == pytest.approx(15.0**2, rel=1e-9)
    assert len({piece.active for piece in landscape.pieces}) == len(landscape.pieces) == 17


def test_the_cost_is_that_of_the_forward_problem(problem, landscape):
    assert np.isfinite(landscape.cost).all()
    rng = np.random.default_rng(0)
    for i, j in rng.integers(41, size=(60, 2)):
        x = np.array([landscape.x1[j], landscape.x2[i]])
        assert landscape.cost[i, j] == pytest.approx(forward_cost(problem, x), rel=1e-7, abs=1e-14)


def test_each_piece_has_the_contact_forces_of_its_points(problem, landscape):
    for piece in landscape.pieces:
        x = piece.polygon.mean(axis=0)
        y = pl.solvers.lcp(problem.W_cc, problem.C_a @ x + problem.c).solution
        np.testing.assert_allclose(piece.Y @ [*x, 1.0], y, atol=1e-8 * max(1.0, np.abs(y).max()))
        assert piece.active == tuple(np.flatnonzero(y > 1e-9 * np.abs(y).max()).tolist()) or not y.any()


def test_minima_are_minima_and_the_first_is_global(problem, landscape):
    assert len(landscape.minima) == 2
    assert landscape.values[0] <= landscape.cost.min() + 1e-15
    best = solve_qpcc(problem, globalize=True)
    assert best.status is QpccStatus.GLOBAL
    np.testing.assert_allclose(landscape.minima[0], best.x, atol=1e-6)
    rng = np.random.default_rng(1)
    for x, value in zip(landscape.minima, landscape.values, strict=True):
        around = [forward_cost(problem, np.clip(x + 0.02 * rng.normal(size=2), 0, 15)) for _ in range(40)]
        assert min(around) >= value * (1 - 1e-9)


def test_the_solver_walks_over_these_pieces(problem, landscape):
    path = solve_qpcc(problem, warm=np.array([2.0, 9.0])).path
    assert len(path) >= 5
    for active, x in path:
        (piece,) = [piece for piece in landscape.pieces if piece.active == active]
        following = np.roll(piece.polygon, -1, axis=0)
        edge, away = following - piece.polygon, x - piece.polygon
        assert (edge[:, 0] * away[:, 1] - edge[:, 1] * away[:, 0] >= -1e-6).all()


def test_displacement_limits_leave_a_part_of_the_window():
    limited = beam(displacement_lower=-0.0006, displacement_upper=0.0006)
    view = cost_landscape(limited, resolution=21)
    allowed = sum(area(piece.allowed) for piece in view.pieces if len(piece.allowed))
    assert 0.0 < allowed < 0.9 * 15.0**2
    for x in view.minima:
        y = pl.solvers.lcp(limited.W_cc, limited.C_a @ x + limited.c).solution
        moved = limited.R_a @ x + limited.R_c @ y + limited.r
        assert np.abs(moved).max() <= 0.0006 * (1 + 1e-6)


def test_a_contact_given_twice_changes_nothing(landscape):
    twice = cost_landscape(beam((*OBSTACLES, OBSTACLES[6])), resolution=41)
    assert sum(area(piece.polygon) for piece in twice.pieces) == pytest.approx(15.0**2, rel=1e-9)
    np.testing.assert_allclose(twice.cost, landscape.cost, rtol=1e-6, atol=1e-14)


def test_the_picture_shows_surface_and_map(problem, tmp_path):
    pytest.importorskip("matplotlib")
    result = solve_qpcc(problem, warm=np.array([2.0, 9.0]))
    file = tmp_path / "landscape.png"
    figure = plot_cost_landscape(problem, result, path=file, resolution=31, title="Beam")
    assert file.read_bytes().startswith(b"\x89PNG")
    surface, plan = figure.axes
    assert surface.name == "3d"
    polygons = [patch for patch in plan.patches if patch.get_xy().shape[1] == 2]
    assert len(polygons) >= 17
    (legend,) = [plan.get_legend()]
    assert {text.get_text() for text in legend.get_texts()} == {"path", "global minimum", "local minimum"}
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())
    assert len(np.unique(pixels.reshape(-1, 4), axis=0)) > 50


def test_what_cannot_be_drawn_is_named(problem, monkeypatch):
    with pytest.raises(pl.InputError, match="2 actuators, but the problem has 1"):
        cost_landscape(compliance_problem(W_ea=[[1.0]], W_aa=[[1.0]], delta_e=[1.0]))
    with pytest.raises(pl.InputError, match="lower must be finite"):
        cost_landscape(compliance_problem(W_ea=[[1.0, 0.0]], W_aa=np.eye(2), delta_e=[1.0]))
    with pytest.raises(pl.InputError, match="must not be empty"):
        cost_landscape(problem, lower=[0.0, 1.0], upper=[1.0, 1.0])

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(cost_landscape_plot, "import_module", missing)
    with pytest.raises(pl.MissingExtraError, match=r"pip install 'pliant\[plot\]'"):
        plot_cost_landscape(problem)
