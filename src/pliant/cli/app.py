"""The commands and their options. Each imports what it runs only when it runs, so that `pliant --help` is quick."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pliant.cli import names
from pliant.cli.errors import EXIT_CODES, Warnings, report_error
from pliant.cli.options import Json, NoOpen, On, Port, Settings, Version
from pliant.cli.output import Output

app = typer.Typer(
    name="pliant",
    help="Simulate and control soft robots with their contacts, in real time.",
    epilog="Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()) + ".",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line. An error is one red paragraph and an exit code; a traceback is for --debug alone."""
    warned = Warnings()
    options = sys.argv[1 : sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]
    debug = "--debug" in options
    arguments = [option for option in options if option != "--debug"] + sys.argv[1 + len(options) :]
    try:
        app(args=arguments)
    except (Exception, KeyboardInterrupt) as error:
        sys.exit(report_error(error, debug=debug))
    finally:
        warned.end()


@app.callback()
def _options(
    version: Version = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error; anywhere.")] = False,
) -> None:
    pass


@app.command()
def info(json: Json = None) -> None:
    """Versions, threads, compiled kernels, and which extras are present."""
    from pliant.cli.info import show_info

    show_info(Output(json))


@app.command()
def warmup(
    parts: Annotated[
        list[str] | None, typer.Argument(help="Which parts, as the whole warm-up lists them; all without it.")
    ] = None,
    json: Json = None,
) -> None:
    """Compile every kernel now, so that no first run has to wait."""
    from pliant.cli.warmup import show_warmup

    show_warmup(parts or (), Output(json))


@app.command()
def demo(
    name: Annotated[
        str, typer.Argument(help="Which demo; without it, the list of them.", autocompletion=names.complete_demo)
    ] = "",
    out: Annotated[Path, typer.Option(help="Folder for the picture, the page and the run.")] = Path("out"),
    no_open: NoOpen = False,
    json: Json = None,
) -> None:
    """Run a demonstration and write a picture and a web page of it."""
    from pliant.cli.demo_bench_reproduce import show_demo

    show_demo(Output(json), name, out=out, open_page=not no_open)


@app.command()
def new(
    path: Annotated[Path | None, typer.Argument(help="File to write, such as scene.py.")] = None,
    kind: Annotated[
        str, typer.Option(help="Which template; --list shows them.", autocompletion=names.complete_kind)
    ] = "grasp",
    list_: Annotated[bool, typer.Option("--list", help="List the templates and stop.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that exists.")] = False,
    json: Json = None,
) -> None:
    """Write a scene file with comments, to start from; it runs as it is."""
    from pliant.cli.new import show_new

    show_new(Output(json), path, kind=kind, force=force, listed=list_)


@app.command()
def run(
    scene: Annotated[Path, typer.Argument(help="A Python file with a scene, a world, a run or main().")],
    set_: Settings = None,
    until: Annotated[float | None, typer.Option(help="End of the simulation, s.")] = None,
    dt: Annotated[float | None, typer.Option(help="Time step, s.")] = None,
    out: Annotated[
        list[Path] | None, typer.Option(help="File for the run, by ending: .npz, .html, .gif, .glb, .pvd…; repeatable.")
    ] = None,
    view: Annotated[bool, typer.Option("--view", help="Play the run in the browser afterwards.")] = False,
    json: Json = None,
) -> None:
    """Run a scene file: simulate, report, keep the run.

    The file is plain Python. It defines `scene` or `world`, and what it likes of `control(t, state)`, `stepper`,
    `until`, `callback(state, info)` and `measure(run)`; or a `run` of its own; or `main()`. `pliant new` writes one.
    """
    from pliant.cli.run import show_run

    show_run(Output(json), scene, settings=set_ or [], until=until, dt=dt, out=out or [], view_run=view)


@app.command()
def check(
    scene: Annotated[Path, typer.Argument(help="A scene file, as `pliant run` takes it.")],
    set_: Settings = None,
    json: Json = None,
) -> None:
    """Say what is unusual in a scene, without simulating it; exit code 1 where something is most likely a mistake.

    Checks units by magnitude, densities and moduli, walls of one cell, cables outside of their body, actuators without
    limits, contact pairs that are missing, and the time step against the first natural frequency.
    """
    from pliant.cli.check import show_check

    raise typer.Exit(show_check(Output(json), scene, settings=set_ or []))


@app.command()
def sweep(
    scene: Annotated[Path, typer.Argument(help="A scene file, as `pliant run` takes it.")],
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=A,B,C or NAME=FIRST:LAST:COUNT; several make a grid.")
    ] = None,
    cases: Annotated[Path | None, typer.Option(help="CSV file with a line of parameters for each case.")] = None,
    until: Annotated[float | None, typer.Option(help="End of each simulation, s.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File for the table: .csv, .json, or .parquet, which says how each row was made."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where finished cases are kept, to go on after a stop; a Parquet table has one.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; default: as many as there are cores.")] = None,
    on: On = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(help="File or folder that workers need beside those that the scene names; may be repeated."),
    ] = None,
    memory: Annotated[
        float | None, typer.Option(help="Memory that one case may take, MB; more is its failure.")
    ] = None,
    json: Json = None,
) -> None:
    """Run a scene file for many values of its parameters, in parallel, into one table of its measures."""
    from pliant.cli.sweep import show_sweep

    show_sweep(
        Output(json), scene, settings=set_ or [], cases_file=cases, until=until, out=out, folder=folder,
        workers=workers, on=on, files=file or [], memory=memory,
    )  # fmt: skip


@app.command()
def identify(
    file: Annotated[Path, typer.Argument(help="A Python file with a scene or world, data and parameters.")],
    set_: Settings = None,
    plot: Annotated[
        Path | None, typer.Option(help="Picture of the residuals over time and as quantiles: .png, .svg or .pdf.")
    ] = None,
    json: Json = None,
) -> None:
    """Fit parameters of a model to measurements: values, intervals, and what the data leave open.

    The file is plain Python. It defines `scene` or `world`, `data` (pl.identification.Experiment, one or a list),
    `parameters` (pl.parameters or pl.identification.Unknown) and, if it likes, `options` of pl.identify; or `found`, a
    result of pl.identify.
    """
    from pliant.cli.identify import show_identification

    show_identification(Output(json), file, settings=set_ or [], plot=plot)


@app.command()
def play(
    recorded: Annotated[Path, typer.Argument(metavar="RUN.npz", help="A saved run.")],
    port: Port = None,
    no_open: NoOpen = False,
    json: Json = None,
) -> None:
    """Play a saved run in the browser until Ctrl-C."""
    from pliant.cli.export import show_play

    show_play(Output(json), recorded, port=port, open_browser=not no_open)


@app.command()
def verify(
    recorded: Annotated[Path, typer.Argument(metavar="RUN.npz", help="A saved run.")],
    tolerance: Annotated[
        float, typer.Option(help="Of a run from another version or machine: largest relative difference.")
    ] = 1e-9,
    json: Json = None,
) -> None:
    """Simulate a saved run again and compare; exit code 1 where it does not replay.

    On the machine and with the versions that made it, bit for bit; elsewhere within the tolerance, relative to the
    largest entry of each array.
    """
    from pliant.cli.verify import show_verification

    raise typer.Exit(show_verification(Output(json), recorded, tolerance=tolerance))


@app.command()
def export(
    recorded: Annotated[Path, typer.Argument(metavar="RUN.npz", help="A saved run.")],
    to: Annotated[
        list[Path] | None, typer.Option(help="File to write, by ending; repeatable. Without it, the list of kinds.")
    ] = None,
    fps: Annotated[float | None, typer.Option(help="Instants a second of simulated time.")] = None,
    color: Annotated[str, typer.Option(help="stress, displacement or plain.")] = "stress",
    size: Annotated[str, typer.Option(help="Pixels of films and pictures, WIDTHxHEIGHT.")] = "960x540",
    poses: Annotated[int | None, typer.Option(help="Poses drawn over each other in a .png.")] = None,
    strip: Annotated[int | None, typer.Option(help="Instants drawn side by side in a .png.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of a page or a picture.")] = None,
    opacity: Annotated[
        float, typer.Option(help="Opacity of volumes, 0 to 1; below 1 cables, rods and chambers show through.")
    ] = 1.0,
    cut: Annotated[
        str | None,
        typer.Option(help="Cells left out, to look inside: 'y>0.01', box:0,0,0:0.1,0.1,0.1, sphere:0,0,0:0.05, in m."),
    ] = None,
    json: Json = None,
) -> None:
    """Write a saved run as a page, a film, a picture, glTF, a ParaView series or a table of curves."""
    from pliant.cli.export import parsed_size, show_export
    from pliant.cli.regions import parsed_cut

    show_export(
        Output(json), recorded, to=to or [], fps=fps, color=color, size=parsed_size(size), poses=poses, strip=strip,
        title=title, opacity=opacity, cut=None if cut is None else parsed_cut(cut),
    )  # fmt: skip


@app.command()
def mesh(
    source: Annotated[
        Path, typer.Argument(help="A surface (STL, OBJ, PLY), a CAD file (STEP, BREP) or a volume mesh.")
    ],
    unit: Annotated[
        str, typer.Option(help="Unit of the coordinates in the file: m, mm, cm, in…; STEP knows its own.")
    ] = "",
    size: Annotated[
        float | None, typer.Option(help="Wanted length of edges, in that unit; default: from the walls.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for the mesh, in metres: .vtu, .msh, .vtk…")] = None,
    element: Annotated[str, typer.Option(help="tet4 or tet10.")] = "tet4",
    keep_surface: Annotated[
        bool, typer.Option("--keep-surface", help="Keep the triangles of the surface as they are.")
    ] = False,
    region: Annotated[
        list[str] | None,
        typer.Option(help="NAME=plane:x=0, =box:0,0,0:9,9,9, =sphere:0,0,0:2 or =nodes:1,2, in that unit; repeatable."),
    ] = None,
    json: Json = None,
) -> None:
    """Fill a surface or a CAD file with tetrahedra, hollows left open; report how good they are."""
    from pliant.cli.mesh import show_mesh

    show_mesh(
        Output(json), source, unit=unit, size=size, out=out, element=element, keep_surface=keep_surface,
        regions=region or [],
    )  # fmt: skip


@app.command()
def bench(
    name: Annotated[
        str, typer.Argument(help="Which benchmark; without it, the list of them.", autocompletion=names.complete_bench)
    ] = "",
    data: Annotated[Path | None, typer.Option(help="Folder with the meshes of the side-by-side comparison.")] = None,
    json: Json = None,
) -> None:
    """Time a benchmark on one thread and write what it measured."""
    from pliant.cli.demo_bench_reproduce import show_bench

    show_bench(Output(json), name, data=data)


@app.command()
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            help="Which published experiment; without it, the list of them.", autocompletion=names.complete_experiment
        ),
    ] = "",
    full: Annotated[bool, typer.Option("--full", help="The published size where that takes longer.")] = False,
    view: Annotated[bool, typer.Option("--view", help="Show the motion in the browser afterwards.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the pictures of the experiment, where it has any.")
    ] = None,
    json: Json = None,
) -> None:
    """Run a published experiment and print our numbers beside the paper's."""
    from pliant.cli.demo_bench_reproduce import show_experiment

    show_experiment(Output(json), name, full=full, view_run=view, out=out)


@app.command()
def validate(
    name: Annotated[
        str,
        typer.Argument(help="A case or a group of cases; without it, all.", autocompletion=names.complete_validation),
    ] = "",
    data: Annotated[
        Path | None, typer.Option(help="Folder with recordings; cases that need absent ones are skipped.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the cases and stop.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for pictures of what was measured and simulated.")] = None,
    json: Json = None,
) -> None:
    """Compare with measurements, published values and other programs, in one table."""
    from pliant.cli.validate import show_validation

    show_validation(Output(json), name, data=data, out=out, listed=list_)


@app.command()
def reduce(
    robot: Annotated[
        str,
        typer.Argument(
            help="A robot of the zoo (finger, trunk, spine…), or a saved world (.npz).",
            autocompletion=names.complete_robot,
        ),
    ],
    out: Annotated[Path, typer.Option(help="File for the reduced world.")],
    amplitude: Annotated[float, typer.Option(help="How far actuators go in the experiments, m (m³ for chambers).")],
    steps: Annotated[int, typer.Option(help="Steps of each run.")] = 100,
    plan: Annotated[str, typer.Option(help="ramps, plackett-burman or latin-hypercube.")] = "ramps",
    runs: Annotated[int, typer.Option(help="Runs of a Latin hypercube, to random targets.")] = 30,
    contact_tolerance: Annotated[float | None, typer.Option(help="Error of contact forces, such as 0.05.")] = None,
    motion_tolerance: Annotated[float | None, typer.Option(help="Error of shapes held out, such as 0.001.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where finished runs are kept, to go on after a stop.")] = None,
    on: On = None,
    json: Json = None,
) -> None:
    """Simulate once, offline; write a world that steps faster; print how far it can be trusted."""
    from pliant.cli.reduce import show_reduction

    show_reduction(
        Output(json), robot, out=out, amplitude=amplitude, steps=steps, plan=plan, runs=runs,
        contact_tolerance=contact_tolerance, motion_tolerance=motion_tolerance, folder=folder, on=on,
    )  # fmt: skip


@app.command()
def view(
    what: Annotated[
        str,
        typer.Argument(
            help="A robot of the zoo, a saved world or run (.npz), or a SCENE.py.",
            metavar="[ROBOT|FILE]",
            autocompletion=names.complete_view,
        ),
    ] = "finger",
    set_: Settings = None,
    port: Port = None,
    host: Annotated[
        str, typer.Option(help="Address to serve; 0.0.0.0 lets other machines connect, with the printed address.")
    ] = "127.0.0.1",
    no_open: NoOpen = False,
    screenshot: Annotated[
        Path | None, typer.Option(help="Write a picture of the page here and stop (needs Chromium and Playwright).")
    ] = None,
    json: Json = None,
) -> None:
    """Drive a robot in the browser: sliders, a target to drag, obstacles, contact forces and timings."""
    from pliant.cli.view import show_view

    show_view(
        Output(json), what, port=port, host=host, open_browser=not no_open, screenshot=screenshot,
        settings=set_ or [],
    )  # fmt: skip
