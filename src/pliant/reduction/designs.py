"""Designs of experiments as matrices of levels: which factors are high (+1) and low (−1) in which run."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray

MOST_RUNS = 4096
"""Largest design: more runs take longer than a user would wait."""


def plackett_burman_levels(factor_count: int) -> FloatArray:
    """±1, (runs, factors), for the least number of runs, a multiple of 4 above `factor_count`, that a Hadamard matrix
    of Paley's or Sylvester's construction allows: 12 for 8 to 11 factors, 20 for 16 to 19, 24 for 20 to 23.

    Columns are balanced and orthogonal (Plackett and Burman, Biometrika 33, 1946). One run has all factors high.
    """
    runs = max(4, 4 * ((factor_count + 4) // 4))
    while (matrix := _hadamard(runs)) is None:
        runs += 4
    normal = matrix * matrix[:, :1]  # first column all ones
    normal = normal * normal[:1]  # first row all ones: all factors high
    return normal[:, 1 : factor_count + 1]


def full_factorial_levels(factor_count: int, levels: int) -> FloatArray:
    """Every combination of `levels` evenly spaced levels from −1 to 1, (levels ** factors, factors)."""
    if levels < 2:
        raise InputError(f"a factorial design needs 2 levels or more, got {levels}")
    runs = levels**factor_count
    if runs > MOST_RUNS:
        raise InputError(
            f"a full factorial design of {factor_count} actuators at {levels} levels has {runs} runs, more than "
            f"{MOST_RUNS}: use plackett_burman, fractional_factorial or latin_hypercube"
        )
    return np.array(list(product(np.linspace(-1.0, 1.0, levels), repeat=factor_count)))


def fractional_factorial_levels(generators: str) -> FloatArray:
    """±1, (runs, factors), from one word per factor: a letter is a basic factor, a word of several letters their
    product, a leading − its negative. "a b c ab ac bc abc" studies 7 factors in 8 runs.
    """
    words = generators.split()
    plain = [word.lstrip("+-") for word in words]
    if not words or any(not word.isalpha() or len(set(word)) < len(word) for word in plain):
        raise InputError(f"generators must be words of different letters such as 'a b ab', got {generators!r}")
    letters = sorted({letter for word in plain for letter in word})
    missing = [letter for letter in letters if letter not in words]
    if missing:
        raise InputError(f"generators {generators!r} use {missing[0]!r} but no factor is {missing[0]!r} itself")
    basic = full_factorial_levels(len(letters), 2)
    columns = []
    for word in words:
        chosen = [letters.index(letter) for letter in word.lstrip("+-")]
        columns.append((-1.0 if word.startswith("-") else 1.0) * basic[:, chosen].prod(axis=1))
    return np.column_stack(columns)


def latin_hypercube_levels(factor_count: int, runs: int, seed: int) -> FloatArray:
    """Random levels in [−1, 1], (runs, factors), one in each of `runs` intervals (McKay, Beckman, Conover 1979)."""
    rng = np.random.default_rng(seed)
    intervals = np.column_stack([rng.permutation(runs) for _ in range(factor_count)])
    return 2.0 * (intervals + rng.random((runs, factor_count))) / runs - 1.0


@cache
def _hadamard(order: int) -> FloatArray | None:
    """A Hadamard matrix ±1 (order, order), H Hᵀ = order I, or None where neither construction gives one."""
    if order in (1, 2):
        return np.array([[1.0, 1.0], [1.0, -1.0]])[:order, :order]
    if order % 4:
        return None
    if order % 4 == 0 and _is_prime(order - 1):
        return _paley(order - 1)
    if _is_prime(order // 2 - 1) and (order // 2 - 1) % 4 == 1:
        return _paley_double(order // 2 - 1)
    half = _hadamard(order // 2)
    return None if half is None else np.kron(np.array([[1.0, 1.0], [1.0, -1.0]]), half)


def _paley(q: int) -> FloatArray:
    """Paley's first construction, q = 3 mod 4 prime: I + S of order q + 1 with S skew."""
    S = np.zeros((q + 1, q + 1))
    S[0, 1:], S[1:, 0] = 1.0, -1.0
    S[1:, 1:] = _jacobsthal(q)
    return np.eye(q + 1) + S


def _paley_double(q: int) -> FloatArray:
    """Paley's second construction, q = 1 mod 4 prime: order 2 (q + 1) from the symmetric conference matrix."""
    C = np.zeros((q + 1, q + 1))
    C[0, 1:] = C[1:, 0] = 1.0
    C[1:, 1:] = _jacobsthal(q)
    first, second = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([[1.0, -1.0], [-1.0, -1.0]])
    return np.kron(C, first) + np.kron(np.eye(q + 1), second)


def _jacobsthal(q: int) -> FloatArray:
    """Q with Q[i, j] = 1 where i − j is a non-zero square modulo the prime q, −1 where it is none, 0 where i = j."""
    squares = np.full(q, -1.0)
    squares[[(k * k) % q for k in range(1, q)]] = 1.0
    squares[0] = 0.0
    residues = np.arange(q)
    return np.asarray(squares[(residues[:, None] - residues) % q])


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % k for k in range(2, int(n**0.5) + 1))
