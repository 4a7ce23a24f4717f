"""Copies of robots on a card: whole steps a second under random commands, for machines with and without Pliant.

python benchmarks/card.py write FOLDER [ROBOT …]    the robots as arrays, where Pliant is installed
python benchmarks/card.py run FOLDER [ROBOT …]      steps them; NumPy and JAX are enough. Prints JSON

The finger has 162 nodes and 396 tetrahedra, one cable, and 16 nodes of its last phalanx that touch a floor with
friction; reduced, it has its cable and the modes of pulling it. The rod is 0.2 m long, of 8 sections that bend and
twist. The bellows have a chamber, 475 free nodes and 1536 tetrahedra. Copies differ in modulus (± 20 %) and friction
(0.2 to 0.8); commands and gravity change at random every 10 steps.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

STEPS = 1000
COPIES = {"finger": (4096, 16384), "reduced finger": (16384,), "rod": (16384,), "bellows": (4096,),
          "finger on a ball": (4096, 16384)}  # fmt: skip
COMMANDS = {"bellows": (8e3, True)}
"""Largest command of the drives of a robot, and whether it is one of force: m, else N or Pa."""
USUAL = (0.014, False)
DT = 0.01


def finger() -> Any:
    """The finger above a floor."""
    import pliant as pl

    scene = pl.Scene(gravity=(0, 0, -9.81))
    made = scene.add(pl.robots.finger(anti_locking=False))
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.004), normal=(0, 0, 1)))
    tip = pl.regions.box((0.077, -1, -1), (1, 1, 0.006))
    scene.collide(made, floor, friction=0.5, exclude=~tip)
    return scene.compile()


def measured(
    lowered: Any, kernels: Any, precision: str, copies: int, *, steps: int = STEPS, command: tuple[float, bool] = USUAL
) -> dict[str, Any]:
    """Steps a second of all copies under commands up to `command`, and how they ended."""
    import jax
    import jax.numpy as jnp

    from pliant.batch.gpu import rod
    from pliant.batch.gpu import step as stages
    from pliant.batch.gpu import step_types as types
    from pliant.batch.gpu.arrays import LoweredRod
    from pliant.batch.gpu.precision import in_double

    rng = np.random.default_rng(0)
    changes = -(-steps // 10)
    wanted = rng.uniform(0.0, command[0], (changes, copies)).astype(precision)
    gravity = np.concatenate([rng.normal(size=(changes, 2, copies)) * 2.0, np.full((changes, 1, copies), -9.81)], 1)
    with in_double(precision == "float64"):
        numbers = _varied(lowered.numbers, rng, copies)
        world = jax.tree.map(jnp.asarray, lowered._replace(numbers=numbers))
        step = rod.step if isinstance(lowered, LoweredRod) else stages.step
        drives = len(getattr(numbers, "lower", ()))
        states, dt = stages.initial(world, copies, precision), jnp.asarray(DT, precision)
        wanted, pulls = jnp.asarray(wanted), jnp.zeros(copies, precision)
        gravity, by_force = jnp.asarray(gravity, precision), jnp.full((1, 1), command[1])
        failed, worst = jnp.zeros(copies, bool), jnp.zeros(copies, precision)
        tallied = jax.jit(lambda f, w, r: (f | (r.status != types.FINE), jnp.maximum(w, r.residual)))
        began = 0.0
        for k in range(-2, steps):  # two to compile
            if k == 0:
                jax.block_until_ready(worst)
                began = perf_counter()
            pulls = pulls + 0.2 * (wanted[max(k, 0) // 10] - pulls)
            controls = types.Controls(pulls[None][:drives], by_force[:drives], gravity[max(k, 0) // 10])
            states, report = step(world, kernels, dt, states, controls)
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


def _varied(numbers: Any, rng: Any, copies: int) -> Any:
    """Moduli, ± 20 %, and friction, 0.2 to 0.8, of their own in each copy."""
    softer = rng.uniform(0.8, 1.2, copies)
    changed = {name: getattr(numbers, name) * softer for name in ("mu", "lam", "stiffness") if name in numbers._fields}
    if "stiffness" in changed:
        del changed["mu"]  # of a rod these are masses
    if len(getattr(numbers, "friction", ())):
        changed["friction"] = rng.uniform(0.2, 0.8, (len(numbers.friction), copies))
    return numbers._replace(**changed)


def card() -> Any:
    """The first card that JAX sees, None without one."""
    try:
        import jax
    except ImportError:
        return None
    return next((one for one in jax.devices() if one.platform in ("gpu", "cuda", "rocm")), None)


def reduced_finger() -> Any:
    """The finger without its floor, in the modes of pulling its cable."""
    import pliant as pl

    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(pl.robots.finger(anti_locking=False))
    world = scene.compile()
    plan = pl.reduction.ramps(world, amplitude=0.012, steps=40)
    return pl.reduction.reduce(world, plan, motion_tolerance=2e-5, progress=False)


def rod() -> Any:
    """A clamped rod."""
    import pliant as pl

    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(pl.Rod(0.2, 8, section=pl.sections.Circle(0.005), young=1e6, poisson=0.4, density=1e3))
    return scene.compile()


def bellows() -> Any:
    """Bellows of two folds with a chamber of air, clamped below."""
    import pliant as pl

    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(pl.robots.bellows(fold_count=2, anti_locking=False))
    return scene.compile()


def finger_on_ball() -> Any:
    """The finger above a ball of 35 mm, on which its tip comes down beside its top."""
    import pliant as pl

    scene = pl.Scene(gravity=(0, 0, -9.81))
    made = scene.add(pl.robots.finger(anti_locking=False))
    ball = scene.add(pl.Obstacle.sphere(center=(0.088, 0.002, -0.039), radius=0.035))
    tip = pl.regions.box((0.077, -1, -1), (1, 1, 0.006))
    scene.collide(made, ball, friction=0.5, exclude=~tip)
    return scene.compile()


MAKERS = {
    "finger": finger,
    "reduced finger": reduced_finger,
    "rod": rod,
    "bellows": bellows,
    "finger on a ball": finger_on_ball,
}


def lowered_worlds(names: Iterable[str] = COPIES) -> dict[str, Any]:
    """The robots as arrays."""
    from pliant.batch.gpu.kinds import lower

    return {name: lower(MAKERS[name](), [], slots=16) for name in names}


def on_card(worlds: dict[str, Any]) -> dict[str, Any] | None:
    """Every robot in both precisions and all numbers of copies, None without a card."""
    device = card()
    if device is None:
        return None
    from pliant.batch.gpu import step as stages

    made: dict[str, Any] = {"device": device.device_kind}
    for name, lowered in worlds.items():
        for precision in ("float32", "float64"):
            kernels = stages.triton(precision, slots=int(lowered.slots))
            command = COMMANDS.get(name, USUAL)
            rows = [measured(lowered, kernels, precision, copies, command=command) for copies in COPIES[name]]
            made.setdefault(name, {})[precision] = rows
    return made


def main(task: str, folder: str, *names: str) -> None:
    """Write the robots, or step them: all, or those of these `names`."""
    from pliant.batch.gpu import arrays

    chosen = names or tuple(COPIES)
    if task == "write":
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, lowered in lowered_worlds(chosen).items():
            arrays.save(lowered, Path(folder, f"{name}.npz"))
        return
    print(json.dumps(on_card({name: arrays.load(Path(folder, f"{name}.npz")) for name in chosen}), indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
