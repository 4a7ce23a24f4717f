"""The bench "beam" as a table: step, floor, peers.

    python -m benchmarks.speed [--from FILE] [--json FILE]

Runs `pliant bench beam` (or reads a report that it wrote, `--from`) and prints it as Markdown. Milliseconds are medians
of processor time on one thread; peers ran between our two measurements of the headline.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.tasks import run_bench


def own_row(name: str, entry: dict[str, Any]) -> str:
    stages = ", ".join(f"{stage} {ms:.2f}" for stage, ms in entry["stages_ms"].items())
    residuals = f"{entry['residual']:.0e} | {entry['nonlinear_residual']:.2f}"
    times = f"{entry['step_ms']:.2f} | {entry['floor_ms']:.2f} | {entry['floor_ratio']:.2f}"
    return f"| {name} | {entry['tets']} | {times} | {stages} | {residuals} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--from", dest="source", type=Path, help="report to read in place of a run")
    parser.add_argument("--json", type=Path, help="write the report here")
    options = parser.parse_args()
    report = json.loads(options.source.read_text()) if options.source else run_bench("beam")
    print("| beam | tets | step (ms) | floor (ms) | ratio | stages (ms) | linear residual | nonlinear residual |")
    print("|---|---|---|---|---|---|---|---|")
    entries = {"plain corotated": report} | report["variants"]
    for name, entry in entries.items():
        print(own_row(name.replace("_", " "), entry))
    print("\n| peer | settings | step (ms) | Pliant (ms) | ratio |\n|---|---|---|---|---|")
    for entry in entries.values():
        for peer, said in entry.get("peers", {}).items():
            ours, theirs = entry["step_ms"], said["step_ms"]
            name = f"{peer} {said['version']} | {said['settings']}"
            print(f"| {name} | {theirs:.2f} | {ours:.2f} | {theirs / ours:.1f} |")
    for peer, error in report["peer_errors"].items():
        print(f"\n{peer} failed: {error}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
