"""Work and energy: what actuators do is stored, and what a step loses is accounted for term by term.

Statics. Along a path of equilibria dE = λ dδ for the only force that does work, so Σ ½ (λ + λ⁺)(δ⁺ − δ) tends to the
change of elastic energy and potential, with an error of second order in the load step.

Implicit Euler, converged: M (v⁺ − v)/h + D v⁺ + f(x⁺) = w + Hᵀλ with Δx = h v⁺. Times Δx:

    ΔE_kin + ½‖v⁺ − v‖²_M + ΔE_el + ℓ_el + ΔE_pot + h v⁺ᵀD v⁺ = λᵀ H Δx,      ℓ_el = f(x⁺)·Δx − ΔE_el

since M (v⁺ − v)·v⁺ = ΔE_kin + ½‖v⁺ − v‖²_M, and the potential of the weight w is linear. No term is small by itself;
ℓ_el, the loss of the scheme in the material, is ½ ΔxᵀK Δx for a linear one. For a cable λᵀ H Δx ≤ λ Δδ, its length
being convex: the difference is a loss as well. For contact with a fixed floor it is Σ F·Δx of the touching nodes, and
that is −N × (gap closed) − ‖T‖ × (slip).
"""

import numpy as np
import pytest

import pliant as pl
from pliant.materials import Tangent
from pliant.models.volume.free_rotation import free_rotation

SIZE, END = (0.1, 0.02, 0.02), pl.regions.plane(axis="x", at=0.0)
LAWS = [pl.materials.Linear, pl.materials.Corotated, pl.materials.NeoHookean]


def bar_with_cable(law=pl.materials.NeoHookean, **options):
    """A bar under gravity, clamped at x = 0, with a cable along its top: world, cable and its length in a state."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    material = law(young=2e5, poisson=0.4, density=1e3)
    body = scene.add(pl.Volume(pl.mesh.box(SIZE, (8, 2, 2)), material, clamp=END, **options))
    points = [(x, 0.01, 0.018) for x in (0.0, 0.05, 0.1)]
    cable = scene.add(pl.Cable(body, points))
    return scene.compile(), cable, lambda state: state.length(cable)


def finger():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    robot = scene.add(pl.robots.finger())
    return scene.compile(), robot.cable, [pl.Displacement(x) for x in (0.01, 0.02)]


def bar():
    world, cable, _ = bar_with_cable()
    return world, cable, [pl.Displacement(x) for x in (0.002, 0.012)]


def tower(control, ends):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    robot = scene.add(pl.robots.tower())
    return scene.compile(), robot.cavities[0], [control(x) for x in ends]


CASES = {
    "cable of a finger": finger,
    "cable of a bar": bar,
    "volume of a chamber": lambda: tower(pl.VolumeGrowth, (0.0, 8e-7)),
    "pressure of a chamber": lambda: tower(pl.Pressure, (0.0, 1.5e3)),
}


@pytest.mark.parametrize("case", CASES)
def test_quasi_static_work_of_an_actuator_is_stored(case):
    """∫ λ dδ against the change of elastic energy and potential, with 4 and 8 load steps: halving quarters the gap."""
    world, actuator, (first, last) = CASES[case]()
    step, errors = pl.QuasiStatic(tolerance=1e-11), []
    start, begin = step(world, world.initial_state(), {actuator: first})
    for count in (4, 8):
        state, before, work = start, begin.actuation(actuator), 0.0
        for share in np.linspace(0.0, 1.0, count + 1)[1:]:
            value = first.value + share * (last.value - first.value)
            state, info = step(world, state, {actuator: type(first)(value)})
            now = info.actuation(actuator)
            work += 0.5 * (now[1] + before[1]) * (now[0] - before[0])
            before = now
        stored = world.energy(state)["total"] - world.energy(start)["total"]
        errors.append((work - stored) / stored)
    print(f"{case}: stored {stored:.4e} J, work off by {errors[0]:.2e}, {errors[1]:.2e}, {errors[0] / errors[1]:.3f}")
    assert stored > 0.0
    assert abs(errors[1]) < 0.02
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.4)


class Balance:
    """The terms of one converged step of the first body of a world, J."""

    def __init__(self, world, before, after, dt):
        model = world.models[0]
        damping, pattern = model.spec.damping, model.pattern
        self.moved = after.q[0] - before.q[0]
        then, now = world.energy(before), world.energy(after)
        self.gained = now["total"] - then["total"]
        rotation = None if model.constrained.any() else free_rotation(before.q[0], before.v[0], model.mass, dt)
        v = before.v[0] if rotation is None else rotation.velocity  # of a body that turns, as the step defines it
        self.inertia = np.vdot(self.moved, model.mass.apply(self.moved / dt - v)) / dt
        self.inertia -= now["kinetic"] - then["kinetic"]
        self.elastic = np.vdot(model.internal(after.q[0])[1], self.moved) - (now["elastic"] - then["elastic"])
        tangent = Tangent.WARPED if model.is_linear_law else Tangent.PROJECTED
        K = np.empty((pattern.block_count, 3, 3))
        model.assemble(0.5 * (before.q[0] + after.q[0]), mass=0.0, stiffness=1.0, tangent=tangent, values=K)
        product = pl.solvers.linear.matrix.BlockMatrix(pattern, K).matvec(self.moved)
        self.damping = damping.stiffness / dt * np.vdot(self.moved, product)
        self.damping += damping.mass / dt * np.vdot(self.moved, model.mass.apply(self.moved))

    def error(self, work, least=0.0):
        """What does not add up, of the largest term or of `least`, J."""
        terms = [self.gained, self.inertia, self.elastic, self.damping, -work]
        return abs(sum(terms)) / max(least, np.abs(terms).max())


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("damping", [pl.Rayleigh(), pl.Rayleigh(mass=0.5, stiffness=0.01)])
def test_every_term_of_a_dynamic_step_adds_up(law, damping):
    """A bar swings under gravity while its cable is pulled; the balance closes in each of 25 steps."""
    world, cable, length = bar_with_cable(law, damping=damping)
    state, dt = world.initial_state(), 0.01
    step, errors, losses, work = pl.ImplicitEuler(dt=dt, tolerance=1e-11), [], [], 0.0
    for number in range(25):
        before = state
        state, info = step(world, before, {cable: pl.Displacement(4e-4 * number)})
        terms, tension = Balance(world, before, state, dt), info.actuation(cable)[1]
        along = info.assembly.rows.H[0] @ terms.moved.ravel()
        errors.append(terms.error(tension * along[0]))
        bent = tension * (length(before) - length(state) - along[0])
        losses.append((terms.inertia, terms.elastic, terms.damping, bent))
        work += tension * (length(before) - length(state))
        if law is pl.materials.Linear:
            model = world.models[0]
            force = model.internal(state.q[0])[1] - model.internal(before.q[0])[1]
            assert terms.elastic == pytest.approx(0.5 * np.vdot(force, terms.moved), abs=1e-8 * max(losses[-1]))
    gained = world.energy(state)["total"] - world.energy(world.initial_state())["total"]
    lost = np.sum(losses, axis=0)
    print(f"{law.__name__}: balance within {max(errors):.1e}; work {work:.4e} J, gained {gained:.4e}, lost {lost}")
    assert max(errors) < 1e-8
    assert np.min(np.delete(losses, 1, axis=1)) > -1e-9 * work, "losses, that of the cable as its length is convex"
    assert lost[1] > 0.0
    assert work == pytest.approx(gained + lost.sum(), rel=1e-8)


def test_contact_and_friction_do_the_work_that_is_missing():
    """A soft block thrown on a floor: the balance closes, the floor takes the gap it closed and the slip, no more."""
    mu, dt = 0.3, 0.005
    scene = pl.Scene(gravity=(0, 0, -9.81))
    material = pl.materials.Corotated(young=1e5, poisson=0.3, density=1e3)
    mesh = pl.mesh.box((0.04, 0.04, 0.02), (3, 3, 2))
    block = scene.add(pl.Volume(mesh, material, damping=pl.Rayleigh(stiffness=0.005)), position=(0, 0, 0.002))
    floor = scene.add(pl.Obstacle.plane())
    scene.collide(block, floor, friction=mu)
    world = scene.compile()
    rest, step = world.initial_state(), pl.ImplicitEuler(dt=dt, tolerance=1e-12)
    state = pl.State(world, 0.0, rest.q, (np.tile([0.5, 0.2, -0.2], (mesh.node_count, 1)),), rest.lam)
    start = world.energy(state)["kinetic"]
    errors, normal_work, friction_work = [], 0.0, 0.0
    for _ in range(40):
        before = state
        state, info = step(world, before)
        terms, found = Balance(world, before, state, dt), info.contacts(block, floor)
        nodes = info.assembly.memories[0].contacts.nodes_a[:, 0]
        moved, pressed = terms.moved[nodes], found.forces[:, 2]
        pull, slip = found.forces[:, :2], moved[:, :2]
        work = np.vdot(found.forces, moved)
        errors.append(terms.error(work, least=1e-3 * start))
        closed = -pressed @ before.q[0][nodes, 2]
        rubbed = -np.linalg.norm(pull, axis=1) @ np.linalg.norm(slip, axis=1)
        scale = np.abs(found.forces).sum() * np.abs(terms.moved).max() + 1e-12
        assert work == pytest.approx(closed + rubbed, abs=1e-6 * scale)
        assert (np.linalg.norm(pull, axis=1) <= mu * pressed + 1e-8 * pressed.max(initial=0.0)).all()
        normal_work, friction_work = normal_work + closed, friction_work + rubbed
    print(f"balance within {max(errors):.1e}; floor {normal_work:.3e} J, friction {friction_work:.3e} J of {start:.3e}")
    assert max(errors) < 1e-8
    assert friction_work < -0.5 * start, "friction took most of the sliding"
    assert np.abs(state.velocities(block)).max() < 0.01
