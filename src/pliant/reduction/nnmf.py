"""Non-negative factorization of snapshots of contact forces: S ≈ Ψ B with Ψ ≥ 0, B ≥ 0 (goury2021, equation 23).

Two algorithms. "hals" (the default) races several starts over a few iterations and brings the best to convergence; see
`pliant.reduction.hals`. "als" is Algorithm 1 of the paper as published, alternating unconstrained least squares with
negative values set to zero, except that the best iterate is kept: its error may rise again, and with it that of the
published bases beyond 25 modes. `nnmf_family` grows a basis mode by mode, so that the error never rises with the rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from pliant.core.checks import finite_array, positive, positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.status import Status
from pliant.core.threads import one_blas_thread
from pliant.core.types import FloatArray
from pliant.reduction.als import als
from pliant.reduction.hals import Factors, hals
from pliant.reduction.starts import from_chance, from_extremes, from_singular_vectors

Method = Literal["hals", "als"]
RACE, SHORT_RACE = 40, 20
"""Iterations of every start before the best continue: where the race is cheap, and elsewhere."""
RACE_STRIDE, CHEAP = 8, 4
"""Largest stride of the snapshots in a race (neighbours in time are alike), and the stride from which it is cheap."""
FINALISTS, FINAL = 2, 5
"""Starts that continue after the race, and their iterations over all snapshots before the best continues alone."""
TRADES, TRADE = 1, 10
"""Exchanges of a mode for another at the end, and iterations of the enlarged basis before each."""
AGREED = 2e-3
"""Two starts whose squared errors differ by less than this fraction have found the same minimum, which is kept."""
Start = tuple[FloatArray, FloatArray]


@one_line
@dataclass(frozen=True, eq=False)
class Factorization:
    """S ≈ Ψ B.

    `basis` (contacts, rank) is Ψ ≥ 0, each column of unit 2-norm, no unit, the modes in the order of their weights'
    norms; `weights` (rank, snapshots) is B ≥ 0, N. `error` is ‖S − ΨB‖ / ‖S‖ in Frobenius norm. `iterations` counts
    those of all starts. Modes that the snapshots do not need are zero columns with zero weights.
    """

    basis: FloatArray
    weights: FloatArray
    error: float
    iterations: int
    status: Status

    @property
    def rank(self) -> int:
        """Number of modes."""
        return self.basis.shape[1]


@declared
def nnmf(
    snapshots: Any, *, rank: int, seed: int, method: Method = "hals",
    restarts: int = 1, tolerance: float = 1e-4, iterations: int = 150,
) -> Factorization:  # fmt: skip
    """Factorize `snapshots` (contacts, snapshots) ≥ 0, N, into `rank` non-negative modes and their weights.

    seed
        Of everything that is random; the same seed gives the same bits.
    method
        "hals", or "als" as published.
    restarts
        Random starts, beside one from extreme snapshots and one from singular vectors, and tried only where these two
        disagree ("hals"); "als" has random starts only.
    tolerance
        Relative decrease of the error in five iterations at which it stops; usual 1e-3 … 1e-6. "als" does not look at
        it: it does all its iterations.
    iterations
        Limit of the last stretch, which the best of all starts runs alone ("hals"), or of each start ("als").
    """
    S = checked_snapshots(snapshots)
    count, rng = _checked(S, rank, method, restarts, tolerance, iterations), np.random.default_rng(seed)
    if not S.any():
        return _nothing(S, count)
    part = _Support.of(S)
    with one_blas_thread():
        if method == "als":
            found = als(part.S, count, rng, starts=max(restarts, 1), iterations=iterations)
        else:
            found = _raced(part.S, count, restarts, rng, tolerance, iterations)
        return part.finished(found)


@declared
def nnmf_family(
    snapshots: Any, *, ranks: Sequence[int], seed: int,
    restarts: int = 0, tolerance: float = 1e-4, iterations: int = 150,
) -> Iterator[Factorization]:  # fmt: skip
    """Factorizations of `snapshots` (contacts, snapshots), N, for ascending `ranks`, one after the other, their error
    never rising: each grows from the one before by the positive part of its worst snapshots, and goes on from there
    unless another start, of those of `nnmf`, does better.
    """
    S = checked_snapshots(snapshots)
    wanted = [_checked(S, rank, "hals", restarts, tolerance, iterations) for rank in ranks]
    if not wanted or any(b <= a for a, b in pairwise(wanted)):
        raise InputError(f"ranks must ascend, got {list(ranks)}")
    return _family(S, wanted, seed, restarts, tolerance, iterations)


def _family(
    S: FloatArray, ranks: Sequence[int], seed: int, restarts: int, tolerance: float, iterations: int
) -> Iterator[Factorization]:
    rng, part = np.random.default_rng(seed), _Support.of(S)
    found: Factors | None = None
    last = np.inf
    for rank in ranks:
        if not S.any():
            yield _nothing(S, rank)
            continue
        with one_blas_thread():
            tried = []
            if found is not None:
                tried.append(_settled(part.S, *grown(part.S, found, rank), tolerance, iterations, TRADES))
            if found is None or restarts:
                tried.append(_raced(part.S, rank, restarts, rng, tolerance, iterations))
            best = min(tried, key=lambda factors: factors.squared)
            result = part.finished(best)
            if result.error > last and found is not None:  # by rounding, where nothing is left to explain
                best = _padded(found, rank)
                result = part.finished(best)
        found, last = best, result.error
        yield result


def _padded(factors: Factors, rank: int) -> Factors:
    """The factors with zero modes added."""
    more = ((0, rank - len(factors.W)), (0, 0))
    return replace(factors, W=np.pad(factors.W, more), H=np.pad(factors.H, more))


def grown(S: FloatArray, factors: Factors, rank: int) -> Start:
    """Factors of more modes: each new one is the positive remainder of the worst snapshot."""
    W, H = factors.W, factors.H
    for _ in range(rank - len(W)):
        left = np.maximum(S - W.T @ H, 0.0)
        worst = int((left**2).sum(axis=0).argmax())
        weights = np.zeros(S.shape[1])
        weights[worst] = 1.0
        W, H = np.vstack([W, left[:, worst]]), np.vstack([H, weights])
    return W, H


def checked_snapshots(snapshots: Any, name: str = "snapshots") -> FloatArray:
    """Snapshots of contact forces as an array (contacts, snapshots) ≥ 0, N."""
    S = finite_array(name, snapshots.toarray() if hasattr(snapshots, "toarray") else snapshots, shape=(None, None))
    if not S.size:
        raise InputError(f"{name} are empty, shape {S.shape}; there is nothing to factorize: record contacts first")
    if S.min() < 0.0:
        row, column = (int(i) for i in np.unravel_index(S.argmin(), S.shape))
        raise InputError(
            f"{name}[{row}, {column}] is {S[row, column]:g} N; a contact pushes, so its force is ≥ 0: hand in normal "
            "forces only"
        )
    return S


def _checked(S: FloatArray, rank: Any, method: str, restarts: int, tolerance: float, iterations: int) -> int:
    count = positive_count("rank", rank)
    if count > min(S.shape):
        raise InputError(
            f"rank {count} exceeds the {S.shape[0]} contacts or the {S.shape[1]} snapshots: more modes than that "
            "reduce nothing; record more snapshots or take a smaller rank"
        )
    if not isinstance(method, str) or method not in ("hals", "als"):
        raise InputError(f'method must be "hals" or "als", got {method!r}')
    if isinstance(restarts, bool) or not isinstance(restarts, int) or restarts < 0:
        raise InputError(f"restarts must be a whole number ≥ 0, got {restarts!r}")
    positive("tolerance", tolerance)
    positive_count("iterations", iterations)
    return count


def _starts(S: FloatArray, rank: int, restarts: int, rng: np.random.Generator) -> Iterator[Start]:
    yield from_extremes(S, rank, rng)
    yield from_singular_vectors(S, rank, rng)
    for _ in range(restarts):
        yield from_chance(S, rank, rng)


def _raced(S: FloatArray, rank: int, restarts: int, rng: np.random.Generator, tolerance: float, most: int) -> Factors:
    """The best start, converged in at most `most` iterations: all race over some of the snapshots, the best two over
    all. Where the first two agree, their minimum is kept. Few snapshots allow a small stride only: the race then costs
    as much as the final iterations, so it is shorter, and no mode is exchanged.
    """
    stride = max(1, min(RACE_STRIDE, S.shape[1] // (8 * rank)))
    part, race = np.ascontiguousarray(S[:, ::stride]), RACE if stride >= CHEAP else SHORT_RACE
    tried: list[Factors] = []
    for W, H in _starts(part, rank, restarts, rng):
        tried.append(hals(part, W, H, iterations=race, tolerance=10.0 * tolerance))
        if len(tried) == FINALISTS and _agree(tried):
            break
    spent = sum(factors.iterations for factors in tried)
    finalists = sorted(tried, key=lambda factors: factors.squared)[: 1 if _agree(tried) else FINALISTS]
    ahead = [(f.W, f.H if stride == 1 else np.zeros((rank, S.shape[1]))) for f in finalists]
    trades = 0
    if len(ahead) > 1:
        tried = [hals(S, W, H, iterations=FINAL, tolerance=10.0 * tolerance) for W, H in ahead]
        spent += sum(factors.iterations for factors in tried)
        best = min(tried, key=lambda factors: factors.squared)
        ahead, trades = [(best.W, best.H)], 0 if _agree(tried) or stride < CHEAP else TRADES
    end = _settled(S, *ahead[0], tolerance, most, trades)
    return replace(end, iterations=spent + end.iterations)


def _agree(tried: Sequence[Factors]) -> bool:
    """Whether just two starts were tried and found the same minimum."""
    errors = sorted(factors.squared for factors in tried)
    return len(errors) == FINALISTS and errors[1] <= (1.0 + AGREED) * errors[0]


def _settled(S: FloatArray, W: FloatArray, H: FloatArray, tolerance: float, iterations: int, trades: int) -> Factors:
    """Factors at a minimum that exchanging one mode does not lower."""
    best = hals(S, W, H, iterations=iterations, tolerance=tolerance)
    spent = best.iterations
    for _ in range(trades):
        more = hals(S, *grown(S, best, len(W) + 1), iterations=TRADE, tolerance=tolerance)
        fewer = hals(S, *pruned(more), iterations=(iterations + 1) // 2, tolerance=tolerance)
        spent += more.iterations + fewer.iterations
        if fewer.squared >= (1.0 - tolerance) * best.squared:
            break
        best = fewer
    return replace(best, iterations=spent)


def pruned(factors: Factors) -> Start:
    """The factors without the mode of least ‖h‖² times squared distance from the span of the others."""
    gram = factors.W @ factors.W.T
    gram[np.diag_indices_from(gram)] += 1e-12 * max(float(np.trace(gram)), 1e-300)  # equal modes: singular
    loss = (factors.H**2).sum(axis=1) / np.linalg.inv(gram).diagonal()
    kept = np.arange(len(loss)) != int(loss.argmin())
    return factors.W[kept], factors.H[kept]


@dataclass(frozen=True, eq=False)
class _Support:
    """The non-zero rows and columns of the snapshots; contacts and steps without force add nothing."""

    full: FloatArray
    S: FloatArray
    rows: Any
    columns: Any

    @classmethod
    def of(cls, full: FloatArray) -> _Support:
        rows, columns = full.any(axis=1), full.any(axis=0)
        whole = rows.all() and columns.all()
        return cls(full, full if whole else np.ascontiguousarray(full[rows][:, columns]), rows, columns)

    def finished(self, factors: Factors) -> Factorization:
        """The factorization of all snapshots."""
        sizes = np.linalg.norm(factors.W, axis=1)
        live = sizes > 0.0
        W = np.where(live[:, None], factors.W / np.where(live, sizes, 1.0)[:, None], 0.0)
        H = np.where(live[:, None], factors.H * sizes[:, None], 0.0)
        W[~H.any(axis=1)] = 0.0
        order = np.argsort(-np.linalg.norm(H, axis=1), kind="stable")
        basis, weights = np.zeros((self.full.shape[0], len(W))), np.zeros((len(W), self.full.shape[1]))
        basis[self.rows] = W[order].T
        weights[:, self.columns] = H[order]
        error = float(np.linalg.norm(self.S - W.T @ H) / np.linalg.norm(self.S))
        return Factorization(basis, weights, error, factors.iterations, factors.status)


def _nothing(S: FloatArray, rank: int) -> Factorization:
    """The factorization of snapshots that are all zero."""
    basis, weights = np.zeros((S.shape[0], rank)), np.zeros((rank, S.shape[1]))
    return Factorization(basis, weights, 0.0, 0, Status.CONVERGED)
