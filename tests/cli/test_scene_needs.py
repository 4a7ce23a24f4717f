"""Files that a scene needs on another machine, and a case of it that is computed where only these are."""

import pytest

from pliant.cli.scene_file import SceneFile
from pliant.cli.scene_needs import files_of
from pliant.cli.sweep import measures_of, run_case

SCENE = '''
"""A scene with a part, and with modules of its own."""

import json
from pathlib import Path

import helper
import numpy as np
from tools.shapes import AREA

part = "parts/one.txt"
notes = "a text that names no file"
outside = "/etc/hostname"


def main():
    return {"value": helper.FACTOR * AREA * float(Path(part).read_text())}
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A scene beside its parts and modules."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "scene.py": SCENE,
        "helper.py": "import deeper\nFACTOR = deeper.FACTOR\n",
        "deeper.py": "FACTOR = 2\n",
        "numpy_like.py": "",
        "tools/__init__.py": "",
        "tools/shapes.py": "AREA = 3\n",
        "parts/one.txt": "5",
        "parts/two.txt": "7",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_what_a_scene_needs(folder):
    file = SceneFile.read("scene.py")
    needed = {path.as_posix() for path in files_of(file)}
    assert needed == {"helper.py", "deeper.py", "tools/__init__.py", "tools/shapes.py", "parts/one.txt"}
    assert {path.as_posix() for path in files_of(file, [{"part": "parts/two.txt"}])} == {*needed, "parts/two.txt"}


def test_a_case_runs_where_only_these_files_are(folder):
    pytest.importorskip("cloudpickle")
    from functools import partial

    from pliant.sweep.case import compute
    from pliant.sweep.parcel import Parcel, digest_of_bytes, file_contents

    file, cases = SceneFile.read("scene.py"), [{"part": "parts/one.txt"}, {"part": "parts/two.txt"}]
    packed = Parcel(partial(run_case, file, None), file_contents(files_of(file, cases))).packed(by_value=True)
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    outcomes = [compute(packed, digest_of_bytes(packed), k, case) for k, case in enumerate(cases)]
    assert [outcome.error for outcome in outcomes] == [None, None]
    assert [measures_of(outcome.result)["value"] for outcome in outcomes] == [30.0, 42.0]
