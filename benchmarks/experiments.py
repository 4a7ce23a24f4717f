"""Published experiments as one Markdown table: ours beside the paper's.

    python -m benchmarks.experiments PAPER [--all] [--full]

PAPER is the first part of the names of `pliant reproduce`: adagolodjo, bortoff, coevoet, fang or goury. Shown are the
quantities that the paper gives and our errors; with `--all` everything that the experiments report.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from experiments import EXPERIMENTS, Report, reproduce
from experiments.report import text

PAPERS = sorted({name.split("-")[0] for name in EXPERIMENTS})
ERRORS = ("error", "slip", "penetration", "step_ms")
"""Parts of the names of quantities that are shown although the paper does not give them."""


def rows(name: str, report: Report, everything: bool = False) -> Iterator[str]:
    """One line per quantity of an experiment, those of the paper first."""
    for quantity in dict.fromkeys([*report.paper, *report.metrics]):
        shown = everything or quantity in report.paper or any(part in quantity for part in ERRORS)
        if shown and quantity in report.metrics:
            paper = text(report.paper.get(quantity)) or "–"
            yield f"| {name} | {quantity} | {text(report.metrics[quantity])} | {paper} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paper", choices=PAPERS)
    parser.add_argument("--all", action="store_true", help="every quantity that is reported")
    parser.add_argument("--full", action="store_true", help="the published sizes, where those take longer")
    options = parser.parse_args()
    print("| experiment | quantity | ours | paper |\n|---|---|---|---|")
    for name in EXPERIMENTS:
        if name.startswith(options.paper):
            for line in rows(name, reproduce(name, full=options.full), options.all):
                print(line, flush=True)


if __name__ == "__main__":
    main()
