"""Command line of the fuzzing: `python -m benchmarks.fuzz`."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.fuzz.campaign import Record, campaign
from benchmarks.fuzz.child import outcome_of
from benchmarks.fuzz.readers import READERS
from benchmarks.fuzz.report import markdown
from benchmarks.soak.report import write_between


def main() -> None:
    """Read mutated files until every reader has had its count, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="mutated files for each reader")
    parser.add_argument("--reader", action="append", choices=list(READERS), help="only this one; repeatable")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("out/fuzz"), help="where outcomes and failures are kept")
    parser.add_argument("--write", type=Path, help="document that gets the table")
    parser.add_argument("--repeat", type=Path, help="read this one file with --reader, and show its error")
    options = parser.parse_args()
    if options.repeat is not None:
        reader = READERS[options.reader[0]]
        print(outcome_of(reader, options.repeat))
        if not reader.forks:
            reader.read(options.repeat)
        return

    def tick(record: Record) -> None:
        print(f"{record.reader}: {record.done} files, {sum(record.failures.values())} failures", flush=True)

    records = []
    for name in options.reader or READERS:
        records.append(campaign(options.folder, name, seed=options.seed, count=options.count, tick=tick))
        for kind, count in records[-1].failures.items():
            print(f"  {count} × {kind} {records[-1].files[kind]}", flush=True)
    table = markdown(records, options.seed)
    print(table)
    if options.write is not None:
        write_between(options.write, table, name="fuzz")


if __name__ == "__main__":
    main()
