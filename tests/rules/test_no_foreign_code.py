"""No file that a person receives can make Pliant execute code: pickles are read in the places that are named here."""

import ast
from functools import cache
from pathlib import Path

import pliant

ROOT = Path(pliant.__file__).parent
PICKLES = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
ALLOWED = {
    "batch/processes.py": "worlds, to the processes of a batch that it started",
    "batch/worker.py": "controls and states between a process and the processes of its batch, behind a key",
    "core/code_files.py": "machine code in the user's private cache, checked for owner and damage",
    "mesh/child_process.py": "calls and answers between a process and the child that it started",
    "hybrid/fmu.py": "writes a system into an FMU, which is a program by its nature",
    "hybrid/fmu_model.py": "read inside an FMU, by whoever executes it",
    "sweep/case.py": "whether an error can be sent back, in the worker that made it",
    "sweep/parcel.py": "the function of a sweep, in workers that its user started or named",
    "sweep/processes.py": "processes of a sweep",
}
CALLS = {"eval", "exec"}
EXECUTES = {"cli/scene_file.py": "a scene file is a script that its user runs"}


@cache
def nodes():
    paths = sorted(ROOT.rglob("*.py"))
    trees = [(path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))) for path in paths]
    return [(name, node) for name, tree in trees for node in ast.walk(tree)]


def imported(node):
    if isinstance(node, ast.Import):
        return {name.name.partition(".")[0] for name in node.names}
    if isinstance(node, ast.ImportFrom):
        return {(node.module or "").partition(".")[0]}
    return set()


def test_pickles_are_read_nowhere_else():
    found = {name for name, node in nodes() if imported(node) & PICKLES}
    assert found <= set(ALLOWED)


def test_no_text_is_executed_elsewhere():
    found = set()
    for name, node in nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            found.add(name)
    assert found <= set(EXECUTES)


def test_numpy_reads_no_pickles():
    for name, node in nodes():
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant), name
            assert node.value.value is False, name
        if isinstance(node, ast.Attribute) and node.attr == "load" and isinstance(node.value, ast.Name):
            assert node.value.id != "np", f"{name}: np.load; archives are read by core.archive"
