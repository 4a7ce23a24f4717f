"""Error and time of the non-negative factorization of contact forces, beside scikit-learn.

    python -m benchmarks.nnmf [--seeds 3] [--repeat 5] [--quick] [--json FILE]

Snapshots: contact patches that spread over the ribs of a spine under twelve Plackett–Burman runs (1290 contacts, 1440
snapshots, as published), the same over fewer ribs, and the self-contact of the cable finger, simulated here; and small
and large matrices of families that no setting was chosen on: handwritten digits, exponentials, counts, noise. Both
factorize the same matrix on one thread, in turn; scikit-learn with each of its two usual starts and default settings
(coordinate descent, 200 iterations). Errors are ‖S − ΨB‖ / ‖S‖; times are the least of `--repeat`, processor time, s.
The last lines are ratios to scikit-learn over all of them.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import pliant as pl
from pliant.core.threads import one_blas_thread
from pliant.reduction.designs import plackett_burman_levels


def spine(ribs: int, points: int, steps: int, seed: int) -> np.ndarray:
    """Forces (ribs · points, 12 · steps), N, between ribs that nine tendons press together."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 1.0, points)
    pull = rng.normal(size=(ribs, 9)) @ plackett_burman_levels(9).T
    columns = []
    for run in range(12):
        for step in range(steps):
            pressed = np.maximum(2.0 * np.maximum(pull[:, run], 0.0) * (step + 1) / steps - 0.6, 0.0)
            width, center = 0.05 + 0.3 * np.sqrt(pressed), 0.2 + 0.2 * np.tanh(pull[:, run])
            bells = np.maximum(1.0 - ((x - center[:, None]) / width[:, None]) ** 2, 0.0)
            columns.append((pressed[:, None] * bells).ravel())
    return np.array(columns).T


def finger(steps: int) -> np.ndarray:
    """Self-contact forces (contacts, steps), N, of the finger while its cable is pulled by 40 mm."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    robot = scene.add(pl.robots.finger(cells=(4, 5, 4)))
    scene.collide(robot, robot, margin=robot.margin)
    world = scene.compile()
    plan = pl.reduction.ramps(world, amplitude=0.04, steps=steps)
    snapshots = pl.reduction.experiments(world, plan, workers=1)
    return snapshots.force_matrix((robot, robot))[1]


def digits(count: int, seed: int) -> np.ndarray:
    """Pictures of handwritten digits, (64, count)."""
    from sklearn.datasets import load_digits

    data = load_digits().data
    return data[np.random.default_rng(seed).permutation(len(data))[:count]].T


def decays(size: int, seed: int) -> np.ndarray:
    """Mixtures (size, size) of nine exponentials."""
    rng = np.random.default_rng(seed)
    rates = np.exp(rng.uniform(0.0, 4.0, 9))
    return np.exp(-np.linspace(0.0, 1.0, size)[:, None] * rates) @ rng.dirichlet(np.full(9, 0.3), size=size).T


def counts(size: int, seed: int) -> np.ndarray:
    """Poisson counts (size, size) of ten sources."""
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.3, 2.0, (size, 10)) @ rng.gamma(0.3, 2.0, (10, size))).astype(float)


def noise(size: int, seed: int) -> np.ndarray:
    """Nothing to find, (size, size)."""
    return np.random.default_rng(seed).random((size, size))


def compare(S: np.ndarray, rank: int, seed: int, repeat: int) -> dict[str, float]:
    from sklearn.decomposition import NMF

    def peer(init: str) -> float:
        return float(NMF(rank, init=init, random_state=seed).fit(S).reconstruction_err_ / np.linalg.norm(S))

    actions: dict[str, Callable[[], float]] = {
        "": lambda: pl.reduction.nnmf(S, rank=rank, seed=seed).error,
        "sklearn_nndsvda_": lambda: peer("nndsvda"),
        "sklearn_random_": lambda: peer("random"),
    }
    row = {f"{name}seconds": np.inf for name in actions}
    for _ in range(repeat):
        for name, action in actions.items():
            start = time.process_time()
            row[f"{name}error"] = action()
            row[f"{name}seconds"] = min(row[f"{name}seconds"], time.process_time() - start)
    row["als_error"] = pl.reduction.nnmf(S, rank=rank, seed=seed, method="als").error
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="without the largest and without simulation")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    pl.reduction.nnmf(np.ones((5, 4)), rank=2, seed=0)
    problems = {
        "spine, 15 ribs": (spine(15, 30, 60, 1), 15),
        "spine, 4 ribs": (spine(4, 30, 10, 1), 8),
        "digits": (digits(150, 0), 8),
        "decays": (decays(120, 0), 5),
        "counts": (counts(120, 0), 10),
        "noise": (noise(120, 0), 8),
    }
    if not options.quick:
        problems["finger"] = (finger(200), 5)
        problems["all digits"] = (digits(1797, 0), 16)
        problems["large decays"] = (decays(800, 0), 8)
        problems["large counts"] = (counts(900, 0), 12)
        problems["spine, 43 ribs"] = (spine(43, 30, 120, 0), 23)
    rows = []
    print(
        f"{'snapshots':<16}{'size':>12}{'rank':>5}{'seed':>5}   error / s: pliant, sklearn nndsvda, random; als error"
    )
    with one_blas_thread():
        for name, (S, rank) in problems.items():
            for seed in range(options.seeds):
                row = compare(S, rank, seed, options.repeat)
                rows.append({"snapshots": name, "shape": S.shape, "rank": rank, "seed": seed, **row})
                size = f"{S.shape[0]}×{S.shape[1]}"
                print(
                    f"{name:<16}{size:>12}{rank:>5}{seed:>5}   {row['error']:.5f} / {row['seconds']:.3f}   "
                    f"{row['sklearn_nndsvda_error']:.5f} / {row['sklearn_nndsvda_seconds']:.3f}   "
                    f"{row['sklearn_random_error']:.5f} / {row['sklearn_random_seconds']:.3f}   {row['als_error']:.5f}"
                )
    for what in ("error", "seconds"):
        ratios = [row[what] / row[f"sklearn_{init}_{what}"] for row in rows for init in ("nndsvda", "random")]
        print(f"{what} over scikit-learn's: median {np.median(ratios):.3f}, largest {max(ratios):.3f}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
