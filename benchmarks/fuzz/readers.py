"""The readers of the library: how each reads a file and uses what it read, and files to begin with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pliant as pl
from benchmarks.fuzz.contents import mutated_archive
from benchmarks.fuzz.mutations import Random, mutated
from benchmarks.fuzz.samples import (
    cad_files,
    mesh_files,
    recording_files,
    run_and_world,
    snapshots_file,
    surface_files,
    table_files,
    text_files,
)
from pliant.cli.scene_file import SceneFile
from pliant.cli.sweep import sweep_cases
from pliant.control import stream
from pliant.mesh import filling
from pliant.models.rigid.urdf import urdf_obstacles
from pliant.recordings import load_c3d, load_csv
from pliant.reduction.snapshots import Snapshots
from pliant.sweep.records import Records


@dataclass(frozen=True)
class Reader:
    """A reader: `read` takes a path and uses what it finds there, `samples` are valid files with their ending."""

    read: Callable[[Path], Any]
    samples: Callable[[], Sequence[tuple[str, bytes]]]
    text: bool = False
    archive: bool = False
    forks: bool = False
    """Whether each file is read in a process of its own, which may end in any way: see `pliant.mesh.child_process`."""

    def case(self, rng: Random) -> tuple[str, bytes]:
        """Ending and bytes of a mutated file."""
        samples = self.samples()
        ending, data = samples[int(rng.integers(len(samples)))]
        if self.archive and rng.random() < 0.7:
            return ending, mutated_archive(rng, data)
        others = [content for _, content in samples]
        is_text = self.text or (b"\0" not in data[:2000] and not self.archive)
        return ending, mutated(rng, data, others, text=is_text and rng.random() < 0.9)


STEP = pl.ImplicitEuler(dt=0.01)


def use_run(path: Path) -> None:
    """Load a run and read all of it."""
    run = pl.load(path)
    if not isinstance(run, pl.Run):
        return use_world_itself(run)
    repr(run)
    for index in range(len(run.bodies)):
        run.points(index)
        run.surface_points(index)
        run.velocities(index)
    for instant in range(min(len(run), 3)):
        run.contacts(instant)
    for rows in run.forces:
        run.contact_force(*rows.names) if len(rows.names) == 2 else run.actuation(rows.names[0])
    if run.world is not None:
        run.state(-1)
    return None


def use_world(path: Path) -> None:
    """Load a world and take a step."""
    found = pl.load(path)
    use_world_itself(found) if isinstance(found, pl.World) else repr(found)


def use_world_itself(world: Any) -> None:
    """Take a step."""
    repr(world)
    STEP(world, world.initial_state())


@cache
def _world() -> Any:
    return run_and_world()[1]


def use_state(path: Path) -> None:
    """Load a state and take a step from it."""
    state = _world().load_state(path)
    STEP(_world(), state)


def use_snapshots(path: Path) -> None:
    """Load snapshots and read all of them."""
    found = Snapshots.load(path)
    for name in found.bodies:
        found.positions(name)
    for index in range(len(found.makers)):
        found.forces(index)
    found.selected(slice(0, 1))


def use_sweep(path: Path, records: Any = None) -> None:
    """Read a finished case of a sweep."""
    case = {"x": 1.0}
    folder = path.parent / "sweep"
    folder.mkdir(exist_ok=True)
    own = Records(folder, {"world": "w"})
    own.path(0).write_bytes(path.read_bytes())
    own.read(0, case)


def use_sweep_label(path: Path) -> None:
    """Open the folder of a sweep."""
    folder = path.parent / "labelled"
    folder.mkdir(exist_ok=True)
    (folder / "sweep.json").write_bytes(path.read_bytes())
    Records.opened(folder, {"world": "w"})


def use_mesh(path: Path) -> None:
    """Load a volume mesh, and its boundary."""
    pl.mesh.load(path, unit="mm").surface().check_closed()


def use_surface(path: Path) -> None:
    """Load a surface as what collides and what is filled."""
    surface = pl.mesh.load_surface(path, unit="mm")
    surface.check_closed()
    filling.nested_shells(surface)
    pl.Obstacle.mesh(surface)


def use_scene_file(path: Path) -> None:
    """Read the parameters of a scene file, without executing it, and a table of cases."""
    file = SceneFile.read(path)
    sweep_cases(file, ["young=1,2"], None)


def use_cases(path: Path) -> None:
    """Read a table of cases for a scene file."""
    scene = path.parent / "scene.py"
    scene.write_text("young = 1.0\ncount = 2\n")
    sweep_cases(SceneFile.read(scene), [], path)


def _volumes(ending: str) -> Reader:
    usual = (".vtk", ".vtu", ".msh", ".gid", ".inp", ".mesh")
    return Reader(use_mesh, partial(mesh_files, ending), text=ending not in usual[:3], forks=ending not in usual)


def _surfaces(ending: str) -> Reader:
    return Reader(use_surface, partial(surface_files, ending), text=ending not in (".stl", ".ply", ".vtk"))


@cache
def _saved(name: str) -> list[tuple[str, bytes]]:
    return [(".npz", data) for data in run_and_world()[0][name]]


_CAD = partial(filling._from_cad, cell_size=0.02, unit=None, element="tet4")
READERS: dict[str, Reader] = {
    "run": Reader(use_run, partial(_saved, "run"), archive=True),
    "world": Reader(use_world, partial(_saved, "world"), archive=True),
    "state": Reader(use_state, partial(_saved, "state"), archive=True),
    "reduced world": Reader(use_world, partial(_saved, "reduced"), archive=True),
    "snapshots": Reader(use_snapshots, snapshots_file, archive=True),
    "sweep case": Reader(use_sweep, partial(_saved, "sweep"), archive=True),
    "sweep.json": Reader(use_sweep_label, partial(text_files, "sweep"), text=True),
    **{
        f"mesh {ending}": _volumes(ending)
        for ending in (
            ".vtk",
            ".vtu",
            ".msh",
            ".gid",
            ".inp",
            ".mesh",
            ".bdf",
            ".su2",
            ".mdpa",
            ".avs",
            ".f3grid",
            ".lb8.ugrid",
            ".xml",
            ".dat",
            ".dato",
            ".vol",
            ".xdmf",
        )
    },
    **{f"surface {ending}": _surfaces(ending) for ending in (".stl", ".obj", ".ply", ".off", ".vtk")},
    "STEP": Reader(_CAD, partial(cad_files, ".step"), text=True, forks=True),
    "IGES": Reader(_CAD, partial(cad_files, ".iges"), text=True, forks=True),
    "BREP": Reader(partial(_CAD, unit="mm"), partial(cad_files, ".brep"), text=True, forks=True),
    "URDF": Reader(urdf_obstacles, partial(text_files, "urdf"), text=True),
    "CSV recording": Reader(partial(load_csv, unit="mm"), table_files, text=True),
    "C3D": Reader(load_c3d, recording_files),
    "stream of actuation": Reader(stream.read, partial(text_files, "stream"), text=True),
    "scene file": Reader(use_scene_file, partial(text_files, "scene"), text=True),
    "table of cases": Reader(use_cases, partial(text_files, "cases"), text=True),
}
"""Every reader by its name in the table."""
