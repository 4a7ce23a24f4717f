"""The table of a soak: what was counted, and the distribution of the time of its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.soak.episodes import EULER, STEPPERS, UNMET, Record
from pliant.core.replacing import replace_text

WARM_UP = 3
"""Steps of an episode whose times are left out: the first one reads kernels from the disk."""
START, END = "<!-- soak: start -->", "<!-- soak: end -->"
"""Lines of a document between which the table stands."""


def robot_summary(records: Sequence[Record]) -> dict[str, Any]:
    """Counts and penetrations (mm) of one robot; times (ms of processor time) of its steps with one linear solve."""
    euler = [record for record in records if record.stepper in EULER]
    cpu = joined(euler, lambda record: record.cpu)
    counts: Counter[str] = Counter()
    for record in records:
        counts.update(record.counts)
    sampled = np.array([pair[1:] for record in records for pair in record.penetration]).reshape(-1, 2)
    stages = sorted({name for record in euler for name in record.stages})
    return {
        "simulated_s": sum(record.simulated for record in records),
        "steps": sum(len(record.wall) for record in records),
        **quantiles(cpu),
        "stages_ms": {
            name: quantiles(joined(euler, lambda record, name=name: record.stages.get(name, [0.0] * len(record.cpu))))
            for name in stages
        },
        "rows": max((max(record.rows, default=0) for record in records), default=0),
        "not_finite": counts["not finite"],
        "inverted": counts["inverted element accepted"],
        "blown_up": counts["blown up"],
        "unreported": sum(count for what, count in counts.items() if what.startswith("penetration")),
        "errors": sum(count for what, count in counts.items() if what.startswith("error")),
        "unmet": counts[UNMET],
        "cut_short": counts["cut short"],
        "counts": dict(counts),
        "penetration_mm": 1e3 * float(sampled[:, 0].max(initial=0.0)),
        "sampled": len(sampled),
        "memory_kb_per_step": memory_growth(records),
    }


def memory_growth(records: Sequence[Record]) -> float | None:
    """Growth of the resident memory in kB per step after the first turn of the steppers, which builds worlds and
    workspaces; None before its end.
    """
    late = records[len(STEPPERS) :]
    steps = sum(len(record.wall) for record in late)
    return 1e3 * sum(record.memory[1] - record.memory[0] for record in late) / steps if steps else None


def stepper_summaries(records: Sequence[Record]) -> dict[str, dict[str, Any]]:
    """Counts and times of each stepper over all robots."""
    found = {}
    for name in STEPPERS:
        own = [record for record in records if record.stepper == name]
        counts = Counter[str]()
        for record in own:
            counts.update(record.counts)
        if own:
            found[name] = {
                "steps": sum(len(record.wall) for record in own),
                "errors": sum(count for what, count in counts.items() if what.startswith("error")),
                "cut_short": counts["cut short"],
                **quantiles(joined(own, lambda record: record.cpu)),
            }
    return found


def joined(records: Sequence[Record], series: Any) -> np.ndarray:
    """One array of a series of all records without their first steps."""
    return np.concatenate([np.zeros(0), *(np.asarray(series(record)[WARM_UP:], float) for record in records)])


def quantiles(seconds: np.ndarray) -> dict[str, float]:
    """Median, 99th percentile and maximum, ms."""
    ms = 1e3 * seconds if len(seconds) else np.zeros(1)
    return {"median_ms": float(np.median(ms)), "p99_ms": float(np.percentile(ms, 99)), "max_ms": float(ms.max())}


def markdown(summaries: dict[str, dict[str, Any]], steppers: dict[str, dict[str, Any]]) -> str:
    """The tables: of the robots, of the stages of a step with one linear solve, of the steppers, of what went wrong."""
    lines = [
        "| robot | simulated (s) | steps | median / p99 / max (ms) | p99 / median | most rows | not finite | "
        "inverted | blown up | unreported > 0.1 mm, of samples | deepest (mm) | errors | unmet | "
        "cut short | kB per step |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, one in summaries.items():
        times = f"{one['median_ms']:.1f} / {one['p99_ms']:.1f} / {one['max_ms']:.0f}"
        ratio = one["p99_ms"] / one["median_ms"] if one["median_ms"] else 0.0
        lines.append(
            f"| {name} | {one['simulated_s']:.1f} | {one['steps']} | {times} | {ratio:.1f} | {one['rows']} | "
            f"{one['not_finite']} | {one['inverted']} | {one['blown_up']} | {one['unreported']} of {one['sampled']} | "
            f"{one['penetration_mm']:.2f} | {one['errors']} | {one['unmet']} | {one['cut_short']} | "
            f"{'–' if one['memory_kb_per_step'] is None else format(one['memory_kb_per_step'], '+.1f')} |"
        )
    names = list(dict.fromkeys(stage for one in summaries.values() for stage in one["stages_ms"]))
    if names:
        lines += ["", f"| median / p99 / max (ms) | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for name, one in summaries.items() if names else ():
        cells = [_triple(one["stages_ms"].get(stage)) for stage in names]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", "| stepper | steps | median / p99 / max (ms) | errors | cut short |", "|---|---|---|---|---|"]
    for name, one in steppers.items():
        lines.append(f"| {name} | {one['steps']} | {_triple(one)} | {one['errors']} | {one['cut_short']} |")
    lines += ["", "| robot | what went wrong | count |", "|---|---|---|"]
    for name, one in summaries.items():
        lines += [f"| {name} | {what} | {count} |" for what, count in sorted(one["counts"].items())]
    return "\n".join(lines)


def _triple(ms: dict[str, float] | None) -> str:
    return "" if ms is None else f"{ms['median_ms']:.1f} / {ms['p99_ms']:.0f} / {ms['max_ms']:.0f}"


def write_between(path: Path, table: str, *, name: str = "soak") -> None:
    """Put `table` between the lines of the document `path` that are marked with `name`."""
    start, end = START.replace("soak", name), END.replace("soak", name)
    before, _, rest = path.read_text(encoding="utf-8").partition(start)
    _, mark, after = rest.partition(end)
    if not mark:
        raise ValueError(f"{path} has no lines {start!r} and {end!r}")
    replace_text(path, f"{before}{start}\n{table}\n{end}{after}")
