"""Linear solves whose stages are joined: the same numbers as the stages one by one, and left to them where needed."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.volume.joined import JoinedSolve
from pliant.stepping import implicit_euler
from pliant.stepping.joined import stages_joined
from scenes import DOWN

SOFT = pl.materials.Corotated(young=0.2e6, poisson=0.4, density=1000.0)
STIFF = pl.materials.NeoHookean(young=0.2e6, poisson=0.4, density=1000.0)
ROOT = pl.regions.box((-0.001, -0.001, -0.001), (0.001, 0.021, 0.021))


def arm(material=SOFT, *, clamped=True, **options):
    """A scene with a cantilever of 60 mm, and the cantilever; `options` of the volume."""
    scene = pl.Scene(gravity=DOWN)
    mesh = pl.mesh.box((0.06, 0.02, 0.02), (6, 2, 2))
    damping = pl.Rayleigh(mass=0.1, stiffness=0.01)
    body = pl.Volume(mesh, material, clamp=ROOT if clamped else None, damping=damping, name="arm", **options)
    return scene, scene.add(body)


def cable(scene, body, side=0.018, **options):
    return scene.add(pl.Cable(body, [(x, side, 0.01) for x in (0.002, 0.02, 0.04, 0.058)], **options))


def pulled(**options):
    """Two cables, one displaced, one under a force."""
    scene, body = arm(**options)
    one, other = cable(scene, body), cable(scene, body, 0.002)
    return scene.compile(), lambda t: {one: pl.Displacement(0.001 + 0.05 * t), other: pl.Force(0.1)}, None


def with_inverse():
    scene, body = arm()
    cables = [cable(scene, body), cable(scene, body, 0.002)]
    tip = pl.Effector(body, [(0.06, 0.01, 0.01)])
    world = scene.compile()
    return world, lambda t: {tip: (0.06, 0.01 + 0.02 * t, 0.009)}, pl.Inverse([tip], cables)


def on_a_ball():
    scene, body = arm()
    cable(scene, body)
    scene.collide(
        body, scene.add(pl.Obstacle.sphere(center=(0.05, 0.01, -0.0043), radius=0.004)), friction=0.3, margin=0.002
    )
    return scene.compile(), lambda t: {}, None


def loaded():
    """A pulsing point load beside a cable, which slackens and pulls."""
    scene, body = arm()
    one = cable(scene, body)
    load = scene.add(pl.PointLoad(body, pl.regions.box((0.059, 0, 0), (0.061, 0.02, 0.02)), (0.0, 0.0, 0.0)))
    return (
        scene.compile(),
        lambda t: {one: pl.Displacement(0.003), load: pl.Force((0.0, 0.3 * np.sin(60.0 * t), 0.0))},
        None,
    )


def moved_by_a_support():
    scene, body = arm(clamped=False)
    held = scene.add(pl.Support(body, ROOT))
    one = cable(scene, body)
    return (
        scene.compile(),
        lambda t: {one: pl.Displacement(0.002), held: pl.Displacement((0.0, 0.05 * min(t, 0.1), 0.0))},
        None,
    )


CASES = {
    "cables": pulled,
    "default element": lambda: pulled(anti_locking=True),
    "plain element": lambda: pulled(anti_locking=False),
    "inverse": with_inverse,
    "contacts": on_a_ball,
    "loads": loaded,
    "supports": moved_by_a_support,
    "another law": lambda: pulled(material=STIFF),
}
STAYS = {"another law"}
"""Cases whose stages are always gone through one by one."""
FAILURES = {
    "factorize": lambda solve: False,
    "condense": lambda solve, H, W, delta, alone: delta.fill(np.nan),
}


def run(world, controls, solver, monkeypatch, *, one_by_one):
    """States of 25 steps, residuals, and how many of the linear solves were joined."""
    taken = []

    def watched(*given):
        found = None if one_by_one else stages_joined(*given)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(implicit_euler, "stages_joined", watched)
    stepper, state, states = pl.ImplicitEuler(0.01, solver=solver), world.initial_state(), []
    for _ in range(25):
        state, info = stepper(world, state, controls(state.time))
        states.append((*state.q, *state.v, state.lam, np.array([info.linear_residual, info.constraint_residual])))
    return states, sum(taken)


@pytest.mark.parametrize("name", CASES)
def test_joined_stages_give_the_bits_of_the_stages_one_by_one(name, monkeypatch):
    world, controls, solver = CASES[name]()
    expected, none = run(world, controls, solver, monkeypatch, one_by_one=True)
    found, count = run(world, controls, solver, monkeypatch, one_by_one=False)
    assert none == 0
    assert (count == 0) if name in STAYS else (count > 10)
    for one, other in zip(expected, found, strict=True):
        for wanted, given in zip(one, other, strict=True):
            assert wanted.tobytes() == given.tobytes()


@pytest.mark.parametrize("where", FAILURES)
def test_what_fails_on_the_way_is_left_to_the_stages(where, monkeypatch):
    """Every third solve fails, and its memory is used again all the same."""
    world, controls, solver = pulled()
    expected, _ = run(world, controls, solver, monkeypatch, one_by_one=True)
    works, calls = getattr(JoinedSolve, where), []

    def sometimes(*given, **options):
        calls.append(given[0])
        return works(*given, **options) if len(calls) % 3 else FAILURES[where](*given, **options)

    monkeypatch.setattr(JoinedSolve, where, sometimes)
    found, count = run(world, controls, solver, monkeypatch, one_by_one=False)
    assert (len(calls), count) == (24, 16)  # the first step leaves its factor
    assert len(set(map(id, calls))) == 1
    for one, other in zip(expected, found, strict=True):
        assert [x.tobytes() for x in one] == [x.tobytes() for x in other]


def test_two_steps_at_once_have_memory_of_their_own(monkeypatch):
    """A stepper that is called from within its step, as from a second thread, changes nothing in it."""
    world, controls, solver = pulled()
    expected, _ = run(world, controls, solver, monkeypatch, one_by_one=True)
    stepper, works, inside = pl.ImplicitEuler(0.01), JoinedSolve.factorize, []

    def nested(solve):
        found = works(solve)
        if not inside:
            inside.append(True)
            stepper(world, world.initial_state(), {})
            inside.clear()
        return found

    monkeypatch.setattr(JoinedSolve, "factorize", nested)
    state = world.initial_state()
    for each in expected:
        state, _ = stepper(world, state, controls(state.time))
        assert state.q[0].tobytes() == each[0].tobytes()
