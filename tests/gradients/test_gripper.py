"""Taylor's test over a long run with contact and friction: the three fingers of the gripper press against two walls."""

import numpy as np
import pytest

import pliant as pl

STEPPER = pl.ImplicitEuler(0.01, tolerance=1e-9)


@pytest.mark.slow
def test_two_hundred_steps_of_the_gripper():
    steps = 200
    gripper, scene = pl.robots.gripper(), pl.Scene(gravity=(0, 0, -9.81))
    for part in (*gripper.fingers, *gripper.mounts):
        scene.add(part)
    for side, fingers in ((-1, gripper.fingers[:1]), (1, gripper.fingers[1:])):
        wall = scene.add(pl.Obstacle.plane(point=(0.02 * side, 0, 0), normal=(side, 0, 0), name=f"wall {side}"))
        for finger in fingers:
            scene.collide(finger, wall, friction=0.4)
    world = scene.compile()
    shape = np.minimum(1.0, np.arange(1, steps + 1) / 12) * (1.0 + 0.05 * np.sin(0.1 * np.arange(steps)))

    def controls(change):
        return [{each.cable: pl.Displacement((0.012 + change) * s) for each in gripper.fingers} for s in shape]

    first, second, _ = gripper.fingers
    loss = 1e3 * pl.losses.Position(first.tip, (0, 0, 0), when="always") + 1e3 * pl.losses.Position(
        second.tip, (0, 0, 0)
    )

    def value(change):
        state, total, most = world.initial_state(), 0.0, 0
        for k, given in enumerate(controls(change)):
            state, info = STEPPER(world, state, given)
            total += loss.at(pl.losses.Instant(k + 1, steps, state, info))
            most = max(most, int((info.lam[info.assembly.slices[-1]].reshape(-1, 3)[:, 0] > 0.0).sum()))
        assert most > 0
        return total

    pulls = [pl.parameters.Control(each.cable) for each in gripper.fingers]
    found = pl.gradient(world, STEPPER, loss, parameters=pulls, control=controls(0.0))
    slope = float(sum(found[pull] for pull in pulls) @ shape)
    left = [abs(value(change) - found.value - change * slope) for change in (4e-5, 2e-5, 1e-5)]
    assert np.log2(left[0] / left[1]) == pytest.approx(2.0, abs=0.1)
    assert np.log2(left[1] / left[2]) == pytest.approx(2.0, abs=0.1)
    assert found.kept < 40
