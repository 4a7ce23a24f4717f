"""Reduced twins of tasks: the same task, whose soft bodies move in a few modes with few integration points.

The modes are those of the motions under random actions in the full world, which takes seconds to minutes. They are kept
in the user's cache, by the content of the world and of the recipe, where later processes find them.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.archive import read_archive, write_archive
from pliant.core.errors import InputError, PliantError, PliantWarning
from pliant.core.kernels import cache_folder
from pliant.core.progress import progress_bar
from pliant.core.types import FloatArray
from pliant.gym.episodes import Episodes
from pliant.gym.task import Shapes, Task
from pliant.models.volume import VolumeModel
from pliant.reduced import Subspace
from pliant.reduction.ecsw import ecsw
from pliant.reduction.pod import pod
from pliant.world import State, World
from pliant.world.reduced import reduced as reduced_by

FORMAT = "pliant gym modes 2"
HELD_OUT = 5
"""One run in so many determines the number of modes."""
MOST_SHAPES = 200
"""Shapes for the integration points: more take minutes and change few points."""


@dataclass(frozen=True)
class Modes:
    """A twin in the modes of the motions in `runs` episodes of random actions, each of which holds for `hold` steps.

    Every `every`-th shape is recorded. `tolerance` is the relative error of held-out shapes, `points` that of the
    forces of the integration points; `stiffness` as of `pl.reduction.ecsw`. `seed` is that of the actions.
    """

    runs: int = 20
    hold: int = 20
    every: int = 5
    tolerance: float = 2e-3
    points: float = 2e-2
    stiffness: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Coarser:
    """A twin with fewer unknowns, for bodies without modes to project on: `how` says in which respect."""

    how: str


@dataclass(frozen=True)
class NoTwin:
    """There is no twin: `reason` says why."""

    reason: str


def task_of(task: Any, *, reduced: bool = False) -> Task:
    """The task of a class or of its name, with its world compiled once in a process; with `reduced` its twin."""
    from pliant.gym.tasks import TASKS

    if isinstance(task, Task) and not reduced:
        return task
    kind = TASKS.get(task) if isinstance(task, str) else task
    if not (isinstance(kind, type) and issubclass(kind, Task)):
        raise InputError(f"there is no task {task!r}; the tasks are {', '.join(TASKS)}, or classes derived from Task")
    return _made(kind, bool(reduced))


_MADE: dict[tuple[type[Task], bool], Task] = {}


def _made(kind: type[Task], reduced: bool) -> Task:
    """The task of a class, made once in a process: worlds never change, and compiling them takes a while."""
    if (kind, reduced) not in _MADE:
        _MADE[kind, reduced] = _twin(kind) if reduced else kind()
    return _MADE[kind, reduced]


def _twin(kind: type[Task]) -> Task:
    if isinstance(kind.twin, NoTwin):
        raise InputError(f"{kind.__name__} has no reduced twin: {kind.twin.reason}; take the task itself")
    if isinstance(kind.twin, Coarser):
        return kind(coarse=True)
    task = kind()
    task.world = reduced_world(task)
    return task


def reduced_world(task: Task, *, folder: Path | None = None) -> World:
    """The world of `task` in the modes of `task.twin`, from `folder`, or computed and written there."""
    recipe: Modes = task.twin
    text = repr((FORMAT, type(task).__name__, recipe, task.world.fingerprint, task.dt, task.steps, task.actions))
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    file = (cache_folder().parent / "gym" if folder is None else folder) / f"{task.name}-{digest}.npz"
    try:
        _, arrays = read_archive(file, FORMAT, what="modes of a task")
    except PliantError:  # not there, or of a process that was ended
        arrays = _modes(_made(type(task), False), recipe)  # its start is that of the full world
        _keep(file, arrays)
    return reduced_by(task.world, [_subspace(model, arrays, k) for k, model in enumerate(task.world.volumes)])


def _keep(file: Path, arrays: dict[str, Any]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_archive(file, FORMAT, arrays)
    except OSError as error:
        warnings.warn(
            f"the modes could not be kept in {file.parent} ({error}) and are computed again by each process; let "
            "PLIANT_CACHE_DIR be a folder that can be written",
            PliantWarning,
            stacklevel=2,
        )


def _subspace(model: VolumeModel, arrays: dict[str, Any], k: int) -> Subspace:
    modes, points, weights = (arrays[f"{name}_{k}"] for name in ("modes", "points", "weights"))
    return Subspace(model.spec, modes, rest=model.rest, points=points, weights=weights, point_count=model.points.count)


def _modes(task: Task, recipe: Modes) -> dict[str, Any]:
    """Modes, integration points and weights of every volume of a task."""
    volumes = [task.world.index(model.handle) for model in task.world.volumes]
    seen: list[list[FloatArray]] = [[] for _ in volumes]
    held: list[list[FloatArray]] = [[] for _ in volumes]
    with progress_bar(f"reducing {task.name}, once on this machine", recipe.runs + len(volumes)) as advance:
        for run in range(recipe.runs):
            shapes = held if run % HELD_OUT == HELD_OUT - 1 else seen
            for step, state in enumerate(random_motion(task, np.random.default_rng([recipe.seed, run]), recipe.hold)):
                if step % recipe.every == 0:
                    for k, body in enumerate(volumes):
                        shapes[k].append(state.q[body])
            advance()
        arrays: dict[str, Any] = {}
        for k, body in enumerate(volumes):
            model: Any = task.world.models[body]
            made = _reduced_body(model, np.stack(seen[k]), np.stack(held[k]), recipe)
            arrays |= {f"modes_{k}": made.modes, f"points_{k}": made.points, f"weights_{k}": made.weights}
            advance()
    return arrays


def _reduced_body(model: VolumeModel, seen: FloatArray, held: FloatArray, recipe: Modes) -> Subspace:
    """The fewest modes that leave the tolerance of the shapes `held` out, with their integration points."""
    left = pod(model, seen, tolerance=1e-6).left_out(held)
    enough = np.flatnonzero(left <= max(recipe.tolerance, 1.05 * float(left.min())))
    both = np.concatenate([seen, held])
    space = pod(model, both, size=max(1, int(enough[0]))).subspace()
    every = -(-len(both) // MOST_SHAPES)
    return ecsw(model, space, both[::every], tolerance=recipe.points, stiffness=recipe.stiffness)


def random_motion(task: Task, rng: np.random.Generator, hold: int) -> Iterator[State]:
    """States of an episode whose actions are random, each for `hold` steps, until it is over."""
    episode = Episodes(task, 1)
    state, _, _ = episode.begin(0, rng)
    episode.first(Shapes(task.world, [q[None] for q in state.q]), np.ones(1, bool))
    action: FloatArray = np.zeros((1, len(task.actions)))
    for step in range(task.steps):
        if step % hold == 0:
            action = rng.uniform(-1.0, 1.0, action.shape)
        try:
            state, _ = task.stepper(task.world, state, episode.controls(action)[0])
        except PliantError:
            return
        yield state
        if episode.after(Shapes(task.world, [q[None] for q in state.q]), {}).terminated[0]:
            return


def twin_error(task: Any, *, runs: int = 4, hold: int = 20, seed: int = 1) -> dict[str, float]:
    """How far the twin of a task is from it, in episodes with the same random actions.

    The positions that the task measures (its tip, what it moves) are compared at every step: "relative" is the root
    mean square of their distance over that of their motion, "mm" and "worst_mm" this distance and the largest.
    """
    full, twin = task_of(task), task_of(task, reduced=True)
    apart, moved = [], []
    for run in range(runs):
        motions = [random_motion(each, np.random.default_rng([seed, run]), hold) for each in (full, twin)]
        first: Any = None
        for states in zip(*motions, strict=False):
            ours, theirs = (_positions(each, state) for each, state in zip((full, twin), states, strict=True))
            first = ours if first is None else first
            apart.append(float(np.linalg.norm(theirs - ours)))
            moved.append(float(np.linalg.norm(ours - first)))
    away = float(np.sqrt(np.mean(np.square(apart))))
    motion = float(np.sqrt(np.mean(np.square(moved))))
    return {"relative": away / motion, "mm": 1e3 * away, "worst_mm": 1e3 * max(apart), "motion_mm": 1e3 * motion}


def _positions(task: Task, state: State) -> FloatArray:
    return task.measured(Shapes(task.world, [q[None] for q in state.q]))[0, :3]
