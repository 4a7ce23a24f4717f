"""Every public name of Pliant, gathered from the rooms; `pliant` loads this file when one is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant import control, materials, mesh, robots, solvers
from pliant.actuators import BaseDrive, Cable, Cavity, ForcePoint, Hinge, Layer, Slider, Stiffness
from pliant.constraints.channel import Channel
from pliant.constraints.facing import Facing
from pliant.constraints.sheath import Sheath
from pliant.control import (
    Effector,
    Inverse,
    LengthEffector,
    MovedSupport,
    OrientationEffector,
    VolumeEffector,
    paths,
)
from pliant.core.errors import (
    CapacityError,
    ConvergenceError,
    InfeasibleError,
    InputError,
    MeshError,
    MissingExtraError,
    PliantError,
    PliantWarning,
    SingularError,
    UnitError,
)
from pliant.core.status import Status
from pliant.mesh import regions
from pliant.models.beam import Beam
from pliant.models.beam import section as sections
from pliant.models.rigid import Obstacle, RigidBody
from pliant.models.rod import Rod, RodLoad, Slide, Turn
from pliant.models.volume import Fibre, PointLoad, PressureLoad, Rayleigh, Support, TractionLoad, Volume
from pliant.record import Run, load, simulate
from pliant.stepping import ImplicitEuler, ImplicitMidpoint, QuasiStatic, StepInfo
from pliant.world import (
    Angle,
    AreaGrowth,
    AreaRatio,
    Cut,
    Displacement,
    Force,
    LengthRatio,
    Placement,
    Pressure,
    Scene,
    SpreadingPressure,
    State,
    Torque,
    Traction,
    VolumeGrowth,
    VolumeRatio,
    World,
    Wrench,
    Young,
)

if TYPE_CHECKING:
    from pliant import geometric, hybrid, reduction
    from pliant.geometric import Geometric
    from pliant.viewer.export import export


def __getattr__(name: str) -> Any:
    """What not everyone needs is imported when it is first asked for: it takes a while."""
    if name in ("geometric", "hybrid", "reduction"):
        return import_module(f"pliant.{name}")
    if name == "Geometric":
        return import_module("pliant.geometric").Geometric
    if name == "export":
        return import_module("pliant.viewer.export").export
    raise AttributeError(f"module 'pliant' has no attribute {name!r}")


def view(thing: Run | World, *, port: int = 8080, open_browser: bool = True, block: bool | None = None) -> Any:
    """Show a run, or a world that is simulated live, in the browser; see `pliant.viewer.live.view`."""
    from pliant.viewer.live import view as show

    return show(thing, port=port, open_browser=open_browser, block=block)


__all__ = [
    "Angle",
    "AreaGrowth",
    "AreaRatio",
    "BaseDrive",
    "Beam",
    "Cable",
    "CapacityError",
    "Cavity",
    "Channel",
    "ConvergenceError",
    "Cut",
    "Displacement",
    "Effector",
    "Facing",
    "Fibre",
    "Force",
    "ForcePoint",
    "Geometric",
    "Hinge",
    "ImplicitEuler",
    "ImplicitMidpoint",
    "InfeasibleError",
    "InputError",
    "Inverse",
    "Layer",
    "LengthEffector",
    "LengthRatio",
    "MeshError",
    "MissingExtraError",
    "MovedSupport",
    "Obstacle",
    "OrientationEffector",
    "Placement",
    "PliantError",
    "PliantWarning",
    "PointLoad",
    "Pressure",
    "PressureLoad",
    "QuasiStatic",
    "Rayleigh",
    "RigidBody",
    "Rod",
    "RodLoad",
    "Run",
    "Scene",
    "Sheath",
    "SingularError",
    "Slide",
    "Slider",
    "SpreadingPressure",
    "State",
    "Status",
    "StepInfo",
    "Stiffness",
    "Support",
    "Torque",
    "Traction",
    "TractionLoad",
    "Turn",
    "UnitError",
    "Volume",
    "VolumeEffector",
    "VolumeGrowth",
    "VolumeRatio",
    "World",
    "Wrench",
    "Young",
    "control",
    "export",
    "geometric",
    "hybrid",
    "load",
    "materials",
    "mesh",
    "paths",
    "reduction",
    "regions",
    "robots",
    "sections",
    "simulate",
    "solvers",
    "view",
]
