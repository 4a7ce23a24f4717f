"""What files may hold: their length, their names, nothing left to do, no path of one machine."""

import re

import pytest

LONGEST = 400
LONGER = {
    "src/pliant/actuators/cable.py": 450,
    "tests/collision/test_proximity.py": 450,
    "tests/viewer/test_live.py": 450,
    "tests/viewer/test_studio.py": 500,
}
"""Files that are longer for now, with the length they may not exceed."""
KINDS = {".py", ".md", ".toml", ".html", ".yml", ".yaml", ".txt", ""}
FOLDERS = ("src", "tests", "examples", "benchmarks", "demos", "experiments", "validation", "docs", ".ci")
LEFT_OVER = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX)\b")
MACHINE = re.compile(r"(?<![\w.~])/(" + "|".join(("ho" + "me", "ro" + "ot", "Us" + "ers", "wo" + "rk")) + r")/\w")


@pytest.fixture(scope="module")
def files(root):
    found = [p for p in root.iterdir() if p.is_file() and p.suffix in KINDS and not p.name.startswith(".")]
    for folder in FOLDERS:
        inside = (p for p in (root / folder).rglob("*") if p.is_file() and p.suffix in KINDS)
        found += [p for p in inside if "__pycache__" not in p.parts]
    return {p.relative_to(root): p.read_text(encoding="utf-8") for p in found}


def test_files_are_short(files):
    lengths = {p.as_posix(): text.count("\n") for p, text in files.items() if p.suffix == ".py"}
    long = {name: length for name, length in lengths.items() if length > LONGER.get(name, LONGEST)}
    assert not long, f"files of more than {LONGEST} lines do more than one thing: {long}"


def test_no_file_is_a_drawer(files):
    drawers = [str(p) for p in files if re.search(r"(^|_)(utils?|helpers?|misc|common|manager)$", p.stem)]
    assert not drawers


def test_nothing_is_left_to_do(files):
    left = [f"{p}: {match.group()}" for p, text in files.items() for match in LEFT_OVER.finditer(text)]
    assert not left


def test_no_path_of_one_machine(files):
    paths = [f"{p}: {match.group()}" for p, text in files.items() for match in MACHINE.finditer(text)]
    assert not paths


WRITES = re.compile(r"(\w+)(?:\.\w+)*\.(?:write_text|write_bytes)\(|savefig\((\w+)|(\w+)\.open\(\"[wax]")
ELSEWHERE = {
    "src/pliant/mesh/gmsh_session.py": "a size field in a temporary folder",
    "src/pliant/hybrid/fmu.py": "the parts of a unit, in a temporary folder",
    "src/pliant/sweep/parcel.py": "files of a sweep, in a temporary folder of a worker",
    "src/pliant/sweep/processes.py": "what the processes of a sweep read, in a temporary folder",
    "src/pliant/record/paraview.py": "the files of a series, in the folder of `replacing`",
}
"""Files that write without `core.replacing`, and what."""


def test_every_writer_writes_whole_files(files):
    """What is written stands under `part`, the path that `core.replacing` gives."""
    bare = [
        f"{path}: {match.group()}"
        for path, text in files.items()
        if path.parts[:2] == ("src", "pliant") and path.as_posix() not in ELSEWHERE
        for match in WRITES.finditer(text)
        if "part" not in match.groups()
    ]
    assert not bare
