"""Copies of a finger on a card: whole steps a second under random commands, for machines with and without Pliant.

python benchmarks/card.py write finger.npz     the finger as arrays, where Pliant is installed
python benchmarks/card.py run finger.npz       steps them; NumPy and JAX are enough. Prints JSON

The finger has 162 nodes and 396 tetrahedra, one cable, and 16 nodes of its last phalanx that touch a floor with
friction. Copies differ in modulus (± 20 %) and friction (0.2 to 0.8); commands and gravity change at random every 10
steps.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter
from typing import Any

import numpy as np

COPIES, STEPS = 4096, 1000
DT = 0.01
WIDTH = 16


def finger() -> tuple[Any, Any]:
    """The world, and its body."""
    import pliant as pl

    scene = pl.Scene(gravity=(0, 0, -9.81))
    made = scene.add(pl.robots.finger(anti_locking=False))
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.004), normal=(0, 0, 1)))
    tip = pl.regions.box((0.077, -1, -1), (1, 1, 0.006))
    scene.collide(made, floor, friction=0.5, exclude=~tip)
    return scene.compile(), made


def measured(lowered: Any, kernels: Any, precision: str, *, copies: int = COPIES, steps: int = STEPS) -> dict[str, Any]:
    """Steps a second of all copies, and how they ended."""
    import jax
    import jax.numpy as jnp

    from pliant.batch.gpu import step as stages
    from pliant.batch.gpu.precision import in_double

    rng = np.random.default_rng(0)
    changes = -(-steps // 10)
    wanted = rng.uniform(0.0, 0.014, (changes, copies)).astype(precision)
    gravity = np.concatenate([rng.normal(size=(changes, 2, copies)) * 2.0, np.full((changes, 1, copies), -9.81)], 1)
    softer = rng.uniform(0.8, 1.2, copies)
    with in_double(precision == "float64"):
        numbers = lowered.numbers
        numbers = numbers._replace(
            mu=numbers.mu * softer, lam=numbers.lam * softer, friction=rng.uniform(0.2, 0.8, (1, copies))
        )
        world = jax.tree.map(jnp.asarray, lowered._replace(numbers=numbers))
        states, dt = stages.initial(world, copies, precision), jnp.asarray(DT, precision)
        wanted, pulls = jnp.asarray(wanted), jnp.zeros(copies, precision)
        gravity, by_force = jnp.asarray(gravity, precision), jnp.zeros((1, 1), bool)
        failed, worst = jnp.zeros(copies, bool), jnp.zeros(copies, precision)
        tallied = jax.jit(lambda f, w, r: (f | (r.status != stages.FINE), jnp.maximum(w, r.residual)))
        began = 0.0
        for k in range(-2, steps):  # two to compile
            if k == 0:
                jax.block_until_ready(worst)
                began = perf_counter()
            pulls = pulls + 0.2 * (wanted[max(k, 0) // 10] - pulls)
            controls = stages.Controls(pulls[None], by_force, gravity[max(k, 0) // 10])
            states, report = stages.step(world, kernels, dt, states, controls)
            failed, worst = tallied(failed, worst, report)
        jax.block_until_ready(worst)
        seconds = perf_counter() - began
        return {
            "steps_per_second": copies * steps / seconds,
            "copies": copies,
            "steps": steps,
            "finite": bool(jnp.isfinite(states.u).all() & jnp.isfinite(states.v).all()),
            "failed": int(failed.sum()),
            "constraint_residual": float(worst.max()),
        }


def card() -> Any:
    """The first card that JAX sees, None without one."""
    try:
        import jax
    except ImportError:
        return None
    return next((one for one in jax.devices() if one.platform in ("gpu", "cuda", "rocm")), None)


def on_card(lowered: Any) -> dict[str, Any] | None:
    """Both precisions, None without a card."""
    device = card()
    if device is None:
        return None
    from pliant.batch.gpu import step as stages

    made: dict[str, Any] = {"device": device.device_kind}
    for precision in ("float32", "float64"):
        made[precision] = measured(lowered, stages.triton(precision, warps=1), precision)
    return made


def main(task: str, path: str) -> None:
    """Write the world, or step it."""
    if task == "write":
        from pliant.batch.gpu.lowering import lower

        lower(finger()[0], [], slots=16, width=WIDTH).save(path)
        return
    from pliant.batch.gpu.arrays import Lowered

    print(json.dumps(on_card(Lowered.load(path)), indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
