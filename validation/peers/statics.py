"""Static rubber on the same mesh and law: a beam under a large dead load, and a dome pressed by a rigid plate.

The law is the one that felupe and CalculiX share: ψ = c₁ (Ī₁ − 3) + κ/2 (J − 1)². Lengths in m, forces in N.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import numpy as np

import pliant as pl
from benchmarks import ccx
from pliant.core.types import FloatArray
from pliant.mesh import Mesh
from validation.peers.asked import Answer, from_calculix, from_script
from validation.row import Row

C1, POISSON = 0.1e6, 0.45
RUBBER = pl.materials.MooneyRivlin(c1=C1, c2=0.0, poisson=POISSON, density=1e3, volumetric="quadratic")
BEAM, CELLS = (0.1, 0.02, 0.02), (10, 2, 2)
TIP_FORCE = (0.0, 0.0, -1.5)
"""Dead force on the end face, N: it sinks by about half of the length."""
SIDE, DOME = 0.02, 0.004
"""Side and height of the block, and by how much its upper face is higher in the middle than at the corners."""
PLATE = 0.016
"""Height of the rigid plate in the end."""
PENALTY = 1e4
"""Slope of CalculiX' pressure over the overlap, MPa/mm: the plate overlaps by some 1e-5 mm."""

Element = Literal["tet10", "hex8"]


def beam_mesh(element: Element) -> Mesh:
    """A beam along x, clamped at x = 0."""
    return pl.mesh.box(BEAM, CELLS, element=element)


def dome_mesh(element: Element) -> Mesh:
    """A block whose upper face is a paraboloid."""
    mesh = pl.mesh.box((SIDE, SIDE, SIDE), (6, 6, 5), element=element)

    def domed(x: FloatArray) -> FloatArray:
        away = ((x[:, :2] / SIDE - 0.5) ** 2).sum(axis=1) * 2.0
        return np.column_stack([x[:, :2], x[:, 2] * (1.0 - DOME / SIDE * away)])

    return mesh.mapped(domed)


def at(mesh: Mesh, axis: int, value: float) -> Any:
    """Nodes where a coordinate has the value."""
    return np.flatnonzero(np.abs(mesh.points[:, axis] - value) < 1e-9)


def top_nodes(element: Element) -> Any:
    """Nodes of the upper face of the dome: those of the block before it was domed."""
    return at(pl.mesh.box((SIDE, SIDE, SIDE), (6, 6, 5), element=element), 2, SIDE)


@lru_cache(maxsize=4)
def bent(element: Element) -> FloatArray:
    """Our displacements (n, 3), m, of the beam."""
    mesh, scene = beam_mesh(element), pl.Scene()
    body = scene.add(pl.Volume(mesh, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0), anti_locking=False))
    scene.add(pl.PointLoad(body, pl.regions.plane(axis="x", at=BEAM[0]), TIP_FORCE))
    world = scene.compile()
    state, _ = pl.QuasiStatic(tolerance=1e-9)(world, world.initial_state())
    return np.asarray(state.displacements(body))


@lru_cache(maxsize=4)
def pressed(element: Element) -> tuple[FloatArray, float]:
    """Our displacements (n, 3), m, of the dome under the smooth plate, and the force on the plate, N."""
    mesh, scene = dome_mesh(element), pl.Scene()
    body = scene.add(pl.Volume(mesh, RUBBER, clamp=pl.regions.plane(axis="z", at=0.0), anti_locking=False))
    plate = scene.add(pl.Obstacle.plane(point=(0.0, 0.0, PLATE), normal=(0.0, 0.0, -1.0)))
    scene.collide(body, plate, margin=SIDE - PLATE + 1e-3, allow_overlap=True)
    world = scene.compile()
    state, info = pl.QuasiStatic(tolerance=1e-9)(world, world.initial_state())
    return np.asarray(state.displacements(body)), -float(info.contact_force(body, plate)[2])


def setup(mesh: Mesh, watched: Any, clamped: Any, **more: Any) -> dict[str, Any]:
    """What felupe_static.py reads."""
    mu, bulk = RUBBER.shear_modulus, RUBBER.bulk_modulus
    given = {"points": mesh.points, "cells": mesh.cells, "element": mesh.element, "mu": mu, "bulk": bulk}
    return given | {"clamp": clamped, "watch": watched} | more


def nodal_forces(mesh: Mesh) -> FloatArray:
    """The force on the end face, shared equally by its nodes, (n, 3)."""
    end = at(mesh, 0, BEAM[0])
    forces = np.zeros_like(mesh.points)
    forces[end] = np.array(TIP_FORCE) / len(end)
    return forces


def felupe_beam(element: Element) -> Answer:
    """The beam by felupe."""
    mesh = beam_mesh(element)
    given = setup(mesh, at(mesh, 0, BEAM[0]), at(mesh, 0, 0.0), forces=nodal_forces(mesh))
    return from_script(f"felupe-beam-{element}", "felupe_static.py", given, 10)


def felupe_dome(element: Element) -> Answer:
    """The dome by felupe."""
    mesh = dome_mesh(element)
    given = setup(
        mesh, top_nodes(element), at(mesh, 2, 0.0), above=top_nodes(element), plane=PLATE, friction=0.0
    )  # fmt: skip
    return from_script(f"felupe-dome-{element}", "felupe_static.py", given, 8)


def calculix_beam(element: Element) -> Answer:
    """The beam by CalculiX."""
    mesh = beam_mesh(element)
    end, forces = at(mesh, 0, BEAM[0]), nodal_forces(mesh)
    lines = ccx.mesh_lines(mesh.points, mesh.cells, element, "ALL")
    lines += ccx.rubber_lines("ALL", C1, 0.0, RUBBER.bulk_modulus)
    lines += ["*BOUNDARY", *(f"{node + 1}, 1, 3" for node in at(mesh, 0, 0.0))]
    lines += ["*STEP, NLGEOM, INC=200", "*STATIC", "0.1, 1., 1e-6, 0.1", "*CLOAD"]
    lines += [f"{node + 1}, {axis + 1}, {forces[node, axis]:.12g}" for node in end for axis in range(3)]
    lines += ["*NODE PRINT, NSET=NALL, FREQUENCY=1000", "U", "*END STEP", ""]
    text = "\n".join(lines)
    name = f"calculix-beam-{element}"
    return from_calculix(name, text, len(mesh.points), lambda answer: {"watch": answer.moved[end].tolist()})


def calculix_dome(element: Element) -> Answer:
    """The dome by CalculiX: a plate of one stiff element comes down, node to surface, pressure over overlap linear."""
    mesh = dome_mesh(element)
    count, top = len(mesh.points), top_nodes(element)
    plate = pl.mesh.box((3.0 * SIDE, 3.0 * SIDE, 0.1 * SIDE), (1, 1, 1), element="hex8")
    above = plate.translated((-SIDE, -SIDE, SIDE))
    lines = ccx.mesh_lines(mesh.points, mesh.cells, element, "ALL")
    lines += ccx.mesh_lines(above.points, above.cells, "hex8", "PLATE", first=count + 1)
    lines += ccx.rubber_lines("ALL", C1, 0.0, RUBBER.bulk_modulus)
    lines += ["*MATERIAL, NAME=STEEL", "*ELASTIC", "1e5, 0.3", "*SOLID SECTION, ELSET=PLATE, MATERIAL=STEEL"]
    lines += ["*NSET, NSET=TOP", *(f"{node + 1}," for node in top)]
    lines += ["*SURFACE, NAME=STOP, TYPE=NODE", "TOP,", "*SURFACE, NAME=SPLATE", f"{count + 1}, S1"]
    lines += ["*SURFACE INTERACTION, NAME=TOUCH", "*SURFACE BEHAVIOR, PRESSURE-OVERCLOSURE=LINEAR", f"{PENALTY:g}, 0."]
    lines += ["*CONTACT PAIR, INTERACTION=TOUCH, TYPE=NODE TO SURFACE", "STOP, SPLATE"]
    lines += ["*BOUNDARY", *(f"{node + 1}, 1, 3" for node in at(mesh, 2, 0.0)), "NPLATE, 1, 2"]
    lines += ["*STEP, NLGEOM, INC=500", "*STATIC", "0.05, 1., 1e-6, 0.05"]
    lines += ["*BOUNDARY", f"NPLATE, 3, 3, {1e3 * (PLATE - SIDE):.12g}"]
    lines += ["*NODE PRINT, NSET=NALL, FREQUENCY=1000", "U", "*NODE PRINT, NSET=NPLATE, FREQUENCY=1000", "RF"]
    text = "\n".join([*lines, "*END STEP", ""])

    def read(answer: ccx.Answer) -> dict[str, Any]:
        return {"watch": answer.moved[top].tolist(), "force": (-answer.forces[count:].sum(axis=0)).tolist()}

    return from_calculix(f"calculix-dome-{element}", text, count + len(above.points), read)


def beam_rows() -> list[Row]:
    """How far the tip sinks and where the end face stands: felupe and CalculiX on both elements."""
    made = []
    elements: tuple[Element, ...] = ("tet10", "hex8")
    for element in elements:
        end = at(beam_mesh(element), 0, BEAM[0])
        ours = bent(element)[end]
        for answer in (felupe_beam(element), calculix_beam(element)):
            made += _apart(ours, answer, f"{answer.values['peer']}, {element}", "the tip sinks")
    return made


def dome_rows() -> list[Row]:
    """Force on the plate and where the upper face stands: felupe and CalculiX."""
    made = []
    element: Element = "hex8"
    moved, force = pressed(element)
    for answer in (felupe_dome(element), calculix_dome(element)):
        who = f"{answer.values['peer']}, {element}"
        theirs = abs(float(answer.array("force")[2]))
        made.append(
            Row(quantity=f"force on the plate, {who}", ours=abs(force), reference=theirs, unit="N", allowed=0.002)
        )
        made += _apart(moved[top_nodes(element)], answer, who, "the upper face sinks")
    return made


def _apart(ours: FloatArray, answer: Answer, who: str, what: str) -> list[Row]:
    theirs = answer.array("watch")
    sunk, theirs_sunk = (-1e3 * float(x[:, 2].mean()) for x in (ours, theirs))
    largest = 1e3 * float(np.linalg.norm(ours - theirs, axis=1).max())
    note = f"{who}: {answer.said_by}"
    return [
        Row(quantity=f"{what}, {who}", ours=sunk, reference=theirs_sunk, unit="mm", allowed=0.002, note=note),
        Row(quantity=f"largest distance of a node, {who}", ours=largest, reference=0.0, unit="mm"),
    ]
