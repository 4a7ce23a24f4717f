"""Benches as Markdown tables:

    python -m benchmarks.tables NAME [--from FILE] [--data DIR] [--plot FILE] [--write DOCUMENT]

NAME is "batch", "beam", "robots", "memory", "tail", "scaling", "threads", "coverage" or "shooting". The benches run, or
with `--from` what an earlier run wrote there is read; without it their reports are written to out/bench-NAME.json.
Milliseconds are medians of processor time on one thread; those of "memory" the least of some runs, those of "threads"
the least by the clock. `--plot` draws the scaling as SVG. `--write` puts the table between the lines of a document that
are marked with NAME.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.soak.report import write_between
from benchmarks.tasks import run_bench

ROBOTS = ("finger", "trunk", "block", "contacts", "gripper", "rod")
"""Benches of the table "robots"; those with meshes of another program read `--data`."""
WITH_DATA = ("finger", "trunk")


def batch_table(report: dict[str, Any]) -> Iterator[str]:
    """Copies over all cores beside one copy alone, by the clock."""
    yield f"Over {report['cores']} cores, by `python -m benchmarks.tables batch --write docs/batch.md`:"
    yield ""
    yield "| copies of | count | steps/s, all copies | steps/s, one alone | of cores × one alone |"
    yield "|---|---|---|---|---|"
    for robot, counts in report["cases"].items():
        for count, entry in counts.items():
            rates = f"{entry['steps_per_second']:.0f} | {entry['single_steps_per_second']:.0f}"
            yield f"| {robot} | {count} | {rates} | {entry['ratio_per_core']:.2f} |"
    yield ""
    same = "ended with the bits" if report["bit_identical"] else "**did not end** with the bits"
    yield f"The copies {same} of stepping each alone."


def beam_table(report: dict[str, Any]) -> Iterator[str]:
    """Beams beside their floor, then beside the peers of the same run."""
    yield "| beam | tets | step (ms) | floor (ms) | ratio | stages (ms) | linear residual | nonlinear residual |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, entry in _entries("plain corotated", report):
        stages = ", ".join(f"{stage} {ms:.2f}" for stage, ms in entry["stages_ms"].items())
        residuals = f"{entry['residual']:.0e} | {entry['nonlinear_residual']:.2f}"
        yield f"| {name} | {entry['tets']} | {_times(entry)} | {stages} | {residuals} |"
    yield ""
    yield from _peer_table([("beam", report)])


def robots_table(reports: dict[str, Any]) -> Iterator[str]:
    """Robots and contact beside their floor, then beside the peers of the same run."""
    yield "| bench | tets | rows | step (ms) | floor (ms) | ratio | outside kernels (ms) | detection (ms) |"
    yield "|---|---|---|---|---|---|---|---|"
    for bench, report in reports.items():
        for name, entry in _entries(bench, report):
            title = name if name == bench else f"{bench}, {name}"
            outside = _number(entry.get("outside_kernels_ms"))
            detect = _number(entry["stages_ms"].get("detect"))
            yield f"| {title} | {entry['tets']} | {entry['rows']} | {_times(entry)} | {outside} | {detect} |"
    yield ""
    yield from _peer_table(list(reports.items()))


def tail_table(report: dict[str, Any]) -> Iterator[str]:
    """Usual and slowest steps of each robot under random actuation."""
    yield "| robot | steps | median (ms) | p99 / median | maximum / median |"
    yield "|---|---|---|---|---|"
    for name, entry in {**report["robots"], "all": report}.items():
        median = entry["median_ms"]
        ratios = f"{entry['p99_ms'] / median:.1f} | {entry['max_ms'] / median:.1f}"
        yield f"| {name} | {entry['steps']} | {median:.2f} | {ratios} |"


def memory_table(report: dict[str, Any]) -> Iterator[str]:
    """A step of a law with memory over that of the law it is built on."""
    yield "| body | law | step (ms) | over that without memory |"
    yield "|---|---|---|---|"
    for body, laws in report.items():
        for law, entry in laws.items():
            yield f"| {body} | {law} | {entry['step_ms']:.3g} | {entry['ratio']:.2f} |"


def scaling_table(report: dict[str, Any]) -> Iterator[str]:
    """Step time and memory against each size, with the exponent of its upper half."""
    yield "| series | size | nodes | rows | step (ms) | floor (ms) | ratio | memory (MB) |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, series in report.items():
        for case in series["cases"]:
            size = f"{case['size']} | {case['nodes']} | {case['rows']}"
            yield f"| {name} | {size} | {_times(case)} | {case['memory_mb']:.0f} |"
    yield ""
    exponents = [f"{name} {series['exponent']:.2f}" for name, series in report.items()]
    yield f"Exponents of the step time, upper half of each series: {', '.join(exponents)}."


def threads_table(report: dict[str, Any]) -> Iterator[str]:
    """Steps of large bodies on one thread and on two."""
    yield "| body | tets | unknowns | one thread (ms) | two (ms) | ratio | critical path, ratio | same bits |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, entry in report.items():
        times = f"{entry['step_ms']['1']:.0f} | {entry['step_ms']['2']:.0f} | {entry['ratio']:.2f}"
        same = "yes" if entry["same_bits"] else "no"
        size = f"{entry['tets']} | {entry['unknowns']}"
        yield f"| {name} | {size} | {times} | {entry['critical_ratio']:.2f} | {same} |"


def coverage_table(report: dict[str, Any]) -> Iterator[str]:
    """How often intervals of identified values cover the true ones, and how large the errors are."""
    count = report["trials"]
    yield "| value | true | intervals that cover it | errors below the limit | largest error | rms error | half width |"
    yield "|---|---|---|---|---|---|---|"
    for name, title in (("young", "modulus (Pa)"), ("friction", "friction")):
        one = report[name]
        errors = " | ".join(f"{100.0 * one[key]:.2g} %" for key in ("largest_error", "rms_error", "half_width"))
        within = f"{one['within']} of {count} below {100.0 * one['limit']:.0f} %"
        yield f"| {title} | {one['true']:g} | {one['covered']} of {count} | {within} | {errors} |"


def shooting_table(report: dict[str, Any]) -> Iterator[str]:
    """Simulations of the adjoint and of CMA-ES until both meet the target."""
    yield "| control points | pl.optimize: rollouts | loss (mm²) | CMA-ES: rollouts | loss (mm²) | ratio | of times |"
    yield "|---|---|---|---|---|---|---|"
    for name, one in report["cases"].items():
        theirs = ", ".join(map(str, one["cma_rollouts"])), ", ".join(f"{loss:.2g}" for loss in one["cma_loss"])
        ratios = f"{one['ratio']:.0f} | {one['time_ratio']:.1f}"
        yield f"| {name} | {one['rollouts']} | {one['loss']:.2g} | {theirs[0]} | {theirs[1]} | {ratios} |"


TABLES: dict[str, Callable[[dict[str, Any]], Iterator[str]]] = {
    "batch": batch_table,
    "beam": beam_table,
    "robots": robots_table,
    "memory": memory_table,
    "tail": tail_table,
    "scaling": scaling_table,
    "threads": threads_table,
    "coverage": coverage_table,
    "shooting": shooting_table,
}


def plot_scaling(report: dict[str, Any], file: Path) -> None:
    """Step time (left) and memory (right) against the sizes, logarithmic, as SVG."""
    import matplotlib as mpl  # loaded here: only this picture needs it
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    time, memory = figure.subplots(1, 2)
    for name, series in report.items():
        size, step, floor, used = (
            [case[key] for case in series["cases"]] for key in ("size", "step_ms", "floor_ms", "memory_mb")
        )
        (line,) = time.loglog(size, step, "o-", label=f"{name}, exponent {series['exponent']:.2f}")
        time.loglog(size, floor, ":", color=line.get_color())
        memory.loglog(size, used, "o-", label=name)
    time.set(xlabel="unknowns, rows or bodies", ylabel="step (ms); dotted: its floor")
    memory.set(xlabel="unknowns, rows or bodies", ylabel="largest memory of the process (MB)")
    for axes in (time, memory):
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
    with mpl.rc_context({"svg.hashsalt": "scaling"}):
        figure.savefig(file, format="svg", metadata={"Date": None})


def report_of(name: str, data: Path | None) -> dict[str, Any]:
    """Run the benches of a table."""
    if name != "robots":
        return run_bench(name)
    return {bench: run_bench(bench, data=data if bench in WITH_DATA else None) for bench in ROBOTS}


def _entries(name: str, report: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield name, report
    for variant, entry in report["variants"].items():
        yield variant.replace("_", " "), entry


def _times(entry: dict[str, Any]) -> str:
    step, floor = entry["step_ms"], entry["floor_ms"]
    return f"{_three(step)} | {_three(floor)} | {step / floor:.2f}"


def _three(value: float) -> str:
    """Three digits, and all that stand before the point."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _peer_table(reports: list[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    if not any(report.get(key) for _, report in reports for key in ("peers", "peer_errors")):
        yield "(The other simulators were not installed: `make bench-peers`.)"
        return
    yield "| bench | peer | settings | step (ms) | Pliant (ms) | ratio |"
    yield "|---|---|---|---|---|---|"
    for bench, report in reports:
        for name, entry in _entries(bench, report):
            for peer, said in entry.get("peers", {}).items():
                title = name if name == bench else f"{bench}, {name}"
                times = f"{said['step_ms']:.2f} | {entry['step_ms']:.2f} | {said['step_ms'] / entry['step_ms']:.1f}"
                yield f"| {title} | {peer} {said.get('version', '')} | {said.get('settings', '')} | {times} |"
        for peer, error in report.get("peer_errors", {}).items():
            yield f"| {bench} | {peer} | failed: {(error.splitlines() or ['no reason given'])[-1][:120]} | – | – | – |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", choices=TABLES)
    parser.add_argument("--from", dest="source", type=Path, help="report to read in place of a run")
    parser.add_argument("--data", type=Path, help="folder with the meshes of the side-by-side comparison")
    parser.add_argument("--plot", type=Path, help="SVG file for the scaling")
    parser.add_argument("--write", type=Path, help="document whose marked table is replaced")
    options = parser.parse_args()
    if options.source:
        report = json.loads(options.source.read_text())
    else:
        report = report_of(options.name, options.data)
        kept = Path("out") / f"bench-{options.name}.json"
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(report, indent=1))
    report.pop("name", None)
    text = "\n".join(TABLES[options.name](report))
    print(text)
    if options.write:
        write_between(options.write, text, name=options.name)
    if options.plot:
        plot_scaling(report, options.plot)


if __name__ == "__main__":
    main()
