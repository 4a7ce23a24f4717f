"""Bodies that pass through each other in a quasi-static solve: such equilibria are not taken, or named."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.stepping.passing import crosses, increments
from tests.verification.statics.parts_pressed import scene

LONG = [("raised_onto_shape", 0), ("finger_presses", 0), ("column_in_a_slot", 1)]


def solved(kind, seed, **options):
    made = scene(kind, seed)
    return made, *pl.QuasiStatic(dt=made.dt, **options)(made.world, made.world.initial_state(), made.controls)


def named(info):
    return [text for text in info.warnings if "passed through each other" in text]


@pytest.mark.parametrize(("kind", "seed"), LONG)
def test_motions_far_beyond_the_margin_that_cross_nothing_are_not_reported(kind, seed):
    made, _, info = solved(kind, seed)
    pairs = [each for each in made.world.constraints if each.is_contact]
    assert any(pair.outrun(view, None) > 0.0 for pair in pairs for view in increments(info.step, info.passed))
    assert not named(info)


def test_an_equilibrium_on_the_wrong_side_of_an_obstacle_is_not_taken():
    """Newton's iteration at the full load balances a strip that the pin, which lifts it by 15 mm, has passed."""
    made, state, info = solved("clip_over_pin", 1, maximum_solves=150)
    strip = made.world.constraints[0].a.handle
    assert state.points(strip)[:, 2].max() > 0.02
    assert not named(info)


def ball_over_shelf(shelf):
    """A ball on a slider, 2 mm above a soft or rigid shelf of 6 mm, that goes up by 3 cm."""
    world_scene = pl.Scene()
    ball = world_scene.add(pl.RigidBody.sphere(radius=0.004, mass=0.01, position=(0.001, 0.002, 0.009)))
    slider = world_scene.add(pl.Slider(ball, (0, 0, 1)))
    if shelf == "rigid":
        other = pl.Obstacle.box(center=(0, 0, 0), size=(0.05, 0.05, 0.006))
    else:
        mesh = pl.mesh.box((0.05, 0.05, 0.006), (5, 5, 2)).translated((-0.025, -0.025, -0.003))
        rubber = pl.materials.NeoHookean(young=1e5, poisson=0.3, density=1e3)
        other = pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0.025))
    world_scene.collide(*((ball, world_scene.add(other)) if shelf == "rigid" else (world_scene.add(other), ball)))
    world = world_scene.compile()
    return world, world.index(ball), pl.QuasiStatic()(world, world.initial_state(), {slider: pl.Displacement(0.03)})[1]


@pytest.mark.parametrize("shelf", ["rigid", "soft"])
def test_a_load_path_from_the_other_side_is_reported(shelf):
    """Forged: an earlier equilibrium below the shelf, from which the path leads through it."""
    _, index, info = ball_over_shelf(shelf)
    assert not named(info)
    assert not crosses(info.step)
    q = [np.array(x) for x in info.step.bodies.start.q]
    q[index][0, 2] = -0.03
    (text,) = named(replace(info, passed=((0.0, q),)))
    assert "sphere" in text
    beside = [np.array(x) for x in q]
    beside[index][0, :2] += 0.1
    over = [np.array(x) for x in beside]
    over[index][0, 2] = 0.03
    assert not named(replace(info, passed=((0.0, q), (0.0, beside), (0.0, over))))
