"""Sheaths: rows, third law, beams, drives, files, messages."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints.rows import RowView
from pliant.models.model import StepStart
from pliant.models.scheme import STATIC_SCHEME

TUBE = {"section": pl.sections.Tube(0.004, 0.003), "young": 1e7, "poisson": 0.3, "density": 1e3}
WIRE = {"section": pl.sections.Circle(0.003), "young": 1e7, "poisson": 0.3, "density": 1e3}


def view_of(world, q):
    return RowView.of(world.models, q, dt=0.01)


def bent_pair(outer_kind="rod"):
    """Both along one helix, the inner one reaching out of the outer one; a beam has straight chords there."""
    bend = (0.5, 1.0, 3.0, 0, 0, 0)
    outer = pl.Rod(0.1, 4, rest_strain=bend, base="free", name="outer", **TUBE)
    inner = pl.Rod(0.16, 5, rest_strain=bend, base="free", name="inner", **WIRE)
    if outer_kind == "beam":
        outer = pl.Beam(inner.node_points[:5], name="outer", **TUBE)
    scene = pl.Scene()
    scene.add(outer)
    scene.add(inner)
    scene.add(pl.Sheath(outer, inner, friction=0.2))
    return scene.compile(), outer, inner


@pytest.mark.parametrize("kind", ["rod", "beam"])
def test_no_row_feels_a_rigid_motion_of_both(kind):
    world, *_ = bent_pair(kind)
    q = [model.initial()[0] for model in world.models]
    rows, _ = world.constraints[0].rows(view_of(world, q))
    assert rows.count >= 6
    for axis in range(6):
        shift, turn = np.eye(6)[axis].reshape(2, 3)
        change = 0.0
        for h, x, model in zip(rows.H, q, world.models, strict=True):
            rigid = np.zeros(model.constrained.shape)
            if x.ndim == 3:
                rigid[:, 0], rigid[:, 1] = shift + np.cross(turn, x[:, 0]), turn
            else:
                rigid[0], rigid[1] = shift + np.cross(turn, x[0]), turn
            change = change + h @ rigid.ravel()
        np.testing.assert_allclose(change, 0.0, atol=1e-4 if kind == "beam" else 1e-12)


def test_rows_are_the_derivatives_of_the_distances():
    world, *_ = bent_pair()
    constraint, q = world.constraints[0], [model.initial()[0] for model in world.models]
    rows, _ = constraint.rows(view_of(world, q))
    across = np.arange(rows.count) % 3 < 2
    rng = np.random.default_rng(0)
    dx = [np.where(m.constrained, 0.0, rng.normal(size=m.constrained.shape)) for m in world.models]
    sides = []
    for sign in (1, -1):
        moved = []
        for model, x, d in zip(world.models, q, dx, strict=True):
            trial = model.trial(StepStart(x, model.initial()[1], STATIC_SCHEME, np.zeros(3), {}))
            trial.dx = trial.moved(trial.dx, sign * 1e-6 * d, 1.0)
            moved.append(trial.positions())
        sides.append(constraint.rows(view_of(world, moved))[0].gap)
    slope = (sides[0] - sides[1])[across] / 2e-6
    exact = sum(h @ x.ravel() for h, x in zip(rows.H, dx, strict=True))[across]
    np.testing.assert_allclose(slope, exact, atol=1e-6 * np.abs(exact).max())


def test_stiffness_is_the_derivative_of_the_forces():
    """−∂(Hᵀλ)/∂q of dead forces: against differences of the pull with the forces and places held."""
    world, *_ = bent_pair()
    constraint, q = world.constraints[0], [model.initial()[0] for model in world.models]
    lam = np.zeros(len(constraint.stiff_keys))
    used = np.isin(constraint.stiff_keys, constraint.rows(view_of(world, q))[0].key)
    lam[used] = np.random.default_rng(1).normal(size=used.sum())
    added = {number: stiffness.K for number, stiffness in constraint.stiffness(q, lam, 1.0)}
    arcs, _ = constraint._project(q)
    there = [curve.at(arc) for curve, arc in zip(constraint.curves, arcs, strict=True)]
    pushes = np.einsum("kri,ki->kr", constraint._frames(q, there), lam.reshape(-1, 3)[:, (2, 0, 1)])
    for number, sign in ((0, 1.0), (1, -1.0)):
        model = world.models[number]
        strain = len(model.active) - 1  # the last bending of the last section
        column = model.active[strain]
        pulls = []
        for step in (1e-6, -1e-6):
            x = q[number].copy()
            x.reshape(-1)[12 + column - 6] += step
            pulls.append(there[number].forces(x, sign * pushes).ravel()[model.active])
        slope = -(pulls[0] - pulls[1]) / 2e-6
        np.testing.assert_allclose(added[number][6:, strain], slope[6:], atol=1e-5 * np.abs(added[number]).max())


def test_the_base_of_the_inner_tube_is_driven():
    """A motor turns a bent wire in a straight stiff tube: the tip goes round with it."""
    scene = pl.Scene()
    outer = scene.add(pl.Rod(0.1, 5, name="outer", **{**TUBE, "young": 1e11}))
    rest = np.zeros((8, 6))
    rest[5:, 2] = 10.0
    inner = scene.add(pl.Rod(0.16, 8, rest_strain=rest, base=pl.Turn(), name="inner", **WIRE))
    scene.add(pl.Sheath(outer, inner))
    drive = scene.add(pl.BaseDrive(inner))
    world = scene.compile()
    state = world.initial_state()
    for angle in np.linspace(0, 2.0, 5):
        state, _ = pl.QuasiStatic()(world, state, {drive: pl.Angle(angle)})
    tip = state.points(inner)[-1]
    assert np.arctan2(tip[2], tip[1]) == pytest.approx(2.0, abs=0.02)
    height = (1 - np.cos(0.6)) / 10
    assert np.hypot(tip[1], tip[2]) == pytest.approx(height, rel=0.02)


def test_a_wire_is_drawn_back_out_of_its_tube_and_saved(tmp_path):
    scene = pl.Scene()
    outer = scene.add(pl.Rod(0.1, 4, rest_strain=(0, 0, 2.0, 0, 0, 0), name="outer", **TUBE))
    inner = scene.add(
        pl.Rod(0.1, 4, rest_strain=(0, 0, 2.0, 0, 0, 0), name="inner", damping=pl.Rayleigh(stiffness=0.02), **WIRE)
    )
    base = scene.add(pl.Support(inner, [0], rotation=(0, 0, 0)))
    sheath = scene.add(pl.Sheath(outer, inner, name="fit"))
    world = scene.compile()
    assert world.constraints[0].spec is sheath
    counts, state = [], world.initial_state()
    for back in np.linspace(0, 0.06, 13):
        state, info = pl.QuasiStatic()(world, state, {base: pl.Displacement((-back, 0, 0))})
        counts.append(len(info.lam))
    assert counts[0] == 8
    assert counts[-1] == 4, "one place of the outer tube, and the tip"
    assert sorted(counts, reverse=True) == counts
    again = pl.load(world.save(tmp_path / "world.npz"))
    assert again.thing("fit").inner is again.thing("inner")


def test_what_does_not_fit_is_said():
    outer, inner = pl.Rod(0.1, 4, name="outer", **TUBE), pl.Rod(0.1, 4, position=(0, 0.01, 0), name="inner", **WIRE)
    scene = pl.Scene()
    with pytest.raises(pl.InputError, match="add the body 'outer'"):
        scene.add(pl.Sheath(outer, inner))
    scene.add(outer)
    scene.add(inner)
    scene.add(pl.Sheath(outer, inner))
    with pytest.raises(pl.InputError, match="'inner' is 10 mm from that of 'outer'"):
        scene.compile()
    with pytest.raises(pl.InputError, match="not inside itself"):
        pl.Sheath(outer, outer)
    with pytest.raises(pl.InputError, match="joins rods and beams"):
        pl.Sheath(outer, "inner")
    with pytest.raises(pl.InputError, match="friction"):
        pl.Sheath(outer, inner, friction=-0.1)
    scene = pl.Scene()
    scene.add(outer)
    other = scene.add(pl.Rod(0.1, 4, name="inner", **WIRE))
    scene.add(pl.Sheath(outer, other, places=[0.2]))
    with pytest.raises(pl.InputError, match=r"places of 'sheath' must be in 0 … 0\.1 m"):
        scene.compile()


def test_friction_of_a_sheath_feels_the_motion_along_its_axis():
    """The third row of a station is the slip since the start of the step, along the axis."""
    world, *_ = bent_pair()
    start = [model.initial()[0] for model in world.models]
    moved = [x.copy() for x in start]
    moved[1][0] += (1e-4, -2e-4, 3e-4)  # the base of the inner one
    view = RowView.of(world.models, moved, dt=0.01, start=start)
    rows, _ = world.constraints[0].rows(view)
    slips = rows.gap.reshape(-1, 3)[:, 2]
    predicted = (rows.H[1] @ np.concatenate([[1e-4, -2e-4, 3e-4], np.zeros(rows.H[1].shape[1] - 3)])).reshape(-1, 3)
    assert np.abs(slips).max() > 1e-5
    np.testing.assert_allclose(slips, predicted[:, 2], rtol=1e-6, atol=1e-12)
