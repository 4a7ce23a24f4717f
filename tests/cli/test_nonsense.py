"""Every command with nonsense for its arguments: one paragraph and exit code 1, or the usage and exit code 2."""

import pytest

from nonsense import limited

NUMBERS = ["nan", "inf", "-1", "0", "1e300", "soon", ""]
COUNTS = ["0", "-1", "1.5", "many", "99999999999999999999"]
TAKEN = {("export", "--fps", "1e300")}
"""What makes sense after all."""


def each(base, option, values):
    """A command with each of the `values` for an option."""
    return [[*base, f"{option}={value}"] for value in values]


CALLS = [
    *each(["run", "scene.py"], "--until", NUMBERS),
    *each(["run", "scene.py"], "--dt", NUMBERS),
    *each(["run", "scene.py"], "--set", ["", "=", "young", "young=", "nothing=3", "young=nan", "young=[", "young=-1"]),
    *each(["run", "scene.py"], "--out", ["", "a.nothing", "no/folder/a.npz", "a"]),
    *each(["run", "scene.py"], "--json", ["no/folder/a.json"]),
    *([[command, file] for command in ("run", "check", "view") for file in ("none.py", "data.npz", "text.py", ".")]),
    *each(["check", "scene.py"], "--set", ["nothing=3", "young"]),
    *each(["sweep", "scene.py"], "--set", ["", "young", "young=", "young=1:2", "young=1:2:0", "young=a:b:3", "no=1,2"]),
    *each(["sweep", "scene.py", "--set", "young=1e5,2e5"], "--workers", COUNTS),
    *each(["sweep", "scene.py", "--set", "young=1e5,2e5"], "--until", NUMBERS),
    *each(["sweep", "scene.py", "--set", "young=1e5,2e5"], "--out", ["a.nothing", "no/folder/a.csv"]),
    *([["identify", file] for file in ("none.py", "data.npz", "text.py", ".", "scene.py")]),
    *each(["identify", "scene.py"], "--set", ["nothing=3", "young"]),
    *each(["identify", "scene.py"], "--plot", ["", "a.nothing", "no/folder/a.png", "a"]),
    *each(["sweep", "scene.py"], "--cases", ["none.csv", "data.npz", "."]),
    *each(["play", "RUN"], "--port", ["-1", "65536", "1e3", "http", "99999999999999999999"]),
    ["play", "none.npz"], ["play", "data.npz"], ["play", "."],
    *each(["export", "RUN", "--to=a.html"], "--fps", NUMBERS),
    *each(["export", "RUN", "--to=a.png"], "--size", ["", "x", "1", "0x0", "-1x5", "1e9x1e9", "9999999x999999", "axb"]),
    *each(["export", "RUN", "--to=a.png", "--size=64x48"], "--poses", COUNTS),
    *each(["export", "RUN", "--to=a.png", "--size=64x48"], "--strip", COUNTS[:4]),
    *each(["export", "RUN", "--to=a.html"], "--opacity", ["nan", "-1", "2", "half"]),
    *each(["export", "RUN", "--to=a.html"], "--color", ["", "red", "0"]),
    *each(["export", "RUN", "--to=a.html"], "--cut", ["", "y", "y>", "y>nan", "box:1", "box:0,0,0:a,b,c", "sphere:0"]),
    *each(["export", "RUN"], "--to", ["", "a", "a.nothing", "no/folder/a.html", "."]),
    *each(["export"], "--to", ["a.html"]),
    *each(["mesh", "part.stl"], "--unit", ["", "furlong", "1", "None"]),
    *each(["mesh", "part.stl", "--unit=mm"], "--size", NUMBERS),
    *each(["mesh", "part.stl", "--unit=mm"], "--element", ["", "hex8", "tet"]),
    *each(["mesh", "part.stl", "--unit=mm"], "--region", ["", "a", "a=", "a=plane:x", "a=plane:w=0", "a=box:0"]),
    ["mesh", "none.stl", "--unit=mm"], ["mesh", "text.py", "--unit=mm"], ["mesh", "data.npz", "--unit=mm"],
    ["new"], ["new", "scene.py"], ["new", ""], ["new", "no/folder/a.py"], ["new", "a.py", "--kind=none"], ["new", "."],
    ["warmup", "nothing"], ["demo", "nothing"], ["bench", "nothing"], ["reproduce", "nothing"], ["validate", "nothing"],
    ["reduce"], ["reduce", "nothing", "--out=a.npz", "--amplitude=0.01"], ["reduce", "finger", "--out=a.npz"],
    *each(["reduce", "finger", "--out=a.npz"], "--amplitude", ["nan", "0", "inf", "far"]),
    *each(["reduce", "finger", "--out=a.npz", "--amplitude=0.01"], "--steps", COUNTS),
    *each(["reduce", "finger", "--out=a.npz", "--amplitude=0.01"], "--plan", ["", "nothing"]),
    *each(["reduce", "finger", "--amplitude=0.01"], "--out", ["a.txt", "no/folder/a.npz"]),
    *each(["reduce", "finger", "--out=a.npz", "--amplitude=0.01"], "--contact-tolerance", ["nan", "-1", "0"]),
    ["view", "nothing"], *each(["view", "finger"], "--port", ["-1", "65536", "http"]),
    *each(["view", "finger"], "--host", ["", "300.1.1.1", "nowhere.invalid"]),
    ["nothing"], ["--nothing"], ["info", "more"],
]  # fmt: skip


@pytest.fixture
def folder(scene, tmp_path):
    (tmp_path / "data.npz").write_bytes(b"PK\x03\x04" + bytes(range(200)))
    (tmp_path / "text.py").write_text("this is no program\n")
    (tmp_path / "part.stl").write_text("solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nendloop\nendfacet\n")


@pytest.mark.parametrize("arguments", CALLS, ids=" ".join)
def test_nonsense_is_a_message_and_an_exit_code(pliant, folder, saved_run, arguments):
    with limited():
        code, _, err = pliant(*(saved_run if one == "RUN" else one for one in arguments))
    if any(all(part in " ".join(arguments) for part in each) for each in TAKEN):
        assert code == 0
        return
    assert code in (1, 2), err
    assert "Traceback" not in err
    assert "unexpected error" not in err
    if code == 1:
        assert err.splitlines()[-1].startswith("pliant: "), err
