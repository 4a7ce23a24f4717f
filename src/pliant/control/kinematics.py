"""Differential kinematics of a robot about a state, compliance at a point, and the reachable set.

All come from W at the state, with the coupling of models by forces in channels (`constraints.coupling`). With bilateral
rows and pressing contacts eliminated at constant δ, a small actuation moves effectors by Δδ_e = W_ea W_aa⁻¹ Δδ_a
(Adagolodjo et al. 2021, eq. 14, with the Schur complement).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints import forces_of
from pliant.constraints.coupling import Coupling, couple, with_couplings
from pliant.constraints.rows import COMPLIANT, Constraint, RowLaw, Rows, RowView
from pliant.control.effectors import AnyEffector, Effector
from pliant.core.checks import positive_count
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.one_line import one_line
from pliant.core.types import BoolArray, FloatArray
from pliant.materials import Tangent
from pliant.models.point_map import PointMap
from pliant.models.scheme import STATIC_SCHEME, Scheme, euler_scheme
from pliant.solvers.contact.blocks import NO_BLOCKS, equilibrating_scale
from pliant.solvers.contact.elimination import eliminate
from pliant.stepping import QuasiStatic
from pliant.stepping.bodies import StepBodies
from pliant.stepping.session import warm_start
from pliant.world import State, World
from pliant.world.belonging import check_belongs

_PRESSED = 1e-9  # a contact presses above this fraction of the largest force; less is rounding


@one_line
@dataclass(frozen=True, eq=False)
class Kinematics:
    """Small motions of effectors and actuators about a state.

    `compliance` W_ea (e, a), m/N, is the motion of the effectors per newton (Pa, N·m) of each actuator; `actuator` W_aa
    (a, a) that of the actuators. `jacobian` (e, a) is the motion of the effectors per unit displacement of each
    actuator at constant displacement of the others; its rows are those of the effectors in order, m (m³, rad). `slack`
    (a,) marks slack cables, which transmit nothing.
    """

    compliance: FloatArray
    actuator: FloatArray
    slack: BoolArray

    @property
    def jacobian(self) -> FloatArray:
        """W_ea W_aa⁻¹ over the actuators that are not slack, (e, a)."""
        taut = np.flatnonzero(~self.slack)
        made = np.zeros(self.compliance.shape)
        W_aa = self.actuator[np.ix_(taut, taut)]
        # redundant cables: W_aa is singular
        made[:, taut] = np.linalg.lstsq(W_aa.T, self.compliance[:, taut].T, rcond=1e-12)[0].T
        return made


def kinematics(
    world: World,
    state: State,
    *,
    effectors: Sequence[AnyEffector],
    actuators: Sequence[Any],
    controls: Mapping[Any, Any] | None = None,
    dt: float | None = None,
) -> Kinematics:
    """Compliance and Jacobian of `effectors` by `actuators` about `state`, under the forces that act in it.

    `controls` are those of the state for the other actuators. Quasi-static, or a dynamic step of `dt` (s).
    """
    origins = {effector: origin(effector) for effector in effectors}
    rows = [effector.bound(world) for effector in effectors]
    watched = _watched(world, state, rows, controls, dt, origins)
    slices = watched.slices
    drives = np.array([slices[world.constraint_index(actuator)].start for actuator in actuators])
    seen = np.concatenate([np.arange(own.start, own.stop) for own in slices[len(slices) - len(rows) :]])
    reduced = _reduced(watched, np.concatenate([seen, drives]))
    count, now, lam = len(seen), watched.rows, watched.lam()
    slack = (now.law[drives] == RowLaw.BOUNDED) & (lam[drives] <= now.lower[drives])
    return Kinematics(reduced[:count, count:], reduced[count:, count:], slack)


def point_compliance(
    world: World,
    state: State,
    body: Any,
    point: Any,
    *,
    controls: Mapping[Any, Any] | None = None,
    dt: float | None = None,
) -> FloatArray:
    """Compliance at `point` (3,) m of `body` (frame of its mesh), (3, 3), m/N, symmetric.

    Pressing contacts and actuators commanded by displacement keep their δ, those commanded by force their λ.
    """
    index = world.index(body)
    embedded = world.models[index].embed(np.asarray(point, float).reshape(1, 3), what="point")
    watched = _watched(world, state, [_Probe(index, embedded)], controls, dt, {})
    reduced = _reduced(watched, np.arange(watched.slices[-1].start, watched.slices[-1].stop))
    return 0.5 * (reduced + reduced.T)


def point_stiffness(world: World, state: State, body: Any, point: Any, **options: Any) -> FloatArray:
    """Stiffness at a point, (3, 3), N/m: the inverse of `point_compliance`, whose `options` it takes."""
    return np.asarray(np.linalg.inv(point_compliance(world, state, body, point, **options)), np.float64)


def reachable_set(
    world: World,
    *,
    effector: Effector,
    actuators: Sequence[Any],
    ranges: Any,
    samples: int,
    seed: int = 0,
    steps: int = 4,
    stepper: Any = None,
) -> tuple[FloatArray, FloatArray]:
    """Actuations (k, a) and positions of the effector (k, 3), m, at `samples` points of the box of displacements.

    `ranges` (a, 2) bounds the displacement of each actuator (m, m³, rad). Samples are those of a Latin hypercube with
    `seed`; each is reached from rest in `steps` equal increments by `stepper`, by default `pl.QuasiStatic()`. Samples
    without an equilibrium are left out, so k ≤ samples.
    """
    bounds = np.asarray(ranges, float)
    if bounds.shape != (len(actuators), 2) or not (bounds[:, 0] <= bounds[:, 1]).all():
        raise InputError(f"ranges must be ({len(actuators)}, 2), the lower and upper displacement of each actuator")
    count = positive_count("samples", samples)
    rng = np.random.default_rng(seed)
    cells = np.stack([rng.permutation(count) for _ in actuators], axis=1)
    amounts = bounds[:, 0] + (cells + rng.random(cells.shape)) / count * (bounds[:, 1] - bounds[:, 0])
    stepper = QuasiStatic(tolerance=1e-6) if stepper is None else stepper
    measure, zero = effector.bound(world).measure, origin(effector)
    reached, positions = [], []
    for amount in amounts:
        state = world.initial_state()
        try:
            for fraction in np.arange(1, steps + 1) / steps:
                controls = {a: a.moving(float(fraction * x)) for a, x in zip(actuators, amount, strict=True)}
                state, _ = stepper(world, state, controls)
        except ConvergenceError:
            continue
        reached.append(amount)
        positions.append(measure.error(state.q, zero).reshape(-1, 3)[0])
    return np.array(reached).reshape(-1, len(actuators)), np.array(positions).reshape(-1, 3)


@dataclass(frozen=True, eq=False)
class _Probe(Constraint):
    """Three rows at an embedded point."""

    index: int
    map: PointMap
    name: str = "point"

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        H = view.blank(3)
        H[self.index] = self.map.pull_back(view.q[self.index], sparse.identity(3, format="csr"))
        return Rows.of(H, np.zeros(3), RowLaw.IMPOSED), None


def origin(effector: AnyEffector) -> FloatArray:
    """A target of zero."""
    for value in (np.zeros(3), 0.0):
        try:
            return effector.target(value)
        except InputError:
            continue
    raise InputError(f"{effector.name!r} has no target at zero, so it cannot be measured here")


@dataclass(frozen=True, eq=False)
class _Watched:
    """W of all rows of a world and of the watched ones about a state, followed by the rows of `couplings`."""

    W: FloatArray
    slices: tuple[slice, ...]
    rows: Rows
    state: State
    couplings: Sequence[Coupling]

    def lam(self) -> FloatArray:
        """λ (m,) of the rows in the state, N; 0 for rows that it does not have."""
        last = warm_start(self.state, self.rows.key)
        return np.zeros(self.rows.count) if last is None else last


def _watched(
    world: World, state: State, watchers: Sequence[Any], controls: Any, dt: float | None, targets: Mapping[Any, Any]
) -> _Watched:
    check_belongs(state, world)
    scheme: Scheme = STATIC_SCHEME if dt is None else euler_scheme(dt)
    bodies = StepBodies.begin(world, state, scheme, world.controls(controls) | dict(targets))
    systems, _ = bodies.linearized(Tangent.EXACT)
    sizes = [model.size for model in world.models]
    found = (
        constraint.coupling(state.q, forces_of(constraint.stiff_keys, state.keys, state.lam), sizes)
        for constraint in world.stiff_constraints
    )
    couplings = [coupling for coupling in found if coupling is not None]
    for index, (model, system) in enumerate(zip(world.models, systems, strict=True)):
        sprung = model.constrain_base(system) if dt is None else None
        if sprung is not None:
            couplings.append(_unsprung(index, *sprung, sizes))
    factors = [system.factorize() for system in systems]
    assembly = bodies.assembled(watchers)
    W = with_couplings(assembly.rows.H, factors, couplings)
    return _Watched(W, assembly.slices, assembly.rows, state, couplings)


def _unsprung(index: int, unknown: int, spring: float, sizes: Sequence[int]) -> Coupling:
    """The coupling that removes a spring at one unknown of a model whose base rows constrain."""
    E = [sparse.csr_matrix((1, size)) for size in sizes]
    E[index] = sparse.csr_matrix(([1.0], ([0], [unknown])), shape=(1, sizes[index]))
    return Coupling(tuple(E), np.array([[-1.0 / spring]]))


def holds(rows: Rows, lam: FloatArray) -> BoolArray:
    """Which rows (m,) hold under small motions from where their forces are λ (m,), N: bilateral ones, actuators by
    displacement, and contacts that press, along the surface too where friction is below its limit.
    """
    largest = float(np.abs(lam).max(initial=0.0))
    sticks = np.abs(lam) > _PRESSED * largest
    cones = np.flatnonzero(rows.law == RowLaw.COULOMB)
    if len(cones):
        normal, friction = lam[cones[::3]], np.hypot(lam[cones[1::3]], lam[cones[2::3]])
        sticking = (normal > _PRESSED * largest) & (friction < (1.0 - 1e-6) * rows.mu[cones[::3]] * normal)
        for k in (1, 2):
            sticks[cones[k::3]] = sticking  # a sliding contact constrains its normal only
    held: BoolArray = (rows.law == RowLaw.BILATERAL) | (rows.law == COMPLIANT) | (sticks & (rows.law != RowLaw.IMPOSED))
    return held


def _reduced(watched: _Watched, kept: Any) -> FloatArray:
    """W of the rows `kept` at constant δ of bilateral rows, actuators by displacement and pressing contacts."""
    W, rows = watched.W, watched.rows
    soft = np.flatnonzero(rows.law == COMPLIANT)
    W[soft, soft] += rows.upper[soft]
    stays = holds(rows, watched.lam())
    stays[kept] = False
    D = equilibrating_scale(W, NO_BLOCKS)
    wanted = np.concatenate([kept, np.arange(rows.count, len(W))])
    left = eliminate(W, np.zeros(len(W)), wanted, np.flatnonzero(stays), D, allowed=np.inf).W
    return couple(left, watched.couplings) if watched.couplings else left
