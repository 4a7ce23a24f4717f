"""The command line of the faults; see the package."""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from pathlib import Path

from benchmarks.faults import interrupts
from benchmarks.faults.kinds import kinds
from benchmarks.faults.progress import make, table
from benchmarks.faults.works import motion, world
from benchmarks.soak.report import write_between


def main() -> None:
    """Make trials, or continue, and report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=200, help="of each kind")
    parser.add_argument("--only", action="append", help="only kinds whose fault or work contains this text")
    parser.add_argument("--folder", type=Path, default=Path("out/faults"), help="where trials are kept")
    parser.add_argument("--seed", type=int, default=0, help="number of the first trial")
    parser.add_argument("--write", type=Path, help="document whose marked table is replaced")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    every = kinds()
    chosen = [k for k in every if not options.only or any(text in f"{k.fault} {k.work}" for text in options.only)]
    for pull in (0.0, 0.1):
        world(pull)
    for steps in (5, 60):
        motion(steps)
    if any(kind.fault == "Ctrl-C" for kind in chosen):
        interrupts.prepare()
    for kind in chosen:
        make(options.folder, kind, trials=options.trials, seed=options.seed, say=partial(print, flush=True))
    said = f"Made by `python -m benchmarks.faults`, at most {options.trials} trials of a kind."
    text = f"{said}\n\n{table(options.folder, every)}"
    print(text)
    if options.write:
        write_between(options.write, text, name="faults")


if __name__ == "__main__":
    main()
