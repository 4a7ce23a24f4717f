"""Taylor's test over a long run with friction: three fingers hold a cube and lift it."""

import numpy as np
import pytest

import pliant as pl

STEPPER = pl.ImplicitEuler(0.01, tolerance=1e-9)


@pytest.mark.slow
def test_two_hundred_steps_of_the_gripper_that_lifts_a_cube():
    steps = 200
    grip, scene = pl.robots.gripper(), pl.Scene(gravity=(0, 0, -9.81))
    scene.add(grip)
    grip.collide(scene)
    world = scene.compile()
    start = world.initial_state()
    for k in range(24):  # it closes on the cube, which slides between the fingers until all hold it
        start, _ = STEPPER(world, start, grip.controls(close=0.014 * min(1.0, (k + 1) / 12)))
    rise = np.clip(np.arange(1, steps + 1) / 100, 0.0, 1.0)

    def controls(change):
        return [grip.controls(close=0.014 + change * s, lift=0.01 * s) for s in rise]

    loss = 1e3 * pl.losses.Position((grip.cube, np.array([0.005, 0.004, 0.003])), (0, 0, 0.05), when="always")

    def value(change):
        state, total = start, loss.at(pl.losses.Instant(0, steps, start, None))
        for k, given in enumerate(controls(change)):
            state, info = STEPPER(world, state, given)
            total += loss.at(pl.losses.Instant(k + 1, steps, state, info))
        held = [info.contact_force(grip.cube, finger.body) for finger in grip.fingers]
        assert sum(force[2] for force in held) == pytest.approx(0.03 * 9.81, rel=0.1)  # by friction alone
        return total

    pulls = [pl.parameters.Control(cable) for cable in grip.cables]
    found = pl.gradient(world, STEPPER, loss, parameters=pulls, control=controls(0.0), start=start)
    slope = float(sum(found[pull] for pull in pulls) @ rise)
    left = [abs(value(change) - found.value - change * slope) for change in (1e-4, 5e-5, 2.5e-5)]
    assert np.log2(left[0] / left[1]) == pytest.approx(2.0, abs=0.15)
    assert np.log2(left[1] / left[2]) == pytest.approx(2.0, abs=0.15)
    assert found.kept < 40
