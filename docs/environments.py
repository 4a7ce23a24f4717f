"""The tables and the curve of docs/gym.md:

    python docs/environments.py [--bench FILE] [--arm FILE] [--curve FILE …] [--pictures]

It writes what every task declares. `--bench` is what ``pliant bench gym --json FILE`` wrote: steps a second, and errors
of the twins. `--arm` is what ``pliant bench arm --json FILE`` wrote: the tasks of the elastic arm beside published
rates. `--curve` is what ``examples/learn_reach.py --curve FILE`` wrote, for each task that was learned; it becomes
images/learn-TASK.svg.
`--pictures` draws images/environments.png: every task in an episode.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.extras import blank_figure
from pliant.gym import TASKS, Coarser, Environment, Modes
from pliant.gym.registration import environment_id

PAGE = Path(__file__).parent / "gym.md"
POSES: dict[str, tuple[int, list[float]]] = {
    "Reach": (40, [0.9, 0.2, -1.0, -1.0]),
    "ReachObstacles": (60, [0.9, 0.6, -1.0, -1.0]),
    "Pose": (40, [0.8, -1.0, -1.0, -1.0, -1.0, 0.6, 0.6, -1.0]),
    "GraspLift": (40, [0.7, 0.7, 0.7, -1.0]),
    "InHandTurn": (35, [0.2, 0.2, 0.5, -0.5]),
    "Push": (45, [0.2, 0.0, -0.5]),
    "Crawl": (25, [0.6, -0.8]),
    "CatheterVessel": (120, [0.6, 0.0]),
    "PneumaticReach": (40, [0.2, -1.0, 0.4, -1.0]),
    "Throw": (27, [-1.0]),
    "FollowTarget": (14, [1.0, 0.4, 0.6, 0.2, 0.3, -0.4, -0.6, -0.9, -0.9, -0.5]),
    "OrientedReach": (
        14,
        [1.0, 0.0, 0.5, 0.8, 0.2, 0.5, 0.2, 0.5, 0.5, -0.5, 0.3, 0.5, -0.8, 0.0, 0.5],
    ),
    "StructuredObstacles": (7, [1.0, 0.2, 0.0, 0.6, 0.6]),
    "UnstructuredObstacles": (6, [1.0, 0.2, 0.6, -0.2, 0.0, 0.0, 0.6, 0.0, 0.8, 0.0]),
}
"""Steps and their action before the picture of a task."""
ACROSS = 5
"""Pictures in a row."""


def tasks_section() -> Iterator[str]:
    """Every task as it declares itself."""
    for name, task in TASKS.items():
        yield f"### {name}\n"
        yield f"`{environment_id(name)}`: {task.title}. Steps of {1e3 * task.dt:g} ms, {task.steps} in an episode.\n"
        yield "| | |\n|---|---|"
        channels = "; ".join(
            f"{each.meaning}, {each.low:g} … {each.high:g} {each.unit} at ≤ {each.rate:g} {each.unit}/s"
            for each in task.actions
        )
        what = "rate of" if task.incremental else "action"
        yield f"| {what} | {channels} |"
        seen = "; ".join(
            f"{each.meaning} ({each.size}), {each.unit} / {each.scale:g}"
            for each in task.observations
        )
        yield f"| observation | {seen} |"
        yield f"| reward | {_cell(task.reward)} |"
        yield f"| success | {task.succeeds} |"
        yield f"| `error` | {task.error} |"
        if task.ends:
            yield f"| ends early | {task.ends} |"
        varied = ", ".join(
            f"`{each.name}` × {each.low:g} … {each.high:g}" for each in task.variations
        )
        yield f"| `randomize` | {varied} |"
        yield f"| twin | {_twin(task.twin)} |\n"


def measured_section(report: dict[str, Any]) -> Iterator[str]:
    """Steps a second of one core, and how far the twins are from the tasks."""
    yield "| task | steps/s | twin: steps/s | reset (ms) | twin: distance, mm (rms, worst) | of a motion of |"
    yield "|---|---|---|---|---|---|"
    for name, found in report["tasks"].items():
        full, twin, error = found["full"], found["reduced"], found["twin_error"]
        rates = f"{full['steps_per_second']:.0f} | {twin['steps_per_second']:.0f} | {full['reset_ms']:.1f}"
        yield f"| {name} | {rates} | {error['mm']:.1f}, {error['worst_mm']:.1f} | {error['motion_mm']:.0f} |"


def arm_section(report: dict[str, Any]) -> Iterator[str]:
    """Steps a second of one core of the elastic arm, and cores that reach the published rate."""
    yield (
        "| task | a step is | steps/s of one core | twin: steps/s | DisMech-RL, all cores of its machine "
        "| our cores for as many |"
    )
    yield "|---|---|---|---|---|---|"
    for name, found in report["tasks"].items():
        span = f"{found['substeps']} × {1e3 * found['dt'] / found['substeps']:g} ms"
        rates = " | ".join(
            f"{found[kind]['steps_per_second']:.0f}" for kind in ("full", "reduced")
        )
        published, cores = found["published"], found["cores"]
        beside = (
            "not published | –"
            if published is None
            else f"{published:.0f} | {cores:.1f}"
        )
        yield f"| {name} | {span} | {rates} | {beside} |"


def learned_section(curve: dict[str, Any], picture: str) -> Iterator[str]:
    """How well the trained policy does on new goals."""
    steps = curve["curve"][-1]["steps"]
    yield f"![Success and error over the steps of the training](images/{picture})\n"
    yield "| tested on | goals reached | last distance (mm) | trained for |"
    yield "|---|---|---|---|"
    for name, (success, error) in curve["tested"].items():
        yield f"| `{name}` | {100 * success:.0f} % | {1e3 * error:.1f} | {steps} steps, {curve['seconds']:.0f} s |"


def draw_curve(curve: dict[str, Any], file: Path) -> None:
    """Success and error of the episodes of each update, over the steps and the seconds."""
    figure = blank_figure(figsize=(6.4, 3.0), layout="constrained")
    success, error = figure.subplots(1, 2)
    ended = [row for row in curve["curve"] if row["success"] is not None]
    steps = [row["steps"] / 1e3 for row in ended]
    success.plot(steps, [100 * row["success"] for row in ended], color="#2f6fb0")
    error.plot(steps, [1e3 * row["error"] for row in ended], color="#c4622d")
    success.set(
        xlabel="thousand steps",
        ylabel="episodes that end at the goal (%)",
        ylim=(0, 102),
    )
    error.set(xlabel="thousand steps", ylabel="last distance (mm)", ylim=(0, None))
    for axes in (success, error):
        axes.grid(True, alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": file.stem}):
        figure.savefig(file, format="svg", metadata={"Date": None})


def draw_pictures(file: Path) -> None:
    """Every task after some steps towards a fixed action, side by side."""
    tiles = []
    for name in TASKS:
        env = Environment(name, render_mode="rgb_array", size=(260, 208))
        env.reset(seed=4)
        for _ in range(POSES[name][0]):
            env.step(np.array(POSES[name][1]))
        tiles.append(env.render())
    tiles += [np.full_like(tiles[0], 255)] * (-len(tiles) % ACROSS)
    rows = [np.hstack(tiles[k : k + ACROSS]) for k in range(0, len(tiles), ACROSS)]
    pillow = import_module("PIL.Image")
    image = pillow.fromarray(np.vstack(rows))
    palette = image.quantize(
        colors=160, method=pillow.Quantize.MAXCOVERAGE
    )  # keeps the few pixels of small things
    image.quantize(palette=palette, dither=pillow.Dither.FLOYDSTEINBERG).save(
        file, "png", optimize=True
    )


def with_section(text: str, name: str, lines: Iterator[str]) -> str:
    """`text` with other content between the marks of a section."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    if not rest or not after:
        raise SystemExit(f"{PAGE} has no section {name!r}")
    return before + begin + "\n" + "\n".join(lines).strip() + "\n\n" + end + after


def _cell(text: str) -> str:
    """Text of a cell of a table, in which bars stand for absolute values."""
    return text.replace("|", "\\|")


def _twin(twin: Any) -> str:
    if isinstance(twin, Modes):
        return f"modes of {twin.runs} random episodes, relative error of shapes {twin.tolerance:g}"
    return twin.how if isinstance(twin, Coarser) else f"none: {twin.reason}"


def main() -> None:
    """Write the sections that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path)
    parser.add_argument("--arm", type=Path)
    parser.add_argument("--curve", type=Path, nargs="+", default=())
    parser.add_argument("--pictures", action="store_true")
    asked = parser.parse_args()
    text = with_section(PAGE.read_text(encoding="utf-8"), "tasks", tasks_section())
    if asked.bench:
        text = with_section(
            text,
            "measured",
            measured_section(json.loads(asked.bench.read_text(encoding="utf-8"))),
        )
    if asked.arm:
        text = with_section(
            text,
            "arm",
            arm_section(json.loads(asked.arm.read_text(encoding="utf-8"))),
        )
    if asked.pictures:
        draw_pictures(PAGE.parent / "images" / "environments.png")
    for file in asked.curve:
        curve = json.loads(file.read_text(encoding="utf-8"))
        task = curve["environment"].split("/")[1].split("-")[0]
        picture = f"learn-{task.lower()}.svg"
        draw_curve(curve, PAGE.parent / "images" / picture)
        section = learned_section(curve, picture)
        text = with_section(text, f"learned {task}", section)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
