"""`pliant view`: the studio, a saved world or run, or a scene file, in the browser; or a picture of it."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pliant.cli.output import Output, check_folder
from pliant.cli.run import one_value, split_settings
from pliant.cli.scene_file import DT, SceneFile, compiled_world
from pliant.control import Effector, Inverse
from pliant.core.errors import InputError, PliantError
from pliant.record import Run
from pliant.robots import Marker, Robot
from pliant.stepping import DampedMidpoint, ImplicitEuler, ImplicitMidpoint, QuasiStatic
from pliant.stepping.minimum_energy import Geometric
from pliant.viewer.live import has_screen, open_viewer, opened, thing_of
from pliant.viewer.simulation import LiveSimulation
from pliant.viewer.viewer import LOOPBACK

_STEPPERS = (ImplicitEuler, ImplicitMidpoint, DampedMidpoint, QuasiStatic, Geometric)
PORT = 8080
"""Default port of the viewer."""


def show_view(
    output: Output,
    what: str,
    *,
    port: int | None,
    host: str,
    open_browser: bool,
    screenshot: Path | None,
    settings: Sequence[str] = (),
) -> None:
    """Serve `what`, with NAME=VALUE `settings` of a scene file, until Ctrl-C; or write a `screenshot` and stop."""
    thing = thing_named(what, settings)
    if screenshot is not None:
        from pliant.viewer.screenshot import write_screenshot

        check_folder(screenshot)
        picture = write_screenshot(thing, screenshot)
        output.say(f"wrote {picture}")
        output.finish({"what": what, "picture": picture})
        return
    serve(output, thing, what=what, port=port, host=host, open_browser=open_browser)


def thing_named(what: str, settings: Sequence[str] = ()) -> Any:
    """The robot called `what`, or what the file of that name holds."""
    values = {name: one_value(name, text) for name, text in split_settings(settings)}
    if Path(what).suffix == ".py":
        return scene_subject(SceneFile.read(what), values)
    if values:
        raise InputError(f"--set gives values to parameters of a scene file (.py), and {what!r} is none")
    return opened(what)


def scene_subject(file: SceneFile, values: Mapping[str, Any]) -> Any:
    """The run of a scene file, or its world: driven by sliders, by a target of its first robot, or by `control`."""
    module = file.execute(values)
    run = getattr(module, "run", None)
    if isinstance(run, Run):
        return run
    world = compiled_world(file, module)
    own, stepper = getattr(module, "control", None), checked_stepper(file, module)
    geometric = isinstance(stepper, Geometric)
    tip, actuators = named_tip(vars(module), stepper)

    def control(t: float, state: Any) -> Any:
        with file.errors_located():
            return own(t, state)  # type: ignore[misc]

    return thing_of(
        world, name=file.path.stem, about=about_scene(stepper, callable(own)), tip=tip, actuators=actuators,
        control=control if callable(own) else None, stepper=None if geometric else stepper, geometric=geometric,
        usual_step=getattr(stepper, "dt", None) or DT,
    )  # fmt: skip


def checked_stepper(file: SceneFile, module: Any) -> Any:
    """The `stepper` of a scene file, None where it defines none."""
    stepper = getattr(module, "stepper", None)
    if stepper is not None and not isinstance(stepper, _STEPPERS):
        names = ", ".join(f"pl.{kind.__name__}" for kind in _STEPPERS)
        raise InputError(f"`stepper` of {file.path} is a {type(stepper).__name__}; the studio takes {names}")
    return stepper


def named_tip(names: Mapping[str, Any], stepper: Any) -> tuple[Any, tuple[Any, ...]]:
    """The tip of a scene file and the actuators that move it, by its names: the first effector of its inverse, another
    effector, the tip of its first robot, or a marker; None and () for what is not there.
    """

    def first(kind: type, among: Any) -> Any:
        return next((thing for thing in among if isinstance(thing, kind)), None)

    solver, robot = getattr(stepper, "solver", None), first(Robot, names.values())
    if isinstance(solver, Inverse) and first(Effector, solver.effectors) is not None:
        return first(Effector, solver.effectors), tuple(solver.actuators)
    effector = first(Effector, names.values())
    if effector is not None:
        return effector, ()
    if robot is not None:
        return robot.tip, (*robot.cables, *robot.cavities)
    return first(Marker, names.values()), ()


def about_scene(stepper: Any, controlled: bool) -> str:
    """What the panel says of the steps of a scene, where they are not dynamic."""
    if isinstance(stepper, Geometric):
        left = " Its control(t, state) is not used: there is no time." if controlled else ""
        return f"Configurations at imposed chamber volumes (pl.Geometric).{left}"
    if isinstance(stepper, QuasiStatic):
        return "Static equilibria (pl.QuasiStatic): no inertia; time is the pace of the controls."
    return ""


def serve(output: Output, thing: Any, *, what: str, port: int | None, host: str = LOOPBACK, open_browser: bool) -> None:
    """Serve `thing`, called `what`, until Ctrl-C or SIGTERM. The address is printed, as JSON too, once it is served.

    A given port is used or refused; by default the first free one from 8080 is used.
    """
    with open_viewer(thing, port=PORT if port is None else port, host=host, exact=port is not None) as viewer:

        def announce() -> None:
            if viewer.guard.admission.token is not None:
                output.console.print(
                    f"serving {host}: everyone who has the address below can watch and drive; elsewhere put the name "
                    "of this machine for localhost",
                    style="yellow",
                )
            output.say(f"Pliant viewer at {viewer.url} (Ctrl-C ends it)")
            output.finish({"what": what, "url": viewer.url, "host": host, "port": viewer.port})
            if open_browser and has_screen():
                webbrowser.open(viewer.url)

        viewer.wait(announce=announce)
    keep_unsaved(output, viewer)
    if viewer.error is not None:
        output.say(f"last error: {viewer.error}")


def keep_unsaved(output: Output, viewer: Any) -> None:
    """Save an unsaved recording to this folder, under a new name."""
    run = viewer.recording_panel.unsaved if isinstance(viewer, LiveSimulation) else None
    if run is None:
        return
    try:
        file = viewer.recording_panel.keep().name
    except (PliantError, OSError) as error:
        output.say(f"the unsaved recording cannot be written: {error}")
        return
    output.say(f"wrote the unsaved recording to {file}: pliant play {file}")
