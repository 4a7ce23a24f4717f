"""What is interrupted: saves, sweeps, reductions, exports and compilation, each with a check of what is left.

A work is done once in a folder (`prepare`), then again with another result (`work`), in which it is disturbed. `check`
returns what is wrong then: the earlier result is whole or the new one is, and the work can be done.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import pliant as pl
from pliant.core import kernels
from pliant.sweep import run as run_sweep

CASES = list(range(12))
"""Cases of the sweep."""
EXPORTS = (".html", ".glb", ".gltf", ".csv", ".pvd", ".npz")
"""Files that a run is exported to; films need more than the library."""
KERNELS = 2
"""Kernels that are compiled."""


@dataclass(frozen=True)
class Work:
    """One piece of work in a folder."""

    prepare: Callable[[Path, int], None]
    work: Callable[[Path, int], None]
    check: Callable[[Path, int], str | None]


@cache
def world(pull: float = 0.0) -> tuple[pl.World, Any]:
    """A bar with a cable over a plane, and the cable; `pull` is a load that tells worlds apart, N."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1))
    rubber = pl.materials.Corotated(young=1e5, poisson=0.4, density=1000)
    body = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0.0), name="bar"))
    cable = scene.add(pl.Cable(body, [(x, 0.01, 0.002) for x in np.linspace(0.0, 0.1, 6)], name="cable"))
    scene.add(pl.PointLoad(body, pl.regions.plane(axis="x", at=0.1), (0, 0, pull)))
    plane = scene.add(pl.Obstacle.plane(point=(0, 0, -0.005)))
    scene.collide(body, plane, friction=0.3)
    return scene.compile(), cable


@cache
def motion(steps: int) -> pl.Run:
    """A run of that many steps of 10 ms."""
    made, cable = world()
    run = pl.simulate(
        made, pl.ImplicitEuler(0.01), until=0.01 * steps, control=lambda t, state: {cable: pl.Displacement(0.01 * t)}
    )
    run.step_seconds[:] = 0.001  # the clock is not the same twice; pages show it
    return run


def same_run(a: pl.Run, b: pl.Run) -> bool:
    """Whether all positions are the same bits."""
    return all(np.array_equal(p, q) for p, q in zip(a.positions, b.positions, strict=True))


def _check_one(
    path: Path, good: Callable[[Any], bool], again: Callable[[], object], load: Callable[[Path], Any]
) -> str | None:
    """What is wrong with a file that holds one thing."""
    if not good(load(path)):
        return f"{path.name} holds neither the earlier nor the new content"
    again()
    return None if good(load(path)) else f"{path.name} is wrong after it is written again"


def _check_run(folder: Path, seed: int) -> Any:
    good = lambda run: any(same_run(run, motion(n)) for n in (5, 60) if len(run.times) == n + 1)  # noqa: E731
    return _check_one(folder / "run.npz", good, lambda: motion(60).save(folder / "run.npz"), pl.load)


def _check_world(folder: Path, seed: int) -> Any:
    prints = {world(pull)[0].fingerprint for pull in (0.0, 0.1)}
    path = folder / "world.npz"
    return _check_one(path, lambda found: found.fingerprint in prints, lambda: world(0.1)[0].save(path), pl.load)


def _check_state(folder: Path, seed: int) -> Any:
    made, path = world()[0], folder / "state.npz"
    ends = [motion(5).state(-1), motion(60).state(-1)]

    def good(state: Any) -> bool:
        return any(np.array_equal(state.q[0], end.q[0]) and state.time == end.time for end in ends)

    return _check_one(path, good, lambda: motion(60).state(-1).save(path), made.load_state)


def task(case: int) -> dict[str, Any]:
    """One case of a sweep."""
    return {"values": np.random.default_rng(case).normal(size=3000)}


def _sweep(folder: Path, seed: int) -> None:
    run_sweep(task, CASES, folder=folder / "sweep", workers=1, progress=False)


def _check_sweep(folder: Path, seed: int) -> str | None:
    found = sorted((folder / "sweep").glob("case_*.npz"))
    before = {path: path.stat().st_mtime_ns for path in found}
    results = run_sweep(task, CASES, folder=folder / "sweep", workers=1, progress=False)
    if not all(np.array_equal(one["values"], task(case)["values"]) for case, one in zip(CASES, results, strict=True)):
        return "a result of the sweep is wrong"
    again = [path.name for path, when in before.items() if path.stat().st_mtime_ns != when]
    return f"finished cases were computed again: {again}" if again else None


def _reduced(folder: Path) -> pl.World:
    made = world()[0]
    plan = pl.reduction.ramps(made, amplitude=0.01, steps=12)
    return pl.reduction.reduce(made, plan, motion_tolerance=0.05, folder=folder / "experiments", progress=False)


@cache
def _reduced_step(folder: Path) -> Any:
    return _a_step(_reduced(folder))


def _a_step(made: pl.World) -> Any:
    return pl.ImplicitEuler(0.01)(made, made.initial_state())[0].q[0]


def _reduce(folder: Path, seed: int) -> None:
    _reduced(folder).save(folder / "reduced.npz")


def _check_reduce(folder: Path, seed: int) -> str | None:
    path = folder / "reduced.npz"
    wanted = _reduced_step(folder.parent / "reference")
    if path.exists() and not np.array_equal(_a_step(pl.load(path)), wanted):
        return "a reduced model was written that is another one"
    _reduce(folder, seed)
    return None if np.array_equal(_a_step(pl.load(path)), wanted) else "the reduction that went on is another one"


def _export(steps: int, folder: Path, seed: int) -> None:
    pl.export(motion(steps), folder / f"run{EXPORTS[seed % len(EXPORTS)]}")


def _check_export(folder: Path, seed: int) -> str | None:
    ending = EXPORTS[seed % len(EXPORTS)]
    path, problem = folder / f"run{ending}", None
    whole = [_exported(ending, folder.parent, steps) for steps in (5, 60)]
    if _content(path) not in whole:
        problem = f"{path.name} is neither the earlier nor the new one"
    _export(60, folder, seed)
    return problem or (None if _content(path) == whole[1] else f"{path.name} is wrong after it is written again")


@cache
def _exported(ending: str, folder: Path, steps: int) -> Any:
    path = folder / f"exported-{steps}" / f"run{ending}"
    path.parent.mkdir(exist_ok=True)
    pl.export(motion(steps), path)
    return _content(path)


def _content(path: Path) -> Any:
    """Bytes of a file, and of those that it names; a run without the versions of the libraries."""
    if path.suffix == ".npz":
        return tuple(array.tobytes() for array in pl.load(path).positions)
    text = path.read_bytes()
    named = re.findall(rb'file="([^"]+)"', text) if path.suffix == ".pvd" else []
    return text, tuple((path.parent / name.decode()).read_bytes() for name in named)


SOURCE = "from pliant.core.kernels import kernel\n" + "".join(
    f"""
@kernel
def times_{k}(values, factor):
    total = 0.0
    for value in values:
        total += {k} * factor * value
    return total
"""
    for k in range(KERNELS)
)


def kernel_module(folder: Path) -> ModuleType:
    """A module with kernels, whose code is kept in `folder`."""
    (folder / "cache").mkdir(exist_ok=True)
    os.environ["PLIANT_CACHE_DIR"] = str(folder / "cache")
    kernels.cache_folder.cache_clear()
    path = folder / "pliant_faulty_kernels.py"
    if not path.exists():
        path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("pliant_faulty_kernels", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    importlib.sys.modules["pliant_faulty_kernels"] = made  # type: ignore[attr-defined]
    spec.loader.exec_module(made)
    return made


def compile_kernels(folder: Path, seed: int) -> None:
    """Compile, or load, and call all kernels."""
    made, values = kernel_module(folder), np.arange(5.0)
    for k in range(KERNELS):
        if getattr(made, f"times_{k}")(values, 2.0) != 20.0 * k:
            raise ValueError(f"kernel {k} gives a wrong number")


def check_kernels(folder: Path, seed: int) -> str | None:
    """The kernels give right numbers, and afterwards all are in the cache."""
    compile_kernels(folder, seed)
    before = kernels.compiled_count()
    compile_kernels(folder, seed)
    left = kernels.compiled_count() - before
    return f"{left} kernels were compiled again" if left else None


def _nothing(folder: Path, seed: int) -> None:
    """Begin with an empty folder."""


WORKS: dict[str, Work] = {
    "save a run": Work(
        lambda folder, seed: motion(5).save(folder / "run.npz") and None,
        lambda folder, seed: motion(60).save(folder / "run.npz") and None,
        _check_run,
    ),
    "save a world": Work(
        lambda folder, seed: world(0.0)[0].save(folder / "world.npz") and None,
        lambda folder, seed: world(0.1)[0].save(folder / "world.npz") and None,
        _check_world,
    ),
    "save a state": Work(
        lambda folder, seed: motion(5).state(-1).save(folder / "state.npz") and None,
        lambda folder, seed: motion(60).state(-1).save(folder / "state.npz") and None,
        _check_state,
    ),
    "sweep": Work(_nothing, _sweep, _check_sweep),
    "reduce": Work(_nothing, _reduce, _check_reduce),
    "export": Work(partial(_export, 5), partial(_export, 60), _check_export),
    "warm-up": Work(_nothing, compile_kernels, check_kernels),
}
