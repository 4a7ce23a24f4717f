"""Small valid files of every format, to be mutated."""

from __future__ import annotations

import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import pliant as pl
from benchmarks.fuzz.c3d_writer import DEC, INTEL, MIPS, written
from benchmarks.fuzz.scenes import PARTS, arm, beams, facing
from pliant.reduction.experiments import experiments
from pliant.reduction.snapshots import Snapshots
from pliant.sweep.records import Records

Files = list[tuple[str, bytes]]
STEP = pl.ImplicitEuler(dt=0.005)

URDF = b"""<?xml version="1.0"?>
<robot name="arm">
  <link name="base">
    <collision><origin xyz="0 0 0.1" rpy="0 0.1 0"/><geometry><box size="0.1 0.1 0.2"/></geometry></collision>
  </link>
  <link name="upper">
    <collision name="tube"><geometry><cylinder radius="0.02" length="0.3"/></geometry></collision>
  </link>
  <link name="hand">
    <collision><geometry><sphere radius="0.03"/></geometry></collision>
    <collision><geometry><mesh filename="package://p/none.stl" scale="1 1 1"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.2"/>
    <axis xyz="0 1 0"/><limit lower="-1.5" upper="1.5"/></joint>
  <joint name="wrist" type="prismatic"><parent link="upper"/><child link="hand"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.1"/><mimic joint="shoulder" multiplier="0.05" offset="0"/></joint>
</robot>
"""
SCENE = b'''"""A block."""
import pliant as pl

young = 1e5
sizes = (0.1, 0.02, 3)
label = "block"
scene = pl.Scene(gravity=(0, 0, -9.81))
block = scene.add(pl.Volume(pl.mesh.box(sizes, (1, 1, 1)), pl.materials.Corotated(young=young, poisson=0.4, density=1)))
until: float = 0.05
'''
TEXTS: dict[str, list[bytes]] = {
    "urdf": [
        URDF,
        URDF.replace(
            b'<collision><geometry><mesh filename="package://p/none.stl" scale="1 1 1"/></geometry></collision>',
            b"",
        ),
    ],
    "scene": [SCENE],
    "cases": [b"young,count\n1.0,2\n2e5,3\n", b"young\n1\n2\n3\n"],
    "stream": [b"time,cable.displacement,cable.force\n0.0,0.1,2.0\n0.01,0.11,2.1\n0.02,0.12,2.2\n"],
    "sweep": [b'{"format": "pliant sweep 2", "identity": {"world": "w"}, "made": {"versions": {"numpy": "2"}}}'],
}


def text_files(name: str) -> Files:
    """Files of text that no writer of the library makes."""
    ending = {"urdf": ".urdf", "scene": ".py", "cases": ".csv", "stream": ".csv", "sweep": ".json"}[name]
    return [(ending, text) for text in TEXTS[name]]


@cache
def run_and_world() -> tuple[dict[str, list[bytes]], Any]:
    """Archives by what they hold, and the world that the states belong to."""
    found: dict[str, list[bytes]] = {name: [] for name in ("run", "world", "state", "reduced", "sweep")}
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        world, controls = _scene(arm, beams, facing)
        state = world.initial_state()
        for _ in range(3):
            state, _ = STEP(world, state, controls)
        found["state"].append(state.save(folder / "state.npz").read_bytes())
        found["state"].append(world.initial_state().save(folder / "start.npz").read_bytes())
        for part in PARTS:
            own, controls = _scene(part)
            found["world"].append(own.save(folder / "world.npz").read_bytes())
            own_run = pl.simulate(own, STEP, until=0.01, control=lambda t, _, c=controls: c, progress=False)
            found["run"].append(own_run.save(folder / "own.npz").read_bytes())
        fast = _reduced()
        found["reduced"].append(fast.save(folder / "fast.npz").read_bytes())
        records = Records(folder, {"world": "w"})
        records.write(0, {"x": 1.0}, {"value": np.arange(3.0), "names": np.array(["a", "b"])}, 0.1)
        found["sweep"].append(records.path(0).read_bytes())
    return found, world


def _scene(*parts: Any) -> tuple[Any, dict[Any, Any]]:
    scene, controls = pl.Scene(gravity=(0.0, 0.0, -9.81)), {}
    rng = np.random.default_rng(3)
    for k, part in enumerate(parts):
        controls |= part(scene, rng, np.array((0.0, 0.3 * k, 0.0)))
    return scene.compile(), controls


@cache
def _snapshots() -> tuple[Any, Snapshots]:
    """Two blocks that a cable presses together, and what was recorded of them."""
    scene = pl.Scene()
    rubber = pl.materials.Corotated(young=1e5, poisson=0.4, density=1000.0)
    low = scene.add(
        pl.Volume(
            pl.mesh.box((0.04, 0.02, 0.01), (3, 2, 1)), rubber, clamp=pl.regions.plane(axis="x", at=0), name="low"
        )
    )
    high = scene.add(
        pl.Volume(
            pl.mesh.box((0.04, 0.02, 0.01), (2, 2, 1)).translated((0, 0, 0.0101)), rubber,
            clamp=pl.regions.plane(axis="x", at=0), name="high",
        )
    )  # fmt: skip
    scene.add(pl.Cable(high, [(0.002, 0.01, 0.0111), (0.02, 0.01, 0.0111), (0.038, 0.01, 0.0111)], name="cable"))
    scene.collide(high, low, margin=1e-3)
    world = scene.compile()
    plan = pl.reduction.ramps(world, amplitude=0.001, steps=5)
    return world, experiments(world, plan, progress=False)


def _reduced() -> Any:
    world, seen = _snapshots()
    return pl.reduction.reduce(world, seen, contact_tolerance=0.1, motion_tolerance=0.05, progress=False)


@cache
def snapshots_file() -> Files:
    """A file of snapshots."""
    with tempfile.TemporaryDirectory() as folder:
        return [(".npz", _snapshots()[1].save(Path(folder) / "snapshots.npz").read_bytes())]


GID = """MESH dimension 3 ElemType Tetrahedra Nnode 4
Coordinates
1 0 0 0
2 10 0 0
3 0 10 0
4 0 0 10
5 10 10 10
end coordinates
Elements
1 1 2 3 4
2 2 3 4 5
end elements
"""
XDMF = """<Xdmf Version="3.0"><Domain><Grid Name="Grid">
<Geometry GeometryType="XYZ"><DataItem DataType="Float" Dimensions="5 3" Format="XML" Precision="8">
0 0 0 10 0 0 0 10 0 0 0 10 10 10 10</DataItem></Geometry>
<Topology TopologyType="Tetrahedron" NumberOfElements="2" NodesPerElement="4"><DataItem DataType="Int" Dimensions="2 4"
Format="XML" Precision="4">0 1 2 3 1 2 3 4</DataItem></Topology></Grid></Domain></Xdmf>
"""
_VARIANTS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    ".vtk": [("vtk", {"binary": True}), ("vtk", {"binary": False}), ("vtk42", {"binary": False})],
    ".vtu": [("vtu", {"binary": True}), ("vtu", {"binary": False}), ("vtu", {"compression": "lzma"})],
    ".msh": [(kind, {"binary": binary}) for kind in ("gmsh", "gmsh22") for binary in (True, False)],
    ".inp": [("abaqus", {})],
    ".mesh": [("medit", {})],
    ".bdf": [("nastran", {})],
    ".su2": [("su2", {})],
    ".mdpa": [("mdpa", {})],
    ".avs": [("avsucd", {})],
    ".f3grid": [("flac3d", {})],
    ".lb8.ugrid": [("ugrid", {})],
    ".xml": [("dolfin-xml", {})],
    ".dat": [("tecplot", {})],
    ".dato": [("permas", {})],
    ".vol": [("netgen", {})],
    ".xdmf": [("xdmf", {"data_format": "XML"})],
}  # fmt: skip


@cache
def mesh_files(ending: str) -> Files:
    """A volume mesh in every variant of a format."""
    if ending == ".gid":
        return [(".msh", GID.encode())]
    mesh = pl.mesh.box((20.0, 10.0, 10.0), (2, 1, 1))
    return _by_meshio(ending, mesh.points, [("tetra", np.array(mesh.cells))])


@cache
def surface_files(ending: str) -> Files:
    """A closed surface, in text and in binary where there are both."""
    surface = pl.mesh.sphere(10.0, cells=(1, 1)).surface()
    nodes, triangles = np.unique(surface.triangles, return_inverse=True)
    return _by_meshio(ending, surface.points[nodes], [("triangle", triangles.reshape(-1, 3))])


def _by_meshio(ending: str, points: Any, cells: list[Any]) -> Files:
    import meshio

    usual = {".stl": "stl", ".ply": "ply", ".obj": "obj", ".off": "off"}.get(ending, "")
    both = [(usual, {"binary": True}), (usual, {"binary": False})]
    variants = _VARIANTS.get(ending) or (both if ending in (".stl", ".ply") else [(usual, {})])
    found: Files = []
    with tempfile.TemporaryDirectory() as folder:
        for k, (kind, options) in enumerate(variants):
            path = Path(folder) / f"{k}{ending}"
            if kind == "xdmf":  # meshio needs h5py for its writer only
                path.write_text(XDMF)
            else:
                meshio.write(path, meshio.Mesh(points, cells), file_format=kind, **options)
            found.append((ending, path.read_bytes()))
    return found


@cache
def cad_files(ending: str) -> Files:
    """A cylinder and a box with a hole, as CAD files."""
    import gmsh

    found: Files = []
    for k in range(2 if ending == ".brep" else 1):
        gmsh.initialize([], readConfigFiles=False, interruptible=False)
        try:
            gmsh.option.setNumber("General.Terminal", 0)
            if not k:
                gmsh.model.occ.addCylinder(0, 0, 0, 0, 0, 20, 8)
            else:
                box = gmsh.model.occ.addBox(0, 0, 0, 40, 20, 20)
                gmsh.model.occ.cut([(3, box)], [(3, gmsh.model.occ.addCylinder(20, 10, -1, 0, 0, 30, 5))])
            gmsh.model.occ.synchronize()
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"part{ending}"
                gmsh.write(str(path))
                found.append((ending, path.read_bytes()))
        finally:
            gmsh.finalize()
    return found


def table_files() -> Files:
    """Tables of two markers."""
    rows = [f"{0.01 * k:.2f},{k},0,1,{k},10,{'' if k == 3 else 5}" for k in range(8)]
    return [(".csv", "\n".join(["time,ax,ay,az,bx,by,bz", *rows, ""]).encode()), (".csv", "\n".join(rows).encode())]


def recording_files() -> Files:
    """Motion capture in every byte order, in integers and in floats."""
    points = np.arange(24.0).reshape(4, 2, 3)
    return [
        (".c3d", written(points, processor=processor, floats=floats, gaps=[(1, 0)], analogue=2))
        for processor in (INTEL, DEC, MIPS)
        for floats in (True, False)
    ]
