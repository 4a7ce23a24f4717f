"""Beams in steppers: loads, supports, moving bases, read-outs, damping."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.lie import rotation_exp

SECTION = pl.sections.Rectangle(0.02, 0.01)
YOUNG, LENGTH = 1e7, 0.5
BENDING, SIDEWAYS = (YOUNG * moment for moment in SECTION.second_moments)
TWISTING = YOUNG / 2.6 * SECTION.torsion_constant


def cantilever(count=10, *, load=None, gravity=(0, 0, 0), **options):
    given = {"section": SECTION, "young": YOUNG, "poisson": 0.3, "density": 1e3, "clamp": [0], "shear": False}
    scene = pl.Scene(gravity=gravity)
    beam = scene.add(pl.Beam(np.linspace((0, 0, 0), (LENGTH, 0, 0), count + 1), **{**given, **options}))
    push = None if load is None else scene.add(pl.PointLoad(beam, [count], *load))
    return scene, beam, push


def settled(scene, controls=None, **options):
    world = scene.compile()
    return pl.QuasiStatic(**options)(world, world.initial_state(), controls)


@pytest.mark.parametrize(("axis", "stiffness"), [(1, SIDEWAYS), (2, BENDING)])
def test_a_tip_force_bends_by_the_cubic(axis, stiffness):
    """P L³/3EI, to rounding for any number of pieces."""
    force = 1e-6 * np.eye(3)[axis]
    for count in (1, 7):
        scene, beam, _ = cantilever(count, load=(force,))
        state, _ = settled(scene)
        assert state.displacements(beam)[-1, axis] == pytest.approx(1e-6 * LENGTH**3 / (3 * stiffness), rel=1e-6)


def test_shear_adds_its_own_deflection():
    scene, beam, _ = cantilever(6, load=((0, 0, 1e-6),), shear=True)
    state, _ = settled(scene)
    sheared = 1e-6 * LENGTH / (SECTION.shear_correction(0.3) * YOUNG / 2.6 * SECTION.area)
    expected = 1e-6 * LENGTH**3 / (3 * BENDING) + sheared
    assert state.displacements(beam)[-1, 2] == pytest.approx(expected, rel=1e-7)


def test_a_tip_torque_twists_by_the_torsion_constant():
    """T L/GJ up to a large angle: torsion alone is linear."""
    torque = 2.0 * TWISTING / LENGTH
    scene, beam, _ = cantilever(5, load=((0, 0, 0), (torque, 0, 0)))
    state, _ = settled(scene)
    np.testing.assert_allclose(state.frames(beam)[-1], rotation_exp(np.array([2.0, 0, 0])), atol=1e-9)
    np.testing.assert_allclose(state.section_forces(beam)[:, :, 3], torque, rtol=1e-8)


def test_section_forces_of_a_cantilever():
    """Shear P, moment P (L − x), axial force none, at small load; signs of what is beyond on what is before."""
    scene, beam, _ = cantilever(10, load=((0, 0, 1e-4),))
    state, _ = settled(scene)
    forces = state.section_forces(beam)
    x = np.stack([np.linspace(0, LENGTH, 11)[:-1], np.linspace(0, LENGTH, 11)[1:]], axis=1)
    np.testing.assert_allclose(forces[:, :, 2], 1e-4, rtol=1e-4)
    np.testing.assert_allclose(forces[:, :, 4], -1e-4 * (LENGTH - x), atol=1e-4 * 1e-4 * LENGTH)
    assert np.abs(forces[:, :, [0, 1, 3, 5]]).max() < 1e-7


def test_energies_by_piece_sum_to_the_work():
    """Linear response: half the force times its way."""
    scene, beam, _ = cantilever(8, load=((0, 0, 1e-4),))
    state, _ = settled(scene)
    work = 0.5 * 1e-4 * state.displacements(beam)[-1, 2]
    assert state.elastic_energy(beam).sum() == pytest.approx(work, rel=1e-5)
    assert state.world.energy(state)["elastic"] == pytest.approx(work, rel=1e-5)


def test_loads_are_controls():
    scene, beam, push = cantilever(4, load=((0, 0, 1e-6),))
    force, _ = settled(scene, {push: pl.Force((0, 0, 2e-6))})
    wrench, _ = settled(scene, {push: pl.Wrench([(0, 0, 2e-6), (1e-6, 0, 0)])})
    expected = 2e-6 * LENGTH**3 / (3 * BENDING)
    for state in (force, wrench):
        assert state.displacements(beam)[-1, 2] == pytest.approx(expected, rel=1e-6)
    assert wrench.frames(beam)[-1][2, 1] == pytest.approx(1e-6 * LENGTH / TWISTING, rel=1e-6)


def test_a_reaction_carries_weight_and_moment():
    scene, beam, _ = cantilever(10, gravity=(0, 0, -9.81), young=1e9)
    state, info = settled(scene)
    weight = 9.81 * 1e3 * SECTION.area * LENGTH
    reaction = info.reaction(beam)
    np.testing.assert_allclose(reaction[0, 0], [0, 0, weight], atol=1e-7)
    middle = state.points(beam)[:, 0] @ state.world.models[0].mass / state.world.models[0].mass.sum()
    np.testing.assert_allclose(reaction[0, 1], [0, -weight * middle, 0], atol=1e-7)
    assert not reaction[1:].any()


def test_a_turned_base_carries_the_beam_along():
    """Displacement and rotation of the base: the beam follows without strain."""
    scene, beam, _ = cantilever(6, clamp=None)
    base = scene.add(pl.Support(beam, [0], rotation=(0, 0, 0)))
    turn, shift = np.array([0.3, -1.2, 0.4]), np.array([0.01, 0.02, 0.03])
    state, _ = settled(scene, {base: pl.Placement([shift, turn])})
    R = rotation_exp(turn)
    np.testing.assert_allclose(state.points(beam), beam.node_points @ R.T + shift, atol=1e-9)
    np.testing.assert_allclose(state.frames(beam), R @ beam.node_frames, atol=1e-8)
    moved, _ = settled(scene, {base: pl.Displacement(shift)})
    np.testing.assert_allclose(moved.points(beam), beam.node_points + shift, atol=1e-10)


def test_a_base_turned_step_by_step_drives_a_dynamic_beam():
    scene, beam, _ = cantilever(6, clamp=None, damping=pl.Rayleigh(stiffness=0.05))
    base = scene.add(pl.Support(beam, [0], rotation=(0, 0, 0)))
    world = scene.compile()
    run = pl.simulate(
        world,
        pl.ImplicitEuler(dt=0.01),
        until=4.0,
        control=lambda t, state: {base: pl.Placement([(0, 0, 0), (0, 0, min(t, 1.0))])},
    )
    end = rotation_exp(np.array([0, 0, 1.0]))
    np.testing.assert_allclose(run.frames(beam)[-1, 0], end, atol=1e-12)
    np.testing.assert_allclose(run.points(beam)[-1], beam.node_points @ end.T, atol=2e-3)


def test_pins_and_rollers_make_a_simple_beam():
    """Simply supported under a force in the middle: P L³/48EI."""
    scene, beam, _ = cantilever(10, clamp=None, pin=[0])
    scene.add(pl.Support(beam, [10], axes="yz"))
    scene.add(pl.PointLoad(beam, [5], (0, 0, 1e-6)))
    scene.attach(beam, points=[(0.0, 0.004, 0.0)])  # against turning about its own axis
    state, _ = settled(scene)
    assert state.displacements(beam)[5, 2] == pytest.approx(1e-6 * LENGTH**3 / (48 * BENDING), rel=1e-5)


def test_damping_takes_energy_out():
    kept = []
    for damping in (0.0, 0.01):
        scene, *_ = cantilever(6, gravity=(0, 0, -9.81), damping=pl.Rayleigh(stiffness=damping))
        world = scene.compile()
        state, step = world.initial_state(), pl.ImplicitMidpoint(dt=0.005, tolerance=1e-8)
        start = world.energy(state)["total"]
        for _ in range(100):
            state, _ = step(world, state)
        kept.append(world.energy(state)["total"] - start)
    assert abs(kept[0]) < 1e-3 * abs(kept[1])
    assert kept[1] < 0.0


def test_wrong_loads_and_controls_are_refused():
    scene, beam, push = cantilever(3, load=((0, 0, 1.0),))
    base = scene.add(pl.Support(beam, [3], axes="z"))
    world = scene.compile()
    state = world.initial_state()
    with pytest.raises(pl.InputError, match=r"supports that constrain frames.*only moves takes pl.Displacement"):
        pl.QuasiStatic()(world, state, {base: pl.Placement(np.zeros((2, 3)))})
    with pytest.raises(pl.InputError, match="shape"):
        pl.QuasiStatic()(world, state, {push: pl.Wrench((0, 0, 1))})
    rubber = pl.materials.Linear(young=1e5, poisson=0.3, density=1e3)
    volume = pl.Volume(pl.mesh.box((1, 1, 1), (1, 1, 1)), rubber)
    with pytest.raises(pl.InputError, match="is no beam"):
        pl.PointLoad(volume, pl.regions.everything(), (0, 0, 0), (1, 0, 0))
    with pytest.raises(pl.InputError, match=r"must be a pl\.Volume"):
        pl.PressureLoad(beam, pl.regions.everything(), 1.0)
