"""The command line of the soak; see the package."""

from __future__ import annotations

import argparse
import json
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.soak.episodes import SECONDS
from benchmarks.soak.progress import Progress, repeat, soak
from benchmarks.soak.report import markdown, robot_summary, stepper_summaries, write_between
from benchmarks.soak.zoo import ZOO
from pliant.core.errors import PliantWarning


def main() -> None:
    """Run, continue or report a soak."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.split("\n")[0])
    parser.add_argument("--robot", action="append", choices=list(ZOO), help="only this one; may be given several times")
    parser.add_argument("--minutes", type=float, default=10.0, help="simulated time of each robot")
    parser.add_argument("--episode", type=float, default=SECONDS, help="simulated seconds of one stepper at a time")
    parser.add_argument("--wall", type=float, default=np.inf, help="end after so many minutes by the clock")
    parser.add_argument("--folder", type=Path, default=Path("out/soak"), help="where progress is kept")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, help="document whose marked table is replaced")
    parser.add_argument("--json", type=Path, help="write the summaries here")
    parser.add_argument("--repeat", type=Path, help="do a failed step again: a file of FOLDER/ROBOT/failures")
    options = parser.parse_args()
    if options.repeat:
        print(repeat(options.repeat))
        return
    warnings.simplefilter("ignore", PliantWarning)  # what they say is counted
    names = options.robot or list(ZOO)
    progress = Progress(options.folder, seed=options.seed, seconds=options.episode)
    say = partial(print, flush=True)
    finished = soak(names, progress, minutes=options.minutes, wall=options.wall, say=say)
    if not finished:
        print("not finished; the same command continues")
    found = {name: records for name in names if (records := progress.records(name))}
    summaries = {name: robot_summary(records) for name, records in found.items()}
    every = [record for records in found.values() for record in records]
    about = f"`--seed {options.seed} --episode {options.episode:g}`"
    time = sum(record.simulated for record in every)
    said = f"Made by `python -m benchmarks.soak` with {about}, {time:.0f} simulated seconds in all."
    table = f"{said}\n\n{markdown(summaries, stepper_summaries(every))}"
    print(table)
    if options.write:
        write_between(options.write, table)
    if options.json:
        options.json.write_text(json.dumps(summaries, indent=1))


if __name__ == "__main__":
    main()
