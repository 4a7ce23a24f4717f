"""The linear model of a world about an equilibrium, for control design.

Small motions of all bodies and small changes u of commands obey

    M ẍ + D ẋ + K x = H_fᵀ u_f + H_hᵀ λ,     H_h x = E u_d,     y = C x

where the rows H_h hold and H_f are those of actuators commanded by force (`control.linearization`). Constraints are
eliminated by the modes Φ with H_h Φ = 0, ΦᵀMΦ = I and ΦᵀKΦ = Ω², and by the static response S of each input: with
x = S u + Φ z static gains are exact whatever the number of modes (Craig and Bampton 1968; for forces the residual
flexibility of MacNeal 1971). Then

    z̈ + D_r ż + Ω² z = Φᵀ H_fᵀ u_f − m ü_d − d u̇_d,     m = Φᵀ M S_d,  d = Φᵀ D S_d

and the derivatives of u_d go by the states w = z + m u_d and s = ẇ − b u_d with b = D_r m − d.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pliant.control.effectors import AnyEffector
from pliant.control.linearization import Linearization, dense
from pliant.core.checks import positive_count
from pliant.core.extras import extra
from pliant.core.singular import named_singular
from pliant.world import State, World


@named_singular
def linearize(
    world: World,
    equilibrium: State,
    inputs: Sequence[Any],
    outputs: Sequence[AnyEffector],
    *,
    controls: Mapping[Any, Any] | None = None,
    modes: int = 30,
) -> Any:
    """The linear model about a static `equilibrium` as a `control.StateSpace` with 2 `modes` states.

    inputs
        Actuators. Their inputs are changes of the commands that they have in `controls`, the same with which the
        equilibrium was found: of a displacement (m, m³, rad), or of a force (N, Pa, N·m), the latter also where
        `controls` has none.
    outputs
        Effectors. Their outputs are changes of what they measure, in the order of their rows, m (m³, rad).
    modes
        Natural modes that are kept, those of the lowest frequencies. Static gains do not depend on it.

    Contacts that press in the equilibrium hold: the model is that of motions in which they neither open nor slip.
    `pl.control.balanced_truncation` makes a model of few states of it.
    """
    about = Linearization.of(world, equilibrium, inputs, outputs, controls)
    return _state_space(about, positive_count("modes", modes))


def _state_space(about: Linearization, count: int) -> Any:
    """The `control.StateSpace` with `count` modes, or as many as there are."""
    squares, modes = about.modes(count)
    k, inputs = len(squares), len(about.driven)
    damping = modes.T @ np.column_stack([about.damping(phi) for phi in modes.T])
    damping = 0.5 * (damping + damping.T)
    B, D = np.zeros((2 * k, inputs)), np.zeros((len(about.seen), inputs))
    seen = about.seen @ modes
    at = {row: place for place, row in enumerate(about.held)}
    for j, row in enumerate(about.driven):
        if about.idle[j]:
            continue
        if about.by_displacement[j]:
            Y, inverse = about.responses
            unit = np.zeros(len(about.held))
            unit[at[int(row)]] = 1.0
            x = about.constrained(np.zeros(len(Y)), Y @ (inverse @ unit))
            m, d = modes.T @ about.mass(x), modes.T @ about.damping(x)
            b = damping @ m - d
            B[:k, j], B[k:, j] = b, squares * m - damping @ b
            D[:, j] = about.seen @ x - seen @ m
        else:
            h = dense(about.rows, [row])[0]
            B[k:, j] = modes.T @ h
            if squares[0] > 1e-9 * squares[-1]:  # no motion without stiffness: static gains exist
                D[:, j] = about.seen @ about.constrained(h) - seen @ (B[k:, j] / squares)
    A = np.block([[np.zeros((k, k)), np.eye(k)], [-np.diag(squares), -damping]])
    C = np.hstack([seen, np.zeros_like(seen)])
    package = extra("control", "linear models need python-control", "hybrid")
    states = [f"w{i + 1}" for i in range(k)] + [f"s{i + 1}" for i in range(k)]
    given, named = (_labels(names) for names in about.names)
    return package.ss(A, B, C, D, states=states, inputs=given, outputs=named, name="linearized")


def _labels(names: Sequence[str]) -> list[str]:
    """Names without the dots that python-control reserves; those that occur twice are numbered."""
    plain = [name.replace(".", "_") for name in names]
    return [name if plain.count(name) == 1 else f"{name} {plain[:k].count(name) + 1}" for k, name in enumerate(plain)]
