"""Linear models of a hybrid system in one of its modes, and equilibria under active constraints.

At constant a and λ, the residual of the equations of motion and of the active constraints

    r = (M a + b − B u − Fᵀλ,  R a + c)          is differentiated by a complex step in q and v, exactly,

and one solve with [M −Fᵀ; R 0] gives ∂a/∂(q, v, u) and ∂λ/∂(q, v, u). This is the paper's `linFlag`: the linear model
of the mode, not of a finite difference that straddles it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.declared import declared
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.extras import extra
from pliant.core.types import FloatArray
from pliant.hybrid.contact_laws import Grip, Mode
from pliant.hybrid.equations import Discrete, Equations
from pliant.hybrid.initial_state import initial_discrete
from pliant.hybrid.mode_dynamics import ModeDynamics
from pliant.hybrid.solution import HybridState
from pliant.hybrid.system import HybridSystem, Joint

_STEP = 1e-30
"""Complex step: no subtraction, so its error is rounding however small it is."""
_TOUCHING = 1e-6
"""m; gap below which a contact counts as closed at an operating point given by hand."""


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Derivatives at a point with respect to x = (q, v) and u: `A` (2n, 2n) and `B` (2n, k) of ẋ, and `L` (rows, 2n)
    and `N` (rows, k) of the forces of the active rows, whose indices are `rows`; `rate` (2n,) is ẋ itself.
    """

    A: FloatArray
    B: FloatArray
    L: FloatArray
    N: FloatArray
    rows: Any
    rate: FloatArray


@declared
def linearize(
    system: HybridSystem, point: Any, active: str | Sequence[str] = "contact", *, forces: bool = False
) -> Any:  # fmt: skip
    """The linear model of a mode at `point` as a `control.StateSpace` with states (q, v) and inputs u.

    `point` is a state of a run, or a tuple (q, v) or (q, v, u) of arrays (n,), (n,), (k,). `active` selects the active
    contacts: "contact" those in contact at the point or touching there (|h| ≤ 1e-6 m), "all", "none", or the names of
    constraints; joints are always active. Outputs are those of the system (q by default), with `forces` followed by λ
    of the active rows. A system without inputs gets one without effect, as python-control requires an input.
    """
    control = control_package()
    equations = Equations(system)
    q, v, u, discrete = resolve(equations, point, active)
    s = sensitivity(ModeDynamics(equations, discrete), q, v, u)
    C = output_matrix(system, q, v)
    D: FloatArray = np.zeros((len(C), s.B.shape[1]))
    names = list(system.labels) if system.outputs is None else [f"y{k + 1}" for k in range(len(C))]
    if forces:
        C, D = np.vstack([C, s.L]), np.vstack([D, s.N])
        names += [f"lam {system.row_names[row]}" for row in s.rows]
    B, inputs = s.B, [f"u{k + 1}" for k in range(s.B.shape[1])]
    if not inputs:
        B, D, inputs = np.zeros((len(s.A), 1)), np.zeros((len(C), 1)), ["nothing"]
    states = [*system.labels, *(f"d {label}" for label in system.labels)]
    return control.ss(
        s.A, B, C, D, states=[_plain(x) for x in states], inputs=inputs, outputs=[_plain(x) for x in names],
        remove_useless_states=False,
    )  # fmt: skip


def resolve(
    equations: Equations, point: Any, active: str | Sequence[str]
) -> tuple[FloatArray, FloatArray, FloatArray, Discrete]:
    """q, v, u and the discrete state of an operating `point` with the `active` constraints."""
    n, system = equations.n, equations.system
    if isinstance(point, HybridState):
        q, v, u, discrete = point.q, point.v, point.u, point.discrete.copy()
    else:
        if not isinstance(point, (tuple, list)) or len(point) not in (2, 3):
            raise InputError(f"point must be a state of a run, (q, v) or (q, v, u), got {point!r}")
        q = finite_array("q of the point", point[0], shape=(n,))
        v = finite_array("v of the point", point[1], shape=(n,))
        given = point[2] if len(point) > 2 else np.zeros(equations.input_count)
        u = finite_array("u of the point", given, shape=(equations.input_count,))
        discrete = initial_discrete(equations, q)
    names = {constraint.name for constraint in system.constraints}
    if not isinstance(active, str) and not all(isinstance(name, str) for name in active):
        raise InputError(f"active must be names of constraints, got {active!r:.60}; {system.name} has {sorted(names)}")
    if not isinstance(active, str) and set(active) - names:
        raise InputError(f"{system.name} has no constraints {sorted(set(active) - names)}; it has {sorted(names)}")
    if isinstance(active, str) and active not in ("contact", "all", "none"):
        raise InputError(f'active must be "contact", "all", "none" or names of constraints, got {active!r}')
    owned = {name for machine in system.machines for name in machine.owned}
    for index, constraint in enumerate(system.constraints):
        rows = slice(equations.first[index], equations.first[index + 1])
        h = np.real(equations.gaps(q, index))
        always = isinstance(constraint, Joint) and constraint.name not in owned
        if not isinstance(active, str):
            holds = np.full(constraint.count, always or constraint.name in active)
        elif active == "contact":
            touching = (np.abs(h) <= _TOUCHING) & equations.switched[rows]
            if equations.scoped[index]:
                touching &= equations.scopes(q, index) > 0.0
            holds = (discrete.modes[rows] == Mode.CONTACT) | touching
        else:
            holds = np.full(constraint.count, always or active == "all")
        if isinstance(constraint, Joint) and constraint.relative:
            fresh = holds & (discrete.modes[rows] != Mode.CONTACT)
            discrete.offsets[rows][fresh] = h[fresh]
        fresh = holds & (discrete.grips[rows] == Grip.NONE)
        if not isinstance(constraint, Joint) and constraint.friction is not None:
            discrete.grips[rows] = np.where(fresh, Grip.STICK, np.where(holds, discrete.grips[rows], Grip.NONE))
        discrete.modes[rows] = np.where(holds, Mode.CONTACT, Mode.FREE)
    return q, v, u, discrete


def sensitivity(dynamics: ModeDynamics, q: FloatArray, v: FloatArray, u: FloatArray) -> Sensitivity:
    """Exact derivatives of accelerations and forces in the mode of `dynamics`."""
    equations, n = dynamics.equations, dynamics.equations.n
    dynamics.lam = np.empty(0)
    a = dynamics.acceleration(q, v, u)
    lam = dynamics.lam
    R, F, _ = dynamics.assemble(q, v) if dynamics.normal_count else (np.zeros((0, n)), np.zeros((0, n)), None)
    k = len(R)
    gradient = np.empty((n + k, 2 * n))
    for column in range(2 * n):
        x = np.concatenate([q, v]).astype(complex)
        x[column] += 1j * _STEP
        gradient[:, column] = _residual(dynamics, x[:n], x[n:], u, a, lam).imag / _STEP
    inputs = _inputs(equations, q)
    matrix = np.block([[equations.mass(q), -F.T], [R, np.zeros((k, k))]])
    right = np.hstack([-gradient, np.vstack([inputs, np.zeros((k, inputs.shape[1]))])])
    solved = np.linalg.lstsq(matrix, right, rcond=1e-13)[0]
    top = np.hstack([np.zeros((n, n)), np.eye(n)])
    A = np.vstack([top, solved[:n, : 2 * n]])
    B = np.vstack([np.zeros((n, inputs.shape[1])), solved[:n, 2 * n :]])
    m = dynamics.normal_count
    L, N = solved[n : n + m, : 2 * n], solved[n : n + m, 2 * n :]
    return Sensitivity(A, B, L, N, dynamics.rows, np.concatenate([v, a]))


def _residual(dynamics: ModeDynamics, q: Any, v: Any, u: FloatArray, a: FloatArray, lam: FloatArray) -> Any:
    equations = dynamics.equations
    first = equations.mass(q) @ a - equations.force(q, v, u if len(u) else None)
    if not dynamics.normal_count:
        return first
    R, F, c = dynamics.assemble(q, v)
    return np.concatenate([first - F.T @ lam, R @ a + c])


def _inputs(equations: Equations, q: FloatArray) -> FloatArray:
    matrix = equations.inputs
    if matrix is None:
        return np.zeros((equations.n, 0))
    return np.asarray(matrix(q) if callable(matrix) else matrix, float)


def output_matrix(system: HybridSystem, q: FloatArray, v: FloatArray) -> FloatArray:
    """Derivative (outputs, 2n) of the system's outputs with respect to (q, v)."""
    n = len(q)
    if system.outputs is None:
        return np.hstack([np.eye(n), np.zeros((n, n))])
    columns = []
    for column in range(2 * n):
        x = np.concatenate([q, v]).astype(complex)
        x[column] += 1j * _STEP
        columns.append(np.atleast_1d(system.outputs(x[:n], x[n:])).imag / _STEP)
    return np.array(columns).T


@declared
def equilibrium(
    system: HybridSystem,
    guess: Any,
    active: str | Sequence[str] = "contact",
    *,
    solve_inputs: bool = False,
    tolerance: float = 1e-12,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Coordinates q (n,), input u (k,) and forces λ (rows,) N at rest under the active constraints, near `guess`.

    `guess` and `active` as in `linearize`; with `solve_inputs` u is unknown too. Newton with exact derivatives and
    steps of least norm; `tolerance` (usual 1e-14 to 1e-8) bounds the gaps (m) and the residual over the largest force.
    """
    equations = Equations(system)
    q, _, u, discrete = resolve(equations, guess, active)
    n, zero = equations.n, np.zeros(equations.n)
    dynamics = ModeDynamics(equations, discrete)
    dynamics.acceleration(q, zero, u)
    lam = dynamics.lam.copy()
    q, u = q.copy(), u.copy()
    for _ in range(60):
        residual = _static_residual(dynamics, q, u, lam)
        J = np.empty((len(residual), n))
        for column in range(n):
            x = q.astype(complex)
            x[column] += 1j * _STEP
            J[:, column] = _static_residual(dynamics, x, u, lam).imag / _STEP
        # where no constraint acts, what is applied vanishes too: then the largest force is that of the displacements
        largest = np.maximum(np.abs(equations.force(q, zero, u)), np.abs(J[:n]) @ np.abs(q)).max()
        scale = max(float(largest), 1e-300)
        if np.abs(residual[:n]).max() <= tolerance * scale and np.abs(residual[n:]).max(initial=0.0) <= tolerance:
            return q, u, lam
        _, F, _ = dynamics.assemble(q, zero) if dynamics.normal_count else (None, np.zeros((0, n)), None)
        blocks = [J, np.vstack([-F.T, np.zeros((len(residual) - n, len(lam)))])]
        if solve_inputs:
            blocks.append(np.vstack([-_inputs(equations, q), np.zeros((len(residual) - n, len(u)))]))
        step = np.linalg.lstsq(np.hstack(blocks), -residual, rcond=1e-13)[0]
        q = q + step[:n]
        lam = lam + step[n : n + len(lam)]
        if solve_inputs:
            u = u + step[n + len(lam) :]
    raise ConvergenceError(
        f"{system.name}: no equilibrium near the guess, residual {np.abs(residual).max():g}; start closer, or make the "
        "input unknown (solve_inputs=True)",
        result=(q, u, lam),
    )


def _static_residual(dynamics: ModeDynamics, q: Any, u: FloatArray, lam: FloatArray) -> Any:
    """Force residual and gaps of the active rows at rest."""
    equations, zero = dynamics.equations, np.zeros(dynamics.equations.n)
    first = -equations.force(q, zero, u if len(u) else None)
    if not dynamics.normal_count:
        return first
    _, F, _ = dynamics.assemble(q, zero)
    gaps = [
        equations.gaps(q, equations.system.constraints.index(group.constraint), group.which)
        for group in dynamics.active_rows
    ]
    offsets = dynamics.offsets if dynamics.offsets is not None else 0.0
    return np.concatenate([first - F.T @ lam, np.concatenate(gaps) - offsets])


def control_package() -> Any:
    """The `control` package, or an error that says how to get it."""
    return extra("control", "linear models need python-control", "hybrid")


def _plain(name: str) -> str:
    return name.replace(".", "_")
