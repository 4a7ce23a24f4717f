"""Shapes with cavities through gmsh: exact volumes, two closed shells, the same bits twice, a clean session."""

import sys
import threading

import numpy as np
import pytest

from pliant.core.errors import InputError, MissingExtraError
from pliant.mesh import block_with_cavity, capsule_with_cavity, chambered_finger, sphere_with_cavity
from pliant.mesh.gmsh_session import import_gmsh


def _gmsh_missing():
    try:
        import_gmsh()
    except MissingExtraError as error:
        return str(error)
    return ""


needs_gmsh = pytest.mark.skipif(bool(_gmsh_missing()), reason=_gmsh_missing() or "gmsh is present")


def _block(element="tet4"):
    return block_with_cavity((0.04, 0.02, 0.02), wall=0.004, cell_size=0.006, element=element)


def _shells(mesh):
    surface = mesh.surface()
    surface.check_closed()
    surface.check_orientation()
    return [part.volume() for part in surface.components()]


@needs_gmsh
@pytest.mark.parametrize("element", ["tet4", "tet10"])
def test_block_has_exact_volumes(element):
    mesh = _block(element)
    assert mesh.element == element
    assert _shells(mesh) == pytest.approx([1.6e-5, -0.032 * 0.012 * 0.012], rel=1e-9)
    assert mesh.volume == pytest.approx(sum(_shells(mesh)), rel=1e-9)
    mesh.check_quality(minimum=0.1)


@needs_gmsh
def test_cavity_can_be_given_by_its_size():
    mesh = block_with_cavity((0.04, 0.02, 0.02), cavity_size=(0.032, 0.012, 0.012), cell_size=0.006)
    assert (mesh.points == _block().points).all()


@needs_gmsh
def test_finger_has_the_volumes_of_its_drawing():
    mesh = chambered_finger(cell_size=0.004)
    assert _shells(mesh) == pytest.approx([16160e-9, -3294e-9], rel=1e-9)
    assert mesh.bounds == pytest.approx(np.array([(0, 0, -0.005), (0.085, 0.02, 0.005)]))
    mesh.check_quality(minimum=0.05)


@needs_gmsh
def test_finger_with_other_numbers():
    mesh = chambered_finger(length=0.045, chamber_count=2, duct_size=(0.002, 0.004), cell_size=0.004)
    slots, chambers = 3 * 0.001 * 0.012 * 0.010, 2 * 0.007 * 0.012 * 0.006
    outer, cavity = 0.045 * 0.02 * 0.01 - slots, chambers + 0.003 * 0.002 * 0.004
    assert _shells(mesh) == pytest.approx([outer, -cavity], rel=1e-9)


@needs_gmsh
@pytest.mark.parametrize(("element", "tolerance"), [("tet4", 0.03), ("tet10", 3e-4)])
def test_hollow_ball_approaches_its_volume(element, tolerance):
    mesh = sphere_with_cavity(0.02, wall=0.006, cell_size=0.004, element=element)
    assert mesh.volume == pytest.approx(4 / 3 * np.pi * (0.02**3 - 0.014**3), rel=tolerance)
    outer, cavity = _shells(mesh)
    assert outer > 0 > cavity


@needs_gmsh
def test_coarse_curved_cells_are_bent_only_as_far_as_they_do_not_fold():
    # with gmsh 4.15 one cell of this mesh folds when all its edges are put on the sphere
    mesh = sphere_with_cavity(0.02, wall=0.006, cell_size=0.006, element="tet10")
    radius = np.linalg.norm(mesh.points[mesh.surface().nodes], axis=1)
    off = np.minimum(np.abs(radius - 0.02), np.abs(radius - 0.014)) > 1e-9
    assert off.mean() < 0.02
    assert mesh.volume == pytest.approx(4 / 3 * np.pi * (0.02**3 - 0.014**3), rel=2e-3)
    _shells(mesh)


@needs_gmsh
def test_capsule_approaches_its_volume():
    mesh = capsule_with_cavity(0.01, 0.03, wall=0.003, cell_size=0.003)
    exact = [np.pi * r**2 * 0.03 + 4 / 3 * np.pi * r**3 for r in (0.01, 0.007)]
    assert _shells(mesh) == pytest.approx([exact[0], -exact[1]], rel=0.04)


@needs_gmsh
def test_the_same_call_gives_the_same_bits():
    first, second = _block(), _block()
    assert (first.points == second.points).all()
    assert (first.cells == second.cells).all()


@needs_gmsh
def test_works_off_the_main_thread():
    found = []
    worker = threading.Thread(target=lambda: found.append(_block()))
    worker.start()
    worker.join()
    assert (found[0].points == _block().points).all()


@needs_gmsh
def test_a_session_of_the_caller_is_left_as_it_was():
    gmsh = import_gmsh()
    assert not gmsh.isInitialized()
    gmsh.initialize(interruptible=False)
    try:
        gmsh.model.add("theirs")
        gmsh.option.setNumber("Mesh.MeshSizeMax", 3.25)
        mesh = _block()
        assert gmsh.model.getCurrent() == "theirs"
        assert gmsh.option.getNumber("Mesh.MeshSizeMax") == 3.25
        assert "pliant" not in gmsh.model.list()
    finally:
        gmsh.finalize()
    assert (mesh.points == _block().points).all()
    assert not gmsh.isInitialized()


@needs_gmsh
def test_nothing_is_printed(capfd):
    _block()
    assert capfd.readouterr().out == ""


def test_without_gmsh_the_command_to_install_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gmsh", None)
    with pytest.raises(MissingExtraError, match=r'pip install "pliant\[mesh\]"'):
        _block()


def test_without_system_libraries_the_packages_are_named(monkeypatch):
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == "gmsh":
                raise OSError("libGLU.so.1: cannot open shared object file")

    monkeypatch.delitem(sys.modules, "gmsh", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.raises(MissingExtraError, match=r"libGLU.*apt-get install libglu1-mesa .*libgomp1"):
        _block()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: block_with_cavity((1, 1, 1), cell_size=0.1), "either cavity_size or wall"),
        (lambda: block_with_cavity((1, 1, 1), wall=0.5, cell_size=0.1), "must fit into the block"),
        (lambda: block_with_cavity((1, 1, 1), wall=0.1, cell_size=0), "cell_size"),
        (lambda: block_with_cavity((1, 1, 1), wall=0.1, cell_size=0.1, element="hex8"), "tetrahedra"),
        (lambda: chambered_finger(length=0.07), "slots must lie inside"),
        (lambda: chambered_finger(chamber_size=(0.0095, 0.012, 0.006)), "shorter than pitch"),
        (lambda: chambered_finger(chamber_floor=0.009), "below and above"),
        (lambda: chambered_finger(duct_size=(0.005, 0.006)), "pass below the slots"),
        (lambda: chambered_finger(chamber_count=0), "chamber_count"),
        (lambda: chambered_finger(duct_size=(0.003, 0.006, 0.1)), "duct_size must have shape"),
        (lambda: sphere_with_cavity(0.01, wall=0.02, cell_size=0.005), "thinner than the outer radius"),
    ],
)
def test_impossible_dimensions_are_named(make, words):
    with pytest.raises(InputError, match=words):
        make()
