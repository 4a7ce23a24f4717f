"""Rods in worlds: contacts, attachments, moving bases, controls, files, runs."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.rod.rod import STRAINS

ROD = {"section": pl.sections.Circle(0.005), "young": 1e7, "poisson": 0.3, "density": 1e3}
WEIGHT = 0.2 * np.pi * 0.005**2 * 1e3 * 9.81


def lying(height=0.0052, **options):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    given = {"base": "free", "position": (0, 0, height), "damping": pl.Rayleigh(stiffness=0.01)}
    return scene, scene.add(pl.Rod(0.2, 4, **{**ROD, **given, **options}))


def test_a_rod_rests_on_the_floor_with_its_weight():
    scene, rod = lying()
    floor = scene.add(pl.Obstacle.plane())
    scene.collide(rod, floor, friction=0.5)
    run = pl.simulate(scene.compile(), pl.ImplicitEuler(0.005), until=0.3)
    np.testing.assert_allclose(run.contact_force(rod, floor)[-1], (0, 0, WEIGHT), atol=0.02 * WEIGHT)
    assert run.points(rod)[-1, :, 2].min() > 0.0049
    assert run.points(rod)[-1, :, 2].max() < 0.0052


def test_a_taper_touches_with_the_radius_of_each_section():
    """The thick half stands on the floor; the thin one, of half the radius, tilts down until it touches too."""
    sections = [pl.sections.Circle(0.006)] * 2 + [pl.sections.Circle(0.003)] * 2
    scene, rod = lying(0.0061, section=sections, young=1e8)
    floor = scene.add(pl.Obstacle.plane())
    scene.collide(rod, floor)
    run = pl.simulate(scene.compile(), pl.ImplicitEuler(0.005), until=0.5)
    heights = run.points(rod)[-1, :, 2]
    assert heights[0] == pytest.approx(0.006, abs=1e-4)
    assert 0.0029 < heights[-1] < 0.0059


def test_a_rod_pushed_through_a_bent_tube_stays_inside():
    scene = pl.Scene()
    angle = np.linspace(0.0, np.pi / 2, 9)
    bend = np.stack([0.05 + 0.1 * np.sin(angle), 0.1 * (1 - np.cos(angle)), np.zeros(9)], axis=1)
    path = np.vstack([(-0.3, 0, 0), bend, (0.15, 0.3, 0)])
    tube = scene.add(pl.Obstacle.tubes(path, radius=0.01))
    rod = scene.add(pl.Rod(0.2, 6, position=(-0.18, 0, 0), **{**ROD, "young": 1e6}))
    base = scene.add(pl.Support(rod, [0], rotation=(0, 0, 0)))
    scene.collide(rod, tube)
    push = pl.simulate(
        scene.compile(),
        pl.ImplicitEuler(0.01),
        until=1.0,
        control=lambda t, _: {base: pl.Placement([(0.12 * t, 0, 0), (0, 0, 0)])},
    )
    gaps = tube.shape.solid.distance(push.points(rod)[-1]).gap - 0.005
    assert gaps.min() > -2e-4
    assert push.points(rod)[-1, -1, 1] > 0.02


def test_a_rod_pushes_a_rigid_body_and_a_soft_block():
    """A vertical force presses the tip of a clamped rod on a cube on the floor, and on a soft block: equal contact."""
    for kind in ("rigid", "soft"):
        scene = pl.Scene(gravity=(0, 0, -9.81))
        rod = scene.add(pl.Rod(0.2, 4, position=(0, 0, 0.0255), **ROD))
        floor = scene.add(pl.Obstacle.plane())
        if kind == "rigid":
            block = scene.add(pl.RigidBody.box(size=(0.04, 0.04, 0.02), mass=0.05, position=(0.19, 0, 0.01)))
        else:
            mesh = pl.mesh.box((0.04, 0.04, 0.02), (3, 3, 2)).translated((0.17, -0.02, 0))
            rubber = pl.materials.Corotated(young=1e6, poisson=0.4, density=1000)
            block = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="z", at=0)))
        scene.add(pl.RodLoad(rod, 0.19, (0, 0, -1.0)))
        scene.collide(rod, block, friction=0.5)
        if kind == "rigid":
            scene.collide(block, floor, friction=0.5)
        run = pl.simulate(scene.compile(), pl.ImplicitEuler(0.005), until=0.4)
        assert run.contact_force(rod, block)[-1, 2] == pytest.approx(1.0, abs=0.15)


def test_attachments_hold_places_and_frames():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rod = scene.add(pl.Rod(0.2, 6, strains=STRAINS, **ROD))
    cube = scene.add(pl.RigidBody.box(size=(0.02, 0.02, 0.02), mass=0.02, position=(0.21, 0, 0)))
    scene.attach(rod, cube, points=[(0.2, 0, 0)], frames=True)
    world = scene.compile()
    run = pl.simulate(world, pl.ImplicitEuler(0.005, tolerance=1e-8), until=0.2)
    pose, frame = run.poses(cube)[-1], run.frames(rod)[-1, -1]
    np.testing.assert_allclose(pose[0] - 0.01 * pose[1:, 0], run.points(rod)[-1, -1], atol=1e-6)
    np.testing.assert_allclose(frame, pose[1:], atol=1e-4)
    assert pose[0, 2] < -1e-3


def test_a_base_is_carried_without_strain():
    scene = pl.Scene()
    rod = scene.add(pl.Rod(0.2, 3, **ROD))
    base = scene.add(pl.Support(rod, [0], rotation=(0, 0, 0)))
    world = scene.compile()
    move = {base: pl.Placement([(0.1, 0.2, 0.3), (0, 0, 1.0)])}
    state, _ = pl.QuasiStatic()(world, world.initial_state(), move)
    tip = np.array([0.1, 0.2, 0.3]) + 0.2 * np.array([np.cos(1), np.sin(1), 0])
    np.testing.assert_allclose(state.points(rod)[-1], tip, atol=1e-12)
    np.testing.assert_allclose(state.strains(rod), 0.0, atol=1e-9)
    run = pl.simulate(world, pl.ImplicitEuler(0.01), until=0.2, control=lambda t, _: {base: pl.Displacement(0.5 * t)})
    np.testing.assert_allclose(run.points(rod)[-1, 0], (0.1, 0.1, 0.1), atol=1e-12)
    np.testing.assert_allclose(run.velocities(rod)[-1, 0], (0.5, 0.5, 0.5), atol=1e-9)


def test_loads_follow_their_controls_and_reactions_balance_them():
    scene = pl.Scene()
    rod = scene.add(pl.Rod(0.2, 3, **ROD))
    load = scene.add(pl.RodLoad(rod, 0.15, (0, 0, 0)))
    world = scene.compile()
    bent, info = pl.QuasiStatic()(world, world.initial_state(), {load: pl.Force((0, 0.02, 0))})
    assert bent.points(rod)[-1, 1] > 1e-4
    np.testing.assert_allclose(info.reaction(rod)[0], (0, -0.02, 0), atol=1e-9)
    twisted, _ = pl.QuasiStatic()(world, world.initial_state(), {load: pl.Wrench([(0, 0, 0), (1e-3, 0, 0)])})
    stiffness = 1e7 / 2.6 * ROD["section"].torsion_constant
    np.testing.assert_allclose(
        twisted.strains(rod)[:, 0], [1e-3 / stiffness] * 2 + [0.25e-3 / stiffness * 1.0], rtol=1e-6
    )
    np.testing.assert_allclose(
        twisted.elastic_energy(rod).sum(), world.models[0].elastic_energy(twisted.q[0]), rtol=1e-12
    )


def test_a_world_and_a_run_come_back_from_files(tmp_path):
    scene, rod = lying(section=[pl.sections.Circle(0.005)] * 2 + [pl.sections.Tube(0.004, 0.002)] * 2)
    scene.add(pl.RodLoad(rod, 0.2, (0, 0, 0.01)))
    scene.collide(rod, scene.add(pl.Obstacle.plane()))
    world = scene.compile()
    run = pl.simulate(world, pl.ImplicitEuler(0.01), until=0.05)
    again = pl.load(world.save(tmp_path / "world.npz"))
    np.testing.assert_array_equal(again.initial_state().points("rod"), world.initial_state().points(rod))
    loaded = pl.load(run.save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(loaded.points("rod"), run.points(rod))
    np.testing.assert_array_equal(loaded.surface_points("rod"), run.surface_points(rod))
    np.testing.assert_array_equal(loaded.replay().points("rod"), run.points(rod))
    run.export(tmp_path / "run.pvd", every=5)


def test_read_outs_of_rods_are_for_rods():
    scene = pl.Scene()
    ball = scene.add(pl.RigidBody.sphere(radius=0.1, mass=1.0))
    state = scene.compile().initial_state()
    with pytest.raises(pl.InputError, match="is not a rod"):
        state.strains(ball)


def test_the_viewer_colours_rods_by_their_stress():
    from pliant.viewer.contents import FIBRE, SceneContents

    scene = pl.Scene()
    rod = scene.add(pl.Rod(0.2, 3, **ROD))
    scene.add(pl.RodLoad(rod, 0.2, (0, 0, 0), (0, 1e-3, 0)))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    contents = SceneContents.of_world(world)
    assert FIBRE in contents.color_modes
    expected = 1e-3 * 1e-3 * 0.005 / ROD["section"].second_moments[0]
    np.testing.assert_allclose(contents.values(FIBRE, state.q)[0], expected, rtol=1e-6)
