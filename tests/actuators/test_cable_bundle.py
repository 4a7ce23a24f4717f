"""Cables that are evaluated in one pass give what each gives alone."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints import RowView, assemble
from pliant.core.errors import PliantError

MESH = pl.mesh.box((0.2, 0.03, 0.03), (6, 2, 2))
RUBBER = pl.materials.Corotated(young=1e5, poisson=0.45, density=1e3)


def bundled(rng, *, count=4, friction_at=None, guide_stiffness=0.0):
    """A bar with `count` cables along it at random places; the one with the index `friction_at` has friction."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    cables = []
    for k in range(count):
        places = np.sort(rng.uniform(0.0, 0.2, rng.integers(2, 7)))
        points = [(x, *rng.uniform(0.005, 0.025, 2)) for x in places]
        pull = {"pull_point": (-0.05, *rng.uniform(0.0, 0.03, 2))} if rng.random() < 0.5 else {}
        options = {"friction": 0.2 if k == friction_at else 0.0, "guide_stiffness": guide_stiffness, **pull}
        cables.append(scene.add(pl.Cable(body, points, name=f"cable {k}", **options)))
    return scene.compile(), cables


@pytest.mark.parametrize("seed", range(6))
def test_a_bundle_gives_the_rows_and_the_stiffness_of_its_cables(seed):
    rng = np.random.default_rng(seed)
    world, cables = bundled(rng, count=5, friction_at=2 if seed % 2 else None)
    assert [len(bundle.members) for bundle in world.bundles] == ([2, 2] if seed % 2 else [5])
    rest = world.models[0].rest
    q = [rest + 0.01 * rng.normal(size=rest.shape)]
    commands = [pl.Displacement(0.01), pl.Force(2.0), pl.Cut(), pl.Displacement(0.02), pl.Force(1.0)]
    view = RowView.of(world.models, q, controls=world.controls(dict(zip(cables, commands, strict=True))))
    views, found = [view] * 5, [None] * 5
    together = assemble(world.constraints, views, found, world.bundles)
    single = assemble(world.constraints, views, found)
    assert together.slices == single.slices
    assert [memory is not None and memory.cut for memory in together.memories] == [k == 2 for k in range(5)]
    for name in ("gap", "law", "mu", "lower", "upper", "target", "key"):
        np.testing.assert_array_equal(getattr(together.rows, name), getattr(single.rows, name), err_msg=name)
    np.testing.assert_array_equal(together.rows.H[0].toarray(), single.rows.H[0].toarray())

    pattern = world.models[0].pattern
    lam = rng.choice([0.0, 1.0, 3.0], len(world.stiff_keys[0])) * rng.random(len(world.stiff_keys[0]))
    made = [np.zeros((pattern.block_count, 3, 3)) for _ in range(2)]
    for one, own in world.stiffening:
        for _, K in one.bounded_stiffness(q, lam[own], 0.5):
            K.add_to(made[0])
    for constraint, own in zip(world.stiff_constraints, world.stiff_keys[1], strict=True):
        for _, K in constraint.bounded_stiffness(q, lam[own], 0.5):
            K.add_to(made[1])
    np.testing.assert_allclose(made[0], made[1], rtol=1e-13, atol=1e-12)


def test_cables_of_two_bodies_and_other_constraints_between_them_stay_apart():
    scene = pl.Scene()
    bodies = [
        scene.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0), name=name)) for name in ("a", "b")
    ]
    points = [(0.02, 0.01, 0.01), (0.18, 0.01, 0.01)]
    for k, body in enumerate((0, 0, 1, 1, 1, 0)):
        scene.add(pl.Cable(bodies[body], points, name=f"cable {k}"))
    world = scene.compile()
    assert [(bundle.first, len(bundle.members)) for bundle in world.bundles] == [(0, 2), (2, 3)]


def test_a_step_with_a_bundle_is_that_of_single_cables(monkeypatch):
    states = []
    for single in (False, True):
        if single:
            monkeypatch.setattr(pl.World, "bundles", ())
        world, cables = bundled(np.random.default_rng(3), guide_stiffness=20.0)
        state, step = world.initial_state(), pl.ImplicitEuler(0.01)
        for k in range(10):
            state, _ = step(world, state, {cable: pl.Displacement(5e-4 * k) for cable in cables})
        states.append(state)
    np.testing.assert_allclose(states[0].q[0], states[1].q[0], rtol=0, atol=1e-13)


def test_errors_name_the_cable_of_a_bundle():
    world, cables = bundled(np.random.default_rng(0))
    with pytest.raises(PliantError, match="'cable 2'"):
        pl.ImplicitEuler(0.01)(world, world.initial_state(), {cables[2]: pl.Displacement(np.nan)})
