"""What `pliant reduce` does: experiments with a robot of the zoo or a saved world, and a reduced world in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pliant.cli.names import one_body_robots
from pliant.cli.output import Output, check_folder
from pliant.core.errors import InputError

PLANS = ("ramps", "plackett-burman", "latin-hypercube")


def show_reduction(
    output: Output,
    name: str,
    *,
    out: Path,
    amplitude: float,
    steps: int,
    plan: str,
    runs: int,
    contact_tolerance: float | None,
    motion_tolerance: float | None,
    folder: Path | None,
    on: str | None = None,
) -> None:
    """Reduce a robot and print how far the result can be trusted.

    `amplitude` is in m (m³ for cavities); `runs` counts those of a Latin hypercube.
    """
    from pliant import reduction

    if plan not in PLANS:
        raise InputError(f"there is no plan {plan!r}; the plans are {', '.join(PLANS)}")
    check_folder(out)
    world = _world(name)
    if plan == "latin-hypercube":
        design = reduction.latin_hypercube(world, runs, amplitude, steps, seed=0)
    else:
        design = (reduction.ramps if plan == "ramps" else reduction.plackett_burman)(world, amplitude, steps)
    fast = reduction.reduce(
        world,
        design,
        contact_tolerance=contact_tolerance,
        motion_tolerance=motion_tolerance,
        folder=folder,
        on=on,
        workers=None,
        progress=None,
    )
    for part in fast.reductions[:-1]:
        output.console.print(f"- {part!r}", markup=False, highlight=False)
    found = reduction.validate(fast, world)
    output.console.print(str(found), markup=False, highlight=False)
    fast.save(out)
    output.say(f"wrote {out}")
    output.finish({"metrics": found.metrics()})


def _world(name: str) -> Any:
    """A saved world, or a robot of the zoo that may touch itself, under gravity."""
    import pliant as pl
    from pliant import robots
    from pliant.robots.scenes import robot_world

    if Path(name).suffix == ".npz":
        loaded = pl.load(name)
        if not isinstance(loaded, pl.World):
            raise InputError(f"{name} holds a run, not a world: save the world with world.save")
        return loaded
    zoo = one_body_robots()
    if name not in zoo:
        raise InputError(f"there is no robot {name!r} and no file of that name; robots are {', '.join(zoo)}")
    robot = getattr(robots, name)()
    return robot_world(robot, touches_itself=not robot.facings and not robot.body.slender)
