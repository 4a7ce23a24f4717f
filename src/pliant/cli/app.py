"""The commands and their options. Each imports what it runs only when it runs, so that `pliant --help` is quick."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pliant.core.errors import PliantError

app = typer.Typer(
    name="pliant",
    help="Simulate and control soft robots with their contacts, in real time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line. An error raised on purpose is one red line and exit code 1, never a traceback."""
    try:
        app()
    except (PliantError, OSError) as error:
        Console(stderr=True).print(f"pliant: {error}", style="bold red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)


def _version(wanted: bool) -> None:
    if wanted:
        from pliant import __version__

        typer.echo(f"pliant {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


@app.command()
def info() -> None:
    """Versions, threads, compiled kernels, and which extras are present."""
    from pliant.cli.info import show_info

    show_info(Console())


@app.command()
def warmup() -> None:
    """Compile every kernel now, so that no first run has to wait."""
    from pliant.cli.warmup import show_warmup

    show_warmup(Console(stderr=True))


@app.command()
def demo(
    name: Annotated[str, typer.Argument(help="Which demo; without it, the list of them.")] = "",
    out: Annotated[Path, typer.Option(help="Folder for the picture, the page and the run.")] = Path("out"),
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the page in a browser.")] = False,
) -> None:
    """Run a demonstration and write a picture and a web page of it."""
    from pliant.cli.show import show_demo, show_demos

    if name:
        show_demo(Console(), name, out=out, open_page=not no_open)
    else:
        show_demos(Console())


@app.command()
def bench(
    name: Annotated[str, typer.Argument(help="Which benchmark; without it, the list of them.")] = "",
    json: Annotated[Path | None, typer.Option(help="File for the result.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with the meshes of the side-by-side comparison.")] = None,
) -> None:
    """Time a benchmark on one thread and write what it measured."""
    from pliant.cli.show import show_bench, show_benches

    if name:
        show_bench(Console(), name, json_file=json, data=data)
    else:
        show_benches(Console())


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help="Which published experiment; without it, the list of them.")] = "",
    json: Annotated[Path | None, typer.Option(help="File for the report.")] = None,
    full: Annotated[bool, typer.Option("--full", help="The published size where that takes longer.")] = False,
    view: Annotated[bool, typer.Option("--view", help="Show the motion in the browser afterwards.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the pictures of the experiment, where it has any.")
    ] = None,
) -> None:
    """Run a published experiment and print our numbers beside the paper's."""
    from pliant.cli.show import show_experiment, show_experiments

    if name:
        show_experiment(Console(), name, json_file=json, full=full, view_run=view, out=out)
    else:
        show_experiments(Console())


@app.command()
def reduce(
    robot: Annotated[str, typer.Argument(help="A robot of the zoo (finger, trunk, spine…), or a saved world (.npz).")],
    out: Annotated[Path, typer.Option(help="File for the reduced world.")],
    amplitude: Annotated[float, typer.Option(help="How far actuators go in the experiments, m (m³ for chambers).")],
    steps: Annotated[int, typer.Option(help="Steps of each run.")] = 100,
    plan: Annotated[str, typer.Option(help="ramps, plackett-burman or latin-hypercube.")] = "ramps",
    runs: Annotated[int, typer.Option(help="Runs of a Latin hypercube, to random targets.")] = 30,
    contact_tolerance: Annotated[float | None, typer.Option(help="Error of contact forces, such as 0.05.")] = None,
    motion_tolerance: Annotated[float | None, typer.Option(help="Error of shapes held out, such as 0.001.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where finished runs are kept, to go on after a stop.")] = None,
    json: Annotated[Path | None, typer.Option(help="File for the errors and times.")] = None,
) -> None:
    """Simulate once, offline; write a world that steps faster; print how far it can be trusted."""
    from pliant.cli.reduce import show_reduction

    show_reduction(
        Console(), robot, out=out, amplitude=amplitude, steps=steps, plan=plan, runs=runs,
        contact_tolerance=contact_tolerance, motion_tolerance=motion_tolerance, folder=folder, json_file=json,
    )  # fmt: skip
