"""Rows, condensation and the bilateral law, alone and end to end in a world."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse

import pliant as pl
from pliant.constraints import Constraint, RowLaw, Rows, RowView, assemble, condense, detect
from pliant.core.errors import InfeasibleError
from pliant.solvers.linear.dense import DenseFactor
from pliant.solvers.linear.response import SolvedMotion

RUBBER = pl.materials.NeoHookean(young=5e5, poisson=0.4, density=1e3)


@dataclasses.dataclass(frozen=True)
class Pin(Constraint):
    """Holds one node of the first model at `target` by three bilateral rows."""

    node: int
    target: tuple

    name = "pin"

    def rows(self, view, found=None):
        """Gap q − target with the identity as its gradient."""
        H = view.blank(3)
        columns = 3 * self.node + np.arange(3)
        H[0] = sparse.csr_matrix((np.ones(3), (np.arange(3), columns)), shape=(3, view.q[0].size))
        return Rows.of(H, view.q[0][self.node] - np.array(self.target), RowLaw.BILATERAL), None


@dataclasses.dataclass(frozen=True)
class Joint(Constraint):
    """Keeps node `a` of model 0 on node `b` of model 1."""

    a: int
    b: int

    name = "pin"

    def rows(self, view, found=None):
        """Gap q_a − q_b."""
        H, q = [], view.q
        for x, node, sign in ((q[0], self.a, 1.0), (q[1], self.b, -1.0)):
            columns = 3 * node + np.arange(3)
            H.append(sparse.csr_matrix((np.full(3, sign), (np.arange(3), columns)), shape=(3, x.size)))
        return Rows.of(H, q[0][self.a] - q[1][self.b], RowLaw.BILATERAL), None


def view_of(q):
    return RowView(q=q, start=q, moved=[0.0 * x for x in q], sizes=[x.size for x in q], controls={}, time=0.0, dt=0.0)


def test_rows_stack_in_the_order_of_their_constraints():
    q = [np.arange(12.0).reshape(4, 3), np.zeros((2, 3))]
    pins, views = (Pin(1, (0, 0, 0)), Pin(3, (1, 1, 1))), [view_of(q), view_of(q)]
    assembly = assemble(pins, views, detect(pins, views))
    rows = assembly.rows
    assert rows.count == 6
    assert assembly.slices == (slice(0, 3), slice(3, 6))
    np.testing.assert_array_equal(rows.gap, [3, 4, 5, 8, 9, 10])
    np.testing.assert_array_equal(rows.H[0].indices, [3, 4, 5, 9, 10, 11])
    assert rows.H[1].shape == (6, 6)
    assert rows.H[1].nnz == 0


def test_condensation_sums_over_the_models():
    """W = Σ H A⁻¹ Hᵀ and δ_free = gap + Σ H dx, against dense algebra."""
    rng = np.random.default_rng(0)
    A = [x @ x.T + np.eye(len(x)) for x in (rng.normal(size=(6, 6)), rng.normal(size=(3, 3)))]
    H = [sparse.random(4, len(a), 0.6, format="csr", random_state=1) for a in A]
    dx = [rng.normal(size=(2, 3)), rng.normal(size=(1, 3))]
    rows = Rows.of(H, rng.normal(size=4), RowLaw.BILATERAL)
    free = [SolvedMotion(DenseFactor(a), x) for a, x in zip(A, dx, strict=True)]
    problem = condense(rows, free).problem
    W = sum(h @ np.linalg.solve(a, h.T.toarray()) for h, a in zip(H, A, strict=True))
    np.testing.assert_allclose(problem.W, W, atol=1e-13)
    expected = rows.gap + sum(h @ x.ravel() for h, x in zip(H, dx, strict=True))
    np.testing.assert_allclose(problem.delta_free, expected, atol=1e-14)


def pinned_worlds(law=RUBBER, displacement=(0.01, 0.0, 0.02)):
    """The same beam with its far corner held by a support, and by rows."""
    mesh = pl.mesh.box((0.2, 0.04, 0.04), (8, 2, 2))
    node = int(np.argmax(mesh.points.sum(axis=1)))
    clamp = pl.regions.plane(axis="x", at=0.0)
    worlds = []
    for supported in (True, False):
        scene = pl.Scene(gravity=(0, 0, -9.81))
        body = scene.add(pl.Volume(mesh, law, clamp=clamp, damping=pl.Rayleigh(stiffness=0.01)))
        if supported:
            scene.add(pl.Support(body, pl.regions.nodes([node]), displacement=displacement))
        worlds.append(scene.compile())
    target = tuple(mesh.points[node] + displacement)
    worlds[1] = dataclasses.replace(worlds[1], constraints=(Pin(node, target),))
    return worlds, node


def test_a_pin_of_rows_is_a_support_in_statics():
    """Newton converges with the force of the rows in the residual; λ is the reaction of the support."""
    (held, rowed), node = pinned_worlds()
    step = pl.QuasiStatic(tolerance=1e-10)
    expected, support = step(held, held.initial_state())
    got, info = step(rowed, rowed.initial_state())
    assert info.status is pl.Status.CONVERGED
    assert info.residual <= 1e-10
    np.testing.assert_allclose(got.q[0], expected.q[0], atol=1e-9)
    reaction = support.reaction(0)[node]
    assert np.linalg.norm(reaction) > 0.1
    np.testing.assert_allclose(info.lam, reaction, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(got.lam, info.lam)


@pytest.mark.parametrize("tolerance", [None, 1e-10])
@pytest.mark.parametrize("stepper", [pl.ImplicitEuler, pl.ImplicitMidpoint])
def test_a_pin_of_rows_is_a_support_in_dynamics(stepper, tolerance):
    (held, rowed), node = pinned_worlds()
    step = stepper(dt=0.01, tolerance=tolerance)
    a, b = held.initial_state(), rowed.initial_state()
    for _ in range(15):
        a, support = step(held, a)
        b, info = step(rowed, b)
    np.testing.assert_allclose(b.q[0], a.q[0], atol=1e-9)
    np.testing.assert_allclose(b.v[0], a.v[0], atol=1e-6)
    if tolerance is not None:
        np.testing.assert_allclose(info.lam, support.reaction(0)[node], rtol=1e-5, atol=1e-7)
        assert info.residual <= 1e-9


def test_rows_appear_among_the_stages():
    (_, rowed), _ = pinned_worlds()
    _, info = pl.ImplicitEuler(dt=0.01)(rowed, rowed.initial_state())
    assert {"linearize", "factorize", "solve", "rows", "condense", "constraints", "correct"} <= set(info.stage_times)


def test_contradicting_pins_raise_and_name_the_remedy():
    (_, rowed), node = pinned_worlds()
    twice = dataclasses.replace(rowed, constraints=(Pin(node, (0.2, 0, 0)), Pin(node, (0.3, 0, 0))))
    with pytest.raises(InfeasibleError, match="'pin', 'pin' cannot be satisfied together"):
        pl.ImplicitEuler(dt=0.01)(twice, twice.initial_state())


def test_joined_bodies_fall_together_and_stay_joined():
    """A joint between two unclamped bodies: its gap stays closed, the centre of mass falls freely."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box((0.1, 0.04, 0.04), (3, 1, 1))
    first = scene.add(pl.Volume(mesh, RUBBER, name="first"))
    second = scene.add(pl.Volume(mesh, RUBBER, name="second"), position=(0.1, 0.0, 0.0), rotation=(0.3, 0.0, 0.0))
    world = scene.compile()
    a = int(np.argmax(mesh.points[:, 0] - mesh.points[:, 1] - mesh.points[:, 2]))
    b = int(np.argmin(mesh.points.sum(axis=1)))
    rest = world.initial_state()
    np.testing.assert_allclose(rest.points(first)[a], rest.points(second)[b], atol=1e-12)
    world = dataclasses.replace(world, constraints=(Joint(a, b),))
    start = world.initial_state()
    spin = np.cross([0.0, 8.0, 0.0], start.q[0] - start.q[0][a])
    state = pl.State(world, 0.0, start.q, (spin, start.v[1]), start.lam)
    mass = [model.mass.nodal for model in world.models]

    def momentum(state):
        return sum(m @ v for m, v in zip(mass, state.v, strict=True))

    before, dt, count = momentum(state), 0.005, 40
    step = pl.ImplicitEuler(dt=dt)
    for _ in range(count):
        state, info = step(world, state)
    np.testing.assert_allclose(state.points(first)[a], state.points(second)[b], atol=1e-10)
    total = sum(m.sum() for m in mass)
    expected = before + total * count * dt * np.array([0, 0, -9.81])
    np.testing.assert_allclose(momentum(state), expected, atol=1e-8)
    assert np.linalg.norm(info.lam) > 1e-3


def test_imposed_rows_have_no_forces_and_no_bounds():
    rows = Rows.imposed([sparse.csr_matrix((3, 6))], np.arange(3.0))
    assert rows.count == 3
    assert (rows.law == RowLaw.IMPOSED).all()
    assert (rows.lower == -np.inf).all()
    assert (rows.upper == np.inf).all()
    assert not rows.target.any()
    assert not rows.mu.any()
    assert (rows.key == -1).all()
