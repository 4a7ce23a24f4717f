"""Control design on linear models of a mode: lead compensators, root loci, closing of loops, LQR.

Thin helpers over python-control, which does poles, zeros and frequency responses itself (`model.poles()`,
`model.zeros()`, `model(1j * omega)`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import finite_array, positive
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.hybrid.linearize import control_package


@declared
def lead(zero: float, pole: float, gain: float = 1.0) -> Any:
    """The lead compensator gain·(s + zero)/(s + pole) as a `control.TransferFunction`; zero and pole in 1/s, > 0."""
    positive("zero of a lead", zero, unit="1/s")
    if not positive("pole of a lead", pole, unit="1/s") > zero:
        raise InputError(f"a lead has its pole beyond its zero, got zero {zero:g} and pole {pole:g} 1/s")
    return control_package().tf([gain, gain * zero], [1.0, pole])


@declared
def lead_for(model: Any, *, crossover: float, phase_margin: float) -> Any:
    """The lead compensator that gives the single-input single-output `model` a `phase_margin` (rad) at `crossover`
    (rad/s), in negative feedback.

    The phase φ that it must add, in (0, π/2), sets pole/zero = (1 + sin φ)/(1 − sin φ), centred on the crossover.
    """
    omega = positive("crossover", crossover, unit="rad/s")
    if (model.ninputs, model.noutputs) != (1, 1):
        raise InputError(
            f"a lead is for one input and one output, got {model.ninputs} and {model.noutputs}: take model[0, 0]"
        )
    response = complex(np.squeeze(model(1j * omega)))
    add = float(np.mod(phase_margin - np.pi - np.angle(response) + np.pi, 2.0 * np.pi) - np.pi)
    if not 0.0 < add < 0.5 * np.pi:
        raise InputError(
            f"a lead can add a phase between 0 and π/2, but {add:.3g} rad are needed at {omega:g} rad/s: choose "
            "another crossover or phase margin"
        )
    ratio = (1.0 + np.sin(add)) / (1.0 - np.sin(add))
    zero, pole = omega / np.sqrt(ratio), omega * np.sqrt(ratio)
    shape = lead(zero, pole)
    return lead(zero, pole, 1.0 / abs(complex(np.squeeze(shape(1j * omega))) * response))


@declared
def close_loop(model: Any, compensator: Any, *, input: int = 0, output: int = 0, sign: float = -1.0) -> Any:
    """`model` with u[input] = external + sign · compensator · y[output]: a `control.StateSpace` with the same inputs
    and outputs, and the states of the compensator behind its own.
    """
    control = control_package()
    k = control.ss(compensator)
    A, B, C, D = (np.asarray(matrix, float) for matrix in (model.A, model.B, model.C, model.D))
    if D[output].any():
        raise InputError(f"output {output} has a direct feedthrough; close its loop around a model without")
    b, c = B[:, [input]], C[[output]]
    top = np.hstack([A + sign * b @ k.D @ c, sign * b @ k.C])
    bottom = np.hstack([k.B @ c, k.A])
    inputs = np.vstack([B, np.zeros((k.nstates, B.shape[1]))])
    outputs = np.hstack([C + sign * D[:, [input]] @ k.D @ c, sign * D[:, [input]] @ k.C])
    return control.ss(np.vstack([top, bottom]), inputs, outputs, D, remove_useless_states=False)


@declared
def root_locus(
    model: Any, compensator: Any, gains: Any, *, input: int = 0, output: int = 0, sign: float = -1.0
) -> Any:  # fmt: skip
    """Closed-loop poles (gains, poles), 1/s, as the compensator is multiplied by each of `gains` (k,)."""
    rows: list[Any] = []
    for gain in finite_array("gains", gains, shape=(None,)):
        closed = close_loop(model, compensator, input=input, output=output, sign=sign * float(gain))
        poles = np.sort_complex(closed.poles())
        rows.append(_matched(rows[-1], poles) if rows else poles)
    return np.array(rows)


def _matched(before: Any, now: Any) -> Any:
    """`now` in the order that minimises the change of each branch."""
    from scipy.optimize import linear_sum_assignment

    _, order = linear_sum_assignment(np.abs(before[:, None] - now[None, :]))
    return now[order]


@one_line
@dataclass(frozen=True, eq=False)
class Regulator:
    """A linear-quadratic regulator: u = −`gain` x about the point, and the `poles` of the closed loop."""

    gain: FloatArray
    """Feedback gain (inputs, 2n), N/m and N·s/m or their angular kin."""
    poles: Any


@declared
def lqr(model: Any, state_weight: Any, input_weight: Any) -> Regulator:
    """The regulator of least ∫ xᵀQx + uᵀRu of a linear model of a mode; `state_weight` is Q (2n, 2n),
    `input_weight` R (k, k).

    Motions off the active constraints are not controllable, but stable by α₀ and α₁; a mode that is neither
    controllable nor stable raises.
    """
    from scipy.linalg import solve_continuous_are

    A, B = np.asarray(model.A, float), np.asarray(model.B, float)
    Q = finite_array("state_weight", state_weight, shape=(len(A), len(A)))
    R = finite_array("input_weight", input_weight, shape=(B.shape[1], B.shape[1]))
    for pole in np.linalg.eigvals(A):
        pencil = np.hstack([A - pole * np.eye(len(A)), B])
        if pole.real > -1e-9 and np.linalg.matrix_rank(pencil, tol=1e-9 * np.abs(pencil).max()) < len(A):
            raise InputError(f"the mode at {pole:.4g} 1/s is neither stable nor controllable")
    gain = np.linalg.solve(R, B.T @ solve_continuous_are(A, B, Q, R))
    return Regulator(gain, np.linalg.eigvals(A - B @ gain))
