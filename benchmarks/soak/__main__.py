"""The command line of the soak; see the package."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks.soak.progress import Progress, repeat, soak
from benchmarks.soak.report import markdown, robot_summary, write_between
from benchmarks.soak.zoo import ZOO


def main() -> None:
    """Run, continue or report a soak."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.split("\n")[0])
    parser.add_argument("--robot", action="append", choices=list(ZOO), help="only this one; may be given several times")
    parser.add_argument("--minutes", type=float, default=10.0, help="simulated time of each robot")
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
    names, progress = options.robot or list(ZOO), Progress(options.folder, seed=options.seed)
    finished = soak(
        names, progress, minutes=options.minutes, seed=options.seed, wall=options.wall,
        say=lambda text: print(text, flush=True),
    )  # fmt: skip
    if not finished:
        print("not finished; the same command continues")
    summaries = {name: robot_summary(records) for name in names if (records := progress.records(name))}
    table = markdown(summaries)
    print(table)
    if options.write:
        write_between(options.write, table)
    if options.json:
        options.json.write_text(json.dumps(summaries, indent=1))


if __name__ == "__main__":
    main()
