"""What a card steps: an error that names the part of a world, the stepper or a copy that it cannot step."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from pliant.actuators.cable import CableRows
from pliant.actuators.cavity import CavityRows
from pliant.collision import Capsule, Plane, Sphere
from pliant.collision.narrow.round_contacts import DIP
from pliant.constraints.contact import ContactPair
from pliant.core.errors import InputError
from pliant.stepping import ImplicitEuler
from pliant.world import World

MOST_UNKNOWNS = 1500
"""Unknowns up to which blocks of a band are worth their memory: beyond, a card holds few copies."""
MOST_SECTIONS = 16
"""Sections up to which the dense matrix of a rod is worth it."""
MOST_MODES = 96
"""Modes up to which the dense matrix of a reduced volume is worth it."""
SHORT_EDGE = 8.0 * DIP / 1.1
"""Edges over the radius of a ball or a capsule up to which the ordinary step has contacts of vertices only, also where
they stretch by a tenth.
"""
COROTATED = "take pl.materials.Corotated"


def pairs_of(world: World) -> list[Any]:
    """The contact pairs of a world that `check_supported` lets pass."""
    return [one for one in world.constraints if one.is_contact]


def cables_of(world: World) -> list[Any]:
    """The cables of a world."""
    return [one for one in world.constraints if type(one) is CableRows]


def chambers_of(world: World) -> list[Any]:
    """The chambers of a world."""
    return [one for one in world.constraints if type(one) is CavityRows]


def drives_of(world: World) -> list[Any]:
    """Cables, then chambers: the order of their rows on a card."""
    return [*cables_of(world), *chambers_of(world)]


def check_same(world: World, copy: World) -> None:
    """An error where a `copy` of `world` differs in more than numbers."""
    for cable, other in zip(cables_of(world), cables_of(copy), strict=True):
        if (cable.fixed != other.fixed).any():
            refuse(f"copies with another route of {cable.name!r}", "vary other parameters")
        if other.spec.friction:
            refuse(f"the friction of {cable.name!r}", "take friction=0")
    models: Any = zip(world.models, copy.models, strict=True)
    for model, its in models:
        if model.rest is not its.rest and not np.array_equal(model.rest, its.rest):
            refuse(f"copies with another rest shape of {str(model.name)!r}", "vary other parameters")


def check_stepper(stepper: Any) -> None:
    """An error where `stepper` is not one linear solve of implicit Euler."""
    if not isinstance(stepper, ImplicitEuler):
        refuse(f"{type(stepper).__name__}", "use pl.ImplicitEuler(dt)")
    for name, usual in (("newton_iterations", 1), ("tolerance", None), ("solver", None)):
        if getattr(stepper, name) != usual:
            refuse(f"{name}={getattr(stepper, name)!r} of the stepper", "use pl.ImplicitEuler(dt)")


def check_rod(world: World) -> None:
    """An error where a card cannot step the rod of a world."""
    model: Any = world.models[0]
    name = repr(str(model.name))
    _refuse_first([
        (not model.constrained[:2].all(), f"the open base of {name}", 'take base="fixed"'),
        (bool(model.supports), f"the moving base of {name}", "clamp it"),
        (model.memory is not None, f"the damping or memory of single strains of {name}", "take pl.Rayleigh"),
        (bool(model.no_loads[1].any()), f"the moments on {name}", "leave them out"),
        (bool(model.muscles), f"the internal moments of {name}", "leave its pl.RodMoments out"),
        (model.spec.sections > MOST_SECTIONS, f"{model.spec.sections} sections of {name}",
         f"take at most {MOST_SECTIONS}"),
    ])  # fmt: skip
    for one in world.constraints:
        refuse(f"{one.name!r} on a rod", "leave it out")


def check_nodes(world: World) -> None:
    """An error where a card cannot step the volume of a world in its nodes."""
    model: Any = world.models[0]
    name, part = repr(str(model.name)), model.constrained
    count = 3 * int((~part.all(axis=1)).sum())
    _refuse_first([
        (model.memory is not None, f"the viscoelastic or softening material of {name}", COROTATED),
        (model.mass.blocks is not None, f"the consistent mass of {name}", "take lumped_mass=True"),
        ((part.any(axis=1) != part.all(axis=1)).any(), f"single clamped axes of {name}", "clamp whole nodes"),
        (count > MOST_UNKNOWNS, f"{count} unknowns of {name}", f"take a mesh of at most {MOST_UNKNOWNS} unknowns"),
    ])  # fmt: skip
    _check_volume(world)


def check_modes(world: World) -> None:
    """An error where a card cannot step the volume of a world in its modes."""
    model: Any = world.models[0]
    name, modes = repr(str(model.name)), model.subspace.size
    _refuse_first([
        (model.modal_memory is not None, f"the viscoelastic material of {name}", COROTATED),
        (model.subspace.curvature is not None, f"the curved modes of {name}", "reduce it with curvature=False"),
        (modes > MOST_MODES, f"{modes} modes of {name}", f"take at most {MOST_MODES}"),
    ])  # fmt: skip
    _check_volume(world)


def _check_volume(world: World) -> None:
    model: Any = world.models[0]
    name = repr(str(model.name))
    _refuse_first([
        (not model.is_linear_law, f"the material of {name}", COROTATED),
        (model.split is not None, f'anti_locking="volume" of {name}', "take anti_locking=True or False"),
        (bool(model.fibres), f"the fibres of {name}", "leave them out"),
        (bool(model.pressure_loads), f"the pressure loads of {name}", "leave them out"),
        (bool(model.supports), f"the moving supports of {name}", "clamp its nodes"),
        (not model.is_supported, f"{name} without a clamp", "clamp some of its nodes"),
    ])  # fmt: skip
    for one in world.constraints:
        _check_constraint(one)


def _refuse_first(unknown: list[tuple[Any, str, str]]) -> None:
    for is_so, what, remedy in unknown:
        if is_so:
            refuse(what, remedy)


def _check_constraint(one: Any) -> None:
    if type(one) is CableRows:
        spec = one.spec
        if spec.friction:
            refuse(f"the friction of {one.name!r}", "take friction=0")
        if spec.guide_stiffness:
            refuse(f"the guide of {one.name!r}", "take guide_stiffness=0")
        if not one.strands[0].pieces.joins(one.fixed):
            refuse(f"the points of {one.name!r} outside the body", "keep all via points in the volume")
        _refuse_rates(one)
        return
    if type(one) is CavityRows:
        _refuse_rates(one)
        return
    if type(one) is ContactPair:
        if one.continuous:
            refuse(f"the continuous pair {one.name!r}", "take continuous=False and a wider margin")
        if one.b.index is not None or one.b.solid is None or one.a is one.b:
            refuse(f"the pair {one.name!r}", "collide with pl.Obstacle.plane, sphere or capsule")
        if one.b.handle.motion is not None:
            refuse(f"the moving obstacle of the pair {one.name!r}", "take a fixed one")
        if not is_plane(one):
            _check_round(one)
        return
    refuse(f"{one.name!r} ({type(one).__name__})", "it steps cables, chambers and contacts")


def is_plane(pair: Any) -> bool:
    """Whether the second side of a pair is a half-space."""
    return isinstance(pair.b.solid, Plane)


def _check_round(one: Any) -> None:
    """An error where vertices alone do not bound the surface beside a round obstacle, in the ordinary step too."""
    if not isinstance(one.b.solid, Sphere | Capsule):
        refuse(f"the pair {one.name!r}", "collide with pl.Obstacle.plane, sphere or capsule")
    surface, most = one.a.surface, SHORT_EDGE * float(one.b.solid.radius)
    ends = surface.rest[surface.edges[surface.taking_part_edges]]
    longest = float(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1).max(initial=0.0))
    if longest > most:
        refuse(
            f"edges of {1e3 * longest:.2g} mm in the pair {one.name!r}",
            f"take cells or exclude= such that edges at the contact are at most {1e3 * most:.2g} mm, "
            f"{SHORT_EDGE:.2g} of the radius",
        )


def _refuse_rates(one: Any) -> None:
    if one.spec.limits.rate_limited:
        refuse(f"the rates of {one.name!r}", "limit the commands instead")


def refuse(what: str, remedy: str) -> NoReturn:
    """Raise the error that a card cannot step `what`."""
    raise InputError(f"device='gpu' cannot step {what}: {remedy}, or take device='cpu', which steps every world")
