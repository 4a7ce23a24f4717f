"""Stiffness as an actuator: forces and stiffness against a body of that modulus, bounds, rates, and what is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints import RowView
from pliant.core.errors import InputError
from pliant.solvers.linear.matrix import BlockMatrix
from scenes import bar

YOUNG = 1e5
LAWS = [pl.materials.Corotated, pl.materials.NeoHookean]


def rubber(young=YOUNG, law=pl.materials.Corotated):
    return law(young=young, poisson=0.4, density=1e3)


def stiffened(law=pl.materials.Corotated, *, inclusion=False, **limits):
    """A bar of which the whole or the far half has a modulus that is an actuator: world, body and actuator."""
    inclusions = [(pl.regions.box((0.05, -1, -1), (1, 1, 1)), rubber(3e5, law))] if inclusion else []
    scene, body = bar(material=rubber(law=law), inclusions=inclusions)
    own = {"inclusion": 0} if inclusion else {}
    part = scene.add(pl.Stiffness(body, **own, **{"min_young": 5e4, "max_young": 1e6, **limits}))
    return scene.compile(), body, part


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("inclusion", [False, True])
def test_a_change_of_the_modulus_changes_the_forces_as_another_material_would(law, inclusion):
    """Hᵀ (E − E₀) is the difference of the internal forces of bodies of both moduli, δ minus the energy at E = 1."""
    world, _, _ = stiffened(law, inclusion=inclusion)
    first, changed = (3e5, 4e5) if inclusion else (YOUNG, 2e5)
    inclusions = [(pl.regions.box((0.05, -1, -1), (1, 1, 1)), rubber(changed, law))] if inclusion else []
    scene, _ = bar(material=rubber(YOUNG if inclusion else changed, law), inclusions=inclusions)
    other = scene.compile()
    q = world.models[0].rest + 2e-3 * np.random.default_rng(0).normal(size=world.models[0].rest.shape)
    rows, _ = world.constraints[0].rows(RowView.of(world.models, [q]))
    pushed = (changed - first) * rows.H[0].toarray().reshape(q.shape)
    (energy, force), (energy_changed, force_changed) = (each.models[0].internal(q) for each in (world, other))
    np.testing.assert_allclose(pushed, force - force_changed, atol=1e-9 * np.abs(force_changed).max())
    assert rows.gap[0] == pytest.approx(-(energy_changed - energy) / (changed - first), rel=1e-9)
    assert world.constraints[0].displacement([q]) == rows.gap[0]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("name", "exact"), [("stiffness", True), ("bounded_stiffness", False)])
def test_its_stiffness_is_the_derivative_of_its_forces(law, name, exact):
    """That of full linear solves of a linear law turns with its elements; at rest both are the same."""
    world, _, _ = stiffened(law)
    model, constraint, rng = world.models[0], world.constraints[0], np.random.default_rng(1)
    moved = exact or law is pl.materials.NeoHookean
    q = model.rest + (1e-3 * rng.normal(size=model.rest.shape) if moved else 0.0)
    values = np.zeros((model.pattern.block_count, 3, 3))
    for index, K in getattr(constraint, name)([q], np.array([5e4]), 0.5):
        assert index == 0
        K.add_to(values)
    d = rng.normal(size=q.shape)
    pushes = [5e4 * constraint.rows(RowView.of(world.models, [q + s * d]))[0].H[0].toarray() for s in (1e-7, -1e-7)]
    change = -0.5 * (pushes[0] - pushes[1]).reshape(q.shape) / 2e-7
    product = BlockMatrix(model.pattern, values).matvec(d)
    np.testing.assert_allclose(product, change, atol=1e-5 * np.abs(change).max())
    assert list(getattr(constraint, name)([q], np.zeros(1), 0.5)) == []


def test_a_commanded_modulus_halves_the_deflection():
    """Of a bar in bending under its weight, at small deflection; the reading is the modulus."""
    world, body, part = stiffened()
    tips = []
    for young in (YOUNG, 2e5):
        controls = {part: pl.Young(young), "gravity": (0, 0, -0.5)}
        state, info = pl.QuasiStatic(tolerance=1e-9)(world, world.initial_state(), controls)
        tips.append(state.displacements(body)[:, 2].min())
        assert info.actuation(part)[1] == pytest.approx(young - YOUNG)
    assert tips[0] < -1e-5
    assert tips[1] == pytest.approx(0.5 * tips[0], rel=1e-3)


def test_a_modulus_changes_no_faster_than_its_rate():
    world, _, part = stiffened(max_rate=2e5)
    state, reached = world.initial_state(), []
    for _ in range(3):
        state, info = pl.QuasiStatic(dt=0.2)(world, state, {part: pl.Young(2e5)})
        reached.append(YOUNG + info.actuation(part)[1])
    np.testing.assert_allclose(reached, [1.4e5, 1.8e5, 2e5])


def test_limits_readings_and_values_are_of_the_modulus():
    world, _, part = stiffened(min_young=5e4, max_young=4e5)
    assert (part.limits.lower, part.limits.upper) == (-5e4, 3e5)
    assert part.imposing(2e4) == pl.Young(1.2e5)
    assert part.slider_amount(7.0, 2e4) == 1.2e5
    for young in (5e4, 4e5, 4e5 * (1 + 1e-13), 5e4 * (1 - 1e-13)):  # the ends, and what rounding makes of them
        assert world.controls({part: pl.Young(young)})[part].amount == pytest.approx(young - YOUNG)
    for young in (4e5 * (1 + 1e-9), 5e4 * (1 - 1e-9)):
        with pytest.raises(InputError, match=r"outside 50000 … 400000 Pa"):
            part.command(pl.Young(young))
    with pytest.raises(InputError, match="cannot be commanded by displacement"):
        part.moving(1.0)
    with pytest.raises(InputError, match=r"is controlled by pl\.Young\(Pa\), got"):
        part.command(pl.Pressure(1e5))
    assert world.constraints[0].stiff_models == (0,)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"min_young": 0.0}, "min_young of 'stiffness' must be > 0"),
        ({"max_young": 5e4}, "max_young of 'stiffness' is 50000 Pa, min_young 50000 Pa"),
        ({"max_rate": -1.0}, "max_rate of 'stiffness'"),
    ],
)
def test_bad_stiffnesses(options, text):
    with pytest.raises(InputError, match=text):
        stiffened(**options)


def test_a_stiffness_needs_a_part_with_a_modulus():
    region = pl.regions.box((0.05, -1, -1), (1, 1, 1))
    with pytest.raises(InputError, match="index 0 is none of the 0 inclusions"):
        pl.Stiffness(bar()[1], inclusion=0, min_young=1e4, max_young=1e5)
    _, body = bar(material=rubber(), inclusions=[(region, rubber(3e5))])
    with pytest.raises(InputError, match="has inclusions; give 'stiffness' the index of one"):
        pl.Stiffness(body, min_young=1e4, max_young=1e5)
    for wrong in (1, -1):
        with pytest.raises(InputError, match=f"index {wrong} is none of the 1 inclusions"):
            pl.Stiffness(body, inclusion=wrong, min_young=1e4, max_young=1e5)
    with pytest.raises(InputError, match=r"body of Stiffness 'stiffness' must be a pl\.Volume"):
        pl.Stiffness(pl.RigidBody.sphere(radius=0.1, mass=1.0), min_young=1e4, max_young=1e5)
    _, body = bar(material=pl.materials.Ogden(m=2e4, a=2.0, bulk=1e6, density=1e3))
    with pytest.raises(InputError, match="Ogden has no Young's modulus that 'stiffness' could change"):
        pl.Stiffness(body, min_young=1e4, max_young=1e5)
    scene, body = bar(material=rubber(law=pl.materials.NeoHookean), anti_locking="volume")
    scene.add(pl.Stiffness(body, min_young=1e4, max_young=1e5))
    with pytest.raises(InputError, match='cannot be an actuator with anti_locking="volume": use True'):
        scene.compile()
