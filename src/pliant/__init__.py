"""Pliant: simulate and control soft robots with their contacts, in real time, from one `pip install`.

>>> import pliant as pl
>>> scene = pl.Scene(gravity=(0, 0, -9.81))
>>> rubber = pl.materials.Corotated(young=0.5e6, poisson=0.45, density=1000)
>>> mesh = pl.mesh.box((0.2, 0.04, 0.04), (10, 2, 2))
>>> beam = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0)))
>>> run = pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.01), until=0.1)
>>> run.points(beam).shape
(11, 99, 3)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.public import *  # noqa: F403  (checkers see every name; at run time they come when they are asked for)

__version__ = "0.1.0"
_ROOMS = frozenset(
    ("control", "gradients", "hybrid", "materials", "mesh", "recordings", "reduction", "robots", "solvers")
)


def __getattr__(name: str) -> Any:
    """The public names, loaded when one is first asked for, so that ``pliant --help`` need not wait for any."""
    if name in _ROOMS:
        return import_module(f"pliant.{name}")
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module 'pliant' has no attribute {name!r}")
    found = getattr(import_module("pliant.public"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module("pliant.public").__all__})
