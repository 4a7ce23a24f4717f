"""Gmsh on what others made, in a process of its own."""

import os
import signal
from pathlib import Path

import pytest

from pliant.core.errors import MeshError
from pliant.mesh.child_process import in_child_process


def crash(path):
    os.kill(os.getpid(), signal.SIGSEGV)


def refuse(path, why):
    raise MeshError(f"{path}: {why}")


def chatter(path, count):
    os.write(1, b"the kernel of the CAD program talks\n" * count)
    return [path.name] * count


def test_a_crash_is_an_error_that_names_the_file():
    with pytest.raises(MeshError, match=r"arm\.step ended the program .*signal 11"):
        in_child_process(crash, Path("arm.step"))


def test_a_surface_is_named_in_words():
    with pytest.raises(MeshError, match=r"^the surface ended the program"):
        in_child_process(crash, [0.0], name="the surface")


def test_errors_pass_through():
    with pytest.raises(MeshError, match=r"^arm\.step: two solids$"):
        in_child_process(refuse, Path("arm.step"), "two solids")


def test_the_result_comes_back_whatever_is_printed():
    assert in_child_process(chatter, Path("arm.step"), 3) == ["arm.step"] * 3
