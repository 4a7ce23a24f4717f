"""Every public name of Pliant, gathered from the rooms; `pliant` loads this file when one is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant import control, materials, mesh, recordings, robots, solvers
from pliant.actuators import BaseDrive, Cable, Cavity, ForcePoint, Hinge, Layer, Slider, Stiffness, Tendon, values
from pliant.actuators.values import Displacement, Force, Pressure, VolumeGrowth, VolumeRatio
from pliant.constraints.channel import Channel
from pliant.constraints.facing import Facing
from pliant.constraints.hold import Hold
from pliant.constraints.linear import LinearConstraint, Term
from pliant.constraints.sheath import Sheath
from pliant.constraints.spring import Spring
from pliant.constraints.tie import Tie
from pliant.control import (
    Effector,
    Inverse,
    LengthEffector,
    MovedSupport,
    OrientationEffector,
    VolumeEffector,
    paths,
)
from pliant.core import errors
from pliant.core.declared import declared
from pliant.core.display import register_display
from pliant.core.errors import ConvergenceError, InputError, PliantError
from pliant.core.status import Status
from pliant.mesh import regions
from pliant.models.beam import Beam
from pliant.models.beam import section as sections
from pliant.models.rigid import Obstacle, RigidBody
from pliant.models.rod import Rod, RodLoad, RodMoments, Slide, Turn
from pliant.models.volume import BodyLoad, Fibre, PointLoad, PressureLoad, Rayleigh, Support, TractionLoad, Volume
from pliant.record import Run, load, simulate
from pliant.stepping import DampedMidpoint, ImplicitEuler, ImplicitMidpoint, QuasiStatic, StepInfo
from pliant.world import Scene, State, World
from pliant.world.changed import changed

if TYPE_CHECKING:
    from pliant import estimation, gradients, hybrid, identification, optimization, reduction, sweep
    from pliant.batch import Batch
    from pliant.estimation import Estimator
    from pliant.gradients import Gradient, Sensitivities, gradient, losses, outputs, parameters, sensitivities
    from pliant.identification import identify
    from pliant.optimization import Optimized, optimize, variables
    from pliant.stepping import minimum_energy as geometric
    from pliant.stepping.minimum_energy import Geometric
    from pliant.viewer.export import export


def __getattr__(name: str) -> Any:
    """What not everyone needs is imported when it is first asked for: it takes a while."""
    if name in ("estimation", "gradients", "hybrid", "identification", "optimization", "reduction", "sweep"):
        return import_module(f"pliant.{name}")
    if name == "Estimator":
        return import_module("pliant.estimation").Estimator
    if name == "identify":
        return import_module("pliant.identification").identify
    if name in ("Gradient", "Sensitivities", "gradient", "losses", "outputs", "parameters", "sensitivities"):
        return getattr(import_module("pliant.gradients"), name)
    if name in ("Optimized", "optimize", "variables"):
        return getattr(import_module("pliant.optimization"), name)
    if name in ("geometric", "Geometric"):
        minimum_energy = import_module("pliant.stepping.minimum_energy")
        return minimum_energy if name == "geometric" else minimum_energy.Geometric
    if name == "Batch":
        return import_module("pliant.batch").Batch
    if name == "export":
        return import_module("pliant.viewer.export").export
    for gathered in (errors, values):  # the rarer ones are reached from the top too, without crowding it
        if name in gathered.__all__:
            return getattr(gathered, name)
    raise AttributeError(f"module 'pliant' has no attribute {name!r}")


def _notebook_html(thing: Any) -> str:
    """HTML of a run or a world for notebooks; the viewer is loaded when one is shown."""
    notebook = import_module("pliant.viewer.notebook")
    made: str = notebook.run_html(thing) if isinstance(thing, Run) else notebook.world_html(thing)
    return made


for _kind in (Run, World):
    register_display(_kind.__name__, _notebook_html)


@declared
def check(thing: Scene | World, *, stepper: Any = None) -> Any:
    """What is unusual in a scene or a world, as a list of findings; see `pliant.review.check`."""
    from pliant.review import check as findings

    return findings(thing, stepper=stepper)


@declared
def view(thing: Run | World, *, port: int = 8080, open_browser: bool = True, block: bool | None = None) -> Any:
    """Show a run, or a world that is simulated live, in the browser; see `pliant.viewer.live.view`."""
    from pliant.viewer.live import view as show

    return show(thing, port=port, open_browser=open_browser, block=block)


__all__ = [
    "BaseDrive",
    "Batch",
    "Beam",
    "BodyLoad",
    "Cable",
    "Cavity",
    "Channel",
    "ConvergenceError",
    "DampedMidpoint",
    "Displacement",
    "Effector",
    "Estimator",
    "Facing",
    "Fibre",
    "Force",
    "ForcePoint",
    "Geometric",
    "Gradient",
    "Hinge",
    "Hold",
    "ImplicitEuler",
    "ImplicitMidpoint",
    "InputError",
    "Inverse",
    "Layer",
    "LengthEffector",
    "LinearConstraint",
    "MovedSupport",
    "Obstacle",
    "Optimized",
    "OrientationEffector",
    "PliantError",
    "PointLoad",
    "Pressure",
    "PressureLoad",
    "QuasiStatic",
    "Rayleigh",
    "RigidBody",
    "Rod",
    "RodLoad",
    "RodMoments",
    "Run",
    "Scene",
    "Sensitivities",
    "Sheath",
    "Slide",
    "Slider",
    "Spring",
    "State",
    "Status",
    "StepInfo",
    "Stiffness",
    "Support",
    "Tendon",
    "Term",
    "Tie",
    "TractionLoad",
    "Turn",
    "Volume",
    "VolumeEffector",
    "VolumeGrowth",
    "VolumeRatio",
    "World",
    "changed",
    "check",
    "control",
    "errors",
    "estimation",
    "export",
    "geometric",
    "gradient",
    "gradients",
    "hybrid",
    "identification",
    "identify",
    "load",
    "losses",
    "materials",
    "mesh",
    "optimization",
    "optimize",
    "outputs",
    "parameters",
    "paths",
    "recordings",
    "reduction",
    "regions",
    "robots",
    "sections",
    "sensitivities",
    "simulate",
    "solvers",
    "sweep",
    "values",
    "variables",
    "view",
]
