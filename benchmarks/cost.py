"""What steps, grasps and robots cost: rates measured here, and what a study costs on a cluster with these rates.

    python -m benchmarks.cost [--cluster NAME --cores N --price P] [--write docs/cost.md]

Rates of one core are by processor time, so that other programs hardly change them; rates of several copies and of the
dispatch of cases are by the clock and need a quiet machine. Half a minute on two quiet cores. With `--write` the
tables of the document are replaced, and the plot beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

import pliant as pl
from benchmarks.faults.clusters import dask_cluster
from benchmarks.soak.report import write_between
from pliant.core.provenance import made_by, provenance

DT, SETTLING = 0.01, 15
"""Time step, s, and steps before any is timed."""
BARS = ((5, 1, 1), (10, 2, 2), (20, 4, 4), (30, 6, 6))
"""Cells of the bars that hang from one end."""
CONTACTS = (0, 2, 4, 8, 12)
"""Nodes along each side of the part of a sheet that may touch the floor."""
COPIES = (1, 2, 4, 16, 64)
GRASP_STEPS, GRASPS, ROBOTS = 100, 4, 6
"""Steps of a grasp and of a test of a robot; how many of each are measured."""
PER_CASE = 100
"""Grasps, or robots, that one case of the sweep computes in turn, so that the dispatch of cases does not limit it."""
STUDIES = (("10⁶ grasps", "grasp_s", 10**6), ("a design study of 10⁵ robots", "robot_s", 10**5))


@dataclass(frozen=True)
class Cluster:
    """A cluster as people rent it: its `cores`, and the `price` of one of them for an hour."""

    name: str
    cores: int
    price: float


def measured() -> dict[str, Any]:
    """All rates, with what made them."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    single, copies = _copies(cores)
    return {
        "made": provenance(),
        "machine": f"{cores} cores of {os.uname().machine}; {made_by()}",
        "load": os.getloadavg()[0],
        "cores": cores,
        "unknowns": [_bar(cells) for cells in BARS],
        "contacts": [_sheet(side) for side in CONTACTS],
        "single_steps_per_second": single,
        "copies": copies,
        "by_cores": [_of_cores(count) for count in _powers(cores)],
        "grasp_s": _grasps(),
        "robot_s": _robots(),
        "dispatch_per_s": {"processes": _dispatch(None), "dask": _dispatch("dask")},
    }


def _powers(cores: int) -> list[int]:
    """1, 2, 4 … and all cores."""
    return sorted({1 << k for k in range(cores.bit_length()) if 1 << k <= cores} | {cores})


def _rate(world: Any, controls: Any = None, *, state: Any = None, seconds: float = 1.0) -> float:
    """Steps of one core in a second of processor time."""
    step, state = pl.ImplicitEuler(DT), world.initial_state() if state is None else state
    for _ in range(SETTLING):
        state, _ = step(world, state, controls or {})
    begin, count = process_time(), 0
    while (taken := process_time() - begin) < seconds:
        state, _ = step(world, state, controls or {})
        count += 1
    return count / taken


def _rubber(young: float) -> Any:
    return pl.materials.Corotated(young=young, poisson=0.45, density=1000.0)


def _bar(cells: tuple[int, int, int]) -> dict[str, Any]:
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh, clamp = pl.mesh.box((0.2, 0.04, 0.04), cells), pl.regions.plane(axis="x", at=0.0)
    scene.add(pl.Volume(mesh, _rubber(0.5e6), clamp=clamp, damping=pl.Rayleigh(stiffness=0.01)))
    unknowns = 3 * cells[0] * (cells[1] + 1) * (cells[2] + 1)
    return {"unknowns": unknowns, "steps_per_second": _rate(scene.compile())}


def _sheet(side: int) -> dict[str, Any]:
    """A sheet of 14 × 14 × 2 nodes, `side` × `side` of which may touch a floor with friction."""
    cell, cells = 0.01, 13
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box((cells * cell, cells * cell, cell), (cells, cells, 1))
    sheet = scene.add(
        pl.Volume(
            mesh, _rubber(2e6), clamp=pl.regions.plane(axis="x", at=0.0), damping=pl.Rayleigh(stiffness=0.01)
        )
    )  # fmt: skip
    if side:
        low, high = (cells + 0.5 - side) * cell, (cells + 0.5) * cell
        inside = pl.regions.box((low, low, -cell), (high, high, 0.5 * cell))
        scene.collide(sheet, scene.add(pl.Obstacle.plane()), friction=0.5, exclude=~inside)
    world = scene.compile()
    step, state = pl.ImplicitEuler(DT), world.initial_state()
    for _ in range(SETTLING):
        state, info = step(world, state, {})
    touching = 0 if info.assembly is None else info.assembly.rows.count // 3
    return {"contacts": touching, "steps_per_second": _rate(world, state=state)}


def _grasp_world() -> tuple[Any, Any, Any]:
    scene = pl.Scene(gravity=(0, 0, -9.81))
    finger = scene.add(pl.robots.finger())
    ball = scene.add(pl.RigidBody.sphere(radius=0.015, mass=0.02, position=(0.06, 0, -0.02)))
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.035)))
    scene.collide(finger, ball, friction=0.6)
    scene.collide(ball, floor, friction=0.6)
    return scene.compile(), finger, ball


def _copies(cores: int) -> tuple[float, list[dict[str, Any]]]:
    """The rate of one world alone, by the clock, and of batches over all cores."""
    world, finger, _ = _grasp_world()
    control = {finger.cable: pl.Displacement(0.01)}
    found = [{"copies": count, "steps_per_second": _batch_rate(world, control, count, cores)} for count in COPIES]
    return found[0]["steps_per_second"], found


def _of_cores(count: int) -> dict[str, Any]:
    world, finger, _ = _grasp_world()
    rate = _batch_rate(world, {finger.cable: pl.Displacement(0.01)}, 16, count)
    return {"cores": count, "steps_per_second": rate}


def _batch_rate(world: Any, control: Any, count: int, workers: int) -> float:
    """Steps of all copies in a second by the clock, the best of several times."""
    step = pl.ImplicitEuler(DT)
    with pl.Batch(world, count, workers=min(workers, count)) as batch:
        states, best, turns = batch.initial_states(), 0.0, max(1, 64 // count)
        for _ in range(SETTLING):
            states, _ = step(batch, states, control)
        for _ in range(6):
            begin = perf_counter()
            for _ in range(turns):
                states, _ = step(batch, states, control)
            best = max(best, turns * count / (perf_counter() - begin))
    return best


def _grasps() -> float:
    """Processor time of a grasp of a second: other numbers for a compiled world, and its steps."""
    world, finger, ball = _grasp_world()
    friction, spans = pl.parameters.Friction(finger.body, ball), []
    for k in range(GRASPS):
        begin = process_time()
        own = pl.changed(world, {friction: 0.4 + 0.1 * k})
        step, state = pl.ImplicitEuler(DT), own.initial_state()
        for n in range(GRASP_STEPS):
            state, _ = step(own, state, {finger.cable: pl.Displacement(0.02 * (n + 1) / GRASP_STEPS)})
        spans.append(process_time() - begin)
    return float(np.median(spans))


def _robots() -> float:
    """Processor time of a robot: a mesh of its own, the compiled scene, and a bend of a second."""
    spans = []
    for k in range(ROBOTS):
        begin = process_time()
        scene = pl.Scene(gravity=(0, 0, -9.81))
        finger = scene.add(pl.robots.finger(phalanx=0.026 + 0.001 * k))
        world = scene.compile()
        step, state = pl.ImplicitEuler(DT), world.initial_state()
        for n in range(GRASP_STEPS):
            state, _ = step(world, state, {finger.cable: pl.Displacement(0.01 * (n + 1) / GRASP_STEPS)})
        spans.append(process_time() - begin)
    return float(np.median(spans))


def _nothing(case: Any) -> dict[str, Any]:
    return {"value": np.array(case)}


def _dispatch(engine: str | None) -> float:
    """Cases that one sweep begins, collects and stores in a second, where computing them takes no time."""
    with tempfile.TemporaryDirectory() as folder, dask_cluster() if engine else nullcontext() as cluster:
        options: dict[str, Any] = {"workers": 2} if cluster is None else {"on": cluster.address}
        pl.sweep.run(_nothing, list(range(20)), folder=Path(folder) / "warm", progress=False, **options)
        begin = perf_counter()
        pl.sweep.run(_nothing, list(range(400)), folder=Path(folder) / "timed", progress=False, **options)
        return 400 / (perf_counter() - begin)


def studies(rates: dict[str, Any], cluster: Cluster) -> list[dict[str, Any]]:
    """Core hours, hours and price of each study."""
    efficiency = (
        max(each["steps_per_second"] / each["cores"] for each in rates["by_cores"][-1:])
        / (rates["by_cores"][0]["steps_per_second"])
    )
    found = []
    for name, rate, count in STUDIES:
        core_hours = count * rates[rate] / efficiency / 3600.0
        dispatched = count / PER_CASE / rates["dispatch_per_s"]["dask"] / 3600.0
        found.append(
            {
                "study": name,
                "seconds of one core for each": rates[rate],
                "core hours": core_hours,
                "hours": max(core_hours / cluster.cores, dispatched),
                "price": core_hours * cluster.price,
                "efficiency": efficiency,
            }
        )
    return found


def markdown(rates: dict[str, Any], cluster: Cluster, command: str) -> str:
    """The tables of the page."""
    made, dispatch = rates["made"], rates["dispatch_per_s"]
    found = studies(rates, cluster)
    lines = [
        f"Made by `{command}` on {made['date'][:10]}: {rates['machine']}; load {rates['load']:.1f} at its begin.",
        *_shared(rates),
        "",
        "![Steps per second against unknowns, contacts, copies and cores](images/cost.svg)",
        "",
        "| one core | steps/s |",
        "|---|---|",
        *(f"| bar of {each['unknowns']} unknowns | {each['steps_per_second']:.0f} |" for each in rates["unknowns"]),
        *(
            f"| sheet of 1092 unknowns, {each['contacts']} contacts with friction | {each['steps_per_second']:.0f} |"
            for each in rates["contacts"]
        ),
        "",
        "| finger that touches a ball | steps/s |",
        "|---|---|",
        *(
            f"| {_counted(each['copies'], 'copy', 'copies')} on all cores | {each['steps_per_second']:.0f} |"
            for each in rates["copies"]
        ),
        *(
            f"| 16 copies on {_counted(each['cores'], 'core', 'cores')} | {each['steps_per_second']:.0f} |"
            for each in rates["by_cores"]
        ),
        "",
        f"A sweep dispatches and stores {dispatch['processes']:.0f} cases/s on processes of this machine and "
        f"{dispatch['dask']:.0f} on a Dask of two local workers.",
        "",
        f"| on {cluster.name}: {cluster.cores} cores at {cluster.price:g} $ per core hour | s of one core for each "
        "| core hours | hours | price ($) |",
        "|---|---|---|---|---|",
        *(
            f"| {each['study']} | {each['seconds of one core for each']:.3g} | {each['core hours']:.3g} | "
            f"{each['hours']:.2g} | {each['price']:.3g} |"
            for each in found
        ),
        "",
        f"Assumed: cores as fast as those of this machine, all in use with the efficiency measured on it "
        f"({found[0]['efficiency']:.2f} of one core alone), {PER_CASE} grasps or robots in each case of the sweep, and "
        "nothing for storage, network and the start of machines.",
    ]
    return "\n".join(lines)


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _shared(rates: dict[str, Any]) -> list[str]:
    """What to think of rates by the clock where other programs ran."""
    if rates["load"] <= rates["cores"]:
        return []
    return [
        "**Other programs used the machine**: rates by the clock (copies, cores, dispatch, and the efficiency that "
        "follows from them) are too low and wait for a quiet machine; those of one core are by processor time."
    ]


def plot(rates: dict[str, Any], file: Path) -> None:
    """Steps per second against unknowns, contacts, copies and cores, as SVG."""
    import matplotlib as mpl  # loaded here: only this picture needs it
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 2.8), layout="constrained")
    panels: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
        ("unknowns", "unknowns", lambda axes: axes.set(xscale="log", yscale="log")),
        ("contacts", "contacts", lambda axes: axes.set(ylim=(0, None))),
        ("copies", "copies", lambda axes: axes.set(xscale="log", ylim=(0, None))),
        ("by_cores", "cores", lambda axes: axes.set(ylim=(0, None))),
    )
    for axes, (series, name, shape) in zip(figure.subplots(1, 4), panels, strict=True):
        axes.plot([each[name] for each in rates[series]], [each["steps_per_second"] for each in rates[series]], "o-")
        shape(axes)
        axes.set(xlabel=name, ylabel="steps/s")
        axes.grid(True, which="major", alpha=0.3)
    with mpl.rc_context({"svg.hashsalt": "cost"}):
        figure.savefig(file, format="svg", metadata={"Date": None})


def main() -> None:
    """Measure, and report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__.split("\n")[0])
    parser.add_argument("--cluster", default="32 rented machines of 32 cores", help="its name, for the report")
    parser.add_argument("--cores", type=int, default=1024, help="its cores")
    parser.add_argument("--price", type=float, default=0.04, help="of one core for an hour, $")
    parser.add_argument("--rates", type=Path, help="JSON of earlier rates: only compute the cost")
    parser.add_argument("--json", type=Path, help="write the rates as JSON")
    parser.add_argument("--write", type=Path, help="document whose marked part is replaced")
    options = parser.parse_args()
    rates = json.loads(options.rates.read_text()) if options.rates else measured()
    if options.json:
        options.json.write_text(json.dumps(rates, indent=1))
    text = markdown(rates, Cluster(options.cluster, options.cores, options.price), "python -m benchmarks.cost")
    print(text)
    if options.write:
        plot(rates, options.write.parent / "images" / "cost.svg")
        write_between(options.write, text, name="cost")


if __name__ == "__main__":
    main()
